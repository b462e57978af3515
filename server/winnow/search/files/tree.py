"""Read the structure of a folder.

Entries are ordered so that a page is broad rather than deep: entries near the top come first. Of a
folder with hundreds of entries, only the first hundred count as being at its depth, so that no
folder fills a page alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import NotAFolder, SearchTimedOut
from winnow.search.answer.completeness import (
    completeness_of,
    count_excluded_matches,
    unsaved_failed,
    with_short_deadline,
)
from winnow.storage.paths import shown_path
from winnow.storage.state_folder import OWN_FOLDER
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.folders import Kind, Node, add_sizes, add_unlisted, folders_of
from winnow.text.listing import Listing, list_files
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Filters, Scope, clean_path
from winnow.text.skipped_files import as_logged
from winnow.types import Completeness, Result
from winnow.workspace import EngineWorkspace

# Entries of a folder that count as being at its depth; the next hundred are one level deeper.
ENTRIES_PER_LEVEL = 100


class TreeEntry(Result, frozen=True, kw_only=True):
    """A file, a folder or a symlink. Symlinks are not followed."""

    name: Annotated[str, Meta(description="The name, without the folders above it.")]
    type: Annotated[Kind, Meta(description="The kind of entry.")]
    size: Annotated[
        int | None, Meta(description="In bytes; for a folder, of all files below it.")
    ] = None
    files: Annotated[
        int | None, Meta(description="Number of files below a folder, at any depth.")
    ] = None
    children: Annotated[
        list[TreeEntry] | None,
        Meta(description="The entries of a folder; absent at the limit of `depth`."),
    ] = None
    omitted: Annotated[
        int | None,
        Meta(
            description="Number of the folder's own entries that this answer omits; for a folder at"
            " the limit of `depth`, the number of files below it."
        ),
    ] = None
    target: Annotated[str | None, Meta(description="The target of a symlink.")] = None
    unsaved: Annotated[bool, Meta(description="Open in the editor with unsaved text.")] = False
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class TreePosition(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The position of an entry in the order of answers."""

    level: int
    path: bytes


@dataclass(frozen=True)
class FolderTree:
    """The tree below a folder; `nodes` are all entries in the order of answers."""

    scope: Scope
    depth: int
    has_sizes: bool
    ripgrep: Ripgrep
    overlay: Overlay
    listing: Listing
    root: Node
    nodes: Sequence[tuple[TreePosition, Node]]

    @property
    def title(self) -> str:
        """The name of the folder."""
        if len(self.scope.paths) > 1:
            return "the workspace folders"
        path = self.root.path
        name = os.path.basename(str(self.scope.root)) if path == "." else shown_path(path)[0]
        return f"{name}/"

    def entries(self, chosen: Sequence[Node], *, bare: bool) -> list[TreeEntry]:
        """Return the tree of the chosen nodes and the folders that lead to them.

        `bare` entries have no size and no target.
        """
        paths = {node.path for node in chosen}
        parents = {".", ""}
        for node in chosen:
            above = node.path
            while above not in parents:
                parents.add(above)
                above = above.rpartition("/")[0]

        def inside(folder: Node) -> list[TreeEntry]:
            entries = []
            for node in folder.ordered():
                children = inside(node) if node.path in parents else []
                if node.path in paths or children:
                    entries.append(self._entry(node, children, bare=bare))
            return entries

        return inside(self.root)

    def _entry(self, node: Node, children: list[TreeEntry], *, bare: bool) -> TreeEntry:
        is_folder = node.kind == "folder"
        at_limit = is_folder and node.depth >= self.depth
        below = node.files or node.unlisted
        omitted = below if at_limit else len(node.children) - len(children)
        has_size = self.has_sizes and not bare and node.kind != "symlink"
        name, encoded = shown_path(node.name)
        return TreeEntry(
            name=name,
            type=node.kind,
            size=node.size if has_size else None,
            files=node.files if is_folder else None,
            children=children if is_folder and not at_limit else None,
            omitted=omitted or None,
            target=shown_path(node.target)[0] if node.target and not bare else None,
            unsaved=node.path in self.overlay.paths,
            uri=self.scope.shown(node.path).uri if encoded else None,
        )

    def completeness(self, *reasons: str) -> Completeness:
        """Return the completeness of an answer, which is incomplete for further `reasons`."""
        return completeness_of(
            self.ripgrep,
            self.listing.skipped_files,
            timed_out=self.listing.timed_out,
            unreadable=self.listing.unreadable,
            more=reasons,
        )

    @property
    def warnings(self) -> list[str]:
        """The warnings of an answer."""
        warnings = [*self.scope.warnings, *unsaved_failed(self.overlay)]
        if self.listing.skipped_files and self.listing.skipped_files.is_truncated:
            warnings.append("symlinks and empty folders are not shown: too many files are excluded")
        return warnings


@contextlib.asynccontextmanager
async def list_tree(
    workspace: EngineWorkspace, ripgrep: Ripgrep, scope: Scope, *, depth: int, sizes: bool
) -> AsyncIterator[FolderTree]:
    """List the folders and files in scope, to a depth, perhaps with their sizes.

    Raises NotAFolder and SearchTimedOut.
    """
    with unsaved_overlay(workspace.buffers, scope) as overlay:
        listing = await list_files(ripgrep, scope, overlay)
        if listing.timed_out and not listing.paths:
            raise SearchTimedOut(ripgrep.seconds)
        root = await asyncio.to_thread(_root, scope, overlay, listing, depth, sizes)
        nodes = sorted(_ordered(root, 0), key=lambda entry: entry[0])
        yield FolderTree(scope, depth, sizes, ripgrep, overlay, listing, root, nodes)


async def excluded_files(workspace: EngineWorkspace, tree: FolderTree) -> tuple[int, list[str]]:
    """Return the number of excluded files, and the params that would include them."""

    async def count(filters: Filters) -> int:
        ripgrep = with_short_deadline(tree.ripgrep)
        listing = await list_files(ripgrep, workspace.scope(filters), Overlay())
        return len(listing.paths)

    return await count_excluded_matches(tree.scope.filters, count)


def _root(scope: Scope, overlay: Overlay, listing: Listing, depth: int, sizes: bool) -> Node:
    """Build the tree of a listing. Raise NotAFolder."""
    base = str(scope.root)
    files: dict[Path, list[str]] = {root: [] for root in scope.roots}
    for path in listing.paths:
        files[scope.locate(path)[0]].append(path)
    tops = []
    for path, paths in zip(map(clean_path, scope.paths), files.values(), strict=True):
        if not os.path.isdir(os.path.join(base, path)):
            raise NotAFolder(scope.filters.path)
        top = folders_of(path, paths, depth)
        if _knows_excluded(listing):
            covers = functools.partial(_covers, scope, listing)
            listing.unreadable |= add_unlisted(top, base, covers, depth)
        if sizes:
            unsaved_sizes = {path: overlay.file(path).stat().st_size for path in overlay.paths}
            add_sizes(top, base, paths, unsaved_sizes)
        tops.append(top)
    if len(tops) == 1:
        return tops[0]
    for top, folder in zip(tops, scope.roots, strict=True):
        top.name = shown_path(str(folder))[0]
    return Node("", ".", "folder", -1, {top.path: top for top in tops})


def _knows_excluded(listing: Listing) -> bool:
    """Return True if all files that ripgrep excludes are known."""
    skipped = listing.skipped_files
    return bool(skipped and skipped.has_log and not skipped.is_truncated and not listing.timed_out)


def _covers(scope: Scope, listing: Listing, path: str) -> bool:
    """Return True unless a symlink, or a folder with a trailing slash, is excluded."""
    if os.path.basename(path.rstrip("/")) == OWN_FOLDER:  # it may be created at this moment
        return False
    excluded = listing.skipped_files.excluded if listing.skipped_files else ()
    return as_logged(path.rstrip("/")) not in excluded and not scope.excludes(path)


def _ordered(node: Node, level: int) -> Iterator[tuple[TreePosition, Node]]:
    for rank, child in enumerate(node.ordered()):
        path = os.fsencode(child.path).replace(b"/", b"\0")
        position = TreePosition(level + rank // ENTRIES_PER_LEVEL, path)
        yield position, child
        yield from _ordered(child, position.level + 1)
