"""Convert a text and its index record to a document of the cluster, and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np
from msgspec import Struct

from winnow.cluster.mappings import (
    MOST_BYTES,
    PASSAGE_FIELDS,
    TEXT_FIELDS,
    format_of_records,
)
from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.term_counts import Postings
from winnow.index.postings.trigrams import trigrams_of
from winnow.index.store.file_record import FileRecord
from winnow.symbols.extract.packed import decode_definition
from winnow.symbols.file_symbols import Definition, Kind

# Lines of a passage of a text that has no chunks, because nothing but its bytes is indexed.
PLAIN_LINES = 60
# A term that a passage has more often counts hardly more.
MOST_REPEATED = 6
_PLACES = {field.name: place for place, field in enumerate(FIELDS)}
_NO_TRIGRAMS = trigrams_of(b"")
_KINDS = frozenset(get_args(Kind))
# A text of 4 MiB, the most that is parsed, has less; a hostile cluster may send anything.
MOST_UNPACKED = 64 * 1024 * 1024

T = TypeVar("T")


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
    """The fields of a text document that a request asks for. ``contents`` and ``symbols`` are
    packed, see :func:`record_of`."""

    repository: str
    locations: Sequence[Location] = ()
    passages: Sequence[_Passage] = ()
    format: str = ""
    contents: str = ""
    symbols: str = ""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(passage.text or passage.long for passage in self.passages)


class TextRecord(Struct, frozen=True):
    """What the index of this machine would keep of a text. ``contents`` are None for a text whose
    words are not indexed."""

    language: str
    contents: Contents | None
    definitions: Sequence[Definition]


def record_of(source: TextSource) -> TextRecord | None:
    """Return what the pushing machine knew of a text; None if that was another version of Winnow,
    or if it is damaged."""
    if source.format != format_of_records():
        return None
    text = source.text
    lines, size = text.count("\n") + 1, len(text.encode("utf-8", "replace"))
    try:
        symbols = _unpacked(source.symbols, _Symbols)
        definitions = list(map(decode_definition, symbols.definitions))
        if not all(_is_inside(definition, lines, size) for definition in definitions):
            return None
        contents = _unpacked(source.contents, Contents) if source.contents else None
        if contents is not None and not _describes(contents, lines, len(definitions)):
            return None
    except (binascii.Error, zlib.error, msgspec.DecodeError, ValueError):
        return None
    return TextRecord(symbols.language, contents, definitions)


def _unpacked(packed: str, kind: type[T]) -> T:
    """Return a value from a document. Raises ValueError, zlib.error and msgspec.DecodeError."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(base64.b64decode(packed, validate=True), MOST_UNPACKED)
    if not unpacking.eof:
        raise ValueError("it is too long, or cut off")
    return msgspec.msgpack.decode(data, type=kind)


def _is_inside(definition: Definition, lines: int, size: int) -> bool:
    """Return True if a definition can be of a text with some lines and bytes."""
    return (
        definition.kind in _KINDS
        and 0 <= definition.line <= definition.end_line < lines
        and 0 <= definition.start <= definition.at < definition.end <= size
        and all(0 <= column <= size for column in definition.columns)
        and (definition.name + definition.container).isprintable()
    )


def _describes(contents: Contents, lines: int, definitions: int) -> bool:
    """Return True if contents can be those of a text with some lines and definitions."""
    described = np.frombuffer(contents.chunks, np.uint32).reshape(-1, CHUNK_COLUMNS)
    first, last, number, before, comments, imports = described.astype(np.int64).T
    return bool(
        len(contents.fields) == len(FIELDS)
        and len(contents.measures) == len(MEASURES)
        and np.isfinite(contents.measures).all()
        and not contents.vectors
        and contents.trigrams == _NO_TRIGRAMS
        and (first >= 1).all()
        and (first <= last).all()
        and (last <= lines).all()
        and (first[1:] > first[:-1]).all()
        and (number <= definitions).all()
        and (before <= definitions).all()
        and (comments <= lines).all()
        and (imports <= lines).all()
        and all(
            _fit(postings, len(described) if field.unit == "chunk" else 1)
            for field, postings in zip(FIELDS, contents.fields, strict=True)
        )
    )


def _fit(postings: Postings, units: int) -> bool:
    """Return True if postings can be those of a text with this number of units."""
    terms = np.frombuffer(postings.terms, np.uint64)
    numbers = np.frombuffer(postings.units, np.uint16)
    counts = np.frombuffer(postings.counts, np.uint8)
    return bool(
        len(terms) == len(numbers) == len(counts)
        and len(np.frombuffer(postings.lengths, np.uint32)) in (0, units)
        and int(numbers.max(initial=0)) < max(units, 1)
        and (units or not len(terms))
        and (terms[1:] >= terms[:-1]).all()
    )
