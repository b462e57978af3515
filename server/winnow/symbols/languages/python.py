"""Python."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import python as scoping

DEFINITIONS = """
(class_definition name: (identifier) @name body: (block . (string) @doc)) @definition.class
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name body: (block . (string) @doc)) @definition.function
(function_definition name: (identifier) @name) @definition.function
(class_definition body: (block (assignment left: (identifier) @name) @definition.field))
(class_definition body: (block
  (assignment left: (pattern_list (identifier) @name)) @definition.field))
((assignment left: (attribute object: (identifier) @self attribute: (identifier) @name))
  @definition.field (#eq? @self "self"))
(module (assignment left: (identifier) @name) @definition.variable)
(module (assignment left: (pattern_list (identifier) @name)) @definition.variable)
(module (if_statement (block (assignment left: (identifier) @name) @definition.variable)))
(module (try_statement (block (assignment left: (identifier) @name) @definition.variable)))
(type_alias_statement left: (type (identifier) @name)) @definition.type
"""


def exported(header: str, name: str) -> bool:
    """Names that do not begin with an underscore, and special ones."""
    return not name.startswith("_") or name.endswith("__")


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
    exported=exported,
    header=("decorated_definition",),
)
