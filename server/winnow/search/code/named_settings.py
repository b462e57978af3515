"""Find the lines that read a setting which the title of a bug report names: an environment
variable, an option of a command, a key with its value; and the styles of a CSS class or id.

Documentation and tests name a setting more often than the code that reads it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.definitions import definitions_of, hit_of_line, name_around
from winnow.search.code.message_files import ASIDE, repeating_kinds
from winnow.search.code.messages import IS_COMMENT
from winnow.search.code.ranked_text import files_with
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

# More names in a title are an enumeration.
MOST_NAMES = 2
# More files use a name for several things.
MOST_FILES = 4
LINE_CHARACTERS = 1_000

_QUOTE = "[\"'`]"
_VARIABLE = re.compile(
    r"(?<![\w$./-])(?:[A-Z][A-Z\d]{1,40}(?:_[A-Z\d]{1,40}){1,8}|[A-Z]{6,40})(?![\w./-])"
)
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z\d]{1,40}(?:-[a-z\d]{1,40}){1,6})(?![\w-])")
# `fileParallelism: false`, `max_retries = 0`, `"cache.max_size": 5`: a single word is too common.
_KEY = re.compile(
    r"(?<![\w$./-])(?:[a-z]\w{0,40}\.){0,6}([a-z]\w{0,60}(?:_|[A-Z])\w{1,60})"
    rf"{_QUOTE}?(?:: ?| ?= ?)(?:(?i:true|false|null|none|nil|off|on|\d+)\b|{_QUOTE})"
)
_SELECTOR = re.compile(
    r"(?<![\w./#-])(?:[a-z]\w{0,10})?([.#])((?:[a-z_]\w{0,40})(?:-{1,2}\w{1,40}){1,6})(?![\w./-])"
)
_ELEMENTS = "(?:button|div|element|form|input|nav|section|span|table|ul)"
_ELEMENT = re.compile(
    rf"(?<![\w./#-])(?:{_ELEMENTS}([.#])|(#)(?=\w+ {_ELEMENTS}\b))([a-z]\w{{1,40}})(?![\w./-])"
)
# What is in front of the name of a variable that is read. A formatter may put the name on a line of
# its own.
_READS = r"(?i:env|conf|setting)[\w.:>?!-]*(?:\[[\w\[\], ]*\])?[(\[]\s*"
_OPENS = re.compile(rf"{_READS}$")
_COMMENT = rf"^(?:{IS_COMMENT.pattern})"


class NamedSetting(Struct, frozen=True):
    """A name in a title: what lines do with it, the likeliest first, by a regular expression. Lines
    that match ``unless`` do something else."""

    name: str
    does: Mapping[str, str]
    unless: str


def settings_in(title: str) -> list[NamedSetting]:
    """Return the settings and selectors that a title names, in its order."""
    found: dict[int, NamedSetting] = {}
    for form, make in _FORMS:
        for match in form.finditer(title):
            found.setdefault(match.start(), make(match))
    return [found[at] for at in sorted(found)][:MOST_NAMES]


def _variable(found: re.Match[str]) -> NamedSetting:
    name = found[0]
    string = f"{_QUOTE}{name}{_QUOTE}"
    read = rf"{_READS}{string}|\benv\.{name}\b|^\s*{string},?\s*$"
    # A word in capitals may be something else.
    others = {rf"{string}|\$\{{?{name}\b": "has"} if "_" in name else {}
    return NamedSetting(name, {read: "reads", **others}, rf"{_COMMENT}|\b__all__\b")


def _option(found: re.Match[str]) -> NamedSetting:
    words = "[_-]?".join(re.findall(r"[A-Z]?[a-z\d]+|[A-Z]+", found[1]))
    read = rf"(?i:(?:[\w)\]?]\.|->|\[[:\"'`]){words}\b)"
    declared = rf"(?i:{_QUOTE}(?:--)?{words}{_QUOTE}|--{words}\b)"
    # `config.max_size = 5`, `maxSize: options.maxSize`
    passed = rf"(?i:{words}{_QUOTE}?\]?\s*(?:=[^=>~]|\|\|=|\?\?=|:\s.*{words}))"
    return NamedSetting(found[1], {read: "reads", declared: "declares"}, rf"{_COMMENT}|{passed}")


def _selector(found: re.Match[str]) -> NamedSetting:
    *signs, name = found.groups()
    sign = next(filter(None, signs))
    attribute = "class(?:Name)?" if sign == "." else "id"
    style = rf"^[^\"'`]*[{sign}]{name}(?:[\s.:,>+~\[{{)#]|$)"
    markup = rf"\b{attribute}=[\"'{{`][^\"'`>]*\b{name}(?:[^\w-]|$)"
    return NamedSetting(f"{sign}{name}", {style: "styles", markup: "has"}, r"^\s*/[/*]")


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], NamedSetting]], ...] = (
    (_VARIABLE, _variable),
    (_OPTION, _option),
    (_KEY, _option),
    (_SELECTOR, _selector),
    (_ELEMENT, _selector),
)


async def setting_hits(
    workspace: EngineWorkspace, scope: Scope, title: str, progress: Progress
) -> list[Hit]:
    """Return the lines that use the settings and selectors in a title, if few files do. Raises
    SearchTimedOut."""
    hits: list[Hit] = []
    texts = CurrentTexts(scope, workspace.buffers)
    for place, setting in enumerate(settings_in(title)):
        score = 1 - place / 1000
        for pattern, does in setting.does.items():
            found = await files_with(workspace, scope, pattern, progress, literal=False)
            using = await asyncio.to_thread(_using, texts, scope, found.hits, setting)
            if using:
                hits += await _found(workspace, scope, using, f"{does} {setting.name}", score)
                break
    return hits


async def _found(
    workspace: EngineWorkspace, scope: Scope, using: Mapping[str, int], why: str, score: float
) -> list[Hit]:
    if len(using) > MOST_FILES:
        return []
    known = await definitions_of(workspace, scope, [*using])
    return [
        hit_of_line(path, line, score, why, name_around(known.get(path, ()), line))
        for path, line in using.items()
    ]


def _using(
    texts: CurrentTexts, scope: Scope, hits: Sequence[Hit], setting: NamedSetting
) -> dict[str, int]:
    """Return the first line of each file that uses a setting, from 1; of no tests and documents."""
    return {
        hit.path: line
        for hit in hits
        if ASIDE.isdisjoint(repeating_kinds(scope.locate(hit.path)[1]))
        and (line := _first(texts.lines(hit.path) or (), sorted(hit.marks), setting))
    }


def _first(lines: Sequence[str], numbers: Sequence[int], setting: NamedSetting) -> int:
    unless = re.compile(setting.unless)
    for number in numbers:
        line = lines[number - 1][:LINE_CHARACTERS] if number <= len(lines) else ""
        before = lines[number - 2] if number > 1 else ""
        is_alone = line.strip(" \t,\"'`") == setting.name
        if is_alone and not _OPENS.search(before):
            continue
        if not unless.search(line):
            return number
    return 0
