"""Write changed files to the store of a folder: reuse known texts, extract the others in workers,
and keep the store below its limit."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from pathlib import Path

from winnow.index.builder import size_limit
from winnow.index.builder.disk_scan import (
    Changes,
    ContentExclusions,
    IndexScope,
    file_state_at,
    find_changes,
    has_same_text,
    is_still_at,
)
from winnow.index.builder.folder_files import FolderFiles
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.folder_store import FolderStore
from winnow.index.builder.passes import BuildPolicy, FolderWork, Pass, PassProgress, ReportProgress
from winnow.index.builder.reuse import FEW_CHANGES, TextReuse
from winnow.index.builder.state import Event, Lifecycle
from winnow.index.builder.workers import IndexWorkers
from winnow.index.occurrences import SearchedNames, UnreadFiles, unread_files
from winnow.index.store.file_record import (
    EXCLUDED,
    FULL,
    NO_DEFINITIONS,
    FileRecord,
    FileState,
    IndexJob,
    Part,
    failed_record,
    is_data,
)
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store
from winnow.processes.memory import return_free_pages
from winnow.processes.waiting import wait_within

OrderFiles = Callable[[Path, Sequence[str]], Awaitable[list[str]]]

# Limits of a transaction. Large ones are cheaper, because files share many names; small ones become
# visible earlier and block other processes less.
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 1.0
BATCH_FILES = 2_000  # a segment has room for more
URGENT_SECONDS = 0.03
# Many files for one request: it sends what they add to its answer as often.
URGENT_BATCH_SECONDS = 0.15
# With more changes than this, no request waits for the first ones.
MOST_URGENT = 200
# Up to this number of changed files get their occurrences at once.
FEW_COMPLETE = 200
# The texts of more new files are indexed before any definitions and vectors: searches by meaning
# need only the texts.
MANY_NEW = 200
# Files given to the workers at once: those of a large tree would take 25 MB.
FILES_AT_ONCE = 8_000
EXCLUDED_AT_ONCE = 2_000
# Files that get their occurrences in the background at once, some tenths of a second of work.
COMPLETED_AT_ONCE = 50


class ChangeWriter:
    """Writes changed files to the store of a folder; ``ordered`` sorts them by importance."""

    def __init__(
        self,
        root: Path,
        lifecycle: Lifecycle,
        disk: FolderStore,
        files: FolderFiles,
        work: FolderWork,
        workers: IndexWorkers,
        settings: Callable[[], FolderSettings],
        ordered: OrderFiles,
    ) -> None:
        self._root = root
        self._lifecycle = lifecycle
        self._disk = disk
        self._files = files
        self._work = work
        self._workers = workers
        self._settings = settings
        self._ordered = ordered
        self.searched = SearchedNames()
        self._reuse = TextReuse(root, disk, settings)

    @property
    def notice(self) -> str:
        """What the user should know of the archives in the settings; empty without any."""
        return self._reuse.notice

    # --- passes ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def start_pass(self) -> Iterator[Pass]:
        """Start a pass that ends with the block. What it leaves behind if it is cancelled or fails
        is found again."""
        with self._work.start_pass() as current:
            try:
                yield current
            finally:
                if current.is_behind:
                    self._files.schedule_rescan()

    def found_changes(self, current: Pass) -> None:
        """Record that a pass knows of changes: the index is behind until they are written."""
        current.is_behind = True
        self._lifecycle.on(Event.CHANGES_FOUND)

    async def apply_all(
        self,
        current: Pass,
        store: Store,
        changes: Changes,
        report: ReportProgress | None = None,
        urgent: bool = False,
    ) -> bool:
        """Write all differences from a store. Return False if the store was replaced meanwhile."""
        if changes and store is self._disk.opened:
            self.found_changes(current)
        await self.apply(changes, self._files.listed_as, current, report, urgent)
        if not (changes or self._lifecycle.state.is_complete):
            await self.count_left_out()
        current.is_behind = False
        if store is not self._disk.opened:
            # Only a check shows whether the new store is complete: a build may have completed it.
            self._files.schedule_check()
            return False
        if self._work.policy is not BuildPolicy.ON_REQUEST:
            self._lifecycle.on(Event.CAUGHT_UP)
            if self._work.is_behind:  # another pass
                self._lifecycle.on(Event.CHANGES_FOUND)
            if not urgent or len(changes) > FEW_CHANGES:
                await self._reuse.let_others_reuse()
        return True

    async def apply(
        self,
        changes: Changes,
        scope: IndexScope,
        current: Pass | None,
        report: ReportProgress | None = None,
        urgent: bool = False,
    ) -> None:
        """Write the changes that a pass has found. Changes without a pass were reported, and are
        newer than any listing."""
        # Reported changes, and urgent ones during a build, say nothing about the progress.
        counts = current is not None and not (urgent and self._work.building.locked())
        work = self._work if counts else None
        progress = PassProgress(work, self._files.total, len(changes.changed), report)
        await self._delete(changes.gone, are_deleted=current is None)
        left = await self._exclude_contents(changes.changed, scope)
        overtaken: Set[str] = frozenset()
        if current is not None:
            current.reading.update(left)
            overtaken = current.overtaken
        left = await self._reuse.reuse(left, overtaken)
        if len(left) > FEW_CHANGES and not urgent:
            left = await self._ordered(self._root, left)
        is_partial = not (urgent or self._lifecycle.state.is_complete)
        if counts and is_partial and self._work.texts_first and len(left) > MANY_NEW:
            progress.set_left(len(left))
            left = await self._index_texts(left, overtaken, progress)
        progress.set_left(len(left))
        indexed = await self._index(left, overtaken, urgent, progress)
        if indexed > FEW_CHANGES and not urgent:
            await self._disk.run(lambda store: store.merger.compact())
        if changes:
            await self.count_left_out()
        progress.end(self._files.total)
        self._work.updated_at = time.time()

    async def _delete(self, paths: Sequence[str], *, are_deleted: bool) -> None:
        """Write that files are gone: they ``are_deleted``, or not listed any more."""
        if not paths:
            return
        await self._write(dict.fromkeys(paths), are_deleted=are_deleted)
        # The file may be ignored now, or was moved during the listing.
        if await asyncio.to_thread(_any_file, self._root, paths):
            self._files.schedule_rescan()

    async def _index(
        self, paths: Sequence[str], overtaken: Set[str], urgent: bool, progress: PassProgress
    ) -> int:
        """Index files while there is room for them; return how many."""
        indexed: set[str] = set()
        async for batch in self._batches(paths, urgent):
            indexed.update(batch)
            await self._write(
                {path: record for path, record in batch.items() if path not in overtaken}
            )
            if not urgent:
                await self._tidy()
            progress.set_left(len(paths) - len(indexed))
            progress.report()
            if self._work.has_all_texts:
                await self._drop_texts_if_full()
            if await self.trim() and not urgent:
                await self.write_excluded([path for path in paths if path not in indexed], FULL)
                break
        return len(indexed)

    async def _tidy(self) -> None:
        """Merge small segments, and return memory that the workers can use."""
        await self._disk.run(lambda store: store.merger.merge_small())
        await asyncio.to_thread(return_free_pages)

    async def _index_texts(
        self, paths: Sequence[str], overtaken: Set[str], progress: PassProgress
    ) -> list[str]:
        """Index the texts of new files that have words. Return the files to be indexed with their
        definitions, or at all."""
        stores = self._disk.stores_changed
        known = await self._disk.query(lambda reader: reader.states_of_files(paths))
        texts = await asyncio.to_thread(_with_same_text, self._root, known)
        # Earlier versions of changed files keep their definitions until they are replaced.
        new = [
            path
            for path in paths
            if not is_data(path)
            and (path not in known or (known[path].problem == NO_DEFINITIONS and path not in texts))
        ]
        are_all = all(state.problem == NO_DEFINITIONS for state in known.values())
        done: set[str] = set()
        without = len(new)
        progress.set_without_text(without)
        async for batch in self._batches(new, urgent=False, part="text"):
            await self._write(
                {path: record for path, record in batch.items() if path not in overtaken}
            )
            await self._tidy()
            without -= len(batch)
            progress.set_without_text(without)
            progress.report()
            done.update(
                path
                for path, record in batch.items()
                if record is None or record.state.problem != NO_DEFINITIONS
            )
            if await self._drop_texts_if_full():
                are_all = False
                break
        self._work.has_all_texts = are_all and stores == self._disk.stores_changed
        return [path for path in paths if path not in done]

    async def _drop_texts_if_full(self) -> bool:
        """If the store is above its size limit, make room for definitions: drop the files of which
        only the text is indexed. Return True if it was."""
        limit = self._settings().max_size_mb * size_limit.MEGABYTE
        if await self._disk.query(Reader.size) <= limit:
            return False
        self._work.has_all_texts = False
        await self._disk.run(Store.drop_texts)
        return True

    # --- requests and limits ---------------------------------------------------------------

    async def index_files(
        self, paths: Sequence[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """Index these files now, with occurrences, until the time is up; yield the paths that are
        in the store."""
        self._workers.start()
        known = await self._disk.query(lambda reader: reader.known(paths))
        stale = await asyncio.to_thread(find_changes, self._root, known.items())
        missing = [path for path in paths if path not in known]
        changed = set(stale.changed)
        fresh = [path for path in known if path not in changed and path not in stale.gone]
        partial = set(await self._disk.query(lambda reader: reader.partial_among(fresh)))
        if some := [path for path in fresh if path not in partial]:
            yield some
        left = [*partial, *stale.changed, *stale.gone, *missing]
        batches = self._batches(left, urgent=True, part="all")
        end = time.monotonic() + seconds
        async with contextlib.aclosing(batches):
            with contextlib.suppress(asyncio.TimeoutError, StopAsyncIteration):
                while True:
                    batch = await wait_within(anext(batches), end - time.monotonic())
                    await self._write(batch)
                    yield [path for path, record in batch.items() if record is not None]

    async def add_occurrences(
        self, paths: Sequence[str], words: Sequence[str] = (), seconds: float | None = None
    ) -> AsyncGenerator[list[str], None]:
        """Complete the occurrences of files of which the store has only declarations, unless their
        text has none of some ``words``; yield the paths that are complete.

        A file with another text than the stored one is indexed again. With ``seconds``, a request
        waits for the files; raises asyncio.TimeoutError after them.
        """
        if not paths:
            return
        self._workers.start()
        urgent = seconds is not None
        end = time.monotonic() + (math.inf if seconds is None else seconds)
        batches = self._batches(paths, urgent, "occurrences", tuple(words))
        async with contextlib.aclosing(batches):
            while True:
                try:
                    batch = await wait_within(anext(batches), end - time.monotonic())
                except StopAsyncIteration:
                    return
                found = {
                    path: record
                    for path, record in batch.items()
                    if record is None or record.symbols is not None or record.state.problem
                }
                if found:
                    yield await self._complete(found)

    async def _complete(self, batch: Mapping[str, FileRecord | None]) -> list[str]:
        """Store the occurrences of files; index a file again if its text is not the stored one."""
        found = {path: record for path, record in batch.items() if record is not None}
        others = await self._disk.run(lambda store: store.add_occurrences(found))
        others += (path for path, record in batch.items() if record is None)
        if others:
            async for again in self._batches(others, urgent=True, part="all"):
                await self._write(again)
        return list(found)

    async def unread_files(self, names: Sequence[str], paths: Collection[str]) -> UnreadFiles:
        """Return the files without occurrences among ``paths``, and others that may contain one of
        some names."""
        return await self._disk.query(
            lambda reader: unread_files(
                reader, lambda: self._disk.table, names, paths, self.searched
            )
        )

    async def add_all_occurrences(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Complete the occurrences of all files in the background, some after each ``turn``, while
        there is room for them in the store."""
        if await self.trim():
            await self.count_left_out()
        limit = self._settings().max_size_mb * size_limit.MEGABYTE * (1 - size_limit.FREE_SHARE)
        number = 0
        while await self._disk.query(Reader.size) < limit:
            await turn()
            found = await self._disk.query(
                functools.partial(Reader.partial_after, number=number, limit=COMPLETED_AT_ONCE)
            )
            if not found:
                return
            number = found[-1][0]
            async for _ in self.add_occurrences([path for _, path in found]):
                await asyncio.to_thread(return_free_pages)

    async def trim(self) -> bool:
        """Shrink the store to its size limit. Return True if data of files was dropped."""
        return await size_limit.trim(self._disk, self._settings().max_size_mb)

    async def count_left_out(self) -> None:
        """Count the files for which there is no room."""
        counts = await self._disk.query(Reader.problem_counts)
        self._work.left_out = counts.get(FULL, 0)

    # --- files that no worker reads --------------------------------------------------------

    async def _exclude_contents(self, paths: Sequence[str], scope: IndexScope) -> list[str]:
        """Record files whose contents are excluded; return the others."""
        exclusions = ContentExclusions(scope.empty)
        excluded = [path for path in paths if exclusions.contains(path)]
        await self.write_excluded(excluded, EXCLUDED)
        return (
            [path for path in paths if not exclusions.contains(path)] if excluded else list(paths)
        )

    async def write_excluded(self, paths: Sequence[str], problem: str) -> None:
        """Record files without contents, and why."""
        root = os.fsencode(self._root)
        for at in range(0, len(paths), EXCLUDED_AT_ONCE):
            excluded = paths[at : at + EXCLUDED_AT_ONCE]
            await self._write(
                {
                    path: failed_record(IndexJob(root, os.fsencode(path), 0), problem)
                    for path in excluded
                }
            )

    # --- files that workers read -----------------------------------------------------------

    async def _batches(
        self,
        paths: Sequence[str],
        urgent: bool,
        part: Part | None = None,
        names: tuple[str, ...] = (),
    ) -> AsyncGenerator[dict[str, FileRecord | None], None]:
        """Yield the records of files in batches to be written; None for a deleted file.

        By default, few files, and those of many that had occurrences, get them.
        """
        few = len(paths) <= MOST_URGENT
        seconds = URGENT_SECONDS if urgent and few else BATCH_SECONDS
        if urgent and part == "occurrences":
            seconds = URGENT_BATCH_SECONDS
        are_many = part is None and len(paths) > FEW_COMPLETE
        batch: dict[str, FileRecord | None] = {}
        size, started = 0, time.monotonic()
        for at in range(0, len(paths), FILES_AT_ONCE):
            some = paths[at : at + FILES_AT_ONCE]
            complete: Set[str] = frozenset(some)
            harmless: Mapping[str, bytes] = {}
            if are_many:
                complete = await self._disk.query(
                    functools.partial(Reader.complete_among, paths=some)
                )
            if are_many or part == "occurrences":
                harmless = await self._disk.query(
                    functools.partial(Reader.keys_without_secrets, paths=some)
                )
            jobs = self._jobs(some, part, complete, harmless, names)
            async with contextlib.aclosing(self._workers.extract(jobs, urgent)) as answers:
                async for job, record in answers:
                    batch[os.fsdecode(job.path)] = record
                    size += _size(record)
                    is_late = time.monotonic() - started > seconds
                    if size > BATCH_BYTES or is_late or len(batch) >= BATCH_FILES:
                        yield batch
                        batch, size, started = {}, 0, time.monotonic()
        if batch:
            yield batch

    def _jobs(
        self,
        paths: Iterable[str],
        part: Part | None,
        complete: Set[str],
        harmless: Mapping[str, bytes],
        names: tuple[str, ...],
    ) -> list[IndexJob]:
        """Return jobs for a part of some files; without a part, only ``complete`` files get
        occurrences. ``harmless`` are the keys of texts without secrets."""
        root, settings = os.fsencode(self._root), self._settings()
        return [
            IndexJob(
                root,
                os.fsencode(path),
                settings.max_bytes,
                masked=settings.masked,
                max_parsed=settings.max_parsed,
                embeddings=settings.embeddings,
                rules=settings.rules,
                part=part or ("all" if path in complete else "definitions"),
                names=names,
                harmless=harmless.get(path, b""),
            )
            for path in paths
        ]

    async def _write(
        self, batch: Mapping[str, FileRecord | None], are_deleted: bool = True
    ) -> None:
        """Write records of files; those without a record ``are_deleted`` or out of scope."""
        found = {path: record for path, record in batch.items() if record is not None}
        gone = [path for path, record in batch.items() if record is None]

        def is_still(path: str, state: FileState | None) -> bool:
            return (state is None and not are_deleted) or is_still_at(self._root, path, state)

        await self._disk.run(lambda store: store.write(found, gone, is_still))


def _with_same_text(root: Path, known: Mapping[str, FileState]) -> set[str]:
    return {path for path, state in known.items() if has_same_text(str(root), path, state)}


def _any_file(root: Path, paths: Collection[str]) -> bool:
    return any(file_state_at(str(root), path) is not None for path in paths)


def _size(record: FileRecord | None) -> int:
    """Return the approximate size of a record in the store, in bytes."""
    if record is None:
        return 0
    size = 0
    if record.symbols is not None:
        packed = record.symbols
        size += sum(len(name) + len(data) for name, data in packed.occurrences.items())
        size += len(packed.scope_table) + len(packed.declarations or b"")
        size += sum(len(data) for _, data in packed.definitions)
    if record.contents is not None:
        contents = record.contents
        size += len(contents.trigrams.numbers) + len(contents.vectors)
        size += sum(
            len(field.terms) + len(field.units) + len(field.counts) for field in contents.fields
        )
    return size
