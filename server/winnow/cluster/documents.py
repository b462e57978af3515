"""Convert a text and its index record to a document of the cluster, and back."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from winnow.cluster.mappings import MOST_BYTES, PASSAGE_FIELDS, TEXT_FIELDS
from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, Contents
from winnow.index.postings.term_counts import Postings
from winnow.index.postings.trigrams import trigrams_of
from winnow.index.store.file_record import FileRecord

# Lines of a passage of a text that has no chunks, because nothing but its bytes is indexed.
PLAIN_LINES = 60
# A term that a passage has more often counts hardly more.
MOST_REPEATED = 6
_PLACES = {field.name: place for place, field in enumerate(FIELDS)}
_NO_TRIGRAMS = trigrams_of(b"")


class Location(Struct, frozen=True):
    """A place of a text: the branch of a repository (``team/a`` or ``team/a@branch``), and the
    path."""

    ref: str
    path: str


class Branch(Struct, frozen=True, kw_only=True):
    """The pushed state of a branch. ``skipped`` counts files that are not in the cluster, by
    reason, and ``masked`` those in which secrets are replaced."""

    ref: str
    commit: str
    pushed_at: str
    format: str
    files: int
    bytes: int
    masked: int
    skipped: Mapping[str, int]


class _Symbols(Struct, frozen=True, array_like=True):
    language: str
    definitions: list[bytes]


_encode = msgspec.msgpack.Encoder().encode


def document_id(repository: str, format_: str, key: bytes) -> str:
    """Return the id of a text: the same for all branches and paths of a repository."""
    return hashlib.sha256(b"\0".join([repository.encode(), format_.encode(), key])).hexdigest()[:40]


def branch_id(ref: str) -> str:
    """Return the id of the state of a branch."""
    return f"branch:{ref}"


# --- to the cluster ------------------------------------------------------------------------


def document_of(
    repository: str, format_: str, key: bytes, text: str, record: FileRecord
) -> dict[str, Any]:
    """Return the document of a text, without locations. ``text`` has no secrets."""
    contents, symbols = record.contents, record.symbols
    passages = list(_passages(text, contents))
    document: dict[str, Any] = {
        "kind": "text",
        "repository": repository,
        "format": format_,
        "key": key.hex(),
        "passages": passages,
        "is_long": any("long" in passage for passage in passages),
    }
    if contents is not None:
        for field in TEXT_FIELDS:
            postings = contents.fields[_PLACES[field]]
            document[field] = next(iter(_tokens(postings, 1)), "")
            document[f"{field}_length"] = _lengths(postings)[0] if postings.lengths else 0
        kept = msgspec.structs.replace(contents, trigrams=_NO_TRIGRAMS, vectors=b"")
        document["contents"] = _packed(kept)
    if symbols is not None and symbols.definitions:
        document["names"] = list(dict.fromkeys(name for name, _ in symbols.definitions))
    language = symbols.language if symbols is not None else record.language
    definitions = [data for _, data in symbols.definitions] if symbols is not None else []
    document["symbols"] = _packed(_Symbols(language, definitions))
    return document


def _passages(text: str, contents: Contents | None) -> Iterator[dict[str, Any]]:
    """Yield the passages of a text; their texts together are the text."""
    lines = _lines(text)
    described = np.frombuffer(contents.chunks if contents else b"", np.uint32)
    firsts = [int(first) - 1 for first in described.reshape(-1, CHUNK_COLUMNS)[:, 0]]
    is_ranked = bool(firsts)
    if not is_ranked:
        firsts = list(range(0, len(lines), PLAIN_LINES))
    tokens = {}
    lengths = {}
    if contents is not None and is_ranked:
        for field in PASSAGE_FIELDS:
            postings = contents.fields[_PLACES[field]]
            tokens[field] = _tokens(postings, len(firsts))
            lengths[field] = _lengths(postings)
    for place, (first, end) in enumerate(pairwise([*firsts, len(lines)])):
        part = "".join(lines[first:end])
        passage: dict[str, Any] = {}
        if part:
            is_long = len(part.encode("utf-8")) > MOST_BYTES
            passage["long" if is_long else "text"] = part
        for field, found in tokens.items():
            passage[field] = found[place]
            passage[f"{field}_length"] = lengths[field][place]
        yield passage


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only line feeds end lines."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _tokens(postings: Postings, units: int) -> list[str]:
    """Return the terms of each unit, repeated as often as they occur."""
    found: dict[int, list[str]] = defaultdict(list)
    terms = np.frombuffer(postings.terms, np.uint64)
    numbers = np.frombuffer(postings.units, np.uint16)
    counts = np.frombuffer(postings.counts, np.uint8)
    rows = zip(terms.tolist(), numbers.tolist(), counts.tolist(), strict=True)
    for term, unit, count in rows:
        found[unit] += [token(term)] * min(count, MOST_REPEATED)
    return [" ".join(found[unit]) for unit in range(units)]


def token(number: int) -> str:
    """Return the token of a term's number."""
    return f"{number >> 16:x}"


def _lengths(postings: Postings) -> list[int]:
    lengths: list[int] = np.frombuffer(postings.lengths, np.uint32).tolist()
    return lengths


def _packed(value: Struct) -> str:
    return base64.b64encode(zlib.compress(_encode(value), 6)).decode("ascii")


# --- from the cluster ----------------------------------------------------------------------


class _Passage(Struct, frozen=True):
    text: str = ""
    long: str = ""


class TextSource(Struct, frozen=True):
    """The fields of a text document that a request asks for."""

    repository: str
    locations: Sequence[Location] = ()
    passages: Sequence[_Passage] = ()

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(passage.text or passage.long for passage in self.passages)
