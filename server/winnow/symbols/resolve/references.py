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
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from winnow.symbols.facts import (
    ATTRIBUTE,
    IMPORTED,
    KEY,
    KEYWORD,
    LABEL,
    MEMBER,
    ROLE,
    STRING,
)
from winnow.symbols.resolve.names import (
    External,
    Module,
    Name,
    Target,
    exported,
    from_module,
    imported,
    resolve,
)
from winnow.symbols.resolve.session import FileFacts, Session
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
        self.session = Session(view)
        self.types = Types(self.session)
        self._families: dict[Class, frozenset[Class]] = {}

    # --- from an occurrence to what it means -----------------------------------------------

    def meaning(self, file: FileFacts, name: str, at: int, flags: int, receiver: int) -> Meaning:
        """What the name at an offset means."""
        role = flags & ROLE
        scope = file.scope_at(at)
        if role == IMPORTED:
            return Meaning(self._imported(file, name, at))
        if role == STRING:
            return Meaning(exported(self.session, file.path, name))
        if role == MEMBER:
            around = file.class_around(scope)
            return Meaning([Name(file.path, around, name)] if around is not None else [])
        if role == ATTRIBUTE:
            return self._attribute(file, scope, name, file.skeleton.receivers[receiver])
        if role == KEYWORD:
            return self._keyword(file, scope, name, file.skeleton.receivers[receiver])
        if role in (KEY, LABEL):
            return Meaning(unknown=role == KEY)
        return Meaning(resolve(self.session, file, scope, name))

    def _imported(self, file: FileFacts, name: str, at: int) -> list[Target]:
        for one in file.skeleton.imports:
            if one.at == at and one.name == name:
                return from_module(self.session, file, one.module, name, set())
        for one in file.imports.get(name, ()):
            return imported(self.session, file, one, name, set())
        return []

    def _attribute(self, file: FileFacts, scope: int, name: str, receiver: str) -> Meaning:
        kind = self.types.of(file, scope, receiver) if receiver != "?" else None
        if kind is None or isinstance(kind, Untyped):
            return Meaning(unknown=True, untyped=kind is not None)
        if isinstance(kind, Module):
            found = exported(self.session, kind.path, name)
            return Meaning(found)
        if isinstance(kind, External):
            return Meaning([kind])
        if isinstance(kind, Instance):
            return self._member(kind.of, name, above=kind.above)
        if isinstance(kind, Class):
            return self._member(kind, name, above=False)
        return Meaning()

    def _member(self, owner: Class, name: str, *, above: bool) -> Meaning:
        definer = self.types.definer(owner, name, above=above)
        if definer is not None:
            return Meaning([Name(definer.path, definer.scope, name)])
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

    def references(self, name: str, targets: list[Target]) -> Iterator[Reference]:
        """Every use of what these targets are, declarations included."""
        wanted = frozenset(targets)
        owners = [owner for target in targets if (owner := self._owner(target)) is not None]
        for file, packed in self.view.occurrences(name):
            facts = self.session.file(file.path)
            if facts is None:
                continue
            numbers = iter(array("I", packed))
            for at, flags, receiver in zip(numbers, numbers, numbers, strict=True):
                meaning = self.meaning(facts, name, at, flags, receiver)
                if not wanted.isdisjoint(meaning.targets):
                    yield Reference(file.path, at, flags, "certain")
                elif owners and self._possible(facts, name, meaning, owners):
                    tier: Tier = "possible" if meaning.untyped else "likely"
                    yield Reference(file.path, at, flags, tier)

    def _owner(self, target: Target) -> Class | None:
        """The class that a target is a member of."""
        file = self.session.file(target.path) if isinstance(target, Name) else None
        if file is None or not isinstance(target, Name):
            return None
        if file.scopes[target.scope].kind != "class":
            return None
        return Class(target.path, target.scope, file.qualified(target.scope))

    def _possible(self, file: FileFacts, name: str, meaning: Meaning, owners: list[Class]) -> bool:
        """Whether a member that is not known to be one of these can be."""
        if meaning.of is not None:
            # Used in a class that leaves it to those below to define it.
            return any(meaning.of in self.types.mro(owner) for owner in owners)
        if not meaning.unknown:
            return False
        family = frozenset().union(*(self.family(owner) for owner in owners))
        foreign = [one for one in self.types.definers(name) if one not in family]
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
            known = self._families[owner] = frozenset(self.types.mro(owner)) | self.below(owner)
        return known

    def below(self, owner: Class) -> set[Class]:
        """A class and all those that are derived from it."""
        found, todo = {owner}, [owner]
        while todo and len(found) < 2_000:
            one = todo.pop()
            for file, scope in self.view.subclasses(one.name.rpartition(".")[2]):
                facts = self.session.file(file.path)
                if facts is None:
                    continue
                derived = Class(file.path, scope, facts.qualified(scope))
                if derived not in found and one in self.types.mro(derived):
                    found.add(derived)
                    todo.append(derived)
        return found
