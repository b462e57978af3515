"""The answer of a search of documents: what was found, in the words of the contract."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from winnow.documents.library.lazy_hits import LazyHits, TextGone
from winnow.documents.library.locations import file_uri, location_fields, preview_uri
from winnow.documents.library.request import (
    DocumentFile,
    DocumentHit,
    DocumentHits,
    EngineName,
    ReadFailure,
)
from winnow.documents.unreadable import PICTURE
from winnow.errors import SearchError
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, completeness_of, fractions
from winnow.search.answer.shorten import shorten
from winnow.storage.paths import shown_path
from winnow.text.listing import Listing
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Scope, clean_path, path_order
from winnow.types import Completeness, Progress, Skipped
from winnow.types.search_docs import (
    DocumentMatch,
    DocumentMatches,
    SearchDocsParams,
    SearchDocsPartial,
    SearchDocsResult,
    Statistics,
    UnreadDocument,
)

NO_MATCHES = "No matches found"
# More that could not be read are counted only.
MOST_FAILED = 100
FEW_FAILED = 3
# What a match takes beside its lines.
MATCH_BYTES = 400


@dataclass
class DocumentSearch:
    """A request while it is answered; ``listed`` counts the files that have the name of a document,
    ``told`` the lines that were sent as partial results."""

    params: SearchDocsParams
    scope: Scope
    ripgrep: Ripgrep
    progress: Progress
    started: float = field(default_factory=time.monotonic)
    listing: Listing = field(default_factory=Listing)
    listed: int = 0
    documents: list[DocumentFile] = field(default_factory=list)
    found: list[DocumentHits] = field(default_factory=list)
    not_read: dict[ReadFailure, None] = field(default_factory=dict)
    pictures: set[str] = field(default_factory=set)
    engines: dict[str, EngineName | Literal["both"]] = field(default_factory=dict)
    pending: list[DocumentFile] = field(default_factory=list)
    searched: set[str] = field(default_factory=set)
    told: int = 0
    timed_out: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def streaming(self) -> bool:
        return self.progress.streaming and not self.params.max_tokens and not self.params.cursor

    def _is_asked_for(self, document: DocumentFile) -> bool:
        """Whether the request is about this very document, or its format."""
        asked = clean_path(self.scope.paths[0])
        return bool(self.params.file_types) or document.path == asked

    def read_by(self, engine: EngineName, documents: Iterable[DocumentFile]) -> None:
        """Take note of the engine that reads documents."""
        for document in documents:
            before = self.engines.get(document.format, engine)
            self.engines[document.format] = engine if before == engine else "both"

    def tell(self, one: DocumentHits | ReadFailure) -> None:
        """Take what an engine says, and send what it has found to whoever takes partial results."""
        if isinstance(one, ReadFailure):
            # Icons of a web page are no documents that somebody has asked for.
            if one.reason == PICTURE and not self._is_asked_for(one.document):
                self.pictures.add(one.document.path)
                return
            self.not_read[one] = None  # in their order, each once
            return
        self.found.append(one)
        message = f"{len(self.found)} documents match"
        room = self.params.max_results - self.told
        if not self.streaming or room <= 0:
            self.progress(message)
            return
        try:
            hits = one.hits[:room]
        except TextGone:
            return  # which shows when the answer is made
        self.told += len(hits)
        document = _document(self.scope, one, hits)
        self.progress(message, partial=SearchDocsPartial(documents=[document]))


class DocumentPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last line that was answered: its document, and its place among the lines of that."""

    path: bytes
    place: int


Row = tuple[DocumentHits, int]


def nothing_at(root: Path, error: SearchError) -> SearchDocsResult:
    """The answer for a path that matches nothing."""
    return SearchDocsResult(
        root=shown_path(str(root))[0],
        documents=[],
        failed=[],
        engine="none",
        engines={},
        statistics=Statistics(files=0, matches=0, seconds=0.0),
        message=NO_MATCHES,
        total_found=0,
        returned=0,
        truncated=False,
        completeness=Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False),
        warnings=[error.message],
    )


def result_of(search: DocumentSearch, room: int) -> SearchDocsResult:
    """The page behind the cursor, in at most ``max_tokens`` and about ``room`` bytes."""
    while True:
        try:
            return _result(search, room)
        except _Gone as gone:
            # Its text was deleted just now: it is read again for the next search.
            search.found.remove(gone.found)
            search.pending.append(gone.found.document)


def _result(search: DocumentSearch, room: int) -> SearchDocsResult:
    params = search.params
    key = path_order(search.scope)
    found = sorted(search.found, key=lambda one: key(one.document.path))
    rows = [(one, place) for one in found for place in range(len(one.hits))]
    first, changed = _first_behind(params, search.scope, rows)
    base = SearchDocsResult(
        root=shown_path(str(search.scope.root))[0],
        documents=[],
        failed=_failed(search),
        engine=_engine(search),
        engines=search.engines,
        statistics=Statistics(
            files=len(search.searched),
            matches=len(rows),
            seconds=round(time.monotonic() - search.started, 3),
        ),
        pending=len(search.pending) or None,
        message=None if rows else NO_MATCHES,
        total_found=len(rows),
        returned=search.told,
        truncated=search.told < len(rows),
        completeness=_completeness(search, changed),
        warnings=[*search.scope.warnings, *search.warnings, *_pictures(search)],
    )
    if search.streaming:
        return base
    end = min(first + params.max_results, len(rows))
    documents = list(_documents(search.scope, rows[first:end], room))
    end = first + sum(len(one.matches) for one in documents)

    def page_to(end: int, *, bare: bool = False, failures: int = MOST_FAILED) -> SearchDocsResult:
        more = end < len(rows)
        return msgspec.structs.replace(
            base,
            documents=list(_first(documents, end - first, bare=bare)),
            failed=base.failed[:failures],
            returned=end - first,
            truncated=more or (bare and end > first) or failures < len(base.failed),
            cursor=_cursor(params, rows[:end]) if more and end else None,
        )

    fewer = fractions(end - first)[1:]
    steps = [functools.partial(page_to, end, bare=True)]
    steps += [
        functools.partial(page_to, first + count, bare=True, failures=FEW_FAILED)
        for count in (end - first, *fewer)
    ]
    return shorten(page_to(end), params.max_tokens, steps)


# --- documents -----------------------------------------------------------------------------


class _Gone(Exception):
    """The text of a document that was found is gone."""

    def __init__(self, found: DocumentHits) -> None:
        super().__init__()
        self.found = found


def _documents(scope: Scope, rows: Sequence[Row], room: int) -> Iterator[DocumentMatches]:
    """The documents of consecutive rows, each with its lines among them, until there is no more
    room. Raises _Gone."""
    for found, first, end in _slices(rows):
        try:
            hits = found.hits[first:end]
        except TextGone:
            raise _Gone(found) from None
        fitting = 0
        for hit in hits:
            lines = (hit.line.text, *hit.before, *hit.after)
            room -= MATCH_BYTES + 2 * sum(map(len, lines))
            if room < 0 and fitting:
                break
            fitting += 1
        yield _document(scope, found, hits[:fitting])
        if room < 0:
            return


def _first(
    documents: Iterable[DocumentMatches], count: int, *, bare: bool
) -> Iterator[DocumentMatches]:
    """The first so many lines of documents, without their context if ``bare``."""
    for document in documents:
        if count <= 0:
            return
        matches = document.matches[:count]
        count -= len(matches)
        if bare:
            matches = [msgspec.structs.replace(one, before=[], after=[]) for one in matches]
        yield msgspec.structs.replace(document, matches=matches)


def _slices(rows: Sequence[Row]) -> Iterator[tuple[DocumentHits, int, int]]:
    """Each document of consecutive rows, its first line, and the one behind its last."""
    for _, grouped in itertools.groupby(rows, key=lambda row: row[0].document.path):
        some = list(grouped)
        yield some[0][0], some[0][1], some[-1][1] + 1


def _document(scope: Scope, found: DocumentHits, hits: Sequence[DocumentHit]) -> DocumentMatches:
    shown = scope.shown(found.document.path)
    uri = file_uri(found.document.absolute)
    return DocumentMatches(
        path=shown.path,
        format=found.document.format,
        engine=found.engine,
        matches=[_match(found, hit, uri) for hit in hits],
        total=len(found.hits),
        total_is_lower_bound=found.more,
        root=shown.root,
        uri=shown.uri,
    )


def _match(found: DocumentHits, hit: DocumentHit, uri: str) -> DocumentMatch:
    line, place = hit.line, hit.place
    ranges = [(start + 1, end + 1) for start, end in line.ranges]
    first = ranges[0] if ranges else (1, 1)
    return DocumentMatch(
        line=hit.number,
        column=first[0],
        text=line.text,
        match_range=first,
        ranges=ranges if len(ranges) > 1 else None,
        text_column=line.start + 1 if line.cut else None,
        before=list(hit.before),
        after=list(hit.after),
        preview_uri=preview_uri(uri, found.engine, hit.number),
        open_uri=f"{uri}#page={place.page}" if place.page and not place.member else uri,
        **location_fields(place),
        cell=hit.cells[0] if hit.cells else None,
        cells=list(hit.cells) if len(hit.cells) > 1 else None,
        paragraph=place.paragraph,
    )


# --- what was left out ---------------------------------------------------------------------


def _failed(search: DocumentSearch) -> list[UnreadDocument]:
    failed = []
    for one in itertools.islice(search.not_read, MOST_FAILED):
        shown = search.scope.shown(one.document.path)
        failed.append(
            UnreadDocument(
                path=shown.path, reason=one.reason, member=one.member or None, root=shown.root
            )
        )
    return failed


def _pictures(search: DocumentSearch) -> list[str]:
    if not search.pictures:
        return []
    count = len(search.pictures)
    return [f"{count} pictures were not read: recognition of characters (documents.ocr) is off"]


def _completeness(search: DocumentSearch, changed: bool) -> Completeness:
    reasons = [CHANGED] if changed else []
    whole = len({one.document.path for one in search.not_read if not one.member})
    parts = sum(bool(one.member) for one in search.not_read)
    if whole:
        reasons.append(f"{whole} documents could not be read, or not all of them: see `failed`")
    if parts:
        reasons.append(f"{parts} files in archives could not be read: see `failed`")
    if search.pending:
        reasons.append(f"{len(search.pending)} documents are still to be read: ask again")
    if full := sum(one.more for one in search.found):
        most = search.params.max_count
        reasons.append(f"{full} documents have more than {most} matching lines: see `max_count`")
    counted = completeness_of(
        search.ripgrep,
        search.listing.skipped_files,
        timed_out=search.timed_out,
        unreadable=search.listing.unreadable,
        more=reasons,
    )
    return counted


def _engine(search: DocumentSearch) -> Literal["rga", "builtin", "both", "none"]:
    names = set(search.engines.values())
    if len(names) > 1:
        return "both"
    return names.pop() if names else "none"


# --- pages ---------------------------------------------------------------------------------


def _cursor(params: SearchDocsParams, answered: Sequence[Row]) -> str:
    found, place = answered[-1]
    position = DocumentPosition(os.fsencode(found.document.path), place)
    return cursor.encode(params, position, _stamp(answered))


def _stamp(answered: Sequence[Row]) -> bytes:
    return cursor.stamp_of(
        [
            (found.document.path, _marks(found.hits)[first:end])
            for found, first, end in _slices(answered)
        ]
    )


def _marks(hits: Sequence[DocumentHit]) -> Sequence[object]:
    """What tells whether hits are the same as others."""
    return hits.marks if isinstance(hits, LazyHits) else [hit.number for hit in hits]


def _first_behind(params: SearchDocsParams, scope: Scope, rows: Sequence[Row]) -> tuple[int, bool]:
    """The place of the first line behind the cursor, and whether those before have changed."""
    key = path_order(scope)

    def passed(position: DocumentPosition) -> int:
        last = (key(os.fsdecode(position.path)), position.place)
        return sum((key(found.document.path), place) <= last for found, place in rows)

    return cursor.resume(params, DocumentPosition, passed, lambda first: _stamp(rows[:first]))
