"""Split types as written in source: alternatives, generic arguments, function types."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEAD = re.compile(r"[\w$.]+")
_OPENING, _CLOSING = "([{<", ")]}>"
_FUNCTION = re.compile(r"(?:abstract\s+)?(?:new\s*)?(?:<.*?>\s*)?\(")
_PARAMETERS = re.compile(r"[<,]\s*(?:const\s+)?(\w+)")
_ARROW = re.compile(r"\s*=>\s*")
_TYPED = re.compile(r"[^:]*?\??\s*:\s*")


def split(text: str, signs: str) -> list[str]:
    """Split a text at some signs, outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= sign != ">" or text[place - 1 : place] != "="
        elif depth == 0 and sign in signs:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def generic(text: str) -> tuple[str, list[str]]:
    """Split `A[B, C]` or `A<B, C>` into `A` and its arguments."""
    head = _HEAD.match(text)
    if head is None:
        return "", []
    rest = text[head.end() :].strip()
    if len(rest) < 2 or rest[0] not in "[<" or rest[-1] not in "]>":
        return (head.group(), []) if not rest else ("", [])
    return head.group(), split(rest[1:-1], ",")


def function(text: str) -> tuple[tuple[str, ...], str] | None:
    """Return the parameter types and the result type of `(a: A, b?: B) => C`."""
    start = _FUNCTION.match(text)
    if start is None:
        return None
    end = _closing(text, start.end() - 1)
    arrow = _ARROW.match(text, end + 1) if end else None
    if arrow is None:
        return None
    # The function's own type parameters are unknown.
    own = set(_PARAMETERS.findall(start.group()))
    inside = [*_parameters(split(text[start.end() : end], ",")), text[arrow.end() :]]
    *parameters, returns = ["" if part.strip() in own else part for part in inside]
    return tuple(parameters), returns


def _parameters(parts: list[str]) -> Iterator[str]:
    for part in parts:
        name = part.strip()
        typed = _TYPED.match(name)
        if name and not name.startswith("this:"):
            yield name[typed.end() :] if typed and not name.startswith("...") else ""


def _closing(text: str, opening: int) -> int:
    """Return the position of the bracket that closes the one at a position, or 0."""
    depth = 0
    for place in range(opening, len(text)):
        if text[place] in _OPENING:
            depth += 1
        elif text[place] in _CLOSING and (text[place] != ">" or text[place - 1] != "="):
            depth -= 1
            if depth == 0:
                return place
    return 0


def unwrapped(text: str) -> str:
    """Return a type without parentheses around it."""
    while text.startswith("(") and _closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text
