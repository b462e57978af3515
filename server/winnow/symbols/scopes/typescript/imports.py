"""Add what a file imports and exports, with `import`, `require` and `export`, and by assigning to
`exports`."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols.file_symbols import BINDS, DEFINES, IMPORTED, MENTIONED, ROLE, STRING, Import
from winnow.symbols.scopes.nodes import field

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction


def string_text(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    return extraction.text(node).strip("'\"`") if node is not None else ""


def add_imports(extraction: Extraction, node: tree_sitter.Node) -> None:
    module = string_text(extraction, field(node, "source"))
    scope = extraction.scope_at(node.start_byte)
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            module = string_text(extraction, field(clause, "source"))
            add_import(extraction, scope, module, "", clause.named_children[0], None)
        for child in clause.named_children if clause.type == "import_clause" else ():
            if child.type == "identifier":
                _add_default(extraction, scope, module, child)
            elif child.type == "namespace_import":
                add_import(extraction, scope, module, "", child.named_children[0], None)
            elif child.type == "named_imports":
                add_specifiers(extraction, scope, module, child)


def add_specifiers(
    extraction: Extraction,
    scope: int,
    module: str,
    names: tree_sitter.Node,
    *,
    exported: bool = False,
) -> None:
    """Add the imports of `{a, b as c}`."""
    for specifier in names.named_children:
        name, alias = field(specifier, "name"), field(specifier, "alias")
        if name is not None:
            text = string_text(extraction, name)
            add_import(extraction, scope, module, text, name, alias, exported=exported)


def add_import_call(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the import of an `import("./a")` expression, under a name that no source can have, and
    under that of the variable in `const A = lazy(() => import("./a"))`."""
    arguments = field(node, "arguments")
    if arguments is not None:
        at = node.start_byte
        module = string_text(extraction, arguments.named_children[0])
        if (name := _lazy_name(node)) is not None:
            _add_default(extraction, extraction.scope_at(name.start_byte), module, name)
        extraction.imports.append(Import(f"import#{at}", module, "", 0, at, exported=False))
        extraction.chains.know(at, node.end_byte, f"import#{at}")


def _lazy_name(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the variable whose value is a call with a function that only imports a module."""
    kinds = ("arrow_function", "arguments", "call_expression", "variable_declarator")
    around = node.parent
    for kind in kinds[:-1]:
        if around is None or around.type != kind:
            return None
        around = around.parent
    name = field(around, "name") if around and around.type == kinds[-1] else None
    return name if name is not None and name.type == "identifier" else None


def _add_default(extraction: Extraction, scope: int, module: str, node: tree_sitter.Node) -> None:
    """Add the import of `import X from`, which also uses the module's export `default`."""
    add_import(extraction, scope, module, "default", node, None)
    extraction.more.append(("default", node.start_byte, IMPORTED))


def add_import(
    extraction: Extraction,
    scope: int,
    module: str,
    name: str,
    node: tree_sitter.Node,
    alias: tree_sitter.Node | None,
    *,
    exported: bool = False,
) -> None:
    """Add the import of the name at a node, or of a module."""
    extraction.flags[node.start_byte] = IMPORTED
    if alias is not None:
        extraction.flags[alias.start_byte] = IMPORTED
    local = string_text(extraction, alias if alias is not None else node)
    extraction.imports.append(Import(local, module, name, scope, node.start_byte, exported))


def add_require(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the imports of `const a = require("b")` and `const {a} = require("b")`."""
    called, name = field(node, "value", "function"), field(node, "name")
    if called is None or called.type != "identifier" or name is None:
        return
    arguments = field(node, "value", "arguments")
    if extraction.text(called) != "require" or arguments is None or not arguments.named_children:
        return
    module = string_text(extraction, arguments.named_children[0])
    if not module:
        return
    scope = extraction.scope_at(name.start_byte)
    if name.type == "identifier":
        add_import(extraction, scope, module, "", name, None)
    elif name.type == "object_pattern":
        for child in name.named_children:
            if child.type == "shorthand_property_identifier_pattern":
                add_import(extraction, scope, module, extraction.text(child), child, None)
            elif child.type == "pair_pattern":
                key, alias = field(child, "key"), field(child, "value")
                if key is not None and alias is not None and alias.type == "identifier":
                    add_import(extraction, scope, module, extraction.text(key), key, alias)


# --- exports -------------------------------------------------------------------------------------


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
