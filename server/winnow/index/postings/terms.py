"""Terms: what a text or a query is made of, for ranking.

An identifier says what it is about in its parts, and which one it is as a whole, so it gives both:
`getHTTPCookies2` is `get`, `http`, `cooki` and `gethttpcookies2`. Parts are stemmed with Snowball's
English stemmer (Porter, "Snowball: A language for stemming algorithms", 2001), so that `ordered`
is found for `ordering`. Wholes are without case and underscores: naming conventions differ between
a question and the code.
"""

from __future__ import annotations

import functools
import hashlib
import re

import Stemmer

# Beyond this a word is no name that anyone asks for, but data: base64, digests, tables.
WORD_CHARACTERS = 80
# Words that are kept split and numbered; those of a code base repeat.
CACHED_WORDS = 1 << 12

# What is in nearly every text, and says nothing of it.
_UNTOLD = frozenset(
    """
    a an and are as at be by for from if in is it not of on or that the this to was with else end
    return
    """.split()
)
# What questions are made of, besides. The trained ranker of retrieval has seen questions without
# these words: with others it has to be trained anew.
STOP_WORDS = _UNTOLD | frozenset(
    """
    all also any been being but can could did do does each find get gets got had has have having how
    i implement implementation implemented implementing implements into its me my one our out over
    should show so some such than their them then there these they those through us use used uses
    using via we were what when where which who whom why will within without would you your code
    file files
    """.split()
)

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# With other letters than ASCII's, humps are rare, and capitals of all writings many.
_OTHER_PART = re.compile(r"[^\W\d_]+|\d+")
# Writings without blanks between words, as a class of characters: Thai, Lao, Burmese, Khmer, kana,
# ideographs. A run of them is told by its pairs of characters.
UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_UNSPACED = re.compile(UNSPACED)


def words(text: str) -> list[str]:
    """The words and identifiers of a text, as they stand there."""
    return _WORD.findall(text)


@functools.lru_cache(1 << 12)
def terms_of(word: str) -> tuple[str, ...]:
    """The terms of a word or identifier, each once: its parts, stemmed, and the whole if it has
    several; none of a single letter, of a word that all texts have, or of what is too long."""
    if len(word) > WORD_CHARACTERS:
        return ()
    if _UNSPACED.search(word):
        return _pairs(word)
    parts = [part.lower() for part in parts_of(word)]
    if len(parts) <= 1:
        return tuple(stem(part) for part in parts if len(part) > 1 and part not in _UNTOLD)
    terms = [stem(part) for part in parts if len(part) > 1 and part not in _UNTOLD]
    return tuple(dict.fromkeys([*terms, whole(word)]))


def parts_of(word: str) -> list[str]:
    """The parts of a word or identifier, as they stand there."""
    return (_PART if word.isascii() else _OTHER_PART).findall(word)


def _pairs(word: str) -> tuple[str, ...]:
    if len(word) == 1:
        return (word,)
    return tuple(dict.fromkeys(word[at : at + 2].lower() for at in range(len(word) - 1)))


def whole(name: str) -> str:
    """A name as one term, whatever the naming convention."""
    return name.replace("_", "").lower()


def name_term(name: str) -> str:
    """A name as one term, whatever its number and naming convention: `HTTP_cookies`, `HttpCookie`
    and `httpCookie` are one."""
    return stem(whole(name))


def stem(word: str) -> str:
    """The stem of a word in lower case."""
    # One stemmer must not serve two threads at once. To make one costs less than a lock.
    return str(Stemmer.Stemmer("english", 0).stemWord(word)) if word.isascii() else word


def term_number(term: str) -> int:
    """The number by which a term is known in postings, 64-bit."""
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@functools.lru_cache(CACHED_WORDS)
def term_numbers(word: str) -> tuple[int, ...]:
    """The numbers of the terms of a word."""
    return tuple(map(term_number, terms_of(word)))


def content_words(query: str) -> list[str]:
    """The words of a query, without those that questions are made of, if others are left."""
    asked = words(query)
    return [word for word in asked if word.lower() not in STOP_WORDS] or asked


def spelled_terms(query: str) -> dict[str, str]:
    """The terms of a query, in its order, each with the first word that it is of."""
    spelled: dict[str, str] = {}
    for word in content_words(query):
        for term in terms_of(word):
            spelled.setdefault(term, word)
    return spelled


def query_terms(query: str) -> list[str]:
    """The terms of a query, each once, in its order."""
    return list(spelled_terms(query))
