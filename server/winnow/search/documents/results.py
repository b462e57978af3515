"""Collect the results of a document search, and make the rows of an answer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from winnow.documents.library.lazy_hits import LazyHits, TextGone
from winnow.documents.library.locations import file_uri, location_fields, preview_uri
from winnow.documents.library.request import (
    DocumentFile,
    DocumentHit,
    DocumentHits,
    DocumentQuery,
    EngineName,
    ReadFailure,
)
from winnow.documents.unreadable import PICTURE
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, completeness_of
from winnow.search.documents.rows import DocumentMatch, DocumentMatches, UnreadDocument
from winnow.text.listing import Listing
from winnow.text.plural import counted
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Filters, Scope, clean_path, path_order
from winnow.types import Completeness, Progress

# Maximum number of failures in an answer.
MOST_FAILED = 100
# Approximate size of a match besides its lines.
MATCH_BYTES = 400


class DocumentOptions(msgspec.Struct, frozen=True):
    """The engine and the limits of a document search: ``context`` lines around a match, and
    ``max_count`` matching lines per document. ``by_format`` is True if the caller selects formats.
    """

    engine: Literal["auto", "rga", "builtin"]
    timeout: float
    max_results: int
    context: int
    max_count: int
    by_format: bool = False


@dataclass
class DocumentSearch:
    """The state and the results of a document search.

    ``filters`` are as requested; the path may be a glob. ``send`` gets documents as they are found,
    and ``sent`` counts their lines. ``listed`` is the number of files with an extension of a
    document.
    """

    scope: Scope
    filters: Filters
    query: DocumentQuery
    options: DocumentOptions
    ripgrep: Ripgrep
    progress: Progress
    send: Callable[[str, DocumentMatches], None] | None = None
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
    sent: int = 0
    timed_out: bool = False
    warnings: list[str] = field(default_factory=list)

    def _is_requested(self, document: DocumentFile) -> bool:
        """Return True if the caller requests this document, or formats."""
        return self.options.by_format or document.path == clean_path(self.scope.paths[0])

    def read_by(self, engine: EngineName, documents: Iterable[DocumentFile]) -> None:
        """Record the engine that reads documents."""
        for document in documents:
            before = self.engines.get(document.format, engine)
            self.engines[document.format] = engine if before == engine else "both"

    def add(self, result: DocumentHits | ReadFailure) -> None:
        """Add a result of an engine, and send it."""
        if isinstance(result, ReadFailure):
            # Icons of a web page are not documents that a user searches for.
            if result.reason == PICTURE and not self._is_requested(result.document):
                self.pictures.add(result.document.path)
                return
            self.not_read[result] = None  # in order, without duplicates
            return
        self.found.append(result)
        message = counted(len(self.found), "document matches", "documents match")
        room = self.options.max_results - self.sent
        if self.send is None or room <= 0:
            self.progress(message)
            return
        try:
            hits = result.hits[:room]
        except TextGone:
            return  # reported by `matches`
        self.sent += len(hits)
        self.send(message, _document(self.scope, result, hits))

    def rows(self) -> list[DocumentRow]:
        """Return all matching lines, in the order of paths."""
        key = path_order(self.scope)
        found = sorted(self.found, key=lambda hits: key(hits.document.path))
        return [(hits, place) for hits in found for place in range(len(hits.hits))]

    def matches(self, rows: Sequence[DocumentRow], room: int) -> list[DocumentMatches]:
        """Return the documents of consecutive rows, in about ``room`` bytes.

        Raises HitsGone if a text was deleted; call this again with new rows.
        """
        try:
            return list(_documents(self.scope, rows, room))
        except HitsGone as gone:
            # The text has just been deleted: it is read again for the next search.
            self.found.remove(gone.found)
            self.pending.append(gone.found.document)
            raise

    def failed(self) -> list[UnreadDocument]:
        """Return the documents that could not be read."""
        failed = []
        order = path_order(self.scope)
        in_order = sorted(self.not_read, key=lambda failure: order(failure.document.path))
        for failure in in_order[:MOST_FAILED]:
            shown = self.scope.shown(failure.document.path)
            failed.append(
                UnreadDocument(
                    path=shown.path,
                    reason=failure.reason,
                    member=failure.member or None,
                    root=shown.root,
                )
            )
        return failed

    def all_warnings(self) -> list[str]:
        """Return the warnings of the search and its scope."""
        warnings = [*self.scope.warnings, *self.warnings]
        if self.pictures:
            pictures = counted(len(self.pictures), "picture was", "pictures were")
            warnings.append(f"{pictures} not read: documents.ocr is off")
        return warnings

    def completeness(self, *, changed: bool) -> Completeness:
        """Return what the search skipped; ``changed`` is True if earlier pages have changed."""
        reasons = [CHANGED] if changed else []
        unread = {failure.document.path for failure in self.not_read if not failure.member}
        members = sum(bool(failure.member) for failure in self.not_read)
        if unread:
            documents = counted(len(unread), "document", "documents")
            reasons.append(f"{documents} could not be read completely: see `failed`")
        if members:
            files = counted(members, "file in an archive", "files in archives")
            reasons.append(f"{files} could not be read: see `failed`")
        if self.pending:
            documents = counted(len(self.pending), "document has", "documents have")
            reasons.append(f"{documents} not been read yet: try again")
        if full := sum(hits.more for hits in self.found):
            documents = counted(full, "document has", "documents have")
            most = self.query.max_count
            reasons.append(f"{documents} more than {most} matching lines: see `max_count`")
        return completeness_of(
            self.ripgrep,
            self.listing.skipped_files,
            timed_out=self.timed_out,
            unreadable=self.listing.unreadable,
            more=reasons,
        )

    @property
    def engine(self) -> Literal["rga", "builtin", "both", "none"]:
        """The engine that read the documents."""
        names = set(self.engines.values())
        if len(names) > 1:
            return "both"
        return names.pop() if names else "none"


DocumentRow = tuple[DocumentHits, int]  # a document, and the number of a line among its hits


# --- documents -----------------------------------------------------------------------------


class HitsGone(Exception):
    """The text of a matching document was deleted."""

    def __init__(self, found: DocumentHits) -> None:
        super().__init__()
        self.found = found


def _documents(scope: Scope, rows: Sequence[DocumentRow], room: int) -> Iterator[DocumentMatches]:
    """Yield the documents of consecutive rows with their lines, until the room is used up."""
    for found, first, end in slices(rows):
        try:
            hits = found.hits[first:end]
        except TextGone:
            raise HitsGone(found) from None
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


def slices(rows: Sequence[DocumentRow]) -> Iterator[tuple[DocumentHits, int, int]]:
    """Yield each document of consecutive rows, the index of its first line, and its end."""
    for _, grouped in itertools.groupby(rows, key=lambda row: row[0].document.path):
        of_document = list(grouped)
        yield of_document[0][0], of_document[0][1], of_document[-1][1] + 1


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


def stamp(rows: Sequence[DocumentRow]) -> bytes:
    """Return a stamp of rows, for a cursor."""
    return cursor.stamp_of(
        [(found.document.path, _marks(found.hits)[first:end]) for found, first, end in slices(rows)]
    )


def _marks(hits: Sequence[DocumentHit]) -> Sequence[object]:
    """Return values that are equal if the hits are equal."""
    return hits.marks if isinstance(hits, LazyHits) else [hit.number for hit in hits]
