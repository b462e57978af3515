"""Resolve references in languages known by their names and definitions only.

A parameter belongs to its function. A name with a single definition means that one. Of several
definitions, likely ones match the receiver, are in the same file, or have a class or file that the
file mentions; all others are possible. Only definitions are certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BARE,
    DEFINES,
    KEYWORD,
    LOCAL,
    PARAMETER,
    ROLE,
)
from winnow.symbols.resolve.names import Name, Target, Tier
from winnow.symbols.resolve.rules import Rules, world
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session, cached_method
from winnow.symbols.view import SymbolView

# Kinds whose names are often also names of local variables.
_VARIABLES = frozenset(("field", "property", "variable", "enum_member"))
# Kinds that continue in other files, and languages in which classes do.
_SPREAD = frozenset(("module", "namespace"))
_OPEN = frozenset(("ruby", "csharp", "objc", "swift"))
# Languages in which members have no receiver only in their class and those that inherit from it.
_INSIDE = frozenset(("swift", "objc"))
# Methods whose arguments have the names of members.
_COPIES = frozenset(("copy", "copyWith"))
_SELVES = frozenset(("self", "this", "Self", "static", "__MODULE__"))


def _no_module(view: SymbolView, importer: str, name: str) -> str | None:
    return None


RULES = Rules(module=_no_module, plain=True)


def _last(name: str) -> str:
    """Return the last part of the name of a class."""
    return name.rpartition(".")[2]


class NameCandidates:
    """The definitions of a name in related languages, with what distinguishes them."""

    def __init__(
        self,
        session: Session,
        targets_at: Callable[[str, int, str], Sequence[Target]],
        name: str,
        language: str,
    ) -> None:
        self.session = session
        self.name = name
        self.language = language
        self.all: dict[Name, None] = {}
        self.owners: dict[Name, str] = {}
        self.by_owner: dict[str, set[Name]] = {}
        # Definitions of one symbol that continues elsewhere.
        self.same: dict[Name, set[Name]] = {}
        self._variables: set[Name] = set()
        self._mentioned: dict[tuple[str, str], bool] = {}
        groups: dict[str, set[Name]] = {}
        for found_in, definition in self.session.definitions(name, language):
            file = self.session.file(found_in.path)
            if file is None:
                continue
            around = definition.container.rpartition(".")[2]
            if definition.kind == "constructor" and around == name:
                continue  # it is called by its class name
            if file.rules.plain:
                scope = file.scope_at(definition.at)
                found = [Name(found_in.path, scope, name)]
                if file.scopes[scope].kind == "function":
                    continue  # it is only visible in that function
            else:
                targets = targets_at(found_in.path, definition.at, name)
                found = [candidate for candidate in targets if isinstance(candidate, Name)]
            owner = around or found_in.path.rpartition("/")[2].partition(".")[0]
            # The declarations of one symbol, as in a header and its source.
            key = str(min(((each.path, each.scope) for each in found), default=""))
            if definition.kind in _SPREAD or found_in.language in _OPEN:
                key = definition.qualified_name
            for candidate in found:
                self.all[candidate] = None
                self.owners[candidate] = owner
                self.by_owner.setdefault(owner, set()).add(candidate)
                if definition.kind in _VARIABLES:
                    self._variables.add(candidate)
                self.same[candidate] = groups.setdefault(key, set())
                self.same[candidate].add(candidate)
        self.single = len(groups) == 1

    def meant(self, file: ResolverFile, at: int, flags: int, receiver: int) -> set[Name] | None:
        """Return the definitions that the name at an offset means, or None if nothing decides."""
        scope = file.scope_at(at)
        if flags & DEFINES:
            around = file.class_around(scope)
            if around is not None and _last(file.scopes[around].name) == self.name:
                scope = file.scopes[around].parent  # a constructor
            here = Name(file.path, scope, self.name)
            return self.same.get(here, {here})
        if flags & ROLE == ATTRIBUTE:
            before = file.scope_table.receivers[receiver]
            if before in _SELVES:
                around = file.class_around(scope)
                before = _last(file.scopes[around].name) if around is not None else before
            return self.by_owner.get(before)
        if flags & LOCAL:
            return {Name(file.path, file.around(scope, "function"), self.name)}
        if flags & ROLE == KEYWORD:
            called = file.scope_table.receivers[receiver]
            return None if called in _COPIES else self.by_owner.get(called, set())
        bound = self.session.bound(file, self.name)
        while scope > 0:
            here = Name(file.path, scope, self.name)
            if scope in bound or self._is_local(file, here):
                return {here}
            scope = file.scopes[scope].parent
        if not self.all or (flags & APART and not self._variables):
            # Nothing defines it: a variable of the enclosing function.
            return {Name(file.path, file.scope_at(at), self.name)}
        return None

    def _is_local(self, file: ResolverFile, name: Name) -> bool:
        """Return True if a function defines the name locally."""
        return file.scopes[name.scope].kind == "function" and any(
            flags & DEFINES and file.scope_at(at) == name.scope
            for at, flags, _ in self.session.unpacked(file, self.name)
        )

    def tier(
        self, file: ResolverFile, target: Name, at: int, flags: int, receiver: int
    ) -> Tier | None:
        """Return how certain it is that the name at an offset means a definition."""
        meant = self.meant(file, at, flags, receiver)
        if meant is not None:
            sure: Tier = "certain" if flags & (DEFINES | PARAMETER) else "likely"
            if target in meant:
                return sure
            return "likely" if flags & DEFINES and self._overrides(file, target, at) else None
        is_variable = file.rules.plain and flags & APART
        if target not in self.all or (is_variable and target not in self._variables):
            return None
        if (
            flags & ROLE == BARE
            and (not self.single or target in self._variables)
            and self._is_member(target)
        ):
            # Without a receiver, members are visible in their class and its subclasses.
            if self._is_inside(file, target, at):
                return "likely"
            return None if file.language in _INSIDE else "possible"
        near = self.single or any(
            self._is_near(file, definition) for definition in self.same[target]
        )
        return "likely" if near else "possible"

    def _is_inside(self, file: ResolverFile, target: Name, at: int) -> bool:
        """Return True in the class of a member and in classes that inherit from it."""
        around = file.class_around(file.scope_at(at))
        while around is not None:
            if _last(file.scopes[around].name) == self.owners[target]:
                return True
            if self.inherits(file, around, self.owners[target]):
                return True
            around = file.class_around(file.scopes[around].parent)
        return False

    def _overrides(self, file: ResolverFile, target: Name, at: int) -> bool:
        """Return True if the class around a definition inherits from that of a member."""
        around = file.class_around(file.scope_at(at))
        owner = self.owners.get(target)  # not of a parameter
        return (
            around is not None
            and owner is not None
            and self._is_member(target)
            and self.inherits(file, around, owner)
        )

    def inherits(self, file: ResolverFile, scope: int, owner: str) -> bool:
        """Return True if a class, by its name, inherits from another one, or a part of it does."""
        scopes, names = self._below(owner)
        return (file.path, scope) in scopes or _last(file.scopes[scope].name) in names

    @cached_method
    def _below(self, owner: str) -> tuple[set[tuple[str, int]], set[str]]:
        """Return the scopes and names of classes that inherit from a class of this name."""
        scopes, names, todo = set[tuple[str, int]](), set[str](), [owner]
        while todo:
            for found_in, scope in self.session.view.subclasses(todo.pop()):
                file = self.session.file(found_in.path)
                if file is None or world(file.language) != self.language:
                    continue
                scopes.add((file.path, scope))
                name = _last(file.scopes[scope].name)
                if name and name != owner and name not in names:
                    names.add(name)
                    todo.append(name)
        return scopes, names

    def _is_member(self, target: Name) -> bool:
        file = self.session.file(target.path)
        return file is not None and file.scopes[target.scope].kind in MEMBERS

    def _is_near(self, file: ResolverFile, target: Name) -> bool:
        if target.path == file.path:
            return True
        owner = self.owners[target]
        key = (file.path, owner)
        if key not in self._mentioned:
            self._mentioned[key] = bool(self.session.unpacked(file, owner))
        return self._mentioned[key]

    def near(self, file: ResolverFile, at: int, flags: int, receiver: int) -> list[Name]:
        """Return the likely definitions of a name, or all if none is likely."""
        meant = self.meant(file, at, flags, receiver)
        if meant is not None:
            return sorted(meant, key=lambda candidate: (candidate.path, candidate.scope))
        likely = [
            each for each in self.all if self.tier(file, each, at, flags, receiver) == "likely"
        ]
        close = {
            same
            for candidate in self.all
            if self._is_near(file, candidate)
            for same in self.same[candidate]
        }
        return likely or [each for each in self.all if each in close or not close]
