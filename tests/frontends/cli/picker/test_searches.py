"""The searches of the picker, in the background process and in this one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from unittest import mock

import pytest

from commands import running_in
from conftest import child_environment, requires_posix, write_files
from frontends.background.background_process import (
    environment_of,
    home_folder,
    offered,
    running,
    started,
)
from winnow.frontends.cli.picker.preview import read_shared_preview
from winnow.frontends.cli.picker.searches import Searches, SearchFailed
from winnow.frontends.cli.picker.state import Action, Answer, Choice

pytestmark = [pytest.mark.process, requires_posix]


@pytest.fixture
def home() -> Iterator[Path]:
    with home_folder() as folder:
        yield folder


@contextlib.contextmanager
def fake_cluster() -> Iterator[str]:
    """Start a search cluster with one repository, and yield its address."""
    script = Path(__file__).parents[3] / "fake_cluster.py"
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@contextlib.asynccontextmanager
async def searches(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Searches]:
    with running_in(folder), mock.patch.dict(os.environ, environment, clear=True):
        opened = Searches()
        try:
            yield opened
        finally:
            await opened.aclose()


async def answer(opened: Searches, query: str) -> Answer:
    return await opened.search(query, lambda notice: None)


async def test_rows_have_the_place_and_its_code(project: Path, tmp_path: Path) -> None:
    async with searches(project / "tests", child_environment(tmp_path)) as opened:
        found = await answer(opened, "load_plugin")
    assert found.summary.endswith("symbol search")
    row = found.rows[0]
    assert row.path == "../src/loader.py"
    assert row.file == f"{project}/src/loader.py"
    assert (row.line, row.last, row.best) == (5, 6, 5)
    assert row.code == "    def load_plugin(self, name):"
    assert found.words is not None
    assert found.words.search("load_plugins")


async def test_the_background_process_gives_the_same_answer(project: Path, home: Path) -> None:
    environment = environment_of(home)
    with started(project, environment):
        async with searches(project, environment) as opened:
            there = await answer(opened, "register_plugin")
        process = running(project, environment)
        assert process is not None
        assert process.commands == 1
    async with searches(project, {**environment, "WINNOW_BACKGROUND": "0"}) as opened:
        here = await answer(opened, "register_plugin")
    assert there.rows == here.rows
    assert there.summary == here.summary


async def test_a_search_outlives_the_background_process(project: Path, home: Path) -> None:
    environment = environment_of(home)
    async with searches(project, environment) as opened:
        with started(project, environment):
            before = await answer(opened, "register_plugin")
        after = await answer(opened, "register_plugin")
    assert before.rows == after.rows


@pytest.mark.parametrize("query", ["-OOM command", "--help", "a\nb", "'", "x" * 1000])
async def test_any_text_is_a_query(query: str, project: Path, home: Path) -> None:
    write_files(project, {"src/oom.c": 'fail("-OOM command not allowed");\n'})
    environment = environment_of(home)
    with started(project, environment):
        async with searches(project, environment) as opened:
            there = await answer(opened, query)
            if query.startswith("-OOM"):
                assert there.rows[0].path == "src/oom.c"
        process = running(project, environment)
        assert process is not None
        assert process.commands == 1


@pytest.mark.parametrize("background", ["0", "1"])
async def test_problems_of_settings_are_notes(background: str, project: Path, home: Path) -> None:
    write_files(project, {"winnow.toml": "[search]\nmax = 1\n"})
    environment = {**environment_of(home), "WINNOW_BACKGROUND": background}
    with started(project, environment_of(home)):
        async with searches(project, environment) as opened:
            for query in ("register_plugin", "load_plugin"):
                found = await answer(opened, query)
                notes = [note for note in found.notes if "search.max" in note]
                assert len(notes) == 1, found.notes
                assert not notes[0].startswith("winnow: ")


@pytest.mark.parametrize("background", ["0", "1"])
async def test_an_answer_before_the_index_is_complete_is_early(
    background: str, project: Path, home: Path
) -> None:
    # So many files that the first search doesn't wait until all are indexed.
    write_files(project, {f"src/many/file_{n}.py": f"def f{n}(): pass\n" for n in range(3000)})
    environment = {**environment_of(home), "WINNOW_BACKGROUND": background}
    with started(project, environment_of(home)):
        async with searches(project, environment) as opened:
            early = await answer(opened, "which plugins are loaded first")
            assert early.is_early
            await opened.wait_for_index()
            complete = await answer(opened, "which plugins are loaded first")
            assert not complete.is_early
            assert complete.notes == ['no text file contains "first"']


async def test_a_failed_search_says_why(tmp_path: Path, home: Path) -> None:
    async with searches(home, child_environment(home)) as opened:
        with pytest.raises(SearchFailed, match="home folder"):
            await answer(opened, "needle")


async def test_the_chosen_row_is_recorded(project: Path, home: Path) -> None:
    environment = environment_of(home)
    with started(project, environment):
        async with searches(project, environment) as opened:
            found = await answer(opened, "register_plugin")
            await opened.record(Choice(Action.OPEN, found.rows[0], 1, found.search_id))
        done = offered(project, "search-metrics", "--json", environment=environment)
    assert json.loads(done.output)["satisfaction"]["opened"] == 1


async def test_a_row_of_the_search_cluster_is_read(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("opensearchpy", reason="winnow-ls[cluster] is not installed")
    with fake_cluster() as address:
        settings = tmp_path / "settings.toml"
        settings.write_text(
            f'[cluster]\naddresses = ["{address}"]\nrepositories = ["team/*"]\nseconds = 10\n'
        )
        environment = {**child_environment(tmp_path), "WINNOW_CONFIG": str(settings)}
        async with searches(project, environment) as opened:
            found = await answer(opened, "split_parts")
            [row] = [row for row in found.rows if row.file == "src/parts.py"]
            assert row.path == "team/parts:src/parts.py"
            assert (row.repository, row.commit) == ("team/parts", "c1")
            shown = await read_shared_preview(row, opened)
            whole = await opened.read(row)
            missing = await read_shared_preview(row._replace(file="none.py"), opened)
    assert shown.first == 1
    assert shown.lines[3] == "def split_parts(data):"
    assert whole.text.startswith("PART_BYTES = 1024\n")
    assert whole.local is None
    assert "has no file 'none.py' in team/parts" in missing.problem
