"""Make untrusted texts and paths safe to print in any client and terminal."""

from __future__ import annotations

import re

from winnow.storage.paths import UNPRINTABLE

# Control, format, bidirectional and zero-width characters, separators, lone surrogates, tags.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff]+"
)
# What a pasted text may have and nobody typed: colors and other sequences of a terminal, control
# characters, half surrogate pairs, marks of the writing direction, byte order marks. Joiners of
# Persian and Indic words are letters.
_NOT_TYPED = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,5}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\^_=>])?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060"
    r"\u2066-\u2069\ud800-\udfff\ufeff]"
)
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]*)\]\s*(?:\([^)]*\)|\[[^\]]*\])")
_HTML = re.compile(r"<(?:[a-zA-Z]|/[^\s>])[^>]*>?")


def printable(text: str) -> str:
    """Return the text on one line, of the same length, with a replacement for each control
    character and lone surrogate. Tabs stay."""
    if text.isascii() and text.replace("\t", "").isprintable():
        return text  # the usual case, and faster
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def as_typed(query: str) -> str:
    """Return a query without the invisible characters that a pasted text has, unless it has no
    others."""
    typed = _NOT_TYPED.sub("", query)
    return typed if typed.strip() else query


def on_one_line(name: str) -> str:
    """Return a name in a single line: the selectors of a CSS rule may have many."""
    return " ".join(name.split()) if "\n" in name else name


def clean_line(text: str, characters: int) -> str:
    """Return one line of plain text of limited length, without links, markup and invisible
    characters, for texts of models and servers that agents and terminals will read."""
    # Only the answers of models need the table of a thousand domains.
    from winnow.text.web_links import without_links

    text = _INVISIBLE.sub(" ", text[:4000])
    before = None
    while text != before:  # removing something may create a link
        before = text
        plain = _HTML.sub(" ", _MARKDOWN_LINK.sub(r"\1", text))
        text = plain if plain != text else without_links(text)
    text = " ".join(text.replace("](", "] (").split())
    if len(text) > characters:
        text = text[: characters - 1].rstrip() + "…"
    return text
