"""Globs as ripgrep reads them, for the places where ripgrep cannot be asked.

`rg --glob=PATTERN` searches every file that matches, ignored and hidden ones too. So that ignore
files hold, ripgrep is told to search a superset, by the names of files alone, and the paths that it
finds are held against the whole pattern here.
"""

from __future__ import annotations

import re


class InvalidGlob(ValueError):
    """A pattern that is no glob; the message says why."""


def glob_regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of paths, with `/`, that a glob matches.

    As in .gitignore files: a pattern without a slash is for the name of a file at any depth, one
    with a slash for the path from the root; `*` and `?` stay within a name, `**` does not, and
    `{a,b}` are alternatives. A slash at the end means all that is below. Raises InvalidGlob.
    """
    anchored = "/" in pattern.rstrip("/")
    if pattern.endswith("/"):
        pattern += "**"
    body = _translate(pattern.removeprefix("/"))
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


def _translate(pattern: str) -> str:
    out: list[str] = []
    place, depth = 0, 0
    while place < len(pattern):
        # What matches the same a second time would only have more ways to fail.
        if pattern.startswith("**/", place) and (place == 0 or pattern[place - 1] == "/"):
            out += ["(?:.*/)?"] * (out[-1:] != ["(?:.*/)?"])
            place += 3
            continue
        if pattern.startswith("**", place):
            out.append(".*")
            while pattern.startswith("*", place):
                place += 1
            continue
        char = pattern[place]
        place += 1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            end = _class_end(pattern, place)
            out.append(_class(pattern[place:end]))
            place = end + 1
        elif char == "{":
            out.append("(?:")
            depth += 1
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        elif char == "," and depth:
            out.append("|")
        elif char == "\\" and place < len(pattern):
            out.append(re.escape(pattern[place]))
            place += 1
        else:
            out.append(re.escape(char))
    if depth:
        raise InvalidGlob(f"{pattern!r} is no glob: `{{` is not closed")
    return "".join(out)


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
