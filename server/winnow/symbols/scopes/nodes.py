"""Read parts of syntax trees that may be missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter


def field(node: tree_sitter.Node | None, *names: str) -> tree_sitter.Node | None:
    """Return the node in a field of a node, or of the node in that field, and so on."""
    for name in names:
        if node is None:
            return None
        node = node.child_by_field_name(name)
    return node


def with_fields(
    nodes: Iterable[tree_sitter.Node], *names: str
) -> Iterator[tuple[tree_sitter.Node, ...]]:
    """Yield the nodes in these fields, of the nodes that have all of them."""
    for node in nodes:
        found = [child for name in names if (child := node.child_by_field_name(name)) is not None]
        if len(found) == len(names):
            yield tuple(found)
