"""Completeness of answers: what a search skipped, and steps to shorten an answer."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from winnow.text.buffers import Overlay
from winnow.text.links import folder_links
from winnow.text.plural import counted
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Filters, Scope
from winnow.text.skipped_files import SkippedFiles
from winnow.types import Completeness, Skipped

# Params that widen the scope.
WIDENING = ("include_ignored", "include_hidden", "include_submodules")
# Counting symlinks may take this long.
LINKS_SECONDS = 0.03
SMALL_TREE_SECONDS = 0.2
EXCLUDED_SECONDS = 1.0

CHANGED = "what is before this page has changed since: something may be missing or repeated"


def completeness_of(
    ripgrep: Ripgrep,
    skipped: SkippedFiles | None,
    *,
    timed_out: bool,
    unreadable: Collection[str],
    file_bytes: int | None = None,
    binary: int = 0,
    links: int | None = None,
    more: Sequence[str] = (),
) -> Completeness:
    """Return what a run of ripgrep skipped; ``more`` are further reasons why it is incomplete.

    Files of more than ``file_bytes`` were not read. ``binary`` is the number of binary files that
    ripgrep did not get, ``links`` the number of symlinks to folders.
    """
    reasons = []
    if timed_out:
        reasons.append(f"stopped after {ripgrep.seconds:g} s: not every file was seen")
    if unreadable:
        unread = counted(len(unreadable), "file or folder", "files or folders")
        reasons.append(f"{unread} could not be read")
    if file_bytes and skipped and skipped.too_large:
        size = file_bytes // 1024 // 1024
        reasons.append(f"{skipped.too_large} files of more than {size} MiB were not searched")
    reasons += more
    counts = skipped_counts(skipped, binary=binary, unreadable=len(unreadable), folder_links=links)
    return Completeness(complete=not reasons, reasons=reasons, skipped=counts, timed_out=timed_out)


def skipped_counts(
    skipped: SkippedFiles | None,
    *,
    binary: int = 0,
    unreadable: int = 0,
    folder_links: int | None = None,
) -> Skipped:
    """Return the counts for an answer; unknown counts are absent.

    ``folder_links`` is the number of symlinks to folders, if known.
    """
    if skipped is None or not skipped.has_log:
        return Skipped(binary=binary or None, unreadable=unreadable or None)
    return Skipped(
        ignored=skipped.ignored,
        hidden=skipped.hidden,
        binary=len(skipped.binary) + binary,
        too_large=skipped.too_large,
        unreadable=unreadable,
        symlink=None if folder_links is None else skipped.symlinks + folder_links,
    )


async def links_of(ripgrep: Ripgrep, scope: Scope, skipped: SkippedFiles | None) -> int | None:
    """Return the number of skipped symlinks to folders; None for a tree that took long to search,
    where counting is slow."""
    followed = len(scope.paths) > len(scope.roots)
    if skipped is None or not skipped.has_log or followed or ripgrep.elapsed > SMALL_TREE_SECONDS:
        return None
    return await asyncio.to_thread(folder_links, scope, skipped.excluded, LINKS_SECONDS)


def with_short_deadline(ripgrep: Ripgrep) -> Ripgrep:
    """Return ripgrep with a short deadline, to count excluded matches."""
    until = asyncio.get_running_loop().time() + EXCLUDED_SECONDS
    return dataclasses.replace(ripgrep, deadline=min(until, ripgrep.deadline))


def unsaved_failed(overlay: Overlay) -> list[str]:
    """Return a warning about unsaved documents that a list of files ignores."""
    if not overlay.failed:
        return []
    return [f"{overlay.failed} unsaved documents could not be copied: their saved files are listed"]


def unsearched(overlay: Overlay) -> list[str]:
    """Return a warning about unsaved documents that a text search ignores."""
    if not overlay.failed:
        return []
    return [
        f"{overlay.failed} unsaved documents could not be copied: their saved text was searched"
    ]


def fractions(count: int, least: int = 1) -> list[int]:
    """Return decreasing numbers from ``count`` to ``least``, each about four fifths of the last:
    the numbers of results to try when an answer is shortened."""
    steps = []
    while count >= max(1, least):
        steps.append(count)
        count = min(count - 1, count * 4 // 5)
    return steps


async def count_excluded_matches(
    filters: Filters, count: Callable[[Filters], Awaitable[int]], matches: int = 0
) -> tuple[int, list[str]]:
    """Return the number of matches that filters exclude, and the params that would include them.

    ``count`` counts the matches with other filters; ``matches`` is the number with these. Returns
    ``(0, [])`` if no param makes a difference.
    """
    widest = msgspec.structs.replace(filters, **dict.fromkeys(WIDENING, True))
    if widest == filters or (found := await count(widest)) <= matches:
        return 0, []
    flags = []
    for flag in WIDENING:
        without = msgspec.structs.replace(widest, **{flag: getattr(filters, flag)})
        if without != widest and await count(without) < found:
            flags.append(flag)
    return (found - matches, flags) if flags else (0, [])


def with_reasons(completeness: Completeness, *reasons: str) -> Completeness:
    """Return the completeness with further reasons why an answer is incomplete."""
    merged = list(dict.fromkeys([*completeness.reasons, *reasons]))
    return msgspec.structs.replace(completeness, complete=not merged, reasons=merged)


def incomplete(*reasons: str) -> Completeness:
    """Return the completeness of an answer that is incomplete for some reasons."""
    return Completeness(complete=False, reasons=[*reasons], skipped=Skipped(), timed_out=False)
