"""Occurrences: every identifier of a file, with what it is for and what stands before it.

Of a language's query ``tokens``, these captures are read here; all others are for its ``collect``:

``@identifier``  every identifier
``@bind``        binds its name in the scope that it stands in
``@parameter``   binds a parameter
``@member``      names a member where a class or type is written down
``@inner``       as that, but it is visible only behind a receiver, or by inheritance
``@apart``       a name of the language's second kind, see `Rules.apart`
``@keyword``     the name of a keyword argument
``@key``         the key of an object literal, ``@shorthand`` a key that is a value, too
``@type``        can only be a type
``@label``       a label
``@tag``         the name behind C's `struct`, `union` or `enum`
``@macro``       binds a macro
``@in_type``     a name of a type
``@argument``    an argument that may be a member, where a macro is called
``@typed``       a part of the text in which names are types
``@scope.<kind>``  a scope, see :class:`~winnow.symbols.file_symbols.LexicalScope`
``@arguments``   the arguments of a call, with their brackets
``@subscript``   an expression with a subscript; its first child is what is subscripted
``@parenthesis`` an expression in brackets
``@postfix``     an expression with a sign behind it that changes nothing: `x?`, `x.await`
``@cast``        a cast with a field ``type``, in brackets
``@object``      what keys stand in; ``Extraction.contexts`` tells what it is an object of

What stands before a name is told from the text: identifiers come in order, so that the end of one
expression is looked up where the next one begins. A tree walk costs ten times as much.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
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
# Captures that nothing reads in the order of the text: sorting them would be a tenth of the work.
UNORDERED = frozenset((*FLAGS, "identifier", "parenthesis", "postfix", "subscript"))


_start = attrgetter("start_byte")


def find_occurrences(
    language: Language, extraction: Extraction, query: tree_sitter.Query
) -> dict[str, bytes]:
    """The packed occurrences of each name; fills the extraction's scopes and chains, and has the
    language collect the rest."""
    import tree_sitter

    cursor = tree_sitter.QueryCursor(query)
    captured = cursor.captures(extraction.roots[0])
    for root in extraction.roots[1:]:
        for name, nodes in cursor.captures(root).items():
            captured.setdefault(name, []).extend(nodes)
    # They come in no order; identifiers, the most by far, are ordered as numbers below.
    for name, nodes in captured.items():
        if name not in UNORDERED:
            nodes.sort(key=_start)
    extraction.captured = captured
    extraction.scopes += _scopes(captured, extraction.source)
    extraction.link_scopes()
    flags = extraction.flags
    for capture, flag in FLAGS.items():
        for start in map(_start, captured.get(capture, ())):
            flags[start] = flags.get(start, 0) | flag
    for definition in extraction.definitions:
        flags[definition.at] = flags.get(definition.at, 0) | DEFINES
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
    """Scopes as they are captured, those around others first; parents are not known yet."""
    found: dict[tuple[int, int], tuple[str, str]] = {}
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
                # The name itself belongs to the scope around, and so do a class's bases.
                start = named.end_byte
                for field in ("body",) if kind == "class" else ("type_parameters", "parameters"):
                    part = node.child_by_field_name(field)
                    if part is not None:
                        start = part.start_byte
                        break
            found.setdefault((start, -node.end_byte), (kind, name))
    return [
        LexicalScope(start, -end, 0, kind, name)
        for (start, end), (kind, name) in sorted(found.items())
    ]


# The name of a type, without what stands before it (`(self *Foo[T])`, `&Foo<T>`).
_PART = re.compile(r"(?:\(\s*(?:\w+\s+)?)?[&*\s]*(?:'\w+\s+)?(?:mut\s+|dyn\s+)?([\w.:]+)")


def _part_of(node: tree_sitter.Node, source: bytes) -> str:
    """The type whose members stand in a node."""
    owner = node.child_by_field_name("receiver") or node.child_by_field_name("type")
    if owner is None:
        return ""
    text = source[owner.start_byte : owner.end_byte].decode("utf-8", "replace")
    match = _PART.match(text)
    return match[1].replace("::", ".") if match else ""


def _identifiers(
    extraction: Extraction, skipped: frozenset[str], captured: dict[str, list[tree_sitter.Node]]
) -> dict[str, list[int]]:
    """For each name its occurrences, as numbers: offset, flags, receiver."""
    source, flags, chains = extraction.source, extraction.flags, extraction.chains
    places = [(node.start_byte, node.end_byte) for node in captured.get("identifier", ())]
    places += extraction.tokens
    if len(extraction.roots) > 1:  # what is nested was captured in the text around it, too
        places = list(set(places))
    places.sort()
    _mark_types(flags, places, captured.get("typed", ()))
    owners = extraction.owners
    calls = _Ranges(captured.get("arguments", ()))
    objects = _Ranges(captured.get("object", ()))
    # Keys whose objects may be described behind them: the numbers of their name, and where.
    keys: list[tuple[list[int], int, int]] = []
    chains.expect(places)
    ends, before = chains.ends, chains.before
    operators = frozenset(b".>:")
    names: dict[bytes, list[int]] = {}
    # The expression that ended last: most receivers are that.
    last, last_start, last_form = -1, 0, b""
    form: bytes | None  # of what stands before a name
    # The hottest loop of all: a function called here for every identifier is a tenth of the time.
    for start, end in places:
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
        known = names.get(name)
        if known is None:
            known = names[name] = [start, flag, number]
        else:
            known += (start, flag, number)
        if flag and (flag & SHORTHAND or flag & ROLE == KEY):
            around = objects.around(start)
            if around is not None:
                keys.append((known, len(known) - 1, around))
    for numbers, index, around in keys:
        numbers[index] = chains.number(_context(extraction, around))
    return {
        text: numbers
        for name, numbers in names.items()
        if (text := name.decode("utf-8", "replace")) not in skipped
    }


def _context(extraction: Extraction, at: int) -> bytes:
    """The short form of what an object with keys is, which begins at this offset."""
    start, end, rest = extraction.contexts.get(at, (0, 0, ""))
    if not end:
        return rest.encode()
    described = extraction.chains.describe(start, end)
    return (described + rest).encode() if described else UNKNOWN


def _mark_types(
    flags: dict[int, int], places: list[tuple[int, int]], typed: Iterable[tree_sitter.Node]
) -> None:
    """Flag the identifiers that stand in types."""
    behind = 0
    for node in typed:
        if node.start_byte < behind:  # in a type that was looked at
            continue
        behind = node.end_byte
        for place in range(bisect_left(places, (node.start_byte, 0)), len(places)):
            start = places[place][0]
            if start >= behind:
                break
            flags[start] = flags.get(start, 0) | IN_TYPE


class _Ranges:
    """Nested ranges, asked for offsets that only grow."""

    def __init__(self, nodes: Iterable[tree_sitter.Node]) -> None:
        self._ranges = [(node.start_byte, node.end_byte) for node in nodes]
        self._next = 0
        self._open: list[tuple[int, int]] = []

    def around(self, at: int) -> int | None:
        """Where the innermost range around an offset begins."""
        ranges, opened = self._ranges, self._open
        while self._next < len(ranges) and ranges[self._next][0] <= at:
            opened.append(ranges[self._next])
            self._next += 1
        while opened and opened[-1][1] <= at:
            opened.pop()
        return opened[-1][0] if opened else None
