"""The ripgrep-all engine: search documents with rga and the programs that it runs.

Each run of rga searches one document. All output and every error of a run therefore belong
to its document, ripgrep prints matches at once instead of buffering them, and a document that
exhausts the memory of its run affects no other document.

Mail is disabled: rga omits the first header of an ``.eml`` (which may declare the encoding) and all
others, and does not name attachments.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.documents.extract.extraction import TEXT_BYTES
from winnow.documents.format import format_of
from winnow.documents.library.locations import Anchor, DocumentLocation, TextMap, UnreadPart
from winnow.documents.library.request import (
    PATTERN_ADVICE,
    DocumentFile,
    DocumentHit,
    DocumentHits,
    DocumentQuery,
    ReadFailure,
)
from winnow.documents.rga.failures import RgaFailure
from winnow.documents.rga.prefixes import (
    EXTENSIONS,
    LinePrefixes,
    directory_of,
    extension_of,
    is_anchored,
    kind_of,
    unpacked,
)
from winnow.documents.rga.settings import RgaSettings, clear_cache, limit_cache, linked, settings
from winnow.documents.unreadable import Unreadable
from winnow.errors import InvalidPattern, SearchFailed
from winnow.processes.children import Child, Processes
from winnow.processes.programs import InstalledPrograms
from winnow.text.ripgrep import (
    RECORD_BYTES,
    SAFE,
    FileLine,
    Line,
    Summary,
    TextPattern,
    cut_line,
    events,
    pattern_problem,
)

# The number of documents that are searched at the same time, each with a pandoc of 100 MB.
CONCURRENT_RUNS = min(4, os.cpu_count() or 1)
# The limit of each program. ripgrep holds a line in memory, and fails on a line of a gigabyte.
MEMORY_BYTES = 512 * 1024**2
# A damaged cache is deleted and created again. When several programs create it at the same time,
# some of them report that it is locked.
ATTEMPTS = 3
OUT_OF_MEMORY = "memory allocation of"  # printed by programs that are written in Rust
TOO_LARGE = "it has lines that do not fit into memory"
EVERY_LINE = DocumentQuery(TextPattern(""), context=0, max_count=sys.maxsize, width=RECORD_BYTES)
TOO_LONG = f"lines of more than {RECORD_BYTES // 1024**2} MiB in it are left out"
NO_UNICODE = "rga takes no path that is not Unicode"
ANCHORED = (
    "`^` and `\\A` find nothing in it with rga, which puts page numbers and names of members before"
    " its lines"
)


_Answer = DocumentHits | ReadFailure


class _RgaLine(Struct, frozen=True):
    """A line of a document; ``matched`` is False for context and for matches in rga's prefixes."""

    number: int
    place: DocumentLocation
    line: Line
    matched: bool


class _RgaRun:
    """A search of one document, and what rga reports besides the lines."""

    def __init__(self, document: DocumentFile, cache: Path) -> None:
        self.document = document
        self.path = linked(document.absolute, cache)
        self.directory = directory_of(document.absolute)
        self.prefixes = LinePrefixes(os.path.basename(document.absolute))
        self.failure = RgaFailure(self.path)
        self.is_complete = False  # False if the deadline ended the run
        self.problem = ""  # TOO_LARGE or TOO_LONG

    @property
    def encrypted(self) -> str:
        """The number of encrypted members in words, or nothing if there are none."""
        count, encrypted = self.directory.count, self.directory.encrypted
        if encrypted and encrypted == count:
            return "it is encrypted"
        return f"{encrypted} of its {count} members are encrypted" if encrypted else ""

    def blocked(self, query: TextPattern) -> str:
        """Return why rga would find nothing in the document, and report no error."""
        if not _is_unicode(self.document.absolute):
            return NO_UNICODE  # rga exits at once
        if self.directory.encrypted and self.directory.encrypted == self.directory.count:
            return self.encrypted  # rga would search the encrypted bytes
        if self.prefixes.has_prefixes and not query.literal and is_anchored(query.pattern):
            return ANCHORED
        return ""

    def failures(self, installed: InstalledPrograms) -> list[UnreadPart]:
        """Return the parts of the document that could not be read."""
        failures = [UnreadPart(self.problem)] if self.problem else []
        if self.failure.lines:
            reason = self.failure.reason(installed.how_to_install)
            failures.append(UnreadPart(reason, self.failure.member()))
        return failures


class RgaEngine:
    """ripgrep-all, for one request.

    ``timed_out`` is True if the deadline ended the last search, and ``pending`` has the documents
    whose search was not complete by then.
    """

    def __init__(
        self,
        processes: Processes,
        installed: InstalledPrograms,
        *,
        ripgrep: str,
        configured: str | None = None,
    ) -> None:
        """``ripgrep`` is the program that rga runs. Raises ProgramNotInstalled."""
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
            if installed.which(name) is None
        }
        self.timed_out = False
        self._pending: dict[str, DocumentFile] = {}

    @property
    def pending(self) -> list[DocumentFile]:
        """The documents whose search is not complete."""
        return list(self._pending.values())

    def unsupported(self, path: str) -> str | None:
        """Return why rga does not read a document with this path, or None if it does."""
        if not _is_unicode(path):
            return NO_UNICODE
        name = os.path.basename(path)
        extension = extension_of(name)
        lower = extension.lower()
        if lower not in EXTENSIONS:
            return f"rga does not read .{lower}" if extension else "rga needs a file extension"
        kind = kind_of(name)
        # rga recognizes these extensions in lower case and in upper case.
        if extension not in (lower, extension.upper()) or (
            kind == "text" and extension in ("TGZ", "TBZ")
        ):
            return f"rga does not read .{extension}: it knows .{lower}"
        inner = unpacked(name)
        if kind == "text" and (inner_format := format_of(inner)) and not inner_format.is_text:
            return f"rga does not read .{extension_of(inner).lower()}"
        return self._missing.get(kind)

    async def search(
        self, documents: Sequence[DocumentFile], query: DocumentQuery, deadline: float
    ) -> AsyncGenerator[_Answer, None]:
        """Yield the documents that match and those that cannot be read, as their runs end.

        A document without a match only disappears from :attr:`pending`. Use the generator with
        ``contextlib.aclosing`` to leave it early. Raises InvalidPattern, SearchFailed, and
        NotAllowed if there is no place for rga's cache.
        """
        self.timed_out = False
        self._pending = {document.absolute: document for document in documents}
        left = list(self._pending.values())
        with settings(self._installed, self._ripgrep) as own:
            await asyncio.to_thread(limit_cache, own.folder)
            for attempt in range(1, ATTEMPTS + 1):
                failed = []
                async with contextlib.aclosing(self._runs(left, query, own, deadline)) as runs:
                    async for run, answers in runs:
                        if run.failure.of_cache and attempt < ATTEMPTS:
                            failed.append(run)
                            continue
                        for answer in answers:
                            yield answer
                        if run.is_complete:
                            self._pending.pop(run.document.absolute, None)
                if not failed or self.timed_out:
                    return
                _repair_cache(own, failed)
                left = [run.document for run in failed]

    async def _runs(
        self,
        documents: Sequence[DocumentFile],
        query: DocumentQuery,
        own: RgaSettings,
        deadline: float,
    ) -> AsyncGenerator[tuple[_RgaRun, list[_Answer]], None]:
        """Search documents concurrently; yield each run with its answers when it has ended."""
        slots = asyncio.Semaphore(CONCURRENT_RUNS)

        async def search(document: DocumentFile) -> tuple[_RgaRun, list[_Answer]]:
            async with slots:
                run = await asyncio.to_thread(_RgaRun, document, own.folder)
                if reason := run.blocked(query.query):
                    run.is_complete = True
                    return run, [ReadFailure(document, reason)]
                return run, [] if self.timed_out else await self._search(run, query, own, deadline)

        tasks = [asyncio.create_task(search(document)) for document in documents]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for pending in tasks:
                pending.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _search(
        self, run: _RgaRun, query: DocumentQuery, own: RgaSettings, deadline: float
    ) -> list[_Answer]:
        """Return the hits in a document, and the parts of it that could not be read."""
        found: dict[int, _RgaLine] = {}
        matched: list[int] = []
        async with contextlib.aclosing(self._lines(run, query, own, deadline)) as lines:
            async for line in lines:
                found[line.number] = line
                if line.matched:
                    matched.append(line.number)
                _drop_line(found, line.number - query.context - 1, query.context)
                # One match more than the maximum shows that there are more.
                is_full = len(matched) > query.max_count
                if is_full and line.number >= matched[query.max_count] + query.context:
                    run.is_complete = True
                    break
        hits = [
            DocumentHit(
                number=number + (found[number].place.page or 0 if run.prefixes.has_pages else 0),
                line=found[number].line,
                before=tuple(reversed(_context(found, number, query.context, -1))),
                after=tuple(_context(found, number, query.context, 1)),
                place=found[number].place,
            )
            for number in matched[: query.max_count]
        ]
        answers: list[_Answer] = []
        if run.encrypted:
            answers.append(ReadFailure(run.document, run.encrypted))
        if hits:
            answers.append(DocumentHits(run.document, "rga", tuple(hits), len(matched) > len(hits)))
        for part in run.failures(self._installed):
            run.is_complete = True
            answers.append(ReadFailure(run.document, part.reason, part.member))
        return answers

    async def text(self, document: DocumentFile, deadline: float) -> tuple[list[str], TextMap]:
        """Return all lines of a document as rga reads them, with their locations.

        The numbers of hits count these lines and their rulers. Raises Unreadable with the reason if
        there are none, and the errors of :meth:`search`.
        """
        self.timed_out = False
        with settings(self._installed, self._ripgrep) as own:
            for _ in range(ATTEMPTS):
                run = await asyncio.to_thread(_RgaRun, document, own.folder)
                if reason := run.blocked(EVERY_LINE.query):
                    raise Unreadable(reason)
                lines, anchors, failures = await self._every_line(run, own, deadline)
                if not run.failure.of_cache:
                    break
                _repair_cache(own, [run])
        failures = [UnreadPart(run.encrypted)] * bool(run.encrypted) + failures
        failures += run.failures(self._installed)
        if self.timed_out:
            failures.append(UnreadPart("time ran out: the rest is left out"))
        if failures and not any(lines):
            raise Unreadable(failures[0].reason)
        return lines, TextMap(document.format, len(lines), tuple(anchors), tuple(failures))

    async def _every_line(
        self, run: _RgaRun, own: RgaSettings, deadline: float
    ) -> tuple[list[str], list[Anchor], list[UnreadPart]]:
        texts: list[str] = []
        anchors: list[Anchor] = []
        size = 0
        async with contextlib.aclosing(self._lines(run, EVERY_LINE, own, deadline)) as lines:
            async for line in lines:
                size += line.line.size
                if size > TEXT_BYTES:
                    limit = TEXT_BYTES // 1024**2
                    reason = f"it has more than {limit} MiB of text: the rest is left out"
                    return texts, anchors, [UnreadPart(reason)]
                # A line that is too long becomes an empty line.
                texts += [""] * (line.number - len(texts) - 1)
                texts.append(line.line.text)
                if not anchors or anchors[-1].place != line.place:
                    page = line.place.page if run.prefixes.has_pages else None
                    ruler = f"Page {page}" if page else ""
                    anchors.append(Anchor(line.number, line.place, ruler))
        return texts, anchors, []

    async def _lines(
        self, run: _RgaRun, query: DocumentQuery, own: RgaSettings, deadline: float
    ) -> AsyncGenerator[_RgaLine, None]:
        """Run rga, and yield the lines of the document. Raises InvalidPattern and SearchFailed."""
        arguments = [self._program, *own.arguments, *_arguments(query, run.path)]
        child = self._processes.start(
            _limited(arguments),
            cwd=own.folder,
            deadline=deadline,
            environment=self._installed.restricted_environment(own.programs),
            log_parser=run.failure,
        )
        async with child:
            async for event in events(child, RECORD_BYTES):
                if isinstance(event, FileLine):
                    yield _without_prefixes(event, run.prefixes, query)
                elif isinstance(event, Summary):
                    run.is_complete = True
            code = await child.wait()
            self.timed_out |= child.timed_out
            if child.dropped:
                run.problem = TOO_LONG
            if not run.is_complete and OUT_OF_MEMORY in child.stderr:
                run.problem = TOO_LARGE
            elif not run.is_complete and not child.timed_out:
                raise _failed(query.query.pattern, code, child)


def _arguments(query: DocumentQuery, path: str) -> list[str]:
    flags = {
        "--fixed-strings": query.query.literal,
        "--word-regexp": query.query.word,
        "--ignore-case": not query.query.case_sensitive,
        "--case-sensitive": query.query.case_sensitive,
    }
    return [
        *SAFE,
        "--json",
        "--line-number",
        # Search a text with a NUL to its end, and count its lines as they are.
        "--text",
        f"--context={query.context}",
        *(flag for flag, is_set in flags.items() if is_set),
        # rga parses an argument that starts with `--rga-` anywhere, so the pattern must not.
        f"--regexp={query.query.pattern}",
        "--",
        path,
    ]


def _limited(command: Sequence[str]) -> list[str]:
    """Limit the memory of a command and its children. A limit that is set from outside may come too
    late for rga's ripgrep."""
    if sys.platform != "linux":
        return list(command)
    script = f'ulimit -d {MEMORY_BYTES // 1024}; exec "$0" "$@"'
    return ["/bin/sh", "-c", script, *command]


def _failed(pattern: str, code: int, child: Child) -> InvalidPattern | SearchFailed:
    """Return why rga did not finish."""
    with contextlib.suppress(SearchFailed):
        problem = pattern_problem(code, child.stderr)
        if problem is not None:
            return InvalidPattern(pattern, problem, PATTERN_ADVICE)
    return SearchFailed("rga", code, child.stderr[:2048])


def _repair_cache(own: RgaSettings, runs: Sequence[_RgaRun]) -> None:
    """Delete rga's cache if the errors of a run show that it is damaged."""
    if any(run.failure.cache_damaged for run in runs):
        clear_cache(own.folder)


def _is_unicode(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_prefixes(event: FileLine, prefixes: LinePrefixes, query: DocumentQuery) -> _RgaLine:
    line = prefixes.parse(event.line.text)
    ranges = line.ranges(event.line.ranges, literal=query.query.literal)
    if len(line.text) > query.width:
        shown = cut_line(line.text, ranges, query.width)
    else:
        shown = Line(line.text, len(line.text.encode("utf-8", "replace")) + 1, ranges)
    return _RgaLine(event.number, line.place, shown, bool(ranges))


def _drop_line(lines: dict[int, _RgaLine], number: int, context: int) -> None:
    """Drop a line that is neither a hit nor the context of a hit."""
    around = (lines.get(near) for near in range(number - context, number + context + 1))
    if not any(line is not None and line.matched for line in around):
        lines.pop(number, None)


def _context(lines: Mapping[int, _RgaLine], number: int, count: int, step: int) -> list[str]:
    """Return the lines next to a line, on one side and in the same part of the document."""
    context: list[str] = []
    for distance in range(1, count + 1):
        near = lines.get(number + step * distance)
        if near is None or near.place != lines[number].place:
            break
        context.append(near.line.text)
    return context
