"""Find the words of a question that the code base does not have: it may use others for the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from winnow.index.postings.terms import content_words, term_number, terms_of
from winnow.text.ripgrep import TextPattern

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus

# A longer text describes one case, and many words are its own.
MOST_WORDS = 12
# A question with a smaller share of unknown words has enough others.
LEAST_SHARE = 1 / 3


def unknown_words(corpus: Corpus, query: str) -> list[str]:
    """Return the words of a question that are in no text and no path of a corpus; none if they are
    less than :data:`LEAST_SHARE` of its words. A name counts as a whole."""
    # Costs the import of numpy.
    from winnow.ranking.semantic.candidates import rarity_of
    from winnow.ranking.semantic.path_index import path_index_of

    terms: dict[str, str] = {}
    for word in content_words(query):
        if word.isascii() and not word.isdigit() and (found := terms_of(word)):
            terms[word] = found[-1]
            if len(terms) > MOST_WORDS:  # looking up the words of a bug report takes long
                return []
    in_paths = path_index_of(corpus)
    rarities = rarity_of(corpus, list(map(term_number, terms.values())))
    unknown = (
        word
        for (word, term), rarity in zip(terms.items(), rarities, strict=True)
        if not rarity and not in_paths.has(term) and not _may_contain(corpus, word)
    )
    return if_many(unknown, terms)


def _may_contain(corpus: Corpus, word: str) -> bool:
    """Return True if a text may contain a word, perhaps in a longer one. The words of data files
    are not ranked."""
    # Costs the import of numpy.
    import numpy as np

    from winnow.index.postings.trigrams import condition_of

    condition = condition_of(TextPattern(word, literal=True, case_sensitive=False))
    return any(
        part.segment.covered[found].any()
        for part in corpus.parts
        for found in [np.intersect1d(part.segment.documents_with(condition), part.documents)]
    )


def if_many(unknown: Iterable[str], words: Collection[str]) -> list[str]:
    """Return the unknown words of a question if they say why it finds little."""
    found = list(unknown)
    is_many = len(words) <= MOST_WORDS and len(found) >= LEAST_SHARE * len(words)
    return found if is_many else []
