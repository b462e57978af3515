"""The built-in engine: extract the text of each document once, and search it with ripgrep."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

from winnow.documents.extract.job import ExtractionResult
from winnow.documents.library.lazy_hits import LazyHits, records_by_line
from winnow.documents.library.library import DocumentLibrary
from winnow.documents.library.phrases import as_phrase
from winnow.documents.library.request import (
    PATTERN_ADVICE,
    DocumentFile,
    DocumentHits,
    DocumentQuery,
    ReadFailure,
)
from winnow.documents.library.texts import key_of_path, text_path
from winnow.errors import InvalidPattern, SearchFailed
from winnow.processes.children import Child
from winnow.processes.waiting import wait_within
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, command_lines, pattern_problem

# The time after which documents that were just read are searched together.
BATCH_SECONDS = 0.15
_BEGIN, _MATCH, _END = (f'{{"type":"{kind}"'.encode() for kind in ("begin", "match", "end"))
# The text after the line in a record. Quotes in the line are escaped, so a line never contains it.
_AFTER_LINE = b',"line_number":'
_PATH = b'"path":{"text":"'


class BuiltinSearch:
    """A search with the built-in engine; ``report`` gets the answers as they are found.

    ``pending`` are the documents that were not read in time and are read in the background.
    ``searched`` are the files of the documents whose text was searched, and ``searched_keys`` the
    keys of these texts.
    """

    def __init__(
        self,
        library: DocumentLibrary,
        ripgrep: Ripgrep,
        query: DocumentQuery,
        report: Callable[[DocumentHits | ReadFailure], None],
    ) -> None:
        self.pending: list[DocumentFile] = []
        self.searched: set[str] = set()
        self.searched_keys: list[str] = []
        self.timed_out = False
        self._library = library
        self._ripgrep = ripgrep
        self._query = query
        self._pattern = as_phrase(query.query)
        self._report = report
        self._begun: asyncio.Task[_Searched] | None = None

    def another(self) -> BuiltinSearch:
        """Return the same search for other documents."""
        return BuiltinSearch(self._library, self._ripgrep, self._query, self._report)

    def begin(self, keys: Sequence[str]) -> None:
        """Start to search these texts while the documents are still being listed."""
        if keys:
            self._begun = asyncio.create_task(self._search_texts(keys))

    async def aclose(self) -> None:
        """Cancel a search that was started; harmless after :meth:`run`."""
        if self._begun is not None:
            self._begun.cancel()
            await asyncio.gather(self._begun, return_exceptions=True)

    async def run(self, documents: Sequence[DocumentFile]) -> None:
        """Search documents. Raises InvalidPattern and SearchFailed."""
        states = await self._library.sort(documents)
        for document, reason in states.unreadable:
            self._report(ReadFailure(document, reason))
        for document, result in states.partly:
            self._report_parts(document, result)
        self.pending = list(states.unread)
        reading = _Reading(self._library, states.unread)
        try:
            lost = await self._search_ready(states.ready)
            self.pending += lost
            await self._search_unread(reading, states.unread)
            # The cache was emptied during the search.
            reading.add(lost)
            await self._search_unread(reading, lost)
        finally:
            await reading.aclose()
            # Even if this search was canceled: the next search is probably similar.
            self._library.read_in_background(self.pending)
        self._library.mark_used(self.searched_keys)

    async def _search_ready(
        self, ready: Mapping[str, Sequence[DocumentFile]]
    ) -> list[DocumentFile]:
        """Search cached texts, starting with those whose search was started early."""
        lost: list[DocumentFile] = []
        left = ready
        if self._begun is not None:
            begun = await self._begun
            early = {key: ready[key] for key in (*begun.keys, *begun.found) if key in ready}
            left = {key: ready[key] for key in ready if key not in early}
            lost += await self._report_found(begun, early)
        return lost + await self._search(left)

    async def _search_unread(self, reading: _Reading, documents: Sequence[DocumentFile]) -> None:
        """Search documents as they are read, until the deadline."""
        left = {document.file for document in documents}
        while left:
            batch = await reading.next_batch(len(left), BATCH_SECONDS, self._ripgrep.deadline)
            if not batch:
                self.timed_out = True
                return
            ready: dict[str, list[DocumentFile]] = {}
            for document, result in batch:
                left.discard(document.file)
                if result.problem:
                    self._report(ReadFailure(document, result.problem))
                elif result.key:
                    ready.setdefault(result.key, []).append(document)
                self._report_parts(document, result)
            done = {document.file for document, _ in batch}
            lost = await self._search(ready)
            self.pending = [file for file in self.pending if file.file not in done] + lost

    async def _search(self, ready: Mapping[str, Sequence[DocumentFile]]) -> list[DocumentFile]:
        """Search texts by key; return the documents that were not searched."""
        if not ready:
            return []
        return await self._report_found(await self._search_texts(list(ready)), ready)

    async def _report_found(
        self, searched: _Searched, ready: Mapping[str, Sequence[DocumentFile]]
    ) -> list[DocumentFile]:
        """Report the hits in texts. Return the documents whose texts were not searched, because
        they were deleted or time ran out."""
        self.timed_out |= searched.timed_out
        for key, records in searched.found.items():
            for document in ready.get(key, ()):
                hits = LazyHits(
                    self._library.texts, key, records[: self._query.max_count], self._query
                )
                more = len(records) > self._query.max_count
                self._report(DocumentHits(document, "builtin", hits, more))
        done = {*searched.keys, *searched.found}.difference(searched.gone)
        for key, documents in ready.items():
            if key in done:
                self.searched_keys.append(key)
                self.searched.update(document.file for document in documents)
        deleted = [file for key in searched.gone for file in ready.get(key, ())]
        await self._library.forget(deleted)
        return [file for key, documents in ready.items() if key not in done for file in documents]

    def _report_parts(self, document: DocumentFile, result: ExtractionResult) -> None:
        """Report the unreadable parts of a document."""
        for part in result.failed:
            self._report(ReadFailure(document, part.reason, part.member))

    # --- ripgrep ---------------------------------------------------------------------------

    async def _search_texts(self, keys: Sequence[str]) -> _Searched:
        searched = _Searched()
        self._library.texts.make_folder()
        for paths in command_lines([text_path(key) for key in keys]):
            async with self._ripgrep.start(
                self._arguments(paths), cwd=self._library.texts.folder
            ) as child:
                await _collect(child, searched.found, multiline=self._pattern.multiline)
                code = await child.wait()
                if child.timed_out:
                    searched.timed_out = True
                    break
                path_keys = list(map(key_of_path, paths))
                searched.keys += path_keys
                if code not in (0, 1):
                    searched.gone += await asyncio.to_thread(
                        self._deleted, code, child.stderr, path_keys
                    )
        return searched

    def _arguments(self, paths: Sequence[str]) -> list[str]:
        return [
            "--json",
            # One match more than the maximum shows that there are more.
            f"--max-count={self._query.max_count + 1}",
            *self._pattern.arguments(),
            "--",
            *paths,
        ]

    def _deleted(self, code: int, stderr: str, keys: Sequence[str]) -> list[str]:
        """Return the texts that were deleted, if that made ripgrep fail.

        Raises InvalidPattern, and SearchFailed for every other reason.
        """
        folder = self._library.texts.folder
        gone = [key for key in keys if not os.path.exists(folder / text_path(key))]
        if gone:
            return gone
        if problem := pattern_problem(code, stderr):
            raise InvalidPattern(self._query.query.pattern, problem, PATTERN_ADVICE)
        raise SearchFailed("ripgrep", code, stderr[:2048])


class _Searched:
    """The keys of the texts that were searched; ``found`` has the end of ripgrep's record of each
    matching line, without the line, and ``gone`` the texts that were deleted."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.found: dict[str, list[bytes]] = {}
        self.gone: list[str] = []
        self.timed_out = False


async def _collect(child: Child, found: dict[str, list[bytes]], *, multiline: bool) -> None:
    """Collect ripgrep's records by text. Those of lines are not decoded, because an answer contains
    few of thousands of lines."""
    key, lines = "", list[bytes]()
    async for record in child.records(b"\n", RECORD_BYTES):
        if record.startswith(_MATCH) and multiline:
            lines += records_by_line(record)
        elif record.startswith(_MATCH):
            lines.append(record[record.rfind(_AFTER_LINE) + 1 :])
        elif record.startswith(_BEGIN):
            start = record.index(_PATH) + len(_PATH)
            path = record[start : record.index(b'"', start)].decode()
            key, lines = key_of_path(path.replace("\\\\", "/")), []
        elif record.startswith(_END) and lines:
            found[key] = lines


class _Reading:
    """Background tasks that read documents."""

    def __init__(self, library: DocumentLibrary, documents: Sequence[DocumentFile]) -> None:
        self._library = library
        self._done: asyncio.Queue[tuple[DocumentFile, ExtractionResult] | SearchFailed] = (
            asyncio.Queue()
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.add(documents)

    def add(self, documents: Sequence[DocumentFile]) -> None:
        """Start to read more documents."""
        if documents:
            self._tasks.append(asyncio.create_task(self._read(documents)))

    async def next_batch(
        self, count: int, seconds: float, deadline: float
    ) -> list[tuple[DocumentFile, ExtractionResult]]:
        """Return up to ``count`` results: the next one and those within ``seconds`` of it. The
        batch is empty if there is none before the deadline.

        Raises SearchFailed if workers cannot be started.
        """
        loop = asyncio.get_running_loop()
        batch: list[tuple[DocumentFile, ExtractionResult]] = []
        until = deadline
        while len(batch) < count and (left := until - loop.time()) > 0:
            try:
                result = await wait_within(self._done.get(), left)
            except asyncio.TimeoutError:
                break
            if isinstance(result, SearchFailed):
                raise result
            batch.append(result)
            if len(batch) == 1:
                until = min(deadline, loop.time() + seconds)
        return batch

    async def _read(self, documents: Sequence[DocumentFile]) -> None:
        try:
            async with contextlib.aclosing(self._library.read(documents)) as answers:
                async for answer in answers:
                    self._done.put_nowait(answer)
        except SearchFailed as error:
            self._done.put_nowait(error)

    async def aclose(self) -> None:
        """Stop reading."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
