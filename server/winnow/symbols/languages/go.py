"""Go."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scopes import go as scoping

_TYPES = """
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
"""
_RECEIVER = "(type_identifier) @container (generic_type type: (type_identifier) @container)"

DEFINITIONS = f"""
(type_declaration . (type_spec
  name: (type_identifier) @name type: (struct_type)) .) @definition.struct
(type_declaration . (type_spec
  name: (type_identifier) @name type: (interface_type)) .) @definition.interface
(type_declaration . (type_spec name: (type_identifier) @name) .) @definition.type
(type_declaration . (type_alias name: (type_identifier) @name) .) @definition.type
{_TYPES}
(method_declaration
  receiver: (parameter_list (parameter_declaration
    type: [{_RECEIVER} (pointer_type [{_RECEIVER}])]))
  name: (field_identifier) @name) @definition.method
(function_declaration name: (identifier) @name) @definition.function
(field_declaration name: (field_identifier) @name) @definition.field
(field_declaration name: (field_identifier) @name
  type: [(struct_type) (pointer_type (struct_type)) (slice_type element: (struct_type))]) @inside
(field_declaration !name type: [
  (type_identifier) @name
  (qualified_type name: (type_identifier) @name)
  (generic_type type: (type_identifier) @name)
]) @definition.field
(method_elem name: (field_identifier) @name) @definition.method
(const_declaration . (const_spec (identifier) @name) .) @definition.constant
(const_spec (identifier) @name) @definition.constant
(source_file (var_declaration . (var_spec name: (identifier) @name) .) @definition.variable)
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration
  (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
"""


def exported(header: str, name: str) -> bool:
    """Return True for names that start with a capital."""
    return name[:1].isupper()


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Drop the blank identifier, which defines nothing."""
    return "" if name == "_" else kind


GO = Language(
    name="go",
    files=(".go",),
    definitions=DEFINITIONS,
    reserved=frozenset("if else for switch case return select defer go".split()),
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    skipped=frozenset("_"),
    exported=exported,
    kind=kind,
)
