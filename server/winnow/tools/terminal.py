"""Text for people: colours on a terminal only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol, TextIO

import msgspec
from msgspec import Struct

from winnow.text.sanitize import printable
from winnow.types import Answer


class Style(Struct, frozen=True):
    """How to emphasise; without ``colour`` every method gives the text as it is. ``options`` stands
    before the name of a param: a person types it as an option. Numbers of lines are in a column for
    people; an agent pays for each blank before them."""

    colour: bool
    options: str = "--"
    column: int = 6

    @classmethod
    def for_stream(cls, stream: TextIO) -> Style:
        """Colours for a terminal that wants them (the NO_COLOR and TERM conventions)."""
        wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def path(self, text: str) -> str:
        return self._code("1;35", text)

    def dim(self, text: str) -> str:
        return self._code("2", text)

    def match(self, text: str) -> str:
        return self._code("1;31", text)

    def number(self, line: int) -> str:
        """A line's number and the tab behind it, as `cat -n` shows them."""
        return self.dim(str(line).rjust(self.column)) + "\t"

    def good(self, text: str) -> str:
        return self._code("32", text)

    def bad(self, text: str) -> str:
        return self._code("33", text)

    def _code(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


FOR_AGENTS = Style(colour=False, options="", column=0)


class Placed(Protocol):
    """Something found in a file, whose path is below a root: that of the answer, or its own."""

    @property
    def path(self) -> str: ...
    @property
    def root(self) -> str | None: ...


def seen_path(found: Placed, root: str, folder: str | None) -> str:
    """The path as seen from a folder; without one as the answer, which is about ``root``, has it,
    below its own root where that is another."""
    if folder is not None:
        return printable(os.path.relpath(os.path.join(found.root or root, found.path), folder))
    return printable(os.path.join(found.root, found.path) if found.root else found.path)


def notes_of(result: Answer, summary: str, style: Style) -> Iterator[str]:
    """What stands below an answer: how much of it this is, what was left out, how to go on."""
    yield style.dim(f"[{summary}]")
    skipped = msgspec.to_builtins(result.completeness.skipped)
    if counted := [f"{count} {name.replace('_', ' ')}" for name, count in skipped.items() if count]:
        yield style.dim(f"[left out: {', '.join(counted)}]")
    for reason in result.completeness.reasons:
        yield style.dim(f"[incomplete: {printable(reason)}]")
    for warning in result.warnings:
        yield style.dim(f"[note: {printable(warning)}]")
    if result.truncated:
        more = f"[more: {style.options}cursor {result.cursor}]" if result.cursor else "[shortened]"
        yield style.dim(more)
