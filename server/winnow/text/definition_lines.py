"""Recognize lines that define a name, in any language, without parsing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from winnow.text.ripgrep import Line

# A definition in languages with a keyword for it.
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|"
    r"abstract|async|override|virtual|inline|unsafe|extern|sealed|open|data|case|local|declare|"
    r"partial|readonly|const)\s+)*"
    r"(?P<keyword>class|module|defmodule|interface|struct|enum|trait|type|object|protocol|record|namespace|"
    r"union|extension|newtype|data|def|defp|defmacro|func|function|fn|fun|typedef|"
    # Perl's; Java and Go write which package a file belongs to in each of its files.
    r"package(?=\s+[A-Z])|"
    r"impl|const|val|var|let|mod|actor|macro_rules!|#\s*define)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(?P<name>[\w$]+(?:(?:\.|::)[\w$]+)*)"
)
_KINDS = {
    **dict.fromkeys(("class", "object", "record", "actor", "extension", "impl", "data"), "class"),
    **dict.fromkeys(("module", "defmodule", "namespace", "package", "mod"), "module"),
    **dict.fromkeys(("interface", "protocol"), "interface"),
    **dict.fromkeys(("struct", "union"), "struct"),
    **dict.fromkeys(("type", "typedef", "newtype"), "type"),
    **dict.fromkeys(("const", "val", "var", "let", "output", "variable"), "constant"),
    **dict.fromkeys(("provider", "resource"), "class"),
    "enum": "enum",
    "trait": "trait",
}
# A local variable, which nobody searches for.
_LOCAL = re.compile(r"^\s+(?:const|let|var|val|local)\s+(?!function\b)")
# A function or method without a keyword, whose body starts on its line: Java, C#, JavaScript,
# shell.
_METHOD = re.compile(
    r"^\s*(?:[\w$.:<>\[\],?*&]+\s+){0,6}?(?P<name>[\w$~]+)\s*\([^()'\"]*\)"
    r"\s*(?:const|noexcept|throws [\w, ]+|(?::|->)\s*[^=;(){]+)?\s*\{\s*$"
)
# A function assigned to a name: JavaScript, Lua.
_ASSIGNED = re.compile(
    r"^\s*(?P<name>[\w$]+(?:\.[\w$]+)*)\s*[:=]\s*"
    r"(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]*)?=>)"
)
# A signature on a separate line: Haskell.
_SIGNATURE = re.compile(r"^\s{0,4}(?P<name>[a-z_][\w']*)\s*::\s")
# A function in C and its relatives: a type and a name from the first column, and no semicolon.
_C_FUNCTION = re.compile(r"^[A-Za-z_][\w\s*&:<>,~]*?\b(?P<name>[\w~]+)\s*\([^;]*$")
# What begins a block of Terraform, whose last label is its name.
BLOCKS = "data|module|output|provider|resource|variable"
_BLOCK = re.compile(
    rf"^(?P<keyword>{BLOCKS})\s+(?:\"[\w-]+\"\s+)?"
    r"\"(?P<name>[\w-]+)\"\s*\{"
)
# Words before parentheses and a brace that are not names.
_KEYWORDS = frozenset(
    """
    assert await case catch defer elif else elsif for foreach function guard if import lock match
    new print return super switch synchronized throw unless until using when while with yield
    """.split()
)


class DefinitionLine(Struct, frozen=True):
    """The name that a line defines, its columns, and a guess of its kind."""

    name: str
    start: int
    end: int
    kind: str


def definition_in(text: str) -> DefinitionLine | None:
    """Return the definition that a line begins, if it looks like one."""
    if _LOCAL.match(text):
        return None
    for pattern in _possible(text):
        found = pattern.match(text)
        if found and found["name"] not in _KEYWORDS:
            kind = _KINDS.get(found.groupdict().get("keyword") or "", "function")
            return DefinitionLine(found["name"], *found.span("name"), kind)
    return None


def defines(line: Line) -> float:
    """Return the share of the name that the line defines which a match covers; 0 for none."""
    if line.start or not line.ranges:
        return 0.0  # a definition would be at the cut-off beginning
    found = definition_in(line.text)
    if found is None:
        return 0.0
    covered = max(min(end, found.end) - max(start, found.start) for start, end in line.ranges)
    return max(0.0, covered / (found.end - found.start))


def _possible(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that can match a line, judged by characters in it: that is faster."""
    yield _DEFINITION
    if "{" in text:
        yield _METHOD
        yield _BLOCK
    if "function" in text or "=>" in text:
        yield _ASSIGNED
    if "::" in text:
        yield _SIGNATURE
    if "(" in text:
        yield _C_FUNCTION
