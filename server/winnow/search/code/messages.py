"""Find the lines of code that make an error message.

The source has the message with placeholders, or in pieces: `"no {} in %s"`, `f"no {name}"`,
`'no ' + name`, strings on several lines. :func:`source_terms` returns words that stand next to each
other in the message, at least some of which are in the source. :func:`sites_in` then compares the
strings of the matching lines with the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import Literal

from msgspec import Struct

from winnow.search.code.message_catalogs import is_catalog, texts_without_quotes

# A longer message ends with data.
MESSAGE_CHARACTERS = 400
MOST_TERMS = 16
# If a message has fewer terms, less telling ones are used as well: some words may be values.
FEW_TERMS = 6
# The parts of a message between colons, and its sentences.
MOST_PARTS = 20
# The words of a term, and of a shorter one if they are telling.
LONG, SHORT = 3, 2
TELLING = 4
# The lines of a statement, and the number of lines without a part of the message between two parts.
STATEMENT_LINES, GAP_LINES = 12, 4
# How far up the statement begins that raises the error.
BEFORE = 3
# The words of a message in which each may be a value, and of its text on either side of that.
WORDS_WITH_VALUE, WORDS_BESIDE = range(3, 11), 2
# The share of the message's letters that the source must have, and their least number.
LEAST_SHARE, LEAST_LETTERS = 0.25, 8
# A text of so many words that is in a string is a sentence that was copied from it.
COPIED_WORDS = 5
# The beginning of a report that may have a message within it, and the least letters of a string
# that makes it.
REPORT_CHARACTERS, LEAST_WITHIN = 1_000, 12
# The score of a string that makes the whole message, if it has a smaller share of its letters.
WHOLE = 0.9
# Factors for lines that do not raise an error, and for comments.
SILENT, COMMENT = 0.85, 0.3
MOST_LINES_OF_FILE = 200

_WORD = re.compile(r"\S+")
# Without the signs behind and around it.
_WORD_OF_SENTENCE = re.compile(r"\S*[^\s,.:;!?…]")
_BARE_WORD = re.compile(r"[^\s\"'`()\[\],.:;!?…](?:\S*[^\s\"'`()\[\],.:;!?…])?")
# Values, which the source does not have: texts in quotes and brackets, numbers, paths, addresses,
# hosts, methods (`Cart#add`).
_VALUE = re.compile(
    r"\"[^\"]*\"|'[^']*'(?!\w)|`[^`]*`|(?<=\[)[^\[\]]+(?=\])|\{[^{}]*\}|"
    r"\S*(?:\d|://|\w#\w|\w\.(?:com|org|net|io|dev|local|internal|test|example)\b)\S*|"
    r"\S*[\\/]\S+[\\/]\S*"
)
# Behind a colon or a sentence, or in brackets, a program adds the message of what it called. A
# logger may put something in brackets in front.
_JOINT = re.compile(r": +|[()]|\] +|(?<=\w[.!?]) +")
END = " .:!…"
# What is around a message: `*** … ***`, and in front of an answer of Redis.
_FRAME = " *#=-+"
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_DOUBLE, _SINGLE, _BACK = (rf"{quote}(?:[^{quote}\\]|\\.)*{quote}" for quote in "\"'`")
_CLOSED_LITERAL = re.compile(f"{_DOUBLE}|{_SINGLE}|{_BACK}")
# The end may be on another line; a single quote without one is an apostrophe.
_LITERAL = re.compile(f"{_DOUBLE}?|{_SINGLE}|{_BACK}?")
_PLACEHOLDER = re.compile(
    # Qt's `%1`.
    r"%L?\d{1,2}(?![\w$]|\.\d)|"
    r"%(?:\([^()]*\)|\{[^{}]*\}|<[^<>]*>|\d\$)?"
    r"[-+ #0]{0,3}\d{0,4}(?:\.\d{1,3})?[hlLqjzt]{0,2}[a-zA-Z@]|"
    r"[#$]\{[^{}]*\}?|\{{1,2}[^{}]*\}+|\\\([^()]*\)|\$\w+|"
    # In C, a macro may have the rest: "%" PRIu64.
    r"%[-+ #0]{0,3}\d{0,4}$"
)
# The end of a word with a placeholder, and what may be in front.
_PLACEHOLDER_ENDS, _BEFORE_PLACEHOLDER = r"[%{$#(][^ \t\n]{0,40}", r"[^ \t\n]{0,8}"
# Between two strings that become one: nothing or an operator, and perhaps a prefix (`f"…"`).
_OPERATOR = r"(?:\+|\.\.?|<<|<>|&)"
_ADJACENT = re.compile(rf"\s*(?:{_OPERATOR}\s*)?\\?\s*[a-zA-Z@$]{{0,2}}")
# A value between, before and behind strings; the first may also be a macro of C. In front of `<<`
# is a stream, and behind a dot may be a method.
_VALUE_BETWEEN = re.compile(
    rf"\s*{_OPERATOR}\s*[^\"'`;\s][^\"'`;]{{0,80}}?\s*{_OPERATOR}\s*|\s*[A-Z_]{{2}}\w*\s*"
)
_VALUE_BEFORE = re.compile(r"[\w)\]}]\s*(?:\+|\.\.?)\s*$")
_VALUE_BEHIND = re.compile(r"\s*(?:(?:\+|\.\.|<<|<>|&)\s*[\w$(]|\.\s*\$)|\s+\.\s")
# The beginning of a placeholder; a macro of C has the rest.
_UNFINISHED = re.compile(r"%[-+ #0]{0,3}\d{0,4}$")
# The end and the beginning of lines over which a string continues.
_ENDS_WITH_OPERATOR = re.compile(rf"\s{_OPERATOR}\s*$")
_BEGINS_WITH_OPERATOR = re.compile(rf"\s*{_OPERATOR}\s")
_ENDS_WITH_STRING = re.compile(r"[\"'`](?:\s*[A-Z_]{2}\w*)?\s*\\?\s*$")
_BEGINS_WITH_STRING = re.compile(r"\s*(?:[a-zA-Z@$]{0,2}[\"'`]|[A-Z_]{2}\w*\s*\")")
# What programs print before a message, and the query's parts lack.
_LABEL = re.compile(r"^(?:error|fatal|warning|panic): ", re.I)
_ESCAPE = re.compile(r"\\(?:n|t|r)|\\(.)|\\$")
_RAISES = re.compile(
    r"\b(?:raise|throws?|panic|die|croak|confess|abort|assert|fail|fatal|reject|bail|ensure|"
    r"expect|warn|exit|require|trigger_error)\w*[!?]?[\s(:]|"
    # Not Go's `err != nil` and `func() error {`, nor the attribute `checked: true`.
    r"\b(?:err|error|check)\w*[!?]?\s*(?:\(|[:=]?\s*[\"'`])|"
    r"\w(?:Error|Exception|_error|Errorf|Err|Failure|Assert)\b|\bErr\(|\bErrorf\(|\berrors\.New\(",
)
# A logger or its methods, before the string.
_LOGS = re.compile(
    r"(?<![A-Za-z])(?:log(?:ger|ging)?|[skz]log|syslog|console|LOG)(?:_\w+)?\b|[a-z]Log(?:ger)?\b|"
    r"\bLog(?:ger)?\b|(?<!warnings\.)\b(?:[Ww]arn|[Ii]nfo|[Dd]ebug|[Tt]race)(?:f|w|ln|ing)?!?\("
)
_QUOTES = "\"'`"
_QUOTE = re.compile(rf"[{_QUOTES}]")
IS_COMMENT = re.compile(r"\s*(?://|#(?!\{|\[|!)|\*|/\*|--|;;|<!--|%|@(?:module|type)?doc\b)")
_OPENS_DOCSTRING = re.compile(r"\s*[rRuU]?(?:\"\"\"|''')")
_SIGNS = " \t#/*-;<!>%|"
# What surrounds a text on the lines of a string that began further up.
_AROUND = "{}()[],\"'`"
_KEY = re.compile(r"^[\w.-]+: ")
_WITHOUT_SIGNS = re.compile(r"(?=.*\w{3})[\w -]+")
_LETTER = re.compile(r"[^\W\d_]")


Made = Literal["", "part", "whole"]


class MatchedText(Struct, frozen=True):
    """The ``matching`` lines of a file, which have a term of a message, and the lines around them
    that :func:`sites_in` compares: ``BEFORE`` and ``STATEMENT_LINES``."""

    path: str
    lines: Mapping[int, str]
    matching: Sequence[int]


class Site(Struct, frozen=True):
    """Lines of a file that make a message. ``score`` is up to 1; ``raises`` is True if they look
    like code that raises an error, ``logs`` if the first writes to a log. ``makes`` is what a
    string there makes with values for its placeholders: the whole message, or a part of it between
    colons or a sentence. ``same`` is the number of characters that the string has in common with
    the message. ``key`` is that of the message in a catalog, if the lines have it; they only name
    it if the message ``is_shown`` there. A comment may only mention a message, and a label is a
    text of the user interface, not a message."""

    path: str
    first: int
    last: int
    score: float
    raises: bool
    makes: Made = ""
    logs: bool = False
    same: int = 0
    key: str = ""
    is_shown: bool = False
    is_comment: bool = False
    is_label: bool = False


def phrases(report: str) -> list[str]:
    """Return all texts of a report that a string within it may have, the most telling first."""
    # What looks like a value may be a part of the text.
    text = report[:REPORT_CHARACTERS]
    terms = _terms([text], SHORT) | _terms(_VALUE.split(text), SHORT)
    return sorted(terms, key=lambda term: -terms[term])


def source_terms(message: str) -> list[str]:
    """Return texts of which the source of a message probably has some, the most telling first."""
    message = message.strip(_FRAME)
    terms = _terms(_runs(message), SHORT)
    for text in _behind_quotes(message):
        terms[text] = _letters(text)
    found = sorted(terms, key=lambda term: -terms[term])
    if len(found) < FEW_TERMS:
        # What looks like a value may be a part of the text.
        found += [term for term in _terms([message[:MESSAGE_CHARACTERS]], 1) if term not in terms]
    return found[:MOST_TERMS]


def with_placeholder(message: str) -> str:
    """Return a regular expression for texts of a short message, in lower case, with a placeholder
    in place of a word: "Group X not found" is `Group %1 not found`, and many files have "not
    found". Empty if the message has too few or too many words."""
    words = message.strip(_FRAME).rstrip(END).lower().split()
    if len(words) not in WORDS_WITH_VALUE:
        return ""
    texts = []
    for at in range(len(words)):
        before, after = words[max(0, at - WORDS_BESIDE) : at], words[at + 1 :][:WORDS_BESIDE]
        if _letters("".join([*before, *after])) >= LEAST_LETTERS:
            # A pattern that begins with any characters is slow.
            value = (_BEFORE_PLACEHOLDER if before else "") + _PLACEHOLDER_ENDS
            texts.append(" ".join([*map(re.escape, before), value, *map(re.escape, after)]))
    return "|".join(texts)


def longest_part(message: str) -> str:
    """Return the longest text of a message between values, colons, brackets and the ends of
    sentences."""
    parts = (part.strip(END) for run in _runs(message) for part in _JOINT.split(run))
    return max(parts, key=len, default=message)


def quoted_terms(message: str) -> list[str]:
    """Return a message in quotes if it is so short that only its whole text says something."""
    if not (_is_short(message) and _WITHOUT_SIGNS.fullmatch(message)):
        return []
    return [f'"{message}"', f"'{message}'"]


def _is_short(message: str) -> bool:
    return _letters(message) < LEAST_LETTERS or len(message.split()) < SHORT


def _terms(runs: Iterable[str], telling_of_short: int) -> dict[str, int]:
    """Return texts of some parts of a message, and how many letters each has; a text of ``SHORT``
    words needs ``telling_of_short`` telling ones."""
    terms: dict[str, int] = {}
    for part in (part for run in runs for part in _JOINT.split(run)):
        words = _WORD.findall(part)
        for size, least in ((LONG, 1), (SHORT, telling_of_short)):
            for at in range(max(1, len(words) - size + 1)):
                window = words[at : at + size]
                text = " ".join(window)
                telling = sum(len(word.strip(".,:;()!")) >= TELLING for word in window)
                letters = _letters(text)
                is_all = len(window) == len(words)
                if letters >= LEAST_LETTERS and telling >= (1 if is_all else least):
                    terms[text] = letters
                    # Strings may escape apostrophes.
                    plain = max(_APOSTROPHE.split(text), key=len)
                    if _letters(plain) >= LEAST_LETTERS:
                        terms[plain] = _letters(plain)
    return terms


def _behind_quotes(message: str) -> Iterator[str]:
    """Yield the words behind values in quotes, with the quote: many messages end with "not found",
    and few strings of the source have it behind a quote."""
    for value in _VALUE.finditer(message[:MESSAGE_CHARACTERS]):
        behind = _VALUE.split(message[value.end() : MESSAGE_CHARACTERS], 1)[0]
        words = _WORD.findall(_JOINT.split(behind, 1)[0])[:LONG]
        if value[0][-1] in _QUOTES and _letters("".join(words)) >= LEAST_LETTERS:
            yield " ".join([value[0][-1], *words])


def _runs(message: str) -> list[str]:
    """Return the parts of a message between values."""
    return [run for run in _VALUE.split(message[:MESSAGE_CHARACTERS]) if run.strip()]


def sites_in(
    text: MatchedText, message: str, kind: str = "", *, is_within: bool = False
) -> Iterator[Site]:
    """Yield the places of a file that make a message, best first; ``kind`` is the error's type. A
    short message must be near it. If the message ``is_within`` a report, a string makes all of it
    that makes some words of the report."""
    # A person who types a message seldom types its capitals.
    most = REPORT_CHARACTERS if is_within else MESSAGE_CHARACTERS
    message = " ".join(message[:most].split()).casefold().strip(_FRAME)
    letters = _static_letters(message) or 1
    printed = _Report(message) if is_within else _Printed(message)
    name = re.split(r"\W+", kind.rstrip("!"))[-1]
    sites = []
    matching = {number: text.lines[number] for number in text.matching[:MOST_LINES_OF_FILE]}
    comments = {
        number
        for number, line in matching.items()
        if IS_COMMENT.match(line) or _is_docstring(text, number)
    }
    in_catalog = is_catalog(text.path)
    made = _made(text, matching, comments, printed)
    making = {number for number, (makes, _) in made.items() if makes}
    for number, (makes, same) in made.items():
        if is_within and not makes:
            continue
        last, share = _compared(text.lines, number, message, making)
        score = min(1.0, share / letters)
        is_comment = number in comments
        if makes:
            score = max(score, WHOLE if makes == "whole" else LEAST_SHARE)
        elif share < LEAST_LETTERS or score < LEAST_SHARE:
            continue
        around = [text.lines.get(near, "") for near in range(number - BEFORE, last + 1)]
        # What a string says raises nothing: "Continue a failed upload".
        code = (_CLOSED_LITERAL.sub('""', line) for line in around)
        raises = not in_catalog and any(map(_RAISES.search, code))
        logs = not is_comment and bool(_LOGS.search(_QUOTE.split(text.lines[number])[0]))
        score *= (1.0 if raises else SILENT) * (COMMENT if is_comment else 1.0)
        if name and printed.is_short and not any(name in line for line in around):
            continue
        raises = raises and not is_comment
        found = (text.path, number, last, score, raises, makes, logs, same)
        sites.append(Site(*found, is_comment=is_comment))
    seen: set[int] = set()
    for site in sorted(sites, key=lambda site: (-site.score, -site.same, site.first)):
        lines = range(site.first, site.last + 1)
        if not seen.intersection(lines):
            seen.update(lines)
            yield site


def _is_docstring(text: MatchedText, number: int) -> bool:
    """Return True if a docstring of Python begins on a line."""
    if not text.path.endswith(".py") or not _OPENS_DOCSTRING.match(text.lines[number]):
        return False
    return number == 1 or text.lines.get(number - 1, "").rstrip().endswith(":")


def _made(
    text: MatchedText, matching: Iterable[int], comments: Set[int], printed: _Printed
) -> dict[int, tuple[Made, int]]:
    """Return what the string on each matching line makes of a message, and how many characters of
    it the string has, by the first line of the string; comments make nothing."""
    made: dict[int, tuple[Made, int]] = {}
    for number in matching:
        first, line = (number, "") if number in comments else _whole_string(text.lines, number)
        makes, same = printed.made_by([*_strings(line), *texts_without_quotes(text.path, line)])
        if makes:
            made[first] = makes, same
        else:
            made.setdefault(number, ("", 0))
    return made


class _Printed:
    """A message as printed, case-folded, and the offsets between its parts."""

    def __init__(self, message: str) -> None:
        self.text = message.rstrip(END)
        self.is_short = _is_short(self.text)
        is_long = len(self.text.split()) >= COPIED_WORDS
        self._copied = re.compile(rf"(?<!\w){re.escape(self.text)}(?!\w)") if is_long else None
        joints = list(islice(_JOINT.finditer(self.text), MOST_PARTS))
        # In front may be what the message is about: Rails puts the name of a field there.
        behind_first = self.text.find(" ") + 1
        self.starts = [0, behind_first, *(joint.end() for joint in joints)]
        parts = (self.text[: joint.start()].rstrip(END) for joint in joints)
        self.ends = [*map(len, parts), len(self.text)]

    def made_by(self, strings: Iterable[str]) -> tuple[Made, int]:
        """Return what one of some strings makes of the message, with values for placeholders, and
        how many of its characters the string has. Only a string without placeholders makes a short
        message."""
        if self.is_short:
            is_made = [self.text] in map(_static, strings)
            return ("whole", len(self.text)) if is_made else ("", 0)
        texts = list(map(_static, strings))
        if self._copied and any(map(self._copied.search, chain.from_iterable(texts))):
            return "whole", len(self.text)
        found = {
            (start, end): sum(map(len, pieces))
            for pieces in texts
            if (most := _most_letters(pieces))
            for start in self.starts
            if (end := self._end(pieces, start)) is not None
            and _static_letters(self.text[start:end]) <= most
        }
        whole = found.get((0, len(self.text)))
        if whole is not None:
            return "whole", whole
        return ("part", max(found.values())) if found else ("", 0)

    def _end(self, pieces: Sequence[str], start: int) -> int | None:
        """Return where the part of the message ends that consists of some texts with values
        between them; None if no part does that starts there."""
        *others, last = pieces
        at = start
        for number, piece in enumerate(others):
            place = self.text.find(piece, at)
            if place < 0 or (number == 0 and piece and place != start):
                return None
            at = place + len(piece)
        if not last:
            return min(end for end in self.ends if end >= at)
        while (at := self.text.find(last, at)) >= 0 and (others or at == start):
            end = at + len(last)
            if end in self.ends:
                return end
            if not _static_letters(self.text[end:]):  # more values
                return len(self.text)
            at += 1
        return None


class _Report(_Printed):
    """A text of a person, within which a message may begin and end at any word."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._copied = None
        words = [
            found.span()
            for pattern in (_WORD, _WORD_OF_SENTENCE, _BARE_WORD)
            for found in pattern.finditer(self.text)
        ]
        self.starts = sorted({start for start, _ in words})
        self.ends = sorted({end for _, end in words})

    def made_by(self, strings: Iterable[str]) -> tuple[Made, int]:
        """Return "whole" if a string that says something makes some words of the report."""
        telling = (string for string in strings if self._may_make(_static(string)))
        makes, same = super().made_by(telling)
        return ("whole" if makes else "", same)

    def _may_make(self, pieces: Sequence[str]) -> bool:
        # Shorter ones are phrases of the language.
        is_telling = _letters("".join(pieces)) >= LEAST_WITHIN
        words = sum(len(piece.split()) for piece in pieces)
        return is_telling and words > SHORT and all(piece in self.text for piece in pieces)


def _whole_string(lines: Mapping[int, str], number: int) -> tuple[int, str]:
    """Return the lines over which the string on line ``number`` continues, joined, after the number
    of the first one."""
    first = last = number
    while first > number - BEFORE and _continues(lines.get(first - 1, ""), lines[first]):
        first -= 1
    while last < first + STATEMENT_LINES and _continues(lines[last], lines.get(last + 1, "")):
        last += 1
    return first, " ".join(lines[at].strip() for at in range(first, last + 1))


def _continues(line: str, following: str) -> bool:
    """Return True if a string, with values in it, continues on the next line."""
    if _ENDS_WITH_OPERATOR.search(line) or _BEGINS_WITH_OPERATOR.match(following):
        return True
    return bool(_BEGINS_WITH_STRING.match(following) and _ENDS_WITH_STRING.search(line))


def _strings(line: str) -> Iterator[str]:
    """Yield the strings of a line without quotes. If several become one, or a value is added to
    one, also yield the result, with a placeholder for each value."""
    joined = alone = ""
    end = 0
    for found in _LITERAL.finditer(line):
        literal, between = found[0], line[end : found.start()]
        inner = literal[1:].removesuffix(literal[0])
        yield inner
        if end and _ADJACENT.fullmatch(between):
            joined += inner
        elif end and _VALUE_BETWEEN.fullmatch(between):
            joined = f"{_UNFINISHED.sub('', joined)}{{}}{inner}"
        else:
            if end and _VALUE_BEHIND.match(line, end):
                joined += "{}"
            if joined != alone:
                yield joined
            joined = f"{{}}{inner}" if _VALUE_BEFORE.search(between) else inner
            alone = inner
        end = found.end()
    if _VALUE_BEHIND.match(line, end):
        joined += "{}"
    if joined != alone:
        yield joined


def _static(string: str) -> list[str]:
    """Return the case-folded texts before, between and after the placeholders of a string. A
    placeholder behind a colon or a sentence does not count: there, another message follows."""
    inner = _LABEL.sub("", string.strip(_FRAME))
    split = (_ESCAPE.sub(_unescaped, piece) for piece in _PLACEHOLDER.split(inner))
    pieces = [" ".join(piece.split()).casefold() for piece in split]
    if len(pieces) > 1 and not pieces[-1] and pieces[-2].endswith((":", ".", "!", "?")):
        pieces.pop()
    pieces[0], pieces[-1] = pieces[0].lstrip(_FRAME), pieces[-1].rstrip(_FRAME).rstrip(END)
    return pieces


def _most_letters(pieces: Sequence[str]) -> int:
    """Return the most letters, apart from values, of a message that a string with these texts can
    make: twice those of the string, or as many as it has if it is a single word; 0 if it makes no
    message."""
    letters = _letters("".join(pieces))
    words = len(" ".join(pieces).split())
    if letters < LEAST_LETTERS or (words < SHORT and len(pieces) == 1):
        return 0
    return 2 * letters if words >= SHORT else letters


def _letters(text: str) -> int:
    return len(_LETTER.findall(text))


def _static_letters(message: str) -> int:
    """Return the number of letters of a message that are not in values."""
    return _letters("".join(_runs(message)))


def _compared(
    lines: Mapping[int, str], first: int, message: str, making: Set[int]
) -> tuple[int, int]:
    """Compare the strings from a line on with a message, up to the next line that is ``making`` a
    part of it. Return the last line that has a part, and the number of letters in all parts."""
    at = total = 0
    last = first
    for number in range(first, first + STATEMENT_LINES):
        is_other = number > first and number in making
        if number not in lines or number - last > GAP_LINES or is_other:
            break
        literals = (found[1:].removesuffix(found[0]) for found in _LITERAL.findall(lines[number]))
        pieces = _split(literals)
        # A line without quotes may be a comment, a translation, or a part of a longer text.
        plain = _split([_KEY.sub("", lines[number].strip(_SIGNS + _AROUND))])
        found, behind = max(_found_in(message, each, at) for each in (pieces, plain))
        if found:
            total += found
            last, at = number, behind
        elif number > first and any(map(_is_long, pieces)):
            break  # the string of another message
    return last, total


def _is_long(piece: str) -> bool:
    return _letters(piece) >= LEAST_LETTERS


def _found_in(message: str, pieces: Sequence[str], at: int) -> tuple[int, int]:
    """Return the number of letters of the pieces that a message has from an offset on, in order,
    and the offset behind them. Text that it lacks counts against it. The ``message`` is
    case-folded."""
    found = missing = 0
    for piece in pieces:
        place = message.find(piece.casefold(), at)
        if place >= 0:
            found += _letters(piece)
            at = place + len(piece.casefold())
        elif not at and message in piece.casefold():  # a part of the message was copied
            found += _letters(message)
            at = len(message)
        else:
            missing += _letters(piece)
    return (0 if missing > found else found - missing // 2), at


def _split(literals: Iterable[str]) -> list[str]:
    pieces = (piece for text in literals for piece in _PLACEHOLDER.split(text))
    # A sign in front belongs to a protocol: Redis sends "-ERR …".
    plain = (" ".join(_ESCAPE.sub(_unescaped, piece).split()).lstrip("-+") for piece in pieces)
    return [piece for text in plain if _LETTER.search(piece := _LABEL.sub("", text))]


def _unescaped(found: re.Match[str]) -> str:
    return found[1] or " "
