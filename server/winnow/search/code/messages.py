"""Find the lines of code that make an error message.

The source has the message with placeholders, or in pieces: `"no {} in %s"`, `f"no {name}"`,
`'no ' + name`, strings on several lines. :func:`search_terms` returns words that stand next to each
other in the message, at least some of which are in the source. :func:`sites_in` then compares the
strings of the matching lines with the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

# A longer message ends with data.
MESSAGE_CHARACTERS = 400
MOST_TERMS = 16
# The words of a term, and of a shorter one if they are telling.
LONG, SHORT = 3, 2
TELLING = 4
# The lines of a statement, and the number of lines without a part of the message between two parts.
STATEMENT_LINES, GAP_LINES = 12, 4
# How far up the statement begins that raises the error.
BEFORE = 3
# The share of the message's letters that the source must have, and their least number.
LEAST_SHARE, LEAST_LETTERS = 0.25, 8
# Factors for lines that do not raise an error, and for comments.
SILENT, COMMENT = 0.85, 0.3
# The factor for a line near which the type of the error is not named.
OTHER_TYPE = 0.97
MOST_LINES_OF_FILE = 200

_WORD = re.compile(r"\S+")
# Values, which the source does not have: quoted texts, numbers, paths and addresses.
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'(?!\w)|`[^`]*`|\S*(?:\d|://)\S*|\S*[\\/]\S+[\\/]\S*")
_LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`?")
_PLACEHOLDER = re.compile(
    r"%(?:\([^()]*\)|\{[^{}]*\}|<[^<>]*>)?[-+ #0]{0,3}\d{0,4}(?:\.\d{1,3})?[hlLqjzt]{0,2}[a-zA-Z]|"
    r"[#$]\{[^{}]*\}?|\{[^{}]*\}+|\\\([^()]*\)|\$\w+|"
    # In C, a macro may have the rest: "%" PRIu64.
    r"%[-+ #0]{0,3}\d{0,4}$"
)
# What programs print before a message, and the query's parts lack.
_LABEL = re.compile(r"^(?:error|fatal|warning|panic): ", re.I)
_ESCAPE = re.compile(r"\\(?:n|t|r)|\\(.)|\\$")
_RAISES = re.compile(
    r"\b(?:raise|throws?|panic|die|croak|confess|abort|assert|fail|fatal|error|reject|bail|ensure|"
    r"expect|warn|exit|err|require|check|trigger_error)\w*[!?]?[\s(:]|"
    r"\w(?:Error|Exception|_error|Errorf|Err|Failure|Assert)\b|\bErr\(|\berrors\.New\(",
)
_IS_COMMENT = re.compile(r"\s*(?://|#(?!\{|\[|!)|\*|/\*|--|;;|<!--|%)")
_SIGNS = " \t#/*-;<!>%"
# What surrounds a text on the lines of a string that began further up.
_AROUND = "{}()[],\"'`"
_KEY = re.compile(r"^[\w.-]+: ")
_LETTER = re.compile(r"[^\W\d_]")


class MatchedText(Struct, frozen=True):
    """The ``matching`` lines of a file, which have a term of a message, and the lines around them
    that :func:`sites_in` compares: ``BEFORE`` and ``STATEMENT_LINES``."""

    path: str
    lines: Mapping[int, str]
    matching: Sequence[int]


class Site(Struct, frozen=True):
    """Lines of a file that make a message. ``score`` is up to 1; ``raises`` is True if they look
    like code that raises an error, and ``is_whole`` if a string there is the whole message."""

    path: str
    first: int
    last: int
    score: float
    raises: bool
    is_whole: bool = False


def search_terms(message: str) -> list[str]:
    """Return texts of which the source of a message probably has some, the most telling first."""
    terms: dict[str, int] = {}
    for run in _runs(message):
        words = _WORD.findall(run)
        for size in (LONG, SHORT):
            for at in range(max(1, len(words) - size + 1)):
                window = words[at : at + size]
                text = " ".join(window)
                telling = sum(len(word.strip(".,:;()!")) >= TELLING for word in window)
                letters = len(_LETTER.findall(text))
                is_telling = len(words) == 1 or telling >= (1 if len(window) >= LONG else 2)
                if letters >= LEAST_LETTERS and is_telling:
                    terms[text] = letters
    return sorted(terms, key=lambda term: -terms[term])[:MOST_TERMS]


def _runs(message: str) -> list[str]:
    """Return the parts of a message between values."""
    return [run for run in _VALUE.split(message[:MESSAGE_CHARACTERS]) if run.strip()]


def sites_in(text: MatchedText, message: str, kind: str = "") -> Iterator[Site]:
    """Yield the places of a file that make a message, best first; ``kind`` is the error's type."""
    # A person who types a message seldom types its capitals.
    message = " ".join(message[:MESSAGE_CHARACTERS].split()).casefold()
    letters = len(_LETTER.findall("".join(_runs(message)))) or 1
    name = re.split(r"\W+", kind.rstrip("!"))[-1]
    sites = []
    for number in text.matching[:MOST_LINES_OF_FILE]:
        last, share = _compared(text.lines, number, message)
        score = min(1.0, share / letters)
        if share < LEAST_LETTERS or score < LEAST_SHARE:
            continue
        around = [text.lines.get(near, "") for near in range(number - BEFORE, last + 1)]
        raises = any(map(_RAISES.search, around))
        is_comment = bool(_IS_COMMENT.match(text.lines[number]))
        pieces = _pieces(text.lines[number], "")[0]
        is_whole = not is_comment and any(piece.casefold() == message for piece in pieces)
        score *= (1.0 if raises else SILENT) * (COMMENT if is_comment else 1.0)
        if name and not any(name in line for line in around):
            score *= OTHER_TYPE
        sites.append(Site(text.path, number, last, score, raises and not is_comment, is_whole))
    seen: set[int] = set()
    for site in sorted(sites, key=lambda site: (-site.score, site.first)):
        lines = range(site.first, site.last + 1)
        if not seen.intersection(lines):
            seen.update(lines)
            yield site


def _compared(texts: Mapping[int, str], first: int, message: str) -> tuple[int, int]:
    """Compare the strings from a line on with a message. Return the last line that has a part of
    it, and the number of letters in all parts."""
    at = total = 0
    last = first
    is_open = ""
    for number in range(first, first + STATEMENT_LINES):
        if number not in texts or number - last > GAP_LINES:
            break
        is_inside = number == first or bool(is_open)
        pieces, is_open = _pieces(texts[number], is_open)
        before = at
        found, at = _found_in(message, pieces, before)
        if found < LEAST_LETTERS and is_inside:
            # No code: a comment, a translation, or a text of several lines, perhaps behind the end
            # of a placeholder.
            pieces = _split([_KEY.sub("", texts[number].strip(_SIGNS + _AROUND))])
            found, at = _found_in(message, pieces, before)
        if found < 0 or (not found and number > first and any(map(_is_long, pieces))):
            break  # the string of another message
        if found:
            total += found
            last = number
    return last, total


def _is_long(piece: str) -> bool:
    return len(_LETTER.findall(piece)) >= LEAST_LETTERS


def _found_in(message: str, pieces: Sequence[str], at: int) -> tuple[int, int]:
    """Return the number of letters of the pieces that a message has from an offset on, in order,
    and the offset behind them. Text that it lacks counts against it. The ``message`` is
    case-folded."""
    found = missing = 0
    for piece in pieces:
        place = message.find(piece.casefold(), at)
        if place >= 0:
            found += len(_LETTER.findall(piece))
            at = place + len(piece.casefold())
        elif not at and message in piece.casefold():  # a part of the message was copied
            found += len(_LETTER.findall(message))
            at = len(message)
        else:
            missing += len(_LETTER.findall(piece))
    return (0 if missing > found else found - missing // 2), at


def _pieces(line: str, is_open: str) -> tuple[list[str], str]:
    """Return the texts between the placeholders of the strings of a line, and the quote of a string
    that continues on the next line. A string that is ``is_open`` continues on this one."""
    literals: list[str] = []
    if is_open:
        end = line.find(is_open)
        literals.append(line if end < 0 else line[:end])
        if end < 0:
            return _split(literals), is_open
        line = line[end + 1 :]
        is_open = ""
    for literal in _LITERAL.findall(line):
        quote = literal[0]
        closed = len(literal) > 1 and literal[-1] == quote
        literals.append(literal[1:-1] if closed else literal[1:])
        is_open = "" if closed else quote
    return _split(literals), is_open


def _split(literals: Sequence[str]) -> list[str]:
    pieces = (piece for text in literals for piece in _PLACEHOLDER.split(text))
    # A sign in front belongs to a protocol: Redis sends "-ERR …".
    plain = (" ".join(_ESCAPE.sub(_unescaped, piece).split()).lstrip("-+") for piece in pieces)
    return [piece for text in plain if _LETTER.search(piece := _LABEL.sub("", text))]


def _unescaped(found: re.Match[str]) -> str:
    return found[1] or " "
