"""The library: what is known of the documents of a workspace, and what reads them.

A document is read once, in a worker, into a text on disk (:mod:`winnow.documents.library.texts`);
after that a search costs no more than a search of that text. What a request had no time for goes on
in the background, the documents that were changed last first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from winnow.documents.extract.job import (
    ExtractionJob,
    ExtractionResult,
    FileStamp,
    is_same,
    postponed,
    stamp_of,
    unreadable,
)
from winnow.documents.library.catalogue import Catalogue
from winnow.documents.library.locations import TextMap
from winnow.documents.library.request import DocumentFile
from winnow.documents.library.texts import TextStore
from winnow.errors import NotFound, SearchFailed, SearchTimedOut, UnreadableDocument
from winnow.processes.children import Processes
from winnow.processes.waiting import run_to_end, wait_within
from winnow.processes.workers import WorkerKind, WorkerPool
from winnow.storage.writing import temporary_folder

# A worker holds as little of a document as its format allows. The few that need more time or memory
# than others are read one by one, so that all workers together stay below 400 MB.
QUICK_MEMORY_BYTES = 112 * 1024**2
MEMORY_BYTES = 256 * 1024**2
# Below 768 MB onnxruntime gives up, and a page takes seconds.
OCR_MEMORY_BYTES = 1024 * 1024**2
OCR_SECONDS = 300.0
# One that takes longer than this has to wait for all others: a few that hang keep nobody waiting.
QUICK_SECONDS = 3.0
# Texts are counted, and some deleted, after new ones of this share of the limit.
TRIM_SHARE = 0.05
# The background takes so many documents together.
PORTION = 200
# What is read together is noted together.
SAVE_SECONDS = 0.2
# Texts that are in use are marked so often, well within the time that this protects them.
MARK_SECONDS = 20.0
# A text that another process deletes is made again, so often.
ATTEMPTS = 3
# Of so many searches it is known which texts they had.
RECENT = 8

Report = Callable[[int, int], None]
Reporting = Callable[[], AbstractAsyncContextManager[Report]]

logger = logging.getLogger(__name__)


class LibrarySettings(Protocol):
    """The settings of a library: the time and the size that a document may take, and the size of
    the text cache. ``ocr`` and ``seconds`` are read only at the start."""

    @property
    def ocr(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def file_bytes(self) -> int: ...
    @property
    def cache_bytes(self) -> int: ...


class DocumentStates(Struct, frozen=True):
    """Documents by what is known of them: those whose text is there, by its key; those that cannot
    be read, with the reason; those that are still to be read, the last changed first."""

    ready: Mapping[str, list[DocumentFile]]
    partly: Sequence[tuple[DocumentFile, ExtractionResult]]
    unreadable: Sequence[tuple[DocumentFile, str]]
    unread: Sequence[DocumentFile]


class DocumentLibrary:
    """The documents of a workspace; made inside a running event loop.

    ``config`` gives what holds now, ``folder`` is where texts are kept, a temporary one if there is
    none; ``reporting`` is told of the work in the background.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        settings: Callable[[], LibrarySettings],
        folder: Path | None,
        reporting: Reporting | None = None,
    ) -> None:
        self._reporting = reporting or _nobody
        self._settings = settings
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = temporary_folder("winnow-documents-")
            folder = Path(self._temporary.name)
        self.texts = TextStore(folder)
        ocr = settings().ocr
        self._catalogue = Catalogue(folder, ocr)
        seconds = settings().seconds
        quick_memory, memory, limit = QUICK_MEMORY_BYTES, MEMORY_BYTES, None
        if ocr:  # any document may have pictures, and a worker recognises with two threads
            quick_memory = memory = OCR_MEMORY_BYTES
            seconds, limit = max(seconds, OCR_SECONDS), 1

        def workers(
            failed: Callable[[ExtractionJob, str], ExtractionResult],
            seconds: float,
            memory: int,
            limit: int | None,
        ) -> WorkerPool[ExtractionJob, ExtractionResult]:
            kind = WorkerKind[ExtractionJob, ExtractionResult](
                module="winnow.documents.extract.worker",
                answer=ExtractionResult,
                failed=failed,
                memory_bytes=memory,
                batch=1,
            )
            return WorkerPool(processes, environment, kind, seconds, limit)

        quick = min(QUICK_SECONDS, seconds)
        self._quick = workers(postponed, quick, quick_memory, limit)
        self._slow = workers(unreadable, seconds, memory, 1)
        self._using = asyncio.Lock()  # of the catalogue
        self._ocr = ocr
        self._waiting: dict[str, DocumentFile] = {}
        self._going_on: asyncio.Task[None] | None = None
        self._closed = False
        self._new_bytes: float | None = None  # at the beginning, nobody has counted
        self._marked: dict[str, float] = {}
        # What takes long to read, as it is: not to be tried as if it were quick.
        self._long: dict[str, FileStamp] = {}
        # The texts that searches of the same documents had, the last searches last.
        self.recent: dict[bytes, Sequence[str]] = {}

    # --- what is known ---------------------------------------------------------------------

    async def sort(self, documents: Sequence[DocumentFile]) -> DocumentStates:
        """What is known of documents that are there now; those that are gone are left out."""
        async with self._using:
            return await asyncio.to_thread(self._sort, documents)

    def _sort(self, documents: Sequence[DocumentFile]) -> DocumentStates:
        self.texts.make_folder()
        known = self._catalogue.known([one.file for one in documents])
        ready: dict[str, list[DocumentFile]] = {}
        partly, unreadable, unread = [], [], []
        for document in documents:
            try:
                stamp = stamp_of(os.stat(document.file))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                unreadable.append((document, f"it cannot be read: {error.strerror}"))
                continue
            taken = known[document.file]
            if taken is None or taken.stamp != stamp:
                unread.append((-stamp.mtime_ns, document.path, document))
            elif taken.problem:
                unreadable.append((document, taken.problem))
            else:
                ready.setdefault(taken.key, []).append(document)
                if taken.failed:
                    partly.append((document, taken))
        unread.sort()
        return DocumentStates(ready, partly, unreadable, [document for _, _, document in unread])

    async def forget(self, documents: Sequence[DocumentFile]) -> None:
        """Know nothing more of documents: their texts are gone, or they were there for a request
        only."""
        if documents:
            async with self._using:
                await asyncio.to_thread(self._catalogue.forget, [one.file for one in documents])

    async def text(self, document: DocumentFile, seconds: float) -> tuple[list[str], TextMap]:
        """The lines of a document, and what is known of them.

        Raises UnreadableDocument, NotFound if it is gone, SearchTimedOut and SearchFailed.
        """
        end = asyncio.get_running_loop().time() + seconds
        for _ in range(ATTEMPTS):
            taken = await self._taken(document, end - asyncio.get_running_loop().time(), seconds)
            if taken.problem:
                raise UnreadableDocument(document.path, taken.problem)
            text_map = self.texts.load_map(taken.key)
            if text_map is not None:
                with contextlib.suppress(OSError):
                    return await asyncio.to_thread(self.texts.lines, taken.key), text_map
            await self.forget([document])
        raise UnreadableDocument(document.path, "its text was deleted while it was read")

    async def _taken(self, document: DocumentFile, left: float, seconds: float) -> ExtractionResult:
        """What is known of a document, which is read first where that is needed."""
        async with self._using:
            known = await asyncio.to_thread(self._catalogue.known, [document.file])
        taken = known[document.file]
        stamp = _stamp(document)
        if taken is not None and stamp is not None and taken.stamp == stamp:
            return taken
        try:
            taken = await wait_within(self._read_one(document), left)
        except asyncio.TimeoutError:
            self.go_on([document])
            raise SearchTimedOut(seconds) from None
        if taken.stamp is None:
            raise NotFound(document.path)
        return taken

    async def _read_one(self, document: DocumentFile) -> ExtractionResult:
        async with contextlib.aclosing(self.read([document])) as answers:
            async for _, taken in answers:
                return taken
        return ExtractionResult(None)

    def mark_used(self, keys: Sequence[str]) -> None:
        """Keep texts from being the next to go; in the background."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        new = [key for key in keys if now - self._marked.get(key, -MARK_SECONDS) >= MARK_SECONDS]
        self._marked.update(dict.fromkeys(new, now))
        if new:
            loop.run_in_executor(None, self.texts.mark_used, new)

    async def changed(self, documents: Sequence[DocumentFile]) -> set[str]:
        """Which of these are not any more what was read, by their files; also those that are
        gone."""
        async with self._using:
            return await asyncio.to_thread(self._changed, documents)

    def _changed(self, documents: Sequence[DocumentFile]) -> set[str]:
        known = self._catalogue.known([one.file for one in documents])
        changed = set()
        for document in documents:
            taken, now = known[document.file], _stamp(document)
            if taken is None or now is None or not is_same(taken.stamp, now):
                changed.add(document.file)
        return changed

    def remember(self, search: bytes, keys: Sequence[str]) -> None:
        """Which texts a search had, for the next one of the same documents."""
        self.recent.pop(search, None)
        self.recent[search] = keys
        while len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]

    # --- reading ---------------------------------------------------------------------------

    async def read(
        self, documents: Sequence[DocumentFile], *, urgent: bool = True
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionResult], None]:
        """Read documents, in this order; gives each as it is done. Those that nobody has begun when
        the iterator is closed are not read.

        Raises SearchFailed if nothing can read them.
        """
        noted: dict[str, ExtractionResult] = {}
        loop = asyncio.get_running_loop()
        due = loop.time() + SAVE_SECONDS
        try:
            async with contextlib.aclosing(self._taking(documents, urgent)) as answers:
                async for document, taken in answers:
                    noted[document.file] = taken
                    if loop.time() > due:
                        noted, saved = {}, noted
                        await run_to_end(self._note(saved))
                        due = loop.time() + SAVE_SECONDS
                    yield document, taken
        finally:
            # A search that has all its answers cancels this; they count as changed until noted.
            await run_to_end(self._note(noted))

    async def _taking(
        self, documents: Sequence[DocumentFile], urgent: bool
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionResult], None]:
        """Documents with what became of them: first those that are quick to read."""
        long = {one.file for one in documents if self._long.get(one.file) == _stamp(one)}
        quick = [one for one in documents if one.file not in long]
        left = [one for one in documents if one.file in long]
        async with contextlib.aclosing(self._extract(self._quick, quick, urgent)) as answers:
            async for document, _, taken in answers:
                if not taken.later:
                    yield document, taken
                    continue
                left.append(document)
                if (stamp := _stamp(document)) is not None:
                    self._long[document.file] = stamp
        # What is urgent may have a worker more; of these there is one, whatever is asked for.
        async with contextlib.aclosing(self._extract(self._slow, left, urgent=False)) as answers:
            async for document, job, taken in answers:
                self._long.pop(document.file, None)
                yield document, unreadable(job, taken.problem) if taken.later else taken

    async def _extract(
        self,
        workers: WorkerPool[ExtractionJob, ExtractionResult],
        documents: Sequence[DocumentFile],
        urgent: bool,
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionJob, ExtractionResult], None]:
        jobs = {job.path: (job, one) for one in documents for job in (self._job(one),)}
        answers = workers.extract([job for job, _ in jobs.values()], urgent)
        async with contextlib.aclosing(answers):
            async for job, taken in answers:
                yield jobs[job.path][1], job, taken

    def _job(self, document: DocumentFile) -> ExtractionJob:
        return ExtractionJob(
            os.fsencode(os.path.dirname(document.content) or document.root),
            os.fsencode(document.file),
            os.fsencode(self.texts.folder),
            self._settings().file_bytes,
            self._ocr,
        )

    async def _note(self, taken: Mapping[str, ExtractionResult]) -> None:
        if not taken:
            return
        async with self._using:
            await asyncio.to_thread(self._catalogue.add, taken)
            limit = self._settings().cache_bytes
            new = sum(one.bytes for one in taken.values())
            self._new_bytes = limit if self._new_bytes is None else self._new_bytes + new
            if self._new_bytes > limit * TRIM_SHARE:
                self._new_bytes = 0
                await asyncio.to_thread(self.texts.trim, limit)

    # --- the background --------------------------------------------------------------------

    def go_on(self, documents: Sequence[DocumentFile]) -> None:
        """Read documents when nothing else is to be done, those that were changed last first."""
        if self._closed:
            return
        self._waiting.update({one.file: one for one in documents})
        if self._waiting and (self._going_on is None or self._going_on.done()):
            self._going_on = asyncio.create_task(self._go_on())

    @property
    def waiting(self) -> int:
        """How many documents are still to be read in the background."""
        return len(self._waiting)

    async def _go_on(self) -> None:
        done = 0
        try:
            async with self._reporting() as report:
                while self._waiting:
                    # In portions, so that what is asked for meanwhile is among the next.
                    some = dict(list(self._waiting.items())[:PORTION])
                    unread = (await self.sort(list(some.values()))).unread
                    async with contextlib.aclosing(self.read(unread, urgent=False)) as answers:
                        async for document, _ in answers:
                            self._waiting.pop(document.file, None)
                            some.pop(document.file, None)
                            done += 1
                            report(done, done + len(self._waiting))
                    for path in some:
                        self._waiting.pop(path, None)
        except SearchFailed as error:
            self._waiting.clear()
            logger.warning("Documents are not read in the background: %s", error)

    async def aclose(self) -> None:
        """End what is under way, and the workers."""
        self._closed = True
        if self._going_on is not None:
            self._going_on.cancel()
            await asyncio.gather(self._going_on, return_exceptions=True)
        await asyncio.gather(self._quick.aclose(), self._slow.aclose())
        self._catalogue.close()
        if self._temporary is not None:
            self._temporary.cleanup()


@contextlib.asynccontextmanager
async def _nobody() -> AsyncIterator[Report]:
    yield lambda done, total: None


def _stamp(document: DocumentFile) -> FileStamp | None:
    try:
        return stamp_of(os.stat(document.file))
    except OSError:
        return None
