"""Java."""

from __future__ import annotations

import re

from winnow.symbols.language import Language
from winnow.symbols.scoping import java as scoping

DEFINITIONS = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition.field))
(annotation_type_declaration name: (identifier) @name) @definition.interface
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(enum_constant name: (identifier) @name) @definition.enum_member
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
"""

_PRIVATE = re.compile(r"\bprivate\b")


def exported(header: str, name: str) -> bool:
    """What is not `private`."""
    return _PRIVATE.search(header) is None


JAVA = Language(
    name="java",
    files=(".java",),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    exported=exported,
    comments=("line_comment", "block_comment"),
    skipped=frozenset(("this", "super")),
)
