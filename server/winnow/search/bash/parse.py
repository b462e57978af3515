"""A command line as words, as a POSIX shell reads it, without anything that a shell would do.

Quotes and backslashes work, and `|` joins programs. All else that a shell acts on is refused by its
name: nothing here would act on it, and passing it on as text would not be what was meant.
"""

from __future__ import annotations

import re

from msgspec import Struct

from winnow.errors import InvalidParams, NotAllowed

NAME_CHARACTERS = 80  # of what is refused, in the message
MOST_PROGRAMS = 8
BLANK = " \t\r\n"

NO_SHELL = "there is no shell here: one pipeline of programs is run at a time"
EXPANSION = "nothing is expanded but * ? [..]: write the value itself, or put it in single quotes"
REDIRECTION = (
    "there is no redirection: what programs write to stderr is in the answer anyway, and nothing"
    " is read from or written to a file"
)
_OPERATORS = {
    "&&": NO_SHELL,
    "&>": REDIRECTION,
    "&": f"nothing runs in the background; {NO_SHELL}",
    "||": NO_SHELL,
    "|&": "stderr is no part of the pipe: it is in the answer anyway",
    ";": f"{NO_SHELL}; for find's `;` there is no use, as -exec is refused",
    "(": "there are no subshells; a bracket that is meant as text needs quotes or a backslash",
    ")": "there are no subshells; a bracket that is meant as text needs quotes or a backslash",
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
    """A word without its quotes; ``written`` is how it stood in the line.

    ``quoted`` says for each character whether it was quoted: such a one is never part of a pattern.
    """

    text: str
    quoted: tuple[bool, ...]
    written: str

    def finds(self, characters: str) -> bool:
        """Whether one of the characters stands in the word unquoted."""
        return any(
            char in characters and not quoted
            for char, quoted in zip(self.text, self.quoted, strict=True)
        )


def parse(line: str) -> list[list[Word]]:
    """The words of each program of the pipeline; never empty.

    Raises NotAllowed, which names what a shell would act on, and InvalidParams for an empty line.
    """
    if not line.strip(BLANK):
        raise InvalidParams("command", "names no program")
    if "\0" in line:
        raise InvalidParams("command", "control character '\\x00'")
    commands: list[list[Word]] = [[]]
    reader = _Reader(line)
    while not reader.at_end():
        if reader.takes_pipe():
            if not commands[-1]:
                raise NotAllowed("|", "there is no program before it")
            commands.append([])
        else:
            commands[-1].append(_checked(reader.word(), first=not commands[-1]))
    if not commands[-1]:
        raise NotAllowed("|", "there is no program after it")
    if len(commands) > MOST_PROGRAMS:
        raise NotAllowed("|", f"at most {MOST_PROGRAMS} programs can be joined")
    return commands


class _Reader:
    """A place in the line."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def at_end(self) -> bool:
        """Whether only blanks follow, which are passed over."""
        self._pass_over(_BLANKS)
        return not self._line[self._at :].strip(BLANK)

    def takes_pipe(self) -> bool:
        if self._line[self._at] != "|" or self._line[self._at : self._at + 2] in _OPERATORS:
            return False
        self._at += 1
        self._pass_over(_LINES)  # a shell reads on in the next line, too
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
            characters += self._take(char, start)
        text = "".join(char for char, _ in characters)
        quoted = tuple(quoted for _, quoted in characters)
        return Word(text, quoted, self._line[start : self._at])

    def _take(self, char: str, start: int) -> list[tuple[str, bool]]:
        """The characters that stand for what is next in the line, each with whether it is
        quoted."""
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
                return [(one, True) for one in inner]
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
            raise NotAllowed("\\", "nothing follows it: to mean the character, write it twice")
        self._at += 2
        return [] if char == "\n" else [(char, True)]

    def _refuse_operator(self, start: int) -> None:
        two = self._line[self._at : self._at + 2]
        if found := _SUBSTITUTION.match(self._line, self._at):
            raise NotAllowed(_short(found[0]), f"no command is run inside another; {NO_SHELL}")
        for operator in (two, two[:1]):
            if operator in _OPERATORS:
                raise NotAllowed(operator, _OPERATORS[operator])
        if found := _REDIRECTION.match(self._line, self._at):
            number = self._line[start : self._at]
            number = number if number.isdigit() else ""
            raise NotAllowed(_short(number + found[0]), REDIRECTION)

    def _refuse_expansion(self) -> None:
        """Raise for a variable or a command that a shell would replace, in double quotes, too."""
        if found := _COMMAND.match(self._line, self._at):
            raise NotAllowed(
                _short(found[0]),
                "no command is run inside another; if it is meant as text, use single quotes",
            )
        if found := _VARIABLE.match(self._line, self._at):
            raise NotAllowed(_short(found[0]), EXPANSION)

    def _pass_over(self, blanks: re.Pattern[str]) -> None:
        if found := blanks.match(self._line, self._at):
            self._at = found.end()


def _checked(word: Word, *, first: bool) -> Word:
    """The word; raises NotAllowed for what a shell would act on because of where it stands."""
    named = _short(word.written)
    if word.text[:1] == "~" and not word.quoted[0]:
        raise NotAllowed(named, "`~` is not expanded, and a home folder is no workspace")
    if _has_alternatives(word):
        raise NotAllowed(named, "{..} is not expanded: quote it, or write the words one by one")
    if not first:
        return word
    assignment = _ASSIGNMENT.match(word.text)
    if assignment and not any(word.quoted[: assignment.end()]):
        raise NotAllowed(named, "no variable can be set for a program")
    if word.written in ("!", "{"):
        raise NotAllowed(named, NO_SHELL)
    return word


def _has_alternatives(word: Word) -> bool:
    """Whether a shell would make several words of it: braces around a comma or `..`."""
    plain = "".join(
        "_" if quoted else char for char, quoted in zip(word.text, word.quoted, strict=True)
    )
    return bool(_ALTERNATIVES.search(plain))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= NAME_CHARACTERS else text[: NAME_CHARACTERS - 1] + "…"
