"""Globs as ripgrep reads them, for the places where ripgrep cannot be asked.

`rg --glob=PATTERN` searches every file that matches, ignored and hidden ones too. So that ignore
files hold, ripgrep is told to search a superset, by the names of files alone, and the paths that it
finds are held against the whole pattern here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator


class InvalidGlob(ValueError):
    """A pattern that is no glob; the message says why."""


# Alternatives of one pattern, all of its braces taken together.
MOST_ALTERNATIVES = 1_000

# A path with one of them may be a glob.
GLOB_CHARACTERS = frozenset("*?[{")

_STAR = "*"
_ANY_FOLDERS = "**"


def glob_regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of paths, with `/`, that a glob matches; for ``fullmatch``.

    As in .gitignore files: a pattern without a slash is for the name of a file at any depth, one
    with a slash for the path from the root; `*` and `?` stay within a name, `**` between slashes
    does not, and `{a,b}` are alternatives. A slash at the end means all that is below.

    No pattern makes matching slow: what stands between two stars is taken where it is found first,
    and never again elsewhere (a lookahead that is captured, since Python has no atomic groups
    before 3.11). Raises InvalidGlob.
    """
    anchored = "/" in pattern.rstrip("/")
    if pattern.endswith("/"):
        pattern += _ANY_FOLDERS
    groups = itertools.count()
    bodies = [_path(text, groups) for text in _alternatives(pattern.removeprefix("/"), pattern)]
    body = bodies[0] if len(bodies) == 1 else f"(?:{'|'.join(bodies)})"
    try:
        return re.compile(f"{'' if anchored else '(?:.*/)?'}{body}", re.S)
    except re.error as error:
        raise InvalidGlob(f"{pattern!r} is no glob: {error.msg}") from None


def escaped(path: str) -> str:
    """The glob that matches just this path."""
    return re.sub(r"[*?\[\]{}\\!]", lambda char: "\\" + char[0], path)


def name_pattern(pattern: str) -> str:
    """The part of a glob that is for the name of a file; `*` where there is none."""
    name = pattern.rpartition("/")[2]
    # Alternatives may hold slashes: then the part behind the last one says nothing. A colon means
    # something else where ripgrep is told of a type.
    balanced = name.count("{") == name.count("}")
    return name if name and balanced and ":" not in name else "*"


def _alternatives(text: str, pattern: str) -> list[str]:
    """What the braces of a glob stand for: globs without braces."""
    found = [""]
    place = 0
    while place < len(text):
        end = _token_end(text, place)
        token = text[place:end]
        if token == "{":
            end, inside = _braces(text, place, pattern)
            found = [before + one for before in found for one in inside]
        else:
            # A brace that closes nothing is one; escaped, so that it stays one.
            found = [before + ("\\}" if token == "}" else token) for before in found]
        if len(found) > MOST_ALTERNATIVES:
            raise InvalidGlob(f"{pattern!r} has more than {MOST_ALTERNATIVES} alternatives")
        place = end
    return found


def _braces(text: str, start: int, pattern: str) -> tuple[int, list[str]]:
    """The place behind the braces that open at ``start``, and what they stand for."""
    found: list[str] = []
    depth, first, place = 0, start + 1, start
    while place < len(text):
        end = _token_end(text, place)
        token = text[place:end]
        depth += (token == "{") - (token == "}")
        if (token == "," and depth == 1) or not depth:
            found += _alternatives(text[first:place], pattern)
            first = end
        if not depth:
            return end, found
        if len(found) > MOST_ALTERNATIVES:
            raise InvalidGlob(f"{pattern!r} has more than {MOST_ALTERNATIVES} alternatives")
        place = end
    raise InvalidGlob(f"{pattern!r} is no glob: `{{` is not closed")


def _token_end(text: str, place: int) -> int:
    """Where the character, class or escaped character that begins at ``place`` ends."""
    if text[place] == "[":
        return _class_end(text, place + 1) + 1
    return min(place + 1 + (text[place] == "\\"), len(text))


def _path(text: str, groups: Iterator[int]) -> str:
    """The regular expression of a glob without braces."""
    runs: list[list[str]] = [[]]  # of the names between one `**` and the next
    for tokens in _names(text):
        if tokens == [_STAR, _STAR]:
            runs.append([])
        else:
            runs[-1].append(_name(tokens, groups))
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *middle, last = ["/".join(run) for run in runs]
    out = f"{first}/" if runs[0] else ""
    for run in filter(None, middle):
        out += _first_found("(?:[^/]*/)*?", f"{run}/", groups)
    return out + (f"(?:[^/]*/)*{last}" if runs[-1] else ".*")


def _names(text: str) -> Iterator[list[str]]:
    """The tokens of each name: a star, or the regular expression of one character."""
    tokens: list[str] = []
    place = 0
    while place < len(text):
        end = _token_end(text, place)
        token = text[place:end]
        if token == "/":
            yield tokens
            tokens = []
        else:
            tokens.append(_token(token))
        place = end
    yield tokens


def _token(token: str) -> str:
    if token == "*":
        return _STAR
    if token == "?":
        return "[^/]"
    if token[0] == "[":
        return _class(token[1:-1])
    return re.escape(token[1:] if token[0] == "\\" and len(token) > 1 else token)


def _name(tokens: list[str], groups: Iterator[int]) -> str:
    """The regular expression of the name of a file or folder."""
    chunks = [""]
    for token in tokens:
        if token == _STAR:
            chunks.append("")
        else:
            chunks[-1] += token
    if len(chunks) == 1:
        return chunks[0]
    first, *middle, last = chunks
    found = (_first_found("[^/]*?", chunk, groups) for chunk in middle if chunk)
    return f"{first}{''.join(found)}[^/]*{last}"


def _first_found(anything: str, wanted: str, groups: Iterator[int]) -> str:
    """What is wanted, where it is found first behind anything; no other place is tried."""
    name = f"g{next(groups)}"
    return f"(?=(?P<{name}>{anything}{wanted}))(?P={name})"


def _class_end(pattern: str, start: int) -> int:
    """The place of the bracket that closes a class; the first place may be a bracket itself."""
    first = start + (pattern[start : start + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)
    if end < 0:
        raise InvalidGlob(f"{pattern!r} is no glob: `[` is not closed")
    return end


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = inside[negated:].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
    return f"(?!/)[{'^' if negated else ''}{members}]"
