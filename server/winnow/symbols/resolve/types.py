"""The types that an expression can have."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from winnow.symbols.resolve.names import External, Module


class Class(Struct, frozen=True, gc=False):
    """A class itself. ``scope`` binds its members; ``name`` is qualified."""

    path: str
    scope: int
    name: str


class Instance(Struct, frozen=True, gc=False):
    """An instance of a class. ``above`` skips members that the class itself defines (`super()`)."""

    of: Class
    above: bool = False


class Function(Struct, frozen=True, gc=False):
    """A function or method bound in a scope of a file. ``owner`` is the class through which it was
    found."""

    path: str
    scope: int
    name: str
    owner: Class | None = None


class Items(Struct, frozen=True, gc=False):
    """A container with items of a type."""

    of: Type


class Untyped(Struct, frozen=True, gc=False):
    """A parameter without a declared type, or a value derived from one."""


class Signature(Struct, frozen=True, gc=False):
    """A function type written in a scope of a file."""

    path: str
    scope: int
    parameters: tuple[str, ...]
    returns: str


class Returning(Struct, frozen=True, gc=False):
    """A function that returns this."""

    of: Type


class Taking(Struct, frozen=True, gc=False):
    """A function that takes this as its argument."""

    of: Type


class Either(Struct, frozen=True, gc=False):
    """One of several types: a name was assigned values of different types."""

    types: tuple[Type, ...]


Callable = Function | Signature | Returning | Taking
Type = Class | Instance | Callable | Items | Untyped | Module | External | Either | None
UNTYPED = Untyped()


def either(types: Iterable[Type]) -> Type:
    """Return a union of the known types."""
    found: dict[Type, None] = {}
    for alternative in types:
        found.update(
            (each, None)
            for each in (alternative.types if isinstance(alternative, Either) else (alternative,))
        )
    usable = tuple(
        alternative
        for alternative in found
        if alternative is not None and not isinstance(alternative, Untyped)
    )
    if len(usable) > 1:
        return Either(usable)
    return (
        usable[0]
        if usable
        else next((alternative for alternative in found if alternative is not None), None)
    )
