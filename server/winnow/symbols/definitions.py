"""Definitions: what the matches of a language's query say, nested, with signatures and docs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from winnow.symbols.facts import CLASSES, CONTAINERS, Definition

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.language import Language

SIGNATURE_CHARACTERS = 300
DOC_CHARACTERS = 600
# Kinds in whose bodies definitions are local.
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "operator"))
# Kinds that there are only in something.
MEMBERS = frozenset(("field", "method", "constructor"))
VARIABLES = frozenset(("variable", "constant"))
# Kinds whose signature goes on behind the first line, as long as a bracket is open.
_LONG = FUNCTIONS | CLASSES
# Where a signature ends: the node types of bodies, in all grammars.
_BODY = re.compile(
    r"(?:.*_)?(?:body|block)|compound_statement|statements|"
    r"(?:field_)?declaration_list|enumerator_list|enum_variant_list"
)
_ANNOTATIONS = re.compile(r"(?:@(?!interface\b)[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?\s+)+")
# In a signature of several lines.
_COMMENT = re.compile(r"\s(?:#|//)\s.*$", re.MULTILINE)
_BRACKETS = re.compile(r"([(\[]) |,? ([)\]])")
_BLANK = re.compile(r"\s+")
# Signs of comments at the beginning and end of lines, in all languages.
_SIGNS = re.compile(
    r"^\s*(?:/\*\*?!?<?|\*/|\*|//[/!]?<?|--\[\[|---?\|?|#+[!:]?|;+|%+|\{-\|?|-\})\s?"
    r"|\s*(?:\*+/|-\}|\]\])\s*$"
)


# Lines of comments that are drawn: `// -----`.
_RULE = re.compile(r"\s*[-=*#/_~+]{3,}\s*")


class _Found(NamedTuple):
    """A match, before it is known where it stands."""

    start: int
    end: int
    at: int
    pattern: int
    sort: str  # definition, declaration, local, inside, skipped
    kind: str
    node: tree_sitter.Node
    name: tree_sitter.Node
    captures: dict[str, list[tree_sitter.Node]]


class _Outer(NamedTuple):
    """What stands around a definition."""

    start: int
    end: int
    name: str  # qualified
    kind: str
    local: bool


_FILE = _Outer(-1, 0, "", "", False)


class _Captured:
    """What the queries have matched; ``found`` by the name's offset and whether it is `@inside`."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, bool], _Found] = {}
        self.comments: list[tree_sitter.Node] = []
        self.between: list[tree_sitter.Node] = []
        self.exported: list[tree_sitter.Node] = []
        self.nested: list[tree_sitter.Node] = []

    def take(
        self, matches: list[tuple[int, dict[str, list[tree_sitter.Node]]]], first: int = 0
    ) -> None:
        """Sort matches; ``first`` is the number of patterns that come before these."""
        found = self.found
        for pattern, captures in matches:
            if "name" in captures:
                match = _match(first + pattern, captures)
                key = (match.at, match.sort == "inside")
                known = found.get(key)
                if known is None or match.pattern < known.pattern:
                    found[key] = match
            elif "comment" in captures:
                self.comments += captures["comment"]
            else:
                self.between += captures.get("between", ())
                self.nested += captures.get("nested", ())
                self.exported += captures.get("exported", ())


def find_definitions(
    language: Language,
    query: tree_sitter.Query,
    nested: tree_sitter.Query | None,
    source: bytes,
    *roots: tree_sitter.Node,
) -> list[Definition]:
    """The definitions of a text, in the order of their beginnings, those around others first.

    The queries are of ``language.definitions`` with its comments, and of ``language.nested``.
    """
    import tree_sitter

    captured = _Captured()
    cursor = tree_sitter.QueryCursor(query)
    for root in roots:
        captured.take(cursor.matches(root))
    if nested is not None:
        cursor = tree_sitter.QueryCursor(nested)
        for block in captured.nested:
            captured.take(cursor.matches(block), query.pattern_count)
    found = sorted(
        captured.found.values(),
        key=lambda one: (one.start, -one.end, one.sort == "inside", one.at),
    )
    docs = _Docs(source, captured.comments, captured.between)
    exported = {_name(source, node) for node in captured.exported}
    definitions = list(_nested(language, found, source, docs, exported))
    if language.once:
        typed = {one.at for one in found if "typed" in one.captures}
        definitions = _once(definitions, typed, language.once)
    return definitions


def _match(pattern: int, captures: dict[str, list[tree_sitter.Node]]) -> _Found:
    capture = next(one for one in captures if "." in one or one == "inside")
    sort, _, kind = capture.partition(".")
    # A pattern that repeats captures several nodes: the name is the last of them.
    node, name = captures[capture][0], captures["name"][-1]
    return _Found(
        node.start_byte, node.end_byte, name.start_byte, pattern, sort, kind, node, name, captures
    )


def _nested(
    language: Language, found: list[_Found], source: bytes, docs: _Docs, exported: set[str]
) -> Iterator[Definition]:
    """Definitions with what they are members of; ``found`` begins with what stands around."""
    around: list[_Outer] = []
    for one in found:
        if one.sort == "skipped":
            continue
        while around and around[-1].end < one.end:
            around.pop()
        kind = one.kind
        outer = _container(around, one)
        local = one.sort == "local" or outer.local
        name = _name(source, one.name)
        container, above = outer.name, outer.kind
        if "container" in one.captures:
            names = [_name(source, node) for node in one.captures["container"]]
            container, above = ".".join(filter(None, (container, *names))), "class"
        if one.sort == "inside":
            around.append(_Outer(one.start, one.end, _qualified(container, name), "class", local))
            continue
        if above in CLASSES:
            kind = {"function": "method", "variable": "field"}.get(kind, kind)
        elif (
            not name
            or (kind in MEMBERS and above not in CONTAINERS)
            or (local and (kind in VARIABLES or one.sort == "declaration"))
        ):
            continue
        header = _header_node(language, one.node)
        before = source[header.start_byte : one.at].decode("utf-8", "replace")
        kind = language.kind(kind, before, name, container)
        if not kind:
            continue
        row, column = one.name.start_point
        prefix = source[one.at - column : one.at].decode("utf-8", "replace")
        definition = Definition(
            name=name,
            kind=kind,
            at=one.at,
            start=header.start_byte,
            end=one.end,
            line=row,
            end_line=one.node.end_point[0],
            columns=(column, len(prefix), _utf16(prefix)),
            container=container,
            signature=_signature(one, name, kind, source),
            doc=docs.of(header, one.captures.get("doc")),
            exported="hidden" not in one.captures
            and (
                "exported" in one.captures
                or language.exported(before, name)
                or (not container and name in exported)
            ),
            local=local,
            declared=one.sort == "declaration",
        )
        yield definition
        around.append(
            _Outer(
                one.start,
                one.end,
                definition.qualified_name.replace("::", "."),
                kind,
                local or kind in FUNCTIONS,
            )
        )


def _container(around: list[_Outer], one: _Found) -> _Outer:
    """The innermost thing around that a definition can be a member of, or local to."""
    for outer in reversed(around):
        if outer.kind in FUNCTIONS:
            if one.kind != "field":  # `self.name = …` in a method
                return outer
        # Several names of one declaration stand side by side.
        elif outer.kind in CONTAINERS and (outer.start, outer.end) != (one.start, one.end):
            return outer
    return _FILE


def _once(definitions: list[Definition], typed: set[int], kinds: Sequence[str]) -> list[Definition]:
    """Without the repetitions of kinds that a container has one of each name of."""
    kept: dict[str, Definition] = {}
    for one in definitions:
        known = kept.get(one.qualified_name)
        if known is None or one.kind not in kinds or (known.kind in kinds and one.at in typed):
            kept[one.qualified_name] = one
    return [one for one in definitions if one.kind not in kinds or kept[one.qualified_name] is one]


def _qualified(container: str, name: str) -> str:
    return f"{container}.{name}" if container else name


def _name(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("'\"`")


def _utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


def _header_node(language: Language, node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with decorators and the like."""
    if language.header:
        while (parent := node.parent) is not None and parent.type in language.header:
            node = parent
    return node


def _signature(one: _Found, name: str, kind: str, source: bytes) -> str:
    """The definition up to its body, on one line."""
    long = kind in _LONG
    body = _body(one.node) if long else None
    if body is not None and body.start_byte > one.start:
        end = body.start_byte
    else:
        end = _line_end(source, one, long=long)
    text = source[one.start : min(end, one.start + 4_000)].decode("utf-8", "replace")
    if text.startswith("@") and (annotations := _ANNOTATIONS.match(text)):
        text = text[annotations.end() :]
    if "\n" in text:
        text = _COMMENT.sub("", text)
        text = _BRACKETS.sub(r"\1\2", _BLANK.sub(" ", text))
    text = text.rstrip(" \t\r\n{:=,;\\")
    if one.at >= end:  # `typedef struct {…} Name`
        text = f"{text} {name}"
    if len(text) > SIGNATURE_CHARACTERS:
        text = text[: SIGNATURE_CHARACTERS - 1] + "…"
    return text


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    body = node.child_by_field_name("body")
    if body is None and (of := node.child_by_field_name("type")) is not None:
        body = of.child_by_field_name("body")
    if body is None:
        body = next((child for child in node.named_children if _BODY.fullmatch(child.type)), None)
    # `struct Name(u32)`
    return None if body is not None and body.type.startswith("ordered") else body


def _line_end(source: bytes, one: _Found, *, long: bool) -> int:
    """Where the first line ends; with ``long`` that of the name, and all round brackets closed."""
    end = source.find(b"\n", one.at if long else one.start, one.end)
    while long and end >= 0 and source.count(b"(", one.at, end) > source.count(b")", one.at, end):
        end = source.find(b"\n", end + 1, one.end)
    return end if end >= 0 else one.end


class _Docs:
    """Comments by the line they end on, as far as nothing else stands before them there.

    ``between`` are nodes that may stand between a comment and what it is about: attributes.
    """

    def __init__(
        self, source: bytes, comments: list[tree_sitter.Node], between: list[tree_sitter.Node]
    ) -> None:
        self._source = source
        self._comments: dict[int, tuple[int, int, int]] = {}
        for comment in comments:
            start, end = comment.start_byte, comment.end_byte
            row, column = comment.start_point
            if column and source[start - column : start].strip():
                continue
            last, behind = comment.end_point
            # Some grammars count the line end as part of a comment.
            if behind == 0 and last > row:
                last -= 1
            self._comments[last] = (row, start, end)
        for node in between:
            self._comments.setdefault(node.end_point[0], (node.start_point[0], 0, 0))

    def of(self, definition: tree_sitter.Node, nodes: list[tree_sitter.Node] | None) -> str:
        """What is said of a definition, in these nodes or above it, without comment signs."""
        if nodes:
            return _short(_unquoted(self._source[nodes[0].start_byte : nodes[0].end_byte]))
        row, column = definition.start_point
        start = definition.start_byte
        if row - 1 not in self._comments or self._source[start - column : start].strip():
            return ""
        texts: list[str] = []
        while (comment := self._comments.get(row - 1)) is not None and len(texts) < 50:
            row, start, end = comment
            texts.append(self._source[start:end].decode("utf-8", "replace"))
        lines = [_SIGNS.sub("", line) for text in reversed(texts) for line in text.splitlines()]
        kept = (line.strip() for line in lines if not _RULE.fullmatch(line))
        return _short("\n".join(kept).strip())


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
