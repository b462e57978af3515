"""Find a phrase as a document has it: over the ends of lines, and with typographic characters."""

from __future__ import annotations

import re

import msgspec

from winnow.documents.extract.output import cleaned
from winnow.text.ripgrep import TextPattern, escaped

# Quotes and dashes that mean the same to a reader; keyboards have the first of each.
_QUOTES = ("'‘’‚‛ʼ′", '"“”„‟«»″')
_DASHES = "-‐‑‒–—−"
_CLASSES = {char: f"[{re.escape(same)}]" for same in (*_QUOTES, _DASHES) for char in same}
# Blanks, or the end of a line and the indentation of the next one. An empty line ends a phrase.
_BLANK = r"[^\S\n]*\s[^\S\n]*"
_DASH = rf"{_CLASSES['-']}(?:\n[^\S\n]*)?"
# A period is no operator here: it matches itself, and nothing that surprises.
_OPERATORS = re.compile(r"[()\[\]{}?*+|^$\\]")
_PIECES = re.compile(rf"(?P<blank>\s+)|(?P<hyphen>(?<=[^\W\d])[{_DASHES[1:]}-](?=[^\W\d]))|.")


def is_phrase(query: TextPattern) -> bool:
    """Return False for a regular expression with operators."""
    return query.literal or not _OPERATORS.search(query.pattern)


def as_phrase(query: TextPattern) -> TextPattern:
    """Return a pattern that also matches over the ends of lines, and typographic quotes, dashes and
    blanks. A regular expression with operators is returned unchanged."""
    if not is_phrase(query):
        return query
    typed = cleaned(query.pattern)
    phrase = typed.strip()
    # Blanks around a phrase do not reach into other lines.
    before, after = typed[: typed.index(phrase)], typed[len(typed.rstrip()) :]

    def pattern_of(piece: re.Match[str]) -> str:
        if piece["blank"]:
            return _BLANK
        if piece["hyphen"]:
            # The reader of PDFs joins a word that is broken at its hyphen.
            return f"(?:{_DASH})?"
        char = piece[0]
        if char in _DASHES:
            return _DASH
        return _CLASSES.get(char) or (escaped(char) if query.literal else char)

    pattern = before + _PIECES.sub(pattern_of, phrase) + after
    # Words alone are searched faster line by line.
    multiline = r"\n" in pattern
    return msgspec.structs.replace(query, pattern=pattern, literal=False, multiline=multiline)
