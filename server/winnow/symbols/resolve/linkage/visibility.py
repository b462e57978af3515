"""Select the bindings that a file can see, by its includes and by linkage."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.symbols.expressions import AssignedValue, Expression, NameStep, macro_key
from winnow.symbols.resolve.linkage.bindings import UNNAMED, Bound
from winnow.symbols.resolve.names import Name
from winnow.symbols.resolve.rules import shared_folders
from winnow.symbols.resolve.session import ResolverFile, Session

# Extensions of files that are usually not included.
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".m", ".mm")
INCLUDED = 3_000  # the maximum number of files that a file includes, directly or not


class Visibility:
    """Selects visible bindings, for one request."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._levels: dict[str, list[list[str]]] = {}

    def linked(self, candidates: list[Bound], seen: list[Bound]) -> list[Name]:
        """Return the declarations of visible bindings; with linkage, those in all files."""
        macros = [binding.target for binding in seen if binding.target.space == "macro"]
        if macros:
            # `#define A A` means the name that it hides. Otherwise, conditions select the macro or
            # the name.
            places = {binding.path for binding in macros}
            own = any(self._names_itself(binding) for binding in macros)
            seen = [
                binding
                for binding in seen
                if binding.target.path in places
                and (own or not binding.enum or binding.target.space == "macro")
            ]
        found = dict.fromkeys(binding.target for binding in seen)
        for binding in seen:
            if binding.enum not in ("", UNNAMED):
                twins = (it for it in candidates if it.enum == binding.enum)
                found.update(
                    (it.target, None) for it in twins if are_copies(it.target, binding.target)
                )
        if any(not binding.private for binding in seen):
            found.update((binding.target, None) for binding in candidates if not binding.private)
        return list(found)

    def _names_itself(self, macro: Name) -> bool:
        file = self._session.file(macro.path)
        itself = AssignedValue(Expression((NameStep(macro.name),)))
        return file is not None and file.type_sources(0, macro_key(macro.name)) == (itself,)

    def seen(self, file: ResolverFile, candidates: list[Bound]) -> list[Bound]:
        """Return the candidates visible in a file."""
        if not candidates:
            return []
        here = [binding for binding in candidates if binding.target.path == file.path]
        if here:
            return here
        paths = {binding.target.path for binding in candidates}
        if not all(binding.private for binding in candidates) and all(
            not binding.private or binding.target.path.endswith(SOURCES) for binding in candidates
        ):
            return [binding for binding in candidates if not binding.private]
        if len(paths) == 1:
            [path] = paths
            if path.endswith(SOURCES) and path not in self._included(file.path):
                return []
            return candidates
        near = self.nearest(file.path, paths)
        if near:
            return [binding for binding in candidates if binding.target.path in near]
        # A header may rely on headers included before it.
        headers = [
            binding
            for binding in candidates
            if not binding.private or not binding.target.path.endswith(SOURCES)
        ]
        if not headers:
            return []
        share = max(shared_folders(binding.target.path, file.path) for binding in headers)
        return [
            binding
            for binding in headers
            if shared_folders(binding.target.path, file.path) == share
        ]

    def nearest(self, path: str, paths: set[str]) -> set[str]:
        """Return those files that a file includes by the shortest path."""
        for level in self.reached(path):
            near = paths.intersection(level)
            if near:
                return near
        return set()

    def reached(self, path: str) -> Iterator[list[str]]:
        """Yield the files that a file includes, level by level."""
        levels = self._levels.setdefault(path, [[path]])
        depth, count = 0, 0
        while count < INCLUDED:
            if depth == len(levels):
                reached = {each for level in levels for each in level}
                following = dict.fromkeys(
                    found for each in levels[-1] for found in self._included(each)
                )
                levels.append([each for each in following if each not in reached])
            if not levels[depth]:
                return
            yield levels[depth]
            count += len(levels[depth])
            depth += 1

    def _included(self, path: str) -> list[str]:
        file = self._session.file(path)
        if file is None:
            return []
        found = (self._session.module(file, name) for name in file.scope_table.stars)
        return [included for included in found if included is not None]


def in_namespace(file: ResolverFile, candidates: list[Bound], owner: str) -> list[Bound]:
    """Return the candidates visible in a namespace.

    Those of the innermost enclosing namespace come first, then those of namespaces that the
    file uses, then any if all are of one namespace (argument-dependent lookup in a call).
    """
    macros = [binding for binding in candidates if binding.target.space == "macro"]
    place = owner
    while True:
        found = [
            binding for binding in candidates if binding.owner == place and binding not in macros
        ]
        if found or not place:
            break
        place = place.rpartition("::")[0]
    if not found:
        used = [binding.module for binding in file.scope_table.imports if binding.module]
        found = [
            binding for binding in candidates if any(is_within(binding.owner, it) for it in used)
        ]
    if not found and len({binding.owner for binding in candidates if binding not in macros}) == 1:
        found = [binding for binding in candidates if binding not in macros]
    return found + macros


def is_within(owner: str, namespace: str) -> bool:
    """Return True if `namespace::` can name members of ``owner``, also through inline
    namespaces."""
    return bool(owner) and f"::{namespace}::" in f"::{owner}::"


def are_copies(first: Name, second: Name) -> bool:
    """Return True if two names can be copies of each other in a header and its source.

    Parser generators write the declarations into both instead of including the header.
    """
    a, b = first.path.rpartition("."), second.path.rpartition(".")
    return a[0] == b[0] and a[2] != b[2]
