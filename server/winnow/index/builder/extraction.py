"""Extract what the index keeps of one file: read it once, decode it, mask secrets, and parse it.

Runs in a worker, see :mod:`winnow.index.builder.worker`. Offsets refer to the text in UTF-8 without
a byte order mark, whatever the file's encoding.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from winnow.errors import NotFound, PathOutsideWorkspace, SearchError
from winnow.index.postings.contents import Contents, contents_of
from winnow.index.postings.notebooks import NOTEBOOK, without_outputs
from winnow.index.postings.trigrams import searched_text, trigrams_of, trigrams_of_pieces
from winnow.index.store.file_record import (
    HOLDS_SECRETS,
    LOCK_FILES,
    MOST_SEARCHED,
    NO_DEFINITIONS,
    NOT_SOURCE,
    TOO_LARGE,
    TOO_MUCH_MEMORY,
    UNREADABLE_FILE,
    FileRecord,
    FileState,
    IndexJob,
    content_hasher,
    content_key,
    failed_record,
    file_state,
    is_data,
    language_at,
    may_have_symbols,
    record_without_symbols,
)
from winnow.index.vectors.embeddings import load_model
from winnow.privacy.secrets import is_secret_file, mask_secrets
from winnow.symbols.extract.driver import extract
from winnow.symbols.extract.packed import only_occurrences, pack
from winnow.symbols.file_symbols import FileSymbols
from winnow.symbols.language import Language, language_of
from winnow.text.encodings import SAMPLE_BYTES, binary_kind, decode_text
from winnow.text.paths import open_regular

# A larger text with lines of this average length is a bundle or a table of numbers: its definitions
# say nothing.
MINIFIED_BYTES = 20_000
LINE_BYTES = 400
LONGEST_LINE_BYTES = 200_000
# Larger texts that are not programs are mostly tables: reading the words and keys of 2.7 MB of JSON
# took 4 s.
TABLE_BYTES = 1024 * 1024
PIECE_BYTES = 512 * 1024
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# ripgrep mistakes this byte order mark for that of UTF-16.
UTF_32_LE_MARK = b"\xff\xfe\x00\x00"


def extract_file(job: IndexJob) -> FileRecord | None:
    """Return the index record of a file, which may hold only a problem; None if the folder has no
    such file."""
    root, path = os.fsdecode(job.root), os.fsdecode(job.path)
    if job.text is not None:
        return _taken(job, path, FileState(0, 0, len(job.text)), job.text)
    try:
        descriptor = open_regular(os.path.join(root, path), root)
    except (NotFound, PathOutsideWorkspace):
        return None
    except SearchError:  # not a regular file, or unreadable
        return failed_record(job, UNREADABLE_FILE)
    with os.fdopen(descriptor, "rb") as file:
        state = file_state(os.fstat(file.fileno()))
        if state.size > job.max_bytes:
            return _large(job, path, state, file)
        # A read of more bytes would reserve memory for all of them.
        raw = file.read(state.size + 1)
        if len(raw) > state.size:  # the file has grown
            raw += file.read(job.max_bytes + 1 - len(raw))
    return _taken(job, path, state, raw)


def _large(job: IndexJob, path: str, state: FileState, file: BinaryIO) -> FileRecord:
    """Return the record of a file that is too large to parse, with its trigrams: without them,
    every search would have to read the file."""
    language = language_of(path)
    problem = f"{TOO_LARGE} {job.max_bytes:,} bytes"
    found = record_without_symbols(state, problem, language)
    secret = job.masked and is_secret_file(path)
    begin = file.read(SAMPLE_BYTES)
    if secret or state.size > MOST_SEARCHED or begin.startswith(UTF_16_MARKS):
        return found
    if _is_binary(begin):
        return msgspec.structs.replace(found, binary=True)
    file.seek(0)
    key = content_hasher(path, language)
    try:
        trigrams = trigrams_of_pieces(_harmless(job, key, _pieces(file)))
    except _NotInPieces:
        return found
    contents = contents_of(path, b"", (), "", covered=True)
    return msgspec.structs.replace(
        found,
        key=key.digest(),
        contents=msgspec.structs.replace(contents, trigrams=trigrams),
    )


class _NotInPieces(Exception):
    """A large file has a secret or a line that is too long."""


def _harmless(job: IndexJob, key: hashlib.blake2b, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces and add them to the key. Raises _NotInPieces if one has a secret."""
    for piece in pieces:
        key.update(piece)
        if job.masked and mask_secrets(piece, job.rules)[1]:
            raise _NotInPieces
        yield piece


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in pieces that end with a line. Raises _NotInPieces."""
    rest = b""
    while raw := file.read(PIECE_BYTES):
        raw = rest + raw
        end = raw.rfind(b"\n") + 1
        rest = raw[end:]
        if len(rest) > PIECE_BYTES:
            raise _NotInPieces
        yield raw[:end]
    yield rest


def _taken(job: IndexJob, path: str, state: FileState, raw: bytes) -> FileRecord:
    language = language_at(path, raw)
    if job.masked and is_secret_file(path):
        return record_without_symbols(state, HOLDS_SECRETS, language)
    source = _in_utf_8(raw)
    if source is None:
        problem = _problem_for(path, f"it is {binary_kind(raw[:SAMPLE_BYTES])}")
        found = record_without_symbols(state, problem, language)
        return msgspec.structs.replace(found, binary=_is_binary(raw))
    key = content_key(path, raw, language)
    secrets = 0
    if job.masked and key != job.harmless:
        source, secrets = mask_secrets(source, job.rules)
    if job.part == "occurrences" and not _contains_any(source, job.names):
        return FileRecord(state, language.name if language else "", key=key)
    why_data = _why_data(path, source, language)
    symbols, problem = _symbols_of(job, path, language, source, why_data)
    packed = pack(symbols, uses=job.part != "definitions") if symbols else None
    state = msgspec.structs.replace(state, problem=problem)
    if job.part == "occurrences":
        return FileRecord(state, "", only_occurrences(packed) if packed else None, key)
    name = symbols.language if symbols else language.name if language else ""
    ranked = b"" if why_data or is_data(path) else source
    contents = _contents(path, raw, source, ranked, symbols, name, covered=not secrets)
    model = load_model(job.embeddings)
    if contents is not None and model is not None:
        contents = model.with_vectors(contents)
    return FileRecord(state, name, packed, key, contents, _is_binary(raw))


def _contains_any(source: bytes, names: Iterable[str]) -> bool:
    """Return True if a text contains one of some names as a word, or there are no names."""
    words = [
        rf"(?<!\w){re.escape(name)}(?!\w)" if name.isidentifier() else re.escape(name)
        for name in names
    ]
    # Letters outside of ASCII may follow a name that they don't belong to: then it counts, too.
    pattern = "|".join(words).encode("utf-8", "surrogatepass")
    return re.search(pattern, source) is not None


def _in_utf_8(raw: bytes) -> bytes | None:
    """Return a text in UTF-8 without a byte order mark; None if it is binary. If it is in UTF-8
    already, as nearly always, the same object is returned: a copy may take megabytes."""
    text = decode_text(raw)
    source = None if text is None else text.encode("utf-8", "replace")
    return raw if source == raw else source


def _symbols_of(
    job: IndexJob, path: str, language: Language | None, source: bytes, why_data: str
) -> tuple[FileSymbols | None, str]:
    """Return the symbols of a text, or the reason why it has none; ``why_data`` is why it is no
    program."""
    if language is None:
        return None, _problem_for(path, "its language is unknown")
    if why_data:
        return None, why_data
    if len(source) > job.max_parsed:
        return None, f"{TOO_MUCH_MEMORY}: {len(source):,} bytes"
    if job.part == "text":
        return None, NO_DEFINITIONS
    # The language of a header may differ from the one that its extension suggests.
    return extract(language, source, path), ""


def _contents(
    path: str,
    raw: bytes,
    source: bytes,
    ranked: bytes,
    symbols: FileSymbols | None,
    language: str,
    *,
    covered: bool,
) -> Contents | None:
    """Return what is indexed of a text for search; None if ripgrep sees a different text. The words
    are those of the text ``ranked``."""
    seen = searched_text(raw)
    if seen is None or raw.startswith(UTF_32_LE_MARK):
        return None
    definitions = symbols.definitions if symbols else ()
    contents = contents_of(path, ranked, definitions, language, covered=covered)
    # Trigrams must not contain masked text either.
    text_of_trigrams = seen if covered else source
    if text_of_trigrams == ranked:
        return contents
    return msgspec.structs.replace(contents, trigrams=trigrams_of(text_of_trigrams))


def _is_binary(raw: bytes) -> bool:
    """Return True if ripgrep treats a file that begins like this as binary."""
    return b"\0" in raw[:SAMPLE_BYTES] and not raw.startswith(UTF_16_MARKS)


def _problem_for(path: str, problem: str) -> str:
    """Return the problem to record; a file that is not source code needs no symbols."""
    return problem if may_have_symbols(path) else NOT_SOURCE


def _why_data(path: str, source: bytes, language: Language | None) -> str:
    """Return why only the trigrams of a text are worth indexing; empty if its words are, too."""
    if os.path.basename(path) in LOCK_FILES:
        return NOT_SOURCE
    if path.endswith(NOTEBOOK):
        source = without_outputs(source)
    if len(source) > TABLE_BYTES and (language is None or language.most):
        return f"it is a table or a long text: {len(source):,} bytes"
    if len(source) < MINIFIED_BYTES:
        return ""
    lines = source.count(b"\n") + 1
    if len(source) > lines * LINE_BYTES:
        return f"it is minified or generated: {len(source) // lines:,} bytes a line"
    longest = max(map(len, source.split(b"\n")))
    if longest > LONGEST_LINE_BYTES:
        return f"it is minified or generated: it has a line of {longest:,} bytes"
    return ""
