"""Parse a pattern into the characters that its matches must contain.

ripgrep uses the syntax of Rust's `regex` crate, and this module follows its parser
(`regex-syntax/src/ast/parse.rs`) construct by construct. A pattern that it rejects may be parsed in
any way. A pattern that is not fully understood raises UnsupportedPattern: then nothing is known
about its matches.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

LAST = 0x10FFFF
# Depth of nested groups and classes: a handful in practice, and code that walks over the parts is
# recursive.
NESTING = 50
# A longer pattern is a list of words, or an attack.
LONGEST = 20_000
# A larger set says little: the condition would grow, and hold for most texts.
MOST_CHARACTERS = 16
# Non-ASCII characters that equal these letters without case: KELVIN SIGN and LATIN SMALL LETTER
# LONG S. There are no others (Unicode's CaseFolding.txt, statuses C and S).
ALIKE = {"k": "\u212a", "s": "\u017f"}

Span = tuple[int, int]
# Sets of code points are spans, both ends included; None is an unknown set.
Set = tuple[Span, ...] | None

# Scripts without case: kana, ideographs, Hangul.
_CASELESS: tuple[Span, ...] = (
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
)
# Unicode's White_Space, which mode x skips.
_SPACE = frozenset(
    map(chr, (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029))
) | frozenset("\u202f\u205f\u3000")
_ASCII_CLASSES = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "ascii": ("\x00\x7f",),
    "blank": ("\t\t", "  "),
    "cntrl": ("\x00\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", "  "),
    "upper": ("AZ",),
    "word": ("09", "AZ", "__", "az"),
    "xdigit": ("09", "AF", "af"),
}
_PERL_CLASSES = {"d": "digit", "s": "space", "w": "word"}
_CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_HEXADECIMAL_DIGITS = {"x": 2, "u": 4, "U": 8}
_REPETITIONS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_OPERATORS = ("&&", "--", "~~")
_NEVER_LITERAL = frozenset(string.ascii_letters + string.digits + "<>")
_ASCII_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_BOUNDARY = re.compile(r"\{(?:start|end|start-half|end-half)\}")
_COUNT = re.compile(r"\{[0-9]")
_COUNTS = re.compile(r"([0-9]*)(,?)([0-9]*)")
_FLAGS = re.compile(r"([imsUuRx]*)(?:-([imsUuRx]+))?([:)])")


class UnsupportedPattern(Exception):
    """ripgrep rejects the pattern, or its meaning is not known here."""


# --- what a pattern is made of -------------------------------------------------------------


@dataclass(frozen=True)
class Character:
    """One of these characters; if ``among`` is None, any character or byte."""

    among: frozenset[str] | None


@dataclass(frozen=True)
class Concatenation:
    """One part after another; without parts, an empty match."""

    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Alternation:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repetition:
    """A part, ``least`` to ``most`` times (None: unlimited)."""

    part: Part
    least: int
    most: int | None


Part = Character | Concatenation | Alternation | Repetition
ANY = Character(None)
EMPTY = Concatenation()


def literal(text: str, *, case_sensitive: bool) -> Part:
    """Parse a text that matches itself. Raises UnsupportedPattern."""
    return _Parser(_checked(text), _Flags(ignore_case=not case_sensitive)).literal()


def parse_pattern(pattern: str, *, case_sensitive: bool) -> Part:
    """Parse a pattern as ripgrep does by default. Raises UnsupportedPattern."""
    return _Parser(_checked(pattern), _Flags(ignore_case=not case_sensitive)).pattern()


def _checked(pattern: str) -> str:
    if len(pattern) > LONGEST or any("\ud800" <= char <= "\udfff" for char in pattern):
        raise UnsupportedPattern
    return pattern


# --- sets of characters --------------------------------------------------------------------


def _union(sets: Iterable[Set]) -> Set:
    spans: list[Span] = []
    for spans_of_set in sets:
        if spans_of_set is None:
            return None
        spans += spans_of_set
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def _complement(characters: Set) -> Set:
    if characters is None:
        return None
    spans, begin = [], 0
    for first, last in characters:
        if begin < first:
            spans.append((begin, first - 1))
        begin = last + 1
    if begin <= LAST:
        spans.append((begin, LAST))
    return tuple(spans)


def _intersection(left: Set, right: Set) -> Set:
    return _complement(_union((_complement(left), _complement(right))))


def _combined(operator: str, left: Set, right: Set) -> Set:
    if operator == "&&":
        return _intersection(left, right)
    without = _intersection(left, _complement(right))
    if operator == "--":
        return without
    return _union((without, _intersection(right, _complement(left))))


# --- reading -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Flags:
    """The relevant modes: i, x and u."""

    ignore_case: bool
    ignore_space: bool = False
    unicode: bool = True


class _Parser:
    """Reads a pattern from left to right; ``place`` is the next position."""

    def __init__(self, text: str, flags: _Flags) -> None:
        self._text = text
        self._flags = flags
        self._place = 0

    def literal(self) -> Part:
        return Concatenation(tuple(self._character(char) for char in self._text))

    def pattern(self) -> Part:
        part = self._alternation(0)
        if self._place < len(self._text):  # a parenthesis that was not opened
            raise UnsupportedPattern
        return part

    # --- what comes next -------------------------------------------------------------------

    def _next(self) -> str:
        """Return the next character. Raises UnsupportedPattern at the end."""
        if self._place == len(self._text):
            raise UnsupportedPattern
        return self._text[self._place]

    def _take(self) -> str:
        char = self._next()
        self._place += 1
        return char

    def _take_if(self, expected: str) -> bool:
        found = self._text.startswith(expected, self._place)
        self._place += len(expected) * found
        return found

    def _take_until(self, end: str) -> str:
        """Return the text before the next ``end``, and skip both."""
        found = self._text.find(end, self._place)
        # In mode x there may be comments, in which an end does not count.
        if found < 0 or (self._flags.ignore_space and "#" in self._text[self._place : found]):
            raise UnsupportedPattern
        text = self._text[self._place : found]
        self._place = found + len(end)
        return text

    def _take_match(self, expression: re.Pattern[str]) -> re.Match[str]:
        found = expression.match(self._text, self._place)
        if not found:
            raise UnsupportedPattern
        self._place = found.end()
        return found

    def _pass_space(self) -> None:
        """Skip spaces and comments, where they mean nothing."""
        while self._flags.ignore_space and self._place < len(self._text):
            if self._text[self._place] == "#":
                end = self._text.find("\n", self._place)
                self._place = len(self._text) if end < 0 else end + 1
            elif self._text[self._place] in _SPACE:
                self._place += 1
            else:
                return

    # --- groups ----------------------------------------------------------------------------

    def _alternation(self, depth: int) -> Part:
        """Parse up to the next closing parenthesis, or the end."""
        if depth > NESTING:
            raise UnsupportedPattern
        alternatives: list[Part] = []
        parts: list[Part] = []
        repeatable = 0  # how often the last part may still be repeated
        while True:
            self._pass_space()
            char = self._text[self._place : self._place + 1]
            if char in ("", ")"):
                break
            self._place += 1
            if char == "|":
                alternatives.append(Concatenation(tuple(parts)))
                parts, repeatable = [], 0
            elif char in "?*+{":
                if not repeatable:
                    raise UnsupportedPattern
                parts[-1] = self._repetition(char, parts[-1])
                repeatable -= 1
            else:
                part = self._part(char, depth)
                repeatable = 0 if part is None else NESTING
                parts += [part] if part else []
        alternatives.append(Concatenation(tuple(parts)))
        return Alternation(tuple(alternatives)) if len(alternatives) > 1 else alternatives[0]

    def _part(self, char: str, depth: int) -> Part | None:
        """Parse the part that begins with a character; return None for flags."""
        if char == "(":
            return self._group(depth)
        if char == "[":
            return _one_of(self._class(depth), self._flags)
        if char == "\\":
            return self._escape()
        if char == ".":
            return ANY
        return EMPTY if char in "^$" else self._character(char)

    def _group(self, depth: int) -> Part | None:
        self._pass_space()
        outside = self._flags
        if self._take_if("?P<") or self._take_if("?<"):
            if self._take_until(">")[:1] in ("", "=", "!"):
                raise UnsupportedPattern
        elif self._take_if("?"):
            on, off, end = self._take_match(_FLAGS).groups()
            self._set(on, True)
            self._set(off or "", False)
            if end == ")":
                return None
        part = self._alternation(depth + 1)
        if not self._take_if(")"):
            raise UnsupportedPattern
        self._flags = outside
        return part

    def _set(self, letters: str, value: bool) -> None:
        names = {"i": "ignore_case", "x": "ignore_space", "u": "unicode"}
        changed = {names[letter]: value for letter in letters if letter in names}
        self._flags = replace(self._flags, **changed)

    def _repetition(self, char: str, part: Part) -> Part:
        least, most = _REPETITIONS[char] if char in _REPETITIONS else self._counts()
        self._take_if("?")  # lazy: it matches less, but the same texts
        return Repetition(part, least, most)

    def _counts(self) -> tuple[int, int | None]:
        inside = "".join(char for char in self._take_until("}") if char not in _SPACE)
        found = _COUNTS.fullmatch(inside)
        if not found or len(inside) > 12 or not (found[1] or found[3]):
            raise UnsupportedPattern
        least = int(found[1] or 0)
        if not found[2]:
            return least, least
        return least, int(found[3]) if found[3] else None

    # --- characters ------------------------------------------------------------------------

    def _character(self, char: str) -> Part:
        return _one_of(self._folded(ord(char), ord(char)), self._flags)

    def _folded(self, first: int, last: int) -> Set:
        """Return the characters of a span, and in mode i those that differ only in case."""
        span = first, last
        if not self._flags.ignore_case or any(
            begin <= first and last <= end for begin, end in _CASELESS
        ):
            return (span,)
        if last > 0x7F:
            return None
        letters = {chr(code) for code in range(first, last + 1)} & set(string.ascii_letters)
        alike = {char.swapcase() for char in letters}
        if self._flags.unicode:
            alike |= {ALIKE[char.lower()] for char in letters if char.lower() in ALIKE}
        return _union([(span,), *(((ord(char), ord(char)),) for char in alike)])

    def _escape(self) -> Part:
        char = self._next()
        if char == "b" and self._text.startswith("{", self._place + 1):
            self._place += 1
            self._boundary()
            return EMPTY
        if char in "AzbB<>":
            self._place += 1
            return EMPTY
        escaped = self._escaped()
        return (
            self._character(escaped)
            if isinstance(escaped, str)
            else _one_of(escaped[0], self._flags)
        )

    def _boundary(self) -> None:
        """Skip `{start}` and the like; other braces are a count."""
        if found := _BOUNDARY.match(self._text, self._place):
            self._place = found.end()
        elif not _COUNT.match(self._text, self._place):
            raise UnsupportedPattern

    def _escaped(self) -> str | tuple[Set]:
        """Return the character or the character set after a backslash."""
        char = self._take()
        if char in _HEXADECIMAL_DIGITS:
            return self._hexadecimal(_HEXADECIMAL_DIGITS[char])
        if char in "pP":
            self._pass_space()
            if self._take() == "{":
                self._take_until("}")
            return (None,)
        if char in "dswDSW":
            if self._flags.unicode:
                return (None,)
            named = self._ascii_class(_PERL_CLASSES[char.lower()])
            return (named if char.islower() else _complement(named),)
        if char in _CONTROLS:
            return _CONTROLS[char]
        if not char.isascii() or char in _NEVER_LITERAL:
            raise UnsupportedPattern
        return char

    def _hexadecimal(self, count: int) -> str:
        if self._take_if("{"):
            digits = self._take_until("}")
        else:
            digits = self._text[self._place : self._place + count]
            self._place += count
        if not digits or len(digits) > 8 or not set(digits) <= set(string.hexdigits):
            raise UnsupportedPattern
        code = int(digits, 16)
        if code > LAST or 0xD800 <= code <= 0xDFFF:
            raise UnsupportedPattern
        return chr(code)

    # --- classes ---------------------------------------------------------------------------

    def _class(self, depth: int) -> Set:
        """Return the set in brackets; the opening bracket has been read."""
        if depth > NESTING:
            raise UnsupportedPattern
        self._pass_space()
        negated = self._take_if("^")
        self._pass_space()
        items = self._first_items()
        left: tuple[Set, str] | None = None
        while True:
            self._pass_space()
            if self._take_if("]"):
                break
            operator = next((sign for sign in _OPERATORS if self._take_if(sign)), None)
            if operator:
                left = _with_right(left, items), operator
                items = []
            else:
                items.append(self._class_item(depth))
        found = _with_right(left, items)
        return _complement(found) if negated else found

    def _first_items(self) -> list[Set]:
        """Return the characters that are literal only at the beginning: minus signs, or a
        bracket."""
        items: list[Set] = []
        while self._take_if("-"):
            items.append(self._folded(ord("-"), ord("-")))
            self._pass_space()
        if not items and self._take_if("]"):
            items.append(self._folded(ord("]"), ord("]")))
        return items

    def _class_item(self, depth: int) -> Set:
        if found := _ASCII_CLASS.match(self._text, self._place):
            self._place = found.end()
            named = self._ascii_class(found[2])
            return _complement(named) if found[1] else named
        if self._take_if("["):
            return self._class(depth + 1)
        first = self._class_character()
        self._pass_space()
        if self._next() != "-" or not self._is_range():
            return self._folded(ord(first), ord(first)) if isinstance(first, str) else first[0]
        self._place += 1
        self._pass_space()
        last = self._class_character()
        if not (isinstance(first, str) and isinstance(last, str)) or first > last:
            raise UnsupportedPattern
        return self._folded(ord(first), ord(last))

    def _is_range(self) -> bool:
        """Return True if the next minus sign is between two characters."""
        behind = self._place + 1
        if self._flags.ignore_space:
            while behind < len(self._text) and self._text[behind] in _SPACE:
                behind += 1
            if self._text[behind : behind + 1] == "#":
                raise UnsupportedPattern
        return self._text[behind : behind + 1] not in ("]", "-")

    def _class_character(self) -> str | tuple[Set]:
        char = self._take()
        return self._escaped() if char == "\\" else char

    def _ascii_class(self, name: str) -> Set:
        if name not in _ASCII_CLASSES:
            raise UnsupportedPattern
        return _union(self._folded(ord(span[0]), ord(span[1])) for span in _ASCII_CLASSES[name])


def _with_right(left: tuple[Set, str] | None, items: Sequence[Set]) -> Set:
    right = _union(items)
    return right if left is None else _combined(left[1], left[0], right)


def _one_of(found: Set, flags: _Flags) -> Part:
    """Return a character of a set, if the set is small. Without mode u, a non-ASCII character is a
    byte, and no match is followed over a line end."""
    if found is None or sum(last - first + 1 for first, last in found) > MOST_CHARACTERS:
        return ANY
    codes = [code for first, last in found for code in range(first, last + 1)]
    if not codes or ord("\n") in codes or (codes[-1] > 0x7F and not flags.unicode):
        return ANY
    if any(0xD800 <= code <= 0xDFFF for code in codes):
        return ANY
    return Character(frozenset(map(chr, codes)))
