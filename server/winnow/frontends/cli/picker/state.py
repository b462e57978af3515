"""The state of the picker: the query, the answer, the selected row and its preview.

Changes come as method calls, so that tests need no terminal.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import NamedTuple

HINT = "Type a question, a name or a file name, or paste an error message."


class Row(NamedTuple):
    """A result: ``path`` relative to the current folder, ``file`` the absolute path, which must be
    below ``root``, and the lines ``line`` to ``last``. ``best`` is the line to open, with the text
    ``code``. The ``file`` of a ``repository`` in the search cluster is relative to it."""

    path: str
    file: str
    line: int | None = None
    last: int | None = None
    best: int | None = None
    code: str = ""
    why: str = ""
    root: str = ""
    repository: str = ""
    commit: str = ""


class Answer(NamedTuple):
    """The rows of an answer, its size in words, and what it lacks. ``words`` are highlighted.

    ``is_early`` is True if the index was still being built.
    """

    rows: Sequence[Row] = ()
    summary: str = ""
    notes: Sequence[str] = ()
    words: re.Pattern[str] | None = None
    search_id: str = ""
    is_early: bool = False


class Preview(NamedTuple):
    """Lines of the file of a row, from line ``first`` on, or why there are none."""

    row: Row
    first: int = 1
    lines: Sequence[str] = ()
    problem: str = ""


class Action(enum.Enum):
    """What to do with the chosen row."""

    OPEN = "open"
    PRINT = "print"


class Choice(NamedTuple):
    """The chosen row, its rank (from 1) and the answer's id."""

    action: Action
    row: Row
    rank: int
    search_id: str


class Picker:
    """The state of the picker.

    Each query has a number. An answer counts only if its number is that of the latest query, so
    that a late answer never replaces a newer one; until an answer comes, the earlier rows stay.
    """

    def __init__(self) -> None:
        self.query = ""
        self.answer = Answer(summary=HINT)
        self.selected = 0
        self.preview: Preview | None = None
        self.progress = ""
        self._number = 0
        self._is_answered = True
        self._has_moved = False
        self._wanted: Action | None = None

    # --- searches --------------------------------------------------------------------------

    def typed(self, text: str) -> int | None:
        """Take the text of the prompt. Return the number of the query, or None if it has not
        changed."""
        if text.strip() == self.query:
            return None
        self.query = text.strip()
        self._number += 1
        self._wanted = None
        if self.query:
            self._is_answered = self._has_moved = False
            if not self.answer.rows:
                self.answer = Answer()
        else:
            self._show(Answer(summary=HINT))
        return self._number

    def answered(self, number: int, answer: Answer) -> None:
        """Show an answer, unless the query has changed since."""
        if number == self._number:
            self._show(answer)

    def refreshed(self, number: int, answer: Answer) -> None:
        """Show a better answer to the same query, with the same row selected if it is there."""
        if number == self._number:
            self.selected = _position(self.row, answer.rows, self.selected)
            self.answer = answer

    def failed(self, number: int, problem: str) -> None:
        """Show why a search has failed, unless the query has changed since."""
        self.answered(number, Answer(notes=[problem]))

    def report(self, number: int, progress: str) -> None:
        """Show what a search is doing, unless it has ended."""
        if number == self._number and not self._is_answered:
            self.progress = progress

    def _show(self, answer: Answer) -> None:
        self.answer, self.selected, self.progress = answer, 0, ""
        self._is_answered, self._has_moved = True, False

    # --- rows ------------------------------------------------------------------------------

    @property
    def row(self) -> Row | None:
        """The selected row."""
        return self.answer.rows[self.selected] if self.answer.rows else None

    def move(self, rows: int) -> None:
        """Move the selection down by a number of rows, or up if it is negative."""
        self.select(self.selected + rows)

    def select(self, index: int) -> None:
        """Select a row, the nearest one if there is none with this index."""
        self.selected = max(0, min(index, len(self.answer.rows) - 1))
        self._has_moved = True

    def previewed(self, preview: Preview) -> None:
        """Show a preview, unless another row has been selected since."""
        if preview.row == self.row:
            self.preview = preview

    def choose(self, action: Action) -> Choice | None:
        """Return the choice of the selected row.

        Return None while the rows belong to an earlier query: :meth:`decided` returns the choice
        once the answer is there. A row that the user has selected meanwhile is chosen at once.
        """
        if not self._is_answered and not self._has_moved:
            self._wanted = action
            return None
        if self.row is None:
            return None
        return Choice(action, self.row, self.selected + 1, self.answer.search_id)

    def decided(self) -> Choice | None:
        """Return the choice that was waiting for an answer, once that has come."""
        if self._wanted is None or not self._is_answered:
            return None
        action, self._wanted = self._wanted, None
        return self.choose(action)


def _position(selected: Row | None, rows: Sequence[Row], index: int) -> int:
    """Return where a row is among new ones: at best the same place, otherwise the same file,
    otherwise the same position."""
    if selected is not None:
        places = [(row.file, row.line) for row in rows]
        if (selected.file, selected.line) in places:
            return places.index((selected.file, selected.line))
        files = [row.file for row in rows]
        if selected.file in files:
            return files.index(selected.file)
    return max(0, min(index, len(rows) - 1))
