"""Scala, 2 and 3."""

from __future__ import annotations

from winnow.symbols.language import Language, hidden_by


def _values(around: str, kind: str) -> str:
    """Return patterns for values directly inside a node type."""
    return "".join(
        f"({around} ({node} {name}) @definition.{kind})\n"
        for node in ("val_definition", "var_definition")
        for name in (
            "pattern: (identifier) @name",
            "pattern: (tuple_pattern (identifier) @name)",
            "pattern: (identifiers (identifier) @name)",
        )
    )


DEFINITIONS = (
    """
(package_clause name: (_) @name) @definition.namespace
(package_object name: (_) @name) @definition.object
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.object
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(simple_enum_case name: (_) @name) @definition.enum_member
(full_enum_case name: (_) @name) @definition.enum_member
(type_definition name: (_) @name) @definition.type
(given_definition name: (_) @name) @definition.object
(extension_definition
  parameters: (parameters (parameter type: (type_identifier) @container))
  (function_definition name: (_) @name) @definition.method)
(extension_definition
  parameters: (parameters (parameter type: (generic_type type: (type_identifier) @container)))
  (function_definition name: (_) @name) @definition.method)
(function_definition name: (identifier) @name (#eq? @name "this")) @definition.constructor
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(val_declaration name: (identifier) @name) @definition.property
(var_declaration name: (identifier) @name) @definition.property
(class_parameter ["val" "var"] name: (_) @name) @definition.property
(class_definition "case" class_parameters: (class_parameters
  (class_parameter name: (_) @name) @definition.property))
(full_enum_case name: (_) @container class_parameters: (class_parameters
  (class_parameter name: (_) @name) @definition.property))
"""
    + _values("compilation_unit", "variable")
    + _values("template_body", "property")
    + _values("with_template_body", "property")
    + _values("enum_body", "property")
)

USES = """
(type_identifier) @type
(instance_expression
  [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(infix_expression operator: (identifier) @call)
(import_declaration (identifier) @import .)
(namespace_selectors (identifier) @import)
(arrow_renamed_identifier name: (identifier) @import)
"""


SCALA = Language(
    name="scala",
    files=(".scala", ".sc", ".sbt"),
    programs=("scala", "amm"),
    definitions=DEFINITIONS,
    uses=USES,
    exported=hidden_by(r"\bprivate\b"),
    comments=("comment", "block_comment"),
    header=("enum_case_definitions",),
)
