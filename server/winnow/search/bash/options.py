"""Check the arguments of a program against a table of its options (see `programs.py`).

An option that is not in the table is refused. The others are written in a canonical form: options
first, each with its value attached, then `--`, then paths. A value or path can therefore never
become an option, however the program parses its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.scripts import check_assignment
from winnow.storage.paths import shown_path

Kind = Literal[
    "text", "short", "path", "number", "count", "size", "list", "optional", "script", "variable"
]
"""The value of an option: any text, a short text, a path, a number, a number of lines or bytes
(`+5`, `10K`), a size, a list of columns or fields, an optional text (only after `=`), a script, or
a variable of awk."""

# These values need limits: programs hold that many lines in memory, ripgrep a replacement for every
# match of a line, and ls dates of any width.
_FORMS = {
    "short": re.compile(r"(?!.*\d{3}).{0,100}"),
    "number": re.compile(r"\d{1,7}"),
    "count": re.compile(r"[-+]?(?:\d{1,8}|\d{1,5}(?:b|[kK]B?|KiB)|\d{1,2}(?:MB?|MiB))"),
    "list": re.compile(r"[0-9A-Za-z.,-]{1,100}"),
    "size": re.compile(r"\d{1,7}[kKM]?"),
}

_INVALID = {"short": "it must be a short text, without large numbers"}

# An operand of awk that it would read as an assignment.
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
STDIN = "-"
_INFORMATION = frozenset(("--help", "--version"))


class PipelineCommand(Struct, frozen=True):
    """A program of a pipeline and its `arguments`. `reads_pipe` is True if it reads its input."""

    program: str
    arguments: tuple[str, ...]
    reads_pipe: bool


class Program(Struct, frozen=True, kw_only=True):
    """A program that may run.

    - `flags` are options without a value, `values` options with a value of some kind, `refused`
      common options with the reason why they are not allowed
    - `number` is the option that `-5` stands for
    - `pattern`: the first operand is a pattern, unless an option of `no_pattern` is given
    - `alone` is the input without a path: the pipe, the working folder, `either` (the pipe if there
      is one), or nothing. With an option of `walks` it is never the pipe
    - `fixed` arguments are always passed, `at_end` arguments to the last program of a pipeline
    - `attached` is False if values are separate arguments
    - `texts`: the operands are texts, not paths; `most` is the number of operands
    - `check` raises NotAllowed for a script that does more than read and print; the program runs
      only in the kernel's sandbox. The first operand is a script, unless an option has it
    - `read` replaces all of this for a program with its own argument language
    """

    name: str
    flags: frozenset[str] = frozenset()
    values: Mapping[str, Kind] = {}
    refused: Mapping[str, str] = {}
    number: str = ""
    pattern: bool = False
    no_pattern: frozenset[str] = frozenset()
    alone: Literal["pipe", "folder", "either", "nothing"] = "pipe"
    walks: frozenset[str] = frozenset()
    fixed: tuple[str, ...] = ()
    at_end: tuple[str, ...] = ()
    attached: bool = True
    texts: bool = False
    most: int | None = None
    check: Callable[[str], None] | None = None
    read: Callable[[Sequence[str], AllowedPaths], Sequence[str]] | None = None


def command_of(
    program: Program, words: Sequence[str], allowed: AllowedPaths, *, piped: bool, last: bool
) -> PipelineCommand:
    """Return a program with its checked arguments.

    `piped` means that another program writes to it, `last` that none reads its output. Raise
    NotAllowed, which names the option, value or path.
    """
    if program.read is not None:
        return PipelineCommand(program.name, tuple(program.read(words, allowed)), False)
    parsed = _Parser(program, allowed)
    parsed.parse(words)
    paths = list(parsed.operands)
    arguments = [*program.fixed, *(program.at_end if last else ()), *parsed.arguments]
    if program.most is not None and len(paths) > program.most:
        raise NotAllowed(shown_path(paths[program.most])[0], "a second file would be written")
    if program.pattern and paths and not parsed.names & program.no_pattern:
        if program.check:
            program.check(paths[0])
        arguments += _with_value("-e", paths.pop(0), attached=True)
    arguments.append("--")
    if program.check and not paths and not parsed.names & (program.no_pattern | _INFORMATION):
        raise NotAllowed(program.name, "its script is missing")
    if program.check and not program.pattern and paths:
        program.check(paths[0])
        arguments.append(paths.pop(0))
        # `name=value` would be an assignment.
        paths = [f"./{path}" if _ASSIGNS.match(path) else path for path in paths]
    if program.texts:
        return PipelineCommand(program.name, (*arguments, *paths), True)
    arguments += [_path(path, allowed) for path in paths]
    by_itself = program.alone == "pipe" or (program.alone == "either" and piped)
    walks = parsed.names & (program.walks | _INFORMATION)
    reads = parsed.reads_pipe or STDIN in paths or (by_itself and not paths and not walks)
    return PipelineCommand(program.name, tuple(arguments), reads)


class _Parser:
    """Sorts the arguments of a program into options and operands."""

    def __init__(self, program: Program, allowed: AllowedPaths) -> None:
        self._program = program
        self._allowed = allowed
        self.arguments: list[str] = []
        self.operands: list[str] = []
        self.names: set[str] = set()
        self.reads_pipe = False  # because of the value of an option

    def parse(self, words: Sequence[str]) -> None:
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.operands += rest
                return
            if word.startswith("--"):
                self._long(word, rest)
            elif self._program.number and re.fullmatch(r"-\d+", word):
                self._value(self._program.number, word[1:], rest)
            elif word.startswith("-") and word != STDIN:
                self._short(word, rest)
            else:
                self.operands.append(word)

    def _long(self, word: str, rest: list[str]) -> None:
        name, sign, value = word.partition("=")
        if name in self._program.flags:
            if sign:
                raise NotAllowed(shown_path(word)[0], f"{name} takes no value")
            self._flag(name)
        elif name in self._program.values:
            self._value(name, value if sign else None, rest)
        else:
            raise NotAllowed(shown_path(name)[0], self._why_not(name))

    def _short(self, word: str, rest: list[str]) -> None:
        for place, char in enumerate(word[1:], 2):
            name = f"-{char}"
            if name in self._program.values:
                self._value(name, word[place:] or None, rest)
                return
            if name not in self._program.flags:
                raise NotAllowed(shown_path(name)[0], self._why_not(name))
            self._flag(name)

    def _flag(self, name: str) -> None:
        self.names.add(name)
        self.arguments.append(name)

    def _value(self, name: str, value: str | None, rest: list[str]) -> None:
        kind = self._program.values[name]
        self.names.add(name)
        if kind == "optional":
            self.arguments.append(name if value is None else f"{name}={value}")
            return
        if value is None:
            if not rest:
                raise NotAllowed(name, "its value is missing")
            value = rest.pop(0)
        if kind == "script" and self._program.check:
            self._program.check(value)
        elif kind == "variable":
            check_assignment(value)
        elif kind == "path":
            value = _path(value, self._allowed)
            self.reads_pipe |= value == STDIN
        elif (form := _FORMS.get(kind)) and not form.fullmatch(value):
            shown = shown_path(f"{name} {value}")[0]
            raise NotAllowed(shown, _INVALID.get(kind, "it must be a number, and not too large"))
        elif not self._program.attached and value.startswith("-"):
            raise NotAllowed(shown_path(f"{name} {value}")[0], "it looks like an option")
        self.arguments += _with_value(name, value, attached=self._program.attached)

    def _why_not(self, name: str) -> str:
        """Explain why an option is refused. GNU programs also accept the start of a long option."""
        refused = self._program.refused
        program = self._program.name
        for option, why in refused.items():
            if name == option or (len(name) > 3 and option.startswith(name)):
                return f"`{program} {option}` {why}"
        options = [
            option
            for option in (*self._program.flags, *self._program.values)
            if len(name) > 3 and option.startswith(name)
        ]
        if options:
            return f"write it in full: {', '.join(sorted(options))}"
        if program == "rga" and name.startswith("--rg"):
            return "rga's own settings are fixed: its adapters can run any program"
        return f"it is not an allowed option of {program}"


def _path(path: str, allowed: AllowedPaths) -> str:
    """Return an allowed path in a form that cannot become an option. Raise NotAllowed."""
    if path == STDIN:
        return path
    allowed.check(path)
    # tail accepts +5 as a number.
    return f"./{path}" if path.startswith(("-", "+")) else path


def _with_value(name: str, value: str, *, attached: bool) -> list[str]:
    if name.startswith("--"):
        return [f"{name}={value}"] if attached else [name, value]
    return [f"{name}{value}"] if attached and value else [name, value]
