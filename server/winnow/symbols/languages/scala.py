"""Scala, 2 and 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import IN_TYPE
from winnow.symbols.language import Language, hidden_by

if TYPE_CHECKING:
    from winnow.symbols.extract.extraction import Extraction


def _values(around: str, kind: str) -> str:
    """Return patterns for values directly inside a node type."""
    return "".join(
        f"({around} ({node} {name}) @definition.{kind})\n"
        for node in ("val_definition", "var_definition")
        for name in (
            "pattern: (identifier) @name",
            "pattern: (tuple_pattern (identifier) @name)",
            "pattern: (identifiers (identifier) @name)",
        )
    )


DEFINITIONS = (
    """
(package_clause name: (_) @name) @definition.namespace
(package_object name: (_) @name) @definition.object
(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.object
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(simple_enum_case name: (_) @name) @definition.enum_member
(full_enum_case name: (_) @name) @definition.enum_member
(type_definition name: (_) @name) @definition.type
(given_definition name: (_) @name) @definition.object
(extension_definition
  parameters: (parameters (parameter type: (type_identifier) @container))
  (function_definition name: (_) @name) @definition.method)
(extension_definition
  parameters: (parameters (parameter type: (generic_type type: (type_identifier) @container)))
  (function_definition name: (_) @name) @definition.method)
(function_definition name: (identifier) @name (#eq? @name "this")) @definition.constructor
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(val_declaration name: (identifier) @name) @definition.property
(var_declaration name: (identifier) @name) @definition.property
(class_parameter ["val" "var"] name: (_) @name) @definition.property
(class_definition "case" class_parameters: (class_parameters
  (class_parameter name: (_) @name) @definition.property))
(full_enum_case name: (_) @container class_parameters: (class_parameters
  (class_parameter name: (_) @name) @definition.property))
"""
    + _values("compilation_unit", "variable")
    + _values("template_body", "property")
    + _values("with_template_body", "property")
    + _values("enum_body", "property")
)

USES = """
(type_identifier) @type
(instance_expression
  [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(infix_expression operator: (identifier) @call)
(import_declaration (identifier) @import .)
(namespace_selectors (identifier) @import)
(arrow_renamed_identifier name: (identifier) @import)
"""

# What the grammar does not parse: the annotation of a constructor, whose parameters it takes for
# those of the annotation; the type of an implicit parameter in `{ implicit a: A => … }`.
_UNPARSABLE = re.compile(
    rb"@[\w.]+\([^()\r\n]*\)(?=\s*(?:(?:private|protected)(?:\[\w+\])?\s*)?\()"
    rb"|(?<=\{)(?P<before>\s*implicit\s+\w+)(?P<type>\s*:[^={}\r\n]*)(?==>)"
)
_NAME = re.compile(rb"[^\W\d]\w*")


def clean(source: bytes) -> bytes:
    """Return the text without what the grammar does not parse. Offsets stay the same."""
    return _UNPARSABLE.sub(_blank, source)


def _blank(found: re.Match[bytes]) -> bytes:
    before = found["before"] or b""
    return before.ljust(len(found[0]))


def collect(extraction: Extraction) -> None:
    """Add the types that :func:`clean` removes."""
    for found in _UNPARSABLE.finditer(extraction.source):
        group = "type" if found["type"] else 0
        for name in _NAME.finditer(extraction.source, *found.span(group)):
            extraction.more.append((name[0].decode(), name.start(), IN_TYPE))


SCALA = Language(
    name="scala",
    files=(".scala", ".sc", ".sbt"),
    programs=("scala", "amm"),
    definitions=DEFINITIONS,
    uses=USES,
    clean=clean,
    collect=collect,
    exported=hidden_by(r"\bprivate\b"),
    comments=("comment", "block_comment"),
    header=("enum_case_definitions",),
)
