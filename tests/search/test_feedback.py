"""Tests of feedback and search_metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import call
from conftest import MakeWorkspace, built, write_files
from winnow.config import Config, merge_layer
from winnow.errors import InvalidParams, NotFound, PathOutsideWorkspace, UnknownSearch
from winnow.index.store.file_record import FULL
from winnow.tools import TOOLS
from winnow.tools.feedback import LEARNING_OFF
from winnow.workspace import EngineWorkspace


async def test_feedback_is_recorded_for_the_search(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = make_workspace(project)
    found = await call(workspace, "grep", pattern="load_plugin")
    told = {"search_id": found.search_id, "path": "src/loader.py", "action": "up"}
    result = await call(workspace, "feedback", **told, rank=1)
    assert (result.root, result.path) == (str(project), "src/loader.py")
    assert (result.query, result.tool, result.returned) == ("load_plugin", "grep", 1)
    # In any spelling, and from another process.
    other = make_workspace(project)
    told["path"] = str(project / "src/../src/loader.py")
    assert (await call(other, "feedback", **told)).path == "src/loader.py"
    metrics = await call(other, "search_metrics")
    assert (metrics.enabled, metrics.returned, metrics.hit_rate) == (True, 1, 1.0)
    assert metrics.satisfaction.up == 2
    assert TOOLS["feedback"].plain(result) == "src/loader.py: recorded for 'load_plugin' (grep)"


async def test_unknown_searches_and_paths_are_refused(workspace: EngineWorkspace) -> None:
    found = (await call(workspace, "grep", pattern="load_plugin")).search_id
    told = {"search_id": found, "path": "src/loader.py", "action": "opened"}
    with pytest.raises(UnknownSearch) as unknown:
        await call(workspace, "feedback", **{**told, "search_id": "0123456789ab"})
    assert unknown.value.data == {"kind": "not_found", "search_id": "0123456789ab"}
    assert "Unknown search_id '0123456789ab'" in unknown.value.message
    with pytest.raises(NotFound):
        await call(workspace, "feedback", **{**told, "path": "src/nowhere.py"})
    with pytest.raises(PathOutsideWorkspace):
        await call(workspace, "feedback", **{**told, "path": "../x.py"})
    for wrong in (
        {"action": "liked"},
        {"rank": -1},
        {"rank": 2**63},
        {"path": ""},
        {"search_id": ""},
    ):
        with pytest.raises(InvalidParams):
            await call(workspace, "feedback", **{**told, **wrong})
    assert (await call(workspace, "search_metrics")).satisfaction.opened == 0


async def test_feedback_and_metrics_warn_if_learning_is_off(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    off, _ = merge_layer(Config(), {"learning": {"enabled": False}}, "test")
    workspace = make_workspace(project, config=off)
    found = await call(workspace, "grep", pattern="load_plugin")
    told = {"search_id": found.search_id, "path": "src/loader.py", "action": "opened"}
    result = await call(workspace, "feedback", **told)
    assert (result.returned, result.warnings) == (0, [LEARNING_OFF])
    assert TOOLS["feedback"].plain(result) == f"[note: {LEARNING_OFF}]"
    metrics = await call(workspace, "search_metrics")
    assert (metrics.enabled, metrics.returned, metrics.warnings) == (False, 0, [LEARNING_OFF])
    assert TOOLS["search_metrics"].plain(metrics).endswith(f"[note: {LEARNING_OFF}]")


async def test_metrics_report_once_that_the_index_is_full(
    indexed: EngineWorkspace, project: Path
) -> None:
    (folder,) = indexed.index.folder_indexes()
    store = await folder.store()
    assert store.trim(0)
    write_files(project, {"src/new.py": "new = 1\n"})
    assert await indexed.index.refresh([project / "src/new.py"], 30)
    assert any(FULL in one for one in indexed.index.problem_messages())
    for _ in range(3):
        await call(indexed, "grep", pattern="load_plugin")
    metrics = await call(indexed, "search_metrics")
    (found,) = metrics.improvements
    assert found.setting == "index.max_index_size_mb"
    assert found.what.endswith("MB: raise the limit")


async def test_metrics_name_unindexed_files_and_failed_queries(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, _ = merge_layer(Config(), {"limits": {"parse_bytes": 100}}, "test")
    write_files(project, {"src/large.py": "def load_plugin(): ...\n" + "x = 1\n" * 100})
    workspace = await built(make_workspace(project, config=config))
    for _ in range(3):
        await call(workspace, "grep", pattern="def load_plugin\\b", include=["large.py"])
        await call(workspace, "grep", pattern="no_such_thing")
    metrics = await call(workspace, "search_metrics")
    unknown, nothing = metrics.improvements
    assert unknown.paths == ["src/large.py"]
    assert "3 searches for 'no_such_thing' (grep) found nothing" in nothing.what
    shown = TOOLS["search_metrics"].plain(metrics)
    assert f"[to improve: {nothing.what}]" in shown
    assert "6 searches\n" in shown
