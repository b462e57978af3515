"""What is on disk: the store of a folder, which may be lost, temporary, damaged or replaced.

A store that was deleted is opened again. If a write fails, a temporary store takes its place until
the folder can be written. A damaged store answers until it has a successor.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from winnow.errors import IndexUnavailable
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.state import Event, Lifecycle
from winnow.index.builder.write_retry import WriteRetry
from winnow.index.store.generations import delete_files
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store, delete
from winnow.processes.waiting import run_to_end
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged

if TYPE_CHECKING:
    from winnow.index.commits.stored import StoredHistory
    from winnow.index.store.file_table import FileTable

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Attempts of a request that meets damage: the store is opened again, found to be damaged, and
# replaced by its successor, which answers.
MOST_TRIES = 4


class FolderStore:
    """The store of a folder, opened on first use.

    Only this class opens, replaces and closes stores. ``lifecycle`` hears of lost and damaged ones.
    Nothing is written to a folder that is not ``writable``.
    """

    def __init__(
        self,
        root: Path,
        settings: Callable[[], FolderSettings],
        lifecycle: Lifecycle,
        writable: bool,
    ) -> None:
        self.writable = writable
        self.notice: str | None = None  # about an ignored `.winnow` folder
        self.damage = ""  # confirmed, of the store
        self.stores_changed = 0  # times that the store was replaced or opened again
        self._root = root
        self._settings = settings
        self._lifecycle = lifecycle
        self._lock = asyncio.Lock()  # while a store is opened, replaced or closed
        self._closed = False
        self._is_persistent = False  # the store is on disk once it is needed
        self._write_retry = WriteRetry(root)
        self._store: Store | None = None
        self._opened_as = ""  # the variant of the settings
        self._successor: Store | None = None  # will replace the damaged store
        # A store that was opened again after an error that a check did not explain.
        self._suspected: tuple[Store, str] | None = None

    @property
    def opened(self) -> Store | None:
        """The store, if it is open."""
        return self._store

    @property
    def is_unwritable(self) -> bool:
        """True if a write has failed, and the folder is not known to be writable again."""
        return self._write_retry.lasts

    @property
    def is_lost_on_exit(self) -> bool:
        """True if there is an index that ends with this process."""
        is_temporary = self._store is not None and self._store.is_temporary
        return is_temporary and (self._is_persistent or not self.writable)

    @functools.cached_property
    def table(self) -> FileTable:
        """The files of the store, by number."""
        # numpy takes time to load.
        from winnow.index.store.file_table import FileTable

        return FileTable()

    @functools.cached_property
    def history(self) -> StoredHistory:
        """The commits of the folder's repository."""
        from winnow.index.commits.stored import StoredHistory

        return StoredHistory()

    # --- reading and writing ---------------------------------------------------------------

    async def reader(self) -> Reader:
        """Open a snapshot of the store; the caller closes it."""
        return await run_to_end(self.run(Store.reader), Reader.close)

    async def query(self, query: Callable[[Reader], T]) -> T:
        """Run a query on a snapshot of the store in a thread, see :meth:`run`."""

        def read(store: Store) -> T:
            with store.read() as reader:
                return query(reader)

        return await self.run(read)

    async def run(self, do: Callable[[Store], T]) -> T:
        """Run a function on the store in a thread. If the store is damaged, try its successor; if
        it cannot be written, a temporary one. Raises IndexUnavailable."""
        problem = ""
        for _ in range(MOST_TRIES):
            store = await self.current()
            try:
                return await asyncio.to_thread(_used, store, do)
            except StoreDamaged as error:
                problem = str(error)
                await self.suspect(store, error)
            except (DatabaseError, OSError) as error:
                problem = str(error)
                if store is self._store and store.is_current():
                    await self._fall_back(store, error)
        raise IndexUnavailable(problem)

    # --- opening and closing ---------------------------------------------------------------

    async def current(self) -> Store:
        """Return the open store; open it again if it was deleted. Raises IndexUnavailable."""
        async with self._lock:
            if self._closed:
                raise IndexUnavailable("The index is closed")
            if self._store is not None and not (
                self._store.is_current() and self._settings().variant == self._opened_as
            ):
                await self._lose()
            if self.is_unwritable and await self._write_retry.is_over(
                self._store, self._settings().user
            ):
                self._lifecycle.problem = ""
                await self._lose()
            if self._store is None:
                await run_to_end(self._open())
            assert self._store is not None
            return self._store

    async def _open(self) -> None:
        settings = self._settings()
        self._opened_as = settings.variant
        found = await asyncio.to_thread(state_folder.examine, self._root, settings.user)
        self.notice = found.notice
        # Without an index, a request leaves nothing on disk.
        is_kept = self._is_persistent or await asyncio.to_thread(
            state_folder.is_indexed, self._root, settings.user
        )
        may_write = self.writable and is_kept and not self.is_unwritable
        open_store = Store.open if may_write else _temporary
        try:
            self._store = await asyncio.to_thread(
                open_store, self._root, self._opened_as, settings.user
            )
        except (DatabaseError, OSError) as error:
            raise IndexUnavailable(str(error)) from None
        if self._store.is_temporary and may_write:
            self._write_retry.begin()

    def use(self, store: Store, variant: str) -> None:
        """Use an open store that has this variant of the settings."""
        self._store, self._opened_as = store, variant

    async def persist(self) -> bool:
        """Keep the index on disk from now on. Return True if this replaced a temporary store."""
        if self._is_persistent:
            return False
        self._is_persistent = True
        async with self._lock:
            if self._store is None or not (self._store.is_temporary and self.writable):
                return False
            await self._lose()
            return True

    async def set_writable(self, writable: bool) -> None:
        """Allow or forbid writing to the folder, and close the store."""
        async with self._lock:
            self.writable = writable
            await self._lose()

    async def delete(self) -> None:
        """Delete the index."""
        store = await self.current()
        async with self._lock:
            await self._lose()
            await asyncio.to_thread(delete, store)

    async def aclose(self) -> None:
        """Close the store; it is not opened again."""
        async with self._lock:
            self._closed = True
            await run_to_end(asyncio.to_thread(_close, {self._store, self._successor}))

    async def _fall_back(self, store: Store, error: Exception) -> None:
        """Use a temporary store for now. Raises IndexUnavailable if this is one."""
        if store.is_temporary:
            raise IndexUnavailable(str(error)) from None
        async with self._lock:
            if self._store is store:
                self._lifecycle.problem = f"{store.file} cannot be written: {error}"
                self._write_retry.begin()
                await self._lose()

    async def _lose(self) -> None:
        store, self._store = self._store, None
        successor, self._successor = self._successor, None
        self.damage, self._suspected = "", None
        self.stores_changed += store is not None
        self._lifecycle.on(Event.STORE_LOST)
        await run_to_end(asyncio.to_thread(_close, {store, successor}))

    # --- damage ----------------------------------------------------------------------------

    async def repair(self) -> bool:
        """Check the entire store; return True if something is wrong. The next build replaces a
        damaged store; an unreadable one is left alone. Raises IndexUnavailable."""
        store = await self.current()
        try:
            await asyncio.to_thread(store.check)
        except StoreDamaged as error:
            await self.suspect(store, error)
            return True
        except (DatabaseError, OSError) as error:
            await self._fall_back(store, error)
            return True
        return False

    async def suspect(self, store: Store, error: StoreDamaged, *, certain: bool = True) -> None:
        """Check whether a store is damaged after a read has failed.

        If its files are intact, they are opened again. If the same error repeats, they contain data
        that Winnow does not write (unless it is not ``certain`` that the error is of this store).
        The next build replaces a damaged store, which answers what it can until then: a request
        that meets the damage switches to the successor, however much of that is built. Nothing is
        deleted before the successor is complete. Raises IndexUnavailable.
        """
        if store is not self._store:
            return
        if self.damage:
            await self._change_over(store)
            return
        found = await asyncio.to_thread(store.find_damage)
        async with self._lock:
            if store is not self._store or self.damage:
                return
            if found is None and (self._suspected != (store, str(error)) or not certain):
                logger.info("The index of %s is opened again: %s", self._root, error)
                await self._lose()
                await run_to_end(self._open())
                assert self._store is not None
                self._suspected = self._store, str(error)
                return
            self.damage = found or str(error)
            self._lifecycle.on(Event.DAMAGE_FOUND)
        logger.warning("The index of %s is damaged: %s", self._root, self.damage)

    async def successor(self) -> tuple[Store, str]:
        """Return the open successor of the damaged store, and the variant of the settings that it
        has. An earlier process may have started it. Raises IndexUnavailable."""
        damaged = await self.current()
        if self._successor is None:
            await run_to_end(self._begin_successor(damaged))
        assert self._successor is not None
        return self._successor, self._opened_as

    async def _begin_successor(self, damaged: Store) -> None:
        try:
            self._successor = await asyncio.to_thread(
                Store.successor, damaged, self._opened_as, self.damage
            )
        except (DatabaseError, OSError) as error:
            raise IndexUnavailable(f"The index cannot be rebuilt: {error}") from None

    async def _change_over(self, damaged: Store) -> None:
        """Let the successor of a damaged store answer, even if it is incomplete."""
        successor, _ = await self.successor()
        async with self._lock:
            if damaged is self._store and damaged is not successor:
                self._store = successor
                self.stores_changed += 1
                await run_to_end(asyncio.to_thread(damaged.close))

    async def discard_successor(self, successor: Store) -> None:
        """Delete a successor that is damaged, too: the next one begins from nothing."""
        self._successor = None
        await run_to_end(asyncio.to_thread(_close_and_delete, successor))

    async def publish(self, successor: Store) -> bool:
        """Replace the damaged store with its complete successor. Return False if the store was lost
        meanwhile, and its successor with it."""
        async with self._lock:
            if successor is not self._successor:
                return False
            old, self._store, self._successor = self._store, successor, None
            self.stores_changed += 1
            self.damage, self._suspected = "", None
            self._lifecycle.on(Event.REPLACED)
            try:
                await run_to_end(asyncio.to_thread(successor.publish))
            finally:
                if old is not successor:
                    await run_to_end(asyncio.to_thread(_close, {old}))
            return True


def _used(store: Store, do: Callable[[Store], T]) -> T:
    """Run a function on a store that is not closed meanwhile: a closed temporary store would leave
    a file behind."""
    with store.in_use():
        return do(store)


def _close(stores: Iterable[Store | None]) -> None:
    for store in stores:
        if store is not None:
            store.close()


def _close_and_delete(store: Store) -> None:
    store.close()
    delete_files(store.file)


def _temporary(root: Path, variant: str, user: state_folder.User | None) -> Store:
    return Store.temporary()
