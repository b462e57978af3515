"""What rga says of documents that it cannot read, as reasons that a user understands.

ripgrep tells of each in a block on stderr: a line with the path, what the programs for the document
said between two lines of dashes. Blocks are taken as they come, so that no number of them, and no
length, hides another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from winnow.documents.rga.lines import kind_of

_BEGIN = b"rg: "
_DIVIDER = b"-" * 79
_FAILED = "preprocessor command"
_MOST_LINES = 60
_LINE_BYTES = 400
_HEAD_LINES = 20  # of a path with line ends

_ADAPTER = re.compile(r"^(?P<name>.*) adapter: (?P<adapter>\w+)$")
_CAUSE = re.compile(r"^\s+(?:\d+: )?(?P<cause>\S.*)$")
_COMPLAINT = re.compile(r"(?:^|: )(?P<why>[^:\n]+) \(os error (?P<number>\d+)\)$", re.M)
_MISSING = re.compile(r'Could not find executable "(?P<program>[^"]+)"')
_ENCRYPTED = re.compile(r"Incorrect password|Unsupported encryption|password.protected", re.I)
# The first letter of pandoc's words may be in a line of another program's.
_DAMAGED = re.compile(
    r"Syntax Error|trailer dictionary|xref table|central directory|ouldn't unpack"
    r"|unexpected (?:end|eof)|deflate|More memory needed|corrupt|invalid|not a PDF|ouldn't parse"
    r"|malformed|\bheader\b|failed to",
    re.I,
)
_CACHE_DAMAGED = re.compile(
    r"database disk image is malformed|file is not a database|malformed database schema"
    r"|no such (?:table|column)|disk I/O error"
)
_CACHE = re.compile(r"rusqlite|Error code \d+: |database is locked|writing to cache", re.I)


class Failure:
    """What was said of one document, whose path is ``shown`` there."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self.lines: list[str] = []

    @property
    def cache_damaged(self) -> bool:
        """Whether it is rga's cache that is damaged, not the document."""
        return any(_CACHE_DAMAGED.search(line) for line in self._causes())

    @property
    def of_cache(self) -> bool:
        """Whether rga could not use its cache, for whatever reason."""
        return any(_CACHE.search(line) for line in self._causes())

    def reason(self, how_to_install: Callable[[str], str]) -> str:
        """Return why the document could not be read."""
        # Programs that write at the same time write into each other's lines.
        said = [line for line in self._said() if "Syntax Warning" not in line]
        causes = self._causes()
        text = "\n".join([*said, *causes])
        if missing := _MISSING.search(text):
            program = missing["program"]
            return f"{program} is not installed: {how_to_install(program)}"
        if _ENCRYPTED.search(text):
            return "it is encrypted"
        if self.of_cache:
            return f"rga cannot use its cache: {causes[-1]}"
        if complaint := _COMPLAINT.search(text):
            gone = complaint["number"] in ("2", "3")
            return "it is gone" if gone else f"it cannot be read: {complaint['why']}"
        telling = [line for line in causes if "ExitStatus" not in line and "Command {" not in line]
        for line in (*said, *telling):
            if _DAMAGED.search(line):
                return f"it is damaged: {line.rpartition('Syntax Error: ')[2]}"
        what = said or telling[-1:] or ["its programs ended without a message"]
        return f"rga cannot read it: {what[0]}"

    def member(self, path: str) -> str:
        """The member of an archive that could not be read, as far as rga says so."""
        if kind_of(os.path.basename(path)) != "members":
            return ""
        read = [found for line in self.lines if (found := _ADAPTER.match(line))]
        names: list[str] = []
        for found in read:
            name = found["name"]
            # The text of a member is read as `<member>.txt`. Which program does so stands there,
            # too, but another one may write into its name.
            of_text = name.removesuffix(".txt") in names or found["adapter"].startswith("postproc")
            if not of_text and not os.path.isabs(name):
                names.append(name)
        return names[-1] if names else ""

    def _said(self) -> list[str]:
        """What the programs for the document said."""
        end = next(
            (place for place, line in enumerate(self.lines) if line.startswith("Error: ")),
            len(self.lines),
        )
        # There may be line ends in the path.
        said = "\n".join(self.lines[:end]).replace(self._shown, "document").split("\n")
        return [line for line in said if line and not _ADAPTER.match(line)]

    def _causes(self) -> list[str]:
        """What rga itself says, the deepest reason last."""
        start = next(
            (place for place, line in enumerate(self.lines) if line.startswith("Error: ")), None
        )
        if start is None:
            return []
        causes = [self.lines[start].removeprefix("Error: ")]
        for line in self.lines[start + 1 :]:
            if line.startswith("Stack backtrace"):
                break
            if found := _CAUSE.match(line):
                causes.append(found["cause"])
        return causes


class Failures:
    """The documents that could not be read, by path, from what rga writes to stderr."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.found: dict[str, Failure] = {}
        # ripgrep shows paths as Unicode, whatever they are.
        self._paths = {os.fsencode(path).decode("utf-8", "replace"): path for path in paths}
        self._begun = {shown.partition("\n")[0] for shown in self._paths if "\n" in shown}
        self._head: list[str] = []
        self._failure: Failure | None = None
        self._inside = False

    def parse(self, line: bytes) -> bool:
        """Whether the line is of a document."""
        if self._inside:
            self._take_body(line)
            return True
        text = line[: _LINE_BYTES * 50].decode("utf-8", "replace")
        if self._head:
            self._head.append(text)
        elif self._failure is not None and line == _DIVIDER:
            self._inside = True
            return True
        elif line.startswith(_BEGIN):
            self._failure = None
            self._head = [text]
        else:
            return False
        return self._take_head()

    def _take_head(self) -> bool:
        """A line that names a document, or a part of one if its path has line ends."""
        said = "\n".join(self._head).removeprefix("rg: ")
        end = said.find(": ")
        while end >= 0:
            path = self._paths.get(said[:end])
            if path is not None:
                self._take_message(path, said[:end], said[end + 2 :])
                self._head = []
                return True
            end = said.find(": ", end + 1)
        if self._head[0].removeprefix("rg: ") in self._begun and len(self._head) < _HEAD_LINES:
            return True
        self._head = []
        return False

    def _take_message(self, path: str, shown: str, message: str) -> None:
        failure = self.found.setdefault(path, Failure(shown))
        if message.startswith(_FAILED) and "(os error" not in message:
            self._failure = failure
        else:
            failure.lines.append(f"Error: {message}")

    def _take_body(self, line: bytes) -> None:
        assert self._failure is not None
        if line == _DIVIDER:
            self._inside = False
            self._failure = None
        elif len(self._failure.lines) < _MOST_LINES:
            self._failure.lines.append(line[:_LINE_BYTES].decode("utf-8", "replace"))
