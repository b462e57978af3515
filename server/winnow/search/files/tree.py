"""tree: the structure of a folder, as far as there is room for it.

Where not everything fits, folders near the top come before deep ones, and of a folder with hundreds
of entries only the first hundred count as being at their depth: an answer is broad, not deep, and
no folder fills it alone. The cursor goes on in that order.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from winnow.config import OWN_FOLDER
from winnow.errors import NotAFolder, SearchTimedOut
from winnow.search.answer import cursor
from winnow.search.answer.completeness import (
    CHANGED,
    completeness_of,
    count_excluded_matches,
    fractions,
    unsaved_failed,
    with_short_deadline,
)
from winnow.search.answer.shorten import shorten
from winnow.storage.paths import shown_path
from winnow.text.buffers import Overlay, unsaved
from winnow.text.folders import Node, add_sizes, add_unlisted, folders_of
from winnow.text.listing import Listing, list_files
from winnow.text.ripgrep import Ripgrep
from winnow.text.sanitize import printable
from winnow.text.scope import Scope, plain
from winnow.text.skipped_files import logged
from winnow.types import Progress, SearchParams
from winnow.types.tree import TreeEntry, TreeParams, TreeResult
from winnow.workspace import Workspace

# So many entries of one folder count as being at its depth, the next so many as one level deeper.
TURN = 100
INDENT = "  "


class Place(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The place of an entry in the order of answers."""

    level: int
    path: bytes


@dataclass
class _Tree:
    """What was found: entries in the order of answers, and where from."""

    params: TreeParams
    scope: Scope
    overlay: Overlay
    root: Node
    entries: list[tuple[Place, Node]]


async def show_tree(workspace: Workspace, params: TreeParams, progress: Progress) -> TreeResult:
    """The folders and files below a path.

    Raises NotAFolder, SearchTimedOut, InvalidParams for a bad glob, and what a scope may raise.
    """
    scope = workspace.scope(_scope_params(params))
    async with workspace.search_slots:
        progress(f"Listing {params.path}")
        ripgrep = workspace.run_ripgrep()
        with unsaved(workspace.buffers, scope) as overlay:
            listing = await list_files(ripgrep, scope, overlay)
            if listing.timed_out and not listing.paths:
                raise SearchTimedOut(ripgrep.seconds)
            tree = await asyncio.to_thread(_tree_of, params, scope, overlay, listing)
            result = await asyncio.to_thread(_result, tree, ripgrep, listing)
        if not tree.entries and not params.cursor:
            more = await _excluded_matches(workspace, params, ripgrep)
            result = msgspec.structs.replace(result, warnings=[*result.warnings, *more])
    return result


def _scope_params(params: TreeParams) -> SearchParams:
    return SearchParams(
        path="" if params.path in ("", ".") else params.path,
        include=params.include,
        exclude=params.exclude,
        include_ignored=params.include_ignored,
        include_hidden=params.show_hidden,
        include_submodules=params.include_submodules,
    )


# --- what there is -------------------------------------------------------------------------


def _tree_of(params: TreeParams, scope: Scope, overlay: Overlay, listing: Listing) -> _Tree:
    """The folders of a listing, in the order of answers. Raises NotAFolder."""
    base = str(scope.root)
    files: dict[Path, list[str]] = {root: [] for root in scope.roots}
    for path in listing.paths:
        files[scope.locate(path)[0]].append(path)
    tops = []
    for path, paths in zip(map(plain, scope.paths), files.values(), strict=True):
        if not os.path.isdir(os.path.join(base, path)):
            raise NotAFolder(params.path)
        top = folders_of(path, paths, params.depth)
        if _can_look_beside(listing):
            covers = functools.partial(_covers, scope, listing)
            listing.unreadable |= add_unlisted(top, base, covers, params.depth)
        if params.show_sizes:
            sizes = {path: overlay.file(path).stat().st_size for path in overlay.paths}
            add_sizes(top, base, paths, sizes)
        tops.append(top)
    root = tops[0]
    if len(tops) > 1:
        root = Node("", ".", "folder", -1, {top.path: top for top in tops})
        for top, folder in zip(tops, scope.roots, strict=True):
            top.name = shown_path(str(folder))[0]
    return _Tree(params, scope, overlay, root, sorted(_places(root, 0), key=_first))


def _can_look_beside(listing: Listing) -> bool:
    """Whether all that ripgrep left out is known."""
    skipped = listing.skipped_files
    return bool(skipped and skipped.has_log and not skipped.is_truncated and not listing.timed_out)


def _covers(scope: Scope, listing: Listing, path: str) -> bool:
    """Whether a symlink, or a folder with a slash behind it, is left out by nobody."""
    if os.path.basename(path.rstrip("/")) == OWN_FOLDER:  # it may be made at this moment
        return False
    left_out = listing.skipped_files.excluded if listing.skipped_files else ()
    return logged(path.rstrip("/")) not in left_out and not scope.leaves_out(path)


def _first(entry: tuple[Place, Node]) -> Place:
    return entry[0]


def _places(node: Node, level: int) -> Iterator[tuple[Place, Node]]:
    for rank, child in enumerate(node.ordered()):
        place = Place(level + rank // TURN, os.fsencode(child.path).replace(b"/", b"\0"))
        yield place, child
        yield from _places(child, place.level + 1)


# --- answer --------------------------------------------------------------------------------


def _result(tree: _Tree, ripgrep: Ripgrep, listing: Listing) -> TreeResult:
    """The page behind the cursor, in at most ``max_tokens``."""
    warnings = [*tree.scope.warnings, *unsaved_failed(tree.overlay)]
    if listing.skipped_files and listing.skipped_files.is_truncated:
        warnings.append("symlinks and empty folders are not shown: too much was left out")
    first, changed = cursor.resume(
        tree.params,
        Place,
        passed=lambda last: sum(place <= last for place, _ in tree.entries),
        stamp=lambda first: _stamp(tree, first),
    )
    skipped = listing.skipped_files
    completeness = completeness_of(
        ripgrep,
        skipped,
        timed_out=listing.timed_out,
        unreadable=listing.unreadable,
        more=[CHANGED] if changed else [],
    )
    count = min(len(tree.entries) - first, tree.params.max_entries)

    def page_of(count: int, *, bare: bool = False) -> TreeResult:
        end = first + count
        truncated = end < len(tree.entries)
        chosen = [node for _, node in tree.entries[first:end]]
        entries = _entries(tree, chosen, bare=bare)
        lines = [printable(_title(tree)), *_lines(entries, INDENT)]
        if omitted := len(tree.root.children) - len(entries):
            lines.append(f"{INDENT}… {omitted} more")
        shortened = bare and any(tree.params.show_sizes or node.target for node in chosen)
        return TreeResult(
            root=shown_path(str(tree.scope.root))[0],
            entries=entries,
            text="\n".join(lines),
            total_found=len(tree.entries),
            returned=count,
            truncated=truncated or shortened,
            completeness=completeness,
            warnings=warnings,
            cursor=_cursor(tree, end) if truncated and end else None,
        )

    shorter = [functools.partial(page_of, some, bare=True) for some in fractions(count)]
    return shorten(page_of(count), tree.params.max_tokens, shorter)


def _title(tree: _Tree) -> str:
    if len(tree.scope.paths) > 1:
        return "the workspace folders"
    path = tree.root.path
    name = os.path.basename(str(tree.scope.root)) if path == "." else shown_path(path)[0]
    return f"{name}/"


def _cursor(tree: _Tree, end: int) -> str:
    return cursor.encode(tree.params, tree.entries[end - 1][0], _stamp(tree, end))


def _stamp(tree: _Tree, end: int) -> bytes:
    return cursor.stamp_of([node.path for _, node in tree.entries[:end]])


def _entries(tree: _Tree, chosen: Sequence[Node], *, bare: bool) -> list[TreeEntry]:
    """The chosen entries as they lie in their folders, with the folders on the way to them."""
    wanted = {node.path for node in chosen}
    on_the_way = {".", ""}
    for node in chosen:
        above = node.path
        while above not in on_the_way:
            on_the_way.add(above)
            above = above.rpartition("/")[0]

    def inside(folder: Node) -> list[TreeEntry]:
        made = []
        for node in folder.ordered():
            children = inside(node) if node.path in on_the_way else []
            if node.path in wanted or children:
                made.append(_entry(tree, node, children, bare=bare))
        return made

    return inside(tree.root)


def _entry(tree: _Tree, node: Node, children: list[TreeEntry], *, bare: bool) -> TreeEntry:
    is_folder = node.kind == "folder"
    at_limit = is_folder and node.depth >= tree.params.depth
    below = node.files or node.unlisted
    omitted = below if at_limit else len(node.children) - len(children)
    sized = tree.params.show_sizes and not bare and node.kind != "symlink"
    name, encoded = shown_path(node.name)
    return TreeEntry(
        name=name,
        type=node.kind,
        size=node.size if sized else None,
        files=node.files if is_folder else None,
        children=children if is_folder and not at_limit else None,
        omitted=omitted or None,
        target=shown_path(node.target)[0] if node.target and not bare else None,
        unsaved=node.path in tree.overlay.paths,
        uri=tree.scope.shown(node.path).uri if encoded else None,
    )


def _lines(entries: Sequence[TreeEntry], indent: str) -> Iterator[str]:
    """The entries as lines for a model: folders end in a slash, `…` says what was left out."""
    for entry in entries:
        line = indent + printable(entry.name) + "/" * (entry.type == "folder")
        if entry.size is not None:
            line += f"  {entry.size:,} B"
        if entry.target is not None:
            line += f" -> {printable(entry.target)}"
        if entry.unsaved:
            line += "  (not saved)"
        if entry.children is None and entry.omitted:
            line += f" … {_count(entry.files, 'file') if entry.files else f'{entry.omitted} more'}"
        yield line
        if entry.children is not None:
            yield from _lines(entry.children, indent + INDENT)
            if entry.omitted:
                yield f"{indent}{INDENT}… {entry.omitted} more"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


async def _excluded_matches(
    workspace: Workspace, params: TreeParams, ripgrep: Ripgrep
) -> list[str]:
    """Nothing is there: say what the files that were left out would be."""

    async def count(params: SearchParams) -> int:
        listing = await list_files(with_short_deadline(ripgrep), workspace.scope(params), Overlay())
        return len(listing.paths)

    found, flags = await count_excluded_matches(_scope_params(params), count)
    if not found:
        return []
    names = ["show_hidden" if flag == "include_hidden" else flag for flag in flags]
    return [f"no files; {_count(found, 'file')} left out: pass {' and '.join(names)}"]
