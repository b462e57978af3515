"""Find the type that an object, a pattern or a parameter is expected to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.scopes.nodes import field
from winnow.symbols.scopes.typescript.written_types import as_step, cast_type, type_text

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

FUNCTIONS = frozenset(
    (
        "arrow_function", "function_expression", "function_declaration", "method_definition",
        "generator_function_declaration",
    )
)  # fmt: skip
# List methods that call a function with each item, and the parameter that receives it.
_EACH = {
    "forEach": 0, "map": 0, "filter": 0, "find": 0, "findIndex": 0, "findLast": 0, "some": 0,
    "every": 0, "flatMap": 0, "sort": 0, "reduce": 1, "reduceRight": 1,
}  # fmt: skip
Context = tuple[int, int, str]
NO_CONTEXT: Context = (0, 0, "")


def expected(extraction: Extraction, node: tree_sitter.Node, depth: int = 0) -> Context:
    """Return the type that is expected of an object, a pattern or a function at its position."""
    if node.type.startswith("jsx_"):
        return context_of(extraction, field(node, "name"), expressions.argument("", 0))
    parent = node.parent
    if parent is None or depth > 12:
        return NO_CONTEXT
    kind = parent.type
    if kind in ("parenthesized_expression", "ternary_expression", "assignment_pattern"):
        return expected(extraction, parent, depth + 1)
    if kind in ("variable_declarator", "public_field_definition"):
        declared, value = field(parent, "type"), field(parent, "value")
        if declared is not None:
            return _declared(extraction, declared)
        return context_of(extraction, None if value == node else value, "")
    if kind in ("required_parameter", "optional_parameter"):
        declared = field(parent, "type")
        if declared is not None:
            return _declared(extraction, declared)
        return _parameter_expected(extraction, parent, depth)
    if kind == "formal_parameters":
        return _parameter_expected(extraction, node, depth)
    if kind in ("as_expression", "satisfies_expression"):
        return _cast_to(cast_type(extraction, parent))
    if kind == "assignment_expression":
        left, right = field(parent, "left"), field(parent, "right")
        assigned_from = left if right is not None and right.id == node.id else right
        return context_of(extraction, assigned_from, "")
    if kind == "arguments":
        called = field(parent.parent, "function") or field(parent.parent, "constructor")
        return context_of(extraction, called, expressions.argument("", _index(node)))
    if kind in ("pair", "pair_pattern") and parent.parent is not None:
        key = field(parent, "key")
        start, end, rest = extraction.contexts.get(parent.parent.start_byte, NO_CONTEXT)
        if key is None or key.type != "property_identifier" or not (end or rest):
            return NO_CONTEXT
        return start, end, expressions.member(rest, extraction.text(key))
    if kind == "array":
        start, end, rest = expected(extraction, parent, depth + 1)
        return (start, end, expressions.item(rest)) if end or rest else NO_CONTEXT
    if kind == "for_in_statement":
        return context_of(extraction, field(parent, "right"), expressions.item(""))
    if kind in ("return_statement", "arrow_function"):
        return _return_expected(extraction, parent)
    return NO_CONTEXT


def _cast_to(declared: str) -> Context:
    return (0, 0, expressions.cast(declared)) if declared else NO_CONTEXT


def _declared(extraction: Extraction, node: tree_sitter.Node | None) -> Context:
    return _cast_to(as_step(type_text(extraction, node)))


def _index(node: tree_sitter.Node) -> int:
    """Return the index of a node among the named children of its parent."""
    siblings = node.parent.named_children if node.parent is not None else ()
    return next((index for index, sibling in enumerate(siblings) if sibling.id == node.id), 0)


def context_of(extraction: Extraction, node: tree_sitter.Node | None, rest: str) -> Context:
    """Return the context for the type of an expression, with a suffix."""
    if node is not None and node.type in ("as_expression", "satisfies_expression"):
        if declared := cast_type(extraction, node):
            return _cast_to(declared)
        node = node.named_children[0]
    return (node.start_byte, node.end_byte, rest) if node is not None else NO_CONTEXT


def _return_expected(extraction: Extraction, node: tree_sitter.Node) -> Context:
    function: tree_sitter.Node | None = node
    while function is not None and function.type not in FUNCTIONS:
        function = function.parent
    return _declared(extraction, field(function, "return_type"))


def _parameter_expected(extraction: Extraction, parameter: tree_sitter.Node, depth: int) -> Context:
    """Return the context of a parameter without a type: what its function is expected to accept."""
    function = parameter.parent.parent if parameter.parent is not None else None
    if function is None:
        return NO_CONTEXT
    return passed(extraction, function, _index(parameter), depth)


def passed(extraction: Extraction, function: tree_sitter.Node, index: int, depth: int) -> Context:
    """Return the context of the argument at an index that a function value receives."""
    if function.type not in ("arrow_function", "function_expression"):
        return NO_CONTEXT
    around = function.parent
    call = around.parent if around is not None and around.type == "arguments" else None
    called = field(call, "function")
    if called is not None and called.type == "member_expression":
        method, owner = field(called, "property"), field(called, "object")
        name = extraction.text(method) if method is not None else ""
        if name in _EACH and (index == _EACH[name] or name == "sort"):
            return context_of(extraction, owner, expressions.item(""))
        if name == "then" and index == 0:
            return context_of(extraction, owner, "")
    start, end, rest = expected(extraction, function, depth + 1)
    return (start, end, expressions.argument(rest, index)) if end or rest else NO_CONTEXT
