"""Offer a command to the background process of its workspace.

This is all that such a command loads, so it imports neither `typing`, `pathlib` nor `argparse`,
and nothing of Winnow that does.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence

from winnow.frontends.background import messages
from winnow.frontends.cli import pager
from winnow.frontends.cli.guarded import INTERRUPTED
from winnow.storage import sockets

# Commands that aren't tools, or are about the process itself.
NOT_OFFERED = frozenset(("cluster", "serve", "mcp", "init-agent", "doctor", "completions"))
ABOUT_PROCESSES = ("status", "stop")
# The actions of the tool `index`, whose import is slow.
FORWARDED = ("build", "pause", "resume", "clear")
ONLY_HERE = (*ABOUT_PROCESSES, "export", "pull")
SWITCH = "WINNOW_BACKGROUND"
OFF = frozenset(("0", "false", "no", "off"))
# How long a process may take to accept a command; a busy one is slower than no process.
ACCEPT_SECONDS = 0.5
# Instead of an exit code: a process was there, but this process must do the work.
DECLINED = -1
# How long a canceled command waits for the process to end its line of progress.
CANCEL_SECONDS = 1.0
READ_BYTES = 1 << 20


def run(arguments: Sequence[str], accept_seconds: float = ACCEPT_SECONDS) -> int | None:
    """Have the background process run a command, and print its output. Return the exit code; if
    this process must do the work itself, `DECLINED`, or None if there is no process.

    The process may take ``accept_seconds`` to accept the command.
    """
    here, paths = candidates(arguments)
    found = None
    for path in paths:
        try:
            connection = sockets.connect(path, accept_seconds)
        except OSError:
            continue
        with connection:
            code = _Call(connection).run(here, arguments)
        if code is not None:
            return code
        found = DECLINED
    return found


def candidates(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the current folder, and the paths of the sockets at which a background process may run
    a command for it: none if this process must do the work itself."""
    none = "", ()
    if not is_offered(arguments) or not is_on(os.environ):
        return none
    if sys.stdout is None or sys.stderr is None:
        return none
    folder = sockets.sockets_folder(os.environ)
    if folder is None or not sockets.is_private_folder(folder):
        return none
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        return none
    return here, [sockets.socket_path(folder, one) for one in _with_parents(here)]


def run_parts(
    here: str,
    names: Sequence[str],
    arguments: Sequence[str],
    *,
    is_terminal: bool,
    shows_progress: bool,
) -> list[str]:
    """Return the parts of the message that runs a command in the folder ``here``. ``names`` are the
    parts of the process's answer. Raise OSError."""
    salt, *variables = names
    status = os.stat(here)
    call = [
        messages.fingerprint(os.environ, variables, salt),
        here,
        f"{status.st_dev} {status.st_ino}",
        "out" * is_terminal,
        "err" * shows_progress,
    ]
    # Always as many as the names: "" for a variable that isn't set.
    for name in messages.OF_TERMINAL:
        call.append(f"{name}={os.environ[name]}" if name in os.environ else "")
    return [*call, *arguments]


def is_offered(arguments: Sequence[str]) -> bool:
    """Return True for a tool's command. The process declines what it can't parse."""
    if not arguments or arguments[0].startswith("-") or arguments[0] in NOT_OFFERED:
        return False
    # Without an action, the state is shown.
    return arguments[0] != "index" or bool(set(FORWARDED).intersection(arguments))


def is_on(environment: Mapping[str, str]) -> bool:
    """Return True unless the environment turns background processes off, as continuous integration
    does by default: whatever it starts should end with it."""
    if SWITCH in environment:
        return environment[SWITCH].lower() not in OFF
    return environment.get("CI", "").lower() in ("", *OFF)


def _with_parents(folder: str) -> Iterator[str]:
    """Yield a folder and its parents: only the process knows where its workspace begins."""
    above = ""
    while folder != above:
        yield folder
        above, folder = folder, os.path.dirname(folder)


class _Call:
    """A command in the background process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._can_skip = False

    def run(self, here: str, arguments: Sequence[str]) -> int | None:
        """Run the command and print its output. Return the exit code, or None if the process has
        declined it or has ended."""
        try:
            if not self._introduce(here, arguments):
                return None
            self._connection.settimeout(None)
            before = signal.getsignal(signal.SIGINT)
            if before is not signal.SIG_IGN:  # as it is for a shell's background job
                signal.signal(signal.SIGINT, self._interrupted)
            try:
                done = self._wait()
            finally:
                signal.signal(signal.SIGINT, before)
        except KeyboardInterrupt:
            self._cancel()
            return INTERRUPTED
        except (OSError, ValueError, EOFError):
            return None
        if done is None:
            return None
        code, output, errors = done
        sys.stderr.write(errors)
        pager.write(output)
        return int(code)

    def _introduce(self, here: str, arguments: Sequence[str]) -> bool:
        """Send the command. Return False if the process declines it."""
        self._send(messages.CALL, messages.identity())
        kind, parts = receive(self._connection)
        if kind != messages.NAMES:
            return False
        call = run_parts(
            here,
            parts,
            arguments,
            is_terminal=sys.stdout.isatty(),
            shows_progress=sys.stderr.isatty(),
        )
        self._send(messages.RUN, call)
        return True

    def _wait(self) -> list[str] | None:
        """Show the progress until the command is done. Return its exit code, output and errors."""
        while True:
            kind, parts = receive(self._connection)
            if kind == messages.DONE:
                return parts
            if kind == messages.WAITING:
                self._can_skip = bool(parts)
            elif kind == messages.PROGRESS:
                self._show(parts)
            else:
                return None

    def _show(self, parts: Sequence[str]) -> None:
        sys.stderr.write("".join(parts))
        sys.stderr.flush()

    def _interrupted(self, number: int, frame: object) -> None:
        """End the command's wait, if it can do without, or the command."""
        if not self._can_skip:
            raise KeyboardInterrupt
        self._can_skip = False
        self._send(messages.SKIP, ())

    def _cancel(self) -> None:
        """Cancel the command, and let the process end its line of progress."""
        try:
            self._connection.settimeout(CANCEL_SECONDS)
            self._connection.shutdown(socket.SHUT_WR)
            self._wait()
        except (OSError, ValueError, EOFError, KeyboardInterrupt):
            pass

    def _send(self, kind: bytes, parts: Sequence[str]) -> None:
        self._connection.sendall(messages.framed(kind, parts))


def receive(connection: socket.socket) -> tuple[bytes, list[str]]:
    """Return the kind and the texts of the next message. Raise EOFError if the process has ended,
    OSError, and ValueError for anything but a message."""
    length = int.from_bytes(_read(connection, messages.LENGTH_BYTES), "little")
    payload = _read(connection, length)
    return payload[:1], messages.unpack(payload[1:])


def _read(connection: socket.socket, count: int) -> bytes:
    read = bytearray()
    while len(read) < count:
        piece = connection.recv(min(count - len(read), READ_BYTES))
        if not piece:
            raise EOFError
        read += piece
    return bytes(read)
