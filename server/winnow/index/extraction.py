"""The facts of one file, or of a text in its place: read, decoded, and looked at before parsing.

Runs in a worker, see :mod:`winnow.index.worker`. Offsets in facts are into the text in UTF-8,
without a mark, whatever the file's encoding is.
"""

from __future__ import annotations

import os

from winnow.errors import NotFound, PathOutsideWorkspace, SearchError
from winnow.index.files import FileFacts, FileState, Job, failed, file_state, without_facts
from winnow.symbols.extract import extract
from winnow.symbols.language import language_of
from winnow.symbols.packed import packed
from winnow.text.encodings import SAMPLE_BYTES, binary_kind, decoded
from winnow.text.paths import open_regular

# Beyond this, and with lines that long on average, nobody has written a text by hand, and what it
# defines says nothing: bundles, tables of numbers.
MINIFIED_BYTES = 20_000
LINE_BYTES = 400
LONGEST_LINE_BYTES = 200_000
FIRST_LINE_BYTES = 200


def extract_file(job: Job) -> FileFacts | None:
    """The facts of a file, or why there are none; None where no such file is in the folder."""
    root, path = os.fsdecode(job.root), os.fsdecode(job.path)
    if job.text is not None:
        return _extracted(path, FileState(0, 0, len(job.text)), job.text)
    try:
        descriptor = open_regular(os.path.join(root, path), root)
    except (NotFound, PathOutsideWorkspace):
        return None
    except SearchError:  # it is no regular file, or cannot be read
        return failed(job, "it cannot be read")
    with open(descriptor, "rb") as file:
        state = file_state(os.fstat(file.fileno()))
        if state.size > job.max_bytes:
            problem = f"it is larger than {job.max_bytes:,} bytes"
            return without_facts(state, problem, language_of(path))
        raw = file.read(job.max_bytes + 1)
    text = decoded(raw)
    if text is None:
        problem = f"it is {binary_kind(raw[:SAMPLE_BYTES])}"
        return without_facts(state, problem, language_of(path))
    return _extracted(path, state, text.encode("utf-8", "replace"))


def _extracted(path: str, state: FileState, source: bytes) -> FileFacts:
    language = language_of(path, source[:FIRST_LINE_BYTES].partition(b"\n")[0])
    if language is None:
        return without_facts(state, "its language is not known", None)
    if problem := _unwritten(source):
        return without_facts(state, problem, language)
    facts = extract(language, source)
    # A header may be of another language than its name says.
    return FileFacts(state, facts.language, packed(facts))


def _unwritten(source: bytes) -> str:
    """Why a text is none that somebody has written, if it is so."""
    if len(source) < MINIFIED_BYTES:
        return ""
    lines = source.count(b"\n") + 1
    if len(source) > lines * LINE_BYTES:
        return f"it is minified or generated: {len(source) // lines:,} bytes a line"
    longest = max(map(len, source.split(b"\n")))
    if longest > LONGEST_LINE_BYTES:
        return f"it is minified or generated: it has a line of {longest:,} bytes"
    return ""
