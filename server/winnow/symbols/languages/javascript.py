"""JavaScript, and the parts that TypeScript shares with it."""

from __future__ import annotations

import re

from winnow.symbols.language import Language
from winnow.symbols.scopes.typescript import tokens
from winnow.symbols.scopes.typescript.preparation import prepare
from winnow.symbols.scopes.typescript.rules import JAVASCRIPT_RULES
from winnow.symbols.scopes.typescript.types import collect

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_NAME = "[(property_identifier) (private_property_identifier) (string) (number)] @name"
WITH_METHODS = f"""(object [
  (method_definition name: {_NAME}) @definition.method
  (pair key: {_NAME} value: {_FUNCTION}) @definition.method
])"""
_VALUES = (
    f"(_ . (variable_declarator name: (identifier) @name value: {_FUNCTION}) .)"
    " @definition.function",
    f"(_ (variable_declarator name: (identifier) @name value: {_FUNCTION}) @definition.function)",
    "(_ (variable_declarator name: (identifier) @name value: (class)) @definition.class)",
    "(_ (variable_declarator name: (identifier) @name value: (object)) @inside)",
    "(_ . (variable_declarator name: (identifier) @name) .) @definition.variable",
    "(_ (variable_declarator name: (identifier) @name) @definition.variable)",
    """(_ (variable_declarator name: [
      (object_pattern [(shorthand_property_identifier_pattern) @name
        (pair_pattern value: (identifier) @name) (rest_pattern (identifier) @name)])
      (array_pattern (identifier) @name)]) @definition.variable)""",
)


def values(place: str) -> str:
    """Return patterns for names that `const`, `let` and `var` bind directly in a node type."""
    return "\n".join(f"({place} {pattern})" for pattern in _VALUES)


def definitions(class_name: str) -> str:
    """Return the query of both languages; ``class_name`` is the node type of class names."""
    return f"""
((program (expression_statement (assignment_expression
  left: (member_expression
    object: [(identifier) @_exports (member_expression property: (_) @_exports)]
    property: (property_identifier) @name)
  right: {_FUNCTION}) @definition.function))
  (#eq? @_exports "exports"))
((assignment_expression
  left: (member_expression
    object: (member_expression object: (identifier) @container property: (_) @_prototype)
    property: (property_identifier) @name)
  right: {_FUNCTION}) @definition.method
  (#eq? @_prototype "prototype"))
(program (expression_statement (assignment_expression
  left: (member_expression
    object: (identifier) @container property: (property_identifier) @name)
  right: {_FUNCTION}) @definition.method))
(statement_block (function_declaration name: (identifier) @name) @local.function)
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(class_declaration name: ({class_name}) @name) @definition.class
(method_definition name: {_NAME}) @definition.method
(export_statement "default" @name value: {_FUNCTION}) @definition.function
(export_statement "default" @name value: (class)) @definition.class
(export_statement "default" @name value: (object)) @definition.constant
(export_statement "default" @name value: (object)) @inside
(export_statement "default" value: {WITH_METHODS})
(variable_declarator value: {WITH_METHODS})
{values("program")}
{values("export_statement")}
(variable_declarator name: (identifier) @name value: {_FUNCTION}) @local.function
(variable_declarator name: (identifier) @name value: (class)) @local.class
(export_statement !source (export_clause (export_specifier name: (identifier) @exported)))
(export_statement value: (identifier) @exported)
((assignment_expression
  left: [(identifier) (member_expression)] @_left
  right: [(identifier) @exported
    (object [(shorthand_property_identifier) @exported (pair value: (identifier) @exported)])])
  (#match? @_left "^(module\\\\.)?exports\\\\b"))
"""


_DECLARATION = re.compile(
    r"(?:async |abstract )*"
    r"(?:function|class|const|let|var|interface|type|enum|namespace|module)[ *\n]"
)
_CONST = re.compile(r"(?:export |declare )*const\s")
_PRIVATE = re.compile(r"\bprivate\b")


def exported(header: str, name: str) -> bool:
    """Return True for declarations with `export` or `declare`, and members that are not private."""
    return (
        _DECLARATION.match(header) is None
        and not name.startswith("#")
        and _PRIVATE.search(header) is None
    )


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn getters and setters into properties, and `const` variables into constants."""
    if kind == "variable" and _CONST.match(header):
        return "constant"
    if kind == "method":
        if name == "constructor":
            return "constructor"
        if header.endswith(("get ", "set ")):
            return "property"
    return kind


HEADER = (
    "lexical_declaration",
    "variable_declaration",
    "export_statement",
    "ambient_declaration",
)

_ASSIGNS = """(statement_block (expression_statement (assignment_expression
  left: (member_expression object: (this) property: (property_identifier) @name)
) @definition.field))"""
# Members of constructor functions and their prototypes.
_MADE = f"""
((function_declaration name: (identifier) @container body: {_ASSIGNS})
  (#match? @container "^[A-Z]"))
((variable_declarator name: (identifier) @container value: (function_expression body: {_ASSIGNS}))
  (#match? @container "^[A-Z]"))
(assignment_expression
  left: (member_expression
    object: (identifier) @container property: (property_identifier) @_prototype)
  right: {WITH_METHODS}
  (#eq? @_prototype "prototype"))
"""

JAVASCRIPT = Language(
    name="javascript",
    files=(".js", ".jsx", ".mjs", ".cjs", ".es6"),
    programs=("node", "nodejs", "deno", "bun"),
    definitions=f"""
{_MADE}
{definitions("identifier")}
(field_definition property: {_NAME} value: {_FUNCTION}) @definition.method
(field_definition property: {_NAME}) @definition.field
(assignment_expression left: (member_expression
  object: (this) property: [(property_identifier) (private_property_identifier)] @name)
) @definition.field
""",
    tokens=tokens.JAVASCRIPT,
    prepare=prepare,
    collect=collect,
    rules=JAVASCRIPT_RULES,
    skipped=tokens.SKIPPED,
    exported=exported,
    kind=kind,
    once=("field", "variable"),
    header=HEADER,
)
