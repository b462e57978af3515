"""Find the user's editor, and how it opens a file at a line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from winnow.processes.terminal_programs import installed_program, run_in_terminal
from winnow.storage.paths import shown_path
from winnow.text.search_roots import repository_root

# Arguments that open a file at a line.
Arguments = Callable[[str, int], list[str]]


def _plus(file: str, line: int) -> list[str]:
    return [f"+{line}", file]


def _goto(file: str, line: int) -> list[str]:
    return ["--goto", f"{file}:{line}"]


def _colon(file: str, line: int) -> list[str]:
    return [f"{file}:{line}"]


def _option(file: str, line: int) -> list[str]:
    return ["--line", str(line), file]


KNOWN: Mapping[str, Arguments] = {
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "mvim", "vis", "kak", "nano", "pico"), _plus),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "jed", "joe", "jmacs", "ne", "micro"), _plus),
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"), _goto),
    **dict.fromkeys(("zed", "zeditor", "subl", "sublime_text", "hx", "helix"), _colon),
    **dict.fromkeys(("idea", "pycharm", "webstorm", "goland", "clion", "rustrover"), _option),
}
VARIABLES = ("VISUAL", "EDITOR")


class Editor(NamedTuple):
    """The user's editor: the command, and its arguments for a place. Without a command, ``problem``
    says why the editor that the user has set can't be used."""

    command: tuple[str, ...] = ()
    arguments: Arguments = _plus
    problem: str = ""

    def open(self, file: str, line: int) -> int | None:
        """Open a file at a line. Return the exit code of the editor; None if it did not run."""
        if not self.command:
            return None
        return run_in_terminal([*self.command, *self.arguments(os.path.abspath(file), line)])


def of_user(environment: Mapping[str, str]) -> Editor:
    """Return the editor that `$VISUAL` or `$EDITOR` names. One in the repository is not run."""
    variable = next((name for name in VARIABLES if environment.get(name, "").strip()), None)
    if variable is None:
        return Editor()
    try:
        # Backslashes separate the folders of a path on Windows.
        name, *options = shlex.split(environment[variable], posix=os.name == "posix")
    except ValueError:
        return Editor(problem=f"`${variable}` has a quote without an end")
    shown = shown_path(name)[0]
    arguments = KNOWN.get(os.path.basename(name).lower().removesuffix(".exe"))
    if arguments is None:
        return Editor(problem=f"`${variable}` is {shown}, which Winnow can't open at a line")
    program = installed_program(name, environment, repository_root(Path.cwd()))
    if not program:
        return Editor(problem=f"`${variable}`: {shown} is not on PATH outside of the repository")
    return Editor((program, *options), arguments)
