"""Name calls of tools in messages as their reader knows them.

The engine names a tool in backticks, perhaps with an action, or with params that are true:
`search_docs`, `index build`, or `grep` with include_ignored and include_hidden. The clients have
such names for people, too: `core/wording.ts` in VS Code, `answer.lua` in Neovim.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from winnow.types import Answer

_CALL = re.compile(r"`(\w+)( \w+)?`(?: with (include_\w+(?: and include_\w+)*))?")

R = TypeVar("R", bound=Answer)
Word = Callable[[str], str]


def for_people(message: str) -> str:
    """Return a message with commands instead of calls."""
    return _CALL.sub(_command, message)


def for_short_list(message: str) -> str:
    """Return a message with the names of the short list, and commands for tools that it lacks."""
    return _CALL.sub(_short, message)


def worded(result: R, word: Word) -> R:
    """Return an answer whose notes are worded for their reader."""
    completeness = result.completeness
    return msgspec.structs.replace(
        result,
        completeness=msgspec.structs.replace(
            completeness, reasons=list(map(word, completeness.reasons))
        ),
        warnings=list(map(word, result.warnings)),
    )


def _command(call: re.Match[str]) -> str:
    from winnow.tools import TOOLS  # a cycle at import time: it loads this module

    if call[1] not in TOOLS:
        return call[0]
    params = call[3].split(" and ") if call[3] else []
    options = "".join(f" --{param.replace('_', '-')}" for param in params)
    return f"`winnow {TOOLS[call[1]].command}{call[2] or ''}{options}`"


def _short(call: re.Match[str]) -> str:
    from winnow.tools import TOOLS

    short = TOOLS[call[1]].short if call[1] in TOOLS else None
    return call[0].replace(call[1], short.name, 1) if short else _command(call)
