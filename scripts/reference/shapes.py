"""Format types as JSON types, and the fields of structs as tables."""

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
# The pages with tables of structs that other pages share.
Elsewhere = Mapping[Struct, str]


def json_type(kind: inspection.Type, elsewhere: Elsewhere | None = None) -> str:
    """Format a type and its limits as Markdown; structs are links to their tables."""
    if isinstance(kind, inspection.Metadata):
        return json_type(kind.type, elsewhere)
    if isinstance(kind, inspection.UnionType):
        members = [member for member in kind.types if not isinstance(member, inspection.NoneType)]
        return " or ".join(json_type(member, elsewhere) for member in members)
    if isinstance(kind, inspection.LiteralType):
        return ", ".join(f"`{json.dumps(value)}`" for value in kind.values)
    if isinstance(kind, inspection.StructType):
        name = kind.cls.__name__
        return f"[{name}]({(elsewhere or {}).get(kind.cls, '')}#{name.lower()})"
    if isinstance(kind, (inspection.ListType, inspection.VarTupleType)):
        item, _, limits = json_type(kind.item_type, elsewhere).partition(", ")
        return f"array of {item}" + f" ({limits})" * bool(limits) + _length(kind, "")
    if isinstance(kind, inspection.TupleType):
        return f"[{', '.join(json_type(item, elsewhere) for item in kind.item_types)}]"
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
    """Return the structs in the fields of a struct, at any depth, in order and without repeats."""
    found: dict[Struct, None] = {}
    queue = [struct]
    while queue:
        for field in fields_of(queue.pop(0)):
            for inner in _structs(field.kind):
                if inner is not struct and inner not in found:
                    found[inner] = None
                    queue.append(inner)
    return list(found)


def _structs(kind: inspection.Type) -> Iterator[Struct]:
    if isinstance(kind, inspection.Metadata):
        yield from _structs(kind.type)
    elif isinstance(kind, inspection.StructType):
        yield kind.cls
    elif isinstance(kind, inspection.UnionType):
        for member in kind.types:
            yield from _structs(member)
    elif isinstance(kind, inspection.ListType):
        yield from _structs(kind.item_type)


def params_table(struct: Struct, shared: Collection[str] = ()) -> str:
    """Return the table of parameters: required ones first, ``shared`` ones last."""
    fields = sorted(fields_of(struct), key=lambda field: (not field.required, field.name in shared))
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
    """Return the table of a result's fields. Optional fields are in italics; the fields of
    ``shared`` come last."""
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
    """Return a class's docstring as one paragraph of Markdown."""
    return " ".join(inspect.cleandoc(described.__doc__ or "").split()).replace("``", "`")
