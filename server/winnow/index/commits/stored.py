"""Keep the commit history of a store in memory, decoded, until the store has another one."""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from winnow.index.commits.history import Commit, CommitHistory, CommitTable

if TYPE_CHECKING:
    from winnow.index.store.reader import Reader

T = TypeVar("T")

logger = logging.getLogger(__name__)


class StoredHistory:
    """The commit history of one store; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: tuple[object, int | None] = (None, None)
        self._history: CommitHistory | None = None

    def at(self, reader: Reader) -> CommitHistory | None:
        """Return the history as a reader sees it; None if there is none, or it cannot be decoded.
        Raises StoreDamaged."""
        version = reader.store, reader.history_id()
        with self._lock:
            if self._version != version:
                self._history = _decoded(reader, CommitHistory)
                self._version = version
            return self._history


def stored_commits(reader: Reader) -> list[Commit]:
    """Return the commits in a store; none if they cannot be decoded. Raises StoreDamaged."""
    return _decoded(reader, CommitTable.commits) or []


def _decoded(reader: Reader, use: Callable[[CommitTable], T]) -> T | None:
    data = reader.history()
    try:
        return None if data is None else use(CommitTable.decode(data))
    except (zlib.error, msgspec.MsgspecError, ValueError, IndexError) as error:
        logger.warning("The commits in an index cannot be decoded: %s", error)
        return None
