"""Measure commands with and without the background process.

    python benchmarks/background.py [FOLDER] [--runs N] [--command 'grep needle']...

Works on a copy of FOLDER, or of Django. First, a question is asked where there is neither an index
nor a background process: the wall time and the first result, for each run. Then, medians per
command with an index, after one warm-up: the processor time (user and system, with child processes)
of the command's own process and of the background process, and the wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from corpora import django

WINNOW = [sys.executable, "-m", "winnow"]
PROCESS = [sys.executable, "-m", "winnow.frontends.background"]
COMMANDS = (
    "grep import",
    "grep no_such_text_anywhere",
    "code-search main",
    "semantic-search 'where are errors handled'",
    "keyword-search 'how are errors handled' error handle",
)
LIMIT_MS = 100
QUESTION = "how does the ORM turn a filter into SQL"
READY_SECONDS = 120.0


class Run(NamedTuple):
    """The cost of a command, in milliseconds."""

    command: float
    process: float
    wall: float

    @property
    def processor(self) -> float:
        return self.command + self.process


def measured(arguments: list[str], folder: Path, environment: dict[str, str], pid: int) -> Run:
    """Run a command. ``pid`` is the background process, or 0."""
    before, began = _of_children(), time.perf_counter()
    in_process = _of_process(pid)
    subprocess.run(
        [*WINNOW, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wall = time.perf_counter() - began
    own = _of_children() - before
    return Run(1000 * own, 1000 * (_of_process(pid) - in_process), 1000 * wall)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_process(pid: int) -> float:
    """Return the processor time of a process and of its children that have ended, in seconds."""
    if not pid:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _median(runs: list[Run], of: Callable[[Run], float]) -> float:
    return statistics.median(map(of, runs))


def print_first_questions(folder: Path, environment: dict[str, str], runs: int) -> None:
    """Ask the first question in a folder, several times."""
    for _ in range(runs):
        shutil.rmtree(folder / ".winnow", ignore_errors=True)
        began = time.perf_counter()
        done = subprocess.run(
            [*WINNOW, "code-search", QUESTION, "--format", "json"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        wall = time.perf_counter() - began
        first = json.loads(done.stdout)["results"][0]["path"]
        print(f"first question, without an index: {wall:.1f} s, {first}", flush=True)
        subprocess.run(
            [*WINNOW, "index", "stop"], cwd=folder, env=environment, stdout=subprocess.DEVNULL
        )


def _wait_until_ready(folder: Path, environment: dict[str, str]) -> None:
    """Wait until the process answers from an open index."""
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        status = [*WINNOW, "index", "status"]
        done = subprocess.run(status, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            shown = [*WINNOW, "index-status"]
            state = subprocess.run(
                shown, cwd=folder, env=environment, capture_output=True, text=True
            )
            if ": ready" in state.stdout and "by file system events" in state.stdout:
                return
        time.sleep(0.2)
    raise SystemExit("The background process is not ready")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="default: Django")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--command", action="append")
    options = parser.parse_args()
    # A home folder with a short path: that of a socket is limited.
    with (
        tempfile.TemporaryDirectory(prefix="w") as home,
        tempfile.TemporaryDirectory() as work,
    ):
        folder = Path(os.path.realpath(work), "tree")
        ignored = shutil.ignore_patterns(".winnow")
        shutil.copytree(options.folder or django(), folder, symlinks=True, ignore=ignored)
        alone = {**os.environ, "HOME": home, "XDG_STATE_HOME": "", "WINNOW_BACKGROUND": "0"}
        served = {**alone, "WINNOW_BACKGROUND": "1"}
        print_first_questions(folder, served, options.runs)
        subprocess.run([*WINNOW, "index", "build"], cwd=folder, env=alone, check=True)
        with subprocess.Popen([*PROCESS, str(folder)], env=served, cwd=home) as process:
            try:
                _wait_until_ready(folder, served)
                titles = f"{'alone':>8}{'command':>9}{'process':>9}{'wall: alone':>13}{'served':>8}"
                print(f"{'':44}{titles}")
                for line in options.command or COMMANDS:
                    arguments = shlex.split(line)
                    measured(arguments, folder, alone, 0)
                    measured(arguments, folder, served, process.pid)
                    by_itself = [measured(arguments, folder, alone, 0) for _ in range(options.runs)]
                    by_process = [
                        measured(arguments, folder, served, process.pid)
                        for _ in range(options.runs)
                    ]
                    print(
                        f"{line:44}{_median(by_itself, lambda run: run.processor):5.0f} ms"
                        f"{_median(by_process, lambda run: run.command):6.0f} ms"
                        f"{_median(by_process, lambda run: run.process):6.0f} ms"
                        f"{_median(by_itself, lambda run: run.wall):10.0f} ms"
                        f"{_median(by_process, lambda run: run.wall):5.0f} ms"
                        f"   limit {LIMIT_MS} ms",
                        flush=True,
                    )
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
