"""Split texts and queries into terms, for ranking.

The parts of an identifier say what it is about, and the whole identifier says which one it is, so
it yields both: `getHTTPCookies2` is `get`, `http`, `cooki` and `gethttpcookies2`. Parts are stemmed
with Snowball's English stemmer (Porter, "Snowball: A language for stemming algorithms", 2001), so
that a query for `ordering` finds `ordered`; irregular forms are looked up. Whole identifiers lose
case and underscores: naming conventions differ between a query and the code.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Iterable

import Stemmer

# A longer word is not a name to search for, but data: base64, digests, tables.
WORD_CHARACTERS = 80
# Cached words, names and parts of words. Those of a code base repeat, the parts most of all.
CACHED_WORDS = 1 << 15
CACHED_NAMES = 1 << 12
CACHED_PARTS = 1 << 13
# The bits of a term's number, and how far up they are: `term_counts.py` uses the bits above and
# below them for other numbers.
TERM_BITS, TERM_SHIFT = 45, 16
TERM_BYTES = 8

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

# The irregular forms of verbs and nouns that are frequent in questions about code, each with its
# base form: the stemmer knows only regular ones. Left out are those with other meanings, such as
# `bound`, `found` and `left`.
_IRREGULAR = {
    form: base
    for base, forms in {
        "begin": "began begun", "break": "broke broken", "build": "built", "catch": "caught",
        "child": "children", "choose": "chose chosen", "draw": "drawn drew", "feed": "fed",
        "forget": "forgot forgotten", "freeze": "froze frozen", "grow": "grew grown",
        "hang": "hung", "hide": "hid hidden", "index": "indices", "lose": "lost",
        "matrix": "matrices", "overlay": "overlaid", "override": "overridden overrode",
        "overwrite": "overwritten overwrote", "pay": "paid", "rebuild": "rebuilt",
        "resend": "resent", "rewrite": "rewritten rewrote", "run": "ran", "send": "sent",
        "shrink": "shrank shrunk", "sleep": "slept", "spend": "spent", "spin": "spun",
        "steal": "stole stolen", "sweep": "swept", "throw": "threw thrown",
        "undo": "undid undone", "vertex": "vertices", "wake": "woke woken",
        "write": "written wrote",
    }.items()
    for form in forms.split()
}  # fmt: skip
_QUESTION = re.compile(r"\s*(?:how|what|where|when|why)\b", re.I)
# At the end, or before what limits the question: "how does work stealing work".
_EMPTY_VERB = re.compile(
    r" (?:works?(?=\s*[?.!]*$| (?:across|between|by|during|for|here|if|in|on|under|when|with)\b)"
    r"|happens?\b|located\b)",
    re.I,
)
_WORD = re.compile(r"\w+")
# Every ASCII character that is not part of a word becomes a blank.
_ONLY_WORDS = bytes(
    code if chr(code) == "_" or chr(code).isalnum() else ord(" ") for code in range(128)
) + bytes(128)
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
    if text.isascii():  # a third of the time
        return text.encode().translate(_ONLY_WORDS).decode().split()
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
    if not word.isascii():
        return word
    return str(_STEMMER.stemmer.stemWord(_IRREGULAR.get(word, word)))


class _ThreadStemmer(threading.local):
    """The stemmer of a thread. Threads must not share one."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english", 0)


_STEMMER = _ThreadStemmer()


@functools.lru_cache(CACHED_PARTS)
def term_number(term: str) -> int:
    """Return the number of a term in postings: a hash of `TERM_BITS` bits, `TERM_SHIFT` bits up.

    The probability that a term has the number of one of a million others is 1 in 35 million.
    """
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % (1 << TERM_BITS) << TERM_SHIFT


class _Packed(dict[str, bytes]):
    """The results of a function for the last texts, at most ``size``. A lookup takes a tenth of a
    microsecond, a third of what a cached function takes."""

    def __init__(self, pack: Callable[[str], bytes], size: int) -> None:
        super().__init__()
        self._pack = pack
        self._size = size

    def __missing__(self, text: str) -> bytes:
        if len(self) >= self._size:
            self.clear()
        packed = self[text] = self._pack(text)
        return packed


def _packed_word(word: str) -> bytes:
    """Return the numbers of the terms of a word, as :func:`terms_of` has them."""
    if not word.isascii() or len(word) > WORD_CHARACTERS:
        return b"".join(map(_packed, terms_of.__wrapped__(word)))
    packed = list(map(_packed_parts, _PART.findall(word)))
    if len(packed) > 1:
        packed.append(_packed(without_convention(word)))
    return b"".join(dict.fromkeys(packed))


def _packed_part(part: str) -> bytes:
    term = _term_of_part.__wrapped__(part)
    return _packed(term) if term else b""


def _packed_name(name: str) -> bytes:
    return _packed(name_term(name))


def _packed(term: str) -> bytes:
    """Return the number of a term, in the machine's byte order."""
    return term_number.__wrapped__(term).to_bytes(TERM_BYTES, sys.byteorder)


_packed_parts = _Packed(_packed_part, CACHED_PARTS).__getitem__
_packed_words = _Packed(_packed_word, CACHED_WORDS).__getitem__
_packed_names = _Packed(_packed_name, CACHED_NAMES).__getitem__


def pack_terms(found: Iterable[str]) -> bytes:
    """Return the numbers of the terms of words, 64-bit and in the machine's byte order."""
    return b"".join(map(_packed_words, found))


def pack_names(names: Iterable[str]) -> bytes:
    """Return the numbers of names, each as one term, 64-bit and in the machine's byte order."""
    return b"".join(map(_packed_names, names))


def without_empty_verb(query: str) -> str:
    """Return a question without the verb that says nothing: "how does undo work" is about undo."""
    return _EMPTY_VERB.sub("", query) if _QUESTION.match(query) else query


def content_words(query: str) -> list[str]:
    """Return the words of a query without stop words, or all words if none are left."""
    telling = words(without_empty_verb(query))
    return [word for word in telling if word.lower() not in STOP_WORDS] or words(query)


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
