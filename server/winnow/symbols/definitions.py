"""Definitions: what the matches of a language's query say, nested, with signatures and docs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.symbols.facts import CLASSES, Definition

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.language import Language

SIGNATURE_CHARACTERS = 300
DOC_CHARACTERS = 600
# Kinds in whose bodies definitions are local.
FUNCTIONS = frozenset(("function", "method", "constructor"))
# Where a definition's header ends: the node types of bodies, in all grammars.
_BODY = re.compile(r"body|block|_list$|compound_statement")
_BLANK = re.compile(r"\s+")
# Signs of comments at the beginning and end of lines, in all languages.
_SIGNS = re.compile(
    r"^\s*(?:/\*\*?!?|\*/|\*|//[/!]?|--\[\[|---?\|?|#+!?|;+|%+|\{-\|?|-\})\s?|\s*(?:\*/|-\}|\]\])\s*$"
)


@dataclass(slots=True)
class _Found:
    """A match, before it is known where it stands."""

    pattern: int
    start: int
    end: int
    kind: str
    declared: bool
    name: tree_sitter.Node
    node: tree_sitter.Node
    doc: tree_sitter.Node | None
    container: str


def find_definitions(
    language: Language, query: tree_sitter.Query, source: bytes, root: tree_sitter.Node
) -> list[Definition]:
    """The definitions of a text, in the order of their beginnings, those around others first."""
    import tree_sitter

    found: dict[int, _Found] = {}
    comments: list[tree_sitter.Node] = []
    for pattern, captures in tree_sitter.QueryCursor(query).matches(root):
        if "comment" in captures:
            comments += captures["comment"]
            continue
        match = _match(pattern, captures, source)
        if match is None:
            continue
        known = found.get(match.name.start_byte)
        if known is None or pattern < known.pattern:
            found[match.name.start_byte] = match
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end, one.name.start_byte))
    docs = _Docs(source, comments)
    return list(_nested(language, ordered, source, docs))


def _match(
    pattern: int, captures: dict[str, list[tree_sitter.Node]], source: bytes
) -> _Found | None:
    whole = next((name for name in captures if name.startswith(("def", "dec", "inside"))), None)
    names = captures.get("name")
    if whole is None or not names:
        return None
    # A pattern that repeats captures several nodes: the name is the last of them.
    node, name = captures[whole][0], names[-1]
    container = captures.get("container")
    return _Found(
        pattern,
        node.start_byte,
        node.end_byte,
        whole.partition(".")[2],
        whole.startswith("declaration"),
        name,
        node,
        captures["doc"][0] if "doc" in captures else None,
        _name(source, container[-1]) if container else "",
    )


def _nested(
    language: Language, found: list[_Found], source: bytes, docs: _Docs
) -> Iterator[Definition]:
    """Definitions with what they are members of; ``found`` begins with what stands around."""
    around: list[tuple[int, str, str, bool]] = []  # end, qualified name, kind, in a function
    for one in found:
        while around and around[-1][0] < one.end:
            around.pop()
        name = _name(source, one.name)
        _, container, above, local = around[-1] if around else (0, "", "", False)
        if one.container:
            container = f"{container}.{one.container}" if container else one.container
            above = "class"
        if not one.kind:  # `@inside`: no definition, but members stand in it
            around.append((one.end, f"{container}.{name}" if container else name, "class", local))
            continue
        kind = one.kind
        if kind == "function" and above in CLASSES:
            kind = "method"
        elif kind == "field" and above not in CLASSES:  # `self.name = …` in a method
            _, container, above, local = next(
                (outer for outer in reversed(around) if outer[2] in CLASSES), around[-1]
            )
        header = _header_node(language, one.node)
        row, column = one.name.start_point
        begin = one.name.start_byte - column
        prefix = source[begin : one.name.start_byte].decode("utf-8", "replace")
        wide = len(prefix) if prefix.isascii() else len(prefix.encode("utf-16-le")) // 2
        signature = _signature(one.node, source)
        definition = Definition(
            name=name,
            kind=kind,
            at=one.name.start_byte,
            start=header.start_byte,
            end=one.end,
            line=row,
            end_line=one.node.end_point[0],
            columns=(column, len(prefix), wide),
            container=container,
            signature=signature,
            doc=docs.of(header.start_point[0], one.doc),
            exported=language.exported(
                source[header.start_byte : one.name.start_byte].decode("utf-8", "replace"), name
            ),
            local=local,
            declared=one.declared,
        )
        yield definition
        around.append((one.end, definition.qualified_name, kind, local or kind in FUNCTIONS))


def _name(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("'\"`")


def _header_node(language: Language, node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with decorators and the like."""
    if language.header:
        while (parent := node.parent) is not None and parent.type in language.header:
            node = parent
    return node


def _signature(node: tree_sitter.Node, source: bytes) -> str:
    """The definition up to its body, on one line."""
    body = node.child_by_field_name("body")
    if body is None:
        body = next((child for child in node.named_children if _BODY.search(child.type)), None)
    if body is not None and body.start_byte > node.start_byte:
        text = source[node.start_byte : min(body.start_byte, node.start_byte + 4_000)]
        header = text.decode("utf-8", "replace").rstrip().rstrip("{:=").rstrip()
    else:
        text = source[node.start_byte : min(node.end_byte, node.start_byte + 4_000)]
        lines = text.decode("utf-8", "replace").strip().splitlines()
        header = lines[0].rstrip(" {,;") if lines else ""
    header = _BLANK.sub(" ", header)
    if len(header) > SIGNATURE_CHARACTERS:
        header = header[: SIGNATURE_CHARACTERS - 1] + "…"
    return header


class _Docs:
    """Comments by the line they end on, as far as nothing else stands before them there."""

    def __init__(self, source: bytes, comments: list[tree_sitter.Node]) -> None:
        self._source = source
        self._comments = {}
        for comment in comments:
            row, column = comment.start_point
            if not source[comment.start_byte - column : comment.start_byte].strip():
                end = comment.end_point[0]
                # Some grammars count the line end as part of a comment.
                if comment.end_point[1] == 0 and end > row:
                    end -= 1
                self._comments[end] = (row, comment.start_byte, comment.end_byte)

    def of(self, row: int, node: tree_sitter.Node | None) -> str:
        """What is said of a definition that begins on this line, without comment signs."""
        if node is not None:
            return _short(_unquoted(self._source[node.start_byte : node.end_byte]))
        texts: list[str] = []
        while (comment := self._comments.get(row - 1)) is not None and len(texts) < 50:
            row, start, end = comment
            texts.insert(0, self._source[start:end].decode("utf-8", "replace"))
        lines = [_SIGNS.sub("", line) for text in texts for line in text.splitlines()]
        return _short("\n".join(line.strip() for line in lines).strip())


def _unquoted(text: bytes) -> str:
    decoded = text.decode("utf-8", "replace")
    decoded = re.sub(r"^[A-Za-z]{0,2}(\"\"\"|'''|\"|')", "", decoded)
    return "\n".join(
        line.strip() for line in re.sub(r"(\"\"\"|'''|\"|')$", "", decoded).splitlines()
    ).strip()


def _short(text: str) -> str:
    """The first paragraph."""
    first = text.split("\n\n", 1)[0]
    return first if len(first) <= DOC_CHARACTERS else first[: DOC_CHARACTERS - 1] + "…"


def innermost(starts: list[int], ends: list[int], parents: list[int], at: int) -> int:
    """The number of the innermost of nested ranges that holds an offset; ``starts`` is sorted."""
    place = bisect_left(starts, at + 1) - 1
    while place > 0 and ends[place] <= at:
        place = parents[place]
    return max(place, 0)
