"""C, and the parts that C++ shares with it."""

from __future__ import annotations

import re

from winnow.symbols.language import STATEMENTS, Language, hidden_by
from winnow.symbols.scopes import c as scoping


def wrapped(leaf: str, depth: int = 3) -> str:
    """Return a declarator pattern: the leaf, also inside up to ``depth`` pointers and arrays."""
    if depth == 0:
        return leaf
    inner = wrapped(leaf, depth - 1)
    return f"[{leaf} (_ declarator: {inner}) (parenthesized_declarator {inner})]"


def function(name: str) -> str:
    """Return a pattern for function declarators: also returning a pointer, or a pointer to a
    function."""
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
    """Return patterns for a struct, union or enum, named by its tag or its typedef."""
    return f"""
({specifier} name: (type_identifier) @name body: (_)) @definition.{kind}
(type_definition type: ({specifier} !name body: (_))
  declarator: (type_identifier) @name) @definition.{kind}
"""


def unnamed_records(specifier: str) -> str:
    """Return patterns for fields and variables of an unnamed type: they get the members of that
    type."""
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

# Words before parentheses, in text that macros make unparsable.
KEYWORDS = frozenset("if else for while do switch case return sizeof defined double".split())
# Patterns that only C++ has, with a word to search for first, which takes a hundredth of the time.
# C has variables named `class` or `private`, attributes with `::`, and from C23 `constexpr`.
_CPP = tuple(
    (word, re.compile(pattern, re.MULTILINE))
    for word, pattern in (
        (b"class", rb"^[ \t]*(?:enum[ \t]+)?class\s+[^;(){}=]+\{|\bfriend\s+class\b"),
        (b"class", rb"^[ \t]*class\s+[A-Za-z_]\w*;"),
        (b"namespace", rb"^[ \t]*(?:inline\s+|using\s+)?namespace\b[\w:\s]*[{;]"),
        (b"template", rb"^[ \t]*template\s*<"),
        (b"using", rb"^[ \t]*using\s+\w+\s*[=:;]"),
        (b"struct", rb"\bstruct\s+\w+(?:\s+final)?\s*:(?!:)[^;{}()=]+\{"),
        (b":", rb"^[ \t]*(?:public|private|protected):[ \t]*$"),
        (b"::", rb"(?<![\[\w])(?<!, )[A-Za-z_]\w*::~?[A-Za-z_]"),
        (b"constexpr", rb"\bconstexpr\s[^;={}#]*\)\s*(?:const\b|noexcept\b|->|:|\{)"),
        (b"const", rb"const\s+\w+(?:<[^;{}()]*>)?\s*&&?\s*\w*\s*[,)]|\)\s*const\s*[{;=]"),
        (b"explicit", rb"\bexplicit\s+\w+\s*\("),
        (b"virtual", rb"^[ \t]*virtual\s+~?[A-Za-z_]"),
        (
            b"operator",
            rb"[\w&*>][ \t]+operator\s*(?:[-+*/%^&|~!<>=]{1,3}|\(\s*\)|\[\s*\])\s*\(\s*const\b",
        ),
        (b"_cast", rb"\b(?:static|dynamic|reinterpret|const)_cast\s*<"),
        (b"default", rb"\)[\w\s]*=\s*default\s*;"),
        (b"delete", rb"\w\s*\([^();]*\)\s*(?:noexcept\s*)?=\s*delete\s*;"),
        (b"noexcept", rb"\)\s*(?:const\s+)?noexcept\b"),
        (b"override", rb"\)\s*(?:const\s+)?override\s*[;{]"),
        (b"typename", rb"\btypename\s+\w+::|\btypename\.\.\."),
        (b"{}", rb"\)\s*:\s*\w+\([^()]*\)\s*\{\}"),
    )
)
_OBJECTIVE_C = re.compile(rb"^[ \t]*(?:@(?:interface|protocol|class)\b|#import\b)", re.MULTILINE)
_UNREAD = re.compile(rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(if|el|endif)([^\n]*)", re.MULTILINE)
_ONLY_CPP = re.compile(rb"(?!n|.*!\s*defined).*\b__cplusplus\b")
CONSTANT = re.compile(r"\bconstexpr\b|\bconst\b[^*]*$")


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Turn a variable that is `const` itself, not only its pointee, into a constant."""
    if name in KEYWORDS:
        return ""
    return "constant" if kind == "variable" and CONSTANT.search(header) else kind


def instead(source: bytes) -> str:
    """Return the language of headers of C++ and Objective-C, which share C's file extension."""
    if _OBJECTIVE_C.search(source):
        return "objc"
    signs = [sign for word, sign in _CPP if word in source]
    if not signs:
        return ""
    text = _without_cpp_branches(_UNREAD.sub(b" ", source))
    return "cpp" if any(sign.search(text) for sign in signs) else ""


def _without_cpp_branches(source: bytes) -> bytes:
    """Remove branches of `#ifdef __cplusplus`, which headers of C have, too."""
    if b"__cplusplus" not in source:
        return source
    kept = bytearray()
    copied = depth = skipped = 0  # ``skipped`` is the depth of the removed branch
    for line in _CONDITION.finditer(source):
        if not skipped:
            kept += source[copied : line.start()]
        copied = line.start()
        word, rest = line.groups()
        if word == b"if":
            depth += 1
            if not skipped and _ONLY_CPP.match(rest):
                skipped = depth
        else:
            if depth == skipped:
                skipped = 0
            depth -= word == b"endif"
    return bytes(kept if skipped else kept + source[copied:])


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
    exported=hidden_by(r"\bstatic\b"),
    kind=kind,
    flat=True,
    instead=instead,
)
