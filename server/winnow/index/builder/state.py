"""The state of a folder's index, and its transitions.

Nothing sets the state: whatever happens to an index is an :class:`Event`, and :data:`TRANSITIONS`
has the state that follows. An event that the table does not have is a bug. It is logged, and the
state stays; in tests it raises.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Mapping, Set

logger = logging.getLogger(__name__)


class FolderState(enum.Enum):
    """The state of a folder's index."""

    ABSENT = "absent"
    """There is no index, and no build was accepted."""
    OPENING = "opening"
    """The index of an earlier process is being compared with the disk."""
    BUILDING = "building"
    """The index lacks files that searches cover."""
    UNWRITABLE = "unwritable"
    """The same, and the folder cannot be written: a temporary store is being filled."""
    DAMAGED = "damaged"
    """The store is damaged and answers where it can, until its successor is complete."""
    COMPLETE = "complete"
    """The index has all files as they were at the last comparison with the disk."""
    STALE = "stale"
    """The same, and a comparison has found changes that are not written yet."""

    @property
    def is_complete(self) -> bool:
        """True if the index has all files, some perhaps in an older version."""
        return self in (FolderState.COMPLETE, FolderState.STALE)


class Event(enum.Enum):
    """Something that happens to a folder's index."""

    OPEN_STARTED = "an index is being compared with the disk"
    OPENED = "all or nearly all of its files are as on disk"
    PARTLY_OPENED = "most of its files are as on disk"
    NOTHING_OPENED = "there is no index, or most of its files differ from the disk"
    BUILD_STARTED = "a build was requested, and the folder has not too many files"
    TOO_MANY_FILES = "a build was requested, and the folder has too many files"
    NOT_WRITABLE = "the build that has started writes to a temporary store, because a write failed"
    CHANGES_FOUND = "a comparison with the disk has found changes"
    CAUGHT_UP = "all changes that a comparison with the disk has found are written"
    STORE_LOST = "the store was closed, and what it has is not the index any more"
    DAMAGE_FOUND = "the store is damaged"
    REPLACED = "the complete successor of a damaged store has replaced it"


_ABSENT, _OPENING, _BUILDING = FolderState.ABSENT, FolderState.OPENING, FolderState.BUILDING
_UNWRITABLE, _DAMAGED = FolderState.UNWRITABLE, FolderState.DAMAGED
_COMPLETE, _STALE = FolderState.COMPLETE, FolderState.STALE

TRANSITIONS: Mapping[Event, Mapping[FolderState, FolderState]] = {
    Event.OPEN_STARTED: {_ABSENT: _OPENING, _BUILDING: _OPENING},
    Event.OPENED: {_OPENING: _COMPLETE},
    Event.PARTLY_OPENED: {_OPENING: _BUILDING},
    Event.NOTHING_OPENED: {_OPENING: _ABSENT},
    Event.BUILD_STARTED: {_ABSENT: _BUILDING, _OPENING: _BUILDING},
    Event.TOO_MANY_FILES: dict.fromkeys(
        (_OPENING, _BUILDING, _UNWRITABLE, _COMPLETE, _STALE), _ABSENT
    ),
    Event.NOT_WRITABLE: {_BUILDING: _UNWRITABLE},
    Event.CHANGES_FOUND: {_COMPLETE: _STALE},
    # A check completes the index of a small folder without a build.
    Event.CAUGHT_UP: dict.fromkeys((_ABSENT, _OPENING, _BUILDING, _UNWRITABLE, _STALE), _COMPLETE),
    Event.STORE_LOST: dict.fromkeys((_BUILDING, _UNWRITABLE, _DAMAGED, _COMPLETE, _STALE), _ABSENT),
    Event.DAMAGE_FOUND: dict.fromkeys(
        (_ABSENT, _OPENING, _BUILDING, _UNWRITABLE, _COMPLETE, _STALE), _DAMAGED
    ),
    Event.REPLACED: {_DAMAGED: _COMPLETE},
}
"""The state that follows, by event and by the state before."""

WITHOUT_EFFECT: Mapping[Event, Set[FolderState]] = {
    Event.OPEN_STARTED: {_UNWRITABLE, _DAMAGED},
    Event.BUILD_STARTED: {_BUILDING, _UNWRITABLE, _DAMAGED, _COMPLETE, _STALE},
    Event.TOO_MANY_FILES: {_ABSENT, _DAMAGED},
    Event.CHANGES_FOUND: {_ABSENT, _OPENING, _BUILDING, _UNWRITABLE, _DAMAGED, _STALE},
    # Only its successor completes a damaged index.
    Event.CAUGHT_UP: {_COMPLETE, _DAMAGED},
    Event.STORE_LOST: {_ABSENT, _OPENING},
}
"""The states that an event leaves as they are."""


class Lifecycle:
    """The state of the index with a name, and the last problem with it.

    ``follow`` is called after each event, to keep up what depends on the state.
    """

    def __init__(self, name: str, follow: Callable[[Event], None]) -> None:
        self._failure = ""
        self._problem = ""
        self._name = name
        self._follow = follow
        self._state = FolderState.ABSENT

    @property
    def state(self) -> FolderState:
        return self._state

    @property
    def problem(self) -> str:
        """Why the index is incomplete or does not last, for a user; empty if it is as it should
        be."""
        return self._problem or self._failure

    @problem.setter
    def problem(self, problem: str) -> None:
        self._problem, self._failure = problem, ""

    def failed(self, problem: str) -> None:
        """Record a problem until the index has caught up with the disk."""
        self._failure = problem

    def on(self, event: Event) -> None:
        """Change the state as the table says."""
        if event is Event.CAUGHT_UP:
            self._failure = ""
        after = TRANSITIONS[event].get(self._state)
        if after is not None:
            self._state = after
        elif self._state not in WITHOUT_EFFECT.get(event, ()):
            report_undefined(f"The index of {self._name} is {self._state.value}, and {event.value}")
        self._follow(event)


def report_undefined(message: str) -> None:
    """Log an event that should not happen in the state of an index."""
    logger.error("%s: no such transition", message)
