"""The built-in engine: documents are read into texts once, and the texts searched with ripgrep."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence

from winnow.documents.found import Document, DocumentHit, DocumentQuery, Found, NotRead
from winnow.documents.job import Taken
from winnow.documents.library import Library
from winnow.documents.places import Place, TextMap, cell_at
from winnow.documents.texts import key_of_path, text_path
from winnow.errors import InvalidPattern, SearchFailed
from winnow.text.files import plain
from winnow.text.ripgrep import (
    FileBegin,
    FileEnd,
    FileLine,
    Ripgrep,
    command_lines,
    cut_line,
    events,
    pattern_problem,
)

# Documents that have just been read are searched together, after this time.
BATCH_SECONDS = 0.15
WHOLE = 1 << 60  # no line is cut before it is known which of its cells match
_MAPS = 256


class BuiltinSearch:
    """One search; ``tell`` is handed what is found, as it is found. ``pending`` are the documents
    that there was no time for; these are read in the background. ``searched`` counts the documents
    whose text was searched."""

    def __init__(
        self,
        library: Library,
        ripgrep: Ripgrep,
        query: DocumentQuery,
        tell: Callable[[Found | NotRead], None],
    ) -> None:
        self.pending: list[Document] = []
        self.searched = 0
        self.timed_out = False
        self._library = library
        self._ripgrep = ripgrep
        self._query = query
        self._tell = tell
        self._map = functools.lru_cache(_MAPS)(library.texts.load_map)

    async def run(self, documents: Sequence[Document]) -> None:
        """Search documents. Raises InvalidPattern and SearchFailed."""
        known = await self._library.sort(documents)
        for document, reason in known.unreadable:
            self._tell(NotRead(document, reason))
        for document, taken in known.partly:
            self._tell_parts(document, taken)
        self.pending = list(known.unread)
        reading = _Reading(self._library, known.unread)
        try:
            lost = await self._search(known.ready)
            self.pending += lost
            await self._search_unread(reading, known.unread)
            # Somebody has emptied the cache.
            reading.add(lost)
            await self._search_unread(reading, lost)
        finally:
            await reading.aclose()
            # Also of a search that nobody waits for any more: the next one is probably like it.
            self._library.go_on(self.pending)
        self._library.mark_used(list(known.ready))

    async def _search_unread(self, reading: _Reading, documents: Sequence[Document]) -> None:
        """Search documents as they come from being read, until time is up."""
        left = {one.absolute for one in documents}
        while left:
            some = await reading.some(BATCH_SECONDS, self._ripgrep.deadline)
            if not some:
                self.timed_out = True
                return
            ready: dict[str, list[Document]] = {}
            for document, taken in some:
                left.discard(document.absolute)
                if taken.problem:
                    self._tell(NotRead(document, taken.problem))
                elif taken.key:
                    ready.setdefault(taken.key, []).append(document)
                self._tell_parts(document, taken)
            done = {document.absolute for document, _ in some}
            lost = await self._search(ready)
            self.pending = [*(one for one in self.pending if one.absolute not in done), *lost]

    async def _search(self, ready: Mapping[str, Sequence[Document]]) -> list[Document]:
        """Search texts that are there, by their keys; gives the documents whose texts are gone."""
        gone: dict[str, Sequence[Document]] = {}
        for paths in command_lines([text_path(key) for key in ready]):
            async with self._ripgrep.start(
                self._arguments(paths), cwd=self._library.texts.folder
            ) as child:
                lines: list[FileLine] = []
                key = ""
                async for event in events(child, WHOLE):
                    if isinstance(event, FileBegin):
                        key, lines = key_of_path(plain(event.path)), []
                    elif isinstance(event, FileLine):
                        lines.append(event)
                    elif isinstance(event, FileEnd) and key in ready:
                        self._tell_found(key, lines, ready[key])
                code = await child.wait()
                if child.timed_out:
                    self.timed_out = True
                    break
                if code not in (0, 1):
                    gone |= self._refused(code, child.stderr, paths, ready)
            self.searched += sum(len(ready[key_of_path(path)]) for path in paths)
        lost = [document for documents in gone.values() for document in documents]
        if lost:
            self.searched -= len(lost)
            await self._library.lost(lost)
        return lost

    def _arguments(self, paths: Sequence[str]) -> list[str]:
        query = self._query
        return [
            "--json",
            f"--context={query.context}",
            # One more tells whether there are more.
            f"--max-count={query.max_count + 1}",
            *query.query.arguments(),
            "--",
            *paths,
        ]

    def _refused(
        self, code: int, stderr: str, paths: Sequence[str], ready: Mapping[str, Sequence[Document]]
    ) -> dict[str, Sequence[Document]]:
        """The texts that are gone, if that is why ripgrep complains. Raises InvalidPattern."""
        folder = self._library.texts.folder
        gone = {
            key: ready[key]
            for path in paths
            if not os.path.exists(folder / path)
            for key in (key_of_path(path),)
        }
        if not gone and (problem := pattern_problem(code, stderr)):
            raise InvalidPattern(self._query.query.pattern, problem)
        return gone

    def _tell_found(
        self, key: str, lines: Sequence[FileLine], documents: Sequence[Document]
    ) -> None:
        text_map = self._map(key)
        if text_map is None:  # deleted just now
            return
        by_number = {line.number: line for line in lines}
        matched = [line for line in lines if line.matched]
        most = self._query.max_count
        hits = tuple(self._hit(line, by_number, text_map) for line in matched[:most])
        more = len(matched) > most
        for document in documents:
            self._tell(Found(document, "builtin", hits, more))

    def _tell_parts(self, document: Document, taken: Taken) -> None:
        """Tell of the parts of a document that could not be read."""
        for one in taken.failed:
            self._tell(NotRead(document, one.reason, one.member))

    def _hit(self, line: FileLine, lines: Mapping[int, FileLine], text_map: TextMap) -> DocumentHit:
        number, whole = line.number, line.line
        place = text_map.place_at(number)
        first, end = text_map.part_of(number)
        before, after = [], []
        for other in range(max(first, number - self._query.context), number):
            if other in lines:
                before.append(self._text(lines[other]))
        for other in range(number + 1, min(end, number + self._query.context + 1)):
            if other in lines:
                after.append(self._text(lines[other]))
        cut = whole
        if len(whole.text) > self._query.width:
            cut = cut_line(whole.text, whole.ranges, self._query.width)
        return DocumentHit(
            text_map.shown_line(number),
            cut,
            tuple(before),
            tuple(after),
            place,
            _cells(place, whole.text, whole.ranges),
        )

    def _text(self, line: FileLine) -> str:
        return cut_line(line.line.text, (), self._query.width).text


def _cells(place: Place, text: str, ranges: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    cells = (cell_at(place, text[:start]) for start, _ in ranges)
    return tuple(dict.fromkeys(cell for cell in cells if cell))


class _Reading:
    """Documents while they are being read, in tasks of its own."""

    def __init__(self, library: Library, documents: Sequence[Document]) -> None:
        self._library = library
        self._done: asyncio.Queue[tuple[Document, Taken] | SearchFailed] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self.add(documents)

    def add(self, documents: Sequence[Document]) -> None:
        """Read these, too."""
        if documents:
            self._tasks.append(asyncio.create_task(self._read(documents)))

    async def some(self, seconds: float, deadline: float) -> list[tuple[Document, Taken]]:
        """What has been read within some time of the first of it; nothing if time is up before.

        Raises SearchFailed if nothing can read documents.
        """
        loop = asyncio.get_running_loop()
        taken = []
        until = deadline
        while (left := until - loop.time()) > 0:
            try:
                one = await asyncio.wait_for(self._done.get(), left)
            except asyncio.TimeoutError:
                break
            if isinstance(one, SearchFailed):
                raise one
            taken.append(one)
            if len(taken) == 1:
                until = min(deadline, loop.time() + seconds)
        return taken

    async def _read(self, documents: Sequence[Document]) -> None:
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
