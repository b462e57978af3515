"""Semantic search: the order of files, and the passage of each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranked_texts import corpus_of
from winnow.index.postings.corpus import Corpus
from winnow.index.vectors.embeddings import load_model
from winnow.ranking.semantic.path_index import PathIndex
from winnow.ranking.semantic.search import FoundPassage, search

FILLER = "\n\n".join(f"def helper{n}(value):\n    return value + {n}" for n in range(30))
IMPORT = "from shop.cookies import CookieJar\n\n\n"
FILES = {
    "shop/cookies.py": f'''"""Cookies between two visits."""


class CookieJar:
    """Keeps the cookies of a client."""

    def add(self, cookie):
        self.jar.append(cookie)


{FILLER}


def expire_sessions(store):
    """Forget sessions whose time is over."""
    for session in store.sessions:
        if session.expired:
            store.forget(session)
''',
    "shop/basket.py": f"{IMPORT}def total(basket):\n    return sum(basket)\n",
    "shop/orders/__init__.py": '"""Orders of customers."""\nfrom .placing import place_order\n',
    "shop/orders/placing.py": "def place_order(basket, customer):\n    return basket, customer\n",
    "tests/test_cookies.py": f"{IMPORT}def test_cookie_jar():\n    assert CookieJar()\n",
    "docs/cookies.md": "# Cookies\n\nThe cookie jar keeps cookies.\n",
    "package.json": '{"cookie": "jar"}\n',
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return corpus_of(FILES)


def paths(corpus: Corpus, found: list[FoundPassage]) -> list[str]:
    return [corpus.paths[passage.file] for passage in found]


def test_a_question_finds_its_file_before_tests_and_documentation(
    corpus: Corpus,
) -> None:
    found = search(corpus, "where does the cookie jar keep cookies?", limit=9)
    assert paths(corpus, found)[0] == "shop/cookies.py"
    assert {"tests/test_cookies.py", "docs/cookies.md"} <= set(paths(corpus, found))


def test_a_question_about_tests_finds_tests(corpus: Corpus) -> None:
    found = search(corpus, "tests of the cookie jar", limit=1)
    assert paths(corpus, found) == ["tests/test_cookies.py"]


def test_the_best_passage_of_a_file_is_returned(corpus: Corpus) -> None:
    [best] = search(corpus, "how sessions are expired and forgotten", limit=1)
    lines = FILES["shop/cookies.py"].split("\n")
    assert corpus.paths[best.file] == "shop/cookies.py"
    assert "def expire_sessions(store):" in lines[best.first - 1 : best.last]
    assert "class CookieJar:" not in lines[best.first - 1 : best.last]
    assert best.why[-1] == "mentions sessions, expired, forgotten"


@pytest.mark.parametrize(
    ("query", "is_in_tests"),
    [("how is a range split on newlines", False), ("tests that split a range on newlines", True)],
)
def test_a_module_of_tests_is_the_best_passage_only_for_a_query_about_tests(
    query: str, is_in_tests: bool
) -> None:
    code = "/// Splits a range on newlines.\npub fn split(range: &Range) -> Vec<Range> {\n"
    filler = "\n".join(f"    let part{n} = {n};" for n in range(90))
    tests = (
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn split_range_on_newlines() {\n"
        "        // A range with newlines is split on newlines.\n"
        '        assert_eq!(split(range("newlines")), [range("new"), range("lines")]);\n    }\n}\n'
    )
    others = {f"src/other{n}.rs": f"fn other{n}() {{}}\n" for n in range(20)}
    corpus = corpus_of({"src/range.rs": f"{code}{filler}\n}}\n\n{tests}", **others})
    [found] = search(corpus, query, limit=1)
    assert (found.first > 60) == is_in_tests


def test_imports_are_the_best_passage_only_if_there_is_no_other() -> None:
    imports = "".join(f"from shop.lids.closed import close_lid{n}\n" for n in range(20))
    steps = "".join(f"    turn = push(turn, {n})\n" for n in range(40))
    code = f"{imports}\n\ndef close(jar):\n    # The lid of a jar.\n{steps}    return turn\n"
    others = {f"src/other{n}.py": f"def other{n}():\n    pass\n" for n in range(20)}
    [found] = search(corpus_of({"src/jar.py": code, **others}), "where is a lid closed", limit=1)
    assert found.first > 20
    [found] = search(corpus_of({"src/jar.py": imports, **others}), "where is a lid closed", limit=1)
    assert found.first == 1


def test_with_vectors_the_passage_that_is_nearest_in_meaning_is_the_best() -> None:
    def function(name: str, words: str) -> str:
        lines = "".join(f"    {word}(user, {n})\n" for n in range(12) for word in words.split())
        return f"def {name}(user):\n{lines}    return user\n\n\n"

    paint = function("paint", "brush canvas color pixel")
    check = function("check", "password credential token session")
    model = load_model("auto")
    others = {f"src/other{n}.py": f"def other{n}():\n    pass\n" for n in range(20)}
    corpus = corpus_of({"src/both.py": paint + check, **others}, model=model)
    query = "authentication and login of the user"
    [by_words] = search(corpus, query, limit=1)
    [by_meaning] = search(corpus, query, limit=1, dense=model)
    assert by_words.first == 1 < by_meaning.first


def test_a_query_for_a_name_finds_its_definition(corpus: Corpus) -> None:
    best, *others = search(corpus, "CookieJar", limit=9)
    assert (corpus.paths[best.file], best.first, best.last) == ("shop/cookies.py", 4, 8)
    assert best.symbol == "CookieJar"
    assert best.why[0] == "defines CookieJar"
    assert all(passage.symbol is None for passage in others)


@pytest.mark.parametrize(
    ("query", "path", "said"),
    [
        ("where are things placed", "shop/orders/placing.py", "file name: placing"),
        (
            "ordering a shop basket",
            "shop/orders/placing.py",
            "folder name: shop, orders",
        ),
        ("what was ordered", "shop/orders/__init__.py", "file name: orders"),
        ("testcookies", "tests/test_cookies.py", "file name: test_cookies"),
        ("documentation", "docs/cookies.md", "folder name: docs"),
    ],
)
def test_reasons_name_only_words_of_the_path(
    corpus: Corpus, query: str, path: str, said: str
) -> None:
    found = search(corpus, query, limit=9)
    [why] = [passage.why for passage in found if corpus.paths[passage.file] == path]
    assert said in why


def test_a_name_that_matches_only_as_a_single_word_is_returned_entirely() -> None:
    index = PathIndex(["io_ring.c", "io/ring.c", "i18n.go"])
    assert index.matching_words("i18n", ["18", "i18n"]) == ["i18n"]
    crafted = PathIndex(["io \x1b[2J.c"])
    assert crafted.matching_words("io \x1b[2J", ["io", "io2j"]) == ["io"]
    assert index.matching_words("io_ring", ["ioring"]) == ["io_ring"]
    assert index.matching_words("ring", ["ioring"]) == []
    assert index.matching_words("io_ring", ["ring", "io"]) == ["io", "ring"]


@pytest.mark.parametrize("query", ["shop.cookies.CookieJar", "Shop::CookieJar", "`CookieJar`"])
def test_a_name_can_be_qualified_or_quoted(corpus: Corpus, query: str) -> None:
    [best] = search(corpus, query, limit=1)
    assert best.symbol == "CookieJar"


def test_only_allowed_files_are_found(corpus: Corpus) -> None:
    found = search(
        corpus, "cookie jar", limit=9, allowed=lambda file: corpus.paths[file].startswith("docs/")
    )
    assert paths(corpus, found) == ["docs/cookies.md"]


def test_useful_files_move_up_and_useless_files_down(corpus: Corpus) -> None:
    plain = {passage.file: passage.score for passage in search(corpus, "cookie jar", limit=9)}
    for file in plain:
        for boost in (0.3, -0.3):
            found = search(corpus, "cookie jar", limit=9, boosts={file: boost})
            scores = {passage.file: passage.score for passage in found}
            moved = min(1.0, max(0.0, plain[file] + boost))
            assert scores == pytest.approx(plain | {file: moved}, abs=1e-6)
            assert [*scores.values()] == sorted(scores.values(), reverse=True)


def test_a_boosted_file_is_found_without_matching_words(corpus: Corpus) -> None:
    number = corpus.paths.index("shop/orders/placing.py")
    found = search(corpus, "cookie jar", limit=9, boosts={number: 0.2})
    assert "shop/orders/placing.py" in paths(corpus, found)


def test_results_are_limited_and_each_file_comes_before_further_passages(corpus: Corpus) -> None:
    assert len(search(corpus, "cookie jar", limit=2)) == 2
    found = paths(corpus, search(corpus, "cookie jar", limit=100))
    files = len(set(found))
    assert len(set(found[:files])) == files


def test_translations_come_after_code_except_the_first() -> None:
    text = '{"expire": "The session of your account will expire soon"}\n'
    files = {f"locales/{language}.json": text for language in ("de", "en", "fr")}
    code = {"soon.py": f"# soon\n{FILLER}\n", "user.py": f"# account\n{FILLER}\n"}
    corpus = corpus_of({**files, **code})
    found = search(corpus, "the session of your account expires soon", limit=9)
    scores = [passage.score for passage in found]
    assert scores == sorted(scores, reverse=True)
    assert [path.startswith("locales/") for path in paths(corpus, found)[-2:]] == [True, True]
    about = paths(corpus, search(corpus, "languages in which account sessions expire", limit=9))
    assert {*about[:3]} == {*files}


def test_further_passages_fill_an_answer_with_few_files() -> None:
    expiring = [f"def expire_{what}(store):\n    store.expire({what})\n" for what in ("a1", "b2")]
    unrelated = "def unrelated(value):\n    return value\n"
    text = f"\n\n{FILLER}\n\n\n".join([*expiring, unrelated])
    corpus = corpus_of({"a.py": text, "b.py": "def expire():\n    pass\n"})
    found = search(corpus, "what does expire", limit=9)
    assert search(corpus, "what does expire", limit=2) == found[:2]
    assert sorted(paths(corpus, found)) == ["a.py", "a.py", "b.py"]
    assert paths(corpus, found)[2] == "a.py"
    scores = [passage.score for passage in found]
    assert scores == sorted(scores, reverse=True)
    lines = text.split("\n")
    in_a = (each for each in found if corpus.paths[each.file] == "a.py")
    assert all("def expire_" in "\n".join(lines[each.first - 1 : each.last]) for each in in_a)


def test_the_number_of_segments_does_not_change_results() -> None:
    for query in ("cookie jar", "CookieJar", "place an order"):
        ranked = [
            [
                (corpus.paths[passage.file], passage.first, passage.last)
                for passage in search(corpus, query, limit=9)
            ]
            for corpus in (corpus_of(FILES), corpus_of(FILES, segments=3))
        ]
        assert ranked[0] == ranked[1]


def test_equal_files_are_ordered_by_path() -> None:
    text = "def same():\n    return 1\n"
    corpus = corpus_of({f"{name}.py": text for name in ("c", "a", "d", "b")})
    assert paths(corpus, search(corpus, "same", limit=9)) == ["a.py", "b.py", "c.py", "d.py"]


def test_a_file_without_text_is_found_by_its_path() -> None:
    known = corpus_of({"a.py": "x = 1\n", "cookie_jar.bin": ""})
    corpus = Corpus([], known.paths, known.roots, known.root_of, known.definitions, {})
    found = search(corpus, "cookie jar", limit=9)
    assert [(corpus.paths[passage.file], passage.first, passage.last) for passage in found] == [
        ("cookie_jar.bin", 1, 1)
    ]


@pytest.mark.parametrize("query", ["", "   ", "😀", "?!", "日本語の文字列", "ß", "cookie " * 2000])
def test_any_query_is_answered(corpus: Corpus, query: str) -> None:
    found = search(corpus, query, limit=9)
    assert bool(found) == ("cookie" in query)


def test_a_corpus_can_be_empty_or_have_one_file() -> None:
    assert search(corpus_of({}), "cookie jar", limit=9) == []
    single = corpus_of({"a.py": "cookie = 1\n"})
    assert len(search(single, "cookie jar", limit=9)) == 1
    assert search(corpus_of({"a.py": ""}), "cookie", limit=9) == []


def test_other_scripts_are_found() -> None:
    corpus = corpus_of({"a.py": "# 如何连接数据库\n", "b.py": "# как устроен индекс\n"})
    assert paths(corpus, search(corpus, "连接", limit=9)) == ["a.py"]
    assert paths(corpus, search(corpus, "индекс", limit=9)) == ["b.py"]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.integers(1, 5))
def test_results_are_deterministic(query: str, limit: int) -> None:
    corpus = corpus_of({"a.py": "def a(cookie): ...\n", "b/c.md": "# Jar\n\nwords\n"})
    found = search(corpus, query, limit=limit)
    assert found == search(corpus, query, limit=limit)
    for passage in found:
        assert 1 <= passage.first <= passage.last
