"""Search for one pattern: read a page of matches, and count the matches that a scope excludes.

:mod:`winnow.text.grep` finds matches in the order of paths; :mod:`winnow.search.grep.page` collects
a page of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from winnow.errors import SearchTimedOut
from winnow.search.answer.completeness import (
    CHANGED,
    WIDENING,
    completeness_of,
    count_excluded_matches,
    links_of,
    unsearched,
    with_short_deadline,
)
from winnow.search.grep.page import GrepMatch, GrepPage
from winnow.search.grep.prefilter import PrefilteredFiles, prefilter
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.grep import COUNT, Counting, FileCounts, FoundLine, TextSearch
from winnow.text.listing import list_files
from winnow.text.plural import counted
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, TextPattern
from winnow.text.scope import Filters, Scope
from winnow.types import Completeness
from winnow.workspace import EngineWorkspace

# How long the search continues after a page is full: to its end, so that the total is known, or to
# one more match, so that it is known whether there is one.
GRACE_SECONDS = 0.005
ONE_MORE_SECONDS = 0.1
# Stream the first match at once, and others in batches of this size or after this time.
STREAM_MATCHES = 200
STREAM_SECONDS = 0.05
# With more files than this that are not in the index, searching all files is about as fast.
FEW_UNINDEXED = 5_000
_OUT_OF_MEMORY = "ripgrep ran out of memory"
# What can match a non-ASCII character in a pattern, besides dots and common classes; and what can
# match such a character or NUL.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]|\\[xuUpP]")
_GENERAL = re.compile(r"[^\x20-\x7e]|(?<!\\)(?:\\\\)*(?:\.|\[:?\^|\\[wWDsSpPxuU])")


@dataclass
class GrepSearch:
    """A search for one pattern; ``prefiltered`` are the only files that can match, if known."""

    workspace: EngineWorkspace
    text: TextSearch
    prefiltered: PrefilteredFiles | None

    async def read(
        self, page: GrepPage, stream: Callable[[list[GrepMatch]], Awaitable[None]] | None
    ) -> None:
        """Read matches into a page, and send them to ``stream`` as they come.

        Raises InvalidPattern, and SearchTimedOut if nothing was found in time.
        """
        loop = asyncio.get_running_loop()
        streamed_at = loop.time() - STREAM_SECONDS
        stop = _StopWhenFull(self.text, page)
        try:
            async with contextlib.aclosing(self._lines()) as lines:
                async for path, line in lines:
                    page.add(path, line)
                    stop.check()
                    is_late = loop.time() - streamed_at > STREAM_SECONDS
                    if stream and page.ready >= (1 if is_late else STREAM_MATCHES):
                        streamed_at = loop.time()
                        await stream(page.pop())
        finally:
            stop.close()
        page.end()
        if self.text.timed_out and not page.seen:
            raise SearchTimedOut(self.text.ripgrep.seconds)

    async def count_files(self, how: Counting) -> dict[str, int]:
        """Return the counts of the files that match.

        Raises InvalidPattern, and SearchTimedOut if nothing was found in time.
        """
        if self.text.scope.lines:
            counts = await self._count_in_part(how)
        else:
            counts = await self.text.count(how)
        if self.text.timed_out and not counts:
            raise SearchTimedOut(self.text.ripgrep.seconds)
        return counts

    async def _lines(self) -> AsyncGenerator[FoundLine, None]:
        """Yield matching lines with their context, of those lines that are searched."""
        first, last = self.text.scope.lines or (1, sys.maxsize)
        async with contextlib.aclosing(self.text.lines()) as lines:
            async for path, line in lines:
                if first <= line.number <= last:
                    yield path, line

    async def _count_in_part(self, how: Counting) -> dict[str, int]:
        found = FileCounts(how)
        async with contextlib.aclosing(self._lines()) as lines:
            async for path, line in lines:
                found.add(path, line)
        return found.counts

    @property
    def total(self) -> int | None:
        """The number of matches, if all were counted."""
        return None if self.text.scope.lines else self.text.total

    @property
    def is_total_known(self) -> bool:
        """True if all matches were counted."""
        return (self.text.finished and not self.text.long_lines) or self.total is not None

    async def completeness(self, page: GrepPage | None, *, changed: bool) -> Completeness:
        """Return what the search skipped; ``changed`` is True if earlier pages have changed."""
        search, reasons = self.text, []
        if page and page.no_room:
            size = search.limits.answer_bytes / 1024 / 1024
            reasons.append(f"an answer is limited to {size:.1f} MiB: pass the cursor for the rest")
        if page and not (search.finished or search.timed_out or self.is_total_known):
            reasons.append("the search stopped when the page was full: there may be more matches")
        reasons += [CHANGED] * changed
        if search.long_lines:
            lines = counted(search.long_lines, "matching line", "matching lines")
            reasons.append(f"{lines} of more than 4 MiB: not shown")
        if search.partly_binary:
            files = counted(len(search.partly_binary), "binary file", "binary files")
            reasons.append(f"{files} searched only up to the first NUL byte")
        if search.too_large:
            size = RECORD_BYTES // 1024 // 1024
            files = counted(len(search.too_large), "file", "files")
            reasons.append(f"{files} of more than {size} MiB skipped: {_OUT_OF_MEMORY}")
        if search.cautious:
            size = search.limits.file_bytes // 1024 // 1024
            reasons.append(f"files of more than {size} MiB were skipped: {_OUT_OF_MEMORY}")
        return completeness_of(
            search.ripgrep,
            search.skipped_files,
            timed_out=search.timed_out,
            unreadable=search.unreadable,
            file_bytes=search.limits.file_bytes,
            binary=search.binary,
            links=await links_of(search.ripgrep, search.scope, search.skipped_files),
            more=reasons,
        )

    def warnings(self, page: GrepPage | None) -> list[str]:
        """Return what a reader should know of the search."""
        search = self.text
        warnings = [*search.scope.warnings, *unsearched(search.overlay)]
        if search.binary:
            warnings.append(f"{search.binary} binary files were not searched: pass include_binary")
        if page and page.cut_lines:
            width = search.limits.line_characters
            warnings.append(f"lines of more than {width} characters are cut")
        return warnings

    async def excluded_matches(self) -> list[str]:
        """Return warnings about matches in files that the search excludes, if it has none."""
        search = self.text
        if search.scope.lines:
            first, last = search.scope.lines
            return [f"0 matches in lines {first} to {last}; other lines were not searched"]
        counter, other_counter, wider_counter = (_ExcludedCounter(self) for _ in range(3))

        async def count(filters: Filters) -> int:
            return await counter.in_scope(self.workspace.scope(filters))

        # These run while the excluded files are listed, which takes longest.
        ways = [(where, other_counter.otherwise(**how)) for where, how in self._other_ways()]
        ways += [(where, wider_counter.wider(*how)) for where, how in self._wider_searches()]
        tasks = [asyncio.create_task(counting) for _, counting in ways]
        try:
            found, flags = await count_excluded_matches(search.scope.filters, count)
            counts = [await task for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        warnings = []
        if flags:
            # Counts that were cut short do not show which of the params are needed.
            params = " or ".join(WIDENING) if counter.cut else " and ".join(flags)
            least = "at least " if counter.cut else ""
            warnings.append(f"0 matches; {least}{found} in excluded files: pass {params}")
        for (where, _), found in zip(ways, counts, strict=True):
            if found:
                warnings.append(f"0 matches; {found} {where}")
        if search.scope.filters.include or search.scope.filters.file_types:
            listing = await list_files(counter.ripgrep, search.scope, search.overlay)
            if not listing.paths and not listing.timed_out:
                warnings.append("no file in scope matches `include` or `file_types`")
        if counter.cut or other_counter.cut:
            warnings.append("0 matches; not all excluded files could be searched in time")
        return warnings

    def _other_ways(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield other ways to read files that may find matches, and how to describe them."""
        query = self.text.query
        if not query.binary and (self.text.skipped_files is None or self.text.skipped_files.binary):
            yield "in binary files: pass include_binary", {"binary": True}
        # In text that is not UTF-8, neither non-ASCII characters nor dots and classes match.
        if not query.encoding and (_is_general(query) or not query.pattern.isascii()):
            yield "if files are read as Latin-1: pass encoding='latin1'", {"encoding": "latin1"}

    def _wider_searches(self) -> Iterator[tuple[str, tuple[Scope, TextPattern]]]:
        """Yield searches for more text, or in more files, and how to describe them."""
        scope, query = self.text.scope, self.text.query
        if query.case_sensitive and query.pattern.swapcase() != query.pattern:
            either = msgspec.structs.replace(query, case_sensitive=False)
            yield "if case is ignored: pass case_sensitive=false", (scope, either)
        if scope.is_filtered:
            filters = msgspec.structs.replace(
                scope.filters, path="", include=(), exclude=(), file_types=()
            )
            yield "in the rest of the workspace", (self.workspace.scope(filters), query)


@contextlib.asynccontextmanager
async def start_search(
    workspace: EngineWorkspace,
    ripgrep: Ripgrep,
    scope: Scope,
    query: TextPattern,
    *,
    context: int,
    max_results: int,
) -> AsyncIterator[GrepSearch]:
    """Prepare a search for one pattern; unsaved documents replace their files in the block."""
    [prefiltered] = await prefilter(workspace, ripgrep, scope, [query])
    with unsaved_overlay(workspace.buffers, scope) as overlay:
        search = TextSearch(
            ripgrep=ripgrep,
            scope=scope,
            query=query,
            overlay=overlay,
            limits=workspace.config.limits,
            context=context,
            max_matches=max_results,
            candidates=prefiltered.files if prefiltered else None,
        )
        yield GrepSearch(workspace, search, prefiltered)


class _StopWhenFull:
    """Stops a search whose page is full: soon if more matches are known, else after some time in
    which one may be found."""

    def __init__(self, search: TextSearch, page: GrepPage) -> None:
        self._search = search
        self._page = page
        self._full_at = 0.0
        self._wait = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def check(self) -> None:
        """Set the timer if the page is full; call this after each line."""
        if not self._page.full:
            return
        loop = asyncio.get_running_loop()
        self._full_at = self._full_at or loop.time()
        wait = GRACE_SECONDS if self._page.more else ONE_MORE_SECONDS
        if wait != self._wait:
            self.close()
            self._wait = wait
            self._timer = loop.call_at(self._full_at + wait, self._search.stop)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer:
            self._timer.cancel()


def _is_general(query: TextPattern) -> bool:
    """Return True if part of the pattern can match NUL or a non-ASCII character."""
    return not query.literal and bool(_GENERAL.search(query.pattern))


class _ExcludedCounter:
    """Counts matches that a search excludes. All counts together have one second; ``cut`` is True
    if that was too short."""

    def __init__(self, search: GrepSearch) -> None:
        self._workspace = search.workspace
        self._search = search.text
        # A search that skips large files would not skip them if they were named.
        is_limited = search.text.query.multiline or search.text.cautious
        self._prefiltered = None if is_limited else search.prefiltered
        self.ripgrep = with_short_deadline(search.text.ripgrep)
        self.cut = False

    async def in_scope(self, scope: Scope) -> int:
        """Return the number of matches in another scope."""
        prefiltered, untracked = self._prefiltered, self._workspace.unindexed
        if prefiltered is None:
            return await self._count(scope, self._search.query, None)
        known = untracked.of(scope, prefiltered.indexed)
        if known is not None and await asyncio.to_thread(known.is_current):
            return await self._count(scope, self._search.query, known.files)
        began = time.time_ns()
        listing = await list_files(self.ripgrep, scope, Overlay())
        self.cut |= listing.timed_out
        unindexed = prefiltered.unindexed(scope, listing.paths)
        if len(unindexed) >= FEW_UNINDEXED:
            return await self._count(scope, self._search.query, None)
        if not (listing.timed_out or listing.unreadable):
            arguments = scope, prefiltered.indexed, listing.paths, unindexed, began
            await asyncio.to_thread(untracked.keep, *arguments)
        return await self._count(scope, self._search.query, unindexed)

    async def otherwise(self, **changes: Any) -> int:
        """Return the number of matches if files are read in another way."""
        query = msgspec.structs.replace(self._search.query, **changes)
        candidates = None
        prefiltered = self._prefiltered
        # In another encoding, other bytes may encode a non-ASCII character.
        if prefiltered is not None and not (query.encoding and _NOT_ASCII.search(query.pattern)):
            # A pattern that cannot match NUL finds the same in a binary file that is named.
            found = None if query.encoding or _is_general(query) else self._search.with_nulls
            files = prefiltered.files if found is None else found
            candidates = [*files, *prefiltered.binary()]
        return await self._count(self._search.scope, query, candidates)

    async def wider(self, scope: Scope, query: TextPattern) -> int:
        """Return the number of matches of another search."""
        [prefiltered] = await prefilter(self._workspace, self.ripgrep, scope, [query])
        return await self._count(scope, query, prefiltered.files if prefiltered else None)

    async def _count(
        self, scope: Scope, query: TextPattern, candidates: Sequence[str] | None
    ) -> int:
        search = self._search
        with unsaved_overlay(self._workspace.buffers, scope) as overlay:
            other = TextSearch(
                self.ripgrep,
                scope,
                query,
                overlay,
                search.limits,
                cautious=search.cautious,
                candidates=candidates,
            )
            found = sum((await other.count(COUNT)).values())
            self.cut |= other.timed_out
            return found
