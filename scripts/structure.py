"""Print figures about the structure of the server: imports, names, docstrings and lines.

    python scripts/structure.py [--package FOLDER]

`--package` measures the package of another checkout. Imports are read from the source and include
lazy imports and imports for type checkers. `tests/test_structure.py` enforces the order of
packages.
"""

from __future__ import annotations

import argparse
import ast
import collections
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
# Bottom to top: each package may import only the packages before it.
ORDER = (
    *("errors", "config", "types", "storage", "processes", "text", "privacy", "symbols"),
    *("documents", "index", "cluster", "ranking", "workspace", "search", "tools", "frontends"),
)
# First words of docstrings that are noun clauses.
NOUN_CLAUSES = frozenset({"What", "Whether", "Who", "How"})


class Import(NamedTuple):
    """An imported name: the importing module, and the module that defines it."""

    importer: str
    imported: str
    name: str


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package's modules by their dotted names."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(files: Mapping[str, Path]) -> set[Import]:
    """Return all imports between modules of a package, including imports within functions.

    Imports of the top-level package are excluded: it has only the version, and importing any module
    imports it.
    """
    root = min(files, key=len)
    found = set()
    for module, file in files.items():
        for base, name in _imported(ast.parse(file.read_text("utf-8"))):
            if base.partition(".")[0] != root:
                continue
            target = f"{base}.{name}" if f"{base}.{name}" in files else base
            if target not in {root, module} and module != root:
                found.add(Import(module, target, name))
    return found


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def entry(module: str) -> str:
    """Return the top-level entry of the package that contains a module."""
    return [*module.split("."), ""][1]


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other (Tarjan, 1972), the largest first."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in numbers:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], numbers[other])
        if lowest[node] == numbers[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in numbers:
            visit(node)
    return sorted(found, key=len, reverse=True)


def layers(arrows: set[tuple[str, str]]) -> int:
    """Return the length of the longest chain of entries that import each other; 0 for a cycle."""
    above = collections.defaultdict(set)
    for importer, imported in arrows:
        above[imported].add(importer)
    depth = dict.fromkeys({name for pair in arrows for name in pair}, 1)
    for _ in depth:
        changed = False
        for name, importers in above.items():
            for importer in importers:
                if depth[importer] <= depth[name]:
                    depth[importer] = depth[name] + 1
                    changed = True
        if not changed:
            return max(depth.values(), default=0)
    return 0


def classes(files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return the modules that define each public class, by the class's name."""
    found = collections.defaultdict(list)
    for module, file in files.items():
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def docstrings(files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the docstrings of all modules, classes and functions."""
    for file in files.values():
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ) and (text := ast.get_docstring(node)):
                yield text


def main(arguments: list[str]) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--package", type=Path, default=ROOT / "server/winnow")
    package = parser.parse_args(arguments).package
    files = modules(package)
    found = imports(files)
    entries = {entry(module) for module in files} - {""}
    pairs = {(entry(link.importer), entry(link.imported)) for link in found}
    arrows = {(importer, imported) for importer, imported in pairs if importer != imported}
    edges = collections.defaultdict(set)
    for link in found:
        edges[link.importer].add(link.imported)
    groups = cycles(edges)
    texts = list(docstrings(files))
    clauses = sum(text.split(maxsplit=1)[0] in NOUN_CLAUSES for text in texts)
    shared = {name: where for name, where in classes(files).items() if len(where) > 1}
    names = collections.Counter(file.name for file in files.values())
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in files.values())
    print(f"modules: {len(files)}, lines: {lines}")
    print(f"entries at the top: {len(entries)}")
    print(f"arrows between them: {len(arrows)}")
    print(f"layers: {layers(arrows) or 'none: entries import each other'}")
    print(f"cycles: {len(groups)}")
    for group in groups:
        print("  " + ", ".join(group))
    print(f"public class names that more than one module defines: {len(shared)}")
    for name, where in sorted(shared.items()):
        print(f"  {name}: {', '.join(where)}")
    repeated = sorted(name for name, count in names.items() if count > 1 and name != "__init__.py")
    print(f"file names used more than once: {len(repeated)}: {', '.join(repeated)}")
    print(
        f"docstrings that start with {', '.join(sorted(NOUN_CLAUSES))}: {clauses} of {len(texts)}"
        f" ({clauses / len(texts):.1%})"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
