"""Render text for people: in color on a terminal."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TextIO

import msgspec
from msgspec import Struct

from winnow.text.sanitize import printable
from winnow.types import Answer, InRepository

# Words after this many characters of a query are not highlighted.
QUERY_CHARACTERS = 1_000
# Longer words have endings.
STEM = 5
_WORD = re.compile(r"\w{3,40}")


class Style(Struct, frozen=True):
    """How text is rendered.

    Without `colour`, the methods return text unchanged. `options` is the prefix of a param's name:
    people type it as an option. `column` is the width of line numbers; agents pay for each blank.
    The words of the `query` are highlighted in code.
    """

    colour: bool
    options: str = "--"
    column: int = 6
    query: str = ""

    @classmethod
    def for_stream(cls, stream: TextIO) -> Style:
        """Use colors on a terminal, unless NO_COLOR or TERM forbids them."""
        return cls.of(stream.isatty(), os.environ)

    @classmethod
    def of(cls, is_terminal: bool, environment: Mapping[str, str]) -> Style:
        """Do the same for the terminal of another process, whose environment this is."""
        allowed = "NO_COLOR" not in environment and environment.get("TERM") != "dumb"
        return cls(allowed and is_terminal)

    def highlighting(self, query: str) -> Style:
        """Return the style that highlights the words of a query."""
        return msgspec.structs.replace(self, query=query[:QUERY_CHARACTERS])

    def code(self, line: str) -> str:
        """Return a line of code with the words of the query highlighted."""
        if not self.colour or not self.query:
            return line
        pattern = word_pattern(self.query)
        return pattern.sub(lambda found: self.match(found[0]), line) if pattern else line

    def path(self, text: str) -> str:
        return self._code("1;35", text)

    def dim(self, text: str) -> str:
        return self._code("2", text)

    def match(self, text: str) -> str:
        return self._code("1;31", text)

    def number(self, line: int) -> str:
        """Return a line number followed by a tab, as `cat -n` shows it."""
        return self.dim(str(line).rjust(self.column)) + "\t"

    def good(self, text: str) -> str:
        return self._code("32", text)

    def bad(self, text: str) -> str:
        return self._code("33", text)

    def _code(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def word_pattern(query: str) -> re.Pattern[str] | None:
    """Return a pattern of the words of a query that are worth highlighting, or None."""
    # Costs the import of a stemmer.
    from winnow.index.postings.terms import STOP_WORDS

    found = _WORD.findall(query[:QUERY_CHARACTERS])
    words = {word for word in found if word.lower() not in STOP_WORDS}
    # Other forms of a word, too: `generated` is in `generates`.
    forms = [f"{word[:-2]}\\w*" if len(word) > STEM else word for word in words]
    return re.compile("|".join(sorted(forms, key=len, reverse=True)), re.I) if forms else None


FOR_AGENTS = Style(colour=False, options="", column=0)


class FileRow(Protocol):
    """A row of an answer about a file, whose path is below its own root or that of the answer."""

    @property
    def path(self) -> str: ...
    @property
    def root(self) -> str | None: ...


def seen_path(row: FileRow, root: str, folder: str | None) -> str:
    """Return the path of a row relative to `folder`, or without one as the answer has it.

    `root` is the root of the answer; a row with another root has an absolute path. That of a file
    in a repository of a cluster follows the repository.
    """
    if isinstance(row, InRepository) and row.repository:
        return printable(f"{row.repository}:{row.path}")
    if folder is not None:
        return _relative(row.root or root, row.path, folder)
    return printable(os.path.join(row.root, row.path) if row.root else row.path)


# Neighboring rows are mostly of the same file.
@functools.lru_cache(1_024)
def _relative(root: str, path: str, folder: str) -> str:
    return printable(os.path.relpath(os.path.join(root, path), folder))


def closing_line(result: Answer, summary: str, more: Sequence[str], style: Style) -> str:
    """Return the notes below an answer for people, each once, on one line."""
    notes = [summary, *more, *result.completeness.reasons, *result.warnings]
    return style.dim("; ".join(dict.fromkeys(map(printable, filter(None, notes)))))


def notes_of(
    result: Answer, summary: str, style: Style, *, with_skipped: bool = True
) -> Iterator[str]:
    """Yield the notes below an answer: its size, what it leaves out, and how to continue."""
    yield style.dim(f"[{summary}]")
    skipped = msgspec.to_builtins(result.completeness.skipped) if with_skipped else {}
    if counts := [f"{count} {name.replace('_', ' ')}" for name, count in skipped.items() if count]:
        yield style.dim(f"[left out: {', '.join(counts)}]")
    for reason in result.completeness.reasons:
        yield style.dim(f"[incomplete: {printable(reason)}]")
    for warning in result.warnings:
        yield style.dim(f"[note: {printable(warning)}]")
    if result.truncated:
        more = f"[more: {style.options}cursor {result.cursor}]" if result.cursor else "[shortened]"
        yield style.dim(more)
