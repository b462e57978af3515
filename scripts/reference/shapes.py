"""Types as a reader of JSON knows them, and tables of the fields of structs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Iterator, Mapping

import msgspec
from msgspec import inspect as inspection

from reference.markdown import table
from winnow.tools.registry import ToolField, fields_of

NAMES: Mapping[type, str] = {
    inspection.StrType: "string",
    inspection.IntType: "integer",
    inspection.FloatType: "number",
    inspection.BoolType: "boolean",
    inspection.AnyType: "anything",
}
Struct = type[msgspec.Struct]
# Where the tables of structs are that stand on another page.
Elsewhere = Mapping[Struct, str]


def json_type(kind: inspection.Type, elsewhere: Elsewhere | None = None) -> str:
    """The type in Markdown, with its limits; structs are links to their tables."""
    if isinstance(kind, inspection.Metadata):
        return json_type(kind.type, elsewhere)
    if isinstance(kind, inspection.UnionType):
        others = [one for one in kind.types if not isinstance(one, inspection.NoneType)]
        return " or ".join(json_type(one, elsewhere) for one in others)
    if isinstance(kind, inspection.LiteralType):
        return ", ".join(f"`{json.dumps(one)}`" for one in kind.values)
    if isinstance(kind, inspection.StructType):
        name = kind.cls.__name__
        return f"[{name}]({(elsewhere or {}).get(kind.cls, '')}#{name.lower()})"
    if isinstance(kind, (inspection.ListType, inspection.VarTupleType)):
        item, _, limits = json_type(kind.item_type, elsewhere).partition(", ")
        return f"array of {item}" + f" ({limits})" * bool(limits) + _length(kind, "")
    if isinstance(kind, inspection.TupleType):
        return f"[{', '.join(json_type(one, elsewhere) for one in kind.item_types)}]"
    if isinstance(kind, inspection.DictType):
        return "object"
    if isinstance(kind, inspection.StrType):
        return "string" + _length(kind, " characters")
    if isinstance(kind, (inspection.IntType, inspection.FloatType)):
        return NAMES[type(kind)] + _bounds(kind)
    return NAMES[type(kind)]


def _length(
    kind: inspection.StrType | inspection.ListType | inspection.VarTupleType, of: str
) -> str:
    least, most = kind.min_length, kind.max_length
    if least and most:
        return f", {least:,} to {most:,}{of}"
    return f", at most {most:,}{of}" if most else ""


def _bounds(kind: inspection.IntType | inspection.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f", {kind.ge:,} to {kind.le:,}"
    if kind.ge is not None:
        return f", at least {kind.ge:,}"
    return f", more than {kind.gt:,}" if kind.gt is not None else ""


def structs_in(struct: Struct) -> list[Struct]:
    """The structs that the fields of a struct hold, at any depth, each once, in order."""
    found: dict[Struct, None] = {}
    waiting = [struct]
    while waiting:
        for field in fields_of(waiting.pop(0)):
            for inner in _structs(field.kind):
                if inner is not struct and inner not in found:
                    found[inner] = None
                    waiting.append(inner)
    return list(found)


def _structs(kind: inspection.Type) -> Iterator[Struct]:
    if isinstance(kind, inspection.Metadata):
        yield from _structs(kind.type)
    elif isinstance(kind, inspection.StructType):
        yield kind.cls
    elif isinstance(kind, inspection.UnionType):
        for one in kind.types:
            yield from _structs(one)
    elif isinstance(kind, inspection.ListType):
        yield from _structs(kind.item_type)


def params_table(struct: Struct, shared: Collection[str] = ()) -> str:
    """What can be passed: required params first, those that are ``shared`` by tools last."""
    fields = sorted(fields_of(struct), key=lambda one: (not one.required, one.name in shared))
    rows = [
        [f"`{field.name}`", json_type(field.kind), _default(field), field.description]
        for field in fields
    ]
    return table(["Name", "Type", "Default", ""], rows)


def _default(field: ToolField) -> str:
    if field.required:
        return "required"
    return "" if field.default is None else f"`{json.dumps(msgspec.to_builtins(field.default))}`"


def result_table(struct: Struct, elsewhere: Elsewhere, shared: Struct | None = None) -> str:
    """What is answered; optional fields are in italics. Those of ``shared`` come last."""
    last = {field.name for field in fields_of(shared)} if shared else set()
    fields = sorted(fields_of(struct), key=lambda field: field.name in last)
    rows = [
        [
            f"`{field.name}`" if field.required or field.generated else f"*`{field.name}`*",
            json_type(field.kind, elsewhere),
            field.description,
        ]
        for field in fields
    ]
    return table(["ToolField", "Type", ""], rows)


def sentence(described: type) -> str:
    """A class's docstring as one paragraph of Markdown."""
    return " ".join(inspect.cleandoc(described.__doc__ or "").split()).replace("``", "`")
