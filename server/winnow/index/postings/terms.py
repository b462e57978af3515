"""Split texts and queries into terms, for ranking.

The parts of an identifier say what it is about, and the whole identifier says which one it is, so
it yields both: `getHTTPCookies2` is `get`, `http`, `cooki` and `gethttpcookies2`. Parts are stemmed
with Snowball's English stemmer (Porter, "Snowball: A language for stemming algorithms", 2001), so
that a query for `ordering` finds `ordered`. Whole identifiers lose case and underscores: naming
conventions differ between a query and the code.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading

import Stemmer

# A longer word is not a name to search for, but data: base64, digests, tables.
WORD_CHARACTERS = 80
# Cached words, names and parts of words. Those of a code base repeat, the parts most of all.
CACHED_WORDS = 1 << 13
CACHED_NAMES = 1 << 12
CACHED_PARTS = 1 << 13

# Words of nearly every text, which say nothing about it.
_UNTOLD = frozenset(
    """
    a an and are as at be by for from if in is it not of on or that the this to was with else end
    return
    """.split()
)
# Other words of questions. The ranker was trained on questions without these words: a change
# requires training it again.
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
# In non-ASCII names, humps are rare, and there are capitals in many scripts.
_OTHER_PART = re.compile(r"[^\W\d_]+|\d+")
# Scripts without blanks between words, as a character class: Thai, Lao, Burmese, Khmer, kana,
# ideographs. A run of them is split into pairs of characters.
UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_UNSPACED = re.compile(UNSPACED)


def words(text: str) -> list[str]:
    """Return the words and identifiers of a text, unchanged."""
    return _WORD.findall(text)


@functools.lru_cache(CACHED_NAMES)
def terms_of(word: str) -> tuple[str, ...]:
    """Return the distinct terms of a word or identifier: its stemmed parts, and the whole
    identifier if it has several. Single letters, very common words and overlong words have none."""
    if len(word) > WORD_CHARACTERS:
        return ()
    if not word.isascii() and _UNSPACED.search(word):
        return _pairs(word)
    parts = parts_of(word)
    terms = [term for part in parts if (term := _term_of_part(part))]
    if len(parts) > 1:
        terms.append(without_convention(word))
    return tuple(dict.fromkeys(terms))


@functools.lru_cache(CACHED_PARTS)
def _term_of_part(part: str) -> str:
    """Return the term of a part of a word; empty if the part has none."""
    part = part.lower()
    return stem(part) if len(part) > 1 and part not in _UNTOLD else ""


def parts_of(word: str) -> list[str]:
    """Return the parts of a word or identifier, unchanged."""
    return (_PART if word.isascii() else _OTHER_PART).findall(word)


def _pairs(word: str) -> tuple[str, ...]:
    if len(word) == 1:
        return (word,)
    return tuple(dict.fromkeys(word[at : at + 2].lower() for at in range(len(word) - 1)))


def without_convention(name: str) -> str:
    """Return a name as one term, independent of the naming convention."""
    return name.replace("_", "").lower()


def name_term(name: str) -> str:
    """Return a name as one term, independent of number and naming convention: `HTTP_cookies`,
    `HttpCookie` and `httpCookie` are equal."""
    return stem(without_convention(name))


def stem(word: str) -> str:
    """Return the stem of a lowercase word."""
    return str(_STEMMER.stemmer.stemWord(word)) if word.isascii() else word


class _ThreadStemmer(threading.local):
    """The stemmer of a thread. Threads must not share one."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english", 0)


_STEMMER = _ThreadStemmer()


@functools.lru_cache(CACHED_PARTS)
def term_number(term: str) -> int:
    """Return the 64-bit number of a term in postings."""
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@functools.lru_cache(CACHED_WORDS)
def term_numbers(word: str) -> tuple[int, ...]:
    """Return the numbers of the terms of a word."""
    return tuple(map(term_number, terms_of.__wrapped__(word)))


@functools.lru_cache(CACHED_NAMES)
def name_number(name: str) -> int:
    """Return the number of a name as one term."""
    return term_number(name_term(name))


def content_words(query: str) -> list[str]:
    """Return the words of a query without stop words, or all words if none are left."""
    query_words = words(query)
    return [word for word in query_words if word.lower() not in STOP_WORDS] or query_words


def spelled_terms(query: str) -> dict[str, str]:
    """Return the terms of a query, in order, each with the first word that contains it."""
    spelled: dict[str, str] = {}
    for word in content_words(query):
        for term in terms_of(word):
            spelled.setdefault(term, word)
    return spelled


def query_terms(query: str) -> list[str]:
    """Return the distinct terms of a query, in order."""
    return list(spelled_terms(query))
