"""Dart."""

from __future__ import annotations

from winnow.symbols.language import Language

# The parts of a type that precede the names of variables.
_TYPE = "[(type_identifier) (type_arguments) (nullable_type) (function_type) (record_type)]"


def _signature(kind: str, signature: str) -> str:
    """Return patterns for a signature with a body, which follows it, and without one."""
    return f"""
((method_signature ({signature})) @definition.{kind} . (function_body) @last)
(method_signature ({signature})) @definition.{kind}
(declaration ({signature})) @definition.{kind}
"""


def _global(kind: str, first: str, variables: str) -> str:
    """Return a pattern for variables outside of classes. No node contains all of a declaration."""
    return f"(program {first} @first . {_TYPE}* . {variables} @definition.{kind})\n"


_FINAL = "(static_final_declaration_list (static_final_declaration . (identifier) @name))"
_VARIABLES = "(initialized_identifier_list (initialized_identifier . (identifier) @name))"
# Of `Shop.named`, the last part is the name.
_NAMED = "(identifier) @name . (formal_parameter_list)"

DEFINITIONS = (
    f"""
(annotation) @between
(class_definition name: (identifier) @name) @definition.class
(class_definition (mixin_application_class . (identifier) @name)) @definition.class
(mixin_declaration (identifier) @name) @definition.trait
(extension_declaration name: (identifier) @name) @definition.class
(extension_declaration !name (type_identifier) @name . (extension_body)) @inside
(extension_declaration !name (type_identifier) @name
  . [(type_arguments) (nullable_type)]) @inside
(extension_type_declaration name: (identifier) @name) @definition.class
(representation_declaration name: (identifier) @name) @definition.field
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.enum_member
(type_alias (type_identifier) @name . (formal_parameter_list)) @definition.type
(type_alias . (type_identifier) @name "=") @definition.type
(declaration (const_builtin) {_FINAL}) @definition.constant
(declaration {_FINAL}) @definition.field
(declaration {_VARIABLES}) @definition.field
(declaration [
  (constant_constructor_signature {_NAMED})
  (redirecting_factory_constructor_signature {_NAMED})
]) @definition.constructor
(lambda_expression parameters: (function_signature name: (identifier) @name)) @definition.function
(program ((function_signature name: (identifier) @name) @definition.function
  . (function_body) @last))
(program (function_signature name: (identifier) @name) @definition.function)
(program ((getter_signature name: (identifier) @name) @definition.property
  . (function_body) @last))
(program ((setter_signature name: (identifier) @name) @definition.property
  . (function_body) @last))
"""
    + _signature("function", "function_signature name: (identifier) @name")
    + _signature("property", "getter_signature name: (identifier) @name")
    + _signature("property", "setter_signature name: (identifier) @name")
    + _signature("operator", "operator_signature (binary_operator) @name")
    + _signature("constructor", f"constructor_signature {_NAMED}")
    + _signature("constructor", f"factory_constructor_signature {_NAMED}")
    + _global("constant", "(const_builtin)", _FINAL)
    + _global("variable", "(final_builtin)", _FINAL)
    + _global("variable", "[(final_builtin) (inferred_type)]", _VARIABLES)
    + _global("variable", "[(type_identifier) (function_type)]", _VARIABLES)
)

USES = """
(type_identifier) @type
((identifier) @call . (selector (argument_part)))
((selector (unconditional_assignable_selector (identifier) @call)) . (selector (argument_part)))
((selector (conditional_assignable_selector (identifier) @call)) . (selector (argument_part)))
(initialized_variable_definition name: (identifier) @local)
(block) @block
"""


def exported(header: str, name: str) -> bool:
    """Return True unless the name begins with an underscore: it is private to its library."""
    return not name.startswith("_")


DART = Language(
    name="dart",
    files=(".dart",),
    programs=("dart",),
    definitions=DEFINITIONS,
    uses=USES,
    exported=exported,
    comments=("comment", "documentation_comment"),
)
