"""Find the classes that JavaScript writes without `class`, by assigning their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import DEFINES, MEMBER, ROLE, STATIC, LexicalScope
from winnow.symbols.scopes.nodes import field

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction


def add_assigned_classes(extraction: Extraction) -> None:
    """Add classes that JavaScript writes without `class`: constructor functions, `A.prototype.b =
    …`, and members that are assigned to a function or an object, `A.b = …`."""
    captured, flags = extraction.captured, extraction.flags
    parts: list[LexicalScope] = []
    made: set[str] = set()
    for node in captured.get("assignment.member", ()):
        member = _assigned_member(extraction, node)
        if member is None:
            continue
        owner, at, static = member
        if not static:
            made.add(owner)
        flags[at] |= MEMBER | (STATIC if static else 0)
        parts.append(LexicalScope(at, node.end_byte, 0, "part", owner))
    for node in captured.get("assignment.object", ()):
        left, value = field(node, "left"), field(node, "right")
        if left is None or value is None or not extraction.text(left).endswith(".prototype"):
            continue
        owner = extraction.text(left).removesuffix(".prototype")
        made.add(owner)
        parts.append(LexicalScope(value.start_byte, value.end_byte, 0, "part", owner))
        for child in value.named_children:
            name = field(child, "key") or field(child, "name")
            if name is not None and name.type == "property_identifier":
                flags[name.start_byte] = flags[name.start_byte] & ~ROLE | MEMBER | DEFINES
    functions = _makers(extraction, made)
    if parts or functions:
        scopes = [
            scope for scope in extraction.scopes for scope in (*functions.get(scope, ()), scope)
        ]
        extraction.scopes = sorted([*scopes, *parts], key=lambda scope: (scope.start, -scope.end))
        extraction.link_scopes()


def _assigned_member(
    extraction: Extraction, node: tree_sitter.Node
) -> tuple[str, int, bool] | None:
    """Return A, the offset of b, and whether b is static, for `A.prototype.b = …` and `A.b = …`."""
    owner, name = field(node, "left", "object"), field(node, "left", "property")
    if owner is None or name is None:
        return None
    text = extraction.text(owner)
    if text.endswith(".prototype"):
        return text.removesuffix(".prototype"), name.start_byte, False
    around = node.parent.parent if node.parent is not None else None
    if around is None or around.type != "program" or owner.type != "identifier":
        return None
    return None if text in ("exports", "module") else (text, name.start_byte, True)


def _makers(extraction: Extraction, made: set[str]) -> dict[LexicalScope, list[LexicalScope]]:
    """Return the scopes of constructor functions, each with a scope for its members.

    Constructor functions have a prototype, or write to `this` and have a capitalized name.
    """
    writing = {
        extraction.scopes[number]
        for node in extraction.captured.get("assignment.this", ())
        if (number := extraction.function_around(extraction.scope_at(node.start_byte))) is not None
    }
    found: dict[LexicalScope, list[LexicalScope]] = {}
    starts = {scope.start: scope for scope in extraction.scopes if scope.kind == "function"}
    for node in extraction.captured.get("function", ()):
        if node.type not in ("function_declaration", "function_expression"):
            continue
        named, around = field(node, "name"), node.parent
        first = field(node, "parameters") if named is not None else node
        if around is not None and around.type == "variable_declarator":
            named = field(around, "name")
        scope = starts.get(first.start_byte) if first is not None else None
        if named is None or scope is None:
            continue
        text = extraction.text(named)
        if text in made or (scope in writing and text[:1].isupper()):
            found[scope] = [LexicalScope(scope.start, scope.end, 0, "class", text)]
    return found
