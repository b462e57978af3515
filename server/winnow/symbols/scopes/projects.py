"""Read module aliases of TypeScript and JavaScript from JSON files.

`tsconfig.json` and `package.json` give aliases to files and folders. Extraction stores each as an
import of the JSON file: the pattern, and its path. `.` is the `baseUrl`, or the main file of a
package. Extended or referenced configurations are stored as star imports.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from winnow.symbols.file_symbols import STRING, Import
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

CONFIGURATIONS = ("tsconfig.json", "jsconfig.json")
MANIFEST = "package.json"
# The prefix of occurrences that list packages by name; no source contains it.
_PACKAGE = "package#"
# Keys for the main file of a package, sources before build output.
_MAIN = ("source", "types", "typings", "module", "main")
# Folders of build output; sources are searched in their place.
_MADE = re.compile(r"(?:dist|build|lib|out|output|esm|cjs|types|es|umd)(?:/|$)")
# The maximum number of configurations in a chain.
_DEPTH = 8


# --- extraction ---------------------------------------------------------------------------------


def collect(extraction: Extraction) -> None:
    """Add the aliases of a configuration or manifest; other JSON files have none."""
    root = next(
        (child for child in extraction.roots[0].named_children if child.type == "object"), None
    )
    settings = _pairs(extraction, root)
    options = _pairs(extraction, settings.get("compilerOptions"))
    for text, node in _strings(extraction, options.get("baseUrl")):
        _add(extraction, ".", text, node)
    for pattern, value in _pairs(extraction, options.get("paths")).items():
        for text, node in _strings(extraction, value):
            _add(extraction, pattern, text, node)
    for key in ("extends", "references"):
        extraction.stars += [text for text, _ in _strings(extraction, settings.get(key))]
    if "compilerOptions" in settings or "extends" in settings:
        return
    for name, node in _strings(extraction, settings.get("name"))[:1]:
        extraction.package = name
        extraction.more.append((_PACKAGE + name, node.start_byte, STRING))
    exports = settings.get("exports")
    ways = _pairs(extraction, exports)
    if exports is not None and not any(way.startswith(".") for way in ways):
        ways = {".": exports}
    for way, value in [*ways.items(), *_pairs(extraction, settings.get("imports")).items()]:
        if way.startswith((".", "#")):
            for text, node in _strings(extraction, value):
                _add(extraction, way, text, node)
    for key in _MAIN:
        for text, node in _strings(extraction, settings.get(key)):
            _add(extraction, ".", text, node)


def _add(extraction: Extraction, pattern: str, path: str, node: tree_sitter.Node) -> None:
    extraction.imports.append(Import(pattern, path, "", 0, node.start_byte, exported=False))


def _pairs(extraction: Extraction, node: tree_sitter.Node | None) -> dict[str, tree_sitter.Node]:
    """Return the keys and values of an object; nothing for other nodes."""
    found: dict[str, tree_sitter.Node] = {}
    for pair in node.named_children if node is not None and node.type == "object" else ():
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None:
            found[extraction.text(key).strip('"')] = value
    return found


def _strings(
    extraction: Extraction, node: tree_sitter.Node | None
) -> list[tuple[str, tree_sitter.Node]]:
    """Return all strings in a value, including nested conditions and lists."""
    if node is None:
        return []
    if node.type == "string":
        return [(extraction.text(node).strip('"'), node)]
    if node.type == "pair":
        return _strings(extraction, node.child_by_field_name("value"))
    return [found for child in node.named_children for found in _strings(extraction, child)]


# --- resolving -----------------------------------------------------------------------------------


class Alias(NamedTuple):
    """A module pattern, and its path.

    The modules start and end with these texts, and ``*`` in the path stands for the rest. If
    ``end`` is None, there is no ``*`` and the module name is exactly ``start``.
    """

    start: str
    end: str | None
    path: str

    def path_of(self, name: str) -> str | None:
        if self.end is None:
            return self.path if name == self.start else None
        size = len(self.start) + len(self.end)
        if len(name) < size or not (name.startswith(self.start) and name.endswith(self.end)):
            return None
        return self.path.replace("*", name[len(self.start) : len(name) - len(self.end)], 1)


# The aliases of each folder, per view. Thousands of files query the same ones.
_known: WeakKeyDictionary[SymbolView, dict[str, list[Alias]]] = WeakKeyDictionary()


def aliased(view: SymbolView, folder: str, name: str) -> Iterator[str]:
    """Yield the paths, without extensions, that a module can mean by the configurations around a
    folder, most likely first."""
    for alias in _aliases(view, folder):
        path = alias.path_of(name)
        if path is not None:
            yield path


def packaged(view: SymbolView, package: str, rest: str) -> Iterator[tuple[str, str]]:
    """Yield the folders of a workspace package, each with a path, without extension, that a module
    of it can mean."""
    for file, _ in view.occurrences(_PACKAGE + package):
        folder, _, name = file.path.rpartition("/")
        scope_table = view.scope_table(file.path) if name == MANIFEST else None
        if scope_table is None:
            continue
        way = f"./{rest}" if rest else "."
        for alias in _ordered(_read(scope_table.imports, folder)):
            path = alias.path_of(way)
            if path is not None:
                yield from ((folder, source) for source in _sources(folder, path))
        for place in (f"{folder}/src", folder):
            yield folder, f"{place}/{rest}" if rest else place


def _sources(folder: str, path: str) -> Iterator[str]:
    """Yield a path, and the paths of the sources of build output."""
    yield path
    below = path[len(folder) + 1 :]
    while _MADE.match(below):
        below = below.partition("/")[2]
        yield f"{folder}/src/{below}" if below else f"{folder}/src"


def _aliases(view: SymbolView, folder: str) -> list[Alias]:
    """Return the aliases of the configurations in a folder and its parents, nearest first."""
    cached = _known.setdefault(view, {})
    if folder not in cached:
        found: list[Alias] = []
        for name in CONFIGURATIONS:
            found += _configured(view, f"{folder}/{name}", folder, set())
        manifest = view.scope_table(f"{folder}/{MANIFEST}")
        if manifest is not None:
            own = [imported for imported in manifest.imports if imported.local.startswith("#")]
            found += _ordered(_read(own, folder))
        around = folder.rpartition("/")[0]
        cached[folder] = [*found, *(_aliases(view, around) if around else ())]
    return cached[folder]


def _configured(view: SymbolView, path: str, top: str, seen: set[str]) -> list[Alias]:
    """Return the aliases of a configuration, then those of configurations that it extends or refers
    to."""
    scope_table = view.scope_table(path) if path not in seen and len(seen) < _DEPTH else None
    if scope_table is None:
        return []
    seen.add(path)
    folder = path.rpartition("/")[0]
    configurations = [
        imported for star in scope_table.stars for imported in _others(view, folder, star)
    ]
    inherited = [
        imported
        for configuration in configurations
        for imported in _configured(view, configuration, top, seen)
    ]
    base = next(
        (imported.module for imported in scope_table.imports if imported.local == "."), None
    )
    if base is not None:
        folder = posixpath.normpath(posixpath.join(folder, base))
    else:
        # Paths are relative to the `baseUrl`, wherever it is declared.
        folder = next(
            (
                imported.path[:-2]
                for imported in inherited
                if not imported.start and imported.end == ""
            ),
            folder,
        )
    paths = [
        Import(imported.local, imported.module.replace("${configDir}", top), "", 0, imported.at)
        for imported in scope_table.imports
        if imported.local != "."
    ]
    found = _ordered(_read(paths, folder))
    if base is not None:
        found.append(Alias("", "", f"{folder}/*"))
    return [*found, *inherited]


def _others(view: SymbolView, folder: str, star: str) -> Iterator[str]:
    """Yield the file that a configuration means by the path of another one."""
    if star.startswith("."):
        places = [posixpath.normpath(f"{folder}/{star}")]
    else:
        parts = star.split("/")
        count = 2 if star.startswith("@") else 1
        package, rest = "/".join(parts[:count]), "/".join(parts[count:])
        places = [place for _, place in packaged(view, package, rest)]
    for place in places:
        for path in (place, f"{place}.json", f"{place}/{CONFIGURATIONS[0]}"):
            if view.file(path) is not None:
                yield path
                return


def _read(imports: Sequence[Import], folder: str) -> list[Alias]:
    found = []
    for imported in imports:
        start, star, end = imported.local.partition("*")
        path = posixpath.normpath(posixpath.join(folder, imported.module))
        found.append(Alias(start, end if star else None, path))
    return found


def _ordered(aliases: list[Alias]) -> list[Alias]:
    """Sort exact names first, then by the longest prefix."""
    return sorted(aliases, key=lambda alias: (alias.end is not None, -len(alias.start)))


def may_be_alias(view: SymbolView, stem: str) -> bool:
    """Return True if a configuration or manifest names a file of this name, so that an import need
    not."""
    files = (file for name in (*CONFIGURATIONS, MANIFEST) for file in view.files_named(name))
    tables = (view.scope_table(file.path) for file in files)
    return any(
        stem in imported.module or stem in imported.name
        for table in tables
        if table is not None
        for imported in table.imports
    )
