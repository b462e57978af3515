"""Receiver expressions: chains of names, members, calls and subscripts in short form.

:class:`~winnow.symbols.file_symbols.ScopeTable` documents the short form.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

# The type of a longer receiver would never be found.
CHAIN_BYTES = 120
UNKNOWN = b"?"
_BLANKS = b" \t\r\n\\"
DOT, _GREATER, _COLON, _QUESTION, _BANG, _DASH = b".>:?!-"
_CAST = re.compile(rb"[\w.:]+")
# Prefixes that do not change what an expression is.
_PREFIX = re.compile(rb"(?:(?:new|await|yield|from|return)\s+|[&*!]\s*)+")


class Chains:
    """Expressions made of names, members, calls and subscripts, indexed by their end offset."""

    def __init__(self, source: bytes) -> None:
        self.receivers = [""]
        # The type of a cast that precedes its operand, by the start of the cast.
        self.casts: dict[int, str] = {}
        # What follows a pointer in the form of what it points to.
        self.pointed = b""
        self._source = source
        self._numbers = {b"": 0}
        # By end: the start of the expression and its short form.
        self.ends: dict[int, tuple[int, bytes]] = {}
        # By end: the start of a name that is an expression by itself, unless ``ends`` has it.
        self.names: dict[int, int] = {}
        # By the end of a closing bracket: its kind, the end of what precedes the opening bracket,
        # and the start.
        self._closed: dict[int, tuple[bytes, int, int]] = {}

    def close(self, captured: dict[str, list[tree_sitter.Node]]) -> None:
        """Index the brackets of the text."""
        closed = self._closed
        for node in captured.get("parenthesis", ()):
            closed[node.end_byte] = (b"", node.start_byte, node.start_byte)
        for node in captured.get("arguments", ()):
            closed[node.end_byte] = (b"()", node.start_byte, node.start_byte)
        for node in captured.get("subscript", ()):
            first = node.child(0)
            if first is not None:
                closed[node.end_byte] = (b"[]", first.end_byte, node.start_byte)
        for node in captured.get("typearguments", ()):
            closed[node.end_byte] = (b"<>", node.start_byte, node.start_byte)
        for node in captured.get("postfix", ()):
            first = node.child(0)
            if first is not None:
                closed[node.end_byte] = (b"<>", first.end_byte, node.start_byte)
        for node in captured.get("cast", ()):
            self._cast(node)

    def _cast(self, node: tree_sitter.Node) -> None:
        """Record `(x as T)`, `((T) x)` or `x.(T)` as an expression of type T."""
        declared = node.child_by_field_name("type")
        around = node.parent
        if declared is None or around is None:
            return
        if around.type == "parenthesized_expression":
            node = around
        text = self._source[declared.start_byte : declared.end_byte]
        name = text.lstrip(b"*&").partition(b"<")[0]
        if _CAST.fullmatch(name):
            form = b"<" + name.replace(b"::", b".") + b">"
            self.ends[node.end_byte] = (node.start_byte, form)

    def know(self, start: int, end: int, form: str) -> None:
        """Record the short form of the expression from start to end."""
        self.ends[end] = (start, form.encode())

    def number(self, form: bytes) -> int:
        """Return the number of a receiver, adding it to the table if it is new."""
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self.receivers)
            self.receivers.append(form.decode("utf-8", "replace"))
        return number

    def before(self, start: int) -> tuple[int, bytes] | None:
        """Return the receiver of a name that starts here, if an operator precedes the name."""
        place = self._operated(start)
        if place is None:
            return None
        found = self.ending(place)
        if found is None:
            return start, UNKNOWN
        return (found[0], found[1] + self.pointed) if self._source[place] == _DASH else found

    def _operated(self, start: int) -> int | None:
        """Return the start of the operator before a name."""
        source = self._source
        place = start - 1
        operator = source[place]
        if operator == DOT:
            if place and source[place - 1] == DOT:  # a range or a spread
                return None
            if place and source[place - 1] in (_QUESTION, _BANG):
                place -= 1
        elif operator == _GREATER:
            if source[place - 1] != _DASH:
                return None
            place -= 1
        elif operator == _COLON:
            if source[place - 1] != _COLON:
                return None
            place -= 1
        else:
            return None
        return place

    def expect(self, spans: list[tuple[int, int]]) -> None:
        """Treat these names as expressions until something is known about what precedes them."""
        self.names = {end: start for start, end in spans}
        for end in self.ends.keys() & self.names.keys():  # the type at the end of a cast
            start = self.names[end]
            if not start or self._operated(start) is None:
                del self.ends[end]

    def ending(self, end: int) -> tuple[int, bytes] | None:
        """Return the start and short form of the expression that ends before an offset, ignoring
        blanks."""
        source = self._source
        while end and source[end - 1] in _BLANKS:
            end -= 1
        ending = self.ends.get(end)
        if ending is not None:
            return ending
        begin = self.names.get(end)
        if begin is not None:
            return begin, source[begin:end]
        closed = self._closed.get(end)
        if closed is None:
            if source[end - 2 : end] == b"::":  # Rust's `x::<T>`
                return self.ending(end - 2)
            if end and source[end - 1] == _BANG:  # TypeScript's `x!.y`
                return self.ending(end - 1)
            return None
        sign, opened, start = closed
        if sign == b"":
            form = self._described(opened + 1, end - 1)
            return (start, form) if form else None
        if not opened:
            return None
        inner = self.ending(opened)
        if inner is None:
            return None
        if sign != b"<>" and len(inner[1]) < CHAIN_BYTES:
            inner = (inner[0], inner[1] + sign)
        self.ends[end] = inner
        return inner

    def describe(self, start: int, end: int) -> str:
        """Return the short form of the expression from start to end, or "" if it is not a chain."""
        return self._described(start, end).decode("utf-8", "replace")

    def _described(self, start: int, end: int) -> bytes:
        source = self._source
        while start < end and source[start] in _BLANKS:
            start += 1
        if start in self.casts:
            return f"<{self.casts[start]}>".encode()
        found = self.ending(end)
        if found is None:
            return b""
        if found[0] != start:
            prefix = _PREFIX.match(source, start, end)
            if prefix is None or prefix.end() != found[0]:
                return b""
            if b"*" in prefix[0]:
                return found[1] + self.pointed
        return found[1]
