"""The ripgrep-all engine: documents searched by the programs of the machine.

What rga may run is in :mod:`winnow.documents.rga.settings`; pages and members of archives, which it
writes before the lines, in :mod:`winnow.documents.rga.lines`; documents that it cannot read in
:mod:`winnow.documents.rga.failures`. Mail stays off: rga leaves out the first header of an ``.eml``
(which may be the one that says how to read it) and all others, and names no attachment.

Documents are given by links, see :mod:`winnow.documents.rga.links`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from winnow.documents.extract.extraction import TEXT_BYTES
from winnow.documents.format import format_of
from winnow.documents.library.locations import Anchor, Failure, Place, TextMap
from winnow.documents.library.request import Document, DocumentHit, DocumentQuery, Found, NotRead
from winnow.documents.rga.failures import Failures
from winnow.documents.rga.lines import (
    KNOWN_ENDS,
    Directory,
    Lines,
    anchored,
    directory_of,
    end_of,
    kept_ranges,
    kind_of,
    unpacked,
)
from winnow.documents.rga.links import forget, has_many, linked
from winnow.documents.rga.settings import Settings, clear_cache, settings
from winnow.documents.unreadable import Unreadable
from winnow.errors import InvalidPattern, SearchFailed
from winnow.processes.children import Child, Processes
from winnow.processes.programs import InstalledPrograms
from winnow.text.ripgrep import (
    RECORD_BYTES,
    SAFE,
    FileBegin,
    FileEnd,
    FileLine,
    Summary,
    TextPattern,
    command_lines,
    cut_line,
    events,
    pattern_problem,
)
from winnow.types import Line

# Documents of one run. ripgrep names a document without a match nowhere: it is answered when its
# run has ended. A run costs some ten milliseconds, a document that is not in the cache twice that.
PORTION = 64
# ripgrep's own choice is one for each of up to 12 cores, each with a pandoc of 100 MB.
THREADS = min(4, os.cpu_count() or 1)
# What each program may have. ripgrep holds a line as a whole, and one of a gigabyte ends it, with
# all documents of its run: these are then searched in so many smaller ones.
MEMORY_BYTES = 512 * 1024**2
PARTS = 8
# A cache that is damaged is begun anew, and where many programs do so at the same time, some are
# told that it is locked.
TRIES = 3
OUT_OF_MEMORY = "memory allocation of"  # how a program in Rust says so
TOO_LARGE = "it has lines that do not fit into memory"
EVERY_LINE = DocumentQuery(TextPattern(""), context=0, max_count=0, width=RECORD_BYTES)
TOO_LONG = f"lines of more than {RECORD_BYTES // 1024**2} MiB in it are left out"
NO_UNICODE = "rga takes no path that is not Unicode"
ANCHORED = (
    "`^` and `\\A` find nothing in it with rga, which puts page numbers and names of members before"
    " its lines"
)


class _OutOfMemory(Exception):
    """ripgrep has ended, as a line of one of the documents is too large."""


class _Line(Struct, frozen=True):
    """A line of a document; one that is ``matched`` has matches of its own."""

    number: int
    place: Place
    line: Line
    matched: bool


@dataclasses.dataclass
class _Text:
    """The lines of one document that a run has found; ``passed`` are those of which only what rga
    puts before them matches. ``whole`` says that the document was searched to its end."""

    document: Document
    lines: dict[int, _Line] = dataclasses.field(default_factory=dict)
    matched: int = 0
    passed: int = 0
    too_long: bool = False
    whole: bool = False


@dataclasses.dataclass
class _Whole:
    """All lines of one document."""

    lines: list[str] = dataclasses.field(default_factory=list)
    anchors: list[Anchor] = dataclasses.field(default_factory=list)
    failed: list[Failure] = dataclasses.field(default_factory=list)
    size: int = 0

    def add(self, line: _Line, *, paged: bool) -> bool:
        """Add the next line; False if there is no room for it."""
        self.size += line.line.size
        if self.size > TEXT_BYTES:
            limit = TEXT_BYTES // 1024**2
            reason = f"it has more than {limit} MiB of text: the rest is left out"
            self.failed.append(Failure(reason))
            return False
        # A line that was too long is an empty one.
        self.lines += [""] * (line.number - len(self.lines) - 1)
        self.lines.append(line.line.text)
        if not self.anchors or self.anchors[-1].place != line.place:
            ruler = f"Page {line.place.page}" if paged and line.place.page else ""
            self.anchors.append(Anchor(line.number, line.place, ruler))
        return True


@dataclasses.dataclass
class _Run:
    """One run of rga: what it is to find in which documents, and what it said of them."""

    query: DocumentQuery
    settings: Settings
    documents: Mapping[str, Document]
    failures: Failures
    directories: Mapping[str, Directory]

    @classmethod
    def of(
        cls,
        query: DocumentQuery,
        own: Settings,
        documents: Iterable[Document],
        directories: Mapping[str, Directory],
    ) -> _Run:
        by_path = linked(list(documents), own.folder)
        return cls(query, own, by_path, Failures(by_path), directories)

    def lines(self, document: Document) -> Lines:
        directory = self.directories.get(document.absolute, Directory())
        return Lines(os.path.basename(document.absolute), directory.names)

    def arguments(self) -> list[str]:
        """All that stands behind rga's settings."""
        query = self.query.query
        flags = {
            "--fixed-strings": query.literal,
            "--word-regexp": query.word,
            "--ignore-case": not query.case_sensitive,
            "--case-sensitive": query.case_sensitive,
        }
        most = self.query.max_count
        return [
            *SAFE,
            "--json",
            "--line-number",
            # A text with a NUL is searched to its end, and its lines are counted as they are.
            "--text",
            f"--threads={THREADS}",
            f"--context={self.query.context}",
            # One more tells whether there are more.
            *([f"--max-count={most + 1}"] if most else []),
            *(flag for flag, wanted in flags.items() if wanted),
            # A word that begins with `--rga-` is rga's own, wherever it stands.
            f"--regexp={query.pattern}",
            "--",
            *self.documents,
        ]


class Rga:
    """ripgrep-all, for one request.

    ``timed_out`` says that the deadline ended the last search, and ``pending`` has the documents
    that had no answer by then.
    """

    def __init__(
        self,
        processes: Processes,
        installed: InstalledPrograms,
        *,
        ripgrep: str,
        configured: str | None = None,
    ) -> None:
        """``ripgrep`` is what rga runs. The cache is kept outside of the workspace. Raises
        ProgramNotInstalled."""
        if configured:
            self._program = installed.configured("rga", "programs.rga", configured)
        else:
            self._program = installed.find("rga")
        self._processes = processes
        self._installed = installed
        self._ripgrep = ripgrep
        self._missing = {
            kind: f"{name} is not installed: {installed.how_to_install(name)}"
            for kind, name in {"pages": "pdftotext", "pandoc": "pandoc"}.items()
            if installed.located(name) is None
        }
        self.timed_out = False
        self._pending: dict[str, Document] = {}

    @property
    def pending(self) -> list[Document]:
        """The documents without an answer."""
        return list(self._pending.values())

    def reads(self, path: str) -> str | None:
        """Why rga does not read a document with this path; None if it does."""
        if not _is_unicode(path):
            return NO_UNICODE
        name = os.path.basename(path)
        end = end_of(name)
        if end.lower() not in KNOWN_ENDS:
            return f"rga does not read .{end.lower()}" if end else "rga goes by the ends of names"
        kind = kind_of(name)
        # It looks at files with these ends as they are, or all in capitals.
        if end not in (end.lower(), end.upper()) or (kind == "text" and end in ("TGZ", "TBZ")):
            return f"rga does not read .{end}: it knows .{end.lower()}"
        inner = unpacked(name)
        if kind == "text" and (known := format_of(inner)) and not known.is_text:
            return f"rga does not read .{end_of(inner).lower()}"
        return self._missing.get(kind)

    # --- searching -------------------------------------------------------------------------

    async def search(
        self, documents: Sequence[Document], query: DocumentQuery, deadline: float
    ) -> AsyncGenerator[Found | NotRead, None]:
        """The documents that match, and those that cannot be read, as they come.

        A document in which nothing matches is told of no more than by not being :attr:`pending`.
        To be used in ``contextlib.aclosing`` where it may be left early. Raises InvalidPattern,
        SearchFailed, and NotAllowed if there is no place for rga's cache.
        """
        self.timed_out = False
        self._pending = {one.absolute: one for one in documents}
        with settings(self._installed, self._ripgrep) as own:
            if await asyncio.to_thread(has_many, own.folder):
                await asyncio.to_thread(forget, own.folder)
                clear_cache(own.folder)
            for portion in _portions(list(self._pending.values())):
                async with contextlib.aclosing(
                    self._search_portion(portion, query, own, deadline)
                ) as answers:
                    async for answer in answers:
                        yield answer
                if self.timed_out:
                    return
                for one in portion:
                    self._pending.pop(one.absolute, None)

    async def _search_portion(
        self,
        portion: Sequence[Document],
        query: DocumentQuery,
        own: Settings,
        deadline: float,
    ) -> AsyncGenerator[Found | NotRead, None]:
        directories = await asyncio.to_thread(_directories, portion)
        readable = []
        for document in portion:
            reasons, hidden = _hidden(document, query.query, directories[document.absolute])
            for reason in reasons:
                yield NotRead(document, reason)
            if hidden:
                self._pending.pop(document.absolute, None)
            else:
                readable.append(document)
        for tries in range(TRIES):
            run = _Run.of(query, own, readable, directories)
            last = tries == TRIES - 1
            async with contextlib.aclosing(self._answers(run, deadline, last=last)) as answers:
                async for answer in answers:
                    yield answer
            failures = run.failures.found.items()
            readable = [run.documents[path] for path, one in failures if one.of_cache]
            if not readable or self.timed_out:
                return
            _mend_cache(run)

    async def _answers(
        self, run: _Run, deadline: float, *, last: bool = False
    ) -> AsyncGenerator[Found | NotRead, None]:
        """What one run tells of its documents. Those that suffer from rga's cache are left for
        another run, unless this is the last."""
        if not run.documents:
            return
        again: list[_Text] = []
        try:
            async with contextlib.aclosing(self._texts(run, deadline)) as texts:
                async for text in texts:
                    if text.passed and text.matched + text.passed > run.query.max_count:
                        again.append(text)
                        continue
                    for answer in self._told(text, run):
                        yield answer
        except _OutOfMemory:
            async with contextlib.aclosing(self._in_parts(run, deadline)) as answers:
                async for answer in answers:
                    yield answer
            return
        for text in again:
            if not self.timed_out:
                text = await self._text_alone(run, text.document, deadline)  # noqa: PLW2901
            for answer in self._told(text, run):
                yield answer
        for path, failure in run.failures.found.items():
            if failure.of_cache and not last:
                continue
            document = run.documents[path]
            if _is_archive(document) and not self.timed_out:
                # ripgrep drops what it has found in such a file, unless it searches it alone.
                text = await self._text_alone(run, document, deadline)
                for answer in self._told(text, run):
                    yield answer
            self._pending.pop(document.absolute, None)
            reason = failure.reason(self._installed.how_to_install)
            yield NotRead(document, reason, failure.member(path))

    async def _in_parts(self, run: _Run, deadline: float) -> AsyncGenerator[Found | NotRead, None]:
        """What smaller runs tell of the documents that have no answer yet."""
        left = [one for one in run.documents.values() if one.absolute in self._pending]
        if len(left) == 1:
            self._pending.pop(left[0].absolute)
            yield NotRead(left[0], TOO_LARGE)
            return
        for first in range(min(PARTS, len(left))):
            if self.timed_out:
                return
            part = _Run.of(run.query, run.settings, left[first::PARTS], run.directories)
            async with contextlib.aclosing(self._answers(part, deadline, last=True)) as answers:
                async for answer in answers:
                    yield answer
            if not self.timed_out:
                for one in part.documents.values():
                    self._pending.pop(one.absolute, None)

    def _told(self, text: _Text, run: _Run) -> Iterator[Found | NotRead]:
        """The answers about a document whose lines were found."""
        hits = _hits(text, run)
        most = run.query.max_count
        if text.whole:
            self._pending.pop(text.document.absolute, None)
        if hits:
            yield Found(text.document, "rga", tuple(hits[:most]), more=len(hits) > most)
        if text.too_long:
            yield NotRead(text.document, TOO_LONG)

    async def _text_alone(self, run: _Run, document: Document, deadline: float) -> _Text:
        """The lines of one document, searched alone: ripgrep then writes what it finds at once, and
        is stopped when it has found enough."""
        most, context = run.query.max_count, run.query.context
        query = DocumentQuery(run.query.query, context, 0, run.query.width)
        alone = _Run.of(query, run.settings, [document], run.directories)
        last: int | None = None
        text = _Text(document)
        with contextlib.suppress(_OutOfMemory):
            async with contextlib.aclosing(self._lines(alone, deadline)) as lines:
                async for text, line in lines:
                    if line is None:
                        continue
                    _forget(text, line.number - context - 1, context)
                    if text.matched > most and last is None:
                        last = line.number
                    if last is not None and line.number >= last + context:
                        text.whole = True
                        break
        return text

    # --- the text of a document ------------------------------------------------------------

    async def text(self, document: Document, deadline: float) -> tuple[list[str], TextMap]:
        """All lines of a document as rga sees them, with the places that they come from: the
        numbers of hits are those of these lines with their rulers. Raises Unreadable with the
        reason if there are none, and what :meth:`search` does."""
        self.timed_out = False
        directory = await asyncio.to_thread(directory_of, document.absolute)
        if directory.encrypted and directory.encrypted == directory.count:
            raise Unreadable(_encrypted(directory))
        directories = {document.absolute: directory}
        with settings(self._installed, self._ripgrep) as own:
            for _ in range(TRIES):
                run = _Run.of(EVERY_LINE, own, [document], directories)
                text = await self._every_line(run, document, deadline)
                if not any(one.of_cache for one in run.failures.found.values()):
                    break
                _mend_cache(run)
        failures = run.failures.found.items()
        explain = self._installed.how_to_install
        text.failed += [Failure(one.reason(explain), one.member(path)) for path, one in failures]
        if directory.encrypted:
            text.failed.insert(0, Failure(_encrypted(directory)))
        if self.timed_out:
            text.failed.append(Failure("time ran out: the rest is left out"))
        if text.failed and not any(text.lines):
            raise Unreadable(text.failed[0].reason)
        known = TextMap(document.format, len(text.lines), tuple(text.anchors), tuple(text.failed))
        return text.lines, known

    async def _every_line(self, run: _Run, document: Document, deadline: float) -> _Whole:
        """The document as far as rga reads it."""
        paged = run.lines(document).paged
        whole = _Whole()
        try:
            async with contextlib.aclosing(self._lines(run, deadline)) as lines:
                async for found, line in lines:
                    if line is None:
                        whole.failed += [Failure(TOO_LONG)] if found.too_long else []
                    elif not whole.add(line, paged=paged):
                        break
                    found.lines.clear()
        except _OutOfMemory:
            whole.failed.append(Failure(TOO_LARGE))
        return whole

    # --- running rga -----------------------------------------------------------------------

    async def _texts(self, run: _Run, deadline: float) -> AsyncGenerator[_Text, None]:
        """The documents that have lines, each when all of them are known."""
        async with contextlib.aclosing(self._lines(run, deadline)) as lines:
            async for text, line in lines:
                if line is None:
                    yield text

    async def _lines(
        self, run: _Run, deadline: float
    ) -> AsyncGenerator[tuple[_Text, _Line | None], None]:
        """The lines of each document, and None when it has no more. Raises InvalidPattern and
        SearchFailed."""
        child = self._processes.start(
            _limited([self._program, *run.settings.arguments, *run.arguments()]),
            cwd=run.settings.folder,
            deadline=deadline,
            environment=self._installed.restricted(run.settings.programs),
            log_parser=run.failures,
        )
        ended = False
        text: _Text | None = None
        lines: Lines | None = None
        dropped = 0
        async with child:
            async for event in events(child, RECORD_BYTES):
                if isinstance(event, FileBegin):
                    document = run.documents[event.path]
                    text, lines, dropped = _Text(document), run.lines(document), len(child.dropped)
                elif isinstance(event, FileLine) and text is not None and lines is not None:
                    yield text, _take(text, event, lines, run.query)
                elif isinstance(event, FileEnd) and text is not None:
                    text.too_long, text.whole = len(child.dropped) > dropped, True
                    yield text, None
                    text = None
                ended = ended or isinstance(event, Summary)
            code = await child.wait()
            self.timed_out = self.timed_out or child.timed_out
            if text is not None and child.timed_out:
                yield text, None
            if not ended and OUT_OF_MEMORY in child.stderr:
                raise _OutOfMemory
            if not ended and not child.timed_out:
                raise _failed(run.query.query.pattern, code, child)


def _limited(command: Sequence[str]) -> list[str]:
    """The command with a limit to its memory and that of all that it starts. Set from outside, the
    limit may come too late for rga's ripgrep."""
    if sys.platform != "linux":
        return list(command)
    script = f'ulimit -d {MEMORY_BYTES // 1024}; exec "$0" "$@"'
    return ["/bin/sh", "-c", script, *command]


def _failed(pattern: str, code: int, child: Child) -> InvalidPattern | SearchFailed:
    """Why rga did not come to its end."""
    with contextlib.suppress(SearchFailed):
        problem = pattern_problem(code, child.stderr)
        if problem is not None:
            return InvalidPattern(pattern, problem)
    return SearchFailed("rga", code, child.stderr[:2048])


def _portions(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """The documents in portions for one run each."""
    by_path = {one.absolute: one for one in documents}
    for line in command_lines(list(by_path)):
        for start in range(0, len(line), PORTION):
            yield [by_path[path] for path in line[start : start + PORTION]]


def _directories(documents: Iterable[Document]) -> dict[str, Directory]:
    return {one.absolute: directory_of(one.absolute) for one in documents}


def _hidden(document: Document, query: TextPattern, directory: Directory) -> tuple[list[str], bool]:
    """Why rga would not find all, or nothing at all, in a document, and say nothing of it."""
    if not _is_unicode(document.absolute):
        return [NO_UNICODE], True  # it ends at once, whatever else it is given
    reasons = []
    hidden = False
    if directory.encrypted:
        # It searches what is encrypted as if it were a text.
        reasons.append(_encrypted(directory))
        hidden = directory.encrypted == directory.count
    prefixed = Lines(os.path.basename(document.absolute)).prefixed
    if prefixed and not query.literal and anchored(query.pattern):
        reasons.append(ANCHORED)
        hidden = True
    return reasons, hidden


def _is_archive(document: Document) -> bool:
    return kind_of(os.path.basename(document.absolute)) == "members"


def _mend_cache(run: _Run) -> None:
    """Have rga begin a new cache if its documents say that it is damaged."""
    if any(one.cache_damaged for one in run.failures.found.values()):
        clear_cache(run.settings.folder)


def _forget(text: _Text, number: int, context: int) -> None:
    """Drop a line that is no hit, and next to none."""
    around = (text.lines.get(one) for one in range(number - context, number + context + 1))
    if not any(line is not None and line.matched for line in around):
        text.lines.pop(number, None)


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encrypted(directory: Directory) -> str:
    if directory.encrypted == directory.count:
        return "it is encrypted"
    return f"{directory.encrypted} of its {directory.count} members are encrypted"


def _take(text: _Text, event: FileLine, lines: Lines, query: DocumentQuery) -> _Line:
    """Add a line of rga's output to the document, without what is not the document's."""
    part = lines.part(event.line.text)
    ranges = kept_ranges(event.line.ranges, part, literal=query.query.literal)
    text.matched += bool(ranges)
    text.passed += event.matched and not ranges
    size = len(part.text.encode("utf-8", "replace")) + 1
    shown = (
        Line(part.text, size, ranges)
        if len(part.text) <= query.width
        else cut_line(part.text, ranges, query.width)
    )
    line = _Line(event.number, part.place, shown, bool(ranges))
    text.lines[line.number] = line
    return line


def _hits(text: _Text, run: _Run) -> list[DocumentHit]:
    paged = run.lines(text.document).paged
    return [
        DocumentHit(
            number=number + (line.place.page or 0 if paged else 0),
            line=line.line,
            before=tuple(reversed(_around(text.lines, line, run.query.context, -1))),
            after=tuple(_around(text.lines, line, run.query.context, 1)),
            place=line.place,
        )
        for number, line in sorted(text.lines.items())
        if line.matched
    ]


def _around(lines: Mapping[int, _Line], line: _Line, most: int, step: int) -> list[str]:
    """The lines next to a line, on one side, as far as they are of the same part."""
    around: list[str] = []
    for further in range(1, most + 1):
        near = lines.get(line.number + step * further)
        if near is None or near.place != line.place:
            break
        around.append(near.line.text)
    return around
