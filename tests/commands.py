"""Run the command line in the test's process: a new process takes half a second.

Tests of exits, signals, closed or full streams, and imports start `python -m winnow` instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from winnow.frontends.cli.main import main


def command(
    folder: Path, *arguments: str, environment: Mapping[str, str], terminal: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `winnow` with these arguments in a folder, and with only this environment."""
    with (
        running_in(folder),
        mock.patch.dict(os.environ, {"WINNOW_BACKGROUND": "0", **environment}, clear=True),
        mock.patch("gc.freeze"),  # would keep the garbage of tests
    ):
        with streams(terminal=terminal) as (out, err):
            try:
                code = main(arguments)
            except SystemExit as exit_:  # of argparse
                code = exit_.code if isinstance(exit_.code, int) else 2
            out.flush()
            err.flush()
        return subprocess.CompletedProcess(["winnow", *arguments], code, written(out), written(err))


@contextlib.contextmanager
def running_in(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def streams(*, terminal: bool = False) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Replace the standard streams with byte buffers, which may look like terminals."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        mock.patch.object(out, "isatty", return_value=terminal),
        mock.patch.object(err, "isatty", return_value=terminal),
        mock.patch.object(sys, "stdin", io.StringIO()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        yield out, err


def written(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
