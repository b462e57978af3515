"""semantic_search without an index: it searches for the words of the question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered
from conftest import MakeWorkspace, Recorder, git_init, write_files
from winnow.config import Config, IndexSettings
from winnow.errors import EmptyQuery, InvalidParams
from winnow.tools import TOOLS
from winnow.tools.semantic_search import (
    SemanticSearchPartial,
    SemanticSearchResult,
    reason_beside,
    text,
)
from winnow.tools.terminal import Style
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["semantic_search"]
NO_INDEX = Config(index=IndexSettings(enabled=False))


async def search(
    workspace: EngineWorkspace, query: str, progress: Progress = no_progress, **params: Any
) -> SemanticSearchResult:
    raw = {"query": query, **params}
    return await answered(TOOL, SemanticSearchResult, workspace, raw, progress, items="results")


@pytest.fixture
def workspace(make_workspace: MakeWorkspace, project: Path) -> EngineWorkspace:
    return make_workspace(project, config=NO_INDEX)


async def test_the_answer_has_all_documented_fields(
    workspace: EngineWorkspace, project: Path
) -> None:
    recorder = Recorder()
    result = await search(workspace, "where is register_plugin", recorder, top_k=1)
    reason = "index.enabled is off: files were searched for the words of the query"
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "search_id": result.search_id,
        "results": [
            {
                "path": "src/registry.py", "start_line": 1, "end_line": 4, "best_line": 3,
                "score": result.results[0].score,
                "snippet": (
                    "registry = {}\n\ndef register_plugin(name, plugin):\n"
                    "    registry[name] = plugin"
                ),
                "why": result.results[0].why,
            }
        ],
        "engine": "text",
        "fallback": {"from": "semantic", "to": "text", "reason": reason},
        "total_found": 2,
        "returned": 1,
        "truncated": True,
        "completeness": {
            "complete": False, "reasons": [reason], "skipped": {}, "timed_out": False,
            "index": {"state": "none", "files_indexed": 0, "files_total": 0, "updated_at": 0.0},
        },
        "warnings": [],
        "cursor": result.cursor,
    }  # fmt: skip
    assert str(result.results[0].why).startswith("defines register_plugin; ")
    rest = await search(workspace, "where is register_plugin", top_k=1, cursor=result.cursor)
    assert [one.path for one in rest.results] == ["docs/plugins.md"]
    assert (rest.truncated, rest.cursor) == (False, None)
    assert TOOL.plain(result) == (
        f"src/registry.py:1-4  {result.results[0].why}\n"
        "1\tregistry = {}\n"
        "2\t\n"
        "3\tdef register_plugin(name, plugin):\n"
        "4\t    registry[name] = plugin\n\n"
        "[1 of 2 passages, text]\n"
        f"[incomplete: {reason}]\n"
        f"[more: cursor {result.cursor}]"
    )
    assert text(result, Style(colour=True), str(project / "src")).startswith(
        "\x1b[1;35mregistry.py\x1b[0m\x1b[2m:1-4\x1b[0m  \x1b[2mdefines"
    )
    assert recorder.messages[0] == "Searching for 1 term"


async def test_the_scope_and_the_editors_text_count(
    workspace: EngineWorkspace, project: Path
) -> None:
    workspace.open_documents = lambda: {project / "src/main.py": "rocket = launch(pad)\n"}
    (found,) = (await search(workspace, "launch a rocket from its pad")).results
    assert (found.path, found.snippet) == ("src/main.py", "rocket = launch(pad)")
    assert (await search(workspace, "launch a rocket", path="tests")).results == []
    assert (await search(workspace, "launch a rocket", file_types=["md"])).results == []


async def test_queries_without_matching_words_are_incomplete(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "zebra crossing")
    assert (result.results, result.total_found, result.truncated) == ([], 0, False)
    assert result.unknown_words == ["crossing", "zebra"]
    # A third of the words, but not a quarter.
    result = await search(workspace, "zebra plugin registry")
    assert (result.unknown_words, len(result.results) > 0) == (["zebra"], True)
    assert '[no text file contains "zebra"]' in TOOL.plain(result).split("\n")
    assert (await search(workspace, "zebra name plugin registry")).unknown_words == []
    assert (await search(workspace, "zebra plugin registry", path="src")).unknown_words == []
    result = await search(workspace, " ".join(f"word{n}" for n in range(40)))
    assert "only the first 16 of 40 words were searched for" in result.completeness.reasons
    result = await search(workspace, "???")
    assert result.completeness.reasons[0] == "the query has no words to search for"


async def test_bad_params_are_reported(workspace: EngineWorkspace) -> None:
    with pytest.raises(EmptyQuery):
        await search(workspace, "  ")
    with pytest.raises(InvalidParams, match="top_k"):
        await search(workspace, "x", top_k=0)
    with pytest.raises(InvalidParams, match="cursor"):
        await search(workspace, "x", cursor="zzz")


async def test_passages_are_streamed_and_not_sent_again(workspace: EngineWorkspace) -> None:
    whole = await search(workspace, "how are plugins loaded")
    recorder = Recorder()
    recorder.streaming = True
    result = await search(workspace, "how are plugins loaded", recorder)
    assert result.results == []
    (partial,) = recorder.partials
    assert isinstance(partial, SemanticSearchPartial)
    assert partial.results == whole.results


async def test_an_index_is_offered_where_it_would_pay(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"f{n}.py": "def handle(): pass\n" for n in range(30)}
    folder = write_files(git_init(tmp_path / "p"), files)
    config = Config(index=IndexSettings(auto_index_threshold=20))
    workspace = make_workspace(folder, config=config)
    offer = (await search(workspace, "what handles")).index_offer
    assert offer is not None
    assert (offer.files, offer.param, offer.command) == (
        30, "enable_indexing", "winnow index build"
    )  # fmt: skip
    workspace.reconfigure(Config(index=IndexSettings(auto_index_threshold=31, enabled=False)))
    assert (await search(workspace, "what handles")).index_offer is None


@pytest.mark.parametrize(
    ("symbol", "why", "shown"),
    [
        ("Client.send", "defines send; mentions retries", "mentions retries"),
        ("Client.send", "defines send", "defines send"),
        ("Client.send", "defines send_all; mentions retries", "defines send_all; mentions retries"),
        (None, "defines send; mentions retries", "defines send; mentions retries"),
    ],
)
def test_the_reason_next_to_a_symbol_does_not_repeat_its_name(
    symbol: str | None, why: str, shown: str
) -> None:
    assert reason_beside(symbol, why) == shown
