"""Find the members of other classes that count as the same symbol, or compete with it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from winnow.symbols.file_symbols import APART, MEMBER, ROLE
from winnow.symbols.resolve.classes import OF_OBJECTS
from winnow.symbols.resolve.names import Name, Target
from winnow.symbols.resolve.resolver import Meaning, Resolver
from winnow.symbols.resolve.session import ResolverFile, cached_method
from winnow.symbols.resolve.types import Class

NEVER = 1_000_000  # more rivals than any limit
FEW = 12  # up to this many names are looked up individually in a file
FAMILY_TO_OTHERS = 3


class Rivals(Struct, frozen=True):
    """The number of classes that define a member outside of a class family, the size of the family,
    and its unqualified names."""

    others: int
    family: int
    names: frozenset[str]


class Families:
    """Compares the members of one name in different classes, for one request."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._session = resolver.session
        self._classes = resolver.classes
        self._cached_rivals: dict[tuple[object, ...], Rivals] = {}

    def overrides(self, name: str, owners: list[Class]) -> list[Class]:
        """Return the classes whose members of this name belong to the family of the owners'
        members: those that they override, and that override them."""
        tops: set[Class] = set()
        definers = self._classes.definers(name) if owners else {}
        for owner in owners:
            file = self._session.file(owner.path)
            if file is not None and file.rules.marked:
                tops.update(
                    definer
                    for definer in self._classes.mro(owner)
                    if definers.get(definer, 0) & OF_OBJECTS
                )
        if not tops:
            return []
        return [
            definer
            for definer, kind in definers.items()
            if kind & OF_OBJECTS and not tops.isdisjoint(self._classes.mro(definer))
        ]

    def overriding(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """Return the same member of superclasses and subclasses, if these count as one symbol."""
        found: set[Name] = set()
        for target in targets:
            file, owner = self._resolver.file(target), self._resolver.owner(target)
            if not isinstance(target, Name) or not owner or not file:
                continue
            if not file.rules.family or file.rules.marked:
                continue
            definers = self._classes.definers(name, file.language, target.apart)
            above = [definer for definer in self._classes.mro(owner) if definer in definers]
            if file.rules.extending:
                # A member without a base belongs to its class only.
                above = [
                    definer
                    for definer in above
                    if self._classes.kind(definer) in ("trait", "interface")
                ]
            for top in above:
                found.update(
                    Name(definer.path, definer.scope, name, target.apart)
                    for definer in self._classes.below(top)
                    if definer in definers
                )
        return frozenset(found)

    def is_override(
        self, file: ResolverFile, at: int, flags: int, targets: Iterable[Target]
    ) -> bool:
        """Return True if a member declared here, in an unnamed class, overrides a target."""
        if not file.rules.family or file.rules.marked or flags & ROLE != MEMBER:
            return False
        scope = file.class_around(file.scope_at(at))
        if scope is None or file.scopes[scope].name:
            return False
        above = self._classes.mro(self._classes.class_at(file, scope))[1:]
        return any(
            isinstance(target, Name) and target.apart == bool(flags & APART) and owner in above
            for target in targets
            if (owner := self._resolver.owner(target))
        )

    def satisfying(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """Return the same member of interfaces that are implemented implicitly."""
        found = set()
        for target in targets:
            file, owner = self._resolver.file(target), self._resolver.owner(target)
            if file is not None and owner is not None and file.rules.structural:
                found |= self._classes.satisfying(owner, name, file.language)
        return frozenset(Name(related.path, related.scope, name) for related in found)

    def possible(
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
            return any(meaning.of in self._classes.mro(owner)[1:] for owner in owners)
        if not meaning.unknown:
            return False
        rivals = self._rivals(file, name, (*owners,), (*overrides,), apart)
        if not rivals.others:
            return True
        # A family with many definitions is more probable than a single other class.
        allowed = max(1, rivals.family // FAMILY_TO_OTHERS)
        return rivals.others <= allowed and self.mentions(file, rivals.names)

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
            family = frozenset().union(*map(self._family, owners))
        definers = self._classes.definers(name, file.language, apart)
        rival_count = sum(owner not in family for owner in definers) + (name in file.rules.common)
        if apart and not any(owner in family for owner in definers):
            rival_count = NEVER
        names = frozenset(owner.name.rpartition(".")[2] for owner in family)
        rivals = self._cached_rivals[key] = Rivals(rival_count, len(family), names)
        return rivals

    @cached_method
    def mentions(self, file: ResolverFile, names: frozenset[str]) -> bool:
        """Return True if one of these names occurs in a file."""
        if len(names) > FEW:
            return not names.isdisjoint(self._session.view.names_in(file.path))
        return any(self._session.unpacked(file, name) for name in names)

    @cached_method
    def _family(self, owner: Class) -> frozenset[Class]:
        """Return a class with its superclasses and subclasses."""
        return frozenset(self._classes.mro(owner)) | self._classes.below(owner)
