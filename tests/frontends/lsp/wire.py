"""A server's standard streams, byte by byte: for messages that no client would send."""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from frontends.lsp import fork_server
from frontends.lsp.conftest import COMMAND, environment
from waiting_for import SECONDS

if sys.platform == "linux":
    import resource


class Wire:
    """A running server; ``send`` takes anything, ``receive`` gives the next message of it.

    With ``reads=False``, its output and its log stay unread until ``begin_reading``. One that is
    not ``forked`` is started as a client starts it.
    """

    running: ClassVar[set[Wire]] = set()  # servers that are still running
    open_files: ClassVar[int | None] = None  # the limit of descriptors (Linux)

    def __init__(
        self,
        *arguments: str,
        variables: dict[str, str] | None = None,
        command: Sequence[str] = COMMAND,
        cwd: Path | None = None,
        reads: bool = True,
        forked: bool = True,
        patient: bool = False,
    ) -> None:
        command, given = [*command, *arguments], environment(**(variables or {}))
        self.process = (
            fork_server.start(command, given, cwd, patient=patient)
            if forked
            else fork_server.start_anew(command, given, cwd)
        )
        self.running.add(self)
        if self.open_files and sys.platform == "linux":
            limits = (self.open_files, self.open_files)
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, limits)
        self._messages: queue.Queue[Any] = queue.Queue()
        self.stderr = ""
        self.notifications: list[Any] = []
        self._threads: list[threading.Thread] = []
        if reads:
            self.begin_reading()

    def begin_reading(self) -> None:
        """Read what the server writes, in threads."""
        for target in (self._read, self._read_stderr):
            thread = threading.Thread(target=target, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            # Anything on stdout that is not a framed message breaks the protocol.
            assert header.startswith(b"Content-"), header
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            self._messages.put(json.loads(self.process.stdout.read(length)))

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line.decode("utf-8", "replace")

    def send_bytes(self, *bodies: bytes) -> None:
        """Send messages with one write, so that nothing keeps them apart."""
        assert self.process.stdin is not None
        framed = [b"Content-Length: %d\r\n\r\n" % len(body) + body for body in bodies]
        self.process.stdin.write(b"".join(framed))
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    def request(self, msg_id: Any, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})

    def receive(self, seconds: float = SECONDS) -> Any:
        """Return the next answer; store earlier notifications in ``notifications``."""
        while True:
            message = self._messages.get(timeout=seconds)
            if "method" not in message:
                return message
            self.notifications.append(message)

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, folder: Path, *, index: bool = False, **capabilities: Any) -> Any:
        params = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "capabilities": capabilities,
            # Its messages and processes would be between those of the test.
            "initializationOptions": {"index": {"enabled": index}},
        }
        self.request(0, "initialize", params)
        answer = self.receive()
        self.notify("initialized", {})
        return answer

    def stop(self) -> int:
        """End the server as a client does; its exit code."""
        self.request("stop", "shutdown", None)
        while self.receive().get("id") != "stop":
            pass
        self.send({"jsonrpc": "2.0", "method": "exit"})
        return self.join()

    def kill(self) -> None:
        """End what a test that failed has left, so that only that test fails."""
        self.process.kill()
        self.join()

    def join(self, seconds: float = SECONDS) -> int:
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(seconds)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):  # what the server has not read
                stream.close()
        self.running.discard(self)
        return code
