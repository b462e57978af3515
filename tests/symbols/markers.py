"""Markers: what a fixture expects stands in a comment beside the code.

A marker is a comment of the fixture's own language, at the end of the line of the name, or alone
on a line before it (several of these may follow each other: all are for the next line of code):

    class Client:  # def: class Client doc: Talks to the server.
    # def: method Client.send sig: def send(self, data: bytes) -> int
    def send(self, data: bytes) -> int:

Its parts, in this order; only the first two are needed:

    def: KIND QUALIFIED.NAME   quotes around a name with blanks: def: section "Getting started"
    local                      stands in a function
    private                    not `exported`
    declared                   says only that it exists elsewhere (a prototype)
    lines -1..+4               the definition's first and last line, counted from that of the name
    sig: TEXT                  its signature; not compared when left out
    doc: TEXT                  its doc comment, `\\n` between lines; it has none when left out

`;;` stands between two markers for one line. Markers are cut out before the text is read, so they
are no doc comments themselves, and lines of markers alone do not count as lines.
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
    """A definition as a marker describes it; what is None is not compared."""

    line: int
    kind: str
    name: str
    flags: frozenset[str]
    doc: str
    lines: tuple[int, int] | None
    signature: str | None

    def __str__(self) -> str:
        """The marker, behind the line's number: what a failing test shows can be pasted."""
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
        """The definition in the same form, with as much in it as the marker has."""
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
    """A fixture's text without its markers, and what they expect of it, in the order of lines."""
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
