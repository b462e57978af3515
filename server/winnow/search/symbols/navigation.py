"""Find definitions, references and calls of a symbol, for editors and tools.

Runs in a thread: it reads the facts of files and their texts, and waits for nothing else. What the
facts say is held against the text before it is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

import msgspec
from msgspec import Struct

from winnow.search.symbols.unread import unread_files
from winnow.symbols.extract.components import component_name
from winnow.symbols.file_symbols import (
    APART,
    BINDS,
    CALLED,
    CLASSES,
    CONTAINERS,
    DEFINES,
    IMPORTED,
    IN_TYPE,
    KEYWORD,
    LABEL,
    MENTIONED,
    PARAMETER,
    QUALIFIES,
    ROLE,
    SHORTHAND,
    STRING,
    TYPE,
    WRITTEN,
    Definition,
    unpack_numbers,
    unpack_occurrences,
)
from winnow.symbols.language import languages
from winnow.symbols.resolve.names import External, Module, Name, ResolvedReference, Target, Tier
from winnow.symbols.resolve.overloads import called_places
from winnow.symbols.resolve.places import FUNCTIONS, NamePlace, function_around, places
from winnow.symbols.resolve.references import References
from winnow.symbols.resolve.resolver import Resolver
from winnow.symbols.resolve.resolver_cache import ResolverCache
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import ResolverFile, cached_method
from winnow.symbols.resolve.types import Class
from winnow.symbols.search.query import SEPARATOR
from winnow.symbols.search.weight import FileCategory, category_of, weight
from winnow.symbols.view import File, SymbolView
from winnow.text.lines import SourceText, SourceTexts
from winnow.text.paths import containing_root

Kind = Literal["call", "import", "type", "read", "write", "definition"]

# In languages of functions, `a ++ b` joins two lists.
_ASSIGNED = re.compile(
    rb"\s*(?:(?:[-+*/%&|^@]|<<|>>>?|\*\*|//|\?\?|\|\||&&)?=(?![=>~])"
    rb"|(?:\+\+|--)(?![ \t]*[\w(\[\"]))"
)
_CALLED = re.compile(rb"\s*(?:!|\?\.)?(?:::)?(?:<[\w\s,.<>\[\]]*>)?\(")
# In Rust: attributes that make what is below them a test, up to its start.
_TEST_BELOW = re.compile(
    rb"#\[(?:cfg\(test\)|(?:\w+::)*(?:rs)?test\b[^\]\n]*)\]\s*(?:(?:#\[[^\n]*|//[^\n]*)\s+)*$"
)
_VARIABLES = frozenset(("variable", "constant"))
_TEST_MODULES = frozenset(("test", "tests"))
_ATTRIBUTES = 500  # bytes before a definition
_NAME = re.compile(r"\w+")
_IN_BRACKETS = re.compile(r"\([^()]*\)|<[^<>]*>|\[[^\[\]]*\]")
_ARGUMENTS = re.compile(r"\([^()]*\)?$")


class SymbolAtPosition(Struct, frozen=True):
    """A symbol at a position: its name, the targets it is bound to, and their definitions.

    ``guessed`` is True if the type is unknown, so that the targets are all members of that name.
    ``external`` is True if it is defined outside of the workspace: its place is its import, if any.
    """

    path: str
    at: int
    name: str
    targets: list[Target]
    places: list[NamePlace]
    guessed: bool = False
    external: bool = False


class SymbolUse(Struct, frozen=True, gc=False):
    """A use of a symbol."""

    path: str
    at: int
    name: str
    kind: Kind
    tier: Tier


class FunctionCalls(Struct, frozen=True):
    """A function that calls or is called, and the offsets of the calls in the caller's file."""

    place: NamePlace
    path: str
    calls: list[int]


class Navigation:
    """Answers questions about symbols from one snapshot, for one request.

    ``changed`` are files that turned out to have changed since they were indexed: their symbols are
    missing.
    """

    def __init__(
        self, view: SymbolView, sources: SourceTexts, resolvers: ResolverCache | None = None
    ) -> None:
        self.view = view
        self.sources = sources
        self._resolvers = resolvers or ResolverCache()
        self.changed: dict[str, None] = {}
        # The files of which more than declarations was read.
        self.searched_files: dict[str, None] = {}

    @cached_property
    def resolver(self) -> Resolver:
        """The resolver of the view; taken from the cache in the thread that uses it."""
        return self._resolvers.take(self.view)

    @cached_property
    def _references(self) -> References:
        return References(self.resolver)

    def end(self) -> None:
        """Leave the resolver to the next request."""
        if self._has_resolved:
            self._resolvers.keep(self.resolver)

    @property
    def _has_resolved(self) -> bool:
        return "resolver" in self.__dict__

    @property
    def searched_names(self) -> Iterable[str]:
        """The names whose uses were searched in all files."""
        return self.resolver.session.searched if self._has_resolved else ()

    @property
    def undecided(self) -> int:
        """The number of places that may use the symbol, or another one of the same name."""
        return self._references.undecided

    # --- symbols -----------------------------------------------------------------

    def at(self, path: str, at: int) -> SymbolAtPosition | None:
        """Return the symbol at an offset of a file, or None."""
        source = self.sources.read(path)
        if source is None:
            return None
        word = source.word_at(at)
        found = None
        if word is not None:
            start, name = word
            if source.holds(start - 1, "#"):  # JavaScript's private members
                found = self.named_at(path, start - 1, f"#{name}")
            found = found or self.named_at(path, start, name)
        return found or self._imported_at(path, at, source)

    def _imported_at(self, path: str, at: int, source: SourceText) -> SymbolAtPosition | None:
        """Return the file that an import names with the string at an offset."""
        file, quoted = self.resolver.session.file(path), source.string_at(at)
        if file is None or quoted is None:
            return None
        start, text = quoted
        modules = {imported.module for imported in file.scope_table.imports} | set(
            file.scope_table.stars
        )
        module = self.resolver.session.module(file, text) if text in modules else None
        if module is None:
            return None
        target = Module(module)
        return SymbolAtPosition(
            path, start, text, [target], places(self.resolver.classes, [target])
        )

    def named_at(self, path: str, at: int, name: str) -> SymbolAtPosition | None:
        """Return the symbol whose name starts at an offset of a file."""
        file = self.resolver.session.file(path)
        if file is None:
            return None
        for start, flags, receiver in self.resolver.session.unpacked(file, name):
            if start == at:
                meaning = self.resolver.meaning(file, name, at, flags, receiver)
                targets = self.resolver.select_declarations(meaning.targets, file, at, flags)
                guessed = not targets and (meaning.unknown or meaning.of is not None)
                if guessed:
                    apart = bool(flags & APART)
                    definers = self.resolver.definers(file, name, apart)
                    targets = [Name(each.path, each.scope, name, apart) for each in definers]
                found = places(self.resolver.classes, targets)
                external = not found and any(isinstance(target, External) for target in targets)
                if external:
                    found = self._import_of(file, name)
                return SymbolAtPosition(path, at, name, targets, found, guessed, external)
        self.searched_files[path] = None
        return None

    def _import_of(self, file: ResolverFile, name: str) -> list[NamePlace]:
        """Return the import of a name from outside of the workspace."""
        self.searched_files[file.path] = None
        return [
            NamePlace(file.path, at, name)
            for at, flags, _ in self.resolver.session.unpacked(file, name)
            if flags & ROLE == IMPORTED
        ][:1]

    def symbols_on(self, path: str, line: int) -> list[tuple[int, str]]:
        """Return the names of symbols on a line, with their offsets."""
        source, file = self.sources.read(path), self.resolver.session.file(path)
        if source is None or file is None:
            return []
        self.searched_files[path] = None
        words = source.words(line)
        words += [(at - 1, f"#{word}") for at, word in words if source.holds(at - 1, "#")]
        starts = {
            word: {start for start, _, _ in self.resolver.session.unpacked(file, word)}
            for word in {word for _, word in words}
        }
        return [(at, word) for at, word in sorted(words) if at in starts[word]]

    def of_definition(self, file: File, definition: Definition) -> SymbolAtPosition:
        """Return the symbol of a definition; a C tag and a type of the same name are one symbol."""
        found = self.named_at(file.path, definition.at, definition.name)
        if found is not None:
            targets = self.resolver.linker.with_namesakes(found.targets)
            if len(targets) == len(found.targets):
                return found
            there = places(self.resolver.classes, targets)
            return msgspec.structs.replace(found, targets=targets, places=there)
        place = NamePlace(file.path, definition.at, definition.name, definition)
        return SymbolAtPosition(file.path, definition.at, definition.name, [], [place])

    def named(self, name_path: str) -> list[tuple[File, Definition]]:
        """Return the definitions with a name such as `send`, `Client.send` or `net/Client::send`,
        the likeliest first."""
        leaf = (parts_of(name_path) or [""])[-1]
        # `A#b` is what documentation calls a member, `#b` a private one of JavaScript.
        names = (leaf, f"#{leaf}") if f"#{leaf}" in name_path else (leaf,)
        found = [each for name in names for each in self.view.definitions(name)]
        for parts in spellings(name_path):
            if within := [each for each in found if _is_within(*each, parts[:-1])]:
                return sorted(within, key=self._likeliest)
        return []

    def _likeliest(self, found: tuple[File, Definition]) -> tuple[object, ...]:
        """Return a sort key: the order of find_symbol for exact names, with declarations last, and
        variables for a member behind the member, as in `const { send } = client`."""
        file, definition = found
        packed = self.view.occurrences_in(file.path, definition.name)
        numbers = unpack_numbers(packed) if definition.kind in _VARIABLES else ()
        return (
            any(at == definition.at and flags & SHORTHAND for at, flags, _ in numbers),
            definition.declared,
            -weight(definition, self.category(file.path), file.language),
            file.path,
            definition.at,
        )

    def below(self, path: str) -> str:
        """Return a path relative to its deepest root."""
        held = containing_root(path, self.view.roots())
        return held[1] if held else path

    @cached_method
    def category(self, path: str) -> FileCategory | None:
        """Return the category of a file; None for the project's code."""
        return category_of(self.below(path))

    def is_aside(self, path: str, at: int) -> bool:
        """Return True for a place that matters less: in a test, an example or code of others."""
        return self.category(path) is not None or self.is_in_test(path, at)

    def is_in_test(self, path: str, at: int) -> bool:
        """Return True in a file of tests, and in tests beside what they test, as in Rust."""
        return self.category(path) == "test" or any(
            start <= at < end for start, end in self._tests_in(path)
        )

    @cached_method
    def _tests_in(self, path: str) -> list[tuple[int, int]]:
        """Return the spans of the tests in a file of Rust."""
        source = self.sources.read(path) if path.endswith(".rs") else None
        if source is None:
            return []
        return [
            (each.start, each.end)
            for each in self.view.definitions_in(path)
            if (each.kind == "module" and each.name in _TEST_MODULES)
            or _TEST_BELOW.search(source.data, max(0, each.start - _ATTRIBUTES), each.start)
        ]

    def unread(self, symbol: str, path: str = "") -> dict[str, str]:
        """Return the files that contain a name but could not be indexed, with the reasons: those in
        languages that can use the definitions of the file at ``path``."""
        asking = self.view.file(path) if path else None
        return unread_files(self.view, self.sources, symbol, asking.language if asking else "")

    def kindless(self, symbols: Sequence[SymbolAtPosition]) -> list[str]:
        """Return the languages of symbols whose syntax does not tell the kinds of uses."""
        files = [self.resolver.session.file(symbol.path) for symbol in symbols]
        plain = {file.language for file in files if file is not None and file.rules.plain}
        known = languages()
        return sorted(name for name in plain if name not in known or not known[name].uses)

    def namesakes(self, symbols: Sequence[SymbolAtPosition]) -> list[NamePlace]:
        """Return the other definitions of a symbol's name in languages known by names only: the
        uses of members there are decided by little."""
        path, name = symbols[0].path, symbols[0].name
        file = self.resolver.session.file(path)
        if file is None or not file.rules.plain:
            return []
        meant = {(place.path, place.at) for symbol in symbols for place in symbol.places}
        return [
            NamePlace(found_in.path, each.at, name, each)
            for found_in, each in self.resolver.session.definitions(name, file.language)
            if each.container and not each.local and (found_in.path, each.at) not in meant
        ]

    def overridden(self, symbols: Sequence[SymbolAtPosition]) -> list[NamePlace]:
        """Return the nearest members of superclasses that symbols override, where these are not
        one symbol: a call by the type of a superclass is a use of its member."""
        found: dict[NamePlace, None] = {}
        classes = self.resolver.classes
        for symbol in symbols:
            for target in symbol.targets:
                owner, file = self.resolver.owner(target), self.resolver.file(target)
                is_part = file is not None and (file.rules.family or file.rules.marked)
                if owner is None or not isinstance(target, Name) or is_part or target.static:
                    continue
                above = classes.definer(
                    owner, symbol.name, above=True, apart=target.apart, file=file
                )
                if above is not None:
                    member = Name(above.path, above.scope, symbol.name, target.apart)
                    found |= dict.fromkeys(places(classes, [member])[:1])
        own = {(place.path, place.at) for symbol in symbols for place in symbol.places}
        return [place for place in found if (place.path, place.at) not in own]

    # --- uses ---------------------------------------------------------------------------

    def references_of_any(self, symbols: Sequence[SymbolAtPosition]) -> Iterator[SymbolUse]:
        """Yield every use of symbols with the same name. Those of one kind of languages are
        searched together: what may be a use of one of them is one of another, or of the same."""
        worlds: dict[str, list[SymbolAtPosition]] = {}
        for symbol in symbols:
            file = self.view.file(symbol.path)
            worlds.setdefault(world(file.language) if file else "", []).append(symbol)
        for first, *others in worlds.values():
            targets = [target for symbol in (first, *others) for target in symbol.targets]
            yield from self.references(msgspec.structs.replace(first, targets=targets))

    def references(self, symbol: SymbolAtPosition, path: str | None = None) -> Iterator[SymbolUse]:
        """Yield every use of a symbol, with definitions; only in the file ``path``, if given."""
        file = self.view.file(symbol.path)
        language = file.language if file else ""
        is_class = any(it.definition and it.definition.kind in CLASSES for it in symbol.places[:1])
        for use in self._references.of(symbol.name, symbol.targets, path, language):
            source = self.sources.read(use.path)
            name = use.name or symbol.name
            if source is None or not _holds(source, use, name):
                self.changed[use.path] = None
                continue
            kind = kind_of(source, use.at + len(name.encode()), use.flags, is_class)
            if use.flags & (SHORTHAND | BINDS | PARAMETER) == SHORTHAND | BINDS:
                kind = self._kind_in_pattern(symbol, use, kind)
            tier: Tier = "possible" if symbol.guessed else use.tier
            yield SymbolUse(use.path, use.at, name, kind, tier)

    def _kind_in_pattern(
        self, symbol: SymbolAtPosition, use: ResolvedReference, kind: Kind
    ) -> Kind:
        """Return the kind of a use in `const {a} = b`: it reads a member and binds a variable."""
        file = self.resolver.session.file(use.path)
        scope = file.canonical[file.scope_at(use.at)] if file is not None else 0
        is_variable = any(
            isinstance(target, Name) and (target.path, target.scope) == (use.path, scope)
            for target in symbol.targets
        )
        return kind if is_variable else "read"

    def functions(self, symbol: SymbolAtPosition) -> list[FunctionCalls]:
        """Return the functions that a symbol means, without their calls."""
        return [
            FunctionCalls(place, place.path, [])
            for place in symbol.places
            if place.definition is not None and place.definition.kind in FUNCTIONS
        ]

    def callers(self, symbol: SymbolAtPosition) -> list[FunctionCalls]:
        """Return the functions that call a symbol, or the file for calls outside of functions."""
        found: dict[tuple[str, int], FunctionCalls] = {}
        for use in self.references(symbol):
            if use.kind != "call" or use.tier == "possible":
                continue
            around = function_around(self.view, use.path, use.at)
            place = NamePlace(use.path, 0, "")
            if around is not None:
                place = NamePlace(use.path, around.at, around.name, around)
            key = (use.path, around.at if around else -1)
            found.setdefault(key, FunctionCalls(place, use.path, [])).calls.append(use.at)
        return list(found.values())

    def subclasses(self, file: File, definition: Definition) -> list[NamePlace]:
        """Return the definitions of the classes below a class, in the order of files. In languages
        whose names are not resolved, these are the classes that name it in their first line."""
        owner = self._class_of(file, definition)
        found = self._classes(self.resolver.classes.below(owner) - {owner}) if owner else []
        for use in self.references(self.of_definition(file, definition)):
            used_in = self.resolver.session.file(use.path)
            if used_in is not None and used_in.rules.plain and use.kind != "definition":
                around = self._class_around(use)
                if around is not None and definition.name in _bases_in(around):
                    found.append(NamePlace(use.path, around.at, around.name, around))
        found += self._deriving_by_name(file, definition)
        return list({(place.path, place.at): place for place in found}.values())

    def _deriving_by_name(self, file: File, definition: Definition) -> Iterator[NamePlace]:
        """Yield the classes that name a class as a base in languages whose names are not resolved;
        for those without a name, what has them."""
        for found_in, number in self.view.subclasses(definition.name):
            read = self.resolver.session.file(found_in.path)
            if read is None or not read.rules.plain or world(read.language) != world(file.language):
                continue
            scope = read.scopes[number]
            if scope.kind == "part":
                *_, name = scope.name.split(".")
                for extended, each in self.view.definitions(name):
                    if each.kind in CONTAINERS and world(extended.language) == world(file.language):
                        yield NamePlace(extended.path, each.at, each.name, each)
            else:
                around = [
                    each
                    for each in self.view.definitions_in(found_in.path)
                    if each.start <= scope.start < each.end
                ]
                for each in around[-1:]:
                    yield NamePlace(found_in.path, each.at, each.name, each)

    def satisfying(self, file: File, definition: Definition) -> list[NamePlace]:
        """Return the definitions of the classes that have the methods of an interface, in a
        language where that is enough, in the order of files."""
        owner = self._class_of(file, definition)
        return self._classes(self.resolver.classes.satisfied_by(owner)) if owner else []

    def _class_around(self, use: SymbolUse) -> Definition | None:
        """Return the innermost class whose name is before a use."""
        around = [
            each
            for each in self.view.definitions_in(use.path)
            if each.kind in CLASSES and each.at < use.at < each.end
        ]
        return around[-1] if around else None

    def _class_of(self, file: File, definition: Definition) -> Class | None:
        read = self.resolver.session.file(file.path)
        scope = read.classes.get(definition.qualified_name) if read else None
        return self.resolver.classes.class_at(read, scope) if read and scope is not None else None

    def _classes(self, found: set[Class]) -> list[NamePlace]:
        return [
            NamePlace(each.path, defined.at, defined.name, defined)
            for each in sorted(found, key=lambda each: (each.path, each.scope))
            for defined in self.view.definitions_in(each.path)
            if defined.kind in CLASSES and defined.qualified_name == each.name
        ]

    def callees(self, symbol: SymbolAtPosition) -> list[FunctionCalls]:
        """Return the functions that the bodies of a symbol's definitions call."""
        found: dict[tuple[str, int], FunctionCalls] = {}
        for place in symbol.places:
            for at, called in self._called_in(place):
                key = (called.path, called.at)
                found.setdefault(key, FunctionCalls(called, place.path, [])).calls.append(at)
        return sorted(found.values(), key=lambda call: min(call.calls))

    def _called_in(self, place: NamePlace) -> Iterator[tuple[int, NamePlace]]:
        """Yield the known calls in a definition: their offsets and targets."""
        source = self.sources.read(place.path)
        file = self.resolver.session.file(place.path)
        if place.definition is None or source is None or file is None:
            return
        start, end = place.at + len(place.name.encode()), place.definition.end
        self.searched_files[place.path] = None
        for name, packed in self.view.all_occurrences(place.path).items():
            size = len(name.encode())
            for use in unpack_occurrences(packed):
                if not start <= use.at < end or not source.holds(use.at, name):
                    continue
                if kind_of(source, use.at + size, use.flags) != "call":
                    continue
                meaning = self.resolver.meaning(file, name, use.at, use.flags, use.receiver)
                found = places(self.resolver.classes, meaning.targets)
                for called in called_places(found, file.language, source.data, use.at + size):
                    if called.definition is not None:
                        yield use.at, called


def _holds(source: SourceText, use: ResolvedReference, name: str) -> bool:
    """Return True if the text of a use is still its name, or the file is the component that it
    names."""
    is_component = not use.at and use.flags & DEFINES and component_name(use.path) == name
    return bool(is_component) or source.holds(use.at, name)


def kind_of(source: SourceText, end: int, flags: int, is_class: bool = False) -> Kind:
    """Return how a name that ends at an offset is used."""
    role = flags & ROLE
    if role in (IMPORTED, STRING) and not flags & DEFINES:
        return "import"
    if flags & (DEFINES | PARAMETER) or role == LABEL:
        return "definition"
    if flags & IN_TYPE or role == TYPE or (flags & QUALIFIES and is_class):
        return "type"
    if flags & WRITTEN:  # `a(0)` before the body of a constructor, where a class may be a base
        return "call" if is_class else "write"
    if not flags & MENTIONED and _CALLED.match(source.data, end, end + 200):
        return "call"
    if flags & BINDS or role == KEYWORD or _ASSIGNED.match(source.data, end, end + 50):
        return "write"
    return "call" if flags & CALLED else "read"


def _bases_in(definition: Definition) -> list[str]:
    """Return the names after that of a class in its signature, without parameters."""
    _, _, behind = definition.signature.partition(definition.name)
    while (inner := _IN_BRACKETS.sub(" ", behind)) != behind:
        behind = inner
    # A long signature is cut among the parameters.
    return _NAME.findall(behind.partition("(")[0])


def parts_of(name_path: str) -> list[str]:
    """Return the parts of a name such as `net/Client::send(data)`, the symbol itself last."""
    return [part for part in SEPARATOR.split(_ARGUMENTS.sub("", name_path.strip())) if part]


def spellings(name_path: str) -> list[list[str]]:
    """Return the parts of a name; for a name of PHP, then also without the namespaces before its
    class: files need not be in folders with their names."""
    parts = parts_of(name_path)
    starts = range(max(1, len(parts) - 2), len(parts)) if "\\" in name_path else ()
    return [parts, *(parts[start:] for start in starts if parts[start][:1].isupper())]


def _is_within(file: File, definition: Definition, around: Sequence[str]) -> bool:
    """Return True if the folders, file name and containers of a definition end with these names; a
    package may be a folder, without the file name, and is written with capitals in some
    languages."""
    if not around:
        return True
    stem, _, _ = file.path.rpartition(".")
    *folders, name = (stem or file.path).split("/")
    return any(
        _ends_with(folders, [*of_file, *containers], around)
        for of_file in ((name,), ())
        for containers in definition.qualifiers
    )


def _ends_with(folders: Sequence[str], names: Sequence[str], around: Sequence[str]) -> bool:
    """Return True if folders, in any case, and names behind them end with these."""
    count = min(len(names), len(around))
    outer, inner = around[: len(around) - count], around[len(around) - count :]
    above = folders[len(folders) - len(outer) :]
    return [*names[len(names) - count :]] == [*inner] and (
        [folder.lower() for folder in above] == [name.lower() for name in outer]
    )
