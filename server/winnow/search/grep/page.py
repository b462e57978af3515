"""A page of matches: the matches after a cursor, with their lines, up to a limit.

The page reads matching lines and context in the order of paths, from the first. This makes a
cursor exact: the page skips what comes before its position, and a fingerprint of the files on
earlier pages shows whether they have changed.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from typing import Annotated

from msgspec import Meta, Struct

from winnow.text.buffers import Overlay
from winnow.text.ripgrep import FileLine
from winnow.text.scope import Scope, path_order
from winnow.types import InRepository, Result

# Approximate size of a match besides the text of its lines.
MATCH_BYTES = 200


class PreviewLine(Result, frozen=True, kw_only=True, gc=False):
    """A line of a file."""

    line: Annotated[int, Meta(description="Line number, from 1.")]
    text: Annotated[str, Meta(description="The line, without its line ending.")]
    match: Annotated[
        bool, Meta(description="True if the line matches; false for a context line.")
    ] = False
    text_column: Annotated[
        int | None,
        Meta(
            description="Column of the first character of `text`, if a long line was cut around"
            " its match."
        ),
    ] = None


class GrepMatch(InRepository, frozen=True, kw_only=True, gc=False):
    """A match. Columns start at 1 and count code points; the end is exclusive."""

    line: Annotated[int, Meta(description="Line number of the start of the match, from 1.")]
    column: Annotated[int, Meta(description="Column of the start of the match.")]
    match_range: Annotated[
        tuple[int, int],
        Meta(description="First column, and the column after the last (in `end_line`, if set)."),
    ]
    preview: Annotated[
        list[PreviewLine],
        Meta(
            description="The line and its context. A line that belongs to the context of several"
            " matches is in one preview only."
        ),
    ]
    end_line: Annotated[int | None, Meta(description="The line where a multi-line match ends.")] = (
        None
    )


class MatchPosition(Struct, frozen=True, array_like=True, gc=False):
    """The position of the last match on a page."""

    path: bytes
    line: int
    column: int


class GrepPage:
    """The matches on a page, collected line by line.

    ``after`` is the position where the previous page ended, with the fingerprint of the files up to
    there. ``matches`` and ``positions`` exclude the matches removed with :meth:`pop`. ``seen``
    counts all matches, ``returned`` the matches on the page. ``more`` is True if matches follow the
    page, ``changed`` if files on earlier pages have changed, ``no_room`` if the page ended because
    of its size.
    """

    def __init__(
        self,
        scope: Scope,
        overlay: Overlay,
        after: tuple[MatchPosition, bytes] | None = None,
        *,
        max_matches: int,
        max_bytes: int | None,
        context: int,
    ) -> None:
        self.matches: list[GrepMatch] = []
        self.positions: list[MatchPosition] = []
        self.digests: dict[bytes, bytes] = {}
        self.seen = 0
        self.returned = 0
        self.full = False
        self.more = False
        self.changed = False
        self.no_room = False
        self.cut_lines = 0
        self._max_matches = max_matches
        self._room = max_bytes
        self._scope = scope
        self._order = path_order(scope)
        self._files = Fingerprint(scope, overlay)
        self._previews = _Previews(context)
        self._on_last_line = 0
        self._path, self._raw_path = "", b""
        self._shown = InRepository(path="")
        self._after = after[0] if after else None
        self._stamp = after[1] if after else b""
        self._after_key = self._order(os.fsdecode(self._after.path)) if self._after else None
        self._is_past_cursor = self._after is None
        self._in_first_file = False

    def add(self, path: str, line: FileLine) -> None:
        """Add a line of the search: its matches, or the context of others."""
        if path != self._path:
            self._begin_file(path)
        new: list[GrepMatch] = []
        for place, (start, _) in enumerate(line.line.ranges):
            self.seen += 1
            if not self._is_after_cursor(line.number, start + 1):
                continue
            if self.full:
                self.more = True
                continue
            new.append(self._match(line, place))
            self.positions.append(MatchPosition(self._raw_path, line.number, start + 1))
            self.returned += 1
            self.full = self.returned >= self._max_matches
        self.matches += new
        self._on_last_line = len(new) or self._on_last_line
        size = self._previews.add(line, new)
        self.cut_lines += line.line.cut and size > 0
        if new and self._raw_path not in self.digests:
            self.digests[self._raw_path] = self._files.digest()
        if self._room is not None and size:
            self._room -= size + MATCH_BYTES * len(new)
            self.no_room |= self._room < 0
            self.full |= self.no_room

    def end(self) -> None:
        """Finish the page: there are no more lines."""
        if not self._is_past_cursor:
            self._pass_cursor()

    @property
    def ready(self) -> int:
        """The number of matches whose previews are complete: all before the last line with matches,
        of which the first has the context behind it."""
        return len(self.matches) - self._on_last_line

    def pop(self) -> list[GrepMatch]:
        """Remove and return the matches whose previews are complete."""
        count = self.ready
        ready, self.matches = self.matches[:count], self.matches[count:]
        self.positions = self.positions[count:]
        self.digests = {last.path: self.digests[last.path] for last in self.positions}
        return ready

    def _begin_file(self, path: str) -> None:
        self._path, self._raw_path = path, os.fsencode(path)
        self._shown = self._scope.shown(path)
        self._previews.begin_file()
        self._in_first_file = False
        if self._after_key is not None and not self._is_past_cursor:
            key = self._order(path)
            if key > self._after_key:
                self._pass_cursor()
            self._in_first_file = key == self._after_key
        self._files.add(path)

    def _pass_cursor(self) -> None:
        self._is_past_cursor = True
        self.changed = self._files.digest() != self._stamp

    def _is_after_cursor(self, line: int, column: int) -> bool:
        if self._is_past_cursor:
            return True
        if self._after is None or not self._in_first_file:
            return False
        return (line, column) > (self._after.line, self._after.column)

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
    """Adds each line of a file to the preview of one match.

    A match gets its own lines and the context after it; the rest goes to the next match.
    """

    def __init__(self, context: int) -> None:
        self._context = context
        self.begin_file()

    def begin_file(self) -> None:
        self._waiting: deque[PreviewLine] = deque(maxlen=self._context or 1)
        self._last: GrepMatch | None = None
        self._last_line = 0

    def add(self, line: FileLine, new: list[GrepMatch]) -> int:
        """Add a line with its new matches; return the number of characters shown."""
        text = line.line
        shown = PreviewLine(
            line=line.number,
            text=text.text,
            match=line.matched,
            text_column=text.start or None,
        )
        if new:
            first = line.number - self._context
            before = [waiting for waiting in self._waiting if waiting.line >= first]
            new[0].preview.extend([*before, shown])
            self._waiting.clear()
            self._last, self._last_line = new[0], line.number
            return sum(len(shown.text) for shown in new[0].preview)
        continues = line.matched and not text.ranges and line.number == self._last_line + 1
        if self._last and (continues or line.number <= self._last_line + self._context):
            self._last.preview.append(shown)
            self._last_line += continues
            return len(text.text)
        self._waiting.append(shown)
        return 0


class Fingerprint:
    """A digest of an ordered list of files: names, sizes and times, or unsaved texts."""

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
