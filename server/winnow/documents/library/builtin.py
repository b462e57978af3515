"""The built-in engine: documents are read into texts once, and the texts searched with ripgrep."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

from winnow.documents.extract.job import ExtractionResult
from winnow.documents.library.hits import LazyHits
from winnow.documents.library.library import DocumentLibrary
from winnow.documents.library.request import (
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

# Documents that have just been read are searched together, after this time.
BATCH_SECONDS = 0.15
_BEGIN, _MATCH, _END = (f'{{"type":"{kind}"'.encode() for kind in ("begin", "match", "end"))
# What stands in a record behind the line itself: nothing in a line looks like it, as quotes are
# escaped there.
_BEHIND_LINE = b',"line_number":'
_PATH = b'"path":{"text":"'


class BuiltinSearch:
    """One search; ``tell`` is handed what is found, as it is found. ``pending`` are the documents
    that there was no time for; these are read in the background. ``searched`` are the files of
    the documents whose text was searched, ``searched_keys`` are those of the texts."""

    def __init__(
        self,
        library: DocumentLibrary,
        ripgrep: Ripgrep,
        query: DocumentQuery,
        tell: Callable[[DocumentHits | ReadFailure], None],
    ) -> None:
        self.pending: list[DocumentFile] = []
        self.searched: set[str] = set()
        self.searched_keys: list[str] = []
        self.timed_out = False
        self._library = library
        self._ripgrep = ripgrep
        self._query = query
        self._tell = tell
        self._begun: asyncio.Task[_Searched] | None = None

    def another(self) -> BuiltinSearch:
        """The same search, for other documents."""
        return BuiltinSearch(self._library, self._ripgrep, self._query, self._tell)

    def begin(self, keys: Sequence[str]) -> None:
        """Search these texts already, while it is looked for which documents there are."""
        if keys:
            self._begun = asyncio.create_task(self._search_texts(keys))

    async def aclose(self) -> None:
        """End a search that was begun; harmless after :meth:`run`."""
        if self._begun is not None:
            self._begun.cancel()
            await asyncio.gather(self._begun, return_exceptions=True)

    async def run(self, documents: Sequence[DocumentFile]) -> None:
        """Search documents. Raises InvalidPattern and SearchFailed."""
        known = await self._library.sort(documents)
        for document, reason in known.unreadable:
            self._tell(ReadFailure(document, reason))
        for document, taken in known.partly:
            self._tell_parts(document, taken)
        self.pending = list(known.unread)
        reading = _Reading(self._library, known.unread)
        try:
            lost = await self._search_ready(known.ready)
            self.pending += lost
            await self._search_unread(reading, known.unread)
            # Somebody has emptied the cache.
            reading.add(lost)
            await self._search_unread(reading, lost)
        finally:
            await reading.aclose()
            # Also of a search that nobody waits for any more: the next one is probably like it.
            self._library.go_on(self.pending)
        self._library.mark_used(self.searched_keys)

    async def _search_ready(
        self, ready: Mapping[str, Sequence[DocumentFile]]
    ) -> list[DocumentFile]:
        """Search texts that are there, those that were begun with first."""
        lost: list[DocumentFile] = []
        left = ready
        if self._begun is not None:
            begun = await self._begun
            some = {key: ready[key] for key in (*begun.keys, *begun.found) if key in ready}
            left = {key: ready[key] for key in ready if key not in some}
            lost += await self._take(begun, some)
        return lost + await self._search(left)

    async def _search_unread(self, reading: _Reading, documents: Sequence[DocumentFile]) -> None:
        """Search documents as they come from being read, until time is up."""
        left = {one.file for one in documents}
        while left:
            some = await reading.some(len(left), BATCH_SECONDS, self._ripgrep.deadline)
            if not some:
                self.timed_out = True
                return
            ready: dict[str, list[DocumentFile]] = {}
            for document, taken in some:
                left.discard(document.file)
                if taken.problem:
                    self._tell(ReadFailure(document, taken.problem))
                elif taken.key:
                    ready.setdefault(taken.key, []).append(document)
                self._tell_parts(document, taken)
            done = {document.file for document, _ in some}
            lost = await self._search(ready)
            self.pending = [*(one for one in self.pending if one.file not in done), *lost]

    async def _search(self, ready: Mapping[str, Sequence[DocumentFile]]) -> list[DocumentFile]:
        """Search texts by their keys; gives the documents that are left."""
        if not ready:
            return []
        return await self._take(await self._search_texts(list(ready)), ready)

    async def _take(
        self, searched: _Searched, ready: Mapping[str, Sequence[DocumentFile]]
    ) -> list[DocumentFile]:
        """Tell what was found in texts of documents; gives the documents that are left: their
        texts are gone, or time was up."""
        self.timed_out |= searched.timed_out
        for key, records in searched.found.items():
            for document in ready.get(key, ()):
                hits = LazyHits(
                    self._library.texts, key, records[: self._query.max_count], self._query
                )
                more = len(records) > self._query.max_count
                self._tell(DocumentHits(document, "builtin", hits, more))
        done = {*searched.keys, *searched.found}.difference(searched.gone)
        for key, documents in ready.items():
            if key in done:
                self.searched_keys.append(key)
                self.searched.update(one.file for one in documents)
        await self._library.forget([one for key in searched.gone for one in ready.get(key, ())])
        return [one for key, documents in ready.items() if key not in done for one in documents]

    def _tell_parts(self, document: DocumentFile, taken: ExtractionResult) -> None:
        """Tell of the parts of a document that could not be read."""
        for one in taken.failed:
            self._tell(ReadFailure(document, one.reason, one.member))

    # --- ripgrep ---------------------------------------------------------------------------

    async def _search_texts(self, keys: Sequence[str]) -> _Searched:
        searched = _Searched()
        self._library.texts.make_folder()
        for paths in command_lines([text_path(key) for key in keys]):
            async with self._ripgrep.start(
                self._arguments(paths), cwd=self._library.texts.folder
            ) as child:
                await _collect(child, searched.found)
                code = await child.wait()
                if child.timed_out:
                    searched.timed_out = True
                    break
                some = list(map(key_of_path, paths))
                searched.keys += some
                if code not in (0, 1):
                    searched.gone += await asyncio.to_thread(
                        self._refused, code, child.stderr, some
                    )
        return searched

    def _arguments(self, paths: Sequence[str]) -> list[str]:
        return [
            "--json",
            # One more tells whether there are more.
            f"--max-count={self._query.max_count + 1}",
            *self._query.query.arguments(),
            "--",
            *paths,
        ]

    def _refused(self, code: int, stderr: str, keys: Sequence[str]) -> list[str]:
        """Return the texts that are gone, if that is why ripgrep complains.

        Raises InvalidPattern, and SearchFailed for every other reason.
        """
        folder = self._library.texts.folder
        gone = [key for key in keys if not os.path.exists(folder / text_path(key))]
        if gone:
            return gone
        if problem := pattern_problem(code, stderr):
            raise InvalidPattern(self._query.query.pattern, problem)
        raise SearchFailed("ripgrep", code, stderr[:2048])


class _Searched:
    """Texts that were searched, by their keys: ``found`` has what ripgrep says of each matching
    line, without the line; ``gone`` are those that are not there."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.found: dict[str, list[bytes]] = {}
        self.gone: list[str] = []
        self.timed_out = False


async def _collect(child: Child, found: dict[str, list[bytes]]) -> None:
    """Take what ripgrep says, file by file. It is not decoded: of thousands of lines, few are
    answered."""
    key, lines = "", list[bytes]()
    async for record in child.records(b"\n", RECORD_BYTES):
        if record.startswith(_MATCH):
            lines.append(record[record.rfind(_BEHIND_LINE) + 1 :])
        elif record.startswith(_BEGIN):
            start = record.index(_PATH) + len(_PATH)
            path = record[start : record.index(b'"', start)].decode()
            key, lines = key_of_path(path.replace("\\\\", "/")), []
        elif record.startswith(_END) and lines:
            found[key] = lines


class _Reading:
    """Documents while they are being read, in tasks of its own."""

    def __init__(self, library: DocumentLibrary, documents: Sequence[DocumentFile]) -> None:
        self._library = library
        self._done: asyncio.Queue[tuple[DocumentFile, ExtractionResult] | SearchFailed] = (
            asyncio.Queue()
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.add(documents)

    def add(self, documents: Sequence[DocumentFile]) -> None:
        """Read these, too."""
        if documents:
            self._tasks.append(asyncio.create_task(self._read(documents)))

    async def some(
        self, most: int, seconds: float, deadline: float
    ) -> list[tuple[DocumentFile, ExtractionResult]]:
        """What has been read within some time of the first of it, at most so many; nothing if time
        is up before.

        Raises SearchFailed if nothing can read documents.
        """
        loop = asyncio.get_running_loop()
        taken: list[tuple[DocumentFile, ExtractionResult]] = []
        until = deadline
        while len(taken) < most and (left := until - loop.time()) > 0:
            try:
                one = await wait_within(self._done.get(), left)
            except asyncio.TimeoutError:
                break
            if isinstance(one, SearchFailed):
                raise one
            taken.append(one)
            if len(taken) == 1:
                until = min(deadline, loop.time() + seconds)
        return taken

    async def _read(self, documents: Sequence[DocumentFile]) -> None:
        try:
            async with contextlib.aclosing(self._library.read(documents)) as answers:
                async for one in answers:
                    self._done.put_nowait(one)
        except SearchFailed as error:
            self._done.put_nowait(error)

    async def aclose(self) -> None:
        """Read no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
