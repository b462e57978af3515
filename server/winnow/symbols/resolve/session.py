"""The symbols that a request reads, cached until a file changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Generic, TypeVar, cast

from winnow.symbols.expressions import (
    Expression,
    TypeSource,
    parse_expression,
    parse_sources,
    result,
)
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    MEMBER,
    PARAMETER,
    ROLE,
    SHORTHAND,
    STATIC,
    WRITTEN,
    Definition,
    Import,
    Numbers,
    ScopeTable,
    merge_scopes,
    scope_at,
    scope_of_name,
    unpack_numbers,
)
from winnow.symbols.language import languages
from winnow.symbols.resolve.rules import GLOBAL, Rules, world
from winnow.symbols.view import File, SymbolView

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")

# Kinds of scopes that bind class members.
MEMBERS = ("class", "part")


class ResolverFile:
    """The scope table of a file, with cached lookups."""

    def __init__(self, path: str, language: str, scope_table: ScopeTable, rules: Rules) -> None:
        self.path = path
        self.language = language
        self.scope_table = scope_table
        self.scopes = scope_table.scopes
        self.rules = rules
        self._starts = [scope.start for scope in scope_table.scopes]

    def scope_at(self, at: int) -> int:
        return scope_at(self._starts, self.scopes, at)

    def outwards(self, scope: int) -> int:
        """Return the next scope for a name lookup, or -1."""
        around = self.scopes[scope].parent
        return self.scopes[around].parent if self.scopes[scope].kind == "outside" else around

    def class_around(self, scope: int) -> int | None:
        """Return the innermost scope of class members, from this scope outwards."""
        while scope >= 0 and self.scopes[scope].kind not in MEMBERS:
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def around(self, scope: int, kind: str) -> int:
        """Return the innermost scope of a kind, from this scope outwards, or the file's, 0."""
        while scope > 0 and self.scopes[scope].kind != kind:
            scope = self.scopes[scope].parent
        return scope

    def qualified(self, scope: int) -> str:
        """Return the qualified name of a scope, in the form of `Definition.container`."""
        names = []
        while scope > 0:
            if self.scopes[scope].name:
                names.append(self.scopes[scope].name)
            scope = self.scopes[scope].parent
        return ".".join(reversed(names))

    def receiver(self, number: int) -> Expression:
        """Return a receiver expression by its number."""
        return parse_expression(self.scope_table.receivers[number])

    def type_sources(self, scope: int, name: str) -> tuple[TypeSource, ...]:
        """Return the declared type of a name bound in a scope, or the values assigned to it."""
        text = self.scope_table.types.get(scope, {}).get(name)
        return () if text is None else parse_sources(text)

    def return_sources(
        self, scope: int, name: str, index: int | None = None
    ) -> tuple[TypeSource, ...]:
        """Return the type sources of one of the results of a function."""
        text = self.scope_table.returns.get(scope, {}).get(result(name, index))
        return () if text is None else parse_sources(text)

    @cached_property
    def canonical(self) -> Sequence[int]:
        """Scope numbers, with merged scopes mapped to the first one."""
        return merge_scopes(self.scopes) if self.rules.merging else range(len(self.scopes))

    @cached_property
    def narrowed(self) -> frozenset[str]:
        """The names that have a type of their own in a block."""
        types = self.scope_table.types.items()
        return frozenset(
            name for scope, names in types if self.scopes[scope].kind == "block" for name in names
        )

    @cached_property
    def private(self) -> frozenset[str]:
        return frozenset(self.scope_table.private)

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """Imports by local name; `import a.b` is also listed under `a`."""
        found: dict[str, list[Import]] = {}
        for each in self.scope_table.imports:
            found.setdefault(each.local, []).append(each)
            if not each.name and "." in each.local:
                found.setdefault(each.local.partition(".")[0], []).append(each)
        return found

    @cached_property
    def classes(self) -> dict[str, int]:
        """Scopes of classes, namespaces and inline modules, by qualified name."""
        return {
            self.qualified(number): self.canonical[number]
            for number, scope in enumerate(self.scopes)
            if scope.kind in ("class", "namespace", "module") and scope.name
        }

    @cached_property
    def inner(self) -> dict[tuple[int, str], int]:
        """Scopes of classes and namespaces, by the scope that binds their name."""
        return {
            (self.canonical[scope_of_name(self.scopes, number)], scope.name): self.canonical[number]
            for number, scope in enumerate(self.scopes)
            if scope.kind in ("class", "namespace") and scope.name
        }

    @cached_property
    def globals(self) -> frozenset[int]:
        """Scopes whose names all files see."""
        if self.rules.scripts == "never":
            return frozenset()
        found = [0] if self.scope_table.package == GLOBAL else []
        if GLOBAL in self.classes:
            found.append(self.classes[GLOBAL])
        return frozenset(found)

    @cached_property
    def parts(self) -> list[int]:
        """Scopes with members of classes declared elsewhere."""
        return [number for number, scope in enumerate(self.scopes) if scope.kind == "part"]

    def container_scope(self, definition: Definition) -> int | None:
        """Return the scope that a definition in this file is a member of."""
        scope = self.scope_at(definition.at)
        if scope and self.scopes[scope].kind in (*MEMBERS, "module"):
            return scope
        return self.classes.get(definition.container) if definition.container else None

    @cached_property
    def functions(self) -> dict[tuple[int, str], int]:
        """Scopes of functions, by parent scope and name."""
        return {key: numbers[-1] for key, numbers in self.overloads.items()}

    @cached_property
    def overloads(self) -> dict[tuple[int, str], list[int]]:
        """All scopes of functions, by parent scope and name."""
        found: dict[tuple[int, str], list[int]] = {}
        for number, scope in enumerate(self.scopes):
            if scope.kind == "function" and scope.name:
                around = self.canonical[scope.parent]
                found.setdefault((around, scope.name), []).append(number)
        return found

    def members(self, numbers: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, bool]]:
        """Yield the class scopes that have one of these occurrences as a member, with whether it is
        static."""
        for at, flags, receiver in numbers:
            role = flags & ROLE
            if role == MEMBER or (
                flags & (PARAMETER | SHORTHAND) == PARAMETER | SHORTHAND
                or (
                    role == ATTRIBUTE
                    and flags & WRITTEN
                    and self.scope_table.receivers[receiver] in self.rules.instance
                )
            ):
                around = self.class_around(self.scope_at(at))
                if around is not None:
                    yield self.canonical[around], bool(flags & STATIC)


def cached_method(method: F) -> F:
    """Cache the results of a method in its object; the arguments are hashable."""
    # As fast as a dictionary in the method: each object has a cache that is written in C.
    return cast("F", cached_property(lambda self: lru_cache(None)(partial(method, self))))


class Evaluations(Generic[T]):
    """Cached results of evaluating expressions; circular or too deep ones give ``unknown``."""

    def __init__(
        self, evaluate: Callable[[ResolverFile, int, Expression], T], depth: int, unknown: T
    ) -> None:
        self._evaluate = evaluate
        self._depth = depth
        self._unknown = unknown
        self._results: dict[tuple[str, int, Expression], T] = {}
        self._running: set[tuple[str, int, Expression]] = set()
        # Results that may lack something because another evaluation was not finished.
        self._unfinished: set[tuple[str, int, Expression]] = set()

    def of(self, file: ResolverFile, scope: int, expression: Expression) -> T:
        """Return the result for an expression in a scope of a file."""
        key = (file.path, scope, expression)
        if key in self._results:
            return self._results[key]
        if key in self._running or len(self._running) > self._depth:
            self._unfinished |= self._running
            return self._unknown
        self._running.add(key)
        try:
            result = self._results[key] = self._evaluate(file, scope, expression)
        finally:
            self._running.discard(key)
        return result

    def forget_unfinished(self) -> None:
        """Forget the results that depend on the order of evaluations."""
        for key in self._unfinished:
            self._results.pop(key, None)
        self._unfinished.clear()


class Session:
    """A view with cached lookups."""

    def __init__(self, view: SymbolView, plain: Rules) -> None:
        self.view = view
        self._plain = plain  # for languages without rules
        # The names whose uses were searched in all files.
        self.searched: dict[str, None] = {}
        self.size = 0  # the number of cached files, and of names in files

    def renew(self, view: SymbolView) -> None:
        """Prepare for another request, whose view has the same symbols."""
        self.view = view
        self.searched = {}

    @cached_method
    def file(self, path: str) -> ResolverFile | None:
        """Return a file, or None if it is not indexed."""
        file = self.view.file(path)
        scope_table = self.view.scope_table(path) if file else None
        language = languages().get(file.language) if file else None
        if file is None or scope_table is None:
            return None
        rules = language.rules if language is not None and language.rules else self._plain
        self.size += 1
        return ResolverFile(path, file.language, scope_table, rules)

    @cached_method
    def bound(self, file: ResolverFile, name: str, apart: bool = False) -> frozenset[int]:
        """Return the scopes of a file that bind a name, including imports."""
        found = {
            file.scope_at(at)
            for at, flags, _ in self.unpacked(file, name)
            if flags & BINDS and bool(flags & APART) == apart
        }
        for scope, names in file.scope_table.outer.items():
            if name in names:
                # `global` binds it in the file's scope, `nonlocal` in an enclosing function's.
                found.discard(scope)
                found.add(0)
        found.update(imported.scope for imported in file.imports.get(name, ()))
        return frozenset(found)

    @cached_method
    def unpacked(self, file: ResolverFile, name: str) -> list[Numbers]:
        """Return the occurrences of a name in a file: offset, flags, receiver number."""
        self.size += 1
        return list(unpack_numbers(self.view.occurrences_in(file.path, name)))

    def uses(
        self, name: str, read: Sequence[str] = ()
    ) -> Iterator[tuple[ResolverFile, Iterable[Numbers]]]:
        """Yield the files that contain a name, with its occurrences, and record the name, or what
        to ``read`` for it: the index must have read all of these files."""
        self.searched.update(dict.fromkeys(read or (name,)))
        yield from self.occurrences(name)

    def occurrences(self, name: str) -> Iterator[tuple[ResolverFile, Iterable[Numbers]]]:
        """Yield the files that contain a name, with its occurrences. Only its declarations are
        certain to be complete."""
        for found, packed in self.view.occurrences(name):
            file = self.file(found.path)
            if file is not None:
                yield file, unpack_numbers(packed)

    @cached_method
    def module(self, file: ResolverFile, module: str) -> str | None:
        """Return the file that an import in this file resolves to."""
        return file.rules.module(self.view, file.path, module)

    @cached_method
    def definitions(self, name: str, language: str = "") -> list[tuple[File, Definition]]:
        """Return the definitions of a name in a language and in those of its world."""
        if not language:
            return list(self.view.definitions(name))
        language_world = world(language)
        return [
            (file, each)
            for file, each in self.definitions(name)
            if world(file.language) == language_world
        ]

    def has_member(self, file: ResolverFile, scope: int, name: str, apart: bool) -> bool:
        """Return True if a scope of a file declares a member of this name."""
        return any(
            flags & ROLE == MEMBER and bool(flags & APART) == apart and file.scope_at(at) == scope
            for at, flags, _ in self.unpacked(file, name)
        )

    def in_package(self, place: str, name: str, language: str) -> list[tuple[ResolverFile, int]]:
        """Return the files of a package that define a name for the package, with the offset."""
        found: dict[str, tuple[ResolverFile, int]] = {}
        folder = place.rstrip("/").rpartition("/")[0]
        for found_in, definition in self.definitions(name, language):
            if definition.local or (folder and not found_in.path.startswith(folder)):
                continue
            file = self.file(found_in.path)
            if file is None or file.rules.package is None or found_in.path in found:
                continue
            if file.scope_at(definition.at) == 0 and self.package(file) == place:
                found[found_in.path] = (file, definition.at)
        return list(found.values())

    @cached_method
    def global_names(self, name: str, language_world: str) -> list[tuple[ResolverFile, int]]:
        """Return the scopes that define a name for all files, with their files."""
        found: dict[tuple[str, int], tuple[ResolverFile, int]] = {}
        for found_in, definition in self.definitions(name, language_world):
            if definition.local or definition.container not in ("", GLOBAL):
                continue
            file = self.file(found_in.path)
            scope = file.canonical[file.scope_at(definition.at)] if file is not None else 0
            if file is not None and scope in file.globals:
                found[file.path, scope] = (file, scope)
        return list(found.values())

    def package(self, file: ResolverFile) -> str:
        """Return the package of a file in the form of `Rules.module`, or ""."""
        package = file.rules.package
        return package(file.path, file.scope_table.package) if package else ""
