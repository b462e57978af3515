"""Build nested definitions, with signatures and docs, from the matches of a language's query."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from winnow.symbols.file_symbols import CLASSES, CONTAINERS, Definition

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.language import Language

SIGNATURE_CHARACTERS = 300
DOC_CHARACTERS = 600
# Deeper definitions are dropped: no person has written them, and their qualified names would be
# larger than the file.
DEPTH = 64
_LINE_FEED = 10
_BLANKS = b" \t\r\f\xef\xbb\xbf"  # with a byte order mark
# A comment indented further follows something; its definition is not searched.
INDENT = 200
# Kinds in whose bodies definitions are local.
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "operator"))
# Kinds that exist only inside a container.
MEMBERS = frozenset(("field", "method", "constructor"))
VARIABLES = frozenset(("variable", "constant"))
# Kinds whose signature continues after the first line while a bracket is open.
_LONG = (FUNCTIONS | CONTAINERS | {"macro"}) - {"section"}
# Where a signature ends: the node types of bodies, in all grammars.
_BODY = re.compile(
    r"(?:.*_)?(?:body|[bB]lock)|compound_statement|statements|"
    r"(?:field_)?declaration_list|enumerator_list|enum_variant_list"
)
_ANNOTATIONS = re.compile(
    r"(?:@(?!(?:interface|protocol|property(?= \()|mixin|function|keyframes|typep?|opaque"
    r"|\w*callback)\b)[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?\s+)+"
)
# Blanks at brackets, in a signature of several lines.
_BRACKETS = re.compile(r"([(\[]) |,? ([)\]])")
_BLANK = re.compile(r"\s+")
# The last byte of a comment that ends its line.
_LINE_END = re.compile(rb"\n|.[ \t]*\r?(?:\n|$)", re.DOTALL)
# Separators of qualified names, in all languages.
_SEPARATORS = re.compile(r"::|\\")
# The summary of an XML doc comment.
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)
# Comments about the code before them.
_BACKWARDS = (b"-- ^", b"///<", b"//!<", b"/**<")
# Kinds that may have several equations or clauses.
_CLAUSES = frozenset(("function", "method", "macro", "operator"))
# Comment signs at the start and end of lines, in all languages.
_SIGN = re.compile(
    r"\s*(?:/\*\*?!?<?|\*/|\*|//+!?<?|--\[\[|---?(?: ?\|)?|#+[!:]?|;+|%+|\{-\|?|-\})\s?"
)
_CLOSING = re.compile(r"\s*(?:\*+/|/{3,}|-\}|\]\])\s*$")


_QUOTES = re.compile(r"^~?[A-Za-z]{0,2}(?:\"\"\"|'''|[\"'])|(?:\"\"\"|'''|[\"'])$")
# Comment lines to skip: rulers (`// -----`) and directives to tools.
_RULE = re.compile(
    r"\s*[-=*#/_~+]+\s*"
    r"|\s*(?:eslint-|@ts-|prettier-ignore|biome-ignore|istanbul |go:|nolint|NOLINT|noqa|pylint:"
    r"|type: ignore|pragma: |clang-format |@__|#__).*"
)


class _CaptureSorts(dict[str, tuple[str, ...]]):
    """The sort and kind of each capture name; empty if the capture defines nothing."""

    def __missing__(self, capture: str) -> tuple[str, ...]:
        sort, _, kind = capture.partition(".")
        self[capture] = found = (sort, kind) if kind or sort == "inside" else ()
        return found


_SORTS = _CaptureSorts()


class _Found(NamedTuple):
    """A match, before its container is known."""

    start: int
    end: int
    at: int
    pattern: int
    sort: str  # definition, declaration, local, inside, skipped
    kind: str
    node: tree_sitter.Node
    qualifiers: str  # in the node of the name
    name: str
    place: tuple[int, int]  # row and column
    end_line: int
    captures: dict[str, list[tree_sitter.Node]]


class _Outer(NamedTuple):
    """A container of definitions."""

    start: int
    end: int
    name: str  # qualified
    kind: str
    local: bool


_FILE = _Outer(-1, 0, "", "", False)


class _Captured:
    """The matches of the queries. ``found`` is keyed by name offset and whether the match is
    `@inside`."""

    def __init__(self, language: Language, source: bytes) -> None:
        self._language = language
        self._source = source
        self.found: dict[tuple[int, bool], _Found] = {}
        # With the string that replaces the comment in some languages.
        self.comments: list[tuple[tree_sitter.Node, tree_sitter.Node | None]] = []
        self.between: list[tree_sitter.Node] = []
        self.exported: list[tree_sitter.Node] = []
        self.nested: list[tree_sitter.Node] = []
        self.access = _Access()

    def take(
        self, matches: list[tuple[int, dict[str, list[tree_sitter.Node]]]], first: int = 0
    ) -> None:
        """Collect matches. ``first`` is the number of the first pattern; lower patterns win."""
        for pattern, captures in matches:
            if "comment" in captures:
                texts = captures.get("text")
                self.comments += [
                    (comment, texts[0] if texts else None) for comment in captures["comment"]
                ]
            elif (capture := next(filter(_SORTS.__getitem__, captures), None)) is not None:
                self._match(first + pattern, capture, captures)
            else:
                self.between += captures.get("between", ())
                self.nested += captures.get("nested", ())
                self.exported += captures.get("exported", ())
                self.access.add(captures.get("access", ()))
                self.access.listed.update(
                    _name(self._language, self._source, comment)[0]
                    for comment in captures.get("listed", ())
                )

    def _match(
        self, pattern: int, capture: str, captures: dict[str, list[tree_sitter.Node]]
    ) -> None:
        sort, kind = _SORTS[capture]
        node = captures[capture][0]
        # A pattern with repetition captures several nodes; the last one is the name.
        names = captures.get("name") or captures.get("qualified")
        named = names[-1] if names else self._language.name_of(node)
        if named is None and kind:
            return
        qualifiers = ""
        name, before = _name(self._language, self._source, named) if named else ("", 0)
        if "qualified" in captures:
            qualifiers, dot, name = name.rpartition(".")
            before += len(f"{qualifiers}{dot}".encode())
        # Matches that are not definitions are keyed by their start: one starts there at most.
        at = named.start_byte + before if named is not None and kind else node.start_byte
        key = (at, sort == "inside")
        earlier = self.found.get(key)
        if earlier is not None and earlier.pattern <= pattern:
            return
        row, column = (named or node).start_point
        last = captures.get("last", [node])[0]
        self.found[key] = _Found(
            captures["first"][0].start_byte if "first" in captures else node.start_byte,
            last.end_byte,
            at,
            pattern,
            sort,
            kind,
            node,
            qualifiers,
            name,
            (row, column + before),
            last.end_point[0],
            captures,
        )


class _Access:
    """Visibility declared apart from the definitions."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        # By parent node: the offsets of access specifiers, and whether each is `private`.
        self._marks: dict[int, list[tuple[int, bool]]] = {}

    def add(self, nodes: Sequence[tree_sitter.Node]) -> None:
        for node in nodes:
            if node.parent is not None and node.text is not None:
                marks = self._marks.setdefault(node.parent.id, [])
                marks.append((node.start_byte, node.text.startswith(b"private")))

    def allows(self, name: str, kind: str, container: str, header: tree_sitter.Node) -> bool:
        if self._marks and (around := header.parent) is not None:
            marks = self._marks.get(around.id, ())
            if any([private for start, private in marks if start < header.start_byte][-1:]):
                return False
        return (
            not self.listed
            or kind == "module"
            or name in self.listed
            or not self.listed.isdisjoint(container.split("."))
        )


def find_definitions(
    language: Language,
    query: tree_sitter.Query,
    nested: tree_sitter.Query | None,
    source: bytes,
    *roots: tree_sitter.Node,
) -> list[Definition]:
    """Return the definitions of a text, sorted by start, enclosing ones first.

    The queries are ``language.definitions`` with its comments, and ``language.nested``.
    """
    import tree_sitter

    captured = _Captured(language, source)
    cursor = tree_sitter.QueryCursor(query)
    for root in roots:
        captured.take(cursor.matches(root))
    if nested is not None:
        cursor = tree_sitter.QueryCursor(nested)
        for block in captured.nested:
            captured.take(cursor.matches(block), -nested.pattern_count)
    found = sorted(
        captured.found.values(),
        key=lambda match: (match.start, -match.end, match.sort == "inside", match.at),
    )
    docs = _Docs(source, captured.comments, captured.between)
    exported = {_text(source, node) for node in captured.exported}
    if language.most:
        del found[language.most :]
    if language.clauses:
        found = _joined(found)
    builder = _Builder(language, source, docs, exported, captured.access)
    definitions = list(_nested(language, found, source, builder, root.has_error))
    if language.once:
        typed = {match.at for match in found if "typed" in match.captures}
        definitions = _once(definitions, typed, language.once)
    return definitions


def _joined(found: list[_Found]) -> list[_Found]:
    """Merge adjacent equations and clauses of one function into one definition."""
    joined: list[_Found] = []
    around: list[int] = []  # the indexes of the enclosing matches, and last the previous match
    for match in found:
        before = None
        while around and (
            joined[around[-1]].end <= match.start or joined[around[-1]][:2] == match[:2]
        ):
            before = around.pop()
        if (
            before is not None
            and match.kind in _CLAUSES
            and (match.name, match.kind) == (joined[before].name, joined[before].kind)
        ):
            joined[before] = joined[before]._replace(end=match.end, end_line=match.end_line)
            around.append(before)
        else:
            around.append(len(joined))
            joined.append(match)
    return joined


class _Builder:
    """Builds definitions from matches whose container is known."""

    def __init__(
        self, language: Language, source: bytes, docs: _Docs, exported: set[str], access: _Access
    ) -> None:
        self._language = language
        self._source = source
        self._docs = docs
        self._exported = exported
        self._access = access
        self._columns = _Columns(source)

    def definition(
        self, match: _Found, kind: str, container: str, *, local: bool
    ) -> Definition | None:
        """Return the definition, or None if the language drops it."""
        language, source, captures, name = self._language, self._source, match.captures, match.name
        header = captures.get("first", [_header_node(language, match.node)])[0]
        before = source[header.start_byte : match.at].decode("utf-8", "replace")
        kind = language.kind(kind, before, name, container)
        if not kind:
            return None
        row, column = match.place
        return Definition(
            name=name,
            kind=kind,
            at=match.at,
            start=header.start_byte,
            end=match.end,
            line=row,
            end_line=match.end_line,
            columns=self._columns.at(row, column, match.at),
            container=container,
            signature=_signature(match, name, kind, source, self._docs.trailing),
            doc=self._docs.of(header, captures.get("doc")),
            exported="hidden" not in captures
            and self._access.allows(name, kind, container, header)
            and (
                "exported" in captures
                or language.exported(before, name)
                or (not container and name in self._exported)
            ),
            local=local,
            declared=match.sort == "declaration",
        )


def _nested(
    language: Language, found: list[_Found], source: bytes, builder: _Builder, broken: bool
) -> Iterator[Definition]:
    """Yield the definitions with their containers; ``found`` is sorted, enclosing matches first.

    ``broken`` is set if the text has syntax errors, see ``flat`` of the language.
    """
    around: list[_Outer] = []
    for match in found:
        if match.sort == "skipped":
            continue
        # Matches with the same range are siblings: `A, B = 1, 2`.
        while around and (
            around[-1].end < match.end
            or (around[-1].start, around[-1].end) == (match.start, match.end)
        ):
            around.pop()
        name = match.name
        # A parser may insert an empty name where one is missing.
        if (
            len(around) == DEPTH
            or (not name and match.sort != "inside")
            or name in language.reserved
        ):
            continue
        begins_line = match.start == 0 or source[match.start - 1] == _LINE_FEED
        outer = _container(around, match)
        if language.flat and begins_line and outer.kind in FUNCTIONS:
            outer = _container([over for over in around if over.kind not in FUNCTIONS], match)
        local = match.sort == "local" or outer.local
        container, above = _qualified(outer.name, match.qualifiers), outer.kind
        nodes = match.captures.get("container") or match.captures.get("namespace")
        if nodes:
            names = [_parts(language.namespace(_text(source, node))) for node in nodes]
            container = ".".join(filter(None, (container, *names)))
            above = "class" if "container" in match.captures else "namespace"
        inside = _qualified(container, _parts(name)) if name else container
        if match.sort == "inside":
            around.append(_Outer(match.start, match.end, inside, "class", local and bool(name)))
            continue
        is_lost = language.flat and broken and not container and not begins_line
        kind = _kind_inside(match, above, local, is_lost)
        definition = builder.definition(match, kind, container, local=local) if kind else None
        if definition is not None:
            yield definition
            is_local = local or definition.kind in FUNCTIONS
            around.append(_Outer(match.start, match.end, inside, definition.kind, is_local))


def _kind_inside(match: _Found, above: str, local: bool, is_lost: bool) -> str:
    """Return the kind of a match in a container, or "" to drop it.

    ``is_lost`` is set if a syntax error may have moved the match out of its function.
    """
    kind = match.kind
    if above in CLASSES:
        return {"function": "method", "variable": "field"}.get(kind, kind)
    if (
        (kind in MEMBERS and above not in CONTAINERS)
        or (local and match.sort == "declaration")
        or (kind in VARIABLES and (local or is_lost))
    ):
        return ""
    return kind


def _container(around: list[_Outer], match: _Found) -> _Outer:
    """Return the innermost container that a match can be a member of, or local to."""
    for outer in reversed(around):
        if outer.kind in FUNCTIONS:
            if match.kind != "field":  # `self.name = …` in a method
                return outer
        elif outer.kind in CONTAINERS:
            return outer
    return _FILE


def _once(definitions: list[Definition], typed: set[int], kinds: Sequence[str]) -> list[Definition]:
    """Drop repeated definitions of kinds that a container has once per name."""
    kept: dict[str, Definition] = {}
    for definition in definitions:
        earlier = kept.get(definition.qualified_name)
        if (
            earlier is None
            or definition.kind not in kinds
            or (earlier.kind in kinds and definition.at in typed)
        ):
            kept[definition.qualified_name] = definition
    return [
        definition
        for definition in definitions
        if definition.kind not in kinds or kept[definition.qualified_name] is definition
    ]


def _qualified(container: str, name: str) -> str:
    return f"{container}.{name}" if container and name else container or name


def _parts(name: str) -> str:
    """Return a name with dots between its parts."""
    return _SEPARATORS.sub(".", name) if ":" in name or "\\" in name else name


def _text(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip("'\"`")


def _name(language: Language, source: bytes, node: tree_sitter.Node) -> tuple[str, int]:
    """Return the name in a node without quotes and signs, and the number of bytes before it."""
    text = source[node.start_byte : node.end_byte]
    if language.name_part and (part := re.search(language.name_part.encode(), text)):
        return part[0].decode("utf-8", "replace"), part.start()
    if text[:1].isalpha():
        return text.decode("utf-8", "replace"), 0
    bare = text.lstrip(b"'\"`")
    return bare.rstrip(b"'\"`").decode("utf-8", "replace"), len(text) - len(bare)


class _Columns:
    """Columns in bytes, code points and UTF-16 units.

    Counting resumes at the previous position of the line, because one line may be all of a large
    file.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._plain = source.isascii()
        self._row = -1
        self._last = (0, 0, 0)

    def at(self, row: int, column: int, offset: int) -> tuple[int, int, int]:
        if self._plain:
            return column, column, column
        column_before, points, units = self._last
        if row != self._row or column < column_before:
            column_before = points = units = 0
        text = self._source[offset - column + column_before : offset].decode("utf-8", "replace")
        points += len(text)
        units += len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2
        self._row, self._last = row, (column, points, units)
        return self._last


def _header_node(language: Language, node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the node that includes decorators and modifiers."""
    if language.header:
        while (parent := node.parent) is not None and parent.type in language.header:
            node = parent
    return node


def _signature(
    match: _Found, name: str, kind: str, source: bytes, comments: list[tuple[int, int]]
) -> str:
    """Return the definition up to its body, on one line, without comments at the ends of lines."""
    long = kind in _LONG
    behind = match.captures.get("last", (None,))[0]
    body = behind or _body(match.node) if long else None
    # Some grammars make the doc the first part of the definition.
    doc = match.captures.get("doc")
    start = doc[0].end_byte if doc and doc[0].start_byte == match.start else match.start
    if body is not None and body.start_byte > start:
        end = body.start_byte
    else:
        first = match.at if long else start
        end = _line_end(source, match, first, brackets=kind not in VARIABLES)
    end = min(end, start + 4_000)
    text = _without(source, start, end, comments).decode("utf-8", "replace").lstrip()
    if text.startswith("@") and (annotations := _ANNOTATIONS.match(text)):
        rest = text[annotations.end() :]
        text = rest if name in rest else text  # Elixir's `@name value` is not an annotation
    text = text.rstrip(" \t\r\n{:=,;\\")
    if "\n" in text:
        text = _BRACKETS.sub(r"\1\2", _BLANK.sub(" ", text))
    if match.at >= end:  # `typedef struct {…} Name`
        text = f"{text} {name}"
    if len(text) > SIGNATURE_CHARACTERS:
        text = text[: SIGNATURE_CHARACTERS - 1] + "…"
    return text


def _without(source: bytes, start: int, end: int, comments: list[tuple[int, int]]) -> bytes:
    """Return the text from start to end without the comments."""
    parts = []
    for index in range(bisect_left(comments, (start, 0)), len(comments)):
        first, after = comments[index]
        if first >= end:
            break
        parts.append(source[start:first])
        start = after
    return b"".join((*parts, source[start:end]))


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    body = node.child_by_field_name("body")
    if body is None and (of := node.child_by_field_name("type")) is not None:
        body = of.child_by_field_name("body")
    if body is None:
        body = next((child for child in node.named_children if _is_body(child.type)), None)
    # `struct Name(u32)`
    return None if body is not None and body.type.startswith("ordered") else body


@functools.cache
def _is_body(kind: str) -> bool:
    return _BODY.fullmatch(kind) is not None


def _line_end(source: bytes, match: _Found, start: int, *, brackets: bool) -> int:
    """Return the end of the line of ``start``, skipping blanks; with ``brackets``, all ( are closed
    there."""
    while source[start : start + 1].isspace():
        start += 1
    end = source.find(b"\n", start, match.end)
    while (
        brackets
        and end >= 0
        and source.count(b"(", match.at, end) > source.count(b")", match.at, end)
    ):
        end = source.find(b"\n", end + 1, match.end)
    return end if end >= 0 else match.end


class _Docs:
    """Doc comments by the line they end on, unless other code precedes them on their line.

    ``between`` are nodes that may appear between a comment and its definition: attributes.
    """

    def __init__(
        self,
        source: bytes,
        comments: list[tuple[tree_sitter.Node, tree_sitter.Node | None]],
        between: list[tree_sitter.Node],
    ) -> None:
        self._source = source
        # By last line: the first line, the start and end of the text, and whether it is a string.
        self._comments: dict[int, tuple[int, int, int, bool]] = {}
        # Comments that end their line.
        self.trailing: list[tuple[int, int]] = []
        for comment, quoted in comments:
            start, end = comment.start_byte, comment.end_byte
            if quoted is None and _LINE_END.match(source, end - 1):
                self.trailing.append((start, end))
            row, column = comment.start_point
            if column > INDENT or source[start - column : start].strip(_BLANKS):
                continue
            # Some grammars include the line end in a comment.
            text = source[start:end].rstrip()
            if text.startswith(_BACKWARDS) or (row == 0 and text.startswith(b"#!")):
                continue
            if quoted is not None:
                start, end = quoted.start_byte, quoted.end_byte
            self._comments[row + text.count(b"\n")] = (row, start, end, quoted is not None)
        for node in between:
            self._comments.setdefault(node.end_point[0], (node.start_point[0], 0, 0, False))
        self.trailing.sort()

    def of(self, definition: tree_sitter.Node, nodes: list[tree_sitter.Node] | None) -> str:
        """Return the doc of a definition, in these nodes or above it, without comment signs."""
        if nodes:
            text = self._source[nodes[0].start_byte : nodes[0].end_byte]
            if "comment" in nodes[0].type:
                return _unsigned([text.decode("utf-8", "replace")])
            return _unquoted(text)
        row, column = definition.start_point
        if row - 1 not in self._comments or column > INDENT:
            return ""
        start = definition.start_byte
        if self._source[start - column : start].strip(_BLANKS):
            return ""
        texts: list[str] = []
        while (comment := self._comments.get(row - 1)) is not None and len(texts) < 50:
            row, start, end, quoted = comment
            if quoted:
                return _unquoted(self._source[start:end])
            texts.append(self._source[start:end].decode("utf-8", "replace"))
        return _unsigned(texts[::-1])


def _unsigned(comments: list[str]) -> str:
    """Return the text of comments without their signs."""
    if "<summary>" in comments[0]:
        text = "".join(map(_without_signs, "\n".join(comments).splitlines(True)))
        if summary := _SUMMARY.search(text):
            comments = [summary[1]]
    return _first_paragraph(
        text
        for comment in comments
        for line in comment.splitlines()
        if not _RULE.fullmatch(text := _without_signs(line))
    )


def _without_signs(line: str) -> str:
    sign = _SIGN.match(line)
    start = sign.end() if sign else 0
    # Most lines end otherwise, and a search for the sign at each position is the slowest step of
    # all.
    if line.rstrip().endswith(("/", "}", "]")) and (closing := _CLOSING.search(line, start)):
        return line[start : closing.start()]
    return line[start:]


def _unquoted(text: bytes) -> str:
    return _first_paragraph(_QUOTES.sub("", text.decode("utf-8", "replace")).splitlines())


def _first_paragraph(lines: Iterable[str]) -> str:
    """Return the first paragraph, limited in length: lists of definitions need no more."""
    kept: list[str] = []
    for line in lines:
        if stripped := line.strip():
            kept.append(stripped)
        elif kept:
            break
    text = "\n".join(kept)
    return text if len(text) <= DOC_CHARACTERS else text[: DOC_CHARACTERS - 1] + "…"
