"""Find the code that shows a text of a message catalog: it names the key of the text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePosixPath

import msgspec

from winnow.ranking.semantic.path_index import is_translation
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.message_catalogs import (
    has_text_of,
    in_one_piece,
    is_catalog,
    key_of,
    patterns_of,
    spellings,
)
from winnow.search.code.message_files import (
    REPEATING,
    files_with_terms,
    matched_texts,
    repeating_kinds,
)
from winnow.search.code.messages import Site
from winnow.text.scope import Scope
from winnow.workspace import EngineWorkspace

# Texts that may be meant, and the places that show each.
MOST_KEYS, MOST_USES = 3, 3
# The end of a key with more uses, such as `displayName`, is a name for other things, too.
MOST_AMBIGUOUS = 20
# The factor for data such as layouts: they come after code, and before tests and documentation.
DATA = 0.75
# Characters of a key that are shown: it may be a text.
MOST_SHOWN = 60

_Key = tuple[str, ...]


async def with_uses(
    workspace: EngineWorkspace, scope: Scope, texts: CurrentTexts, sites: Sequence[Site]
) -> list[Site]:
    """Return the sites, which are in catalogs, with the code that shows their texts in front. Of
    the catalogs with the same key, or without one, only the first is returned: the others are other
    languages.

    Raises InvalidParams for a glob or a file type that ripgrep rejects.
    """
    width = workspace.config.limits.line_characters
    found: list[Site] = []
    keys: set[_Key] = set()
    for site, key in zip(sites, await asyncio.to_thread(_keys, texts, sites), strict=True):
        if key in keys:
            continue
        keys.add(key)
        named = msgspec.structs.replace(site, key=_shown(key))
        if key and len(keys) <= MOST_KEYS:
            written = in_one_piece(key)
            files = await files_with_terms(workspace, scope, _terms(written))
            found += await asyncio.to_thread(_uses, texts, files, written, named, width)
        found.append(named)
    return found


def _keys(texts: CurrentTexts, sites: Sequence[Site]) -> list[_Key]:
    return [key_of(site.path, texts.lines(site.path) or (), site.first) for site in sites]


def _shown(key: _Key) -> str:
    written = ".".join(key)
    return written if len(written) <= MOST_SHOWN else f"{written[: MOST_SHOWN - 1]}…"


def _terms(key: _Key) -> list[str]:
    """Return the ends of a key: code has the last part, and most has more."""
    return [".".join(key[at:]) for at in range(len(key) - 1)] + spellings(key[-1])


def _uses(
    texts: CurrentTexts, files: Mapping[str, Set[str]], key: _Key, site: Site, width: int
) -> list[Site]:
    """Return the places that name a key, in code before other files."""
    catalog = PurePosixPath(site.path)
    others = {
        path: terms
        for path, terms in files.items()
        if not (is_translation(path) or PurePosixPath(path).name == catalog.name)
    }
    lines = [
        (text.path, number, text.lines[number])
        for text in matched_texts(texts, others, _terms(key), _weight, width)
        for number in text.matching
        if not (is_catalog(text.path) and has_text_of(text.lines[number], key[-1]))
    ]
    for pattern, is_exact in patterns_of(key, catalog.stem):
        found = [
            Site(path, number, number, site.score, False, key=site.key, is_shown=True)
            for path, number, line in lines
            if pattern.search(line)
        ]
        if found and (is_exact or len(found) <= MOST_AMBIGUOUS):
            return found[:MOST_USES]
    return []


def _weight(path: str) -> float:
    kinds = repeating_kinds(path)
    return DATA if kinds == {"data"} else REPEATING if kinds else 1.0
