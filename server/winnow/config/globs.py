"""Translate ripgrep's globs into regular expressions.

`rg --glob=PATTERN` also searches ignored and hidden files. To respect ignore files, ripgrep gets a
pattern for file names only, which matches more, and Winnow checks the paths in its output with the
complete pattern.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator


class InvalidGlob(ValueError):
    """The pattern is not a glob; the message says why."""


# Alternatives of one pattern, with all its braces.
MOST_ALTERNATIVES = 1_000

# A path with one of these characters may be a glob.
GLOB_CHARACTERS = frozenset("*?[{")

_STAR = "*"
_ANY_FOLDERS = "**"


def glob_regex(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for the paths, with `/`, that a glob matches; for ``fullmatch``.

    As in .gitignore files: a pattern without a slash matches names at any depth, one with a slash
    matches paths from the root. `*` and `?` match within a name, `**` between slashes matches any
    folders, `{a,b}` are alternatives, and a slash at the end means everything below.

    Matching is never slow: text between two stars matches only at its first occurrence, without
    backtracking (through a captured lookahead: before 3.11, Python has no atomic groups). Raises
    InvalidGlob.
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
        raise InvalidGlob(f"{pattern!r} is not a glob: {error.msg}") from None


def escaped(path: str) -> str:
    """Return a glob that matches only this path."""
    return re.sub(r"[*?\[\]{}\\!]", lambda char: "\\" + char[0], path)


def name_pattern(pattern: str) -> str:
    """Return the part of a glob for file names; `*` if there is none."""
    name = pattern.rpartition("/")[2]
    # With a slash inside braces, the part behind the last slash is useless. A colon has another
    # meaning in ripgrep's definition of a file type.
    balanced = name.count("{") == name.count("}")
    return name if name and balanced and ":" not in name else "*"


def _alternatives(text: str, pattern: str) -> list[str]:
    """Return the alternatives of a glob: globs without braces."""
    found = [""]
    place = 0
    while place < len(text):
        end = _token_end(text, place)
        token = text[place:end]
        if token == "{":
            end, inside = _braces(text, place, pattern)
            found = [before + choice for before in found for choice in inside]
        else:
            # An unmatched closing brace is a character; escape it.
            found = [before + ("\\}" if token == "}" else token) for before in found]
        if len(found) > MOST_ALTERNATIVES:
            raise InvalidGlob(f"{pattern!r} has more than {MOST_ALTERNATIVES} alternatives")
        place = end
    return found


def _braces(text: str, start: int, pattern: str) -> tuple[int, list[str]]:
    """Return the end of the braces that open at ``start``, and their alternatives."""
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
    raise InvalidGlob(f"{pattern!r} is not a glob: `{{` is not closed")


def _token_end(text: str, place: int) -> int:
    """Return the end of the character, class or escaped character at ``place``."""
    if text[place] == "[":
        return _class_end(text, place + 1) + 1
    return min(place + 1 + (text[place] == "\\"), len(text))


def _path(text: str, groups: Iterator[int]) -> str:
    """Return the regular expression of a glob without braces."""
    runs: list[list[str]] = [[]]  # the names between two `**`
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
    """Yield the tokens of each name: a star, or the regular expression of a character."""
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
    """Return the regular expression of a file or folder name."""
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


def _first_found(prefix: str, text: str, groups: Iterator[int]) -> str:
    """Match a text at its first occurrence behind a prefix, without backtracking."""
    name = f"g{next(groups)}"
    return f"(?=(?P<{name}>{prefix}{text}))(?P={name})"


def _class_end(pattern: str, start: int) -> int:
    """Return the place of the bracket that closes a class, which may start with a bracket."""
    first = start + (pattern[start : start + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)
    if end < 0:
        raise InvalidGlob(f"{pattern!r} is not a glob: `[` is not closed")
    return end


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = inside[negated:].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
    return f"(?!/)[{'^' if negated else ''}{members}]"
