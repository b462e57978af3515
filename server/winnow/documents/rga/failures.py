"""Turn the errors of rga and the programs it runs into reasons that a user understands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from winnow.documents.rga.prefixes import kind_of

# ripgrep prints the errors of the preprocessor between two lines of dashes.
_DIVIDER = b"-" * 79
_MOST_LINES = 60
_LINE_BYTES = 400

_ADAPTER = re.compile(r"^(?P<name>.*) adapter: (?P<adapter>\w+)$")
_CAUSE = re.compile(r"^\s+(?:\d+: )?(?P<cause>\S.*)$")
_OS_ERROR = re.compile(r"(?:^|: )(?P<why>[^:\n]+) \(os error (?P<number>\d+)\)$", re.M)
_MISSING = re.compile(r'Could not find executable "(?P<program>[^"]+)"')
_ENCRYPTED = re.compile(r"Incorrect password|Unsupported encryption|password.protected", re.I)
# The first letter of pandoc's message may end up in the line of another program.
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


class RgaFailure:
    """The error messages of one run of rga, which searches a single document."""

    def __init__(self, path: str) -> None:
        self.lines: list[str] = []
        self._path = path
        self._inside = False

    def parse(self, line: bytes) -> bool:
        """Add a line of stderr if it is about the document."""
        if line == _DIVIDER:
            self._inside = not self._inside
        elif not self._inside and b"(os error" not in line:
            return False
        elif len(self.lines) < _MOST_LINES:
            limit = _LINE_BYTES if self._inside else _LINE_BYTES * 50  # the line includes the path
            text = line[:limit].decode("utf-8", "replace")
            self.lines.append(text if self._inside else f"Error: {text.replace(self._path, '')}")
        return True

    @property
    def cache_damaged(self) -> bool:
        """True if rga's cache is damaged rather than the document."""
        return any(_CACHE_DAMAGED.search(cause) for cause in self._split()[1])

    @property
    def of_cache(self) -> bool:
        """True if rga could not use its cache."""
        return any(_CACHE.search(cause) for cause in self._split()[1])

    def reason(self, how_to_install: Callable[[str], str]) -> str:
        """Return why rga could not read the document."""
        messages, causes = self._split()
        text = "\n".join([*messages, *causes])
        if missing := _MISSING.search(text):
            program = missing["program"]
            return f"{program} is not installed: {how_to_install(program)}"
        if _ENCRYPTED.search(text):
            return "it is encrypted"
        if self.of_cache:
            return f"rga cannot use its cache: {causes[-1]}"
        if error := _OS_ERROR.search(text):
            is_gone = error["number"] in ("2", "3")
            return "it is gone" if is_gone else f"it cannot be read: {error['why']}"
        causes = [line for line in causes if "ExitStatus" not in line and "Command {" not in line]
        for line in (*messages, *causes):
            if _DAMAGED.search(line):
                return f"it is damaged: {line.rpartition('Syntax Error: ')[2]}"
        explanations = messages or causes[-1:] or ["its programs ended without a message"]
        return f"rga cannot read it: {explanations[0]}"

    def member(self) -> str:
        """Return the member of an archive that could not be read, if rga names it."""
        if kind_of(os.path.basename(self._path)) != "members":
            return ""
        names: list[str] = []
        for adapter in filter(None, map(_ADAPTER.match, self.lines)):
            name = adapter["name"]
            # rga reads the text of a member as `<member>.txt`. The line also names the adapter, but
            # the message of another program may be mixed into that name.
            is_text = name.removesuffix(".txt") in names
            is_text |= adapter["adapter"].startswith("postproc")
            if not is_text and not os.path.isabs(name):
                names.append(name)
        return names[-1] if names else ""

    def _split(self) -> tuple[list[str], list[str]]:
        """Return the messages of the programs, and the causes that rga reports, deepest last."""
        errors = [number for number, line in enumerate(self.lines) if line.startswith("Error: ")]
        end = errors[0] if errors else len(self.lines)
        # The path may contain words such as "corrupt" and line breaks.
        text = "\n".join(self.lines[:end]).replace(self._path, "document")
        messages = [
            line
            for line in text.split("\n")
            # Programs that write at the same time write into each other's lines.
            if line and not _ADAPTER.match(line) and "Syntax Warning" not in line
        ]
        causes = [line.removeprefix("Error: ") for line in self.lines[end : end + 1]]
        for line in self.lines[end + 1 :]:
            if line.startswith("Stack backtrace"):
                break
            if cause := _CAUSE.match(line):
                causes.append(cause["cause"])
        return messages, causes
