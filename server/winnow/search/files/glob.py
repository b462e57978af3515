"""glob: the files whose path matches a pattern, with size and time, page by page."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import msgspec

from winnow.errors import EmptyQuery, SearchTimedOut
from winnow.search.answer import cursor
from winnow.search.answer.completeness import (
    CHANGED,
    completeness_of,
    count_excluded_matches,
    fractions,
    links_of,
    unsaved_failed,
    with_short_deadline,
)
from winnow.search.answer.shorten import shorten
from winnow.storage.paths import shown_path
from winnow.text.buffers import Overlay, unsaved
from winnow.text.listing import Listing, list_files
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Scope, order, path_matcher
from winnow.types import Progress, SearchParams
from winnow.types.glob import GlobFile, GlobParams, GlobPartial, GlobResult
from winnow.workspace import Workspace

# The last second that a date can say; file systems know later ones.
LAST_SECOND = 253_402_300_799


class Entry(msgspec.Struct, frozen=True):
    """A file that was found; times are in nanoseconds. ``size`` is absent for a file that has gone
    meanwhile."""

    path: str
    size: int | None = None
    modified: int = 0
    unsaved: bool = False


@dataclass
class _Search:
    """A request while it is answered."""

    ripgrep: Ripgrep
    scope: Scope
    overlay: Overlay
    listing: Listing


class Position(msgspec.Struct, frozen=True, array_like=True):
    """The last file that was answered, by what it was sorted by."""

    value: int
    path: bytes


async def find_files(workspace: Workspace, params: GlobParams, progress: Progress) -> GlobResult:
    """The files in scope whose path matches the pattern.

    Raises EmptyQuery, InvalidParams for a bad pattern, PathOutsideWorkspace, SearchTimedOut, and
    what a scope may raise.
    """
    if not params.pattern.strip():
        raise EmptyQuery
    scope = workspace.scope(params)
    matches = path_matcher("pattern", params.pattern, scope)
    async with workspace.search_slots:
        progress(f"Listing files that match {params.pattern[:60]}")
        ripgrep = workspace.run_ripgrep()
        scope = await workspace.narrow_scope(scope, params, ripgrep)
        with unsaved(workspace.buffers, scope) as overlay:
            listing = await list_files(ripgrep, scope, overlay)
            entries = await asyncio.to_thread(_found, params, scope, overlay, listing, matches)
            if listing.timed_out and not entries:
                raise SearchTimedOut(ripgrep.seconds)
            search = _Search(ripgrep, scope, overlay, listing)
            links = await links_of(ripgrep, scope, listing.skipped_files)
            result = await asyncio.to_thread(_result, params, search, entries, links)
        if not entries and not params.cursor:
            more = await _excluded_matches(workspace, params, search, matches)
            result = msgspec.structs.replace(result, warnings=[*result.warnings, *more])
    if progress.streaming and not params.max_tokens and result.files:
        progress(f"{result.returned} files", partial=GlobPartial(files=result.files))
        return msgspec.structs.replace(result, files=[])
    return result


# --- entries -------------------------------------------------------------------------------


def _found(
    params: GlobParams,
    scope: Scope,
    overlay: Overlay,
    listing: Listing,
    matches: Callable[[str], bool],
) -> list[Entry]:
    """The files that match, in the order asked for, with their state unless that is by path."""
    paths = [path for path in listing.paths if matches(path)]
    key = order(scope)
    if params.sort_by == "path":
        return [Entry(path) for path in sorted(paths, key=key)]
    entries = [_entry(scope, overlay, path) for path in paths]
    return sorted(entries, key=lambda entry: (-_value(params, entry), key(entry.path)))


def _value(params: GlobParams, entry: Entry) -> int:
    if params.sort_by == "path":
        return 0
    return entry.modified if params.sort_by == "mtime" else entry.size or 0


def _entry(scope: Scope, overlay: Overlay, path: str) -> Entry:
    try:
        if path in overlay.paths:
            text = overlay.file(path).stat()
            return Entry(path, text.st_size, text.st_mtime_ns, unsaved=True)
        state = os.stat(os.path.join(scope.root, path))
    except OSError:
        return Entry(path)
    return Entry(path, state.st_size, state.st_mtime_ns)


# --- answer --------------------------------------------------------------------------------


def _result(
    params: GlobParams, search: _Search, entries: Sequence[Entry], links: int | None
) -> GlobResult:
    """The page behind the cursor, in at most ``max_tokens``."""
    scope = search.scope
    first, changed = _first_behind(params, scope, entries)
    more = [CHANGED] if changed else []
    completeness = completeness_of(
        search.ripgrep,
        search.listing.skipped_files,
        timed_out=search.listing.timed_out,
        unreadable=search.listing.unreadable,
        links=links,
        more=more,
    )
    page = entries[first : first + params.max_results]
    if params.sort_by == "path":
        page = [_entry(scope, search.overlay, entry.path) for entry in page]
    files = [_file(scope, entry) for entry in page]

    def page_of(count: int, *, bare: bool = False) -> GlobResult:
        end = first + count
        truncated = end < len(entries)
        return GlobResult(
            root=shown_path(str(scope.root))[0],
            files=[*map(_bare, files[:count])] if bare else files[:count],
            total_found=len(entries),
            returned=count,
            truncated=truncated or (bare and count > 0),
            completeness=completeness,
            warnings=[*scope.warnings, *unsaved_failed(search.overlay)],
            cursor=_cursor(params, entries[:end]) if truncated else None,
        )

    fewer = [functools.partial(page_of, count, bare=True) for count in fractions(len(files))]
    return shorten(page_of(len(files)), params.max_tokens, fewer)


def _bare(file: GlobFile) -> GlobFile:
    return msgspec.structs.replace(file, size=None, modified=None)


def _file(scope: Scope, entry: Entry) -> GlobFile:
    shown = scope.shown(entry.path)
    seconds = min(entry.modified // 10**9, LAST_SECOND)
    modified = datetime.fromtimestamp(seconds, timezone.utc).isoformat()
    return GlobFile(
        path=shown.path,
        size=entry.size,
        modified=modified.replace("+00:00", "Z") if entry.size is not None else None,
        unsaved=entry.unsaved,
        root=shown.root,
        uri=shown.uri,
    )


def _cursor(params: GlobParams, answered: Sequence[Entry]) -> str:
    last = answered[-1]
    position = Position(_value(params, last), os.fsencode(last.path))
    return cursor.encode(params, position, _stamp(params, answered))


def _stamp(params: GlobParams, answered: Sequence[Entry]) -> bytes:
    return cursor.stamp_of([(entry.path, _value(params, entry)) for entry in answered])


def _first_behind(params: GlobParams, scope: Scope, entries: Sequence[Entry]) -> tuple[int, bool]:
    """The place of the first file behind the cursor, and whether those before have changed."""
    key = order(scope)

    def passed(position: Position) -> int:
        last = (-position.value, key(os.fsdecode(position.path)))
        return sum((-_value(params, entry), key(entry.path)) <= last for entry in entries)

    return cursor.resume(params, Position, passed, lambda first: _stamp(params, entries[:first]))


async def _excluded_matches(
    workspace: Workspace, params: GlobParams, search: _Search, matches: Callable[[str], bool]
) -> list[str]:
    """Nothing matches: say what the files that were left out would have."""
    if params.scope != "workspace":
        return [f"only the {len(search.scope.files or ())} files of scope={params.scope!r} count"]

    async def count(filters: SearchParams) -> int:
        scope = workspace.scope(filters)
        listing = await list_files(with_short_deadline(search.ripgrep), scope, Overlay())
        return sum(map(matches, listing.paths))

    found, flags = await count_excluded_matches(search.scope.filters, count)
    if not found:
        return []
    return [f"0 files; {found} match that were left out: pass {' and '.join(flags)}"]
