"""C++."""

from __future__ import annotations

from winnow.symbols.language import Language
from winnow.symbols.scoping import c
from winnow.symbols.scoping import cpp as scoping

DEFINITIONS = """
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
"""

CPP = Language(
    name="cpp",
    files=(".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".c++", ".h++", ".ipp", ".inl", ".tpp"),
    definitions=DEFINITIONS,
    tokens=scoping.TOKENS,
    clean=c.clean,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
)
