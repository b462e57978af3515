"""The watcher with the real kernel: it reports every change."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

import pytest
import pytest_asyncio

from conftest import child_environment, git_init, without_coverage, write_files
from winnow.index.watch.watcher import Watcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is certain")

SECONDS = 20.0
RENAME_EXCHANGE = 2
NOBODY = 65534


class Mirror:
    """A copy of the tree that reads only what the watcher reports: texts by path, and None for
    folders."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.known: dict[str, bytes | None] = {}
        self.reported: list[set[str]] = []
        self.lost = 0

    def changed(self, paths: set[str]) -> None:
        self.reported.append(paths)
        for path in paths:
            self.look(path)

    def start_anew(self) -> None:
        self.lost += 1
        self.known.clear()
        self.look(self.root)

    def look(self, path: str) -> None:
        if self.known.pop(path, b"") is None:
            for known in [known for known in self.known if known.startswith(path + "/")]:
                del self.known[known]
        self.known.update(on_disk(path))

    def all_told(self) -> set[str]:
        """Return the paths reported since the last call, below the root."""
        calls, self.reported = self.reported, []
        return {os.path.relpath(path, self.root) for paths in calls for path in paths}


def on_disk(path: str) -> dict[str, bytes | None]:
    """Return the tree at and below a path, without what is never reported."""
    try:
        if not os.path.isdir(path):
            return {path: Path(path).read_bytes()}
        found: dict[str, bytes | None] = {path: None}
        for name in os.listdir(path):
            if name != ".winnow":
                found |= on_disk(os.path.join(path, name))
    except OSError:
        return {}
    return found


Watching = Callable[..., Awaitable[tuple[Watcher, Mirror]]]


@pytest_asyncio.fixture
async def watching() -> AsyncIterator[Watching]:
    """Start watching a folder."""
    watchers = []

    async def watch(
        root: Path, in_scope: Callable[[str], bool] = lambda path: True
    ) -> tuple[Watcher, Mirror]:
        mirror = Mirror(root)
        watcher = Watcher(
            root, mirror.changed, mirror.start_anew, own=root / ".winnow", in_scope=in_scope
        )
        watchers.append(watcher)
        assert await watcher.start(), watcher.reason
        mirror.look(str(root))
        return watcher, mirror

    yield watch
    for watcher in watchers:
        await watcher.aclose()


async def run(*command: str | Path) -> int:
    return await (await asyncio.create_subprocess_exec(*command)).wait()


async def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    assert await run("git", "-C", folder, *who, *arguments) == 0


async def heard(watcher: Watcher, mirror: Mirror) -> set[str]:
    assert await watcher.settle(SECONDS)
    return mirror.all_told()


# --- reported changes ----------------------------------------------------------------------


async def test_changes_of_files_are_reported(watching: Watching, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "a", "sub/b.txt": "b"})
    watcher, mirror = await watching(tmp_path)
    assert await heard(watcher, mirror) == set()
    (tmp_path / "new.txt").write_text("new")
    assert await heard(watcher, mirror) == {"new.txt"}
    opened = os.open(tmp_path / "sub/b.txt", os.O_WRONLY)
    os.write(opened, b"more")
    assert await heard(watcher, mirror) == {"sub/b.txt"}
    os.close(opened)
    (tmp_path / "a.txt").rename(tmp_path / "sub/c.txt")
    assert await heard(watcher, mirror) == {"a.txt", "sub/c.txt", "sub/b.txt"}
    os.utime(tmp_path / "sub/c.txt", (1, 1))
    assert await heard(watcher, mirror) == {"sub/c.txt"}
    os.truncate(tmp_path / "sub/c.txt", 0)
    assert await heard(watcher, mirror) == {"sub/c.txt"}
    (tmp_path / "sub/b.txt").unlink()
    (tmp_path / "link").symlink_to("sub")
    assert await heard(watcher, mirror) == {"sub/b.txt", "link"}
    assert mirror.lost == 0


async def test_reading_is_not_a_change(watching: Watching, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "a", "sub/b.txt": "b"})
    watcher, mirror = await watching(tmp_path)
    assert on_disk(str(tmp_path))
    assert await heard(watcher, mirror) == set()


async def test_memory_mapped_writes_are_reported_when_the_file_is_closed(
    watching: Watching, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before")
    watcher, mirror = await watching(tmp_path)
    opened = os.open(file, os.O_RDWR)
    memory = mmap.mmap(opened, 0)
    os.close(opened)
    memory[:6] = b"after!"
    memory.close()
    assert await heard(watcher, mirror) == {"a.txt"}


async def test_names_may_be_any_bytes(watching: Watching, tmp_path: Path) -> None:
    watcher, mirror = await watching(tmp_path)
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    assert await heard(watcher, mirror) == {"\udcff"}
    Path(tmp_path, "\udcff", "\udcfe").touch()
    assert await heard(watcher, mirror) == {"\udcff/\udcfe"}


async def test_a_new_folder_is_reported_once_it_is_watched(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    for index in range(100):
        folder = tmp_path / f"new{index}" / "below"
        folder.mkdir(parents=True)
        (folder / "early.txt").write_text("early")
        if index % 2:
            assert await watcher.settle(SECONDS)
        (folder / "late.txt").write_text("late")
    assert await watcher.settle(SECONDS)
    assert mirror.known == on_disk(str(tmp_path))


async def test_a_folder_that_appears_during_a_scan_of_its_parent_is_watched(
    watching: Watching, tmp_path: Path
) -> None:
    root, late = tmp_path / "root", tmp_path / "root/tree/late"
    root.mkdir()

    def in_scope(path: str) -> bool:
        # The parent folder has just been listed.
        if path.endswith("early"):
            late.mkdir(exist_ok=True)
        return True

    watcher, mirror = await watching(root, in_scope)
    (tmp_path / "tree/early").mkdir(parents=True)
    (tmp_path / "tree").rename(root / "tree")
    assert await heard(watcher, mirror) >= {"tree"}
    (late / "a.txt").write_text("a")
    assert await watcher.settle(SECONDS)
    assert mirror.known == on_disk(str(root))


async def test_moves_of_trees_are_reported(watching: Watching, tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    write_files(outside / "tree", {"one/two/a.txt": "a", "b.txt": "b"})
    root.mkdir()
    watcher, mirror = await watching(root)
    (outside / "tree").rename(root / "tree")
    assert await heard(watcher, mirror) == {"tree"}
    (root / "tree").rename(root / "other")
    assert await heard(watcher, mirror) == {"tree", "other"}
    (root / "other/one/two/a.txt").write_text("changed")
    assert await heard(watcher, mirror) == {"other/one/two/a.txt"}
    (root / "other").rename(outside / "gone")
    assert await heard(watcher, mirror) == {"other"}
    (outside / "gone/one/two/a.txt").write_text("nobody hears of it")
    assert await heard(watcher, mirror) == set()
    assert mirror.known == on_disk(str(root))


async def test_a_swap_of_two_folders_is_reported(watching: Watching, tmp_path: Path) -> None:
    write_files(tmp_path, {"a/in/a.txt": "a", "b/in/b.txt": "b"})
    watcher, mirror = await watching(tmp_path)
    libc = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(tmp_path / "a"), os.fsencode(tmp_path / "b")
    if libc.renameat2(-100, first, -100, second, RENAME_EXCHANGE):
        pytest.skip(os.strerror(ctypes.get_errno()))
    assert await heard(watcher, mirror) == {"a", "b"}
    write_files(tmp_path, {"a/in/b.txt": "b2", "b/in/a.txt": "a2"})
    assert await heard(watcher, mirror) == {"a/in/b.txt", "b/in/a.txt"}


async def test_a_tree_that_is_deleted_and_recreated_is_reported(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    for index in range(50):
        write_files(tmp_path, {"tree/one/two/a.txt": str(index)})
        if index % 3:
            assert await watcher.settle(SECONDS)
        assert index % 3 == 0 or mirror.known == on_disk(str(tmp_path))
        shutil.rmtree(tmp_path / "tree")
    assert await watcher.settle(SECONDS)
    assert mirror.known == {str(tmp_path): None}


@pytest.mark.process
async def test_only_the_relevant_files_of_git_are_reported(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    git_init(tmp_path)
    assert await heard(watcher, mirror) >= {".git"}
    write_files(tmp_path, {"a.txt": "a"})
    await git(tmp_path, "add", "a.txt")
    await git(tmp_path, "commit", "-qm", "first")
    assert await heard(watcher, mirror) == {"a.txt"}
    await git(tmp_path, "checkout", "-qb", "other")
    assert await heard(watcher, mirror) == {".git/HEAD"}
    write_files(tmp_path, {".git/info/exclude": "b.txt", ".git/objects/b.txt": "b"})
    assert ".git/info/exclude" in await heard(watcher, mirror)


async def test_changes_in_our_own_folders_are_not_reported(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    write_files(tmp_path, {".winnow/store": "s", "sub/a.txt": "a"})
    assert await heard(watcher, mirror) >= {"sub"}
    write_files(tmp_path, {".winnow/more/store": "s", "sub/.winnow/store": "s"})
    assert await heard(watcher, mirror) == set()


async def test_folders_out_of_scope_are_not_reported_until_they_are_in_scope(
    watching: Watching, tmp_path: Path
) -> None:
    unwanted = {str(tmp_path / "built"), str(tmp_path / "made")}
    write_files(tmp_path, {"built/a.o": "a", "sub/a.txt": "a"})
    watcher, mirror = await watching(tmp_path, in_scope=lambda path: path not in unwanted)
    write_files(tmp_path, {"built/b.o": "b", "built/deep/c.o": "c", "made/d.o": "d"})
    assert await heard(watcher, mirror) == {"made"}
    unwanted.remove(str(tmp_path / "built"))
    unwanted.add(str(tmp_path / "sub"))
    watcher.refresh()
    assert await heard(watcher, mirror) == {"built"}
    write_files(tmp_path, {"built/deep/d.o": "d", "sub/a.txt": "unwanted now"})
    assert await heard(watcher, mirror) == {"built/deep/d.o"}


# --- completeness of the reports -----------------------------------------------------------


class Operations:
    """Random changes of a tree."""

    def __init__(self, root: Path, outside: Path, seed: int) -> None:
        self.root, self.outside = root, outside
        self.random = random.Random(seed)
        self.count = 0

    def one(self) -> None:
        self.count += 1
        operation = self.random.choice(
            [
                *(self.write, self.write, self.append, self.tree, self.rename, self.rename),
                *(self.delete, self.move_in, self.move_out),
            ]
        )
        # A folder moved into itself or over a folder that is not empty, or a missing path.
        with contextlib.suppress(OSError):
            operation()

    def folders(self) -> list[Path]:
        return [self.root, *(one for one in sorted(self.root.rglob("*")) if one.is_dir())]

    def some(self, paths: Iterable[Path]) -> Path:
        return self.random.choice([*paths, self.root / "none"])

    def place(self) -> Path:
        return self.random.choice(self.folders()) / self.random.choice("abcdef")

    def write(self) -> None:
        self.place().write_text(f"written {self.count}")

    def append(self) -> None:
        with open(self.some(one for one in self.root.rglob("*") if one.is_file()), "a") as file:
            file.write(f"{self.count}")

    def tree(self) -> None:
        write_files(self.place(), {"x/y/a": f"{self.count}", "x/b": "b", "z/c": f"{self.count}"})

    def rename(self) -> None:
        self.some(self.root.rglob("*")).rename(self.place())

    def delete(self) -> None:
        victim = self.some(self.root.rglob("*"))
        shutil.rmtree(victim) if victim.is_dir() else victim.unlink()

    def move_in(self) -> None:
        source = self.outside / f"{self.count}"
        write_files(source, {"p/q/a": f"{self.count}", "b": "b"})
        source.rename(self.place())

    def move_out(self) -> None:
        self.some(self.root.rglob("*")).rename(self.outside / f"out{self.count}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_random_changes_are_all_reported(
    watching: Watching, tmp_path: Path, seed: int
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    watcher, mirror = await watching(root)
    operations = Operations(root, outside, seed)
    while operations.count < 200:
        for _ in range(operations.random.randint(1, 6)):
            operations.one()
        assert await watcher.settle(SECONDS)
        assert mirror.known == on_disk(str(root)), operations.count
    assert mirror.lost == 0


@pytest.mark.slow
async def test_concurrent_changes_are_all_reported(watching: Watching, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    watcher, mirror = await watching(root)
    operations = Operations(root, outside, seed=3)

    def work() -> None:
        while operations.count < 100:
            operations.one()

    for _ in range(3):
        operations.count = 0
        working = threading.Thread(target=work)
        working.start()
        while working.is_alive():
            await watcher.settle(SECONDS)
        assert await watcher.settle(SECONDS)
        assert mirror.known == on_disk(str(root))


async def test_settle_waits_for_the_change_just_before_it(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    for index in range(300):
        (tmp_path / f"{index % 7}").write_text(str(index))
        answers = await asyncio.gather(*(watcher.settle(SECONDS) for _ in range(3)))
        assert answers == [True, True, True]
        assert mirror.known[str(tmp_path / f"{index % 7}")] == str(index).encode()


async def test_a_watcher_is_current_only_without_unreported_changes(
    watching: Watching, tmp_path: Path
) -> None:
    watcher, mirror = await watching(tmp_path)
    assert await watcher.settle(SECONDS)
    for index in range(20):
        assert watcher.is_current()
        (tmp_path / f"{index}").write_text("new")
        assert not watcher.is_current()
        while not watcher.is_current():
            await asyncio.sleep(0.001)
        assert mirror.known[str(tmp_path / f"{index}")] == b"new"


async def test_a_replaced_folder_is_not_current(watching: Watching, tmp_path: Path) -> None:
    folder = tmp_path / "above" / "folder"
    folder.mkdir(parents=True)
    watcher, _ = await watching(folder)
    assert await watcher.settle(SECONDS)
    (tmp_path / "above").rename(tmp_path / "moved")
    assert not watcher.is_current()
    folder.mkdir(parents=True)
    assert not watcher.is_current()


@pytest.mark.slow
async def test_many_changes_are_reported_in_few_calls(watching: Watching, tmp_path: Path) -> None:
    write_files(tmp_path, {f"d{index % 20}/{index}": "old" for index in range(2_000)})
    watcher, mirror = await watching(tmp_path)
    for index in range(2_000):
        (tmp_path / f"d{index % 20}/{index}").write_text("new")
    assert await watcher.settle(SECONDS)
    assert len(mirror.reported) < 200
    assert mirror.all_told() == {f"d{index % 20}/{index}" for index in range(2_000)}


@pytest.mark.process
async def test_settle_ends_under_constant_writes(watching: Watching, tmp_path: Path) -> None:
    watcher, mirror = await watching(tmp_path)
    busy = "while :; do echo x > busy; rm busy; done"
    writer = await asyncio.create_subprocess_exec("sh", "-c", busy, cwd=tmp_path)
    try:
        for index in range(100):
            (tmp_path / "mine").write_text(str(index))
            assert await watcher.settle(SECONDS)
            assert mirror.known[str(tmp_path / "mine")] == str(index).encode()
    finally:
        writer.kill()
        await writer.wait()


@pytest.mark.slow
async def test_a_queue_overflow_causes_a_rescan(watching: Watching, tmp_path: Path) -> None:
    met, go_on = threading.Event(), threading.Event()

    def in_scope(path: str) -> bool:
        if path.endswith("stop"):
            met.set()
            go_on.wait()
        return True

    watcher, mirror = await watching(tmp_path, in_scope)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (tmp_path / "stop").mkdir()
    await asyncio.to_thread(met.wait)
    for index in range(limit // 2 + 1):
        os.mknod(f"{tmp_path}/{index % 100}")
        os.unlink(f"{tmp_path}/{index % 100}")
    write_files(tmp_path, {"unheard/of/a.txt": "a"})
    unsettled = asyncio.create_task(watcher.settle(SECONDS))
    await asyncio.sleep(0.01)
    go_on.set()
    assert await unsettled
    assert mirror.lost == 1
    assert mirror.known == on_disk(str(tmp_path))
    (tmp_path / "unheard/of/a.txt").write_text("heard of")
    assert await heard(watcher, mirror) >= {"unheard/of/a.txt"}
    assert mirror.lost == 1


async def test_the_watcher_writes_nothing(watching: Watching, tmp_path: Path) -> None:
    watcher, _ = await watching(tmp_path)
    assert await watcher.settle(SECONDS)
    assert list(tmp_path.iterdir()) == []


# --- where it ends -------------------------------------------------------------------------


async def test_a_deleted_root_ends_the_watcher_with_a_reason(
    watching: Watching, tmp_path: Path
) -> None:
    for number in range(2):
        root = tmp_path / f"root{number}"
        root.mkdir()
        watcher, mirror = await watching(root)
        root.rename(tmp_path / "moved") if number else root.rmdir()
        assert not await watcher.settle(SECONDS)
        assert str(root) in watcher.reason
        assert mirror.lost == 1


async def test_a_replaced_root_is_noticed(watching: Watching, tmp_path: Path) -> None:
    root = tmp_path / "above/root"
    root.mkdir(parents=True)
    watcher, mirror = await watching(root)
    (tmp_path / "above").rename(tmp_path / "moved")
    root.mkdir(parents=True)
    assert not await watcher.settle(SECONDS)
    assert watcher.reason == f"another folder is at {root}"
    assert mirror.lost == 1


async def test_a_missing_root_is_not_watched(tmp_path: Path) -> None:
    losses: list[None] = []
    watcher = Watcher(
        tmp_path / "none", lambda paths: None, lambda: losses.append(None), own=tmp_path / ".winnow"
    )
    assert not await watcher.start()
    assert watcher.reason == f"{tmp_path / 'none'} cannot be watched: No such file or directory"
    assert not await watcher.settle(SECONDS)
    await watcher.aclose()
    assert losses == []


async def test_closing_answers_waiting_calls_and_reports_nothing_more(
    watching: Watching, tmp_path: Path
) -> None:
    go_on = threading.Event()

    def in_scope(path: str) -> bool:
        go_on.wait()
        return True

    watcher, mirror = await watching(tmp_path, in_scope)
    (tmp_path / "sub").mkdir()
    unsettled = asyncio.create_task(watcher.settle(SECONDS))
    await asyncio.sleep(0.02)
    await watcher.aclose()
    assert await unsettled is False
    go_on.set()
    await asyncio.sleep(0.02)
    assert mirror.reported == []
    assert mirror.lost == 0
    await watcher.aclose()
    assert await watcher.settle(SECONDS) is False


async def test_closing_leaves_no_thread_and_no_open_file(tmp_path: Path) -> None:
    async def once() -> None:
        watcher = Watcher(tmp_path, lambda paths: None, lambda: None, own=tmp_path / ".winnow")
        assert await watcher.start()
        assert await watcher.settle(SECONDS)
        await watcher.aclose()
        # Closing waits only for a moment; the thread of this test, or of an earlier one, keeps its
        # files open until it ends.
        for thread in threading.enumerate():
            if thread.name.startswith("watch "):
                thread.join(SECONDS)
                assert not thread.is_alive()

    await once()
    gc.collect()  # files held by a cycle would be closed at any moment
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await once()
    assert len(os.listdir("/proc/self/fd")) == files


# --- in other processes --------------------------------------------------------------------

CHILD = """
import asyncio, os, sys
from pathlib import Path
from winnow.index.watch.watcher import Watcher

root = Path(sys.argv[1])
told, lost = set(), []
watcher = Watcher(root, told.update, lambda: lost.append(1), own=root / ".winnow")

async def main():
{body}

asyncio.run(main())
"""


def program(body: str) -> list[str]:
    indented = "\n".join("    " + line for line in body.strip().splitlines())
    return [sys.executable, "-c", CHILD.replace("{body}", indented)]


@pytest.mark.process
def test_a_watching_process_ends_at_once(tmp_path: Path) -> None:
    body = "assert await watcher.start()\nprint(await watcher.settle(20), flush=True)\n"
    environment = child_environment(tmp_path)
    done = subprocess.run(
        [*program(body), tmp_path], env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)
    with subprocess.Popen(
        [*program(body + "await asyncio.sleep(60)"), tmp_path],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "True\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(SECONDS) == -signal.SIGTERM


@pytest.mark.process
@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("max_inotify_watches", 5, "watched folders (fs.inotify.max_user_watches)"),
        ("max_inotify_instances", 0, "watchers (fs.inotify.max_user_instances)"),
    ],
)
def test_an_exhausted_system_limit_is_named(
    tmp_path: Path, setting: str, value: int, named: str
) -> None:
    write_files(tmp_path, {f"d{index}/a": "a" for index in range(10)})
    limited = f'echo {value} > /proc/sys/user/{setting} || exit 77; exec "$@"'
    body = "print(await watcher.start(), watcher.reason, await watcher.settle(20))"
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", limited, "sh", *program(body), tmp_path],
        env=child_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no user namespaces here")
    assert done.stdout.startswith("False the system's limit of ")
    assert f" {named} is reached; raise it with `sudo sysctl fs." in done.stdout
    assert done.stdout.endswith(" False\n")


UNREADABLE = """
import winnow.index.watch.linux
if os.getuid() == 0:  # who may read everything
    os.setuid(65534)
assert await watcher.start(), watcher.reason
(root / "closed").chmod(0o700)
assert await watcher.settle(20)
assert told == {str(root / "closed")}, told
told.clear()
(root / "closed/in/a").write_text("changed")
assert await watcher.settle(20)
assert told == {str(root / "closed/in/a")}, told
told.clear()
(root / "closed").chmod(0)
assert await watcher.settle(20)
assert told == {str(root / "closed")}, told
assert not lost
"""


@without_coverage
@pytest.mark.process
def test_an_unreadable_folder_is_reported_when_it_becomes_readable() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = write_files(Path(name), {"closed/in/a": "a"})
        paths = [root, root / "closed", root / "closed/in", root / "closed/in/a"]
        for path in reversed(paths):
            if path.name == "closed":
                path.chmod(0)
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        done = subprocess.run(
            [*program(UNREADABLE), name],
            env=child_environment(Path(name)),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if os.getuid() == 0:  # another user cannot read it
            for path in paths:
                os.chown(path, 0, 0)
                path.chmod(0o700)
        (root / "closed").chmod(0o700)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.process
async def test_a_new_mount_below_the_root_causes_a_rescan(
    watching: Watching, tmp_path: Path
) -> None:
    write_files(tmp_path, {"sub/a.txt": "a", "b.txt": "b"})
    watcher, mirror = await watching(tmp_path)
    if await run("mount", "-t", "tmpfs", "none", tmp_path / "sub"):
        pytest.skip("nothing may be mounted here")
    try:
        assert await watcher.settle(SECONDS)
        assert mirror.lost == 1
        assert mirror.known == on_disk(str(tmp_path))
        mirror.all_told()
        write_files(tmp_path, {"sub/c.txt": "c"})
        assert await heard(watcher, mirror) == {"sub/c.txt"}
    finally:
        assert await run("umount", tmp_path / "sub") == 0
    assert await watcher.settle(SECONDS)
    assert mirror.known == on_disk(str(tmp_path))
    write_files(tmp_path, {"sub/a.txt": "changed"})
    assert await heard(watcher, mirror) >= {"sub/a.txt"}
