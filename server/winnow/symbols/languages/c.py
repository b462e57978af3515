"""C, and what C++ has in common with it."""

from __future__ import annotations

import re

from winnow.symbols.language import STATEMENTS, Language
from winnow.symbols.scoping import c as scoping


def wrapped(leaf: str, depth: int = 3) -> str:
    """A declarator: the leaf, or one with pointers and arrays around it, as deep as ``depth``."""
    if depth == 0:
        return leaf
    inner = wrapped(leaf, depth - 1)
    return f"[{leaf} (_ declarator: {inner}) (parenthesized_declarator {inner})]"


def function(name: str) -> str:
    """The declarator of a function: with a pointer to return, or a pointer to a function."""
    declarator = f"(function_declarator declarator: [{name} (parenthesized_declarator {name})])"
    return f"""[
      {declarator}
      (pointer_declarator declarator: {declarator})
      (pointer_declarator declarator: (pointer_declarator declarator: {declarator}))
      (function_declarator declarator: (parenthesized_declarator
        (pointer_declarator declarator: {declarator})))
    ]"""


MACROS = """
(preproc_ifdef name: (identifier) @_guard . (preproc_def
  name: (identifier) @name !value) @skipped.macro (#eq? @_guard @name))
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
"""
FORWARDS = "\n".join(
    f"({place} ({record}_specifier name: (type_identifier) @name !body) @declaration.{record})"
    for place in ("translation_unit", "preproc_ifdef", "preproc_if", "declaration_list")
    for record in ("struct", "union")
)
ENUMERATOR = "(enumerator name: (identifier) @name) @definition.enum_member"


def records(specifier: str, kind: str) -> str:
    """Patterns of a struct or the like, by its name or by that of its typedef."""
    return f"""
({specifier} name: (type_identifier) @name body: (_)) @definition.{kind}
(type_definition type: ({specifier} !name body: (_))
  declarator: (type_identifier) @name) @definition.{kind}
"""


def unnamed_records(specifier: str) -> str:
    """Patterns of fields and variables whose type has no name, so its fields are theirs."""
    field = wrapped("(field_identifier) @name", 1)
    variable = wrapped("(identifier) @name", 1)
    return f"""
(field_declaration type: ({specifier} !name body: (_)) declarator: {field}) @inside
(declaration type: ({specifier} !name body: (_)) declarator: {variable}) @inside
"""


DEFINITIONS = (
    f"""
(function_definition declarator: {function("(identifier) @name")}) @definition.function
(declaration declarator: {function("(identifier) @name")}) @declaration.function
(ERROR [(type_identifier) (primitive_type)] . (function_declarator
  declarator: (identifier) @name) @declaration.function)
(declaration (storage_class_specifier) @_extern
  declarator: {wrapped("(identifier) @name")} (#eq? @_extern "extern")) @declaration.variable
(declaration declarator: {wrapped("(identifier) @name", 4)}) @definition.variable
(field_declaration declarator: {wrapped("(field_identifier) @name", 4)}) @definition.field
{ENUMERATOR}
{FORWARDS}
{MACROS}"""
    + records("struct_specifier", "struct")
    + records("union_specifier", "union")
    + records("enum_specifier", "enum")
    + unnamed_records("struct_specifier")
    + unnamed_records("union_specifier")
    + f"""
(type_definition declarator: {wrapped("(type_identifier) @name", 4)}) @definition.type
(type_definition declarator: {function("(type_identifier) @name")}) @definition.type
"""
)

# What stands before brackets in a text that macros keep from being understood.
KEYWORDS = frozenset("if else for while do switch case return sizeof defined double".split())
_STATIC = re.compile(r"\bstatic\b")
_CPP = re.compile(
    rb"^(?:class\s+[^;(]+\{|(?:inline\s+)?namespace\b[^;=]*\{|template\s*<|using\s+\w+\s*[=:;])",
    re.MULTILINE,
)
# What begins the lines that the pattern is about.
_CPP_WORDS = (b"class", b"inline", b"namespace", b"template", b"using")
CONSTANT = re.compile(r"\bconstexpr\b|\bconst\b[^*]*$")


def exported(header: str, name: str) -> bool:
    """What is not `static`."""
    return _STATIC.search(header) is None


def kind(kind: str, header: str, name: str, container: str) -> str:
    """A variable that is `const` itself, not only what it points to, is a constant."""
    if name in KEYWORDS:
        return ""
    return "constant" if kind == "variable" and CONSTANT.search(header) else kind


def instead(source: bytes) -> str:
    """Headers of C++ have the names of those of C."""
    # Looking for the words first is ten times as fast as looking for the pattern.
    found = any(b"\n" + word in source or source.startswith(word) for word in _CPP_WORDS)
    return "cpp" if found and _CPP.search(source) else ""


C = Language(
    name="c",
    files=(".c", ".h"),
    definitions=DEFINITIONS,
    reserved=STATEMENTS,
    clean=scoping.clean,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    exported=exported,
    kind=kind,
    flat=True,
    instead=instead,
)
