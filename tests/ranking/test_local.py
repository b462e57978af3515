"""The local ranker: evidence, order and reasons."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import msgspec
import pytest

from winnow.ranking.candidates import Candidate
from winnow.ranking.local import FEEDBACK, OWN_SCORE, REASON_CHARACTERS, defines, rank, words
from winnow.text.ripgrep import Line
from winnow.types import Hit


def line(text: str, term: str = "", start: int = 0) -> Line:
    """Return a line with a match at the first occurrence of ``term``."""
    at = text.lower().find(term.lower()) if term else -1
    ranges = ((start + at, start + at + len(term)),) if at >= 0 else ()
    return Line(text, len(text) + 1, ranges, start)


def candidate(path: str, *texts: str, terms: Sequence[str] = ("session",)) -> Candidate:
    """Return a file with these lines, and matches of all ``terms`` in them."""
    lines: dict[int, Line] = {}
    hits: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        found = [term for term in terms if term.lower() in text.lower()]
        spans = tuple(span for term in found for span in line(text, term).ranges)
        lines[number] = Line(text, len(text) + 1, tuple(sorted(spans)))
        for term in found:
            hits.setdefault(term, []).append(number)
    counts = {term: len(numbers) for term, numbers in hits.items()}
    return Candidate(path, lines, {term: tuple(hits[term]) for term in hits}, counts)


def counted(path: str, **counts: int) -> Candidate:
    """Return a file of a term that was shortened to a list: counts without lines."""
    return Candidate(path, {}, {}, counts)


def order(query: str, terms: Sequence[str], *candidates: Candidate) -> list[str]:
    return [file.candidate.path for file in rank(query, terms, candidates)]


def pointed(file: Candidate, score: float, why: str = "path matches session") -> Candidate:
    """Return a candidate with an index score."""
    return msgspec.structs.replace(file, indexed=Hit(file.path, "passage", score, why, 1, 2))


# --- order ---------------------------------------------------------------------------------


def test_no_candidates_give_no_ranking() -> None:
    assert rank("session", ["session"], []) == []


def test_a_definition_beats_a_mention() -> None:
    mention = candidate("src/alpha.py", "x = session.get()")
    definition = candidate("src/beta.py", "class Session:")

    assert order("session", ["session"], mention, definition) == ["src/beta.py", "src/alpha.py"]


def test_an_exact_definition_beats_a_longer_name() -> None:
    longer = candidate("src/alpha.py", "class SessionCookieJar:")
    exact = candidate("src/beta.py", "class Session:")

    assert order("session", ["session"], longer, exact) == ["src/beta.py", "src/alpha.py"]


def test_a_rarer_term_beats_a_more_common_term() -> None:
    terms = ["common", "rare"]
    usual = [counted(f"src/alpha{number}.py", common=1) for number in range(9)]
    special = counted("src/beta.py", rare=1)

    assert order("gamma", terms, *usual, special)[0] == "src/beta.py"


def test_an_earlier_term_beats_a_later_term() -> None:
    files = counted("src/alpha.py", later=1), counted("src/beta.py", earlier=1)

    assert order("gamma", ["earlier", "later"], *files) == ["src/beta.py", "src/alpha.py"]


def test_two_terms_beat_many_matches_of_one() -> None:
    files = counted("src/alpha.py", first=50), counted("src/beta.py", first=1, second=1)

    assert order("gamma", ["first", "second"], *files) == ["src/beta.py", "src/alpha.py"]


def test_more_of_the_query_around_the_matches_is_better() -> None:
    bare = candidate("src/alpha.py", "session = 1", "other = 2")
    telling = candidate("src/beta.py", "session = 1", "cookie = expire(session)")

    assert order("how a session cookie expires", ["session"], bare, telling) == [
        "src/beta.py",
        "src/alpha.py",
    ]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("session", "src/session.py"),
        ("how sessions are stored", "src/session_store.py"),
        ("authentication", "src/auth.py"),
        ("colours of the SideBar", "src/sidebar.py"),
        ("a parser of dates", "src/parser/mod.rs"),
        ("a parser of dates", "src/parser/__init__.py"),
    ],
)
def test_a_path_that_matches_the_query_beats_a_path_that_does_not(query: str, path: str) -> None:
    files = counted("src/alpha.py", term=3), counted(path, term=3)

    assert order(query, ["term"], *files) == [path, "src/alpha.py"]


def test_a_word_in_every_path_has_no_weight() -> None:
    folders = [counted(f"winnow/{name}.py", term=1) for name in ("alpha", "beta", "token")]

    assert order("tokens of winnow", ["term"], *folders)[0] == "winnow/token.py"


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_session.py",
        "src/session_test.go",
        "src/session.spec.ts",
        "src/SessionTest.java",
        "docs/session.rst",
        "examples/session.py",
        "CHANGELOG.md",
        "vendor/session.go",
        "src/session_pb2.py",
        "static/session.min.js",
    ],
)
def test_tests_documentation_and_generated_files_come_last(path: str) -> None:
    files = candidate(path, "class Session:"), candidate("src/session.py", "class Session:")

    assert order("session", ["session"], *files) == ["src/session.py", path]


def test_tests_are_not_demoted_for_a_query_that_asks_for_tests() -> None:
    files = candidate("tests/session.py", "class Session:"), candidate("src/alpha.py", "session()")

    assert order("tests of the session", ["session"], *files)[0] == "tests/session.py"


def test_a_header_comes_after_its_source() -> None:
    files = counted("include/session.h", session=3), counted("lib/session.c", session=3)

    assert order("session", ["session"], *files) == ["lib/session.c", "include/session.h"]


def test_a_header_without_a_source_is_not_demoted() -> None:
    alone = rank("session", ["session"], [counted("include/session.h", session=3)])
    source = rank("session", ["session"], [counted("include/session.c", session=3)])

    assert alone[0].score == source[0].score


def test_equal_evidence_is_ordered_by_path() -> None:
    files = [counted(f"src/{name}.py", term=1) for name in "dbacfe"]
    files += [candidate(f"lib/{name}.py", "class Session:") for name in "gh"]
    expected = rank("session", ["term", "session"], files)
    random.Random(1).shuffle(files)

    assert rank("session", ["term", "session"], files) == expected
    assert [file.candidate.path for file in expected[2:]] == [f"src/{name}.py" for name in "abcdef"]


def test_index_scores_move_files_and_scores_are_from_0_to_1() -> None:
    files = [candidate(f"src/{name}.py", "x = session.get()") for name in ("a", "b", "c")]
    assert order("session", ["session"], *files) == ["src/a.py", "src/b.py", "src/c.py"]
    ranked = rank(
        "session", ["session"], [files[0], pointed(files[1], 0.2), pointed(files[2], 0.8)]
    )
    assert [file.candidate.path for file in ranked] == ["src/c.py", "src/b.py", "src/a.py"]
    assert all(0 <= (file.score or 0) <= 1 for file in ranked)


def test_a_file_that_is_not_indexed_yet_is_not_demoted() -> None:
    known = [pointed(candidate(f"src/{name}.py", "x = session.get()"), 0.1) for name in "ab"]
    new = candidate("src/session.py", "class Session:")
    paths = ["src/session.py", "src/a.py", "src/b.py"]
    ranked = rank("session", ["session"], [*known, new], unknown={"src/session.py"})
    assert [file.candidate.path for file in ranked] == paths
    plain = [msgspec.structs.replace(file, indexed=None) for file in known]
    own = rank("session", ["session"], [*plain, new])[0].score or 0
    assert ranked[0].score == pytest.approx(own / OWN_SCORE, abs=1e-4)


def test_a_file_found_only_by_the_index_has_its_reason() -> None:
    lines = {3: line("class Store:")}
    alone = pointed(Candidate("src/store.py", lines, {}, {}), 0.9, "defines Store; " + "x" * 200)
    [ranked] = rank("session", ["session"], [alone])
    assert ranked.reason.startswith("from the index: defines Store; xxx")
    assert len(ranked.reason) == REASON_CHARACTERS


def test_feedback_moves_files_by_a_share_of_the_best_score() -> None:
    files = [candidate(f"src/{name}.py", "x = session.get()") for name in ("a", "b", "c")]
    plain = rank("session", ["session"], files)
    best = plain[0].score or 0
    boosts = {"src/c.py": 0.3, "src/a.py": -0.15, "src/gone.py": 0.3}
    ranked = rank("session", ["session"], files, boosts=boosts)
    assert [file.candidate.path for file in ranked] == ["src/c.py", "src/b.py", "src/a.py"]
    scores = [file.score for file in ranked]
    assert scores == pytest.approx([best * 1.3, best, best * 0.85], abs=1e-3)
    assert [file.reason for file in ranked] == [
        f"{FEEDBACK[True]}; matches session",
        "matches session",
        f"{FEEDBACK[False]}; matches session",
    ]


def test_500_candidates_are_ranked_quickly() -> None:
    text = "    connection = self._session.request(response, timeout)  # keeps the cookie"
    files = [
        candidate(f"src/area{number % 20}/part_{number}.py", text, text, text)
        for number in range(500)
    ]
    taken = []
    for _ in range(5):  # other processes use the machine, and Python may collect garbage
        started = time.process_time()
        rank("how the session keeps the cookies of a response", ["session"], files)
        taken.append(time.process_time() - started)

    assert min(taken) < 0.3  # ten times the usual time: machines differ


# --- reasons -------------------------------------------------------------------------------


def test_a_reason_has_definitions_matches_with_counts_and_path_words() -> None:
    file = candidate(
        "src/session.py",
        "class Session:",
        "    session = None",
        "    cookie = 1",
        terms=["session", "cookie"],
    )
    [ranked] = rank("session cookies", ["session", "cookie"], [file])

    assert ranked.reason == "defines Session; matches session ×2, cookie; path matches session"


def test_a_reason_is_limited_and_counts_the_omitted_terms() -> None:
    terms = [f"some_long_term_{number}" for number in range(20)]
    file = candidate("src/session.py", *terms, terms=terms)
    [ranked] = rank("session", terms, [file])

    assert len(ranked.reason) <= REASON_CHARACTERS
    assert ranked.reason.startswith("matches some_long_term_")
    assert ranked.reason.endswith(" more; path matches session")


def test_a_reason_with_an_endless_term_is_limited() -> None:
    term = "x" * 1000
    [ranked] = rank("session", [term], [Candidate("a.py", {}, {}, {term: 1})])

    assert len(ranked.reason) == REASON_CHARACTERS
    assert ranked.reason.endswith("x…")


# --- words and definitions -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServerError", ["http", "server", "error"]),
        ("apply_migration", ["apply", "migration"]),
        ("how are the migrations ordered", ["migrations", "ordered"]),
        ("base64 utf8Decoder", ["base", "64", "utf", "8", "decoder"]),
        ("", []),
    ],
)
def test_words_split_humps_underscores_and_digits(text: str, expected: list[str]) -> None:
    assert list(words(text).values()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "order ordered orders ordering",
        "class classes",
        "type types typed",
        "query queries",
        "map maps mapped mapping",
        "connection connections",
        "configure configuration",
    ],
)
def test_forms_of_a_word_have_one_stem(text: str) -> None:
    assert len(words(text)) == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class Session(Base):", "Session"),  # Python
        ("    async def session(self):", "session"),
        ("export default class Session {", "Session"),  # JavaScript
        ("export const session = () => {", "session"),
        ("  session(id, options) {", "session"),
        ("exports.session = function (id) {", "exports.session"),
        ("export interface Session<T> {", "Session"),  # TypeScript
        ("func (s *Server) Session() error {", "Session"),  # Go
        ("pub(crate) async fn session() {}", "session"),  # Rust
        ("    public static Result<T> session(int id) throws IOException {", "session"),  # Java
        ("    protected override void Session(int id) {", "Session"),  # C#
        ("data class Session(val id: Int)", "Session"),  # Kotlin
        ("public extension Session {", "Session"),  # Swift
        ("static int session(struct state *data)", "session"),  # C
        ("#define SESSION 1", "SESSION"),
        ("defmodule App.Session do", "App.Session"),  # Elixir
        ("  def self.session(id)", "self.session"),  # Ruby
        ("function M.session(opts)", "M.session"),  # Lua
        ("local function session(opts)", "session"),
        ("    public function session(): void", "session"),  # PHP
        ("session() {", "session"),  # shell
        ("session :: Config -> IO ()", "session"),  # Haskell
        ("pub const Session = struct {", "Session"),  # Zig
    ],
)
def test_defines_returns_the_defined_name(text: str, name: str) -> None:
    assert defines(line(text, "session")) == name


@pytest.mark.parametrize(
    "text",
    [
        "    x = session.get(1)",
        "    session(1, 2)",
        "def other(session):",
        "    const session = open();",
        "    local session = open()",
        "    if (session) {",
        "    return session;",
        "# the class of a session",
        "import { session } from 'session'",
    ],
)
def test_defines_ignores_uses(text: str) -> None:
    assert defines(line(text, "session")) is None


def test_defines_needs_a_match_in_the_name() -> None:
    assert defines(Line("class Session:", 15)) is None


def test_defines_reads_a_line_cut_at_its_end() -> None:
    assert defines(line("def session(" + "argument, " * 20 + "…", "session")) == "session"


def test_defines_ignores_a_line_cut_at_its_beginning() -> None:
    text = "…class Session { constructor() {}"

    assert defines(line(text, "Session", start=499)) is None
