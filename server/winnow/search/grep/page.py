"""A page of matches: those behind the cursor, as many as are wanted, with their lines.

The page reads matching lines and context in the order of paths from the first on. That is what
makes a cursor exact: what stands before its position is passed over, and a fingerprint of the files
that were answered tells whether they are still the same.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque

from msgspec import Struct

from winnow.search.answer import cursor
from winnow.text.buffers import Overlay
from winnow.text.ripgrep import FileLine
from winnow.text.scope import DisplayPath, Scope, order
from winnow.types.grep import GrepMatch, GrepParams, PreviewLine

# What a match takes besides the text of its lines, about.
MATCH_BYTES = 200


class Position(Struct, frozen=True, array_like=True):
    """The last match that was answered."""

    path: bytes
    line: int
    column: int


class Page:
    """The matches for an answer, collected line by line.

    ``matches`` and ``positions`` are those that were not taken away with :meth:`pop`. ``seen``
    counts all matches that came by, ``returned`` those of the page. ``more`` says that there are
    some behind it, ``changed`` that the files before the cursor are not what they were, and
    ``no_room`` that the page ended for its size.
    """

    def __init__(
        self, params: GrepParams, scope: Scope, overlay: Overlay, max_bytes: int | None
    ) -> None:
        self.matches: list[GrepMatch] = []
        self.positions: list[Position] = []
        self.digests: dict[bytes, bytes] = {}
        self.seen = 0
        self.returned = 0
        self.full = False
        self.more = False
        self.changed = False
        self.no_room = False
        self.cut_lines = 0
        self._wanted = params.max_results
        self._room = max_bytes
        self._scope = scope
        self._order = order(scope)
        self._files = Fingerprint(scope, overlay)
        self._previews = _Previews(params.context_lines)
        self._path, self._raw_path = "", b""
        self._shown = DisplayPath("", None, None)
        continued = cursor.decode(params, Position)
        self._from = continued[0] if continued else None
        self._stamp = continued[1] if continued else b""
        self._from_key = self._order(os.fsdecode(self._from.path)) if self._from else None
        self._passed = self._from is None  # whether the cursor's position is behind
        self._in_first_file = False

    def take(self, path: str, line: FileLine) -> None:
        """Add a line of the search: its matches, or what it is to the matches beside it."""
        if path != self._path:
            self._begin_file(path)
        new: list[GrepMatch] = []
        for place, (start, _) in enumerate(line.line.ranges):
            self.seen += 1
            if not self._is_behind_cursor(line.number, start + 1):
                continue
            if self.full:
                self.more = True
                continue
            new.append(self._match(line, place))
            self.positions.append(Position(self._raw_path, line.number, start + 1))
            self.returned += 1
            self.full = self.returned >= self._wanted
        self.matches += new
        size = self._previews.take(line, new)
        self.cut_lines += line.line.cut and size > 0
        if new and self._raw_path not in self.digests:
            self.digests[self._raw_path] = self._files.digest()
        if self._room is not None and size:
            self._room -= size + MATCH_BYTES * len(new)
            self.no_room |= self._room < 0
            self.full |= self.no_room

    def end(self) -> None:
        """There are no more lines."""
        if not self._passed:
            self._pass_cursor()

    def pop(self) -> list[GrepMatch]:
        """The matches whose previews are complete, which the page forgets."""
        ready, self.matches = self.matches[:-1], self.matches[-1:]
        self.positions = self.positions[-1:]
        self.digests = {one.path: self.digests[one.path] for one in self.positions}
        return ready

    def _begin_file(self, path: str) -> None:
        self._path, self._raw_path = path, os.fsencode(path)
        self._shown = self._scope.shown(path)
        self._previews.begin_file()
        self._in_first_file = False
        if self._from_key is not None and not self._passed:
            key = self._order(path)
            if key > self._from_key:
                self._pass_cursor()
            self._in_first_file = key == self._from_key
        self._files.add(path)

    def _pass_cursor(self) -> None:
        self._passed = True
        self.changed = self._files.digest() != self._stamp

    def _is_behind_cursor(self, line: int, column: int) -> bool:
        if self._passed:
            return True
        if self._from is None or not self._in_first_file:
            return False
        return (line, column) > (self._from.line, self._from.column)

    def _match(self, line: FileLine, place: int) -> GrepMatch:
        start, end = line.line.ranges[place]
        end_line, end = line.ends.get(place, (None, end))
        return GrepMatch(
            path=self._shown.path,
            line=line.number,
            column=start + 1,
            match_range=(start + 1, end + 1),
            preview=[],
            end_line=end_line,
            root=self._shown.root,
            uri=self._shown.uri,
        )


class _Previews:
    """Hands each line of a file to the preview of one match: its own lines to a match, then as
    many of context behind it, and what is left to the match that follows."""

    def __init__(self, context: int) -> None:
        self._context = context
        self.begin_file()

    def begin_file(self) -> None:
        self._waiting: deque[PreviewLine] = deque(maxlen=self._context or 1)
        self._last: GrepMatch | None = None
        self._last_line = 0

    def take(self, line: FileLine, new: list[GrepMatch]) -> int:
        """Hand on a line with its new matches; the number of characters that were shown."""
        text = line.line
        shown = PreviewLine(
            line=line.number,
            text=text.text,
            match=line.matched,
            text_column=text.start or None,
        )
        if new:
            first = line.number - self._context
            before = [one for one in self._waiting if one.line >= first]
            new[0].preview.extend([*before, shown])
            self._waiting.clear()
            self._last, self._last_line = new[0], line.number
            return sum(len(one.text) for one in new[0].preview)
        goes_on = line.matched and not text.ranges and line.number == self._last_line + 1
        if self._last and (goes_on or line.number <= self._last_line + self._context):
            self._last.preview.append(shown)
            self._last_line += goes_on
            return len(text.text)
        self._waiting.append(shown)
        return 0


class Fingerprint:
    """A digest of files in order: of their names, sizes and times, or of their unsaved text."""

    def __init__(self, scope: Scope, overlay: Overlay) -> None:
        self._scope = scope
        self._overlay = overlay
        self._hash = hashlib.blake2b(digest_size=8)

    def add(self, path: str) -> None:
        self._hash.update(os.fsencode(path) + b"\0" + self._state(path))

    def digest(self) -> bytes:
        return self._hash.digest()

    def _state(self, path: str) -> bytes:
        try:
            if path in self._overlay.paths:
                return self._overlay.read(path) + b"\0"
            state = os.stat(os.path.join(self._scope.root, path))
        except OSError:
            return b"?"
        return b"%d %d\0" % (state.st_size, state.st_mtime_ns)
