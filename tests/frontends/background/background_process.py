"""A background process as a child of the tests, and commands that it runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from commands import command, running_in, streams, written
from conftest import child_environment
from waiting_for import wait_until
from winnow.frontends.background import client, control
from winnow.frontends.background.control import ProcessDescription
from winnow.frontends.cli.guarded import guarded
from winnow.storage import sockets

PATIENT = Path(__file__).parent / "patient_process.py"


class Done(NamedTuple):
    """What a command printed, and its exit code: None if the process did not run it."""

    code: int | None
    output: str
    errors: str


@contextlib.contextmanager
def home_folder() -> Iterator[Path]:
    """A home folder with a path that is short enough for a socket, wherever the tests' own
    temporary files are."""
    with tempfile.TemporaryDirectory(prefix="h", dir="/tmp") as folder:
        yield Path(folder)


def environment_of(home: Path, **variables: str) -> dict[str, str]:
    # Without a locale, Python sets one in its own environment when it starts.
    variables = {"LC_ALL": "C.UTF-8", **variables, "WINNOW_BACKGROUND": "1"}
    return child_environment(home, **variables)


def socket_of(root: Path, environment: Mapping[str, str]) -> Path:
    folder = sockets.sockets_folder(environment)
    assert folder is not None
    return Path(sockets.socket_path(folder, os.path.realpath(root)))


@contextlib.contextmanager
def started(
    root: Path, environment: Mapping[str, str], *constants: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A background process that runs in this block, with other values of some constants."""
    program = [sys.executable, str(PATIENT), os.path.realpath(root), *constants]
    with subprocess.Popen(program, env=environment, cwd=root.parent) as process:
        try:
            wait_until(lambda: control.running(environment, root)[0], "the process")
            yield process
        finally:
            process.terminate()
            process.wait(60)


def running(root: Path, environment: Mapping[str, str]) -> ProcessDescription | None:
    return next(iter(control.running(environment, root)[0]), None)


def offered(
    folder: Path, *arguments: str, environment: Mapping[str, str], terminal: bool = False
) -> Done:
    """Offer a command to the background process, as `winnow` does, and do no more than that."""
    code: int | None = None

    def run() -> int:
        nonlocal code
        code = client.run(arguments)
        return code or 0

    with (
        running_in(folder),
        mock.patch.dict(os.environ, environment, clear=True),
        streams(terminal=terminal) as (out, err),
    ):
        ended = guarded(run)
        out.flush()
        err.flush()
        did_run = code not in (None, client.DECLINED)
        return Done(ended if did_run else None, written(out), written(err))


def winnow(
    folder: Path, *arguments: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    program = [sys.executable, "-m", "winnow", *arguments]
    return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)


def by_itself(
    folder: Path, *arguments: str, environment: Mapping[str, str], terminal: bool = False
) -> Done:
    """Run a command in this process."""
    own = {**environment, "WINNOW_BACKGROUND": "0"}
    done = command(folder, *arguments, environment=own, terminal=terminal)
    return Done(done.returncode, done.stdout, done.stderr)
