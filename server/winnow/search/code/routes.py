"""Read HTTP requests, as people write them and servers log them, and find how code declares their
routes: `POST /api/chat`, `"GET /users/5 HTTP/1.1" 404`, a command of curl, an address.

Every pattern is anchored or begins with a fixed word, and has no ambiguous repetitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

_METHODS = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS"
_REQUEST = re.compile(
    rf"({_METHODS})\s{{1,4}}(?:https?://[^\s/]{{1,200}})?(/[^\s\"'?#]{{1,200}})(?:[?#]\S*)?"
    r"(?:\s+HTTP/[\d.]+)?(?:[\s\"-]+\d{3}\b.*)?"
)
# In an access log: `… "GET /x HTTP/1.1" 404 …`, `… | POST "/x"`, and `Started GET "/x" for …`.
_LOGGED = re.compile(
    rf"(?:\"({_METHODS}) (/[^\s\"?#]{{1,200}})|\b({_METHODS}) {{1,10}}\"(/[^\s\"?#]{{1,200}}))"
)
# As browsers copy it: an address in quotes, and options on several lines.
_CURL = re.compile(r"(?:\$ )?curl(?:\.exe)? ")
_OPTION = re.compile(rf"\s(?:-X ?|--request[ =])[\"']?({_METHODS})\b")
_DATA = re.compile(r"\s(?:-d|-F|--data(?:-[a-z]+)?|--form|--json)\b")
_ADDRESS = re.compile(r"https?://[^\s/\"']{1,200}(/[^\s\"'?#]{1,200})")
_PATH = re.compile(r"/[^\s\"'?#]{1,200}")
_ANY_METHOD = "(?:get|post|put|patch|delete|head|options)"
_MOST_CHARACTERS = 1_000
# Where a path has a value, a route has a parameter: `:id`, `{id}`, `<int:id>`, `[id]`, `(\d+)`.
_PARAMETER = r"[:{<\[*(][^/\s\"'`]*"
_QUOTE = "[\"'`]"
# Functions and annotations that declare a route for all methods, or name them elsewhere.
_DECLARING = "(?:route|path|re_path|handle(?:func)?|any|all|match|requestmapping)"
# ripgrep takes about eighty times as long for `\b` and `\W`, which know all scripts.
_START = "(?:^|[^a-z])"
_BEFORE = "[ (]{1,3}(?:(?:value|path|url) ?= ?)?"
# ASP.NET's `MapPut("/x"`.
_MAP = "(?:map)?"
# Routers add the first parts of a path elsewhere.
_MOST_ENDINGS = 6
# What is a value in a path, not the name of a resource: a number, a UUID, `{id}`, `:id`.
_VALUE = re.compile(r"\d+|[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|.*[:{}<>$*[].*", re.I)


def routes_of(text: str) -> list[str]:
    """Return regular expressions for how code may declare the route of a request, the likeliest
    first; none if a text is no request."""
    if _CURL.match(text):
        options = text[:_MOST_CHARACTERS]
        address, option = _ADDRESS.search(options), _OPTION.search(options)
        default = "post" if _DATA.search(options) else "get"
        return _routes(option[1].lower() if option else default, address[1]) if address else []
    if len(text) > _MOST_CHARACTERS or "\n" in text:
        return []
    found = _REQUEST.fullmatch(text) or _LOGGED.search(text)
    if found is None:
        return []
    method, path = (group for group in found.groups() if group)
    return _routes(method.lower(), path)


def routes_to(text: str) -> list[str]:
    """Return the same for an address or a path from the root, with any method."""
    if len(text) > _MOST_CHARACTERS:
        return []
    if address := _ADDRESS.match(text):
        return _routes(_ANY_METHOD, address[1])
    path = _PATH.match(text)
    return _routes(_ANY_METHOD, path[0]) if path else []


def _routes(method: str, path: str) -> list[str]:
    parts = path.strip("/").split("/")
    if not parts[0]:
        return []
    endings = [parts[at:] for at in range(len(parts))][-_MOST_ENDINGS:]
    named = [ending for ending in endings if not _VALUE.fullmatch(ending[0])] or endings[-1:]
    long = [ending for ending in named if len(ending) > 1]
    # As written, perhaps in a router that has only the end of the path; with parameters in place of
    # names; as text.
    found = [
        [each for ending in named for each in _declarations(method, ending, _by_value)],
        [each for ending in long for each in _declarations(method, ending, _anywhere)],
        [_quoted(ending, _anywhere) for ending in (named if len(parts) == 1 else long)],
    ]
    return [f"(?i)(?:{'|'.join(patterns)})" for patterns in found if patterns]


def _by_value(part: str) -> str:
    """Return the pattern of a part of a path that may be a parameter if it is a value."""
    return _anywhere(part) if _VALUE.fullmatch(part) else re.escape(part)


def _anywhere(part: str) -> str:
    """Return the pattern of a part of a path that may be a parameter."""
    return f"(?:{re.escape(part)}|{_PARAMETER})"


def _declarations(
    method: str, ending: Sequence[str], pattern: Callable[[str], str]
) -> Iterator[str]:
    """Yield regular expressions for a route with this path, or one that ends like this."""
    path = _path(ending, pattern)
    # `.post("/x"`, `post '/x'`
    yield rf"{_START}{_MAP}{method}{_BEFORE}{_quoted(ending, pattern)}"
    # `PostMapping("/x"`, `HttpPost("x"`
    yield rf"(?:http{method}|{method}mapping){_BEFORE}{_QUOTE}/?{path}/?{_QUOTE}"
    # `"POST /x"`
    yield rf"{_QUOTE}{method} /?{path}/?{_QUOTE}"
    # `path("x/"`, `re_path(r"^x/$"`
    yield rf"{_START}{_DECLARING}{_BEFORE}r?{_QUOTE}\^?/?{path}/?\$?{_QUOTE}"


def _quoted(ending: Sequence[str], pattern: Callable[[str], str]) -> str:
    # The slash in front may be added elsewhere, but `get("x")` is no route.
    slash = "/" if len(ending) == 1 else "/?"
    return f"{_QUOTE}{slash}{_path(ending, pattern)}/?{_QUOTE}"


def _path(ending: Sequence[str], pattern: Callable[[str], str]) -> str:
    return "/".join([re.escape(ending[0]), *map(pattern, ending[1:])])
