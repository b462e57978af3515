"""Search by meaning from the index: right about now, in its scope, and beside what it lacks."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered, pages
from conftest import FAKE_KEY, MakeWorkspace, built, git_init, write_files
from winnow.config import Config, IndexSettings
from winnow.config import merge_layer as with_layer
from winnow.errors import IndexUnavailable, InvalidParams
from winnow.search.code.indexed import merged
from winnow.search.index import indexable
from winnow.search.index.state import current_status
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.tools.index_status import IndexStatusResult
from winnow.tools.semantic_search import SemanticSearchResult
from winnow.tools.terminal import Style
from winnow.types import Hit, no_progress
from winnow.workspace import EngineWorkspace, Lifetime

# What embeddings are installed makes no difference here.
LEXICAL = Config(index=IndexSettings(embeddings="off"))

FILES = {
    "src/auth/login.py": (
        "import crypto\n\n\n"
        "class Login:\n"
        '    """Checks who somebody is."""\n\n'
        "    def check_password(self, user, password):\n"
        "        # Compare in constant time.\n"
        "        return crypto.equal(user.password_hash, crypto.hashed(password))\n"
    ),
    "src/auth/session.py": (
        "class Session:\n"
        "    def end(self):\n"
        '        """Log a user out and forget the cookie."""\n'
        "        self.cookie = None\n"
    ),
    "src/mail/sending.py": (
        "def send_mail(to, text):\n"
        "    # Retried three times if the server does not answer.\n"
        "    for attempt in range(3):\n"
        "        if server.send(to, text):\n"
        "            return\n"
    ),
    "tests/test_login.py": "def test_check_password():\n    assert Login().check_password(a, b)\n",
    "docs/mail.md": "# Mail\n\nMail is sent by a server, three times at most.\n",
    "web/app.min.js": "var password=1\n",
    ".gitignore": "/built/\n",
    "built/login.py": "def check_password(): pass\n",
}


async def search(workspace: EngineWorkspace, query: str, **params: Any) -> SemanticSearchResult:
    raw = {"query": query, **params}
    tool = TOOLS["semantic_search"]
    return await answered(tool, SemanticSearchResult, workspace, raw, items="results")


async def paths(workspace: EngineWorkspace, query: str, **params: Any) -> list[str]:
    return [one.path for one in (await search(workspace, query, **params)).results]


@pytest.fixture(autouse=True)
def time_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for index updates: on a busy machine, searches would not use the index."""
    monkeypatch.setattr("winnow.search.code.indexed.STALE_SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.code.indexed.SEARCH_SECONDS", 30.0)


@pytest.fixture
async def workspace(make_workspace: MakeWorkspace, tmp_path: Path) -> EngineWorkspace:
    workspace = make_workspace(write_files(git_init(tmp_path / "project"), FILES), config=LEXICAL)
    await workspace.index.build()
    return workspace


async def test_the_answer_has_the_passage_its_symbol_and_why(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "how is a password compared")
    assert (result.engine, result.fallback, result.index_offer) == ("lexical", None, None)
    first = result.results[0]
    assert (first.path, first.start_line, first.end_line) == ("src/auth/login.py", 7, 9)
    assert (first.symbol, first.best_line) == ("Login.check_password", None)
    assert first.snippet is not None
    assert "        # Compare in constant time." in first.snippet.split("\n")
    assert first.why == "defines check_password; mentions Compare"
    assert first.score == max(one.score for one in result.results)
    index = result.completeness.index
    assert index is not None
    assert (result.completeness.complete, result.completeness.reasons, index.state) == (
        True, [], "ready"
    )  # fmt: skip
    assert result.warnings == []
    nothing = await search(workspace, "kubernetes")
    assert nothing.warnings == ["1 file is not searched, as index.exclude_patterns says"]


async def test_words_that_no_text_contains_are_named(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "kubernetes password")
    assert result.unknown_words == ["kubernetes"]
    assert '[no text file contains "kubernetes"]' in TOOLS["semantic_search"].plain(result).split(
        "\n"
    )
    new = workspace.folders[0] / "src/new.py"
    workspace.open_documents = lambda: {new: "# To kubernetes.\n"}
    assert (await search(workspace, "kubernetes password")).unknown_words == []


async def test_documents_are_named_if_they_may_have_the_words(workspace: EngineWorkspace) -> None:
    write_files(workspace.folders[0], {"docs/a.pdf": "%PDF-1.4\n% kubernetes\n", "docs/a.png": "x"})
    expected = "1 document was not searched, such as docs/a.pdf: see `search_docs`"
    assert expected in (await search(workspace, "kubernetes password")).warnings
    assert (await search(workspace, "password")).warnings == []


async def test_a_misspelled_word_is_replaced_and_a_warning_says_so(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, "How is a Passwrod compared?")
    assert (result.results[0].symbol, result.unknown_words) == ("Login.check_password", [])
    assert result.warnings == [
        "'password' was searched for instead of 'passwrod', which no text file contains"
    ]
    # Of few letters, one may make another word.
    assert (await search(workspace, "kube login")).warnings == []


async def test_files_that_the_index_could_not_read_are_reported(workspace: EngineWorkspace) -> None:
    (folder,) = workspace.index.folder_indexes()
    await folder.writer.write_excluded(["docs/mail.md"], "it took longer than 5 seconds")
    await folder.writer.write_excluded(["src/mail/sending.py"], "it is larger than 1,000 bytes")
    await folder.writer.write_excluded(["tests/test_login.py"], "it cannot be read")
    result = await search(workspace, "how is a password compared")
    assert (result.completeness.complete, result.completeness.reasons) == (
        False,
        [
            "1 file took too much time or memory to index: search for exact text to find it",
            "1 file could not be read",
        ],
    )
    assert result.warnings == [
        "1 file is too large to index (limits.parse_bytes): search for exact text to find it",
    ]
    skipped = result.completeness.skipped
    assert (skipped.too_large, skipped.unreadable) == (1, 1)
    # Only in the requested files.
    result = await search(workspace, "how is a password compared", path="src")
    skipped = result.completeness.skipped
    assert (skipped.too_large, skipped.unreadable) == (1, None)
    assert (result.completeness.reasons, len(result.warnings)) == ([], 1)


async def test_a_long_function_in_a_function_is_a_place(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """Factories in JavaScript have hundreds of lines; their name says little about a place."""
    line = "    host.insert(node, anchor)\n"
    parts = {"mountElement": 30, "moveKeyedChildren": 30, "unmountSlot": 30, "tiny": 1}
    functions = [
        f"  const {name} = (node, anchor) => {{\n{line * count}  }}\n\n"
        for name, count in parts.items()
    ]
    source = f"export function createRenderer(host) {{\n{''.join(functions)}}}\n"
    folder = write_files(git_init(tmp_path / "vue"), {"renderer.ts": source})
    workspace = await built(make_workspace(folder, config=LEXICAL))
    [result] = (await search(workspace, "how are keyed children moved")).results
    assert result.symbol == "createRenderer.moveKeyedChildren"
    assert source.split("\n")[(result.best_line or result.start_line) - 1].startswith(
        "  const moveKeyedChildren"
    )


async def test_the_state_of_the_index_names_files_that_failed(workspace: EngineWorkspace) -> None:
    (folder,) = workspace.index.folder_indexes()
    failed = "it took longer than 5 seconds"
    await folder.writer.write_excluded(["docs/mail.md"], failed)
    await folder.writer.write_excluded(["tests/test_login.py"], "it cannot be read")
    status = await TOOLS["index_status"].call(workspace, {}, no_progress)
    assert isinstance(status, IndexStatusResult)
    assert status.index.folders[0].failed_files == [f"docs/mail.md: {failed}"]
    assert f"    failed: docs/mail.md: {failed}" in TOOLS["index_status"].plain(status).split("\n")


async def test_the_counts_of_a_stale_index_are_those_of_the_last_scan(
    workspace: EngineWorkspace,
) -> None:
    status = await TOOLS["index_status"].call(workspace, {}, no_progress)
    assert isinstance(status, IndexStatusResult)
    [folder] = status.index.folders
    counts = f"  {folder.files_indexed} of {folder.files_total} files indexed"
    assert counts in TOOLS["index_status"].plain(status).split("\n")
    one = msgspec.structs.replace(status.index, workers=1, memory_mb=68.0)
    shown = TOOLS["index_status"].plain(msgspec.structs.replace(status, index=one))
    assert "1 worker, 68 MB of memory with the server" in shown.split("\n")
    stale = msgspec.structs.replace(folder, state="stale")
    index = msgspec.structs.replace(status.index, folders=[stale])
    shown = TOOLS["index_status"].plain(msgspec.structs.replace(status, index=index))
    assert f"{counts}, as of the last scan" in shown.split("\n")


async def test_each_file_is_found_once_and_cursors_lead_through_all(
    workspace: EngineWorkspace,
) -> None:
    query = "password mail server login session"
    every = await paths(workspace, query, top_k=50)
    assert len(every) == len(set(every)) >= 4
    found: list[str] = []
    async for page in pages(search, workspace, query=query, top_k=2):
        found += [one.path for one in page.results]
        assert page.truncated == bool(page.cursor)
    assert found == every


async def test_unsaved_text_is_found_and_saved_text_is_not(workspace: EngineWorkspace) -> None:
    login = workspace.folders[0] / "src/auth/login.py"
    workspace.open_documents = lambda: {login: "def launch_rocket(pad):\n    return pad.ignite()\n"}
    (first, *_) = (await search(workspace, "launching of a rocket")).results
    assert (first.path, first.symbol) == ("src/auth/login.py", "launch_rocket")
    assert first.snippet == "def launch_rocket(pad):\n    return pad.ignite()"
    assert "src/auth/login.py" not in await paths(workspace, "compare crypto in constant time")
    workspace.open_documents = dict
    assert "src/auth/login.py" in await paths(workspace, "compare crypto in constant time")
    assert await paths(workspace, "launching of a rocket") == []


async def test_a_new_document_is_found_that_is_on_no_disk(workspace: EngineWorkspace) -> None:
    new = workspace.folders[0] / "src/rocket.py"
    workspace.open_documents = lambda: {
        new: "def ignite(pad):\n    # launches the rocket\n    pad.fire()\n"
    }
    assert await paths(workspace, "what launches the rocket") == ["src/rocket.py"]


async def test_changed_files_are_found_by_new_words_and_deleted_files_never(
    workspace: EngineWorkspace,
) -> None:
    login = workspace.folders[0] / "src/auth/login.py"
    asked = "compare passwords in constant time"
    assert (await paths(workspace, asked))[0] == "src/auth/login.py"
    for number in range(5):
        login.write_text(f"def launch_rocket_{number}(pad):\n    return pad.ignite()\n")
        workspace.files_changed([login])
        found = await search(workspace, f"launch_rocket_{number}")
        assert found.results[0].path == "src/auth/login.py"
        assert f"launch_rocket_{number}" in (found.results[0].snippet or "")
        assert "src/auth/login.py" not in await paths(workspace, asked)
    login.unlink()
    assert "src/auth/login.py" not in await paths(workspace, "launch_rocket_4 login")
    login.write_text(FILES["src/auth/login.py"])
    workspace.files_changed([login])
    assert (await paths(workspace, asked))[0] == "src/auth/login.py"


async def test_a_file_that_is_moved_is_found_where_it_is(workspace: EngineWorkspace) -> None:
    root = workspace.folders[0]
    (root / "src/auth").rename(root / "src/identity")
    found = await paths(workspace, "compare passwords in constant time")
    assert found[0] == "src/identity/login.py"
    assert not any(path.startswith("src/auth/") for path in found)


async def test_the_scope_limits_the_results(workspace: EngineWorkspace) -> None:
    query = "password login mail server session"
    every = set(await paths(workspace, query, top_k=50))
    in_src = {path for path in every if path.startswith("src/")}
    assert in_src
    assert every - in_src
    assert set(await paths(workspace, query, path="src")) == in_src
    assert set(await paths(workspace, query, include=["src/**"])) == in_src
    assert set(await paths(workspace, query, exclude=["src/**"])) == every - in_src
    assert set(await paths(workspace, query, file_types=["md"])) == {"docs/mail.md"}
    assert await paths(workspace, query, path="docs/mail.md") == ["docs/mail.md"]
    assert not any(path.startswith("built/") for path in every)
    with pytest.raises(InvalidParams, match="file_types"):
        await search(workspace, query, file_types=["nonsense"])


async def test_results_name_their_root_if_there_are_two(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    roots = [
        write_files(git_init(tmp_path / name), {"a.py": f"def launch_{name}(): pass\n"})
        for name in ("rocket", "balloon")
    ]
    workspace = await built(make_workspace(*roots, config=LEXICAL))
    (first, *_) = (await search(workspace, "launch the balloon")).results
    assert (first.root, first.path, first.symbol) == (str(roots[1]), "a.py", "launch_balloon")


async def test_at_the_command_line_a_small_folder_is_indexed_at_once(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    workspace = make_workspace(folder, config=LEXICAL)
    result = await search(workspace, "how is a password compared")
    assert (result.engine, result.fallback) == ("lexical", None)
    assert result.results[0].path == "src/auth/login.py"
    assert (folder / ".winnow").is_dir()


async def test_files_that_the_index_has_listed_are_not_listed_to_count_them(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    config = Config(index=IndexSettings(auto_index_threshold=0, embeddings="off"))
    workspace = make_workspace(folder, config=config)
    files = await indexable.count_files(workspace)
    async with workspace.index.snapshot({}, 30.0):
        pass
    monkeypatch.delattr(indexable, "list_files")
    assert await indexable.count_files(workspace) == files == len(FILES) - 2


async def test_a_large_folder_is_indexed_on_request(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    write_files(folder, {f"src/part_{n}.py": f"part = {n}\n" for n in range(60)})
    config = Config(index=IndexSettings(auto_index_threshold=20, embeddings="off"))
    query = {"query": "how is a password compared"}
    workspace = make_workspace(folder, config=config)
    result = await TOOLS["code_search"].call(workspace, query, no_progress)
    assert isinstance(result, CodeSearchResult)
    assert (result.search_type_used, result.engine) == ("text", "text")
    assert result.fallback is not None
    assert result.fallback.reason.startswith("there is no index: ")
    assert result.index_offer is not None
    wanted = {**query, "enable_indexing": True}
    result = await TOOLS["code_search"].call(workspace, wanted, no_progress)
    assert (result.search_type_used, result.engine, result.fallback) == (
        "semantic",
        "lexical",
        None,
    )
    # The next process keeps it up.
    write_files(folder, {"src/rocket.py": "def launch_rocket(): pass\n"})
    another = make_workspace(folder, config=config)
    assert (await paths(another, "launch a rocket"))[0] == "src/rocket.py"


@pytest.mark.parametrize("lifetime", Lifetime)
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how is a password compared", "src/auth/login.py"),
        ("check_password", "src/auth/login.py"),
        ("login.py", "src/auth/login.py"),
    ],
)
async def test_without_indexing_not_even_a_small_folder_gets_an_index(
    make_workspace: MakeWorkspace, tmp_path: Path, lifetime: Lifetime, query: str, first: str
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    workspace = make_workspace(folder, config=LEXICAL)
    workspace.lifetime = lifetime
    params = {"query": query, "enable_indexing": False}
    for _ in range(2):
        result = await TOOLS["code_search"].call(workspace, params, no_progress)
        assert isinstance(result, CodeSearchResult)
        assert result.results[0].path == first
    assert workspace.index.state().state == "none"
    assert not (folder / ".winnow").exists()


async def test_without_indexing_an_existing_index_is_kept_current(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    await make_workspace(folder, config=LEXICAL).index.build()
    write_files(folder, {"src/rocket.py": "def launch_rocket(): pass\n"})
    params = {"query": "how do I launch a rocket", "enable_indexing": False}
    workspace = make_workspace(folder, config=LEXICAL)
    result = await TOOLS["code_search"].call(workspace, params, no_progress)
    assert isinstance(result, CodeSearchResult)
    assert (result.engine, result.results[0].path) == ("lexical", "src/rocket.py")


async def test_a_home_folder_is_indexed_only_on_explicit_request(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    home = write_files(git_init(tmp_path / "home"), FILES)
    allowed, _ = with_layer(LEXICAL, {"workspace": {"allow_home_root": True}}, "test")
    workspace = make_workspace(home, environment={"HOME": str(home)}, config=allowed)
    params = {"query": "how is a password compared", "enable_indexing": True}
    result = await TOOLS["code_search"].call(workspace, params, no_progress)
    assert result.warnings[0] == (
        "a home folder is not indexed by a search: use `winnow index build`"
    )
    assert (result.engine, result.index_offer) == ("text", None)
    assert result.results[0].path == "src/auth/login.py"
    assert not (home / ".winnow").exists()
    await TOOLS["index"].call(workspace, {"action": "build"}, no_progress)
    assert (await search(workspace, "how is a password compared")).engine == "lexical"


async def test_unindexed_files_are_searched_as_text_during_a_build(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"src/part_{n}.py": f"def rocket_{n}():\n    launch({n})\n" for n in range(120)}
    folder = write_files(git_init(tmp_path / "project"), files)
    workspace = make_workspace(folder, config=LEXICAL)
    workspace.lifetime = Lifetime.SERVER  # as in a language server
    workspace.index.pause()
    build = asyncio.create_task(workspace.index.build())
    while not workspace.index.state().files_total:
        await asyncio.sleep(0.01)
    some = [str(folder / f"src/part_{n}.py") for n in range(70)]
    async for _ in workspace.index.index_files(some, 10):
        pass
    result = await search(workspace, "where is launch called", top_k=100)
    assert {one.path for one in result.results} <= set(files)
    assert (result.returned, result.total_found) == (100, 120)
    assert result.fallback is not None
    assert (result.fallback.partly, result.engine) == (True, "lexical")
    assert result.fallback.reason == (
        "the index is being built (0 of 120 files; paused: `index resume` continues): the"
        " other files were searched for the words of the query"
    )
    scores = [one.score for one in result.results]
    assert scores == sorted(scores, reverse=True)
    assert not result.completeness.complete
    build.cancel()


async def test_files_read_without_an_index_are_not_an_index(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"src/part_{n}.py": f"def rocket_{n}():\n    launch({n})\n" for n in range(120)}
    folder = write_files(git_init(tmp_path / "project"), files)
    workspace = make_workspace(folder, config=LEXICAL)
    workspace.lifetime = Lifetime.SERVER  # as in a language server
    async for _ in workspace.index.index_files([str(folder / "src/part_1.py")], 10):
        pass
    result = await search(workspace, "where is launch called", top_k=100)
    assert result.fallback is not None
    assert result.fallback.reason.startswith("there is no index: ")
    assert (result.fallback.partly, result.engine) == (False, "text")


async def test_a_folder_without_an_index_is_searched_as_text(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    small = write_files(git_init(tmp_path / "small"), FILES)
    parts = {f"src/part_{n}.py": f"def password_{n}(): pass\n" for n in range(120)}
    large = write_files(git_init(tmp_path / "large"), parts)
    config = Config(index=IndexSettings(embeddings="off", max_files=60))
    workspace = make_workspace(small, large, config=config)
    workspace.lifetime = Lifetime.SERVER  # as in a language server
    await workspace.index.build()
    result = await search(workspace, "how is a password compared", top_k=100)
    assert result.fallback is not None
    assert (result.fallback.partly, result.engine) == (True, "lexical")
    assert result.fallback.reason == (
        f"not every folder has an index ({large}: it has 120 files, and index.max_files is 60):"
        " files were searched for the words of the query"
    )
    assert {one.root for one in result.results} == {str(small), str(large)}
    assert result.index_offer is not None


async def test_a_read_only_folder_is_searched(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    (folder / ".winnow").write_text("no folder")
    workspace = make_workspace(folder, config=LEXICAL)
    assert (await paths(workspace, "how is a password compared"))[0] == "src/auth/login.py"


async def test_an_index_that_cannot_be_saved_is_an_error(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "project"), {**FILES, ".winnow": "no folder"})
    no_cache = {"XDG_CACHE_HOME": str(folder / ".winnow")}
    workspace = make_workspace(folder, config=LEXICAL, environment=no_cache)
    with pytest.raises(IndexUnavailable, match="it could not be saved"):
        await TOOLS["index"].call(workspace, {"action": "build"}, no_progress)


async def test_a_query_without_words_finds_nothing(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "??? !!!")
    assert (result.results, result.total_found, result.truncated) == ([], 0, False)


async def test_many_searches_at_once_are_all_answered(workspace: EngineWorkspace) -> None:
    queries = ["password", "mail server", "log out", "cookie of a session"] * 10
    found = await asyncio.gather(*[paths(workspace, f"where is {query}") for query in queries])
    assert all(found)
    assert found[:4] * 10 == found


async def test_nothing_uses_the_network_whatever_keys_there_are(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_files(git_init(tmp_path / "project"), FILES)
    environment = {"OPENAI_API_KEY": FAKE_KEY, "ANTHROPIC_API_KEY": FAKE_KEY}
    workspace = make_workspace(folder, environment=environment, config=LEXICAL)
    tried: list[object] = []

    def refuse(*arguments: object) -> None:
        tried.append(arguments)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert await paths(workspace, "how is a password compared")
    assert tried == []


# --- hits of an index and of texts ---------------------------------------------------------


def hits(scores: Iterable[tuple[str, float]]) -> list[Hit]:
    return [Hit(path, "passage", score) for path, score in scores]


def test_unindexed_files_are_ranked_by_their_texts() -> None:
    indexed = hits([("a", 0.9), ("b", 0.5), ("c", 0.1)])
    texts = hits([("new", 4.0), ("a", 3.0), ("other", 2.0), ("c", 1.0)])
    found = merged(indexed, texts, frozenset(["new", "other"]), 1.0)
    assert [(one.path, one.score) for one in found] == [
        ("a", 0.9), ("new", 0.9), ("b", 0.5), ("c", 0.1), ("other", 0.1)
    ]  # fmt: skip
    assert merged([], texts, frozenset(["new"]), 1.0)[0].path == "new"
    assert merged(indexed, [], frozenset(), 0.1) == indexed


def test_hits_of_a_small_index_come_after_as_many_texts_as_are_likely_better() -> None:
    indexed = hits([("a", 0.9), ("b", 0.5)])
    texts = hits([(f"text{number}", 1.0) for number in range(10)])
    missing = frozenset(one.path for one in texts)

    def ranks(share: float) -> list[int]:
        found = [one.path for one in merged(indexed, texts, missing, share)]
        return [found.index("a"), found.index("b")]

    assert ranks(1.0) == [0, 2]
    assert ranks(0.5) == [1, 4]
    assert ranks(0.1) == [5, 11]
    assert ranks(0.001) == [10, 11]


async def test_files_without_a_text_are_found_by_their_names(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    names = ("migrations/__init__.py", "migrations/applied/__init__.py", "how migrations.py")
    root = write_files(git_init(tmp_path / "empty"), dict.fromkeys(names, "") | {"nl.txt": "\n\n"})
    workspace = await built(make_workspace(root, config=LEXICAL))
    assert set(await paths(workspace, "where are migrations applied")) == set(names)


async def test_files_beyond_the_size_limit_are_reported_by_find_symbol(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    words = random.Random(5)
    files = {
        f"m{number}.py": f"def only_in_{number}(): ...\n"
        + "".join(f"v{words.getrandbits(64):x} = 1\n" for _ in range(1_000))
        for number in range(12)
    }
    root = write_files(git_init(tmp_path / "full"), files)
    workspace = await built(make_workspace(root, config=LEXICAL))
    small, _ = with_layer(LEXICAL, {"index": {"max_index_size_mb": 1}}, "test")
    workspace.reconfigure(small)
    await workspace.index.build()
    [folder] = (await current_status(workspace)).folders
    assert folder.bytes_on_disk is not None
    assert folder.bytes_on_disk <= 1024 * 1024
    left_out = folder.not_covered.size_limit
    assert left_out
    assert left_out > 1
    result = await TOOLS["find_symbol"].call(workspace, {"name": "only_in_3"}, no_progress)
    assert not result.completeness.complete
    assert any(f"{left_out} files are left out" in one for one in result.completeness.reasons)
    # Their words are searched for, and so are in some text.
    for number in range(12):
        question = await search(workspace, f"what does only_in_{number} return")
        assert f"m{number}.py" in [result.path for result in question.results[:2]]
        assert question.unknown_words == []
        assert question.completeness.reasons[0].startswith(f"{left_out} files are not indexed")
    updated = await TOOLS["index"].call(workspace, {"action": "build"}, no_progress)
    assert (updated.returned, folder.files_indexed) == (12 - left_out, 12 - left_out)
    assert TOOLS["index"].text(updated, Style(colour=False), None).startswith("the index is full\n")
    refreshed = await TOOLS["refresh"].call(workspace, {}, no_progress)
    assert (refreshed.returned, refreshed.total_found) == (12 - left_out, 12)


async def test_an_index_that_the_settings_forbid_is_not_used(workspace: EngineWorkspace) -> None:
    await workspace.index.build()
    assert workspace.index.state().state == "ready"
    off, _ = with_layer(LEXICAL, {"index": {"enabled": False}}, "test")
    workspace.reconfigure(off)
    assert workspace.index.state().state == "none"
    result = await search(workspace, "how is a password compared")
    assert result.fallback is not None


async def test_without_an_index_the_best_files_are_parsed(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    body = "".join(f"    step_{n}(queue)\n" for n in range(60))
    text = f"def launch_rocket(queue):\n{body}    ignite(queue, fuel)\n\n\ndef land():\n    pass\n"
    folder = write_files(git_init(tmp_path / "project"), {"src/rocket.py": text})
    workspace = make_workspace(folder, config=LEXICAL)
    found = await TOOLS["code_search"].call(
        workspace, {"query": "where does fuel ignite", "enable_indexing": False}, no_progress
    )
    [hit] = found.results
    assert (found.search_type_used, hit.symbol) == ("text", "launch_rocket")
    assert hit.line <= 62 <= hit.end_line
    assert not (folder / ".winnow").exists()
