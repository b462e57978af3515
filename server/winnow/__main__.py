"""Start the command line, without the modules of the current folder.

That folder is often the workspace. `python -m winnow`, or an empty entry of PYTHONPATH, has Python
import from it first: a repository's `msgspec.py` would run. Modules that Python loads before this
one are out of reach; `python -P` (3.11 and later) and the command `winnow` leave that folder out.
"""

from __future__ import annotations

import os
import sys


def leave_out_current_folder(path: list[str], package: str) -> None:
    """Remove the current folder from a list of folders, unless ``package`` is in it."""
    try:
        current = os.path.realpath(os.curdir)
    except OSError:  # it was deleted
        return
    if os.path.dirname(os.path.realpath(package)) != current:
        path[:] = [one for one in path if os.path.realpath(one or os.curdir) != current]


leave_out_current_folder(sys.path, os.path.dirname(__file__))


def main() -> int:
    """Run the command line, in the background process if that is possible. Return the exit code."""
    from winnow.frontends.cli.guarded import guarded

    return guarded(lambda: _run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # scripts call it often
        from winnow import __version__

        sys.stdout.write(f"winnow {__version__}\n")
        return 0
    if not arguments and _has_terminal():
        from winnow.frontends.cli.picker.command import run as run_picker

        return run_picker()
    from winnow.frontends.background import client

    code = client.run(arguments)
    if code is None or code == client.DECLINED:
        # Importing all tools takes longer than most of them.
        from winnow.frontends.cli.main import run

        code = run(arguments, may_start=code is None)
    return code


def _has_terminal() -> bool:
    streams = (sys.stdin, sys.stdout)
    is_interactive = all(stream is not None and stream.isatty() for stream in streams)
    return is_interactive and os.environ.get("TERM") != "dumb"


if __name__ == "__main__":
    raise SystemExit(main())
