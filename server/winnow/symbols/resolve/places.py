"""Find the definitions of resolved targets, and the definition around an offset."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from winnow.symbols.file_symbols import BINDS, DEFINES, LABEL, MACRO, MEMBER, ROLE, TAG, Definition
from winnow.symbols.resolve.classes import Classes
from winnow.symbols.resolve.names import Module, Name, Target
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session
from winnow.symbols.view import SymbolView

# `Name.space`, by the role of an occurrence.
SPACES = {TAG: "tag", MACRO: "macro", LABEL: "label"}
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "macro"))


class NamePlace(Struct, frozen=True, gc=False):
    """A place that defines a name: an offset in a file, and the definition. Parameters and local
    variables have no definition."""

    path: str
    at: int
    name: str
    definition: Definition | None = None


def places(classes: Classes, targets: Iterable[Target]) -> list[NamePlace]:
    """Return the places that define targets: those with a body first, then in text order."""
    found: dict[tuple[str, int], NamePlace] = {}
    for target in targets:
        if isinstance(target, Module):
            path = target.path.partition("::")[0]
            if not path.endswith("/"):  # a package has no file
                found.setdefault((path, 0), NamePlace(path, 0, ""))
        elif isinstance(target, Name):
            for place in _places_of(classes, target):
                found.setdefault((place.path, place.at), place)
    return sorted(
        found.values(), key=lambda place: bool(place.definition and place.definition.declared)
    )


def _places_of(classes: Classes, target: Name) -> list[NamePlace]:
    session = classes.session
    file = session.file(target.path)
    if file is None:
        return []
    if file.rules.linkage:
        return _linked(session, file, target)
    members = _members(classes, file, target)
    if members:
        return members
    container = file.qualified(target.scope)
    found = [
        NamePlace(target.path, definition.at, definition.name, definition)
        for definition in session.view.definitions_in(target.path)
        if definition.name == target.name
        and (
            file.scope_at(definition.at) == target.scope
            if file.rules.plain
            else definition.container == container
        )
    ]
    if found:
        return found
    bound = [
        NamePlace(target.path, at, target.name)
        for at, flags, _ in session.unpacked(file, target.name)
        if flags & (BINDS | DEFINES) and file.scope_at(at) == target.scope
    ]
    return bound[:1]


def _linked(session: Session, file: ResolverFile, target: Name) -> list[NamePlace]:
    """Return the places of a name of C or C++.

    Names of several kinds may be equal, and a member may be defined outside its class.
    """
    of_class = file.scopes[target.scope].kind == "class"
    bound = [
        at
        for at, flags, _ in session.unpacked(file, target.name)
        if flags & BINDS
        and (of_class or flags & ROLE != MEMBER)
        and SPACES.get(flags & ROLE, "") == target.space
        and _is_bound_in(file, at, target.scope)
    ]
    found = [
        NamePlace(target.path, definition.at, definition.name, definition)
        for definition in session.view.definitions_in(target.path)
        if definition.name == target.name and definition.at in bound
    ]
    if of_class:
        container = file.qualified(target.scope)
        found += [
            NamePlace(other.path, definition.at, definition.name, definition)
            for other, definition in session.definitions(target.name)
            if definition.container == container
            and not definition.declared
            and definition.at not in bound
        ]
    return found or [NamePlace(target.path, at, target.name) for at in bound[:1]]


def _is_bound_in(file: ResolverFile, at: int, scope: int) -> bool:
    """Return True if the offset binds its name in a scope.

    Names in templates and enumerations belong to the enclosing scope; in C, so do names in a struct
    that are not members.
    """
    place = file.scope_at(at)
    inner = {"template", "enum"}
    if file.scopes[scope].kind != "class":
        inner.add("class")
    while place != scope and file.scopes[place].kind in inner:
        place = file.scopes[place].parent
    return place == scope


def _members(classes: Classes, file: ResolverFile, target: Name) -> list[NamePlace]:
    """Return the definitions of a member, wherever its class is continued."""
    if file.scopes[target.scope].kind not in MEMBERS or file.rules.plain:
        return []
    definers = classes.standing(target.name, file.language, target.apart)
    found = []
    for path, scope in dict.fromkeys(definers.get(classes.class_at(file, target.scope), ())):
        member_file = classes.session.file(path)
        for definition in classes.session.view.definitions_in(path) if member_file else ():
            if (
                definition.name == target.name
                and (definition.kind in file.rules.apart) == target.apart
                and member_file is not None
                and member_file.container_scope(definition) == scope
            ):
                found.append(NamePlace(path, definition.at, definition.name, definition))
    return found


def function_around(view: SymbolView, path: str, at: int) -> Definition | None:
    """Return the innermost function or method definition that contains an offset."""
    found = None
    for definition in view.definitions_in(path):
        if definition.start > at:
            break
        if definition.kind in FUNCTIONS and at < definition.end:
            found = definition
    return found
