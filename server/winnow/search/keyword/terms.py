"""Stage 1 of keyword search: find the matches of many terms in about one scan of the tree.

All terms are searched at once for a short time (the probe). This completes a small tree, and drops
very broad terms within milliseconds, because they exceed their limit. If several terms are still
running, a large tree would be read once per term. So these searches stop, one ripgrep lists the
files that match any of the terms, and only those files are searched per term, in batches while the
list grows. The matches are exactly those of a full search per term. If the index knows which files
can match a term, only these are searched.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from winnow.config import Limits
from winnow.processes.children import Child, Processes
from winnow.search.keyword import budget
from winnow.search.keyword.budget import SEPARATOR, Files, file_size
from winnow.text import ripgrep
from winnow.text.buffers import Overlay, scope_arguments
from winnow.text.grep import BUFFER_BYTES, NO_FILES, first_null, first_nulls
from winnow.text.ignore_files import IgnoreFiles
from winnow.text.ripgrep import Line
from winnow.text.scope import Scope, clean_path

CONTEXT_LINES = 10  # REQ-KWS-002
# Search listed files early at first, to show results soon, then in larger batches, to start fewer
# processes.
FIRST_BATCH_SECONDS = 0.03
BATCH_GROWTH = 2.0
# If a term turns out to be too broad this early in a scan, the scan restarts without it: it would
# list thousands of files that match no other term.
RESTART_SECONDS = 0.25
# The steps to shrink a broad term: lines of context, and matching lines per file.
LADDER: tuple[tuple[int, int | None], ...] = ((5, None), (2, None), (2, 3), (0, 2))
# What is left of a broad term that there was no time to shrink.
IN_TIME = "the matches found in time"
# More files than this fit no step of the ladder: (0, 2) takes over 160 bytes per file.
LADDER_FILES = 400


@dataclass(eq=False)
class TermMatches:
    """The matches of one term; it grows during the search.

    ``files`` has matching lines and their context; ``bytes`` is their size in ripgrep's plain
    output, and ``over`` is set if that exceeds the limit. ``finished`` is True if every file in
    scope was searched. A shrunk term has the number of matching lines of each file in ``counts``,
    and fewer lines in ``files``. If it has none, it was shrunk to a list of files, without
    ``files_left_out`` files.
    """

    term: str
    files: dict[str, dict[int, Line]] = field(default_factory=dict)
    binary: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    bytes: int = 0
    over: bool = False
    invalid: str | None = None
    finished: bool = False
    shrunk: str | None = None
    counts: Mapping[str, int] | None = None
    files_left_out: int = 0
    long_lines: int = 0

    @property
    def matches(self) -> int:
        if self.counts is not None:
            return sum(self.counts.values())
        return sum(bool(line.ranges) for lines in self.files.values() for line in lines.values())


@dataclass
class TermSearch:
    """A search for many terms, and its results.

    ``searched`` is the number of files in scope, if it is known. Otherwise, the first run over all
    of them that finishes sets it; on a loaded machine, there may be none.
    ``candidates`` are the only files on disk that can match a term, in paths as ripgrep prints
    them, for terms that the index could prefilter. ``context`` is the number of lines before and
    after each match.
    """

    processes: Processes
    rg: str
    environment: Mapping[str, str]
    scope: Scope
    limits: Limits
    deadline: float
    terms: list[TermMatches]
    ignore_files: IgnoreFiles | None = None
    overlay: Overlay = field(default_factory=Overlay)
    evidence: Callable[[], None] = lambda: None
    timed_out: bool = False
    searched: int | None = None
    candidates: dict[str, Sequence[str]] = field(default_factory=dict)
    context: int = CONTEXT_LINES

    async def run(self, *, shrink: bool = False, by_rarity: bool = False) -> None:
        """Search for every term until the deadline; the results are in ``terms``.

        A term over its limit keeps its matches until the search ends, for partial results.
        ``shrink`` keeps such terms in smaller forms, or with the matches found in time; with
        ``by_rarity``, only those that :meth:`used_terms` returns, and one more.
        """
        await self._search_all()
        if shrink:
            await self._shrink_broad_terms(by_rarity=by_rarity)
        for found in self.terms:
            if found.over:
                found.files.clear()

    async def _search_all(self) -> None:
        await asyncio.gather(*map(self._search_overlay, self.terms))
        prefiltered = [found for found in self.terms if found.term in self.candidates]
        rest = [found for found in self.terms if found.term not in self.candidates]
        await asyncio.gather(*map(self._search_candidates, prefiltered))
        if rest:
            await self._search_entire_scope(rest)

    async def _search_entire_scope(self, terms: Sequence[TermMatches]) -> None:
        probes = {asyncio.create_task(self._search_tree(found)): found for found in terms}
        try:
            done, _ = await asyncio.wait(probes, timeout=self.limits.probe_seconds)
            for task in done:
                task.result()
            undecided = [found for task, found in probes.items() if task not in done]
            if len(undecided) > 1 and not self.timed_out:
                await _cancel(task for task in probes if task not in done)
                if not await self._scan(undecided):
                    await asyncio.gather(*map(self._search_tree, undecided))
            else:
                await asyncio.gather(*probes)
        finally:
            await _cancel(probes)

    def used_terms(self, *, by_rarity: bool) -> list[TermMatches]:
        """Return the terms whose matches are used: as many as fit the limit, from the first or from
        the rarest."""
        usable = [found for found in self.terms if not found.over and not found.invalid]
        by_worth = sorted(usable, key=_rarity) if by_rarity else usable
        sizes = [_sized(found) for found in by_worth]
        kept = by_worth[: max(1, budget.terms_that_fit(sizes, self.limits.total_bytes))]
        return [found for found in usable if found in kept]

    async def _shrink_broad_terms(self, *, by_rarity: bool) -> None:
        broad = [found for found in self.terms if found.over]
        counts = await asyncio.gather(*(self._count(found.term) for found in broad))
        order = list(zip(broad, counts, strict=True))
        if by_rarity:
            order.sort(key=lambda each: len(each[1]))
        for found, count in order:
            if count and not self.timed_out:
                await self._shrink(found, count)
            if found.over and self.timed_out and found.files:
                found.over, found.shrunk = False, IN_TIME
            if by_rarity and not found.over and found not in self.used_terms(by_rarity=True):
                break  # the others are in more files

    async def _shrink(self, found: TermMatches, counts: Mapping[str, int]) -> None:
        """Keep a term that is over its limit, with as many matches as fit.

        The steps: less context, then fewer matches per file, then files with counts, most matches
        first.
        """
        if len(counts) <= LADDER_FILES:
            fitting = await self._first_step_that_fits(found.term, list(counts))
            if self.timed_out:
                return
            if fitting is not None:
                found.files, found.bytes = fitting.files, fitting.bytes
                found.counts = counts
                found.over, found.finished = False, True
                found.shrunk = fitting.shrunk
                return
        kept: dict[str, int] = {}
        size = 0
        for path, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            cost = len(os.fsencode(path)) + len(str(count)) + 2
            if size + cost > self.limits.term_bytes:
                break
            size += cost
            kept[path] = count
        found.files, found.counts, found.bytes = {}, kept, size
        found.files_left_out = len(counts) - len(kept)
        found.over, found.finished = False, True
        found.shrunk = f"the numbers of matches in {len(kept):,} files"
        if found.files_left_out:
            found.shrunk += f", of {len(counts):,} with matches,"

    async def _first_step_that_fits(self, term: str, paths: Sequence[str]) -> TermMatches | None:
        """Return the matches of the first step of the ladder that fits the limit, if any does.

        Each step prints less than the one before, so this is a binary search.
        """
        steps = [step for step in LADDER if step[0] < self.context or step == LADDER[-1]]
        fitting = None
        first, end = 0, len(steps)
        while first < end and not self.timed_out:
            middle = (first + end) // 2
            context, per_file = steps[middle]
            smaller = TermMatches(term, shrunk=_step_in_words(context, per_file))
            await self._search_overlay(smaller, context, per_file)
            await self._search_files(smaller, paths, context, per_file)
            if smaller.over:
                first = middle + 1
            else:
                fitting, end = smaller, middle
        return fitting

    async def list_files(
        self, terms: Sequence[TermMatches], scope: Scope, seconds: float
    ) -> set[str]:
        """Return the files of another scope that match any term; some of them if time runs out."""
        arguments = ripgrep.list_arguments(self.rg, (found.term for found in terms))
        deadline = min(self.deadline, asyncio.get_running_loop().time() + seconds)
        paths = set()
        async with ripgrep.start_ripgrep(
            self.processes,
            self.ignore_files,
            [*arguments, *scope.arguments, "--", *scope.paths],
            cwd=scope.root,
            deadline=deadline,
            environment=self.environment,
        ) as child:
            async for record in child.records(b"\0", ripgrep.RECORD_BYTES):
                path = clean_path(os.fsdecode(record))
                if scope.covers(path):
                    paths.add(path)
        return paths

    # --- the files that can match ----------------------------------------------------------

    async def _search_candidates(self, found: TermMatches) -> None:
        threads = max(1, (os.cpu_count() or 1) // len(self.terms))
        arguments = self._match_arguments(found, self.context, None, threads, scope=False)
        for scope in self._named(self.candidates[found.term]):
            async with self._run([*arguments, *scope]) as child:
                await self._collect(child, found, named=True)
                if found.over:
                    return
                found.invalid = await self._check(child, found)
        found.finished = not self.timed_out

    def _named(self, paths: Sequence[str]) -> list[list[str]]:
        """Return the arguments that name files, for each run of ripgrep."""
        named = [os.path.join(".", path) for path in paths if path not in self.overlay.paths]
        return [["--", *some] for some in ripgrep.command_lines(named)] or [NO_FILES]

    # --- entire scope ------------------------------------------------------------------------

    async def _search_tree(self, found: TermMatches) -> None:
        threads = max(1, (os.cpu_count() or 1) // len(self.terms))
        arguments = self._match_arguments(found, self.context, None, threads)
        async with self._start(arguments, self.scope.paths) as child:
            searched = await self._collect(child, found)
            if not found.over:
                await self._conclude(child, found)
                self.searched = self.searched or searched

    async def _search_overlay(
        self, found: TermMatches, context: int | None = None, per_file: int | None = None
    ) -> None:
        context = self.context if context is None else context
        run = self._match_arguments(found, context, per_file, 1, scope=False)
        for folder, prefix in self.overlay.folders:
            async with ripgrep.start_ripgrep(
                self.processes,
                self.ignore_files,
                [*run, *scope_arguments(self.scope, folder, prefix)],
                cwd=folder,
                deadline=self.deadline,
                environment=self.environment,
            ) as child:
                await self._collect(child, found, unsaved_in=prefix)

    async def _scan(self, undecided: Sequence[TermMatches]) -> bool:
        """List the files of these terms in one run, and search them; False if ripgrep fails."""
        while undecided := [found for found in undecided if not found.over]:
            finished = await self._scan_once(undecided)
            if finished is not None:
                return finished
        return True

    async def _scan_once(self, undecided: Sequence[TermMatches]) -> bool | None:
        """Like :meth:`_scan`; return None to restart without the terms that are too broad."""
        listed: list[str] = []
        # A separate task, so that its slot for child processes is free once it has ended.
        scan = asyncio.create_task(self._list_files(undecided, listed))
        loop = asyncio.get_running_loop()
        pause, restart_until = FIRST_BATCH_SECONDS, loop.time() + RESTART_SECONDS
        try:
            while not scan.done() or listed:
                await asyncio.wait({scan}, timeout=pause)
                batch, listed[:] = list(listed), []
                await asyncio.gather(
                    *(self._search_batch(found, batch) for found in undecided if batch)
                )
                early = not scan.done() and loop.time() < restart_until
                if early and any(found.over for found in undecided):
                    return None
                pause *= BATCH_GROWTH
            accepted = await scan
            for found in undecided:
                found.finished = accepted and not self.timed_out
            return accepted
        finally:
            await _cancel([scan])

    async def _list_files(self, undecided: Sequence[TermMatches], listed: list[str]) -> bool:
        arguments = ripgrep.list_arguments(self.rg, (found.term for found in undecided))
        async with self._start([*arguments, *self.scope.arguments], self.scope.paths) as child:
            async for record in child.records(b"\0", ripgrep.RECORD_BYTES):
                path = os.fsdecode(record)
                if self._wanted(clean_path(path)):
                    listed.append(path)
            code = await child.wait()
            self.timed_out |= child.timed_out
            if not child.timed_out and (
                # A run per term shows which term failed.
                ripgrep.ran_out_of_memory(code, child.stderr)
                or ripgrep.pattern_problem(code, child.stderr)
            ):
                return False
            for found in undecided:
                found.unreadable |= ripgrep.unreadable_files(child.stderr)
        return True

    async def _search_batch(self, found: TermMatches, paths: Sequence[str]) -> None:
        new = [path for path in paths if clean_path(path) not in found.files]
        await self._search_files(found, new, self.context, None)

    async def _search_files(
        self, found: TermMatches, paths: Sequence[str], context: int, per_file: int | None
    ) -> None:
        for some in ripgrep.command_lines(paths):
            if found.over:
                return
            # These files are in scope; ripgrep searches a file that is named in any case.
            arguments = self._match_arguments(found, context, per_file, 1, scope=False)
            async with self._start(arguments, some) as child:
                await self._collect(child, found)
                if not found.over:
                    await self._check(child, found)

    async def _count(self, term: str) -> dict[str, int]:
        """Return the number of matching lines of each file."""
        unsaved = TermMatches(term)
        await self._search_overlay(unsaved, context=0)
        counts = {path: len(lines) for path, lines in unsaved.files.items()}
        if term not in self.candidates:
            await self._count_run(term, [*self.scope.arguments, "--", *self.scope.paths], counts)
            return counts
        on_disk: dict[str, int] = {}
        for scope in self._named(self.candidates[term]):
            await self._count_run(term, scope, on_disk)
        binary = await asyncio.to_thread(first_nulls, self.scope.root, list(on_disk))
        return counts | {path: count for path, count in on_disk.items() if path not in binary}

    async def _count_run(self, term: str, scope: Sequence[str], counts: dict[str, int]) -> None:
        arguments = ripgrep.list_arguments(self.rg, [term], count=True)
        async with self._run([*arguments, *scope]) as child:
            path = b""
            # "PATH\0COUNT\nPATH\0COUNT\n": a path may hold line ends, a count ends at the first.
            async for piece in child.records(b"\0", ripgrep.RECORD_BYTES):
                count, _, following = piece.partition(b"\n")
                self._take_count(counts, path, count)
                path = following if path else piece
            self._take_count(counts, path, child.rest.strip())
            self.timed_out |= child.timed_out

    def _take_count(self, counts: dict[str, int], raw: bytes, count: bytes) -> None:
        path = clean_path(os.fsdecode(raw))
        if path and count.isdigit() and self._wanted(path):
            counts[path] = int(count)

    # --- one run of ripgrep ----------------------------------------------------------------

    def _match_arguments(
        self,
        found: TermMatches,
        context: int,
        per_file: int | None,
        threads: int,
        *,
        scope: bool = True,
    ) -> list[str]:
        run = ripgrep.match_arguments(
            self.rg, [found.term], context=context, threads=threads, per_file=per_file
        )
        return [*run, *self.scope.arguments] if scope else run

    def _start(self, arguments: Sequence[str], paths: Sequence[str]) -> Child:
        return self._run([*arguments, "--", *paths])

    def _run(self, arguments: Sequence[str]) -> Child:
        return ripgrep.start_ripgrep(
            self.processes,
            self.ignore_files,
            arguments,
            cwd=self.scope.root,
            deadline=self.deadline,
            environment=self.environment,
        )

    async def _collect(
        self,
        child: Child,
        found: TermMatches,
        unsaved_in: str | None = None,
        *,
        named: bool = False,
    ) -> int | None:
        """Add the matches of one run to ``found``, file by file, up to the term's limit.

        Return the number of files searched, if the run finished. A file counts once its end was
        seen, because ripgrep may be stopped within a file. ``unsaved_in`` is the prefix of paths in
        a run over unsaved documents, which replace the files on disk. If files are ``named``,
        ripgrep also searches binary files, completely.
        """
        lines: dict[int, Line] = {}
        first = 0
        path, wanted, pending, dropped = "", True, 0, 0
        searched: int | None = None
        async for event in ripgrep.events(child, self.limits.line_characters):
            if isinstance(event, ripgrep.FileBegin):
                path = (unsaved_in or "") + clean_path(event.path)
                wanted = self._wanted(path, unsaved=unsaved_in is not None)
                lines, first = {}, -1
            elif isinstance(event, ripgrep.FileLine):
                if wanted:
                    lines[event.number] = event.line
                    pending += event.line.size
                    first = event.offset if event.matched and first < 0 else first
            elif isinstance(event, ripgrep.FileEnd):
                if wanted and named and event.binary:
                    wanted = not await asyncio.to_thread(self._is_left_out, path, first)
                heads = child.dropped[dropped:]
                dropped += len(heads)
                if wanted:
                    long_lines = sum(head.startswith(ripgrep.MATCH) for head in heads)
                    self._take(found, path, lines, event.binary, long_lines)
                pending = 0
            else:
                searched = event.searched
            if found.bytes + pending - SEPARATOR > self.limits.term_bytes:
                found.over = True
                return None
        return searched

    def _is_left_out(self, path: str, offset: int) -> bool:
        """Return True if ripgrep would not find a match at this offset if the binary file were not
        named."""
        null = first_null(os.path.join(self.scope.root, path))
        return null is not None and (null < BUFFER_BYTES or null < offset)

    def _wanted(self, path: str, *, unsaved: bool = False) -> bool:
        """Return True if matches in a file count."""
        return self.scope.covers(path) and (unsaved or path not in self.overlay.paths)

    def _take(
        self,
        found: TermMatches,
        path: str,
        lines: dict[int, Line],
        binary: bool,
        long_lines: int,
    ) -> None:
        if binary:
            found.binary.add(path)
        elif path not in found.files:
            found.files[path] = lines
            found.long_lines += long_lines
            found.bytes += file_size(path, lines)
            self.evidence()

    async def _conclude(self, child: Child, found: TermMatches) -> None:
        found.invalid = await self._check(child, found)
        found.finished = not child.timed_out

    async def _check(self, child: Child, found: TermMatches) -> str | None:
        """Return why ripgrep rejects the pattern, or None. Raises SearchFailed."""
        code = await child.wait()
        self.timed_out |= child.timed_out
        found.unreadable |= ripgrep.unreadable_files(child.stderr)
        if child.timed_out:
            return None
        if ripgrep.ran_out_of_memory(code, child.stderr):
            found.over = True
            return None
        return ripgrep.pattern_problem(code, child.stderr)


def _step_in_words(context: int, per_file: int | None) -> str:
    matches = f"the first {per_file} matches of each file" if per_file else "its matches"
    return f"{matches}, with {context} lines before and after" if context else matches


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait for them; ignore their errors."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _rarity(found: TermMatches) -> tuple[bool, int]:
    """Return a key that sorts the terms in the fewest files first, and last those that there was no
    time to count, which are frequent."""
    return found.shrunk == IN_TIME, len(_sized(found))


def _sized(found: TermMatches) -> Files:
    """Return the term's files for the budget; a file with a count costs a line."""
    if found.files or not found.counts:
        return found.files
    return {path: {0: Line(str(n), len(str(n)))} for path, n in found.counts.items()}
