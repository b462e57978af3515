"""Folders: what is in them, made from the paths of files and a look at the folders themselves.

ripgrep lists files. What it does not list (symlinks, folders without files that count) is found
beside them, without what it said it left out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["file", "folder", "symlink"]


@dataclass
class Node:
    """An entry of a folder. ``files`` counts the files below a folder at any depth, ``size`` is
    theirs in bytes, as far as it was asked for; ``target`` is what a symlink says. ``unlisted``
    counts the entries of a folder without files that has no nodes for them, because of the depth.
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
        """The entries of a folder: folders first, then by the bytes of the name."""
        return sorted(
            self.children.values(), key=lambda one: (one.kind != "folder", os.fsencode(one.name))
        )


def folders_of(top: str, paths: Iterable[str], depth: int) -> Node:
    """The tree of the files below ``top``, with nodes down to a depth; deeper ones are counted."""
    root = Node("", top, "folder", 0)
    prefix = "" if top == "." else f"{top}/"
    for path in paths:
        if not path.startswith(prefix) or (top == "." and os.path.isabs(path)):
            continue
        node = root
        parts = path[len(prefix) :].split("/")
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
    """Add to the folders what no list of files holds: symlinks and empty folders.

    ``base`` is the folder that paths are relative to, ``covers`` whether a path, of a folder with a
    slash behind it, is neither ignored nor hidden. Gives the folders that could not be read.
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
            known = node.children.get(entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if known is None:
                if not (is_folder or entry.is_symlink()) or not covers(path + "/" * is_folder):
                    continue
                if node.depth >= depth:
                    node.unlisted += 1
                    continue
                known = Node(entry.name, path, "folder" if is_folder else "symlink", node.depth + 1)
                with contextlib.suppress(OSError):
                    known.target = "" if is_folder else os.readlink(entry.path)
                node.children[entry.name] = known
            if is_folder and known.kind == "folder" and (known.depth < depth or not known.files):
                waiting.append(known)
    return unreadable


def add_sizes(root: Node, base: str, paths: Iterable[str], unsaved: Mapping[str, int]) -> None:
    """Add up the sizes of files; ``unsaved`` are those of documents that are not saved."""
    prefix = "" if root.path == "." else f"{root.path}/"
    for path in paths:
        if not path.startswith(prefix) or (root.path == "." and os.path.isabs(path)):
            continue
        try:
            size = unsaved[path] if path in unsaved else os.lstat(os.path.join(base, path)).st_size
        except OSError:
            continue
        node: Node | None = root
        root.size += size
        for name in path[len(prefix) :].split("/"):
            node = node.children.get(name) if node else None
            if node is None:
                break
            node.size += size
