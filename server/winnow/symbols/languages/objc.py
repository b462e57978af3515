"""Objective-C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import ATTRIBUTE, CALLED
from winnow.symbols.language import STATEMENTS, Language, hidden_by
from winnow.symbols.languages import c

if TYPE_CHECKING:
    from winnow.symbols.extract.extraction import Extraction

_DECLARATOR = f"(struct_declaration (struct_declarator {c.wrapped('(identifier) @name')}))"

DEFINITIONS = (
    f"""
(class_interface . (identifier) @name "(") @skipped.class
(class_interface . (identifier) @name "(") @inside
(class_interface . (identifier) @name) @definition.class
(class_implementation . (identifier) @name) @inside
(protocol_declaration . (identifier) @name) @definition.interface
(method_declaration (method_type) . (identifier) @name) @declaration.method
(method_definition (method_type) . (identifier) @name) @definition.method
(property_declaration {_DECLARATOR}) @definition.property
(instance_variable {_DECLARATOR}) @definition.field
"""
    + c.DEFINITIONS
)

_LOCAL = c.wrapped("(identifier) @local")
USES = f"""
(type_identifier) @type
(class_interface (identifier) @type)
(class_interface superclass: (identifier) @type)
(class_implementation . (identifier) @type)
(class_declaration (identifier) @type)
(protocol_reference_list (identifier) @type)
(call_expression function: (identifier) @call)
(message_expression . (_) . method: (identifier) @call) @message
(class_implementation . (identifier) @part)
(class_interface . (identifier) @part "(")
(class_interface superclass: (identifier) @base)
(class_interface (parameterized_arguments (type_name (type_identifier) @base)))
(protocol_declaration (protocol_reference_list (identifier) @base))
(declaration declarator: [(init_declarator declarator: {_LOCAL}) {_LOCAL}])
(parameter_declaration declarator: {_LOCAL})
(method_parameter (identifier) @local)
[(compound_statement) (for_statement) (block_literal) (function_definition) (method_definition)
 (method_declaration)] @block
"""

# Macros that the grammar takes for parts of the declaration below.
_BRACKET = re.compile(rb"^[ \t]*[A-Z][A-Z_]*_(?:BEGIN|END)\b[^\n;]*$", re.MULTILINE)
# `typedef NS_ENUM(NSInteger, Mode)`
_ENUM = re.compile(
    rb"\b(?:typedef[ \t]+)?[A-Z]{2,}(?:_[A-Z]+)*_(?:ENUM|OPTIONS)\([^,()]*,[ \t]*(?=(\w+)(\)))"
)
_NOT_LINE_END = re.compile(rb"[^\r\n]")


def clean(source: bytes) -> bytes:
    """Return the text with macros of Apple's frameworks replaced by C. Offsets stay the same."""
    source = _BRACKET.sub(lambda found: _NOT_LINE_END.sub(b" ", found[0]), source)
    cleaned = bytearray(source)
    for found in _ENUM.finditer(source):
        cleaned[found.start() : found.end()] = b"enum".ljust(found.end() - found.start())
        cleaned[found.start(2) : found.end(2)] = b" "
    return bytes(cleaned)


def prepare(extraction: Extraction) -> None:
    """Mark the first part of a selector as a member of its receiver."""
    for message in extraction.captured.get("message", ()):
        receiver, method = (
            message.child_by_field_name("receiver"),
            message.child_by_field_name("method"),
        )
        if receiver is not None and method is not None:
            extraction.flags[method.start_byte] = ATTRIBUTE | CALLED
            name = extraction.text(receiver) if receiver.type == "identifier" else "?"
            extraction.owners[method.start_byte] = name.encode()


OBJECTIVE_C = Language(
    name="objc",
    files=(".m", ".mm"),
    definitions=DEFINITIONS,
    uses=USES,
    clean=clean,
    prepare=prepare,
    reserved=STATEMENTS,
    exported=hidden_by(r"\bstatic\b"),
    kind=c.kind,
    flat=True,
)
