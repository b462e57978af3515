"""A pytest plugin: a test leaves nothing behind, or it fails, by its own name.

It compares processes (also those whose parent has ended), threads, open files, environment
variables, the working folder, and the files in the folders for temporary files, in the home folder
and in the checkout. What a fixture of a module or of the session makes is its own until it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

# What ends by itself has so long for it, on a machine as busy as may be.
SECONDS = 30.0
CHECKOUT = Path(__file__).parent.parent
# What tools write beside the code, and where the tests of the clients write meanwhile.
NOT_OURS = {"__pycache__", "dist", "nvim", "vscode-extension"}
PR_SET_CHILD_SUBREAPER = 36
# The granularity of file times is finer than this.
GRAIN_NS = 50_000_000

Found = dict[str, dict[object, str]]
# Of each folder of the checkout: when it was changed, the folders in it, and the files.
CHECKED_OUT: dict[str, tuple[int, list[str], list[str]]] = {}


def processes() -> dict[object, str]:
    """The processes below this one. Those that have ended, whose parent did not wait for them, are
    taken from the table of processes."""
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
    found: list[int] = []
    folder = f"/proc/{pid}/task"
    try:
        for task in os.listdir(folder):
            with open(f"{folder}/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:  # it has ended meanwhile
        pass
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
    return {one: one.name for one in threading.enumerate()}


def open_files() -> dict[object, str]:
    """The descriptors of this process but its streams, and what libraries map for good."""
    found: dict[object, str] = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # that of the listing itself
            continue
        if int(number) > 2 and "/site-packages/" not in name:
            found[number, name] = f"{number} -> {name}"
    return found


def variables() -> dict[object, str]:
    return {one: one[0] for one in os.environ.items() if one[0] != "PYTEST_CURRENT_TEST"}


def working_folder() -> dict[object, str]:
    here = os.getcwd()
    return {here: here}


def files() -> dict[object, str]:
    found: dict[object, str] = {}
    for folder in (tempfile.gettempdir(), os.path.expanduser("~")):
        found.update((one.path, one.path) for one in os.scandir(folder))
    below = [str(CHECKOUT)]
    while below:
        folder = below.pop()
        try:
            changed = os.stat(folder).st_mtime_ns
            known = CHECKED_OUT.get(folder)
            if known is None or known[0] != changed:
                # A folder that has just changed may change again within the same tick.
                is_old = time.time_ns() - changed > GRAIN_NS
                known = CHECKED_OUT[folder] = changed if is_old else -1, *listed(folder)
        except FileNotFoundError:  # deleted meanwhile
            continue
        below += known[1]
        found.update((path, path) for path in known[2])
    return found


def listed(folder: str) -> tuple[list[str], list[str]]:
    """The folders in a folder of the checkout, and the files."""
    with os.scandir(folder) as all_of_it:
        some = [one for one in all_of_it if one.name not in NOT_OURS and one.name[0] != "."]
    folders = [one.path for one in some if one.is_dir(follow_symlinks=False)]
    return folders, sorted({one.path for one in some}.difference(folders))


KINDS: dict[str, Callable[[], dict[object, str]]] = {
    "threads": threads,
    "environment variables": variables,
    "working folder": working_folder,
    "files": files,
}
if sys.platform == "linux":
    KINDS |= {"processes": processes, "open files": open_files}


def everything() -> Found:
    return {kind: look() for kind, look in KINDS.items()}


def added(before: Found, now: Found) -> Found:
    """What was not there before, by kind."""
    found = {
        kind: {key: name for key, name in some.items() if key not in before[kind]}
        for kind, some in now.items()
    }
    return {kind: names for kind, names in found.items() if names}


class Leftovers:
    """The plugin: what there was before all tests, and before the one that runs."""

    first: Found
    before: Found

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Record the state before the first test: plugins that load later open files, too."""
        self.first = self.before = everything()
        return (yield)

    def check(self) -> str:
        """Wait until what is new has gone; return what has not, in words."""
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
        """Count what a fixture makes for several tests to what was there."""
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
    if sys.platform == "linux":  # become the parent of those that have lost theirs
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    own = tempfile.TemporaryDirectory(prefix="winnow-tests-")
    config.add_cleanup(own.cleanup)
    os.chmod(own.name, 0o755)  # tests run programs as other users
    # pip asks rustc for its version, which is found by the home folder.
    patch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")))
    # An empty home folder, and one for temporary files; `tmp_path` stays where it is.
    patch.setenv("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    for variable in ("HOME", "TMPDIR"):
        patch.setenv(variable, f"{own.name}/{variable.lower()}")
        os.mkdir(os.environ[variable])
    patch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])
    config.pluginmanager.register(Leftovers(), "leftovers of tests")
