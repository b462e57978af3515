"""C++."""

from __future__ import annotations

from winnow.symbols.language import STATEMENTS, Language
from winnow.symbols.languages.c import CONSTANT, ENUMERATOR, KEYWORDS, MACROS, unnamed_records
from winnow.symbols.scopes import cpp as scoping
from winnow.symbols.scopes.macros import clean


def _qualified(name: str, depth: int = 3) -> str:
    """Return a pattern for a name after up to ``depth`` scopes (`Scope::`)."""
    inner = f"[{name}]" if depth == 1 else f"[{name} {_qualified(name, depth - 1)}]"
    return f"""(qualified_identifier
      scope: [(namespace_identifier) @container (template_type name: (_) @container)]
      name: {inner})"""


def _wrapped(leaf: str, depth: int) -> str:
    """Return a declarator pattern: the leaf, also inside pointers, references and arrays."""
    if depth == 0:
        return leaf
    inner = _wrapped(leaf, depth - 1)
    return f"""[{leaf} (_ declarator: {inner})
      (parenthesized_declarator {inner}) (reference_declarator {inner})]"""


def _function(name: str) -> str:
    """Return a pattern for function declarators, also inside the declarator of the return type."""
    declarator = f"(function_declarator declarator: [{name}])"
    return f"""[
      {declarator}
      (pointer_declarator declarator: {declarator})
      (pointer_declarator declarator: (pointer_declarator declarator: {declarator}))
      (reference_declarator {declarator})
    ]"""


# Alternatives without brackets: a nested alternation does not match.
_PLAIN = """
  (identifier) @name (field_identifier) @name (destructor_name) @name (operator_name) @name
  (template_function name: (identifier) @name)
"""
_VARIABLE = "(identifier) @name"
_FIELD = "(field_identifier) @name"
_TYPE = "(type_identifier) @name (template_type name: (type_identifier) @name)"


def _records(specifier: str, kind: str) -> str:
    return f"""
({specifier} name: [{_TYPE}] body: (_)) @definition.{kind}
({specifier} name: {_qualified(_TYPE, 2)} body: (_)) @definition.{kind}
(type_definition type: ({specifier} !name body: (_))
  declarator: (type_identifier) @name) @definition.{kind}
"""


def _forwards(place: str) -> str:
    return "\n".join(
        f"({place} ({record}_specifier name: (type_identifier) @name !body) @declaration.{record})"
        for record in ("class", "struct", "union")
    )


DEFINITIONS = (
    f"""
(namespace_definition name: (namespace_identifier) @name) @definition.namespace
(namespace_definition name: (nested_namespace_specifier) @name) @definition.namespace
(friend_declaration (declaration declarator: {_function(_PLAIN)}) @skipped.function)
((function_definition (storage_class_specifier) @hidden
  declarator: {_function("(identifier) @name")}) @definition.function (#eq? @hidden "static"))
(function_definition declarator: {_function(_PLAIN)}) @definition.function
(function_definition declarator: {_function(_qualified(_PLAIN))}) @definition.function
(declaration declarator: {_function(_PLAIN)}) @declaration.function
(field_declaration declarator: {_function(_PLAIN)}) @declaration.function
((declaration (storage_class_specifier) @_extern
  declarator: {_wrapped(_VARIABLE, 2)}) @declaration.variable (#eq? @_extern "extern"))
((declaration (storage_class_specifier) @hidden
  declarator: {_wrapped(_VARIABLE, 2)}) @definition.variable (#eq? @hidden "static"))
(declaration declarator: {_wrapped(_VARIABLE, 3)}) @definition.variable
(declaration declarator: [
  {_qualified(_VARIABLE)} (init_declarator declarator: {_qualified(_VARIABLE)})
]) @definition.variable
(field_declaration declarator: {_wrapped(_FIELD, 3)}) @definition.field
{ENUMERATOR}
{MACROS}
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
"""
    + _records("class_specifier", "class")
    + _records("struct_specifier", "struct")
    + _records("union_specifier", "union")
    + _records("enum_specifier", "enum")
    + unnamed_records("struct_specifier")
    + unnamed_records("union_specifier")
    + _forwards("translation_unit")
    + _forwards("declaration_list")
    + _forwards("preproc_ifdef")
    + _forwards("template_declaration")
    + f"""
(type_definition declarator: {_wrapped("(type_identifier) @name", 3)}) @definition.type
"""
)


def kind(kind: str, header: str, name: str, container: str) -> str:
    """Recognize constructors by the name of their class, and operators, constants and keywords."""
    if name in KEYWORDS:
        return ""
    if kind == "method" and name == container.rpartition(".")[2]:
        return "constructor"
    if kind in ("function", "method") and name.startswith("operator"):
        return "operator"
    is_value = kind == "variable" or (kind == "field" and "static" in header)
    return "constant" if is_value and CONSTANT.search(header) else kind


CPP = Language(
    name="cpp",
    files=(
        *(".cpp", ".cc", ".cxx", ".c++", ".C", ".hpp", ".hh", ".hxx", ".h++", ".H"),
        *(".inl", ".ipp", ".tpp", ".ixx", ".cppm", ".cu", ".cuh", ".ino"),
    ),
    definitions=DEFINITIONS,
    reserved=STATEMENTS | {"catch", "try", "throw"},
    clean=clean,
    tokens=scoping.TOKENS,
    prepare=scoping.prepare,
    collect=scoping.collect,
    rules=scoping.RULES,
    kind=kind,
    skipped=frozenset(("this",)),
    flat=True,
    header=("template_declaration",),
)
