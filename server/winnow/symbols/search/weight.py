"""What a definition is worth, apart from its name: where it stands, and what it is."""

from __future__ import annotations

import re
from typing import Literal

from winnow.symbols.file_symbols import Definition

Place = Literal["test", "vendored", "generated"]

_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|__mocks__|specs?|testing|testdata|fixtures?|mocks?)/"
    r"|(?:^|/)(?:test_|conftest\.)[^/]*$|[^/](?:[_.-](?:test|spec)s?|Tests?|Spec)\.[A-Za-z]+$",
)
_VENDORED = re.compile(
    r"(?:^|/)_?(?:vendor(?:ed)?|third[_-]?party|node_modules|external|deps|site-packages)/"
)
_GENERATED = re.compile(
    r"(?:^|/)(?:dist|generated|__generated__)/|\.min\.[a-z]+$|[._]pb2?(?:_grpc)?\.[a-z.]+$"
    r"|[._](?:generated|gen|g)\.[a-z]+$",
    re.I,
)
# By how much what stands there counts less.
PLACES = {"test": 0.75, "vendored": 0.6, "generated": 0.6}
# What is no code: a key of settings or a selector is seldom meant where code has the name, too.
DATA = frozenset(
    ("toml", "yaml", "json", "ini", "properties", "markdown", "rst", "org", "latex", "css", "scss")
)
WRITTEN = 0.7
UNEXPORTED = 0.93
LOCAL = 0.7
# For each thing around it, of which at most three count.
NESTED = 0.98
# Between what is alike otherwise: what holds others, what does something, what is a part of it.
_KINDS = {
    "class": 1.0, "struct": 1.0, "interface": 1.0, "trait": 1.0, "enum": 1.0, "object": 1.0,
    "union": 0.999, "type": 0.998, "function": 0.997, "macro": 0.996, "namespace": 0.995,
    "module": 0.995, "method": 0.99, "constructor": 0.985, "property": 0.984, "operator": 0.984,
    "event": 0.984, "constant": 0.982, "enum_member": 0.981, "field": 0.98, "variable": 0.975,
    "section": 0.97,
}  # fmt: skip


def place_of(path: str) -> Place | None:
    """Whether a file, by its path below the root, is a test, of others, or made by a program."""
    if _VENDORED.search(path):
        return "vendored"
    if _GENERATED.search(path):
        return "generated"
    return "test" if _TEST.search(path) else None


def weight(definition: Definition, place: Place | None, language: str) -> float:
    """A factor for the score of a definition, up to 1.0."""
    found = _KINDS.get(definition.kind, 0.97)
    if language in DATA:
        found *= WRITTEN
    if place:
        found *= PLACES[place]
    if definition.local:
        found *= LOCAL
    elif not definition.exported:
        found *= UNEXPORTED
    if definition.container:
        found *= NESTED ** min(3, definition.container.count(".") + 1)
    return found
