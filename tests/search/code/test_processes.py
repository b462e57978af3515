"""The runs of ripgrep that code search needs: with a watched index, hardly any."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, write_files
from winnow.config import Config, IndexSettings
from winnow.search.code.message_files import files_with_terms
from winnow.text.scope import Filters
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

FILES = {
    "src/cart.py": 'def add(count):\n    raise ValueError("the count of items must be positive")\n',
    "src/bank.py": 'def open(bank):\n    raise RuntimeError("the bank is closed today")\n',
    "docs/errors.md": "The count of items must be positive.\n",
    "src/other.py": "".join(f"def function_{n}():\n    add({n})\n\n\n" for n in range(40)),
}
BOTH = "ValueError: the count of items must be positive\n\nRuntimeError: the bank is closed today\n"
Search = Callable[[str], Awaitable[CodeSearchResult]]


@pytest.fixture(autouse=True)
def time_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a busy index, whose use would depend on time, and use it for a small tree."""
    monkeypatch.setattr("winnow.search.grep.prefilter.PROCESS_SECONDS", 10.0)
    monkeypatch.setattr("winnow.search.grep.prefilter.MOST_SECONDS", 10.0)
    monkeypatch.setattr("winnow.search.grep.prefilter.SMALL_TREE", 0)


@pytest.fixture
def workspace(make_workspace: MakeWorkspace, tmp_path: Path) -> EngineWorkspace:
    write_files(tmp_path, FILES)
    return make_workspace(tmp_path, config=Config(index=IndexSettings(embeddings="off")))


@pytest.fixture
def runs(workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record the command lines of child processes."""
    seen: list[list[str]] = []
    start = workspace.processes.start

    def spied(command: list[str], **options: Any) -> Any:
        seen.append(command)
        return start(command, **options)

    monkeypatch.setattr(workspace.processes, "start", spied)
    return seen


@pytest.fixture
async def search(workspace: EngineWorkspace, runs: list[list[str]]) -> Search:
    """Search with a watched index."""
    workspace.index.enable_watching()
    await workspace.index.build()

    async def search(query: str) -> CodeSearchResult:
        runs.clear()
        result = await TOOLS["code_search"].call(workspace, {"query": query}, no_progress)
        assert isinstance(result, CodeSearchResult)
        return result

    return search


async def test_an_error_message_needs_no_process(search: Search, runs: list[list[str]]) -> None:
    result = await search(BOTH)
    places = [(hit.path, hit.line, hit.why) for hit in result.results]
    assert ("src/cart.py", 2, "raises this message") in places
    assert ("src/bank.py", 2, "raises this message") in places
    assert runs == []


async def test_a_frame_needs_no_process(search: Search, runs: list[list[str]]) -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/src/cart.py", line 2, in add\nKeyError\n'
    )
    first = (await search(trace)).results[0]
    assert (first.path, first.why) == ("src/cart.py", "frame 1 of the stack trace: `add`")
    assert runs == []


async def test_the_name_of_a_file_needs_no_process(search: Search, runs: list[list[str]]) -> None:
    result = await search("cart.py")
    assert [hit.path for hit in result.results] == ["src/cart.py"]
    assert result.completeness.complete
    assert runs == []


async def test_a_file_that_the_index_lacks_is_looked_for_on_disk(
    workspace: EngineWorkspace, search: Search, runs: list[list[str]]
) -> None:
    result = await search("hidden.py")
    assert result.results == []
    assert len(runs) >= 1


async def test_exact_text_needs_one_process(search: Search, runs: list[list[str]]) -> None:
    result = await search("add(")
    assert [hit.path for hit in result.results] == ["src/cart.py", "src/other.py"]
    assert result.results[0].line == 1
    assert len(runs) == 1


async def test_one_process_finds_all_messages_without_an_index(
    workspace: EngineWorkspace, runs: list[list[str]]
) -> None:
    terms = ["count of items", "Bank is Closed", "nowhere at all"]
    found = await files_with_terms(workspace, workspace.scope(Filters()), terms)
    assert found == {
        "src/cart.py": {"count of items"},
        "docs/errors.md": {"count of items"},
        "src/bank.py": {"Bank is Closed"},
    }
    assert len(runs) == 1


@pytest.mark.parametrize("enabled", [True, False], ids=["with an index", "without an index"])
async def test_unsaved_documents_are_searched(
    make_workspace: MakeWorkspace, tmp_path: Path, enabled: bool
) -> None:
    write_files(tmp_path, FILES)
    settings = IndexSettings(enabled=enabled, embeddings="off")
    workspace = make_workspace(tmp_path, config=Config(index=settings))
    if enabled:
        workspace.index.enable_watching()
        await workspace.index.build()
    workspace.open_documents = lambda: {
        tmp_path / "src/cart.py": "\n" + FILES["src/cart.py"],
        tmp_path / "src/new.py": 'raise OSError("the tea is cold again")\n',
    }

    async def first(query: str) -> tuple[str, int | None]:
        result: Any = await TOOLS["code_search"].call(workspace, {"query": query}, no_progress)
        return result.results[0].path, result.results[0].line

    assert await first("ValueError: the count of items must be positive") == ("src/cart.py", 3)
    assert await first("OSError: the tea is cold again") == ("src/new.py", 1)
    assert await first("new.py") == ("src/new.py", None)
