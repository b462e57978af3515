r"""Markers: comments in fixtures that state the expected definitions.

A marker is a comment in the fixture's own language, at the end of the name's line, or alone on a
line before it. Several marker lines in a row all describe the next line of code:

    class Client:  # def: class Client doc: Talks to the server.
    # def: method Client.send sig: def send(self, data: bytes) -> int
    def send(self, data: bytes) -> int:

The parts, in this order; only the first two are required:

    def: KIND QUALIFIED.NAME   quotes around a name with blanks: def: section "Getting started"
    local                      inside a function
    private                    not `exported`
    declared                   a declaration without a body (a prototype)
    lines -1..+4               first and last line of the definition, relative to the name's line
    sig: TEXT                  the signature; not compared if omitted
    doc: TEXT                  the doc comment, `\n` between lines; empty if omitted

`;;` separates two markers for one line. Markers are removed before the text is extracted, so they
are not doc comments, and lines with only markers do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from winnow.symbols.file_symbols import Definition

_COMMENT = re.compile(
    r"[ \t]*(?:\#|//|--|;|%|/\*|\(\*|\{-|<!--)[ \t]*"
    r"(?P<marker>def:[ ].*?)[ \t]*(?:\*/|\*\)|-\}|-->)?$"
)
_MARKER = re.compile(
    r"def: (?P<kind>\w+) (?:\"(?P<quoted>[^\"]+)\"|(?P<name>\S+))"
    r"(?P<flags>(?: local| private| declared)*)"
    r"(?: lines (?P<before>[-+]?\d+)\.\.(?P<behind>[-+]?\d+))?"
    r"(?: sig: (?P<signature>.*?))?(?: doc: (?P<doc>.*))?"
)


@dataclass(frozen=True)
class Expected:
    """A definition as a marker describes it; None is not compared."""

    line: int
    kind: str
    name: str
    flags: frozenset[str]
    doc: str
    lines: tuple[int, int] | None
    signature: str | None

    def __str__(self) -> str:
        """Return the line number and the marker: the output of a failing test can be pasted."""
        name = f'"{self.name}"' if " " in self.name else self.name
        parts = [f"{self.line + 1}: def: {self.kind} {name}"]
        parts += [flag for flag in ("local", "private", "declared") if flag in self.flags]
        if self.lines is not None:
            parts.append("lines {:+}..{:+}".format(*(line - self.line for line in self.lines)))
        if self.signature is not None:
            parts.append(f"sig: {self.signature}")
        if self.doc:
            parts.append("doc: " + self.doc.replace("\n", "\\n"))
        return " ".join(parts)

    @classmethod
    def from_marker(cls, marker: str, line: int) -> Expected:
        match = _MARKER.fullmatch(marker)
        assert match is not None, f"no marker: {marker}"
        return cls(
            line=line,
            kind=match["kind"],
            name=match["quoted"] or match["name"],
            flags=frozenset(match["flags"].split()),
            doc=(match["doc"] or "").replace("\\n", "\n"),
            lines=None
            if match["before"] is None
            else (line + int(match["before"]), line + int(match["behind"])),
            signature=match["signature"],
        )

    def describes(self, definition: Definition, source: bytes) -> Expected:
        """Return the definition in the same form, with as much detail as the marker."""
        flags = {
            "local": definition.local,
            "private": not definition.exported,
            "declared": definition.declared,
        }
        return Expected(
            line=definition.line,
            kind=definition.kind,
            name=definition.qualified_name,
            flags=frozenset(flag for flag, is_set in flags.items() if is_set),
            doc=definition.doc,
            lines=None
            if self.lines is None
            else (source.count(b"\n", 0, definition.start), definition.end_line),
            signature=None if self.signature is None else definition.signature,
        )


def read_fixture(path: Path) -> tuple[bytes, list[Expected]]:
    """Return a fixture's text without its markers, and the definitions they expect, by line."""
    lines: list[str] = []
    waiting: list[str] = []
    expected: list[Expected] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        match = _COMMENT.search(line)
        code = line[: match.start()] if match else line
        if match is not None:
            waiting += match["marker"].split(" ;; ")
            if not code:
                continue
        expected += [Expected.from_marker(marker, len(lines)) for marker in waiting]
        waiting = []
        lines.append(code)
    assert not waiting, "markers at the end of a fixture describe nothing"
    return "\n".join(lines).encode(), expected
