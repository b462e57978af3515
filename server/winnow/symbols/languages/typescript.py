"""TypeScript, with and without TSX."""

from __future__ import annotations

import functools

from winnow.symbols.language import Language
from winnow.symbols.languages.javascript import (
    HEADER,
    WITH_METHODS,
    definitions,
    exported,
    kind,
)

_NAME = "[(property_identifier) (private_property_identifier) (string) (number)] @name"
_FUNCTION = "[(arrow_function) (function_expression)]"

# All that stands in `declare module` and `declare global` is for others.
_AMBIENT = """[
  (interface_declaration name: (type_identifier) @name) @definition.interface
  (class_declaration name: (type_identifier) @name) @definition.class
  (type_alias_declaration name: (type_identifier) @name) @definition.type
  (function_signature name: (identifier) @name) @definition.function
  (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant
  (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable
] @exported"""
# `{…} as const`
_CAST = "[(as_expression {0}) (satisfies_expression {0})]"

DEFINITIONS = f"""
(internal_module name: _ @name) @definition.namespace
(module name: _ @name) @definition.module
(ambient_declaration "global" @name) @definition.namespace
(internal_module body: (statement_block
  (function_declaration name: (identifier) @name) @definition.function))
(module body: (statement_block {_AMBIENT}))
(module body: (statement_block (export_statement {_AMBIENT})))
(ambient_declaration (statement_block {_AMBIENT}))
(ambient_declaration (function_signature name: (identifier) @name) @definition.function)
(function_signature name: (identifier) @name) @declaration.function
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(type_alias_declaration name: (type_identifier) @name value: (object_type)) @inside
(type_alias_declaration name: (type_identifier) @name
  value: (intersection_type (object_type))) @inside
(type_alias_declaration value: [
  (object_type [
    (property_signature name: {_NAME}) @definition.field
    (method_signature name: {_NAME}) @definition.method])
  (intersection_type (object_type [
    (property_signature name: {_NAME}) @definition.field
    (method_signature name: {_NAME}) @definition.method]))
])
(interface_body (property_signature name: {_NAME}) @definition.field)
(interface_body (method_signature name: {_NAME}) @definition.method)
(variable_declarator value: {_CAST.format(WITH_METHODS)})
(program (lexical_declaration (variable_declarator
  name: (identifier) @name value: {_CAST.format("(object)")}) @inside))
(program (export_statement (lexical_declaration (variable_declarator
  name: (identifier) @name value: {_CAST.format("(object)")}) @inside)))
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body [(property_identifier) (string)] @name @definition.enum_member)
(enum_assignment name: {_NAME}) @definition.enum_member
(class_body (method_signature name: {_NAME}) @declaration.method)
(abstract_method_signature name: {_NAME}) @definition.method
(public_field_definition name: {_NAME} value: {_FUNCTION}) @definition.method
(public_field_definition name: {_NAME}) @definition.field
(required_parameter [(accessibility_modifier) "readonly" (override_modifier)]
  pattern: (identifier) @name) @definition.field
(optional_parameter [(accessibility_modifier) "readonly" (override_modifier)]
  pattern: (identifier) @name) @definition.field
""" + definitions(
    "type_identifier",
    (
        "(program {})",
        "(program (export_statement {}))",
        "(ambient_declaration {})",
        "(internal_module body: (statement_block {}))",
        "(internal_module body: (statement_block (export_statement {})))",
        "(module body: (statement_block {}))",
        "(module body: (statement_block (export_statement {})))",
    ),
)

_language = functools.partial(
    Language, definitions=DEFINITIONS, exported=exported, kind=kind, header=HEADER
)
TYPESCRIPT = _language(name="typescript", files=(".ts", ".mts", ".cts"))
TSX = _language(name="tsx", files=(".tsx",))
