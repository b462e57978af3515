"""Front ends that are started in a hostile clone, as by a user who works there."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import anyio.from_thread
import psutil

from frontends.lsp.wire import Wire
from hostile.clone import Places
from mcp_client import connected
from winnow.tools import TOOLS
from winnow.tools.registry import Tool

# The program `winnow`: `python -m winnow` would import the package from the workspace. At its end
# it writes its peak memory, because the parent's figures would include the parent's own memory.
PROGRAM = """
import sys
from winnow.frontends.cli.main import main
try:
    sys.exit(main())
finally:
    if "{peak}":
        with open("/proc/self/status") as status, open("{peak}", "w") as peak:
            peak.write(status.read())
"""
API = """
import asyncio, json, os, sys
import msgspec
from winnow import Workspace
from winnow.errors import SearchError

async def main():
    async with Workspace(sys.argv[1]) as workspace:
        print(json.dumps({"problems": workspace.problems}), flush=True)
        for line in sys.stdin:
            tool, params = json.loads(line)
            try:
                answer = msgspec.json.encode(await workspace.call(tool, params)).decode()
            except SearchError as error:
                data = {"error": {"message": error.message, "data": error.data}}
                answer = msgspec.json.encode(data).decode()
            print(answer, flush=True)

asyncio.run(main())
"""
HANG_SECONDS = 60.0


class Answer(NamedTuple):
    """The answer of a front end; ``error`` has a `kind` and a message."""

    result: dict[str, Any] | None
    error: dict[str, Any] | None
    seconds: float


class Front(Protocol):
    """A front end in a clone."""

    places: Places

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer: ...

    def peak_mb(self) -> float:
        """Return its peak memory, in MB."""
        ...

    def log(self) -> str:
        """Return its standard error."""
        ...


class LanguageServer:
    """The language server; it may have an index before the first request."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.wire = Wire(
            command=[sys.executable, str(program(places)), "serve"],
            cwd=places.root,
            variables=places.environment,
        )
        self._number = 0
        self.wire.initialize(places.root, index=True)

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer:
        return self.request(TOOLS[tool].method, dict(params))

    def request(self, method: str, params: dict[str, Any]) -> Answer:
        self._number += 1
        began = time.monotonic()
        self.wire.request(self._number, method, params)
        while (answer := self.wire.receive(HANG_SECONDS + 1)).get("id") != self._number:
            pass
        seconds = time.monotonic() - began
        if error := answer.get("error"):
            data = error.get("data") or {}
            return Answer(
                None, {**data, "code": error["code"], "message": error["message"]}, seconds
            )
        return Answer(answer["result"], None, seconds)

    def uri(self, path: str) -> str:
        return f"{self.places.root.as_uri()}/{path}"

    def peak_mb(self) -> float:
        return peak_in(Path(f"/proc/{self.wire.process.pid}/status").read_text())

    def log(self) -> str:
        return self.wire.stderr

    def close(self) -> None:
        self.wire.stop()


class CommandLine:
    """The command line, with a new process for each request."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._peak = 0.0
        self._log = ""

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer:
        began = time.monotonic()
        command, *arguments = arguments_of(TOOLS[tool], params)
        run = self.run(command, "--format", "json", *arguments)
        seconds = time.monotonic() - began
        assert run.returncode in (0, 1, 2), run
        assert run.stdout, run
        answer = json.loads(run.stdout)
        if "error" in answer:
            assert run.returncode == 2, run
            return Answer(None, answer["error"], seconds)
        return Answer(answer, None, seconds)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        peak = self.places.base / "peak"
        run = subprocess.run(
            [sys.executable, str(program(self.places, peak)), *arguments],
            cwd=self.places.root,
            env=self.places.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=HANG_SECONDS + 1,
            stdin=subprocess.DEVNULL,
        )
        self._peak = max(self._peak, peak_in(peak.read_text()))
        self._log += run.stderr
        return run

    def peak_mb(self) -> float:
        return self._peak

    def log(self) -> str:
        return self._log

    def close(self) -> None:
        pass


class PythonProgram:
    """A program that uses the API, with the clone as its current folder."""

    def __init__(self, places: Places) -> None:
        self.places = places
        file = places.base / "api.py"
        file.write_text(API)
        self._errors = (places.base / "api.log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, str(file), str(places.root)],
            cwd=places.root,
            env=places.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        self.problems = self._receive()["problems"]

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _receive(self) -> Any:
        line = self._pipes[1].readline()
        assert line, self.log()
        return json.loads(line)

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer:
        began = time.monotonic()
        self._pipes[0].write(json.dumps([tool, params]) + "\n")
        self._pipes[0].flush()
        answer = self._receive()
        seconds = time.monotonic() - began
        if error := answer.get("error"):
            return Answer(None, {**error["data"], "message": error["message"]}, seconds)
        return Answer(answer, None, seconds)

    def peak_mb(self) -> float:
        return peak_in(Path(f"/proc/{self._process.pid}/status").read_text())

    def log(self) -> str:
        return Path(self._errors.name).read_text()

    def close(self) -> None:
        self._pipes[0].close()
        try:
            assert self._process.wait(30) == 0, self.log()
        finally:
            self._process.kill()
            self._process.wait()
            self._pipes[1].close()
            self._errors.close()


class Agent:
    """An agent's connection to `winnow mcp`, with the official client library."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._stack = contextlib.ExitStack()
        before = set(psutil.Process().children())
        portal = self._stack.enter_context(anyio.from_thread.start_blocking_portal())
        self._call = portal.call
        opened = connected(
            places.root,
            home=places.home,
            settings="",
            command=[sys.executable, str(program(places)), "mcp", "--tools", "all", "--structured"],
            variables=places.environment,
            seconds=HANG_SECONDS + 1,
        )
        self._client = self._stack.enter_context(portal.wrap_async_context_manager(opened))
        [self._process] = [
            child for child in set(psutil.Process().children()) - before if "mcp" in child.cmdline()
        ]

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer:
        began = time.monotonic()
        answer = self._call(self._client.call_tool, tool, dict(params))
        seconds = time.monotonic() - began
        if answer.is_error:
            [content] = answer.content
            data = answer.structured_content or {}
            return Answer(None, {"message": content.text, **data}, seconds)
        result = answer.structured_content
        assert isinstance(result, dict)
        return Answer(result, None, seconds)

    def peak_mb(self) -> float:
        return peak_in(Path(f"/proc/{self._process.pid}/status").read_text())

    def log(self) -> str:
        return ""

    def close(self) -> None:
        self._stack.close()


FRONTS: dict[str, type[LanguageServer | CommandLine | PythonProgram | Agent]] = {
    "lsp": LanguageServer,
    "cli": CommandLine,
    "api": PythonProgram,
    "mcp": Agent,
}


@contextlib.contextmanager
def opened(name: str, places: Places) -> Iterator[Front]:
    """Start a front end in a clone, and stop it at the end."""
    front = FRONTS[name](places)
    try:
        yield front
    finally:
        front.close()


def program(places: Places, peak: Path | str = "") -> Path:
    """Write the program `winnow` outside the clone, and return its path."""
    file = places.base / "winnow_program.py"
    if not file.exists():
        file.write_text(PROGRAM.format(peak=peak))
    return file


def peak_in(status: str) -> float:
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def arguments_of(tool: Tool[Any, Any], params: Mapping[str, Any]) -> list[str]:
    """Return the command-line arguments for params."""
    options: list[str] = []
    positional: list[str] = []
    for field in tool.fields:
        value = params.get(field.name)
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        if field.required:
            positional += map(str, values)
        elif isinstance(value, bool):
            options.append(f"--{'' if value else 'no-'}{field.name}".replace("_", "-"))
        else:
            options += [f"--{field.name.replace('_', '-')}={_text(item)}" for item in values]
    return [tool.command, *options, *(["--", *positional] if positional else [])]


def _text(value: object) -> str:
    return f"{value['start']}-{value['end']}" if isinstance(value, dict) else str(value)
