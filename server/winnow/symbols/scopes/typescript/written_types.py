"""Read the text of declared types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols import expressions

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

# The maximum length of a declared type: longer ones say too little.
TYPE_CHARACTERS = 400
_SPACE = re.compile(r"\s+")


def type_text(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    """Return a declared type on one line, without the colon, or ""."""
    if node is None:
        return ""
    if node.type == "type_annotation":
        if not node.named_children:
            return ""
        node = node.named_children[0]
    if node.type == "object_type":
        return expressions.unnamed(extraction.scope_at(node.start_byte))
    if node.end_byte - node.start_byte > TYPE_CHARACTERS:
        return ""
    text = _SPACE.sub(" ", extraction.text(node)).strip()
    return "" if text == "const" else text


def cast_type(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the type in `x as T`, `x satisfies T` or `<T>x`."""
    children = node.named_children
    declared = children[0] if node.type == "type_assertion" else children[-1]
    if declared.type == "type_arguments" and declared.named_children:
        declared = declared.named_children[0]
    return as_step(type_text(extraction, declared)) if len(children) > 1 else ""


def as_step(declared: str) -> str:
    """Return a type in a form that an expression can contain, or ""."""
    return "" if "=>" in declared or declared.count("<") > 4 else declared
