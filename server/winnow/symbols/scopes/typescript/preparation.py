"""Mark names and name scopes, before identifiers are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols import expressions
from winnow.symbols.file_symbols import (
    BINDS,
    CALLED,
    IN_TYPE,
    KEY,
    MEMBER,
    MENTIONED,
    QUALIFIES,
    ROLE,
    STATIC,
    WRITTEN,
)
from winnow.symbols.resolve.rules import GLOBAL, SIGNATURE
from winnow.symbols.scopes.nodes import field
from winnow.symbols.scopes.typescript.assigned_classes import add_assigned_classes
from winnow.symbols.scopes.typescript.expected_types import FUNCTIONS, expected
from winnow.symbols.scopes.typescript.exports import (
    add_common_export,
    add_common_exports,
    add_exports,
)
from winnow.symbols.scopes.typescript.imports import add_import_call, add_imports, add_require
from winnow.symbols.scopes.typescript.written_types import cast_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction


def prepare(extraction: Extraction) -> None:
    """Add imports and exports, mark names that are types, and record what object keys belong to."""
    captured, flags = extraction.captured, extraction.flags
    add_assigned_classes(extraction)
    for node in captured.get("name.type", ()):
        flags[node.start_byte] |= IN_TYPE
    extraction.each("name.namespace", _qualify)
    for node in captured.get("name.both", ()):
        flags[node.start_byte] = flags[node.start_byte] & ~IN_TYPE | MENTIONED
    extraction.each("namespace", _mark_namespace)
    extraction.each("global", _name_global)
    extraction.each("assigned", _unbind)
    _name_functions(extraction)
    _name_signatures(extraction)
    _hoist(extraction)
    _add_modules(extraction)
    _mark_uses(extraction)
    for node in captured.get("casting", ()):
        declared = cast_type(extraction, node.named_children[0])
        if declared:
            extraction.chains.know(node.start_byte, node.end_byte, expressions.cast(declared))
    for node in captured.get("literal", ()):
        _mark_members(extraction, field(node, "value"))
    for node in captured.get("object", ()):
        extraction.contexts[node.start_byte] = expected(extraction, node)


def _add_modules(extraction: Extraction) -> None:
    """Add imports and exports. A script, which has none, shares its names with all files."""
    extraction.each("import", add_imports)
    extraction.each("import.call", add_import_call)
    add_exports(extraction)
    imported = len(extraction.imports)
    extraction.each("declarator", add_require)
    requires = len(extraction.imports) > imported
    extraction.each("assignment.exports", add_common_export)
    extraction.each("assignment.module", add_common_exports)
    if not requires and _is_script(extraction.captured):
        extraction.package = GLOBAL


def _mark_uses(extraction: Extraction) -> None:
    """Mark members that are assigned to `this` or static, and the constructors of `new`."""
    captured = extraction.captured
    marked = [
        (field(node, "left", "property"), WRITTEN) for node in captured.get("assignment.this", ())
    ]
    for node in captured.get("static", ()):
        marked.append((field(node, "name") or field(node, "property"), STATIC))
    for node in captured.get("new", ()):
        marked.append((field(node, "property") or node, CALLED))
    for name, flag in marked:
        if name is not None:
            extraction.flags[name.start_byte] |= flag
    for node in captured.get("new.super", ()):
        extraction.more.append(("constructor", node.start_byte, CALLED))


_TYPES_ONLY = frozenset(("interface_declaration", "type_alias_declaration", "comment"))


def _mark_namespace(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the name of a namespace as a value, too, if it contains values."""
    name, body = field(node, "name"), field(node, "body")
    if name is None or name.type != "identifier":
        return
    empty = body is None or all(
        (field(child, "declaration") or child).type in _TYPES_ONLY for child in body.named_children
    )
    extraction.flags[name.start_byte] |= QUALIFIES | (IN_TYPE if empty else 0)


def _is_script(captured: Mapping[str, Sequence[tree_sitter.Node]]) -> bool:
    """Return True if a file imports and exports nothing, except in the modules that it declares:
    then all files see its names."""
    if captured.get("assignment.exports") or captured.get("assignment.module"):
        return False
    statements = (*captured.get("import", ()), *captured.get("export", ()))
    return all(node.parent is None or node.parent.type != "program" for node in statements)


def _name_global(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Name the scope of `declare global`."""
    _name_scope(extraction, extraction.scope_at(node.start_byte), GLOBAL)


def _qualify(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark both names of `A.B` in the type `A.B.C` as namespaces."""
    for child in node.named_children:
        _qualify(extraction, child)
    if not node.named_children:
        extraction.flags[node.start_byte] |= IN_TYPE | QUALIFIES


def _unbind(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Remove the bindings of `({a, b} = c)`, which binds nothing."""
    for child in node.named_children:
        if child.start_byte in extraction.flags:
            extraction.flags[child.start_byte] &= ~BINDS
        _unbind(extraction, child)


def _name_functions(extraction: Extraction) -> None:
    """Name functions after the variable, field, key or member whose value they are."""
    captured = extraction.captured
    named = [
        (field(node, "value"), field(node, "name") or field(node, "property"))
        for capture in ("declarator", "field")
        for node in captured.get(capture, ())
    ]
    for node in captured.get("assignment.member", ()):
        named.append((field(node, "right"), field(node, "left", "property")))
    starts = {scope.start: number for number, scope in enumerate(extraction.scopes)}
    for value, name in named:
        if value is None or value.type not in FUNCTIONS or name is None:
            continue
        number = starts.get(value.start_byte)
        if (
            number is not None
            and not extraction.scopes[number].name
            and name.type != "object_pattern"
        ):
            _name_scope(extraction, number, extraction.text(name))


def _name_scope(extraction: Extraction, number: int, name: str) -> None:
    extraction.scopes[number] = replace(extraction.scopes[number], name=name)


def _name_signatures(extraction: Extraction) -> None:
    """Name the call and `new` signatures of an interface by names that nothing else has."""
    starts = {scope.start: number for number, scope in enumerate(extraction.scopes)}
    for node in extraction.captured.get("signature", ()):
        if (number := starts.get(node.start_byte)) is not None:
            name = SIGNATURE if node.type == "call_signature" else "constructor"
            _name_scope(extraction, number, name)


def _hoist(extraction: Extraction) -> None:
    """Bind names that `var` declares in a block in the enclosing function."""
    for node in extraction.captured.get("hoisted", ()):
        scope = extraction.scope_at(node.start_byte)
        if extraction.scopes[scope].kind == "block":
            names = [
                extraction.text(name)
                for child in node.named_children
                if (name := field(child, "name")) is not None and name.type == "identifier"
            ]
            extraction.outer.setdefault(scope, []).extend(names)


def _mark_members(extraction: Extraction, node: tree_sitter.Node | None) -> None:
    """Mark the keys of an object literal as members of the variable."""
    for child in node.named_children if node is not None else ():
        name = field(child, "key") or field(child, "name")
        if name is not None and name.type == "property_identifier":
            at = name.start_byte
            if extraction.flags.get(at, 0) & ROLE == KEY:
                extraction.flags[at] = extraction.flags[at] & ~ROLE | MEMBER | BINDS
