"""Find files that may define a name with ripgrep, if there is no index."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from winnow.text.definition_lines import BLOCKS
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep
from winnow.text.scope import Scope, clean_path

# Words before a name in its definition, in any language.
_DEFINERS = (
    "class|def|defp|defmodule|defmacro|fn|fun|func|function|sub|struct|union|trait|interface|protocol"
    "|extension|enum|type|typedef|record|object|data|newtype|module|namespace|package|const|static"
    "|let|var|val|local|macro_rules!|#define|@property"
)
_BLOCK = rf"(?m:^)(?:{BLOCKS})\s+(?:\"[\w-]+\"\s+)?"
# Types and modifiers before the name of a function in C, Java and the like. A space can match in
# one way only: `re`, which searches unsaved texts, could need exponential time.
_TYPE = r"[\w$.:<>\[\],?*&]"
_TYPED = rf"(?m:^)[ \t]*\w{_TYPE}*[ \t]+(?:{_TYPE}+[ \t]+)*[*&]*"
# Letters farther apart seldom belong to the same abbreviation.
_BETWEEN = r"\w{0,40}?"
# Almost every file contains fewer letters in their order.
FEWEST_LETTERS = 4


class DefinitionPattern(Struct, frozen=True):
    """A pattern for ripgrep that finds files with a name."""

    pattern: str
    ignore_case: bool = False


def definition_patterns(name: str, exact: bool) -> list[DefinitionPattern]:
    """Return patterns for files that define a name, the most probable first.

    Unless ``exact``, the name may be a part of the defined name, or letters of it.
    """
    text = re.escape(name).replace(r"\ ", " ")
    found = [
        DefinitionPattern(
            rf"(?:{_DEFINERS})\s+(?:\([^)]*\)\s*)?(?:\w+(?:\.|::))*{text}(?:$|\W)"
            rf"|{_TYPED}(?:\w+::)*{text}[ \t]*\([^;\n]*(?m:$)"
            rf"|{_BLOCK}\"{text}\"\s*\{{"
        ),
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
    """Yield the files of a scope that match a pattern, as ripgrep prints paths, in no order."""
    case = "--ignore-case" if pattern.ignore_case else "--case-sensitive"
    arguments = ["--files-with-matches", case, "-e", pattern.pattern]
    async for path in _listed(ripgrep, scope, arguments):
        yield path


async def all_files(ripgrep: Ripgrep, scope: Scope) -> AsyncGenerator[str, None]:
    """Yield all files of a scope, as ripgrep prints paths, in no order."""
    async for path in _listed(ripgrep, scope, ["--files"]):
        yield path


async def _listed(
    ripgrep: Ripgrep, scope: Scope, arguments: Sequence[str]
) -> AsyncGenerator[str, None]:
    command = [*arguments, "--null", *scope.arguments, "--", *scope.paths]
    async with ripgrep.start(command, cwd=scope.root) as child:
        async for record in child.records(b"\0", RECORD_BYTES):
            path = clean_path(os.fsdecode(record))
            if scope.covers(path):
                yield path
