"""The tree of folders below a path, from a list of files and the folders themselves.

ripgrep lists files. Symlinks and folders without searched files are added here, except those that
ripgrep's log excludes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["file", "folder", "symlink"]


@dataclass
class Node:
    """An entry of a folder. ``files`` counts the files below a folder at any depth, ``size`` is
    their total in bytes, if requested; ``target`` is the target of a symlink. ``unlisted`` counts
    the entries of a folder without files that have no nodes because of the depth.
    """

    name: str
    path: str
    kind: Kind
    depth: int
    children: dict[str, Node] = field(default_factory=dict)
    files: int = 0
    size: int = 0
    target: str = ""
    unlisted: int = 0

    def ordered(self) -> list[Node]:
        """Return the entries of a folder: folders first, then by the bytes of the name."""
        return sorted(
            self.children.values(), key=lambda node: (node.kind != "folder", os.fsencode(node.name))
        )


def folders_of(top: str, paths: Iterable[str], depth: int) -> Node:
    """Return the tree of the files below ``top``, to a depth; deeper files are only counted."""
    root = Node("", top, "folder", 0)
    for _, parts in _paths_below(top, paths):
        node = root
        node.files += 1
        for level, name in enumerate(parts[:depth], 1):
            below = node.children.get(name)
            if below is None:
                kind: Kind = "folder" if level < len(parts) else "file"
                below = Node(name, name if node.path == "." else f"{node.path}/{name}", kind, level)
                node.children[name] = below
            node = below
            node.files += node.kind == "folder"
    return root


def add_unlisted(root: Node, base: str, covers: Callable[[str], bool], depth: int) -> set[str]:
    """Add symlinks and empty folders, which no list of files contains.

    Paths are relative to ``base``. ``covers`` is False for ignored and hidden paths; paths of
    folders have a trailing slash. Return the folders that cannot be read.
    """
    unreadable = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        try:
            with os.scandir(os.path.join(base, node.path)) as entries:
                found = list(entries)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable.add(node.path)
            continue
        for entry in found:
            path = entry.name if node.path == "." else f"{node.path}/{entry.name}"
            child = node.children.get(entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if child is None:
                if not (is_folder or entry.is_symlink()) or not covers(path + "/" * is_folder):
                    continue
                if node.depth >= depth:
                    node.unlisted += 1
                    continue
                child = Node(entry.name, path, "folder" if is_folder else "symlink", node.depth + 1)
                with contextlib.suppress(OSError):
                    child.target = "" if is_folder else os.readlink(entry.path)
                node.children[entry.name] = child
            if is_folder and child.kind == "folder" and (child.depth < depth or not child.files):
                waiting.append(child)
    return unreadable


def add_sizes(root: Node, base: str, paths: Iterable[str], unsaved: Mapping[str, int]) -> None:
    """Add the sizes of files; ``unsaved`` has the sizes of unsaved documents."""
    for path, parts in _paths_below(root.path, paths):
        try:
            size = unsaved[path] if path in unsaved else os.lstat(os.path.join(base, path)).st_size
        except OSError:
            continue
        node: Node | None = root
        root.size += size
        for name in parts:
            node = node.children.get(name) if node else None
            if node is None:
                break
            node.size += size


def _paths_below(top: str, paths: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the paths below ``top``, each with its names from there."""
    prefix = "" if top == "." else f"{top}/"
    for path in paths:
        if path.startswith(prefix) and not (top == "." and os.path.isabs(path)):
            yield path, path[len(prefix) :].split("/")
