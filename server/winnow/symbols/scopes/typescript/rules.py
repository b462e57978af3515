"""The rules by which names of TypeScript, JavaScript and components are resolved, and which file an
import names."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols.resolve.rules import Rules, shared_folders
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


# --- rules ---------------------------------------------------------------------------------------

WRAPPERS = frozenset(
    "Partial Required Readonly NonNullable Awaited Promise PromiseLike Omit Pick Exclude Extract"
    " DeepPartial NoInfer".split()
)
_LISTS = frozenset(
    "Array ReadonlyArray Set ReadonlySet Iterable Iterator IterableIterator AsyncIterable"
    " AsyncIterableIterator Generator AsyncGenerator".split()
)
# List members that return a list of the same items, and those that return one item.
_SAME = frozenset("filter slice concat reverse sort splice values toSorted toReversed".split())
_ITEM = frozenset("find findLast at pop shift".split())
_TAKES = frozenset("push unshift add fill".split())
# The most frequent members of built-in types.
_COMMON = frozenset(
    "length concat join slice indexOf includes push pop shift unshift splice map filter forEach"
    " reduce some every find findIndex flat flatMap keys values entries fill sort reverse at"
    " charAt charCodeAt codePointAt endsWith startsWith match matchAll normalize padEnd padStart"
    " repeat replace replaceAll search split substring toLowerCase toUpperCase trim trimEnd"
    " trimStart toString valueOf toFixed hasOwnProperty apply call bind name message stack cause"
    " get set has add delete clear size then catch finally next return throw exec test source"
    " flags lastIndex getTime toISOString toJSON resolve reject description constructor prototype"
    " byteLength buffer abort signal aborted addEventListener removeEventListener dispatchEvent"
    " type target data value done".split()
)
TYPESCRIPT_RULES = Rules(
    module=module,
    instance=frozenset(("this",)),
    family=True,
    merging=True,
    renames=True,
    closed=True,
    scripts="always",
    marked=True,
    typed_parameters=True,
    any_types=frozenset(("any", "unknown")),
    wrappers=WRAPPERS,
    containers=_LISTS,
    same=_SAME,
    item=_ITEM,
    takes=_TAKES,
    common=_COMMON,
    self_types=frozenset(("this",)),
)
# Frameworks import functions into components by themselves.
COMPONENT_RULES = replace(
    TYPESCRIPT_RULES, everywhere=frozenset(("function", "constant", "module"))
)
JAVASCRIPT_RULES = replace(
    TYPESCRIPT_RULES,
    scripts="loaded",
    typed_parameters=False,
    any_types=frozenset(("any", "unknown", "*")),
    self_types=frozenset(),
)
