"""Search one pattern in a tree, in the order of paths, until the reader has enough.

A sorted search uses one thread and stops when the reader has enough, which takes milliseconds for a
frequent word. A search of the complete tree is faster in all threads, but unsorted. So the probe
searches in order first. If it finds little in :data:`PROBE_SECONDS`, all threads count the matches
of every file, and then the matching files are searched in order, from where the probe stopped. If
the index knows which files can match, only these are counted; a few are searched in order at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import threading
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from winnow.config import Limits
from winnow.errors import InvalidPattern, SearchFailed
from winnow.processes.children import Child
from winnow.storage.untrusted import open_listed
from winnow.text.buffers import Overlay, scope_arguments
from winnow.text.ripgrep import (
    MATCH,
    RECORD_BYTES,
    FileBegin,
    FileEnd,
    FileLine,
    Ripgrep,
    TextPattern,
    command_lines,
    events,
    pattern_problem,
    ran_out_of_memory,
    unreadable_files,
)
from winnow.text.scope import Scope, clean_path, join_path, path_order
from winnow.text.skipped_files import DEBUG, SkippedFiles, skipped_files_for

PROBE_SECONDS = 0.06
# The probe continues if it has found this fraction of the requested matches by then.
PROBE_SHARE = 0.25
# Counting may use this fraction of the remaining time; searching the counted files gets the rest.
COUNT_SHARE = 0.8
# A scope without files, with which ripgrep still checks the pattern.
NO_FILES = ["--max-depth=0", "--", "."]
# How ripgrep counts: matches, matching lines, or only the files that match, each as 1.
Counting = Literal["--count-matches", "--count", "--files-with-matches"]
COUNT: Counting = "--count-matches"
COUNT_LINES: Counting = "--count"
LIST: Counting = "--files-with-matches"
_MATCHING = re.compile(rb"^(\d+) files? contained matches$", re.M)  # of --stats
# ripgrep skips a file with a NUL in its first buffer as binary. If the first NUL is later, ripgrep
# has already searched the part before it.
BUFFER_BYTES = 64 * 1024
# Counting this number of candidates takes about as long as the probe. Beyond it, most patterns are
# so common that the probe finds enough before all candidates are counted.
FEW_CANDIDATES = 4_000
# One thread of ripgrep searches this number of files, and of bytes, before others have started.
LITTLE = 500
LITTLE_BYTES = 8 * 1024 * 1024
READ_BYTES = 128 * 1024
# With so many matches, ripgrep needs longer to write each line by itself than to search. A block
# has some 30 lines.
MANY_MATCHES = 1_000

FoundLine = tuple[str, FileLine]


@dataclass
class TextSearch:
    """A search and its state.

    ``max_matches`` is the number of matches that the reader wants, with ``context`` lines around
    each. ``candidates`` are the only files on disk that can match, as ripgrep prints paths; None if
    that is unknown. ``cautious`` excludes files that could exceed ripgrep's memory.

    ``total`` is the number of matches, if all were counted. ``finished`` is True if every file in
    scope was searched. ``ordered`` is False if time ran out while counting: files between the found
    ones may be missing. ``skipped_files`` counts the files that ripgrep skipped, if its log was
    read; in ``too_large`` files, ripgrep ran out of memory while printing matches.
    """

    ripgrep: Ripgrep
    scope: Scope
    query: TextPattern
    overlay: Overlay
    limits: Limits
    context: int = 0
    max_matches: int = 50
    cautious: bool = False
    candidates: Sequence[str] | None = None
    total: int | None = None
    finished: bool = False
    timed_out: bool = False
    ordered: bool = True
    skipped_files: SkippedFiles | None = None
    unreadable: set[str] = field(default_factory=set)
    binary: int = 0
    partly_binary: set[str] = field(default_factory=set)
    too_large: set[str] = field(default_factory=set)
    # The candidates with NUL bytes that match or may match; None if unknown.
    with_nulls: set[str] | None = None
    _nulls: dict[str, int] = field(default_factory=dict)  # offsets of first NUL bytes
    # By file, because a file that is searched again reports the same lines again.
    _long_lines: dict[str, int] = field(default_factory=dict)
    _found: int = 0
    _in_buffers: int = 0
    _stopped: bool = False
    _running: Child | None = None
    _has_run_out: bool = False

    @property
    def long_lines(self) -> int:
        """The number of matching lines that were dropped because they are too long."""
        return sum(self._long_lines.values())

    def stop(self) -> None:
        """Make :meth:`lines` end soon, because the reader has enough."""
        self._stopped = True
        if self._running:
            self._running.kill()

    # --- matches ---------------------------------------------------------------------------

    async def lines(self) -> AsyncGenerator[FoundLine, None]:
        """Yield the matching lines and their context, file by file, in the order of paths.

        Unsaved documents replace their files on disk. Raises InvalidPattern.
        """
        waiting = await self._unsaved_lines()
        self._in_buffers = sum(len(line.line.ranges) for _, lines in waiting for line in lines)
        key = path_order(self.scope)
        async with contextlib.aclosing(self._lines_on_disk()) as on_disk:
            at = ""
            async for path, line in on_disk:
                if path != at:
                    at = path
                    while waiting and key(waiting[0][0]) < key(path):
                        for earlier in waiting[0][1]:
                            yield waiting[0][0], earlier
                        del waiting[0]
                yield path, line
        if self.ordered and not self.finished:
            return  # files before the waiting ones are missing
        for path, lines in waiting:
            for line in lines:
                yield path, line

    async def _unsaved_lines(self) -> list[tuple[str, list[FileLine]]]:
        found: dict[str, list[FileLine]] = {}
        for folder, prefix in self.overlay.folders:
            arguments = [*self._match_arguments(), *scope_arguments(self.scope, folder, prefix)]
            async with self.ripgrep.start(arguments, cwd=folder) as child:
                async for path, line in self._read(child, prefix):
                    found.setdefault(path, []).append(line)
                await self._check(child)
        return sorted(found.items(), key=lambda item: path_order(self.scope)(item[0]))

    async def _lines_on_disk(self) -> AsyncGenerator[FoundLine, None]:
        named = await self._named_files()
        last = ("", 0)
        if named is None and self.candidates is not None and len(self.candidates) <= FEW_CANDIDATES:
            if self._is_little(self.candidates):
                named = await asyncio.to_thread(self._texts_among, self.candidates)
            if not named:  # let ripgrep report problems of the pattern or the files
                counts = await self._count_candidates(COUNT, self.candidates, COUNT_SHARE)
                named = None if counts is None else self._counted_files(counts)
        if named is None:
            async with contextlib.aclosing(self._probe()) as probe:
                async for path, line in probe:
                    last = path, line.number
                    yield path, line
            if self.finished or self.timed_out or self._stopped:
                return
            counts = await self._count_on_disk(COUNT, COUNT_SHARE)
            named = self._counted_files(counts, last[0])
        async with contextlib.aclosing(self._search_named(named)) as rest:
            async for path, line in rest:
                if path != last[0] or line.number > last[1]:
                    yield path, line
        self.finished = not self.timed_out and not self._stopped

    def _texts_among(self, candidates: Sequence[str]) -> list[str]:
        """Return the candidates that a search of the tree would read, in order; none if that is
        uncertain, see :meth:`_count_candidates`."""
        named = [path for path in candidates if path not in self.overlay.paths]
        try:
            nulls = {
                path: null
                for path in named
                if (null := _first_null(os.path.join(self.scope.root, path))) is not None
            }
        except OSError:
            return []
        if nulls and self.query.multiline:
            return []
        self.with_nulls = set(nulls)
        self._nulls |= nulls
        texts = [path for path in named if nulls.get(path, BUFFER_BYTES) >= BUFFER_BYTES]
        return sorted(texts, key=path_order(self.scope))

    def _counted_files(self, counts: Mapping[str, int], reached: str = "") -> list[str]:
        """Return the matching files in order, from the file that the probe reached."""
        # After a timeout, some of the next files may not have been counted.
        self.ordered = not self.timed_out
        late = self._late_binaries()
        if not self.timed_out and not late:
            self.total = sum(counts.values()) + self._in_buffers
        key = path_order(self.scope)
        files = sorted({*counts, *late}, key=key)
        return [path for path in files if not reached or key(path) >= key(reached)]

    async def _probe(self) -> AsyncGenerator[FoundLine, None]:
        """Search in order; give up if that finds little in its time."""
        skipped = skipped_files_for(self.scope.arguments)
        arguments = [*self._match_arguments(), "--sort=path", *self._whole_scope(skipped)]
        async with self.ripgrep.start(arguments, cwd=self.scope.root, log_parser=skipped) as child:
            self._running = child
            given_up = False

            def give_up() -> None:
                nonlocal given_up
                if self._found < self.max_matches * PROBE_SHARE:
                    given_up = True
                    child.kill()

            alarm = asyncio.get_running_loop().call_later(PROBE_SECONDS, give_up)
            try:
                async for found in self._read(child):
                    yield found
            finally:
                alarm.cancel()
            if not given_up and not self._stopped:
                if await self._ran_out(child):
                    return
                self.skipped_files = skipped
                self.finished = not self.timed_out

    async def _search_named(self, files: Sequence[str]) -> AsyncGenerator[FoundLine, None]:
        """Search files of the scope in the given order."""
        for portion in command_lines([os.path.join(".", path) for path in files]):
            left, at = portion, ("", 0)
            while left:
                async with contextlib.aclosing(self._run_named(left)) as lines:
                    async for path, line in lines:
                        if path != at[0] or line.number > at[1]:
                            at = path, line.number
                            yield path, line
                if self._stopped or self.timed_out:
                    return
                left = self._without_large(left, at[0]) if self._has_run_out else []

    async def _run_named(self, files: Sequence[str]) -> AsyncGenerator[FoundLine, None]:
        """Search files in one run; it sets :attr:`_has_run_out` if it ran out of memory."""
        arguments = [*self._match_arguments(), "--threads=1", "--", *files]
        async with self.ripgrep.start(arguments, cwd=self.scope.root) as child:
            self._running = child
            async for found in self._read(child, late=self._late_binaries()):
                yield found
            self._has_run_out = not self._stopped and await self._ran_out(child)

    def _without_large(self, files: Sequence[str], reached: str) -> list[str]:
        """Return the files still to search after ripgrep ran out of memory, without large ones.

        Raises SearchFailed if none is large.
        """
        names = [clean_path(file) for file in files]
        rest = names[names.index(reached) if reached else 0 :]
        large = {path for path in rest if self._size(path) > RECORD_BYTES}
        if not large:
            raise SearchFailed("ripgrep", -signal.SIGABRT, "it ran out of memory")
        self.too_large |= large
        return [os.path.join(".", path) for path in rest if path not in large]

    def _size(self, path: str) -> int:
        try:
            return os.stat(os.path.join(self.scope.root, path)).st_size
        except OSError:
            return 0

    async def _read(
        self, child: Child, prefix: str | None = None, late: Mapping[str, int] | None = None
    ) -> AsyncGenerator[FoundLine, None]:
        """Yield the lines of a run; of ``late`` binary files, those before the first NUL byte.

        ``prefix`` is given for a run over unsaved documents.
        """
        path, is_included, any_found, dropped = "", True, False, 0
        end: int | None = None
        async for event in events(child, self.limits.line_characters):
            if isinstance(event, FileBegin):
                dropped = self._count_long(path, child, dropped)
                path = (prefix or "") + clean_path(event.path)
                is_included = self._includes(path, unsaved=prefix is not None)
                any_found = False
                end = late.get(path) if late else None
                if is_included and end is None and prefix is None and self.query.multiline:
                    end = (await self._nulls_of_multiline([path])).get(path)
            elif isinstance(event, FileLine) and is_included:
                if end is not None and event.offset >= end:
                    continue
                any_found = True
                self._found += len(event.line.ranges)
                yield path, event
            elif isinstance(event, FileEnd) and any_found and event.binary:
                self.partly_binary |= set() if self.query.binary else {path}
        self._count_long(path, child, dropped)

    def _count_long(self, path: str, child: Child, counted: int) -> int:
        """Count the dropped lines of a file. Return the number of all lines dropped so far."""
        heads = child.dropped[counted:]
        if count := sum(head.startswith(MATCH) for head in heads):
            self._long_lines[path] = count
        return counted + len(heads)

    # --- counts ----------------------------------------------------------------------------

    async def count(self, how: Counting) -> dict[str, int]:
        """Return the counts of the files that match, in the order of paths. Raises
        InvalidPattern."""
        unsaved = FileCounts(how)
        for path, lines in await self._unsaved_lines():
            for line in lines:
                unsaved.add(path, line)
        counts = unsaved.counts
        named = await self._named_files()
        if named is None:
            counts |= await self._count_on_disk(how)
        else:
            files = [os.path.join(".", path) for path in named if path not in self._nulls]
            for portion in command_lines(files):
                counts |= await self._count_run(how, ["--", *portion], None)
        late = await self._count_late(how)
        counts |= late
        if how == LIST and self.candidates is not None:
            # ripgrep reads only up to the first match, and does not see a NUL byte behind it.
            self.partly_binary -= late.keys()
        self.finished = not self.timed_out
        key = path_order(self.scope)
        return dict(sorted(counts.items(), key=lambda item: key(item[0])))

    async def _count_late(self, how: Counting) -> dict[str, int]:
        """Count in binary files that ripgrep searches in part and does not count."""
        found = FileCounts(how)
        async with contextlib.aclosing(self._search_named(list(self._late_binaries()))) as lines:
            async for path, line in lines:
                found.add(path, line)
        return found.counts

    async def _count_on_disk(self, how: Counting, share: float = 1.0) -> dict[str, int]:
        """Count matches in all files in scope, in a share of the remaining time. If ripgrep runs
        out of memory, count again without large files."""
        try:
            return await self._count_all(how, share)
        except SearchFailed as error:
            if self.cautious or not ran_out_of_memory(error.exit_code, error.stderr):
                raise
            self.cautious, self.candidates = True, None
            return await self._count_all(how, share)

    async def _count_all(self, how: Counting, share: float) -> dict[str, int]:
        if self.candidates is not None:
            counted = await self._count_candidates(how, self.candidates, share)
            if counted is not None:
                return counted
        skipped = skipped_files_for(self.scope.arguments)
        if skipped is None and how != LIST:
            return await self._count_without_log(how, share)
        counts = await self._count_run(how, self._whole_scope(skipped), skipped, share)
        if skipped:
            await self._verify_late_binaries(skipped)
        if not self.timed_out:
            self.skipped_files = skipped
        nulls = await self._nulls_of_multiline(counts) if self.query.multiline else {}
        return {path: count for path, count in counts.items() if path not in nulls}

    async def _verify_late_binaries(self, skipped: SkippedFiles) -> None:
        """Drop files without a NUL from those that ripgrep's log calls binary and a search reads
        in part. The name of a file may contain a line of such a log."""
        late = [path for path, offset in skipped.binary.items() if offset >= BUFFER_BYTES]
        if late and not self.query.encoding:
            nulls = await self._first_nulls(late, in_utf_16=0)
            for path in set(late) - nulls.keys():
                del skipped.binary[path]

    async def _nulls_of_multiline(self, paths: Iterable[str]) -> Mapping[str, int]:
        """Find the first NUL bytes of files that match in a multiline search. Behind the first
        buffer, ripgrep notices a NUL only in matching lines and their context."""
        if self.query.binary or self.query.encoding:
            return {}
        nulls = await self._first_nulls(paths)
        self._nulls |= nulls
        self.partly_binary |= nulls.keys()
        return nulls

    async def _count_without_log(self, how: Counting, share: float) -> dict[str, int]:
        """Count without ripgrep's log, which would name the partly searched binary files. ripgrep
        does not count them, but its statistics do, and it lists them."""
        scope = self._whole_scope(None)
        output = await self._output([how, "--stats"], scope, None, share)
        counted = dict(_counted(output))
        matching = _MATCHING.search(output, output.rfind(b"\0") + 1)
        if matching and int(matching[1]) > len(counted) and not self.query.binary:
            listed = await self._count_run(LIST, scope, None, share)
            uncounted = listed.keys() - counted.keys()
            nulls = await self._first_nulls(uncounted)
            self._nulls |= nulls
        return {path: count for path, count in counted.items() if self._includes(path)}

    async def _count_candidates(
        self, how: Counting, candidates: Sequence[str], share: float
    ) -> dict[str, int] | None:
        """Count matches in the only files that can match; None if all must be searched after all.

        ripgrep searches binary files on its command line completely. The first NUL byte shows the
        part that it would search otherwise, except in a multiline search.
        """
        files = [join_path(".", path) for path in candidates if path not in self.overlay.paths]
        counts: dict[str, int] = {}
        # Ignore files don't apply to files on the command line: ripgrep would only read them.
        options = ["--no-ignore", *(["--threads=1"] if self._is_little(files) else []), "--"]
        scopes = [[*options, *portion] for portion in command_lines(files)]
        for scope in scopes or [NO_FILES]:
            counts |= await self._count_run(how, scope, None, share)
        found = [] if self.query.binary else list(counts)
        nulls = await self._first_nulls(found)
        # An unreadable path may be a folder, about which a search of the tree complains only once.
        if (nulls and self.query.multiline) or self.unreadable:
            self.candidates = None
            self.unreadable.clear()
            return None
        self.with_nulls = set(nulls)
        self._nulls |= nulls
        return {path: count for path, count in counts.items() if path not in nulls}

    def _is_little(self, files: Sequence[str]) -> bool:
        """Return True if one thread reads the files before another has started."""
        if len(files) > LITTLE:
            return False
        try:
            sizes = (os.stat(os.path.join(self.scope.root, file)).st_size for file in files)
            return sum(sizes) < LITTLE_BYTES
        except OSError:
            return False

    async def _count_run(
        self, how: Counting, scope: Sequence[str], skipped: SkippedFiles | None, share: float = 1.0
    ) -> dict[str, int]:
        output = await self._output([how], scope, skipped, share)
        found = _listed(output) if how == LIST else _counted(output)
        return {path: count for path, count in found if self._includes(path)}

    async def _output(
        self,
        how: Sequence[str],
        scope: Sequence[str],
        skipped: SkippedFiles | None,
        share: float,
    ) -> bytes:
        arguments = [*how, "--with-filename", "--null", *self.query.arguments(), *scope]
        async with self.ripgrep.for_share(share).start(
            arguments, cwd=self.scope.root, log_parser=skipped, spooled=True
        ) as child:
            output = b"".join([chunk async for chunk in child.chunks()])
            await self._check(child)
        return output

    # --- what is searched ------------------------------------------------------------------

    def _match_arguments(self) -> list[str]:
        # By default, ripgrep buffers output, and a block of it is lost at the deadline.
        in_blocks = self.total is not None and self.total >= MANY_MATCHES
        buffered = "--block-buffered" if in_blocks else "--line-buffered"
        return ["--json", buffered, f"--context={self.context}", *self.query.arguments()]

    def _whole_scope(self, skipped: SkippedFiles | None) -> list[str]:
        # For a multiline search, ripgrep holds complete files in memory. The size limit costs a
        # stat of each file, a sixth of the time, so other searches have none.
        limited = self.query.multiline or self.cautious
        limit = [f"--max-filesize={self.limits.file_bytes}"] if limited else []
        debug = [DEBUG] if skipped else []
        return [*limit, *debug, *self.scope.arguments, "--", *self.scope.paths]

    async def _named_files(self) -> list[str] | None:
        """Return the files to search if the scope lists them, except binary files, which ripgrep
        would search if they are named. None if it does not list them."""
        listed = self._listed_files()
        if listed is None:
            return None
        any_byte = self.query.binary or self.query.encoding
        nulls = {} if any_byte else await self._first_nulls(listed)
        if self.timed_out:  # some may be binary
            return []
        texts = [path for path in listed if nulls.get(path, BUFFER_BYTES) >= BUFFER_BYTES]
        self._nulls |= {path: nulls[path] for path in texts if path in nulls}
        self.binary += len(listed) - len(texts)
        return texts

    def _listed_files(self) -> list[str] | None:
        """Return the files on disk that the scope lists; None if it does not list them."""
        files = self.scope.files
        if files is None:
            only = clean_path(self.scope.paths[0])
            if len(self.scope.paths) > 1 or os.path.isdir(self.scope.root / only):
                return None
            files = (only,)
        folder = str(self.scope.root)
        return [
            path
            for path in files
            if path not in self.overlay.paths and os.path.isfile(join_path(folder, path))
        ]

    async def _first_nulls(
        self, paths: Iterable[str], *, in_utf_16: int | None = None
    ) -> dict[str, int]:
        """Return what :func:`first_nulls` finds until the deadline. A file may have many gigabytes,
        so a thread reads it, which stops if the search is canceled."""
        stopped = threading.Event()
        reading = asyncio.to_thread(
            first_nulls, self.scope.root, paths, in_utf_16=in_utf_16, stopped=stopped
        )
        left = self.ripgrep.deadline - asyncio.get_running_loop().time()
        try:
            return await asyncio.wait_for(reading, left)
        except asyncio.TimeoutError:
            self.timed_out = True
            return {}
        finally:
            stopped.set()

    def _late_binaries(self) -> Mapping[str, int]:
        """Return the binary files that ripgrep searches in part, with the end of that part."""
        if self.query.binary:
            return {}
        logged = self.skipped_files.binary if self.skipped_files else {}
        nulls = {**logged, **self._nulls}
        return {path: offset for path, offset in nulls.items() if offset >= BUFFER_BYTES}

    def _includes(self, path: str, *, unsaved: bool = False) -> bool:
        """Return True if matches in a file count."""
        covered = path in self._named if self.scope.files is not None else self.scope.covers(path)
        return covered and (unsaved or path not in self.overlay.paths)

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(self.scope.files or ())

    async def _ran_out(self, child: Child) -> bool:
        """Return True if a run has exceeded the memory limit; otherwise check it."""
        code = await child.wait()
        if ran_out_of_memory(code, child.stderr) and not child.timed_out:
            return True
        await self._check(child)
        return False

    async def _check(self, child: Child) -> None:
        """Raise InvalidPattern, or SearchFailed if the run failed for another reason."""
        code = await child.wait()
        self.timed_out |= child.timed_out
        self.unreadable |= unreadable_files(child.stderr)
        if not child.timed_out and (problem := pattern_problem(code, child.stderr)):
            raise InvalidPattern(self.query.pattern, problem, _advice(problem))


def _advice(problem: str) -> str:
    """Return what helps with an invalid pattern."""
    if '"\\n" is not allowed' in problem:
        return "pass `multiline` for matches over line ends"
    if "not supported" in problem or "size limit" in problem:
        return "use a simpler pattern"
    return "escape special characters with a backslash, or pass `literal` (`-F`)"


class FileCounts:
    """The counts of files, by the lines on which their matches begin."""

    def __init__(self, how: Counting) -> None:
        self.counts: dict[str, int] = {}
        self._how = how

    def add(self, path: str, line: FileLine) -> None:
        """Count a line of a file; lines of the context do not count."""
        matches = len(line.line.ranges)
        if matches and self._how == LIST:
            self.counts[path] = 1
        elif matches:
            self.counts[path] = self.counts.get(path, 0) + (matches if self._how == COUNT else 1)


def _listed(output: bytes) -> Iterator[tuple[str, int]]:
    """Yield the paths of ``--files-with-matches``, each with a 1: "PATH\\0PATH\\0"."""
    for path in os.fsdecode(output).split("\0")[:-1]:
        yield clean_path(path), 1


def _counted(output: bytes) -> Iterator[tuple[str, int]]:
    """Yield the paths and numbers of ``--count-matches``: "PATH\\0COUNT\\nPATH\\0COUNT\\n". A path
    may contain line ends; a number ends at the first one."""
    path, *pieces = output.split(b"\0")
    for piece in pieces:
        count, end, following = piece.partition(b"\n")
        if end and count:  # otherwise it is incomplete
            yield clean_path(os.fsdecode(path)), int(count)
        path = following


def first_nulls(
    root: Path,
    paths: Iterable[str],
    *,
    in_utf_16: int | None = None,
    stopped: threading.Event | None = None,
) -> dict[str, int]:
    """Return the offset of the first NUL byte of each file that has one, and ``in_utf_16``, if
    given, for each file with a byte-order mark. It ends early once it is ``stopped``."""
    folder = str(root)
    found = ((path, first_null(join_path(folder, path), in_utf_16, stopped)) for path in paths)
    return {path: null for path, null in found if null is not None}


def first_null(
    path: str, in_utf_16: int | None = None, stopped: threading.Event | None = None
) -> int | None:
    """Return the offset of the first NUL byte of a file; None if it has none, cannot be read, or
    the search is ``stopped``; ``in_utf_16`` if it starts with a byte-order mark."""
    try:
        return _first_null(path, in_utf_16, stopped)
    except OSError:
        return None


def _first_null(
    path: str, in_utf_16: int | None = None, stopped: threading.Event | None = None
) -> int | None:
    """Like :func:`first_null`, but raise OSError if the file exists and cannot be read."""
    try:
        # `open` would take half of the time for a thousand files.
        file = open_listed(path)
    except FileNotFoundError:
        return None
    try:
        place = 0
        while not (stopped and stopped.is_set()) and (piece := os.read(file, READ_BYTES)):
            if not place and piece.startswith((b"\xff\xfe", b"\xfe\xff")):
                return in_utf_16
            if (found := piece.find(b"\0")) >= 0:
                return place + found
            if len(piece) < READ_BYTES:  # the end of the file
                return None
            place += len(piece)
        return None
    finally:
        os.close(file)
