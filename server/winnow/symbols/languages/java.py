"""Java."""

from __future__ import annotations

import re

from winnow.symbols.language import STATEMENTS, Language, hidden_by
from winnow.symbols.scopes import java as scoping

_ANONYMOUS = "(object_creation_expression (class_body))"

DEFINITIONS = f"""
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(record_declaration parameters: (formal_parameters
  (formal_parameter name: (identifier) @name) @definition.field))
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.enum_member
(enum_constant name: (identifier) @name body: (_)) @inside
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(compact_constructor_declaration name: (identifier) @name) @definition.constructor
(constant_declaration
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(field_declaration
  declarator: (variable_declarator name: (identifier) @name)) @definition.field
(field_declaration declarator: (variable_declarator
  name: (identifier) @name value: {_ANONYMOUS})) @inside
(module_declaration name: (_) @name) @definition.module
"""

_CONSTANT = re.compile(r"\bstatic\b.*\bfinal\b|\bfinal\b.*\bstatic\b", re.DOTALL)


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn `static final` fields into constants."""
    return "constant" if kind == "field" and _CONSTANT.search(header) else kind


JAVA = Language(
    name="java",
    files=(".java",),
    definitions=DEFINITIONS,
    reserved=STATEMENTS | {"catch", "finally", "try", "throw", "synchronized"},
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    skipped=frozenset(("this", "super")),
    exported=hidden_by(r"\bprivate\b"),
    kind=kind,
    comments=("line_comment", "block_comment"),
)
