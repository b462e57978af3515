"""Occurrences: every identifier of a file, with its role and the expression before it.

This module reads the following captures of a language's query ``tokens``. The language's
``collect`` reads all others.

``@identifier``  every identifier
``@bind``        binds its name in the enclosing scope
``@parameter``   binds a parameter
``@member``      declares a member of a class or type
``@inner``       the same, but only visible after a receiver or through inheritance
``@apart``       a name in the language's second name space, see `Rules.apart`
``@keyword``     the name of a keyword argument
``@key``         the key of an object literal; ``@shorthand`` is both key and value
``@type``        can only be a type
``@label``       a label
``@tag``         the name after C's `struct`, `union` or `enum`
``@macro``       binds a macro
``@in_type``     a name in a type
``@argument``    a macro argument that may be a member
``@typed``       a part of the text in which names are types
``@scope.<kind>``  a scope, see :class:`~winnow.symbols.file_symbols.LexicalScope`
``@arguments``   the arguments of a call, with their brackets
``@subscript``   an expression with a subscript; its first child is the subscripted expression
``@parenthesis`` an expression in parentheses
``@postfix``     an expression with a suffix that changes nothing: `x?`, `x.await`
``@cast``        a cast with a field ``type``, in parentheses
``@object``      contains keys; ``Extraction.contexts`` has what it is an object of

The receiver of a name comes from the text: identifiers are visited in order, and the end of one
expression is looked up where the next one starts. A tree walk takes ten times as long.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from winnow.symbols.extract.chains import CHAIN_BYTES, DOT, UNKNOWN
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    DEFINES,
    IN_TYPE,
    KEY,
    KEYWORD,
    LABEL,
    MACRO,
    MEMBER,
    PARAMETER,
    ROLE,
    SHORTHAND,
    TAG,
    TYPE,
    LexicalScope,
)

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction
    from winnow.symbols.language import Language

FLAGS = {
    "bind": BINDS,
    "parameter": BINDS | PARAMETER,
    "member": MEMBER | BINDS,
    "inner": MEMBER | DEFINES,
    "apart": APART,
    "keyword": KEYWORD,
    "key": KEY,
    "shorthand": SHORTHAND,
    "type": TYPE,
    "label": LABEL,
    "tag": TAG,
    "macro": MACRO | BINDS,
    "in_type": IN_TYPE,
    "argument": SHORTHAND,
}
# Captures that nothing reads in text order: sorting them would be a tenth of the work.
UNORDERED = frozenset((*FLAGS, "identifier", "parenthesis", "postfix", "subscript"))


_start = attrgetter("start_byte")
_span = attrgetter("byte_range")


def find_occurrences(
    language: Language, extraction: Extraction, query: tree_sitter.Query
) -> dict[str, bytes]:
    """Return the packed occurrences of each name. Fills the extraction's scopes and chains, and
    runs the language's hooks."""
    import tree_sitter

    cursor = tree_sitter.QueryCursor(query)
    captured = cursor.captures(extraction.roots[0])
    for root in extraction.roots[1:]:
        for name, nodes in cursor.captures(root).items():
            captured.setdefault(name, []).extend(nodes)
    # Captures are unordered. Identifiers, by far the most, are sorted as numbers below.
    for name, nodes in captured.items():
        if name not in UNORDERED:
            nodes.sort(key=_start)
    extraction.captured = captured
    extraction.scopes += _scopes(captured, extraction.source)
    extraction.link_scopes()
    flags = extraction.flags
    for capture, flag in FLAGS.items():
        for start in map(_start, captured.get(capture, ())):
            flags[start] |= flag
    for definition in extraction.definitions:
        flags[definition.at] |= DEFINES
    extraction.chains.close(captured)
    if language.prepare is not None:
        language.prepare(extraction)
    names = _identifiers(extraction, language.skipped, captured)
    if language.collect is not None:
        language.collect(extraction)
    for name, at, flag in extraction.more:
        names.setdefault(name, []).extend((at, flag, 0))
    for name, at, flag, receiver in extraction.members:
        names.setdefault(name, []).extend((at, flag, receiver))
    return {name: array("I", numbers).tobytes() for name, numbers in names.items()}


def _scopes(captured: dict[str, list[tree_sitter.Node]], source: bytes) -> list[LexicalScope]:
    """Return the captured scopes, enclosing ones first. Parents are not set yet."""
    scopes: dict[tuple[int, int], tuple[str, str]] = {}
    for capture, nodes in captured.items():
        if not capture.startswith("scope."):
            continue
        kind = capture.partition(".")[2]
        for node in nodes:
            start, name = node.start_byte, ""
            named = node.child_by_field_name("name") or node.child_by_field_name("key")
            if kind == "part":
                name = _part_of(node, source)
            elif named is not None:
                if kind != "block":
                    name = source[named.start_byte : named.end_byte].decode("utf-8", "replace")
                # The enclosing scope binds the name itself and evaluates a class's bases.
                start = named.end_byte
                for field in ("body",) if kind == "class" else ("type_parameters", "parameters"):
                    part = node.child_by_field_name(field)
                    if part is not None:
                        start = part.start_byte
                        break
            scopes.setdefault((start, -node.end_byte), (kind, name))
    return [
        LexicalScope(start, -end, 0, kind, name)
        for (start, end), (kind, name) in sorted(scopes.items())
    ]


# The name of a type, without what precedes it (`(self *Foo[T])`, `&Foo<T>`).
_PART = re.compile(r"(?:\(\s*(?:\w+\s+)?)?[&*\s]*(?:'\w+\s+)?(?:mut\s+|dyn\s+)?([\w.:]+)")


def _part_of(node: tree_sitter.Node, source: bytes) -> str:
    """Return the name of the type whose members are in a node."""
    owner = node.child_by_field_name("receiver") or node.child_by_field_name("type")
    if owner is None:
        return ""
    text = source[owner.start_byte : owner.end_byte].decode("utf-8", "replace")
    match = _PART.match(text)
    return match[1].replace("::", ".") if match else ""


def _identifiers(
    extraction: Extraction, skipped: frozenset[str], captured: dict[str, list[tree_sitter.Node]]
) -> dict[str, list[int]]:
    """Return the occurrences of each name, as numbers: offset, flags, receiver."""
    source, flags, chains = extraction.source, extraction.flags, extraction.chains
    spans = [*map(_span, captured.get("identifier", ())), *extraction.tokens]
    if len(extraction.roots) > 1:  # nested parts were captured in the enclosing text, too
        spans = list(set(spans))
    spans.sort()
    _mark_types(flags, spans, captured.get("typed", ()))
    owners = extraction.owners
    calls = _Ranges(captured.get("arguments", ()))
    objects = _Ranges(captured.get("object", ()))
    # Keys whose objects may be described after them: the numbers of their name, the index, and the
    # object's start.
    keys: list[tuple[list[int], int, int]] = []
    chains.expect(spans)
    ends, before = chains.ends, chains.before
    operators = frozenset(b".>:")
    names: dict[bytes, list[int]] = {}
    # The expression that ended last: the receiver in most cases.
    last, last_start, last_form = -1, 0, b""
    form: bytes | None  # of the receiver
    # The hottest loop of the extraction: calling a function for every identifier costs a tenth of
    # the time.
    for start, end in spans:
        name = source[start:end]
        flag = flags.get(start, 0)
        number = 0
        if start and (operator := source[start - 1]) in operators:
            if operator == DOT and start - 1 == last and source[start - 2] != DOT:
                begin, form = last_start, last_form
            else:
                begin, form = before(start) or (start, None)
        else:
            form = None
        if form is None:
            last, last_start, last_form = end, start, name
            if flag:
                if flag & ROLE == KEYWORD:
                    call = calls.around(start)
                    called = chains.ending(call) if call is not None else None
                    number = chains.number(called[1] if called else UNKNOWN)
                elif start in owners:
                    number = chains.number(owners[start])
        else:
            number = chains.number(form)
            if not flag & ROLE:
                flag |= ATTRIBUTE
            if form != UNKNOWN and len(form) < CHAIN_BYTES:
                last, last_start, last_form = end, begin, form + b"." + name
                ends[end] = (begin, last_form)
            elif flag & ROLE == KEY:  # C's `{.a.b = 1}`
                ends[end] = (start, b"{." + name)
            else:
                chains.names.pop(end, None)
        numbers = names.get(name)
        if numbers is None:
            numbers = names[name] = [start, flag, number]
        else:
            numbers += (start, flag, number)
        if flag and (flag & SHORTHAND or flag & ROLE == KEY):
            around = objects.around(start)
            if around is not None:
                keys.append((numbers, len(numbers) - 1, around))
    for numbers, index, around in keys:
        numbers[index] = chains.number(_context(extraction, around))
    return {
        text: numbers
        for name, numbers in names.items()
        if (text := name.decode("utf-8", "replace")) not in skipped
    }


def _context(extraction: Extraction, at: int) -> bytes:
    """Return the short form of the object literal that starts at this offset."""
    start, end, rest = extraction.contexts.get(at, (0, 0, ""))
    if not end:
        return rest.encode()
    described = extraction.chains.describe(start, end)
    return (described + rest).encode() if described else UNKNOWN


def _mark_types(
    flags: defaultdict[int, int], spans: list[tuple[int, int]], typed: Iterable[tree_sitter.Node]
) -> None:
    """Flag the identifiers in types."""
    behind = 0
    for node in typed:
        if node.start_byte < behind:  # inside a type that was already marked
            continue
        behind = node.end_byte
        for index in range(bisect_left(spans, (node.start_byte, 0)), len(spans)):
            start = spans[index][0]
            if start >= behind:
                break
            flags[start] |= IN_TYPE


class _Ranges:
    """Nested ranges, queried with increasing offsets."""

    def __init__(self, nodes: Iterable[tree_sitter.Node]) -> None:
        self._ranges = [*map(_span, nodes)]
        self._next = 0
        self._open: list[tuple[int, int]] = []

    def around(self, at: int) -> int | None:
        """Return the start of the innermost range that contains an offset."""
        ranges, opened = self._ranges, self._open
        while self._next < len(ranges) and ranges[self._next][0] <= at:
            opened.append(ranges[self._next])
            self._next += 1
        while opened and opened[-1][1] <= at:
            opened.pop()
        return opened[-1][0] if opened else None
