"""The record of a file in the index. A separate module, because workers must not load the
database."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Literal

import msgspec
from msgspec import Struct

from winnow.index.postings.contents import Contents
from winnow.symbols.extract.packed import PackedSymbols
from winnow.symbols.language import Language, language_of

# Linux stamps files with a clock of 4 to 10 ms; a write after the read may have the same mtime.
CLOCK_NS = 50_000_000
# The latest mtime that fits the database: for files dated after the year 2262.
LAST_NS = 2**63 - 1
KEY_BYTES = 16
# The value of `index.embeddings` for no vectors.
NO_VECTORS = "off"
MOST_PARSED = 4 * 1024 * 1024
# Of larger files, nothing is stored.
MOST_SEARCHED = 32 * 1024 * 1024
FIRST_LINE_BYTES = 200
# The names of files in which package managers keep the versions that they have chosen, if their
# extension does not say so.
LOCK_FILES = frozenset(
    (
        *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json"),
        *("go.sum", "go.work.sum", "Package.resolved", "gradle.lockfile", ".terraform.lock.hcl"),
    )
)
_DATA_EXTENSIONS = (".po", ".pot", ".xlf", ".svg", ".csv", ".tsv", ".lock", ".map", ".snap")
# Reasons that are not problems: the name shows that it is not source code, or settings exclude it.
NOT_SOURCE = "it is not a source file"
EXCLUDED = "it matches index.exclude_patterns"
TOO_LARGE = "it is larger than"
TOO_MUCH_MEMORY = "its symbols would take too much memory"
HOLDS_SECRETS = "its name is one of files with secrets"
UNREADABLE_FILE = "it cannot be read"
FULL = "the index has reached index.max_index_size_mb"
# Only the text of the file is indexed, and a build continues with the rest.
NO_DEFINITIONS = "its definitions are not indexed yet"
# The problems of files whose stored data is missing or unfinished: no other file reuses it.
NOT_REUSED = (FULL, NO_DEFINITIONS)


Part = Literal["all", "definitions", "occurrences", "text"]


class FileState(Struct, frozen=True, array_like=True, gc=False):
    """The state of a file when it was indexed; ``problem`` says why it has no symbols.

    Times and size show whether the file has changed. ``ctime_ns`` changes with every write, even if
    a program restores ``mtime_ns``; 0 means that the file had only just changed when it was read,
    so its times cannot distinguish another write.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    problem: str = ""


class FileRecord(Struct, frozen=True, array_like=True):
    """Everything that the index keeps of a file: its state when it was read, symbols and contents.

    ``key`` identifies the text and the relevant part of the name. ``binary`` is True if ripgrep
    skips the file. Without contents, a text search has to read the file.
    """

    state: FileState
    language: str
    symbols: PackedSymbols | None = None
    key: bytes = b""
    contents: Contents | None = None
    binary: bool = False


class IndexJob(Struct, frozen=True, array_like=True):
    """A file to index: ``path`` is relative to ``root``. A ``text`` replaces the file's. Paths are
    bytes, because they may not be Unicode. Secrets are ``masked``, also by the extra ``rules``. A
    text of more than ``max_parsed`` bytes gets no symbols. ``embeddings`` is the source of vectors,
    see :func:`winnow.index.vectors.embeddings.load_model`.

    ``part`` is what to extract. "text" is only the text, in half the time: a file that may
    have definitions gets the problem `NO_DEFINITIONS`. "definitions" leaves out the occurrences of
    names except their declarations. "occurrences" is only these occurrences, without contents, and
    only if the text contains one of some ``names`` as a word, if there are any.

    ``harmless`` is the key of a text of this file in which an earlier job found no secrets.
    """

    root: bytes
    path: bytes
    max_bytes: int
    text: bytes | None = None
    masked: bool = True
    max_parsed: int = MOST_PARSED
    embeddings: str = NO_VECTORS
    rules: tuple[str, ...] = ()
    part: Part = "all"
    names: tuple[str, ...] = ()
    harmless: bytes = b""


def depends_on_limits(problem: str) -> bool:
    """Return True if a file may not have this problem with other settings."""
    return problem.startswith((TOO_LARGE, TOO_MUCH_MEMORY))


def may_have_symbols(path: str) -> bool:
    """Return True if a file has a language by its name, or may have one by its first line."""
    return "." not in path.rpartition("/")[2] or language_of(path) is not None


def is_data(path: str) -> bool:
    """Return True for a file that answers no question about a code base, though programs are built
    from it: its words are not indexed."""
    return path.endswith(_DATA_EXTENSIONS) or os.path.basename(path) in LOCK_FILES


def language_at(path: str, raw: bytes) -> Language | None:
    """Return the language of a file, by its name and its first line."""
    return language_of(path, raw[:FIRST_LINE_BYTES].partition(b"\n")[0])


def content_key(path: str, raw: bytes, language: Language | None) -> bytes:
    """Return the key of a text with the relevant part of its file name."""
    known = content_hasher(path, language)
    known.update(raw)
    return known.digest()


def content_hasher(path: str, language: Language | None) -> hashlib.blake2b:
    """Return a hash of the relevant part of a file name, to which the text is added."""
    name = path.rpartition("/")[2]
    is_named = name in LOCK_FILES or (language is not None and language.scripts)
    ending = name if is_named else os.path.splitext(name)[1].lower() or name
    hasher = hashlib.blake2b(digest_size=KEY_BYTES)
    hasher.update(f"{language.name if language else ''}\0{ending}\0".encode("utf-8", "replace"))
    return hasher


def file_state(status: os.stat_result) -> FileState:
    """Return the state of a file that is read now."""
    state = state_from_stat(status)
    fresh = 0 <= time.time_ns() - state.ctime_ns < CLOCK_NS
    return msgspec.structs.replace(state, ctime_ns=0) if fresh else state


def state_from_stat(status: os.stat_result) -> FileState:
    """Return the state of a file from a stat result."""
    return FileState(
        min(status.st_mtime_ns, LAST_NS), min(status.st_ctime_ns, LAST_NS), status.st_size
    )


def record_without_symbols(state: FileState, problem: str, language: Language | None) -> FileRecord:
    """Return a record with a problem and without symbols."""
    named = language.name if language is not None else ""
    return FileRecord(FileState(state.mtime_ns, state.ctime_ns, state.size, problem), named)


def failed_record(job: IndexJob, problem: str) -> FileRecord | None:
    """Return the record of a file that could not be indexed; None if it does not exist."""
    language = language_of(os.fsdecode(job.path))
    if job.text is not None:
        return record_without_symbols(FileState(0, 0, 0), problem, language)
    try:
        state = file_state(os.stat(os.path.join(job.root, job.path)))
    except OSError:
        return None
    return record_without_symbols(state, problem, language)
