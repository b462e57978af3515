"""Format numbers and dates as a workbook displays them, by the common number formats of Excel.

Names of days and months are English, and numbers have the separators of the United States: a
workbook does not contain the language of its reader.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, DecimalException

from msgspec import Struct

_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])+', re.DOTALL)
_TOKEN = re.compile(
    r"""
      "(?P<quoted>[^"]*)" | \\(?P<escaped>.)
    | \[\$(?P<currency>[^\]-]*)[^\]]*\]
    | (?P<hidden>_.|\*.|\[[a-z]\w*\])  # a margin, a filling or a color
    | (?P<digits>[0\#][0\#,]*(?:\.[0\#]+)?,*)
    | (?P<moment>AM/PM|y+|m+|d+|h+|s+)
    | (?P<plain>[ $€£¥%()+:/.,-])  # what needs no quotes
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MOMENTS: dict[str, Callable[[datetime.datetime], str]] = {
    "yy": lambda moment: f"{moment.year % 100:02}",
    "yyyy": lambda moment: f"{moment.year:04}",
    "m": lambda moment: str(moment.month),
    "mm": lambda moment: f"{moment.month:02}",
    "mmm": lambda moment: _MONTHS[moment.month - 1][:3],
    "mmmm": lambda moment: _MONTHS[moment.month - 1],
    "d": lambda moment: str(moment.day),
    "dd": lambda moment: f"{moment.day:02}",
    "ddd": lambda moment: _DAYS[moment.weekday()][:3],
    "dddd": lambda moment: _DAYS[moment.weekday()],
    "h": lambda moment: str(moment.hour),
    "hh": lambda moment: f"{moment.hour:02}",
    "h 12": lambda moment: str((moment.hour - 1) % 12 + 1),
    "hh 12": lambda moment: f"{(moment.hour - 1) % 12 + 1:02}",
    "minute": lambda moment: str(moment.minute),
    "minutes": lambda moment: f"{moment.minute:02}",
    "s": lambda moment: str(moment.second),
    "ss": lambda moment: f"{moment.second:02}",
    "am/pm": lambda moment: "AM" if moment.hour < 12 else "PM",
}


class DisplayFormat(Struct, frozen=True):
    """The pieces of a number format, each with its kind: text, the digits of a number, or a part of
    a date or time."""

    pieces: tuple[tuple[str, str], ...]

    def number(self, value: str) -> str:
        """Return a number without its sign. Raises ValueError for a moment and for a number with
        too many digits."""
        if [kind for kind, _ in self.pieces if kind != "text"] != ["digits"]:
            raise ValueError(value)
        percents = sum(code == "%" for _, code in self.pieces)
        try:
            number = abs(Decimal(value)).scaleb(2 * percents)
            return self._joined("digits", lambda code: _digits(number, code))
        except DecimalException as error:
            raise ValueError(value) from error

    def moment(self, moment: datetime.datetime) -> str:
        """Return a date or a time. Raises ValueError for a number."""
        if any(kind == "digits" for kind, _ in self.pieces):
            raise ValueError(moment)
        return self._joined("moment", lambda code: _MOMENTS[code](moment))

    def _joined(self, kind: str, shown: Callable[[str], str]) -> str:
        pieces = (shown(code) if of == kind else code for of, code in self.pieces)
        return "".join(pieces).strip()


def _digits(number: Decimal, code: str) -> str:
    whole, _, decimals = code.partition(".")
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    text = f"{rounded:,f}" if "," in whole else f"{rounded:f}"
    before, point, after = text.partition(".")
    least = decimals.count("0")
    after = after[:least] + after[least:].rstrip("0")
    return before.rjust(whole.count("0"), "0") + (point + after if after else "")


def display_formats(code: str) -> tuple[DisplayFormat | None, DisplayFormat | None]:
    """Parse a format for positive and negative numbers; None for a format that is not common."""
    sections = _SECTION.findall(code)
    if not sections:
        return None, None
    negative = sections[1] if len(sections) > 1 else f"-{sections[0]}"
    return _parsed(sections[0]), _parsed(negative)


def _parsed(section: str) -> DisplayFormat | None:
    pieces: list[tuple[str, str]] = []
    end = 0
    for token in _TOKEN.finditer(section):
        kind, text = token.lastgroup or "", token[token.lastgroup or 0]
        if token.start() != end or (kind == "digits" and text.endswith(",")):  # thousands
            return None
        end = token.end()
        if kind in ("digits", "moment"):
            pieces.append((kind, text.lower()))
        elif kind != "hidden":
            pieces.append(("text", text))
    moments = [code for kind, code in pieces if kind == "moment"]
    codes = iter(_clock_codes(moments))
    pieces = [(kind, next(codes) if kind == "moment" else code) for kind, code in pieces]
    known = all(code in _MOMENTS for kind, code in pieces if kind == "moment")
    return DisplayFormat(tuple(pieces)) if known and end == len(section) else None


def _clock_codes(codes: Sequence[str]) -> list[str]:
    """Return the codes of a date and time by their meaning: m means minutes beside hours or
    seconds, and h counts to 12 with AM and PM."""

    def meaning(before: str, code: str, after: str) -> str:
        if code in ("m", "mm") and (before[:1] == "h" or after[:1] == "s"):
            return "minute" if code == "m" else "minutes"
        return f"{code} 12" if code in ("h", "hh") and "am/pm" in codes else code

    return list(map(meaning, ["", *codes], codes, [*codes[1:], ""]))
