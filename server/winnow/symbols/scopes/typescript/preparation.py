"""Mark names and name scopes, before identifiers are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols import expressions
from winnow.symbols.file_symbols import (
    BINDS,
    CALLED,
    DEFINES,
    IN_TYPE,
    KEY,
    MEMBER,
    MENTIONED,
    QUALIFIES,
    ROLE,
    STATIC,
    WRITTEN,
    LexicalScope,
)
from winnow.symbols.resolve.rules import GLOBAL, SIGNATURE
from winnow.symbols.scopes.nodes import field
from winnow.symbols.scopes.typescript.imports import (
    add_common_export,
    add_common_exports,
    add_exports,
    add_import_call,
    add_imports,
    add_require,
)
from winnow.symbols.scopes.typescript.types import FUNCTIONS, cast_type, expected

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


# --- classes without `class` ---------------------------------------------------------------------


def add_assigned_classes(extraction: Extraction) -> None:
    """Add classes that JavaScript writes without `class`: constructor functions, `A.prototype.b =
    …`, and members that are assigned to a function or an object, `A.b = …`."""
    captured, flags = extraction.captured, extraction.flags
    parts: list[LexicalScope] = []
    made: set[str] = set()
    for node in captured.get("assignment.member", ()):
        member = _assigned_member(extraction, node)
        if member is None:
            continue
        owner, at, static = member
        if not static:
            made.add(owner)
        flags[at] |= MEMBER | (STATIC if static else 0)
        parts.append(LexicalScope(at, node.end_byte, 0, "part", owner))
    for node in captured.get("assignment.object", ()):
        left, value = field(node, "left"), field(node, "right")
        if left is None or value is None or not extraction.text(left).endswith(".prototype"):
            continue
        owner = extraction.text(left).removesuffix(".prototype")
        made.add(owner)
        parts.append(LexicalScope(value.start_byte, value.end_byte, 0, "part", owner))
        for child in value.named_children:
            name = field(child, "key") or field(child, "name")
            if name is not None and name.type == "property_identifier":
                flags[name.start_byte] = flags[name.start_byte] & ~ROLE | MEMBER | DEFINES
    functions = _makers(extraction, made)
    if parts or functions:
        scopes = [
            scope for scope in extraction.scopes for scope in (*functions.get(scope, ()), scope)
        ]
        extraction.scopes = sorted([*scopes, *parts], key=lambda scope: (scope.start, -scope.end))
        extraction.link_scopes()


def _assigned_member(
    extraction: Extraction, node: tree_sitter.Node
) -> tuple[str, int, bool] | None:
    """Return A, the offset of b, and whether b is static, for `A.prototype.b = …` and `A.b = …`."""
    owner, name = field(node, "left", "object"), field(node, "left", "property")
    if owner is None or name is None:
        return None
    text = extraction.text(owner)
    if text.endswith(".prototype"):
        return text.removesuffix(".prototype"), name.start_byte, False
    around = node.parent.parent if node.parent is not None else None
    if around is None or around.type != "program" or owner.type != "identifier":
        return None
    return None if text in ("exports", "module") else (text, name.start_byte, True)


def _makers(extraction: Extraction, made: set[str]) -> dict[LexicalScope, list[LexicalScope]]:
    """Return the scopes of constructor functions, each with a scope for its members.

    Constructor functions have a prototype, or write to `this` and have a capitalized name.
    """
    writing = {
        extraction.scopes[number]
        for node in extraction.captured.get("assignment.this", ())
        if (number := extraction.function_around(extraction.scope_at(node.start_byte))) is not None
    }
    found: dict[LexicalScope, list[LexicalScope]] = {}
    starts = {scope.start: scope for scope in extraction.scopes if scope.kind == "function"}
    for node in extraction.captured.get("function", ()):
        if node.type not in ("function_declaration", "function_expression"):
            continue
        named, around = field(node, "name"), node.parent
        first = field(node, "parameters") if named is not None else node
        if around is not None and around.type == "variable_declarator":
            named = field(around, "name")
        scope = starts.get(first.start_byte) if first is not None else None
        if named is None or scope is None:
            continue
        text = extraction.text(named)
        if text in made or (scope in writing and text[:1].isupper()):
            found[scope] = [LexicalScope(scope.start, scope.end, 0, "class", text)]
    return found
