"""Rust."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import rust as scoping

DEFINITIONS = """
(mod_item name: (identifier) @name body: (_)) @definition.module
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.enum_member
(union_item name: (type_identifier) @name) @definition.union
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(field_declaration name: (field_identifier) @name) @definition.field
(macro_definition name: (identifier) @name) @definition.macro
(impl_item type: (type_identifier) @name) @inside
(impl_item type: (generic_type type: (type_identifier) @name)) @inside
(impl_item type: (scoped_type_identifier name: (type_identifier) @name)) @inside
"""

RUST = Language(
    name="rust",
    files=(".rs",),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    nested=scoping.nested,
    exported=lambda header, name: "pub" in header,
    comments=("line_comment", "block_comment"),
    skipped=frozenset(("self", "super", "crate")),
)
