"""Blade, Laravel's templates: expressions of PHP in a text."""

from __future__ import annotations

import re

from winnow.symbols.language import Language
from winnow.symbols.languages.php import USES

# Comments, and text that Blade leaves to JavaScript, contain no PHP; the group is what does.
_PART = re.compile(
    rb"\{\{--.*?--\}\}|@verbatim\b.*?@endverbatim\b|@\{\{.*?\}\}"
    rb"|\{\{(.*?)\}\}|\{!!(.*?)!!\}|@php\b(?!\s*\()(.*?)@endphp\b|<\?(?:php|=)(.*?)(?:\?>|\Z)"
    rb"|(?<![\w@])@\w+[ \t]*(\()",
    re.DOTALL,
)
_BRACKET = re.compile(rb"[()]")


def clean(source: bytes) -> bytes:
    """Return a script of PHP with the expressions of a template at the same offsets: those of a
    directive, `@if(a)`, in square brackets."""
    script = bytearray(re.sub(rb"[^\r\n]", b" ", source))
    script[:2] = b"<?"[: len(script)]
    for part in _PART.finditer(source):
        if not part.lastindex:
            continue
        start, end = part.span(part.lastindex)
        is_directive = source[start:end] == b"(" and part.lastindex == _PART.groups
        if is_directive:
            end = _closing(source, start)
        script[start:end] = source[start:end]
        if is_directive:
            script[start : start + 1], script[end - 1 : end] = b"[", b"]"
        if start > len(b"<?"):
            script[start - 1 : start] = b";"
    return bytes(script)


def _closing(source: bytes, start: int) -> int:
    """Return the end of the arguments that begin with the bracket at an offset."""
    depth = 0
    for bracket in _BRACKET.finditer(source, start):
        depth += 1 if bracket.group() == b"(" else -1
        if not depth:
            return bracket.end()
    return start + 1


BLADE = Language(
    name="blade",
    grammar="php",
    files=(".blade.php",),
    definitions="(function_definition name: (name) @name) @definition.function",
    uses=USES,
    clean=clean,
)
