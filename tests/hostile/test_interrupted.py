"""Several commands and servers use one index and are interrupted at random moments (#21).

Healthy indexes used to be discarded: a process that opened an index while another process closed
it, or after a process was killed at that point, considered it damaged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import child_environment, git_commit, requires_posix
from hazard_table import Row

pytestmark = [pytest.mark.hazard, requires_posix]

FILES = 200
SECONDS = 60.0
# A program that takes some seconds to close its store, so that other processes see this state.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)  # while this is loaded
from winnow.index.store.store import Store
from winnow.frontends.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
close = Store.close
def slow(store):
    time.sleep(float(sys.argv[1]))
    close(store)
    time.sleep(float(sys.argv[1]))
Store.close = slow
sys.exit(main(sys.argv[2:]))
"""


class Command:
    """A user's command in a folder, with a known answer."""

    def __init__(self, folder: Path, environment: Mapping[str, str], drawn: random.Random) -> None:
        self.number = drawn.randrange(FILES)
        self.kind = drawn.choice(["find-symbol", "code-search", "grep", "index-status", "serve"])
        name = f"function_{self.number}"
        arguments = {
            "find-symbol": ["find-symbol", name, "--exact", "--json"],
            "code-search": ["code-search", name, "--json"],
            "grep": ["grep", f"{name}\\b", "--format", "json"],
            "index-status": ["index-status", "--json"],
            "serve": ["serve"],
        }[self.kind]
        slow = drawn.choice(["0", "0", "0.3", "2"])
        self.process = subprocess.Popen(
            [sys.executable, "-c", SLOW, slow, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if self.kind == "serve":
            assert self.process.stdin is not None
            for message in opening(folder):
                raw = json.dumps(message).encode()
                self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(raw) + raw)
            self.process.stdin.flush()

    def end(self, number: int) -> bool:
        """Send a signal, unless the command has ended. Return True if it was too late."""
        if self.process.poll() is not None:
            return True
        self.process.send_signal(number)
        return False

    def check(self) -> bool:
        """Check the answer, unless the command was interrupted. Return True if it answered."""
        out, err = self.process.communicate(timeout=SECONDS)
        # Python prints a traceback for Ctrl-C during its startup.
        assert b"Traceback" not in err or b"KeyboardInterrupt" in err, err.decode()
        assert b"Internal error" not in out + err
        if self.process.returncode != 0 or self.kind == "serve":
            return False
        answer = json.loads(out)
        path = f"src/m{self.number}.py"
        if self.kind == "find-symbol":
            assert [symbol["path"] for symbol in answer["symbols"]] == [path]
        elif self.kind == "code-search":
            assert answer["results"][0]["path"] == path
        elif self.kind == "grep":
            assert [match["path"] for match in answer["matches"]] == [path]
        return True


def opening(folder: Path) -> Sequence[Mapping[str, Any]]:
    capabilities: dict[str, Any] = {}
    start = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "$/findSymbol", "params": {"name": "function_1"}},
    ]


def status(folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "winnow", "index-status", "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    [found] = json.loads(done.stdout)["index"]["folders"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.long)])
def test_interrupted_commands_and_servers(tmp_path: Path, row: Row, seed: int, rounds: int) -> None:
    """Two or three processes at once, some of them slow to close; Ctrl-C and kill -9 at random
    moments."""
    row.hazard, row.tries = "interruptions while several processes use one index", rounds
    drawn = random.Random(seed)
    files = {f"src/m{number}.py": f"def function_{number}(): ...\n" for number in range(FILES)}
    folder = git_commit(tmp_path / "project", files)
    environment = child_environment(tmp_path / "home")
    build = [sys.executable, "-m", "winnow", "index", "build"]
    subprocess.run(build, cwd=folder, env=environment, check=True, capture_output=True)
    before = status(folder, environment)
    assert (before["state"], before["files_indexed"]) == ("ready", FILES)
    answered = interrupted = 0
    for turn in range(rounds):
        running = [Command(folder, environment, drawn) for _ in range(drawn.choice([2, 3]))]
        for started in drawn.sample(running, len(running)):
            time.sleep(drawn.uniform(0, 1.2))
            if started.kind == "serve" or drawn.random() < 0.5:
                late = started.end(drawn.choice([signal.SIGINT, signal.SIGKILL, signal.SIGTERM]))
                interrupted += not late
        if turn % 4 == 0:  # the next process has to index this change
            (folder / f"src/new_{turn}.py").write_text(f"def new_{turn}(): ...\n", "utf-8")
            files[f"src/new_{turn}.py"] = ""
        for started in running:
            if started.kind == "serve":
                started.end(signal.SIGKILL)
            answered += started.check()
    after = status(folder, environment)
    assert (after["state"], after["files_indexed"]) == ("ready", len(files))
    assert after["store"] == before["store"]
    assert after.get("damage") is None
    assert after.get("replaced") is None
    assert os.listdir(folder / ".winnow").count(Path(before["store"]).name) == 1
    row.result = f"0 discarded, {answered} correct answers, {interrupted} interrupted"
