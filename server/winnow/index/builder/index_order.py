"""Sort the files of a folder by how likely the first requests need them.

First the open and recently open files, then those in recent commits, then those that searches
returned. Among the others: sources, tests and examples, vendored and generated code, data; in each
group, files near the root first, because they show what a tree is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from winnow.errors import SearchError
from winnow.processes.children import Processes
from winnow.symbols.language import language_of
from winnow.symbols.search.weight import DATA, category_of
from winnow.text.git_program import LOG_SAFE, running_git

COMMITS = 500
GIT_SECONDS = 2.0
GIT_BYTES = 1024 * 1024
PATH_BYTES = 4096
_KINDS = {None: 0, "test": 1, "example": 1, "vendored": 2, "generated": 2}
_OF_DATA = 3


def in_index_order(
    paths: Iterable[str],
    *,
    open_documents: Sequence[str] = (),
    recent: Sequence[str] = (),
    searched: Sequence[str] = (),
    touched: Sequence[str] = (),
) -> list[str]:
    """Return the paths in the order in which to index them.

    Paths in the other lists come first, in the order of each list: open documents, recently open
    ones, files that git has ``touched``, and files that searches returned (``searched``).
    """
    left = dict.fromkeys(paths)
    first = []
    for path in (*open_documents, *recent, *touched, *searched):
        if path in left:
            del left[path]
            first.append(path)
    return first + sorted(left, key=_importance)


def _importance(path: str) -> tuple[int, int, str]:
    language = language_of(path)
    is_data = language is None or language.name in DATA
    kind = _OF_DATA if is_data else _KINDS[category_of(path)]
    return kind, path.count("/"), path


# --- git -----------------------------------------------------------------------------------


async def touched_lately(
    root: Path, processes: Processes, git: str | None, environment: Mapping[str, str]
) -> list[str]:
    """Return the files in the last commits, the latest first: as many as git lists within two
    seconds, none without ``git`` or outside a repository."""
    if git is None:
        return []
    found: dict[str, None] = {}
    with contextlib.suppress(SearchError):
        async for path in _log(root, processes, git, environment):
            found.setdefault(path)
    return list(found)


async def _log(
    root: Path, processes: Processes, git: str, environment: Mapping[str, str]
) -> AsyncIterator[str]:
    what = ("-z", "--format=", "--name-only", "--no-renames", "--diff-filter=d", f"-n{COMMITS}")
    async with running_git(
        processes,
        git,
        root,
        ["log", *LOG_SAFE, *what, "--"],
        environment=environment,
        deadline=asyncio.get_running_loop().time() + GIT_SECONDS,
    ) as child:
        size = 0
        async for record in child.records(b"\0", PATH_BYTES):
            size += len(record)
            if size > GIT_BYTES:
                return
            if path := record.strip(b"\n"):
                yield os.fsdecode(path)
