"""TypeScript, with and without JSX."""

from __future__ import annotations

import functools

from winnow.symbols.language import Language
from winnow.symbols.languages.javascript import (
    HEADER,
    WITH_METHODS,
    definitions,
    exported,
    kind,
    values,
)
from winnow.symbols.scopes.typescript import tokens
from winnow.symbols.scopes.typescript.preparation import prepare
from winnow.symbols.scopes.typescript.rules import TYPESCRIPT_RULES
from winnow.symbols.scopes.typescript.types import collect

_NAME = "[(property_identifier) (private_property_identifier) (string) (number)] @name"
_FUNCTION = "[(arrow_function) (function_expression)]"
_MEMBERS = f"""
  (property_signature name: {_NAME}) @definition.field
  (method_signature name: {_NAME}) @definition.method"""
# `{…} as const`
_CAST = "[(as_expression {0}) (satisfies_expression {0})]"
_CAST_OBJECT = f"""(lexical_declaration (variable_declarator
  name: (identifier) @name value: {_CAST.format("(object)")}) @inside)"""
# Everything in `declare module` and `declare global` is exported.
_AMBIENT = """[
  (interface_declaration name: (type_identifier) @name) @definition.interface
  (class_declaration name: (type_identifier) @name) @definition.class
  (type_alias_declaration name: (type_identifier) @name) @definition.type
  (function_signature name: (identifier) @name) @definition.function
  (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable
  (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable
] @exported"""

DEFINITIONS = f"""
(internal_module name: _ @name) @definition.namespace
(module name: _ @name) @definition.module
(ambient_declaration "global" @name) @definition.namespace
(internal_module) @nested
(module) @nested
(ambient_declaration) @nested
(ambient_declaration (function_signature name: (identifier) @name) @definition.function)
(function_signature name: (identifier) @name) @declaration.function
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(interface_body [{_MEMBERS}])
(type_alias_declaration name: (type_identifier) @name) @definition.type
(type_alias_declaration name: (type_identifier) @name
  value: [(object_type) (intersection_type (object_type))]) @inside
(type_alias_declaration value: [
  (object_type [{_MEMBERS}])
  (intersection_type (object_type [{_MEMBERS}]))
])
(variable_declarator value: {_CAST.format(WITH_METHODS)})
(program {_CAST_OBJECT})
(export_statement {_CAST_OBJECT})
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
{definitions("type_identifier")}
"""
# Definitions in namespaces; those in functions there are still local.
NESTED = f"""
(module body: (statement_block {_AMBIENT}))
(module body: (statement_block (export_statement {_AMBIENT})))
(ambient_declaration (statement_block {_AMBIENT}))
(statement_block (function_declaration name: (identifier) @name) @definition.function)
{values("statement_block")}
{values("ambient_declaration")}
"""

_language = functools.partial(
    Language,
    definitions=DEFINITIONS,
    nested=NESTED,
    prepare=prepare,
    collect=collect,
    rules=TYPESCRIPT_RULES,
    skipped=tokens.SKIPPED,
    exported=exported,
    kind=kind,
    header=HEADER,
)
TYPESCRIPT = _language(name="typescript", files=(".ts", ".mts", ".cts"), tokens=tokens.TYPESCRIPT)
TSX = _language(name="tsx", files=(".tsx",), tokens=tokens.TSX)
