"""Which files can match a query at all, by the index: ripgrep reads just these.

An index that knows every file as it is now, and by its trigrams what cannot stand in it, leaves few
of them. The answer is the one that a search of the whole tree gives; where that is not certain, the
whole tree is searched. Which files are in the scope of a request, ripgrep would tell by looking at
all: here the request's own filters are applied to the files that the index names, as they are where
a search is confined to changed or open files.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.errors import InvalidParams
from winnow.storage.paths import is_below
from winnow.text.ripgrep import Ripgrep, TextPattern
from winnow.text.scope import Scope, joined, plain
from winnow.text.selection import file_type_globs
from winnow.types import FileParams, SearchParams
from winnow.workspace import Workspace

if TYPE_CHECKING:
    from winnow.index.workspace_index import MatchCandidates

# Of more files than this part, ripgrep reads all about as fast as those that are named.
MOST_SHARE = 0.25
# As many cost nothing beside the start of a process.
FEW = 20
# An index that is busy is waited for as long as a search of all would take, about, to start ripgrep
# and to read the files: what that may cost is no more than it can save. No longer than all searches
# wait.
PROCESS_SECONDS = 0.01
FILE_SECONDS = 20e-6
MOST_SECONDS = 0.15


class Narrowed(Struct, frozen=True):
    """The only files on disk that may match, in paths as ripgrep prints them; ``searched`` is how
    many files a search of the scope reads, if that is known. ``binary`` gives those that ripgrep
    passes over, ``known`` all that the index knows, by folder."""

    files: Sequence[str]
    searched: int | None
    binary: Callable[[], Sequence[str]]
    known: Mapping[Path, Sequence[str]]

    def unknown(self, scope: Scope, listed: Sequence[str]) -> list[str]:
        """Those of some files that the index does not know: they may match, too."""
        known = set(self.known.get(scope.root, ()))
        for place, root in enumerate(scope.roots[1:], 1):
            prefix = scope.prefix(place)
            known.update(prefix + path for path in self.known.get(root, ()))
        return [path for path in listed if path not in known]


async def narrowed(
    workspace: Workspace,
    ripgrep: Ripgrep,
    scope: Scope,
    params: SearchParams,
    queries: Sequence[TextPattern],
) -> list[Narrowed | None]:
    """For each query what the index leaves of a scope; None where a search of all of it is as good
    or better."""
    nothing: list[Narrowed | None] = [None] * len(queries)
    # In a process that lives for one request there is none that is up to date.
    if not workspace.has_index or not _is_plain(scope, params):
        return nothing
    # Costs the import of numpy.
    from winnow.index.postings.trigrams import condition_of

    conditions = {query: condition_of(query) for query in queries if not query.binary}
    asked = {query: one for query, one in conditions.items() if not one.required.is_any}
    if not asked:
        return nothing
    whole = PROCESS_SECONDS + FILE_SECONDS * workspace.index.state().files_total
    found = await workspace.index.candidates(list(asked.values()), min(whole, MOST_SECONDS))
    if not found or not (_covers(found[0].paths.keys(), scope) and _is_known(workspace, scope)):
        return nothing
    few = {
        query: one
        for query, one in zip(asked, found, strict=True)
        if one.count <= max(FEW, MOST_SHARE * one.total)
    }
    if not few:
        return nothing
    try:
        types = await file_type_globs(ripgrep, scope.root, params.file_types)
    except InvalidParams:  # which ripgrep says better
        return nothing
    most = workspace.config.limits.file_bytes

    def of_scope() -> dict[TextPattern, Narrowed | None]:
        return {
            query: _of_scope(one, scope, params, types, most if query.multiline else None)
            for query, one in few.items()
        }

    known = await asyncio.to_thread(of_scope)
    return [known.get(query) for query in queries]


def _of_scope(
    found: MatchCandidates,
    scope: Scope,
    params: SearchParams,
    types: Sequence[re.Pattern[str]],
    most: int | None,
) -> Narrowed | None:
    """Those that are in the scope of a request and still there; None if one has more bytes than
    ``most``."""
    filtered = params.include or params.exclude or params.file_types or params.path

    def asked_for(files: Callable[[Path], list[str]]) -> list[str]:
        paths: list[str] = []
        for place, root in enumerate(scope.roots):
            below = files(root)
            if filtered or len(scope.roots) > 1:
                below = [path for path in below if _is_asked_for(scope, place, path, types)]
            prefix = scope.prefix(place)
            paths += [prefix + path for path in below] if prefix else below
        return paths

    regular = _regular(scope.root, asked_for(found.files), most)
    if regular is None:
        return None
    whole = not filtered and len(scope.roots) == len(found.paths)
    searched = found.total + sum(map(len, found.binary.values()))
    return Narrowed(
        regular,
        searched if whole else None,
        lambda: _regular(scope.root, asked_for(found.binary_files), None) or (),
        found.paths,
    )


def _is_plain(scope: Scope, params: SearchParams) -> bool:
    """Whether a request is for files that the index lists, too."""
    if params.include_ignored or params.include_hidden or params.include_submodules:
        return False
    if isinstance(params, FileParams) and params.follow_symlinks:
        return False
    return scope.files is None


def _covers(indexed: Iterable[Path], scope: Scope) -> bool:
    """Whether these folders of the index hold all files of the scope: one that is below another one
    has its own."""
    nested = (
        one not in scope.roots and any(is_below(str(one), str(root)) for root in scope.roots)
        for one in indexed
    )
    return set(scope.roots) <= set(indexed) and not any(nested)


def _is_known(workspace: Workspace, scope: Scope) -> bool:
    """Whether the path that is asked for is one that the index lists: ripgrep searches it even if
    it is hidden or ignored. A file by itself needs no index."""
    path = plain(scope.paths[0])
    return path == "." or (
        os.path.isdir(scope.root / path) and workspace.index.has_folder(scope.root, path)
    )


def _is_asked_for(scope: Scope, place: int, path: str, types: Sequence[re.Pattern[str]]) -> bool:
    return scope.within_paths(place, path) and scope.covers_named(scope.prefix(place) + path, types)


def _regular(root: Path, files: Sequence[str], most: int | None) -> list[str] | None:
    """The files that still are: ripgrep follows a link that is named, and waits for ever at a FIFO.
    None if one has more bytes than ``most``."""
    found = []
    folder = str(root)
    for path in files:
        try:
            state = os.lstat(joined(folder, path))
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(state.st_mode):
            continue
        if most is not None and state.st_size > most:
            return None
        found.append(path)
    return found
