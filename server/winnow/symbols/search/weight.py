"""Weigh definitions apart from their names: by file, kind and visibility."""

from __future__ import annotations

import re
from typing import Literal

from winnow.symbols.file_symbols import Definition

FileCategory = Literal["test", "example", "vendored", "generated"]

# Not `mock/`: in projects about mocks, it has the code.
TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|__mocks__|specs?|regress|testing|testdata|fixtures?|mocks|e2e)"
    r"(?:/|$)"
    # `androidTest` and `intTest` beside `main` in `src`, as Gradle has them.
    r"|(?:^|/)src/(?:[a-z]\w*Tests?|testFixtures)/"
    r"|(?:^|/)(?:integration|acceptance|functional|smoke|system|unit)[-_]?tests?(?:/|$)"
    r"|(?:^|/)(?:test_|conftest\.)[^/]*$|[^/][_.-](?:test|spec|mock)s?\.[A-Za-z]+$"
    # An application of Django may have its tests in one file, and a module of Rust.
    r"|(?:^|/)tests\.(?:py|rs)$"
    r"|[a-z](?:Tests?|Spec|Suite|Mock)\.[A-Za-z]+$|\.feature$"
)
# Folders of code that shows or measures the project's.
EXAMPLES = r"examples?|samples?|demos?|tutorials?|playground|sandbox|bench(?:es|marks?)?"
# `org/example` is a name of a package in Java and Kotlin.
_EXAMPLE = re.compile(rf"(?<!\borg)(?<!\bcom)(?:^|/)_?(?:{EXAMPLES})/", re.I)
_VENDORED = re.compile(
    r"(?:^|/)_?(?:vendor(?:ed)?|third[_-]?party|node_modules|external|deps|site-packages)/"
)
_GENERATED = re.compile(
    r"(?:^|/)(?:dist|generated|__generated__)/|\.min\.[a-z]+$|[._]pb2?(?:_grpc)?\.[a-z.]+$"
    r"|[._](?:generated|gen|g)\.[a-z]+$",
    re.I,
)
# Factors for definitions in such files.
CATEGORIES = {"test": 0.75, "example": 0.8, "vendored": 0.6, "generated": 0.6}
# Not code: where code defines the same name, a settings key or a selector is rarely meant.
DATA = frozenset(
    """
    css dockerfile ini json latex markdown org properties rst scss toml yaml
    """.split()
)
WRITTEN = 0.7
UNEXPORTED = 0.93
# A prototype in a header, where the definition may not be exported.
PROTOTYPE = 0.92
PROTOTYPES = frozenset(("c", "cpp"))
# An overload without a body, which may be documented where the function is not.
OVERLOAD = 0.999
OVERLOADS = frozenset(("python", "typescript", "tsx"))
LOCAL = 0.7
# Break ties between definitions of a name: people mean the one that others are meant to use.
RESTRICTED = 0.999
UNDOCUMENTED = 0.9995
_RESTRICTED = re.compile(r"(?:\w+ )*(?:pub ?\(|internal\b)")
# For each container; at most three count.
NESTED = 0.98
# Breaks ties: containers first, then functions, then parts.
_KINDS = {
    "class": 1.0, "struct": 1.0, "interface": 1.0, "trait": 1.0, "enum": 1.0, "object": 1.0,
    "union": 0.999, "type": 0.998, "function": 0.997, "macro": 0.996, "namespace": 0.995,
    "module": 0.995, "method": 0.99, "constructor": 0.985, "property": 0.984, "operator": 0.984,
    "event": 0.984, "constant": 0.982, "enum_member": 0.981, "field": 0.98, "variable": 0.975,
    "section": 0.97,
}  # fmt: skip


def category_of(path: str) -> FileCategory | None:
    """Return the category of a file, by its path below the root; None for the project's code."""
    if _VENDORED.search(path):
        return "vendored"
    if _GENERATED.search(path):
        return "generated"
    if TEST.search(path):
        return "test"
    return "example" if _EXAMPLE.search(path) else None


def weight(definition: Definition, category: FileCategory | None, language: str) -> float:
    """Return a factor for the score of a definition, up to 1.0."""
    found = _KINDS.get(definition.kind, 0.97)
    if language in DATA:
        found *= WRITTEN
    if category:
        found *= CATEGORIES[category]
    if definition.local:
        found *= LOCAL
    elif not definition.exported:
        found *= UNEXPORTED
    if definition.declared and language in PROTOTYPES:
        found *= PROTOTYPE
    if definition.declared and language in OVERLOADS:
        found *= OVERLOAD
    if _RESTRICTED.match(definition.signature):
        found *= RESTRICTED
    if not definition.doc:
        found *= UNDOCUMENTED
    if definition.container:
        found *= NESTED ** min(3, definition.container.count(".") + 1)
    return found
