"""Bind names in languages known by their grammar only: identifiers, and parameters of functions.

Grammars use similar names for identifiers, and "parameter" in nodes that bind parameters.
Everything else comes from the definitions and from the query `Language.uses`:

| capture | meaning |
| --- | --- |
| ``@type``, ``@call``, ``@import`` | the kind of a use; the last one of a name counts |
| ``@variable`` | a variable, in a language that marks these: it is never a function |
| ``@base`` | a class that the class around it inherits from |
| ``@part`` | the name of a class whose members are in its parent, or in the ``@whole`` around it |
| ``@anonymous`` | a class without a name |
| ``@local`` | a name that a variable binds, up to the end of the innermost ``@block`` |
| ``@keyword`` | the name of an argument in a call |
| ``@qualified`` | several names with dots between them (Elixir's `A.B`) |
"""

from __future__ import annotations

import functools
import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    CALLED,
    CONTAINERS,
    DEFINES,
    IMPORTED,
    IN_TYPE,
    KEYWORD,
    LOCAL,
    PARAMETER,
    ROLE,
    Definition,
    LexicalScope,
)

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction
    from winnow.symbols.language import Language

# Kinds that contain parameters and variables.
_FUNCTIONS = frozenset(("function", "method", "constructor", "macro", "operator"))
_IDENTIFIER = re.compile(
    r"(?:^|_)(?:identifier|ident|constant|name|word|variable|var|symbol|id|atom|alias|constructor|"
    r"property)$",
    re.IGNORECASE,
)
_OTHER = re.compile(r"comment|string|heredoc|keyword|operator|sigil|regex", re.IGNORECASE)
_PARAMETER = re.compile(r"(?:^|_)(?:param|parameter|parameters|params|argument_name)$")
# The flags of captures.
_USES = {"variable": APART, "type": IN_TYPE, "call": CALLED, "import": IMPORTED}
# Separators between a receiver and a member.
_OPERATORS = frozenset(b".>:\\")
_SIGNS = b" \t\r\n.>:\\-?!()"
_LETTERS = bytes(range(48, 58)) + bytes(range(65, 91)) + bytes(range(97, 123)) + b"_"
_LAST_WORD = re.compile(r"\w+(?=\W*$)")
_IN_PATTERN = re.compile(r"pattern|variable_declaration|declarator").search
_NAME = re.compile(rb"[^\s:'\"`()\[\]{},;][^\s'\"`()\[\]{},;]*")


@functools.cache
def _kinds(grammar: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the node types of identifiers and of parameters."""
    import tree_sitter_language_pack

    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    kinds = {
        str(language.node_kind_for_id(number))
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number) and language.node_kind_is_visible(number)
    }
    return (
        frozenset(kind for kind in kinds if _IDENTIFIER.search(kind) and not _OTHER.search(kind)),
        frozenset(kind for kind in kinds if _PARAMETER.search(kind)),
    )


@functools.cache
def tokens(grammar: str, uses: str) -> tree_sitter.Query:
    """Return the query for identifiers and parameters of a grammar, and kinds of uses."""
    import tree_sitter
    import tree_sitter_language_pack

    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    identifiers, parameters = _kinds(grammar)
    patterns = [f"({kind}) @identifier" for kind in sorted(identifiers)]
    patterns += [f"({kind}) @parameter" for kind in sorted(parameters)]
    query: tree_sitter.Query = tree_sitter.Query(language, "\n".join([*patterns, uses]))
    return query


def _names(grammar: str, parameter: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the names that a parameter binds.

    Either an identifier in the field ``name``, or the first child if its type never occurs in that
    field.
    """
    identifiers, _ = _kinds(grammar)
    named = parameter.children_by_field_name("name")
    names = [node for node in named if node.type in identifiers]
    for first in parameter.named_children[:1]:
        if (
            first.type in identifiers
            and first not in names
            and not _has_name(grammar, parameter.type, first.type)
        ):
            names.append(first)
    return names


# Called only for pairs that occur in texts: a query takes 3 ms, and some grammars have 200 such
# pairs.
@functools.cache
def _has_name(grammar: str, outer: str, inner: str) -> bool:
    """Return True if nodes of one type can have another type in their field ``name``."""
    import tree_sitter
    import tree_sitter_language_pack

    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    try:
        tree_sitter.Query(language, f"({outer} name: ({inner}))")
    except tree_sitter.QueryError:
        return False
    return True


def find_occurrences(
    language: Language, extraction: Extraction, query: tree_sitter.Query
) -> dict[str, bytes]:
    """Return the packed occurrences of each name. Adds scopes from the definitions."""
    import tree_sitter

    captured = tree_sitter.QueryCursor(query).captures(extraction.roots[0])
    extraction.captured = captured
    extraction.scopes += _scopes(extraction.definitions, _parts(extraction))
    extraction.link_scopes()
    for node in captured.get("base", ()):
        bases = extraction.bases.setdefault(extraction.scope_at(node.start_byte), [])
        bases.append(extraction.text(node))
    extraction.each("keyword", _keyword)
    qualified = {node.start_byte: _between_dots(node) for node in captured.get("qualified", ())}
    for capture, flag in _USES.items():
        for node in captured.get(capture, ()):
            *_, (last, _) = qualified.get(node.start_byte, [node.byte_range])
            extraction.flags[last] = flag
    if language.prepare is not None:
        language.prepare(extraction)
    grammar = language.grammar or language.name
    parameters = {
        _leaf(name).start_byte
        for node in captured.get("parameter", ())
        for name in _names(grammar, node)
    }
    variables = _Variables(captured)
    names: dict[str, list[int]] = {}
    defined = {(definition.at, definition.name) for definition in extraction.definitions}
    places = {
        place
        for node in captured.get("identifier", ())
        if not node.child_count
        for place in qualified.get(node.start_byte, [node.byte_range])
    }
    source, uses, owners = extraction.source, extraction.flags, extraction.owners
    # Most of the extraction's time is spent in this loop.
    for start, end in sorted(places):
        found = _NAME.match(source, start, end) or _NAME.search(source, start, end)
        if found is None:
            continue
        at, word = found.start(), found[0]
        name = word.decode("utf-8", "replace")
        flags, receiver = 0, 0
        if at and source[at - 1] in _OPERATORS:
            flags, receiver = _before(extraction, at)
        use = uses.get(start, 0)
        flags = use if use & ROLE else flags | use
        if start in owners:
            receiver = extraction.chains.number(owners[start])
        is_local = not flags & ROLE and variables.has(word, start)
        if start in parameters:
            flags = flags & ~APART | PARAMETER | (0 if is_local else BINDS)
        if (at, name) in defined:
            defined.discard((at, name))
            flags = DEFINES
        elif is_local:
            flags |= LOCAL
        names.setdefault(name, []).extend((at, flags, receiver))
    for at, name in sorted(defined):
        names.setdefault(name, []).extend((at, DEFINES, 0))
    if language.collect is not None:
        language.collect(extraction)
    for name, at, flag in extraction.more:
        names.setdefault(name, []).extend((at, flag, 0))
    return {name: array("I", numbers).tobytes() for name, numbers in names.items()}


def _between_dots(node: tree_sitter.Node) -> list[tuple[int, int]]:
    """Return the start and end of each name in a node."""
    places, start = [], node.start_byte
    for part in (node.text or b"").split(b"."):
        places.append((start, start + len(part)))
        start += len(part) + 1
    return places


def _leaf(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the name itself: PHP's `$name` includes a sign."""
    while node.named_children:
        node = node.named_children[-1]
    return node


def _parts(extraction: Extraction) -> list[LexicalScope]:
    """Return the scopes of members of classes declared elsewhere, and of classes without a name."""
    wholes = {node.id for node in extraction.captured.get("whole", ())}
    found = [
        LexicalScope(*_extent(node, wholes), 0, "part", extraction.text(node))
        for node in extraction.captured.get("part", ())
    ]
    return found + [
        LexicalScope(node.start_byte, node.end_byte, 0, "class")
        for node in extraction.captured.get("anonymous", ())
    ]


def _extent(name: tree_sitter.Node, wholes: Collection[int]) -> tuple[int, int]:
    """Return the start and end of the part of a class that has a name."""
    around = name.parent
    while around is not None and around.id not in wholes:
        around = around.parent
    if around is not None:
        return around.byte_range
    return name.end_byte, (name.parent or name).end_byte


def _scopes(definitions: list[Definition], parts: list[LexicalScope]) -> list[LexicalScope]:
    found = {(part.start, -part.end): part for part in parts}
    # The scopes around the current one: their ends and qualified names.
    around: list[tuple[int, str]] = []
    bound: list[Definition | LexicalScope] = [*definitions, *parts]
    for each in sorted(bound, key=lambda each: (each.start, -each.end)):
        while around and around[-1][0] <= each.start:
            around.pop()
        outer = around[-1][1] if around else ""
        if isinstance(each, LexicalScope):
            around.append((each.end, ".".join(filter(None, (outer, each.name)))))
            continue
        if part := _part_of(each, outer):
            key = (each.start, -each.end)
            found.setdefault(key, LexicalScope(each.start, each.end, 0, "part", part))
        kind = "function" if each.kind in _FUNCTIONS else "class" if each.kind in CONTAINERS else ""
        start = each.at + len(each.name.encode())
        if kind and start < each.end:
            around.append((each.end, each.qualified_name))
            found.setdefault((start, -each.end), LexicalScope(start, each.end, 0, kind, each.name))
    return [found[key] for key in sorted(found)]


class _Variables:
    """The parts of a text in which a name is a local variable."""

    def __init__(self, captured: dict[str, list[tree_sitter.Node]]) -> None:
        self._blocks = {node.id for node in captured.get("block", ())}
        spans: dict[bytes, list[tuple[int, int]]] = {}
        for node in captured.get("local", ()):
            if node.text:
                own, scope = node.byte_range, (self._start(node), self._end(node))
                spans.setdefault(node.text, []).extend((own, scope))
        # Disjoint and in order, so that a lookup is a binary search.
        self._spans = {name: _merged(each) for name, each in spans.items()}

    def has(self, name: bytes, at: int) -> bool:
        spans = self._spans.get(name)
        if spans is None:
            return False
        place = bisect_right(spans, at, key=lambda span: span[0]) - 1
        return place >= 0 and at < spans[place][1]

    def _start(self, name: tree_sitter.Node) -> int:
        """Return the end of the value that a variable gets: its name has another meaning there."""
        node: tree_sitter.Node | None = name
        while node is not None and node.id not in self._blocks:
            behind = node.next_sibling
            if behind is not None and behind.type == "type_annotation":
                behind = behind.next_sibling
            if behind is not None and behind.type == "=" and behind.next_sibling is not None:
                return behind.next_sibling.end_byte
            node = (
                node.parent if node.parent is not None and _IN_PATTERN(node.parent.type) else None
            )
        return name.end_byte

    def _end(self, name: tree_sitter.Node) -> int:
        node: tree_sitter.Node | None = name
        while node is not None and node.id not in self._blocks:
            node = node.parent
        return node.end_byte if node is not None else name.end_byte


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return disjoint spans that cover the same as some spans, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _keyword(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the name of an argument, with the name of what is called as its receiver."""
    call: tree_sitter.Node | None = node
    while call is not None and not call.type.endswith("call_expression"):
        call = call.parent
    called = call.named_children[0] if call is not None else None
    name = _LAST_WORD.search(extraction.text(called)) if called is not None else None
    extraction.flags[node.start_byte] = KEYWORD
    extraction.owners[node.start_byte] = name[0].encode() if name else b"?"


def _part_of(definition: Definition, around: str) -> str:
    """Return the name of a class declared elsewhere that a definition is a member of, as seen from
    the definition ``around`` it, or ""."""
    if definition.container == around:
        return ""
    return definition.container.removeprefix(f"{around}.")


def _before(extraction: Extraction, start: int) -> tuple[int, int]:
    """Return the flags and the receiver of a name that follows the end of an operator."""
    source = extraction.source
    if source[start - 1] == ord(">") and source[start - 2 : start - 1] != b"-":
        return 0, 0
    if source[start - 1] == ord(":") and source[start - 2 : start - 1].isspace():  # `:symbol`
        return 0, 0
    before = source[max(0, start - 80) : start].rstrip(_SIGNS)
    receiver = before[len(before.rstrip(_LETTERS)) :]
    return ATTRIBUTE, extraction.chains.number(receiver or b"?")
