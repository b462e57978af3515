"""Truncated, changed or unfinished segments: always detected, and never a crash."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from conftest import child_environment, requires_posix
from segment_texts import random_texts
from winnow.index.postings.building import write_texts
from winnow.index.postings.contents import FIELDS, Contents
from winnow.index.postings.layout import SegmentWriter
from winnow.index.postings.merging import merge_segments
from winnow.index.postings.segment import (
    UNFINISHED,
    Segment,
    SegmentDamaged,
    in_memory,
    write_segment,
)
from winnow.index.postings.trigrams import Condition, TrigramQuery

TEXTS = random_texts(4, chunks=2, vocabulary=12)


def bytes_of(texts: Mapping[bytes, Contents]) -> bytes:
    stream = io.BytesIO()
    writer = SegmentWriter(stream, io.BytesIO)
    write_texts(writer, texts)
    writer.finish()
    return stream.getvalue()


@pytest.fixture(scope="module")
def whole() -> bytes:
    return bytes_of(TEXTS)


def ask_everything(segment: Segment) -> None:
    for trigram in range(12):
        segment.documents_with(Condition(TrigramQuery((trigram, 3))))
    for field in FIELDS:
        for term in range(12):
            segment.postings(field.name, [term**3])
        segment.lengths(field.name).sum()
    assert len(segment.chunk_documents) == segment.chunks
    assert len(list(segment.keys)) == segment.documents
    for lists in (segment.trigrams, *segment.fields.values()):
        lists.weights()
        lists.unpack(0, len(lists.keys))


@pytest.mark.slow
@pytest.mark.parametrize("change", [1, 0xFF])
def test_every_changed_byte_is_detected_on_reading(change: int, whole: bytes) -> None:
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= change
        with pytest.raises(SegmentDamaged):
            Segment.from_bytes(bytes(damaged)).verify()
        with pytest.raises(SegmentDamaged):
            ask_everything(Segment.from_bytes(bytes(damaged)))


@pytest.fixture(scope="module")
def large() -> bytes:
    """Create a segment of several blocks, each with its own checksum."""
    data = bytes_of(random_texts(600, chunks=9, vocabulary=3000))
    assert len(data) > 5 * 65536
    return data


def test_a_segment_with_a_damaged_block_never_answers_wrong(large: bytes) -> None:
    """Some blocks are enough for most answers, and the others are never read (#21)."""
    whole = Segment.from_bytes(large)
    terms = range(0, 3000, 100)
    right = [postings_of(whole, term) for term in terms]
    drawn = random.Random(0)
    answered = refused = 0
    for place in (drawn.randrange(len(large)) for _ in range(100)):
        damaged = bytearray(large)
        damaged[place] ^= 1 << drawn.randrange(8)
        for term, wanted in zip(terms, right, strict=True):
            try:
                assert postings_of(Segment.from_bytes(bytes(damaged)), term) == wanted
                answered += 1
            except SegmentDamaged:
                refused += 1
    assert min(answered, refused) > 100


def postings_of(segment: Segment, term: int) -> list[object]:
    found = [segment.postings(field.name, [term]) for field in FIELDS]
    condition = Condition(TrigramQuery((term,)))
    return [
        [(numbers.tolist(), counts.tolist()) for [(numbers, counts)] in found],
        segment.documents_with(condition).tolist(),
    ]


def test_a_truncated_file_is_not_opened(whole: bytes, tmp_path: Path) -> None:
    for size in range(len(whole)):
        with pytest.raises(SegmentDamaged):
            Segment.from_bytes(whole[:size])
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(SegmentDamaged, match="empty"):
        Segment(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        Segment(tmp_path / "missing")


def test_a_file_that_is_not_a_segment_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"SQLite format 3\0" * 1000)
    with pytest.raises(SegmentDamaged, match="not a segment of this version"):
        Segment(tmp_path / "other")


def test_a_segment_under_the_name_of_another_is_not_opened(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_segment(tmp_path / name, TEXTS)
    (tmp_path / "other").replace(tmp_path / "one")
    with pytest.raises(SegmentDamaged, match="it is a copy of other"):
        Segment(tmp_path / "one")


def test_a_damaged_segment_is_not_merged(large: bytes, tmp_path: Path) -> None:
    damaged = bytearray(large)
    damaged[len(large) // 2] ^= 1
    segment = Segment.from_bytes(bytes(damaged))
    with pytest.raises(SegmentDamaged):
        merge_segments(tmp_path / "merged", [(segment, np.ones(segment.documents, bool))])
    assert list(tmp_path.iterdir()) == []


@requires_posix
def test_a_full_disk_leaves_no_partial_file(whole: bytes, tmp_path: Path) -> None:
    import resource

    texts = random_texts(300, chunks=9, vocabulary=3000)
    segment = in_memory(texts)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 10, 5_000, segment.size // 2, segment.size - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(OSError):
                write_segment(tmp_path / "segment", texts)
            with pytest.raises(OSError):
                merge_segments(
                    tmp_path / "merged", [(segment, np.ones(segment.documents, np.bool_))]
                )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert list(tmp_path.iterdir()) == []
    size = write_segment(tmp_path / "segment", texts)
    assert size == (tmp_path / "segment").stat().st_size


@pytest.mark.process
@requires_posix
def test_a_killed_writer_leaves_no_segment(tmp_path: Path) -> None:
    program = f"""
import os, pathlib
import numpy as np
from winnow.index.postings.layout import writing
with writing(pathlib.Path({str(tmp_path / "segment")!r})) as writer:
    writer.add("keys", "|u1", [np.zeros(100_000, np.uint8)])
    os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    done = subprocess.run([sys.executable, "-c", program], env=child_environment(tmp_path))
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    assert left.name.startswith("segment.")
    assert left.name.endswith(UNFINISHED)
