"""The answer of a keyword search: what was found and chosen, in the words of the contract."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from winnow.documents.library.locations import TextMap, file_uri, location_fields, preview_uri
from winnow.documents.library.overlay import DocumentOverlay
from winnow.ranking import local
from winnow.ranking.prompt import Prompt
from winnow.search.answer.completeness import unsearched
from winnow.search.answer.shorten import shorten
from winnow.search.keyword import budget
from winnow.search.keyword.terms import TermMatches, TermSearch
from winnow.storage.paths import shown_path
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.types import Candidate, Completeness, Line, Ranked, Skipped
from winnow.types.keyword_search import (
    IndexPassage,
    KeywordSearchParams,
    KeywordSearchResult,
    Match,
    NotChosen,
    Payload,
    RankedBy,
    RankedFile,
    TermReport,
    TermStatus,
    Usage,
)

if TYPE_CHECKING:
    from winnow.search.keyword.index_results import IndexResults

# A file is shown with this many of its matching lines; `total_matches` says how many there are.
SHOWN_MATCHES = 8
# Where an answer is too long: so many matching lines of each file, and so many files that a model
# has not chosen; then fewer files.
LEAST_OTHERS = 5
SHORTER = ((3, None), (1, None), (1, 20), (0, 20), (0, LEAST_OTHERS))


class KeywordMatches(msgspec.Struct, frozen=True):
    """What stage 1 hands on: the terms whose matches go on, the files that they match, which of
    these are documents, and what the index said, whose files are among them then."""

    search: TermSearch
    kept: Sequence[TermMatches]
    candidates: Sequence[Candidate]
    laid: DocumentOverlay
    said: IndexResults | None = None
    warnings: Sequence[str] = ()


class RankedMatches(msgspec.Struct, frozen=True):
    """What stage 2 made of it, best first. ``reasons`` say why the answer may not be whole,
    ``warnings`` what else a reader should know; ``sent`` is what a model saw, or would see, and
    ``others`` what it saw and did not choose, in the local ranker's order."""

    ranked: Sequence[Ranked]
    ranked_by: RankedBy
    reasons: Sequence[str] = ()
    warnings: Sequence[str] = ()
    usage: Usage | None = None
    payload: Payload | None = None
    sent: Prompt | None = None
    others: Sequence[Ranked] = ()


def result_of(
    params: KeywordSearchParams, scope: Scope, found: KeywordMatches, chosen: RankedMatches
) -> KeywordSearchResult:
    """The page that was asked for, in at most ``max_tokens``."""
    offset = int(params.cursor or 0)
    page = chosen.ranked[offset : offset + params.max_results]
    end = offset + len(page)
    more = end < len(chosen.ranked)
    others = [_not_chosen(scope, one, found.laid) for one in chosen.others if not offset]
    result = KeywordSearchResult(
        root=shown_path(str(scope.root))[0],
        files=[ranked_file(scope, one, found.laid) for one in page],
        no_relevant_files=not chosen.ranked,
        ranked_by=chosen.ranked_by,
        not_chosen=others or None,
        terms=[_report(one, found) for one in found.search.terms],
        total_found=len(found.candidates),
        total_by_index=sum(one.is_only_indexed for one in found.candidates) or None,
        returned=len(page),
        truncated=more,
        completeness=_completeness(found, chosen),
        warnings=[*_warnings(found), *chosen.warnings],
        cursor=str(end) if more else None,
        usage=chosen.usage,
        payload=chosen.payload,
        redactions=(chosen.sent.redactions or None) if chosen.sent else None,
    )
    steps = [_shorter(result, offset, matches, others) for matches, others in SHORTER]
    counts = range(len(page) - 1, 0, -1)
    steps += [_shorter(result, offset, 0, LEAST_OTHERS, count) for count in counts]
    steps += [_shorter(result, offset, 0, 0, 1 if counts else None)] * bool(result.not_chosen)
    return shorten(result, params.max_tokens, steps)


def _completeness(found: KeywordMatches, chosen: RankedMatches) -> Completeness:
    search, kept = found.search, found.kept
    binary = set[str]().union(*(one.binary for one in kept))
    unreadable = set[str]().union(*(one.unreadable for one in search.terms))
    left_out = [one.term for one in search.terms if one not in kept]
    reasons = list(chosen.reasons)
    secret = chosen.sent.secret_files if chosen.sent else 0
    if secret:
        reasons.append(f"{secret} files are secrets by their names: not shown to a model")
    if search.timed_out:
        seconds = search.limits.search_seconds
        reasons.append(f"stopped after {seconds:g} seconds: not every file was searched")
    if pending := found.laid.pending:
        reasons.append(f"{pending} documents are still to be read: ask again")
    if unread := found.laid.unreadable:
        reasons.append(f"{unread} documents could not be read: `search_docs` says why")
    if binary:
        reasons.append(f"{len(binary)} binary files match: left out")
    if unreadable:
        reasons.append(f"{len(unreadable)} files or folders could not be read")
    if left_out:
        reasons.append("terms that were not used: " + ", ".join(left_out))
    reasons += [f"{one.term!r} was shrunk to {one.shrunk}" for one in kept if one.shrunk]
    return Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(
            binary=len(binary) or None, unreadable=len(unreadable) or None, secret=secret or None
        ),
        timed_out=search.timed_out,
        index=found.said.state if found.said else None,
    )


def warnings_of(search: TermSearch) -> list[str]:
    """What a search of texts did not read, in words."""
    long_lines = [
        f"{one.long_lines} lines of more than 4 MiB match {one.term!r}: left out"
        for one in search.terms
        if one.long_lines
    ]
    return [*search.scope.warnings, *long_lines, *unsearched(search.overlay)]


def _warnings(found: KeywordMatches) -> list[str]:
    warnings = [*warnings_of(found.search), *found.warnings]
    lines = (line for one in found.candidates for line in one.lines.values())
    if any(line.cut for line in lines):
        width = found.search.limits.line_characters
        warnings.append(f"lines of more than {width} characters are cut")
    return warnings


def _report(one: TermMatches, found: KeywordMatches) -> TermReport:
    """The fate of a term; counts are absent where the search for it was stopped."""
    if one.invalid:
        return TermReport(term=one.term, status="invalid", detail=one.invalid)
    if one.over:
        return TermReport(term=one.term, status="too_broad")
    detail = one.shrunk
    if found.search.timed_out and not one.finished:
        detail = "the search was stopped: counts are lower bounds"
    return TermReport(
        term=one.term,
        status=_status(one, found.kept),
        bytes=one.bytes if one.shrunk else max(0, one.bytes - budget.SEPARATOR),
        files=len(one.files) or len(one.counts or ()),
        matches=one.matches,
        detail=detail,
    )


def _status(one: TermMatches, kept: Sequence[TermMatches]) -> TermStatus:
    if not one.files and not one.counts:
        return "no_match" if one.finished else "timed_out"
    if one not in kept:
        return "peeled"
    return "shrunk" if one.shrunk else "used"


def ranked_file(scope: Scope, one: Ranked, laid: DocumentOverlay) -> RankedFile:
    """A file that a ranker chose, with its best matching lines."""
    candidate = one.candidate
    shown = scope.shown(candidate.path)
    numbers = sorted({number for hits in candidate.hits.values() for number in hits})
    best = _best_lines(one, numbers)
    text_map = laid.documents.get(candidate.path)
    matches = [_match(number, candidate.lines[number]) for number in sorted(best)]
    passage = _passage(candidate) if candidate.is_only_indexed else None
    if text_map is not None:
        matches = [_placed(match, text_map) for match in matches]
    return RankedFile(
        path=shown.path,
        reason=one.reason,
        terms=list(candidate.counts),
        matches=matches,
        by="index" if passage else None,
        passage=passage,
        format=text_map.format if text_map else None,
        preview_uri=_preview(scope, candidate.path, best) if text_map else None,
        line=best[0] if best else (one.first or passage.start_line) if passage else None,
        total_matches=len(numbers) if len(numbers) > SHOWN_MATCHES else None,
        score=one.score,
        root=shown.root,
        uri=shown.uri,
    )


def _not_chosen(scope: Scope, one: Ranked, laid: DocumentOverlay) -> NotChosen:
    """A file that a model was sent and did not choose, as short as it can be opened by."""
    file = ranked_file(scope, one, laid)
    return NotChosen(
        path=file.path,
        line=file.line,
        preview_uri=file.preview_uri,
        root=file.root,
        uri=file.uri,
    )


def _passage(candidate: Candidate) -> IndexPassage | None:
    """Where the index points to in a file that no term matches."""
    if candidate.indexed is None:
        return None
    numbers = sorted(candidate.lines)
    return IndexPassage(
        start_line=candidate.indexed.first or 1,
        end_line=candidate.indexed.last or 1,
        snippet="\n".join(printable(candidate.lines[number].text) for number in numbers) or None,
        snippet_line=numbers[0] if numbers else None,
        score=candidate.indexed.score,
    )


def _best_lines(one: Ranked, numbers: Sequence[int]) -> list[int]:
    """The matching lines to show, the best first: those that the ranker pointed at, then
    definitions, of the first terms first, then the first ones of each term in turn."""
    candidate = one.candidate
    first, last = one.first or math.inf, one.last or -math.inf
    pointed = [number for number in numbers if first <= number <= last]
    defining = [
        number
        for hits in candidate.hits.values()
        for number in hits
        if local.defines(candidate.lines[number])
    ]
    turns = [
        hits[turn]
        for turn in range(SHOWN_MATCHES)
        for hits in candidate.hits.values()
        if turn < len(hits)
    ]
    return list(dict.fromkeys([*pointed, *defining, *turns]))[:SHOWN_MATCHES]


def _match(number: int, line: Line) -> Match:
    start, end = line.ranges[0]
    return Match(
        line=number,
        column=start + 1,
        text=printable(line.text),
        match_range=(start + 1, end + 1),
        text_column=line.start or None,
    )


def _placed(match: Match, text_map: TextMap) -> Match:
    """A match in a document, with the place that it stands in."""
    place = text_map.place_at(text_map.text_line(match.line))
    return msgspec.structs.replace(match, **location_fields(place))


def _preview(scope: Scope, path: str, best: Sequence[int]) -> str:
    uri = file_uri(os.path.join(scope.root, path))
    return preview_uri(uri, "builtin", best[0] if best else None)


def _shorter(
    result: KeywordSearchResult,
    offset: int,
    matches: int,
    others: int | None,
    count: int | None = None,
) -> Callable[[], KeywordSearchResult]:
    """A step that leaves so many matches of each file, of files that were not chosen (all if None),
    and of those that were."""

    def step() -> KeywordSearchResult:
        files = [_with_matches(file, matches) for file in result.files[:count]]
        not_chosen = (result.not_chosen or [])[:others]
        total = len(result.not_chosen or ())
        return msgspec.structs.replace(
            result,
            files=files,
            not_chosen=not_chosen or None,
            total_not_chosen=total if len(not_chosen) < total else None,
            returned=len(files),
            truncated=True,
            cursor=result.cursor if count is None else str(offset + count),
        )

    return step


def _with_matches(file: RankedFile, count: int) -> RankedFile:
    total = file.total_matches or len(file.matches)
    # The line to open stays, whatever else goes.
    first = sorted(file.matches, key=lambda match: match.line != file.line)[:count]
    passage = file.passage
    if passage is not None and passage.snippet is not None:
        shown = "\n".join(passage.snippet.split("\n")[:count])
        passage = msgspec.structs.replace(passage, snippet=shown or None)
    return msgspec.structs.replace(
        file,
        matches=sorted(first, key=lambda match: match.line),
        passage=passage,
        total_matches=total if total > count else None,
    )
