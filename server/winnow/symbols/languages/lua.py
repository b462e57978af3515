"""Lua."""

from __future__ import annotations

from winnow.symbols.language import Language


def _tables(assigned: str, field: str, kind: str) -> str:
    """Return patterns for the fields of a global table: `{…}`, and `Base:extend{…}`."""
    table = f"(table_constructor (field name: (identifier) @name {field}) @definition.{kind})"
    value = f"[{table} (function_call arguments: (arguments . {table}))]"
    assignment = f"""(assignment_statement
  (variable_list . name: (_) @{assigned} .) (expression_list . value: {value}))"""
    return f"(chunk (variable_declaration {assignment}))\n(chunk {assignment})\n"


DEFINITIONS = (
    """
(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression
  table: (_) @namespace field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression
  table: (_) @container method: (identifier) @name)) @definition.method
(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression
    table: (_) @namespace field: (identifier) @name) .)
  (expression_list . value: (function_definition))) @definition.function
(chunk (variable_declaration
  (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement (variable_list name: (dot_index_expression
  table: (_) @namespace field: (identifier) @name))) @definition.field)
"""
    + _tables("container", "value: (function_definition)", "method")
    + _tables("namespace", "", "field")
    + """
(assignment_statement
  (variable_list . name: (_) @container .)
  (expression_list . value: (table_constructor (field
    name: (identifier) @name value: (function_definition)) @definition.method)))
(table_constructor (field
  name: (identifier) @name value: (function_definition)) @definition.function)
(chunk (return_statement (expression_list (table_constructor
  (field name: (identifier) @name) @definition.property))))
"""
)

USES = """
(function_call name: [
  (identifier) @call
  (dot_index_expression field: (identifier) @call)
  (method_index_expression method: (identifier) @call)
])
"""


def exported(header: str, name: str) -> bool:
    """Return True unless the definition is `local`."""
    return not header.startswith("local ")


LUA = Language(
    name="lua",
    files=(".lua", ".rockspec", ".wlua", ".p8"),
    programs=("lua", "luajit", "texlua"),
    definitions=DEFINITIONS,
    uses=USES,
    exported=exported,
    header=("variable_declaration",),
)
