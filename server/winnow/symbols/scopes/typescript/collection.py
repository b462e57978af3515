"""Add types, bases, and names in strings and doc comments, after identifiers are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.extract.chains import UNKNOWN
from winnow.symbols.file_symbols import ATTRIBUTE, IN_TYPE, MENTIONED
from winnow.symbols.scopes.typescript.imports import string_text
from winnow.symbols.scopes.typescript.type_sources import TypeCollector
from winnow.symbols.scopes.typescript.written_types import as_step, type_text

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

_DOC = re.compile(
    rb"\{@link(?:code|plain)?\s+(?P<link>[A-Za-z_$][\w$]*)"
    rb"|@(?:param|returns?|type|throws|typedef|property|prop|extends|implements|template|this|see"
    rb"|satisfies|enum)\s+\{(?!@)(?P<type>[^}\n]*)\}"
)
_WORD = re.compile(rb"(?<![\w$'\"])(?<![\w$)\]]\.)[A-Za-z_$][\w$]*")


def collect(extraction: Extraction) -> None:
    """Add bases, types of names and functions, and names in doc comments."""
    types = TypeCollector(extraction)
    for capture, collect_from in (
        ("class", types.bases),
        ("alias", types.alias),
        ("constrained", types.constraint),
        ("function", types.function),
        ("signature", types.signature),
        ("declarator", types.variable),
        ("field", types.variable),
        ("loop", types.loop),
        ("alias.import", types.import_alias),
        ("this", types.this),
        ("static", types.static),
        ("assignment.this", types.assignment),
        ("return", types.returned),
        ("object", types.pattern),
        ("export", types.default),
    ):
        for node in extraction.captured.get(capture, ()):
            collect_from(node)
    extraction.each("quoted", _quoted)
    _documented(extraction)


def _quoted(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add a quoted member: `x["a"]`, or `T["a"]` in a type."""
    string = node.parent
    owner = string.parent if string is not None else None
    if owner is not None and owner.type == "literal_type":
        owner = owner.parent
    inner = owner.named_children[0] if owner is not None else None
    if inner is None:
        return
    if owner is not None and owner.type == "lookup_type":
        receiver = _lookup(extraction, inner)
    else:
        receiver = extraction.chains.describe(inner.start_byte, inner.end_byte)
    number = extraction.chains.number(receiver.encode() if receiver else UNKNOWN)
    flags = ATTRIBUTE | (IN_TYPE if owner is not None and owner.type == "lookup_type" else 0)
    extraction.members.append((extraction.text(node), node.start_byte, flags, number))


def _lookup(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the expression before a lookup in a type: `T["a"]["b"]` becomes `<T>.a.b`."""
    if node.type == "lookup_type" and len(node.named_children) == 2:
        owner = _lookup(extraction, node.named_children[0])
        key = string_text(extraction, node.named_children[1])
        return expressions.member(owner, key) if owner and key.isidentifier() else ""
    declared = as_step(type_text(extraction, node))
    return expressions.cast(declared) if declared else ""


def _documented(extraction: Extraction) -> None:
    """Add names in doc comments: `{@link X}` and `@param {X}`."""
    for node in extraction.captured.get("comment", ()):
        start, end = node.start_byte, node.end_byte
        if not extraction.source.startswith(b"/**", start):
            continue
        for match in _DOC.finditer(extraction.source, start, end):
            span = match.span("link") if match["link"] else match.span("type")
            flag = MENTIONED if match["link"] else IN_TYPE
            for word in _WORD.finditer(extraction.source, *span):
                extraction.more.append((word.group().decode(), word.start(), flag))
