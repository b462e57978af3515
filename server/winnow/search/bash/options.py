"""The words of a program, held against what is known of its options.

A program is described by a table (see ``programs.py``); what is not in it is refused. What is
understood is spelled anew: options first, each with its value attached, then `--`, then paths. A
value or a path can therefore never be taken for an option, whatever the program makes of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.search.bash.bounds import Bounds
from winnow.storage.paths import shown_path

Kind = Literal["text", "short", "path", "number", "count", "size", "optional"]
"""What follows an option: any text, a short one, a path, a number, a number of lines or bytes
(`+5`, `10K`), a size, or a text that need not be there (only after `=`)."""

# Programs keep as many lines in memory as they are asked for, ripgrep a replacement for every match
# of a line, and ls a date as wide as it is told: none of these is without bounds.
_FORMS = {
    "short": re.compile(r"(?!.*\d{3}).{0,100}"),
    "number": re.compile(r"\d{1,7}"),
    "count": re.compile(r"[-+]?(?:\d{1,8}|\d{1,5}(?:b|[kK]B?|KiB)|\d{1,2}(?:MB?|MiB))"),
    "size": re.compile(r"\d{1,7}[kKM]?"),
}

_UNFIT = {"short": "it wants a short text, without large numbers"}

STDIN = "-"
_INFORMATION = frozenset(("--help", "--version"))


class Command(Struct, frozen=True):
    """A program of a pipeline and its ``arguments``; ``reads_pipe`` if it reads what the program
    before it writes."""

    program: str
    arguments: tuple[str, ...]
    reads_pipe: bool


class Program(Struct, frozen=True, kw_only=True):
    """A program that may run.

    ``flags`` are options without a value, ``values`` those with one and what it is, ``refused``
    those that many will try, and why they cannot have them. ``number`` is the option that `-5`
    stands for. ``pattern``: the first word that is no option is one, unless an option of
    ``no_pattern`` is there. ``alone``: what the program reads without a path: the pipe, the working
    folder, ``either``, which is the pipe if there is one, or nothing; with an option of ``walks``
    it is never the pipe. ``fixed`` are arguments that it always gets, ``at_end`` those that it gets
    as the last one. ``attached`` is false for a program that takes values as words of their own.
    ``read`` replaces all this for a program with a language of its own.
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
    read: Callable[[Sequence[str], Bounds], Sequence[str]] | None = None


def command(
    program: Program, words: Sequence[str], bounds: Bounds, *, piped: bool, last: bool
) -> Command:
    """The program with its words; ``piped`` if another one writes to it, ``last`` if none reads it.

    Raises NotAllowed, which names the option, value or path.
    """
    if program.read is not None:
        return Command(program.name, tuple(program.read(words, bounds)), False)
    reading = _Reading(program, bounds)
    reading.take(words)
    paths = list(reading.operands)
    arguments = [*program.fixed, *(program.at_end if last else ()), *reading.arguments]
    if program.pattern and paths and not reading.names & program.no_pattern:
        arguments += _with_value("-e", paths.pop(0), attached=True)
    arguments += ["--", *(_path(path, bounds) for path in paths)]
    by_itself = program.alone == "pipe" or (program.alone == "either" and piped)
    walks = reading.names & (program.walks | _INFORMATION)
    reads = reading.reads_pipe or STDIN in paths or (by_itself and not paths and not walks)
    return Command(program.name, tuple(arguments), reads)


class _Reading:
    """The options and operands of a program, as far as its words were read."""

    def __init__(self, program: Program, bounds: Bounds) -> None:
        self._program = program
        self._bounds = bounds
        self.arguments: list[str] = []
        self.operands: list[str] = []
        self.names: set[str] = set()
        self.reads_pipe = False  # as the value of an option

    def take(self, words: Sequence[str]) -> None:
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
        if kind == "path":
            value = _path(value, self._bounds)
            self.reads_pipe |= value == STDIN
        elif (form := _FORMS.get(kind)) and not form.fullmatch(value):
            shown = shown_path(f"{name} {value}")[0]
            raise NotAllowed(shown, _UNFIT.get(kind, "it wants a number, not too large"))
        elif not self._program.attached and value.startswith("-"):
            raise NotAllowed(shown_path(f"{name} {value}")[0], "it looks like an option")
        self.arguments += _with_value(name, value, attached=self._program.attached)

    def _why_not(self, name: str) -> str:
        """Why an option is refused; GNU's programs take the beginning of a long one for it."""
        refused = self._program.refused
        program = self._program.name
        for one, why in refused.items():
            if name == one or (len(name) > 3 and one.startswith(name)):
                return f"`{program} {one}` {why}"
        whole = [
            one
            for one in (*self._program.flags, *self._program.values)
            if len(name) > 3 and one.startswith(name)
        ]
        if whole:
            return f"write it in full: {', '.join(sorted(whole))}"
        if program == "rga" and name.startswith("--rg"):
            return "rga's own settings are fixed: its adapters can run any program"
        return (
            f"it is none of the options of {program} that are known to do nothing but read files"
            " of the workspace, and to come to an end"
        )


def _path(path: str, bounds: Bounds) -> str:
    """A path as an argument that is no option. Raises NotAllowed."""
    if path == STDIN:
        return path
    bounds.check(path)
    # tail's old form of a number begins with a plus.
    return f"./{path}" if path.startswith(("-", "+")) else path


def _with_value(name: str, value: str, *, attached: bool) -> list[str]:
    if name.startswith("--"):
        return [f"{name}={value}"] if attached else [name, value]
    return [f"{name}{value}"] if attached and value else [name, value]
