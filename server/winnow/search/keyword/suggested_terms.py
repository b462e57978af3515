"""Suggest terms for a keyword search."""

from __future__ import annotations

from collections.abc import Sequence

from winnow.search.answer.telling_words import MOST_TERMS, is_identifier, search_terms
from winnow.text.ripgrep import escaped
from winnow.workspace import EngineWorkspace

# Names from the index that are suggested in addition to the words of the question.
MOST_NAMES = 5


async def suggested_terms(workspace: EngineWorkspace, query: str) -> list[str]:
    """Return terms for a keyword search with this question, as regular expressions: the question's
    identifiers, names and words, then similar names from the index."""
    words = search_terms(query)[:MOST_TERMS]
    # A name that is a plain word has many matches, and most likely is among the words.
    names = [name for name in await _similar(workspace, query) if is_identifier(name)]
    return [escaped(term) for term in dict.fromkeys([*words, *names[:MOST_NAMES]])]


async def _similar(workspace: EngineWorkspace, query: str) -> Sequence[str]:
    """Return names from the index; none while it opens, because the first search need not wait."""
    if not (workspace.has_index and workspace.index.is_opened):
        return ()
    from winnow.search.code.semantic import names_near

    return await names_near(workspace, query)
