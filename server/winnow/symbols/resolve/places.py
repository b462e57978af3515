"""Where targets are defined, and which definition stands around a place."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from winnow.symbols.file_symbols import BINDS, DEFINES, LABEL, MACRO, MEMBER, ROLE, TAG, Definition
from winnow.symbols.resolve.names import Module, Name, Target
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session
from winnow.symbols.resolve.types import Types
from winnow.symbols.view import SymbolView

# What `Name.space` is, by the role of an occurrence.
SPACES = {TAG: "tag", MACRO: "macro", LABEL: "label"}
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "macro"))


class NamePlace(Struct, frozen=True, gc=False):
    """Where something is defined: an offset in a file, and the definition, where there is one
    (parameters and local variables have none)."""

    path: str
    at: int
    name: str
    definition: Definition | None = None


def places(types: Types, targets: Iterable[Target]) -> list[NamePlace]:
    """Where targets are defined, those with a body first, then in the order of the text."""
    found: dict[tuple[str, int], NamePlace] = {}
    for target in targets:
        if isinstance(target, Module):
            path = target.path.partition("::")[0]
            if not path.endswith("/"):  # a package has no file
                found.setdefault((path, 0), NamePlace(path, 0, ""))
        elif isinstance(target, Name):
            for place in _places_of(types, target):
                found.setdefault((place.path, place.at), place)
    return sorted(found.values(), key=_has_no_body)


def _has_no_body(place: NamePlace) -> bool:
    return place.definition is not None and place.definition.declared


def _places_of(types: Types, target: Name) -> list[NamePlace]:
    session = types.session
    file = session.file(target.path)
    if file is None:
        return []
    if file.rules.linkage:
        return _linked(session, file, target)
    members = _members(types, file, target)
    if members:
        return members
    container = file.qualified(target.scope)
    found = [
        NamePlace(target.path, one.at, one.name, one)
        for one in session.view.definitions_in(target.path)
        if one.name == target.name and one.container == container
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
    """In C and C++ names of several kinds may be called the same, and a member be defined outside
    of its class."""
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
        NamePlace(target.path, one.at, one.name, one)
        for one in session.view.definitions_in(target.path)
        if one.name == target.name and one.at in bound
    ]
    if of_class:
        container = file.qualified(target.scope)
        found += [
            NamePlace(other.path, one.at, one.name, one)
            for other, one in session.definitions(target.name)
            if one.container == container and not one.declared and one.at not in bound
        ]
    return found or [NamePlace(target.path, at, target.name) for at in bound[:1]]


def _is_bound_in(file: ResolverFile, at: int, scope: int) -> bool:
    """Whether what stands at an offset is bound in a scope: what templates and enumerations hold
    belongs to the scope around, and in C what a struct holds beside its members."""
    place = file.scope_at(at)
    inner = {"template", "enum"}
    if file.scopes[scope].kind != "class":
        inner.add("class")
    while place != scope and file.scopes[place].kind in inner:
        place = file.scopes[place].parent
    return place == scope


def _members(types: Types, file: ResolverFile, target: Name) -> list[NamePlace]:
    """The definitions of a member, wherever its class's members stand."""
    if file.scopes[target.scope].kind not in MEMBERS or file.rules.plain:
        return []
    definers = types.standing(target.name, file.language, target.apart)
    found = []
    for path, scope in dict.fromkeys(definers.get(types.class_at(file, target.scope), ())):
        facts = types.session.file(path)
        for one in types.session.view.definitions_in(path) if facts else ():
            if (
                one.name == target.name
                and (one.kind in file.rules.apart) == target.apart
                and facts is not None
                and facts.container_scope(one) == scope
            ):
                found.append(NamePlace(path, one.at, one.name, one))
    return found


def function_around(view: SymbolView, path: str, at: int) -> Definition | None:
    """The innermost function or method whose definition an offset is in."""
    found = None
    for definition in view.definitions_in(path):
        if definition.start > at:
            break
        if definition.kind in FUNCTIONS and at < definition.end:
            found = definition
    return found
