"""Add what a file exports, with `export` and by assigning to `exports`."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols.file_symbols import BINDS, DEFINES, IMPORTED, MENTIONED, ROLE, STRING, Import
from winnow.symbols.scopes.nodes import field
from winnow.symbols.scopes.typescript.imports import add_import, add_specifiers, string_text

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
    scope, words = extraction.scope_at(node.start_byte), {child.type for child in node.children}
    children = {child.type: child for child in node.named_children}
    source = field(node, "source")
    module = string_text(extraction, source)
    if (clause := children.get("export_clause")) is not None:
        if source is not None:
            add_specifiers(extraction, scope, module, clause, exported=True)
        else:
            yield from _export_names(extraction, scope, clause)
    elif source is not None:
        if (star := children.get("namespace_export")) is not None:
            add_import(extraction, scope, module, "", star.named_children[0], None, exported=True)
        else:
            extraction.stars.append(module)
    elif "default" in words:
        _export_default(extraction, scope, node)
    elif "=" in words and (name := children.get("identifier")) is not None:
        _add_own(extraction, "export=", name, scope)


def _export_names(extraction: Extraction, scope: int, clause: tree_sitter.Node) -> Iterator[str]:
    """Add the exports of `{a, b as c}`. Yield the names in this file."""
    for specifier in clause.named_children:
        name, alias = field(specifier, "name"), field(specifier, "alias")
        if name is None:
            continue
        yield string_text(extraction, name)
        extraction.flags[name.start_byte] = MENTIONED
        if alias is not None:
            extraction.flags[alias.start_byte] = IMPORTED
            _add_own(extraction, string_text(extraction, alias), name, scope)


def _add_own(extraction: Extraction, alias: str, node: tree_sitter.Node, scope: int) -> None:
    """Add the export of a name of this file under another name."""
    text = string_text(extraction, node)
    extraction.imports.append(Import(alias, "", text, scope, node.start_byte))


def _export_default(extraction: Extraction, scope: int, node: tree_sitter.Node) -> None:
    value = field(node, "declaration") or field(node, "value")
    if value is None:
        return
    name = value if value.type == "identifier" else field(value, "name")
    if name is not None and name.type in ("identifier", "type_identifier"):
        _add_own(extraction, "default", name, scope)
        if value.type == "identifier":
            extraction.flags[name.start_byte] = MENTIONED
    else:
        word = next(child for child in node.children if child.type == "default")
        extraction.more.append(("default", word.start_byte, BINDS | DEFINES))


def add_common_export(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Bind `a` of `exports.a = b` for other files."""
    if (name := field(node, "left", "property")) is not None:
        _export_value(extraction, name, field(node, "right"))


def _export_value(
    extraction: Extraction, name: tree_sitter.Node, value: tree_sitter.Node | None
) -> None:
    text, at = extraction.text(name), name.start_byte
    if value is not None and value.type == "identifier":
        extraction.flags[at] = IMPORTED
        if extraction.text(value) != text:
            _add_own(extraction, text, value, 0)
    else:
        bound = BINDS if extraction.scope_at(at) == 0 else 0
        extraction.flags[at] = extraction.flags[at] & ~ROLE | STRING | bound


def add_common_exports(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the exports of `module.exports = a` and `module.exports = {a, b: c}`."""
    value = field(node, "right")
    if value is None:
        return
    if value.type == "identifier":
        _add_own(extraction, "export=", value, 0)
    elif value.type == "object":
        children = value.named_children
        shorthands = (child for child in children if child.type.startswith("shorthand"))
        _publish(extraction, {extraction.text(child) for child in shorthands})
        for child in children:
            name = field(child, "key") or field(child, "name")
            if name is None:
                continue
            if child.type == "pair" and name.type == "property_identifier":
                _export_value(extraction, name, field(child, "value"))
            elif child.type == "method_definition":
                extraction.flags[name.start_byte] = STRING | BINDS
