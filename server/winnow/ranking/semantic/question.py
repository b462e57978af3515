"""Parse a query into its terms and names."""

from __future__ import annotations

import re

from msgspec import Struct

from winnow.index.postings.terms import (
    content_words,
    name_term,
    spelled_terms,
    stem,
    term_number,
    words,
)

# A query is short; the beginning of a long one shows its subject.
QUERY_CHARACTERS = 4_000
MAX_TERMS = 40
MAX_NAMES = 12
# Number of adjacent words that may form a name: `cookie jar`, `CookieJar`.
JOINED_WORDS = 3

_QUALIFIER = re.compile(r"::|\\|->|[.#/]")
_IDENTIFIER = re.compile(r"[^\W\d_]\w*")
_MANY_PARTS = re.compile(r"[a-z0-9][A-Z]|[^\W_]_+[^\W_]|[A-Z]{2,}[a-z]")
_ASKING = frozenset("How Where What Which Who Why When The A An Is Are Does Do Find Show".split())


class Question(Struct, frozen=True):
    """A parsed query.

    ``terms`` are those of :mod:`winnow.index.postings.terms`, ``numbers`` their numbers, and
    ``spelled`` the words of the query that they come from. ``symbol`` is True for a query that is
    one name, perhaps qualified. ``names`` are the identifiers as written, ``titles`` capitalized
    words that may also be names, ``joined`` name terms of adjacent words, and ``single`` of single
    words. ``stems`` are those of all words.
    """

    text: str
    terms: tuple[str, ...]
    numbers: tuple[int, ...]
    spelled: tuple[str, ...]
    symbol: bool
    names: tuple[str, ...]
    titles: tuple[str, ...]
    joined: tuple[str, ...]
    single: tuple[str, ...]
    stems: frozenset[str]


def question_of(query: str) -> Question:
    """Parse a query; a query without words has no terms."""
    text = query.strip()[:QUERY_CHARACTERS]
    symbol = bool(text) and not re.search(r"\s", text)
    found = words(text)
    identifiers = [word for word in found if _IDENTIFIER.fullmatch(word)]
    if symbol:
        last = _QUALIFIER.split(text.strip("()[]`'\""))[-1]
        names = list(dict.fromkeys([last, *identifiers])) if last else identifiers
    else:
        names = [word for word in identifiers if _MANY_PARTS.search(word)]
    titles = [word for word in identifiers if word[:1].isupper() and word not in _ASKING]
    content = content_words(text)
    spelled = spelled_terms(text)
    chosen = list(spelled)[:MAX_TERMS]
    return Question(
        text=text,
        terms=tuple(chosen),
        numbers=tuple(map(term_number, chosen)),
        spelled=tuple(spelled[term] for term in chosen),
        symbol=symbol,
        names=tuple(dict.fromkeys(names))[:MAX_NAMES],
        titles=tuple(title for title in dict.fromkeys(titles) if title not in names)[:MAX_NAMES],
        joined=tuple(dict.fromkeys(_joined(content)))[:MAX_TERMS],
        single=tuple(dict.fromkeys(map(name_term, content)))[:MAX_TERMS],
        stems=frozenset(stem(word.lower()) for word in found),
    )


def _joined(content: list[str]) -> list[str]:
    return [
        name_term("".join(content[at : at + count]))
        for count in range(2, JOINED_WORDS + 1)
        for at in range(len(content) - count + 1)
    ]
