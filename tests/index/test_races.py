"""Changes during a build, a listing, or reports of other changes: none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, built, git_init, requires_linux, write_files
from index.test_texts import SECONDS, candidates, eventually, holding
from indexed import folder_of
from waiting_for import until
from winnow.config import Config, merge_layer
from winnow.errors import SearchFailed
from winnow.index.builder import disk_scan, folder_files, writing
from winnow.index.builder.disk_scan import Changes, IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.writing import ChangeWriter
from winnow.index.store.file_record import FileRecord, IndexJob
from winnow.text.listing import Listing
from winnow.tools.find_references import FindReferencesParams, find_references
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

MANY = 40
TEXT = "".join(f"def more_{number}(): pass\n" for number in range(50))


def many_files(tmp_path: Path) -> Path:
    """Create a folder with some files, each with a different text."""
    files = {f"src/m{number:03}.py": f"# {number}\n{TEXT}" for number in range(MANY)}
    project = write_files(git_init(tmp_path / "project"), files)
    for age, path in enumerate(files):  # the last one is indexed last
        os.utime(project / path, (1_700_000_000 - age, 1_700_000_000 - age))
    return project


@contextlib.asynccontextmanager
async def building(workspace: EngineWorkspace) -> AsyncIterator[None]:
    """Pause a build after some files within the block; the build finishes at the end of the
    block."""
    written, may_go_on = asyncio.Event(), asyncio.Event()
    make_room = ChangeWriter.trim

    async def held(self: ChangeWriter) -> bool:
        if not written.is_set():
            written.set()
            await may_go_on.wait()
        return await make_room(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangeWriter, "trim", held)
        build = asyncio.create_task(workspace.index.build())
        await asyncio.wait_for(written.wait(), SECONDS)
        assert 0 < folder_of(workspace).work.indexed < MANY
        yield
        may_go_on.set()
        await build


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index each file in a separate batch."""
    monkeypatch.setattr(writing, "BATCH_BYTES", 0)


async def watched(make_workspace: MakeWorkspace, tmp_path: Path) -> tuple[Path, EngineWorkspace]:
    """Create an indexed folder with one file and a reliable watcher."""
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    await workspace.index.build()
    assert await eventually(workspace, "first") == ["a.py"]
    return project, workspace


@requires_linux
@pytest.mark.usefixtures("small_batches")
async def test_the_first_build_includes_changes_during_it(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = many_files(tmp_path)
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    last = f"src/m{MANY - 1:03}.py"
    changed = [last, "src/new.py", "other/new.py", "src/m000.py"]
    async with building(workspace):
        write_files(project, {one: f"changed_text = {at}\n" for at, one in enumerate(changed)})
        (project / "src/m001.py").unlink()
    found = ["other/new.py", "src/m000.py", last, "src/new.py"]
    assert await eventually(workspace, "changed_text") == found
    assert await holding(workspace, "changed_text") == found
    assert "src/m001.py" not in await holding(workspace, "more_7")


@pytest.mark.usefixtures("small_batches")
async def test_incremental_updates_do_not_finish_a_build(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = many_files(tmp_path)
    workspace = make_workspace(project)
    async with building(workspace):
        folder = folder_of(workspace)
        write_files(project, {"src/m000.py": "changed_text = 1\n"})
        await folder.on_files_changed(["src/m000.py"], IndexScope())
        state = workspace.index.state()
        assert (state.state, state.files_total) == ("building", MANY)
        assert state.files_indexed < MANY
    assert workspace.index.state().files_indexed == MANY


@pytest.mark.usefixtures("small_batches")
async def test_a_build_that_starts_again_includes_files_reported_before(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """They were written to the store that is lost."""
    project = many_files(tmp_path)
    workspace = make_workspace(project)
    async with building(workspace):
        write_files(project, {"src/m000.py": "changed_text = 1\n"})
        await folder_of(workspace).on_files_changed(["src/m000.py"], IndexScope())
        shutil.rmtree(project / ".winnow")
    files = [f"src/{file.name}" for file in (project / "src").iterdir()]
    assert (await folder_of(workspace).known(files)).keys() == set(files)


@requires_linux
@pytest.mark.usefixtures("small_batches")
async def test_a_build_does_not_overwrite_a_newer_known_text(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = many_files(tmp_path)
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    await workspace.index.build()
    for turn in range(3):
        for path in sorted((project / "src").iterdir()):
            path.write_text(f"# {turn} {path.name}\n{TEXT}")
        task = asyncio.create_task(workspace.index.build())
        for number in range(10):
            await asyncio.sleep(0.01)
            (project / f"src/m{number:03}.py").write_text(f"last_of_turn_{turn} = {number}\n")
        await task
        found = [f"src/m{number:03}.py" for number in range(10)]
        assert await eventually(workspace, f"last_of_turn_{turn}") == found


@pytest.fixture
def held_looks(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold back the write of the first files that are read from now on: yield events for the read
    and the permission to write."""
    extract = IndexWorkers.extract
    read, may_be_written = asyncio.Event(), asyncio.Event()

    async def held(
        self: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False
    ) -> AsyncGenerator[tuple[IndexJob, FileRecord | None], None]:
        is_first = not read.is_set()
        async with contextlib.aclosing(extract(self, jobs, urgent)) as answers:
            async for answer in answers:
                if is_first:
                    read.set()
                    await may_be_written.wait()
                yield answer

    monkeypatch.setattr(IndexWorkers, "extract", held)
    return read, may_be_written


@contextlib.asynccontextmanager
async def read_and_not_written(
    folder: FolderIndex, held_looks: tuple[asyncio.Event, asyncio.Event]
) -> AsyncIterator[None]:
    """Hold back the write of a check within the block; it has already read the changes."""
    read, may_be_written = held_looks
    folder.files.schedule_rescan()
    look = asyncio.create_task(folder.check(folder.files.listed_as, 50))
    await read.wait()
    yield
    may_be_written.set()
    await look


@pytest.mark.parametrize("path", ["a.py", "new.py"])
async def test_a_check_does_not_overwrite_a_reported_change(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    path: str,
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = await built(make_workspace(project))
    folder = folder_of(workspace)
    write_files(project, {path: "second = 22\n"})
    async with read_and_not_written(folder, request.getfixturevalue("held_looks")):
        write_files(project, {path: "third = 333\n"})
        await folder.on_files_changed([path], folder.files.listed_as)
    now = (project / path).stat().st_mtime_ns
    assert (await folder.known([path]))[path].mtime_ns == now


@pytest.mark.parametrize("path", ["new.py", "new/one.py"])
async def test_a_check_does_not_write_a_file_that_was_deleted_meanwhile(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    path: str,
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = await built(make_workspace(project))
    folder = folder_of(workspace)
    write_files(project, {path: "second = 2\n"})
    async with read_and_not_written(folder, request.getfixturevalue("held_looks")):
        top = project / path.partition("/")[0]
        top.unlink() if top.is_file() else shutil.rmtree(top)
        await folder.on_files_changed([top.name], folder.files.listed_as)
    assert list(await folder.known(["a.py", path])) == ["a.py"]


@pytest.mark.parametrize("first", ["written", "deleted"])
async def test_a_slow_process_does_not_undo_a_newer_write(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Two servers share an index. The slow one reads a file first and writes last."""
    project = write_files(git_init(tmp_path / "project"), {"a.py": "one = 1\n", "b.py": ""})
    slow, quick = make_workspace(project), make_workspace(project)
    for workspace in (slow, quick):
        await workspace.index.build()
    has_read, may_write = asyncio.Event(), asyncio.Event()
    write = folder_of(slow).writer._write

    async def held(batch: Any, **more: Any) -> None:
        has_read.set()
        await may_write.wait()
        await write(batch, **more)

    monkeypatch.setattr(folder_of(slow).writer, "_write", held)
    file = project / "a.py"
    file.write_text("two = 22\n") if first == "written" else file.unlink()
    slow.files_changed([file])
    await asyncio.wait_for(has_read.wait(), SECONDS)
    file.write_text("three = 333\n")
    now = time.time_ns() + 10**9  # certainly later than the first change
    os.utime(file, ns=(now, now))
    quick.files_changed([file])
    await asyncio.wait_for(_finished(quick), SECONDS)
    may_write.set()
    await asyncio.wait_for(_finished(slow), SECONDS)
    for workspace in (slow, quick):
        known = await folder_of(workspace).known(["a.py"])
        assert known["a.py"].size == len("three = 333\n")


async def _finished(workspace: EngineWorkspace) -> None:
    """Wait until the index has processed the reported changes."""
    assert workspace.index._updates._updating is not None
    await workspace.index._updates._updating


async def test_a_changed_ignore_file_starts_no_index(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = await built(make_workspace(project))
    await workspace.index.clear()
    assert await workspace.index.count_indexed_files() == 0
    write_files(project, {".gitignore": "*.txt\n"})
    await workspace.index.refresh([project / ".gitignore"], SECONDS)
    assert await workspace.index.count_indexed_files() == 0


@requires_linux
async def test_after_lost_events_nothing_is_certain_until_a_rescan(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project, workspace = await watched(make_workspace, tmp_path)
    folder = folder_of(workspace)
    assert folder.files.watcher is not None
    channel = folder.files.watcher._channel
    assert channel is not None
    channel._changed = lambda paths: None  # as if the kernel's queue were full from now on
    write_files(project, {"b.py": "first = 2\n"})
    folder.files.schedule_rescan()
    assert await candidates(workspace, "first") in (None, ["a.py", "b.py"])
    assert await eventually(workspace, "first") == ["a.py", "b.py"]


@requires_linux
async def test_a_file_may_become_a_folder_and_a_folder_a_file(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    await workspace.index.build()
    aside = write_files(tmp_path / "aside", {"one.py": "first = 2\n", "deep/two.py": "first = 3\n"})
    for _ in range(5):
        (project / "a.py").unlink()
        shutil.copytree(aside, tmp_path / "moved")
        (tmp_path / "moved").rename(project / "a.py")
        assert await eventually(workspace, "first") == ["a.py/deep/two.py", "a.py/one.py"]
        shutil.rmtree(project / "a.py")
        write_files(project, {"a.py": "first = 4\n"})
        assert await eventually(workspace, "first") == ["a.py"]


@requires_linux
async def test_repeated_renames_lose_no_file(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    files = {f"one/m{number}.py": f"first_{number} = 1\n" for number in range(30)}
    project = write_files(git_init(tmp_path / "project"), files)
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    await workspace.index.build()
    ended = False

    def rename() -> None:
        while not ended:
            (project / "one").rename(project / "two")
            (project / "two").rename(project / "one")
            (project / "one/m0.py").rename(project / "one/n0.py")
            (project / "one/n0.py").rename(project / "one/m0.py")
            time.sleep(0.005)  # leave time for other work

    renaming = asyncio.create_task(asyncio.to_thread(rename))
    try:
        for _ in range(10):
            await workspace.index.refresh([], 0.1)
            await candidates(workspace, "first_")
    finally:  # otherwise the thread never ends
        ended = True
        await renaming
    assert await eventually(workspace, "first_") == sorted(files)


@requires_linux
async def test_an_incomplete_listing_is_repeated_at_once(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, workspace = await watched(make_workspace, tmp_path)
    listed = disk_scan.listed_paths

    async def with_a_gap(*args: Any) -> Listing:
        listing = await listed(*args)
        return replace(listing, unreadable={"moved while it was read"})

    folder = folder_of(workspace)
    with monkeypatch.context() as patch:
        patch.setattr(folder_files, "listed_paths", with_a_gap)
        folder.files.schedule_rescan()
        await folder.check(folder.files.listed_as, 50)
    write_files(project, {"b.py": "first = 2\n"})
    assert await eventually(workspace, "first") == ["a.py", "b.py"]


@requires_linux
async def test_a_request_that_does_not_wait_keeps_the_watcher_reliable(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """Otherwise every request with few results would list all files again."""
    _, workspace = await watched(make_workspace, tmp_path)
    async with workspace.index.snapshot({}, 0) as (_, state):
        assert state.state == "ready"
    folder = folder_of(workspace)
    assert folder.is_up_to_date
    assert not folder.files.is_due


@requires_linux
async def test_a_precautionary_check_runs_later_and_finds_unreported_changes(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, workspace = await watched(make_workspace, tmp_path)
    os.link(project / "a.py", tmp_path / "elsewhere.py")
    assert await eventually(workspace, "first") == ["a.py"]
    # inotify does not report writes through a name outside the folder.
    (tmp_path / "elsewhere.py").write_text("second = 22\n")
    folder = folder_of(workspace)
    may_look = asyncio.Event()
    monkeypatch.setattr("winnow.index.updates.LATER_SECONDS", 0.0)
    monkeypatch.setattr(workspace.index.throttle, "turn", may_look.wait)
    monkeypatch.setattr(folder.files, "_next_check", 0.0)
    async with workspace.index.snapshot({}) as (view, state):
        assert state.state == "ready"
        assert view.changed([folder.prefix + "a.py"]) == [folder.prefix + "a.py"]
    may_look.set()

    async def is_found() -> bool:
        return await candidates(workspace, "second") == ["a.py"]

    await until(is_found)


async def test_changes_reported_before_a_build_do_not_complete_it(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"m{number}.py": f"first_{number} = 1\n" for number in range(MANY)}
    project = write_files(git_init(tmp_path / "project"), files)
    workspace = make_workspace(project)
    folder = folder_of(workspace)
    await folder.changes(IndexScope())
    await folder.on_files_changed(["m0.py"], IndexScope())
    state = workspace.index.state()
    assert (state.files_indexed, state.files_total) == (0, MANY)
    await workspace.index.build()
    state = workspace.index.state()
    assert (state.files_indexed, state.files_total) == (MANY, MANY)


async def test_a_file_that_was_only_touched_has_not_changed(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    workspace = await built(make_workspace(project))
    prefix = folder_of(workspace).prefix
    os.utime(project / "a.py", (1_700_000_000, 1_700_000_000))
    (project / "b.py").write_text("b = 2\n")
    async with workspace.index.snapshot({}, 0) as (view, _):
        assert view.changed([prefix + "a.py", prefix + "b.py"]) == [prefix + "b.py"]


async def test_a_store_deleted_during_a_check_is_not_complete(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = await built(make_workspace(project))
    folder = folder_of(workspace)
    changes = type(folder).changes

    async def deleted_meanwhile(
        self: FolderIndex, scope: IndexScope, relist: bool = False
    ) -> Changes:
        found = await changes(self, scope, relist)
        shutil.rmtree(project / ".winnow", ignore_errors=True)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(type(folder), "changes", deleted_meanwhile)
        await folder.check(IndexScope(), 50)
        assert not folder.complete
    assert await holding(workspace, "first") == ["a.py"]


async def test_a_store_deleted_while_it_is_opened_is_not_complete(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    await make_workspace(project).index.build()
    workspace = make_workspace(project)
    folder = folder_of(workspace)
    changes = FolderIndex.changes

    async def deleted_meanwhile(self: FolderIndex, scope: IndexScope, **more: bool) -> Changes:
        found = await changes(self, scope, **more)
        shutil.rmtree(project / ".winnow")
        await self.store()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(FolderIndex, "changes", deleted_meanwhile)
        await folder.open(IndexScope(), 50)
    assert not folder.complete
    assert await holding(workspace, "first") == ["a.py"]


@requires_linux
async def test_a_check_overtaken_by_a_build_leaves_the_index_complete(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build changes the store: the check's changes refer to the one before."""
    project = write_files(git_init(tmp_path / "project"), {"a.py": "first = 1\n"})
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    folder = folder_of(workspace)
    changes = FolderIndex.changes

    async def overtaken(self: FolderIndex, scope: IndexScope, relist: bool = False) -> Changes:
        found = await changes(self, scope, relist)
        monkeypatch.setattr(FolderIndex, "changes", changes)
        await workspace.index.build()
        return found

    monkeypatch.setattr(FolderIndex, "changes", overtaken)
    await folder.check(IndexScope(), 50)
    assert workspace.index.state().state == "ready"


@requires_linux
async def test_what_a_cancelled_build_leaves_behind_is_found(
    make_workspace: MakeWorkspace, tmp_path: Path, held_looks: tuple[asyncio.Event, asyncio.Event]
) -> None:
    """No event reports files that are in scope only since the settings have changed."""
    files = {"a.py": "first = 1\n", "tests/b.py": "first = 2\n"}
    project = write_files(git_init(tmp_path / "project"), files)
    config, _ = merge_layer(Config(), {"search": {"exclude": ["tests/**"]}}, "test")
    workspace = make_workspace(project, config=config)
    workspace.index.enable_watching()
    read, may_be_written = held_looks
    may_be_written.set()
    await workspace.index.build()
    assert await eventually(workspace, "first") == ["a.py"]
    workspace.reconfigure(Config())
    read.clear()
    may_be_written.clear()
    build = asyncio.create_task(workspace.index.build())
    await asyncio.wait_for(read.wait(), SECONDS)
    build.cancel()
    await asyncio.wait({build})
    assert workspace.index.state().state == "stale"
    may_be_written.set()
    assert await eventually(workspace, "first") == ["a.py", "tests/b.py"]


async def test_files_indexed_for_references_and_lost_are_indexed_again(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, when the store is replaced by a temporary one."""
    texts = {"net.py": "def send(): ...\n", "app.py": "from net import send\n\nsend()\n"}
    project = write_files(git_init(tmp_path / "project"), texts)
    config, _ = merge_layer(Config(), {"index": {"auto_index_threshold": 0}}, "test")
    workspace = make_workspace(project, config=config)

    async def no_check(*_: object) -> None:
        """Skip the check for other files: with two files, it could finish first."""

    monkeypatch.setattr(FolderIndex, "check", no_check)
    take, lost = FolderIndex.index_files, list[str]()

    async def lossy(
        self: FolderIndex, paths: Sequence[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        async for some in take(self, paths, seconds):
            yield some
        if not lost:
            lost.extend(paths)
            async with self.disk._lock:
                await self.disk._lose()

    monkeypatch.setattr(FolderIndex, "index_files", lossy)
    params = FindReferencesParams(path="net.py", line=1, column=5)
    found = await find_references.run(workspace, params, no_progress)
    places = {(one.path, one.line) for one in found.references}
    assert places == {("app.py", 1), ("app.py", 3), ("net.py", 1)}
    assert sorted(lost) == ["app.py", "net.py"]
    assert not found.completeness.complete  # there was no build


async def test_the_end_of_a_workspace_is_no_problem_of_its_index(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The processes of a workspace end before its index stops; in between, work fails."""
    workspace = make_workspace(many_files(tmp_path))
    listing, ended = asyncio.Event(), asyncio.Event()

    async def killed(*_: Any, **__: Any) -> Listing:
        listing.set()
        await ended.wait()
        raise SearchFailed("ripgrep", -9, "")

    monkeypatch.setattr(disk_scan, "list_files", killed)
    build = asyncio.create_task(workspace.index.build())
    await listing.wait()
    monkeypatch.setattr(workspace.processes, "close", ended.set)
    monkeypatch.setattr(workspace.history, "aclose", lambda: asyncio.sleep(0.1))
    await workspace.aclose()
    await asyncio.gather(build, return_exceptions=True)
    assert caplog.messages == []
