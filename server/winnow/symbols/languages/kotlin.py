"""Kotlin."""

from __future__ import annotations

import re

from winnow.symbols.language import Language, hidden_by

DEFINITIONS = """
(package_header (identifier) @name) @definition.namespace
(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration (type_identifier) @name) @definition.class
(object_declaration (type_identifier) @name) @definition.object
(companion_object (type_identifier) @name) @definition.object
(enum_entry . (simple_identifier) @name) @definition.enum_member
(enum_entry (modifiers) . (simple_identifier) @name) @definition.enum_member
(type_alias (type_identifier) @name) @definition.type
(secondary_constructor "constructor" @name) @definition.constructor
(class_parameter (binding_pattern_kind) (simple_identifier) @name) @definition.property
(function_declaration
  receiver: (receiver_type (user_type (type_identifier) @container .))
  (simple_identifier) @name) @definition.function
(function_declaration
  receiver: (receiver_type (user_type (type_identifier) @container . (type_arguments)))
  (simple_identifier) @name) @definition.function
(function_declaration
  receiver: (receiver_type (nullable_type (user_type (type_identifier) @container)))
  (simple_identifier) @name) @definition.function
(function_declaration (simple_identifier) @name) @definition.function
(property_declaration
  receiver: (receiver_type (user_type (type_identifier) @container .))
  (variable_declaration (simple_identifier) @name)) @definition.property
(property_declaration
  receiver: (receiver_type (user_type (type_identifier) @container . (type_arguments)))
  (variable_declaration (simple_identifier) @name)) @definition.property
(property_declaration
  receiver: (receiver_type (nullable_type (user_type (type_identifier) @container)))
  (variable_declaration (simple_identifier) @name)) @definition.property
((property_declaration (modifiers (property_modifier) @_const)
  (variable_declaration (simple_identifier) @name)) @definition.constant (#eq? @_const "const"))
(source_file
  (property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable)
(source_file
  (property_declaration (multi_variable_declaration
    (variable_declaration (simple_identifier) @name))) @definition.variable)
(class_body
  (property_declaration (variable_declaration (simple_identifier) @name)) @definition.property)
(enum_class_body
  (property_declaration (variable_declaration (simple_identifier) @name)) @definition.property)
"""

USES = """
(user_type (type_identifier) @type)
(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression (navigation_suffix (simple_identifier) @call)))
(import_header (identifier (simple_identifier) @import .))
(object_literal) @anonymous
(delegation_specifier (user_type (type_identifier) @base))
(delegation_specifier (constructor_invocation (user_type (type_identifier) @base)))
(delegation_specifier (explicit_delegation (user_type (type_identifier) @base)))
(variable_declaration (simple_identifier) @local)
(catch_block (simple_identifier) @local)
[(statements) (for_statement) (when_expression) (catch_block) (lambda_literal)
 (function_body)] @block
(value_argument . (simple_identifier) @keyword "=")
"""

# The grammar ends a class at a line break before its constructor, unless a parenthesis follows.
_CONSTRUCTOR_BELOW = re.compile(
    rb"(?<=\bclass )\w+(?:<[^(){}\n]{1,200}>)?[ \t]*\r?\n"
    rb"((?:\s|@[\w.:]+(?:\((?:[^()]|\([^()]*\))*\))?|private\b|internal\b|protected\b|public\b)*"
    rb"constructor)(?=\s*\()"
)
# It takes the body of a class for the last argument of what it delegates to: `class A : B by c {`.
_DELEGATION = re.compile(
    rb"\b(?:class|object)\b(?:(?!\b(?:class|object|interface|fun|va[lr])\b)[^(){}=]"
    rb"|\((?:[^()]|\([^()]*\))*\))*"
    rb"[ \t](by)[ \t]+[\w.]+(?:\([^(){}]*\))?([ \t])(?=[ \t]*\{(?![^{}]*\}[ \t]*\{))"
)
_NOT_SPACE = re.compile(rb"\S")


def clean(source: bytes) -> bytes:
    """Return the text with what the grammar cannot parse replaced. Offsets stay the same.

    Annotations and keywords of constructors on the line below a class, as formatters write them,
    become blanks: uses of these annotations are not found. `B by c` becomes `B (  c)`.
    """
    cleaned = bytearray(source)
    if b"constructor" in source:
        for found in _CONSTRUCTOR_BELOW.finditer(source):
            cleaned[found.start(1) : found.end(1)] = _NOT_SPACE.sub(b" ", found[1])
    for found in _DELEGATION.finditer(source):
        cleaned[found.start(1) : found.end(1)] = b"( "
        cleaned[found.start(2) : found.end(2)] = b")"
    return bytes(cleaned)


KOTLIN = Language(
    name="kotlin",
    files=(".kt", ".kts"),
    programs=("kotlin",),
    definitions=DEFINITIONS,
    uses=USES,
    clean=clean,
    exported=hidden_by(r"\bprivate\b"),
    comments=("line_comment", "multiline_comment"),
)
