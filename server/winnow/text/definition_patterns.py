"""Files that may define a name, found by ripgrep: for when there is no index to ask."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from winnow.text.ripgrep import RECORD_BYTES, Ripgrep
from winnow.text.scope import Scope, plain

# Words that stand before a name where it is defined, in whatever language.
_DEFINERS = (
    "class|def|defp|defmodule|defmacro|fn|fun|func|function|sub|struct|union|trait|interface|protocol"
    "|extension|enum|type|typedef|record|object|data|newtype|module|namespace|package|const|static"
    "|let|var|val|local|macro_rules!|#define|@property"
)
# Letters that are as far apart as this are seldom meant for each other.
_BETWEEN = r"\w{0,40}?"
# Fewer letters in their order are in almost every file.
FEWEST_LETTERS = 4


class DefinitionPattern(Struct, frozen=True):
    """One way to look for a name: ripgrep's options, and a pattern."""

    pattern: str
    ignore_case: bool = False


def definition_patterns(name: str, exact: bool) -> list[DefinitionPattern]:
    """Ways to look for files that define a name, the ones that find the likeliest first. If it
    need not be ``exact``, it may be a part of the name, or letters of it."""
    text = re.escape(name).replace(r"\ ", " ")
    found = [
        DefinitionPattern(rf"(?:{_DEFINERS})\s+(?:\([^)]*\)\s*)?(?:\w+(?:\.|::))*{text}(?:$|\W)"),
        DefinitionPattern(rf"(?:^|\W){text}(?:$|\W)"),
    ]
    if exact:
        return found
    found.append(DefinitionPattern(text, ignore_case=True))
    if len(name) >= FEWEST_LETTERS:
        letters = _BETWEEN.join(re.escape(char) for char in name if not char.isspace())
        found.append(DefinitionPattern(letters, ignore_case=True))
    return found


async def files_with(
    ripgrep: Ripgrep, scope: Scope, pattern: DefinitionPattern
) -> AsyncGenerator[str, None]:
    """The files of a scope that a pattern finds, as ripgrep prints them, in no order."""
    case = "--ignore-case" if pattern.ignore_case else "--case-sensitive"
    async for path in _listed(
        ripgrep, scope, ["--files-with-matches", case, "-e", pattern.pattern]
    ):
        yield path


async def all_files(ripgrep: Ripgrep, scope: Scope) -> AsyncGenerator[str, None]:
    """All files of a scope, as ripgrep prints them, in no order."""
    async for path in _listed(ripgrep, scope, ["--files"]):
        yield path


async def _listed(
    ripgrep: Ripgrep, scope: Scope, arguments: Sequence[str]
) -> AsyncGenerator[str, None]:
    command = [*arguments, "--null", *scope.arguments, "--", *scope.paths]
    async with ripgrep.start(command, cwd=scope.root) as child:
        async for record in child.records(b"\0", RECORD_BYTES):
            path = plain(os.fsdecode(record))
            if scope.covers(path):
                yield path
