"""Bind names in languages known by their grammar only: identifiers, and parameters of functions.

Grammars use similar names for identifiers, and "parameter" in nodes that bind parameters.
Everything else comes from the definitions, and the kinds of uses from a query of the language.
"""

from __future__ import annotations

import functools
import re
from array import array
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
# The captures of `Language.uses`; the last one of a name counts.
_USES = {"variable": APART, "type": IN_TYPE, "call": CALLED, "import": IMPORTED}
# Separators between a receiver and a member.
_OPERATORS = frozenset(b".>:\\")
_SIGNS = b" \t\r\n.>:\\-?!()"
_LETTERS = bytes(range(48, 58)) + bytes(range(65, 91)) + bytes(range(97, 123)) + b"_"
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

    extraction.scopes += _scopes(extraction.definitions)
    extraction.link_scopes()
    captured = tree_sitter.QueryCursor(query).captures(extraction.roots[0])
    extraction.captured = captured
    for capture, flag in _USES.items():
        for node in captured.get(capture, ()):
            extraction.flags[node.start_byte] = flag
    if language.prepare is not None:
        language.prepare(extraction)
    grammar = language.grammar or language.name
    parameters = {
        _leaf(name).start_byte
        for node in captured.get("parameter", ())
        for name in _names(grammar, node)
    }
    names: dict[str, list[int]] = {}
    defined = {(definition.at, definition.name) for definition in extraction.definitions}
    places = {
        (node.start_byte, node.end_byte)
        for node in captured.get("identifier", ())
        if not node.child_count
    }
    for start, end in sorted(places):
        found = _NAME.match(extraction.source, start, end) or _NAME.search(
            extraction.source, start, end
        )
        if found is None:
            continue
        name = found.group().decode("utf-8", "replace")
        flags, receiver = _before(extraction, found.start())
        use = extraction.flags.get(start, 0)
        flags = use if use & ROLE else flags | use
        if start in extraction.owners:
            receiver = extraction.chains.number(extraction.owners[start])
        if start in parameters:
            flags = flags & ~APART | BINDS | PARAMETER
        if (found.start(), name) in defined:
            defined.discard((found.start(), name))
            flags = DEFINES
        names.setdefault(name, []).extend((found.start(), flags, receiver))
    for at, name in sorted(defined):
        names.setdefault(name, []).extend((at, DEFINES, 0))
    if language.collect is not None:
        language.collect(extraction)
    for name, at, flag in extraction.more:
        names.setdefault(name, []).extend((at, flag, 0))
    return {name: array("I", numbers).tobytes() for name, numbers in names.items()}


def _leaf(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the name itself: PHP's `$name` includes a sign."""
    while node.named_children:
        node = node.named_children[-1]
    return node


def _scopes(definitions: list[Definition]) -> list[LexicalScope]:
    found: dict[tuple[int, int], LexicalScope] = {}
    around: list[Definition] = []
    for definition in definitions:
        while around and around[-1].end <= definition.start:
            around.pop()
        part = _part_of(definition, around[-1].qualified_name if around else "")
        if part:
            key = (definition.start, -definition.end)
            found.setdefault(key, LexicalScope(definition.start, definition.end, 0, "part", part))
        kind = (
            "function"
            if definition.kind in _FUNCTIONS
            else "class"
            if definition.kind in CONTAINERS
            else ""
        )
        start = definition.at + len(definition.name.encode())
        if kind and start < definition.end:
            around.append(definition)
            found.setdefault(
                (start, -definition.end),
                LexicalScope(start, definition.end, 0, kind, definition.name),
            )
    return [found[key] for key in sorted(found)]


def _part_of(definition: Definition, around: str) -> str:
    """Return the name of a class declared elsewhere that a definition is a member of, as seen from
    the definition ``around`` it, or ""."""
    if definition.container == around:
        return ""
    return definition.container.removeprefix(f"{around}.")


def _before(extraction: Extraction, start: int) -> tuple[int, int]:
    """Return the flags and the receiver, if an operator precedes a name."""
    source = extraction.source
    if not start or source[start - 1] not in _OPERATORS:
        return 0, 0
    if source[start - 1] == ord(">") and source[start - 2 : start - 1] != b"-":
        return 0, 0
    if source[start - 1] == ord(":") and source[start - 2 : start - 1].isspace():  # `:symbol`
        return 0, 0
    before = source[max(0, start - 80) : start].rstrip(_SIGNS)
    receiver = before[len(before.rstrip(_LETTERS)) :]
    return ATTRIBUTE, extraction.chains.number(receiver or b"?")
