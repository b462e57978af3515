"""Showing what strangers named and wrote: texts and paths that any client and terminal can take."""

from __future__ import annotations

import os
import re
from urllib.parse import quote_from_bytes

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def printable(text: str) -> str:
    """The text on one line and as long as it was, with a sign for each control character and each
    half of a surrogate pair. Tabs stay."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def shown_path(path: str) -> tuple[str, str | None]:
    """A path as text for any client, and its percent-encoded bytes if they are not Unicode.

    Bytes that are not UTF-8 show as ``\\xff``: JSON has no other way to say them.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(path)
        return raw.decode("utf-8", "backslashreplace"), quote_from_bytes(raw)
    return path, None
