"""Zig."""

from __future__ import annotations

from winnow.symbols.language import Language


def _declared(kind: str, pattern: str) -> str:
    """Return a pattern for a declaration with or without `pub`."""
    return f'("pub"? @first . (Decl {pattern}) @definition.{kind})\n'


def _type(kind: str, value: str) -> str:
    return _declared(
        kind,
        f"""(VarDecl "const" . variable_type_function: (_) @name
    (ErrorUnionExpr . (SuffixExpr . {value} .) .))""",
    )


# The last pattern compares the text with "return", because compiling it with that keyword as a node
# takes a third of a second.
DEFINITIONS = (
    _type("struct", '(ContainerDecl (ContainerDeclType . "struct"))')
    + _type("union", '(ContainerDecl (ContainerDeclType . "union"))')
    + _type("enum", '(ContainerDecl (ContainerDeclType . "enum"))')
    + _type("type", '(ContainerDecl (ContainerDeclType . "opaque"))')
    + _type("enum", "(ErrorSetDecl)")
    + _declared("function", "(FnProto function: (_) @name)")
    + _declared("constant", '(VarDecl "const" . variable_type_function: (_) @name)')
    + _declared("variable", '(VarDecl "var" . variable_type_function: (_) @name)')
    + """
(source_file (ContainerField (doc_comment) @doc field_member: (_) @name) @definition.property)
(source_file (ContainerField field_member: (_) @name) @definition.property)
(ContainerField (doc_comment) @doc field_member: (_) @name) @definition.field
(ContainerField field_member: (_) @name) @definition.field
(ContainerDecl (ContainerDeclType "enum") (ContainerField (doc_comment) @doc
  (ErrorUnionExpr (SuffixExpr . variable_type_function: (IDENTIFIER) @name .)))
  @definition.enum_member)
(ContainerDecl (ContainerDeclType "enum") (ContainerField
  . (ErrorUnionExpr (SuffixExpr . variable_type_function: (IDENTIFIER) @name .)))
  @definition.enum_member (#not-eq? @name "_"))
(ErrorSetDecl field_constant: (IDENTIFIER) @name @definition.enum_member)
(TestDecl (STRINGLITERALSINGLE) @name) @definition.function
(TestDecl (IDENTIFIER) @name) @definition.function
(Decl (FnProto) (Block (Statement ((AssignExpr
  (ErrorUnionExpr . (SuffixExpr . (ContainerDecl) @inside .) .)) @_returned
  (#match? @_returned "^return[^A-Za-z0-9_]")))))
"""
)


def exported(header: str, name: str) -> bool:
    """Return True for `pub` and `export` declarations, and for fields."""
    header = header.rpartition("\n")[2].strip()
    return not header or header.startswith(("pub", "export"))


ZIG = Language(
    name="zig",
    files=(".zig", ".zon"),
    definitions=DEFINITIONS,
    exported=exported,
    comments=("line_comment", "doc_comment"),
    # Of `"name"` and `@"name"`, what is in quotes.
    name_part=r'(?<=")(?:[^"\\]|\\.)+|^[^@"]+',
)
