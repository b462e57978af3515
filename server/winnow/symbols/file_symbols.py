"""The symbols of a file: definitions, scopes, imports and occurrences of names.

A worker process extracts them and the index stores them. Offsets are UTF-8 bytes from 0. File
symbols hold no syntax trees and nothing about other files: :mod:`winnow.symbols.resolve` finds the
meaning of a name at query time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Literal

from msgspec import Struct

Kind = Literal[
    "module", "namespace", "class", "struct", "union", "interface", "trait", "enum", "enum_member",
    "function", "method", "constructor", "property", "field", "variable", "constant", "type",
    "macro", "object", "event", "operator", "section",
]  # fmt: skip

# Kinds that can have members.
CONTAINERS = frozenset(
    "module namespace class struct union interface trait enum object section".split()
)
# Containers that have instances.
CLASSES = frozenset(("class", "struct", "union", "interface", "trait", "enum", "object"))


class Definition(Struct, frozen=True, array_like=True, gc=False):
    """A name that a file defines.

    ``at`` is the offset of the name; ``start`` and ``end`` span the complete definition. ``line``
    is the line of the name, from 0. ``columns`` is its column in bytes, code points and UTF-16
    units. ``container`` is the qualified name of the parent, with dots, or empty. ``local``
    definitions are inside a function. ``declared`` ones have no body: a prototype in a header, an
    overload. ``doc`` is the doc comment without comment signs.
    """

    name: str
    kind: str
    at: int
    start: int
    end: int
    line: int
    end_line: int
    columns: tuple[int, int, int]
    container: str = ""
    signature: str = ""
    doc: str = ""
    exported: bool = True
    local: bool = False
    declared: bool = False

    @property
    def qualified_name(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name

    @property
    def qualifiers(self) -> list[list[str]]:
        """The names that can qualify this one. C++ also names a member of an enumeration without
        the enumeration: `Class::MEMBER`."""
        containers = [part for part in self.container.split(".") if part]
        is_inner = self.kind == "enum_member" and len(containers) > 1
        return [containers, containers[:-1]] if is_inner else [containers]


class LexicalScope(Struct, frozen=True, array_like=True, gc=False):
    """A part of a file that binds names.

    ``parent`` is the number of the enclosing scope. The file's own scope is number 0 and has parent
    -1. ``name`` is the name of the function, class or namespace. A scope begins after its own name,
    which the enclosing scope binds. Kinds:

    * "module": a file, or a module within a file
    * "function", "namespace", "block"
    * "class": binds the members of the class
    * "part": binds members of a class declared elsewhere (Rust's `impl`, a method in Go); its name
      is the class name as written
    * "outside": in a function's scope, but its names have the meaning they have around the function
      (default values)
    """

    start: int
    end: int
    parent: int
    kind: str
    name: str = ""


class Import(Struct, frozen=True, array_like=True, gc=False):
    """A name from another file.

    ``local`` stands for ``name`` of ``module``, or for the module itself if ``name`` is empty.
    ``module`` is as written in the source. ``at`` is the offset of ``name``, or of the module if
    there is no name. Other files can import ``local`` from here if ``exported``. In JSON, ``local``
    is a pattern for module names and ``module`` the path they resolve to.
    """

    local: str
    module: str
    name: str
    scope: int
    at: int
    exported: bool = True


# Roles of an occurrence: the low four bits of its flags. TAG is a name after C's `struct`, MACRO a
# name after `#define`; both have their own name space.
BARE, ATTRIBUTE, KEYWORD, IMPORTED, MEMBER, KEY, TYPE, LABEL, STRING, TAG, MACRO = range(11)
ROLE = 0x0F
# The other flags.
BINDS = 0x10  # binds the name in its scope: a definition, parameter, or assignment target
CALLED = 0x20
WRITTEN = 0x40
SHORTHAND = 0x80  # `{name}`: both a key and a value
IN_TYPE = 0x100  # in an annotation, a base or a cast
DEFINES = 0x200  # the name of a definition
PARAMETER = 0x400  # binds a parameter
APART = 0x800  # in the language's second name space, see `Rules.apart`
QUALIFIES = 0x1000  # before a dot in a type or `::`: a namespace (in C++, or a class)

STATIC = 0x4000  # a member of the class itself, not of its instances
LOCAL = 0x8000  # a local variable, in languages whose names are not resolved
MENTIONED = 0x2000  # in a doc comment or export list: can mean a type, a value, anything


class Occurrence(Struct, frozen=True, gc=False):
    """An occurrence of a name. ``receiver`` indexes ``ScopeTable.receivers`` and is the expression
    before the name (`a.b()` in `a.b().c`); 0 means none."""

    at: int
    flags: int
    receiver: int


class ScopeTable(Struct, frozen=True, array_like=True, gc=False):
    """The scopes, imports and declared types of a file; part of :class:`FileSymbols`.

    Its sequences are tuples, so that the garbage collector need not scan those of a thousand files.
    Dictionaries with integer keys are indexed by scope number.

    * ``bases``: the base class expressions of a class scope
    * ``types``: for names bound in a scope, the declared type (``:Type``) or the assigned
      expression (``=expression``; ``@12=expression`` if it is evaluated in scope 12); `OR`
      separates several
    * ``returns``: the return types of functions defined in a scope
    * ``modules``: by offset, the module that a part of a dotted module name means (`a.b` for the
      `b` of `from a.b import c`)
    * ``aliases``: type aliases
    * ``receivers``: expressions in short form: names, ``.`` between them, ``()`` for a call
      (``()$1`` for its second result), ``[]`` for a subscript, ``<T>`` for a cast to T; entry 0 is
      empty
    * ``outer``: names that a scope takes from an enclosing scope (`global`)
    * ``private``: names that other files cannot see
    * ``package``: the package that the file declares
    """

    scopes: tuple[LexicalScope, ...]
    imports: tuple[Import, ...] = ()
    stars: tuple[str, ...] = ()
    bases: dict[int, tuple[str, ...]] = {}
    types: dict[int, dict[str, str]] = {}
    returns: dict[int, dict[str, str]] = {}
    aliases: dict[str, str] = {}
    receivers: tuple[str, ...] = ("",)
    outer: dict[int, tuple[str, ...]] = {}
    private: tuple[str, ...] = ()
    package: str = ""
    modules: dict[int, str] = {}


class FileSymbols(Struct, frozen=True, array_like=True):
    """The symbols of a file. ``occurrences`` are packed, see :func:`unpack_occurrences`.
    ``generic`` is set if the language has no query. ``broken`` counts syntax errors."""

    language: str
    definitions: list[Definition]
    scope_table: ScopeTable
    occurrences: dict[str, bytes]
    generic: bool = False
    broken: int = 0


Numbers = tuple[int, int, int]


def unpack_numbers(packed: bytes) -> Iterator[Numbers]:
    """Yield offset, flags and receiver number of the occurrences of a name.

    They are packed as unsigned 32-bit numbers in native byte order.
    """
    numbers = iter(array("I", packed))
    return zip(numbers, numbers, numbers, strict=True)


def unpack_occurrences(packed: bytes) -> Iterator[Occurrence]:
    """Return the occurrences of a name."""
    return starmap(Occurrence, unpack_numbers(packed))


def scope_at(starts: list[int], scopes: Sequence[LexicalScope], at: int) -> int:
    """Return the number of the innermost scope that contains an offset."""
    number = bisect_right(starts, at) - 1
    while number > 0 and scopes[number].end <= at:
        number = scopes[number].parent
    return max(number, 0)


def scope_of_name(scopes: Sequence[LexicalScope], number: int) -> int:
    """Return the scope that binds the name of a class or function scope.

    Type parameters have a block scope that ends where the class ends; the name is bound outside it.
    """
    around = scopes[number].parent
    while around > 0 and scopes[around].end == scopes[number].end:
        if scopes[around].kind != "block":
            break
        around = scopes[around].parent
    return max(around, 0)


def merge_scopes(scopes: Sequence[LexicalScope]) -> list[int]:
    """Map each scope to a canonical scope number.

    Declarations of one class or namespace in several places share the number of the first. A part
    gets the number of its class if the class precedes it.
    """
    first: dict[tuple[int, str], int] = {}
    found: list[int] = []
    for number, scope in enumerate(scopes):
        if scope.name and scope.kind in ("class", "namespace"):
            around = found[scope_of_name(scopes, number)]
            found.append(first.setdefault((around, scope.name), number))
        elif scope.kind == "part":
            found.append(first.get((found[scope.parent], scope.name), number))
        else:
            found.append(number)
    return found
