"""Find the uses of a symbol: resolve every occurrence of its name.

An answer is "certain" if scopes, imports and declared types lead from the occurrence to the symbol.
If the receiver's type is unknown (``x.send`` with any x), it is "likely" as long as hardly any
other definition has the name. This rule matters most of all, measured against language servers that
use compilers (see ``server/README.md``). If the receiver derives from a parameter without a
declared type, it is only "possible"; those servers return nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from winnow.symbols.expressions import (
    CALL,
    DeclaredType,
    Expression,
    NameStep,
    parse_expression,
)
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BARE,
    BINDS,
    CALLED,
    DEFINES,
    IMPORTED,
    IN_TYPE,
    KEY,
    KEYWORD,
    LABEL,
    MEMBER,
    MENTIONED,
    PARAMETER,
    QUALIFIES,
    ROLE,
    SHORTHAND,
    STATIC,
    STRING,
    Numbers,
    scope_of_name,
)
from winnow.symbols.resolve import plain
from winnow.symbols.resolve.accessors import (
    JAVA,
    PROPERTIES,
    WITH_PROPERTIES,
    accessors,
    property_of,
)
from winnow.symbols.resolve.classes import OF_OBJECTS
from winnow.symbols.resolve.expression_types import ExpressionTypes
from winnow.symbols.resolve.linkage import Linker
from winnow.symbols.resolve.names import (
    TIERS,
    External,
    Module,
    Name,
    ResolvedReference,
    Target,
    Tier,
    exported,
    from_module,
    imported,
)
from winnow.symbols.resolve.places import places
from winnow.symbols.resolve.plain import NameCandidates
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session, cached_method
from winnow.symbols.resolve.types import Class, Function, Instance, Type, Untyped
from winnow.symbols.scopes import projects
from winnow.symbols.view import IMPORT_OF, SymbolView

DEFAULT = "default"
# The names of files that an import leaves out.
FRONTS = frozenset(("index", "main", "mod", "lib"))
NEVER = 1_000_000  # more rivals than any limit
# A name that nothing binds: a built-in, or not written yet.
BUILT_IN = External("")
FEW = 12  # up to this many names are looked up individually in a file
FAMILY_TO_OTHERS = 3
CONSTRUCTOR = "constructor"
_CAPITAL = re.compile(r"(?<!^)[A-Z]")
_ACCESSOR = re.compile(r"\bfunction \w+\(\): Attribute\b")


class Meaning(Struct, frozen=True):
    """The meaning of an occurrence.

    ``unknown``: it can be a member of anything; ``untyped``: because a parameter has no declared
    type. ``of`` is the class whose member it is, if no definition was found. ``either``: it means
    only one of the targets, and it is not known which.
    """

    targets: list[Target] = []
    unknown: bool = False
    untyped: bool = False
    of: Class | None = None
    either: bool = False


def _is_constant(name: str) -> bool:
    return name.isupper() and "_" in name


def _either(meanings: list[Meaning]) -> Meaning:
    """Combine alternative meanings."""
    if len(meanings) == 1:
        return meanings[0]
    targets = list(dict.fromkeys(target for meaning in meanings for target in meaning.targets))
    return Meaning(
        targets,
        unknown=any(meaning.unknown for meaning in meanings),
        of=next((meaning.of for meaning in meanings if meaning.of is not None), None),
        either=any(len(meaning.targets) < len(targets) for meaning in meanings),
    )


# Name spaces: one name can be a type, a value and a namespace.
VALUES, TYPES, NAMESPACES = 1, 2, 4


def space(flags: int) -> int:
    """Return the name spaces that an occurrence can refer to."""
    if flags & MENTIONED or flags & ROLE == IMPORTED:
        return VALUES | TYPES | NAMESPACES
    if flags & QUALIFIES:
        return NAMESPACES if flags & IN_TYPE else NAMESPACES | VALUES
    return TYPES if flags & IN_TYPE else VALUES


class _Names:
    """The names to search for: the symbol's own, and aliases given by imports."""

    def __init__(self, name: str) -> None:
        self.first = name
        # The files to search, by name; None means all.
        self._files: dict[str, set[str] | None] = {name: None}
        self._todo = [name]
        self._seen: set[tuple[str, int]] = set()
        # Files that may export a target as their default, and what to read for its uses.
        self.checked: set[str] = set()
        self.of_default: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        while self._todo:
            yield self._todo.pop(0)

    def add(self, name: str, path: str | None = None) -> None:
        paths = self._files.get(name, set())
        if paths is None or (path is not None and path in paths):
            return
        self._files[name] = None if path is None else {*paths, path}
        if name not in self._todo:
            self._todo.append(name)

    def add_renamed(self, file: ResolverFile, name: str, at: int) -> None:
        """Add the alias that an import or export at this offset gives."""
        for alias in file.scope_table.imports:
            if alias.at == at and alias.local != name and alias.name in (name, DEFAULT):
                self.add(alias.local, None if alias.exported and alias.scope == 0 else file.path)

    def only_in(self, name: str) -> set[str] | None:
        return self._files[name]

    def is_new(self, file: ResolverFile, at: int) -> bool:
        place = (file.path, at)
        if place in self._seen:
            return False
        self._seen.add(place)
        return True


class Rivals(Struct, frozen=True):
    """The number of classes that define a member outside of a class family, the size of the family,
    and its unqualified names."""

    others: int
    family: int
    names: frozenset[str]


class Resolver:
    """Resolves names in one view, for one request."""

    def __init__(self, view: SymbolView) -> None:
        self.view = view
        self.session = Session(view, plain.RULES)
        self.types = ExpressionTypes(self.session)
        self.classes = self.types.classes
        self.linker = Linker(self.session)
        # Uses that may mean the symbol, or another one with the same name.
        self.undecided = 0
        self._cached_rivals: dict[tuple[object, ...], Rivals] = {}

    # --- from an occurrence to what it means -----------------------------------------------

    def meaning(self, file: ResolverFile, name: str, at: int, flags: int, receiver: int) -> Meaning:
        """Return the meaning of the name at an offset."""
        if file.rules.linkage:
            names = self.linker.meaning(file, name, at, flags, receiver)
            if names is None:
                guessed = self.linker.guess(file, name, file.receiver(receiver))
                return Meaning([*guessed], unknown=True)
            return Meaning([*names])
        if file.rules.plain:
            candidates = self._plain(name, world(file.language))
            return Meaning(list(candidates.near(file, at, flags, receiver)))
        role = flags & ROLE
        scope = file.scope_at(at)
        apart = bool(flags & APART)
        if role == IMPORTED:
            return Meaning(self._imported(file, name, at))
        if role == STRING:
            return Meaning(exported(self.session, file.path, name))
        if role == MEMBER:
            # With marked members, a receiver does not name the complete class.
            owner = self._around(file, scope, 0 if file.rules.marked else receiver)
            static = bool(flags & STATIC)
            return Meaning([Name(owner.path, owner.scope, name, apart, 0, static)] if owner else [])
        if flags & SHORTHAND:
            return self._shorthand(file, scope, name, flags, receiver)
        if role == ATTRIBUTE:
            return self._attribute(file, scope, name, file.receiver(receiver), apart)
        if role == KEYWORD:
            return self._keyword(file, scope, name, file.receiver(receiver))
        if role == KEY:
            return self._key(file, scope, name, file.scope_table.receivers[receiver], apart)
        if role == LABEL:
            return Meaning()
        if name == CONSTRUCTOR and flags & CALLED and file.rules.merging:
            constructor_of = parse_expression(file.rules.super_name)
            return self._attribute(file, scope, name, constructor_of, apart)
        found = self.types.named(file, scope, name, apart)
        around = file.class_around(scope) if flags & MENTIONED and not found else None
        if around is not None:
            itself = parse_expression(next(iter(file.rules.instance)))
            return self._attribute(file, scope, name, itself, apart)
        if file.rules.scripts != "never" and name not in file.imports:
            return self._of_other_files(file, found)
        return Meaning(found or [BUILT_IN])

    def _of_other_files(self, file: ResolverFile, found: list[Target]) -> Meaning:
        """Return the meaning of a name that a file does not import, if other files define it for
        all files. It may be a built-in name, unless a script that is always loaded defines it."""
        others = [it for target in found if (it := self._file(target)) and it.path != file.path]
        if all(other.rules.scripts == "always" and other.globals for other in others):
            return Meaning(found or [BUILT_IN], either=len(others) > 1)
        return Meaning([*found, BUILT_IN], either=True)

    def _around(self, file: ResolverFile, scope: int, receiver: int) -> Class | None:
        """Return the class that a member is declared for."""
        if receiver:
            owner = self.types.of(file, scope, file.receiver(receiver))
            return owner if isinstance(owner, Class) else None
        around = file.class_around(scope)
        return self.classes.class_at(file, around) if around is not None else None

    def _shorthand(
        self, file: ResolverFile, scope: int, name: str, flags: int, receiver: int
    ) -> Meaning:
        """Return the meaning of a name that is both a variable and a member."""
        variable = self.types.named(file, scope, name, False)
        if flags & PARAMETER:
            around = file.class_around(scope)
            member = [] if around is None else [Name(file.path, file.canonical[around], name)]
            return Meaning([*member, *variable])  # the first is the name in answers
        apart = "field" in file.rules.apart
        key = self._key(file, scope, name, file.scope_table.receivers[receiver], apart)
        return replace(key, targets=[*variable, *key.targets])

    def _key(
        self, file: ResolverFile, scope: int, name: str, receiver: str, apart: bool
    ) -> Meaning:
        """Return the meaning of an object key: a member of the expected type."""
        if not receiver:
            return Meaning()
        if file.rules.merging:
            found = self._attribute(file, scope, name, parse_expression(receiver), apart)
            return replace(
                found, targets=[target for target in found.targets if isinstance(target, Name)]
            )
        owner = self.types.declared(file, scope, receiver)
        if isinstance(owner, Instance):
            found = self._member(owner.of, name, above=False, apart=apart)
            if found.targets:
                return found
        if isinstance(owner, External):
            return Meaning([owner])
        # The key of a map can be an ordinary name.
        return Meaning([] if apart else self.types.named(file, scope, name, False))

    @cached_method
    def _plain(self, name: str, language_world: str) -> NameCandidates:
        return NameCandidates(self.session, self.at, name, language_world)

    def _imported(self, file: ResolverFile, name: str, at: int) -> list[Target]:
        if at in file.scope_table.modules:
            module = file.scope_table.modules[at]
            path = self.session.module(file, module)
            return [Module(path) if path else External(module)]
        for imported_name in file.scope_table.imports:
            if imported_name.at == at and imported_name.name == name:
                return from_module(self.session, file, imported_name.module, name, set())
        for imported_name in file.imports.get(name, ()):
            return imported(self.session, file, imported_name, name, set())
        return []

    def _attribute(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression, apart: bool
    ) -> Meaning:
        kinds = self.types.each(file, scope, receiver)
        if kinds == (None,) and file.rules.merging:
            returned = self._returned(file, scope, name, receiver)
            return Meaning(returned, unknown=not returned)
        return _either([self._attribute_of(file, name, kind, apart) for kind in kinds])

    def _returned(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression
    ) -> list[Target]:
        """Return the local name of a function that it returns in an object, `return { name }`, for
        `called().name` and for `value.name` after `value = called()`."""
        first = receiver.steps[0] if len(receiver.steps) == 1 else None
        if isinstance(first, NameStep):
            bound = self.types.named(file, scope, first.name, called=False)
            local = [it for it in bound if isinstance(it, Name) and it.path == file.path]
            sources = file.type_sources(local[0].scope, first.name) if local else ()
            if len(sources) != 1 or isinstance(sources[0], DeclaredType):
                return []
            receiver = sources[0].value
        if receiver.steps[-1:] != (CALL,):
            return []
        called = self.types.of(file, scope, Expression(receiver.steps[:-1]))
        home = self.session.file(called.path) if isinstance(called, Function) else None
        if home is None or not isinstance(called, Function):
            return []
        inner = home.functions.get((called.scope, called.name))
        is_returned = any(
            flags & (SHORTHAND | BINDS) == SHORTHAND and home.scope_at(at) == inner
            for at, flags, _ in self.session.unpacked(home, name)
        )
        return self.types.named(home, inner, name, False) if inner and is_returned else []

    def _attribute_of(self, file: ResolverFile, name: str, kind: Type, apart: bool) -> Meaning:
        """Return the meaning of a name after a receiver of this type."""
        if kind is None or isinstance(kind, Untyped):
            return Meaning(unknown=True, untyped=kind is not None)
        if isinstance(kind, Module):
            found = exported(self.session, kind.path, name)
            return Meaning(found)
        extended = file.rules.extending and not apart and self._extends(file.language, name)
        if isinstance(kind, External):
            return Meaning(unknown=True) if extended else Meaning([kind])
        if isinstance(kind, (Instance, Class)):
            owner = kind.of if isinstance(kind, Instance) else kind
            above = isinstance(kind, Instance) and kind.above
            static = isinstance(kind, Class)
            member = self._member(owner, name, above=above, static=static, apart=apart)
            if isinstance(kind, Class) and not member.targets:
                defining = self.session.file(kind.path)
                if defining is not None and name in defining.imports:
                    return Meaning(exported(self.session, f"{kind.path}::{kind.name}", name))
            return Meaning(unknown=True) if extended and not member.targets else member
        return Meaning()

    @cached_method
    def _extends(self, language: str, name: str) -> bool:
        """Return True if an interface defines the member, so that any class can have it."""
        definers = self.classes.definers(name, language)
        return any(self.classes.kind(definer) in ("trait", "interface") for definer in definers)

    def _member(
        self, owner: Class, name: str, *, above: bool, static: bool = False, apart: bool = False
    ) -> Meaning:
        file = self.session.file(owner.path)
        if file is not None and file.rules.marked:
            if static and self._is_in_namespace(file, owner, name):
                return Meaning([Name(owner.path, owner.scope, name)])
            found = self.classes.members(owner, name, above=above, static=static)
            return Meaning(list(found)) if found or above else Meaning(of=owner)
        definer = self.classes.definer(owner, name, above=above, apart=apart)
        if definer is not None:
            return Meaning([Name(definer.path, definer.scope, name, apart)])
        return Meaning() if above else Meaning(of=owner)

    def _is_in_namespace(self, file: ResolverFile, owner: Class, name: str) -> bool:
        """Return True if a namespace with the name of the class binds a name."""
        return any(
            file.scopes[scope].kind == "namespace" and file.canonical[scope] == owner.scope
            for scope in self.session.bound(file, name)
        )

    def _keyword(self, file: ResolverFile, scope: int, name: str, called: Expression) -> Meaning:
        """Return the parameter of the called function, or the field of a class without a
        constructor."""
        kinds = self.types.each(file, scope, called)
        return _either([self._keyword_of(kind, name) for kind in kinds])

    def _keyword_of(self, kind: Type, name: str) -> Meaning:
        if isinstance(kind, Function):
            return Meaning(self._parameter(kind.path, kind.scope, kind.name, name))
        if isinstance(kind, Class):
            definer = self.classes.definer(kind, "__init__")
            if definer is not None:
                return Meaning(self._parameter(definer.path, definer.scope, "__init__", name))
            return self._member(kind, name, above=False)
        return Meaning()

    def _parameter(self, path: str, scope: int, function: str, name: str) -> list[Target]:
        file = self.session.file(path)
        inner = file.functions.get((scope, function)) if file else None
        return [Name(path, inner, name)] if inner is not None else []

    # --- types and values of one name ------------------------------------------------------

    def select_declarations(
        self, targets: list[Target], file: ResolverFile, at: int, flags: int
    ) -> list[Target]:
        """Restrict targets to the declarations that this occurrence can mean, preferring workspace
        targets."""
        in_workspace = [target for target in targets if not isinstance(target, External)]
        # If a symbol is also defined externally, its workspace definition counts.
        return [
            self._select_declarations(target, file, at, flags) for target in in_workspace or targets
        ]

    def _select_declarations(
        self, target: Target, file: ResolverFile, at: int, flags: int
    ) -> Target:
        """Restrict a target to the declarations that this occurrence can mean."""
        if not isinstance(target, Name) or not file.rules.merging:
            return target
        declared = self._declarations(target)
        spaces = declared.get(at) if target.path == file.path else None
        meant = spaces or space(flags)
        for _ in declared:  # a declaration in two name spaces joins them
            for declaration in declared.values():
                meant |= declaration if declaration & meant else 0
        return (
            target
            if all(declaration & meant for declaration in declared.values())
            else replace(target, spaces=meant)
        )

    def _declarations(self, target: Name) -> dict[int, int]:
        """Return the name spaces of each declaration of a name in its scope, by offset."""
        file = self.session.file(target.path)
        if file is None:
            return {}
        return {
            at: space(flags)
            for at, flags, _ in self.session.unpacked(file, target.name)
            if flags & BINDS and file.canonical[file.scope_at(at)] == target.scope
        }

    def _in_space(self, file: ResolverFile, at: int, flags: int, target: Target) -> bool:
        if not isinstance(target, Name) or not target.spaces:
            return True
        here = self._declarations(target).get(at) if file.path == target.path else None
        return bool((here or space(flags)) & target.spaces)

    # --- from a symbol to its references ---------------------------------------------------

    def at(self, path: str, offset: int, name: str) -> list[Target]:
        """Return the targets of the name at an offset of a file."""
        file = self.session.file(path)
        if file is None:
            return []
        for at, flags, receiver in self.session.unpacked(file, name):
            if at == offset:
                meaning = self.meaning(file, name, at, flags, receiver)
                return self.select_declarations(meaning.targets, file, at, flags)
        return []

    def references(
        self, name: str, targets: list[Target], path: str | None = None, language: str = ""
    ) -> Iterator[ResolvedReference]:
        """Yield all uses of the targets, including declarations; only in one file if ``path`` is
        given.

        ``language`` is the language of the file in which the user selected the name.
        """
        if linked := [target for target in targets if self._linked(target)]:
            yield from self.linker.uses(name, linked, path)
            self.undecided += self.linker.undecided
        if name == CONSTRUCTOR:
            yield from self._constructed(targets, path)
        yield from self._accessed(name, targets, path)
        wanted = {
            replace(target, spaces=0) if isinstance(target, Name) else target: target
            for target in targets
        }
        owners = [owner for target in targets if (owner := self._owner(target)) is not None]
        static = any(isinstance(one, Name) and one.static for one in targets)
        family = [] if static or name == CONSTRUCTOR else self._overrides(name, owners)
        wanted |= {same: same for same in self._overriding(name, targets)}
        wanted |= {(one := Name(each.path, each.scope, name)): one for each in family}
        related = self._satisfying(name, targets)
        worlds = {world(of.language) for target in targets if (of := self._file(target))}
        if not worlds and language:
            worlds = {world(language)}
        by_name = [target for target in targets if self._is_plain(target)]
        names = _Names(name)
        self._add_defaults(names, wanted)
        for called in names:
            for file, numbers in self._files(called, names, path):
                if worlds and world(file.language) not in worlds:
                    continue
                if file.rules.plain:
                    yield from self._plain_references(file, name, wanted, numbers)
                    continue
                places, found = list(numbers), set[int]()
                for use in self._unresolved(file, name, by_name, places) if called == name else ():
                    found.add(use.at)
                    yield use
                if file.rules.linkage or (by_name and len(by_name) == len(targets)):
                    continue
                for at, flags, receiver in places:
                    if at in found:
                        continue
                    meaning = self.meaning(file, called, at, flags, receiver)
                    meant = [wanted[target] for target in meaning.targets if target in wanted]
                    if meant:
                        if not any(self._in_space(file, at, flags, one) for one in meant):
                            continue
                        if file.rules.renames and flags & ROLE in (IMPORTED, BARE):
                            names.add_renamed(file, called, at)
                            self._add_default(names, file, wanted.keys() & meaning.targets)
                        if names.is_new(file, at):
                            written = self._written(file, called, at, flags)
                            alias = "" if written == name else written
                            sure: Tier = "likely" if meaning.either else "certain"
                            yield ResolvedReference(file.path, at, flags, sure, alias)
                    elif called != name or not owners:
                        # An object of settings has the constants of a module as attributes.
                        dynamic = meaning.unknown or meaning.of is not None
                        if called == name and dynamic and _is_constant(name):
                            yield ResolvedReference(file.path, at, flags, "possible")
                    elif self._is_override(file, at, flags, wanted):
                        yield ResolvedReference(file.path, at, flags, "certain")
                    elif not related.isdisjoint(meaning.targets):
                        yield ResolvedReference(file.path, at, flags, "likely")
                    elif self._possible(file, name, meaning, owners, family, bool(flags & APART)):
                        tier: Tier = "possible" if meaning.untyped else "likely"
                        yield ResolvedReference(file.path, at, flags, tier)
                    elif meaning.unknown:
                        self.undecided += 1
        yield from self._through_accessors(name, targets, path)

    def _written(self, file: ResolverFile, name: str, at: int, flags: int) -> str:
        """Return the text at an occurrence of a name."""
        if name == CONSTRUCTOR and flags & CALLED:
            return file.rules.super_name
        if name == DEFAULT and flags & ROLE == IMPORTED:
            for imported_name in file.scope_table.imports:
                if imported_name.at == at and any(
                    start == at for start, _, _ in self.session.unpacked(file, imported_name.local)
                ):
                    return imported_name.local
        return name

    def _constructed(self, targets: list[Target], path: str | None) -> Iterator[ResolvedReference]:
        """Yield the places that create instances of a class, for its constructor."""
        for target in targets:
            file = self.session.file(target.path) if isinstance(target, Name) else None
            if file is None or not isinstance(target, Name) or not file.rules.merging:
                continue
            around = file.canonical[scope_of_name(file.scopes, target.scope)]
            of = Name(target.path, around, file.scopes[target.scope].name)
            for use in self.references(of.name, [of], path):
                if use.flags & CALLED:
                    yield replace(use, name=use.name or of.name)

    def _accessed(
        self, name: str, targets: list[Target], path: str | None
    ) -> Iterator[ResolvedReference]:
        """Yield what may read the attribute that a method of Laravel computes: `a.full_name` for
        `fullName(): Attribute`."""
        attribute = _CAPITAL.sub(r"_\g<0>", name).lower()
        named = places(self.classes, targets) if attribute != name else []
        if not any(it.definition and _ACCESSOR.search(it.definition.signature) for it in named):
            return
        for file, numbers in self.session.uses(attribute):
            if world(file.language) == "php" and path in (None, file.path):
                for at, flags, _ in numbers:
                    if flags & ROLE == ATTRIBUTE:
                        yield ResolvedReference(file.path, at, flags, "possible", attribute)

    def _files(
        self, name: str, names: _Names, path: str | None
    ) -> Iterator[tuple[ResolverFile, Iterable[Numbers]]]:
        """Yield the files that contain a name, with its occurrences."""
        only = names.only_in(name) if path is None else {path}
        read = names.of_default if name == DEFAULT else ()
        for file, numbers in self.session.uses(name, [*read]):
            if only is None or file.path in only:
                yield file, numbers

    def _add_defaults(self, names: _Names, targets: dict[Target, Target]) -> None:
        for target in list(targets):
            file = self.session.file(target.path) if isinstance(target, Name) else None
            if file is not None:
                self._add_default(names, file, [target])

    def _add_default(self, names: _Names, file: ResolverFile, targets: Collection[Target]) -> None:
        """Also search for `default` if a file exports a target under that name.

        Nearly every file of JavaScript imports a default. Those that import this one name its file,
        except by the name of a folder or a package.
        """
        if file.path in names.checked or not file.rules.renames:
            return
        names.checked.add(file.path)
        if not set(targets).isdisjoint(exported(self.session, file.path, DEFAULT)):
            read = self._read_for_default(file.path)
            names.of_default[read] = None
            self.session.searched[read] = None
            names.add(DEFAULT)

    def _read_for_default(self, path: str) -> str:
        """Return what to read for the files that import the default export of a file."""
        stem = path.rpartition("/")[2].partition(".")[0]
        if stem in FRONTS or projects.may_be_alias(self.view, stem):
            return DEFAULT
        return f"{IMPORT_OF}{stem}"

    def _overrides(self, name: str, owners: list[Class]) -> list[Class]:
        """Return the classes whose members of this name belong to the family of the owners'
        members: those that they override, and that override them."""
        tops: set[Class] = set()
        definers = self.classes.definers(name) if owners else {}
        for owner in owners:
            file = self.session.file(owner.path)
            if file is not None and file.rules.marked:
                tops.update(
                    definer
                    for definer in self.classes.mro(owner)
                    if definers.get(definer, 0) & OF_OBJECTS
                )
        if not tops:
            return []
        return [
            definer
            for definer, kind in definers.items()
            if kind & OF_OBJECTS and not tops.isdisjoint(self.classes.mro(definer))
        ]

    def _linked(self, target: Target) -> bool:
        """Return True if a target is in a language with linkage."""
        if not isinstance(target, Name):
            return False
        file = self.session.file(target.path)
        return target.space != "" or (file is not None and file.rules.linkage)

    def definers(self, file: ResolverFile, name: str, apart: bool = False) -> Iterable[Class]:
        """Return all classes that define a member of this name, by the rules of a file's
        language."""
        if file.rules.linkage:
            return [owner for owner in self.linker.definers(name) if owner.path]
        return self.classes.definers(name, file.language, apart)

    def _plain_references(
        self,
        file: ResolverFile,
        name: str,
        targets: Iterable[Target],
        places: Iterable[tuple[int, int, int]],
    ) -> Iterator[ResolvedReference]:
        candidates = self._plain(name, world(file.language))
        for at, flags, receiver in places:
            tiers = {
                candidates.tier(file, target, at, flags, receiver)
                for target in targets
                if isinstance(target, Name)
            }
            for tier in TIERS:
                if tier in tiers:
                    yield ResolvedReference(file.path, at, flags, tier)
                    break

    def _is_plain(self, target: Target) -> bool:
        file = self._file(target)
        return file is not None and file.rules.plain

    def _unresolved(
        self, file: ResolverFile, name: str, targets: list[Target], places: Iterable[Numbers]
    ) -> Iterator[ResolvedReference]:
        """Yield the uses of targets in a plain language that a file in another language can have:
        those that it does not resolve itself."""
        if targets:
            unresolved = (
                place
                for place in places
                if place[1] & DEFINES or not self._is_resolved(file, name, place)
            )
            yield from self._plain_references(file, name, targets, unresolved)

    def _is_resolved(self, file: ResolverFile, name: str, place: Numbers) -> bool:
        """Return True if the name at a place means something that its own language defines."""
        meaning = self.meaning(file, name, *place)
        return any(
            not isinstance(target, External) and target.path != "" for target in meaning.targets
        )

    def _through_accessors(
        self, name: str, targets: Iterable[Target], path: str | None
    ) -> Iterator[ResolvedReference]:
        """Yield the possible uses of a property by its accessors in Java, and of accessors in Java
        as a property."""
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if file is None or owner is None or not isinstance(target, Name):
                continue
            if file.language == "java" and target.apart:
                names, languages = [*filter(None, [property_of(name)])], WITH_PROPERTIES
            elif file.language in WITH_PROPERTIES and self._is_property(file, target):
                names, languages = accessors(name), JAVA
            else:
                continue
            for accessor in names:
                yield from self._named_differently(accessor, owner, languages, path)

    def _named_differently(
        self, name: str, owner: Class, languages: Collection[str], path: str | None
    ) -> Iterator[ResolvedReference]:
        """Yield the possible uses of a class's member by another name in other languages."""
        classes = frozenset((owner.name.rpartition(".")[2],))
        for file, numbers in self._files(name, _Names(name), path):
            for place in numbers if file.language in languages else ():
                at, flags, _ = place
                if flags & (BINDS | DEFINES) or (file.rules.plain and flags & ROLE != ATTRIBUTE):
                    continue
                if not file.rules.plain and self._is_resolved(file, name, place):
                    continue
                if self._mentions(file, classes):
                    yield ResolvedReference(file.path, at, flags, "possible", name)
                else:
                    self.undecided += 1

    def _is_property(self, file: ResolverFile, target: Name) -> bool:
        return any(
            definition.kind in PROPERTIES and file.scope_at(definition.at) == target.scope
            for found_in, definition in self.session.definitions(target.name)
            if found_in.path == file.path
        )

    def _owner(self, target: Target) -> Class | None:
        """Return the class that a target is a member of."""
        file = self.session.file(target.path) if isinstance(target, Name) else None
        if file is None or not isinstance(target, Name):
            return None
        if file.scopes[target.scope].kind not in MEMBERS:
            return None
        if file.rules.merging:
            named = file.scopes[target.scope].name
            return Class(target.path, target.scope, file.qualified(target.scope) if named else "")
        return self.classes.class_at(file, target.scope)

    def _file(self, target: Target) -> ResolverFile | None:
        return None if isinstance(target, External) else self.session.file(target.path)

    def _overriding(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """Return the same member of superclasses and subclasses, if these count as one symbol."""
        found: set[Name] = set()
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if not isinstance(target, Name) or not owner or not file:
                continue
            if not file.rules.family or file.rules.marked:
                continue
            definers = self.classes.definers(name, file.language, target.apart)
            above = [definer for definer in self.classes.mro(owner) if definer in definers]
            if file.rules.extending:
                # A member without a base belongs to its class only.
                above = [
                    definer
                    for definer in above
                    if self.classes.kind(definer) in ("trait", "interface")
                ]
            for top in above:
                found.update(
                    Name(definer.path, definer.scope, name, target.apart)
                    for definer in self.classes.below(top)
                    if definer in definers
                )
        return frozenset(found)

    def _is_override(
        self, file: ResolverFile, at: int, flags: int, targets: Iterable[Target]
    ) -> bool:
        """Return True if a member declared here, in an unnamed class, overrides a target."""
        if not file.rules.family or file.rules.marked or flags & ROLE != MEMBER:
            return False
        scope = file.class_around(file.scope_at(at))
        if scope is None or file.scopes[scope].name:
            return False
        above = self.classes.mro(self.classes.class_at(file, scope))[1:]
        return any(
            isinstance(target, Name) and target.apart == bool(flags & APART) and owner in above
            for target in targets
            if (owner := self._owner(target))
        )

    def _satisfying(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """Return the same member of interfaces that are implemented implicitly."""
        found = set()
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if file is not None and owner is not None and file.rules.structural:
                found |= self.classes.satisfying(owner, name, file.language)
        return frozenset(Name(related.path, related.scope, name) for related in found)

    def _possible(
        self,
        file: ResolverFile,
        name: str,
        meaning: Meaning,
        owners: list[Class],
        overrides: list[Class],
        apart: bool,
    ) -> bool:
        """Return True if an unresolved member can be one of the targets."""
        if meaning.of is not None:
            if file.rules.marked:
                return False
            # Used in a class whose subclasses define it.
            return any(meaning.of in self.classes.mro(owner)[1:] for owner in owners)
        if not meaning.unknown:
            return False
        rivals = self._rivals(file, name, (*owners,), (*overrides,), apart)
        if not rivals.others:
            return True
        # A family with many definitions is more probable than a single other class.
        allowed = max(1, rivals.family // FAMILY_TO_OTHERS)
        return rivals.others <= allowed and self._mentions(file, rivals.names)

    def _rivals(
        self,
        file: ResolverFile,
        name: str,
        owners: tuple[Class, ...],
        overrides: tuple[Class, ...],
        apart: bool,
    ) -> Rivals:
        """Return the rivals of a member, the same for all occurrences in a language."""
        key = (file.language, name, owners, overrides, apart)
        if (cached := self._cached_rivals.get(key)) is not None:
            return cached
        family = frozenset((*overrides, *owners))
        if not file.rules.marked:
            family = frozenset().union(*map(self.family, owners))
        definers = self.classes.definers(name, file.language, apart)
        rival_count = sum(owner not in family for owner in definers) + (name in file.rules.common)
        if apart and not any(owner in family for owner in definers):
            rival_count = NEVER
        names = frozenset(owner.name.rpartition(".")[2] for owner in family)
        rivals = self._cached_rivals[key] = Rivals(rival_count, len(family), names)
        return rivals

    @cached_method
    def _mentions(self, file: ResolverFile, names: frozenset[str]) -> bool:
        """Return True if one of these names occurs in a file."""
        if len(names) > FEW:
            return not names.isdisjoint(self.view.names_in(file.path))
        return any(self.session.unpacked(file, name) for name in names)

    @cached_method
    def family(self, owner: Class) -> frozenset[Class]:
        """Return a class with its superclasses and subclasses."""
        return frozenset(self.classes.mro(owner)) | self.classes.below(owner)
