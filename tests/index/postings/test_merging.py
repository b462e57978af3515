"""Merging: the result equals a segment written from the remaining texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segment_texts import random_texts, some_texts
from winnow.index.postings.contents import Contents
from winnow.index.postings.merging import merge_segments
from winnow.index.postings.segment import in_memory, write_segment


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15
)
@given(texts=some_texts(), data=st.data())
def test_merging_equals_writing_the_remaining_texts(
    texts: dict[bytes, Contents], data: st.DataObject, tmp_path: Path
) -> None:
    keys = list(texts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(keys)), max_size=3)))
    groups = [keys[a:b] for a, b in zip([0, *cuts], [*cuts, len(keys)], strict=True)]
    kept = data.draw(st.sets(st.sampled_from(keys))) if keys else set()
    segments = [
        (in_memory({key: texts[key] for key in group}), np.array([key in kept for key in group]))
        for group in groups
    ]
    file = tmp_path / "segment"
    size = merge_segments(file, [(segment, mask.astype(bool)) for segment, mask in segments])
    merged = file.read_bytes()
    write_segment(file, {key: texts[key] for key in keys if key in kept})
    assert merged == file.read_bytes()
    assert size == len(merged)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 64, 1000])
def test_the_block_size_does_not_change_the_result(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = random_texts(60, vocabulary=2000)
    kept = np.arange(60) % 7 != 3
    segments = [(in_memory(texts), kept), (in_memory({}), kept[:0])]

    def files() -> list[bytes]:
        write_segment(tmp_path / "written", texts)
        merge_segments(tmp_path / "merged", segments)
        return [(tmp_path / name).read_bytes() for name in ("written", "merged")]

    before = files()
    monkeypatch.setattr("winnow.index.postings.building.BLOCK", block)
    monkeypatch.setattr("winnow.index.postings.building._SAMPLED", 1)
    monkeypatch.setattr("winnow.index.postings.merging.BLOCK", block)
    assert files() == before


def test_too_many_documents_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.index.postings.merging.MOST_DOCUMENTS", 9)
    segment = in_memory(random_texts(5, chunks=0))
    kept = np.ones(segment.documents, bool)
    with pytest.raises(ValueError, match="too many"):
        merge_segments(tmp_path / "merged", [(segment, kept), (segment, kept)])
    assert list(tmp_path.iterdir()) == []
