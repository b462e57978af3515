"""Swift."""

from __future__ import annotations

from winnow.symbols.language import Language, hidden_by

DEFINITIONS = """
(class_declaration declaration_kind: "class" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "extension" name: (user_type) @name) @inside
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name) @definition.enum_member
(init_declaration name: "init" @name) @definition.constructor
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method
(function_declaration "func" . name: (simple_identifier) @name) @definition.function
(function_declaration "func" . name: _ @name) @definition.operator
(protocol_function_declaration "func" . name: (simple_identifier) @name) @definition.method
(protocol_function_declaration "func" . name: _ @name) @definition.operator
(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property
(class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)
(enum_class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)
(source_file (property_declaration (value_binding_pattern mutability: "let")
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
(source_file (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(source_file (property_declaration
  name: (pattern (pattern (simple_identifier) @name))) @definition.variable)
(operator_declaration (custom_operator) @name) @definition.operator
(precedence_group_declaration (simple_identifier) @name) @definition.type
(macro_declaration . (modifiers)? . "macro" . (simple_identifier) @name) @definition.macro
"""

USES = """
(user_type (type_identifier) @type)
(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression
  suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(import_declaration (identifier (simple_identifier) @import .))
"""


SWIFT = Language(
    name="swift",
    files=(".swift",),
    programs=("swift",),
    definitions=DEFINITIONS,
    uses=USES,
    exported=hidden_by(r"\b(?:file)?private\b(?!\s*\(set\))"),
    comments=("comment", "multiline_comment"),
)
