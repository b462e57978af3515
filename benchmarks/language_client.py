"""A client for any language server that records the times of messages."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

Plain = dict[str, Any]

CAPABILITIES: Plain = {
    "workspace": {"configuration": True, "workspaceFolders": True, "symbol": {}},
    "window": {"workDoneProgress": True},
    "textDocument": {
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "synchronization": {"didSave": True},
    },
}


class RequestFailed(Exception):
    """The server answered a request with an error."""


class Client:
    """A running language server with one folder open."""

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._answers: dict[int, queue.Queue[Plain]] = {}
        # By progress token: the time of the first value, and the end of the progress.
        self.first: dict[Any, float] = {}
        self.ended: dict[Any, float] = {}
        # By progress token: the number of partial results, and the rows in them.
        self.streamed: dict[Any, int] = {}
        self.rows: dict[Any, list[Plain]] = {}
        self._progress = threading.Condition()
        self._is_over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri_of(folder),
                "workspaceFolders": [{"uri": uri_of(folder), "name": folder.name}],
                "capabilities": CAPABILITIES,
            },
        )
        self.started = time.perf_counter()
        self.notify("initialized", {})

    def request(self, method: str, params: Plain, seconds: float = 600) -> Any:
        """Return the result. Raise RequestFailed for an error, and queue.Empty after a timeout."""
        number = next(self._numbers)
        answers = self._answers[number] = queue.Queue()
        self._send({"id": number, "method": method, "params": params})
        answer = answers.get(timeout=seconds)
        del self._answers[number]
        if "error" in answer:
            raise RequestFailed(f"{method}: {answer['error']}")
        return answer["result"]

    def timed(self, method: str, params: Plain) -> tuple[Any, float]:
        """Return the result, and the time in milliseconds."""
        started = time.perf_counter()
        result = self.request(method, params)
        return result, (time.perf_counter() - started) * 1000

    def notify(self, method: str, params: Plain) -> None:
        self._send({"method": method, "params": params})

    def wait_for_progress(self, seconds: float = 600) -> float:
        """Wait for the end of the first progress; return the seconds since `initialized`."""
        with self._progress:
            if not self._progress.wait_for(lambda: self.ended or self._is_over, seconds):
                raise TimeoutError(f"The server reported no end of progress in {seconds:g} s")
            if not self.ended:
                raise RequestFailed("the server ended before its progress")
            return min(self.ended.values()) - self.started

    def stop(self) -> None:
        try:
            self.request("shutdown", {}, 20)
            self.notify("exit", {})
            self.process.wait(20)
        except (RequestFailed, OSError, queue.Empty, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self._reader.join(20)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):  # unread data
                stream.close()

    def _send(self, message: Plain) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self._sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                self._report_end()
                return
            self._handle(json.loads(self.process.stdout.read(length)))

    def _report_end(self) -> None:
        """Wake those who wait for the server, which has ended."""
        for answers in list(self._answers.values()):
            answers.put({"error": f"the server ended: {self.process.args!r}"})
        with self._progress:
            self._is_over = True
            self._progress.notify_all()

    def _handle(self, message: Plain) -> None:
        method = message.get("method")
        if method == "$/progress":
            token, value = message["params"]["token"], message["params"]["value"]
            with self._progress:
                self.first.setdefault(token, time.perf_counter())
                if isinstance(value, list):
                    self.streamed[token] = self.streamed.get(token, 0) + len(value)
                for rows in value.values() if isinstance(value, dict) else ():
                    if isinstance(rows, list):
                        self.rows.setdefault(token, []).extend(rows)
                if isinstance(value, dict) and value.get("kind") == "end":
                    self.ended[token] = time.perf_counter()
                    self._progress.notify_all()
        elif method == "workspace/configuration":
            answers: list[None] = [None for _ in message["params"]["items"]]
            self._send({"id": message["id"], "result": answers})
        elif method and "id" in message:
            self._send({"id": message["id"], "result": None})
        elif message.get("id") in self._answers:
            self._answers[message["id"]].put(message)


def uri_of(path: Path) -> str:
    return "file://" + quote(path.as_posix())


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def anonymous_memory(pid: int) -> float:
    """Return the anonymous memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024 / 1e6


def cpu_of_children(pid: int) -> float:
    """Return the CPU seconds of a process's children, including those that have ended."""
    ended = sum(map(int, _stat(pid)[13:15])) / os.sysconf("SC_CLK_TCK")
    return ended + sum(map(cpu_seconds, children(pid)))


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process itself."""
    return sum(map(int, _stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> set[int]:
    """Return the live child processes of a process."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found.update(map(int, (task / "children").read_text().split()))
    return found


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third, the first one after the name."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
