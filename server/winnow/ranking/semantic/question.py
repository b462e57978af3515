"""Understand a query: its terms with their weights, and the names and paths that it contains.

A query may be a word, a question, or a bug report of a megabyte. The title of a long query weighs
more than the rest, and of its terms, those are used that say most about the code base.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from winnow.index.postings.terms import (
    content_words,
    name_term,
    stem,
    term_number,
    terms_of,
    without_convention,
    without_empty_verb,
    words,
)
from winnow.ranking.query.parts import QueryParts, parse_query
from winnow.ranking.query.tasks import ONE_SENTENCE, is_task

MAX_TERMS = 40
MAX_NAMES = 12
MAX_PATHS = 40
# Functions of a stack trace without places; those further up are of a framework.
MOST_CALLS = 10
# The terms of a long query whose rarity is looked up.
MAX_RATED = 2_000
# The weight of what follows the title, and of repetitions: a term that occurs n times has the
# weight 1 + REPETITION · ln n. Found with commit messages of the development repositories that have
# a body (232 of them): from .3 to .7, and from .5 to 1, NDCG@10 changes by less than .01.
BODY_WEIGHT = 0.4
REPETITION = 0.5
# The name of the project says nothing if so many passages have it, and this many other words are
# left: a lower rarity is that of more than a third.
COMMON, LEAST_WORDS = 1.0, 2
# Number of adjacent words that may form a name: `cookie jar`, `CookieJar`.
JOINED_WORDS = 3

_QUALIFIER = re.compile(r"::|\\|->|[.#/]")
_IDENTIFIER = re.compile(r"[^\W\d_]\w*")
_MANY_PARTS = re.compile(r"[a-z0-9][A-Z]|[^\W_]_+[^\W_]|[A-Z]{2,}[a-z]")
_ASKING = frozenset("How Where What Which Who Why When The A An Is Are Does Do Find Show".split())

# Returns the rarity of terms in a code base, by their numbers; 0 for a term that it does not have.
Rarity = Callable[[Sequence[int]], Sequence[float]]


class Question(Struct, frozen=True):
    """A parsed query.

    ``terms`` are those of :mod:`winnow.index.postings.terms`, ``numbers`` their numbers,
    ``weights`` theirs, 1 for a term of a short query, and ``spelled`` the words of the query that
    they come from. ``symbol`` is True for a query that is one name, perhaps qualified, and
    ``task`` for one that describes work. ``names`` are the identifiers as written, ``titles``
    capitalized words that may also be names, ``joined`` name terms of adjacent words, and
    ``single`` of single words. ``stems`` are those of the content words of the title, and ``paths``
    the files that the query names, as written.
    """

    text: str
    terms: tuple[str, ...]
    numbers: tuple[int, ...]
    weights: tuple[float, ...]
    spelled: tuple[str, ...]
    symbol: bool
    task: bool
    names: tuple[str, ...]
    titles: tuple[str, ...]
    joined: tuple[str, ...]
    single: tuple[str, ...]
    stems: frozenset[str]
    paths: tuple[str, ...]


def question_of(query: str, rarity: Rarity, projects: Collection[str] = ()) -> Question:
    """Parse a query; a query without words has no terms. ``projects`` are the names of the projects
    that it is about, in lower case."""
    text = query.strip()
    symbol = bool(text) and not re.search(r"\s", text)
    if projects and not symbol and len(text) <= ONE_SENTENCE and "\n" not in text:
        text = _without_names(text, rarity, projects)
    parts = QueryParts(title=text) if symbol else parse_query(text)
    texts = list(_weighed_texts(parts))
    title = texts[0][0] if texts else ""
    identifiers = [word for text, _ in texts for word in words(text) if _IDENTIFIER.fullmatch(word)]
    weights, spelled = _terms(texts)
    worth = _worth(weights, rarity)
    names = _name_of_symbol(text, identifiers) if symbol else _names(parts, texts, worth)
    chosen = _best(weights, worth)
    content = content_words(title)
    return Question(
        text=without_empty_verb(text),
        terms=tuple(chosen),
        numbers=tuple(map(term_number, chosen)),
        weights=tuple(weights[term] for term in chosen),
        spelled=tuple(spelled[term] for term in chosen),
        symbol=symbol,
        task=is_task(text, title),
        names=tuple(names)[:MAX_NAMES],
        titles=tuple(_titles(identifiers, names))[:MAX_NAMES],
        joined=tuple(dict.fromkeys(_joined(content)))[:MAX_TERMS],
        single=tuple(dict.fromkeys(map(name_term, content)))[:MAX_TERMS],
        stems=frozenset(stem(word.lower()) for word in content),
        paths=tuple(dict.fromkeys([*(frame.path for frame in parts.frames), *parts.paths]))[
            :MAX_PATHS
        ],
    )


def _weighed_texts(parts: QueryParts) -> Iterator[tuple[str, float]]:
    """Yield the texts of a query with their weights: that of its title, or of what is first."""
    errors = [f"{error.kind} {error.text}" for error in parts.errors]
    functions = " ".join([*(frame.function for frame in parts.frames), *parts.calls[:MOST_CALLS]])
    texts = [parts.title, *errors, *parts.prose, *parts.code, *parts.diffs, *parts.logs, functions]
    weight = 1.0
    for text in filter(str.strip, texts):
        yield text, weight
        weight = BODY_WEIGHT


def _without_names(text: str, rarity: Rarity, projects: Collection[str]) -> str:
    """Return a question without the names of projects that most of their code has."""
    content = content_words(text)
    names = [word for word in content if word.lower() in projects]
    numbers = [term_number(stem(word.lower())) for word in names]
    common = {
        word
        for word, rare in zip(names, rarity(numbers) if names else (), strict=True)
        if 0 < rare < COMMON
    }
    if not common or len(set(content) - common) < LEAST_WORDS:
        return text
    return " ".join(word for word in text.split() if word.strip("?!.,:;") not in common)


# --- terms ---------------------------------------------------------------------------------


def _terms(texts: Iterable[tuple[str, float]]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the weight of each term, in the order of the text, and the word it comes from."""
    weights: dict[str, float] = {}
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text, weight in texts:
        for word in content_words(text):
            for term in terms_of(word):
                spelled.setdefault(term, word)
                weights.setdefault(term, weight)
                counts[term] += 1
    return {
        term: weight * (1 + REPETITION * math.log(counts[term])) for term, weight in weights.items()
    }, spelled


def _worth(weights: dict[str, float], rarity: Rarity) -> dict[str, float]:
    """Return how much each term says about the code base; nothing for a short query."""
    if len(weights) <= MAX_TERMS:
        return {}
    rated = list(weights)[:MAX_RATED]
    rarities = rarity(list(map(term_number, rated)))
    return {term: weights[term] * each for term, each in zip(rated, rarities, strict=True)}


def _best(weights: dict[str, float], worth: dict[str, float]) -> list[str]:
    """Return the terms to search for, in the order of the text."""
    if not worth:
        return list(weights)
    best = sorted(worth, key=worth.__getitem__, reverse=True)[:MAX_TERMS]
    chosen = set(best)
    return [term for term in weights if term in chosen]


# --- names ---------------------------------------------------------------------------------


def _name_of_symbol(text: str, identifiers: Sequence[str]) -> list[str]:
    last = _QUALIFIER.split(text.strip("()[]`'\""))[-1]
    return list(dict.fromkeys([last, *identifiers])) if last else list(identifiers)


def _names(
    parts: QueryParts, texts: Sequence[tuple[str, float]], worth: dict[str, float]
) -> list[str]:
    """Return the identifiers of a query: those of its title first, then those that say most."""
    written = [piece for name in parts.names for piece in _QUALIFIER.split(name)[::-1]]
    in_texts = [word for text, _ in texts for word in words(text) if _MANY_PARTS.search(word)]
    names = dict.fromkeys(
        word for word in (*in_texts, *written) if _IDENTIFIER.fullmatch(word) or "_" in word
    )
    in_title = set(words(texts[0][0])) if texts else set()
    return sorted(
        names,
        key=lambda name: (name not in in_title, -worth.get(without_convention(name), 0.0)),
    )


def _titles(identifiers: Sequence[str], names: Sequence[str]) -> list[str]:
    capitalized = (word for word in identifiers if word[:1].isupper() and word not in _ASKING)
    return [word for word in dict.fromkeys(capitalized) if word not in names]


def _joined(content: Sequence[str]) -> list[str]:
    return [
        name_term("".join(content[at : at + count]))
        for count in range(2, JOINED_WORDS + 1)
        for at in range(len(content) - count + 1)
    ]
