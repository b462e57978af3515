"""Where targets are defined, and which definition stands around a place."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from winnow.symbols.facts import BINDS, DEFINES, Definition
from winnow.symbols.resolve.names import Module, Name, Target
from winnow.symbols.resolve.session import Session
from winnow.symbols.view import View

FUNCTIONS = frozenset(("function", "method", "constructor", "property", "macro"))


class Place(Struct, frozen=True, gc=False):
    """Where something is defined: an offset in a file, and the definition, where there is one
    (parameters and local variables have none)."""

    path: str
    at: int
    name: str
    definition: Definition | None = None


def places(session: Session, targets: Iterable[Target]) -> list[Place]:
    """Where targets are defined, those with a body first, then in the order of the text."""
    found: dict[tuple[str, int], Place] = {}
    for target in targets:
        if isinstance(target, Module):
            found.setdefault((target.path, 0), Place(target.path, 0, ""))
        elif isinstance(target, Name):
            for place in _places_of(session, target):
                found.setdefault((place.path, place.at), place)
    return sorted(found.values(), key=_has_no_body)


def _has_no_body(place: Place) -> bool:
    return place.definition is not None and place.definition.declared


def _places_of(session: Session, target: Name) -> list[Place]:
    file = session.file(target.path)
    if file is None:
        return []
    container = file.qualified(target.scope)
    found = [
        Place(target.path, one.at, one.name, one)
        for one in session.view.definitions_in(target.path)
        if one.name == target.name and one.container == container
    ]
    if found:
        return found
    bound = [
        Place(target.path, at, target.name)
        for at, flags, _ in session.unpacked(file, target.name)
        if flags & (BINDS | DEFINES) and file.scope_at(at) == target.scope
    ]
    return bound[:1]


def function_around(view: View, path: str, at: int) -> Definition | None:
    """The innermost function or method whose definition an offset is in."""
    found = None
    for definition in view.definitions_in(path):
        if definition.start > at:
            break
        if definition.kind in FUNCTIONS and at < definition.end:
            found = definition
    return found
