"""Count the files that ripgrep skips, from its log.

Only ``--debug`` reports how many files ripgrep skips and why. Its log has no stable format, so
unknown lines don't count, and a missing count is absent. With file types, ripgrep logs every other
file, at five times the cost of the search; then there is no log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from winnow.storage.state_folder import OWN_FOLDER

_LOG = b"rg: DEBUG|"
# Before version 14, ripgrep does not log binary files. Its log is neither an error nor counted.
_OLD_LOG = b"DEBUG|"
_WALK = re.compile(
    rb"\|ignore::walk\|[^ ]+ ignoring (.+): (?:Ignore\(IgnoreMatch\((\w+)"
    rb"(?:\(Glob \{ from: Some\(\"([^\"]*)\"\))?|(\d+) bytes)",
    re.S,
)
_BINARY = re.compile(
    rb"\|grep_printer::\w+\|[^ ]+ ignoring (.+): found binary data at offset (\d+)"
)
_LINK = re.compile(rb"\|rg::haystack\|[^ ]+ ignoring .+ is_symlink: true")

DEBUG = "--debug"
REMEMBERED = 50_000
LONGEST = 8_192
_START = re.compile(rb"\|ignore::walk\|[^ ]+ ignoring ")


class SkippedFiles:
    """The files that one run of ripgrep with :data:`DEBUG` skipped.

    A skipped folder counts once. ``binary`` maps each binary file to the offset of its first NUL
    byte. ``excluded`` has the paths of ignored and hidden entries, in the form of
    :func:`as_logged`, up to :data:`REMEMBERED`; beyond that ``is_truncated`` is True.
    ``ignore_files`` are the files whose rules ignored them. ``symlinks`` counts links to files:
    ripgrep does not log links to folders.
    """

    def __init__(self) -> None:
        self.has_log = False
        self.ignored = 0
        self.hidden = 0
        self.too_large = 0
        self.symlinks = 0
        self.binary: dict[str, int] = {}
        self.excluded: set[str] = set()
        self.is_truncated = False
        self.ignore_files: set[str] = set()
        self._start = b""  # of a line that continues

    def parse(self, line: bytes) -> bool:
        """Count a line of the log. Return False if it does not belong to the log."""
        if not line.startswith(_LOG):
            if not self._start or line.startswith(b"rg: "):
                return line.startswith(_OLD_LOG)
            line = self._start + b"\n" + line  # a name contains a line end
        self._start = b""
        self.has_log = True
        if found := _WALK.search(line):
            self._exclude(os.fsdecode(found[1]).removeprefix("./"), found[2])
            if found[3]:
                self.ignore_files.add(os.fsdecode(found[3]).removeprefix("./"))
        elif _START.search(line) and len(line) < LONGEST:
            self._start = line
        elif found := _BINARY.search(line):
            self.binary[os.fsdecode(found[1]).removeprefix("./")] = int(found[2])
        elif _LINK.search(line):
            self.symlinks += 1
        return True

    def _exclude(self, path: str, why: bytes | None) -> None:
        if why is None:
            self.too_large += 1
            return
        if why == b"Types":  # not a requested type
            return
        if len(self.excluded) < REMEMBERED:
            self.excluded.add(path)
        else:
            self.is_truncated = True
        if why == b"Hidden":
            self.hidden += os.path.basename(path) not in (".git", OWN_FOLDER)
        elif why != b"Override":  # excluded by the caller
            self.ignored += 1


def as_logged(path: str) -> str:
    """Return the path as ripgrep's log spells it: it writes only Unicode."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def skipped_files_for(arguments: Sequence[str]) -> SkippedFiles | None:
    """Return a parser for a run with these arguments; None if the log would cost too much."""
    has_types = any(argument.startswith("--type") for argument in arguments)
    return None if has_types else SkippedFiles()
