"""Text for people: colours on a terminal only."""

from __future__ import annotations

import os
from typing import TextIO

from msgspec import Struct


class Style(Struct, frozen=True):
    """How to emphasise; without ``colour`` every method gives the text as it is."""

    colour: bool

    @classmethod
    def for_stream(cls, stream: TextIO) -> Style:
        """Colours for a terminal that wants them (the NO_COLOR and TERM conventions)."""
        wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def path(self, text: str) -> str:
        return self._code("1;35", text)

    def dim(self, text: str) -> str:
        return self._code("2", text)

    def match(self, text: str) -> str:
        return self._code("1;31", text)

    def good(self, text: str) -> str:
        return self._code("32", text)

    def bad(self, text: str) -> str:
        return self._code("33", text)

    def _code(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text
