"""`kill -9` while a command writes the texts, the definitions or the occurrences of an index: the
next commands go on, and answer as with a new index."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from conftest import MakeWorkspace, aged, child_environment, requires_linux
from frontends.lsp.fork_server import LOADED
from hazard_table import Row
from index.tiers import (
    NAMES,
    SMALL_BATCHES,
    Opener,
    Saved,
    Tier,
    answers_of_a_new_index,
    build_texts,
    copy_tree,
    share_of,
    small_batches,
)
from winnow.storage.state_folder import OWN_FOLDER

pytestmark = [pytest.mark.hazard, requires_linux]

KILLS = 50
# A process that is killed after its tier, or before it, does not count.
MOST_ATTEMPTS = 6 * KILLS
# Kills until the index is completed and compared.
IN_A_ROW = (1, 2, 3, 4)
# The first moment is drawn from this time; then it follows the speed of the machine.
WINDOW_SECONDS = 0.1
POLL_SECONDS = 0.002
# A program that forks commands, one at a time: to start Python takes longer than to build the
# index. Prints the id of each process, and how it has ended.
FORKS = """
import importlib, json, os, sys
from winnow.frontends.cli.main import main
from winnow.index.builder import writing
from winnow.processes import workers
folder, modules, constants = json.loads(sys.argv[1])
for module in modules:
    importlib.import_module(module)
vars(writing).update(constants)
workers.workers_for = lambda cores: 1  # to start one takes longer than the work
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.setsid()
        os.chdir(folder)
        for stream, flags in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
            os.dup2(os.open(os.devnull, flags), stream)
        sys.exit(main(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Commands:
    """Runs commands in a folder, one at a time."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._forks = subprocess.Popen(
            [sys.executable, "-c", FORKS, json.dumps([str(folder), LOADED, SMALL_BATCHES])],
            env={**environment, "OPENBLAS_NUM_THREADS": "1"},  # a thread would not be forked
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def start(self, *arguments: str) -> int:
        """Start a command, and return its process id."""
        assert self._forks.stdin is not None
        self._forks.stdin.write(json.dumps(arguments) + "\n")
        return self._read()

    def has_ended(self) -> bool:
        """Return True if the running command has ended by itself."""
        assert self._forks.stdout is not None
        return bool(select.select([self._forks.stdout], [], [], 0)[0])

    def kill(self, pid: int) -> bool:
        """Kill the running command; return False if it has ended before."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return self._read() == -signal.SIGKILL

    def _read(self) -> int:
        assert self._forks.stdout is not None
        return int(self._forks.stdout.readline())

    def close(self) -> None:
        with self._forks:
            assert self._forks.stdin is not None
            self._forks.stdin.close()


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    running = Commands(tmp_path / "project", child_environment(tmp_path / "home"))
    yield running
    running.close()


class Killer:
    """Kills commands at random moments while they write a tier of the index of a root."""

    def __init__(self, root: Path, commands: Commands, tier: Tier, seed: int) -> None:
        self.root = root
        self.tier = tier
        self.drawn = random.Random(seed)
        self.kills = 0
        self._commands = commands
        self._window = WINDOW_SECONDS

    def kill(self) -> bool:
        """Kill a command after it has begun to write. Return False if it has written the entire
        tier before."""
        before = self._written()
        pid = self._commands.start(*self._arguments())
        while self._written() == before and not self._commands.has_ended():
            time.sleep(POLL_SECONDS)
        time.sleep(self.drawn.uniform(0, self._window))
        was_running = self._commands.kill(pid)
        share = share_of(self.tier, self.root)
        is_late = not was_running or share == 1
        self._window = self._window * 0.8 if is_late else max(self._window, POLL_SECONDS) * 1.1
        self.kills += was_running and 0 < share < 1
        return not is_late

    def _arguments(self) -> Sequence[str]:
        if self.tier is Tier.OCCURRENCES:
            return "find-references", self.drawn.choice(NAMES)
        return "index", "build"

    def _written(self) -> object:
        """Return what changes with each transaction that writes the tier."""
        own = self.root / OWN_FOLDER
        if self.tier is not Tier.OCCURRENCES:
            return {file.name for file in own.glob("*.seg")}
        size = 0
        for file in own.glob("*.db-wal"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                size += file.stat().st_size
        return size


@pytest.mark.parametrize("tier", Tier, ids=lambda tier: tier.value)
async def test_answers_after_kills(
    tier: Tier,
    tmp_path: Path,
    commands: Commands,
    make_workspace: MakeWorkspace,
    row: Row,
    seed: int,
) -> None:
    row.hazard, row.tries = f"kill -9 while {tier.value} is written", KILLS
    root = aged(copy_tree(tmp_path / "project"))
    wanted = await answers_of_a_new_index(make_workspace, tmp_path)
    opener = Opener(make_workspace, tmp_path / "home")
    with small_batches():
        start = await state_before(tier, root, opener, tmp_path)
    killer, compared = Killer(root, commands, tier, seed), 0
    for _ in range(MOST_ATTEMPTS):
        if start is None:
            shutil.rmtree(root / OWN_FOLDER, ignore_errors=True)
        else:
            start.restore()
        for _ in range(killer.drawn.choice(IN_A_ROW)):
            if not killer.kill():
                break
        assert await opener.answers_after_build(root) == wanted
        compared += 1
        if killer.kills >= KILLS:
            break
    assert killer.kills >= KILLS
    row.result = f"{compared} indexes like a new one"


async def state_before(tier: Tier, root: Path, opener: Opener, folder: Path) -> Saved | None:
    """Return the index that a tier is added to; None for no index."""
    if tier is Tier.TEXTS:
        return None
    async with opener.open(root) as workspace:
        if tier is Tier.DEFINITIONS:
            await build_texts(workspace)
        else:
            await workspace.index.build()
    return Saved(root, folder / "before")
