"""C#."""

from __future__ import annotations

from winnow.symbols.language import STATEMENTS, Language, hidden_by

DEFINITIONS = """
(namespace_declaration name: (_) @name) @definition.namespace
(file_scoped_namespace_declaration name: (_) @name) @definition.namespace
(class_declaration name: (identifier) @name) @definition.class
(record_declaration "struct" name: (identifier) @name) @definition.struct
(record_declaration name: (identifier) @name) @definition.class
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition.property))
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.enum_member
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(destructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name) @definition.property
(indexer_declaration "this" @name) @definition.property
(operator_declaration operator: _ @name) @definition.operator
(conversion_operator_declaration type: (_) @name) @definition.operator
(event_declaration name: (identifier) @name) @definition.event
(event_field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.event
(field_declaration (modifier "const")
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.constant
(field_declaration
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
"""

_NAMES = """[
  (identifier) @{0}
  (generic_name (identifier) @{0})
  (qualified_name name: [(identifier) @{0} (generic_name (identifier) @{0})])
]"""
_TYPE = _NAMES.format("type")
USES = f"""
(_ type: {_TYPE})
(_ returns: {_TYPE})
(base_list {_TYPE})
(type_argument_list {_TYPE})
(as_expression right: {_TYPE})
(object_creation_expression type: {_NAMES.format("call")})
"""

CSHARP = Language(
    name="csharp",
    files=(".cs", ".csx"),
    definitions=DEFINITIONS,
    uses=USES,
    reserved=STATEMENTS | {"foreach", "catch", "finally", "try", "lock", "using", "throw"},
    exported=hidden_by(r"\bprivate\b(?! protected)"),
)
