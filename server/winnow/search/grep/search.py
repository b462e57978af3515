"""grep: the matches of one pattern, or the files that have some, page by page.

:mod:`winnow.text.grep` finds them in the order of paths, :mod:`winnow.search.grep.page` takes as
many as are wanted. Here a request becomes a search, and a page an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from winnow.errors import EmptyQuery, SearchTimedOut
from winnow.search.answer import cursor
from winnow.search.answer.completeness import (
    CHANGED,
    WIDENING,
    completeness_of,
    fractions,
    left_out,
    links_of,
    second_look,
    unsearched,
)
from winnow.search.answer.shorten import shorten
from winnow.search.grep.page import Page
from winnow.search.grep.prefilter import Narrowed, narrowed
from winnow.storage.paths import shown_path
from winnow.text.buffers import Overlay, unsaved
from winnow.text.grep import TextSearch
from winnow.text.listing import list_files
from winnow.text.ripgrep import RECORD_BYTES, TextPattern
from winnow.text.scope import Scope, order
from winnow.types import Completeness, Progress
from winnow.types.grep import GrepFile, GrepMatch, GrepParams, GrepPartial, GrepResult, PreviewLine
from winnow.workspace import Workspace

# When there is enough for the page, the search may go on for so long: to its end, which makes the
# total known, or at least to one match more, which makes sure that there is one.
GRACE_SECONDS = 0.005
ONE_MORE_SECONDS = 0.1
# Matches go out as partial results in portions of this many, or after this time.
STREAM_MATCHES = 200
STREAM_SECONDS = 0.05
# A preview that is made shorter keeps so many characters of a line.
SHORT_LINE = 100
# Fewer places than this are worth less than the counts of all files.
FEWEST_PLACES = 3
# Of more files that an index does not know, a search of all is about as fast.
FEW_OTHERS = 5_000
_OUT_OF_MEMORY = "ripgrep ran out of memory"
# What may stand in a pattern for a character that is not ASCII, besides dots and common classes;
# and what may stand for such a one or for NUL.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]|\\[xuUpP]")
_GENERAL = re.compile(r"[^\x20-\x7e]|(?<!\\)(?:\\\\)*(?:\.|\[:?\^|\\[wWDsSpPxuU])")


async def search_text(workspace: Workspace, params: GrepParams, progress: Progress) -> GrepResult:
    """The matches of a pattern, or the files that have some.

    Raises EmptyQuery, InvalidPattern, SearchTimedOut, and what a scope may raise.
    """
    if not params.pattern:
        raise EmptyQuery
    scope = workspace.scope(params)
    async with workspace.search_slots:
        progress(f"Searching for {params.pattern[:60]!r}")
        ripgrep = workspace.run_ripgrep()
        scope = await workspace.narrow_scope(scope, params, ripgrep)
        query = _query(params)
        [known] = await narrowed(workspace, ripgrep, scope, params, [query])
        with unsaved(workspace.buffers, scope) as overlay:
            search = TextSearch(
                ripgrep=ripgrep,
                scope=scope,
                query=query,
                overlay=overlay,
                limits=workspace.config.limits,
                context=params.context_lines if params.mode == "matches" else 0,
                wanted=params.max_results,
                candidates=known.files if known else None,
            )
            run = _matches if params.mode == "matches" else _files
            result = await run(params, search, progress)
            if result.total_found or params.cursor:
                return result
            more = await _second_look(workspace, params, search, known)
            return msgspec.structs.replace(result, warnings=[*result.warnings, *more])


def _query(params: GrepParams) -> TextPattern:
    return TextPattern(
        pattern=params.pattern,
        literal=params.literal,
        case_sensitive=params.case_sensitive,
        word=params.word,
        multiline=params.multiline,
        binary=params.include_binary,
        encoding=params.encoding,
    )


# --- matches -------------------------------------------------------------------------------


async def _matches(params: GrepParams, search: TextSearch, progress: Progress) -> GrepResult:
    stream = progress.streaming and not params.max_tokens
    max_bytes = None if stream else search.limits.answer_bytes
    page = Page(params, search.scope, search.overlay, max_bytes)
    loop = asyncio.get_running_loop()
    told = loop.time()
    enough = _Enough(search, page)
    try:
        async with contextlib.aclosing(search.lines()) as lines:
            async for path, line in lines:
                page.take(path, line)
                enough.look()
                late = loop.time() - told > STREAM_SECONDS
                if stream and len(page.matches) > (1 if late else STREAM_MATCHES):
                    told = loop.time()
                    _tell(progress, page, page.pop())
                    await progress.drain()
    finally:
        enough.close()
    page.end()
    if search.timed_out and not page.seen:
        raise SearchTimedOut(search.ripgrep.seconds)
    if stream and page.matches:
        _tell(progress, page, page.matches)
    completeness = await _completeness(search, _reasons(search, page))
    return _result_of(params, search, page, completeness, stream=stream)


class _Enough:
    """Stops a search whose page is full: soon if there is more, and if that is not known yet, after
    a while in which it may show itself."""

    def __init__(self, search: TextSearch, page: Page) -> None:
        self._search = search
        self._page = page
        self._full_at = 0.0
        self._waits = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """To be called after each line."""
        if not self._page.full:
            return
        loop = asyncio.get_running_loop()
        self._full_at = self._full_at or loop.time()
        wait = GRACE_SECONDS if self._page.more else ONE_MORE_SECONDS
        if wait != self._waits:
            self.close()
            self._waits = wait
            self._alarm = loop.call_at(self._full_at + wait, self._search.stop)

    def close(self) -> None:
        """Let the search run on."""
        if self._alarm:
            self._alarm.cancel()


def _tell(progress: Progress, page: Page, matches: Sequence[GrepMatch]) -> None:
    partial = GrepPartial(matches=list(matches))
    progress(f"{page.returned} matches", partial=partial)


def _reasons(search: TextSearch, page: Page) -> list[str]:
    reasons = []
    if page.no_room:
        size = search.limits.answer_bytes / 1024 / 1024
        reasons.append(f"one answer holds about {size:.1f} MiB: the cursor gives the rest")
    if not (search.finished or search.timed_out or _is_total_known(search)):
        reasons.append("the search stopped when it had enough: there may be more matches")
    return [*reasons, *([CHANGED] if page.changed else [])]


def _is_total_known(search: TextSearch) -> bool:
    return (search.finished and not search.long_lines) or search.total is not None


def _result_of(
    params: GrepParams,
    search: TextSearch,
    page: Page,
    completeness: Completeness,
    *,
    stream: bool,
) -> GrepResult:
    total = search.total if search.total is not None else page.seen
    truncated = page.more or search.timed_out or (page.full and not search.finished)
    result = GrepResult(
        root=shown_path(str(search.scope.root))[0],
        matches=[] if stream else page.matches,
        total_matches=total,
        total_is_lower_bound=not _is_total_known(search),
        total_found=total,
        returned=page.returned,
        truncated=truncated,
        completeness=completeness,
        warnings=_warnings(search, page),
        cursor=_cursor(params, page, len(page.positions)) if truncated and search.ordered else None,
    )
    return shorten(result, params.max_tokens, _shorter(params, page, result))


def _cursor(params: GrepParams, page: Page, count: int) -> str | None:
    """What continues behind the first so many matches of the page."""
    if not count:
        return None
    position = page.positions[count - 1]
    return cursor.encode(params, position, page.digests[position.path])


def _shorter(params: GrepParams, page: Page, result: GrepResult) -> list[Callable[[], GrepResult]]:
    """Ever shorter forms of the result: less of the lines, places only, fewer places, and the
    counts of files."""

    def with_matches(change: Callable[[GrepMatch], GrepMatch]) -> Callable[[], GrepResult]:
        return lambda: msgspec.structs.replace(
            result, matches=[change(match) for match in result.matches], truncated=True
        )

    def first(count: int) -> Callable[[], GrepResult]:
        return lambda: msgspec.structs.replace(
            result,
            matches=[_place(match) for match in result.matches[:count]],
            returned=count,
            truncated=True,
            cursor=_cursor(params, page, count),
        )

    def counts(files: int) -> Callable[[], GrepResult]:
        return lambda: _counted(params, page, result, files)

    fewer = fractions(len(result.matches), FEWEST_PLACES)
    some = fractions(len({match.path for match in result.matches}), 1)
    return [
        with_matches(_without_context),
        with_matches(_short),
        with_matches(_place),
        *map(first, fewer),
        *map(counts, some),
    ]


def _without_context(match: GrepMatch) -> GrepMatch:
    return msgspec.structs.replace(match, preview=[one for one in match.preview if one.match])


def _short(match: GrepMatch) -> GrepMatch:
    """The match with its own line only, cut around it."""
    lines = [one for one in match.preview if one.line == match.line]
    return msgspec.structs.replace(match, preview=[_cut(one, match.column) for one in lines])


def _cut(line: PreviewLine, column: int) -> PreviewLine:
    if len(line.text) <= SHORT_LINE:
        return line
    shift = line.text_column or 1
    start = max(0, min(column - shift - SHORT_LINE // 4, len(line.text) - SHORT_LINE))
    text = line.text[start : start + SHORT_LINE]
    return msgspec.structs.replace(line, text=text, text_column=(start + shift) or None)


def _place(match: GrepMatch) -> GrepMatch:
    return msgspec.structs.replace(match, preview=[])


def _counted(params: GrepParams, page: Page, result: GrepResult, files: int) -> GrepResult:
    """The page as counts of its first so many files."""
    counts: dict[tuple[str, str | None, str | None], int] = {}
    returned = 0
    for match in result.matches:
        key = match.path, match.root, match.uri
        if key not in counts and len(counts) == files:
            break
        counts[key] = counts.get(key, 0) + 1
        returned += 1
    more = returned < len(result.matches) or result.truncated
    return msgspec.structs.replace(
        result,
        matches=[],
        files=[
            GrepFile(path=path, matches=count, root=root, uri=uri)
            for (path, root, uri), count in counts.items()
        ],
        returned=returned,
        truncated=True,
        cursor=_cursor(params, page, returned) if more else None,
        warnings=[*result.warnings, "max_tokens leaves room for the counts of files only"],
    )


# --- files and counts ----------------------------------------------------------------------


async def _files(params: GrepParams, search: TextSearch, progress: Progress) -> GrepResult:
    counts = await search.count(matches=params.mode == "counts")
    if search.timed_out and not counts:
        raise SearchTimedOut(search.ripgrep.seconds)
    paths = list(counts)
    first, changed = _first_behind(params, search.scope, counts)
    end = min(first + params.max_results, len(paths))
    completeness = await _completeness(search, [CHANGED] if changed else [])

    total = sum(counts.values()) if params.mode == "counts" else None

    def page_to(end: int) -> GrepResult:
        more = end < len(paths)
        return GrepResult(
            root=shown_path(str(search.scope.root))[0],
            matches=[],
            files=[_file(params, search.scope, path, counts) for path in paths[first:end]],
            total_matches=total,
            total_is_lower_bound=search.timed_out,
            total_found=len(paths),
            returned=end - first,
            truncated=more,
            completeness=completeness,
            warnings=_warnings(search, None),
            cursor=_files_cursor(params, paths[:end], counts) if more else None,
        )

    result = page_to(end)
    fewer = fractions(end - first, 1)[1:]
    steps = [lambda count=count: page_to(first + count) for count in fewer]
    result = shorten(result, params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and result.files:
        progress(f"{len(paths)} files", partial=GrepPartial(matches=[], files=result.files))
        return msgspec.structs.replace(result, files=[])
    return result


def _file(params: GrepParams, scope: Scope, path: str, counts: dict[str, int]) -> GrepFile:
    shown = scope.shown(path)
    matches = counts[path] if params.mode == "counts" else None
    return GrepFile(path=shown.path, matches=matches, root=shown.root, uri=shown.uri)


def _files_cursor(params: GrepParams, answered: Sequence[str], counts: dict[str, int]) -> str:
    return cursor.encode(params, os.fsencode(answered[-1]), _stamp(answered, counts))


def _stamp(answered: Sequence[str], counts: dict[str, int]) -> bytes:
    return cursor.stamp_of([(path, counts[path]) for path in answered])


def _first_behind(params: GrepParams, scope: Scope, counts: dict[str, int]) -> tuple[int, bool]:
    """The place of the first file behind the cursor, and whether those before have changed."""
    key = order(scope)

    def passed(position: bytes) -> int:
        last = key(os.fsdecode(position))
        return sum(key(path) <= last for path in counts)

    return cursor.resume(params, bytes, passed, lambda first: _stamp(list(counts)[:first], counts))


# --- what was left out ---------------------------------------------------------------------


async def _completeness(search: TextSearch, more: Sequence[str]) -> Completeness:
    reasons = list(more)
    if search.long_lines:
        reasons.append(f"{search.long_lines} matching lines of more than 4 MiB are left out")
    if search.partly_binary:
        count = len(search.partly_binary)
        reasons.append(f"{count} binary files were searched up to their first NUL byte only")
    if search.too_large:
        size, count = RECORD_BYTES // 1024 // 1024, len(search.too_large)
        reasons.append(f"{count} files of more than {size} MiB were left out: {_OUT_OF_MEMORY}")
    if search.cautious:
        size = search.limits.file_bytes // 1024 // 1024
        reasons.append(f"files of more than {size} MiB were left out: {_OUT_OF_MEMORY}")
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


def _warnings(search: TextSearch, page: Page | None) -> list[str]:
    warnings = [*search.scope.warnings, *unsearched(search.overlay)]
    if search.binary:
        warnings.append(f"{search.binary} binary files were not searched: pass include_binary")
    if page and page.cut_lines:
        warnings.append(f"lines of more than {search.limits.line_characters} characters are cut")
    return warnings


def _is_general(query: TextPattern) -> bool:
    """Whether something in the pattern may stand for NUL, or for a character that is not ASCII."""
    return not query.literal and bool(_GENERAL.search(query.pattern))


class _SecondLook:
    """A look at what a search that has found nothing has left out. All counts together take a
    second at most; ``cut`` says that it did not suffice."""

    def __init__(self, workspace: Workspace, search: TextSearch, narrowed: Narrowed | None) -> None:
        self._workspace = workspace
        self._search = search
        # Where large files are passed over, they would not be if they were named.
        limited = search.query.multiline or search.cautious
        self._narrowed = None if limited else narrowed
        self.ripgrep = second_look(search.ripgrep)
        self.cut = False

    async def in_scope(self, scope: Scope) -> int:
        """How many matches another scope has."""
        if self._narrowed is None:
            return await self._count(scope, self._search.query, None)
        known, unindexed = self._narrowed.known, self._workspace.unindexed
        kept = unindexed.of(scope, known)
        if kept is not None and await asyncio.to_thread(kept.is_current):
            return await self._count(scope, self._search.query, kept.files)
        began = time.time_ns()
        listing = await list_files(self.ripgrep, scope, Overlay())
        self.cut |= listing.timed_out
        others = self._narrowed.unknown(scope, listing.paths)
        if len(others) >= FEW_OTHERS:
            return await self._count(scope, self._search.query, None)
        if not (listing.timed_out or listing.unreadable):
            await asyncio.to_thread(unindexed.keep, scope, known, listing.paths, others, began)
        return await self._count(scope, self._search.query, others)

    async def otherwise(self, **changes: Any) -> int:
        """How many matches there are if files are read in another way."""
        query = msgspec.structs.replace(self._search.query, **changes)
        candidates = None
        # In another encoding, other bytes may stand for what is not ASCII.
        if self._narrowed is not None and not (query.encoding and _NOT_ASCII.search(query.pattern)):
            # What a pattern without NUL finds in a binary file, it has found in one that was named.
            found = None if query.encoding or _is_general(query) else self._search.with_nulls
            files = self._narrowed.files if found is None else found
            candidates = [*files, *self._narrowed.binary()]
        return await self._count(self._search.scope, query, candidates)

    async def _count(
        self, scope: Scope, query: TextPattern, candidates: Sequence[str] | None
    ) -> int:
        search = self._search
        with unsaved(self._workspace.buffers, scope) as overlay:
            look = TextSearch(
                self.ripgrep,
                scope,
                query,
                overlay,
                search.limits,
                cautious=search.cautious,
                candidates=candidates,
            )
            found = sum((await look.count(matches=True)).values())
            self.cut |= look.timed_out
            return found


async def _second_look(
    workspace: Workspace, params: GrepParams, search: TextSearch, narrowed: Narrowed | None
) -> list[str]:
    """Nothing matches: say what the files that were not searched would have."""
    if params.scope != "workspace":
        return [f"only the {len(search.scope.files or ())} files of scope={params.scope!r} count"]
    look, other_look = (_SecondLook(workspace, search, narrowed) for _ in range(2))

    async def count(params: GrepParams) -> int:
        return await look.in_scope(workspace.scope(params))

    ways = list(_other_ways(params, search))
    # Beside the list of what was left out, which takes longest.
    others = [asyncio.create_task(other_look.otherwise(**changes)) for _, changes in ways]
    try:
        found, flags = await left_out(params, count)
        counts = [await one for one in others]
    finally:
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    told = []
    if flags:
        # Counts that were cut short do not say which of them it takes.
        how = " or ".join(WIDENING) if look.cut else " and ".join(flags)
        least = "at least " if look.cut else ""
        told.append(f"0 matches; {least}{found} in files that were left out: pass {how}")
    for (warning, _), found in zip(ways, counts, strict=True):
        if found:
            told.append(f"0 matches; {found} {warning}")
    if params.include or params.file_types:
        listing = await list_files(look.ripgrep, search.scope, search.overlay)
        if not listing.paths and not listing.timed_out:
            told.append("no file in scope matches `include` or `file_types`")
    if look.cut or other_look.cut:
        told.append("0 matches; there was no time for all of the files that were left out")
    return told


def _other_ways(params: GrepParams, search: TextSearch) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other ways to read the files that may match, and what to say if one does."""
    if not params.include_binary and (search.skipped_files is None or search.skipped_files.binary):
        yield "in binary files: pass include_binary", {"binary": True}
    # What is no UTF-8 is matched by neither a character that is not ASCII nor by a dot or a class.
    if not params.encoding and (_is_general(search.query) or not params.pattern.isascii()):
        yield "if files are read as Latin-1: pass encoding='latin1'", {"encoding": "latin1"}
