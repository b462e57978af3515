"""Add what a file exports, with `export` and by assigning to `exports`."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols.file_symbols import BINDS, IMPORTED, MENTIONED, ROLE, STRING, Import
from winnow.symbols.scopes.typescript.imports import add_import, string_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction


def add_exports(extraction: Extraction) -> None:
    exports = extraction.captured.get("export", ())
    public: set[str] = set()
    ranges: list[tuple[int, int]] = []
    for node in exports:
        public.update(_export(extraction, node))
        ranges.append((node.start_byte, node.end_byte))
    _publish(extraction, public)
    if exports or extraction.captured.get("import"):
        starts = [start for start, _ in ranges]
        for definition in extraction.definitions:
            if definition.container or definition.local or definition.name in public:
                continue
            index = bisect_right(starts, definition.at) - 1
            if index < 0 or ranges[index][1] <= definition.at:
                extraction.private.append(definition.name)


def _publish(extraction: Extraction, names: set[str]) -> None:
    """Mark imports under these names as exported."""
    extraction.imports = [
        replace(imported, exported=True) if imported.local in names else imported
        for imported in extraction.imports
    ]


def _export(extraction: Extraction, node: tree_sitter.Node) -> Iterator[str]:
    """Add the exports of a statement. Yield the names that other files can import."""
    scope = extraction.scope_at(node.start_byte)
    source = node.child_by_field_name("source")
    module = string_text(extraction, source)
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    if clause is not None:
        for specifier in clause.named_children:
            name = specifier.child_by_field_name("name")
            alias = specifier.child_by_field_name("alias")
            if name is None:
                continue
            text = string_text(extraction, name)
            if source is not None:
                add_import(extraction, scope, module, text, name, alias, exported=True)
                continue
            yield text
            extraction.flags[name.start_byte] = MENTIONED
            if alias is not None:
                extraction.flags[alias.start_byte] = IMPORTED
                local = string_text(extraction, alias)
                extraction.imports.append(Import(local, "", text, scope, name.start_byte))
        return
    if source is not None:
        spaced = [child for child in node.named_children if child.type == "namespace_export"]
        for child in spaced:
            add_import(extraction, scope, module, "", child.named_children[0], None, exported=True)
        if not spaced:
            extraction.stars.append(module)
        return
    words = {child.type for child in node.children}
    if "default" in words:
        _export_default(extraction, scope, node)
    elif "=" in words:
        name = next((child for child in node.named_children if child.type == "identifier"), None)
        if name is not None:
            text = extraction.text(name)
            extraction.imports.append(Import("export=", "", text, scope, name.start_byte))


def _export_default(extraction: Extraction, scope: int, node: tree_sitter.Node) -> None:
    value = node.child_by_field_name("declaration") or node.child_by_field_name("value")
    if value is None:
        return
    name = value if value.type == "identifier" else value.child_by_field_name("name")
    if name is not None and name.type in ("identifier", "type_identifier"):
        text = extraction.text(name)
        extraction.imports.append(Import("default", "", text, scope, name.start_byte))
        if value.type == "identifier":
            extraction.flags[name.start_byte] = MENTIONED
    else:
        extraction.more.append(("default", value.start_byte, BINDS))


def add_common_export(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Bind `a` of `exports.a = b` for other files."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    name = left.child_by_field_name("property") if left is not None else None
    if name is not None:
        _export_value(extraction, name, right)


def _export_value(
    extraction: Extraction, name: tree_sitter.Node, value: tree_sitter.Node | None
) -> None:
    text, at = extraction.text(name), name.start_byte
    if value is not None and value.type == "identifier":
        extraction.flags[at] = IMPORTED
        if extraction.text(value) != text:
            extraction.imports.append(Import(text, "", extraction.text(value), 0, value.start_byte))
    else:
        bound = BINDS if extraction.scope_at(at) == 0 else 0
        extraction.flags[at] = extraction.flags[at] & ~ROLE | STRING | bound


def add_common_exports(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the exports of `module.exports = a` and `module.exports = {a, b: c}`."""
    value = node.child_by_field_name("right")
    if value is None:
        return
    if value.type == "identifier":
        text = extraction.text(value)
        extraction.imports.append(Import("export=", "", text, 0, value.start_byte))
    elif value.type == "object":
        shorthands = (
            child_node
            for child_node in value.named_children
            if child_node.type.startswith("shorthand")
        )
        _publish(extraction, {extraction.text(child_node) for child_node in shorthands})
        for child in value.named_children:
            if child.type == "pair":
                key = child.child_by_field_name("key")
                if key is not None and key.type == "property_identifier":
                    _export_value(extraction, key, child.child_by_field_name("value"))
            elif child.type == "method_definition":
                name = child.child_by_field_name("name")
                if name is not None:
                    extraction.flags[name.start_byte] = STRING | BINDS
