"""Go."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import go as scoping

DEFINITIONS = """
(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (pointer_type (type_identifier) @container)
    (generic_type type: (type_identifier) @container)
    (pointer_type (generic_type type: (type_identifier) @container))
  ])) name: (field_identifier) @name) @definition.method
(method_elem name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(field_declaration name: (field_identifier) @name) @definition.field
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
"""


def exported(header: str, name: str) -> bool:
    """What begins with a capital."""
    return name[:1].isupper()


GO = Language(
    name="go",
    files=(".go",),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    exported=exported,
    skipped=frozenset("_"),
)
