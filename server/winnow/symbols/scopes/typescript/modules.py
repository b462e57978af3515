"""Find the files that imports name."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from winnow.symbols.resolve.rules import shared_folders
from winnow.symbols.scopes import projects

if TYPE_CHECKING:
    from winnow.symbols.view import SymbolView

_EXTENSIONS = tuple(".ts .tsx .d.ts .js .jsx .mts .cts .mjs .cjs .d.mts .d.cts".split())
_WRITTEN_EXTENSIONS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_KEPT_EXTENSIONS = (".vue", ".svelte", ".astro")
# Module prefixes that mean the source folder of a package.
_SOURCES = ("@/", "~/", "#/", "src/", "$lib/")


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the file that an import from `name` resolves to, or the file itself for an empty
    name."""
    if not name:
        return importer
    folder = importer.rpartition("/")[0]
    if name.startswith("."):
        return _file(view, posixpath.normpath(f"{folder}/{name}"))
    for path in projects.aliased(view, folder, name):
        found = _file(view, path)
        if found is not None:
            return found
    if name.startswith(("/", "node:")):
        return None
    for start in _SOURCES:
        if name.startswith(start):
            return _above(view, folder, name[len(start) :])
    return _package(view, importer, name)


def _file(view: SymbolView, stem: str) -> str | None:
    """Return the file at this path with any of the extensions that may be omitted."""
    if stem.endswith(_KEPT_EXTENSIONS):
        return stem if view.file(stem) is not None else None
    stems = [stem]
    for end in _WRITTEN_EXTENSIONS:
        if stem.endswith(end):
            if view.file(stem) is not None:
                return stem
            stems = [stem[: -len(end)], stem]
            break
    for path in stems:
        for middle in ("", "/index"):
            for end in _EXTENSIONS:
                if view.file(path + middle + end) is not None:
                    return path + middle + end
    return None


def _above(view: SymbolView, folder: str, rest: str) -> str | None:
    """Return a file of the sources in a parent folder."""
    while folder:
        for sources in ("/src", ""):
            found = _file(view, f"{folder}{sources}/{rest}")
            if found is not None:
                return found
        folder = folder.rpartition("/")[0]
    return None


def _package(view: SymbolView, importer: str, name: str) -> str | None:
    """Return a file of another workspace package, from its `package.json` or its folder name."""
    parts = name.split("/")
    count = 2 if name[0] == "@" else 1
    package, rest = parts[min(count, len(parts)) - 1], "/".join(parts[count:])
    by_folder: dict[str, str] = {}
    for around, stem in projects.packaged(view, "/".join(parts[:count]), rest):
        path = None if around in by_folder else _file(view, stem)
        if path is not None:
            by_folder[around] = path
    if by_folder:
        return max(
            by_folder.values(), key=lambda path: (shared_folders(path, importer), -len(path))
        )
    stems = [rest, f"{rest}/index"] if rest else ["index"]
    found: list[str] = []
    for middle in (f"{package}/src/", f"{package}/"):
        for ending in (middle + stem + end for stem in stems for end in _EXTENSIONS):
            for file in view.files_ending(ending):
                folder = file.path[: len(file.path) - len(ending)] + package
                if os.path.isfile(f"{folder}/package.json"):
                    found.append(file.path)
        if found:
            break
    if not found:
        return None
    return max(found, key=lambda path: (shared_folders(path, importer), -len(path)))
