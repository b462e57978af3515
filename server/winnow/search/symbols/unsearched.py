"""Report files with a name that are not searched for its uses: templates and configuration.

Templates of Angular, Vue, Rails or JSP call methods, and configuration names classes, but Winnow
does not resolve their names.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence

from winnow.documents.formats.plain_text import EXTENSIONS
from winnow.index.store.file_record import is_data
from winnow.search.symbols.navigation import SymbolAtPosition
from winnow.search.symbols.requests import sources_of
from winnow.symbols.language import language_of
from winnow.text.lines import SourceTexts
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Scope
from winnow.workspace import EngineWorkspace

# A shorter name is in too many texts.
SHORTEST = 4
# A name in more files is a word of the language that people write.
MOST_FILES = 100
# Maximum time for reading texts.
SECONDS = 0.05
# In files with scripts, whose names are searched, and those of tags.
_SCRIPTS = re.compile(
    rb"<script\b.*?</script>|\A---\r?\n.*?^---|(?-i:</?[A-Z]\w*)", re.DOTALL | re.I | re.M
)
_CONFIGURATION = frozenset(("yaml", "toml", "properties", "ini"))


async def unsearched_warnings(
    workspace: EngineWorkspace,
    scope: Scope,
    name: str,
    selects: Callable[[int, str], bool] = lambda place, below: True,
) -> list[str]:
    """Return a warning if files that are not searched for uses have a name as a word. The index
    must know their texts. ``selects`` gets the number of a root and a path below it."""
    if len(name) < SHORTEST:
        return []
    candidates = [
        scope.prefix(place) + below
        for place, below in await _candidates(workspace, scope, name)
        if selects(place, below)
    ]
    if not 0 < len(candidates) <= MOST_FILES:
        return []
    sources = sources_of(workspace)
    found, is_complete = await asyncio.to_thread(_with_word, sources, scope, candidates, name)
    if not found:
        return []
    files = counted(len(found), "file that is", "files that are")
    least = "" if is_complete else "at least "
    has = "has" if len(found) == 1 else "have"
    return [
        f"{least}{files} not searched for uses {has} the word {name!r}, such as {found[0]}:"
        " use grep to see the lines"
    ]


def symbol_name(symbols: Sequence[SymbolAtPosition]) -> str:
    """Return the name of symbols that templates and configuration can use, or ""."""
    symbol = symbols[0]
    definition = symbol.places[0].definition if symbol.places else None
    return symbol.name if definition is not None and not definition.local else ""


async def _candidates(
    workspace: EngineWorkspace, scope: Scope, name: str
) -> Iterator[tuple[int, str]]:
    """Return the files that are not searched for uses and may have a name, by root."""
    # Costs the import of numpy.
    from winnow.index.postings.trigrams import condition_of

    condition = condition_of(TextPattern(name, literal=True))
    found = await workspace.index.likely_candidates([condition])
    return (
        (place, below)
        for files in found or ()
        for place, root in enumerate(scope.roots)
        for number in files.numbers.get(root, ())
        if (below := files.paths[root][number]) and _is_unsearched(below)
    )


def _is_unsearched(path: str) -> bool:
    """Return True for a template or a file of configuration, by its name."""
    if is_data(path) or os.path.splitext(path)[1] in (*EXTENSIONS, ""):
        return False
    language = language_of(path)
    return language is None or language.name in _CONFIGURATION or bool(language.scripts)


def _with_word(
    sources: SourceTexts, scope: Scope, paths: Sequence[str], name: str
) -> tuple[list[str], bool]:
    """Return the files that have a word, each with its first line, and True if all were read in
    time."""
    word = re.compile(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])")
    end = time.monotonic() + SECONDS
    found: list[str] = []
    for path in sorted(paths):
        if time.monotonic() > end:
            return found, False
        source = sources.read(scope.absolute(path))
        if source is None:
            continue
        language = language_of(path)
        data = source.data
        if language is not None and language.scripts:
            data = _SCRIPTS.sub(lambda script: re.sub(rb"[^\r\n]", b" ", script.group()), data)
        if match := word.search(data):
            found.append(f"{path}:{source.line_at(match.start()) + 1}")
    return found, True
