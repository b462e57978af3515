"""R."""

from __future__ import annotations

from winnow.symbols.language import Language

_ASSIGNED = '["<-" "<<-" "=" ":="]'

R = Language(
    name="r",
    files=(".r", ".R", ".Rprofile"),
    programs=("Rscript",),
    definitions=f"""
(binary_operator lhs: (_) @name operator: {_ASSIGNED} rhs: (function_definition))
  @definition.function
(program (binary_operator lhs: (identifier) @name operator: {_ASSIGNED}) @definition.variable)
((call function: (identifier) @_call arguments: (arguments
    . (argument value: (string (string_content) @name)))) @definition.class
  (#any-of? @_call "setClass" "setRefClass" "R6Class"))
((call function: (identifier) @_call arguments: (arguments
    . (argument value: (string (string_content) @name)))) @definition.function
  (#any-of? @_call "setGeneric" "setMethod"))
""",
    exported=lambda header, name: not name.startswith("."),
)
