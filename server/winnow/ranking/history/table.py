"""What was useful, in memory: what moves later results for queries that are like earlier ones.

A result that was opened, kept or judged lends some of that to the same file for later queries, the
more alike they are and the less time has passed. All of it is bounded: what is implied can move a
score less than a thumb can, however often it is repeated.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import Counter, deque
from collections.abc import Collection, Iterable

from winnow.ranking.history.queries import SIMILAR, likeness, words_of
from winnow.ranking.history.records import SATISFYING, Event, Search, Signal

# Of a score from 0 to 1, what all that is implied can move it by, and what thumbs can.
IMPLICIT = 0.15
EXPLICIT = 0.3
# What happened so long ago counts half.
HALF_LIFE_SECONDS = 30 * 24 * 3600.0
# How much each signal says: that an editor shows a file may have other reasons than the answer.
WEIGHTS: dict[Signal, float] = {
    "opened": 1.0,
    "viewed": 0.5,
    "reopened": 1.0,
    "kept": 2.0,
    "dismissed": -1.0,
}
THUMBS: dict[Signal, float] = {"up": 1.0, "down": -1.0}
# In what is asked for first, a thumb counts as so many that were opened.
THUMB_WEIGHT = 5.0

# As many queries are known, and of those that share a word the latest ones.
MOST_KNOWN = 5_000
MOST_SHARING = 500
# Of the queries that are alike, the most alike count.
MOST_ALIKE = 100


class _Evidence:
    """What speaks for a file after one search. Ages are told by growth: what is newer counts more,
    so that nothing has to be counted anew as time goes by."""

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


class _Known:
    """The searches that asked the same, in these words; ``latest`` is the last of them."""

    __slots__ = ("evidence", "judged", "latest", "words")

    def __init__(self, words: frozenset[str], search: Search) -> None:
        self.words = words
        self.latest = search
        self.judged = False
        self.evidence: dict[str, _Evidence] = {}


class Table:
    """The searches of which something was opened or judged; safe to use from several threads.

    Times are in seconds since 1970.
    """

    def __init__(self, now: float) -> None:
        self._lock = threading.Lock()
        self._begin = now
        self._known: dict[frozenset[str], _Known] = {}
        self._sharing: dict[str, deque[_Known]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, search: Search, events: Iterable[Event]) -> None:
        """Take what became of a search."""
        with self._lock:
            for event in events:
                if event.path and (event.signal in WEIGHTS or event.signal in THUMBS):
                    words = frozenset(words_of(search.query))
                    known = self._known.get(words) or self._new(words, search)
                    known.judged = known.judged or event.signal in THUMBS
                    if search.at > known.latest.at:
                        known.latest = search
                    evidence = known.evidence.setdefault(event.path, _Evidence())
                    evidence.add(event.signal, _growth(event.at - self._begin))

    def _new(self, words: frozenset[str], search: Search) -> _Known:
        known = self._known[words] = _Known(words, search)
        for word in words:
            self._sharing.setdefault(word, deque(maxlen=MOST_SHARING)).append(known)
        if len(self._known) > MOST_KNOWN:
            oldest = self._known.pop(next(iter(self._known)))
            for word in oldest.words:
                sharing = self._sharing[word]
                if sharing and sharing[0] is oldest:
                    sharing.popleft()
                if not sharing:
                    del self._sharing[word]
        return known

    def boosts(self, query: str, paths: Collection[str] | None, now: float) -> dict[str, float]:
        """By how much to move the score of each of these paths, or of all, where it is to be moved:
        from -EXPLICIT to EXPLICIT, for scores from 0 to 1."""
        aged = _growth(self._begin - now)
        implicit: dict[str, list[tuple[float, float]]] = {}
        explicit: dict[str, float] = {}
        with self._lock:
            for alike, known in self._alike(query):
                for path, evidence in known.evidence.items():
                    if paths is not None and path not in paths:
                        continue
                    share = alike * aged
                    if evidence.explicit:
                        explicit[path] = explicit.get(path, 0.0) + share * evidence.explicit
                    if evidence.freshest:
                        implicit.setdefault(path, []).append(
                            (share * evidence.implicit, share * evidence.freshest)
                        )
        moved = {path: _implied(parts) for path, parts in implicit.items()}
        for path, thumbs in explicit.items():
            moved[path] = _judged(thumbs, moved.get(path, 0.0))
        return {path: boost for path, boost in moved.items() if boost}

    def _alike(self, query: str) -> list[tuple[float, _Known]]:
        """The searches that are most like a query, with how much; those with a thumb first."""
        words = frozenset(words_of(query))
        shared = Counter(known for word in words for known in self._sharing.get(word, ()))
        found = []
        for known, count in shared.items():
            alike = likeness(words, known.words, count)
            if alike >= SIMILAR:
                found.append((alike, known))
        return heapq.nlargest(
            MOST_ALIKE, found, key=lambda one: (one[1].judged, one[0], one[1].latest.at)
        )

    def asked(self) -> list[str]:
        """The files that searches have led to, those first that were most useful lately."""
        useful: dict[str, float] = {}
        with self._lock:
            for known in self._known.values():
                for path, evidence in known.evidence.items():
                    said = evidence.implicit + THUMB_WEIGHT * evidence.explicit
                    useful[path] = useful.get(path, 0.0) + said
        return sorted((path for path in useful if useful[path] > 0), key=lambda one: -useful[one])

    def helped(self, query: str) -> list[tuple[str, list[str]]]:
        """Earlier queries like this one that led to something, the most alike first, and the files
        that they led to."""
        with self._lock:
            alike = sorted(self._alike(query), key=lambda one: -one[0])
            found = [
                (
                    known.latest.query,
                    [
                        path
                        for path, evidence in known.evidence.items()
                        if evidence.implicit + evidence.explicit > 0
                    ],
                )
                for _, known in alike
            ]
        return [(asked, paths) for asked, paths in found if paths]


def _growth(seconds: float) -> float:
    # No further than a number can tell: a clock may have been set.
    return math.pow(2.0, max(-500.0, min(500.0, seconds / HALF_LIFE_SECONDS)))


def _implied(parts: Iterable[tuple[float, float]]) -> float:
    """What several signs come to: each adds less than the one before, and all together are not
    worth more than the freshest of them is at most."""
    signs, freshest = 0.0, 0.0
    for sign, fresh in parts:
        signs += sign
        freshest = max(freshest, fresh)
    return math.copysign(IMPLICIT * min(abs(signs) / (1 + abs(signs)), freshest, 1.0), signs)


def _judged(thumbs: float, implied: float) -> float:
    """What thumbs come to: they are not outweighed by what is implied, which adds nothing where it
    says otherwise."""
    judged = EXPLICIT * max(-1.0, min(1.0, thumbs))
    if judged * implied > 0:
        return math.copysign(max(abs(judged), abs(implied)), judged)
    return judged


def satisfied(events: Iterable[Event]) -> bool:
    """Whether something of a search was of use."""
    return any(event.signal in SATISFYING for event in events)
