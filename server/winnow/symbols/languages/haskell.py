"""Haskell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.symbols.language import Language

if TYPE_CHECKING:
    from tree_sitter import Node


def _functions(around: str, kind: str) -> str:
    """Return patterns for equations and signatures directly inside a node type."""
    return f"""
({around} (signature name: (_) @name) @definition.{kind})
({around} (signature names: (binding_list name: (_) @name)) @definition.{kind})
({around} (function name: (_) @name) @definition.{kind})
({around} (function (infix operator: (_) @name)) @definition.{kind})
({around} (bind name: (_) @name) @definition.{kind})
"""


def _applied(name: str) -> str:
    """Return a pattern for the name of a type with up to three arguments."""
    patterns = [name]
    for _ in range(3):
        patterns.append(f"(apply constructor: {patterns[-1]})")
    return f"[{' '.join(patterns)}]"


DEFINITIONS = (
    f"""
(export type: (name) @listed)
(export variable: (variable) @listed)
(export operator: (prefix_id (_) @listed))
(exports (module_export (module) @listed))
(header module: (module) @qualified) @definition.module
(data_type name: (name) @name) @definition.struct
(newtype name: (name) @name) @definition.struct
(type_synomym name: (name) @name) @definition.type
(type_family name: (name) @name) @definition.type
(data_family name: (name) @name) @definition.type
(data_constructor constructor: (prefix name: (_) @name)) @definition.constructor
(data_constructor constructor: (record name: (_) @name)) @definition.constructor
(data_constructor constructor: (infix operator: (_) @name)) @definition.constructor
(newtype_constructor name: (_) @name) @definition.constructor
(gadt_constructor name: (_) @name) @definition.constructor
(gadt_constructor names: (binding_list name: (_) @name)) @definition.constructor
(field name: (field_name (variable) @name)) @definition.field
(class name: (name) @name) @definition.interface
(instance patterns: (type_patterns . [
    (name) @name
    (parens type: {_applied("(name) @name")})
  ])) @inside
(instance name: (name) @name) @inside
(pattern_synonym (equation synonym: (constructor) @name)) @definition.function
(pattern_synonym (equation synonym: (apply))) @definition.function
(pattern_synonym (equation synonym: (infix operator: (_) @name))) @definition.function
(pattern_synonym (equation synonym: (record constructor: (_) @name))) @definition.function
(foreign_import signature: (signature name: (variable) @name)) @definition.function
(declarations (bind pattern: (tuple element: (variable) @name)) @definition.variable)
(local_binds (function name: (_) @name) @definition.function)
"""
    + _functions("declarations", "function")
    + _functions("class_declarations", "method")
    + _functions("instance_declarations", "method")
)

USES = f"""
(name) @type
(apply function: [
  (variable) @call
  (constructor) @call
  (qualified id: (_) @call)
])
(infix left_operand: (variable) @call operator: (operator) @_apply (#eq? @_apply "$"))
(infix operator: (infix_id (variable) @call))
(import module: (module (module_id) @import .))
(import_name (_) @import)
(instance name: (name) @base patterns: (type_patterns . [
    (name) @part
    (parens type: {_applied("(name) @part")})
  ])) @whole
"""


def name_of(node: Node) -> Node | None:
    """Return the name of a pattern synonym that has parameters, of which each is a node deeper."""
    equation = next(child for child in node.named_children if child.type == "equation")
    name = equation.child_by_field_name("synonym")
    while name is not None and name.type == "apply":
        name = name.child_by_field_name("function")
    return name


HASKELL = Language(
    name="haskell",
    files=(".hs", ".hs-boot", ".hsc"),
    programs=("runghc", "runhaskell", "stack"),
    definitions=DEFINITIONS,
    uses=USES,
    name_of=name_of,
    comments=("comment", "haddock"),
    name_part=r"[^()\s]+",
    clauses=True,
    once=("function", "method"),
)
