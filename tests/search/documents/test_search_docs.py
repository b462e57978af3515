"""search_docs with the built-in engine: its matches, the searched documents, and the notices about
others. Test formats replace real formats, see documents/conftest.py."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import MakeWorkspace, Recorder, git_init, requires_posix, write_files
from documents.conftest import formats_of_tests
from winnow.config import Config, merge_layer
from winnow.documents.library import builtin, library
from winnow.documents.library.request import DocumentFile
from winnow.documents.library.texts import text_path
from winnow.errors import (
    EmptyQuery,
    InvalidParams,
    InvalidPattern,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    SearchTimedOut,
    UnreadableDocument,
)
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.documents import results
from winnow.search.documents import search as documents_search
from winnow.search.documents.engines import run_engines
from winnow.text.scope import Scope, path_order
from winnow.tools import TOOLS
from winnow.tools.document_text import DocumentTextResult
from winnow.tools.keyword_search import KeywordSearchResult
from winnow.tools.search_docs import SearchDocsPartial, SearchDocsResult
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

__all__ = ["formats_of_tests"]

SEARCH, TEXT = TOOLS["search_docs"], TOOLS["document_text"]

REPORT = """\
# 1 Summary
The quarterly report.
Revenue grew.
# 2 Outlook
Nothing is certain.
Revenue may grow; the revenue of others, too.
Costs fall.
# 3
Closing words.
"""
FILES = {
    "legal/report.pag": REPORT,
    "legal/old/terms.PAG": "Contract terms of 2019\nRevenue share\n",
    "sheets/budget.pag": "= Plan 7\na\trevenue\tc\trevenue\nnothing\nrevenue\n",
    "notes.log": "revenue in a text\n",
    "ignored/draft.pag": "revenue in a draft\n",
    ".hidden/secret.pag": "revenue in secret\n",
    ".gitignore": "ignored/\n",
}

Made = Callable[..., EngineWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "root"), FILES)


@pytest.fixture(scope="module")
def read_root(tmp_path_factory: pytest.TempPathFactory, formats_of_tests: dict[str, str]) -> Path:
    """Return a folder for tests without changes; all documents are in the cache, so no worker
    starts."""
    root = write_files(git_init(tmp_path_factory.mktemp("read") / "root"), FILES)

    async def read() -> None:
        await asyncio.sleep(0.06)  # until the clock of the file system has gone on
        workspace = EngineWorkspace([root], settings(), variables(formats_of_tests, root))
        try:
            found = await search(workspace, "revenue", include_ignored=True, include_hidden=True)
            assert found.completeness.complete
        finally:
            await workspace.aclose()

    asyncio.run(read())
    return root


def settings(**documents: object) -> Config:
    config, problems = merge_layer(
        Config(), {"documents": {"engine": "builtin", **documents}}, "test"
    )
    assert problems == []
    return config


def variables(formats: dict[str, str], root: Path) -> dict[str, str]:
    """Return the environment of a workspace whose cache is next to its folder."""
    return {**formats, "XDG_CACHE_HOME": str(root.parent / "cache")}


@pytest.fixture
def workspace_of(
    make_workspace: MakeWorkspace, formats_of_tests: dict[str, str], tmp_path: Path
) -> Made:
    def make(*folders: Path, **documents: object) -> EngineWorkspace:
        environment = variables(formats_of_tests, *folders[:1] or [tmp_path / "root"])
        return make_workspace(*folders, config=settings(**documents), environment=environment)

    return make


async def search(
    workspace: EngineWorkspace, query: str, progress: Progress = no_progress, **params: Any
) -> SearchDocsResult:
    result = await SEARCH.call(workspace, {"query": query, **params}, progress)
    assert isinstance(result, SearchDocsResult)
    lines = sum(len(one.matches) for one in result.documents)
    assert progress.streaming or result.returned == lines
    assert result.completeness.complete == (not result.completeness.reasons)
    assert bool(result.message) == (result.total_found == 0)
    assert not result.cursor or result.truncated
    return result


async def places(workspace: EngineWorkspace, query: str, **params: Any) -> list[str]:
    """Return `path:line:column` of each match."""
    result = await search(workspace, query, **params)
    assert not result.completeness.timed_out, result
    assert not result.pending, result
    return [
        f"{document.path}:{match.line}:{match.column}"
        for document in result.documents
        for match in document.matches
    ]


def document_in(workspace: EngineWorkspace, root: Path, path: str) -> DocumentFile:
    return DocumentFile(path, str(root / path), "pages", str(root))


async def document_text(workspace: EngineWorkspace, path: str, **params: Any) -> DocumentTextResult:
    result = await TEXT.call(workspace, {"path": path, **params}, no_progress)
    assert isinstance(result, DocumentTextResult)
    return result


# --- results -------------------------------------------------------------------------------


async def test_matches_have_their_place(workspace_of: Made, read_root: Path) -> None:
    result = await search(workspace_of(read_root), "revenue", path="legal/report.pag")
    uri = (read_root / "legal/report.pag").as_uri()
    preview = uri.replace("file:", "winnow-doc:")
    assert json.loads(msgspec.json.encode(result.documents)) == [
        {
            "path": "legal/report.pag",
            "format": "pages",
            "engine": "builtin",
            "total": 2,
            "matches": [
                {
                    "line": 3,
                    "column": 1,
                    "text": "Revenue grew.",
                    "match_range": [1, 8],
                    "before": ["The quarterly report."],
                    "after": [],
                    "preview_uri": f"{preview}#L3",
                    "open_uri": f"{uri}#page=1",
                    "page": 1,
                    "section": "Summary",
                },
                {
                    "line": 6,
                    "column": 1,
                    "text": "Revenue may grow; the revenue of others, too.",
                    "match_range": [1, 8],
                    "ranges": [[1, 8], [23, 30]],
                    "before": ["Nothing is certain."],
                    "after": ["Costs fall."],
                    "preview_uri": f"{preview}#L6",
                    "open_uri": f"{uri}#page=2",
                    "page": 2,
                    "section": "Outlook",
                },
            ],
        }
    ]
    assert (result.engine, result.engines) == ("builtin", {"pages": "builtin"})
    assert (result.statistics.files, result.statistics.matches) == (1, 2)
    assert result.statistics.seconds > 0
    assert (result.total_found, result.truncated, result.completeness.complete) == (2, False, True)


async def test_cells_of_a_sheet_are_named(workspace_of: Made, read_root: Path) -> None:
    result = await search(workspace_of(read_root), "revenue", path="sheets")
    assert [(match.sheet, match.cell, match.cells) for match in result.documents[0].matches] == [
        ("Plan", "C7", ["C7", "E7"]),
        ("Plan", "B9", None),
    ]


async def test_the_text_of_a_document_has_the_lines_that_matches_name(
    workspace_of: Made, read_root: Path
) -> None:
    workspace = workspace_of(read_root)
    found = await search(workspace, "revenue|words|terms")
    for document in found.documents:
        text = await document_text(workspace, document.path)
        lines = text.text.split("\n")
        for match in document.matches:
            assert lines[match.line - 1] == match.text
            part = [one for one in text.line_map if one.line <= match.line][-1:]
            assert [one.page for one in part] in ([], [match.page])
            of_uri = await document_text(workspace, match.preview_uri, start=match.line)
            assert of_uri.text.startswith(match.text + "\n")


async def test_documents_are_found_by_path_and_each_scope(
    workspace_of: Made, read_root: Path
) -> None:
    workspace = workspace_of(read_root)
    everywhere = [
        "legal/old/terms.PAG:2:1",
        "legal/report.pag:3:1",
        "legal/report.pag:6:1",
        "sheets/budget.pag:1:3",
        "sheets/budget.pag:3:1",
    ]
    assert await places(workspace, "revenue") == everywhere
    assert await places(workspace, "revenue", path="legal/old") == everywhere[:1]
    assert await places(workspace, "revenue", path="legal/*.pag") == everywhere[1:3]
    assert await places(workspace, "revenue", path="legal/**") == everywhere[:3]
    assert await places(workspace, "revenue", path=f"{read_root}/l*l/*.pag") == everywhere[1:3]
    assert await places(workspace, "revenue", path="*.PAG") == everywhere[:1]
    assert await places(workspace, "revenue", exclude=["legal"]) == everywhere[3:]
    assert await places(workspace, "revenue", include=["budget.*"]) == everywhere[3:]
    assert await places(workspace, "revenue", file_types=["pages"]) == everywhere
    assert await places(workspace, "revenue", file_types=["pag"]) == everywhere
    assert await places(workspace, "revenue", file_types=["crash"]) == []
    assert await places(workspace, "revenue", include_ignored=True, path="ignored") == [
        "ignored/draft.pag:1:1"
    ]
    assert await places(workspace, "revenue", include_hidden=True, path=".hidden") == [
        ".hidden/secret.pag:1:1"
    ]


async def test_query_options_work(workspace_of: Made, read_root: Path) -> None:
    workspace = workspace_of(read_root)
    assert await places(workspace, "Q[1-4] 20|terms of 20(19|20)") == ["legal/old/terms.PAG:1:10"]
    assert await places(workspace, "grew.", literal=True) == ["legal/report.pag:3:9"]
    assert await places(workspace, "g.ew.", literal=True) == []
    assert await places(workspace, "revenue", case_sensitive=True, path="legal") == [
        "legal/report.pag:6:23"
    ]
    assert await places(workspace, "^Closing") == ["legal/report.pag:9:1"]
    # A ruler is not text.
    assert await places(workspace, "Page|Outlook") == []


async def test_a_phrase_is_found_over_the_ends_of_lines(workspace_of: Made, root: Path) -> None:
    text = "# 1\nÜber the notice\nperiod: the notice\nperiod is\n\nthe notice\n\nperiod\n"
    write_files(root, {"legal/terms.pag": text})
    result = await search(workspace_of(root), "the notice period", path="legal/terms.pag")
    [document] = result.documents
    assert [(match.line, match.text, match.match_range) for match in document.matches] == [
        (2, "Über the notice", (6, 16)),
        (3, "period: the notice", (9, 19)),
    ]
    assert document.matches[0].after == ["period: the notice", "period is"]


async def test_a_query_is_not_an_option(workspace_of: Made, root: Path) -> None:
    queries = ["--pre=touch pwned", "-e", "--files", "--rga-x", "-"]
    names = [f"options/{number}.pag" for number in range(len(queries))]
    texts = [f"before {query} after\n" for query in queries]
    write_files(root, dict(zip(names, texts, strict=True)))
    workspace = workspace_of(root)
    for name, query in zip(names, queries, strict=True):
        assert await places(workspace, query, literal=True, path=name) == [f"{name}:1:8"], query
    assert not (root / "pwned").exists()


async def test_context_stays_on_the_page(workspace_of: Made, read_root: Path) -> None:
    result = await search(
        workspace_of(read_root), "certain|words", context_lines=5, path="legal/*.pag"
    )
    assert [(match.before, match.after) for match in result.documents[0].matches] == [
        ([], ["Revenue may grow; the revenue of others, too.", "Costs fall."]),
        ([], []),
    ]
    none = await search(workspace_of(read_root), "Revenue", context_lines=0, path="legal/*.pag")
    assert {(len(one.before), len(one.after)) for one in none.documents[0].matches} == {(0, 0)}


async def test_max_count_limits_the_lines_of_a_document(workspace_of: Made, root: Path) -> None:
    write_files(root, {"many.pag": "revenue\n" * 150})
    result = await search(workspace_of(root), "revenue", path="many.pag", max_results=1000)
    assert [(one.total, one.total_is_lower_bound) for one in result.documents] == [(100, True)]
    assert result.completeness.reasons == [
        "1 document has more than 100 matching lines: see `max_count`"
    ]
    more = await search(
        workspace_of(root), "revenue", path="many.pag", max_count=1000, max_results=1000
    )
    assert [(one.total, one.total_is_lower_bound) for one in more.documents] == [(150, False)]


async def test_long_lines_are_cut_around_the_match(workspace_of: Made, root: Path) -> None:
    write_files(root, {"long.pag": "= S 1\n" + "x\t" * 5000 + "revenue" + " y" * 5000 + "\n"})
    result = await search(workspace_of(root), "revenue", path="long.pag")
    (match,) = result.documents[0].matches
    assert len(match.text) < 600
    assert match.column == 10_001
    assert match.text_column is not None
    assert match.text[match.column - match.text_column + 1 :].startswith("revenue")
    assert match.cell == "GJJ1"  # the 5,002nd column


async def test_names_of_any_kind(workspace_of: Made, root: Path) -> None:
    names = ["-dash.pag", "a b.pag", "ü:#?.pag", "new\nline.pag", "[x].pag", "report*.pag"]
    write_files(root, {f"odd/{name}": "revenue\n" for name in names})
    (root / "odd" / os.fsdecode(b"\xff.pag")).write_text("revenue\n")
    workspace = workspace_of(root)
    result = await search(workspace, "revenue", path="odd")
    assert {one.path for one in result.documents} == {
        *(f"odd/{name}".replace("\n", r"\x0a") for name in names),
        r"odd/\xff.pag",
    }
    for document in result.documents:
        text = await document_text(workspace, document.matches[0].preview_uri)
        assert text.text == "revenue\n"
    assert await places(workspace, "revenue", path="odd/[x].pag") == ["odd/[x].pag:1:1"]
    assert await places(workspace, "revenue", path="odd/report*.pag") == ["odd/report*.pag:1:1"]


async def test_several_folders(workspace_of: Made, root: Path, tmp_path: Path) -> None:
    other = write_files(git_init(tmp_path / "other"), {"b.pag": "revenue\n"})
    workspace = workspace_of(root, other)
    result = await search(workspace, "share|^revenue$")
    assert [(one.root, one.path) for one in result.documents] == [
        (str(root), "legal/old/terms.PAG"),
        (str(root), "sheets/budget.pag"),
        (str(other), "b.pag"),
    ]
    assert "b.pag" in SEARCH.plain(result)


# --- pages, streams, tokens ----------------------------------------------------------------


async def test_pages_hold_each_line_once(workspace_of: Made, root: Path) -> None:
    write_files(root, {f"many/{n:02}.pag": "revenue\n" * (n % 4) + f"{n}\n" for n in range(20)})
    workspace = workspace_of(root)
    everything = await places(workspace, "revenue", path="many")
    assert len(everything) == 30
    got: list[str] = []
    cursor = ""
    while True:
        result = await search(workspace, "revenue", path="many", max_results=7, cursor=cursor)
        got += [f"{d.path}:{m.line}:{m.column}" for d in result.documents for m in d.matches]
        assert result.total_found == 30
        if not result.cursor:
            break
        assert result.returned == 7
        cursor = result.cursor
    assert got == everything


async def test_a_change_between_two_pages_is_reported(workspace_of: Made, root: Path) -> None:
    workspace = workspace_of(root)
    first = await search(workspace, "revenue", max_results=2)
    assert first.cursor is not None
    write_files(root, {"legal/old/terms.PAG": "revenue\nand\nrevenue\n"})
    second = await search(workspace, "revenue", max_results=2, cursor=first.cursor)
    assert [reason for reason in second.completeness.reasons if "changed" in reason]


async def test_documents_are_streamed_as_they_are_found(
    workspace_of: Made, read_root: Path
) -> None:
    class Streaming(Recorder):
        streaming = True

    recorder = Streaming()
    result = await search(workspace_of(read_root), "revenue", recorder, max_results=4)
    sent = [one for one in recorder.partials if isinstance(one, SearchDocsPartial)]
    documents = [document for one in sent for document in one.documents]
    assert {one.path for one in documents} <= {
        "legal/report.pag",
        "legal/old/terms.PAG",
        "sheets/budget.pag",
    }
    assert sum(len(one.matches) for one in documents) == result.returned == 4
    assert (result.documents, result.total_found, result.truncated) == ([], 5, True)


async def test_an_answer_is_shortened_to_fit(workspace_of: Made, root: Path) -> None:
    write_files(root, {f"many/{n}.pag": "before\nrevenue\nafter\n" for n in range(30)})
    workspace = workspace_of(root)
    whole = await search(workspace, "revenue", path="many")
    size = estimated_tokens(whole)
    bare = await search(workspace, "revenue", path="many", max_tokens=size - 100)
    assert (bare.returned, bare.truncated, bare.documents[0].matches[0].before) == (30, True, [])
    few = await search(workspace, "revenue", path="many", max_tokens=size // 4)
    assert 0 < few.returned < 30
    assert few.cursor is not None
    assert estimated_tokens(few) <= size // 4
    rest = await search(workspace, "revenue", path="many", cursor=few.cursor)
    assert rest.returned == 30 - few.returned


# --- missing results -----------------------------------------------------------------------


async def test_errors(workspace_of: Made, read_root: Path) -> None:
    workspace = workspace_of(read_root)
    write_files(read_root.parent, {"outside/x.pag": "revenue\n"})
    for params, error in [
        ({"query": " "}, EmptyQuery),
        ({"query": "("}, InvalidPattern),
        ({"query": "(", "file_types": ["hang"]}, InvalidPattern),
        ({"query": "x", "path": "../outside"}, PathOutsideWorkspace),
        ({"query": "x", "path": "../outside/*.pag"}, PathOutsideWorkspace),
        ({"query": "x", "path": "legal/../../outside/*.pag"}, PathOutsideWorkspace),
        ({"query": "x", "file_types": ["tex"]}, InvalidParams),
        ({"query": "x", "path": "a{b"}, InvalidParams),
        ({"query": "x", "timeout": 0}, InvalidParams),
    ]:
        with pytest.raises(error):
            await SEARCH.call(workspace, params, no_progress)
    with pytest.raises(NoWorkspace):
        await search(workspace_of(), "x")
    with pytest.raises(InvalidPattern, match="or pass `literal`"):
        await search(workspace, "(")


@pytest.mark.parametrize("path", ["nothing", "nothing/*.pag", "legal/*.docx", "nothing/here.pdf"])
async def test_a_path_that_matches_nothing(workspace_of: Made, read_root: Path, path: str) -> None:
    result = await search(workspace_of(read_root), "revenue", path=path)
    assert (result.message, result.documents) == ("No matches found", [])
    assert result.warnings
    assert SEARCH.plain(result).startswith("No matches found")


@pytest.mark.parametrize("query", ["Did the revenue of terms fall?", "terms: revenue falls"])
async def test_documents_with_single_words_are_counted_if_nothing_matches(
    workspace_of: Made, read_root: Path, query: str
) -> None:
    result = await search(workspace_of(read_root), query, path="legal")
    [warning] = result.warnings
    assert re.search(r"\brevenue \(2\).*`keyword_search` with include_documents$", warning)
    assert "terms (1)" in warning


async def test_files_that_are_no_documents_are_counted_if_nothing_matches(
    workspace_of: Made, read_root: Path
) -> None:
    warning = "1 file is not a document: `grep` searches its text"
    workspace = workspace_of(read_root)
    assert warning in (await search(workspace, "nothing-like-this")).warnings
    assert warning not in (await search(workspace, "x-y", path="legal")).warnings
    assert warning not in (await search(workspace, "x-y", file_types=["pages"])).warnings


async def test_words_of_a_regular_expression_are_not_counted(
    workspace_of: Made, read_root: Path
) -> None:
    result = await search(workspace_of(read_root), "revenue (falls|drops)", path="legal")
    assert result.warnings == []


async def test_excluded_documents_are_reported_if_no_others_match(
    workspace_of: Made, tmp_path: Path
) -> None:
    files = {".gitignore": "a/\n", "a/x.pag": "x", ".b/y.pag": "y", "c.txt": "c"}
    root = write_files(git_init(tmp_path / "other"), files)
    result = await search(workspace_of(root), "x")
    assert result.warnings == [
        "2 more documents are excluded: pass include_ignored and include_hidden"
    ]


async def test_excluded_documents_are_counted_if_nothing_matches(
    workspace_of: Made, read_root: Path
) -> None:
    result = await search(workspace_of(read_root), "nowhere")
    assert result.warnings == [
        "2 more documents are excluded: pass include_ignored and include_hidden",
        "1 file is not a document: `grep` searches its text",
    ]


@requires_posix
async def test_unreadable_documents_are_listed_and_the_others_searched(
    workspace_of: Made, root: Path
) -> None:
    write_files(
        root,
        {
            "bad/a.crash": "revenue",
            "bad/b.defect": "revenue",
            "bad/c.pag": "",
            "bad/d.doc": "revenue",
            "bad/e.pag": "revenue\n! page 2 is a picture\n",
        },
    )
    await asyncio.sleep(0.06)
    workspace = workspace_of(root)
    for _ in range(2):  # read now, and known
        result = await search(workspace, "revenue", path="bad")
        assert [one.path for one in result.documents] == ["bad/e.pag"]
        assert sorted((one.path, one.reason) for one in result.failed) == [
            ("bad/a.crash", "its parser has crashed"),
            ("bad/b.defect", "it is damaged: ZeroDivisionError: division by zero"),
            ("bad/c.pag", "it has no text"),
            ("bad/d.doc", ".doc files are not supported"),
            ("bad/e.pag", "page 2 is a picture"),
        ]
        assert result.completeness.reasons == [
            "5 documents could not be read completely: see `failed`"
        ]


async def test_a_text_file_is_not_a_document(workspace_of: Made, read_root: Path) -> None:
    result = await search(workspace_of(read_root), "revenue", path="notes.log")
    assert [one.reason for one in result.failed] == [
        "it is not a document of a requested format: use `grep` for text files"
    ]
    assert result.message == "No matches found"


@requires_posix
async def test_at_the_deadline_results_are_returned_and_the_rest_is_read(
    workspace_of: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "QUICK_SECONDS", 0.7)
    some = builtin._Reading.next_batch

    async def some_in_time(reading: Any, most: int, seconds: float, deadline: float) -> Any:
        """Have time be up when only those are left that hang."""
        return await some(reading, most, seconds, deadline if most > 4 else 0.0)

    monkeypatch.setattr(builtin._Reading, "next_batch", some_in_time)
    write_files(root, {"slow/a.hang": "", "slow/b.hang": "", "slow/c.hang": "", "slow/d.hang": ""})
    workspace = workspace_of(root)
    result = await search(workspace, "revenue", timeout=60)
    assert len(result.documents) == 3
    assert result.completeness.timed_out
    assert result.pending == 4
    assert f"{result.pending} documents have not been read yet: try again" in (
        result.completeness.reasons
    )
    assert workspace.library.waiting == result.pending


@requires_posix
async def test_no_document_in_time_is_an_error(workspace_of: Made, tmp_path: Path) -> None:
    root = write_files(tmp_path / "other", {"a.hang": ""})
    with pytest.raises(SearchTimedOut, match=r"timed out after 0\.5 seconds"):
        await search(workspace_of(root), "x", timeout=0.5)


# --- right about now -----------------------------------------------------------------------


async def test_changed_files_are_found_with_their_current_text(
    workspace_of: Made, root: Path
) -> None:
    workspace = workspace_of(root)
    assert await places(workspace, "grew") == ["legal/report.pag:3:9"]
    write_files(root, {"legal/report.pag": "It grew\n", "legal/new.pag": "grew\n"})
    assert await places(workspace, "grew") == ["legal/new.pag:1:1", "legal/report.pag:1:4"]
    (root / "legal/report.pag").unlink()
    (root / "legal/new.pag").rename(root / "legal/newer.pag")
    assert await places(workspace, "grew") == ["legal/newer.pag:1:1"]


async def test_an_emptied_cache_is_refilled(workspace_of: Made, root: Path, tmp_path: Path) -> None:
    await asyncio.sleep(0.06)
    workspace = workspace_of(root)
    assert len(await places(workspace, "revenue")) == 5
    for folder in (tmp_path / "cache/winnow/documents").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    result = await search(workspace, "revenue")
    assert len(result.documents) == 3
    assert result.completeness.complete


async def test_documents_are_read_once_for_concurrent_searches(
    workspace_of: Made, root: Path
) -> None:
    workspace = workspace_of(root)
    results = await asyncio.gather(*(search(workspace, "revenue") for _ in range(6)))
    assert [len(one.documents) for one in results] == [3] * 6


async def test_a_cancelled_search_continues_to_read_in_the_background(
    workspace_of: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = asyncio.Event()

    async def wait(*arguments: object) -> None:
        reading.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(builtin._Reading, "next_batch", wait)
    workspace = workspace_of(root)
    task = asyncio.create_task(search(workspace, "revenue"))
    await reading.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    while workspace.library.waiting:
        await asyncio.sleep(0.01)
    paths = ("legal/report.pag", "legal/old/terms.PAG", "sheets/budget.pag")
    known = await workspace.library.sort([document_in(workspace, root, path) for path in paths])
    assert (len(known.ready), known.unread) == (3, [])


async def test_a_deleted_cache_folder_is_recreated(
    workspace_of: Made, root: Path, tmp_path: Path
) -> None:
    await asyncio.sleep(0.06)
    workspace = workspace_of(root)
    assert len(await places(workspace, "revenue")) == 5
    for _ in range(2):
        shutil.rmtree(tmp_path / "cache")
        result = await search(workspace, "revenue")
        assert (len(result.documents), result.statistics.files) == (3, 3)
        assert result.completeness.complete


async def test_a_text_deleted_during_the_search_gives_no_empty_line(
    workspace_of: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.sleep(0.06)
    workspace = workspace_of(root)
    assert len(await places(workspace, "revenue")) == 5
    known = await workspace.library.sort([document_in(workspace, root, "legal/report.pag")])

    def deleted_now(scope: Scope) -> Any:
        workspace.library.texts.folder.joinpath(text_path(*known.ready)).unlink(missing_ok=True)
        return path_order(scope)

    monkeypatch.setattr(results, "path_order", deleted_now)
    result = await search(workspace, "revenue")
    assert [one.path for one in result.documents] == ["legal/old/terms.PAG", "sheets/budget.pag"]
    assert (result.pending, result.total_found) == (1, 3)
    assert not result.completeness.complete


async def test_documents_changed_during_the_search_are_not_returned(
    workspace_of: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.sleep(0.06)
    workspace = workspace_of(root)
    assert len(await places(workspace, "revenue")) == 5

    async def changing(*arguments: Any) -> None:
        await run_engines(*arguments)
        (root / "legal/report.pag").unlink()
        (root / "sheets/budget.pag").write_text("something else\n")

    monkeypatch.setattr(documents_search, "run_engines", changing)
    result = await search(workspace, "revenue")
    assert [one.path for one in result.documents] == ["legal/old/terms.PAG"]
    assert (result.pending, result.statistics.files) == (1, 1)


async def test_unsaved_text_of_documents_counts(workspace_of: Made, root: Path) -> None:
    write_files(root, {"page.page": "saved revenue\n"})
    workspace = workspace_of(root)
    workspace.open_documents = lambda: {
        root / "page.page": "first\nunsaved revenue\n",
        root / "new.page": "new revenue\n",
        root / "legal/report.pag": "what an editor \ufffd shows of a binary file: revenue\n",
    }
    assert await places(workspace, "revenue", include=["*.page", "report.pag"]) == [
        "legal/report.pag:3:1",
        "legal/report.pag:6:1",
        "new.page:1:5",
        "page.page:2:9",
    ]
    result = await search(workspace, "revenue", path="page.page")
    (match,) = result.documents[0].matches
    assert match.open_uri == (root / "page.page").as_uri()
    for path in ("page.page", match.preview_uri):
        assert (await document_text(workspace, path)).text == "first\nunsaved revenue\n"
    assert (await document_text(workspace, "new.page")).text == "new revenue\n"
    # For unsaved documents, only the texts are cached.
    assert all(path.startswith(str(root)) for path in workspace.library._catalogue._results)


async def test_a_document_without_permission_is_reported(
    workspace_of: Made, read_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = os.stat

    def refusing(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("report.pag"):
            raise PermissionError(13, "Permission denied")
        return look(path, *arguments, **options)

    workspace = workspace_of(read_root)
    monkeypatch.setattr(os, "stat", refusing)
    result = await search(workspace, "revenue")
    assert [(one.path, one.reason) for one in result.failed] == [
        ("legal/report.pag", "it cannot be read: Permission denied")
    ]


async def test_waiting_for_other_searches_counts_towards_the_timeout(
    workspace_of: Made, read_root: Path
) -> None:
    workspace = workspace_of(read_root)
    for _ in range(3):
        await workspace.document_slots.acquire()
    with pytest.raises(SearchTimedOut, match=r"after 0\.2 seconds: it waited"):
        await search(workspace, "revenue", timeout=0.2)
    assert (await document_text(workspace, "legal/report.pag")).total_lines == 9


async def test_an_answer_has_a_size(workspace_of: Made, root: Path, tmp_path: Path) -> None:
    write_files(root, {f"many/{n}.pag": ("revenue " + "x" * 300 + "\n") * 40 for n in range(20)})
    workspace = workspace_of(root)
    limits = msgspec.structs.replace(workspace.config.limits, answer_bytes=100_000)
    workspace.config = msgspec.structs.replace(workspace.config, limits=limits)
    everything: list[str] = []
    cursor = ""
    while True:
        result = await search(workspace, "revenue", path="many", max_results=10_000, cursor=cursor)
        assert len(msgspec.json.encode(result)) < 150_000
        everything += [f"{d.path}:{m.line}" for d in result.documents for m in d.matches]
        cursor = result.cursor or ""
        if not cursor:
            break
    assert len(everything) == len(set(everything)) == 800


async def test_failures_are_shortened_last(workspace_of: Made, root: Path) -> None:
    write_files(root, {f"bad/{n}.pag": "" for n in range(60)} | {"bad/x.pag": "revenue\n"})
    workspace = workspace_of(root)
    whole = await search(workspace, "revenue", path="bad")
    assert len(whole.failed) == 60
    short = await search(workspace, "revenue", path="bad", max_tokens=600)
    assert (len(short.failed), short.returned, short.truncated) == (3, 1, True)
    assert estimated_tokens(short) <= 600
    assert "60 documents could not be read" in short.completeness.reasons[0]


# --- document_text -------------------------------------------------------------------------


async def test_the_text_of_a_document(workspace_of: Made, read_root: Path) -> None:
    result = await document_text(workspace_of(read_root), "legal/report.pag", start=4, end=8)
    assert json.loads(msgspec.json.encode(result)) == {
        "root": str(read_root),
        "path": "legal/report.pag",
        "uri": (read_root / "legal/report.pag").as_uri().replace("file:", "winnow-doc:"),
        "format": "pages",
        "engine": "builtin",
        "start": 4,
        "text": (
            "──── Page 2 ────\n"
            "Nothing is certain.\n"
            "Revenue may grow; the revenue of others, too.\n"
            "Costs fall.\n"
            "──── Page 3 ────\n"
        ),
        "total_lines": 9,
        "line_map": [
            {"line": 4, "title": "Page 2", "page": 2, "section": "Outlook"},
            {"line": 8, "title": "Page 3", "page": 3},
        ],
        "total_found": 5,
        "returned": 5,
        "truncated": False,
        "completeness": {"complete": True, "reasons": [], "skipped": {}, "timed_out": False},
        "warnings": [],
    }
    inside = await document_text(workspace_of(read_root), "legal/report.pag", start=5, end=6)
    assert [(one.line, one.page) for one in inside.line_map] == [(4, 2)]


async def test_a_start_beyond_the_end_is_reported(workspace_of: Made, root: Path) -> None:
    write_files(root, {"one.pag": "a line\n"})
    workspace = workspace_of(root)
    result = await document_text(workspace, "legal/report.pag", start=500, end=600)
    assert (result.start, result.text, result.line_map) == (500, "", [])
    assert (result.total_found, result.returned, result.total_lines) == (0, 0, 9)
    assert result.warnings == ["line 500 is beyond the end: the text has 9 lines"]
    one = await document_text(workspace, "one.pag", start=2)
    assert one.warnings == ["line 2 is beyond the end: the text has 1 line"]
    last = await document_text(workspace, "legal/report.pag", start=9, end=600)
    assert (last.text, last.returned, last.warnings) == ("Closing words.\n", 1, [])


async def test_a_document_of_an_unsupported_format_is_reported(
    workspace_of: Made, root: Path
) -> None:
    write_files(root, {"old.DOC": "text", "old.log": "text"})
    workspace = workspace_of(root)
    reasons = {}
    for name in ("old.DOC", "old.log"):
        with pytest.raises(UnreadableDocument) as raised:
            await document_text(workspace, name)
        reasons[name] = raised.value.message
    assert ".doc files are not supported" in reasons["old.DOC"]
    assert "its format is not a document format: use `read_file`" in reasons["old.log"]


async def test_a_long_text_comes_in_pages(workspace_of: Made, root: Path) -> None:
    write_files(root, {"long.pag": "".join(f"line {n}\n" for n in range(1000))})
    workspace = workspace_of(root)
    whole = await document_text(workspace, "long.pag")
    part = await document_text(workspace, "long.pag", max_tokens=1000)
    assert part.truncated
    assert estimated_tokens(part) <= 1000
    text = part.text
    while part.cursor:
        part = await document_text(workspace, "long.pag", max_tokens=1000, cursor=part.cursor)
        text += part.text
    assert text == whole.text == "".join(f"line {n}\n" for n in range(1000))


async def test_a_text_that_changes_between_two_pages_is_reported(
    workspace_of: Made, root: Path
) -> None:
    write_files(root, {"long.pag": "".join(f"line {n}\n" for n in range(1000))})
    workspace = workspace_of(root)
    part = await document_text(workspace, "long.pag", max_tokens=1000)
    # As many lines, and as many characters.
    write_files(root, {"long.pag": "".join(f"lime {n}\n" for n in range(1000))})
    rest = await document_text(workspace, "long.pag", max_tokens=1000, cursor=part.cursor)
    assert [reason for reason in rest.completeness.reasons if "changed" in reason]


async def test_documents_without_text_have_a_reason(workspace_of: Made, root: Path) -> None:
    write_files(root, {"empty.pag": ""})
    workspace = workspace_of(root)
    for path, error in [
        ("empty.pag", UnreadableDocument),
        ("notes.log", UnreadableDocument),
        ("gone.pag", NotFound),
        ("../x.pag", PathOutsideWorkspace),
        ("winnow-doc:///nothing", PathOutsideWorkspace),
    ]:
        with pytest.raises(error):
            await document_text(workspace, path)
    with pytest.raises(InvalidParams):
        await document_text(workspace, "legal/report.pag", start=5, end=4)


async def test_the_text_for_agents(workspace_of: Made, read_root: Path) -> None:
    result = await document_text(workspace_of(read_root), "legal/report.pag", start=8)
    assert TEXT.plain(result) == "──── Page 3 ────\nClosing words.\n[2 of 2 lines, pages]"
    found = await search(workspace_of(read_root), "grew", path="legal/*.pag")
    assert SEARCH.plain(found).split("\n")[:3] == [
        "legal/report.pag",
        "  The quarterly report.",
        "page 1, Summary: Revenue grew.",
    ]


async def test_unread_documents_are_grouped_by_reason(workspace_of: Made, root: Path) -> None:
    write_files(root, {f"{name}.doc": "x" for name in "abcde"} | {"z.7z": "x"})
    found = await search(workspace_of(root), "grew")
    unread = [line for line in SEARCH.plain(found).split("\n") if line.startswith("[not read")]
    assert unread == [
        "[not read: a.doc, b.doc, c.doc and 2 more: .doc files are not supported]",
        "[not read: z.7z: .7z files are not supported]",
    ]
    assert "builtin" not in SEARCH.plain(found)


# --- other tools ---------------------------------------------------------------------------


async def test_read_file_reads_a_document_as_its_text(workspace_of: Made, root: Path) -> None:
    workspace = workspace_of(root)
    read = TOOLS["read_file"]
    result = await read.call(workspace, {"path": "legal/report.pag", "spans": ["4-5"]}, no_progress)
    assert [chunk.content for chunk in result.chunks] == ["──── Page 2 ────\nNothing is certain.\n"]
    assert (result.document, result.total_lines) == ("pages", 9)
    write_files(root, {"no.pag": ""})
    assert (await read.call(workspace, {"path": "no.pag"}, no_progress)).document is None
    (root / "binary.pag").write_bytes(b"! \0\n")
    with pytest.raises(UnreadableDocument):
        await read.call(workspace, {"path": "binary.pag"}, no_progress)


@pytest.fixture
def time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for documents that are read during a search: a busy machine would read fewer."""
    monkeypatch.setattr("winnow.search.documents.overlay.READ_SECONDS", 60.0)


async def test_a_compact_payload_has_the_text_of_a_document_and_not_its_file(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    rtf = r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 first\par the zeppelin lands here\par third}"
    write_files(tmp_path, {"landing.rtf": rtf, "a.py": "def zeppelin(): ...\n"})
    workspace = make_workspace(tmp_path)
    params = {"query": "q", "search_terms": ["zeppelin"], "include_documents": True}
    params |= {"payload": "compact", "dry_run": True}
    result = await TOOLS["keyword_search"].call(workspace, params, no_progress)
    assert isinstance(result, KeywordSearchResult)
    assert result.payload is not None
    assert "the zeppelin lands here" in result.payload.prompt
    assert "fonttbl" not in result.payload.prompt


@pytest.mark.usefixtures("time_to_read")
async def test_mail_and_rich_text_are_searched_and_read_decoded(
    workspace_of: Made, root: Path
) -> None:
    body = base64.b64encode("The zeppelin sails at größe.\n".encode()).decode()
    headers = "Subject: s\nContent-Type: text/plain; charset=utf-8\n"
    message = f"{headers}Content-Transfer-Encoding: base64\n\n{body}\n"
    texts = {
        "a.eml": message,
        "a.mbox": f"From a\n{message}\n",
        "a.rtf": "{\\rtf1\\ansi {\\b The zep}pelin sails\\par}",
    }
    write_files(root, texts)
    workspace = workspace_of(root)
    contents = {}
    for name in texts:
        result = await TOOLS["read_file"].call(workspace, {"path": name}, no_progress)
        contents[name] = [chunk.content for chunk in result.chunks]
    assert contents == {
        "a.eml": ["Subject: s\nThe zeppelin sails at größe.\n"],
        "a.mbox": ["──── Message 1: s ────\nSubject: s\nThe zeppelin sails at größe.\n"],
        "a.rtf": ["The zeppelin sails\n"],
    }
    params = {"query": "q", "search_terms": ["zeppelin"], "include_documents": True}
    result = await TOOLS["keyword_search"].call(workspace, params, no_progress)
    found = {one.path: [match.line for match in one.matches] for one in result.files}
    assert found == {"a.eml": [2], "a.mbox": [3], "a.rtf": [1]}


async def test_keyword_search_continues_without_unreadable_documents(
    workspace_of: Made, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(root / "no-python"))
    params = {"query": "revenue", "search_terms": ["revenue"], "include_documents": True}
    result = await TOOLS["keyword_search"].call(workspace_of(root), params, no_progress)
    assert "notes.log" in {one.path for one in result.files}
    assert "3 documents have not been read yet: try again" in result.completeness.reasons


async def test_keyword_search_lists_a_plain_text_file_once(
    workspace_of: Made, tmp_path: Path
) -> None:
    write_files(
        tmp_path / "plain", {"a.md": "zeppelin\n", "b.txt": "zeppelin\n", "c.py": "zeppelin"}
    )
    params = {"query": "q", "search_terms": ["zeppelin"], "include_documents": True}
    workspace = workspace_of(tmp_path / "plain")
    result = await TOOLS["keyword_search"].call(workspace, params, no_progress)
    assert sorted(found.path for found in result.files) == ["a.md", "b.txt", "c.py"]


@pytest.mark.usefixtures("time_to_read")
async def test_keyword_search_ranks_documents_among_the_files(
    workspace_of: Made, read_root: Path
) -> None:
    workspace = workspace_of(read_root)
    params = {"query": "how does revenue grow", "search_terms": ["revenue", "grew"]}
    keyword = TOOLS["keyword_search"]
    without = await keyword.call(workspace, params, no_progress)
    assert {one.path for one in without.files} == {
        "notes.log",
        "legal/report.pag",
        "legal/old/terms.PAG",
        "sheets/budget.pag",
    }
    recorder = Recorder()
    result = await keyword.call(workspace, {**params, "include_documents": True}, recorder)
    found = {one.path: one for one in result.files}
    assert set(found) == {
        "notes.log",
        "legal/report.pag",
        "legal/old/terms.PAG",
        "sheets/budget.pag",
    }
    report = found["legal/report.pag"]
    assert (report.format, found["notes.log"].format) == ("pages", None)
    assert [(one.line, one.page, one.section) for one in report.matches] == [
        (3, 1, "Summary"),
        (6, 2, "Outlook"),
    ]
    assert result.completeness.complete
    text = await document_text(workspace, report.preview_uri)
    assert text.text.split("\n")[report.line - 1] in {one.text for one in report.matches}
