"""The facts that one request looks at, unpacked once and kept as long as it runs."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from winnow.symbols.expressions import (
    Expression,
    TypeSource,
    parse_expression,
    parse_sources,
    result_key,
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
    ScopeTable,
    merge_scopes,
    scope_at,
    scope_of_name,
)
from winnow.symbols.language import languages
from winnow.symbols.resolve.rules import Rules, world
from winnow.symbols.view import File, SymbolView

# Kinds of scopes that hold members of a class.
MEMBERS = ("class", "part")


class ResolverFile:
    """One file's scope_table, with what is asked of it again and again."""

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
        """The scope around one in which its names are looked up next; -1 if there is none."""
        around = self.scopes[scope].parent
        return self.scopes[around].parent if self.scopes[scope].kind == "outside" else around

    def class_around(self, scope: int) -> int | None:
        """The innermost scope with a class's members from this one outwards."""
        while scope >= 0 and self.scopes[scope].kind not in MEMBERS:
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def qualified(self, scope: int) -> str:
        """The name of a scope with those around it, as `Definition.container` has it."""
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

    def return_sources(self, scope: int, name: str, result: int = 0) -> tuple[TypeSource, ...]:
        """Return the type sources of one of the results of a function."""
        text = self.scope_table.returns.get(scope, {}).get(result_key(name, result))
        return () if text is None else parse_sources(text)

    @cached_property
    def canonical(self) -> Sequence[int]:
        """For each scope its number, or that of the first one it is merged with."""
        return merge_scopes(self.scopes) if self.rules.merging else range(len(self.scopes))

    @cached_property
    def private(self) -> frozenset[str]:
        return frozenset(self.scope_table.private)

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """Imports by local name; `import a.b` stands under `a`, too."""
        found: dict[str, list[Import]] = {}
        for one in self.scope_table.imports:
            found.setdefault(one.local, []).append(one)
            if not one.name and "." in one.local:
                found.setdefault(one.local.partition(".")[0], []).append(one)
        return found

    @cached_property
    def classes(self) -> dict[str, int]:
        """Scopes of classes, namespaces and modules within the file, by qualified name."""
        return {
            self.qualified(number): self.canonical[number]
            for number, scope in enumerate(self.scopes)
            if scope.kind in ("class", "namespace", "module") and scope.name
        }

    @cached_property
    def inner(self) -> dict[tuple[int, str], int]:
        """Scopes of classes and namespaces by the scope that their name is bound in."""
        return {
            (self.canonical[scope_of_name(self.scopes, number)], scope.name): self.canonical[number]
            for number, scope in enumerate(self.scopes)
            if scope.kind in ("class", "namespace") and scope.name
        }

    @cached_property
    def parts(self) -> list[int]:
        """Scopes with members of classes that stand elsewhere."""
        return [number for number, scope in enumerate(self.scopes) if scope.kind == "part"]

    def inline_module(self, scope: int) -> int:
        """The innermost module within the file around a scope; 0 is the file itself."""
        while scope > 0 and self.scopes[scope].kind != "module":
            scope = self.scopes[scope].parent
        return scope

    def container_scope(self, definition: Definition) -> int | None:
        """The scope whose member a definition of this file is."""
        scope = self.scope_at(definition.at)
        if scope and self.scopes[scope].kind in (*MEMBERS, "module"):
            return scope
        return self.classes.get(definition.container) if definition.container else None

    @cached_property
    def functions(self) -> dict[tuple[int, str], int]:
        """Scopes of functions by the scope around and their name."""
        return {key: numbers[-1] for key, numbers in self.overloads.items()}

    @cached_property
    def overloads(self) -> dict[tuple[int, str], list[int]]:
        """All scopes of functions by the scope around and their name."""
        found: dict[tuple[int, str], list[int]] = {}
        for number, scope in enumerate(self.scopes):
            if scope.kind == "function" and scope.name:
                around = self.canonical[scope.parent]
                found.setdefault((around, scope.name), []).append(number)
        return found

    def members(self, numbers: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, bool]]:
        """Scopes of classes that have one of these occurrences of a name as a member, and whether
        it is static."""
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


class Session:
    """A view, and what has been looked up in it."""

    def __init__(self, view: SymbolView, plain: Rules) -> None:
        self.view = view
        self._plain = plain  # for languages without rules of their own
        self._files: dict[str, ResolverFile | None] = {}
        self._bound: dict[tuple[str, str, bool], frozenset[int]] = {}
        self._unpacked: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        self._modules: dict[tuple[str, str], str | None] = {}
        self._definitions: dict[str, list[tuple[File, Definition]]] = {}

    def file(self, path: str) -> ResolverFile | None:
        """A file of a language whose names can be resolved."""
        if path not in self._files:
            self._files[path] = self._load(path)
        return self._files[path]

    def _load(self, path: str) -> ResolverFile | None:
        file = self.view.file(path)
        scope_table = self.view.scope_table(path) if file else None
        language = languages().get(file.language) if file else None
        if file is None or scope_table is None:
            return None
        rules = language.rules if language is not None and language.rules else self._plain
        return ResolverFile(path, file.language, scope_table, rules)

    def bound(self, file: ResolverFile, name: str, apart: bool = False) -> frozenset[int]:
        """The scopes of a file in which a name is bound, by imports too."""
        key = (file.path, name, apart)
        known = self._bound.get(key)
        if known is None:
            found = {
                file.scope_at(at)
                for at, flags, _ in self.unpacked(file, name)
                if flags & BINDS and bool(flags & APART) == apart
            }
            for scope, names in file.scope_table.outer.items():
                if name in names:
                    # `global` binds it in the file's scope, `nonlocal` in a function's around.
                    found.discard(scope)
                    found.add(0)
            found.update(one.scope for one in file.imports.get(name, ()))
            known = self._bound[key] = frozenset(found)
        return known

    def unpacked(self, file: ResolverFile, name: str) -> list[tuple[int, int, int]]:
        """The occurrences of a name in a file: offset, flags, number of the receiver."""
        key = (file.path, name)
        known = self._unpacked.get(key)
        if known is None:
            numbers = iter(array("I", self.view.occurrences_in(file.path, name)))
            known = self._unpacked[key] = list(zip(numbers, numbers, numbers, strict=True))
        return known

    def module(self, file: ResolverFile, module: str) -> str | None:
        """The file that an import in this file means."""
        key = (file.path, module)
        if key not in self._modules:
            self._modules[key] = file.rules.module(self.view, file.path, module)
        return self._modules[key]

    def definitions(self, name: str, language: str = "") -> list[tuple[File, Definition]]:
        """Definitions of a name, in a language and those that share its world."""
        if name not in self._definitions:
            self._definitions[name] = list(self.view.definitions(name))
        found = self._definitions[name]
        if not language:
            return found
        around = world(language)
        return [one for one in found if world(one[0].language) == around]

    def has_member(self, file: ResolverFile, scope: int, name: str, apart: bool) -> bool:
        """Whether a member of this name is written down in a scope of a file."""
        return any(
            flags & ROLE == MEMBER and bool(flags & APART) == apart and file.scope_at(at) == scope
            for at, flags, _ in self.unpacked(file, name)
        )

    def in_package(self, place: str, name: str, language: str) -> list[tuple[ResolverFile, int]]:
        """The files of a package in which a name is defined for all of them, and where."""
        found: dict[str, tuple[ResolverFile, int]] = {}
        folder = place.rstrip("/").rpartition("/")[0]
        for file, definition in self.definitions(name, language):
            if definition.local or (folder and not file.path.startswith(folder)):
                continue
            facts = self.file(file.path)
            if facts is None or facts.rules.package is None or file.path in found:
                continue
            if facts.scope_at(definition.at) == 0 and self.package(facts) == place:
                found[file.path] = (facts, definition.at)
        return list(found.values())

    def package(self, file: ResolverFile) -> str:
        """The package of a file, as `Rules.module` gives it; empty if there are none."""
        package = file.rules.package
        return package(file.path, file.scope_table.package) if package else ""
