"""Add what a file imports, with `import` and `require`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import IMPORTED, Import
from winnow.symbols.scopes.nodes import field

if TYPE_CHECKING:
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
