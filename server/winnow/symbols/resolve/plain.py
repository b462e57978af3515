"""Languages of which only names and definitions are known.

A parameter belongs to its function. A name that one definition has means that one; of several, the
ones that what stands before the name says, those of the same file, and those whose class or file is
mentioned in the file are likely, and all others possible. Nothing is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from winnow.symbols.file_symbols import ATTRIBUTE, DEFINES, ROLE
from winnow.symbols.resolve.names import Name, Target
from winnow.symbols.resolve.rules import Rules
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session
from winnow.symbols.view import SymbolView

# Kinds whose names local variables have, too.
_VARIABLES = frozenset(("field", "property", "variable", "enum_member"))
# Kinds that go on in other files, and languages in which classes do.
_SPREAD = frozenset(("module", "namespace"))
_OPEN = frozenset(("ruby", "csharp", "swift"))
_SELVES = frozenset(("self", "this", "Self", "static", "__MODULE__"))


def _no_module(view: SymbolView, importer: str, name: str) -> str | None:
    return None


RULES = Rules(module=_no_module, plain=True)


class NameCandidates:
    """The definitions of a name in a world of languages, by what can tell one from another."""

    def __init__(
        self,
        session: Session,
        targets_at: Callable[[str, int, str], Sequence[Target]],
        name: str,
        language: str,
    ) -> None:
        self.session = session
        self.name = name
        self.all: dict[Name, None] = {}
        self.owners: dict[Name, str] = {}
        self.by_owner: dict[str, set[Name]] = {}
        # Definitions that are the same thing, continued elsewhere.
        self.same: dict[Name, set[Name]] = {}
        self._variables: set[Name] = set()
        self._mentioned: dict[tuple[str, str], bool] = {}
        groups: dict[str, set[Name]] = {}
        for file, definition in self.session.definitions(name, language):
            facts = self.session.file(file.path)
            if facts is None:
                continue
            around = definition.container.rpartition(".")[2]
            if definition.kind == "constructor" and around == name:
                continue  # it is called by the name of its class
            if facts.rules.plain:
                scope = facts.scope_at(definition.at)
                found = [Name(file.path, scope, name)]
                if facts.scopes[scope].kind == "function":
                    continue  # it is seen in that function only
            else:
                targets = targets_at(file.path, definition.at, name)
                found = [one for one in targets if isinstance(one, Name)]
            owner = around or file.path.rpartition("/")[2].partition(".")[0]
            for one in found:
                self.all[one] = None
                self.owners[one] = owner
                self.by_owner.setdefault(owner, set()).add(one)
                if definition.kind in _VARIABLES:
                    self._variables.add(one)
                key = f"{file.path} {one.scope}"
                if definition.kind in _SPREAD or file.language in _OPEN:
                    key = definition.qualified_name
                self.same[one] = groups.setdefault(key, set())
                self.same[one].add(one)
        self.single = len(groups) == 1

    def meant(self, file: ResolverFile, at: int, flags: int, receiver: int) -> set[Name] | None:
        """What the name at an offset means, where something says it; None where nothing does."""
        scope = file.scope_at(at)
        if flags & DEFINES:
            here = Name(file.path, scope, self.name)
            around = file.class_around(scope)
            if here in self.same or around is None or file.scopes[around].name != self.name:
                return self.same.get(here, {here})
        if flags & ROLE == ATTRIBUTE:
            before = file.scope_table.receivers[receiver]
            if before in _SELVES:
                around = file.class_around(scope)
                before = file.scopes[around].name if around is not None else before
            return self.by_owner.get(before)
        bound = self.session.bound(file, self.name)
        while scope > 0:
            here = Name(file.path, scope, self.name)
            if scope in bound or self._is_local(file, here):
                return {here}
            scope = file.scopes[scope].parent
        if not self.all:
            # Nothing defines it: a variable of the function around.
            return {Name(file.path, file.scope_at(at), self.name)}
        return None

    def _is_local(self, file: ResolverFile, name: Name) -> bool:
        """Whether a function defines the name for itself."""
        return file.scopes[name.scope].kind == "function" and any(
            flags & DEFINES and file.scope_at(at) == name.scope
            for at, flags, _ in self.session.unpacked(file, self.name)
        )

    def tier(
        self, file: ResolverFile, wanted: Name, at: int, flags: int, receiver: int
    ) -> Literal["likely", "possible"] | None:
        """How sure it is that the name at an offset means one of the definitions."""
        meant = self.meant(file, at, flags, receiver)
        if meant is not None:
            return "likely" if wanted in meant else None
        if wanted not in self.all:
            return None
        if (
            flags & ROLE != ATTRIBUTE
            and (not self.single or wanted in self._variables)
            and self._is_member(wanted)
        ):
            # Without a receiver, members are seen in their own classes, and those below.
            around = file.class_around(file.scope_at(at))
            inside = around is not None and file.scopes[around].name == self.owners[wanted]
            return "likely" if inside else "possible"
        near = self.single or any(self._is_near(file, one) for one in self.same[wanted])
        return "likely" if near else "possible"

    def _is_member(self, wanted: Name) -> bool:
        file = self.session.file(wanted.path)
        return file is not None and file.scopes[wanted.scope].kind in MEMBERS

    def _is_near(self, file: ResolverFile, wanted: Name) -> bool:
        if wanted.path == file.path:
            return True
        owner = self.owners[wanted]
        key = (file.path, owner)
        if key not in self._mentioned:
            self._mentioned[key] = bool(self.session.unpacked(file, owner))
        return self._mentioned[key]

    def near(self, file: ResolverFile, at: int, flags: int, receiver: int) -> list[Name]:
        """What a name probably means: the likely definitions, else all of them."""
        meant = self.meant(file, at, flags, receiver)
        if meant is not None:
            return sorted(meant, key=lambda one: (one.path, one.scope))
        close = {same for one in self.all if self._is_near(file, one) for same in self.same[one]}
        return [one for one in self.all if one in close or not close]
