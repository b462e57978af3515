"""A file as the index knows it; apart, so that a worker need not load the database."""

from __future__ import annotations

import hashlib
import os
import time

import msgspec
from msgspec import Struct

from winnow.index.postings.contents import Contents
from winnow.symbols.extract.packed import PackedSymbols
from winnow.symbols.language import Language, language_of

# Linux stamps files by a clock of 4 to 10 ms; a write after the reading may have the same time.
CLOCK_NS = 50_000_000
# No later time has a place in a database: it is that of a file that is dated to the year 2262.
LAST_NS = 2**63 - 1
KEY_BYTES = 16
MOST_PARSED = 4 * 1024 * 1024
FIRST_LINE_BYTES = 200
# Problems that are none: a file whose name says that it is no source, and what settings leave out.
NOT_SOURCE = "it is no source file"
EXCLUDED = "index.exclude_patterns names it"
TOO_LARGE = "it is larger than"
HOLDS_SECRETS = "files with its name hold secrets"
UNREADABLE_FILE = "it cannot be read"
FULL = "the index has as many bytes as index.max_index_size_mb allows"


class FileState(Struct, frozen=True, array_like=True, gc=False):
    """The file that facts were taken from; ``problem`` says why there are none.

    The times and the size tell whether it is still the same. ``ctime_ns`` changes with every write,
    also where a program puts ``mtime_ns`` back; 0 says that the file had only just changed when it
    was read: the clock of a file system makes no difference between two writes in a row.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    problem: str = ""


class FileRecord(Struct, frozen=True, array_like=True):
    """What is kept of a file: what it was like when it was read, its facts, and its contents.

    ``key`` stands for the text and what counts of the name. ``binary`` says that ripgrep passes
    the file over. Without contents, a search of texts has to read it.
    """

    state: FileState
    language: str
    facts: PackedSymbols | None = None
    key: bytes = b""
    contents: Contents | None = None
    binary: bool = False


class IndexJob(Struct, frozen=True, array_like=True):
    """A file to take facts from: ``path`` is below ``root``. Where a ``text`` is given, it stands
    in the place of the file's. Paths are bytes: they need not be Unicode. Secrets are kept unless
    they are to be ``masked``, for which ``rules`` are added ones. A text of more than
    ``max_parsed`` bytes has no symbols. ``embeddings`` is where vectors come from, see
    :func:`winnow.index.vectors.embeddings.load_model`."""

    root: bytes
    path: bytes
    max_bytes: int
    text: bytes | None = None
    masked: bool = True
    max_parsed: int = MOST_PARSED
    embeddings: str = "off"
    rules: tuple[str, ...] = ()


def may_have_symbols(path: str) -> bool:
    """Whether a file has a language by its name, or may have one by its first line."""
    return "." not in path.rpartition("/")[2] or language_of(path) is not None


def language_at(path: str, raw: bytes) -> Language | None:
    """The language of a file, by its name and its first line."""
    return language_of(path, raw[:FIRST_LINE_BYTES].partition(b"\n")[0])


def content_key(path: str, raw: bytes, language: Language | None) -> bytes:
    """What stands for a file's text, and for what its name says about it."""
    known = content_hasher(path, language)
    known.update(raw)
    return known.digest()


def content_hasher(path: str, language: Language | None) -> hashlib.blake2b:
    """What a text is to be added to for its key."""
    name = path.rpartition("/")[2]
    ending = os.path.splitext(name)[1].lower() or name
    known = hashlib.blake2b(digest_size=KEY_BYTES)
    known.update(f"{language.name if language else ''}\0{ending}\0".encode("utf-8", "replace"))
    return known


def file_state(told: os.stat_result) -> FileState:
    """The state of a file that is read now."""
    state = state_from_stat(told)
    fresh = 0 <= time.time_ns() - state.ctime_ns < CLOCK_NS
    return msgspec.structs.replace(state, ctime_ns=0) if fresh else state


def state_from_stat(told: os.stat_result) -> FileState:
    """The state of a file as the system tells it."""
    return FileState(min(told.st_mtime_ns, LAST_NS), min(told.st_ctime_ns, LAST_NS), told.st_size)


def record_without_symbols(state: FileState, problem: str, language: Language | None) -> FileRecord:
    """A file of which no facts are taken, and its language, if that is known."""
    named = language.name if language is not None else ""
    return FileRecord(FileState(state.mtime_ns, state.ctime_ns, state.size, problem), named)


def failed_record(job: IndexJob, problem: str) -> FileRecord | None:
    """A file of which no facts can be taken; None where there is no file."""
    language = language_of(os.fsdecode(job.path))
    if job.text is not None:
        return record_without_symbols(FileState(0, 0, 0), problem, language)
    try:
        state = file_state(os.stat(os.path.join(job.root, job.path)))
    except OSError:
        return None
    return record_without_symbols(state, problem, language)
