"""Bind names in C++: everything from C, and namespaces, classes with bases, templates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from winnow.symbols import expressions
from winnow.symbols.file_symbols import DEFINES, QUALIFIES, WRITTEN, Import
from winnow.symbols.resolve.rules import Rules
from winnow.symbols.scopes import c, macros

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

TOKENS = (
    c.SHARED
    + """
(namespace_identifier) @identifier
(this) @identifier
(namespace_definition name: (namespace_identifier) @bind)
(namespace_definition) @scope.namespace
(class_specifier name: (type_identifier) @tag)
(class_specifier name: (type_identifier) @bind body: (_))
(class_specifier name: (template_type name: (type_identifier) @tag))
(class_specifier name: (template_type name: (type_identifier) @bind) body: (_))
(struct_specifier name: (template_type name: (type_identifier) @tag))
(struct_specifier name: (template_type name: (type_identifier) @bind) body: (_))
(class_specifier body: (_)) @scope.class
(enum_specifier ["class" "struct"] body: (_)) @scope.class
(base_class_clause) @bases
(reference_declarator (identifier) @bind @declared)
(reference_declarator (field_identifier) @member @declared)
(structured_binding_declarator (identifier) @bind)
(optional_parameter_declaration declarator: (identifier) @parameter @declared)
(variadic_declarator (identifier) @bind @declared)
(type_parameter_declaration (type_identifier) @parameter)
(optional_type_parameter_declaration name: (type_identifier) @parameter)
(variadic_type_parameter_declaration (type_identifier) @parameter)
(for_range_loop declarator: (identifier) @bind @declared)
(for_range_loop) @scope.block @declaration
(optional_parameter_declaration) @declaration
(alias_declaration name: (type_identifier) @bind)
(alias_declaration) @type.alias
(using_declaration) @using
(namespace_alias_definition name: (namespace_identifier) @bind)
(namespace_alias_definition) @namespace.alias
(field_initializer (field_identifier) @key @initialized)
(qualified_identifier scope: [
  (namespace_identifier) @qualifies (template_type name: (type_identifier) @qualifies)])
(function_declarator declarator: (destructor_name (identifier) @destructor))
(qualified_identifier name: (destructor_name (identifier) @destructor))
(template_declaration) @scope.template
(lambda_expression) @scope.function
(lambda_expression declarator: (_ parameters: (parameter_list) @inside))
(catch_clause) @scope.block
(catch_clause parameters: (parameter_list) @inside)
(template_argument_list) @typearguments
(call_expression function: (template_function)) @made
(call_expression function: (qualified_identifier name: (template_function))) @made
(call_expression function: (qualified_identifier scope: (template_type))) @made
(call_expression function: (qualified_identifier
  name: (qualified_identifier scope: (template_type)))) @made
"""
)
# Flags of captures that only C++ has.
FLAGS = {"initialized": WRITTEN, "qualifies": QUALIFIES, "destructor": DEFINES}
# Functions that return an object of the type in brackets, or a pointer to it.
_MADE = re.compile(rb"[\w:]*(?:_cast|make_unique|make_shared)\s*<\s*(?:const\s)?(.*)>$", re.DOTALL)
_TEMPLATE = re.compile(rb"([\w:]+\s*<.*>)\s*::", re.DOTALL)
_ARGUMENTS = re.compile(r"<[^<>]*>")


def prepare(extraction: Extraction) -> None:
    """Do the same as for C, and add names taken from namespaces."""
    for node in extraction.captured.get("misread", ()):
        extraction.flags.pop(node.start_byte, None)
    c.add_functions(extraction)
    extraction.scopes = [
        msgspec.structs.replace(scope, name=_plain(scope.name)) if "<" in scope.name else scope
        for scope in extraction.scopes
    ]
    for capture, flag in FLAGS.items():
        for node in extraction.captured.get(capture, ()):
            extraction.flags[node.start_byte] |= flag
    extraction.chains.pointed = b"[]"
    for node in extraction.captured.get("made", ()):
        _make(extraction, node)
    c.read(extraction)
    macros.read(extraction)
    extraction.each("using", _using)
    for node in extraction.captured.get("namespace.alias", ()):
        name = node.child_by_field_name("name")
        if name is not None and node.named_children[-1] != name:
            scope = extraction.scope_at(node.start_byte)
            module = extraction.text(node.named_children[-1])
            local = extraction.text(name)
            extraction.imports.append(Import(local, module, "", scope, name.start_byte))


def _make(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Record a call such as `static_cast<A*>(b)` or `std::make_shared<A>()` as a value of type A,
    and the type before `::` of `Pointer<A>::create()`."""
    function = node.child_by_field_name("function")
    assert function is not None
    start, end = function.byte_range
    if made := _MADE.match(extraction.source, start, end):
        extraction.chains.know(start, node.end_byte, expressions.cast(made[1].decode()))
    elif template := _TEMPLATE.match(extraction.source, start, end):
        extraction.chains.know(start, template.end(1), expressions.cast(template[1].decode()))


def _plain(name: str) -> str:
    """Return a name without template arguments."""
    while name != (name := _ARGUMENTS.sub("", name)):
        pass
    return "".join(name.split())


def _using(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add `using namespace a` as an import without a name, and `using a::b` as one of b."""
    scope = extraction.scope_at(node.start_byte)
    name = extraction.text(node.named_children[-1])
    if any(child.type == "namespace" for child in node.children):
        extraction.imports.append(Import("", name, "", scope, node.start_byte))
        return
    module, _, local = name.rpartition("::")
    extraction.imports.append(Import(local, module, local, scope, node.start_byte))


def collect(extraction: Extraction) -> None:
    """Do the same as for C, and add bases and type aliases."""
    c.declare(extraction)
    c.describe(extraction)
    extraction.each("bases", _bases)
    for node in extraction.captured.get("type.alias", ()):
        name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is not None and kind is not None:
            extraction.aliases[extraction.text(name)] = extraction.text(kind)
    # Types have linkage in C++.
    extraction.private = [
        name_text for name_text in extraction.private if name_text not in extraction.aliases
    ]


def _bases(extraction: Extraction, node: tree_sitter.Node) -> None:
    around = node.parent
    body = around.child_by_field_name("body") if around is not None else None
    if body is None:
        return
    extraction.bases.setdefault(extraction.scope_at(body.start_byte), []).extend(
        extraction.text(child)
        for child in node.named_children
        if child.type in ("type_identifier", "qualified_identifier", "template_type")
    )


# --- resolving -----------------------------------------------------------------------------

RULES = Rules(
    module=c.module,
    linkage=True,
    members_bare="always",
)
