"""Where a symbol is used: every occurrence of its name is asked what it means.

An answer is "certain" where scopes, imports and declared types lead from the occurrence to the
symbol. Where nothing says what stands before a name (``x.send`` with an x from anywhere), it is
"likely" as long as hardly anything else of that name is defined: the rule that is worth the most
of all, measured on what compilers' servers answer (see ``server/README.md``). Where what stands
before it comes from a parameter without a declared type, it is only "possible": there those servers
answer nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from winnow.symbols.expressions import Expression, parse_expression
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BARE,
    BINDS,
    CALLED,
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
    scope_of_name,
)
from winnow.symbols.resolve import plain
from winnow.symbols.resolve.linkage import Linker
from winnow.symbols.resolve.names import (
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
from winnow.symbols.resolve.plain import NameCandidates
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session
from winnow.symbols.resolve.types import OF_OBJECTS, Class, Function, Instance, Type, Types, Untyped
from winnow.symbols.view import SymbolView

DEFAULT = "default"
NEVER = 1_000_000  # others
# What is bound nowhere: what the language itself brings, or what is not written yet.
BUILT_IN = External("")
FEW = 12  # names that are looked up one by one in a file, rather than all of its names
FAMILY_TO_OTHERS = 3
CONSTRUCTOR = "constructor"


class Meaning(Struct, frozen=True):
    """What an occurrence means, as far as it can be said.

    ``unknown`` says that it may be a member of anything, ``untyped`` that this is because a
    parameter is declared without a type; ``of`` is the class whose member it is, where none was
    found that defines it. ``either`` says that it means one of the targets, and not which.
    """

    targets: list[Target] = []
    unknown: bool = False
    untyped: bool = False
    of: Class | None = None
    either: bool = False


def _either(meanings: list[Meaning]) -> Meaning:
    """One of several meanings."""
    if len(meanings) == 1:
        return meanings[0]
    targets = list(dict.fromkeys(target for one in meanings for target in one.targets))
    return Meaning(
        targets,
        unknown=any(one.unknown for one in meanings),
        of=next((one.of for one in meanings if one.of is not None), None),
        either=any(len(one.targets) < len(targets) for one in meanings),
    )


# Spaces of names: one name can be a type, a value and a namespace.
VALUES, TYPES, NAMESPACES = 1, 2, 4


def space(flags: int) -> int:
    """The spaces that an occurrence can mean."""
    if flags & MENTIONED or flags & ROLE == IMPORTED:
        return VALUES | TYPES | NAMESPACES
    if flags & QUALIFIES:
        return NAMESPACES if flags & IN_TYPE else NAMESPACES | VALUES
    return TYPES if flags & IN_TYPE else VALUES


class _Names:
    """The names that a symbol is looked for under: its own, and those that imports give it."""

    def __init__(self, name: str) -> None:
        self.first = name
        # By name the files to look at, None for all.
        self._files: dict[str, set[str] | None] = {name: None}
        self._todo = [name]
        self._seen: set[tuple[str, int]] = set()

    def __iter__(self) -> Iterator[str]:
        while self._todo:
            yield self._todo.pop(0)

    def add(self, name: str, path: str | None = None) -> None:
        known = self._files.get(name, set())
        if known is None or (path is not None and path in known):
            return
        self._files[name] = None if path is None else {*known, path}
        if name not in self._todo:
            self._todo.append(name)

    def add_renamed(self, file: ResolverFile, name: str, at: int) -> None:
        """The name that an import or export at this place gives, where it is another one."""
        for one in file.scope_table.imports:
            if one.at == at and one.local != name and one.name in (name, DEFAULT):
                self.add(one.local, None if one.exported and one.scope == 0 else file.path)

    def only_in(self, name: str) -> set[str] | None:
        return self._files[name]

    def is_new(self, file: ResolverFile, at: int) -> bool:
        place = (file.path, at)
        if place in self._seen:
            return False
        self._seen.add(place)
        return True


class Rivals(Struct, frozen=True):
    """How many classes define a member beside a family of classes, of how many this consists, and
    their names without containers."""

    others: int
    family: int
    names: frozenset[str]


class Resolver:
    """Answers about one view, for one request."""

    def __init__(self, view: SymbolView) -> None:
        self.view = view
        self.session = Session(view, plain.RULES)
        self._candidates: dict[tuple[str, str], NameCandidates] = {}
        self.types = Types(self.session)
        self.linker = Linker(self.session)
        # Uses of a name that may mean the symbol, or another one that is called so.
        self.undecided = 0
        self._families: dict[Class, frozenset[Class]] = {}
        self._known_rivals: dict[tuple[object, ...], Rivals] = {}
        self._known_mentions: dict[tuple[str, frozenset[str]], bool] = {}

    # --- from an occurrence to what it means -----------------------------------------------

    def meaning(self, file: ResolverFile, name: str, at: int, flags: int, receiver: int) -> Meaning:
        """What the name at an offset means."""
        if file.rules.linkage:
            names = self.linker.meaning(file, name, at, flags, receiver)
            if names is None:
                guessed = self.linker.guess(file, name, file.receiver(receiver))
                return Meaning([*guessed], unknown=True)
            return Meaning([*names])
        if file.rules.plain:
            candidates = self._plain(name, file.language)
            return Meaning(list(candidates.near(file, at, flags, receiver)))
        role = flags & ROLE
        scope = file.scope_at(at)
        apart = bool(flags & APART)
        if role == IMPORTED:
            return Meaning(self._imported(file, name, at))
        if role == STRING:
            return Meaning(exported(self.session, file.path, name))
        if role == MEMBER:
            # Where members are marked, what stands before one is not all of their class.
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
        return Meaning(found or [BUILT_IN])

    def _around(self, file: ResolverFile, scope: int, receiver: int) -> Class | None:
        """The class that a member is written down for."""
        if receiver:
            owner = self.types.of(file, scope, file.receiver(receiver))
            return owner if isinstance(owner, Class) else None
        around = file.class_around(scope)
        return self.types.class_at(file, around) if around is not None else None

    def _shorthand(
        self, file: ResolverFile, scope: int, name: str, flags: int, receiver: int
    ) -> Meaning:
        """A variable and a member in one."""
        variable = self.types.named(file, scope, name, False)
        if flags & PARAMETER:
            around = file.class_around(scope)
            member = [] if around is None else [Name(file.path, file.canonical[around], name)]
            return Meaning([*member, *variable])  # the first is what it is called by
        apart = "field" in file.rules.apart
        key = self._key(file, scope, name, file.scope_table.receivers[receiver], apart)
        return replace(key, targets=[*variable, *key.targets])

    def _key(
        self, file: ResolverFile, scope: int, name: str, receiver: str, apart: bool
    ) -> Meaning:
        """A key of an object: a member of what is expected there, if anything is."""
        if not receiver:
            return Meaning()
        if file.rules.merging:
            found = self._attribute(file, scope, name, parse_expression(receiver), apart)
            return replace(found, targets=[one for one in found.targets if isinstance(one, Name)])
        owner = self.types.declared(file, scope, receiver)
        if isinstance(owner, Instance):
            found = self._member(owner.of, name, above=False, apart=apart)
            if found.targets:
                return found
        if isinstance(owner, External):
            return Meaning([owner])
        # A key of a map may be a name like any other.
        return Meaning([] if apart else self.types.named(file, scope, name, False))

    def _plain(self, name: str, language: str) -> NameCandidates:
        key = (name, world(language))
        known = self._candidates.get(key)
        if known is None:
            known = self._candidates[key] = NameCandidates(self.session, self.at, name, language)
        return known

    def _imported(self, file: ResolverFile, name: str, at: int) -> list[Target]:
        if at in file.scope_table.modules:
            module = file.scope_table.modules[at]
            path = self.session.module(file, module)
            return [Module(path) if path else External(module)]
        for one in file.scope_table.imports:
            if one.at == at and one.name == name:
                return from_module(self.session, file, one.module, name, set())
        for one in file.imports.get(name, ()):
            return imported(self.session, file, one, name, set())
        return []

    def _attribute(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression, apart: bool
    ) -> Meaning:
        kinds = self.types.each(file, scope, receiver)
        return _either([self._attribute_of(file, name, kind, apart) for kind in kinds])

    def _attribute_of(self, file: ResolverFile, name: str, kind: Type, apart: bool) -> Meaning:
        """What a name means behind something of a type."""
        if kind is None or isinstance(kind, Untyped):
            return Meaning(unknown=True, untyped=kind is not None)
        if isinstance(kind, Module):
            found = exported(self.session, kind.path, name)
            return Meaning(found)
        extended = file.rules.extending and not apart and self._extends(file, name)
        if isinstance(kind, External):
            return Meaning(unknown=True) if extended else Meaning([kind])
        if isinstance(kind, (Instance, Class)):
            owner = kind.of if isinstance(kind, Instance) else kind
            above = isinstance(kind, Instance) and kind.above
            static = isinstance(kind, Class)
            member = self._member(owner, name, above=above, static=static, apart=apart)
            if not member.targets and isinstance(kind, Class) and name in self._imports(kind):
                return Meaning(exported(self.session, f"{kind.path}::{kind.name}", name))
            return Meaning(unknown=True) if extended and not member.targets else member
        return Meaning()

    def _imports(self, owner: Class) -> Container[str]:
        file = self.session.file(owner.path)
        return file.imports if file else ()

    def _extends(self, file: ResolverFile, name: str) -> bool:
        """Whether an interface defines a member, which any class may then have."""
        definers = self.types.definers(name, file.language)
        return any(self.types.kind(one) in ("trait", "interface") for one in definers)

    def _member(
        self, owner: Class, name: str, *, above: bool, static: bool = False, apart: bool = False
    ) -> Meaning:
        file = self.session.file(owner.path)
        if file is not None and file.rules.marked:
            if static and self._is_in_namespace(file, owner, name):
                return Meaning([Name(owner.path, owner.scope, name)])
            found = self.types.members(owner, name, above=above, static=static)
            return Meaning(list(found)) if found or above else Meaning(of=owner)
        definer = self.types.definer(owner, name, above=above, apart=apart)
        if definer is not None:
            return Meaning([Name(definer.path, definer.scope, name, apart)])
        return Meaning() if above else Meaning(of=owner)

    def _is_in_namespace(self, file: ResolverFile, owner: Class, name: str) -> bool:
        """Whether one of the namespaces that a class's name stands for binds a name."""
        return any(
            file.scopes[scope].kind == "namespace" and file.canonical[scope] == owner.scope
            for scope in self.session.bound(file, name)
        )

    def _keyword(self, file: ResolverFile, scope: int, name: str, called: Expression) -> Meaning:
        """The parameter of the function called, or the field of the class without a constructor."""
        kinds = self.types.each(file, scope, called)
        return _either([self._keyword_of(kind, name) for kind in kinds])

    def _keyword_of(self, kind: Type, name: str) -> Meaning:
        if isinstance(kind, Function):
            return Meaning(self._parameter(kind.path, kind.scope, kind.name, name))
        if isinstance(kind, Class):
            definer = self.types.definer(kind, "__init__")
            if definer is not None:
                return Meaning(self._parameter(definer.path, definer.scope, "__init__", name))
            return self._member(kind, name, above=False)
        return Meaning()

    def _parameter(self, path: str, scope: int, function: str, name: str) -> list[Target]:
        file = self.session.file(path)
        inner = file.functions.get((scope, function)) if file else None
        return [Name(path, inner, name)] if inner is not None else []

    # --- types and values of one name ------------------------------------------------------

    def told_apart(
        self, targets: list[Target], file: ResolverFile, at: int, flags: int
    ) -> list[Target]:
        """Targets, those in the workspace if there are some, each with only those declarations of
        its name that this occurrence can mean."""
        known = [target for target in targets if not isinstance(target, External)]
        # What is defined elsewhere as well is meant by its definition here.
        return [self._told_apart(target, file, at, flags) for target in known or targets]

    def _told_apart(self, target: Target, file: ResolverFile, at: int, flags: int) -> Target:
        """A target with only those declarations of its name that this occurrence can mean."""
        if not isinstance(target, Name) or not file.rules.merging:
            return target
        declared = self._declarations(target)
        spaces = declared.get(at) if target.path == file.path else None
        meant = spaces or space(flags)
        for _ in declared:  # what is of two kinds joins them
            for one in declared.values():
                meant |= one if one & meant else 0
        return (
            target
            if all(one & meant for one in declared.values())
            else replace(target, spaces=meant)
        )

    def _declarations(self, target: Name) -> dict[int, int]:
        """The declarations of a name in a scope by offset, with the spaces they are in."""
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
        """What the name at an offset of a file means."""
        file = self.session.file(path)
        if file is None:
            return []
        for at, flags, receiver in self.session.unpacked(file, name):
            if at == offset:
                meaning = self.meaning(file, name, at, flags, receiver)
                return self.told_apart(meaning.targets, file, at, flags)
        return []

    def references(
        self, name: str, targets: list[Target], path: str | None = None, language: str = ""
    ) -> Iterator[ResolvedReference]:
        """Every use of what these targets are, declarations included; in one file only, if it is
        named. ``language`` is that of the place where the name was asked for."""
        if any(self._linked(target) for target in targets):
            yield from self.linker.uses(name, targets, path)
            self.undecided += self.linker.undecided
            return
        if name == CONSTRUCTOR:
            yield from self._constructed(targets, path)
        wanted = {self._everything(target): target for target in targets}
        owners = [owner for target in targets if (owner := self._owner(target)) is not None]
        static = any(isinstance(one, Name) and one.static for one in targets)
        family = [] if static or name == CONSTRUCTOR else self._overrides(name, owners)
        wanted |= {same: same for same in self._overriding(name, targets)}
        wanted |= {(one := Name(each.path, each.scope, name)): one for each in family}
        related = self._satisfying(name, targets)
        worlds = {world(of.language) for target in targets if (of := self._file(target))}
        if not worlds and language:
            worlds = {world(language)}
        names = _Names(name)
        self._add_defaults(names, wanted)
        for called in names:
            for facts, numbers in self._files(called, names, path):
                if worlds and world(facts.language) not in worlds:
                    continue
                if facts.rules.plain:
                    yield from self._plain_references(facts, name, wanted, numbers)
                    continue
                for at, flags, receiver in numbers:
                    meaning = self.meaning(facts, called, at, flags, receiver)
                    meant = [wanted[target] for target in meaning.targets if target in wanted]
                    if meant:
                        if not any(self._in_space(facts, at, flags, one) for one in meant):
                            continue
                        if facts.rules.renames and flags & ROLE in (IMPORTED, BARE):
                            names.add_renamed(facts, called, at)
                        if names.is_new(facts, at):
                            written = self._written(facts, called, at, flags)
                            other = "" if written == name else written
                            sure: Tier = "likely" if meaning.either else "certain"
                            yield ResolvedReference(facts.path, at, flags, sure, other)
                    elif called != name or not owners:
                        continue
                    elif self._is_override(facts, at, flags, wanted):
                        yield ResolvedReference(facts.path, at, flags, "certain")
                    elif not related.isdisjoint(meaning.targets):
                        yield ResolvedReference(facts.path, at, flags, "likely")
                    elif self._possible(facts, name, meaning, owners, family, bool(flags & APART)):
                        tier: Tier = "possible" if meaning.untyped else "likely"
                        yield ResolvedReference(facts.path, at, flags, tier)
                    elif meaning.unknown:
                        self.undecided += 1

    def _written(self, file: ResolverFile, name: str, at: int, flags: int) -> str:
        """What stands where an occurrence of a name is."""
        if name == CONSTRUCTOR and flags & CALLED:
            return file.rules.super_name
        if name == DEFAULT and flags & ROLE == IMPORTED:
            for one in file.scope_table.imports:
                if one.at == at and any(
                    start == at for start, _, _ in self.session.unpacked(file, one.local)
                ):
                    return one.local
        return name

    def _constructed(self, targets: list[Target], path: str | None) -> Iterator[ResolvedReference]:
        """Where objects of a class are made, for its constructor."""
        for target in targets:
            file = self.session.file(target.path) if isinstance(target, Name) else None
            if file is None or not isinstance(target, Name) or not file.rules.merging:
                continue
            around = file.canonical[scope_of_name(file.scopes, target.scope)]
            of = Name(target.path, around, file.scopes[target.scope].name)
            for one in self.references(of.name, [of], path):
                if one.flags & CALLED:
                    yield replace(one, name=one.name or of.name)

    def _files(
        self, name: str, names: _Names, path: str | None
    ) -> Iterator[tuple[ResolverFile, Iterable[tuple[int, int, int]]]]:
        """Files with occurrences of a name, and these."""
        only = names.only_in(name) if path is None else {path}
        for file, packed in self.view.occurrences(name):
            facts = self.session.file(file.path)
            if facts is not None and (only is None or file.path in only):
                numbers = iter(array("I", packed))
                yield facts, zip(numbers, numbers, numbers, strict=True)

    def _add_defaults(self, names: _Names, wanted: dict[Target, Target]) -> None:
        """Whatever is called `default` may be one of these, if a file of theirs exports it so."""
        for target in list(wanted):
            file = self.session.file(target.path) if isinstance(target, Name) else None
            if file is None or not file.rules.renames:
                continue
            if target in exported(self.session, file.path, DEFAULT):
                names.add(DEFAULT)

    def _everything(self, target: Target) -> Target:
        return replace(target, spaces=0) if isinstance(target, Name) and target.spaces else target

    def _overrides(self, name: str, owners: list[Class]) -> list[Class]:
        """The classes whose members of this name count as one with those of the owners: of those
        that they override, and that override these."""
        tops: set[Class] = set()
        definers = self.types.definers(name) if owners else {}
        for owner in owners:
            file = self.session.file(owner.path)
            if file is not None and file.rules.marked:
                tops.update(
                    one for one in self.types.mro(owner) if definers.get(one, 0) & OF_OBJECTS
                )
        if not tops:
            return []
        return [
            one
            for one, kind in definers.items()
            if kind & OF_OBJECTS and not tops.isdisjoint(self.types.mro(one))
        ]

    def _linked(self, target: Target) -> bool:
        """Whether a target is of a language whose names have linkage."""
        if not isinstance(target, Name):
            return False
        file = self.session.file(target.path)
        return target.space != "" or (file is not None and file.rules.linkage)

    def definers(self, file: ResolverFile, name: str, apart: bool = False) -> Iterable[Class]:
        """All classes that define a member of this name, as a file's language has them."""
        if file.rules.linkage:
            return self.linker.definers(name)
        return self.types.definers(name, file.language, apart)

    def _plain_references(
        self,
        file: ResolverFile,
        name: str,
        wanted: Iterable[Target],
        places: Iterable[tuple[int, int, int]],
    ) -> Iterator[ResolvedReference]:
        candidates = self._plain(name, file.language)
        for at, flags, receiver in places:
            tiers = {
                candidates.tier(file, one, at, flags, receiver)
                for one in wanted
                if isinstance(one, Name)
            } - {None}
            if tiers:
                tier: Tier = "likely" if "likely" in tiers else "possible"
                yield ResolvedReference(file.path, at, flags, tier)

    def _owner(self, target: Target) -> Class | None:
        """The class that a target is a member of."""
        file = self.session.file(target.path) if isinstance(target, Name) else None
        if file is None or not isinstance(target, Name):
            return None
        if file.scopes[target.scope].kind not in MEMBERS:
            return None
        if file.rules.merging:
            named = file.scopes[target.scope].name
            return Class(target.path, target.scope, file.qualified(target.scope) if named else "")
        return self.types.class_at(file, target.scope)

    def _file(self, target: Target) -> ResolverFile | None:
        return None if isinstance(target, External) else self.session.file(target.path)

    def _overriding(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """The same member of classes above and below, where these count as one."""
        found: set[Name] = set()
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if not isinstance(target, Name) or not owner or not file:
                continue
            if not file.rules.family or file.rules.marked:
                continue
            definers = self.types.definers(name, file.language, target.apart)
            above = [one for one in self.types.mro(owner) if one in definers]
            if file.rules.extending:
                # What a class has without any base is no one else's.
                above = [one for one in above if self.types.kind(one) in ("trait", "interface")]
            for top in above:
                found.update(
                    Name(one.path, one.scope, name, target.apart)
                    for one in self.types.below(top)
                    if one in definers
                )
        return frozenset(found)

    def _is_override(
        self, file: ResolverFile, at: int, flags: int, wanted: Iterable[Target]
    ) -> bool:
        """Whether a member that is written down here, in a class without a name, overrides one."""
        if not file.rules.family or file.rules.marked or flags & ROLE != MEMBER:
            return False
        scope = file.class_around(file.scope_at(at))
        if scope is None or file.scopes[scope].name:
            return False
        above = self.types.mro(self.types.class_at(file, scope))[1:]
        return any(
            isinstance(one, Name) and one.apart == bool(flags & APART) and owner in above
            for one in wanted
            if (owner := self._owner(one))
        )

    def _satisfying(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """The same member of interfaces that are satisfied without being named."""
        found = set()
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if file is not None and owner is not None and file.rules.structural:
                found |= self.types.satisfying(owner, name, file.language)
        return frozenset(Name(one.path, one.scope, name) for one in found)

    def _possible(
        self,
        file: ResolverFile,
        name: str,
        meaning: Meaning,
        owners: list[Class],
        overrides: list[Class],
        apart: bool,
    ) -> bool:
        """Whether a member that is not known to be one of these can be."""
        if meaning.of is not None:
            if file.rules.marked:
                return False
            # Used in a class that leaves it to those below to define it.
            return any(meaning.of in self.types.mro(owner)[1:] for owner in owners)
        if not meaning.unknown:
            return False
        rivals = self._rivals(file, name, (*owners,), (*overrides,), apart)
        if not rivals.others:
            return True
        # A family that defines it again and again is more probable than one other class.
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
        """The same for all occurrences in a language."""
        key = (file.language, name, owners, overrides, apart)
        known = self._known_rivals.get(key)
        if known is None:
            family = frozenset((*overrides, *owners))
            if not file.rules.marked:
                family = frozenset().union(*map(self.family, owners))
            definers = self.types.definers(name, file.language, apart)
            others = sum(one not in family for one in definers) + (name in file.rules.common)
            if apart and not any(one in family for one in definers):
                others = NEVER
            names = frozenset(one.name.rpartition(".")[2] for one in family)
            known = self._known_rivals[key] = Rivals(others, len(family), names)
        return known

    def _mentions(self, file: ResolverFile, names: frozenset[str]) -> bool:
        """Whether one of these names stands in a file."""
        key = (file.path, names)
        known = self._known_mentions.get(key)
        if known is None:
            if len(names) > FEW:
                known = not names.isdisjoint(self.view.names_in(file.path))
            else:
                known = any(self.session.unpacked(file, name) for name in names)
            self._known_mentions[key] = known
        return known

    def family(self, owner: Class) -> frozenset[Class]:
        """A class, those above it, and those below."""
        known = self._families.get(owner)
        if known is None:
            known = self._families[owner] = frozenset(self.types.mro(owner)) | self.types.below(
                owner
            )
        return known
