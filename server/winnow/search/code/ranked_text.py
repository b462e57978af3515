"""Files ranked by the text that they have: search of text, and what others fall back to.

It is keyword search without a model: ripgrep finds the matches of some terms, and the local ranker
orders the files. Nothing is needed but the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from winnow.errors import SearchTimedOut, TermsTooBroad
from winnow.index.postings.terms import STOP_WORDS, UNSPACED
from winnow.ranking import local
from winnow.search.answer.completeness import incomplete
from winnow.search.answer.hits import HitList
from winnow.search.keyword.result import warnings_of
from winnow.search.keyword.search import Request, find, ranked_locally
from winnow.search.keyword.terms import TermMatches, TermSearch
from winnow.types import (
    Candidate,
    Completeness,
    Hit,
    Progress,
    Ranked,
    Result,
    ScopeParams,
    Skipped,
)
from winnow.types.keyword_search import KeywordSearchParams
from winnow.workspace import Workspace

# More words of a question than these add cost, and hardly say more.
MOST_TERMS = 16
# A text that is asked for as it stands counts less in another case, and as a part of a word.
OTHER_CASE = 0.8
PART_OF_WORD = 0.85
# A name as it was typed tells more than a word, or a part of one.
NAME_WEIGHT = 2.0

_WORD = re.compile(r"\w+(?:(?:::|\.)\w+)*")
# Python escapes more than ripgrep lets one escape.
_SIGNS = re.compile(r"[()\[\]{}?*+|^$\\.]")
_IDENTIFIER = re.compile(r"[_.:\d]|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Without spaces between words, two characters are about a word.
_UNSPACED = re.compile(UNSPACED + "{2,}")


def search_terms(query: str) -> list[str]:
    """The words of a question, as they stand: its identifiers, then its names, then its words, the
    longer ones of each first."""

    def specific(word: str) -> tuple[bool, bool, int]:
        return (not _IDENTIFIER.search(word), word.islower(), -len(word))

    words = _WORD.findall(_UNSPACED.sub(_pairs, query))
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    telling = [word for word in telling if len(word) > 1 or not word.isascii()] or telling
    return list(dict.fromkeys(sorted(telling or words, key=specific)))


def is_identifier(name: str) -> bool:
    """Whether a name is one word of code that no prose has: of several parts, or with a digit."""
    return bool(_IDENTIFIER.search(name)) and not re.search(r"[^\w$]", name)


def telling_words(query: str) -> dict[str, float]:
    """The words by which lines are seen to be about a query, with their weights: the beginnings
    that forms of a word have in common, and names as they are written."""
    names = filter(_IDENTIFIER.search, search_terms(query))
    return {**dict.fromkeys(local.words(query), 1.0), **dict.fromkeys(names, NAME_WEIGHT)}


def _pairs(found: re.Match[str]) -> str:
    run = found[0]
    return f" {' '.join(run[at : at + 2] for at in range(len(run) - 1))} "


def escaped(text: str) -> str:
    """The regular expression, as ripgrep reads it, of a text as it stands."""
    return _SIGNS.sub(r"\\\g<0>", text)


async def files_about(
    workspace: Workspace, params: ScopeParams, query: str, progress: Progress
) -> HitList:
    """The files that say most of a question's words.

    Raises SearchTimedOut, and what a scope may raise.
    """
    asked = search_terms(query)
    words = asked[:MOST_TERMS]
    if not words:
        reason = "the query has no words that can be looked for"
        return HitList(workspace.scope(_asked(params, query, ["."])), [], 0, incomplete(reason))
    ranking = await _rank(workspace, params, query, [escaped(word) for word in words], progress)
    hits = [_hit(one, one.reason.replace("\\", ""), ranking.weights) for one in ranking.ranked]
    weights = zip(words, ranking.weights.values(), strict=True)
    telling = {word: weight for word, weight in weights if weight}
    return _found(ranking, hits, telling, _passed_over("words", asked))


async def files_with(
    workspace: Workspace, params: ScopeParams, text: str, progress: Progress, *, literal: bool
) -> HitList:
    """The files that have a text, those first whose name, definitions or whole words it is; of a
    text of several lines, those that have most of them.

    Raises InvalidPattern for a regular expression that ripgrep refuses, SearchTimedOut, and what a
    scope may raise.
    """
    asked = list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))
    lines = asked[:MOST_TERMS]
    terms = [escaped(line) for line in lines] if literal else lines
    ranking = await _rank(workspace, params, text, terms, progress)
    hits = [_hit(one, "", ranking.weights) for one in ranking.ranked]
    if literal and len(lines) == 1:
        factors = [_likeness(one.candidate, lines[0]) for one in ranking.ranked]
        hits = [
            msgspec.structs.replace(hit, score=round(hit.score * factor, 4))
            for hit, factor in zip(hits, factors, strict=True)
        ]
        hits.sort(key=lambda hit: -hit.score)
    telling = dict.fromkeys(lines, 1.0) if literal else {}
    return _found(ranking, hits, telling, _passed_over("lines", asked))


# --- ranking -------------------------------------------------------------------------------


class _Ranking(msgspec.Struct, frozen=True):
    """What was found for some terms, in the local ranker's order; ``weights`` are those of the
    terms by rarity, 0 for one that was not found."""

    search: TermSearch
    kept: Sequence[TermMatches]
    ranked: Sequence[Ranked]
    weights: Mapping[str, float]


async def _rank(
    workspace: Workspace,
    params: ScopeParams,
    query: str,
    terms: Sequence[str],
    progress: Progress,
) -> _Ranking:
    asked = _asked(params, query, terms)
    request = Request(workspace, asked, _Messages(progress), workspace.scope(asked))
    async with workspace.search_slots:
        try:
            found = await find(request)
        except TermsTooBroad:  # there was no time to shrink them
            raise SearchTimedOut(workspace.config.limits.search_seconds) from None
        request.boosts = await workspace.history.boosts(query)
        ranked = await ranked_locally(request, found.search, found.candidates)
    return _Ranking(found.search, found.kept, ranked, _weights(terms, found.candidates))


def _asked(params: ScopeParams, query: str, terms: Sequence[str]) -> KeywordSearchParams:
    return KeywordSearchParams(
        query=query,
        search_terms=list(terms),
        path=params.path,
        include=params.include,
        exclude=params.exclude,
        file_types=params.file_types,
        ranker="local",
        broad_terms="shrink",
    )


class _Messages(Progress):
    """Hands on what is said, and no partial results: they are another tool's."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        self._progress(message, percentage=percentage)


def _weights(terms: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    files = {term: sum(term in one.counts for one in candidates) for term in terms}
    return {term: 1 / math.log(2 + count) if count else 0.0 for term, count in files.items()}


def _hit(one: Ranked, why: str, weights: Mapping[str, float]) -> Hit:
    candidate = one.candidate
    marks: dict[int, float] = {}
    for term, numbers in candidate.hits.items():
        for number in numbers:
            marks[number] = marks.get(number, 0.0) + weights.get(term, 0.0)
    return Hit(
        candidate.path,
        "match",
        one.score or 0.0,
        why,
        matches=max(len(marks), *candidate.counts.values()) or None,
        marks=marks,
    )


def _likeness(candidate: Candidate, text: str) -> float:
    """How much the best match is the text itself: in its case, and as whole words."""
    whole = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.I)
    best = 0.0
    for number in {number for numbers in candidate.hits.values() for number in numbers}:
        line = candidate.lines[number].text
        value = 1.0 if text in line else OTHER_CASE
        best = max(best, value if whole.search(line) else value * PART_OF_WORD)
    return best or OTHER_CASE


# --- what is said of it --------------------------------------------------------------------


def _passed_over(what: str, asked: Sequence[str]) -> list[str]:
    if len(asked) <= MOST_TERMS:
        return []
    return [f"of {len(asked)} {what}, the first {MOST_TERMS} were looked for"]


def _found(
    ranking: _Ranking, hits: Sequence[Hit], words: Mapping[str, float], passed_over: Sequence[str]
) -> HitList:
    search, kept = ranking.search, ranking.kept
    unreadable = set[str]().union(*(one.unreadable for one in search.terms))
    binary = set[str]().union(*(one.binary for one in kept))
    reasons = list(passed_over)
    if search.timed_out:
        seconds = search.limits.search_seconds
        reasons.append(f"stopped after {seconds:g} seconds: not every file was searched")
    if unreadable:
        reasons.append(f"{len(unreadable)} files or folders could not be read")
    if left_out := [one.term for one in search.terms if one not in kept]:
        reasons.append("not looked for: " + ", ".join(left_out))
    # With how many lines a broad term is shown is nothing that the answer lacks; files are.
    reasons += [
        f"{one.term!r} is in very many files: {one.files_left_out} with few matches are left out"
        for one in kept
        if one.files_left_out
    ]
    completeness = Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(binary=len(binary) or None, unreadable=len(unreadable) or None),
        timed_out=search.timed_out,
    )
    total, warnings = len(ranking.ranked), warnings_of(search)
    return HitList(search.scope, hits, total, completeness, words, warnings)
