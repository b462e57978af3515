"""Rust."""

from __future__ import annotations

import re

from winnow.symbols.language import Language
from winnow.symbols.scopes import rust as scoping

_TYPE = """[
  (type_identifier) @name
  (generic_type type: [(type_identifier) @name (scoped_type_identifier name: (_) @name)])
  (scoped_type_identifier name: (_) @name)
  (reference_type type: [(type_identifier) @name (generic_type type: (type_identifier) @name)])
  (primitive_type) @name
]"""


def _members(outer: str, exported: str) -> str:
    """Return patterns for members of a trait or an `impl`."""
    return f"""
({outer} body: (declaration_list [
  (function_item name: (identifier) @name) @definition.method
  (function_signature_item name: (identifier) @name) @definition.method
  (const_item name: (identifier) @name) @definition.constant
  (type_item name: (type_identifier) @name) @definition.type
  (associated_type name: (type_identifier) @name) @definition.type
]) {exported})
"""


DEFINITIONS = (
    f"""
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(union_item name: (type_identifier) @name) @definition.union
(trait_item name: (type_identifier) @name) @definition.trait
(mod_item name: (identifier) @name body: (_)) @definition.module
(mod_item name: (identifier) @name !body) @declaration.module
(impl_item type: {_TYPE}) @inside
(enum_variant name: (identifier) @name) @definition.enum_member @exported
(enum_variant name: (identifier) @name body: (_)) @inside
(enum_variant body: (field_declaration_list
  (field_declaration name: (field_identifier) @name) @definition.field @exported))
(field_declaration name: (field_identifier) @name) @definition.field
"""
    + _members("trait_item", "@exported")
    + _members("impl_item trait: (_)", "@exported")
    + _members("impl_item !trait", "")
    + """
(function_item name: (identifier) @name) @definition.function
(foreign_mod_item body: (declaration_list
  (function_signature_item name: (identifier) @name) @declaration.function))
(function_signature_item name: (identifier) @name) @definition.function
(type_item name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(attribute_item) @between
"""
)

_PUBLIC = re.compile(r"\bpub\b|^macro_rules")


def exported(header: str, name: str) -> bool:
    """Return True for `pub` items, however restricted."""
    return _PUBLIC.search(header) is not None


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Drop constants without a name, which only serve compile-time checks."""
    return "" if name == "_" else kind


RUST = Language(
    name="rust",
    files=(".rs",),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    skipped=frozenset(("self", "super", "crate")),
    embedded=scoping.embedded,
    exported=exported,
    kind=kind,
    comments=("line_comment", "block_comment"),
)
