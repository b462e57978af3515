"""Split a command line into words as a POSIX shell does, without the rest of a shell.

Quotes, backslashes and `|` work. Everything else that a shell acts on is refused with its name,
because passing it on as text would not do what the user means.
"""

from __future__ import annotations

import re

from msgspec import Struct

from winnow.errors import InvalidParams, NotAllowed

NAME_CHARACTERS = 80  # longest quote in a message
MAX_PROGRAMS = 8
BLANK = " \t\r\n"

NO_SHELL = "there is no shell: only one pipeline runs per call"
EXPANSION = "only * ? [..] are expanded: write the value, or use single quotes"
REDIRECTION = (
    "there is no redirection: the answer includes stderr, and programs read and write no other"
    " files"
)
_OPERATORS = {
    "&&": NO_SHELL,
    "&>": REDIRECTION,
    "&": f"nothing runs in the background; {NO_SHELL}",
    "||": NO_SHELL,
    "|&": "stderr cannot be piped: the answer includes it",
    ";": f"{NO_SHELL}; find's `;` is useless, because -exec is refused",
    "(": "there are no subshells: quote a literal bracket",
    ")": "there are no subshells: quote a literal bracket",
    "\n": f"{NO_SHELL}, on one line",
    "\r": f"{NO_SHELL}, on one line",
}
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_LINES = re.compile(r"(?:[ \t\r\n]|\\\n)*")
_REDIRECTION = re.compile(r"[<>]+[&|]?[ \t]*[^\s|;&<>()]*")
_SUBSTITUTION = re.compile(r"[<>]\([^)]*\)?")
_COMMAND = re.compile(r"\$\([^)]*\)?|`[^`]*`?")
_VARIABLE = re.compile(r"\$(?:\w+|\{[^}]*\}?|[@*#?$!-])")
_ALTERNATIVES = re.compile(r"\{[^{}]*\.\.[^{}]*\}|\{.*,.*\}", re.S)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class Word(Struct, frozen=True):
    """A word without its quotes; `written` is its original form.

    `quoted` has a flag per character. Quoted characters are never part of a pattern.
    """

    text: str
    quoted: tuple[bool, ...]
    written: str

    def has_unquoted(self, characters: str) -> bool:
        """Return True if the word has one of the characters unquoted."""
        return any(
            char in characters and not quoted
            for char, quoted in zip(self.text, self.quoted, strict=True)
        )


def parse(line: str) -> list[list[Word]]:
    """Return the words of each program of the pipeline, at least one.

    Raise NotAllowed for shell syntax that is not supported, and InvalidParams for an empty line.
    """
    if not line.strip(BLANK):
        raise InvalidParams("command", "names no program")
    if "\0" in line:
        raise InvalidParams("command", "control character '\\x00'")
    commands: list[list[Word]] = [[]]
    reader = _Reader(line)
    while not reader.at_end():
        if reader.skip_pipe():
            if not commands[-1]:
                raise NotAllowed("|", "there is no program before it")
            commands.append([])
        else:
            commands[-1].append(_checked(reader.word(), first=not commands[-1]))
    if not commands[-1]:
        raise NotAllowed("|", "there is no program after it")
    if len(commands) > MAX_PROGRAMS:
        raise NotAllowed("|", f"at most {MAX_PROGRAMS} programs can be joined")
    return commands


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def at_end(self) -> bool:
        """Skip blanks, and return True at the end of the line."""
        self._skip(_BLANKS)
        return not self._line[self._at :].strip(BLANK)

    def skip_pipe(self) -> bool:
        if self._line[self._at] != "|" or self._line[self._at : self._at + 2] in _OPERATORS:
            return False
        self._at += 1
        self._skip(_LINES)  # as in a shell, the pipeline may continue on the next line
        return True

    def word(self) -> Word:
        start = self._at
        characters: list[tuple[str, bool]] = []
        while self._at < len(self._line):
            char = self._line[self._at]
            if char in " \t" or (char == "|" and self._line[self._at :][:2] not in _OPERATORS):
                break
            if char in "\r\n" and not self._line[self._at :].strip(BLANK):
                break
            characters += self._next(char, start)
        text = "".join(char for char, _ in characters)
        quoted = tuple(quoted for _, quoted in characters)
        return Word(text, quoted, self._line[start : self._at])

    def _next(self, char: str, start: int) -> list[tuple[str, bool]]:
        """Return the next characters, each with a flag that is True if it is quoted."""
        if char == "'":
            return self._single_quotes()
        if char == '"':
            return self._double_quotes()
        if char == "\\":
            return self._backslash()
        if char == "#" and self._at == start:
            raise NotAllowed(
                _short(self._line[self._at :]), "there are no comments: quote the word"
            )
        self._refuse_operator(start)
        if char == "$" and self._line[self._at + 1 : self._at + 2] in ("'", '"'):
            raise NotAllowed(f"${self._line[self._at + 1]}", "write plain quotes without the `$`")
        self._refuse_expansion()
        self._at += 1
        return [(char, False)]

    def _single_quotes(self) -> list[tuple[str, bool]]:
        end = self._line.find("'", self._at + 1)
        if end < 0:
            raise NotAllowed("'", "the quote is not closed")
        inner = self._line[self._at + 1 : end]
        self._at = end + 1
        return [(char, True) for char in inner]

    def _double_quotes(self) -> list[tuple[str, bool]]:
        inner: list[str] = []
        self._at += 1
        while self._at < len(self._line):
            char = self._line[self._at]
            if char == '"':
                self._at += 1
                return [(character, True) for character in inner]
            self._refuse_expansion()
            if char == "\\" and self._line[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                self._at += 1
                char = self._line[self._at]
            inner.append(char)
            self._at += 1
        raise NotAllowed('"', "the quote is not closed")

    def _backslash(self) -> list[tuple[str, bool]]:
        char = self._line[self._at + 1 : self._at + 2]
        if not char:
            raise NotAllowed("\\", "nothing follows it: write it twice for a literal backslash")
        self._at += 2
        return [] if char == "\n" else [(char, True)]

    def _refuse_operator(self, start: int) -> None:
        two = self._line[self._at : self._at + 2]
        if found := _SUBSTITUTION.match(self._line, self._at):
            raise NotAllowed(_short(found[0]), f"no command runs inside another; {NO_SHELL}")
        for operator in (two, two[:1]):
            if operator in _OPERATORS:
                raise NotAllowed(operator, _OPERATORS[operator])
        if found := _REDIRECTION.match(self._line, self._at):
            number = self._line[start : self._at]
            number = number if number.isdigit() else ""
            raise NotAllowed(_short(number + found[0]), REDIRECTION)

    def _refuse_expansion(self) -> None:
        """Refuse variables and command substitution, which shells also expand in double quotes."""
        if found := _COMMAND.match(self._line, self._at):
            raise NotAllowed(
                _short(found[0]),
                "no command runs inside another: use single quotes for literal text",
            )
        if found := _VARIABLE.match(self._line, self._at):
            raise NotAllowed(_short(found[0]), EXPANSION)

    def _skip(self, blanks: re.Pattern[str]) -> None:
        if found := blanks.match(self._line, self._at):
            self._at = found.end()


def _checked(word: Word, *, first: bool) -> Word:
    """Return the word, unless its position makes it shell syntax. Raise NotAllowed."""
    named = _short(word.written)
    if word.text[:1] == "~" and not word.quoted[0]:
        raise NotAllowed(named, "`~` is not expanded, and home folders are not searched")
    if _has_alternatives(word):
        raise NotAllowed(named, "{..} is not expanded: quote it, or write out the words")
    if not first:
        return word
    assignment = _ASSIGNMENT.match(word.text)
    if assignment and not any(word.quoted[: assignment.end()]):
        raise NotAllowed(named, "variables cannot be set")
    if word.written in ("!", "{"):
        raise NotAllowed(named, NO_SHELL)
    return word


def _has_alternatives(word: Word) -> bool:
    """Return True if a shell would expand braces: they surround a comma or `..`."""
    plain = "".join(
        "_" if quoted else char for char, quoted in zip(word.text, word.quoted, strict=True)
    )
    return bool(_ALTERNATIVES.search(plain))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= NAME_CHARACTERS else text[: NAME_CHARACTERS - 1] + "…"
