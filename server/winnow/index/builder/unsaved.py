"""Index the texts of unsaved documents, which replace their files.

A document is indexed when a request needs it, and cached until its text changes. Every keystroke
means one more file for a worker; nothing is written to a store.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from winnow.errors import SearchError
from winnow.index.builder.disk_scan import is_unchanged, read_text
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.file_record import FileRecord, FileState, IndexJob
from winnow.processes.waiting import wait_within
from winnow.symbols.extract.packed import unpack
from winnow.symbols.file_symbols import FileSymbols
from winnow.text.buffers import is_unsaved

# Longest wait of a request for unsaved documents.
UNSAVED_SECONDS = 2.0

logger = logging.getLogger(__name__)


class UnsavedFile(Struct, frozen=True):
    """The text of a document that replaces a file, and its index record, if known."""

    text: str
    record: FileRecord | None = None
    symbols: FileSymbols | None = None


class UnsavedFiles:
    """The indexed texts of unsaved documents, by the absolute paths of their files."""

    def __init__(self, workers: IndexWorkers, settings: Callable[[], FolderSettings]) -> None:
        self._workers = workers
        self._settings = settings
        self._known: dict[str, UnsavedFile] = {}
        self._taken_as = ""
        self._taking: dict[str, tuple[str, asyncio.Task[UnsavedFile | None]]] = {}

    async def known(self, texts: Mapping[str, str]) -> dict[str, UnsavedFile]:
        """Return the records of these documents; an outdated one if the time was too short. Forgets
        all other documents, and all of them if the settings have changed."""
        if self._taken_as != (variant := self._settings().variant):
            self._known.clear()
            self._taken_as = variant
        for path in [path for path in self._known if path not in texts]:
            del self._known[path]
        found = {path: self._known[path] for path in texts if path in self._known}
        tasks = {path: task for path, text in texts.items() if (task := self._begin(path, text))}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=UNSAVED_SECONDS)
        # Another request may have removed it from the cache meanwhile.
        for path, task in tasks.items():
            if task.done() and not task.cancelled() and (document := task.result()) is not None:
                found[path] = document
        return found

    async def aclose(self) -> None:
        """Cancel the work in progress."""
        tasks = [task for _, task in self._taking.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, path: str, text: str) -> asyncio.Task[UnsavedFile | None] | None:
        """Return the task that indexes a document; None if it is indexed. The task continues after
        a request stops waiting; otherwise each request would start again."""
        if path in self._known and self._known[path].text == text:
            return None
        begun = self._taking.get(path)
        if begun is None or begun[0] != text:
            if begun is not None:
                begun[1].cancel()
            begun = self._taking[path] = text, asyncio.create_task(self._take(path, text))
        return begun[1]

    async def _take(self, path: str, text: str) -> UnsavedFile | None:
        """Index a text and cache the record; None if no worker is available."""
        settings = self._settings()
        try:
            found = None
            if len(text) <= settings.max_bytes:
                found = await self._extracted(path, text, settings)
            symbols = unpack(found.symbols) if found and found.symbols else None
            document = self._known[path] = UnsavedFile(text, found, symbols)
            return document
        except SearchError as error:
            logger.warning("Unsaved documents: %s", error)
            return None
        finally:
            if self._taking[path][1] is asyncio.current_task():
                del self._taking[path]

    async def _extracted(self, path: str, text: str, settings: FolderSettings) -> FileRecord | None:
        job = IndexJob(
            b"",
            os.fsencode(path),
            0,
            text.encode("utf-8", "replace"),
            settings.masked,
            settings.max_parsed,
            settings.embeddings,
            settings.rules,
        )
        async with contextlib.aclosing(self._workers.extract([job], urgent=True)) as answers:
            async for _, found in answers:
                return found
        return None


async def symbols_of(
    workers: IndexWorkers, texts: Mapping[str, bytes], max_parsed: int, seconds: float
) -> dict[str, FileSymbols | None]:
    """Return the symbols of texts that no folder has, by path: of those that are parsed in some
    ``seconds``; None for a text without symbols. Nothing is cached."""
    found: dict[str, FileSymbols | None] = {}
    jobs = [
        IndexJob(b"", os.fsencode(path), 0, text, False, max_parsed) for path, text in texts.items()
    ]

    async def parse() -> None:
        async with contextlib.aclosing(workers.extract(jobs, urgent=True)) as answers:
            async for job, record in answers:
                symbols = unpack(record.symbols) if record and record.symbols else None
                found[os.fsdecode(job.path)] = symbols

    with contextlib.suppress(asyncio.TimeoutError, SearchError):
        await wait_within(parse(), seconds)
    return found


def texts_in_place(
    folder: FolderIndex,
    documents: Mapping[str, str | None],
    known: Mapping[str, FileState],
    requested: Collection[str],
) -> dict[str, str]:
    """Return the texts that replace files: those of modified documents, and of files that are
    requested and not indexed as they are. A file that no search covers stays hidden from other
    requests while it is edited."""
    found: dict[str, str] = {}
    for path, document in documents.items():
        real = os.path.join(folder.root, path)
        if document is not None and is_unsaved(real, document):
            covered = path in known or not folder.complete or not os.path.lexists(real)
            text = document if covered or path in requested else None
        elif path in requested and not is_unchanged(str(folder.root), path, known.get(path)):
            text = document if document is not None else read_text(folder.root, path)
        else:
            text = None
        if text is not None:
            found[folder.prefix + path] = text
    return found
