"""The index of a workspace: the symbols and texts of all its folders, and how current they are.

A request never gets an answer older than the disk. Reported changes are indexed at once. In
addition, a request checks for unreported changes if the last check is too old, and indexes them
first if that is quick. Otherwise, the state says that the index is stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
    Set,
)
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from winnow.config import Config
from winnow.errors import SearchError
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.passes import ReportProgress
from winnow.index.builder.state import FolderState
from winnow.index.builder.throttle import Throttle
from winnow.index.builder.unsaved import UnsavedFile, UnsavedFiles, symbols_of
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.writing import OrderFiles
from winnow.index.builds import Builds
from winnow.index.commits.git_log import ReadCommits
from winnow.index.commits.updates import CommitUpdates
from winnow.index.filling import Filling
from winnow.index.folder_indexes import FolderIndexes, by_folder
from winnow.index.folder_snapshot import open_snapshot, texts_in_place_of_files
from winnow.index.match_candidates import MatchCandidates, match_candidates
from winnow.index.not_covered import NotCovered
from winnow.index.occurrences import UnreadFiles, words_for
from winnow.index.problems import count_left_out, damages, problem_messages
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.store.reader import StoreVersion
from winnow.index.updates import Updates
from winnow.processes.children import Processes
from winnow.storage.database import StoreDamaged
from winnow.text.ripgrep import Ripgrep
from winnow.text.search_roots import search_roots
from winnow.types import IndexState

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus
    from winnow.index.postings.trigrams import Condition
    from winnow.index.store.file_record import FileRecord
    from winnow.symbols.file_symbols import FileSymbols

# Longest wait of a request for changes to be indexed.
CATCH_UP_SECONDS = 0.15
NOTHING: Overlay = MappingProxyType({})

logger = logging.getLogger(__name__)


class WithoutOccurrences(Struct, frozen=True):
    """The files of a folder whose occurrences must be stored before some names are searched."""

    folder: FolderIndex
    names: Sequence[str]
    unread: UnreadFiles


class WorkspaceIndex:
    """The index of a workspace's folders.

    ``config`` and ``folders`` return the current values, ``ripgrep`` the program that lists files;
    ``ordered`` sorts the files of a folder by importance. ``commits`` reads the commits of its
    repository. ``prepare`` loads what the first search
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
        commits: Callable[[Path, Set[bytes]], Awaitable[ReadCommits | None]],
        prepare: Callable[[], None] = lambda: None,
        derive: Callable[[Corpus], None] = lambda corpus: None,
        roots_of: Callable[[Sequence[Path]], list[Path]] = search_roots,
        has_begun: Callable[[], bool] = lambda: False,
    ) -> None:
        self.throttle = Throttle(lambda: config().index, lambda: self._workers.pids)
        self._config = config
        self._derive = derive
        self._has_begun = has_begun
        self._workers = IndexWorkers(
            processes, environment, config().limits.parse_seconds, regulator=self.throttle
        )
        self._folders = FolderIndexes(
            self._workers,
            environment,
            config=config,
            folders=folders,
            roots_of=roots_of,
            ripgrep=ripgrep,
            ordered=ordered,
            created=lambda folder: self._builds.follow(folder),  # noqa: PLW0108 - created below
        )
        self._builds = Builds(
            self._folders,
            self.throttle,
            config=config,
            prepare=prepare,
            read_ahead=self._read_ahead,
            opened=lambda changes: self._updates.apply_opened(changes),  # noqa: PLW0108
            changed=self.files_changed,
        )
        self._filling = Filling(
            self._folders,
            self._builds,
            self.throttle,
            CommitUpdates(commits, self.throttle, self._folders.settings),
        )
        self._updates = Updates(self._folders, self.throttle, self._builds, self._filling.begin)
        self._documents = UnsavedFiles(self._workers, self._folders.settings)
        self._not_covered: tuple[list[StoreVersion], NotCovered] | None = None

    def folder_indexes(self) -> list[FolderIndex]:
        """Return the indexes of the workspace's folders."""
        return self._folders.current()

    # --- opening and building --------------------------------------------------------------

    async def open(self) -> None:
        """Open the indexes of earlier processes, once per folder, and return when they can answer.
        Does not wait for a folder without an index, or whose index is being built."""
        await self._builds.open_all()

    @property
    def is_opened(self) -> bool:
        """True if :meth:`open` has nothing to wait for."""
        return self._builds.is_opened

    async def _read_ahead(self, folders: Sequence[FolderIndex]) -> None:
        """Read what every search needs, while ripgrep lists the files."""
        with contextlib.suppress(SearchError, StoreDamaged):
            async with open_snapshot(folders) as (view, _):
                await view.read(lambda: self._derive(self._corpus(view, folders, {})))

    async def build(
        self,
        report: ReportProgress | None = None,
        consent: bool = False,
        *,
        texts_first: bool = True,
    ) -> None:
        """Update the index of all folders, unless the settings disable it. With ``consent``,
        include folders that are indexed only on request. Without ``texts_first``, the index is
        complete earlier, but answers later."""
        await self._builds.build(report, consent, texts_first)
        self._filling.begin()

    @property
    def build_was_requested(self) -> bool:
        """True if a build was requested: if there is still no index, none will come."""
        return self._builds.was_requested

    @property
    def variant(self) -> str:
        """What decides, besides the version of Winnow, whether two indexes have the same data."""
        return self._folders.settings().variant

    def enable_watching(self) -> None:
        """Watch the folders from the next build on, and complete their occurrences in the
        background: more than one request will come."""
        self._filling.enable()
        self._builds.enable_watching()

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
            await self._builds.disable()
            await self._updates.cancel()
            await self._filling.cancel()
        for folder in self._folders.known():
            await folder.set_writable(enabled and self._folders.is_indexable(folder.root))

    async def clear(self) -> None:
        """Delete the index of all folders; it is built again only on request."""
        await self._builds.cancel()
        await self._filling.cancel()
        for folder in self.folder_indexes():
            await folder.clear()

    def expect_end(self) -> None:
        """Expect the end of all processes, before :meth:`aclose`."""
        for folder in self._folders.known():
            folder.is_ending = True

    async def aclose(self) -> None:
        """Cancel all work, end the workers, and close the stores."""
        await self._builds.aclose()
        await self._updates.aclose()
        await self._filling.aclose()
        await self._documents.aclose()
        await self._workers.aclose()
        for folder in self._folders.known():
            await folder.aclose()

    # --- changes ---------------------------------------------------------------------------

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Record that files were changed, created or deleted. They are indexed soon, and a request
        waits for them briefly. Nothing is indexed once the settings disable the index, even before
        :meth:`follow_settings` has ended."""
        self._updates.files_changed(paths)

    async def refresh(self, paths: Collection[str | Path], seconds: float) -> bool:
        """Check some files, or all, whatever was reported. Return True if all changes are indexed
        in time."""
        end = asyncio.get_running_loop().time() + seconds
        if not paths:
            for folder in self.folder_indexes():
                folder.files.schedule_rescan()
        self.files_changed(paths)
        await self._updates.catch_up(seconds)
        # A request waits less for a check.
        await self._updates.wait_for_check(end - asyncio.get_running_loop().time())
        return not (self._updates.is_busy or self._builds.is_running)

    # --- queries ---------------------------------------------------------------------------

    def beginning_none(self) -> contextlib.AbstractContextManager[None]:
        """Let no request begin an index within the block, not even that of a small folder."""
        return self._updates.beginning_none()

    @contextlib.asynccontextmanager
    async def snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float = CATCH_UP_SECONDS,
        requested: Collection[str] = (),
        further: Overlay = NOTHING,
    ) -> AsyncIterator[tuple[Snapshot, IndexState]]:
        """Open a snapshot of everything indexed, with unsaved documents, and its state.

        ``requested`` are files that the request is about: they are included as they are now, even
        if no search covers them. ``further`` are the symbols of files outside the workspace. Waits
        at most ``seconds`` for changed files. Begins the index of a small folder, except within
        :meth:`beginning_none`. Only one thread at a time may read the snapshot, through
        :meth:`Snapshot.read`, within the block.
        """
        async with self._snapshot(buffers, seconds, requested, further) as (view, state, _, _):
            yield view, state

    @contextlib.asynccontextmanager
    async def _snapshot(
        self,
        buffers: Mapping[Path, str],
        seconds: float,
        requested: Collection[str] = (),
        further: Overlay = NOTHING,
    ) -> AsyncIterator[
        tuple[Snapshot, IndexState, Sequence[FolderIndex], Mapping[str, UnsavedFile]]
    ]:
        """Do the same as :meth:`snapshot`, and also yield its folders and documents."""
        with self.throttle.requests():
            await self._updates.catch_up(seconds)
            folders = self.folder_indexes()
            texts = await texts_in_place_of_files(folders, buffers, requested)
            unsaved = await self._documents.known(texts)
        own = {path: document.symbols for path, document in unsaved.items()}
        overlay = {**own, **further}
        async with open_snapshot(folders, overlay) as (view, _):
            state = self.state()
            late = any(path not in unsaved or unsaved[path].text != texts[path] for path in texts)
            if late and state.state == "ready":
                state = msgspec.structs.replace(state, state="stale")
            yield view, state, folders, unsaved

    @contextlib.asynccontextmanager
    async def corpus(
        self, buffers: Mapping[Path, str], seconds: float = CATCH_UP_SECONDS
    ) -> AsyncIterator[tuple[Callable[[], Corpus], IndexState, Snapshot]]:
        """Open the current texts for ranking: yield a function that returns the corpus, its state,
        and the snapshot that it is read through. All reading is done in a thread: by the snapshot's
        `read`, within the block."""
        async with self._snapshot(buffers, seconds) as (view, state, folders, unsaved):
            records = {
                path: document.record
                for path, document in unsaved.items()
                if document.record is not None
            }
            yield functools.partial(self._corpus, view, folders, records), state, view

    def _corpus(
        self, view: Snapshot, folders: Sequence[FolderIndex], unsaved: Mapping[str, FileRecord]
    ) -> Corpus:
        tables = [folder.disk.table for folder in folders]
        has_commits = self._config().index.commit_history
        histories = [folder.disk.history for folder in folders] if has_commits else ()
        return view.corpus(tables, unsaved, histories)

    async def files(self, seconds: float) -> Mapping[Path, Sequence[str]] | None:
        """Return the paths of all files that a search covers, by folder, and empty paths. None if
        that is not certain, see :meth:`candidates`."""
        from winnow.index.postings.trigrams import ANYTHING, Condition

        found = await self.candidates([Condition(ANYTHING)], seconds)
        return found[0].paths if found else None

    async def candidates(
        self, conditions: Sequence[Condition], seconds: float
    ) -> list[MatchCandidates] | None:
        """Return the files that may match, for each of some conditions. None if that is not
        certain: an index is incomplete, or cannot confirm within ``seconds`` that it is up to
        date."""
        if not await self._updates.is_exact(seconds):
            return None
        is_exact = self._updates.is_exact_now
        return await self._candidates(conditions, is_exact, likely=False)

    async def likely_candidates(
        self, conditions: Sequence[Condition]
    ) -> list[MatchCandidates] | None:
        """Return the files that may match as they were indexed last, for each of some conditions,
        without those whose trigrams are not all known. None if the index cannot be read."""
        return await self._candidates(conditions, lambda: True, likely=True)

    async def _candidates(
        self, conditions: Sequence[Condition], may_read: Callable[[], bool], *, likely: bool
    ) -> list[MatchCandidates] | None:
        """Return candidates. None if the index cannot be read, or ``may_read`` returns False once
        it is open."""
        folders = self.folder_indexes()
        read = functools.partial(match_candidates, likely=likely)
        try:
            async with open_snapshot(folders) as (view, readers):
                if not may_read():  # something has changed meanwhile
                    return None
                return await view.read(read, folders, readers, conditions)
        except (StoreDamaged, SearchError) as error:
            logger.warning("The index cannot find the candidate files: %s", error)
            return None

    def has_folder(self, root: Path, path: str) -> bool:
        """Return True if a search of the root covers files in a folder below it, as far as the last
        listing shows."""
        folder = self._folders.get(root)
        return folder is not None and folder.files.has_folder(path)

    def start_worker(self) -> None:
        """Start a worker for the files that a request will read, unless there is one: it takes
        longer to start than the store to open."""
        self._workers.start()

    async def index_files(
        self, paths: Iterable[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """Index files before the index is complete; yield their paths as they enter the store.
        ``paths`` are absolute, of files that a search covers."""
        end = asyncio.get_running_loop().time() + seconds
        for folder, below in by_folder(self.folder_indexes(), paths).items():
            left = end - asyncio.get_running_loop().time()
            async with contextlib.aclosing(folder.index_files(sorted(below), left)) as batches:
                async for batch in batches:
                    yield [folder.prefix + path for path in batch]

    async def symbols_of(
        self, texts: Mapping[str, bytes], seconds: float
    ) -> dict[str, FileSymbols | None]:
        """Return the symbols of texts outside the workspace, by absolute path: of those that are
        parsed in some ``seconds``; None for a text without symbols."""
        return await symbols_of(self._workers, texts, self._folders.settings().max_parsed, seconds)

    async def without_occurrences(
        self, names: Sequence[str], paths: Iterable[str]
    ) -> list[WithoutOccurrences]:
        """Return what :meth:`add_occurrences` has to read for some names and files, by folder.
        ``paths`` are absolute."""
        below = by_folder(self.folder_indexes(), paths)
        found = []
        for folder in self.folder_indexes():
            if folder.disk.opened is not None and folder.state is not FolderState.DAMAGED:
                unread = await folder.writer.unread_files(names, below.get(folder, ()))
                if unread.files or unread.with_names:
                    found.append(WithoutOccurrences(folder, names, unread))
        return found

    async def add_occurrences(
        self, missing: Iterable[WithoutOccurrences], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """Store the occurrences of files; yield their paths as they enter the store. Raises
        asyncio.TimeoutError after some ``seconds``."""
        end = asyncio.get_running_loop().time() + seconds
        for part in missing:
            folder, words = part.folder, words_for(part.names)
            for files, some in ((part.unread.files, ()), (part.unread.with_names, words)):
                left = end - asyncio.get_running_loop().time()
                async with contextlib.aclosing(
                    folder.writer.add_occurrences(files, some, left)
                ) as batches:
                    async for batch in batches:
                        yield [folder.prefix + path for path in batch]
            folder.writer.searched.add(part.names, part.unread)
        self._filling.begin()

    # --- the state -------------------------------------------------------------------------

    def state(self) -> IndexState:
        """Return how much of the workspace is indexed, and whether the index is up to date."""
        folders = self.folder_indexes()
        indexed = sum(folder.work.indexed for folder in folders)
        total = sum(folder.files.total for folder in folders)
        texts = sum(max(folder.work.indexed, folder.work.texts) for folder in folders)
        may_lack = self._updates.is_busy or not all(folder.knows_all_texts for folder in folders)
        state = self._state_of(folders) if self._builds.is_allowed else "none"
        return IndexState(
            state=state,
            files_indexed=indexed,
            files_total=total,
            updated_at=max((folder.work.updated_at for folder in folders), default=0.0),
            texts_indexed=_texts_indexed(texts, indexed, total, may_lack=may_lack)
            if state == "building"
            else None,
            waits_for=self.throttle.shortage or None if state in ("building", "stale") else None,
        )

    def _state_of(
        self, folders: Sequence[FolderIndex]
    ) -> Literal["none", "opening", "building", "ready", "stale"]:
        states = {folder.state for folder in folders}
        if states and all(state.is_complete for state in states):
            is_behind = FolderState.STALE in states or self._may_find_changes(folders)
            return "stale" if is_behind or self._updates.is_busy else "ready"
        if FolderState.OPENING in states:
            return "opening"
        # The next request's check rebuilds a damaged or deleted store.
        has_index = bool(states) and FolderState.ABSENT not in states
        is_coming = self._builds.is_running or self._has_begun()
        return "building" if has_index or is_coming else "none"

    def _may_find_changes(self, folders: Sequence[FolderIndex]) -> bool:
        """Return True if a running build may still find changes: unless a recent check found
        none."""
        return self._builds.is_running and any(
            folder.files.is_due or folder.files.listed_as != self._folders.scope_of(folder)
            for folder in folders
        )

    @property
    def files_listed(self) -> int | None:
        """The number of files in the last listing; None if a folder has not been listed."""
        files = [folder.files for folder in self.folder_indexes()]
        is_listed = bool(files) and all(listed.total or listed.why_empty for listed in files)
        return sum(listed.total for listed in files) if is_listed else None

    @property
    def why_empty(self) -> str:
        """Why a complete index has no files; empty if it has some."""
        folders = self.folder_indexes()
        if any(folder.files.total or not folder.complete for folder in folders):
            return ""
        reasons = dict.fromkeys(folder.files.why_empty for folder in folders)
        return f"there is nothing to index: {'; '.join(reasons)}" if folders else ""

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
            self._not_covered = written, await count_left_out(self.folder_indexes())
        return self._not_covered[1]

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

    def temporary_folders(self) -> list[Path]:
        """Return the folders whose index ends with this process, because nothing is or can be
        written there."""
        has_index = [f for f in self.folder_indexes() if f.state is not FolderState.ABSENT]
        return [folder.root for folder in has_index if folder.disk.is_lost_on_exit]

    def notices(self) -> list[str]:
        """Return messages for the user about ignored `.winnow` folders and pulled archives."""
        ignored = [folder.disk.notice for folder in self.folder_indexes() if folder.disk.notice]
        return [*ignored, *self.archive_notices()]

    def archive_notices(self) -> list[str]:
        """Return which archives new indexes have reused, or why not."""
        return [folder.writer.notice for folder in self.folder_indexes() if folder.writer.notice]

    @property
    def stores_changed(self) -> int:
        """The number of times that a folder has replaced its store or opened it again."""
        return sum(folder.disk.stores_changed for folder in self._folders.known())

    def damages(self) -> list[str]:
        """Describe damaged indexes: which folder, what is wrong, and how it is repaired."""
        return damages(self.folder_indexes(), self._builds.was_requested)

    def problem_messages(self) -> list[str]:
        """Explain why folders are not fully indexed."""
        return problem_messages(self.folder_indexes(), self._builds.was_requested)

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


def _texts_indexed(texts: int, indexed: int, total: int, *, may_lack: bool) -> int | None:
    """Return the number of texts to show; None if no more files than the ``indexed`` ones have one.

    :attr:`IndexState.knows_all_texts` compares it with the ``total``. So it is lower if the index
    ``may_lack`` a text: a file may be new or have changed, or a folder is not listed yet.
    """
    found = min(texts, total - 1) if may_lack else texts
    return found if found > indexed else None
