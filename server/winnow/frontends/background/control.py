"""Start, list and stop background processes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from winnow.config import Config
from winnow.errors import SearchError
from winnow.frontends import config_files
from winnow.frontends.background import client, messages
from winnow.processes.children import start_detached
from winnow.processes.memory import anonymous_bytes
from winnow.storage import sockets
from winnow.storage.paths import real_path
from winnow.text.roots import is_indexable, refusal
from winnow.text.sanitize import printable
from winnow.text.search_roots import repository_root, search_roots

HELP = (
    "'status': show the state of the index and the background process of this workspace. 'stop':"
    " end the process; the next command starts another."
)
ANSWER_SECONDS = 2.0
STOP_SECONDS = 5.0
# How long a command waits for a process that it has started; that takes half a second of CPU time.
START_SECONDS = 5.0
POLL_SECONDS = 0.01
MB = 1_000_000


class ProcessDescription(Struct, frozen=True):
    """A background process: its workspace, when it started (ISO 8601), its memory, and the number
    of commands that it has run."""

    root: str
    pid: int
    started_at: str
    memory_mb: float
    commands: int


def root_of(folder: Path, config: Config, environment: Mapping[str, str]) -> Path:
    """Return the workspace of a command that runs in a folder. Raise SearchError if it has none."""
    workspace = config.workspace

    def refused(candidate: Path) -> str:
        return "" if workspace.allow_home_root else refusal(candidate, environment)

    return search_roots([folder], refused)[0]


class StartedProcess(NamedTuple):
    """A process that was started: the path of its socket, and a function that returns True once it
    has ended."""

    path: str
    has_ended: Callable[[], bool]

    def is_ready(self) -> bool:
        """Return True if the process accepts commands."""
        return _is_served(self.path)


def start_and_wait(folder: Path, environment: Mapping[str, str]) -> bool:
    """Start the background process for a folder. Return True when it accepts commands, False if no
    process was started, or if it accepts none soon."""
    started = start(folder, environment)
    end = time.monotonic() + START_SECONDS
    while started and time.monotonic() < end:
        if started.is_ready():
            return True
        if started.has_ended():
            return False
        time.sleep(POLL_SECONDS)
    return False


def start(folder: Path, environment: Mapping[str, str]) -> StartedProcess | None:
    """Start the background process for a folder, unless there is one or may be none."""
    config, _ = config_files.load(environment, repository_root(folder))
    sockets_folder = sockets.sockets_folder(environment)
    if sockets_folder is None or not client.is_on(environment):
        return None
    if not (config.index.enabled and config.index.background):
        return None
    with contextlib.suppress(OSError, SearchError):
        root = root_of(folder, config, environment)
        path = sockets.socket_path(sockets_folder, real_path(root))
        if is_indexable(root, environment) and not _is_served(path):
            sockets.make_private_folder(sockets_folder)
            program = [sys.executable, "-m", "winnow.frontends.background", real_path(root)]
            # Not in the workspace, which could have modules of its own, and could not be removed.
            has_ended = start_detached(program, sockets_folder, environment)
            return StartedProcess(path, has_ended)
    return None


def _is_served(path: str) -> bool:
    """Return True if a process listens at a path. It has declined the command that asks."""
    try:
        sockets.connect(path, ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


def running(
    environment: Mapping[str, str], folder: Path | None
) -> tuple[list[ProcessDescription], list[int]]:
    """Return the background process for a folder, or with None all of the user's, and the ids of
    those that don't answer, 0 for an unknown one."""
    found, silent = _found(environment, folder)
    return [*found.values()], silent


def stop(environment: Mapping[str, str], folder: Path | None) -> list[ProcessDescription]:
    """End the background process for a folder, or with None all of the user's. Return them. Raise
    TimeoutError if there is one that does not end, after all others have ended."""
    found, silent = _found(environment, folder)
    for path, process in found.items():
        try:
            _stop(path)
        except TimeoutError:
            silent.append(process.pid)
        except (ConnectionError, FileNotFoundError):
            pass  # it has ended meanwhile
    if silent:
        raise TimeoutError(errno.ETIMEDOUT, "; ".join(map(silence_in_words, silent)))
    return [*found.values()]


def silence_in_words(pid: int) -> str:
    """Return that a process does not answer; ``pid`` is 0 if it is unknown."""
    return f"process {pid} does not answer: kill it" if pid else "a process does not answer"


def _stop(path: str) -> None:
    """End a process and wait for that."""
    with sockets.connect(path, STOP_SECONDS) as connection:
        connection.sendall(messages.framed(messages.STOP))
        while connection.recv(1):  # closed when it has ended
            pass


def described(process: ProcessDescription, *, stopped: bool) -> str:
    """Return a line about a process for people."""
    verb = "stopped" if stopped else "running"
    count = f"{process.commands} command{'s' * (process.commands != 1)}"
    return (
        f"{printable(process.root)}: {verb}, process {process.pid} since {process.started_at},"
        f" {process.memory_mb:.0f} MB, {count}"
    )


def description(root: Path, started: float, commands: int) -> list[str]:
    """Return how the process of a workspace describes itself, see :class:`ProcessDescription`."""
    when = datetime.fromtimestamp(int(started), timezone.utc).isoformat()
    memory = round(anonymous_bytes(os.getpid()) / MB, 1)
    return [str(root), str(os.getpid()), when.replace("+00:00", "Z"), str(memory), str(commands)]


def _found(
    environment: Mapping[str, str], folder: Path | None
) -> tuple[dict[str, ProcessDescription], list[int]]:
    """Return the processes by the paths of their sockets, and the ids of those that don't answer, 0
    for an unknown one."""
    found: dict[str, ProcessDescription] = {}
    silent: list[int] = []
    sockets_folder = sockets.sockets_folder(environment)
    if sockets_folder is None or not sockets.is_private_folder(sockets_folder):
        return found, silent
    for path in _paths(environment, sockets_folder, folder):
        with contextlib.suppress(OSError, ValueError, EOFError):
            with sockets.connect(path, ANSWER_SECONDS) as connection:
                connection.sendall(messages.framed(messages.STATUS))
                try:
                    kind, parts = client.receive(connection)
                except TimeoutError:
                    peer = sockets.peer_of(connection)
                    silent.append(peer[0] if peer else 0)
                    continue
            if kind == messages.DESCRIPTION:
                root, pid, started, memory, commands = parts
                found[path] = ProcessDescription(
                    *(root, int(pid), started, float(memory), int(commands))
                )
    return found, silent


def _paths(
    environment: Mapping[str, str], sockets_folder: str, folder: Path | None
) -> Iterator[str]:
    if folder is None:
        for name in sorted(os.listdir(sockets_folder)):
            if len(name) == sockets.NAME_CHARACTERS:
                yield os.path.join(sockets_folder, name)
        return
    config, _ = config_files.load(environment, repository_root(folder))
    with contextlib.suppress(SearchError):
        root = root_of(folder, config, environment)
        yield sockets.socket_path(sockets_folder, real_path(root))
