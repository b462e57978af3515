"""PHP."""

from __future__ import annotations

from winnow.symbols.language import Language, hidden_by

DEFINITIONS = """
(namespace_definition name: (namespace_name) @name) @definition.namespace
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.enum_member
(method_declaration name: (name) @name (#eq? @name "__construct")) @definition.constructor
(method_declaration name: (name) @name) @definition.method
(function_definition name: (name) @name) @definition.function
(property_declaration (property_element name: (variable_name (name) @name))) @definition.property
(property_promotion_parameter name: (variable_name (name) @name)) @definition.field
(const_declaration (const_element . (name) @name)) @definition.constant
((function_call_expression function: (name) @_define
  arguments: (arguments . (argument (string (string_content) @name)))) @definition.constant
  (#eq? @_define "define"))
((function_call_expression function: (name) @_define
  arguments: (arguments . (argument (encapsed_string (string_content) @name))))
  @definition.constant (#eq? @_define "define"))
(program (expression_statement
  (assignment_expression left: (variable_name (name) @name)) @definition.variable))
"""

USES = """
(variable_name (name) @variable)
(named_type [(name) @type (qualified_name (name) @type .)])
(base_clause [(name) @type (qualified_name (name) @type .)])
(class_interface_clause [(name) @type (qualified_name (name) @type .)])
(use_declaration [(name) @type (qualified_name (name) @type .)])
(binary_expression operator: "instanceof"
  right: [(name) @type (qualified_name (name) @type .)])
(object_creation_expression [(name) @call (qualified_name (name) @call .)])
(namespace_use_clause . [(name) @import (qualified_name (name) @import .)])
"""


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn a promoted constructor parameter into a property of the class."""
    return "property" if kind == "field" else kind


PHP = Language(
    name="php",
    files=(".php", ".phtml", ".php3", ".php4", ".php5", ".phps", ".phpt", ".inc"),
    programs=("php",),
    definitions=DEFINITIONS,
    uses=USES,
    exported=hidden_by(r"\bprivate\b(?!\(set\))"),
    kind=kind,
)
