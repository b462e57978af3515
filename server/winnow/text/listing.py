"""List the files of a scope that ripgrep would search, and unsaved documents not on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from winnow.processes.children import Child
from winnow.text.buffers import Overlay, scope_arguments
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, pattern_problem, unreadable_files
from winnow.text.scope import Scope, clean_path
from winnow.text.skipped_files import DEBUG, SkippedFiles, skipped_files_for


@dataclass
class Listing:
    """The paths of the files in a scope, in no order, and the files that ripgrep skipped."""

    paths: list[str] = field(default_factory=list)
    skipped_files: SkippedFiles | None = None
    unreadable: set[str] = field(default_factory=set)
    timed_out: bool = False


async def list_files(ripgrep: Ripgrep, scope: Scope, overlay: Overlay) -> Listing:
    """List the files that a search of the scope would read, until the deadline."""
    if scope.files is not None:
        return Listing([path for path in scope.files if _is_there(scope, overlay, path)])
    listing = Listing(skipped_files=skipped_files_for(scope.arguments))
    debug = [DEBUG] if listing.skipped_files else []
    arguments = ["--files", "--null", *debug, *scope.arguments]
    async with ripgrep.start(
        [*arguments, "--", *scope.paths], cwd=scope.root, log_parser=listing.skipped_files
    ) as child:
        await _read_paths(child, scope, listing)
    listing.paths += await _unsaved_only(ripgrep, scope, overlay, set(listing.paths))
    return listing


async def _read_paths(child: Child, scope: Scope, listing: Listing) -> None:
    covers_all = not scope.include and len(scope.roots) == 1
    rest = b""
    async for chunk in child.chunks():
        # Decode all records at once: one by one, that takes as long again as ripgrep.
        complete, end, rest = (rest + chunk).rpartition(b"\0")
        if end:
            paths = map(clean_path, os.fsdecode(complete).split("\0"))
            listing.paths += paths if covers_all else filter(scope.covers, paths)
    code = await child.wait()
    listing.timed_out |= child.timed_out
    listing.unreadable |= set(map(clean_path, unreadable_files(child.stderr)))
    if not child.timed_out:
        pattern_problem(code, child.stderr)


async def _unsaved_only(
    ripgrep: Ripgrep, scope: Scope, overlay: Overlay, listed: set[str]
) -> list[str]:
    """Return the unsaved documents that the listing lacks and the scope covers."""
    found: list[str] = []
    for folder, prefix in overlay.folders:
        arguments = ["--files", "--null", *scope_arguments(scope, folder, prefix)]
        async with ripgrep.start(arguments, cwd=folder) as child:
            async for record in child.records(b"\0", RECORD_BYTES):
                path = prefix + clean_path(os.fsdecode(record))
                if path not in listed and scope.covers(path):
                    found.append(path)
    return found


def _is_there(scope: Scope, overlay: Overlay, path: str) -> bool:
    return path in overlay.paths or os.path.isfile(os.path.join(scope.root, path))
