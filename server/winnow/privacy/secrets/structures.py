"""Find secrets whose name is separate from their value.

A Terraform variable has its value in a block, a list entry has fields for name and value, and the
data of a Kubernetes object of kind Secret are all secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import is_password, is_placeholder

# Returns a match if the name of a value is that of a secret.
Judge = Callable[[bytes, int, int, bytes], SecretMatch | None]

_VARIABLE = re.compile(
    rb"variable[ \t]{1,4}\"(?P<name>[\w-]{1,100})\"\s{0,4}\{(?P<body>[^{}]{0,2000})"
)
_DEFAULT = re.compile(rb"(?m)^\s{0,40}default\s{0,40}=\s{0,4}\"(?P<value>[^\"\\\r\n]{4,4096})\"")
_SENSITIVE = re.compile(rb"(?m)^\s{0,40}sensitive\s{0,40}=\s{0,4}true")

# A value, and the text before it that has its name. Patterns that begin with a literal are fast.
_VALUE = re.compile(
    rb"alue(?:\\{0,3}[\"']?\s{0,2}[:=][ \t]{0,4}\\{0,3}[\"']?(?P<value>[^\s\"'\\,{}<>]{6,4096})"
    rb"|>(?P<element>[^\s<>]{6,4096})</)"
)
_NAME_BEFORE = re.compile(
    rb"(?:(?i:\b(?:name|key))\\{0,3}[\"']?\s{0,2}[:=]\s{0,4}\\{0,3}[\"']?(?P<name>[A-Za-z][\w.-]{2,80})"
    rb"\\{0,3}[\"']?[ \t]{0,4}(?:,\s{0,80}|\r?\n[ \t]{1,80})\\{0,3}[\"']?"
    rb"|<(?:name|key|param-name)>(?P<element>[\w.-]{3,80})</(?:name|key|param-name)>\s{0,80}<(?:param-)?"
    rb"|(?:\n|\A)[ \t]{0,40}(?P<above>[\w-]{3,80}):[ \t]{0,4}\r?\n[ \t]{1,40})[vV]\Z"
)
_BEFORE_BYTES = 240

_KIND = re.compile(rb"(?m)kind:[ \t]{1,4}[\"']?Secret[\"']?[ \t]{0,8}\r?$")
_INDENT = re.compile(rb"[ \t]{0,20}(?:- )?")
_DATA = re.compile(rb"(?P<indent>[ ]*)[\"']?(?:data|stringData)[\"']?:\s*")
_ENTRY = re.compile(
    rb"(?P<indent>[ ]+)(?:[^\s:][^:\r\n]{0,200}|\"[^\"\r\n]{1,200}\"):[ \t]*(?P<value>[^\r\n]*?)\s*"
)
_OBJECT_BYTES = 64 * 1024
_QUOTED = re.compile(rb"([\"'])(?P<value>.*)\1(?:\s+#.*)?|(?P<plain>[^#\s]\S*)(?:\s+#.*)?")
_BLOCK = re.compile(rb"(?:![a-z]{1,20} )?[|>][+-]?[0-9]?")
_JSON_KIND = re.compile(rb"\\{0,3}\"kind\\{0,3}\":\s{0,4}\\{0,3}\"Secret\\{0,3}\"")
_JSON_DATA = re.compile(
    rb"\\{0,3}\"(?:data|stringData)\\{0,3}\":\s{0,4}\{(?P<entries>[^{}]{1,16000})\}"
)
_JSON_ENTRY = re.compile(rb":\s{0,4}\\{0,3}\"(?P<value>[^\"\\\r\n]{4,16000})\\{0,3}\"")
_SHORTEST_DATA = 4
# Up to 20 KB are searched around each of this many objects in JSON.
_MAX_OBJECTS = 200


def structured_secrets(judge: Judge) -> Callable[[bytes], Iterator[SecretMatch]]:
    """Return a detector; ``judge`` knows the names of secrets."""

    def detect(text: bytes) -> Iterator[SecretMatch]:
        if b"variable" in text and b"default" in text:
            yield from _variables(text, judge)
        for value in _VALUE.finditer(text):
            start = value.start()
            before = _NAME_BEFORE.search(text, max(0, start - _BEFORE_BYTES), start)
            if before:
                yield from _optional(
                    judge(text, *value.span(value.lastindex or 0), before[before.lastindex or 0])
                )
        if b"Secret" in text and b"kind" in text:
            yield from _kubernetes(text)

    return detect


def _optional(found: SecretMatch | None) -> Iterator[SecretMatch]:
    if found:
        yield found


def _variables(text: bytes, judge: Judge) -> Iterator[SecretMatch]:
    for variable in _VARIABLE.finditer(text):
        default = _DEFAULT.search(text, *variable.span("body"))
        if not default:
            continue
        found = judge(text, *default.span("value"), variable["name"])
        sensitive = _SENSITIVE.search(text, *variable.span("body"))
        if not found and sensitive and is_password(default["value"]):
            found = SecretMatch(*default.span("value"), "secret")
        yield from _optional(found)


def _kubernetes(text: bytes) -> Iterator[SecretMatch]:
    end = 0
    for kind in _KIND.finditer(text):
        if kind.start() < end:
            continue  # the same object
        line = text.rfind(b"\n", max(0, kind.start() - 40), kind.start()) + 1
        if _INDENT.fullmatch(text, line, kind.start()):
            start, end = _object(text, line, kind)
            yield from _data(text, start, end, kind.start() - line)
    for match in islice(_JSON_KIND.finditer(text), _MAX_OBJECTS):
        start, end = max(0, match.start() - 4000), match.end() + 16000
        for data in _JSON_DATA.finditer(text, start, end):
            between = text[min(data.end(), match.end()) : max(data.start(), match.start())]
            if b'"kind' in between:
                continue  # another object
            for entry in _JSON_ENTRY.finditer(text, *data.span("entries")):
                if _is_data(entry["value"]):
                    yield SecretMatch(*entry.span("value"), "secret")


def _object(text: bytes, start: int, kind: re.Match[bytes]) -> tuple[int, int]:
    """Return the span of an object: the lines around its kind with the same indentation."""
    indent = kind.start() - start
    limit = max(0, start - _OBJECT_BYTES)
    is_first = text[kind.start() - 2 : kind.start()] == b"- "
    while start > limit and not is_first:
        line = text.rfind(b"\n", limit, start - 1) + 1
        before = text[line:start]
        if not _is_inside(before, indent):
            is_first = before[indent - 2 : indent] == b"- " and not before[: indent - 2].strip()
            start = line if is_first else start
            break
        start = line
    end = kind.end()
    while 0 <= end < min(len(text), kind.end() + _OBJECT_BYTES):
        following = text.find(b"\n", end + 1)
        line_end = following if following >= 0 else len(text)
        if not _is_inside(text[end + 1 : line_end], indent):
            break
        end = line_end
    return start, end


def _is_inside(line: bytes, indent: int) -> bool:
    if not line.strip():
        return True
    return (
        not line[:indent].strip()
        and not line.startswith((b"---", b"..."))
        and (indent == 0 or not line[indent - 2 :].startswith(b"- "))
    )


def _data(text: bytes, start: int, end: int, indent: int) -> Iterator[SecretMatch]:
    """Yield the values in `data` and `stringData` of an object."""
    inside, block = False, -1
    place = start
    for line in text[start:end].split(b"\n"):
        width = len(line) - len(line.lstrip(b" -" if not inside else b" "))
        if line.strip():
            if inside and block >= 0 and width > block:
                value = line.strip()
                if _is_data(value):
                    at = place + line.find(value)
                    yield SecretMatch(at, at + len(value), "secret")
            elif width <= indent:
                inside, block = bool(_DATA.fullmatch(line.replace(b"- ", b"  ", 1))), -1
            elif inside and (entry := _ENTRY.fullmatch(line)):
                block = width if _BLOCK.fullmatch(entry["value"]) else -1
                yield from _entry(place + entry.start("value"), entry["value"], block)
        place += len(line) + 1


def _entry(place: int, text: bytes, block: int) -> Iterator[SecretMatch]:
    match = _QUOTED.fullmatch(text)
    if not match or block >= 0:
        return
    group = "value" if match["value"] is not None else "plain"
    if _is_data(match[group]):
        yield SecretMatch(place + match.start(group), place + match.end(group), "secret")


def _is_data(value: bytes) -> bool:
    """Return True if a value is in the object itself, not inserted by a template."""
    return (
        len(value) >= _SHORTEST_DATA
        and not re.search(rb"\{\{|\$[({A-Za-z_]|<[a-zA-Z]|%[({]", value)
        and not is_placeholder(value)
    )
