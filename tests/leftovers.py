"""A pytest plugin that fails each test that leaves something behind.

It compares processes (including orphans), threads, open files, environment variables, the working
directory, and the files in the temporary folder, the home folder and the checkout. Fixtures with a
wider scope than a function may keep resources until they end.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

# Time for resources to disappear by themselves, long enough for a busy machine.
SECONDS = 30.0
CHECKOUT = Path(__file__).parent.parent
# Folders in which tools, or tests of the clients that run in parallel, write files.
NOT_OURS = {"__pycache__", "dist", "nvim", "vscode-extension"}
PR_SET_CHILD_SUBREAPER = 36
# Longer than the resolution of file times.
GRAIN_NS = 50_000_000

Resources = dict[str, dict[object, str]]
# By folder of the checkout: its modification time, subfolders and files.
CHECKED_OUT: dict[str, tuple[int, list[str], list[str]]] = {}


def processes() -> dict[object, str]:
    """Return the descendants of this process. Reap orphans that have ended."""
    found: dict[object, str] = {}
    below = [os.getpid()]
    while below:
        for pid in children(below.pop()):
            if has_ended(pid):
                reap(pid)
            else:
                found[pid] = f"{pid} ({command_of(pid)})"
                below.append(pid)
    return found


def children(pid: int) -> list[int]:
    """Return the children of a process. Linux leaves some out if others end while it lists them,
    so two listings must agree."""
    found = listed_children(pid)
    while found != (again := listed_children(pid)):
        found = again
    return found


def listed_children(pid: int) -> list[int]:
    found: list[int] = []
    folder = f"/proc/{pid}/task"
    with contextlib.suppress(OSError):  # the process has ended
        for task in os.listdir(folder):
            with contextlib.suppress(OSError), open(f"{folder}/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):  # another process' child
        os.waitpid(pid, os.WNOHANG)


def command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return "ended"
    return words.decode("utf-8", "replace").strip()[:200]


def threads() -> dict[object, str]:
    return {thread: thread.name for thread in threading.enumerate()}


def open_files() -> dict[object, str]:
    """Return the descriptors of this process, except its standard streams and files of packages."""
    found: dict[object, str] = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the descriptor of the listing itself
            continue
        if int(number) > 2 and "/site-packages/" not in name:
            found[number, name] = f"{number} -> {name}"
    return found


def variables() -> dict[object, str]:
    return {item: item[0] for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST"}


def working_folder() -> dict[object, str]:
    here = os.getcwd()
    return {here: here}


def files() -> dict[object, str]:
    found: dict[object, str] = {}
    for folder in (tempfile.gettempdir(), os.path.expanduser("~")):
        found.update((entry.path, entry.path) for entry in os.scandir(folder))
    below = [str(CHECKOUT)]
    while below:
        folder = below.pop()
        try:
            changed = os.stat(folder).st_mtime_ns
            cached = CHECKED_OUT.get(folder)
            if cached is None or cached[0] != changed:
                # A folder that has just changed may change again within the same tick.
                is_old = time.time_ns() - changed > GRAIN_NS
                cached = CHECKED_OUT[folder] = changed if is_old else -1, *listed(folder)
        except FileNotFoundError:  # deleted in the meantime
            continue
        below += cached[1]
        found.update((path, path) for path in cached[2])
    return found


def listed(folder: str) -> tuple[list[str], list[str]]:
    """Return the subfolders and files of a folder in the checkout."""
    with os.scandir(folder) as scan:
        entries = [entry for entry in scan if entry.name not in NOT_OURS and entry.name[0] != "."]
    folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return folders, sorted({entry.path for entry in entries}.difference(folders))


KINDS: dict[str, Callable[[], dict[object, str]]] = {
    "threads": threads,
    "environment variables": variables,
    "working folder": working_folder,
    "files": files,
}
if sys.platform == "linux":
    KINDS |= {"processes": processes, "open files": open_files}


def everything() -> Resources:
    return {kind: collect() for kind, collect in KINDS.items()}


def added(before: Resources, now: Resources) -> Resources:
    """Return the new resources, by kind."""
    found = {
        kind: {key: name for key, name in current.items() if key not in before[kind]}
        for kind, current in now.items()
    }
    return {kind: names for kind, names in found.items() if names}


class Leftovers:
    """The plugin, with the resources before all tests and before the current test."""

    first: Resources
    before: Resources

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Record the state before the first test: plugins that load later open files, too."""
        self.first = self.before = everything()
        return (yield)

    def check(self) -> str:
        """Wait until new resources are gone; describe the remaining ones."""
        end, pause = time.monotonic() + SECONDS, 0.001
        while left := added(self.first, added(self.before, now := everything())):
            if time.monotonic() > end:
                break
            gc.collect()
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
        self.before = now
        return "; ".join(f"{kind}: {', '.join(names.values())}" for kind, names in left.items())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Accept the resources of fixtures that several tests share."""
        made = yield
        if fixturedef.scope != "function":
            self.before = everything()
        return made

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if left := self.check():
            pytest.fail(f"{item.nodeid} leaves behind {left}", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    if sys.platform == "linux":  # become the parent of orphans
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The background job of a script ignores SIGINT, and so would all programs that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    own = tempfile.TemporaryDirectory(prefix="winnow-tests-")
    config.add_cleanup(own.cleanup)
    os.chmod(own.name, 0o755)  # tests run programs as other users
    # pip runs `rustc --version`, which finds its toolchain through the home folder.
    patch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")))
    # An empty home folder and a new temporary folder; `tmp_path` doesn't move.
    patch.setenv("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    for variable in ("HOME", "TMPDIR"):
        patch.setenv(variable, f"{own.name}/{variable.lower()}")
        os.mkdir(os.environ[variable])
    patch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])
    config.pluginmanager.register(Leftovers(), "leftovers of tests")
