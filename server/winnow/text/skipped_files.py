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


class Notes:
    """Counts of what a run of ripgrep with :data:`DEBUG` passed over.

    A folder that is left out as a whole counts once. ``binary`` has the offset of the byte by which
    each binary file was told; ``left_out`` the paths of ignored and hidden entries, as
    :func:`logged` spells them, up to :data:`REMEMBERED` (``forgot`` says that there were more).
    ``symlinks`` counts links to files: ripgrep does not mention those to folders.
    """

    def __init__(self) -> None:
        self.heard = False
        self.ignored = 0
        self.hidden = 0
        self.too_large = 0
        self.symlinks = 0
        self.binary: dict[str, int] = {}
        self.left_out: set[str] = set()
        self.forgot = False
        self._begun = b""

    def take(self, line: bytes) -> bool:
        """Count what a line of the log says; False if it is not of the log."""
        if not line.startswith(_LOG):
            if not self._begun or line.startswith(b"rg: "):
                return line.startswith(_OLD_LOG)
            line = self._begun + b"\n" + line  # there are line ends in some names
        self._begun = b""
        self.heard = True
        if found := _WALK.search(line):
            self._take_left_out(os.fsdecode(found[1]).removeprefix("./"), found[2])
        elif _BEGUN.search(line) and len(line) < LONGEST:
            self._begun = line
        elif found := _BINARY.search(line):
            self.binary[os.fsdecode(found[1]).removeprefix("./")] = int(found[2])
        elif _LINK.search(line):
            self.symlinks += 1
        return True

    def _take_left_out(self, path: str, why: bytes | None) -> None:
        if why is None:
            self.too_large += 1
            return
        if why == b"Types":  # a file that was not asked for
            return
        if len(self.left_out) < REMEMBERED:
            self.left_out.add(path)
        else:
            self.forgot = True
        if why == b"Hidden":
            self.hidden += os.path.basename(path) not in (".git", OWN_FOLDER)
        elif why != b"Override":  # which is what the caller has excluded
            self.ignored += 1


def logged(path: str) -> str:
    """The path as ripgrep's log spells it, which knows Unicode only."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def notes_for(arguments: Sequence[str]) -> Notes | None:
    """Notes for a run with these arguments; None where the log would cost more than it tells."""
    typed = any(one.startswith("--type") for one in arguments)
    return None if typed else Notes()


def skipped(
    notes: Notes | None, *, binary: int = 0, unreadable: int = 0, folder_links: int | None = None
) -> Skipped:
    """What was passed over, as an answer says it: what was not counted is absent.

    ``folder_links`` are the symlinks to folders, if those were counted.
    """
    if notes is None or not notes.heard:
        return Skipped(binary=binary or None, unreadable=unreadable or None)
    return Skipped(
        ignored=notes.ignored,
        hidden=notes.hidden,
        binary=len(notes.binary) + binary,
        too_large=notes.too_large,
        unreadable=unreadable,
        symlink=None if folder_links is None else notes.symlinks + folder_links,
    )
