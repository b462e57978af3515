"""The index of a workspace: what is known of the symbols of all its folders, and how true it is.

An answer is never older than the disk. Changes that somebody tells of are taken at once; beside
that, a query looks for others first, where the last look is long enough ago, and what is found is
taken before the query is answered if that is quick. Else the state says that it is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import os
import time
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
from winnow.index.build.disk_scan import Changes, IndexScope
from winnow.index.build.folder import FolderIndex, FolderSettings, OrderFiles, ReportProgress
from winnow.index.build.throttle import Throttle, most_parsed
from winnow.index.build.unsaved import UnsavedFile, UnsavedFiles, texts_in_place
from winnow.index.build.workers import IndexWorkers
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.status import folder_status, total_of
from winnow.index.store.file_record import FULL
from winnow.index.store.reader import Reader, ReaderStopped, StoreVersion
from winnow.index.store.segments import SegmentMissing
from winnow.index.vectors.embeddings import load_model, model_or_reason
from winnow.processes.children import Processes
from winnow.processes.memory import anonymous_bytes
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.paths import real_path
from winnow.storage.state_folder import User, is_indexed
from winnow.text.paths import held_by
from winnow.text.ripgrep import Ripgrep
from winnow.text.roots import is_indexable
from winnow.text.scope import search_roots
from winnow.types import IndexState
from winnow.types.index_status import IndexStatus, IndexStatusSettings, NotCovered

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus
    from winnow.index.postings.trigrams import Condition

# What a query waits for changes to be taken.
CATCH_UP_SECONDS = 0.15
# And for a look for others, where it was told of some: what somebody asks about after a change is
# that change, and in a large tree the look takes long.
LOOK_SECONDS = 0.02
# A look that is a mere precaution is for the time after a query.
LATER_SECONDS = 0.5
# That a folder has become a repository, or is gone, is seen this late.
ROOT_SECONDS = 0.05
# As many changed files go before the work of the background.
FEW = 50
# Changes come in groups: a moment makes one transaction of them.
JOIN_SECONDS = 0.005

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class MatchCandidates(Struct, frozen=True):
    """The files of a workspace that may match, by folder: all others of its ``paths`` cannot, but
    for the ``binary`` ones, which ripgrep passes over. ``total`` is the number of all others."""

    numbers: Mapping[Path, Sequence[int]]
    paths: Mapping[Path, Sequence[str]]
    total: int
    binary: Mapping[Path, Sequence[int]]

    @property
    def count(self) -> int:
        """How many there are; their paths need not be made for it."""
        return sum(map(len, self.numbers.values()))

    def files(self, folder: Path) -> list[str]:
        """The paths of those of a folder, sorted."""
        return self._paths(folder, self.numbers)

    def binary_files(self, folder: Path) -> list[str]:
        return self._paths(folder, self.binary)

    def _paths(self, folder: Path, numbers: Mapping[Path, Sequence[int]]) -> list[str]:
        return sorted(map(self.paths[folder].__getitem__, numbers[folder]))


class WorkspaceIndex:
    """The index of a workspace's folders.

    ``config`` and ``folders`` give what holds now, ``ripgrep`` what lists files; ``ordered`` puts
    the files of a folder in the order in which they are to be taken. ``prepare`` loads what the
    first search needs: it is done once, in a thread, when there is an index or a large one is made.
    ``derive`` makes what all searches of a corpus share, when one is opened.
    ``roots_of`` gives the roots of folders, of which each has an index.
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
        self._build_requested = (
            False  # for a build: a folder that is gone is built when it is there
        )
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
        """Open what earlier processes have left, once for each folder, and return when it can
        answer. A folder without an index, or whose index is being built, is not waited for."""
        new = self._unopened()
        if new and not _is_busy(self._opening):
            self._opened.update(new)
            self._opening = asyncio.create_task(self._open(new))
            self._opening.add_done_callback(_log_failure)
        if self._opening is not None:
            await asyncio.wait({self._opening})

    @property
    def is_opened(self) -> bool:
        """Whether there is nothing to wait for: see :meth:`open`."""
        return not (_is_busy(self._opening) or self._unopened())

    def _unopened(self) -> list[FolderIndex]:
        if self._closed or self._builds or not self._config().index.enabled:
            return []
        return [one for one in self._folder_indexes() if not (one in self._opened or one.complete)]

    async def _open(self, folders: Sequence[FolderIndex]) -> None:
        user = self._settings().user
        left = [
            one
            for one in folders
            if one.writable and await asyncio.to_thread(is_indexed, one.root, user)
        ]
        if not left:
            return
        self._prepare_soon()
        _, *found = await asyncio.gather(self._read_ahead(left), *map(self._open_one, left))
        self._opened_at = time.monotonic()
        changes = {folder: one for folder, one in zip(left, found, strict=True) if one}
        if changes and not _is_busy(self._checking):
            self._checking = asyncio.create_task(self._take_changes(changes))

    async def _read_ahead(self, folders: Sequence[FolderIndex]) -> None:
        """Read what every search needs, while ripgrep lists the files."""
        with contextlib.suppress(SearchError, StoreDamaged):
            async with self._view(folders) as (view, _):
                tables = [folder.table for folder in folders]
                await view.read(lambda: self._derive(view.corpus(tables, {})))

    async def _open_one(self, folder: FolderIndex) -> Changes:
        changes = Changes()
        with _logged(folder), self.throttle.requests():
            changes = await folder.open(self._covers(folder), FEW)
        return changes

    async def _take_changes(self, changes: Mapping[FolderIndex, Changes]) -> None:
        for folder, one in changes.items():
            with _logged(folder):
                await folder.update_from(one)

    # --- queries ---------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float = CATCH_UP_SECONDS,
        asked: Collection[str] = (),
        begin: bool = True,
    ) -> AsyncIterator[tuple[Snapshot, IndexState]]:
        """All that is known now, with unsaved documents, and how true it is.

        ``asked`` are files that the request is about: they are known as they are now, also those
        that no search covers. Waits ``seconds`` at most for files that have changed. A small folder
        comes to be indexed by that, unless nothing is to ``begin``. One thread at a time may read
        the view, with :meth:`Snapshot.read`, until the block ends.
        """
        async with self._snapshot(buffers, seconds, asked, begin) as (view, state, _, _):
            yield view, state

    @contextlib.asynccontextmanager
    async def _snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float,
        asked: Collection[str],
        begin: bool = True,
    ) -> AsyncIterator[
        tuple[Snapshot, IndexState, Sequence[FolderIndex], Mapping[str, UnsavedFile]]
    ]:
        """As :meth:`snapshot`, with the folders of the view, and its documents."""
        with self.throttle.requests():
            await self._catch_up(seconds, begin)
            folders = self._folder_indexes()
            texts = await self._texts_in_place(folders, buffers, asked)
            unsaved = await self._documents.known(texts)
        overlay = {path: one.facts for path, one in unsaved.items()}
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
        """All that folders know now. Where something cannot be read for what is wrong with a store,
        that is mended, and StoreDamaged raised."""
        readers: list[Reader] = []
        try:
            with contextlib.ExitStack() as stack:
                for folder in folders:
                    readers.append(await folder.reader())
                    stack.callback(readers[-1].close)
                view = Snapshot([one.root.as_posix() for one in folders], readers, overlay)
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
        """Return whether an error comes of a store that is damaged; the store is seen to then."""
        if not isinstance(error, StoreDamaged):
            return any([await folder.repair() for folder in folders])
        some = list(folders)
        certain = len(some) == 1 and not isinstance(error, SegmentMissing)
        for folder in some:
            await folder.suspect(await folder.store(), error, certain=certain)
        return True

    @contextlib.asynccontextmanager
    async def corpus(
        self, buffers: Mapping[Path, str], seconds: float = CATCH_UP_SECONDS
    ) -> AsyncIterator[tuple[Callable[[], Corpus], IndexState, Snapshot]]:
        """All texts as they are now, to be ranked, as far as they are known: what gives them; how
        true that is; and the view that they are read through. All reading is done in a thread: by
        the view's `read`, until the block ends."""
        async with self._snapshot(buffers, seconds, ()) as (view, state, folders, unsaved):
            tables = [folder.table for folder in folders]
            taken = {path: one.taken for path, one in unsaved.items() if one.taken is not None}
            yield functools.partial(view.corpus, tables, taken), state, view

    async def candidates(
        self, conditions: Sequence[Condition], seconds: float
    ) -> list[MatchCandidates] | None:
        """The files that may match, by what any text has that does: for each of some such
        conditions. None where that is not known for certain: where an index is not complete, or
        cannot say in so many seconds that it is up to date."""
        if not await self._is_exact(seconds):
            return None
        folders = self._folder_indexes()
        try:
            async with self._view(folders) as (view, readers):
                if not self._is_exact_now():  # something has changed meanwhile
                    return None
                return await view.read(_candidates, folders, readers, conditions)
        except (StoreDamaged, SearchError) as error:
            logger.warning("The index cannot say which files may match: %s", error)
            return None

    def has_folder(self, root: Path, path: str) -> bool:
        """Whether a search of the root covers the folder with this path below it, as far as that is
        known."""
        return root in self._indexes and self._indexes[root].has_folder(path)

    async def _is_exact(self, seconds: float) -> bool:
        """Whether every file is known as it is now; waits so long for changes to be taken."""
        if not self._knows_files():
            self._start_check([one for one in self._folder_indexes() if one.complete])
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
        folders = self._folder_indexes()
        return bool(folders) and all(one.is_exact_for(self._covers(one)) for one in folders)

    async def index_files(
        self, paths: Iterable[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """See to it that files are known, before the index is complete: gives their paths as they
        come to be in the store. ``paths`` are absolute, of files that a search covers."""
        end = asyncio.get_running_loop().time() + seconds
        for folder, below in _by_folder(self._folder_indexes(), paths).items():
            left = end - asyncio.get_running_loop().time()
            async with contextlib.aclosing(folder.index_files(sorted(below), left)) as taken:
                async for some in taken:
                    yield [folder.prefix + path for path in some]

    def state(self) -> IndexState:
        """How much of the workspace is known, and whether it is as the disk has it."""
        folders = self._folder_indexes()
        state: Literal["none", "opening", "building", "ready", "stale"] = "ready"
        if not folders or not all(one.complete for one in folders):
            # A store that was damaged or deleted is made anew by the next query's check.
            known = folders and all(one.has_index for one in folders)
            state = "building" if self._builds or known else "none"
            if any(one.is_opening for one in folders):
                state = "opening"
        elif self._is_behind() or _is_busy(self._updating) or _is_busy(self._checking):
            state = "stale"
        if not (self._config().index.enabled or self._has_consent):
            state = "none"  # whatever an earlier setting has left
        return IndexState(
            state=state,
            files_indexed=sum(one.indexed for one in folders),
            files_total=sum(one.total for one in folders),
            updated_at=max((one.updated_at for one in folders), default=0.0),
        )

    def _is_behind(self) -> bool:
        """Whether files may have changed that a build under way has yet to take: unless there was a
        look at all of them a moment ago, which found nothing."""
        return bool(self._builds) and any(
            one.is_behind or one.is_due or not one.was_listed_with(self._covers(one))
            for one in self._folder_indexes()
        )

    async def status(self) -> IndexStatus:
        """All that there is to know of the index, and of what works on it."""
        index, state, folders = self._config().index, self.state().state, []
        for folder in self._folder_indexes():
            reader = await folder.reader()
            try:
                folders.append(await asyncio.to_thread(folder_status, folder, reader, state))
            finally:
                reader.close()
        paused = self.throttle.state == "paused"
        if paused:
            folders = [
                msgspec.structs.replace(one, state="paused")
                if one.state in ("building", "stale")
                else one
                for one in folders
            ]
        return IndexStatus(
            folders=folders,
            settings=IndexStatusSettings(
                enabled=index.enabled,
                max_files=index.max_files,
                max_index_size_mb=index.max_index_size_mb,
                max_memory_usage_mb=index.max_memory_usage_mb,
                cpu_throttle_threshold=index.cpu_throttle_threshold,
                exclude_patterns=list(index.exclude_patterns),
                watch=index.watch,
                embeddings=index.embeddings,
            ),
            workers=len(self._workers.pids),
            memory_mb=round(self.throttle.memory() / 1e6, 1),
            workers_memory_mb=round(sum(map(anonymous_bytes, self._workers.pids)) / 1e6, 1),
            paused=paused,
            waits_for=self.throttle.reason or None,
            embeddings=model_or_reason(index.embeddings),
        )

    async def left_out(self, view: Snapshot | None = None) -> NotCovered:
        """How many files there are of which nothing can be found, by reason. A ``view`` of now
        saves a look at the stores."""
        written = (
            view.written() if view else [await one.written() for one in self._folder_indexes()]
        )
        if self._not_covered is None or self._not_covered[0] != written:
            self._not_covered = written, total_of((await self.status()).folders)
        return self._not_covered[1]

    async def count_indexed_files(self) -> int:
        """How many files are kept, by this process or an earlier one, as they are or were."""
        count = 0
        for folder in self._folder_indexes():
            if folder.damage:
                continue
            reader = await folder.reader()
            try:
                count += await asyncio.to_thread(reader.file_count)
            finally:
                reader.close()
        return count

    @property
    def has_complete_folder(self) -> bool:
        """Whether all files of some folder are known, though perhaps not of every one."""
        return any(one.complete for one in self._folder_indexes())

    @property
    def build_was_requested(self) -> bool:
        """Whether it was to be built already: where there is none all the same, none comes."""
        return self._build_requested

    def temporary_folders(self) -> list[Path]:
        """The folders whose index ends with this process: nothing is or can be written there."""
        return [one.root for one in self._folder_indexes() if one.is_lost_on_exit]

    def notices(self) -> list[str]:
        """What people should know of folders `.winnow` that are ignored."""
        return [one.notice for one in self._folder_indexes() if one.notice]

    @property
    def stores_changed(self) -> int:
        """How often a folder has changed over to another store, or opened its store again."""
        return sum(one.stores_changed for one in self._indexes.values())

    def damages(self) -> list[str]:
        """Which folders have a damaged index, what is wrong with it, and what is done about it."""
        rebuilt = (
            "it is being rebuilt" if self._build_requested else "`winnow index build` rebuilds it"
        )
        return [
            f"the index of {one.root} is damaged ({one.damage}): {rebuilt}"
            for one in self._folder_indexes()
            if one.damage
        ]

    def problem_messages(self) -> list[str]:
        """Why folders are not indexed as they should."""
        folders = self._folder_indexes()
        found = [f"{one.root}: {one.problem}" for one in folders if one.problem]
        found += self.damages()
        if left_out := sum(one.left_out for one in folders):
            found.append(f"{left_out} files are left out: {FULL}")
        waits_for = self.throttle.reason
        if waits_for and self._builds and not all(one.complete for one in folders):
            found.append(f"the background waits: {waits_for}")
        return found

    async def problems(self) -> dict[str, str]:
        """The files of which no facts could be taken, by absolute path, and why; and the folders
        that could not be indexed as they should."""
        found = {}
        for folder in self._folder_indexes():
            if folder.problem:
                found[folder.root.as_posix()] = folder.problem
            for path, problem in (await folder.problems()).items():
                found[folder.prefix + path] = problem
        return found

    # --- keeping up ------------------------------------------------------------------------

    async def build(self, report: ReportProgress | None = None, consent: bool = False) -> None:
        """Bring all folders up to date, unless the settings say that there is to be no index. With
        ``consent``, also those that are not indexed unless somebody asks for it."""
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
            if not self._builds:
                for folder in self._indexes.values():
                    folder.is_behind = False
        if not task.cancelled():
            task.result()

    async def _open_before(self) -> None:
        """Open what is there, and leave the machine to the first request for a moment: what a build
        looks at was looked at just now."""
        await self.open()
        pause = self._opened_at + LATER_SECONDS - time.monotonic()
        if pause > 0 and all(one.complete for one in self._folder_indexes()):
            await asyncio.sleep(pause)
            await self.throttle.turn()

    async def _build(self, report: ReportProgress | None, consent: bool) -> None:
        self._build_requested = True
        self._has_consent |= consent
        for folder in self._indexes.values():
            self._build_when_there(folder)
        for folder in self._folder_indexes():
            with _logged(folder):
                if consent:
                    folder.consent(is_indexable(folder.root, self._environment))
                elif not is_indexable(folder.root, self._environment):
                    folder.problem = "it is the root of a file system, or holds a home folder"
                    continue
                max_files = None if consent else self._config().index.max_files
                folder.schedule_build(max_files)  # should this fail: the folder may come back
                if self._watching:
                    await folder.watch(self._covers(folder), self.files_changed)

                def reported(done: int, total: int) -> None:
                    self._prepare_soon()
                    if report is not None:
                        report(done, total)

                await folder.build(self._covers(folder), max_files, reported)
                if folder.complete:
                    self._prepare_soon()

    def _build_when_there(self, folder: FolderIndex) -> None:
        """Have a look build the folder, which may be gone just now."""
        if folder.writable:
            folder.schedule_build(self._config().index.max_files)

    def _prepare_soon(self) -> None:
        """Load what the first search needs, if nothing has begun to yet."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(asyncio.to_thread(self._prepare))

    def enable_watching(self) -> None:
        """From the next build on, have changes told: there will be more than one query."""
        self._watching = self._config().index.watch

    def pause(self) -> None:
        """Have the background begin nothing more; what somebody asks for is still read."""
        self.throttle.pause()

    def resume(self) -> None:
        self.throttle.resume()

    async def follow_settings(self) -> None:
        """Have the settings say anew whether there is to be an index. Where there is to be none,
        what goes on for one ends, and what was made stays on disk; where there is to be one, it is
        :meth:`build` that makes it."""
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
        """Delete the index of all folders; it is not made anew until somebody asks for it."""
        await _cancelled(list(self._builds))
        for folder in self._folder_indexes():
            await folder.clear()

    async def refresh(self, paths: Collection[str | Path], seconds: float) -> bool:
        """Look at some files, or at all, whatever was told; whether what was found is in the index
        before the time is up."""
        end = asyncio.get_running_loop().time() + seconds
        for folder in self._folder_indexes():
            if not paths:
                folder.schedule_rescan()
        self.files_changed(paths)
        await self._catch_up(seconds)
        # A query does not wait as long for a look.
        await _finished(self._checking, end - asyncio.get_running_loop().time())
        return not (_is_busy(self._updating) or _is_busy(self._checking) or self._builds)

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Take note that files were changed, made or removed; those of the index are taken soon,
        and a query that begins meanwhile waits a moment for them. Nothing is taken once the
        settings have turned the index off, even before :meth:`follow_settings` has ended."""
        if not (self._config().index.enabled or self._has_consent):
            return
        for folder, below in _by_folder(self._folder_indexes(), paths).items():
            if folder.is_open:
                self._changed_files.setdefault(folder, set()).update(below)
        if self._changed_files and not _is_busy(self._updating) and not self._closed:
            self._updating = asyncio.create_task(self._process_changes())

    async def aclose(self) -> None:
        """End what is under way, and the workers; close the stores."""
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
                await folder.on_files_changed(self._changed_files.pop(folder), self._covers(folder))

    async def _catch_up(self, seconds: float, begin: bool = True) -> None:
        """Wait a while for the changes that somebody has told of, then for a look for others, which
        would find these, too."""
        end = asyncio.get_running_loop().time() + seconds
        if seconds and not await self._wait_for_events(seconds):
            for folder in self._folder_indexes():
                folder.schedule_check()
        told = await _finished(self._updating, end - asyncio.get_running_loop().time())
        self._start_check(
            [one for one in self._folder_indexes() if one.built or one.writable], begin
        )
        left = end - asyncio.get_running_loop().time()
        await _finished(self._checking, min(left, LOOK_SECONDS) if told else left)

    def _start_check(self, folders: Iterable[FolderIndex], begin: bool = True) -> None:
        """Begin to look for changes in the folders where it is time to, and perhaps an index."""
        due = [one for one in folders if one.is_due]
        unsure = [one for one in due if not one.is_up_to_date]
        if not due or self._builds or _is_busy(self._opening) or _is_busy(self._checking):
            return
        if unsure:
            if self._later_check is not None:
                self._later_check.cancel()
            self._checking = asyncio.create_task(self._check(unsure, begin))
        elif not _is_busy(self._later_check):
            self._later_check = asyncio.create_task(self._check_later(due))

    async def _check_later(self, folders: Iterable[FolderIndex]) -> None:
        """Look, though every change is told, when nobody waits for an answer."""
        await asyncio.sleep(LATER_SECONDS)
        await self.throttle.turn()
        await self._check(folders, begin=False)

    async def _check(self, folders: Iterable[FolderIndex], begin: bool) -> None:
        """Look for changes that nobody has told of, and take them."""
        for folder in folders:
            with _logged(folder):
                await folder.check(self._covers(folder), FEW, begin)

    async def _wait_for_events(self, seconds: float) -> bool:
        """Whether all changes up to now are told, in the folders where changes are."""
        watchers = [one.watcher for one in self._folder_indexes() if one.watcher and one.is_watched]
        return all(await asyncio.gather(*[one.settle(seconds) for one in watchers]))

    async def _texts_in_place(
        self,
        folders: Sequence[FolderIndex],
        buffers: Mapping[Path, str],
        asked: Collection[str],
    ) -> dict[str, str]:
        """The texts that stand in the place of files, by the absolute paths of these."""
        documents: dict[FolderIndex, dict[str, str | None]] = {}
        for path, text in {**dict.fromkeys(map(Path, asked)), **buffers}.items():
            for folder, (below,) in _by_folder(folders, [path]).items():
                documents.setdefault(folder, {})[below] = text
        texts: dict[str, str] = {}
        for folder, by_path in documents.items():
            known = await folder.known(by_path)
            wanted = {path for path in by_path if folder.prefix + path in asked}
            texts |= await asyncio.to_thread(texts_in_place, folder, by_path, known, wanted)
        return texts

    # --- folders ---------------------------------------------------------------------------

    def _folder_indexes(self) -> list[FolderIndex]:
        """The folders of the workspace, with what is known of each."""
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
        """The roots of the folders, looked for anew now and then: one query asks a dozen times."""
        folders, now = list(self._folders()), time.monotonic()
        if self._cached_roots is None or self._cached_roots[:2] != (
            folders,
            int(now / ROOT_SECONDS),
        ):
            found = self._roots_of(folders)
            self._cached_roots = folders, int(now / ROOT_SECONDS), found
        return self._cached_roots[2]

    def _covers(self, folder: FolderIndex) -> IndexScope:
        others = [one.root for one in self._folder_indexes() if one is not folder]
        config = self._config()
        return IndexScope(config.search.exclude, tuple(others), config.index.exclude_patterns)

    def _settings(self) -> FolderSettings:
        config = self._config()
        masked = config.index.enable_sensitive_filtering
        rules = config.secret_rules if masked else ()
        model = load_model(config.index.embeddings).model
        return FolderSettings(
            max_bytes=config.limits.parse_bytes,
            max_parsed=most_parsed(config.index, sum(one.total for one in self._folder_indexes())),
            max_size_mb=config.index.max_index_size_mb,
            threshold=config.index.auto_index_threshold,
            masked=masked,
            embeddings=config.index.embeddings,
            rules=rules,
            variant=_variant(masked, rules, model.name if model else ""),
            user=User.of(self._environment, config.index.location),
        )


def _variant(masked: bool, rules: Sequence[str], model: str) -> str:
    """What settings decide what is kept: an index that was made with others is no use."""
    added = hashlib.blake2b("\n".join(rules).encode(), digest_size=8).hexdigest() if rules else ""
    return ("" if masked else "unmasked") + added + model


def _by_folder(
    folders: Sequence[FolderIndex], paths: Iterable[str | Path]
) -> dict[FolderIndex, set[str]]:
    """Paths below the folders that hold them; the client may spell a folder in another way."""
    roots = [real_path(one.root) for one in folders]
    found: dict[FolderIndex, set[str]] = {}
    parents: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            parent, name = os.path.split(path)
            if parent not in parents:
                parents[parent] = real_path(parent)
            held = held_by(os.path.join(parents[parent], name), roots)
            if held:
                found.setdefault(folders[held[0]], set()).add(held[1])
    return found


def _candidates(
    folders: Sequence[FolderIndex], readers: Sequence[Reader], conditions: Sequence[Condition]
) -> list[MatchCandidates]:
    """The files that may match, by the trigrams of all texts. Raises StoreDamaged."""
    import numpy as np

    paths, binary = {}, {}
    numbers: list[dict[Path, Sequence[int]]] = [{} for _ in conditions]
    total = 0
    for folder, reader in zip(folders, readers, strict=True):
        table = folder.table.at(reader)
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
    """End tasks, as far as there are any."""
    some = [one for one in tasks if one is not None]
    for task in some:
        task.cancel()
    await asyncio.gather(*some, return_exceptions=True)


def _is_busy(task: asyncio.Task[None] | None) -> bool:
    return task is not None and not task.done()


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("The index is not opened", exc_info=error)


async def _finished(task: asyncio.Task[None] | None, seconds: float) -> bool:
    """Wait for a task; whether it was busy."""
    if task is None or task.done():
        return False
    await asyncio.wait({task}, timeout=max(seconds, 0.0))
    return True


@contextlib.contextmanager
def _logged(folder: FolderIndex) -> Iterator[None]:
    """What hinders an update is kept as the folder's problem; queries go on."""
    try:
        yield
    except (SearchError, StoreDamaged, DatabaseError, OSError) as error:
        folder.schedule_rescan()  # what was to be taken is not
        folder.problem = str(error)
        logger.warning("The index of %s: %s", folder.root, error)
