"""Boosts: earlier outcomes move the scores of files for similar queries.

A result that was opened, kept or judged lends part of that to the same file for later queries: the
more alike they are and the more recent, the more. All of it is bounded: however often implicit
signals repeat, they move a score less than a thumb can.
"""

from __future__ import annotations

import heapq
import math
import re
import threading
from collections import Counter, deque
from collections.abc import Collection, Iterable, Set

from winnow.index.postings.terms import query_terms
from winnow.ranking.history.store import SearchEvent, SearchRecord, Signal
from winnow.types import QueryForm

# Queries that are this alike ask the same.
SIMILAR = 0.5
# A long statement is represented by its first words.
WORDS = 32

# How far implicit signals and thumbs can move a score from 0 to 1.
IMPLICIT = 0.15
EXPLICIT = 0.3
# A signal of this age counts half.
HALF_LIFE_SECONDS = 30 * 24 * 3600.0
# An editor may show a file for other reasons than the answer, so "viewed" counts less.
WEIGHTS: dict[Signal, float] = {
    "opened": 1.0,
    "viewed": 0.5,
    "reopened": 1.0,
    "kept": 2.0,
    "dismissed": -1.0,
}
# Who opens another result of the same search so soon has not found it in this one: the last click
# of a search tells most (Joachims et al., "Accurately Interpreting Clickthrough Data as Implicit
# Feedback", 2005).
PASSED_SECONDS = 30.0
THUMBS: dict[Signal, float] = {"up": 1.0, "down": -1.0}
# In the order of useful files, a thumb counts as this many opened results.
THUMB_WEIGHT = 5.0

# Limits of the queries in memory, and of those that share a word (the latest).
MAX_QUERIES = 5_000
MAX_SHARING = 500
# Only the most similar queries count.
MAX_SIMILAR = 100

_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)\w+)*(?:\(\))?", re.ASCII)
_PATH = re.compile(r"[\w.*?{},\[\]~-]*(?:/[\w.*?{},\[\]~-]*)+|[\w*-]+\.[a-z0-9]{1,5}|\*\.?\S+")
_REGEX = re.compile(r"\\[wsdbWSDB.(\[]|\.[*+]|[\])][*+?{]|\(\?|^\^|\$$|\w\|\w|\[[^\]]+\]")


def words_of(query: str) -> tuple[str, ...]:
    """Return the first terms of a query, without repetition."""
    return tuple(query_terms(query)[:WORDS])


def similarity(words: Set[str], others: Set[str], shared: int | None = None) -> float:
    """Return the Dice coefficient of two sets; ``shared`` is the size of their intersection."""
    if not words or not others:
        return 0.0
    shared = len(words & others) if shared is None else shared
    return 2 * shared / (len(words) + len(others))


def form_of(query: str) -> QueryForm:
    """Return the form of a query."""
    text = query.strip()
    if _SYMBOL.fullmatch(text):
        return "symbol"
    if _PATH.fullmatch(text):
        return "path"
    if _REGEX.search(text):
        return "regex"
    return "question" if text.endswith("?") or len(text.split()) > 3 else "words"


class _Evidence:
    """The signals for a file after searches of the same words, weighted by growth: newer signals
    weigh more, so nothing has to be recomputed as time passes."""

    __slots__ = ("explicit", "freshest", "implicit")

    def __init__(self) -> None:
        self.implicit = 0.0
        self.freshest = 0.0
        self.explicit = 0.0

    def add(self, signal: Signal, growth: float) -> None:
        if signal in THUMBS:
            self.explicit += THUMBS[signal] * growth
        elif signal in WEIGHTS:
            self.implicit += WEIGHTS[signal] * growth
            self.freshest = max(self.freshest, growth)


class _PastQuery:
    """The searches with the same words; ``latest`` is the last of them, and ``opened`` the result
    that was opened last."""

    __slots__ = ("evidence", "has_thumbs", "latest", "opened", "words")

    def __init__(self, words: frozenset[str], search: SearchRecord) -> None:
        self.words = words
        self.latest = search
        self.has_thumbs = False
        self.opened: SearchEvent | None = None
        self.evidence: dict[str, _Evidence] = {}


class BoostTable:
    """Searches with a result that was opened or judged; safe to use from several threads.

    Times are in seconds since 1970.
    """

    def __init__(self, now: float) -> None:
        self._lock = threading.Lock()
        self._begin = now
        self._queries: dict[frozenset[str], _PastQuery] = {}
        self._sharing: dict[str, deque[_PastQuery]] = {}

    def __len__(self) -> int:
        return len(self._queries)

    def add(self, search: SearchRecord, events: Iterable[SearchEvent]) -> None:
        """Add the outcomes of a search."""
        with self._lock:
            for event in events:
                if event.path and (event.signal in WEIGHTS or event.signal in THUMBS):
                    words = frozenset(words_of(search.query))
                    past = self._queries.get(words) or self._new(words, search)
                    past.has_thumbs = past.has_thumbs or event.signal in THUMBS
                    if search.at > past.latest.at:
                        past.latest = search
                    evidence = past.evidence.setdefault(event.path, _Evidence())
                    evidence.add(event.signal, _growth(event.at - self._begin))
                    if event.signal == "opened":
                        self._pass_over(past, event)

    def _pass_over(self, past: _PastQuery, event: SearchEvent) -> None:
        """Withdraw the evidence for a result if another one is opened right after it."""
        before, past.opened = past.opened, event
        if (
            before is not None
            and before.search == event.search
            and before.path != event.path
            and event.at - before.at <= PASSED_SECONDS
        ):
            weight = WEIGHTS["opened"] * _growth(before.at - self._begin)
            past.evidence[before.path].implicit -= weight

    def _new(self, words: frozenset[str], search: SearchRecord) -> _PastQuery:
        past = self._queries[words] = _PastQuery(words, search)
        for word in words:
            self._sharing.setdefault(word, deque(maxlen=MAX_SHARING)).append(past)
        if len(self._queries) > MAX_QUERIES:
            oldest = self._queries.pop(next(iter(self._queries)))
            for word in oldest.words:
                sharing = self._sharing[word]
                if sharing and sharing[0] is oldest:
                    sharing.popleft()
                if not sharing:
                    del self._sharing[word]
        return past

    def boosts(self, query: str, paths: Collection[str] | None, now: float) -> dict[str, float]:
        """Return the nonzero boosts, from -EXPLICIT to EXPLICIT, of these paths or of all."""
        aged = _growth(self._begin - now)
        implicit: dict[str, list[tuple[float, float]]] = {}
        explicit: dict[str, float] = {}
        with self._lock:
            for alike, past in self._similar(query):
                for path, evidence in past.evidence.items():
                    if paths is not None and path not in paths:
                        continue
                    share = alike * aged
                    if evidence.explicit:
                        explicit[path] = explicit.get(path, 0.0) + share * evidence.explicit
                    if evidence.freshest:
                        implicit.setdefault(path, []).append(
                            (share * evidence.implicit, share * evidence.freshest)
                        )
        moved = {path: _implicit_boost(parts) for path, parts in implicit.items()}
        for path, thumbs in explicit.items():
            moved[path] = _with_thumbs(thumbs, moved.get(path, 0.0))
        return {path: boost for path, boost in moved.items() if boost}

    def _similar(self, query: str) -> list[tuple[float, _PastQuery]]:
        """Return the most similar queries with their similarity, those with a thumb first."""
        words = frozenset(words_of(query))
        shared = Counter(past for word in words for past in self._sharing.get(word, ()))
        similar = [(similarity(words, past.words, count), past) for past, count in shared.items()]
        return heapq.nlargest(
            MAX_SIMILAR,
            (pair for pair in similar if pair[0] >= SIMILAR),
            key=lambda pair: (pair[1].has_thumbs, pair[0], pair[1].latest.at),
        )

    def useful_files(self) -> list[str]:
        """Return the files that searches led to, the most useful of late first."""
        useful: dict[str, float] = {}
        with self._lock:
            for past in self._queries.values():
                for path, evidence in past.evidence.items():
                    value = evidence.implicit + THUMB_WEIGHT * evidence.explicit
                    useful[path] = useful.get(path, 0.0) + value
        return sorted((path for path in useful if useful[path] > 0), key=lambda p: -useful[p])

    def useful_queries(self, query: str) -> list[tuple[str, list[str]]]:
        """Return similar queries that led to files, the most similar first, with those files."""
        useful = []
        with self._lock:
            for _, past in sorted(self._similar(query), key=lambda pair: -pair[0]):
                paths = [p for p, e in past.evidence.items() if e.implicit + e.explicit > 0]
                if paths:
                    useful.append((past.latest.query, paths))
        return useful


def _growth(seconds: float) -> float:
    # Limited to what a float can hold: a clock may have been set.
    return math.pow(2.0, max(-500.0, min(500.0, seconds / HALF_LIFE_SECONDS)))


def _implicit_boost(parts: Iterable[tuple[float, float]]) -> float:
    """Return the boost of several implicit signals: each adds less than the one before, and
    together they count no more than the freshest of them can."""
    signs, freshest = 0.0, 0.0
    for sign, fresh in parts:
        signs += sign
        freshest = max(freshest, fresh)
    return math.copysign(IMPLICIT * min(abs(signs) / (1 + abs(signs)), freshest, 1.0), signs)


def _with_thumbs(thumbs: float, implicit: float) -> float:
    """Return the boost of thumbs. Implicit signals of the other sign count nothing beside them."""
    judged = EXPLICIT * max(-1.0, min(1.0, thumbs))
    if judged * implicit > 0:
        return math.copysign(max(abs(judged), abs(implicit)), judged)
    return judged
