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
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "operator", "macro"))
VARIABLES = frozenset(("variable", "constant"))
# Kinds whose signature goes on behind the first line, as long as a bracket is open.
_LONG = (FUNCTIONS | CONTAINERS) - {"section"}
# Where a signature ends: the node types of bodies, in all grammars.
_BODY = re.compile(
    r"(?:.*_)?(?:body|[bB]lock)|compound_statement|statements|"
    r"(?:field_|ordered_field_)?declaration_list|enumerator_list|enum_variant_list"
)
# Between the parts of a name, in all languages.
_SEPARATORS = re.compile(r"::|\\")
# The part of an XML comment that says what something is.
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)
# Comments on what stands before them.
_BACKWARDS = (b"-- ^", b"///<", b"//!<", b"/**<")
# Kinds that may come in several equations or clauses.
_CLAUSES = frozenset(("function", "method", "macro", "operator"))
# Signs of comments at the beginning and end of lines, in all languages.
_SIGNS = re.compile(
    r"^\s*(?:/\*\*?!?<?|\*/|\*|//[/!]?<?|--\[\[|---?(?: ?\|)?|#+!?|;+|%+|\{-\|?|-\})\s?"
    r"|\s*(?:\*+/|-\}|\]\])\s*$"
)


class _Found(NamedTuple):
    """A match, before it is known where it stands."""

    start: int
    end: int
    at: int
    pattern: int
    sort: str  # definition, declaration, local, inside
    kind: str
    node: tree_sitter.Node
    name: str
    place: tuple[int, int]  # row and column
    end_line: int
    captures: dict[str, list[tree_sitter.Node]]


class _Outer(NamedTuple):
    """What stands around a definition."""

    start: int
    end: int
    name: str  # qualified
    kind: str
    local: bool


_FILE = _Outer(-1, 0, "", "", False)


def find_definitions(
    language: Language,
    query: tree_sitter.Query,
    nested: tree_sitter.Query | None,
    source: bytes,
    root: tree_sitter.Node,
) -> list[Definition]:
    """The definitions of a text, in the order of their beginnings, those around others first.

    The queries are of ``language.definitions`` with its comments, and of ``language.nested``.
    """
    docs = _Docs(source)
    seen = _Seen()
    found = _find(language, query, nested, source, root, docs, seen)
    ordered = sorted(
        found.values(), key=lambda one: (one.start, -one.end, one.sort == "inside", one.at)
    )
    if language.most:
        del ordered[language.most :]
    if language.clauses:
        ordered = _joined(ordered)
    definitions = list(_nested(language, ordered, source, docs, seen))
    if language.once:
        typed = {one.at for one in ordered if "typed" in one.captures}
        definitions = _once(definitions, typed, language.once)
    return definitions


def _find(
    language: Language,
    query: tree_sitter.Query,
    nested: tree_sitter.Query | None,
    source: bytes,
    root: tree_sitter.Node,
    docs: _Docs,
    seen: _Seen,
) -> dict[tuple[int, bool], _Found]:
    """Matches by the name's offset and whether they are `@inside`; ``docs`` and ``seen`` take
    what is for them."""
    import tree_sitter

    found: dict[tuple[int, bool], _Found] = {}
    blocks: list[tree_sitter.Node] = []
    matches = tree_sitter.QueryCursor(query).matches(root)
    count = query.pattern_count
    for first in (0, count):
        for pattern, captures in matches:
            if "comment" in captures:
                docs.add(captures["comment"][0], captures.get("text"))
            elif "between" in captures:
                docs.pass_over(captures["between"][0])
            elif "nested" in captures:
                blocks += captures["nested"]
            elif "export" in captures:
                seen.exports.update(_name(language, source, one)[0] for one in captures["export"])
            elif "access" in captures:
                seen.add_access(captures["access"][0])
            elif (match := _match(language, first + pattern, captures, source)) is not None:
                key = (match.at, match.sort == "inside")
                known = found.get(key)
                if known is None or match.pattern < known.pattern:
                    found[key] = match
        matches = []
        if nested is not None:
            cursor = tree_sitter.QueryCursor(nested)
            for block in blocks:
                matches += cursor.matches(block)
    return found


def _match(
    language: Language, pattern: int, captures: dict[str, list[tree_sitter.Node]], source: bytes
) -> _Found | None:
    for capture, nodes in captures.items():
        sort, _, kind = capture.partition(".")
        if kind or sort == "inside":
            node = nodes[0]
            # A pattern that repeats captures several nodes: the name is the last of them.
            named = captures["name"][-1] if "name" in captures else language.name_of(node)
            if named is None and kind:
                return None
            name, before = _name(language, source, named) if named else ("", 0)
            row, column = (named or node).start_point
            first = captures.get("first", nodes)[0]
            return _Found(
                first.start_byte,
                node.end_byte,
                # What is no definition is found by where it begins: one of each begins there.
                named.start_byte + before if named is not None and kind else node.start_byte,
                pattern,
                sort,
                kind,
                node,
                name,
                (row, column + before),
                node.end_point[0],
                captures,
            )
    return None


def _joined(found: list[_Found]) -> list[_Found]:
    """Equations and clauses of a function that follow each other become one definition."""
    joined: list[_Found] = []
    around: list[int] = []  # the places of what is around, and last what was before
    for one in found:
        before = None
        while around and (joined[around[-1]].end <= one.start or joined[around[-1]][:2] == one[:2]):
            before = around.pop()
        if before is not None and _continues(one, joined[before]):
            joined[before] = joined[before]._replace(end=one.end, end_line=one.end_line)
            around.append(before)
        else:
            around.append(len(joined))
            joined.append(one)
    return joined


def _continues(one: _Found, before: _Found) -> bool:
    return (one.name, one.kind) == (before.name, before.kind) and one.kind in _CLAUSES


def _nested(
    language: Language, found: list[_Found], source: bytes, docs: _Docs, seen: _Seen
) -> Iterator[Definition]:
    """Definitions with what they are members of; ``found`` begins with what stands around."""
    around: list[_Outer] = []
    for one in found:
        # What has the very same range stands beside it: `A, B = 1, 2`.
        while around and (
            around[-1].end < one.end or (around[-1].start, around[-1].end) == (one.start, one.end)
        ):
            around.pop()
        kind = one.kind
        outer = _container(around, one)
        local = one.sort == "local" or outer.local
        name = one.name
        container, above = outer.name, outer.kind
        nodes = one.captures.get("container") or one.captures.get("namespace")
        if nodes:
            names = [_parts(_text(source, node)) for node in nodes]
            container = ".".join(filter(None, (container, *names)))
            above = "class" if "container" in one.captures else "namespace"
        if one.sort == "inside":
            name = _qualified(container, _parts(name)) if name else container
            around.append(_Outer(one.start, one.end, name, "class", local and bool(one.name)))
            continue
        if above in CLASSES:
            kind = {"function": "method", "variable": "field"}.get(kind, kind)
        elif (local and kind in VARIABLES) or (kind == "field" and above in ("", *FUNCTIONS)):
            continue
        header = one.captures.get("first", [_header_node(language, one.node)])[0]
        before = source[header.start_byte : one.at].decode("utf-8", "replace")
        row, column = one.place
        prefix = source[one.at - column : one.at].decode("utf-8", "replace")
        definition = Definition(
            name=name,
            kind=(kind := language.kind(kind, before, name, container)),
            at=one.at,
            start=header.start_byte,
            end=one.end,
            line=row,
            end_line=one.end_line,
            columns=(column, len(prefix), _utf16(prefix)),
            container=container,
            signature=_signature(one.node, kind, source, doc=one.captures.get("doc")),
            doc=docs.of(header, one.captures.get("doc")),
            exported=language.exported(before, name)
            and seen.is_exported(name, kind, container, header),
            local=local,
            declared=one.sort == "declaration",
        )
        yield definition
        qualified = _qualified(container, _parts(name))
        around.append(_Outer(one.start, one.end, qualified, kind, local or kind in FUNCTIONS))


class _Seen:
    """What the text says elsewhere about who sees a definition."""

    def __init__(self) -> None:
        self.exports: set[str] = set()
        # By the node around: where `private` and the like stand, and whether it is that.
        self._access: dict[int, list[tuple[int, bool]]] = {}

    def add_access(self, node: tree_sitter.Node) -> None:
        if node.parent is not None and node.text is not None:
            marks = self._access.setdefault(node.parent.id, [])
            marks.append((node.start_byte, node.text.startswith(b"private")))

    def is_exported(self, name: str, kind: str, container: str, header: tree_sitter.Node) -> bool:
        if self._access and header.parent is not None:
            marks = self._access.get(header.parent.id, ())
            if any([private for start, private in marks if start < header.start_byte][-1:]):
                return False
        return (
            not self.exports
            or kind == "module"
            or name in self.exports
            or not self.exports.isdisjoint(container.split("."))
        )


def _container(around: list[_Outer], one: _Found) -> _Outer:
    """The innermost thing around that a definition can be a member of, or local to."""
    for outer in reversed(around):
        if outer.kind in FUNCTIONS:
            if one.kind != "field":  # `self.name = …` in a method
                return outer
        elif outer.kind in CONTAINERS:
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


def _parts(name: str) -> str:
    """A name with dots between its parts."""
    return _SEPARATORS.sub(".", name) if ":" in name or "\\" in name else name


def _text(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("'\"`")


def _name(language: Language, source: bytes, node: tree_sitter.Node) -> tuple[str, int]:
    """The name in a node without quotes and signs, and how many bytes stand before it there."""
    text = source[node.start_byte : node.end_byte]
    if language.name_part and (part := re.search(language.name_part.encode(), text)):
        return part[0].decode("utf-8", "replace"), part.start()
    bare = text.lstrip(b"'\"`")
    return bare.rstrip(b"'\"`").decode("utf-8", "replace"), len(text) - len(bare)


def _utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


def _header_node(language: Language, node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with decorators and the like."""
    if language.header:
        while (parent := node.parent) is not None and parent.type in language.header:
            node = parent
    return node


def _signature(
    node: tree_sitter.Node, kind: str, source: bytes, doc: list[tree_sitter.Node] | None
) -> str:
    """The definition up to its body, on one line."""
    # In some grammars the doc is the first part of the definition.
    start = node.start_byte
    if doc and doc[0].start_byte == start:
        start = doc[0].end_byte
    body = _body(node) if kind in _LONG else None
    if body is not None and body.start_byte > start:
        text = source[start : min(body.start_byte, start + 4_000)].decode("utf-8", "replace")
    else:
        text = source[start : min(node.end_byte, start + 4_000)].decode("utf-8", "replace")
        text = _first_line(text, long=kind in _LONG)
    text = " ".join(text.split()).rstrip(" {:=,;")
    if len(text) > SIGNATURE_CHARACTERS:
        text = text[: SIGNATURE_CHARACTERS - 1] + "…"
    return text


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    body = node.child_by_field_name("body")
    if body is None:
        body = next((child for child in node.named_children if _BODY.fullmatch(child.type)), None)
    return body


def _first_line(text: str, *, long: bool) -> str:
    """The first line, with ``long`` as many as it takes to close all round brackets."""
    end = text.find("\n")
    while long and end >= 0 and text.count("(", 0, end) > text.count(")", 0, end):
        end = text.find("\n", end + 1)
    return text if end < 0 else text[:end]


class _Docs:
    """Comments by the line they end on, as far as nothing else stands before them there."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        # By the last line: the first one, where the text begins and ends, and whether it is quoted.
        self._comments: dict[int, tuple[int, int, int, bool]] = {}
        # By the line of a definition: where the one begins that the comment above is for.
        self._owners: dict[int, int] = {}

    def add(self, comment: tree_sitter.Node, text: list[tree_sitter.Node] | None) -> None:
        """A comment; ``text`` is the string that takes its place in some languages."""
        start, end = comment.start_byte, comment.end_byte
        row, column = comment.start_point
        if column and self._source[start - column : start].strip():
            return
        # Some grammars count the line end as part of a comment.
        whole = self._source[start:end].rstrip()
        if whole.startswith(_BACKWARDS) or (row == 0 and whole.startswith(b"#!")):
            return
        if text is not None:
            start, end = text[0].start_byte, text[0].end_byte
        self._comments[row + whole.count(b"\n")] = (row, start, end, text is not None)

    def pass_over(self, node: tree_sitter.Node) -> None:
        """What may stand between a comment and its definition."""
        start, end = node.start_point[0], node.end_point[0]
        self._comments[end] = (start, node.start_byte, node.start_byte, False)

    def of(self, header: tree_sitter.Node, nodes: list[tree_sitter.Node] | None) -> str:
        """What is said of the definition that begins with this node, without comment signs."""
        if nodes:
            text = self._source[nodes[0].start_byte : nodes[0].end_byte]
            if "comment" in nodes[0].type:
                return _short(_unsigned([text.decode("utf-8", "replace")]))
            return _short(_unquoted(text))
        row = header.start_point[0]
        if self._owners.setdefault(row, header.start_byte) != header.start_byte:
            return ""
        texts: list[str] = []
        while (comment := self._comments.get(row - 1)) is not None and len(texts) < 50:
            row, start, end, quoted = comment
            text = self._source[start:end]
            if quoted:
                return _short(_unquoted(text))
            texts.insert(0, text.decode("utf-8", "replace"))
        return _short(_unsigned(texts)) if texts else ""


def _unsigned(comments: list[str]) -> str:
    lines = [_SIGNS.sub("", line) for text in comments for line in text.splitlines()]
    text = "\n".join(line.strip() for line in lines).strip()
    return summary[1] if (summary := _SUMMARY.search(text)) else text


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
