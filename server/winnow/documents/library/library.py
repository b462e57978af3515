"""The library: read the documents of a workspace in workers, and remember the results.

A worker reads each document once, into a text on disk (:mod:`winnow.documents.library.texts`);
after that, a search of the document costs as much as a search of the text. Documents that a request
did not read in time are read in the background, the most recently changed ones first.
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

# A worker holds as little of a document as its format allows. The few documents that need more time
# or memory are read one after the other, so that all workers together stay below 400 MB.
QUICK_MEMORY_BYTES = 112 * 1024**2
MEMORY_BYTES = 256 * 1024**2
# onnxruntime fails below 768 MB, and a page takes seconds.
OCR_MEMORY_BYTES = 1024 * 1024**2
OCR_SECONDS = 300.0
# A document that takes longer is postponed, so that a few that hang do not delay the others.
QUICK_SECONDS = 3.0
# The cache is trimmed after new texts of this share of its limit.
TRIM_SHARE = 0.05
# The number of documents in a background batch.
BATCH = 200
# Results within this time are written to the catalogue together.
SAVE_SECONDS = 0.2
# The interval for marking a text as used, well within the time that a mark protects it.
MARK_SECONDS = 20.0
# How often a text is extracted again when another process deletes it.
ATTEMPTS = 3
# The number of searches whose texts are remembered.
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
    """Documents by state: ``ready`` by the key of their text, ``partly`` read ones, ``unreadable``
    ones with the reason, and ``unread`` ones, the most recently changed first."""

    ready: Mapping[str, list[DocumentFile]]
    partly: Sequence[tuple[DocumentFile, ExtractionResult]]
    unreadable: Sequence[tuple[DocumentFile, str]]
    unread: Sequence[DocumentFile]


class DocumentLibrary:
    """The documents of a workspace; create it inside a running event loop.

    ``settings`` returns the current settings, ``folder`` is the text cache (a temporary folder if
    it is None), and ``reporting`` gets the progress of background work.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        settings: Callable[[], LibrarySettings],
        folder: Path | None,
        reporting: Reporting | None = None,
    ) -> None:
        self._reporting = reporting or _no_reporting
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
        if ocr:  # any document may have images, and OCR uses two threads per worker
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
                batch=lambda _: 1,
            )
            return WorkerPool(processes, environment, kind, seconds, limit)

        quick = min(QUICK_SECONDS, seconds)
        self._quick = workers(postponed, quick, quick_memory, limit)
        self._slow = workers(unreadable, seconds, memory, 1)
        self._catalogue_lock = asyncio.Lock()
        self._ocr = ocr
        self._waiting: dict[str, DocumentFile] = {}
        self._background: asyncio.Task[None] | None = None
        self._closed = False
        self._new_bytes: float | None = None  # unknown until the first trim
        self._marked: dict[str, float] = {}
        # The state of documents that are known to be slow.
        self._slow_stamps: dict[str, FileStamp] = {}
        # The texts of recent searches, the latest search last.
        self.recent: dict[bytes, Sequence[str]] = {}

    # --- the catalogue ---------------------------------------------------------------------

    async def sort(self, documents: Sequence[DocumentFile]) -> DocumentStates:
        """Return the states of documents, without those that were deleted."""
        async with self._catalogue_lock:
            return await asyncio.to_thread(self._sort, documents)

    def _sort(self, documents: Sequence[DocumentFile]) -> DocumentStates:
        self.texts.make_folder()
        results = self._catalogue.results([document.file for document in documents])
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
            result = results[document.file]
            if result is None or result.stamp != stamp:
                unread.append((-stamp.mtime_ns, document.path, document))
            elif result.problem:
                unreadable.append((document, result.problem))
            else:
                ready.setdefault(result.key, []).append(document)
                if result.failed:
                    partly.append((document, result))
        unread.sort()
        return DocumentStates(ready, partly, unreadable, [document for _, _, document in unread])

    async def forget(self, documents: Sequence[DocumentFile]) -> None:
        """Delete the catalogue entries of documents, because their texts were deleted or belonged
        to a single request."""
        if documents:
            async with self._catalogue_lock:
                await asyncio.to_thread(
                    self._catalogue.forget, [document.file for document in documents]
                )

    async def text(self, document: DocumentFile, seconds: float) -> tuple[list[str], TextMap]:
        """Return the lines of a document and their locations.

        Raises UnreadableDocument, NotFound, SearchTimedOut and SearchFailed.
        """
        end = asyncio.get_running_loop().time() + seconds
        for _ in range(ATTEMPTS):
            result = await self._result(document, end - asyncio.get_running_loop().time(), seconds)
            if result.problem:
                raise UnreadableDocument(document.path, result.problem)
            text_map = self.texts.load_map(result.key)
            if text_map is not None:
                with contextlib.suppress(OSError):
                    return await asyncio.to_thread(self.texts.lines, result.key), text_map
            await self.forget([document])
        raise UnreadableDocument(document.path, "its text was deleted while it was read")

    async def _result(
        self, document: DocumentFile, left: float, seconds: float
    ) -> ExtractionResult:
        """Return the result for a document, reading it if necessary."""
        async with self._catalogue_lock:
            results = await asyncio.to_thread(self._catalogue.results, [document.file])
        result = results[document.file]
        stamp = _stamp(document)
        if result is not None and stamp is not None and result.stamp == stamp:
            return result
        try:
            result = await wait_within(self._read_one(document), left)
        except asyncio.TimeoutError:
            self.read_in_background([document])
            raise SearchTimedOut(seconds) from None
        if result.stamp is None:
            raise NotFound(document.path)
        return result

    async def _read_one(self, document: DocumentFile) -> ExtractionResult:
        async with contextlib.aclosing(self.read([document])) as answers:
            async for _, result in answers:
                return result
        return ExtractionResult(None)

    def mark_used(self, keys: Sequence[str]) -> None:
        """Mark texts as recently used, in a thread."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        new = [key for key in keys if now - self._marked.get(key, -MARK_SECONDS) >= MARK_SECONDS]
        self._marked.update(dict.fromkeys(new, now))
        if new:
            loop.run_in_executor(None, self.texts.mark_used, new)

    async def changed(self, documents: Sequence[DocumentFile]) -> set[str]:
        """Return the files of documents that were changed or deleted since they were read."""
        async with self._catalogue_lock:
            return await asyncio.to_thread(self._changed, documents)

    def _changed(self, documents: Sequence[DocumentFile]) -> set[str]:
        results = self._catalogue.results([document.file for document in documents])
        changed = set()
        for document in documents:
            result, now = results[document.file], _stamp(document)
            if result is None or now is None or not is_same(result.stamp, now):
                changed.add(document.file)
        return changed

    def remember(self, search: bytes, keys: Sequence[str]) -> None:
        """Remember the texts of a search for the next search of the same documents."""
        self.recent.pop(search, None)
        self.recent[search] = keys
        while len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]

    # --- reading ---------------------------------------------------------------------------

    async def read(
        self, documents: Sequence[DocumentFile], *, urgent: bool = True
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionResult], None]:
        """Read documents in this order; yield each result as it is ready. Closing the iterator
        drops the documents that no worker has started.

        Raises SearchFailed if workers cannot be started.
        """
        unsaved: dict[str, ExtractionResult] = {}
        loop = asyncio.get_running_loop()
        due = loop.time() + SAVE_SECONDS
        try:
            async with contextlib.aclosing(self._extract_all(documents, urgent)) as answers:
                async for document, result in answers:
                    unsaved[document.file] = result
                    if loop.time() > due:
                        unsaved, saved = {}, unsaved
                        await run_to_end(self._save(saved))
                        due = loop.time() + SAVE_SECONDS
                    yield document, result
        finally:
            # A search that has all its answers cancels this. Unsaved results count as changed.
            await run_to_end(self._save(unsaved))

    async def _extract_all(
        self, documents: Sequence[DocumentFile], urgent: bool
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionResult], None]:
        """Yield documents with their results, first those that are quick to read."""
        slow = {file.file for file in documents if self._slow_stamps.get(file.file) == _stamp(file)}
        quick = [file for file in documents if file.file not in slow]
        left = [file for file in documents if file.file in slow]
        async with contextlib.aclosing(self._extract(self._quick, quick, urgent)) as answers:
            async for document, _, result in answers:
                if not result.later:
                    yield document, result
                    continue
                left.append(document)
                if (stamp := _stamp(document)) is not None:
                    self._slow_stamps[document.file] = stamp
        # An urgent request may add a worker, but there is only one for slow documents.
        async with contextlib.aclosing(self._extract(self._slow, left, urgent=False)) as answers:
            async for document, job, result in answers:
                self._slow_stamps.pop(document.file, None)
                yield document, unreadable(job, result.problem) if result.later else result

    async def _extract(
        self,
        workers: WorkerPool[ExtractionJob, ExtractionResult],
        documents: Sequence[DocumentFile],
        urgent: bool,
    ) -> AsyncGenerator[tuple[DocumentFile, ExtractionJob, ExtractionResult], None]:
        jobs = {job.path: (job, file) for file in documents for job in (self._job(file),)}
        answers = workers.extract([job for job, _ in jobs.values()], urgent)
        async with contextlib.aclosing(answers):
            async for job, result in answers:
                yield jobs[job.path][1], job, result

    def _job(self, document: DocumentFile) -> ExtractionJob:
        return ExtractionJob(
            os.fsencode(os.path.dirname(document.content) or document.root),
            os.fsencode(document.file),
            os.fsencode(self.texts.folder),
            self._settings().file_bytes,
            self._ocr,
        )

    async def _save(self, results: Mapping[str, ExtractionResult]) -> None:
        if not results:
            return
        async with self._catalogue_lock:
            await asyncio.to_thread(self._catalogue.add, results)
            limit = self._settings().cache_bytes
            new = sum(result.bytes for result in results.values())
            self._new_bytes = limit if self._new_bytes is None else self._new_bytes + new
            if self._new_bytes > limit * TRIM_SHARE:
                self._new_bytes = 0
                await asyncio.to_thread(self.texts.trim, limit)

    # --- the background --------------------------------------------------------------------

    def read_in_background(self, documents: Sequence[DocumentFile]) -> None:
        """Read documents while the workers are idle, the most recently changed ones first."""
        if self._closed:
            return
        self._waiting.update({document.file: document for document in documents})
        if self._waiting and (self._background is None or self._background.done()):
            self._background = asyncio.create_task(self._read_waiting())

    @property
    def waiting(self) -> int:
        """The number of documents that are waiting to be read in the background."""
        return len(self._waiting)

    async def _read_waiting(self) -> None:
        done = 0
        try:
            async with self._reporting() as report:
                while self._waiting:
                    # In batches, so that new documents do not wait for all others.
                    batch = dict(list(self._waiting.items())[:BATCH])
                    total = done + len(self._waiting)
                    unread = (await self.sort(list(batch.values()))).unread
                    async with contextlib.aclosing(self.read(unread, urgent=False)) as answers:
                        async for _ in answers:
                            done += 1
                            report(done, total)
                    # Only now are all results of the batch saved.
                    for path in batch:
                        self._waiting.pop(path, None)
        except SearchFailed as error:
            self._waiting.clear()
            logger.warning("Cannot read documents in the background: %s", error)

    async def aclose(self) -> None:
        """Stop the background task and the workers."""
        self._closed = True
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        await asyncio.gather(self._quick.aclose(), self._slow.aclose())
        self._catalogue.close()
        if self._temporary is not None:
            self._temporary.cleanup()


@contextlib.asynccontextmanager
async def _no_reporting() -> AsyncIterator[Report]:
    yield lambda done, total: None


def _stamp(document: DocumentFile) -> FileStamp | None:
    try:
        return stamp_of(os.stat(document.file))
    except OSError:
        return None
