"""Definitions: what the matches of a language's query say, nested, with signatures and docs."""

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
# Definitions that stand in more others than this are left out: no person has written them, and
# their qualified names would be larger than the file.
DEPTH = 64
_LINE_FEED = 10
_BLANKS = b" \t\r\f\xef\xbb\xbf"  # with the mark at the beginning of some files
# A comment further to the right stands behind something, and what does is not looked at.
INDENT = 200
# Kinds in whose bodies definitions are local.
FUNCTIONS = frozenset(("function", "method", "constructor", "property", "operator"))
# Kinds that there are only in something.
MEMBERS = frozenset(("field", "method", "constructor"))
VARIABLES = frozenset(("variable", "constant"))
# Kinds whose signature goes on behind the first line, as long as a bracket is open.
_LONG = (FUNCTIONS | CONTAINERS | {"macro"}) - {"section"}
# Where a signature ends: the node types of bodies, in all grammars.
_BODY = re.compile(
    r"(?:.*_)?(?:body|[bB]lock)|compound_statement|statements|"
    r"(?:field_)?declaration_list|enumerator_list|enum_variant_list"
)
_ANNOTATIONS = re.compile(
    r"(?:@(?!(?:interface|mixin|function|keyframes|typep?|opaque|\w*callback)\b)[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?\s+)+"
)
# In a signature of several lines.
_BRACKETS = re.compile(r"([(\[]) |,? ([)\]])")
_BLANK = re.compile(r"\s+")
# The last byte of a comment behind which nothing stands on its line.
_LINE_END = re.compile(rb"\n|.[ \t]*\r?(?:\n|$)", re.DOTALL)
# Between the parts of a name, in all languages.
_SEPARATORS = re.compile(r"::|\\")
# The part of an XML comment that says what something is.
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)
# Comments on what stands before them.
_BACKWARDS = (b"-- ^", b"///<", b"//!<", b"/**<")
# Kinds that may come in several equations or clauses.
_CLAUSES = frozenset(("function", "method", "macro", "operator"))
# Signs of comments at the beginning and end of lines, in all languages.
_SIGN = re.compile(
    r"\s*(?:/\*\*?!?<?|\*/|\*|//+!?<?|--\[\[|---?(?: ?\|)?|#+[!:]?|;+|%+|\{-\|?|-\})\s?"
)
_CLOSING = re.compile(r"\s*(?:\*+/|/{3,}|-\}|\]\])\s*$")


_QUOTES = re.compile(r"^~?[A-Za-z]{0,2}(?:\"\"\"|'''|[\"'])|(?:\"\"\"|'''|[\"'])$")
# Lines of comments that are drawn, `// -----`, or said to a tool.
_RULE = re.compile(
    r"\s*[-=*#/_~+]+\s*"
    r"|\s*(?:eslint-|@ts-|prettier-ignore|biome-ignore|istanbul |go:|nolint|NOLINT|noqa|pylint:"
    r"|type: ignore|pragma: |clang-format |@__|#__).*"
)


class _Sorts(dict[str, tuple[str, ...]]):
    """By the name of a capture the sort and kind of what it defines, empty if it does not."""

    def __missing__(self, capture: str) -> tuple[str, ...]:
        sort, _, kind = capture.partition(".")
        self[capture] = found = (sort, kind) if kind or sort == "inside" else ()
        return found


_SORTS = _Sorts()


class _Found(NamedTuple):
    """A match, before it is known where it stands."""

    start: int
    end: int
    at: int
    pattern: int
    sort: str  # definition, declaration, local, inside, skipped
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


class _Captured:
    """What the queries have matched; ``found`` by the name's offset and whether it is `@inside`."""

    def __init__(self, language: Language, source: bytes) -> None:
        self._language = language
        self._source = source
        self.found: dict[tuple[int, bool], _Found] = {}
        # With the string that takes the comment's place in some languages.
        self.comments: list[tuple[tree_sitter.Node, tree_sitter.Node | None]] = []
        self.between: list[tree_sitter.Node] = []
        self.exported: list[tree_sitter.Node] = []
        self.nested: list[tree_sitter.Node] = []
        self.access = _Access()

    def take(
        self, matches: list[tuple[int, dict[str, list[tree_sitter.Node]]]], first: int = 0
    ) -> None:
        """Sort matches; ``first`` is the number of the first pattern, low ones win."""
        for pattern, captures in matches:
            if "comment" in captures:
                texts = captures.get("text")
                self.comments += [(one, texts[0] if texts else None) for one in captures["comment"]]
            elif (capture := next(filter(_SORTS.__getitem__, captures), None)) is not None:
                self._match(first + pattern, capture, captures)
            else:
                self.between += captures.get("between", ())
                self.nested += captures.get("nested", ())
                self.exported += captures.get("exported", ())
                self.access.add(captures.get("access", ()))
                self.access.listed.update(
                    _name(self._language, self._source, one)[0]
                    for one in captures.get("listed", ())
                )

    def _match(
        self, pattern: int, capture: str, captures: dict[str, list[tree_sitter.Node]]
    ) -> None:
        sort, kind = _SORTS[capture]
        node = captures[capture][0]
        # A pattern that repeats captures several nodes: the name is the last of them.
        named = captures["name"][-1] if "name" in captures else self._language.name_of(node)
        if named is None and kind:
            return
        name, before = _name(self._language, self._source, named) if named else ("", 0)
        # What is no definition is told by where it begins: one of each begins there.
        at = named.start_byte + before if named is not None and kind else node.start_byte
        key = (at, sort == "inside")
        known = self.found.get(key)
        if known is not None and known.pattern <= pattern:
            return
        row, column = (named or node).start_point
        self.found[key] = _Found(
            captures["first"][0].start_byte if "first" in captures else node.start_byte,
            node.end_byte,
            at,
            pattern,
            sort,
            kind,
            node,
            name,
            (row, column + before),
            node.end_point[0],
            captures,
        )


class _Access:
    """What a text says elsewhere than at a definition about who sees it."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        # By the node around: where `private` and the like stand, and whether it is that.
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
    """The definitions of a text, in the order of their beginnings, those around others first.

    The queries are of ``language.definitions`` with its comments, and of ``language.nested``.
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
        key=lambda one: (one.start, -one.end, one.sort == "inside", one.at),
    )
    docs = _Docs(source, captured.comments, captured.between)
    exported = {_text(source, node) for node in captured.exported}
    if language.most:
        del found[language.most :]
    if language.clauses:
        found = _joined(found)
    definitions = list(
        _nested(language, found, source, docs, exported, captured.access, root.has_error)
    )
    if language.once:
        typed = {one.at for one in found if "typed" in one.captures}
        definitions = _once(definitions, typed, language.once)
    return definitions


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
    language: Language,
    found: list[_Found],
    source: bytes,
    docs: _Docs,
    exported: set[str],
    access: _Access,
    broken: bool,
) -> Iterator[Definition]:
    """Definitions with what they are members of; ``found`` begins with what stands around.

    ``broken`` says that the text did not parse, see ``flat`` of the language.
    """
    lost = language.flat and broken
    around: list[_Outer] = []
    columns = _Columns(source)
    comments = docs.trailing
    for one in found:
        if one.sort == "skipped":
            continue
        # What has the very same range stands beside it: `A, B = 1, 2`.
        while around and (
            around[-1].end < one.end or (around[-1].start, around[-1].end) == (one.start, one.end)
        ):
            around.pop()
        if len(around) == DEPTH:
            continue
        kind = one.kind
        begins_line = one.start == 0 or source[one.start - 1] == _LINE_FEED
        outer = _container(around, one)
        if language.flat and begins_line and outer.kind in FUNCTIONS:
            outer = _container([over for over in around if over.kind not in FUNCTIONS], one)
        local = one.sort == "local" or outer.local
        name = one.name
        # The parser has put it there, where one is missing.
        if (not name and one.sort != "inside") or name in language.reserved:
            continue
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
        elif (
            (kind in MEMBERS and above not in CONTAINERS)
            or (local and (kind in VARIABLES or one.sort == "declaration"))
            or (lost and not container and not begins_line and kind in VARIABLES)
        ):
            continue
        header = one.captures.get("first", [_header_node(language, one.node)])[0]
        before = source[header.start_byte : one.at].decode("utf-8", "replace")
        kind = language.kind(kind, before, name, container)
        if not kind:
            continue
        row, column = one.place
        definition = Definition(
            name=name,
            kind=kind,
            at=one.at,
            start=header.start_byte,
            end=one.end,
            line=row,
            end_line=one.end_line,
            columns=columns.at(row, column, one.at),
            container=container,
            signature=_signature(one, name, kind, source, comments),
            doc=docs.of(header, one.captures.get("doc")),
            exported="hidden" not in one.captures
            and access.allows(name, kind, container, header)
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
                _qualified(container, _parts(name)),
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
    if text[:1].isalpha():
        return text.decode("utf-8", "replace"), 0
    bare = text.lstrip(b"'\"`")
    return bare.rstrip(b"'\"`").decode("utf-8", "replace"), len(text) - len(bare)


class _Columns:
    """Columns in bytes, code points and UTF-16 units.

    On a line they are counted on from the last one: a line may be the whole of a large file.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._plain = source.isascii()
        self._row = -1
        self._last = (0, 0, 0)

    def at(self, row: int, column: int, offset: int) -> tuple[int, int, int]:
        if self._plain:
            return column, column, column
        known, points, units = self._last
        if row != self._row or column < known:
            known = points = units = 0
        text = self._source[offset - column + known : offset].decode("utf-8", "replace")
        points += len(text)
        units += len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2
        self._row, self._last = row, (column, points, units)
        return self._last


def _header_node(language: Language, node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with decorators and the like."""
    if language.header:
        while (parent := node.parent) is not None and parent.type in language.header:
            node = parent
    return node


def _signature(
    one: _Found, name: str, kind: str, source: bytes, comments: list[tuple[int, int]]
) -> str:
    """The definition up to its body, on one line and without comments at the ends of lines."""
    long = kind in _LONG
    body = _body(one.node) if long else None
    # In some grammars the doc is the first part of the definition.
    doc = one.captures.get("doc")
    start = doc[0].end_byte if doc and doc[0].start_byte == one.start else one.start
    if body is not None and body.start_byte > start:
        end = body.start_byte
    else:
        first = one.at if long else start
        end = _line_end(source, one, first, brackets=kind not in VARIABLES)
    end = min(end, start + 4_000)
    text = _without(source, start, end, comments).decode("utf-8", "replace").lstrip()
    if text.startswith("@") and (annotations := _ANNOTATIONS.match(text)):
        rest = text[annotations.end() :]
        text = rest if name in rest else text  # Elixir's `@name value` is no annotation
    text = text.rstrip(" \t\r\n{:=,;\\")
    if "\n" in text:
        text = _BRACKETS.sub(r"\1\2", _BLANK.sub(" ", text))
    if one.at >= end:  # `typedef struct {…} Name`
        text = f"{text} {name}"
    if len(text) > SIGNATURE_CHARACTERS:
        text = text[: SIGNATURE_CHARACTERS - 1] + "…"
    return text


def _without(source: bytes, start: int, end: int, comments: list[tuple[int, int]]) -> bytes:
    """The text from start to end without the comments in it."""
    parts = []
    for place in range(bisect_left(comments, (start, 0)), len(comments)):
        first, behind = comments[place]
        if first >= end:
            break
        parts.append(source[start:first])
        start = behind
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


def _line_end(source: bytes, one: _Found, start: int, *, brackets: bool) -> int:
    """Where the line of ``start``, or of what follows it, ends; all round ``brackets`` closed."""
    while source[start : start + 1].isspace():
        start += 1
    end = source.find(b"\n", start, one.end)
    while (
        brackets and end >= 0 and source.count(b"(", one.at, end) > source.count(b")", one.at, end)
    ):
        end = source.find(b"\n", end + 1, one.end)
    return end if end >= 0 else one.end


class _Docs:
    """Comments by the line they end on, as far as nothing else stands before them there.

    ``between`` are nodes that may stand between a comment and what it is about: attributes.
    """

    def __init__(
        self,
        source: bytes,
        comments: list[tuple[tree_sitter.Node, tree_sitter.Node | None]],
        between: list[tree_sitter.Node],
    ) -> None:
        self._source = source
        # By the last line: the first one, where the text begins and ends, and whether it is quoted.
        self._comments: dict[int, tuple[int, int, int, bool]] = {}
        # Those that end where their line does.
        self.trailing: list[tuple[int, int]] = []
        for comment, quoted in comments:
            start, end = comment.start_byte, comment.end_byte
            if quoted is None and _LINE_END.match(source, end - 1):
                self.trailing.append((start, end))
            row, column = comment.start_point
            if column > INDENT or source[start - column : start].strip(_BLANKS):
                continue
            # Some grammars count the line end as part of a comment.
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
        """What is said of a definition, in these nodes or above it, without comment signs."""
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
    """What comments say, without their signs."""
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
    # Most lines end otherwise, and looking for the sign at each place takes longer than all else.
    if line.rstrip().endswith(("/", "}", "]")) and (closing := _CLOSING.search(line, start)):
        return line[start : closing.start()]
    return line[start:]


def _unquoted(text: bytes) -> str:
    return _first_paragraph(_QUOTES.sub("", text.decode("utf-8", "replace")).splitlines())


def _first_paragraph(lines: Iterable[str]) -> str:
    """Most docs are long, and nobody reads on in a list of definitions."""
    kept: list[str] = []
    for line in lines:
        if stripped := line.strip():
            kept.append(stripped)
        elif kept:
            break
    text = "\n".join(kept)
    return text if len(text) <= DOC_CHARACTERS else text[: DOC_CHARACTERS - 1] + "…"
