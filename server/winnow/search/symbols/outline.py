"""Arrange the definitions of a file as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from winnow.symbols.file_symbols import CONTAINERS, Definition
from winnow.text.sanitize import on_one_line


class OutlineEntry(NamedTuple):
    """A definition, its name in the outline, and the number of the entry that contains it.

    A member that is defined elsewhere has its qualified name.
    """

    definition: Definition
    name: str
    parent: int | None


def outline(definitions: Iterable[Definition]) -> Iterator[OutlineEntry]:
    """Yield the entries of an outline, each after the entry that contains it."""
    around: list[tuple[int, Definition]] = []
    for number, definition in enumerate(definitions):
        while around and around[-1][1].end <= definition.start:
            around.pop()
        parent, above = None, ""
        if (container := _container(definition, around)) is not None:
            parent, above = container[0], container[1].qualified_name
        name = definition.qualified_name.removeprefix(f"{above}.")
        yield OutlineEntry(definition, on_one_line(name), parent)
        around.append((number, definition))


def _container(
    definition: Definition, around: Sequence[tuple[int, Definition]]
) -> tuple[int, Definition] | None:
    """Return the definition that contains another in the outline: the one it is a member of, else
    the innermost that can have members, else None for the file."""
    if not definition.container:
        return None
    enclosing = [
        (number, outer)
        for number, outer in reversed(around)
        if outer.start <= definition.start and definition.end <= outer.end
    ]
    members = (pair for pair in enclosing if pair[1].qualified_name == definition.container)
    return next(members, None) or next(
        (pair for pair in enclosing if pair[1].kind in CONTAINERS), None
    )
