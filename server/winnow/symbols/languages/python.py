"""Python."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scopes import python as scoping

# The targets of an assignment; attributes of `self` are captured anywhere.
_TARGET = """[
  (identifier) @name
  (pattern_list [(identifier) @name (_ [(identifier) @name (_ (identifier) @name)])])
  (tuple_pattern [(identifier) @name (_ (identifier) @name)])
  (list_pattern [(identifier) @name (_ (identifier) @name)])
]"""
_BINDINGS = (
    f"(assignment left: {_TARGET} type: (_)? @typed) @definition.variable",
    f"(for_statement left: {_TARGET}) @definition.variable",
    """(with_statement (with_clause (with_item
      value: (as_pattern alias: (as_pattern_target (identifier) @name))))) @definition.variable""",
)
# Blocks that are not scopes. (A pattern per block type is faster than alternatives.)
_NESTED = "\n".join(
    f"(module ({block}) @nested)\n(class_definition body: (block ({block}) @nested))"
    for block in (
        "if_statement", "try_statement", "with_statement", "for_statement", "while_statement"
    )
)  # fmt: skip


DEFINITIONS = f"""
(class_definition name: (identifier) @name body: (block . (string) @doc)) @definition.class
(class_definition name: (identifier) @name) @definition.class
(decorated_definition
  (decorator [(identifier) @of (attribute attribute: (identifier) @of)])
  definition: (function_definition name: (identifier) @name) @declaration.function
  (#eq? @of "overload"))
(decorated_definition
  (decorator [(identifier) @of (attribute attribute: (identifier) @of)])
  definition: (function_definition
    name: (identifier) @name body: (block . (string)? @doc)) @definition.property
  (#any-of? @of "property" "cached_property" "setter" "getter" "deleter" "abstractproperty"))
(function_definition name: (identifier) @name body: (block . (string) @doc)) @definition.function
(function_definition name: (identifier) @name) @definition.function
(type_alias_statement left: (type [
  (identifier) @name (generic_type . (identifier) @name)])) @definition.type
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name)
  type: (_)? @typed (#any-of? @self "self" "cls")) @definition.field
(assignment left: (_ (attribute object: (identifier) @self attribute: (identifier) @name))
  (#any-of? @self "self" "cls")) @definition.field
(assignment right: (assignment left: (identifier) @name) @definition.variable)
(module {_BINDINGS[0]})
(class_definition body: (block {_BINDINGS[0]}))
(ERROR {_BINDINGS[0]})
{_NESTED}
"""


def exported(header: str, name: str) -> bool:
    """Return True for names without a leading underscore, and for special names."""
    return not name.startswith("_") or name.endswith("__")


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn names in capitals into constants, and `__init__` into a constructor."""
    if kind in ("variable", "field") and name.isupper() and len(name) > 1:
        return "constant"
    if kind == "method" and name == "__init__":
        return "constructor"
    return kind


PYTHON = Language(
    name="python",
    files=(".py", ".pyi", ".pyw", "SConstruct", "SConscript", "wscript"),
    programs=("python", "python2", "python3", "pypy3"),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    skipped=scoping.RULES.instance,
    nested="\n".join(_BINDINGS),
    exported=exported,
    kind=kind,
    once=("variable", "field", "constant"),
    header=("decorated_definition",),
)
