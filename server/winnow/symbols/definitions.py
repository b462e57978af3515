"""Definitions: what the matches of a language's query say, nested, with signatures and docs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from winnow.symbols.facts import CLASSES, Definition

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.language import Language

SIGNATURE_CHARACTERS = 300
DOC_CHARACTERS = 600
# Kinds in whose bodies definitions are local.
FUNCTIONS = frozenset(("function", "method", "constructor"))
# Kinds that may come in several clauses.
CLAUSES = FUNCTIONS | {"macro"}
# Where a definition's header ends: the node types of bodies, in all grammars.
_BODY = re.compile(r"body|[bB]lock|_list$|compound_statement")
_BLANK = re.compile(r"\s+")
# Between the parts of a name, in all languages.
_SEPARATORS = re.compile(r"::|[\\:]")
# Signs of comments at the beginning and end of lines, in all languages.
_SIGNS = re.compile(
    r"^\s*(?:/\*\*?!?|\*/|\*|//[/!]?|--\[\[|---?(?: ?\|)?|#+!?|;+|%+|\{-\|?|-\})\s?"
    r"|\s*(?:\*/|-\}|\]\])\s*$"
)
# Comments on what stands before them.
_BACKWARDS = (b"-- ^", b"///<", b"//!<", b"/**<")


@dataclass(slots=True)
class _Found:
    """A match, before it is known where it stands."""

    pattern: int
    start: int
    end: int
    end_line: int
    kind: str
    declared: bool
    name: str
    at: int
    place: tuple[int, int]  # row and column
    node: tree_sitter.Node
    first: tree_sitter.Node | None
    doc: tree_sitter.Node | None
    container: str
    in_class: bool


def find_definitions(
    language: Language, query: tree_sitter.Query, source: bytes, *roots: tree_sitter.Node
) -> list[Definition]:
    """The definitions of a text, in the order of their beginnings, those around others first."""
    import tree_sitter

    found: dict[int, _Found] = {}
    docs = _Docs(source)
    exports: set[str] = set()
    cursor = tree_sitter.QueryCursor(query)
    for pattern, captures in chain.from_iterable(cursor.matches(root) for root in roots):
        if "comment" in captures:
            docs.add(captures["comment"][0], captures["text"][0] if "text" in captures else None)
            continue
        if "between" in captures:
            docs.pass_over(captures["between"][0])
            continue
        if "export" in captures:
            exports.update(_text(source, node) for node in captures["export"])
            continue
        match = _match(language, pattern, captures, source)
        if match is None:
            continue
        known = found.get(match.at)
        if known is None or pattern < known.pattern:
            found[match.at] = match
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end, one.at))
    if language.clauses:
        ordered = _joined(ordered)
    return list(_nested(language, ordered, source, docs, exports))


def _match(
    language: Language, pattern: int, captures: dict[str, list[tree_sitter.Node]], source: bytes
) -> _Found | None:
    whole = next((name for name in captures if name.startswith(("def", "dec", "inside"))), None)
    names = captures.get("name")
    if whole is None or (not names and whole != "inside"):
        return None
    node = captures[whole][0]
    # A pattern that repeats captures several nodes: the name is the last of them.
    named = names[-1] if names else node
    name, before = _name(language, source, named) if names else ("", 0)
    row, column = named.start_point
    container = captures.get("container") or captures.get("namespace")
    first = captures["first"][0] if "first" in captures else None
    return _Found(
        pattern,
        (first or node).start_byte,
        node.end_byte,
        node.end_point[0],
        whole.partition(".")[2],
        whole.startswith("declaration"),
        name,
        named.start_byte + before,
        (row, column + before),
        node,
        first,
        captures["doc"][0] if "doc" in captures else None,
        _SEPARATORS.sub(".", _text(source, container[-1])) if container else "",
        "container" in captures,
    )


def _joined(found: list[_Found]) -> list[_Found]:
    """Equations and clauses of a function that follow each other become one definition."""
    joined: list[_Found] = []
    around: list[_Found] = []
    for one in found:
        before = None
        while around and around[-1].end <= one.start:
            before = around.pop()
        if (
            before is not None
            and one.doc is None
            and one.kind == before.kind
            and one.kind in CLAUSES
            and (one.name, one.container) == (before.name, before.container)
        ):
            before.end, before.end_line = one.end, one.end_line
            around.append(before)
        else:
            joined.append(one)
            around.append(one)
    return joined


def _nested(
    language: Language, found: list[_Found], source: bytes, docs: _Docs, exports: set[str]
) -> Iterator[Definition]:
    """Definitions with what they are members of; ``found`` begins with what stands around."""
    around: list[tuple[int, str, str, bool]] = []  # end, qualified name, kind, in a function
    for one in found:
        while around and around[-1][0] < one.end:
            around.pop()
        name = one.name
        _, container, above, local = around[-1] if around else (0, "", "", False)
        if one.container:
            container = f"{container}.{one.container}" if container else one.container
            above = "class" if one.in_class else "namespace"
        if not one.kind:  # `@inside`: no definition, but members stand in it
            inside = ".".join(part for part in (container, name) if part)
            around.append((one.end, inside, "class", local and bool(name)))
            continue
        kind = one.kind
        if kind == "function" and above in CLASSES:
            kind = "method"
        elif kind == "field" and above not in CLASSES:  # `self.name = …` in a method
            _, container, above, local = next(
                (outer for outer in reversed(around) if outer[2] in CLASSES), around[-1]
            )
        header = one.first or _header_node(language, one.node)
        row, column = one.place
        prefix = source[one.at - column : one.at].decode("utf-8", "replace")
        wide = len(prefix) if prefix.isascii() else len(prefix.encode("utf-16-le")) // 2
        signature = _signature(one.node, source)
        definition = Definition(
            name=name,
            kind=kind,
            at=one.at,
            start=header.start_byte,
            end=one.end,
            line=row,
            end_line=one.end_line,
            columns=(column, len(prefix), wide),
            container=container,
            signature=signature,
            doc=docs.of(header.start_point[0], one.doc),
            exported=language.exported(
                source[header.start_byte : one.at].decode("utf-8", "replace"), name
            )
            and (not exports or name in exports or container.rpartition(".")[2] in exports),
            local=local,
            declared=one.declared,
        )
        yield definition
        qualified = _SEPARATORS.sub(".", definition.qualified_name)
        around.append((one.end, qualified, kind, local or kind in FUNCTIONS))


def _text(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("'\"`")


def _name(language: Language, source: bytes, node: tree_sitter.Node) -> tuple[str, int]:
    """The name in a node without quotes and signs, and how many bytes stand before it there."""
    text = source[node.start_byte : node.end_byte]
    if language.name_part and (part := re.search(language.name_part.encode(), text)):
        return part[0].decode("utf-8", "replace"), part.start()
    bare = text.lstrip(b"'\"`")
    return bare.rstrip(b"'\"`").decode("utf-8", "replace"), len(text) - len(bare)


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

    def __init__(self, source: bytes) -> None:
        self._source = source
        # By the last line: the first one, where the text begins and ends, and whether it is quoted.
        self._comments: dict[int, tuple[int, int, int, bool]] = {}

    def add(self, comment: tree_sitter.Node, text: tree_sitter.Node | None) -> None:
        """A comment; ``text`` is the string that takes its place in some languages."""
        row, column = comment.start_point
        start, end = comment.start_byte, comment.end_byte
        if self._source[start - column : start].strip():
            return
        # Some grammars count the line end as part of a comment.
        whole = self._source[start:end].rstrip()
        if whole.startswith(_BACKWARDS):
            return
        if text is not None:
            start, end = text.start_byte, text.end_byte
        self._comments[row + whole.count(b"\n")] = (row, start, end, text is not None)

    def pass_over(self, node: tree_sitter.Node) -> None:
        """What may stand between a comment and its definition."""
        start, end = node.start_point[0], node.end_point[0]
        self._comments[end] = (start, node.start_byte, node.start_byte, False)

    def of(self, row: int, node: tree_sitter.Node | None) -> str:
        """What is said of a definition that begins on this line, without comment signs."""
        if node is not None:
            text = self._source[node.start_byte : node.end_byte]
            if "comment" in node.type:
                return _short(_unsigned([text.decode("utf-8", "replace")]))
            return _short(_unquoted(text))
        texts: list[str] = []
        while (comment := self._comments.get(row - 1)) is not None and len(texts) < 50:
            row, start, end, quoted = comment
            text = self._source[start:end]
            if quoted:
                return _short(_unquoted(text))
            texts.insert(0, text.decode("utf-8", "replace"))
        return _short(_unsigned(texts))


def _unsigned(comments: list[str]) -> str:
    lines = [_SIGNS.sub("", line) for text in comments for line in text.splitlines()]
    return "\n".join(line.strip() for line in lines).strip()


def _unquoted(text: bytes) -> str:
    decoded = text.decode("utf-8", "replace")
    decoded = re.sub(r"^~?[A-Za-z]{0,2}(\"\"\"|'''|\"|')", "", decoded)
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
