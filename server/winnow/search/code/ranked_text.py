"""Rank files by their text: text search, and the fallback of other searches.

This is keyword search without a model and without the index: ripgrep finds the matches of some
terms, and the local ranker sorts the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec

from winnow.errors import IndexUnavailable, SearchTimedOut, TermsTooBroad
from winnow.index.postings.terms import stem
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.local import ranked
from winnow.ranking.semantic.path_index import KINDS
from winnow.ranking.term_matches import matches_of
from winnow.ranking.unknown_words import if_many
from winnow.search.answer.completeness import incomplete
from winnow.search.answer.hits import HitList
from winnow.search.answer.telling_words import MOST_TERMS, search_terms
from winnow.search.code.definitions import definitions_of
from winnow.search.code.pasted_lines import Pasted, densest, telling_lines
from winnow.search.keyword.result import KeywordMatches, warnings_of
from winnow.search.keyword.search import KeywordRequest, ParseFiles, find, ranked_locally
from winnow.search.keyword.terms import CONTEXT_LINES, TermMatches, TermSearch
from winnow.search.shared.scope import SharedScope
from winnow.symbols.language import language_of
from winnow.symbols.search.weight import DATA, category_of
from winnow.text.definition_lines import definition_in
from winnow.text.plural import counted
from winnow.text.ripgrep import escaped
from winnow.text.scope import Scope
from winnow.types import Completeness, Hit, Progress, Skipped
from winnow.workspace import EngineWorkspace

# A match of a literal text counts less in another case, as a part of a word, and on a line where it
# is neither a whole string, as options are in the code that reads them, nor defined.
OTHER_CASE = 0.8
PART_OF_WORD = 0.85
ELSEWHERE = 0.2
# The factor for a whole string that is neither a key nor the value of one, as a setting is where
# code declares it. Files with keys come before those with strings, and these before others.
PASSED = 0.5
# The factor for the first line of pasted code, which usually defines what follows.
FIRST = 2.0
# With this share of words that no file has, other forms of these are searched for; a shorter
# beginning of a word is in too many words.
MOST_UNKNOWN = 0.5
LEAST_BEGINNING = 4
_NAME = re.compile(r"\w+")


async def files_about(
    workspace: EngineWorkspace, scope: Scope, query: str, progress: Progress
) -> HitList:
    """Return the files with the most words of a question. Raises SearchTimedOut."""
    all_words = search_terms(query)
    words = all_words[:MOST_TERMS]
    if not words:
        return HitList(scope, [], 0, incomplete("the query has no words to search for"))
    ranking = await _rank_words(workspace, scope, query, words, progress)
    unknown = _nowhere(ranking, words)
    forms = {word: _other_forms(word) if word in unknown else [word] for word in words}
    all_forms = list(dict.fromkeys(chain.from_iterable(forms.values())))[:MOST_TERMS]
    if len(unknown) >= MOST_UNKNOWN * len(words) and all_forms != words:
        words = all_forms
        ranking = await _rank_words(workspace, scope, query, words, progress)
        nowhere = set(_nowhere(ranking, words))
        unknown = [word for word in unknown if nowhere.issuperset(forms[word])]
    else:
        # A qualified name may be in no text although its names are.
        unknown = [word for word in unknown if len(forms[word]) == 1]
    hits = [
        _hit(ranked, ranked.reason.replace("\\", ""), ranking.weights) for ranked in ranking.ranked
    ]
    hits = [
        msgspec.structs.replace(
            *(hit,),
            kind="passage",
            first=best.first,
            last=best.last,
            symbol=best.symbol,
            about=best.about,
            definitions=best.definitions,
        )
        if best is not None
        else hit
        for hit, ranked in zip(hits, ranking.ranked, strict=True)
        for best in [ranked.candidate.best]
    ]
    weights = zip(words, ranking.weights.values(), strict=True)
    telling = {word: weight for word, weight in weights if weight}
    found = _found(ranking, hits, telling, _unused_terms("words", all_words))
    if scope.is_filtered or isinstance(scope, SharedScope):
        return found
    return msgspec.structs.replace(found, unknown_words=if_many(unknown, all_words))


async def _rank_words(
    workspace: EngineWorkspace, scope: Scope, query: str, words: Sequence[str], progress: Progress
) -> _Ranking:
    terms = [escaped(word) for word in words]
    return await _rank(workspace, scope, query, terms, progress, parse=definitions_of)


def _nowhere(ranking: _Ranking, words: Sequence[str]) -> list[str]:
    """Return the words that no file has."""
    nowhere = {kept.term for kept in ranking.kept if kept.finished and not kept.matches}
    return [word for word in words if escaped(word) in nowhere]


def _other_forms(word: str) -> list[str]:
    """Return what to search for instead of a word that no file has: the names of a qualified name,
    such as `Cart.add_item`, or the word without its ending."""
    names = _NAME.findall(word)
    return names if len(names) > 1 else [_beginning(word)]


def _beginning(word: str) -> str:
    """Return a word without its ending, if that is long enough: code says "handle order" where a
    question says "orders handled"."""
    beginning = stem(word.lower())
    is_form = len(beginning) >= LEAST_BEGINNING and word.lower().startswith(beginning)
    return beginning if is_form else word


async def files_with(
    workspace: EngineWorkspace, scope: Scope, text: str, progress: Progress, *, literal: bool
) -> HitList:
    """Return the files that contain a text: first those where it is a name, a definition or whole
    words. Of pasted code, those with the most of its lines close together.

    Raises InvalidPattern for a regular expression that ripgrep rejects, and SearchTimedOut.
    """
    all_lines = list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))
    are_names = len(all_lines) == 1 or all(len(line.split()) == 1 for line in all_lines)
    is_pasted = literal and not are_names
    all_lines = telling_lines(all_lines) if is_pasted else all_lines
    lines = all_lines[:MOST_TERMS]
    terms = [escaped(line) for line in lines] if literal else lines
    ranking = await _rank(workspace, scope, text, terms, progress, by_index=True)
    hits = [_hit(ranked, "", ranking.weights) for ranked in ranking.ranked]
    if is_pasted:
        pasted = _pasted(text, lines, ranking.weights)
        hits = [
            _densest(hit, ranked.candidate, pasted)
            for hit, ranked in zip(hits, ranking.ranked, strict=True)
        ]
        hits.sort(key=lambda hit: -hit.score)
    elif literal:
        hits = [
            _weighed(hit, ranked.candidate, lines)
            for hit, ranked in zip(hits, ranking.ranked, strict=True)
        ]
        hits.sort(key=lambda hit: -hit.score)
    telling = dict.fromkeys(lines, 1.0) if literal else {}
    return _found(ranking, hits, telling, _unused_terms("lines", all_lines))


# --- ranking -------------------------------------------------------------------------------


class _Ranking(msgspec.Struct, frozen=True):
    """The matches of some terms, in the order of the local ranker. ``weights`` are the weights of
    the terms by rarity, 0 for a term without matches."""

    search: TermSearch
    kept: Sequence[TermMatches]
    ranked: Sequence[Ranked]
    weights: Mapping[str, float]


async def _rank(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    terms: Sequence[str],
    progress: Progress,
    parse: ParseFiles | None = None,
    *,
    by_index: bool = False,
) -> _Ranking:
    """Search for the terms and rank the files, ``by_index`` if it has all texts, else by reading
    the best files."""
    by_index = by_index and workspace.has_index and workspace.index.state().knows_all_texts
    search_request = KeywordRequest(
        *(workspace, scope, query, list(dict.fromkeys(terms)), progress),
        shrink=True,
        # The order of the words says nothing about their worth.
        by_rarity=True,
        # The index has the whole texts.
        context=0 if by_index else CONTEXT_LINES,
    )
    async with workspace.search_slots:
        try:
            found = await find(search_request)
        except TermsTooBroad:  # there was no time to shrink them
            raise SearchTimedOut(workspace.config.limits.search_seconds) from None
        search_request.boosts = await workspace.history.boosts(query)
        in_order = await _ranked_by_index(search_request, found) if by_index else None
        if in_order is None:
            in_order = await ranked_locally(
                search_request, found.search, found.candidates, read=True, parse=parse
            )
    return _Ranking(found.search, found.kept, in_order, _weights(terms, found.candidates))


async def _ranked_by_index(request: KeywordRequest, found: KeywordMatches) -> list[Ranked] | None:
    """Rank the files with what the index knows about them, which takes a fraction of the time of
    reading them; None if it cannot be read."""
    # Costs the import of numpy.
    from winnow.search.code.indexed import search_index

    terms = [term.term for term in found.search.terms]
    matches = matches_of(request.query, terms, found.candidates, found.search.searched)
    try:
        indexed = await search_index(
            request.workspace,
            request.scope,
            request.query,
            0,
            boosts=request.boosts,
            matched=[(file, matches[file.path]) for file in found.candidates],
            patient=False,
        )
    except IndexUnavailable:
        return None
    return ranked(found.candidates, indexed.hits, matches)


def _weights(terms: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    files = {term: sum(term in candidate.counts for candidate in candidates) for term in terms}
    return {term: 1 / math.log(2 + count) if count else 0.0 for term, count in files.items()}


def _hit(ranked: Ranked, why: str, weights: Mapping[str, float]) -> Hit:
    candidate = ranked.candidate
    marks: dict[int, float] = {}
    for term, numbers in candidate.hits.items():
        for number in numbers:
            marks[number] = marks.get(number, 0.0) + weights.get(term, 0.0)
    return Hit(
        candidate.path,
        "match",
        ranked.score or 0.0,
        why,
        matches=max(len(marks), *candidate.counts.values()) or None,
        marks=marks,
    )


def _pasted(text: str, lines: Sequence[str], rarity: Mapping[str, float]) -> Pasted:
    """Return pasted lines with their weights: a line that few files have tells more than several
    that are in many."""
    all_lines = [line.strip() for line in text.strip().split("\n")]
    weights = {
        term: rarity[term] ** 2 * (FIRST if line == lines[0] else 1.0)
        for line in lines
        for term in [escaped(line)]
    }
    offsets = {escaped(line): all_lines.index(line) for line in lines}
    return Pasted(weights, offsets, len(all_lines))


def _densest(hit: Hit, candidate: Candidate, pasted: Pasted) -> Hit:
    """Return the place in a file with the most of some pasted lines close together."""
    weight, numbers = densest(pasted, candidate.hits)
    if not numbers:  # the matches of a broad term are not kept
        return msgspec.structs.replace(hit, score=0.0)
    return msgspec.structs.replace(
        hit,
        score=round(weight / sum(pasted.weights.values()), 4),
        first=numbers[0],
        last=numbers[-1],
        matches=len(numbers),
        marks={number: hit.marks[number] for number in numbers},
    )


def _weighed(hit: Hit, candidate: Candidate, texts: Sequence[str]) -> Hit:
    """Weigh a file and its lines by how similar the matches are to the text, or to the most similar
    of its spellings."""
    texts = [text.strip("\"'") for text in texts]
    any_text = "|".join(map(re.escape, texts))
    as_word = re.compile(rf"(?<!\w)(?:{any_text})(?!\w)", re.I)
    string = "(?:{})".format("|".join(f"{quote}(?:{any_text}){quote}" for quote in "\"'`"))
    as_string = re.compile(string, re.I)
    # A variable of a shell, the label of an option in its `case`, or a property of a file of
    # settings.
    as_assigned = re.compile(
        rf"\s*(?:\w+\s+)?(?:{any_text})\s*(?::(?!:)|=(?!=))"
        rf"|\s*(?:-\w\s*\|\s*)?(?=--)(?:{any_text})\s*[|)]"
    )
    as_key = re.compile(rf"(?<![=!<>])[:=]\s*{string}|(?<!case ){string}\s*(?::|=(?!=))", re.I)

    def is_key(line: str) -> bool:
        if as_assigned.match(line) and not _sets_others(hit.path):
            return True
        return bool(as_key.search(line)) and not is_aside(hit.path)

    def similarity(line: str) -> float:
        value = 1.0 if any(text in line for text in texts) else OTHER_CASE
        value *= 1.0 if as_word.search(line) else PART_OF_WORD
        defined = definition_in(line)
        is_defined = defined is not None and defined.name in texts
        if is_defined or is_key(line):
            return value
        return value * (PASSED if as_string.search(line) else ELSEWHERE)

    lines = {number: candidate.lines[number].text for number in hit.marks}
    values = {number: similarity(line) for number, line in lines.items()}
    score = hit.score * max(values.values(), default=OTHER_CASE)
    if any(map(is_key, lines.values())):
        score = (1 + score) / 2
    elif any(map(as_string.search, lines.values())) and not is_aside(hit.path):
        score = (PASSED + score) / 2
    return msgspec.structs.replace(
        hit,
        score=round(score, 4),
        marks={number: hit.marks[number] * value for number, value in values.items()},
    )


def _sets_others(path: str) -> bool:
    """Return True for a test, a guide and the like: what they assign is not the program's."""
    return any(pattern.search(path) for kind, pattern, _ in KINDS if kind != "data")


def is_aside(path: str) -> bool:
    """Return True for a file that a plain word rarely means: data, a test, code of others."""
    return is_data(path) or category_of(path) is not None


def is_data(path: str) -> bool:
    """Return True for a file of data, documentation or configuration."""
    language = language_of(path)
    return language is not None and language.name in DATA


# --- completeness --------------------------------------------------------------------------


def _unused_terms(what: str, terms: Sequence[str]) -> list[str]:
    if len(terms) <= MOST_TERMS:
        return []
    return [f"only the first {MOST_TERMS} of {len(terms)} {what} were searched for"]


def _found(
    ranking: _Ranking, hits: Sequence[Hit], words: Mapping[str, float], unused: Sequence[str]
) -> HitList:
    search, kept = ranking.search, ranking.kept
    unreadable = set[str]().union(*(term.unreadable for term in search.terms))
    binary = set[str]().union(*(term.binary for term in kept))
    reasons = list(unused)
    if search.timed_out:
        seconds = search.limits.search_seconds
        reasons.append(f"stopped after {seconds:g} s: not every file was searched")
    if unreadable:
        unread = counted(len(unreadable), "file or folder", "files or folders")
        reasons.append(f"{unread} could not be read")
    if excluded := [term.term for term in search.terms if term not in kept]:
        reasons.append(f"too common to search for: {', '.join(excluded)}")
    # An answer with fewer lines of a broad term is complete; one with fewer files is not.
    reasons += [
        f"{term.term!r} is in very many files: {term.files_left_out} with few matches are omitted"
        for term in kept
        if term.files_left_out
    ]
    completeness = Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(binary=len(binary) or None, unreadable=len(unreadable) or None),
        timed_out=search.timed_out,
    )
    total, warnings = len(ranking.ranked), warnings_of(search)
    return HitList(search.scope, hits, total, completeness, words, warnings)
