"""Run a command with the exit codes of a program, whichever process does the work.

Every command imports this module, so it imports little.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

FOUND, NOTHING_FOUND, FAILED = 0, 1, 2  # as grep does
INTERRUPTED = 130


def guarded(command: Callable[[], int]) -> int:
    """Return the exit code of a command, also if it is interrupted, nobody reads its output, or the
    system reports an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console may not support every character
            stream.reconfigure(errors="replace")
    try:
        code = command()
        if not sys.stdout.closed:  # `serve` closes it
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has exited, like `head`. Python would fail when it flushes.
        _drop_output()
        return FOUND
    except OSError as error:  # no working folder, a full disk, a port in use
        problem = error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and error.filename is None:
            problem = "The current folder does not exist"
        _try(lambda: print(f"winnow: {problem}", file=sys.stderr))
        _try(_drop_output)
        return FAILED


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _try(action: Callable[[], object]) -> None:
    try:  # noqa: SIM105 (importing contextlib takes a fifth of the start of Python)
        action()
    except OSError:
        pass
