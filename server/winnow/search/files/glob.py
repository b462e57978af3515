"""Find the files whose path matches a pattern."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Literal

from msgspec import Meta

from winnow.errors import SearchTimedOut
from winnow.search.answer.completeness import (
    completeness_of,
    count_excluded_matches,
    links_of,
    unsaved_failed,
    with_short_deadline,
)
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.listing import Listing, list_files
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Filters, Scope, path_matcher, path_order
from winnow.types import Completeness, Result
from winnow.workspace import EngineWorkspace

# The last second of the year 9999; file systems know later ones, `datetime` does not.
LAST_SECOND = 253_402_300_799

SortBy = Literal["path", "mtime", "size"]


class GlobFile(Result, frozen=True, kw_only=True):
    """A file."""

    path: Annotated[str, Meta(description="The path, relative to `root`.")]
    size: Annotated[int | None, Meta(description="In bytes.")] = None
    modified: Annotated[
        str | None, Meta(description="The modification time, in ISO 8601, UTC.")
    ] = None
    unsaved: Annotated[
        bool,
        Meta(description="Open in the editor with unsaved text; `size` is that of this text."),
    ] = False
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


@dataclass(frozen=True)
class FileList:
    """The sorted paths that match, and the listing that they come from.

    `keys` are the modification times in nanoseconds or the sizes by which the paths are sorted; all
    are 0 in a list sorted by path.
    """

    scope: Scope
    paths: list[str]
    keys: list[int]
    matches: Callable[[str], bool]
    ripgrep: Ripgrep
    overlay: Overlay
    listing: Listing
    links: int | None

    def row(self, path: str) -> GlobFile:
        """Return the row of a file. Reads its size and time."""
        shown, state = self.scope.shown(path), _state(self.scope, self.overlay, path)
        modified = None
        if state is not None:
            seconds = min(state.st_mtime_ns // 10**9, LAST_SECOND)
            time = datetime.fromtimestamp(seconds, timezone.utc).isoformat()
            modified = time.replace("+00:00", "Z")
        return GlobFile(
            path=shown.path,
            size=None if state is None else state.st_size,
            modified=modified,
            unsaved=state is not None and path in self.overlay.paths,
            root=shown.root,
            uri=shown.uri,
        )

    def count_before(self, key: int, path: str) -> int:
        """Return the number of files up to a position in the list, which need not be there."""
        in_order = path_order(self.scope)
        last = (-key, in_order(path))
        return sum(
            (-other, in_order(one)) <= last
            for other, one in zip(self.keys, self.paths, strict=True)
        )

    def completeness(self, *reasons: str) -> Completeness:
        """Return the completeness of an answer, which is incomplete for further `reasons`."""
        return completeness_of(
            self.ripgrep,
            self.listing.skipped_files,
            timed_out=self.listing.timed_out,
            unreadable=self.listing.unreadable,
            links=self.links,
            more=reasons,
        )

    @property
    def warnings(self) -> list[str]:
        """The warnings of an answer."""
        return [*self.scope.warnings, *unsaved_failed(self.overlay)]


@contextlib.asynccontextmanager
async def list_matches(
    workspace: EngineWorkspace, ripgrep: Ripgrep, scope: Scope, pattern: str, sort_by: SortBy
) -> AsyncIterator[FileList]:
    """List the files in scope that match a pattern. Rows can be read within the block.

    Raises InvalidParams for a bad pattern, PathOutsideWorkspace and SearchTimedOut.
    """
    matches = path_matcher("pattern", pattern, scope)
    with unsaved_overlay(workspace.buffers, scope) as overlay:
        listing = await list_files(ripgrep, scope, overlay)
        paths = [path for path in listing.paths if matches(path)]
        if listing.timed_out and not paths:
            raise SearchTimedOut(ripgrep.seconds)
        links = await links_of(ripgrep, scope, listing.skipped_files)
        paths, keys = await asyncio.to_thread(_sorted, paths, sort_by, scope, overlay)
        yield FileList(scope, paths, keys, matches, ripgrep, overlay, listing, links)


async def excluded_matches(workspace: EngineWorkspace, found: FileList) -> list[str]:
    """Return a warning about excluded files that match, if there are any."""

    async def count(filters: Filters) -> int:
        scope = workspace.scope(filters)
        listing = await list_files(with_short_deadline(found.ripgrep), scope, Overlay())
        return sum(map(found.matches, listing.paths))

    excluded, flags = await count_excluded_matches(found.scope.filters, count)
    if not excluded:
        return []
    return [f"0 files; {excluded} excluded files match: pass {' and '.join(flags)}"]


def _sorted(
    paths: list[str], sort_by: SortBy, scope: Scope, overlay: Overlay
) -> tuple[list[str], list[int]]:
    """Sort paths, and return them with the keys they are sorted by, largest first."""
    in_order = path_order(scope)
    if sort_by == "path":
        return sorted(paths, key=in_order), [0] * len(paths)
    keys = {path: _key(_state(scope, overlay, path), sort_by) for path in paths}
    paths = sorted(paths, key=lambda path: (-keys[path], in_order(path)))
    return paths, [keys[path] for path in paths]


def _key(state: os.stat_result | None, sort_by: SortBy) -> int:
    if state is None:
        return 0
    return state.st_mtime_ns if sort_by == "mtime" else state.st_size


def _state(scope: Scope, overlay: Overlay, path: str) -> os.stat_result | None:
    """Return size and time of a file or its unsaved text; None if it was deleted meanwhile."""
    try:
        if path in overlay.paths:
            return overlay.file(path).stat()
        return os.stat(os.path.join(scope.root, path))
    except OSError:
        return None
