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
from typing import Literal

from msgspec import Struct

from winnow.symbols.facts import (
    APART,
    ATTRIBUTE,
    IMPORTED,
    KEY,
    KEYWORD,
    LABEL,
    MEMBER,
    ROLE,
    SHORTHAND,
    STRING,
)
from winnow.symbols.resolve import plain
from winnow.symbols.resolve.names import (
    External,
    Module,
    Name,
    Target,
    exported,
    from_module,
    imported,
)
from winnow.symbols.resolve.plain import Candidates
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import MEMBERS, FileFacts, Session
from winnow.symbols.resolve.types import Class, Function, Instance, Types, Untyped
from winnow.symbols.view import View

Tier = Literal["certain", "likely", "possible"]


class Reference(Struct, frozen=True, gc=False):
    """A place where a symbol is used; ``at`` is an offset in bytes."""

    path: str
    at: int
    flags: int
    tier: Tier


class Meaning(Struct, frozen=True):
    """What an occurrence means, as far as it can be said.

    ``unknown`` says that it may be a member of anything, ``untyped`` that this is because a
    parameter is declared without a type; ``of`` is the class whose member it is, where none was
    found that defines it.
    """

    targets: list[Target] = []
    unknown: bool = False
    untyped: bool = False
    of: Class | None = None


class Resolver:
    """Answers about one view, for one request."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.session = Session(view, plain.RULES)
        self._candidates: dict[tuple[str, str], Candidates] = {}
        self.types = Types(self.session)
        # Uses of a name that may mean the symbol, or another one that is called so.
        self.undecided = 0
        self._families: dict[Class, frozenset[Class]] = {}

    # --- from an occurrence to what it means -----------------------------------------------

    def meaning(self, file: FileFacts, name: str, at: int, flags: int, receiver: int) -> Meaning:
        """What the name at an offset means."""
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
            owner = self._around(file, scope, receiver)
            return Meaning([Name(owner.path, owner.scope, name, apart)] if owner else [])
        if role == ATTRIBUTE:
            return self._attribute(file, scope, name, file.skeleton.receivers[receiver], apart)
        if role == KEYWORD:
            return self._keyword(file, scope, name, file.skeleton.receivers[receiver])
        if role == KEY:
            return self._key(file, scope, name, receiver, apart)
        if role == LABEL:
            return Meaning()
        found = self.types.named(file, scope, name, apart)
        if flags & SHORTHAND and receiver:
            found = found + self._key(file, scope, name, receiver, apart=True).targets
        return Meaning(found)

    def _around(self, file: FileFacts, scope: int, receiver: int) -> Class | None:
        """The class that a member is written down for."""
        if receiver:
            owner = self.types.of(file, scope, file.skeleton.receivers[receiver])
            return owner if isinstance(owner, Class) else None
        around = file.class_around(scope)
        return self.types.class_at(file, around) if around is not None else None

    def _key(self, file: FileFacts, scope: int, name: str, receiver: int, apart: bool) -> Meaning:
        """A key of an object literal, whose class may be known."""
        if not receiver:
            return Meaning(unknown=True)
        owner = self.types.declared(file, scope, file.skeleton.receivers[receiver])
        if isinstance(owner, Instance):
            found = self._member(owner.of, name, above=False, apart=apart)
            if found.targets:
                return found
        if isinstance(owner, External):
            return Meaning([owner])
        # A key of a map may be a name like any other.
        return Meaning([] if apart else self.types.named(file, scope, name, False))

    def _plain(self, name: str, language: str) -> Candidates:
        key = (name, world(language))
        known = self._candidates.get(key)
        if known is None:
            known = self._candidates[key] = Candidates(self, name, language)
        return known

    def _imported(self, file: FileFacts, name: str, at: int) -> list[Target]:
        for one in file.skeleton.imports:
            if one.at == at and one.name == name:
                return from_module(self.session, file, one.module, name, set())
        for one in file.imports.get(name, ()):
            return imported(self.session, file, one, name, set())
        return []

    def _attribute(
        self, file: FileFacts, scope: int, name: str, receiver: str, apart: bool
    ) -> Meaning:
        kind = self.types.of(file, scope, receiver) if receiver != "?" else None
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
            member = self._member(owner, name, above=above, apart=apart)
            if not member.targets and isinstance(kind, Class) and name in self._imports(kind):
                return Meaning(exported(self.session, f"{kind.path}::{kind.name}", name))
            return Meaning(unknown=True) if extended and not member.targets else member
        return Meaning()

    def _imports(self, owner: Class) -> Container[str]:
        file = self.session.file(owner.path)
        return file.imports if file else ()

    def _extends(self, file: FileFacts, name: str) -> bool:
        """Whether an interface defines a member, which any class may then have."""
        definers = self.types.definers(name, file.language)
        return any(self.types.kind(one) in ("trait", "interface") for one in definers)

    def _member(self, owner: Class, name: str, *, above: bool, apart: bool = False) -> Meaning:
        definer = self.types.definer(owner, name, above=above, apart=apart)
        if definer is not None:
            return Meaning([Name(definer.path, definer.scope, name, apart)])
        return Meaning() if above else Meaning(of=owner)

    def _keyword(self, file: FileFacts, scope: int, name: str, called: str) -> Meaning:
        """The parameter of the function called, or the field of the class without a constructor."""
        kind = self.types.of(file, scope, called) if called != "?" else None
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

    # --- from a symbol to its references ---------------------------------------------------

    def at(self, path: str, offset: int, name: str) -> list[Target]:
        """What the name at an offset of a file means."""
        file = self.session.file(path)
        if file is None:
            return []
        for at, flags, receiver in self.session.unpacked(file, name):
            if at == offset:
                meaning = self.meaning(file, name, at, flags, receiver)
                return [target for target in meaning.targets if not isinstance(target, External)]
        return []

    def references(
        self, name: str, targets: list[Target], path: str | None = None
    ) -> Iterator[Reference]:
        """Every use of what these targets are, declarations included; in one file only, if it is
        named."""
        owners = [owner for target in targets if (owner := self._owner(target)) is not None]
        wanted = frozenset(targets) | self._overriding(name, targets)
        related = self._satisfying(name, targets) - wanted
        worlds = {world(one.language) for target in targets if (one := self._file(target))}
        for file, packed in self.view.occurrences(name):
            if path is not None and file.path != path:
                continue
            facts = self.session.file(file.path)
            if facts is None or (worlds and world(file.language) not in worlds):
                continue
            numbers = iter(array("I", packed))
            places = zip(numbers, numbers, numbers, strict=True)
            if facts.rules.plain:
                yield from self._plain_references(facts, name, wanted, places)
                continue
            for at, flags, receiver in places:
                meaning = self.meaning(facts, name, at, flags, receiver)
                if not wanted.isdisjoint(meaning.targets) or (
                    owners and self._overrides(facts, at, flags, wanted)
                ):
                    yield Reference(file.path, at, flags, "certain")
                elif not related.isdisjoint(meaning.targets):
                    yield Reference(file.path, at, flags, "likely")
                elif owners and self._possible(facts, name, meaning, owners, bool(flags & APART)):
                    tier: Tier = "possible" if meaning.untyped else "likely"
                    yield Reference(file.path, at, flags, tier)
                elif owners and meaning.unknown:
                    self.undecided += 1

    def _plain_references(
        self,
        file: FileFacts,
        name: str,
        wanted: frozenset[Target],
        places: Iterable[tuple[int, int, int]],
    ) -> Iterator[Reference]:
        candidates = self._plain(name, file.language)
        for at, flags, receiver in places:
            tiers = {
                candidates.tier(file, one, at, flags, receiver)
                for one in wanted
                if isinstance(one, Name)
            } - {None}
            if tiers:
                tier: Tier = "likely" if "likely" in tiers else "possible"
                yield Reference(file.path, at, flags, tier)

    def _owner(self, target: Target) -> Class | None:
        """The class that a target is a member of."""
        file = self.session.file(target.path) if isinstance(target, Name) else None
        if file is None or not isinstance(target, Name):
            return None
        if file.scopes[target.scope].kind not in MEMBERS:
            return None
        return self.types.class_at(file, target.scope)

    def _file(self, target: Target) -> FileFacts | None:
        return None if isinstance(target, External) else self.session.file(target.path)

    def _overriding(self, name: str, targets: list[Target]) -> frozenset[Name]:
        """The same member of classes above and below, where these count as one."""
        found: set[Name] = set()
        for target in targets:
            file, owner = self._file(target), self._owner(target)
            if not isinstance(target, Name) or not owner or not file or not file.rules.family:
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

    def _overrides(self, file: FileFacts, at: int, flags: int, wanted: frozenset[Target]) -> bool:
        """Whether a member that is written down here, in a class without a name, overrides one."""
        if not file.rules.family or flags & ROLE != MEMBER:
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
        self, file: FileFacts, name: str, meaning: Meaning, owners: list[Class], apart: bool
    ) -> bool:
        """Whether a member that is not known to be one of these can be."""
        if meaning.of is not None:
            # Used in a class that leaves it to those below to define it.
            return any(meaning.of in self.types.mro(owner)[1:] for owner in owners)
        if not meaning.unknown:
            return False
        family = frozenset().union(*(self.family(owner) for owner in owners))
        definers = self.types.definers(name, file.language, apart)
        foreign = [one for one in definers if one not in family]
        if apart and not any(one in family for one in definers):
            return False
        others = len(foreign) + (name in file.rules.common)
        if not others:
            return True
        return others == 1 and any(
            self.session.unpacked(file, one.name.rpartition(".")[2]) for one in family
        )

    def family(self, owner: Class) -> frozenset[Class]:
        """A class, those above it, and those below."""
        known = self._families.get(owner)
        if known is None:
            known = self._families[owner] = frozenset(self.types.mro(owner)) | self.types.below(
                owner
            )
        return known
