"""What is known of a file's symbols without the file: made by a worker, kept in the store.

Offsets are bytes into the text in UTF-8, from 0. Facts hold no syntax trees, and know nothing of
other files: what a name means there is for :mod:`winnow.symbols.resolve` to say, when asked.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

Kind = Literal[
    "module", "namespace", "class", "struct", "union", "interface", "trait", "enum", "enum_member",
    "function", "method", "constructor", "property", "field", "variable", "constant", "type",
    "macro", "object", "event", "operator", "section",
]  # fmt: skip

# Kinds that can hold members.
CONTAINERS = frozenset(
    (
        "module",
        "namespace",
        "class",
        "struct",
        "union",
        "interface",
        "trait",
        "enum",
        "object",
        "section",
    )
)
# Of these, what has instances.
CLASSES = frozenset(("class", "struct", "union", "interface", "trait", "enum", "object"))


class Definition(Struct, frozen=True, array_like=True, gc=False):
    """A name that a file defines.

    ``at`` is the offset of the name, ``start`` and ``end`` are of the whole definition. ``line``
    is that of the name, from 0, and ``column`` its column in bytes, code points and UTF-16 units.
    ``container`` is the qualified name of what it is a member of, with dots, else empty; ``local``
    says that it stands in a function, ``declared`` that it is a mere declaration: a prototype in a
    header, an overload. ``doc`` is without comment signs.
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


class LexicalScope(Struct, frozen=True, array_like=True, gc=False):
    """A part of a file in which names are bound.

    ``parent`` is the number of the scope around it, -1 for the file's own, which is number 0.
    Kinds: "module" (one within a file, too), "function", "class" (its members), "part" (members of
    a class that stands elsewhere: Rust's `impl`, a method of Go), "namespace", "block", "outside"
    (in a function's, but its names mean what they mean around it: default values). ``name`` is
    that of the function, class or namespace. A scope begins behind its own name, which belongs to
    the scope around; a part has the name of its class, as it is written.
    """

    start: int
    end: int
    parent: int
    kind: str
    name: str = ""


class Import(Struct, frozen=True, array_like=True, gc=False):
    """A name from another file: ``local`` stands for ``name`` of ``module``, or for the module
    itself where ``name`` is empty. ``module`` is as the source has it. ``at`` is the offset of
    ``name``, or of the module where there is none; ``exported`` says that others can import
    ``local`` from here. In JSON, ``local`` is a pattern for names of modules, ``module`` the path
    that they mean.
    """

    local: str
    module: str
    name: str
    scope: int
    at: int
    exported: bool = True


# Roles of an occurrence: the low four bits of its flags.
# A tag is the name behind C's `struct`, a macro that behind `#define`: names of their own kind.
BARE, ATTRIBUTE, KEYWORD, IMPORTED, MEMBER, KEY, TYPE, LABEL, STRING, TAG, MACRO = range(11)
ROLE = 0x0F
# The others.
BINDS = 0x10  # binds the name in its scope: a definition, parameter, or target of an assignment
CALLED = 0x20
WRITTEN = 0x40
SHORTHAND = 0x80  # `{name}`: a key and a value in one
IN_TYPE = 0x100  # in an annotation, a base or a cast
DEFINES = 0x200  # the name of a definition
PARAMETER = 0x400  # binds a parameter
APART = 0x800  # a name of the language's second kind, see `Rules.apart`
QUALIFIES = 0x1000  # stands before a dot in a type or `::`, and is a namespace (in C++, or a class)

STATIC = 0x4000  # a member of the class itself, not of its objects
MENTIONED = 0x2000  # in a doc comment or a list of exports: types, values, whatever has the name


class Occurrence(Struct, frozen=True, gc=False):
    """A place where a name stands. ``receiver`` is what stands before it (`a.b()` in `a.b().c`):
    the number of an entry in the scope_table's ``receivers``, 0 for none."""

    at: int
    flags: int
    receiver: int

    @property
    def role(self) -> int:
        return self.flags & ROLE


# Between what a name was assigned one after the other, see `ScopeTable.types`.
OR = "\0"


class ScopeTable(Struct, frozen=True, array_like=True):
    """What scopes, imports and declared types of a file say; see :class:`FileSymbols`.

    Tables are by the number of a scope. ``bases`` holds the expressions that the class with that
    scope names as its bases. ``types`` tells for names bound in a scope what was declared for them
    (``:Type``) or assigned to them (``=expression``, ``@12=expression`` where it stands in scope
    12; with `OR` between several), ``returns`` the return types of functions defined in a scope.
    ``modules`` are those that parts of a module's name mean (`a.b` for the `b` of `from a.b import
    c`), by the part's offset. ``aliases`` are names for types. ``receivers`` are expressions in a
    short form: names, with ``.`` between them, ``()`` for a call (``()$1`` for its second result),
    ``[]`` for a subscript, ``<T>`` for a cast to T; entry 0 is empty. ``outer`` are names that a
    scope takes from outside (`global`). ``private`` are names of the file that no other file sees.
    ``package`` is the package that it says it belongs to.
    """

    scopes: list[LexicalScope]
    imports: list[Import] = []
    stars: list[str] = []
    bases: dict[int, list[str]] = {}
    types: dict[int, dict[str, str]] = {}
    returns: dict[int, dict[str, str]] = {}
    aliases: dict[str, str] = {}
    receivers: list[str] = field(default_factory=lambda: [""])
    outer: dict[int, list[str]] = {}
    private: list[str] = []
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


def unpack_occurrences(packed: bytes) -> Iterator[Occurrence]:
    """The occurrences of a name: three unsigned 32-bit numbers each, in the machine's order."""
    numbers = array("I", packed)
    for place in range(0, len(numbers), 3):
        yield Occurrence(numbers[place], numbers[place + 1], numbers[place + 2])


def scope_at(starts: list[int], scopes: list[LexicalScope], at: int) -> int:
    """The number of the innermost scope around an offset; ``starts`` are those of the scopes."""
    number = bisect_right(starts, at) - 1
    while number > 0 and scopes[number].end <= at:
        number = scopes[number].parent
    return max(number, 0)


def scope_of_name(scopes: list[LexicalScope], number: int) -> int:
    """The scope that the name of a class or function is bound in: around its type parameters, too,
    which end where it ends."""
    around = scopes[number].parent
    while around > 0 and scopes[around].end == scopes[number].end:
        if scopes[around].kind != "block":
            break
        around = scopes[around].parent
    return max(around, 0)


def merge_scopes(scopes: list[LexicalScope]) -> list[int]:
    """For each scope its number, or that of the first of its name where the declarations of a
    class or namespace stand in several places; for a part that of its class before it."""
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
