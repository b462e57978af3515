"""What ripgrep passes over, from its own log.

Nothing but ``--debug`` tells how many files ripgrep left out and why. Its lines are no interface:
one that is not understood counts as nothing, and a count that was not taken is absent. Where file
types are given, ripgrep logs every other file, at five times the cost of the search: not asked for
there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from winnow.config import OWN_FOLDER
from winnow.types import Skipped

_LOG = b"rg: DEBUG|"
# ripgrep before 14 says nothing of binary files: what it tells is no complaint, and not counted.
_OLD_LOG = b"DEBUG|"
_WALK = re.compile(
    rb"\|ignore::walk\|[^ ]+ ignoring (.+): (?:Ignore\(IgnoreMatch\((\w+)|(\d+) bytes)", re.S
)
_BINARY = re.compile(
    rb"\|grep_printer::\w+\|[^ ]+ ignoring (.+): found binary data at offset (\d+)"
)
_LINK = re.compile(rb"\|rg::haystack\|[^ ]+ ignoring .+ is_symlink: true")

DEBUG = "--debug"
REMEMBERED = 50_000
LONGEST = 8_192
_BEGUN = re.compile(rb"\|ignore::walk\|[^ ]+ ignoring ")


class SkippedFiles:
    """The files that one run of ripgrep with :data:`DEBUG` skipped.

    A skipped folder counts once. ``binary`` maps each binary file to the offset of its first NUL
    byte. ``excluded`` has the paths of ignored and hidden entries, as :func:`logged` spells them,
    up to :data:`REMEMBERED`; beyond that ``is_truncated`` is True. ``symlinks`` counts links to
    files: ripgrep does not log links to folders.
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
        self._begun = b""

    def parse(self, line: bytes) -> bool:
        """Count what a line of the log says; False if it is not of the log."""
        if not line.startswith(_LOG):
            if not self._begun or line.startswith(b"rg: "):
                return line.startswith(_OLD_LOG)
            line = self._begun + b"\n" + line  # there are line ends in some names
        self._begun = b""
        self.has_log = True
        if found := _WALK.search(line):
            self._exclude(os.fsdecode(found[1]).removeprefix("./"), found[2])
        elif _BEGUN.search(line) and len(line) < LONGEST:
            self._begun = line
        elif found := _BINARY.search(line):
            self.binary[os.fsdecode(found[1]).removeprefix("./")] = int(found[2])
        elif _LINK.search(line):
            self.symlinks += 1
        return True

    def _exclude(self, path: str, why: bytes | None) -> None:
        if why is None:
            self.too_large += 1
            return
        if why == b"Types":  # a file that was not asked for
            return
        if len(self.excluded) < REMEMBERED:
            self.excluded.add(path)
        else:
            self.is_truncated = True
        if why == b"Hidden":
            self.hidden += os.path.basename(path) not in (".git", OWN_FOLDER)
        elif why != b"Override":  # which is what the caller has excluded
            self.ignored += 1


def logged(path: str) -> str:
    """The path as ripgrep's log spells it, which knows Unicode only."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def skipped_files_for(arguments: Sequence[str]) -> SkippedFiles | None:
    """Notes for a run with these arguments; None where the log would cost more than it tells."""
    typed = any(one.startswith("--type") for one in arguments)
    return None if typed else SkippedFiles()


def skipped_counts(
    skipped: SkippedFiles | None,
    *,
    binary: int = 0,
    unreadable: int = 0,
    folder_links: int | None = None,
) -> Skipped:
    """What was passed over, as an answer says it: what was not counted is absent.

    ``folder_links`` are the symlinks to folders, if those were counted.
    """
    if skipped is None or not skipped.has_log:
        return Skipped(binary=binary or None, unreadable=unreadable or None)
    return Skipped(
        ignored=skipped.ignored,
        hidden=skipped.hidden,
        binary=len(skipped.binary) + binary,
        too_large=skipped.too_large,
        unreadable=unreadable,
        symlink=None if folder_links is None else skipped.symlinks + folder_links,
    )
