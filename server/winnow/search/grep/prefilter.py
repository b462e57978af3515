"""Prefilter the files that ripgrep reads, using the index's trigrams.

The result is the same as that of a search of the entire tree: where the index cannot guarantee
that, ripgrep searches the entire tree. ripgrep applies the filters of a scope only to folders that
it walks, so the filters are applied here to the files that the index names.
"""

from __future__ import annotations

import asyncio
import functools
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.search.shared.scope import shared_files
from winnow.storage.paths import is_below
from winnow.text.buffers import unsaved_overlay, unsaved_paths
from winnow.text.listing import list_files
from winnow.text.ripgrep import Ripgrep, TextPattern
from winnow.text.scope import Scope, clean_path, join_path
from winnow.text.selection import file_type_globs
from winnow.workspace import EngineWorkspace, Lifetime

if TYPE_CHECKING:
    from winnow.index.match_candidates import MatchCandidates

# Above this share of all files, reading all of them is about as fast.
MOST_SHARE = 0.25
# Reading this many files costs nothing compared with starting a process.
FEW = 20
# Wait for a busy index about as long as a search of all files takes (starting ripgrep and reading
# them), so that waiting never costs more than it can save; MOST_SECONDS at most.
PROCESS_SECONDS = 0.01
# Files that ripgrep reads in some 20 ms.
SMALL_TREE = 2_000
FILE_SECONDS = 20e-6
MOST_SECONDS = 0.15


class PrefilteredFiles(Struct, frozen=True):
    """The only ``files`` on disk that can match, in paths as ripgrep prints them.

    ``binary`` returns the binary files that can match. ``indexed`` are all indexed files by root.
    """

    files: Sequence[str]
    binary: Callable[[], Sequence[str]]
    indexed: Mapping[Path, Sequence[str]]

    def unindexed(self, scope: Scope, paths: Sequence[str]) -> list[str]:
        """Return the paths that are not in the index: they may match, too."""
        indexed = set(self.indexed.get(scope.root, ()))
        for number, root in enumerate(scope.roots[1:], 1):
            prefix = scope.prefix(number)
            indexed.update(prefix + path for path in self.indexed.get(root, ()))
        return [path for path in paths if path not in indexed]


async def prefilter(
    workspace: EngineWorkspace, ripgrep: Ripgrep, scope: Scope, queries: Sequence[TextPattern]
) -> list[PrefilteredFiles | None]:
    """Return for each query the files that can match it, or None to search the entire scope.

    It is None where a prefilter is not possible or would not make the search faster. Raises
    InvalidParams for a file type that ripgrep does not know.
    """
    nothing: list[PrefilteredFiles | None] = [None] * len(queries)
    # A process that serves one request has no index that is up to date.
    if not workspace.has_index or not _is_plain(scope):
        return nothing
    if workspace.lifetime is Lifetime.COMMAND and _is_small(workspace):
        return nothing
    # Costs the import of numpy.
    from winnow.index.postings.trigrams import condition_of

    conditions = {query: condition_of(query) for query in queries if not query.binary}
    selective = {
        query: condition for query, condition in conditions.items() if not condition.required.is_any
    }
    if not selective:
        return nothing
    scan_seconds = PROCESS_SECONDS + FILE_SECONDS * workspace.index.state().files_total
    timeout = min(scan_seconds, MOST_SECONDS)
    found = await workspace.index.candidates(list(selective.values()), timeout)
    if not found or not (_covers(found[0].paths.keys(), scope) and _is_indexed(workspace, scope)):
        return nothing
    few = {
        query: candidates
        for query, candidates in zip(selective, found, strict=True)
        if candidates.count <= max(FEW, MOST_SHARE * candidates.total)
    }
    if not few:
        return nothing
    types = await file_type_globs(ripgrep, scope.root, scope.filters.file_types)
    most = workspace.config.limits.file_bytes

    def in_scope() -> dict[TextPattern, PrefilteredFiles | None]:
        # A file may be a candidate of many queries.
        size_of = functools.cache(functools.partial(_size_of, str(scope.root)))
        selects = functools.cache(scope.selector(types))
        return {
            query: _in_scope(
                *(candidates, scope, selects),
                most if query.multiline else None,
                size_of,
            )
            for query, candidates in few.items()
        }

    prefiltered = await asyncio.to_thread(in_scope)
    return [prefiltered.get(query) for query in queries]


class IndexedFiles(Struct, frozen=True):
    """The files that the index lists in the roots of a scope, and its unsaved documents, in no
    order. ``covers`` tests whether the scope has one of them, which takes some microseconds."""

    paths: Sequence[str]
    covers: Callable[[str], bool]


async def known_files(workspace: EngineWorkspace, scope: Scope) -> IndexedFiles:
    """Return the files that the index lists, or else ripgrep. Raises InvalidParams for a file type
    that ripgrep does not know."""
    async with workspace.search_slots:
        ripgrep = workspace.run_ripgrep()
        indexed = await indexed_files(workspace, ripgrep, scope)
        if indexed is None:
            with unsaved_overlay(workspace.buffers, scope) as overlay:
                listing = await list_files(ripgrep, scope, overlay)
            indexed = IndexedFiles(listing.paths, lambda path: True)
    return indexed


async def indexed_files(
    workspace: EngineWorkspace, ripgrep: Ripgrep, scope: Scope
) -> IndexedFiles | None:
    """Return the files that the index lists. None if it is not certain to have all, as without a
    watcher.

    Raises InvalidParams for a file type that ripgrep does not know.
    """
    if not workspace.has_index or not _is_plain(scope):
        return None
    if workspace.lifetime is Lifetime.COMMAND and _is_small(workspace):
        return None
    folders = await workspace.index.files(MOST_SECONDS)
    if not folders or not (_covers(folders, scope) and _is_indexed(workspace, scope)):
        return None
    types = await file_type_globs(ripgrep, scope.root, scope.filters.file_types)
    unsaved = await unsaved_files(workspace, ripgrep, scope)

    selects = scope.selector(types)

    def covers(path: str) -> bool:
        root, below = scope.locate(path)
        return selects(scope.roots.index(root), below)

    listed = {**folders, **shared_files(scope)}
    paths = set(unsaved)
    for number, root in enumerate(scope.roots):
        prefix = scope.prefix(number)
        # A deleted file has an empty path.
        paths.update(prefix + path if prefix else path for path in listed[root] if path)
    return IndexedFiles([*paths], covers)


async def unsaved_files(workspace: EngineWorkspace, ripgrep: Ripgrep, scope: Scope) -> list[str]:
    """Return the open documents of a scope that differ from the disk."""
    if not workspace.buffers:
        return []
    types = await file_type_globs(ripgrep, scope.root, scope.filters.file_types)
    return [
        path for path in unsaved_paths(workspace.buffers, scope) if scope.covers_file(path, types)
    ]


def _is_small(workspace: EngineWorkspace) -> bool:
    """Return True if a search of all files takes about as long as starting a command. Only such a
    search counts the files that ripgrep skips, as a command without a background process does."""
    return workspace.index.state().files_total < SMALL_TREE


def _in_scope(
    found: MatchCandidates,
    scope: Scope,
    selects: Callable[[int, str], bool],
    most: int | None,
    size_of: Callable[[str], int | None],
) -> PrefilteredFiles | None:
    """Return the candidates in scope that still exist; None if one has more bytes than ``most``."""

    shared = shared_files(scope)

    def files_of(root: Path) -> list[str]:
        # A cluster's files are few, and each may match.
        return shared[root] if root in shared else found.files(root)

    def binary_files_of(root: Path) -> list[str]:
        return [] if root in shared else found.binary_files(root)

    def selected(files: Callable[[Path], list[str]]) -> list[str]:
        paths: list[str] = []
        for number, root in enumerate(scope.roots):
            below = files(root)
            if scope.is_filtered or len(scope.roots) > 1:
                below = [path for path in below if selects(number, path)]
            prefix = scope.prefix(number)
            paths += [prefix + path for path in below] if prefix else below
        return paths

    regular = _regular(selected(files_of), most, size_of)
    if regular is None:
        return None
    return PrefilteredFiles(
        regular,
        lambda: _regular(selected(binary_files_of), None, size_of) or (),
        found.paths,
    )


def _is_plain(scope: Scope) -> bool:
    """Return True if the index lists all files of the scope."""
    filters = scope.filters
    if filters.include_ignored or filters.include_hidden or filters.include_submodules:
        return False
    return scope.files is None and not scope.follows_links


def _covers(indexed: Iterable[Path], scope: Scope) -> bool:
    """Return True if these folders of the index hold all files of the scope, except those of a
    cluster.

    A folder below another has an index for itself.
    """
    nested = (
        folder not in scope.roots and any(is_below(str(folder), str(root)) for root in scope.roots)
        for folder in indexed
    )
    own = set(scope.roots).difference(shared_files(scope))
    return own <= set(indexed) and not any(nested)


def _is_indexed(workspace: EngineWorkspace, scope: Scope) -> bool:
    """Return True if the index lists the path of the scope, which ripgrep searches even if it is
    hidden or ignored. A single file does not need the index."""
    path = clean_path(scope.paths[0])
    return path == "." or (
        os.path.isdir(scope.root / path) and workspace.index.has_folder(scope.root, path)
    )


def _regular(
    files: Sequence[str], most: int | None, size_of: Callable[[str], int | None]
) -> list[str] | None:
    """Return the regular files among these; None if one has more bytes than ``most``."""
    sizes = [(path, size) for path in files if (size := size_of(path)) is not None]
    if most is not None and any(size > most for _, size in sizes):
        return None
    return [path for path, _ in sizes]


def _size_of(folder: str, path: str) -> int | None:
    """Return the size of a regular file. ripgrep would follow a symlink that is named, and hang on
    a FIFO."""
    try:
        state = os.lstat(join_path(folder, path))
    except (OSError, ValueError):
        return None
    return state.st_size if stat.S_ISREG(state.st_mode) else None
