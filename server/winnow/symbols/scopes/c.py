"""Bind names in C: scopes, included files, declared types, macros."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.file_symbols import BINDS, MENTIONED, TAG, LexicalScope
from winnow.symbols.resolve.rules import Rules, shared_folders
from winnow.symbols.scopes.nodes import field
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

# Patterns shared by C and C++.
SHARED = """
(identifier) @identifier
(type_identifier) @identifier @in_type
(field_identifier) @identifier
(statement_identifier) @identifier @label
(labeled_statement label: (statement_identifier) @bind)
(declaration declarator: (identifier) @bind @declared)
(init_declarator declarator: (identifier) @bind @declared)
(pointer_declarator declarator: (identifier) @bind @declared)
(array_declarator declarator: (identifier) @bind @declared)
(function_declarator declarator: (identifier) @bind @declared)
(parenthesized_declarator (identifier) @bind @declared)
(attributed_declarator (identifier) @bind @declared)
(parameter_declaration declarator: (identifier) @parameter @declared)
(field_declaration declarator: (field_identifier) @member @declared)
(pointer_declarator declarator: (field_identifier) @member @declared)
(array_declarator declarator: (field_identifier) @member @declared)
(function_declarator declarator: (field_identifier) @member @declared)
(parenthesized_declarator (field_identifier) @member @declared)
(attributed_declarator (field_identifier) @member @declared)
(type_definition declarator: (type_identifier) @bind @declared)
(pointer_declarator declarator: (type_identifier) @bind @declared)
(array_declarator declarator: (type_identifier) @bind @declared)
(function_declarator declarator: (type_identifier) @bind @declared)
(parenthesized_declarator (type_identifier) @bind @declared)
(array_declarator declarator: (identifier) @misread . (ERROR (identifier) @bind @declared))
(init_declarator declarator: (identifier) @misread . (ERROR (identifier) @bind @declared))
(declaration declarator: (identifier) @misread . (ERROR (identifier) @bind @declared))
(enumerator name: (identifier) @bind @enumerator)
(enum_specifier body: (_)) @scope.enum
(enum_specifier name: (type_identifier) @tag)
(enum_specifier name: (type_identifier) @bind body: (_))
(struct_specifier name: (type_identifier) @tag)
(struct_specifier name: (type_identifier) @bind body: (_))
(union_specifier name: (type_identifier) @tag)
(union_specifier name: (type_identifier) @bind body: (_))
(struct_specifier body: (_)) @scope.class
(union_specifier body: (_)) @scope.class
(field_declaration type: (struct_specifier !name) @anonymous !declarator)
(field_declaration type: (union_specifier !name) @anonymous !declarator)
(preproc_def . name: (identifier) @macro) @scope.macro
(preproc_function_def . name: (identifier) @macro) @scope.macro
(preproc_def name: (identifier) value: (preproc_arg)) @alias
(preproc_params (identifier) @parameter)
(preproc_def value: (preproc_arg) @text)
(preproc_function_def value: (preproc_arg) @text)
(preproc_call) @directive
(preproc_include path: (_) @include)
(field_designator (field_identifier) @key)
(offsetof_expression member: (field_identifier) @key) @scope.initializer @offset
(argument_list (identifier) @argument)
(initializer_list (initializer_pair designator: (field_designator))) @scope.initializer
(initializer_list) @list
(parameter_list) @scope.prototype
(compound_statement (declaration)) @scope.block
(for_statement initializer: (declaration)) @scope.block
(argument_list) @arguments
(subscript_expression) @subscript
(parenthesized_expression) @parenthesis
(cast_expression) @cast
(declaration) @declaration
(parameter_declaration) @declaration
(field_declaration) @declaration
(type_definition) @declaration
(function_definition) @declaration
(function_definition) @function
"""
TOKENS = SHARED

# The relevant tokens of a macro's text: identifiers outside of strings and comments.
_TOKEN = re.compile(
    rb"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/|\.?\d[\w.]*"
    rb"|##?\s*\w+|([A-Za-z_]\w*)(?!\w*\s*##)",
    re.DOTALL,
)
KEYWORDS = frozenset(
    b"if else do while for return switch case default break continue goto sizeof typeof struct"
    b" union enum const volatile static inline extern register void char short int long float"
    b" double signed unsigned typedef __VA_ARGS__ __typeof__ __attribute__ auto class namespace"
    b" template typename new delete this nullptr true false static_cast const_cast using"
    b" reinterpret_cast dynamic_cast constexpr noexcept public private protected virtual".split()
)
_ALIAS = re.compile(
    rb"[\s(*&]*((?:struct\s+|union\s+)?[A-Za-z_]\w*(?:(?:->|\.)\w+|\[[^\]]*\])*)[\s)]*(?:/[/*].*)?",
    re.DOTALL,
)
_BRACKETS = re.compile(rb"\[[^\]]*\]")
_BACKSLASH, _NEW_LINE = b"\\\n"
_TAGGED = frozenset((b"struct", b"union", b"enum"))
_UNDEFINED = re.compile(rb"#\s*undef\s+(\w+)")
# The text before the braces of an initializer.
_OF_FIELD = re.compile(rb"((?:\.\s*\w+\s*(?:\[[^\]]*\]\s*)*)+)=\s*$")
_OF_NAME = re.compile(rb"(\w+)\s*(?:\[[^\]=;]*\]\s*)*(?:__\w+(?:\([^()]*\))?\s*)*=\s*$")
_OF_CAST = re.compile(rb"\(\s*(?:const\s+)?((?:struct\s+|union\s+)?\w+)\s*(?:\[[^\]]*\])?\s*\)\s*$")
_QUOTED = re.compile(r"comment|string|char")
_BEFORE = 200  # the number of bytes before the brace to match


# The match starts at the sign and checks the text before it afterwards: this is seven times as fast
# as matching from the start of the line.
_CONTINUED = re.compile(rb"#[ \t]*define\b(?:[^\n\\]|\\(?!\n))*\\\n(?:[^\n]*\\\n)*[^\n]*")
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*?(?=\\?$)", re.DOTALL | re.MULTILINE)
# A macro before a declaration or condition, or at the end of a line. The pattern starts with a
# capital letter, which is fast, and checks the text before it with a lookbehind.
_DECLARED = (
    rb"\s+(?:[A-Z][A-Z0-9_]{2,}\s+)*(?:inline|static|extern|constexpr|auto|void|int|char|bool|unsigned"
    rb"|signed|struct|union|enum|double|float|long|short|explicit|virtual|template|class|friend"
    rb"|typedef|namespace|using)\b|\s+~"
    # `PUBLIC type name;`, `PUBLIC std::list<type> name();`
    rb"|[ \t]+(?!const\b|volatile\b|restrict\b)[A-Za-z_](?:\w|::)*(?:<[^;(){}\n]*>)?"
    rb"(?:[ \t]*[*&]+[ \t]*|[ \t]+)"
    rb"[A-Za-z_]\w*[ \t]*[;(=\[]"
)
_DECLARES = re.compile(_DECLARED)
_ATTRIBUTE = re.compile(
    rb"[A-Z](?<!\w[A-Z])(?:[A-Z0-9_]{2,}(?=" + _DECLARED + rb"|[ \t]*(?:\n|$))"
    rb"|(?<=\bif [A-Z])[A-Z0-9_]{2,}(?=[ \t]*\())"  # `if MAYBE_CONSTEXPR (…)`
)
_LINE_END = re.compile(rb"[ \t]*(?:\n|$)")
_INKED = re.compile(rb"[^\s\\]")


def clean(source: bytes) -> bytes:
    """Blank out text that the grammar parses wrongly: comments inside macros, which it takes for
    the end of the macro, and macros before declarations."""

    def blank(comment: re.Match[bytes]) -> bytes:
        return _INKED.sub(b" ", comment.group())

    text = bytearray(source)
    at = 0
    while (macro := _CONTINUED.search(source, at)) is not None:
        start, at = macro.span()
        if source[source.rfind(b"\n", 0, start) + 1 : start].strip(b" \t"):
            at = start + 1  # it is not at the start of the line
        else:
            text[start:at] = _COMMENT.sub(blank, macro.group())
    for start, end in _macros_before(source):
        text[start:end] = b" " * (end - start)
    return bytes(text)


@functools.lru_cache(maxsize=1)  # called twice per text, and slow
def _macros_before(source: bytes) -> list[tuple[int, int]]:
    """Return macros before declarations and conditions, and macros alone on a line."""
    found = []
    for macro in _ATTRIBUTE.finditer(source):
        start, end = macro.span()
        begins_line = not start or source[start - 1] == _NEW_LINE
        alone = _LINE_END.match(source, end) is not None
        if alone and not begins_line and not _DECLARES.match(source, end):
            continue
        if not _in_directive(source, start):
            found.append((start, end))
    return found


def _in_directive(source: bytes, at: int) -> bool:
    """Return True if an offset is in a preprocessor directive."""
    start = source.rfind(b"\n", 0, at) + 1
    while start > 1 and source[start - 2] == _BACKSLASH:
        start = source.rfind(b"\n", 0, start - 1) + 1
    return source[start:at].lstrip().startswith(b"#")


def prepare(extraction: Extraction) -> None:
    """Add function scopes, included files, casts, and identifiers in macros."""
    for node in extraction.captured.get("misread", ()):
        # A type after a macro: `PUBLIC int_t name = …`.
        extraction.flags.pop(node.start_byte, None)
    add_functions(extraction)
    read(extraction)


def read(extraction: Extraction) -> None:
    """Add included files, casts, and identifiers in macros."""
    for node in extraction.captured.get("include", ()):
        text = extraction.text(node)
        extraction.stars.append(text if text[:1] == "<" else text.strip('"'))
    for node in extraction.captured.get("cast", ()):
        cast_type = type_text_of(extraction, field(node, "type", "type"))
        extraction.chains.casts[node.start_byte] = cast_type
    for node in extraction.captured.get("text", ()):
        _read_macro(extraction, node.start_byte, node.end_byte)
    for at, end in _macros_before(extraction.source):
        around = extraction.roots[0].descendant_for_byte_range(at, end)
        if around is not None and not _QUOTED.search(around.type):
            extraction.tokens.append((at, end))
    for node in extraction.captured.get("directive", ()):
        undefined = _UNDEFINED.match(extraction.source, node.start_byte, node.end_byte)
        if undefined:
            extraction.tokens.append(undefined.span(1))
            extraction.flags[undefined.start(1)] = MENTIONED


def add_functions(extraction: Extraction) -> None:
    """Add a scope for each function, from its parameters on, so that its name is outside."""
    functions: dict[int, LexicalScope] = {}
    inside = {node.start_byte for node in extraction.captured.get("inside", ())}
    for node in extraction.captured.get("function", ()):
        parameters = name = None
        part = node.child_by_field_name("declarator")
        while part is not None:
            if part.type == "function_declarator":
                parameters = part.child_by_field_name("parameters")
                name = part.child_by_field_name("declarator")
            inner = part.child_by_field_name("declarator")
            if inner is None and part.type.endswith("_declarator") and part.named_children:
                inner = part.named_children[-1]
            part = inner
        if parameters is not None and name is not None:
            start = parameters.start_byte
            label = extraction.text(name)
            functions[start] = LexicalScope(start, node.end_byte, 0, "function", label)
    scopes = [
        scope
        for scope in extraction.scopes
        if scope.kind != "prototype" or (scope.start not in functions and scope.start not in inside)
    ]
    first, *rest = [*scopes, *functions.values()]
    extraction.scopes = [first, *sorted(rest, key=lambda scope: (scope.start, -scope.end))]
    extraction.link_scopes()


def _read_macro(extraction: Extraction, start: int, end: int) -> None:
    source, flags = extraction.source, extraction.flags
    keyword, behind = b"", 0
    for token in _TOKEN.finditer(source, start, end):
        word = token.group(1)
        if word is None:
            continue
        at = token.start(1)
        if word in KEYWORDS:
            keyword, behind = word, token.end(1)
            continue
        extraction.tokens.append((at, token.end(1)))
        if keyword and source[behind:at].isspace():
            if keyword in _TAGGED:
                flags[at] = TAG
            elif keyword == b"namespace":  # `#define BEGIN namespace a {`
                flags[at] = BINDS
        keyword = b""


def collect(extraction: Extraction) -> None:
    """Add declared types, file-private names, and members of unnamed members."""
    declare(extraction)
    extraction.private += map(extraction.text, extraction.captured.get("enumerator", ()))
    describe(extraction)


def describe(extraction: Extraction) -> None:
    """Add members of unnamed members, initialized objects, and the text of macros."""
    for node in extraction.captured.get("anonymous", ()):
        around = extraction.scope_at(node.start_byte - 1)
        extraction.bases.setdefault(around, []).append(expressions.unnamed_at(node.start_byte))
    _initializers(extraction)
    extraction.each("alias", _alias)


def _alias(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the text of a macro without parameters, if it is a chain of names or a struct."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    assert name is not None
    assert value is not None
    body = _ALIAS.fullmatch(extraction.source, value.start_byte, value.end_byte)
    if body is None:
        return
    text = _BRACKETS.sub(b"", body.group(1)).replace(b"->", b".").decode("utf-8", "replace")
    is_type = text.startswith(("struct ", "union "))
    text = text.replace("union ", "struct ")
    source = expressions.declared(text) if is_type else expressions.assigned(text)
    key = expressions.macro_key(extraction.text(name))
    extraction.types.setdefault(0, {}).setdefault(key, source)


def declare(extraction: Extraction) -> None:
    """Add the type of each declared name."""
    declarations = extraction.captured.get("declaration", [])
    around: list[tuple[int, int, str, str]] = []  # end, end of the type, type, storage class
    following = 0
    for node in extraction.captured.get("declared", ()):
        at = node.start_byte
        while following < len(declarations) and declarations[following].start_byte <= at:
            declaration = declarations[following]
            following += 1
            if declaration.end_byte <= at:
                continue
            while around and around[-1][0] <= declaration.start_byte:
                around.pop()
            around.append(_declaration(extraction, declaration))
        while around and around[-1][0] <= at:
            around.pop()
        if not around or at < around[-1][1]:
            continue
        _, _, type_text, storage = around[-1]
        if type_text in ("auto", "const auto", "__auto_type"):
            source = _assigned(extraction, node)
        else:
            source = expressions.declared(type_text) if type_text else ""
        _learn(extraction, node, type_text, source, storage)


def _declaration(extraction: Extraction, node: tree_sitter.Node) -> tuple[int, int, str, str]:
    kind = node.child_by_field_name("type")
    if kind is None:
        return node.end_byte, node.start_byte, "", ""
    if node.type == "type_definition":
        storage = "typedef"
    else:
        storage = ""
        if kind.start_byte > node.start_byte:
            words = extraction.source[node.start_byte : kind.start_byte].split()
            storage = next((word for word in ("static", "extern") if word.encode() in words), "")
    return node.end_byte, kind.end_byte, type_text_of(extraction, kind), storage


def _learn(
    extraction: Extraction, node: tree_sitter.Node, type_text: str, source: str, storage: str
) -> None:
    scope, name = extraction.scope_at(node.start_byte), extraction.text(node)
    while extraction.scopes[scope].kind == "template":
        scope = extraction.scopes[scope].parent
    kind = extraction.scopes[scope].kind
    if storage == "typedef":
        extraction.aliases[name] = type_text
        extraction.private.append(name)
        return
    if storage == "static" and kind in ("module", "namespace"):
        extraction.private.append(name)
    elif storage == "extern" and kind in ("function", "block"):
        # Its meaning is only known outside.
        extraction.flags.pop(node.start_byte, None)
        return
    if source:
        extraction.types.setdefault(scope, {}).setdefault(name, source)


def _assigned(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the value of `auto name = …`."""
    parent = node.parent
    while parent is not None and parent.type.endswith("_declarator"):
        value = parent.child_by_field_name("value")
        if value is not None:
            value_text = extraction.chains.describe(value.start_byte, value.end_byte)
            return expressions.assigned(value_text) if value_text else ""
        parent = parent.parent
    if parent is not None and parent.type == "for_range_loop":
        items = parent.child_by_field_name("right")
        if items is not None:
            text = extraction.chains.describe(items.start_byte, items.end_byte)
            return expressions.assigned(expressions.item(text)) if text else ""
    return ""


def type_text_of(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    """Return the name of a type, with `struct ` before a tag.

    Unnamed structs become ``{12``, with the offset of their members; types without members, "".
    """
    if node is None or node.type in ("primitive_type", "sized_type_specifier", "enum_specifier"):
        return ""
    if node.type in ("struct_specifier", "union_specifier", "class_specifier"):
        name = node.child_by_field_name("name")
        if name is None:
            return expressions.unnamed_at(node.start_byte)
        return f"struct {extraction.text(name)}"
    return extraction.text(node)


def _initializers(extraction: Extraction) -> None:
    """Add the objects that braces with named fields initialize: `struct a b = {.c = …}`."""
    source = extraction.source
    around: list[tuple[int, str]] = []
    for node in extraction.captured.get("list", ()):
        start = node.start_byte
        while around and around[-1][0] <= start:
            around.pop()
        outer = around[-1][1] if around else ""
        value = _initialized(source[max(0, start - _BEFORE) : start], outer)
        around.append((node.end_byte, value))
        scope = extraction.scope_at(start)
        initializer = extraction.scopes[scope]
        if value and initializer.kind == "initializer" and initializer.start == start:
            extraction.types.setdefault(scope, {})[expressions.INITIALIZED] = value
    for node in extraction.captured.get("offset", ()):
        cast_type = type_text_of(extraction, field(node, "type", "type"))
        types = extraction.types.setdefault(extraction.scope_at(node.start_byte), {})
        types[expressions.INITIALIZED] = expressions.assigned(expressions.cast(cast_type))


def _initialized(before: bytes, outer: str) -> str:
    end = before.rstrip()[-1:]  # each search takes longer than this
    field = _OF_FIELD.search(before) if end == b"=" else None
    if field:
        names = _BRACKETS.sub(b"", b"".join(field.group(1).split()))
        return outer + names.decode("utf-8", "replace") if outer else ""
    cast = _OF_CAST.search(before) if end == b")" else None
    if cast:
        return expressions.assigned(expressions.cast(cast.group(1).decode()))
    if outer:
        return outer
    name = _OF_NAME.search(before) if end == b"=" else None
    return expressions.assigned(name.group(1).decode("utf-8", "replace")) if name else ""


# --- resolving -----------------------------------------------------------------------------


def module(view: SymbolView, includer: str, name: str) -> str | None:
    """Return the file that `#include` resolves to."""
    name = name.strip("<>")
    beside = os.path.normpath(f"{includer.rpartition('/')[0]}/{name}").replace(os.sep, "/")
    if view.file(beside):
        return beside
    found = [file.path for file in view.files_ending(name.lstrip("./"))]
    if not found:
        return None
    return min(found, key=lambda path: (-shared_folders(path, includer), len(path), path))


RULES = Rules(module=module, linkage=True)
