"""What differs between systems, each with the system faked: docs/contributing.md lists them.

No test here runs on another system: these tests show only what is called there.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from conftest import requires_posix
from winnow.frontends.cli import pager
from winnow.frontends.server_process import end_on_signals, is_hung_up
from winnow.index.watch.watcher import Watcher
from winnow.processes import groups, installing, memory, sandbox, worker_side
from winnow.search.bash.programs import PROGRAMS, offered
from winnow.storage import identity, lock, secret, sockets
from winnow.storage.paths import is_inside
from winnow.storage.user_paths import cache_path, config_path, state_path
from winnow.storage.writing import move_file
from winnow.text.paths import path_of_uri

pytestmark = requires_posix  # the functions are faked from there

Fake = Callable[[str], None]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return lambda platform: monkeypatch.setattr(sys, "platform", platform)


# --- paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "environment", "state", "cache", "config"),
    [
        ("linux", {}, "/h/.local/state/winnow", "/h/.cache", "/h/.config/winnow"),
        (
            "linux",
            {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "/x"},
            *("/s/winnow", "/c", "/x/winnow"),
        ),
        (
            "darwin",
            {},
            *("/h/Library/Application Support/winnow", "/h/Library/Caches", "/h/.config/winnow"),
        ),
        ("win32", {"LOCALAPPDATA": "/l", "APPDATA": "/a"}, "/l/winnow", "/l", "/a/winnow"),
        ("win32", {}, None, "/h/.cache", "/h/.config/winnow"),
    ],
)
def test_each_system_has_its_own_folders(
    platform: str,
    environment: dict[str, str],
    state: str | None,
    cache: str,
    config: str,
    fake: Fake,
) -> None:
    fake(platform)
    environment = {"HOME": "/h", **environment}
    found = state_path(environment), cache_path(environment), config_path(environment)
    assert found == (state, cache, config)


@pytest.mark.parametrize("home", ["", "~", "relative"])
def test_without_a_home_folder_there_is_neither_state_nor_cache(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    environment = {"HOME": home, "XDG_CONFIG_HOME": home}
    assert (state_path(environment), cache_path(environment)) == (None, None)
    assert config_path(environment) == "/.config/winnow"


@pytest.mark.parametrize(
    ("platform", "uri", "path"),
    [
        ("linux", "file:///a%20b/c", "/a b/c"),
        ("darwin", "file:///C:/a", "/C:/a"),
        ("win32", "file:///c%3A/a%20b", "c:/a b"),
        ("win32", "file://server/share/a", "//server/share/a"),
    ],
)
def test_uris_have_drives_and_servers_on_windows(
    platform: str, uri: str, path: str, fake: Fake
) -> None:
    fake(platform)
    assert path_of_uri(uri) == path


def test_only_posix_has_system_folders(fake: Fake) -> None:
    assert not is_inside("/proc/self", "/")
    fake("win32")
    assert is_inside("/proc/self", "/")


# --- files ---------------------------------------------------------------------------------


class Locks(types.ModuleType):
    """The module msvcrt, for a file that another process has locked twice."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.tries = 0

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        assert os.fstat(descriptor)
        self.tries += 1
        if self.tries < 3:
            raise OSError(errno.EACCES, "locked")


def test_windows_locks_the_first_byte_of_a_file(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "msvcrt", locks := Locks())
    fake("win32")
    with lock.locked_briefly(tmp_path / "lock", 5):
        assert locks.tries == 3


def test_windows_deletes_a_lock_that_is_closed(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "msvcrt", Locks())
    unlink, file = os.unlink, tmp_path / "lock"

    def is_open() -> bool:
        return str(file) in [opened.path for opened in psutil.Process().open_files()]

    def delete(path: Path) -> None:
        if is_open():
            raise PermissionError(errno.EACCES, "in use")
        unlink(path)

    monkeypatch.setattr(os, "unlink", delete)
    fake("win32")
    with lock.owned(file, 5):
        assert is_open()
    assert not file.exists()


def test_windows_waits_until_a_file_to_replace_is_closed(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    failures = [PermissionError(errno.EACCES, "in use")] * 2
    replace = os.replace

    def busy(source: Path, target: Path) -> None:
        if failures:
            raise failures.pop()
        replace(source, target)

    monkeypatch.setattr(os, "replace", busy)
    old.write_text("text")
    with pytest.raises(PermissionError):  # elsewhere, it is another problem
        move_file(old, new)
    assert len(failures) == 1
    fake("win32")
    move_file(old, new)
    assert (failures, new.read_text()) == ([], "text")


def test_windows_gives_up_on_a_file_that_stays_in_use(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr("winnow.storage.writing.REPLACE_SECONDS", 0.02)
    fake("win32")
    with pytest.raises(PermissionError):
        move_file(tmp_path / "old", tmp_path / "new")


def test_a_mode_says_nothing_about_others_on_windows(fake: Fake, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    status = tmp_path.stat()
    assert not secret.is_private(status)
    fake("win32")
    assert secret.is_private(status)


@pytest.mark.parametrize(
    ("platform", "fields", "expected"),
    [
        ("win32", {"st_birthtime_ns": 7, "st_ctime_ns": 5}, 7),
        ("win32", {"st_ctime_ns": 5}, 5),
        ("darwin", {"st_birthtime": 1.5, "st_ctime_ns": 5}, 1_500_000_000),
        ("freebsd14", {"st_ctime_ns": 5}, None),
    ],
)
def test_each_system_has_its_own_creation_time(
    platform: str,
    fields: dict[str, float],
    expected: int | None,
    fake: Fake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "lstat", lambda path: types.SimpleNamespace(**fields))
    fake(platform)
    assert identity.creation_time(Path("a")) == expected


# --- processes and signals -----------------------------------------------------------------


@pytest.mark.process
def test_a_program_and_what_it_started_end_on_windows_too(fake: Fake) -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1); input()'])"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"1\n"
        fake("win32")
        assert not groups.has_sessions()
        groups.kill_group(program.pid)
        assert program.stdout.read() == b""  # closed by the second process, too
        assert program.wait() == -signal.SIGKILL
    groups.kill_group(program.pid)  # harmless


def test_windows_lowers_the_priority_of_a_worker(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ctypes

    calls: list[tuple[int, int]] = []
    kernel = types.SimpleNamespace(
        GetCurrentProcess=lambda: -1,
        SetPriorityClass=lambda process, priority: calls.append((process, priority)),
    )
    monkeypatch.setattr(ctypes, "windll", types.SimpleNamespace(kernel32=kernel), raising=False)
    fake("win32")
    worker_side._lower_priority()
    assert calls == [(-1, 0x4000)]


async def test_windows_has_no_signal_that_ends_a_server(fake: Fake) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    fake("win32")
    end_on_signals(None, (signal.SIGTERM,))  # type: ignore[arg-type]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_windows_does_not_tell_that_a_pipe_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(write)
    try:
        assert is_hung_up(read)
        monkeypatch.delattr("select.poll")
        assert not is_hung_up(read)
    finally:
        os.close(read)


def test_processes_are_described_without_files_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_has_proc", lambda: False)
    own = psutil.Process().pid
    assert memory.anonymous_bytes(own) > 1_000_000
    assert memory.processor_seconds(own) > 0
    assert memory.is_there(own)
    gone = 2**22 + 1  # above Linux's largest id
    assert (memory.anonymous_bytes(gone), memory.processor_seconds(gone)) == (0, 0.0)
    assert not memory.is_there(gone)
    assert not memory.wants_processor(gone)


@pytest.mark.parametrize(("platform", "known"), [("win32", False), ("darwin", False)])
def test_only_linux_has_the_sandbox(platform: str, known: bool, fake: Fake) -> None:
    fake(platform)
    sandbox.is_available.cache_clear()
    try:
        assert sandbox.is_available() is known
    finally:
        sandbox.is_available.cache_clear()


def test_only_ripgrep_is_run_on_windows(fake: Fake) -> None:
    assert offered() == tuple(PROGRAMS)
    fake("win32")
    assert offered() == ("rg", "rga")


def test_commands_are_quoted_as_each_shell_needs(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "C:\\My Python\\python.exe")
    fake("win32")
    command = installing.pip_install("winnow-ls[mcp]")
    assert command.endswith(' install "winnow-ls[mcp]"') or "uv pip install" in command
    assert '"C:\\My Python\\python.exe"' in command
    fake("linux")
    assert installing.pip_install("winnow-ls[mcp]").endswith("'winnow-ls[mcp]'")


def test_windows_has_no_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = types.SimpleNamespace(isatty=lambda: True, fileno=lambda: 1)
    monkeypatch.setattr(pager, "sys", types.SimpleNamespace(stdout=terminal, stdin=terminal))
    monkeypatch.setattr(os, "get_terminal_size", lambda file: os.terminal_size((80, 24)))
    monkeypatch.setenv("TERM", "xterm")
    assert pager._needs_pager("\n" * 30)
    monkeypatch.setattr(os, "name", "nt")
    assert not pager._needs_pager("\n" * 30)


# --- sockets and changes -------------------------------------------------------------------


def test_windows_has_no_background_process(fake: Fake) -> None:
    environment = {"HOME": "/h", "LOCALAPPDATA": "/l"}
    assert sockets.sockets_folder(environment) == "/h/.local/state/winnow/run"
    fake("darwin")
    assert sockets.sockets_folder(environment) == "/h/Library/Application Support/winnow/run"
    fake("win32")
    assert sockets.sockets_folder(environment) is None


def test_macos_names_the_user_of_a_peer(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)

    class Connection:
        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option, size) == (0, 1, 8)  # SOL_LOCAL, LOCAL_PEERCRED
            return (0).to_bytes(4, sys.byteorder) + (501).to_bytes(4, sys.byteorder)

    fake("darwin")
    assert sockets.peer_of(Connection()) == (0, 501)  # type: ignore[arg-type]
    fake("openbsd7")
    assert sockets.peer_of(Connection()) is None  # type: ignore[arg-type]


async def test_changes_are_reported_elsewhere_but_not_confirmed(fake: Fake, tmp_path: Path) -> None:
    changed = asyncio.Event()
    found: set[str] = set()

    def report(paths: set[str]) -> None:
        found.update(paths)
        changed.set()

    fake("darwin")
    watcher = Watcher(tmp_path, report, lambda: None, own=tmp_path / ".winnow")
    try:
        assert await watcher.start()
        assert not await watcher.settle(0.1)
        (tmp_path / "a.py").write_text("x")
        await asyncio.wait_for(changed.wait(), 20)
        assert str(tmp_path / "a.py") in found
    finally:
        await watcher.aclose()
