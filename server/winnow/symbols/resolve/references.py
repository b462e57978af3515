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

from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BARE,
    BINDS,
    CALLED,
    DEFINES,
    IMPORTED,
    ROLE,
    Numbers,
    scope_of_name,
)
from winnow.symbols.resolve.accessors import (
    JAVA,
    PROPERTIES,
    WITH_PROPERTIES,
    accessors,
    property_of,
)
from winnow.symbols.resolve.families import Families
from winnow.symbols.resolve.names import TIERS, Name, ResolvedReference, Target, Tier
from winnow.symbols.resolve.places import places
from winnow.symbols.resolve.resolver import CONSTRUCTOR, Meaning, Resolver
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.searched_names import DEFAULT, SearchedNames
from winnow.symbols.resolve.session import ResolverFile
from winnow.symbols.resolve.types import Class

_CAPITAL = re.compile(r"(?<!^)[A-Z]")
_ACCESSOR = re.compile(r"\bfunction \w+\(\): Attribute\b")


def _is_constant(name: str) -> bool:
    return name.isupper() and "_" in name


class Wanted(Struct, frozen=True):
    """The targets whose uses are searched, each by what an occurrence can mean.

    ``owners`` are the classes that they are members of, ``family`` the classes that override or are
    overridden there, and ``related`` the members that implicitly implement the same interface.
    """

    name: str
    targets: dict[Target, Target]
    owners: list[Class]
    family: list[Class]
    related: frozenset[Name]


class References:
    """Finds the uses of symbols, for one request."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._session = resolver.session
        self._families = Families(resolver)
        # Uses that may mean the symbol, or another one with the same name.
        self.undecided = 0

    def of(
        self, name: str, targets: list[Target], path: str | None = None, language: str = ""
    ) -> Iterator[ResolvedReference]:
        """Yield all uses of the targets, including declarations; only in one file if ``path`` is
        given.

        ``language`` is the language of the file in which the user selected the name.
        """
        if linked := [target for target in targets if self._linked(target)]:
            yield from self._resolver.linker.uses(name, linked, path)
            self.undecided += self._resolver.linker.undecided
        if name == CONSTRUCTOR:
            yield from self._constructed(targets, path)
        yield from self._accessed(name, targets, path)
        yield from self._resolved(name, targets, path, language)
        yield from self._through_accessors(name, targets, path)

    def _resolved(
        self, name: str, targets: list[Target], path: str | None, language: str
    ) -> Iterator[ResolvedReference]:
        """Yield the occurrences of a name and its aliases that mean one of the targets."""
        wanted = self._wanted(name, targets)
        worlds = {world(of.language) for target in targets if (of := self._resolver.file(target))}
        if not worlds and language:
            worlds = {world(language)}
        by_name = [target for target in targets if self._is_plain(target)]
        names = SearchedNames(self._session, name)
        names.add_defaults(list(wanted.targets))
        for called in names:
            for file, numbers in names.uses(called, path):
                if worlds and world(file.language) not in worlds:
                    continue
                if file.rules.plain:
                    yield from self._plain_references(file, name, wanted.targets, numbers)
                    continue
                places, found = list(numbers), set[int]()
                for use in self._unresolved(file, name, by_name, places) if called == name else ():
                    found.add(use.at)
                    yield use
                if file.rules.linkage or (by_name and len(by_name) == len(targets)):
                    continue
                rest = [place for place in places if place[0] not in found]
                uses = (self._use(wanted, names, file, called, place) for place in rest)
                yield from (use for use in uses if use is not None)

    def _wanted(self, name: str, targets: list[Target]) -> Wanted:
        """Return the targets with the members of other classes that count as the same symbol."""
        owners = [
            owner for target in targets if (owner := self._resolver.owner(target)) is not None
        ]
        static = any(isinstance(one, Name) and one.static for one in targets)
        family = [] if static or name == CONSTRUCTOR else self._families.overrides(name, owners)
        wanted = {
            replace(target, spaces=0) if isinstance(target, Name) else target: target
            for target in targets
        }
        wanted |= {same: same for same in self._families.overriding(name, targets)}
        wanted |= {(one := Name(each.path, each.scope, name)): one for each in family}
        related = self._families.satisfying(name, targets)
        return Wanted(name, wanted, owners, family, related)

    def _use(
        self, wanted: Wanted, names: SearchedNames, file: ResolverFile, called: str, place: Numbers
    ) -> ResolvedReference | None:
        """Return the use at an occurrence of a name, or None."""
        at, flags, _ = place
        meaning = self._resolver.meaning(file, called, *place)
        meant = [wanted.targets[target] for target in meaning.targets if target in wanted.targets]
        if not meant:
            tier = self._tier(wanted, file, called, place, meaning)
            return ResolvedReference(file.path, at, flags, tier) if tier else None
        if not any(self._resolver.in_space(file, at, flags, one) for one in meant):
            return None
        if file.rules.renames and flags & ROLE in (IMPORTED, BARE):
            names.add_renamed(file, called, at)
            names.add_default(file, wanted.targets.keys() & meaning.targets)
        if not names.is_new(file, at):
            return None
        written = self._written(file, called, at, flags)
        alias = "" if written == wanted.name else written
        sure: Tier = "likely" if meaning.either else "certain"
        return ResolvedReference(file.path, at, flags, sure, alias)

    def _tier(
        self, wanted: Wanted, file: ResolverFile, called: str, place: Numbers, meaning: Meaning
    ) -> Tier | None:
        """Return how certainly an occurrence that means none of the targets is a use of one."""
        at, flags, _ = place
        if called != wanted.name or not wanted.owners:
            # An object of settings has the constants of a module as attributes.
            dynamic = meaning.unknown or meaning.of is not None
            is_setting = called == wanted.name and dynamic and _is_constant(called)
            return "possible" if is_setting else None
        if self._families.is_override(file, at, flags, wanted.targets):
            return "certain"
        if not wanted.related.isdisjoint(meaning.targets):
            return "likely"
        apart = bool(flags & APART)
        if self._families.possible(file, called, meaning, wanted.owners, wanted.family, apart):
            return "possible" if meaning.untyped else "likely"
        self.undecided += meaning.unknown
        return None

    def _written(self, file: ResolverFile, name: str, at: int, flags: int) -> str:
        """Return the text at an occurrence of a name."""
        if name == CONSTRUCTOR and flags & CALLED:
            return file.rules.super_name
        if name == DEFAULT and flags & ROLE == IMPORTED:
            for imported_name in file.scope_table.imports:
                if imported_name.at == at and any(
                    start == at for start, _, _ in self._session.unpacked(file, imported_name.local)
                ):
                    return imported_name.local
        return name

    def _constructed(self, targets: list[Target], path: str | None) -> Iterator[ResolvedReference]:
        """Yield the places that create instances of a class, for its constructor."""
        for target in targets:
            file = self._session.file(target.path) if isinstance(target, Name) else None
            if file is None or not isinstance(target, Name) or not file.rules.merging:
                continue
            around = file.canonical[scope_of_name(file.scopes, target.scope)]
            of = Name(target.path, around, file.scopes[target.scope].name)
            for use in self.of(of.name, [of], path):
                if use.flags & CALLED:
                    yield replace(use, name=use.name or of.name)

    def _accessed(
        self, name: str, targets: list[Target], path: str | None
    ) -> Iterator[ResolvedReference]:
        """Yield what may read the attribute that a method of Laravel computes: `a.full_name` for
        `fullName(): Attribute`."""
        attribute = _CAPITAL.sub(r"_\g<0>", name).lower()
        named = places(self._resolver.classes, targets) if attribute != name else []
        if not any(it.definition and _ACCESSOR.search(it.definition.signature) for it in named):
            return
        for file, numbers in self._session.uses(attribute):
            if world(file.language) == "php" and path in (None, file.path):
                for at, flags, _ in numbers:
                    if flags & ROLE == ATTRIBUTE:
                        yield ResolvedReference(file.path, at, flags, "possible", attribute)

    def _linked(self, target: Target) -> bool:
        """Return True if a target is in a language with linkage."""
        if not isinstance(target, Name):
            return False
        file = self._session.file(target.path)
        return target.space != "" or (file is not None and file.rules.linkage)

    def _plain_references(
        self,
        file: ResolverFile,
        name: str,
        targets: Iterable[Target],
        places: Iterable[tuple[int, int, int]],
    ) -> Iterator[ResolvedReference]:
        candidates = self._resolver.candidates(name, world(file.language))
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
        file = self._resolver.file(target)
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
                if place[1] & DEFINES or not self._resolver.is_resolved(file, name, place)
            )
            yield from self._plain_references(file, name, targets, unresolved)

    def _through_accessors(
        self, name: str, targets: Iterable[Target], path: str | None
    ) -> Iterator[ResolvedReference]:
        """Yield the possible uses of a property by its accessors in Java, and of accessors in Java
        as a property."""
        for target in targets:
            file, owner = self._resolver.file(target), self._resolver.owner(target)
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
        for file, numbers in self._session.uses(name):
            if file.language not in languages or path not in (None, file.path):
                continue
            for place in numbers:
                at, flags, _ = place
                if flags & (BINDS | DEFINES) or (file.rules.plain and flags & ROLE != ATTRIBUTE):
                    continue
                if not file.rules.plain and self._resolver.is_resolved(file, name, place):
                    continue
                if self._families.mentions(file, classes):
                    yield ResolvedReference(file.path, at, flags, "possible", name)
                else:
                    self.undecided += 1

    def _is_property(self, file: ResolverFile, target: Name) -> bool:
        return any(
            definition.kind in PROPERTIES and file.scope_at(definition.at) == target.scope
            for found_in, definition in self._session.definitions(target.name)
            if found_in.path == file.path
        )
