"""C."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import c as scoping

DEFINITIONS = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
"""

C = Language(
    name="c",
    files=(".c", ".h"),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    clean=scoping.clean,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
)
