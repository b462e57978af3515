"""The index: an answer is never older than the disk, and reports how complete it is."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import (
    MakeWorkspace,
    built,
    git,
    git_commit,
    requires_posix,
    with_limits,
    write_files,
)
from winnow.config import Config, IndexSettings, merge_layer
from winnow.errors import IndexUnavailable
from winnow.index import problems
from winnow.index.builder import folder_files, folder_store, unsaved, writing
from winnow.index.builder.disk_scan import IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.index.not_covered import NotCovered
from winnow.index.store import file_record
from winnow.index.store.file_record import FileState
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store
from winnow.storage.database import value_of
from winnow.workspace import EngineWorkspace

# Generous, for a busy machine.
SECONDS = 120.0
FILES = {
    "src/loader.py": "class Loader:\n    def load_plugins(self): ...\n",
    "src/main.py": "def main(): ...\n",
    "tests/test_loader.py": "def test_load_plugin(): ...\n",
    "ignored/cache.py": "def cached(): ...\n",
    ".hidden/secret.py": "def hidden(): ...\n",
    ".gitignore": "ignored/\n",
    "docs/plugins.txt": "# Plugins\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_commit(tmp_path / "project", FILES)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every request check for changes, however recent the last check was."""
    monkeypatch.setattr(folder_files, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(folder_files, "CHECK_SHARE", 0)


async def names(workspace: EngineWorkspace, seconds: float = SECONDS) -> dict[str, str]:
    """Return the names that each file defines, by its path below the first folder."""
    root = workspace.folders[0].as_posix()
    async with workspace.index.snapshot(workspace.buffers, seconds) as (view, _):
        found = {}
        for folder in view.roots():
            for name in await known(workspace, folder):
                path = f"{folder}/{name}"
                if view.file(path):
                    defined = [one.name for one in view.definitions_in(path)]
                    found[path.removeprefix(f"{root}/")] = " ".join(defined)
        return found


async def known(workspace: EngineWorkspace, root: str) -> list[str]:
    folders = {one.root.as_posix(): one for one in workspace.index.folder_indexes()}
    reader = await folders[root].reader()
    try:
        unsaved = [str(path).removeprefix(f"{root}/") for path in workspace.buffers]
        return sorted({*reader.files(), *unsaved})
    finally:
        reader.close()


async def state(workspace: EngineWorkspace) -> tuple[str, int, int]:
    async with workspace.index.snapshot({}, SECONDS) as (_, index_state):
        return index_state.state, index_state.files_indexed, index_state.files_total


ALL = {
    "src/loader.py": "Loader load_plugins",
    "src/main.py": "main",
    "tests/test_loader.py": "test_load_plugin",
}


async def test_a_build_has_the_scope_of_searches(workspace: EngineWorkspace, project: Path) -> None:
    assert workspace.index.state().state == "none"
    reports: list[tuple[int, int]] = []
    await workspace.index.build(lambda done, total: reports.append((done, total)))
    assert await names(workspace) == ALL
    assert await state(workspace) == ("ready", 4, 4)
    assert reports[-1] == (4, 4)
    assert git(project, "status", "--porcelain") == ""


async def test_a_check_indexes_a_small_folder_or_completes_a_started_index(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, _ = merge_layer(Config(), {"index": {"auto_index_threshold": 4}}, "test")
    workspace = make_workspace(project, config=config)
    assert await state(workspace) == ("none", 0, 4)
    await workspace.index.build()
    write_files(project, {"src/main.py": "def principal(): ...\n"})
    another = make_workspace(project, config=config)
    assert await state(another) == ("ready", 4, 4)
    assert await names(another) == {**ALL, "src/main.py": "principal"}
    await another.index.clear()
    assert await state(make_workspace(project, config=config)) == ("none", 0, 4)
    config, _ = merge_layer(Config(), {"index": {"auto_index_threshold": 5}}, "test")
    assert await state(make_workspace(project, config=config)) == ("ready", 4, 4)


async def test_excluded_files_are_not_indexed_until_the_settings_change(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, _ = merge_layer(Config(), {"search": {"exclude": ["tests/**"]}}, "test")
    workspace = make_workspace(project, config=config)
    (project / ".winnowignore").write_text("main.py\n")
    await workspace.index.build()
    assert await names(workspace) == {"src/loader.py": "Loader load_plugins"}
    workspace.reconfigure(Config())
    (project / ".winnowignore").unlink()
    assert await names(workspace) == ALL


async def test_removed_folders_do_not_reduce_the_parse_limit(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    """The more files there are, the less memory is left for a large one."""
    large = write_files(tmp_path / "large", {"a.py": ""})
    workspace = make_workspace(project, large)
    alone = make_workspace(project).index._folders.settings().max_parsed
    for folder in workspace.index.folder_indexes():
        folder.files.total = 1_000_000 if folder.root == large else 4
    assert workspace.index._folders.settings().max_parsed < alone
    workspace.folders = [project]
    assert workspace.index._folders.settings().max_parsed == alone


async def test_a_second_server_reads_no_file_again(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    first, second = make_workspace(project), make_workspace(project)
    await asyncio.gather(first.index.build(), second.index.build())
    assert await names(first) == await names(second) == ALL
    reports: list[int] = []
    await second.index.build(lambda done, total: reports.append(done))
    assert reports == []


async def test_an_existing_store_answers_without_a_build(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    await make_workspace(project).index.build()
    later = make_workspace(project)
    assert await names(later) == ALL
    assert await state(later) == ("ready", 4, 4)


def become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


Change = Callable[[Path], object]
CHANGES: dict[str, tuple[Change, dict[str, str]]] = {
    "changed": (
        lambda root: (root / "src/main.py").write_text("def changed_main(): ...\n"),
        {**ALL, "src/main.py": "changed_main"},
    ),
    "made": (
        lambda root: write_files(root, {"src/new/deep/made.py": "def made(): ...\n"}),
        {**ALL, "src/new/deep/made.py": "made"},
    ),
    "deleted": (
        lambda root: (root / "src/main.py").unlink(),
        {path: found for path, found in ALL.items() if path != "src/main.py"},
    ),
    "renamed": (
        lambda root: (root / "src/main.py").rename(root / "src/start.py"),
        {"src/loader.py": ALL["src/loader.py"], "src/start.py": "main"}
        | {"tests/test_loader.py": ALL["tests/test_loader.py"]},
    ),
    "folder deleted": (
        lambda root: shutil.rmtree(root / "src"),
        {"tests/test_loader.py": "test_load_plugin"},
    ),
    "no longer ignored": (
        lambda root: (root / ".gitignore").write_text("tests/\n"),
        {
            "src/loader.py": ALL["src/loader.py"],
            "src/main.py": "main",
            "ignored/cache.py": "cached",
        },
    ),
    "replaced by a folder": (
        lambda root: become_folder(root / "src/main.py"),
        {path: found for path, found in ALL.items() if path != "src/main.py"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_unreported_changes_are_found(
    indexed: EngineWorkspace, project: Path, change: str
) -> None:
    do, expected = CHANGES[change]
    do(project)
    assert await names(indexed) == expected
    assert (await state(indexed))[0] == "ready"


@pytest.mark.parametrize("change", CHANGES)
async def test_reported_changes_are_found(
    indexed: EngineWorkspace, project: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await names(indexed) == ALL
    monkeypatch.setattr(folder_files.FolderFiles, "is_due", False)
    do, expected = CHANGES[change]
    do(project)
    assert await names(indexed) == ALL
    reported = [
        "src/main.py",
        "src/start.py",
        "src/new/deep/made.py",
        "src",
        ".gitignore",
        "x/y.py",
    ]
    indexed.files_changed([project / path for path in reported])
    assert await names(indexed) == expected


@requires_posix
async def test_a_symlink_in_place_of_a_folder_has_no_files(
    indexed: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files.FolderFiles, "is_due", False)
    (project / "src").rename(project.parent / "moved")
    (project / "src").symlink_to(project.parent / "moved")
    indexed.files_changed([project / "src"])
    assert {path for path in await names(indexed) if path.startswith("src/")} == set()


async def test_a_change_of_the_same_size_at_the_same_time_is_found(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    file = project / "src/main.py"
    workspace = await built(make_workspace(project))
    for number in range(20):
        before = file.stat()
        file.write_text(f"def main{number:02}(): ...\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (await names(workspace))["src/main.py"] == f"main{number:02}"


async def test_a_branch_switch_of_two_hundred_files_is_indexed(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    def texts(word: str) -> dict[str, str]:
        return {f"many/f{number}.py": f"def {word}{number}(): ...\n" for number in range(200)}

    git_commit(project, texts("old"))
    git(project, "checkout", "-q", "-b", "other")
    git_commit(project, texts("new"))
    workspace = await built(make_workspace(project))
    git(project, "checkout", "-q", "-")
    expected = {f"many/f{number}.py": f"old{number}" for number in range(200)}
    assert await names(workspace) == {**ALL, **expected}


async def test_a_slow_update_makes_the_state_stale(indexed: EngineWorkspace, project: Path) -> None:
    write_files(project, {f"f{number}.py": "def f(): ...\n" * 50 for number in range(100)})
    async with indexed.index.snapshot({}, 0.0) as (view, index_state):
        assert index_state.state == "stale"
        assert [file.path for file, _ in view.definitions("main")] == [f"{project}/src/main.py"]
    assert await state(indexed) == ("ready", 104, 104)


async def test_unsaved_documents_replace_files(indexed: EngineWorkspace, project: Path) -> None:
    indexed.open_documents = lambda: {
        project / "src/main.py": "def unsaved(): ...\n",
        project / "src/loader.py": FILES["src/loader.py"],  # as on disk
        project / "ignored/never/saved.py": "def fresh(): ...\n",
        project / "docs/plugins.txt": "# Other\n",
        project.parent / "outside.py": "def outside(): ...\n",
    }
    expected = {**ALL, "src/main.py": "unsaved", "ignored/never/saved.py": "fresh"}
    assert await names(indexed) == expected
    indexed.open_documents = lambda: {project / "src/main.py": "def unsaved_again(): ...\n"}
    assert await names(indexed) == {**ALL, "src/main.py": "unsaved_again"}
    indexed.open_documents = dict
    assert await names(indexed) == ALL


@requires_posix
async def test_a_client_may_spell_a_folder_differently(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    workspace = await built(make_workspace(project))
    monkeypatch.setattr(folder_files.FolderFiles, "is_due", False)
    (project / "src/main.py").write_text("def changed(): ...\n")
    workspace.files_changed([link / "src/main.py"])
    workspace.open_documents = lambda: {link / "src/loader.py": "def unsaved(): ...\n"}
    async with workspace.index.snapshot(workspace.buffers, SECONDS) as (view, _):
        assert [file.path for file, _ in view.definitions("changed")] == [f"{project}/src/main.py"]
        assert [file.path for file, _ in view.definitions("unsaved")] == [
            f"{project}/src/loader.py"
        ]
        assert list(view.definitions("Loader")) == []


async def test_files_are_indexed_on_request_without_an_index(
    workspace: EngineWorkspace, project: Path
) -> None:
    paths = [f"{project}/src/main.py", f"{project}/src/loader.py", f"{project}/gone.py", "/x.py"]
    found = [path async for some in workspace.index.index_files(paths, SECONDS) for path in some]
    assert sorted(found) == sorted(paths[:2])
    (project / "src/main.py").write_text("def changed(): ...\n")
    found = [path async for some in workspace.index.index_files(paths, SECONDS) for path in some]
    assert sorted(found) == sorted(paths[:2])
    async with workspace.index.snapshot({}, 0.0) as (view, _):
        assert [one.name for one in view.definitions_in(paths[0])] == ["changed"]


async def test_indexing_on_request_stops_at_the_time_limit(
    workspace: EngineWorkspace, project: Path
) -> None:
    started = time.monotonic()
    found = [some async for some in workspace.index.index_files([f"{project}/src/main.py"], 0.0)]
    assert found == []
    assert time.monotonic() - started < SECONDS


async def test_nested_and_adjacent_folders_have_their_own_indexes(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    inner = git_commit(project / "src/inner", {"deep.py": "def deep(): ...\n"})
    other = write_files(project.parent / "other", {"o.py": "def other(): ...\n"})
    workspace = await built(make_workspace(project, inner, other))
    async with workspace.index.snapshot({}, SECONDS) as (view, index_state):
        assert index_state.files_indexed == 6
        assert [file.path for file, _ in view.definitions("deep")] == [f"{inner}/deep.py"]
        assert [one.name for one in view.definitions_in(f"{inner}/deep.py")] == ["deep"]
        assert [file.path for file, _ in view.definitions("other")] == [f"{other}/o.py"]
        assert [file.path for file, _ in view.definitions("main")] == [f"{project}/src/main.py"]


async def test_files_without_symbols_are_reported(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {"bundle.js": "", "table.py": "x = '" + "y" * 300_000 + "'\n"})
    workspace = await built(make_workspace(project))
    assert await workspace.index.problems() == {
        f"{project}/table.py": "it is minified or generated: 150,003 bytes a line"
    }


async def test_the_settings_can_disable_the_index(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, _ = merge_layer(Config(), {"index": {"enabled": False}}, "test")
    workspace = await built(make_workspace(project, config=config))
    assert (await state(workspace))[0] == "none"
    path = f"{project}/src/main.py"
    assert [some async for some in workspace.index.index_files([path], SECONDS)] == [[path]]
    async with workspace.index.snapshot({}, 0.0) as (view, _):
        assert [one.name for one in view.definitions_in(path)] == ["main"]
    assert not (project / ".winnow").exists()


async def test_a_home_folder_is_not_indexed(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    home = write_files(tmp_path / "home", {"a.py": "def a(): ...\n"})
    allowed, _ = merge_layer(Config(), {"workspace": {"allow_home_root": True}}, "test")
    workspace = await built(make_workspace(home, environment={"HOME": str(home)}, config=allowed))
    assert (await state(workspace))[0] == "none"
    assert list(await workspace.index.problems()) == [home.as_posix()]
    assert not (home / ".winnow").exists()


async def test_a_folder_with_too_many_files_is_not_indexed(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, _ = merge_layer(Config(), {"index": {"max_files": 2}}, "test")
    workspace = await built(make_workspace(project, config=config))
    assert workspace.index.state().state == "none"
    assert await workspace.index.problems() == {
        project.as_posix(): "it has 4 files, and index.max_files is 2"
    }


async def test_a_deleted_index_is_rebuilt(indexed: EngineWorkspace, project: Path) -> None:
    shutil.rmtree(project / ".winnow")
    assert await names(indexed) == ALL
    assert len(list((project / ".winnow").glob("index-*.db"))) == 1


async def test_a_full_disk_leaves_a_temporary_index(
    indexed: EngineWorkspace, project: Path
) -> None:
    (folder,) = indexed.index.folder_indexes()
    store = await folder.store()
    pages = value_of(store._writer, "PRAGMA page_count")
    store._writer.execute(f"PRAGMA max_page_count={pages}")
    more = {f"f{n}.py": f"def f{n}(): ...\n" * 10 for n in range(200)}
    write_files(project, more)
    await names(indexed)
    found = await names(indexed)
    assert found == {**ALL, **{f"f{n}.py": " ".join([f"f{n}"] * 10) for n in range(200)}}
    assert (await folder.store()).is_temporary
    assert indexed.index.temporary_folders() == [project]
    (problem,) = (await indexed.index.problems()).values()
    assert problem.endswith("cannot be written: database or disk is full")
    assert await state(indexed) == ("ready", 204, 204)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (with_limits(rg="/no/such/rg"), "ripgrep is not at /no/such/rg"),
        (Config(index=IndexSettings(max_files=1)), "it has 4 files, and index.max_files is 1"),
    ],
)
async def test_a_problem_ends_when_the_index_is_complete(
    config: Config, problem: str, make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = make_workspace(project, config=config)
    await workspace.index.build()
    (found,) = workspace.index.problem_messages()
    assert found.startswith(f"{project}: {problem}")
    workspace.reconfigure(Config())
    await workspace.index.build()
    assert workspace.index.problem_messages() == []


@requires_posix
async def test_a_killed_build_is_completed_by_the_next_one(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {f"f{n}.py": f"def f{n}(): ...\n" * 50 for n in range(100)})
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from winnow.workspace import EngineWorkspace\n"
        "async def main():\n"
        "    workspace = EngineWorkspace([Path(sys.argv[1])])\n"
        "    print('ready', flush=True)\n"
        "    await workspace.index.build()\n"
        "asyncio.run(main())\n"
    )
    for seconds in (0.1, 0.3, 0.5):
        builder = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", code, str(project)], stdout=subprocess.PIPE
        )
        assert builder.stdout is not None
        with builder:
            builder.stdout.readline()
            await asyncio.sleep(seconds)
            builder.send_signal(signal.SIGKILL)
        store = Store.open(project)
        assert not store.is_temporary
        store.check()
        store.close()
    workspace = await built(make_workspace(project))
    found = await names(workspace)
    assert len(found) == 103
    assert found["f99.py"] == " ".join(["f99"] * 50)


async def test_closing_a_workspace_ends_its_build(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {f"f{n}.py": f"def f{n}(): ...\n" * 300 for n in range(100)})
    workspace = make_workspace(project)
    build = asyncio.create_task(workspace.index.build())
    await asyncio.sleep(0.3)
    await workspace.aclose()
    await asyncio.wait_for(build, SECONDS)
    assert workspace.processes._alive == set()


async def test_the_event_loop_is_free_while_files_are_indexed(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {f"f{n}.py": f"def f{n}(): ...\n" * 100 for n in range(150)})
    workspace = make_workspace(project)
    build = asyncio.create_task(workspace.index.build())
    turns = 0
    while not build.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 20


def test_a_file_state_marks_a_file_that_was_just_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time_ns()
    monkeypatch.setattr(file_record, "time", SimpleNamespace(time_ns=lambda: now))

    def status_of(age_ns: int) -> os.stat_result:
        second = (now - age_ns) / 1e9
        values = (0o100644, 1, 1, 1, 0, 0, 7, second, second, second)
        return os.stat_result(
            (*values[:7], *map(int, values[7:])),
            {"st_mtime_ns": now - age_ns, "st_ctime_ns": now - age_ns},
        )

    assert file_record.file_state(status_of(10**9)) == FileState(now - 10**9, now - 10**9, 7)
    assert file_record.file_state(status_of(0)).ctime_ns == 0


async def test_a_file_dated_to_the_far_future_is_indexed(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    os.utime(project / "src/main.py", (10**10, 10**10))
    workspace = await built(make_workspace(project))
    assert await state(workspace) == ("ready", 4, 4)
    assert await names(workspace) == ALL
    assert len(await workspace.index.folder_indexes()[0].changes(IndexScope(), relist=True)) == 0
    (project / "src/main.py").write_text("def principal(): ...\n")
    assert await names(workspace) == {**ALL, "src/main.py": "principal"}


async def test_an_index_answers_while_it_is_rebuilt(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, _ = merge_layer(Config(), {"search": {"exclude": ["tests/**"]}}, "test")
    workspace = await built(make_workspace(project, config=config))
    workspace.reconfigure(Config())
    may_end = asyncio.Event()
    make_room = writing.ChangeWriter.trim

    async def held(writer: writing.ChangeWriter) -> bool:
        await may_end.wait()
        return await make_room(writer)

    monkeypatch.setattr(writing.ChangeWriter, "trim", held)
    building = asyncio.create_task(workspace.index.build())
    await asyncio.sleep(0)
    seen = set()
    while not building.done():
        async with workspace.index.snapshot({}, 0.0) as (view, index_state):
            if not building.done():
                seen.add(index_state.state)
            assert [file.path for file, _ in view.definitions("main")] == [f"{project}/src/main.py"]
        may_end.set()
    assert seen == {"stale"}
    assert workspace.index.state().state == "ready"
    assert await names(workspace) == ALL


async def test_a_disabled_index_ignores_changes(indexed: EngineWorkspace, project: Path) -> None:
    indexed.reconfigure(Config(index=IndexSettings(enabled=False)))
    # The index gets the new settings a moment later, and the file is saved before that.
    write_files(project, {"src/main.py": "def later(): ...\n"})
    indexed.files_changed([project / "src/main.py"])
    assert indexed.index._updates._updating is None
    await indexed.index.follow_settings()
    indexed.reconfigure(Config())
    await indexed.index.build()
    assert (await names(indexed))["src/main.py"] == "later"


async def test_without_an_index_none_is_lost_at_exit(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = make_workspace(project, config=Config(index=IndexSettings(enabled=False)))
    (folder,) = workspace.index.folder_indexes()
    await workspace.index.follow_settings()
    assert (await folder.store()).is_temporary
    assert workspace.index.temporary_folders() == []


async def test_an_unsaved_document_that_timed_out_makes_the_answer_stale(
    indexed: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "src/main.py"
    buffers = {file: "def principal(): ...\n"}
    states = []
    for seconds in (0.0, SECONDS):
        monkeypatch.setattr(unsaved, "UNSAVED_SECONDS", seconds)
        async with indexed.index.snapshot(buffers, SECONDS) as (view, index_state):
            states.append((index_state.state, [one.name for one in view.definitions_in(str(file))]))
    assert states == [("stale", ["main"]), ("ready", ["principal"])]


async def test_excluded_files_are_counted_only_after_a_write(
    indexed: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    count_left_out = problems.count_left_out

    async def counted(folders: Iterable[FolderIndex]) -> NotCovered:
        asked.append(1)
        return await count_left_out(folders)

    monkeypatch.setattr("winnow.index.workspace_index.count_left_out", counted)
    for _ in range(3):
        assert await state(indexed) == ("ready", 4, 4)
        assert (await indexed.index.left_out()).binary is None
    assert len(asked) == 1
    write_files(project, {"src/data.bin": "\0" * 10})
    assert await state(indexed) == ("ready", 5, 5)
    assert (await indexed.index.left_out()).binary == 1


async def test_builds_of_one_folder_run_one_after_another(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "open", lambda root, variant, user: Store.temporary())
    # All files are one batch, however long a worker takes to start.
    monkeypatch.setattr(writing, "BATCH_SECONDS", SECONDS)
    workspace = make_workspace(project)
    reports: list[tuple[int, int]] = []
    builds = [workspace.index.build(lambda *done: reports.append(done)) for _ in range(2)]
    await asyncio.gather(*builds)
    assert reports == [(4, 4)]
    assert await names(workspace) == ALL


async def test_a_request_does_not_wait_for_a_check_after_reported_changes(
    indexed: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(FolderIndex, "check", check)
    file = project / "src/main.py"
    for number in range(3):
        file.write_text(f"def changed{number}(): ...\n")
        indexed.files_changed([file])
        found = await asyncio.wait_for(names(indexed, 10 * SECONDS), SECONDS)
        assert found == {**ALL, "src/main.py": f"changed{number}"}
        assert indexed.index.state().state == "stale"


async def test_a_store_opened_by_a_cancelled_request_is_closed(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    opened: list[Store] = []

    def late(*_: object) -> Store:
        begun.set()
        go_on.wait(SECONDS)
        opened.append(Store.temporary())
        return opened[0]

    monkeypatch.setattr(folder_store, "_temporary", late)
    workspace = make_workspace(project)
    request = asyncio.create_task(workspace.index.folder_indexes()[0].store())
    await asyncio.to_thread(begun.wait)
    request.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({request})
    assert request.cancelled()
    await workspace.aclose()
    assert not opened[0].file.parent.exists()


async def test_a_reader_opened_by_a_cancelled_request_is_closed(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    closed: list[Reader] = []
    workspace = make_workspace(project)
    folder = workspace.index.folder_indexes()[0]
    read, close = Store.reader, Reader.close

    def late(store: Store) -> Reader:
        begun.set()
        go_on.wait(SECONDS)
        return read(store)

    def noted(reader: Reader) -> None:
        closed.append(reader)
        close(reader)

    monkeypatch.setattr(Store, "reader", late)
    monkeypatch.setattr(Reader, "close", noted)
    request = asyncio.create_task(folder.reader())
    await asyncio.to_thread(begun.wait)
    request.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({request})
    assert request.cancelled()
    assert len(closed) == 1


async def test_a_closed_index_opens_no_store(make_workspace: MakeWorkspace, project: Path) -> None:
    folder = make_workspace(project).index.folder_indexes()[0]
    await folder.aclose()
    with pytest.raises(IndexUnavailable):
        await folder.store()


async def test_search_data_is_loaded_only_if_there_is_an_index(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    """It takes memory that a server without an index must not use."""
    project = write_files(tmp_path / "project", {"a.py": "def first(): ...\n"})
    allowed, _ = merge_layer(Config(), {"workspace": {"allow_home_root": True}}, "test")
    for home, loads in ((project, 0), (tmp_path / "elsewhere", 1)):
        workspace = make_workspace(project, environment={"HOME": str(home)}, config=allowed)
        loaded: list[str] = []
        workspace.index._builds._prepare = functools.partial(loaded.append, "models")
        await workspace.index.build()
        await workspace.index.aclose()
        assert len(loaded) == loads
