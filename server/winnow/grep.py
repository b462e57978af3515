"""grep: the matches of one pattern, or the files that have some, page by page.

:mod:`winnow.text.grep` finds them in the order of paths, :mod:`winnow.grep_page` takes as many as
are wanted. Here a request becomes a search, and a page an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from winnow import cursor
from winnow.display import shown_path
from winnow.errors import EmptyQuery, SearchTimedOut
from winnow.grep_page import Page
from winnow.shorten import shorten
from winnow.text.buffers import Overlay, unsaved
from winnow.text.files import Scope, order
from winnow.text.grep import TextSearch
from winnow.text.links import folder_links
from winnow.text.notes import skipped
from winnow.text.ripgrep import Query
from winnow.types import Completeness, Progress
from winnow.types.grep import GrepFile, GrepMatch, GrepParams, GrepPartial, GrepResult, PreviewLine
from winnow.workspace import Workspace

# When there is enough for the page, the search may go on for so long: to its end, which makes the
# total known, or at least to one match more, which makes sure that there is one.
GRACE_SECONDS = 0.005
ONE_MORE_SECONDS = 0.1
SECOND_LOOK_SECONDS = 1.0
# Counting symlinks may add this part to the time of a search, and always so many seconds.
LINKS_SHARE = 0.08
LINKS_SECONDS = 0.03
# Matches go out as partial results in portions of this many, or after this time.
STREAM_MATCHES = 200
STREAM_SECONDS = 0.05
# A preview that is made shorter keeps so many characters of a line.
SHORT_LINE = 100
# Params that widen the scope.
WIDENING = ("include_ignored", "include_hidden", "include_submodules")
# Fewer places than this are worth less than the counts of all files.
FEWEST_PLACES = 3


async def search_text(workspace: Workspace, params: GrepParams, progress: Progress) -> GrepResult:
    """The matches of a pattern, or the files that have some.

    Raises EmptyQuery, InvalidPattern, SearchTimedOut, and what a scope may raise.
    """
    if not params.pattern:
        raise EmptyQuery
    scope = workspace.scope(params)
    async with workspace.turns:
        progress(f"Searching for {params.pattern[:60]!r}")
        ripgrep = workspace.run_ripgrep()
        scope = await workspace.narrowed(scope, params, ripgrep)
        with unsaved(workspace.buffers, scope) as overlay:
            search = TextSearch(
                ripgrep=ripgrep,
                scope=scope,
                query=_query(params),
                overlay=overlay,
                limits=workspace.config.limits,
                context=params.context_lines if params.mode == "matches" else 0,
                wanted=params.max_results,
            )
            run = _matches if params.mode == "matches" else _files
            result = await run(params, search, progress)
            if result.total_found or params.cursor:
                return result
            more = await _second_look(workspace, params, search)
            return msgspec.structs.replace(result, warnings=[*result.warnings, *more])


def _query(params: GrepParams) -> Query:
    return Query(
        pattern=params.pattern,
        literal=params.literal,
        case_sensitive=params.case_sensitive,
        word=params.word,
        multiline=params.multiline,
        binary=params.include_binary,
    )


# --- matches -------------------------------------------------------------------------------


async def _matches(params: GrepParams, search: TextSearch, progress: Progress) -> GrepResult:
    stream = progress.streaming and not params.max_tokens
    max_bytes = None if stream else search.limits.answer_bytes
    page = Page(params, search.scope, search.overlay, max_bytes)
    loop = asyncio.get_running_loop()
    started = told = loop.time()
    alarms: list[asyncio.TimerHandle] = []

    def stop_if_more() -> None:
        if page.more:
            search.stop()

    try:
        async with contextlib.aclosing(search.lines()) as lines:
            async for path, line in lines:
                page.take(path, line)
                if page.full and not alarms:
                    alarms.append(loop.call_later(GRACE_SECONDS, stop_if_more))
                    alarms.append(loop.call_later(ONE_MORE_SECONDS, search.stop))
                elif page.more and loop.time() > alarms[0].when():
                    search.stop()
                late = loop.time() - told > STREAM_SECONDS
                if stream and len(page.matches) > (1 if late else STREAM_MATCHES):
                    told = loop.time()
                    _tell(progress, page, page.pop())
                    await progress.drain()
    finally:
        for alarm in alarms:
            alarm.cancel()
    page.end()
    if search.timed_out and not page.seen:
        raise SearchTimedOut(search.ripgrep.seconds)
    if stream and page.matches:
        _tell(progress, page, page.matches)
    result = _result_of(params, search, page, stream=stream)
    counted = await _count_links(search, loop.time() - started)
    return _with_skipped(result, search, counted)


def _tell(progress: Progress, page: Page, matches: Sequence[GrepMatch]) -> None:
    partial = GrepPartial(matches=list(matches))
    progress(f"{page.returned} matches", partial=partial)


def _result_of(params: GrepParams, search: TextSearch, page: Page, *, stream: bool) -> GrepResult:
    known = search.finished or search.total is not None
    total = search.total if search.total is not None else page.seen
    truncated = page.more or (page.full and not search.finished)
    reasons = _reasons(search)
    if not known and not search.timed_out:
        reasons.append(f"the search stopped when it had enough: there are {total} matches or more")
    if page.changed:
        reasons.append("files before this page have changed: matches may be missing or repeated")
    result = GrepResult(
        root=shown_path(str(search.scope.root))[0],
        matches=[] if stream else page.matches,
        total_matches=total,
        total_is_lower_bound=not known,
        total_found=total,
        returned=page.returned,
        truncated=truncated,
        completeness=_completeness(search, reasons),
        warnings=_warnings(search, page),
        cursor=_cursor(params, page, len(page.positions)) if truncated else None,
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

    fewer = _fractions(len(result.matches), FEWEST_PLACES)
    some = _fractions(len({match.path for match in result.matches}), 1)
    return [
        with_matches(_without_context),
        with_matches(_short),
        with_matches(_place),
        *map(first, fewer),
        *map(counts, some),
    ]


def _fractions(count: int, least: int) -> list[int]:
    """Ever smaller numbers from ``count`` on, each about four fifths of the one before."""
    steps = []
    while count >= max(1, least):
        steps.append(count)
        count = min(count - 1, count * 4 // 5)
    return steps


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
    loop = asyncio.get_running_loop()
    started = loop.time()
    counts = await search.count(matches=params.mode == "counts")
    if search.timed_out and not counts:
        raise SearchTimedOut(search.ripgrep.seconds)
    paths = list(counts)
    first, changed = _first_behind(params, search.scope, counts)
    end = min(first + params.max_results, len(paths))
    reasons = _reasons(search)
    if changed:
        reasons.append("files before this page have changed: some may be missing or repeated")

    def page_to(end: int) -> GrepResult:
        more = end < len(paths)
        total = sum(counts.values()) if params.mode == "counts" else None
        return GrepResult(
            root=shown_path(str(search.scope.root))[0],
            matches=[],
            files=[_file(params, search.scope, path, counts) for path in paths[first:end]],
            total_matches=total,
            total_is_lower_bound=search.timed_out,
            total_found=len(paths),
            returned=end - first,
            truncated=more,
            completeness=_completeness(search, reasons),
            warnings=_warnings(search, None),
            cursor=_files_cursor(params, paths[:end], counts) if more else None,
        )

    result = page_to(end)
    fewer = _fractions(end - first, 1)[1:]
    steps = [lambda count=count: page_to(first + count) for count in fewer]
    result = shorten(result, params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and result.files:
        progress(f"{len(paths)} files", partial=GrepPartial(matches=[], files=result.files))
        result = msgspec.structs.replace(result, files=[])
    counted = await _count_links(search, loop.time() - started)
    return _with_skipped(result, search, counted)


def _file(params: GrepParams, scope: Scope, path: str, counts: dict[str, int]) -> GrepFile:
    shown = scope.shown(path)
    matches = counts[path] if params.mode == "counts" else None
    return GrepFile(path=shown.path, matches=matches, root=shown.root, uri=shown.uri)


def _files_cursor(params: GrepParams, answered: Sequence[str], counts: dict[str, int]) -> str:
    stamp = cursor.stamp_of([(path, counts[path]) for path in answered])
    return cursor.encode(params, os.fsencode(answered[-1]), stamp)


def _first_behind(params: GrepParams, scope: Scope, counts: dict[str, int]) -> tuple[int, bool]:
    """The place of the first file behind the cursor, and whether those before have changed."""
    continued = cursor.decode(params, bytes)
    if continued is None:
        return 0, False
    key = order(scope)
    last = key(os.fsdecode(continued[0]))
    answered = [path for path in counts if key(path) <= last]
    stamp = cursor.stamp_of([(path, counts[path]) for path in answered])
    return len(answered), stamp != continued[1]


# --- what was left out ---------------------------------------------------------------------


def _reasons(search: TextSearch) -> list[str]:
    reasons = []
    if search.timed_out:
        seconds = search.ripgrep.seconds
        reasons.append(f"stopped after {seconds:g} seconds: not every file was searched")
    if search.unreadable:
        reasons.append(f"{len(search.unreadable)} files or folders could not be read")
    if search.notes and search.notes.too_large:
        size = search.limits.file_bytes // 1024 // 1024
        reasons.append(f"{search.notes.too_large} files of more than {size} MiB were not searched")
    if search.long_lines:
        reasons.append(f"{search.long_lines} matching lines of more than 4 MiB are left out")
    return reasons


def _completeness(search: TextSearch, reasons: list[str]) -> Completeness:
    return Completeness(
        complete=not reasons, reasons=reasons, skipped=skipped(None), timed_out=search.timed_out
    )


def _warnings(search: TextSearch, page: Page | None) -> list[str]:
    warnings = list(search.scope.warnings)
    if failed := search.overlay.failed:
        warnings.append(f"{failed} unsaved documents could not be searched: the disk's text was")
    if search.binary:
        warnings.append(f"{search.binary} binary files were not searched: pass include_binary")
    if page and page.cut_lines:
        warnings.append(f"lines of more than {search.limits.line_characters} characters are cut")
    return warnings


async def _count_links(search: TextSearch, seconds: float) -> int | None:
    """How many symlinks to folders were passed over, if that is cheap to say."""
    if not (search.notes and search.notes.heard):
        return None
    budget = LINKS_SECONDS + seconds * LINKS_SHARE
    return await asyncio.to_thread(
        folder_links, search.scope, search.notes.left_out, min(budget, time.monotonic())
    )


def _with_skipped(result: GrepResult, search: TextSearch, links: int | None) -> GrepResult:
    counts = skipped(
        search.notes,
        binary=search.binary,
        unreadable=len(search.unreadable),
        folder_links=links,
    )
    completeness = msgspec.structs.replace(result.completeness, skipped=counts)
    return msgspec.structs.replace(result, completeness=completeness)


async def _second_look(workspace: Workspace, params: GrepParams, search: TextSearch) -> list[str]:
    """Nothing matches: say what the files that were not searched would have."""
    if params.scope != "workspace":
        return [f"only the {len(search.scope.files or ())} files of scope={params.scope!r} count"]
    told = []
    everything = msgspec.structs.replace(params, **dict.fromkeys(WIDENING, True))
    if found := everything != params and await _count_in(search, workspace.scope(everything)):
        needed = []
        for flag in WIDENING:
            without = msgspec.structs.replace(everything, **{flag: getattr(params, flag)})
            if without != everything:
                fewer = await _count_in(search, workspace.scope(without))
                needed += [flag] if len(fewer) < len(found) else []
        told.append(f"{_counted_in(found)} that were left out: pass {' and '.join(needed)}")
    if search.notes and search.notes.binary:
        binary = msgspec.structs.replace(search.scope, files=tuple(search.notes.binary))
        if found := await _count_in(search, binary, as_text=True):
            told.append(f"{_counted_in(found)} that are binary: pass include_binary")
    return [f"0 matches; {one}" for one in told]


async def _count_in(search: TextSearch, scope: Scope, *, as_text: bool = False) -> dict[str, int]:
    """The matches in the files of another scope, as far as a second suffices."""
    until = asyncio.get_running_loop().time() + SECOND_LOOK_SECONDS
    ripgrep = dataclasses.replace(search.ripgrep, deadline=min(search.ripgrep.deadline, until))
    query = msgspec.structs.replace(search.query, binary=search.query.binary or as_text)
    overlay = Overlay(paths=search.overlay.paths)
    look = TextSearch(ripgrep, scope, query, overlay, search.limits)
    return await look.count(matches=True)


def _counted_in(found: Mapping[str, int]) -> str:
    return f"{sum(found.values())} in {len(found)} files"
