"""Swift."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import IN_TYPE
from winnow.symbols.language import Language, hidden_by

if TYPE_CHECKING:
    from winnow.symbols.extract.extraction import Extraction

DEFINITIONS = """
(class_declaration declaration_kind: "class" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "extension" name: (user_type) @name) @inside
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name) @definition.enum_member
(init_declaration name: "init" @name) @definition.constructor
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method
(function_declaration "func" . name: (simple_identifier) @name) @definition.function
(function_declaration "func" . name: _ @name) @definition.operator
(protocol_function_declaration "func" . name: (simple_identifier) @name) @definition.method
(protocol_function_declaration "func" . name: _ @name) @definition.operator
(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property
(class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)
(enum_class_body (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property)
(source_file (property_declaration (value_binding_pattern mutability: "let")
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
(source_file (property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(source_file (property_declaration
  name: (pattern (pattern (simple_identifier) @name))) @definition.variable)
(operator_declaration (custom_operator) @name) @definition.operator
(precedence_group_declaration (simple_identifier) @name) @definition.type
(macro_declaration . (modifiers)? . "macro" . (simple_identifier) @name) @definition.macro
"""

USES = """
(user_type (type_identifier) @type)
(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression
  suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(import_declaration (identifier (simple_identifier) @import .))
(class_declaration declaration_kind: "extension" name: (user_type) @part)
(inheritance_specifier inherits_from: (user_type (type_identifier) @base))
(pattern bound_identifier: (simple_identifier) @local)
(property_declaration name: (pattern (pattern (simple_identifier) @local)))
(if_statement bound_identifier: (simple_identifier) @local)
(guard_statement bound_identifier: (simple_identifier) @local)
(while_statement bound_identifier: (simple_identifier) @local)
(lambda_parameter name: (simple_identifier) @local)
[(statements) (if_statement) (while_statement) (for_statement) (switch_entry) (catch_block)
 (lambda_literal) (function_body)] @block
(value_argument_label (simple_identifier) @keyword)
(parameter external_name: (simple_identifier) @keyword)
"""

# What the grammar does not parse: an attribute of a function in a function, after which it takes
# the rest of the file for one expression; the type of an error that is thrown; underscored macros;
# conditions inside classes and functions.
_UNPARSABLE = re.compile(
    rb"^[ \t]+@([A-Z]\w*)(?=[ \t]+(?:\w+[ \t]+)*func\b)"
    rb"|\bnonisolated\(unsafe\)"
    rb"|(?<=\bthrows)\(([\w.]+)\)"
    rb"|#_(?=[a-z])"
    rb"|^[ \t]*#(?:if|elseif|else|endif)\b[^\r\n]*",
    re.MULTILINE,
)


def clean(source: bytes) -> bytes:
    """Return the text without what the grammar does not parse. Offsets stay the same."""
    return _UNPARSABLE.sub(lambda found: b" " * len(found[0]), source)


def collect(extraction: Extraction) -> None:
    """Add the types that :func:`clean` removes."""
    for found in _UNPARSABLE.finditer(extraction.source):
        group = found.lastindex
        if group is not None:
            before, _, name = found[group].rpartition(b".")
            at = found.start(group) + len(before) + bool(before)
            extraction.more.append((name.decode(), at, IN_TYPE))


SWIFT = Language(
    name="swift",
    files=(".swift",),
    programs=("swift",),
    definitions=DEFINITIONS,
    uses=USES,
    clean=clean,
    collect=collect,
    exported=hidden_by(r"\b(?:file)?private\b(?!\s*\(set\))"),
    comments=("comment", "multiline_comment"),
)
