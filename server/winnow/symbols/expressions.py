"""The text form of expressions and type sources, and the structs that it encodes.

Extraction writes this text into the :class:`~winnow.symbols.file_symbols.ScopeTable`, and the store
keeps it; the resolver works on the structs. An :class:`Expression` is a chain of steps:

| text | steps | meaning |
| --- | --- | --- |
| ``client.send`` | ``NameStep``, ``NameStep`` | a name, then a member |
| ``connect()`` | ``NameStep``, ``CallStep`` | the result of a call |
| ``connect()$1`` | ``NameStep``, ``CallStep(1)`` | the second of several results |
| ``clients[]`` | ``NameStep``, ``ItemStep`` | an item of a container |
| ``listen(#0)`` | ``NameStep``, ``ArgumentStep(0)`` | a value passed for the first parameter |
| ``<Map<K, V>>.size`` | ``CastStep("Map<K, V>")``, ``NameStep`` | a value of a declared type |
| ``{12}.size`` | ``ScopeStep(12)``, ``NameStep`` | the unnamed type with scope 12 |
| ``[]client`` | ``ListStep(client)`` | a list of such items |
| ``{.a.b`` | ``FieldsStep``, ``NameStep``, ``NameStep`` | a field in a C initializer |
| ``?`` | none | not a chain of these |

A type source says where the type of a name, or of the result of a function, comes from:

| text | struct |
| --- | --- |
| ``:Client | None`` | ``DeclaredType("Client | None")`` |
| ``=connect()`` | ``AssignedValue(connect())`` |
| ``@12=connect()``, ``@12:T`` | the same, evaluated in scope 12 |

`OR` separates the sources of a name that is assigned several times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

OR = "\0"
# Keys of `ScopeTable.types` that are not names: the fields that a C initializer sets. See also
# `parameter_key` and `macro_key`.
INITIALIZED = "{"


class NameStep(Struct, frozen=True, gc=False):
    """A name; after other steps, a member."""

    name: str


class CallStep(Struct, frozen=True, gc=False):
    """The result of a call, or one of several results by its index."""

    result: int | None = None


class ItemStep(Struct, frozen=True, gc=False):
    """An item of a container."""


class ArgumentStep(Struct, frozen=True, gc=False):
    """The value that a function gets for the parameter at ``index``."""

    index: int


class CastStep(Struct, frozen=True, gc=False):
    """A value of a declared type."""

    type: str


class ScopeStep(Struct, frozen=True, gc=False):
    """An unnamed type, by the scope of its members."""

    scope: int


class ListStep(Struct, frozen=True, gc=False):
    """A list of such items; always the only step."""

    item: Expression


class FieldsStep(Struct, frozen=True, gc=False):
    """The object that a C initializer sets fields of."""


Step = NameStep | CallStep | ItemStep | ArgumentStep | CastStep | ScopeStep | ListStep | FieldsStep
CALL = CallStep()


class Expression(Struct, frozen=True, gc=False, cache_hash=True):
    """A chain of steps; without any, the expression is unknown."""

    steps: tuple[Step, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of a chain that consists of names only, or else nothing."""
        names = leading_names(self.steps)
        return names if len(names) == len(self.steps) else ()


class DeclaredType(Struct, frozen=True, gc=False):
    """A type as written in a declaration, in ``scope`` if it is not the scope of the name."""

    type: str
    scope: int | None = None


class AssignedValue(Struct, frozen=True, gc=False):
    """A value assigned to a name, evaluated in ``scope`` if it is not the scope of the name."""

    value: Expression
    scope: int | None = None


TypeSource = DeclaredType | AssignedValue

_STEP = re.compile(
    r"(?P<call>\(\)(?:\$\d+)?)|(?P<item>\[\])|\(\#(?P<argument>\d+)\)"
    r"|(?P<cast><(?:[^<>]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)*>)"
    r"|\{(?P<scope>\d+)\}|(?P<fields>\{(?=\.))|(?P<name>[\w$#]+)"
)
_DECLARED = re.compile(r"(?:@\d+)?:")
_SCOPE = re.compile(r"@(\d+)")
_UNNAMED = re.compile(r"\{(\d+)\}?")


@lru_cache(4_096)
def parse_expression(text: str) -> Expression:
    """Parse an expression. Text that is not a step is skipped."""
    if text.startswith("[]"):
        return Expression((ListStep(parse_expression(text[2:])),))
    return Expression(tuple(map(_step, _STEP.finditer(text))))


def _step(match: re.Match[str]) -> Step:
    kind, text = match.lastgroup, match[match.lastgroup or 0]
    if kind == "name":
        return NameStep(text)
    if kind == "call":
        return CallStep(int(text[3:]) if text[3:] else None)
    if kind == "item":
        return ItemStep()
    if kind == "argument":
        return ArgumentStep(int(text))
    if kind == "cast":
        return CastStep(text[1:-1])
    return ScopeStep(int(text)) if kind == "scope" else FieldsStep()


def leading_names(steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the names that a chain starts with."""
    names: list[str] = []
    for step in steps:
        if not isinstance(step, NameStep):
            break
        names.append(step.name)
    return tuple(names)


@lru_cache(4_096)
def parse_sources(text: str) -> tuple[TypeSource, ...]:
    """Parse the type sources of a name."""
    return tuple(map(_source, text.split(OR)))


def _source(text: str) -> TypeSource:
    match = _SCOPE.match(text)
    scope = int(match[1]) if match else None
    rest = text[match.end() :] if match else text
    if rest[:1] == ":":
        return DeclaredType(rest[1:], scope)
    return AssignedValue(parse_expression(rest[1:]), scope)


def declared(type_text: str, scope: int | None = None) -> str:
    """Return the source of a name with a declared type."""
    return f":{type_text}" if scope is None else f"@{scope}:{type_text}"


def assigned(expression: str, scope: int | None = None) -> str:
    """Return the source of a name with an assigned value, in text form."""
    return f"={expression}" if scope is None else f"@{scope}={expression}"


def cast(type_text: str) -> str:
    """Return the expression for a value of a declared type."""
    return f"<{type_text}>"


def member(expression: str, name: str) -> str:
    """Return the expression for a member."""
    return f"{expression}.{name}"


def call(expression: str) -> str:
    """Return the expression for the result of a call."""
    return expression + "()"


def result(call_text: str, index: int | None) -> str:
    """Return the expression for the result of a call, or for one of several results; with the name
    of a function, the key of `ScopeTable.returns`."""
    return call_text if index is None else f"{call_text}${index}"


def item(expression: str) -> str:
    """Return the expression for an item of a container."""
    return expression + "[]"


def list_of(expression: str) -> str:
    """Return the expression for a list of such items."""
    return "[]" + expression


def is_list(expression: str) -> bool:
    return expression.startswith("[]")


def argument(expression: str, index: int) -> str:
    """Return the expression for the value that a function gets for a parameter."""
    return f"{expression}(#{index})"


def is_declared(source: str) -> bool:
    """Return True if the first type source is a declared type."""
    return _DECLARED.match(source) is not None


def is_empty(source: str) -> bool:
    """Return True for a type source without a type or value."""
    return len(source) < 2


def add_source(sources: str, source: str, limit: int) -> str:
    """Add a type source unless it is there or there are ``limit``."""
    present = sources.split(OR)
    return sources if source in present or len(present) >= limit else f"{sources}{OR}{source}"


def unnamed(scope: int) -> str:
    """Return the text of an unnamed type, as an expression and as a declared type."""
    return f"{{{scope}}}"


def unnamed_at(offset: int) -> str:
    """Return the text of an unnamed type of C, by the offset of its scope."""
    return f"{{{offset}"


def unnamed_scope(type_text: str) -> int | None:
    """Return the scope of an unnamed type (in C, the offset of its scope), or None."""
    match = _UNNAMED.fullmatch(type_text)
    return int(match[1]) if match else None


def parameter_key(index: int) -> str:
    """Return the key of `ScopeTable.types` for a parameter by its index."""
    return f"#{index}"


def macro_key(name: str) -> str:
    """Return the key of `ScopeTable.types` for the text of a C macro."""
    return f"#{name}"
