"""How long a question at the command line waits for the index that is built in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, write_files
from winnow.index.builder.throttle import Throttle
from winnow.search.index import begin
from winnow.tools import TOOLS
from winnow.types import IndexState, no_progress
from winnow.workspace import EngineWorkspace, Lifetime


class Built:
    """A workspace whose index a task in the background builds, as soon as it may."""

    def __init__(self, workspace: EngineWorkspace) -> None:
        self.may_build = asyncio.Event()
        self._workspace = workspace
        workspace.index_in_background(lambda consent: asyncio.create_task(self._build()))

    async def _build(self) -> None:
        await self.may_build.wait()
        await self._workspace.index.build()


@pytest.fixture
def workspace(make_workspace: MakeWorkspace, tmp_path: Path) -> EngineWorkspace:
    # More than a search indexes by itself.
    files = {f"part_{number}.py": f"def part_{number}(): pass\n" for number in range(300)}
    found = make_workspace(write_files(tmp_path / "parts", files))
    found.index_seconds = 600.0
    return found


async def asked(workspace: EngineWorkspace) -> None:
    await begin.open_and_begin_index(workspace, no_progress, waits=True)


async def test_in_a_small_folder_it_waits_for_the_definitions(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "DEFINITIONS_SECONDS", 600.0)
    Built(workspace).may_build.set()
    await asked(workspace)
    assert workspace.index.state().knows_all


async def test_after_a_while_texts_are_enough(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "DEFINITIONS_SECONDS", 0.2)
    texts = IndexState(
        state="building", files_indexed=0, files_total=300, updated_at=0.0, texts_indexed=300
    )
    monkeypatch.setattr(workspace.index, "state", lambda: texts)
    built = Built(workspace)
    await asyncio.wait_for(asked(workspace), 60)
    assert workspace.is_indexing
    built.may_build.set()


async def test_in_a_larger_folder_texts_are_enough(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "FEW_FILES", -1)
    monkeypatch.setattr(begin, "START_SECONDS", 500.0)
    monkeypatch.setattr(begin, "SOME_FILES_SECONDS", 600.0)
    Built(workspace).may_build.set()
    await asyncio.wait_for(asked(workspace), 60)
    assert workspace.index.state().knows_all_texts


@pytest.mark.parametrize(("start", "most"), [(0.1, 0.2), (0.0, 6000.0)])
async def test_in_a_larger_folder_it_stops_waiting_if_the_texts_are_late(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch, start: float, most: float
) -> None:
    monkeypatch.setattr(begin, "FEW_FILES", -1)
    monkeypatch.setattr(begin, "START_SECONDS", start)
    monkeypatch.setattr(begin, "SOME_FILES_SECONDS", most)
    built = Built(workspace)
    await asyncio.wait_for(asked(workspace), 60)
    assert workspace.is_indexing
    built.may_build.set()


async def test_in_a_large_folder_it_does_not_wait(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(begin, "FEW_FILES", -1)
    monkeypatch.setattr(begin, "SOME_FILES", -1)
    monkeypatch.setattr(begin, "SOME_FILES_SECONDS", 600.0)
    monkeypatch.setattr(begin, "MANY_FILES_SECONDS", 600.0)
    built = Built(workspace)
    await asyncio.wait_for(asked(workspace), 60)
    assert workspace.is_indexing
    built.may_build.set()


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("semantic_search", {"query": "where are parts made"}),
        ("find_symbol", {"name": "part_7"}),
        ("code_search", {"query": "no_such_part"}),
        ("index_status", {}),
    ],
)
async def test_every_answer_says_that_the_index_is_coming(
    workspace: EngineWorkspace, tool: str, params: dict[str, Any]
) -> None:
    workspace.lifetime = Lifetime.SERVER
    built = Built(workspace)
    await asked(workspace)
    answer = await TOOLS[tool].call(workspace, params, no_progress)
    assert not answer.completeness.complete
    assert answer.completeness.index.state == "building"
    built.may_build.set()


async def test_a_deleted_index_is_not_coming(workspace: EngineWorkspace) -> None:
    workspace.lifetime = Lifetime.SERVER
    Built(workspace)
    await asked(workspace)
    assert workspace._indexing is not None
    workspace._indexing.cancel()
    await asyncio.wait({workspace._indexing})
    await TOOLS["index"].call(workspace, {"action": "clear"}, no_progress)
    assert workspace.index.state().state == "none"


async def test_an_answer_says_once_that_the_index_is_being_built(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.lifetime = Lifetime.SERVER
    monkeypatch.setattr(Throttle, "shortage", "other programs use 97 % of the processors")
    monkeypatch.setattr(Throttle, "reason", "a request is being answered")
    built = Built(workspace)
    await asked(workspace)
    answer = await TOOLS["find_references"].call(workspace, {"name": "part_7"}, no_progress)
    [reason] = answer.completeness.reasons
    assert "indexing waits: other programs use 97 % of the processors" in reason
    assert reason.endswith("): types and imports in other files may still be unknown")
    built.may_build.set()


async def test_an_answer_says_what_the_index_waits_for(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.lifetime = Lifetime.SERVER
    monkeypatch.setattr(Throttle, "shortage", "other programs use 97 % of the processors")
    built = Built(workspace)
    await asked(workspace)
    answer = await TOOLS["semantic_search"].call(workspace, {"query": "parts"}, no_progress)
    assert answer.completeness.index.waits_for == "other programs use 97 % of the processors"
    assert "indexing waits: other programs use 97 %" in answer.completeness.reasons[0]
    built.may_build.set()
    assert workspace._indexing is not None
    await workspace._indexing
    assert workspace.index.state().waits_for is None
