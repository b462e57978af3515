"""The index of a workspace: the symbols and texts of all its folders, and how current they are.

A request never gets an answer older than the disk. Reported changes are indexed at once. In
addition, a request checks for unreported changes if the last check is too old, and indexes them
first if that is quick. Otherwise, the state says that the index is stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

import msgspec
from msgspec import Struct

from winnow.config import Config
from winnow.errors import SearchError
from winnow.index.builder.disk_scan import Changes, IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.passes import BuildPolicy
from winnow.index.builder.state import FolderState
from winnow.index.builder.throttle import Throttle, most_parsed
from winnow.index.builder.unsaved import UnsavedFile, UnsavedFiles, texts_in_place
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.writing import OrderFiles, ReportProgress
from winnow.index.not_covered import NotCovered
from winnow.index.problems import not_covered
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.store.file_record import FULL
from winnow.index.store.reader import Reader, ReaderStopped, StoreVersion
from winnow.index.store.segments import SegmentMissing
from winnow.index.vectors.embeddings import load_model
from winnow.processes.children import Processes
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.paths import real_path
from winnow.storage.state_folder import User, is_indexed
from winnow.text.paths import containing_root
from winnow.text.ripgrep import Ripgrep
from winnow.text.roots import is_indexable
from winnow.text.scope import search_roots
from winnow.types import IndexState

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus
    from winnow.index.postings.trigrams import Condition

# Longest wait of a request for changes to be indexed.
CATCH_UP_SECONDS = 0.15
# Longest wait for a check if changes were reported: after a change, a request is about that change,
# and a check of a large tree takes long.
LOOK_SECONDS = 0.02
# A check that is only a precaution runs this long after a request.
LATER_SECONDS = 0.5
# Delay before a folder that became a repository, or was removed, is noticed.
ROOT_SECONDS = 0.05
# This number of changed files is indexed before any background work.
FEW = 50
# Changes come in groups: a short wait puts them into one transaction.
JOIN_SECONDS = 0.005

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class MatchCandidates(Struct, frozen=True):
    """The files of a workspace that may match, by folder: no other file in ``paths`` can match,
    except the ``binary`` ones, which ripgrep skips. ``total`` is the number of files that are not
    binary."""

    numbers: Mapping[Path, Sequence[int]]
    paths: Mapping[Path, Sequence[str]]
    total: int
    binary: Mapping[Path, Sequence[int]]

    @property
    def count(self) -> int:
        """The number of files that may match; does not create their paths."""
        return sum(map(len, self.numbers.values()))

    def files(self, folder: Path) -> list[str]:
        """Return the sorted paths of the files of a folder."""
        return self._paths(folder, self.numbers)

    def binary_files(self, folder: Path) -> list[str]:
        return self._paths(folder, self.binary)

    def _paths(self, folder: Path, numbers: Mapping[Path, Sequence[int]]) -> list[str]:
        return sorted(map(self.paths[folder].__getitem__, numbers[folder]))


class WorkspaceIndex:
    """The index of a workspace's folders.

    ``config`` and ``folders`` return the current values, ``ripgrep`` the program that lists files;
    ``ordered`` sorts the files of a folder by importance. ``prepare`` loads what the first search
    needs; it runs once, in a thread, when there is an index or a large one is built. ``derive``
    computes what all searches of a corpus share, when one is opened. ``roots_of`` returns the roots
    of folders; each root has an index.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        *,
        config: Callable[[], Config],
        folders: Callable[[], Sequence[Path]],
        ripgrep: Callable[[], Ripgrep],
        ordered: OrderFiles,
        prepare: Callable[[], None] = lambda: None,
        derive: Callable[[Corpus], None] = lambda corpus: None,
        roots_of: Callable[[Sequence[Path]], list[Path]] = search_roots,
    ) -> None:
        limits = config().limits
        self._prepare = prepare
        self._derive = derive
        self._preparing: asyncio.Task[None] | None = None
        self._config = config
        self._folders = folders
        self._roots_of = roots_of
        self._ripgrep = ripgrep
        self._ordered = ordered
        self._environment = environment
        self.throttle = Throttle(lambda: config().index, lambda: self._workers.pids)
        self._workers = IndexWorkers(
            processes, environment, limits.parse_seconds, regulator=self.throttle
        )
        self._indexes: dict[Path, FolderIndex] = {}
        self._documents = UnsavedFiles(self._workers, self._settings)
        self._not_covered: tuple[list[StoreVersion], NotCovered] | None = None
        self._watching = False
        self._cached_roots: tuple[list[Path], int, list[Path]] | None = None
        self._has_consent = False
        self._build_requested = False  # also for folders that do not exist yet
        self._changed_files: dict[FolderIndex, set[str]] = {}
        self._builds: set[asyncio.Task[None]] = set()
        self._closed = False
        self._opening: asyncio.Task[None] | None = None
        self._opened: set[FolderIndex] = set()
        self._opened_at = -LATER_SECONDS
        self._updating: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[None] | None = None
        self._later_check: asyncio.Task[None] | None = None

    # --- opening ---------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the indexes of earlier processes, once per folder, and return when they can answer.
        Does not wait for a folder without an index, or whose index is being built."""
        new = self._unopened()
        if new and not _is_busy(self._opening):
            self._opened.update(new)
            self._opening = asyncio.create_task(self._open(new))
            self._opening.add_done_callback(_log_failure)
        if self._opening is not None:
            await asyncio.wait({self._opening})

    @property
    def is_opened(self) -> bool:
        """True if :meth:`open` has nothing to wait for."""
        return not (_is_busy(self._opening) or self._unopened())

    def _unopened(self) -> list[FolderIndex]:
        if self._closed or self._builds or not self._config().index.enabled:
            return []
        return [
            folder
            for folder in self.folder_indexes()
            if not (folder in self._opened or folder.complete)
        ]

    async def _open(self, folders: Sequence[FolderIndex]) -> None:
        user = self._settings().user
        left = [
            folder
            for folder in folders
            if folder.disk.writable and await asyncio.to_thread(is_indexed, folder.root, user)
        ]
        if not left:
            return
        self._prepare_soon()
        _, *found = await asyncio.gather(self._read_ahead(left), *map(self._open_one, left))
        self._opened_at = time.monotonic()
        changes = {
            folder: folder_changes
            for folder, folder_changes in zip(left, found, strict=True)
            if folder_changes
        }
        if changes and not _is_busy(self._checking):
            self._checking = asyncio.create_task(self._take_changes(changes))

    async def _read_ahead(self, folders: Sequence[FolderIndex]) -> None:
        """Read what every search needs, while ripgrep lists the files."""
        with contextlib.suppress(SearchError, StoreDamaged):
            async with self._view(folders) as (view, _):
                tables = [folder.disk.table for folder in folders]
                await view.read(lambda: self._derive(view.corpus(tables, {})))

    async def _open_one(self, folder: FolderIndex) -> Changes:
        changes = Changes()
        with _logged(folder), self.throttle.requests():
            changes = await folder.open(self._scope_of(folder), FEW)
        return changes

    async def _take_changes(self, changes: Mapping[FolderIndex, Changes]) -> None:
        for folder, folder_changes in changes.items():
            with _logged(folder):
                await folder.update_from(folder_changes)

    # --- queries ---------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float = CATCH_UP_SECONDS,
        requested: Collection[str] = (),
        begin: bool = True,
    ) -> AsyncIterator[tuple[Snapshot, IndexState]]:
        """Open a snapshot of everything indexed, with unsaved documents, and its state.

        ``requested`` are files that the request is about: they are included as they are now, even
        if no search covers them. Waits at most ``seconds`` for changed files. Starts the index of a
        small folder, unless ``begin`` is False. Only one thread at a time may read the snapshot,
        through :meth:`Snapshot.read`, within the block.
        """
        async with self._snapshot(buffers, seconds, requested, begin) as (view, state, _, _):
            yield view, state

    @contextlib.asynccontextmanager
    async def _snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float,
        requested: Collection[str],
        begin: bool = True,
    ) -> AsyncIterator[
        tuple[Snapshot, IndexState, Sequence[FolderIndex], Mapping[str, UnsavedFile]]
    ]:
        """Do the same as :meth:`snapshot`, and also yield its folders and documents."""
        with self.throttle.requests():
            await self._catch_up(seconds, begin)
            folders = self.folder_indexes()
            texts = await self._texts_in_place(folders, buffers, requested)
            unsaved = await self._documents.known(texts)
        overlay = {path: document.symbols for path, document in unsaved.items()}
        async with self._view(folders, overlay) as (view, _):
            state = self.state()
            late = any(path not in unsaved or unsaved[path].text != texts[path] for path in texts)
            if late and state.state == "ready":
                state = msgspec.structs.replace(state, state="stale")
            yield view, state, folders, unsaved

    @contextlib.asynccontextmanager
    async def _view(
        self, folders: Sequence[FolderIndex], overlay: Overlay | None = None
    ) -> AsyncIterator[tuple[Snapshot, Sequence[Reader]]]:
        """Open a snapshot of the folders. If a read fails because a store is damaged, start its
        repair and raise StoreDamaged."""
        readers: list[Reader] = []
        try:
            with contextlib.ExitStack() as stack:
                for folder in folders:
                    readers.append(await folder.reader())
                    stack.callback(readers[-1].close)
                view = Snapshot([folder.root.as_posix() for folder in folders], readers, overlay)
                stack.pop_all()
            with view:
                yield view, readers
        except (SearchError, ReaderStopped):
            raise
        except Exception as error:
            if await self._handle_damage(folders, error):
                raise StoreDamaged(str(error)) from error
            raise

    async def _handle_damage(self, folders: Iterable[FolderIndex], error: Exception) -> bool:
        """Return True if an error comes from a damaged store, and start its repair."""
        if not isinstance(error, StoreDamaged):
            return any([await folder.disk.repair() for folder in folders])
        some = list(folders)
        certain = len(some) == 1 and not isinstance(error, SegmentMissing)
        for folder in some:
            await folder.disk.suspect(await folder.store(), error, certain=certain)
        return True

    @contextlib.asynccontextmanager
    async def corpus(
        self, buffers: Mapping[Path, str], seconds: float = CATCH_UP_SECONDS
    ) -> AsyncIterator[tuple[Callable[[], Corpus], IndexState, Snapshot]]:
        """Open the current texts for ranking: yield a function that returns the corpus, its state,
        and the snapshot that it is read through. All reading is done in a thread: by the snapshot's
        `read`, within the block."""
        async with self._snapshot(buffers, seconds, ()) as (view, state, folders, unsaved):
            tables = [folder.disk.table for folder in folders]
            records = {
                path: document.record
                for path, document in unsaved.items()
                if document.record is not None
            }
            yield functools.partial(view.corpus, tables, records), state, view

    async def candidates(
        self, conditions: Sequence[Condition], seconds: float
    ) -> list[MatchCandidates] | None:
        """Return the files that may match, for each of some conditions. None if that is not
        certain: an index is incomplete, or cannot confirm within ``seconds`` that it is up to
        date."""
        if not await self._is_exact(seconds):
            return None
        folders = self.folder_indexes()
        try:
            async with self._view(folders) as (view, readers):
                if not self._is_exact_now():  # something has changed meanwhile
                    return None
                return await view.read(_candidates, folders, readers, conditions)
        except (StoreDamaged, SearchError) as error:
            logger.warning("The index cannot find the candidate files: %s", error)
            return None

    def has_folder(self, root: Path, path: str) -> bool:
        """Return True if a search of the root covers files in a folder below it, as far as the last
        listing shows."""
        return root in self._indexes and self._indexes[root].files.has_folder(path)

    async def _is_exact(self, seconds: float) -> bool:
        """Return True if every file is indexed as it is now. Waits ``seconds`` for changes to be
        indexed."""
        if not self._knows_files():
            self._start_check([folder for folder in self.folder_indexes() if folder.complete])
            return False
        end = asyncio.get_running_loop().time() + seconds
        if seconds and not await self._wait_for_events(seconds):
            return False
        for task in (self._updating, self._checking):
            await _finished(task, end - asyncio.get_running_loop().time())
        return self._is_exact_now()

    def _is_exact_now(self) -> bool:
        busy = self._builds or _is_busy(self._updating) or _is_busy(self._checking)
        return not busy and self._knows_files()

    def _knows_files(self) -> bool:
        folders = self.folder_indexes()
        return bool(folders) and all(
            folder.is_exact_for(self._scope_of(folder)) for folder in folders
        )

    async def index_files(
        self, paths: Iterable[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """Index files before the index is complete; yield their paths as they enter the store.
        ``paths`` are absolute, of files that a search covers."""
        end = asyncio.get_running_loop().time() + seconds
        for folder, below in _by_folder(self.folder_indexes(), paths).items():
            left = end - asyncio.get_running_loop().time()
            async with contextlib.aclosing(folder.index_files(sorted(below), left)) as batches:
                async for batch in batches:
                    yield [folder.prefix + path for path in batch]

    def state(self) -> IndexState:
        """Return how much of the workspace is indexed, and whether the index is up to date."""
        folders = self.folder_indexes()
        state: Literal["none", "opening", "building", "ready", "stale"] = "ready"
        if not folders or not all(folder.complete for folder in folders):
            # The next request's check rebuilds a damaged or deleted store.
            states = {folder.state for folder in folders}
            known = folders and FolderState.ABSENT not in states
            state = "building" if self._builds or known else "none"
            if FolderState.OPENING in states:
                state = "opening"
        elif self._is_behind(folders) or _is_busy(self._updating) or _is_busy(self._checking):
            state = "stale"
        if not (self._config().index.enabled or self._has_consent):
            state = "none"  # whatever an earlier setting has built
        return IndexState(
            state=state,
            files_indexed=sum(folder.work.indexed for folder in folders),
            files_total=sum(folder.files.total for folder in folders),
            updated_at=max((folder.work.updated_at for folder in folders), default=0.0),
        )

    def _is_behind(self, folders: Sequence[FolderIndex]) -> bool:
        """Return True if changes are not indexed yet, or a running build may still find some:
        unless a recent check found none."""
        return any(folder.state is FolderState.STALE for folder in folders) or (
            bool(self._builds)
            and any(
                folder.files.is_due or folder.files.listed_as != self._scope_of(folder)
                for folder in folders
            )
        )

    @property
    def worker_pids(self) -> list[int]:
        """The process ids of the workers."""
        return self._workers.pids

    async def left_out(self, view: Snapshot | None = None) -> NotCovered:
        """Return how many files cannot be found, by reason. A current snapshot saves reading the
        stores."""
        written = (
            view.written() if view else [await folder.written() for folder in self.folder_indexes()]
        )
        if self._not_covered is None or self._not_covered[0] != written:
            self._not_covered = written, await self._count_left_out()
        return self._not_covered[1]

    async def _count_left_out(self) -> NotCovered:
        problems, binaries = Counter[str](), 0
        for folder in self.folder_indexes():
            reader = await folder.reader()
            try:
                problems.update(await asyncio.to_thread(reader.problem_counts))
                binaries += await asyncio.to_thread(reader.binaries)
            finally:
                reader.close()
        return not_covered(problems, binaries)

    async def count_indexed_files(self) -> int:
        """Return how many files the stores contain, current or not."""
        count = 0
        for folder in self.folder_indexes():
            if folder.disk.damage:
                continue
            reader = await folder.reader()
            try:
                count += await asyncio.to_thread(reader.file_count)
            finally:
                reader.close()
        return count

    @property
    def has_complete_folder(self) -> bool:
        """True if the index of at least one folder is complete."""
        return any(folder.complete for folder in self.folder_indexes())

    @property
    def build_was_requested(self) -> bool:
        """True if a build was requested: if there is still no index, none will come."""
        return self._build_requested

    def temporary_folders(self) -> list[Path]:
        """Return the folders whose index ends with this process, because nothing is or can be
        written there."""
        return [folder.root for folder in self.folder_indexes() if folder.disk.is_lost_on_exit]

    def notices(self) -> list[str]:
        """Return messages for the user about ignored `.winnow` folders."""
        return [folder.disk.notice for folder in self.folder_indexes() if folder.disk.notice]

    @property
    def stores_changed(self) -> int:
        """The number of times that a folder has replaced its store or opened it again."""
        return sum(folder.disk.stores_changed for folder in self._indexes.values())

    def damages(self) -> list[str]:
        """Describe damaged indexes: which folder, what is wrong, and how it is repaired."""
        rebuilt = (
            "it is being rebuilt" if self._build_requested else "`winnow index build` rebuilds it"
        )
        return [
            f"the index of {folder.root} is damaged ({folder.disk.damage}): {rebuilt}"
            for folder in self.folder_indexes()
            if folder.disk.damage
        ]

    def problem_messages(self) -> list[str]:
        """Explain why folders are not fully indexed."""
        folders = self.folder_indexes()
        found = [
            f"{folder.root}: {folder.lifecycle.problem}"
            for folder in folders
            if folder.lifecycle.problem
        ]
        found += self.damages()
        if left_out := sum(folder.work.left_out for folder in folders):
            found.append(f"{left_out} files are left out: {FULL}")
        waits_for = self.throttle.reason
        if waits_for and self._builds and not all(folder.complete for folder in folders):
            found.append(f"background work waits: {waits_for}")
        return found

    async def problems(self) -> dict[str, str]:
        """Return the files that could not be indexed, by absolute path, and the reasons; also
        folders that could not be indexed."""
        found = {}
        for folder in self.folder_indexes():
            if folder.lifecycle.problem:
                found[folder.root.as_posix()] = folder.lifecycle.problem
            for path, problem in (await folder.problems()).items():
                found[folder.prefix + path] = problem
        return found

    # --- keeping up ------------------------------------------------------------------------

    async def build(self, report: ReportProgress | None = None, consent: bool = False) -> None:
        """Update the index of all folders, unless the settings disable it. With ``consent``,
        include folders that are indexed only on request."""
        if self._closed or not (self._config().index.enabled or consent):
            return
        if self._watching:
            await self._open_before()
            if self._closed or not (self._config().index.enabled or consent):
                return
        task = asyncio.create_task(self._build(report, consent))
        self._builds.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._builds.discard(task)
        if not task.cancelled():
            task.result()

    async def _open_before(self) -> None:
        """Open existing indexes, and leave the machine to the first request for a moment: a build
        repeats checks that were just made."""
        await self.open()
        pause = self._opened_at + LATER_SECONDS - time.monotonic()
        if pause > 0 and all(folder.complete for folder in self.folder_indexes()):
            await asyncio.sleep(pause)
            await self.throttle.turn()

    async def _build(self, report: ReportProgress | None, consent: bool) -> None:
        self._build_requested = True
        self._has_consent |= consent
        for folder in self._indexes.values():
            self._build_when_there(folder)
        for folder in self.folder_indexes():
            with _logged(folder):
                if consent:
                    folder.consent(is_indexable(folder.root, self._environment))
                elif not is_indexable(folder.root, self._environment):
                    folder.lifecycle.problem = (
                        "it is the root of a file system, or holds a home folder"
                    )
                    continue
                max_files = None if consent else self._config().index.max_files
                folder.work.request(max_files)  # if this fails, the folder may come back
                if self._watching:
                    await folder.files.watch(self._scope_of(folder), self.files_changed)

                def reported(done: int, total: int) -> None:
                    self._prepare_soon()
                    if report is not None:
                        report(done, total)

                await folder.build(self._scope_of(folder), max_files, reported)
                if folder.complete:
                    self._prepare_soon()

    def _build_when_there(self, folder: FolderIndex) -> None:
        """Let a check build the folder, which may not exist at the moment."""
        if folder.disk.writable:
            folder.work.request(self._config().index.max_files)

    def _prepare_soon(self) -> None:
        """Load what the first search needs, unless that has started."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(asyncio.to_thread(self._prepare))

    def enable_watching(self) -> None:
        """Watch the folders from the next build on: more than one request will come."""
        self._watching = self._config().index.watch

    def pause(self) -> None:
        """Start no more background work; files that a request needs are still read."""
        self.throttle.pause()

    def resume(self) -> None:
        self.throttle.resume()

    async def follow_settings(self) -> None:
        """Apply the current settings. If they disable the index, cancel the work on it; the files
        stay on disk. If they enable it, :meth:`build` builds it."""
        enabled = self._config().index.enabled
        if not enabled:
            self._build_requested = self._has_consent = self._watching = False
            await _cancelled([self._opening, *self._builds])
            await _cancelled([self._updating, self._checking, self._later_check])
            self._opened.clear()
            self._changed_files.clear()
        for folder in self._indexes.values():
            await folder.set_writable(enabled and is_indexable(folder.root, self._environment))

    async def clear(self) -> None:
        """Delete the index of all folders; it is built again only on request."""
        await _cancelled(list(self._builds))
        for folder in self.folder_indexes():
            await folder.clear()

    async def refresh(self, paths: Collection[str | Path], seconds: float) -> bool:
        """Check some files, or all, whatever was reported. Return True if all changes are indexed
        in time."""
        end = asyncio.get_running_loop().time() + seconds
        for folder in self.folder_indexes():
            if not paths:
                folder.files.schedule_rescan()
        self.files_changed(paths)
        await self._catch_up(seconds)
        # A request waits less for a check.
        await _finished(self._checking, end - asyncio.get_running_loop().time())
        return not (_is_busy(self._updating) or _is_busy(self._checking) or self._builds)

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Record that files were changed, created or deleted. They are indexed soon, and a request
        waits for them briefly. Nothing is indexed once the settings disable the index, even before
        :meth:`follow_settings` has ended."""
        if not (self._config().index.enabled or self._has_consent):
            return
        for folder, below in _by_folder(self.folder_indexes(), paths).items():
            if folder.disk.opened is not None:
                self._changed_files.setdefault(folder, set()).update(below)
        if self._changed_files and not _is_busy(self._updating) and not self._closed:
            self._updating = asyncio.create_task(self._process_changes())

    async def aclose(self) -> None:
        """Cancel all work, end the workers, and close the stores."""
        self._closed = True
        await _cancelled([self._opening])
        await _cancelled([self._updating, self._checking, self._later_check, *self._builds])
        if self._preparing is not None:
            await asyncio.gather(self._preparing, return_exceptions=True)
        await self._documents.aclose()
        await self._workers.aclose()
        for folder in self._indexes.values():
            await folder.aclose()

    async def _process_changes(self) -> None:
        while self._changed_files:
            await asyncio.sleep(JOIN_SECONDS)
            folder = next(iter(self._changed_files))
            with _logged(folder):
                await folder.on_files_changed(
                    self._changed_files.pop(folder), self._scope_of(folder)
                )

    async def _catch_up(self, seconds: float, begin: bool = True) -> None:
        """Wait briefly for reported changes, then for a check for others, which would find these,
        too."""
        end = asyncio.get_running_loop().time() + seconds
        if seconds and not await self._wait_for_events(seconds):
            for folder in self.folder_indexes():
                folder.files.schedule_check()
        had_changes = await _finished(self._updating, end - asyncio.get_running_loop().time())
        self._start_check(
            [
                folder
                for folder in self.folder_indexes()
                if folder.disk.writable or folder.work.policy is BuildPolicy.ALWAYS
            ],
            begin,
        )
        left = end - asyncio.get_running_loop().time()
        await _finished(self._checking, min(left, LOOK_SECONDS) if had_changes else left)

    def _start_check(self, folders: Iterable[FolderIndex], begin: bool = True) -> None:
        """Start a check of the folders where it is due, and perhaps an index."""
        due = [folder for folder in folders if folder.files.is_due]
        unsure = [folder for folder in due if not folder.is_up_to_date]
        if not due or self._builds or _is_busy(self._opening) or _is_busy(self._checking):
            return
        if unsure:
            if self._later_check is not None:
                self._later_check.cancel()
            self._checking = asyncio.create_task(self._check(unsure, begin))
        elif not _is_busy(self._later_check):
            self._later_check = asyncio.create_task(self._check_later(due))

    async def _check_later(self, folders: Iterable[FolderIndex]) -> None:
        """Check a reliably watched folder when no request waits for an answer."""
        await asyncio.sleep(LATER_SECONDS)
        await self.throttle.turn()
        await self._check(folders, begin=False)

    async def _check(self, folders: Iterable[FolderIndex], begin: bool) -> None:
        """Find and index unreported changes."""
        for folder in folders:
            with _logged(folder):
                await folder.check(self._scope_of(folder), FEW, begin)

    async def _wait_for_events(self, seconds: float) -> bool:
        """Return True if all changes until now have been reported, in the watched folders."""
        watchers = [
            folder.files.watcher
            for folder in self.folder_indexes()
            if folder.files.watcher and folder.files.is_watched
        ]
        return all(await asyncio.gather(*[watcher.settle(seconds) for watcher in watchers]))

    async def _texts_in_place(
        self,
        folders: Sequence[FolderIndex],
        buffers: Mapping[Path, str],
        requested: Collection[str],
    ) -> dict[str, str]:
        """Return the texts that replace files, by absolute path."""
        documents: dict[FolderIndex, dict[str, str | None]] = {}
        for path, text in {**dict.fromkeys(map(Path, requested)), **buffers}.items():
            for folder, (below,) in _by_folder(folders, [path]).items():
                documents.setdefault(folder, {})[below] = text
        texts: dict[str, str] = {}
        for folder, by_path in documents.items():
            known = await folder.known(by_path)
            requested_paths = {path for path in by_path if folder.prefix + path in requested}
            texts |= await asyncio.to_thread(
                texts_in_place, folder, by_path, known, requested_paths
            )
        return texts

    # --- folders ---------------------------------------------------------------------------

    def folder_indexes(self) -> list[FolderIndex]:
        """Return the indexes of the workspace's folders."""
        try:
            roots = self._roots()
        except SearchError:
            return []
        for root in roots:
            if root not in self._indexes:
                self._indexes[root] = FolderIndex(
                    root,
                    self._workers,
                    self._ripgrep,
                    self._settings,
                    self._ordered,
                    self._config().index.enabled and is_indexable(root, self._environment),
                )
                if self._build_requested:
                    self._build_when_there(self._indexes[root])
        return [self._indexes[root] for root in roots]

    def _roots(self) -> list[Path]:
        """Return the roots of the folders, cached briefly: a request needs them a dozen times."""
        folders, now = list(self._folders()), time.monotonic()
        if self._cached_roots is None or self._cached_roots[:2] != (
            folders,
            int(now / ROOT_SECONDS),
        ):
            found = self._roots_of(folders)
            self._cached_roots = folders, int(now / ROOT_SECONDS), found
        return self._cached_roots[2]

    def _scope_of(self, folder: FolderIndex) -> IndexScope:
        others = [other.root for other in self.folder_indexes() if other is not folder]
        config = self._config()
        return IndexScope(config.search.exclude, tuple(others), config.index.exclude_patterns)

    def _settings(self) -> FolderSettings:
        config = self._config()
        masked = config.index.enable_sensitive_filtering
        rules = config.secret_rules if masked else ()
        model = load_model(config.index.embeddings).model
        return FolderSettings(
            max_bytes=config.limits.parse_bytes,
            max_parsed=most_parsed(
                config.index, sum(folder.files.total for folder in self.folder_indexes())
            ),
            max_size_mb=config.index.max_index_size_mb,
            threshold=config.index.auto_index_threshold,
            masked=masked,
            embeddings=config.index.embeddings,
            rules=rules,
            variant=_variant(masked, rules, model.name if model else ""),
            user=User.of(self._environment, config.index.location),
        )


def _variant(masked: bool, rules: Sequence[str], model: str) -> str:
    """Identify the settings that decide what is stored: an index built with other settings is
    useless."""
    added = hashlib.blake2b("\n".join(rules).encode(), digest_size=8).hexdigest() if rules else ""
    return ("" if masked else "unmasked") + added + model


def _by_folder(
    folders: Sequence[FolderIndex], paths: Iterable[str | Path]
) -> dict[FolderIndex, set[str]]:
    """Group paths by the folder that contains them; the client may spell a folder differently."""
    roots = [real_path(folder.root) for folder in folders]
    found: dict[FolderIndex, set[str]] = {}
    parents: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            parent, name = os.path.split(path)
            if parent not in parents:
                parents[parent] = real_path(parent)
            held = containing_root(os.path.join(parents[parent], name), roots)
            if held:
                found.setdefault(folders[held[0]], set()).add(held[1])
    return found


def _candidates(
    folders: Sequence[FolderIndex], readers: Sequence[Reader], conditions: Sequence[Condition]
) -> list[MatchCandidates]:
    """Return the files that may match, by the trigrams of all texts. Raises StoreDamaged."""
    import numpy as np

    paths, binary = {}, {}
    numbers: list[dict[Path, Sequence[int]]] = [{} for _ in conditions]
    total = 0
    for folder, reader in zip(folders, readers, strict=True):
        table = folder.disk.table.at(reader)
        parts = list(table.with_segments(reader))
        paths[folder.root] = table.paths
        binary[folder.root] = table.binary.tolist()
        for condition, below in zip(conditions, numbers, strict=True):
            found = [table.uncovered]
            for part in parts:
                has = np.zeros(part.segment.documents, np.bool_)
                has[part.segment.documents_with(condition)] = True
                found.append(part.files[has[part.documents]])
            below[folder.root] = np.concatenate(found).tolist()
        total += table.count
    return [MatchCandidates(below, paths, total, binary) for below in numbers]


async def _cancelled(tasks: Iterable[asyncio.Task[None] | None]) -> None:
    """Cancel the tasks that exist."""
    some = [task for task in tasks if task is not None]
    for task in some:
        task.cancel()
    await asyncio.gather(*some, return_exceptions=True)


def _is_busy(task: asyncio.Task[None] | None) -> bool:
    return task is not None and not task.done()


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("The index could not be opened", exc_info=error)


async def _finished(task: asyncio.Task[None] | None, seconds: float) -> bool:
    """Wait for a task. Return True if it was running."""
    if task is None or task.done():
        return False
    await asyncio.wait({task}, timeout=max(seconds, 0.0))
    return True


@contextlib.contextmanager
def _logged(folder: FolderIndex) -> Iterator[None]:
    """Record an error as the folder's problem; requests continue."""
    try:
        yield
    except (SearchError, StoreDamaged, DatabaseError, OSError) as error:
        folder.files.schedule_rescan()  # the changes were not applied
        folder.lifecycle.problem = str(error)
        logger.warning("The index of %s: %s", folder.root, error)
