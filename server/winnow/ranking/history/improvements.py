"""What would make searches better, as far as those that were made tell."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct

from winnow.config.globs import glob_regex
from winnow.ranking.history.metrics import Seen, percentile
from winnow.ranking.history.queries import words_of
from winnow.ranking.history.records import SATISFYING, Search
from winnow.types.search_metrics import Improvement

# What happens less often is chance.
OFTEN = 3
SLOW_SECONDS = 1.0
# Of each kind, as many are named.
MOST_NAMED = 5
# The part of the searches that the index should at least have answered.
ANSWERED = 0.8


class Indexing(Struct, frozen=True):
    """What the index holds, as far as improvements need to know.

    ``exclude`` and ``max_size_mb`` are the settings, ``problems`` say of files, relative to the
    folder, why nothing is known of them, ``hindrances`` why folders are not indexed as they should
    be, ``left_out`` how many files there was no room for.
    """

    enabled: bool
    exclude: tuple[str, ...] = ()
    max_size_mb: int = 0
    problems: Mapping[str, str] = {}
    hindrances: tuple[str, ...] = ()
    left_out: int = 0


def improvements(seen: Seen, indexing: Indexing) -> list[Improvement]:
    """What would help, the most helpful first."""
    return [
        *_off(seen, indexing),
        *_hindered(seen, indexing),
        *_no_room(seen, indexing),
        *_excluded(seen, indexing),
        *_unknown(seen, indexing),
        *_unanswered(seen, indexing),
        *_slow(seen),
        *_nothing(seen),
    ]


def _off(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    count = sum(one.indexed is False for one in seen.searches)
    if not indexing.enabled and count >= OFTEN:
        yield Improvement(
            what=f"{count} searches asked for the index, which is off: turn it on",
            setting="index.enabled",
        )


def _hindered(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    if len(seen.searches) >= OFTEN:
        for hindrance in indexing.hindrances:
            setting = "index.max_files" if "max_files" in hindrance else None
            yield Improvement(
                what=f"A folder is searched that is not indexed: {hindrance}",
                setting=setting,
                request="$/index" if setting else None,
            )


def _no_room(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    if indexing.left_out and len(seen.searches) >= OFTEN:
        yield Improvement(
            what=f"{indexing.left_out:,} files have no room in the index, which may take"
            f" {indexing.max_size_mb} MB: let it take more",
            setting="index.max_index_size_mb",
        )


def _excluded(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    """Patterns that leave files out of the index which are opened all the same."""
    opened = _opened(seen)
    for pattern in indexing.exclude:
        is_excluded = glob_regex(pattern).fullmatch
        paths = [path for path in opened if is_excluded(path)]
        count = sum(opened[path] for path in paths)
        if count >= OFTEN:
            yield Improvement(
                what=f"Files that {pattern!r} leaves out of the index were opened {count} times:"
                " take the pattern out",
                setting="index.exclude_patterns",
                paths=_first(opened, paths),
            )


def _unknown(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    """Files that are found or opened, and of which the index knows nothing."""
    used = Counter(path for one in seen.searches for path in one.paths) + _opened(seen)
    by_problem: dict[str, list[str]] = defaultdict(list)
    for path, problem in indexing.problems.items():
        if used[path] >= OFTEN:
            by_problem[problem].append(path)
    for problem, paths in sorted(by_problem.items()):
        setting = next((one for one in ("parse_bytes", "parse_seconds") if one in problem), None)
        yield Improvement(
            what=f"{len(paths)} files are found or opened often and not indexed: {problem}",
            setting=f"limits.{setting}" if setting else None,
            paths=_first(used, paths),
        )


def _unanswered(seen: Seen, indexing: Indexing) -> Iterator[Improvement]:
    rate = seen.index_hit_rate()
    asked = sum(one.indexed is not None for one in seen.searches)
    if indexing.enabled and rate is not None and rate < ANSWERED and asked >= OFTEN:
        yield Improvement(
            what=f"Of {asked} searches that ask the index, it answered {rate:.0%}: build it before"
            " it is needed",
            request="$/index",
        )


def _slow(seen: Seen) -> Iterator[Improvement]:
    """Folders in which searches take long."""
    by_scope: dict[str, list[Search]] = defaultdict(list)
    for search in seen.searches:
        by_scope[search.scope].append(search)
    times = {
        scope: percentile([one.seconds for one in some], 0.5)
        for scope, some in by_scope.items()
        if len(some) >= OFTEN
    }
    slow = sorted((one for one in times if times[one] >= SLOW_SECONDS), key=lambda one: -times[one])
    for scope in slow[:MOST_NAMED]:
        where = f"in {scope}" if scope else "in the whole workspace"
        yield Improvement(
            what=f"Half of the searches {where} take longer than {times[scope]:.1f} seconds:"
            " search in a part of it, or leave out what nobody looks for",
            setting="search.exclude",
            paths=[scope] if scope else [],
        )


def _nothing(seen: Seen) -> Iterator[Improvement]:
    """Queries that find nothing, again and again."""
    asked: dict[tuple[str, ...], list[Search]] = defaultdict(list)
    for search in seen.searches:
        if not search.returned:
            asked[tuple(sorted(words_of(search.query)))].append(search)
    often = sorted((some for some in asked.values() if len(some) >= OFTEN), key=len, reverse=True)
    for some in often[:MOST_NAMED]:
        tools = ", ".join(sorted({one.tool for one in some}))
        yield Improvement(
            what=f"{some[-1].query!r} was asked {len(some)} times ({tools}) and found nothing:"
            " try other words, or include ignored and hidden files"
        )


def _opened(seen: Seen) -> Counter[str]:
    """How often each file was opened."""
    return Counter(
        event.path
        for one in seen.searches
        for event in seen.became(one)
        if event.signal in SATISFYING and not os.path.isabs(event.path)
    )


def _first(counts: Mapping[str, int], paths: list[str]) -> list[str]:
    return sorted(paths, key=lambda one: (-counts[one], one))[:MOST_NAMED]
