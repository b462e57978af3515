"""A fork server: a process that has imported a language server's modules and forks servers.

To load it takes more than half a second of a processor, and each test has a server of its own. One
that is forked is as any other but for that: it has its own streams, folder and variables, and runs
`winnow` with its arguments to the end of the process. It is a child of the process that asked, by
way of one between them that ends at once, whose children are left to it.

This file is the program that forks as well as the class that asks.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

COMMAND = [sys.executable, "-m", "winnow", "serve"]
LOADED = (
    *(
        "winnow.frontends.cli.main",
        "winnow.frontends.lsp.server",
        "winnow.frontends.lsp.transport",
        "winnow.search.index.background",
    ),
    *(
        "winnow.index.workspace_index",
        "winnow.ranking.history.history",
        "winnow.search.symbols.navigation",
        "winnow.index.watch.watcher",
    ),
    *(
        "winnow.documents.library.library",
        "winnow.ranking.semantic.search",
        "winnow.privacy.secrets.secret_files",
    ),
    *(
        "winnow.symbols.search.find",
        "winnow.search.grep.prefilter",
        "winnow.index.watch.linux",
        "winnow.search.code.search",
    ),
    *(
        "winnow.search.keyword.search",
        "winnow.search.symbols.search",
        "winnow.search.answer.completeness",
    ),
)
# Time limits that a busy machine would reach. Without them, answers are complete.
PATIENT = {
    "winnow.search.answer.completeness": (
        "LINKS_SECONDS",
        "EXCLUDED_SECONDS",
        "SMALL_TREE_SECONDS",
    ),
    "winnow.search.keyword.search": ("EXCLUDED_SECONDS",),
    "winnow.index.builder.unsaved": ("UNSAVED_SECONDS",),
    "winnow.search.symbols.search": (
        *("SEARCH_SECONDS", "COLD_SECONDS", "ENOUGH_SECONDS", "SMALL_SECONDS", "TYPING_SECONDS"),
    ),
}
PATIENT_SECONDS = 60.0
# Environment variables that Python reads at its start.
READ_AT_START = ("PYTHON", "LD_", "OPENBLAS", "MALLOC", "COVERAGE")
ORDER_BYTES = 200_000


class Forked:
    """A forked process, with the parts of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, streams: Sequence[int]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = os.fdopen(streams[0], "wb")
        self.stdout: IO[bytes] | None = os.fdopen(streams[1], "rb")
        self.stderr: IO[bytes] | None = os.fdopen(streams[2], "rb")

    def poll(self) -> int | None:
        if self.returncode is None:
            self._ended(os.WNOHANG)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                ready, _, _ = select.select([descriptor], [], [], timeout)
            finally:
                os.close(descriptor)
            if not ready:
                raise subprocess.TimeoutExpired("winnow", timeout or 0)
            self._ended(0)
        assert self.returncode is not None
        return self.returncode

    def _ended(self, options: int) -> None:
        pid, status = os.waitpid(self.pid, options)
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The client side of the fork server."""

    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a thread would not be forked
                stdin=subprocess.DEVNULL,
            )

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None,
        patient: bool,
    ) -> Forked:
        ours: list[int] = []
        theirs: list[int] = []
        for is_read in (True, False, False):
            ends = os.pipe()
            theirs.append(ends[0 if is_read else 1])
            ours.append(ends[1 if is_read else 0])
        order = [
            list(arguments),
            dict(environment),
            os.fspath(cwd) if cwd else os.getcwd(),
            patient,
        ]
        try:
            socket.send_fds(self._connection, [json.dumps(order).encode()], theirs)
            pid = int(self._connection.recv(100))
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return Forked(pid, ours)

    def close(self) -> None:
        self._connection.close()
        assert self._process.wait() == 0


class _Running:
    """The fork server of this process, if it has one."""

    server: ForkServer | None = None


@contextlib.contextmanager
def opened() -> Iterator[None]:
    """During the ``with`` block, fork the servers of this process where possible."""
    if sys.platform != "linux" or _Running.server is not None:
        yield
        return
    _Running.server = ForkServer()
    try:
        yield
    finally:
        _Running.server.close()
        _Running.server = None


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None = None,
    *,
    patient: bool = False,
) -> Forked | subprocess.Popen[bytes]:
    """Start a server; by a fork, unless it is another program or its Python has to be another. Only
    one that is forked can be patient."""
    server = _Running.server
    if server is not None and command[: len(COMMAND)] == COMMAND and _is_alike(environment):
        arguments = command[COMMAND.index("serve") :]
        return server.start(arguments, environment, cwd, patient)
    return start_anew(command, environment, cwd)


def start_anew(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a server as a client does."""
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _is_alike(environment: Mapping[str, str]) -> bool:
    names = {name for name in (*environment, *os.environ) if name.startswith(READ_AT_START)}
    return all(environment.get(name) == os.environ.get(name) for name in names)


# --- the process that forks ------------------------------------------------------------------


def fork_for(connection: socket.socket) -> None:
    """Fork a server for each order until the input ends."""
    while True:
        raw, streams, _, _ = socket.recv_fds(connection, ORDER_BYTES, 3)
        if not raw:
            return
        answer, told = os.pipe()
        between = os.fork()
        if not between:
            os.close(answer)
            if child := os.fork():
                os.write(told, b"%d" % child)
                os._exit(0)
            os.close(told)
            connection.close()
            become(json.loads(raw), streams)
        os.close(told)
        pid = os.read(answer, 100)
        os.close(answer)
        os.waitpid(between, 0)  # from now on it is the child of the process that requested it
        for stream in streams:
            os.close(stream)
        connection.send(pid)


def become(order: tuple[list[str], dict[str, str], str, bool], streams: list[int]) -> None:
    """Run the ordered server in this process."""
    from winnow.frontends.cli.main import main

    arguments, environment, folder, is_patient = order
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    # Those that there are were made for other files.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    for module, names in PATIENT.items() if is_patient else ():
        for name in names:
            assert hasattr(sys.modules[module], name)
            setattr(sys.modules[module], name, PATIENT_SECONDS)
    sys.exit(main(arguments))


if __name__ == "__main__":
    import gc
    import importlib

    del sys.path[0]  # the folder of this file
    gc.disable()
    for module in LOADED:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    os.environ.pop("OPENBLAS_NUM_THREADS")
    assert len(os.listdir("/proc/self/task")) == 1, "threads are not forked"
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        fork_for(orders)
