"""Bind names in TypeScript and JavaScript: scopes, imports, exports, types, modules."""

from __future__ import annotations

import os
import posixpath
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from winnow.symbols import expressions
from winnow.symbols.extract.chains import UNKNOWN
from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    BINDS,
    CALLED,
    DEFINES,
    IMPORTED,
    IN_TYPE,
    KEY,
    MEMBER,
    MENTIONED,
    PARAMETER,
    QUALIFIES,
    ROLE,
    SHORTHAND,
    STATIC,
    STRING,
    WRITTEN,
    Import,
    LexicalScope,
    merge_scopes,
)
from winnow.symbols.resolve.rules import GLOBAL, SIGNATURE, Rules, shared_folders
from winnow.symbols.scopes import projects
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

_BOTH = """
(identifier) @identifier
(this) @identifier
(super) @identifier
(property_identifier) @identifier
(private_property_identifier) @identifier
(shorthand_property_identifier) @identifier @shorthand
(shorthand_property_identifier_pattern) @identifier @shorthand @bind
(function_declaration name: (identifier) @bind)
(generator_function_declaration name: (identifier) @bind)
(function_expression name: (identifier) @bind)
(class_declaration name: (_) @bind @name.both)
(class name: (_) @bind @name.both)
(variable_declarator name: (identifier) @bind)
(pair_pattern value: (identifier) @bind)
(array_pattern (identifier) @bind)
(array_pattern (assignment_pattern left: (identifier) @bind))
(rest_pattern (identifier) @bind)
(pair_pattern value: (assignment_pattern left: (identifier) @bind))
(for_in_statement left: (identifier) @bind)
(arrow_function parameter: (identifier) @parameter)
(catch_clause parameter: (identifier) @bind)
(assignment_expression left: [(object_pattern) (array_pattern)] @assigned)
(class_body (method_definition
  name: [(property_identifier) (private_property_identifier)] @member))
(pair key: (property_identifier) @key)
(pair_pattern key: (property_identifier) @key)
(object (method_definition name: (property_identifier) @key))
(object) @object
(object_pattern) @object
(function_declaration) @scope.function @function
(generator_function_declaration) @scope.function @function
(function_expression) @scope.function @function
(arrow_function) @scope.function @function
(method_definition) @scope.function @function
(class_declaration) @scope.class @class
(class) @scope.class @class
(variable_declarator !type name: (identifier) value: (object)) @scope.class @literal
(variable_declarator !type name: (identifier) value: (object
  (pair key: (property_identifier) value: (object)) @scope.class @literal))
(if_statement (statement_block) @scope.block)
(else_clause (statement_block) @scope.block)
(while_statement (statement_block) @scope.block)
(do_statement (statement_block) @scope.block)
(try_statement (statement_block) @scope.block)
(finally_clause (statement_block) @scope.block)
(statement_block (statement_block) @scope.block)
(program (statement_block) @scope.block)
(switch_body) @scope.block
(catch_clause) @scope.block
(for_statement) @scope.block
(for_in_statement) @scope.block
(class_body (method_definition "static") @static)
(new_expression constructor: [(identifier) (member_expression)] @new)
(call_expression function: (super) @new.super)
(call_expression function: (import) arguments: (arguments . (string))) @import.call
(subscript_expression index: (string (string_fragment) @quoted))
(variable_declaration) @hoisted
(arguments) @arguments
(subscript_expression) @subscript
(parenthesized_expression) @parenthesis
(await_expression) @await
(import_statement) @import
(export_statement) @export
(variable_declarator) @declarator
(for_in_statement) @loop
(return_statement (_)) @return
(comment) @comment
"""
_JSX = """
(jsx_opening_element) @object
(jsx_self_closing_element) @object
(jsx_attribute (property_identifier) @key)
"""
JAVASCRIPT_TOKENS = (
    _BOTH.replace("!type ", "")
    + _JSX
    + """
(formal_parameters (identifier) @parameter)
(formal_parameters (assignment_pattern left: (identifier) @parameter))
(formal_parameters (rest_pattern (identifier) @parameter))
(field_definition property: [(property_identifier) (private_property_identifier)] @member)
(field_definition "static") @static
(field_definition value: (_)) @field
(assignment_expression left: (member_expression object: (this))) @assignment.this
(assignment_expression
  left: (member_expression
    object: [(identifier) (member_expression)] property: (property_identifier))
  right: [(function_expression) (generator_function) (arrow_function)]) @assignment.member
(assignment_expression
  left: (member_expression object: (identifier) property: (property_identifier))
  right: (object)) @assignment.object
(assignment_expression left: (member_expression
  object: [(identifier) (member_expression)] @object.exports
  (#match? @object.exports "^(module\\\\.)?exports$"))) @assignment.exports
(assignment_expression left: (member_expression
  object: (identifier) @object.module property: (property_identifier) @property.exports)
  (#eq? @object.module "module") (#eq? @property.exports "exports")) @assignment.module
"""
)
TYPESCRIPT_TOKENS = (
    _BOTH
    + """
(type_identifier) @identifier @name.type
(nested_type_identifier module: (identifier) @name.namespace)
(nested_type_identifier module: (nested_identifier) @name.namespace)
(abstract_class_declaration name: (_) @bind @name.both)
(interface_declaration name: (_) @bind)
(enum_declaration name: (_) @bind @name.both)
(type_alias_declaration name: (_) @bind)
(internal_module name: (identifier) @bind)
(module name: (identifier) @bind)
(function_signature name: (identifier) @bind)
(ambient_declaration "global" (statement_block) @scope.namespace @global)
(import_alias . (identifier) @bind) @alias.import
(type_parameter name: (type_identifier) @bind)
(infer_type (type_identifier) @bind)
(mapped_type_clause name: (type_identifier) @bind)
(index_signature name: (identifier) @parameter)
(required_parameter pattern: (identifier) @parameter)
(optional_parameter pattern: (identifier) @parameter)
(required_parameter (accessibility_modifier) pattern: (identifier) @shorthand)
(required_parameter "readonly" pattern: (identifier) @shorthand)
(optional_parameter (accessibility_modifier) pattern: (identifier) @shorthand)
(optional_parameter "readonly" pattern: (identifier) @shorthand)
(public_field_definition name: [(property_identifier) (private_property_identifier)] @member)
(class_body (method_signature
  name: [(property_identifier) (private_property_identifier)] @member))
(interface_body (method_signature name: (property_identifier) @member))
(object_type (method_signature name: (property_identifier) @member))
(property_signature name: (property_identifier) @member)
(abstract_method_signature name: (property_identifier) @member)
(enum_body (property_identifier) @member)
(enum_assignment name: (property_identifier) @member)
(abstract_class_declaration) @scope.class @class
(interface_declaration) @scope.class @class
(enum_declaration) @scope.class
(type_alias_declaration) @scope.class @alias
(object_type) @scope.class
(internal_module name: (identifier)) @scope.namespace @namespace
(module name: (identifier)) @scope.namespace @namespace
(lookup_type (literal_type (string (string_fragment) @quoted)))
(class_declaration type_parameters: (_)) @scope.block
(abstract_class_declaration type_parameters: (_)) @scope.block
(interface_declaration type_parameters: (_)) @scope.block
(function_signature) @scope.function @function
(method_signature) @scope.function @function
(abstract_method_signature) @scope.function @function
(call_signature) @scope.function @signature
(construct_signature) @scope.function @signature
(function_type) @scope.function
(constructor_type) @scope.function
(call_expression type_arguments: (_) @typearguments)
(new_expression type_arguments: (_) @typearguments)
(parenthesized_expression [(as_expression) (satisfies_expression) (type_assertion)]) @casting
(public_field_definition "static") @static
(public_field_definition) @field
(property_signature) @field
(type_parameter constraint: (_)) @constrained
(required_parameter pattern: (this) type: (_)) @this
"""
)
TSX_TOKENS = TYPESCRIPT_TOKENS.replace(" (type_assertion)", "") + _JSX

# Names that are not symbols.
SKIPPED = frozenset(("this", "super", "undefined"))
# The maximum length of a declared type: longer ones say too little.
TYPE_CHARACTERS = 400
_NAME = re.compile(r"[\w$]+(?:\.[\w$]+)*")
_SPACE = re.compile(r"\s+")
_FUNCTIONS = frozenset(
    (
        "arrow_function", "function_expression", "function_declaration", "method_definition",
        "generator_function_declaration",
    )
)  # fmt: skip
# List methods that call a function with each item, and the parameter that receives it.
_EACH = {
    "forEach": 0, "map": 0, "filter": 0, "find": 0, "findIndex": 0, "findLast": 0, "some": 0,
    "every": 0, "flatMap": 0, "sort": 0, "reduce": 1, "reduceRight": 1,
}  # fmt: skip
_PRIMITIVES = frozenset(
    ("string", "number", "boolean", "any", "unknown", "void", "never", "object", "null",
     "undefined", "bigint", "symbol")
)  # fmt: skip
_DOC = re.compile(
    rb"\{@link(?:code|plain)?\s+(?P<link>[A-Za-z_$][\w$]*)"
    rb"|@(?:param|returns?|type|throws|typedef|property|prop|extends|implements|template|this|see"
    rb"|satisfies|enum)\s+\{(?!@)(?P<type>[^}\n]*)\}"
)
_WORD = re.compile(rb"(?<![\w$'\"])(?<![\w$)\]]\.)[A-Za-z_$][\w$]*")


# --- before identifiers are read -----------------------------------------------------------------


def prepare(extraction: Extraction) -> None:
    """Add imports and exports, mark names that are types, and record what object keys belong to."""
    captured, flags = extraction.captured, extraction.flags
    _make_classes(extraction)
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
    extraction.each("import", _import)
    extraction.each("import.call", _import_call)
    _exports(extraction)
    imported = len(extraction.imports)
    extraction.each("declarator", _require)
    requires = len(extraction.imports) > imported
    extraction.each("assignment.exports", _common_export)
    extraction.each("assignment.module", _common_exports)
    if not requires and _is_script(captured):
        extraction.package = GLOBAL
    for node in captured.get("assignment.this", ()):
        left = node.child_by_field_name("left")
        named = left.child_by_field_name("property") if left is not None else None
        if named is not None:
            flags[named.start_byte] |= WRITTEN
    for node in captured.get("static", ()):
        named = node.child_by_field_name("name") or node.child_by_field_name("property")
        if named is not None:
            flags[named.start_byte] |= STATIC
    for node in captured.get("new", ()):
        named = node.child_by_field_name("property") or node
        flags[named.start_byte] |= CALLED
    for node in captured.get("new.super", ()):
        extraction.more.append(("constructor", node.start_byte, CALLED))
    for node in captured.get("casting", ()):
        declared = _cast(extraction, node.named_children[0])
        if declared:
            extraction.chains.know(node.start_byte, node.end_byte, expressions.cast(declared))
    for node in captured.get("literal", ()):
        _mark_members(extraction, node.child_by_field_name("value"))
    for node in captured.get("object", ()):
        extraction.contexts[node.start_byte] = _expected(extraction, node)


_TYPES_ONLY = frozenset(("interface_declaration", "type_alias_declaration", "comment"))


def _mark_namespace(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the name of a namespace as a value, too, if it contains values."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or name.type != "identifier":
        return
    empty = body is None or all(
        (child.child_by_field_name("declaration") or child).type in _TYPES_ONLY
        for child in body.named_children
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
    number = extraction.scope_at(node.start_byte)
    extraction.scopes[number] = replace(extraction.scopes[number], name=GLOBAL)


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


def _make_classes(extraction: Extraction) -> None:
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
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or value is None or not extraction.text(left).endswith(".prototype"):
            continue
        owner = extraction.text(left).removesuffix(".prototype")
        made.add(owner)
        parts.append(LexicalScope(value.start_byte, value.end_byte, 0, "part", owner))
        for child in value.named_children:
            name = child.child_by_field_name("key") or child.child_by_field_name("name")
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
    left = node.child_by_field_name("left")
    owner = left.child_by_field_name("object") if left is not None else None
    name = left.child_by_field_name("property") if left is not None else None
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
        named = node.child_by_field_name("name")
        around = node.parent
        first = node.child_by_field_name("parameters") if named is not None else node
        if around is not None and around.type == "variable_declarator":
            named = around.child_by_field_name("name")
        scope = starts.get(first.start_byte) if first is not None else None
        if named is None or scope is None:
            continue
        text = extraction.text(named)
        if text in made or (scope in writing and text[:1].isupper()):
            found[scope] = [LexicalScope(scope.start, scope.end, 0, "class", text)]
    return found


def _name_functions(extraction: Extraction) -> None:
    """Name functions after the variable, field or key whose value they are."""
    starts = {scope.start: number for number, scope in enumerate(extraction.scopes)}
    for capture, field in (("declarator", "name"), ("field", "name"), ("field", "property")):
        for node in extraction.captured.get(capture, ()):
            value, name = node.child_by_field_name("value"), node.child_by_field_name(field)
            if value is None or name is None or value.type not in _FUNCTIONS:
                continue
            start = value.start_byte
            inner = value.child_by_field_name("name")
            number = starts.get(start) if inner is None else None
            if number is not None and name.type != "object_pattern":
                scope = extraction.scopes[number]
                extraction.scopes[number] = replace(scope, name=extraction.text(name))
    for node in extraction.captured.get("assignment.member", ()):
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = left.child_by_field_name("property") if left is not None else None
        number = starts.get(value.start_byte) if value is not None else None
        if name is not None and number is not None and not extraction.scopes[number].name:
            scope = extraction.scopes[number]
            extraction.scopes[number] = replace(scope, name=extraction.text(name))


def _name_signatures(extraction: Extraction) -> None:
    """Name the call and `new` signatures of an interface by names that nothing else has."""
    starts = {scope.start: number for number, scope in enumerate(extraction.scopes)}
    for node in extraction.captured.get("signature", ()):
        number = starts.get(node.start_byte)
        if number is not None:
            scope = extraction.scopes[number]
            name = SIGNATURE if node.type == "call_signature" else "constructor"
            extraction.scopes[number] = replace(scope, name=name)


def _hoist(extraction: Extraction) -> None:
    """Bind names that `var` declares in a block in the enclosing function."""
    for node in extraction.captured.get("hoisted", ()):
        scope = extraction.scope_at(node.start_byte)
        if extraction.scopes[scope].kind == "block":
            names = [
                extraction.text(name)
                for child in node.named_children
                if (name := child.child_by_field_name("name")) is not None
                and name.type == "identifier"
            ]
            extraction.outer.setdefault(scope, []).extend(names)


def _string(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    return extraction.text(node).strip("'\"`") if node is not None else ""


def _import(extraction: Extraction, node: tree_sitter.Node) -> None:
    module = _string(extraction, node.child_by_field_name("source"))
    scope = extraction.scope_at(node.start_byte)
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            module = _string(extraction, clause.child_by_field_name("source"))
            _add_import(extraction, scope, module, "", clause.named_children[0], None)
        if clause.type != "import_clause":
            continue
        for child in clause.named_children:
            if child.type == "identifier":
                _add_default(extraction, scope, module, child)
            elif child.type == "namespace_import":
                _add_import(extraction, scope, module, "", child.named_children[0], None)
            elif child.type == "named_imports":
                for specifier in child.named_children:
                    name = specifier.child_by_field_name("name")
                    alias = specifier.child_by_field_name("alias")
                    if name is not None:
                        text = _string(extraction, name)
                        _add_import(extraction, scope, module, text, name, alias)


def _import_call(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the import of an `import("./a")` expression, under a name that no source can have, and
    under that of the variable in `const A = lazy(() => import("./a"))`."""
    arguments = node.child_by_field_name("arguments")
    if arguments is not None:
        at = node.start_byte
        module = _string(extraction, arguments.named_children[0])
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
    name = around.child_by_field_name("name") if around and around.type == kinds[-1] else None
    return name if name is not None and name.type == "identifier" else None


def _add_default(extraction: Extraction, scope: int, module: str, node: tree_sitter.Node) -> None:
    """Add the import of `import X from`, which also uses the module's export `default`."""
    _add_import(extraction, scope, module, "default", node, None)
    extraction.more.append(("default", node.start_byte, IMPORTED))


def _add_import(
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
    local = _string(extraction, alias if alias is not None else node)
    extraction.imports.append(Import(local, module, name, scope, node.start_byte, exported))


def _exports(extraction: Extraction) -> None:
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
    module = _string(extraction, source)
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    if clause is not None:
        for specifier in clause.named_children:
            name = specifier.child_by_field_name("name")
            alias = specifier.child_by_field_name("alias")
            if name is None:
                continue
            text = _string(extraction, name)
            if source is not None:
                _add_import(extraction, scope, module, text, name, alias, exported=True)
                continue
            yield text
            extraction.flags[name.start_byte] = MENTIONED
            if alias is not None:
                extraction.flags[alias.start_byte] = IMPORTED
                local = _string(extraction, alias)
                extraction.imports.append(Import(local, "", text, scope, name.start_byte))
        return
    if source is not None:
        spaced = [child for child in node.named_children if child.type == "namespace_export"]
        for child in spaced:
            _add_import(extraction, scope, module, "", child.named_children[0], None, exported=True)
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


def _require(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the imports of `const a = require("b")` and `const {a} = require("b")`."""
    value = node.child_by_field_name("value")
    called = value.child_by_field_name("function") if value is not None else None
    if value is None or called is None or called.type != "identifier":
        return
    arguments = value.child_by_field_name("arguments")
    name = node.child_by_field_name("name")
    if extraction.text(called) != "require" or arguments is None or name is None:
        return
    module = _string(extraction, arguments.named_children[0]) if arguments.named_children else ""
    scope = extraction.scope_at(name.start_byte)
    if not module:
        return
    if name.type == "identifier":
        _add_import(extraction, scope, module, "", name, None)
    elif name.type == "object_pattern":
        for child in name.named_children:
            if child.type == "shorthand_property_identifier_pattern":
                _add_import(extraction, scope, module, extraction.text(child), child, None)
            elif child.type == "pair_pattern":
                key, alias = child.child_by_field_name("key"), child.child_by_field_name("value")
                if key is not None and alias is not None and alias.type == "identifier":
                    _add_import(extraction, scope, module, extraction.text(key), key, alias)


def _common_export(extraction: Extraction, node: tree_sitter.Node) -> None:
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


def _common_exports(extraction: Extraction, node: tree_sitter.Node) -> None:
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


def _mark_members(extraction: Extraction, node: tree_sitter.Node | None) -> None:
    """Mark the keys of an object literal as members of the variable."""
    for child in node.named_children if node is not None else ():
        name = child.child_by_field_name("key") or child.child_by_field_name("name")
        if name is not None and name.type == "property_identifier":
            at = name.start_byte
            if extraction.flags.get(at, 0) & ROLE == KEY:
                extraction.flags[at] = extraction.flags[at] & ~ROLE | MEMBER | BINDS


def _type(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    """Return a declared type on one line, without the colon, or ""."""
    if node is None:
        return ""
    if node.type == "type_annotation":
        if not node.named_children:
            return ""
        node = node.named_children[0]
    if node.type == "object_type":
        return expressions.unnamed(extraction.scope_at(node.start_byte))
    if node.end_byte - node.start_byte > TYPE_CHARACTERS:
        return ""
    text = _SPACE.sub(" ", extraction.text(node)).strip()
    return "" if text == "const" else text


def _cast(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the type in `x as T`, `x satisfies T` or `<T>x`."""
    children = node.named_children
    declared = children[0] if node.type == "type_assertion" else children[-1]
    if declared.type == "type_arguments" and declared.named_children:
        declared = declared.named_children[0]
    return _step(_type(extraction, declared)) if len(children) > 1 else ""


def _step(declared: str) -> str:
    """Return a type in a form that an expression can contain, or ""."""
    return "" if "=>" in declared or declared.count("<") > 4 else declared


Context = tuple[int, int, str]
NO_CONTEXT: Context = (0, 0, "")


def _declared(extraction: Extraction, node: tree_sitter.Node | None) -> Context:
    declared = _step(_type(extraction, node))
    return (0, 0, expressions.cast(declared)) if declared else NO_CONTEXT


def _expected(extraction: Extraction, node: tree_sitter.Node, depth: int = 0) -> Context:
    """Return the type that is expected of an object, a pattern or a function at its position."""
    if node.type.startswith("jsx_"):
        name = node.child_by_field_name("name")
        return _of(extraction, name, expressions.argument("", 0))
    parent = node.parent
    if parent is None or depth > 12:
        return NO_CONTEXT
    kind = parent.type
    if kind in ("parenthesized_expression", "ternary_expression", "assignment_pattern"):
        return _expected(extraction, parent, depth + 1)
    if kind in ("variable_declarator", "public_field_definition"):
        declared = parent.child_by_field_name("type")
        if declared is not None:
            return _declared(extraction, declared)
        value = parent.child_by_field_name("value")
        return (
            _of(extraction, value, "") if value is not None and value.id != node.id else NO_CONTEXT
        )
    if kind in ("required_parameter", "optional_parameter"):
        declared = parent.child_by_field_name("type")
        if declared is not None:
            return _declared(extraction, declared)
        return _parameter_expected(extraction, parent, depth)
    if kind == "formal_parameters":
        return _parameter_expected(extraction, node, depth)
    if kind in ("as_expression", "satisfies_expression"):
        declared_type = _cast(extraction, parent)
        return (0, 0, expressions.cast(declared_type)) if declared_type else NO_CONTEXT
    if kind == "assignment_expression":
        left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
        assigned_from = left if right is not None and right.id == node.id else right
        return _of(extraction, assigned_from, "")
    if kind == "arguments":
        call = parent.parent
        called = None
        if call is not None:
            called = call.child_by_field_name("function") or call.child_by_field_name("constructor")
        index = next(
            (i for i, argument in enumerate(parent.named_children) if argument.id == node.id), 0
        )
        return _of(extraction, called, expressions.argument("", index))
    if kind in ("pair", "pair_pattern") and parent.parent is not None:
        key = parent.child_by_field_name("key")
        start, end, rest = extraction.contexts.get(parent.parent.start_byte, NO_CONTEXT)
        if key is None or key.type != "property_identifier" or not (end or rest):
            return NO_CONTEXT
        return start, end, expressions.member(rest, extraction.text(key))
    if kind == "array":
        start, end, rest = _expected(extraction, parent, depth + 1)
        return (start, end, expressions.item(rest)) if end or rest else NO_CONTEXT
    if kind == "for_in_statement":
        return _of(extraction, parent.child_by_field_name("right"), expressions.item(""))
    if kind in ("return_statement", "arrow_function"):
        return _return_expected(extraction, parent)
    return NO_CONTEXT


def _of(extraction: Extraction, node: tree_sitter.Node | None, rest: str) -> Context:
    """Return the context for the type of an expression, with a suffix."""
    if node is not None and node.type in ("as_expression", "satisfies_expression"):
        declared = _cast(extraction, node)
        if declared:
            return (0, 0, expressions.cast(declared))
        node = node.named_children[0]
    return (node.start_byte, node.end_byte, rest) if node is not None else NO_CONTEXT


def _return_expected(extraction: Extraction, node: tree_sitter.Node) -> Context:
    function: tree_sitter.Node | None = node
    while function is not None and function.type not in _FUNCTIONS:
        function = function.parent
    return _declared(extraction, function.child_by_field_name("return_type") if function else None)


def _parameter_expected(extraction: Extraction, parameter: tree_sitter.Node, depth: int) -> Context:
    """Return the context of a parameter without a type: what its function is expected to accept."""
    parameters = parameter.parent
    function = parameters.parent if parameters is not None else None
    if parameters is None or function is None:
        return NO_CONTEXT
    index = next(
        (i for i, child in enumerate(parameters.named_children) if child.id == parameter.id), 0
    )
    return _passed(extraction, function, index, depth)


def _passed(extraction: Extraction, function: tree_sitter.Node, index: int, depth: int) -> Context:
    """Return the context of the argument at an index that a function value receives."""
    if function.type not in ("arrow_function", "function_expression"):
        return NO_CONTEXT
    around = function.parent
    call = around.parent if around is not None and around.type == "arguments" else None
    called = call.child_by_field_name("function") if call is not None else None
    if called is not None and called.type == "member_expression":
        method, owner = called.child_by_field_name("property"), called.child_by_field_name("object")
        name = extraction.text(method) if method is not None else ""
        if name in _EACH and (index == _EACH[name] or name == "sort"):
            return _of(extraction, owner, expressions.item(""))
        if name == "then" and index == 0:
            return _of(extraction, owner, "")
    start, end, rest = _expected(extraction, function, depth + 1)
    return (start, end, expressions.argument(rest, index)) if end or rest else NO_CONTEXT


# --- after identifiers are read -------------------------------------------------------------------


def collect(extraction: Extraction) -> None:
    """Add bases, types of names and functions, and names in doc comments."""
    types = _TypeCollector(extraction)
    for capture, collect_from in (
        ("class", types.bases),
        ("alias", types.alias),
        ("constrained", types.constraint),
        ("function", types.function),
        ("signature", types.signature),
        ("declarator", types.variable),
        ("field", types.variable),
        ("loop", types.loop),
        ("alias.import", types.import_alias),
        ("this", types.this),
        ("static", types.static),
        ("assignment.this", types.assignment),
        ("return", types.returned),
        ("object", types.pattern),
        ("export", types.default),
    ):
        for node in extraction.captured.get(capture, ()):
            collect_from(node)
    extraction.each("quoted", _quoted)
    _documented(extraction)


def _quoted(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add a quoted member: `x["a"]`, or `T["a"]` in a type."""
    string = node.parent
    owner = string.parent if string is not None else None
    if owner is not None and owner.type == "literal_type":
        owner = owner.parent
    inner = owner.named_children[0] if owner is not None else None
    if inner is None:
        return
    if owner is not None and owner.type == "lookup_type":
        receiver = _lookup(extraction, inner)
    else:
        receiver = extraction.chains.describe(inner.start_byte, inner.end_byte)
    number = extraction.chains.number(receiver.encode() if receiver else UNKNOWN)
    flags = ATTRIBUTE | (IN_TYPE if owner is not None and owner.type == "lookup_type" else 0)
    extraction.members.append((extraction.text(node), node.start_byte, flags, number))


def _lookup(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the expression before a lookup in a type: `T["a"]["b"]` becomes `<T>.a.b`."""
    if node.type == "lookup_type" and len(node.named_children) == 2:
        owner = _lookup(extraction, node.named_children[0])
        key = _string(extraction, node.named_children[1])
        return expressions.member(owner, key) if owner and key.isidentifier() else ""
    declared = _step(_type(extraction, node))
    return expressions.cast(declared) if declared else ""


class _TypeCollector:
    """Collects the type sources of a file's names."""

    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction
        self.text = extraction.text
        self._number = merge_scopes(extraction.scopes)

    def scope(self, node: tree_sitter.Node) -> int:
        return self._number[self._extraction.scope_at(node.start_byte)]

    def learn(self, scope: int, name: str, source: str) -> None:
        """Add a type source. A declared type replaces an assigned value; otherwise the first one
        wins."""
        if expressions.is_empty(source):
            return
        types = self._extraction.types.setdefault(scope, {})
        earlier = types.get(name)
        if earlier is None or (
            expressions.is_declared(source) and not expressions.is_declared(earlier)
        ):
            types[name] = source

    def bind(self, name: tree_sitter.Node, source: str) -> None:
        """Add a type source for the name at a node, in its scope."""
        self.learn(self.scope(name), self.text(name), source)

    def constraint(self, node: tree_sitter.Node) -> None:
        """Add the constraint of a type parameter as its type."""
        name = node.child_by_field_name("name")
        constraint = _type(self._extraction, node.child_by_field_name("constraint"))
        if name is not None:
            self.bind(name, expressions.declared(constraint))

    def this(self, node: tree_sitter.Node) -> None:
        """Add the declared type of `this`."""
        declared = _type(self._extraction, node.child_by_field_name("type"))
        scope = self._extraction.scope_at(node.start_byte)
        self.learn(scope, "this", expressions.declared(declared))

    def default(self, node: tree_sitter.Node) -> None:
        """Add the value of `export default x` or `export = x`."""
        value = node.child_by_field_name("value")
        if value is not None and value.type != "identifier":
            self.learn(0, "default", expressions.assigned(self.value(value)))

    def value(self, node: tree_sitter.Node | None) -> str:
        """Return the expression of a value; of alternatives, the first that has an expression."""
        if node is None:
            return ""
        kind = node.type
        if kind in ("as_expression", "satisfies_expression", "type_assertion"):
            declared = _cast(self._extraction, node)
            if declared:
                return expressions.cast(declared)
            return self.value(node.named_children[0]) if kind != "type_assertion" else ""
        if kind in ("parenthesized_expression", "await_expression", "non_null_expression"):
            return self.value(node.named_children[0]) if node.named_children else ""
        if kind in ("ternary_expression", "binary_expression"):
            fields = ("consequence", "alternative") if kind[0] == "t" else ("left", "right")
            if kind[0] == "b":
                operator = node.child_by_field_name("operator")
                if operator is None or operator.type not in ("||", "??", "&&"):
                    return ""
            parts = (self.value(node.child_by_field_name(field)) for field in fields)
            return next((part for part in parts if part), "")
        if kind == "assignment_expression":
            return self.value(node.child_by_field_name("right"))
        if kind == "new_expression" and node.child_by_field_name("arguments") is None:
            constructor = self.value(node.child_by_field_name("constructor"))
            return expressions.call(constructor) if constructor else ""
        if kind == "array":
            items = (self.value(child) for child in node.named_children)
            lists = (item for item in items if item and not expressions.is_list(item))
            return next(map(expressions.list_of, lists), "")
        return self._extraction.chains.describe(node.start_byte, node.end_byte)

    def context(self, context: Context) -> str:
        """Return the expression of a context."""
        start, end, rest = context
        if not end:
            return rest
        described = self._extraction.chains.describe(start, end)
        return described + rest if described else ""

    def bases(self, node: tree_sitter.Node) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        found: list[str] = []
        for part in node.named_children:
            if part.type == "class_heritage":
                for clause in part.named_children:
                    if clause.type == "extends_clause":
                        described = self.value(clause.child_by_field_name("value"))
                        found += [described] if described else []
                    elif clause.type == "implements_clause":
                        for child in clause.named_children:
                            found += self.named_types(child)
                    else:
                        described = self.value(clause)
                        found += [described] if described else []
            elif part.type == "extends_type_clause":
                for child in part.named_children:
                    found += self.named_types(child)
        if found:
            self._extraction.bases.setdefault(self.scope(body), []).extend(found)

    def named_types(self, node: tree_sitter.Node) -> list[str]:
        """Return the types whose members a type has."""
        kind = node.type
        if kind in ("type_identifier", "nested_type_identifier"):
            return [self.text(node)]
        if kind == "generic_type":
            name = node.child_by_field_name("name")
            text = self.text(name) if name is not None else ""
            arguments = node.child_by_field_name("type_arguments")
            if text in WRAPPERS and arguments is not None and arguments.named_children:
                return self.named_types(arguments.named_children[0])
            return [text] if text else []
        if kind == "object_type":
            return [_type(self._extraction, node)]
        if kind in ("union_type", "intersection_type", "parenthesized_type", "readonly_type"):
            return [name for child in node.named_children for name in self.named_types(child)]
        return []

    def alias(self, node: tree_sitter.Node) -> None:
        """Add `type A = …`: its bases, or else its text for later lookup."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return
        names = self.named_types(value)
        scope = self._number[self._extraction.scope_at(value.start_byte - 1)]
        if names:
            self._extraction.bases.setdefault(scope, []).extend(names)
        else:
            text = _type(self._extraction, value)
            if text:
                self._extraction.aliases[self.text(name)] = text

    def import_alias(self, node: tree_sitter.Node) -> None:
        """Add the value of `import A = B.C`."""
        if node.type == "import_alias" and len(node.named_children) > 1:
            name, value = node.named_children[0], node.named_children[-1]
            text = self.text(name)
            self.learn(self.scope(name), text, expressions.assigned(self.text(value)))

    def function(self, node: tree_sitter.Node) -> None:
        """Add the types of parameters and of the result."""
        extraction = self._extraction
        name = node.child_by_field_name("name")
        parameters = node.child_by_field_name("parameters")
        declared = _type(extraction, node.child_by_field_name("return_type"))
        if name is not None and name.type != "computed_property_name":
            source = expressions.declared(declared)
            body = node.child_by_field_name("body")
            text = extraction.text(name)
            if any(child.type in ("get", "set") for child in node.children[:4]):
                if declared:
                    self.learn(self.scope(name), text, source)
            elif declared or body is None:
                self.returns(self.scope(name), text, source)
        self.parameters(node, parameters)

    def signature(self, node: tree_sitter.Node) -> None:
        """Add the call or `new` signature of an interface."""
        declared = _type(self._extraction, node.child_by_field_name("return_type"))
        scope = self._extraction.scope_at(node.start_byte)
        if node.type == "call_signature":
            around = self._extraction.class_around(scope)
            if declared and around is not None:
                self.returns(self._number[around], SIGNATURE, expressions.declared(declared))
        self.parameters(node, node.child_by_field_name("parameters"))

    def parameters(self, node: tree_sitter.Node, parameters: tree_sitter.Node | None) -> None:
        extraction = self._extraction
        if parameters is None:
            single = node.child_by_field_name("parameter")
            if single is not None:
                self.parameter(single, single, _passed(extraction, node, 0, 0), 0)
            return
        index = 0
        for parameter in parameters.named_children:
            if parameter.type == "comment":
                continue
            pattern = parameter.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "this":
                continue
            typed = parameter.child_by_field_name("type")
            if typed is not None:
                type_text = _type(extraction, typed)
                if type_text and pattern is not None:
                    self.declared_parameter(pattern, type_text, index)
            else:
                value = parameter.child_by_field_name("value")
                default = self.value(value) if value is not None else ""
                if default:
                    self.learn_parameter(pattern or parameter, expressions.assigned(default), index)
                else:
                    context = _passed(extraction, node, index, 0)
                    self.parameter(pattern or parameter, parameter, context, index)
            index += 1

    def returns(self, scope: int, name: str, source: str) -> None:
        if not expressions.is_empty(source):
            self._extraction.returns.setdefault(scope, {}).setdefault(name, source)

    def declared_parameter(self, pattern: tree_sitter.Node, declared: str, index: int) -> None:
        if pattern.type == "rest_pattern" and pattern.named_children:
            pattern = pattern.named_children[0]
        self.learn_parameter(pattern, expressions.declared(declared), index)
        flag = self._extraction.flags.get(pattern.start_byte, 0)
        if flag & SHORTHAND and flag & PARAMETER:
            around = self._extraction.class_around(self._extraction.scope_at(pattern.start_byte))
            if around is not None:
                text = self.text(pattern)
                self.learn(self._number[around], text, expressions.declared(declared))

    def learn_parameter(self, pattern: tree_sitter.Node, source: str, index: int) -> None:
        scope, key = self.scope(pattern), expressions.parameter_key(index)
        if pattern.type == "identifier":
            name = self.text(pattern)
            self.learn(scope, name, source)
            if source[1:] not in _PRIMITIVES:
                self.learn(scope, key, expressions.assigned(name))
        elif expressions.is_declared(source):
            self.learn(scope, key, source)

    def parameter(
        self, pattern: tree_sitter.Node, node: tree_sitter.Node, context: Context, index: int
    ) -> None:
        """Add the expected type of a parameter without a type."""
        described = self.context(context)
        if described and pattern.type == "identifier":
            around = self._extraction.scopes[self.scope(pattern)].parent
            self.bind(pattern, expressions.assigned(described, around))

    def variable(self, node: tree_sitter.Node) -> None:
        """Add the type of `const x: T = y`, and of fields."""
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        value = node.child_by_field_name("value")
        if name is None or name.type in ("object_pattern", "computed_property_name"):
            return
        scope, text = self.scope(name), self.text(name)
        declared = _type(self._extraction, node.child_by_field_name("type"))
        if declared:
            self.learn(scope, text, expressions.declared(declared))
            return
        if value is None:
            return
        if name.type == "array_pattern":
            described = self.value(value)
            for child in name.named_children if described else ():
                if child.type == "identifier":
                    item = expressions.item(described)
                    self.learn(scope, self.text(child), expressions.assigned(item))
            return
        if value.type in _FUNCTIONS:
            returned = _type(self._extraction, value.child_by_field_name("return_type"))
            if returned:
                self.returns(scope, text, expressions.declared(returned))
                return
            body = value.child_by_field_name("body")
            if body is not None and body.type != "statement_block":
                described = self.value(body)
                inner = self.scope(body)
                self.returns(
                    scope, text, expressions.assigned(described, inner) if described else ""
                )
            return
        described = self.value(value)
        if described:
            self.learn(scope, text, expressions.assigned(described))

    def static(self, node: tree_sitter.Node) -> None:
        """Make `this` in static members the class."""
        extraction = self._extraction
        around = extraction.class_around(extraction.scope_at(node.start_byte))
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        name = extraction.scopes[around].name if around is not None else ""
        if body is not None and name:
            scope = extraction.function_around(extraction.scope_at(body.start_byte))
            if scope is not None and scope > (around or 0):
                self.learn(scope, "this", expressions.assigned(name))

    def loop(self, node: tree_sitter.Node) -> None:
        """Make x an item of y in `for (const x of y)`."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or operator is None or operator.type != "of" or left.type != "identifier":
            return
        described = self.value(right)
        if described:
            self.bind(left, expressions.assigned(expressions.item(described)))

    def assignment(self, node: tree_sitter.Node) -> None:
        """Add the value of `this.x = y` in a class."""
        left = node.child_by_field_name("left")
        name = left.child_by_field_name("property") if left is not None else None
        described = self.value(node.child_by_field_name("right"))
        scope = self._extraction.scope_at(node.start_byte)
        around = self._extraction.class_around(scope)
        if name is not None and described and around is not None:
            self.learn(
                self._number[around], self.text(name), expressions.assigned(described, scope)
            )

    def returned(self, node: tree_sitter.Node) -> None:
        """Add the first return value of a function without a declared type."""
        scope = self._extraction.scope_at(node.start_byte)
        around = self._extraction.function_around(scope)
        if around is None:
            return
        function = self._extraction.scopes[around]
        parent = self._number[function.parent]
        if not function.name or function.name in self._extraction.returns.get(parent, {}):
            return
        described = self.value(node.named_children[0])
        if not described:
            return
        if function.name in self._extraction.types.get(parent, {}):
            return
        self.returns(parent, function.name, expressions.assigned(described, scope))

    def pattern(self, node: tree_sitter.Node) -> None:
        """Add the types of a and c in `const {a, b: c} = x`."""
        described = self.context(self._extraction.contexts.get(node.start_byte, NO_CONTEXT))
        if node.type != "object_pattern" or not described:
            return
        for child in node.named_children:
            name = child
            if child.type == "object_assignment_pattern":
                name = child.named_children[0]
            key = name
            if child.type == "pair_pattern":
                found, value = child.child_by_field_name("key"), child.child_by_field_name("value")
                if found is None or value is None or value.type != "identifier":
                    continue
                key, name = found, value
            if name.type in ("identifier", "shorthand_property_identifier_pattern"):
                scope = self._extraction.scope_at(name.start_byte)
                text = expressions.assigned(expressions.member(described, self.text(key)))
                self.learn(scope, self.text(name), text)


def _documented(extraction: Extraction) -> None:
    """Add names in doc comments: `{@link X}` and `@param {X}`."""
    for node in extraction.captured.get("comment", ()):
        start, end = node.start_byte, node.end_byte
        if not extraction.source.startswith(b"/**", start):
            continue
        for match in _DOC.finditer(extraction.source, start, end):
            span = match.span("link") if match["link"] else match.span("type")
            flag = MENTIONED if match["link"] else IN_TYPE
            for word in _WORD.finditer(extraction.source, *span):
                extraction.more.append((word.group().decode(), word.start(), flag))


# --- resolving ------------------------------------------------------------------------------------

_EXTENSIONS = (
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mts",
    ".cts",
    ".mjs",
    ".cjs",
    ".d.mts",
    ".d.cts",
)
_WRITTEN_EXTENSIONS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_KEPT_EXTENSIONS = (".vue", ".svelte", ".astro")
# Module prefixes that mean the source folder of a package.
_SOURCES = ("@/", "~/", "#/", "src/", "$lib/")


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the file that an import from `name` resolves to, or the file itself for an empty
    name."""
    if not name:
        return importer
    folder = importer.rpartition("/")[0]
    if name.startswith("."):
        return _file(view, posixpath.normpath(f"{folder}/{name}"))
    for path in projects.aliased(view, folder, name):
        found = _file(view, path)
        if found is not None:
            return found
    if name.startswith(("/", "node:")):
        return None
    for start in _SOURCES:
        if name.startswith(start):
            return _above(view, folder, name[len(start) :])
    return _package(view, importer, name)


def _file(view: SymbolView, stem: str) -> str | None:
    """Return the file at this path with any of the extensions that may be omitted."""
    if stem.endswith(_KEPT_EXTENSIONS):
        return stem if view.file(stem) is not None else None
    stems = [stem]
    for end in _WRITTEN_EXTENSIONS:
        if stem.endswith(end):
            if view.file(stem) is not None:
                return stem
            stems = [stem[: -len(end)], stem]
            break
    for path in stems:
        for middle in ("", "/index"):
            for end in _EXTENSIONS:
                if view.file(path + middle + end) is not None:
                    return path + middle + end
    return None


def _above(view: SymbolView, folder: str, rest: str) -> str | None:
    """Return a file of the sources in a parent folder."""
    while folder:
        for sources in ("/src", ""):
            found = _file(view, f"{folder}{sources}/{rest}")
            if found is not None:
                return found
        folder = folder.rpartition("/")[0]
    return None


def _package(view: SymbolView, importer: str, name: str) -> str | None:
    """Return a file of another workspace package, from its `package.json` or its folder name."""
    parts = name.split("/")
    count = 2 if name[0] == "@" else 1
    package, rest = parts[min(count, len(parts)) - 1], "/".join(parts[count:])
    by_folder: dict[str, str] = {}
    for around, stem in projects.packaged(view, "/".join(parts[:count]), rest):
        path = None if around in by_folder else _file(view, stem)
        if path is not None:
            by_folder[around] = path
    if by_folder:
        return max(
            by_folder.values(), key=lambda path: (shared_folders(path, importer), -len(path))
        )
    stems = [rest, f"{rest}/index"] if rest else ["index"]
    found: list[str] = []
    for middle in (f"{package}/src/", f"{package}/"):
        for ending in (middle + stem + end for stem in stems for end in _EXTENSIONS):
            for file in view.files_ending(ending):
                folder = file.path[: len(file.path) - len(ending)] + package
                if os.path.isfile(f"{folder}/package.json"):
                    found.append(file.path)
        if found:
            break
    if not found:
        return None
    return max(found, key=lambda path: (shared_folders(path, importer), -len(path)))


WRAPPERS = frozenset(
    "Partial Required Readonly NonNullable Awaited Promise PromiseLike Omit Pick Exclude Extract"
    " DeepPartial NoInfer".split()
)
_LISTS = frozenset(
    "Array ReadonlyArray Set ReadonlySet Iterable Iterator IterableIterator AsyncIterable"
    " AsyncIterableIterator Generator AsyncGenerator".split()
)
# List members that return a list of the same items, and those that return one item.
_SAME = frozenset("filter slice concat reverse sort splice values toSorted toReversed".split())
_ITEM = frozenset("find findLast at pop shift".split())
_TAKES = frozenset("push unshift add fill".split())
# The most frequent members of built-in types.
_COMMON = frozenset(
    "length concat join slice indexOf includes push pop shift unshift splice map filter forEach"
    " reduce some every find findIndex flat flatMap keys values entries fill sort reverse at"
    " charAt charCodeAt codePointAt endsWith startsWith match matchAll normalize padEnd padStart"
    " repeat replace replaceAll search split substring toLowerCase toUpperCase trim trimEnd"
    " trimStart toString valueOf toFixed hasOwnProperty apply call bind name message stack cause"
    " get set has add delete clear size then catch finally next return throw exec test source"
    " flags lastIndex getTime toISOString toJSON resolve reject description constructor prototype"
    " byteLength buffer abort signal aborted addEventListener removeEventListener dispatchEvent"
    " type target data value done".split()
)
TYPESCRIPT_RULES = Rules(
    module=module,
    instance=frozenset(("this",)),
    family=True,
    merging=True,
    renames=True,
    closed=True,
    scripts="always",
    marked=True,
    typed_parameters=True,
    any_types=frozenset(("any", "unknown")),
    wrappers=WRAPPERS,
    containers=_LISTS,
    same=_SAME,
    item=_ITEM,
    takes=_TAKES,
    common=_COMMON,
    self_types=frozenset(("this",)),
)
# Frameworks import functions into components by themselves.
COMPONENT_RULES = replace(
    TYPESCRIPT_RULES, everywhere=frozenset(("function", "constant", "module"))
)
JAVASCRIPT_RULES = replace(
    TYPESCRIPT_RULES,
    scripts="loaded",
    typed_parameters=False,
    any_types=frozenset(("any", "unknown", "*")),
    self_types=frozenset(),
)
