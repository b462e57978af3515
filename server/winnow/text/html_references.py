"""Replace the character references of HTML, such as `&amp;`, in texts that may be hostile."""

from __future__ import annotations

import html
import re

# No character has such a number, and Python refuses to convert one of thousands of digits.
_LONG_REFERENCE = re.compile(r"&#\d{8,};?")


def unescaped(text: str) -> str:
    """Return the text with the characters that its references stand for."""
    return html.unescape(_LONG_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text))
