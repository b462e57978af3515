"""Read HTTP requests, as people write them and servers log them, and find how code declares their
routes: `POST /api/chat`, `"GET /users/5 HTTP/1.1" 404`, a command of curl, an address.

A formatter may put the path on the line behind what declares the route, and the call of a client
may look like a declaration: :func:`declares` tells them apart.

Every pattern is anchored or begins with a fixed word, and has no ambiguous repetitions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_METHODS = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS"
_REQUEST = re.compile(
    rf"({_METHODS})\s{{1,4}}(?:https?://[^\s/]{{1,200}})?(/[^\s\"'?#]{{1,200}})(?:[?#]\S*)?"
    r"(?:\s+HTTP/[\d.]+)?(?:[\s\"-]+\d{3}\b.*)?"
)
# In an access log: `… "GET /x HTTP/1.1" 404 …`, `… | POST "/x"`, and `Started GET "/x" for …`.
_LOGGED = re.compile(
    rf"(?:\"({_METHODS}) (/[^\s\"?#]{{1,200}})|\b({_METHODS}) {{1,10}}\"(/[^\s\"?#]{{1,200}}))"
)
# "Which handler serves /x", "where is POST /x handled"; not "where is /etc/hosts read".
_ASKED = re.compile(
    rf"(?:how|what|where|which|who) (?:\w+ ){{0,8}}?(?:({_METHODS}) )?(/[^\s\"'?#]{{1,200}})"
    r"(?: \w+){0,8}[?.!]?"
)
_SERVES = re.compile(
    r"\b(?:answer|controller|declare|endpoint|handle|handler|implement|register|route|serve)"
    rf"(?:d|ed|s)?\b|\b(?:{_METHODS}) /"
)
# As browsers copy it: an address in quotes, and options on several lines.
_CURL = re.compile(r"(?:\$ )?curl(?:\.exe)? ")
_OPTION = re.compile(rf"\s(?:-X ?|--request[ =])[\"']?({_METHODS})\b")
_DATA = re.compile(r"\s(?:-d|-F|--data(?:-[a-z]+)?|--form|--json)\b")
_ADDRESS = re.compile(r"https?://[^\s/\"']{1,200}(/[^\s\"'?#]{1,200})")
_LOCAL_HOST = re.compile(r"localhost\b|127\.|0\.0\.0\.0|\[::1?\]")
_PATH = re.compile(r"/[^\s\"'?#]{1,200}")
# In the text of a report: with a method, of this machine, or a path from the root.
_MENTIONED = re.compile(
    rf"(?:\b({_METHODS})[ \t`\"':]{{1,4}})?(?:(https?://)([^\s/\"'`<>()]{{1,200}})|(?<![^\s`\"'(]))"
    r"(/[\w.~:@%+{}$*-][\w.~:@%+{}$*/-]{0,200})"
)
_REPORT_CHARACTERS = 10_000
_MOST_MENTIONED = 2
# The folders of an operating system, and files, are no routes.
_ON_DISK = re.compile(
    r"/(?:bin|boot|dev|etc|home|lib\d*|mnt|opt|private|proc|root|run|s?bin|srv|sys|tmp|usr|var|Users|"
    r"Volumes)/|.*\.[a-z]\w{0,9}$"
)
ANY_METHOD = "(?:get|post|put|patch|delete|head|options)"
_MOST_CHARACTERS = 1_000
# Where a path has a value, a route has a parameter: `:id`, `{id}`, `<int:id>`, `[id]`, `(\d+)`.
_PARAMETER = r"[:{<\[*(][^/\s\"'`]*"
_QUOTE = "[\"'`]"
# Functions and annotations that declare a route for all methods, or name them elsewhere.
_DECLARING = "(?:route|path|re_path|handle(?:func)?|any|all|match|requestmapping)"
# ripgrep takes about eighty times as long for `\b` and `\W`, which know all scripts.
_START = "(?:^|[^a-z])"
_ARGUMENT = "(?:(?:value|path|url) ?= ?)?"
# In TypeScript, the types of a handler may come first: `router.get<Params>("/x"`.
_BEFORE = rf"(?:<[^()\n]{{1,80}}>)?[ (]{{1,3}}{_ARGUMENT}"
# Rails has optional parts: `/stories(/page/:page)`.
_SLASH = r"\(?/"
_OPTIONAL = "(?:\\([^\\s\"'`]*\\)|\\))?"
# The end of a pattern of Django, also of one whose slash is optional: `x/?$`.
_END = r"/?\??\$?"
# What only declares routes: the path needs no slash in front.
_ROUTER = r"(?:router(?:\.|::|->)|routes?(?:::|->))"
# ASP.NET's `MapPut("/x"`.
_MAP = "(?:map)?"
# Django REST framework's `router.register(r"x"`.
_REGISTER = rf"router\.register\(r?{_QUOTE}(?:[\w/-]{{1,80}}/)?"
# Routers add the first parts of a path elsewhere.
_MOST_ENDINGS = 6
# What mounts a router at a path: `app.use("/x"`, `r.Group("/x"`, `.nest("/x"`,
# `APIRouter(prefix="/x"`; and without a slash `@Controller("x"`, `'prefix' => 'x'`, `namespace :x`.
_MOUNTING = (
    rf"(?:{_START}(?:{_MAP}group|mount|nest(?:_service)?|use)[ (]{{1,3}}|prefix ?[=:] ?){_QUOTE}/"
)
_PREFIXING = rf"(?:prefix{_QUOTE}? ?(?:=>|\() ?|{_START}(?:controller|namespace|scope)[ (]{{1,3}})"
# All routes of an API begin with its name and version.
_OF_API = re.compile(r"api|rest|v\d+(?:\.\d+)?", re.I)
# `resources :x`, `Route::apiResource('users.x'`, of Laravel, Phoenix and Rails: all routes of one
# kind of things; and the last parts of some of them, with the number of parts to leave out.
_RESOURCE = rf"(?:api)?resources?[ (]{{1,3}}(?::|{_QUOTE}/?)(?:[\w/.{{}}-]{{1,80}}[./])?"
_ACTIONS = {"create": 1, "edit": 2, "new": 1}
# What is a value in a path, not the name of a resource: a number, a UUID, `{id}`, `:id`, `~alice`,
# `user-5`.
_VALUE = re.compile(
    r"\d+|[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|.*[:{}<>$*[].*|[~@].+|[a-z]+[-_]\d+", re.I
)
# Behind a sign, a part of a route may have a parameter: `~:user`, `user-<id>`.
_SIGN = re.compile(r"[^a-zA-Z0-9]")
_MOST_SIGNS = 3
# A path on a line of its own, and the end of the line before.
_ALONE = re.compile(rf"\s*{_ARGUMENT}r?{_QUOTE}[^\s\"'`]*{_QUOTE},?\s*$")
_OPENS = re.compile(r"\w\($")
# `client.get("/x")`, `axios.post`, `request(app).get`, but not `@api.get` and the `api.GET` of Go;
# `await post("/x")`, `= post(`, `=> post(`.
_CALL = re.compile(
    rf"(?:\bawait|\breturn|=>?)\s{{0,4}}(?i:{ANY_METHOD})\(|"
    r"(?<![@\w])(?:(?i:\w*client|axios|\w*https?|\w*requests?|\w*session|agent|\w*fetch)|"
    rf"api(?=\.[a-z])|\$)(?:\([^()]*\))?(?:\.|::|->)(?i:{ANY_METHOD})\b"
)


class Request(NamedTuple):
    """An HTTP request: a regular expression for its method, in lower case, and its path."""

    method: str
    path: str


def request_in(text: str) -> Request | None:
    """Return the request that a text is; None if it is something else."""
    if _CURL.match(text):
        options = text[:_MOST_CHARACTERS]
        address, option = _ADDRESS.search(options), _OPTION.search(options)
        default = "post" if _DATA.search(options) else "get"
        return Request(option[1].lower() if option else default, address[1]) if address else None
    if len(text) > _MOST_CHARACTERS or "\n" in text:
        return None
    if found := _REQUEST.fullmatch(text) or _LOGGED.search(text):
        method, path = (group for group in found.groups() if group)
        return Request(method.lower(), path)
    asked = _ASKED.fullmatch(text) if _SERVES.search(text) else None
    return Request((asked[1] or ANY_METHOD).lower(), asked[2]) if asked else None


def requests_in(report: str) -> list[Request]:
    """Return the first requests that a report mentions: with a method, or paths that are probably
    not those of files."""
    found: dict[Request, None] = {}
    for method, scheme, host, written in _MENTIONED.findall(report[:_REPORT_CHARACTERS]):
        path = written.rstrip(".:")
        is_local = scheme and _LOCAL_HOST.match(host)
        if method or is_local or not (scheme or _ON_DISK.match(path)):
            found[Request(method.lower() or ANY_METHOD, path)] = None
    return list(found)[:_MOST_MENTIONED]


def request_to(text: str) -> Request | None:
    """Return the request to an address or a path from the root, with any method; None if the text
    does not begin with one."""
    if len(text) > _MOST_CHARACTERS:
        return None
    if address := _ADDRESS.match(text):
        return Request(ANY_METHOD, address[1])
    path = _PATH.match(text)
    return Request(ANY_METHOD, path[0]) if path else None


def declares(pattern: str, before: str, line: str) -> bool:
    """Return True if a line with a route, which has the ``pattern``, declares it; ``before`` is the
    line before it."""
    if is_alone(line):
        before = before.strip()
        if not _OPENS.search(before):
            return False
        line = before + line.strip()
    return not _CALL.search(line) and bool(re.search(pattern, line))


def is_alone(line: str) -> bool:
    """Return True if a line has nothing but a path."""
    return bool(_ALONE.match(line))


def routes_of(request: Request) -> list[str]:
    """Return regular expressions for how code may declare the route of a request, the likeliest
    first, then one for other lines that name it; none for the path of the root."""
    method, path = request
    parts = path.strip("/").split("/")
    if not parts[0]:
        return []
    endings = [parts[at:] for at in range(1, len(parts))][-_MOST_ENDINGS:]
    named = [[re.escape(first), *rest] for first, *rest in endings if not _VALUE.fullmatch(first)]
    # The whole path as written; its end, in a router that has no more of it, also behind a
    # parameter; with parameters in place of names.
    as_written = [_by_value(part) for part in parts] if parts[1:] else [_with_parameter(parts[0])]
    ends = [[first, *map(_by_value, rest)] for first, *rest in named]
    behind = [
        [_PARAMETER, *map(_by_value, rest)]
        for _, *rest in endings
        if not all(map(_VALUE.fullmatch, rest))
    ]
    with_parameters = [
        [first, *map(_anywhere, rest)]
        for first, *rest in ([re.escape(parts[0]), *parts[1:]], *named)
        if rest
    ]
    tiers = [tier for tier in ([as_written], ends, behind, with_parameters) if tier]
    declared = [
        [each for ending in tier for each in _declarations(method, ending)] for tier in tiers
    ]
    alone = [[_alone(ending) for ending in tier] for tier in tiers]
    texts = [_quoted(ending) for ending in with_parameters or [as_written]]
    found = [_any_of([*each, *lines]) for each, lines in zip(declared, alone, strict=True)]
    # Rather than with parameters in place of names.
    last = len(found) - bool(with_parameters)
    found[last:last] = [*_of_action(method, parts), *map(_of_resource, _resources(parts))]
    found += _mounted(parts[:-1])
    return [*found, _any_of([*itertools.chain.from_iterable(declared), *texts])]


def _of_action(method: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield a regular expression for an action of a resource: a method with `@action` in Django
    REST framework, or its `url_path`, and `get :x` in Rails."""
    _, *names = [part for part in parts if not _VALUE.fullmatch(part)] or [""]
    if names:
        name = re.escape(names[-1])
        yield (
            rf"(?i)(?:^\s*(?:async )?def {name}\(self, request|"
            rf"url_path ?= ?r?{_QUOTE}\^?{name}[/\"']|{_START}{method} :{name}(?:[^\w-]|$))"
        )


def _mounted(parts: Sequence[str]) -> Iterator[str]:
    """Yield a regular expression for the place that mounts a router at a path, whose routes have
    only the rest."""
    if parts and not (_OF_API.fullmatch(parts[-1]) or _VALUE.fullmatch(parts[-1])):
        last = re.escape(parts[-1])
        endings = [[*map(_anywhere, parts[at:-1]), last] for at in range(len(parts))]
        mounts = map(_of_any_method, endings[-_MOST_ENDINGS:])
        yield _any_of([*itertools.chain.from_iterable(mounts)])


def _resources(parts: Sequence[str]) -> list[str]:
    """Return regular expressions for the names of the things that a path names: the last ones of
    those before, the last ones, and those before, if the last name is a value."""
    left = parts[: -_ACTIONS.get(parts[-1], 0) or None]
    *above, last = [re.escape(part) for part in left if not _VALUE.fullmatch(part)] or [""]
    nested = [rf"(?:{'|'.join(above[-2:])})(?:\.|/[^/\s]{{1,80}}/){last}"] if above else []
    return [name for name in (*nested, last, *above[-1:]) if name]


def _of_resource(name: str) -> str:
    return f"(?i)(?:{_START}{_RESOURCE}{name}(?:[^\\w-]|$)|{_REGISTER}{name}{_QUOTE})"


def _any_of(patterns: Sequence[str]) -> str:
    return f"(?i)(?:{'|'.join(patterns)})"


def _by_value(part: str) -> str:
    """Return the pattern of a part of a path that may be a parameter if it is a value."""
    return _anywhere(part) if _VALUE.fullmatch(part) else re.escape(part)


def _anywhere(part: str) -> str:
    """Return the pattern of a part of a path that may be, or end with, a parameter."""
    return _with_parameter(part, "")


def _with_parameter(part: str, *beginnings: str) -> str:
    """Return the pattern of a part of a path that may have a parameter behind some beginnings, or
    behind a sign. No text matches two of the alternatives, so that the time is linear."""
    signs = itertools.islice(_SIGN.finditer(part, 0, len(part) - 1), _MOST_SIGNS)
    found: list[str] = []
    for beginning in (*beginnings, *(part[: sign.end()] for sign in signs)):
        found.append(re.escape(beginning) + _PARAMETER)
        if re.fullmatch(found[-1], part):
            return f"(?:{'|'.join(found)})"
    return f"(?:{'|'.join([re.escape(part), *found])})"


def _declarations(method: str, ending: Sequence[str]) -> Iterator[str]:
    """Yield regular expressions for a route with this path, or one that ends like this, on one
    line."""
    path = _path(ending)
    # `.post("/x"`, `post '/x'`
    yield rf"{_START}{_MAP}{method}{_BEFORE}{_quoted(ending)}"
    # `router.post("x"`
    yield rf"{_ROUTER}{method}{_BEFORE}{_QUOTE}{path}{_QUOTE}"
    # `PostMapping("/x"`, `HttpPost("x"`, `@Post("x"`
    yield rf"(?:http{method}|{method}mapping|@{method}){_BEFORE}{_QUOTE}/?{path}/?{_QUOTE}"
    # `"POST /x"`
    yield rf"{_QUOTE}{method} /?{path}/?{_QUOTE}"
    yield from _of_any_method(ending)


def _of_any_method(ending: Sequence[str]) -> Iterator[str]:
    """Yield regular expressions for a route of all methods, or the place that mounts a router."""
    path = _path(ending)
    # `path("x/"`, `re_path(r"^x/$"`
    yield rf"{_START}{_DECLARING}{_BEFORE}r?{_QUOTE}\^?/?{path}{_END}{_QUOTE}"
    # `url(r"^x/$"`, of older Django
    yield rf"{_START}url\(r?{_QUOTE}\^/?{path}{_END}{_QUOTE}"
    yield rf"{_MOUNTING}{path}/?{_QUOTE}"
    yield rf"{_PREFIXING}(?:{_QUOTE}/?{path}/?{_QUOTE}|:{path}(?:[^\w/-]|$))"


def _alone(ending: Sequence[str]) -> str:
    """Return a regular expression for a path on a line of its own."""
    path = _path(ending)
    return rf"^\s*{_ARGUMENT}r?{_QUOTE}\^?/?{path}{_END}{_QUOTE},?\s*$"


def _quoted(ending: Sequence[str]) -> str:
    # The slash in front may be added elsewhere, but `get("x")` is no route.
    slash = "/" if len(ending) == 1 else "/?"
    return f"{_QUOTE}{slash}{_path(ending)}/?{_QUOTE}"


def _path(ending: Sequence[str]) -> str:
    return _SLASH.join(ending) + _OPTIONAL
