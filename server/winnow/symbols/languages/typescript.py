"""TypeScript, with JSX, and JavaScript."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import typescript as scoping

_COMMON = """
(function_declaration name: (_) @name) @definition.function
(generator_function_declaration name: (_) @name) @definition.function
(class_body (method_definition name: (_) @name) @definition.method)
(variable_declarator name: (identifier) @name) @definition.variable
"""
JAVASCRIPT_DEFINITIONS = (
    _COMMON
    + """
(class_declaration name: (_) @name) @definition.class
(field_definition property: (_) @name) @definition.field
"""
)
TYPESCRIPT_DEFINITIONS = (
    _COMMON
    + """
(class_declaration name: (_) @name) @definition.class
(abstract_class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(internal_module name: (_) @name) @definition.namespace
(function_signature name: (_) @name) @definition.function
(method_signature name: (_) @name) @definition.method
(abstract_method_signature name: (_) @name) @definition.method
(public_field_definition name: (_) @name) @definition.field
(property_signature name: (_) @name) @definition.property
(enum_body name: (_) @name @definition.enum_member)
(enum_assignment name: (_) @name) @definition.enum_member
"""
)

TYPESCRIPT = Language(
    name="typescript",
    files=(".ts", ".mts", ".cts"),
    definitions=TYPESCRIPT_DEFINITIONS,
    tokens=scoping.TYPESCRIPT_TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.TYPESCRIPT_RULES,
    skipped=frozenset(("this", "super", "undefined")),
    header=("export_statement", "lexical_declaration", "variable_declaration"),
)
TSX = Language(
    name="tsx",
    files=(".tsx",),
    definitions=TYPESCRIPT_DEFINITIONS,
    tokens=scoping.TSX_TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.TYPESCRIPT_RULES,
    skipped=frozenset(("this", "super", "undefined")),
    header=("export_statement", "lexical_declaration", "variable_declaration"),
)
JAVASCRIPT = Language(
    name="javascript",
    files=(".js", ".jsx", ".mjs", ".cjs"),
    programs=("node",),
    definitions=JAVASCRIPT_DEFINITIONS,
    tokens=scoping.JAVASCRIPT_TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.JAVASCRIPT_RULES,
    skipped=frozenset(("this", "super", "undefined")),
    header=("export_statement", "lexical_declaration", "variable_declaration"),
)
