"""Select the occurrences that resolving a name in another file may read: its declarations.

The index stores them for every file. All other occurrences matter only in a file whose uses of a
name are searched: such files are parsed again when a request needs them.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress

from winnow.symbols.file_symbols import (
    BARE,
    BINDS,
    DEFINES,
    MEMBER,
    PARAMETER,
    ROLE,
    SHORTHAND,
    STRING,
    WRITTEN,
    LexicalScope,
    Numbers,
    scope_at,
    unpack_numbers,
)

_DECLARES = BINDS | DEFINES | PARAMETER | WRITTEN


class _Declaring(dict[int, bool]):
    """True for the flags of declarations. A file has few different flags."""

    def __missing__(self, flags: int) -> bool:
        self[flags] = bool(flags & _DECLARES) or flags & ROLE in (MEMBER, STRING)
        return self[flags]


def declarations_of(occurrences: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the packed declarations of each name that has any."""
    found = {}
    is_declaring = _Declaring().__getitem__
    for name, packed in occurrences.items():
        numbers = array("I", packed)
        declaring = list(map(is_declaring, numbers[1::3]))
        if all(declaring):
            found[name] = packed
        elif any(declaring):
            chosen = compress(unpack_numbers(packed), declaring)
            found[name] = array("I", chain.from_iterable(chosen)).tobytes()
    return found


def visible_names(
    declarations: Mapping[str, bytes], scopes: Sequence[LexicalScope], defined: Collection[str]
) -> list[str]:
    """Return the declared names that other files may see, except names of ``defined`` symbols."""
    starts = [scope.start for scope in scopes]
    known, inner = frozenset(defined), _in_functions(scopes)

    def is_local(numbers: Numbers) -> bool:
        at, flags, _ = numbers
        if flags & ROLE != BARE or flags & SHORTHAND:
            return False
        return inner[scope_at(starts, scopes, at)]

    return [
        name
        for name, packed in declarations.items()
        if name not in known and not all(map(is_local, unpack_numbers(packed)))
    ]


def _in_functions(scopes: Sequence[LexicalScope]) -> list[bool]:
    """Return for each scope if only its own function can see the names that it binds: others see
    those of a macro."""
    found: list[bool] = []
    for scope in scopes:
        around = scope.parent >= 0 and found[scope.parent]
        found.append(scope.kind == "function" or (around and scope.kind != "macro"))
    return found
