"""Find the words of a question that the code base does not have: it may use others for the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from winnow.index.postings.terms import UNSPACED, content_words, term_number, terms_of
from winnow.text.ripgrep import TextPattern

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus

# A longer text describes one case, and many words are its own.
MOST_WORDS = 12
# A question with a smaller share of unknown words has enough others.
LEAST_SHARE = 1 / 3
# Files with the trigrams of a word that are read, about 0.1 ms each: most have only its parts.
MOST_READ = 400
_UNSPACED = re.compile(UNSPACED)


def unknown_words(
    corpus: Corpus, query: str, read: Callable[[int], bytes | None] | None = None
) -> list[str]:
    """Return the words of a question that are in no text and no path of a corpus; none if they are
    less than :data:`LEAST_SHARE` of its words. A name counts as a whole.

    ``read`` returns the text of a file by its number in the corpus, or None. Without its text, a
    file that may contain a word counts as one that does.
    """
    # Costs the import of numpy.
    from winnow.ranking.semantic.candidates import rarity_of
    from winnow.ranking.semantic.path_index import path_index_of

    terms: dict[str, str] = {}
    for word in content_words(query):
        is_word = word.isascii() or (word.isalpha() and not _UNSPACED.search(word))
        if is_word and not word.isdigit() and (found := terms_of(word)):
            terms[word] = found[-1]
            if len(terms) > MOST_WORDS:  # looking up the words of a bug report takes long
                return []
    in_paths = path_index_of(corpus)
    rarities = rarity_of(corpus, list(map(term_number, terms.values())))
    unknown = (
        word
        for (word, term), rarity in zip(terms.items(), rarities, strict=True)
        if not rarity and not in_paths.has(term) and not _may_contain(corpus, word, read)
    )
    return if_many(unknown, terms)


def _may_contain(corpus: Corpus, word: str, read: Callable[[int], bytes | None] | None) -> bool:
    """Return True if a text contains a word, perhaps in a longer one, or if too many may. The words
    of data files are not ranked."""
    # Costs the import of numpy.
    import numpy as np

    from winnow.index.postings.trigrams import condition_of

    condition = condition_of(TextPattern(word, literal=True, case_sensitive=False))
    files: list[int] = []
    for part in corpus.parts:
        documents = part.segment.documents_with(condition)
        documents = documents[part.segment.covered[documents]]
        files += part.files[np.isin(part.documents, documents)].tolist()
    if read is None or len(files) > MOST_READ:
        return bool(files)
    texts = map(read, files)
    return any(text is None or _has(text, word) for text in texts)


def _has(text: bytes, word: str) -> bool:
    """Return True if a text has a word, ignoring case. ASCII needs no decoding."""
    if word.isascii():
        return word.lower().encode() in text.lower()
    return word.lower() in text.decode("utf-8", "replace").lower()


def if_many(unknown: Iterable[str], words: Collection[str]) -> list[str]:
    """Return the unknown words of a question if they say why it finds little."""
    found = list(unknown)
    is_many = len(words) <= MOST_WORDS and len(found) >= LEAST_SHARE * len(words)
    return found if is_many else []
