"""Describe the result of a keyword search: files with their best lines, and what was skipped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from winnow.documents.library.locations import (
    DocumentOverlay,
    TextMap,
    file_uri,
    location_fields,
    preview_uri,
)
from winnow.ranking.candidates import Candidate, Ranked
from winnow.search.answer.by_model import RankedFiles
from winnow.search.answer.completeness import unsearched
from winnow.search.answer.hits import CurrentHit, CurrentTexts, HitList, current_hits
from winnow.search.answer.snippets import LINES
from winnow.search.keyword import budget
from winnow.search.keyword.rows import (
    Match,
    PassageOfFile,
    RankedFile,
    TermReport,
    TermStatus,
)
from winnow.search.keyword.terms import TermMatches, TermSearch
from winnow.text.plural import counted
from winnow.text.ripgrep import Line
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.types import Completeness, Skipped

if TYPE_CHECKING:
    from winnow.search.keyword.index_results import IndexResults

# Maximum number of matching lines per file; `total_matches` is their number.
SHOWN_MATCHES = 8


class KeywordMatches(msgspec.Struct, frozen=True):
    """The result of stage 1: the terms that are used, the files that match, the documents among
    them, and the results of the index, whose files are included."""

    search: TermSearch
    kept: Sequence[TermMatches]
    candidates: Sequence[Candidate]
    documents: DocumentOverlay
    indexed: IndexResults | None = None
    warnings: Sequence[str] = ()


def completeness_of_matches(found: KeywordMatches, chosen: RankedFiles) -> Completeness:
    search, kept = found.search, found.kept
    binary = set[str]().union(*(term.binary for term in kept))
    unreadable = set[str]().union(*(term.unreadable for term in search.terms))
    unused = [term.term for term in search.terms if term not in kept]
    reasons = list(chosen.reasons)
    secret = chosen.sent.secret_files if chosen.sent else 0
    if search.timed_out:
        seconds = search.limits.search_seconds
        reasons.append(f"stopped after {seconds:g} s: not every file was searched")
    if pending := found.documents.pending:
        reasons.append(
            f"{counted(pending, 'document has', 'documents have')} not been read yet: try again"
        )
    if unread := found.documents.unreadable:
        reasons.append(
            f"{counted(unread, 'document', 'documents')} could not be read: see `search_docs`"
        )
    if binary:
        reasons.append(
            f"{counted(len(binary), 'binary file matches', 'binary files match')}: not shown"
        )
    if unreadable:
        not_read = counted(len(unreadable), "file or folder", "files or folders")
        reasons.append(f"{not_read} could not be read")
    if unused:
        reasons.append("these terms were not used: " + ", ".join(unused))
    reasons += [f"of {term.term!r}, only {term.shrunk} were used" for term in kept if term.shrunk]
    return Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(
            binary=len(binary) or None, unreadable=len(unreadable) or None, secret=secret or None
        ),
        timed_out=search.timed_out,
        index=found.indexed.state if found.indexed else None,
    )


def warnings_of(search: TermSearch) -> list[str]:
    """Return warnings about what a text search did not read."""
    long_lines = [
        f"{counted(number, 'line', 'lines')} of more than 4 MiB with {term.term!r}: not shown"
        for term in search.terms
        if (number := term.long_lines)
    ]
    return [*search.scope.warnings, *long_lines, *unsearched(search.overlay)]


def warnings_of_matches(found: KeywordMatches) -> list[str]:
    warnings = [*warnings_of(found.search), *found.warnings]
    lines = (line for term in found.candidates for line in term.lines.values())
    if any(line.cut for line in lines):
        width = found.search.limits.line_characters
        warnings.append(f"lines of more than {width} characters are cut")
    return warnings


def term_report(term: TermMatches, found: KeywordMatches) -> TermReport:
    """Report how a term was used; counts are absent if its search was stopped."""
    if term.invalid:
        return TermReport(term=term.term, status="invalid", detail=term.invalid)
    if term.over:
        return TermReport(term=term.term, status="too_broad")
    detail = term.shrunk
    if found.search.timed_out and not term.finished:
        detail = "the search was stopped: counts are lower bounds"
    return TermReport(
        term=term.term,
        status=_status(term, found.kept),
        bytes=term.bytes if term.shrunk else max(0, term.bytes - budget.SEPARATOR),
        files=len(term.files) or len(term.counts or ()),
        matches=term.matches,
        detail=detail,
    )


def _status(term: TermMatches, kept: Sequence[TermMatches]) -> TermStatus:
    if not term.files and not term.counts:
        return "no_match" if term.finished else "timed_out"
    if term not in kept:
        return "peeled"
    return "shrunk" if term.shrunk else "used"


def ranked_files(
    scope: Scope,
    chosen: Sequence[Ranked],
    documents: DocumentOverlay,
    texts: CurrentTexts,
    words: Mapping[str, float],
) -> list[RankedFile]:
    """Return the rows of files. The ``words`` of the query select lines. Reads the files."""
    hits = [
        entry.candidate.best
        for entry in chosen
        if entry.candidate.best is not None and entry.candidate.path not in documents.documents
    ]
    complete = Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)
    found = HitList(scope, hits, len(hits), complete, words)
    places = {place.hit.path: place for place in current_hits(texts, found, 0, len(hits))}
    return [
        _ranked_file(scope, entry, documents, places.get(entry.candidate.path)) for entry in chosen
    ]


def _ranked_file(
    scope: Scope, ranked: Ranked, documents: DocumentOverlay, place: CurrentHit | None
) -> RankedFile:
    """Return a ranked file with its passage, the line to open, and its best matching lines."""
    candidate = ranked.candidate
    shown = scope.shown(candidate.path)
    text_map = documents.documents.get(candidate.path)
    numbers = sorted({number for hits in candidate.hits.values() for number in hits})
    first, last = _lines_to_open(ranked, place)
    inside = [number for number in numbers if first and last and first <= number <= last]
    line = ranked.first or (place.best if place else None)
    line = line or next(iter(inside or numbers), first)
    best = _best_lines(candidate, [*(number for number in inside if number == line), *inside])
    matches = [_match(number, candidate.lines[number]) for number in sorted(best)]
    if text_map is not None:
        matches = [_placed(match, text_map) for match in matches]
    return RankedFile(
        reason=ranked.reason,
        terms=list(candidate.counts),
        matches=matches,
        by="index" if candidate.is_only_indexed else None,
        passage=_passage(place) if place else None,
        format=text_map.format if text_map else None,
        preview_uri=_preview(scope, candidate.path, best) if text_map else None,
        line=line,
        line_text=_line_text(candidate, place, line),
        total_matches=len(numbers) if len(numbers) > SHOWN_MATCHES else None,
        score=ranked.score,
        **msgspec.structs.asdict(shown),
    )


def _line_text(candidate: Candidate, place: CurrentHit | None, line: int | None) -> str | None:
    if line is None:
        return None
    passage = place.passage if place is not None else None
    if passage is not None and passage.first <= line <= passage.last:
        return passage.text_of(line)
    return printable(candidate.lines[line].text) if line in candidate.lines else None


def _lines_to_open(ranked: Ranked, place: CurrentHit | None) -> tuple[int | None, int | None]:
    """Return the lines that the model names, else the passage."""
    if ranked.first is not None:
        return ranked.first, ranked.last
    if place is not None:
        return place.first, place.last
    best = ranked.candidate.best
    return (best.first, best.last) if best is not None else (None, None)


def _passage(place: CurrentHit) -> PassageOfFile | None:
    if place.first is None or place.last is None:
        return None
    snippet, first = place.snippet(LINES)
    return PassageOfFile(
        start_line=place.first,
        end_line=place.last,
        symbol=place.symbol,
        snippet=snippet,
        snippet_line=first or place.first if snippet is not None else None,
        score=place.hit.score,
    )


def _best_lines(candidate: Candidate, first: Sequence[int]) -> list[int]:
    """Return the matching lines to show: the ``first``, then the first lines of each term in
    turn."""
    turns = [
        hits[turn]
        for turn in range(SHOWN_MATCHES)
        for hits in candidate.hits.values()
        if turn < len(hits)
    ]
    return list(dict.fromkeys([*first, *turns]))[:SHOWN_MATCHES]


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
    """Return a match in a document, with its page, sheet or section."""
    place = text_map.place_at(text_map.text_line(match.line))
    return msgspec.structs.replace(match, **location_fields(place))


def _preview(scope: Scope, path: str, best: Sequence[int]) -> str:
    uri = file_uri(os.path.join(scope.root, path))
    return preview_uri(uri, "builtin", best[0] if best else None)
