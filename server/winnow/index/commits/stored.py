"""Keep the commit history of a store in memory, decoded, until the store has another one."""

from __future__ import annotations

import logging
import threading
import zlib
from typing import TYPE_CHECKING

import msgspec

from winnow.index.commits.history import Commit, CommitHistory, CommitTable

if TYPE_CHECKING:
    from winnow.index.store.reader import Reader

logger = logging.getLogger(__name__)


class StoredHistory:
    """The commit history of one store; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[object, int | None] = (None, None)
        self._history: CommitHistory | None = None

    def at(self, reader: Reader) -> CommitHistory | None:
        """Return the history as a reader sees it; None if there is none, or it cannot be decoded.
        Raises StoreDamaged."""
        version = reader.store, reader.history_id()
        with self._lock:
            if self._known != version:
                self._known, self._history = version, _history(reader)
            return self._history


def stored_commits(reader: Reader) -> list[Commit]:
    """Return the commits in a store; none if they cannot be decoded. Raises StoreDamaged."""
    table = _table(reader)
    return table.commits() if table else []


def _history(reader: Reader) -> CommitHistory | None:
    table = _table(reader)
    return CommitHistory(table) if table else None


def _table(reader: Reader) -> CommitTable | None:
    data = reader.history()
    try:
        return CommitTable.decode(data) if data is not None else None
    except (zlib.error, msgspec.MsgspecError, ValueError) as error:
        logger.warning("The commits in an index cannot be decoded: %s", error)
        return None
