"""The files of a scope, as ripgrep would search them, and unsaved documents that are on no disk."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from winnow.processes.children import Child
from winnow.text.buffers import Overlay, scope_arguments
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, pattern_problem, unreadable_files
from winnow.text.scope import Scope, plain
from winnow.text.skipped_files import DEBUG, SkippedFiles, skipped_files_for


@dataclass
class Listing:
    """The paths of the files in a scope, in no order, and what was passed over to get them."""

    paths: list[str] = field(default_factory=list)
    skipped_files: SkippedFiles | None = None
    unreadable: set[str] = field(default_factory=set)
    timed_out: bool = False


async def list_files(ripgrep: Ripgrep, scope: Scope, overlay: Overlay) -> Listing:
    """The files that a search of the scope would read, as far as the time suffices."""
    if scope.files is not None:
        return Listing([path for path in scope.files if _is_there(scope, overlay, path)])
    listing = Listing(skipped_files=skipped_files_for(scope.arguments))
    debug = [DEBUG] if listing.skipped_files else []
    arguments = ["--files", "--null", *debug, *scope.arguments]
    async with ripgrep.start(
        [*arguments, "--", *scope.paths], cwd=scope.root, log_parser=listing.skipped_files
    ) as child:
        await _take(child, scope, listing)
    listing.paths += await _unsaved_only(ripgrep, scope, overlay, set(listing.paths))
    return listing


async def _take(child: Child, scope: Scope, listing: Listing) -> None:
    all_count = not scope.include and len(scope.roots) == 1
    rest = b""
    async for chunk in child.chunks():
        # Decoded in one go: record by record takes as long again as ripgrep.
        whole, end, rest = (rest + chunk).rpartition(b"\0")
        if end:
            paths = map(plain, os.fsdecode(whole).split("\0"))
            listing.paths += paths if all_count else filter(scope.covers, paths)
    code = await child.wait()
    listing.timed_out |= child.timed_out
    listing.unreadable |= set(map(plain, unreadable_files(child.stderr)))
    if not child.timed_out:
        pattern_problem(code, child.stderr)


async def _unsaved_only(
    ripgrep: Ripgrep, scope: Scope, overlay: Overlay, listed: set[str]
) -> list[str]:
    """The unsaved documents that the listing lacks and the scope covers."""
    found: list[str] = []
    for folder, prefix in overlay.folders:
        arguments = ["--files", "--null", *scope_arguments(scope, folder, prefix)]
        async with ripgrep.start(arguments, cwd=folder) as child:
            async for record in child.records(b"\0", RECORD_BYTES):
                path = prefix + plain(os.fsdecode(record))
                if path not in listed and scope.covers(path):
                    found.append(path)
    return found


def _is_there(scope: Scope, overlay: Overlay, path: str) -> bool:
    return path in overlay.paths or os.path.isfile(os.path.join(scope.root, path))
