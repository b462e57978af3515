"""Find the code that shows a text of a message catalog: it names the key of the text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePosixPath

import msgspec

from winnow.ranking.semantic.path_index import KINDS
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.message_catalogs import has_text_of, key_of, patterns_of
from winnow.search.code.message_files import files_with_terms
from winnow.search.code.messages import Site
from winnow.text.scope import Scope
from winnow.workspace import EngineWorkspace

# Texts that may be meant, and the places that show each.
MOST_KEYS, MOST_USES = 3, 3
# The files that are read for a key. A key with more has a common word as its last part.
MOST_FILES = 60

_Key = tuple[str, ...]


async def with_uses(
    workspace: EngineWorkspace, scope: Scope, texts: CurrentTexts, sites: Sequence[Site]
) -> list[Site]:
    """Return the sites, which are in catalogs, with the code that shows their texts in front. Of
    the catalogs with the same key, only the first is returned: the others are other languages.

    Raises InvalidParams for a glob or a file type that ripgrep rejects.
    """
    by_key: dict[_Key, Site] = {}
    for site in sites:
        key = key_of(site.path, texts.lines(site.path) or (), site.first)
        by_key.setdefault(key, msgspec.structs.replace(site, key=".".join(key)))
    found = []
    for key, site in list(by_key.items())[:MOST_KEYS]:
        if key:
            files = await files_with_terms(workspace, scope, [key[-1]])
            found += await asyncio.to_thread(_uses, texts, files, key, site)
        found.append(site)
    return found


def _uses(texts: CurrentTexts, files: Mapping[str, Set[str]], key: _Key, site: Site) -> list[Site]:
    """Return the places that name a key, in code before other files."""
    catalog = PurePosixPath(site.path)
    paths = [path for path in files if not _is_translation(PurePosixPath(path), catalog)]
    code = sorted(paths, key=lambda path: (_rank(path), path))[:MOST_FILES]
    lines = {path: texts.lines(path) or () for path in code}
    for pattern in patterns_of(key, catalog.stem):
        found = [
            Site(path, number, number, site.score, False, key=site.key, is_shown=True)
            for path in code
            for number, line in enumerate(lines[path], 1)
            if key[-1] in line and pattern.search(line) and not has_text_of(line, key[-1])
        ]
        if found:
            return found[:MOST_USES]
    return []


def _is_translation(path: PurePosixPath, catalog: PurePosixPath) -> bool:
    """Return True for a catalog that has the same texts in another language."""
    return path.name == catalog.name or path.suffix in (".po", ".pot")


def _rank(path: str) -> int:
    """Return how late a file is: code, then data such as layouts, then tests and documentation."""
    kinds = {name for name, pattern, _ in KINDS if pattern.search(path)}
    if kinds & {"test", "prose", "generated"}:
        return 2
    return 1 if "data" in kinds else 0
