"""Read parts of syntax trees that may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter


def field(node: tree_sitter.Node | None, *names: str) -> tree_sitter.Node | None:
    """Return the node in a field of a node, or of the node in that field, and so on."""
    for name in names:
        if node is None:
            return None
        node = node.child_by_field_name(name)
    return node
