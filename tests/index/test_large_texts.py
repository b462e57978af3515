"""Files that are too large for symbols and ranking: only their trigrams are indexed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from winnow.index.builder import extraction
from winnow.index.builder.extraction import extract_file
from winnow.index.postings.trigrams import trigrams_of
from winnow.index.store.file_record import FileRecord, IndexJob

MOST = 1_000


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "PIECE_BYTES", 300)


def extracted(folder: Path, raw: bytes, name: str = "large.txt", masked: bool = True) -> FileRecord:
    (folder / name).write_bytes(raw)
    found = extract_file(IndexJob(os.fsencode(folder), os.fsencode(name), MOST, masked=masked))
    assert found is not None
    return found


def test_a_large_file_has_all_its_trigrams(tmp_path: Path) -> None:
    raw = b"".join(b"line %d, and what follows\n" % number for number in range(200)) + b"the end"
    found = extracted(tmp_path, raw)
    assert found.state.problem == "it is larger than 1,000 bytes"
    assert found.contents is not None
    assert found.contents.covered
    assert found.contents.trigrams == trigrams_of(raw)
    assert len(np.frombuffer(found.contents.chunks, np.uint32)) == 0
    assert not found.binary


def test_the_key_covers_the_text_and_the_file_extension(tmp_path: Path) -> None:
    raw = b"some text\n" * 200
    keys = [
        extracted(tmp_path, raw).key,
        extracted(tmp_path, raw, "other.txt").key,
        extracted(tmp_path, raw + b"more").key,
        extracted(tmp_path, raw, "large.md").key,
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_file_with_null_bytes_is_binary(tmp_path: Path) -> None:
    found = extracted(tmp_path, b"\0" + b"text\n" * 400)
    assert (found.binary, found.contents) == (True, None)


@pytest.mark.parametrize(
    "raw",
    [
        b"text\n" * 400 + b"key = 'AKIAIOSFODNN7ABCDEFG'\n",
        b"x" * 2_000 + b"\n",
        "text\n".encode("utf-16") * 400,
    ],
    ids=["a secret", "a long line", "another encoding"],
)
def test_a_large_file_is_not_indexed_if_it_has(tmp_path: Path, raw: bytes) -> None:
    assert extracted(tmp_path, raw).contents is None


def test_a_huge_file_is_not_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MOST_SEARCHED", 2_000)
    assert extracted(tmp_path, b"text\n" * 500).contents is None
    assert extracted(tmp_path, b"text\n" * 300).contents is not None
