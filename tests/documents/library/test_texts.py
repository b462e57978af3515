"""Texts on disk are written atomically, and their total size is limited."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from winnow.documents.library.locations import Anchor, DocumentLocation, TextMap
from winnow.documents.library.texts import (
    ABANDONED_SECONDS,
    TextStore,
    key_of,
    key_of_path,
    text_path,
)

KEY = "0123456789abcdef"
MAP = TextMap(
    "pdf",
    2,
    (Anchor(1, DocumentLocation(page=1), "Page 1"), Anchor(2, DocumentLocation(page=2), "Page 2")),
)


def taking(*lines: str) -> Callable[[Callable[[bytes], object]], TextMap]:
    def take(write: Callable[[bytes], object]) -> TextMap:
        for line in lines:
            write(f"{line}\n".encode())
        return MAP

    return take


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_text_and_its_map_are_read_as_written(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    assert texts.load_map(KEY) is None
    assert texts.write(KEY, taking("eins", "", "drei ü")) == MAP
    assert texts.load_map(KEY) == MAP
    assert texts.lines(KEY) == ["eins", "", "drei ü"]
    assert files(tmp_path) == ["01/23456789abcdef.map", "01/23456789abcdef.txt"]
    assert key_of_path(text_path(KEY)) == KEY


def test_an_unfinished_text_leaves_no_file(tmp_path: Path) -> None:
    def broken(write: Callable[[bytes], object]) -> TextMap:
        write(b"half\n")
        raise ValueError("broken")

    texts = TextStore(tmp_path)
    with pytest.raises(ValueError, match="broken"):
        texts.write(KEY, broken)
    assert files(tmp_path) == []
    assert texts.load_map(KEY) is None


def test_a_damaged_map_is_missing(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    texts.write(KEY, taking("a"))
    (tmp_path / "01/23456789abcdef.map").write_bytes(b"\xc1\xff")
    assert texts.load_map(KEY) is None


def test_an_empty_text_has_no_lines(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    texts.write(KEY, taking())
    assert texts.lines(KEY) == []


def test_a_key_depends_on_the_content_and_the_format() -> None:
    def key(content: bytes, name: str = "pdf", ocr: bool = False) -> str:
        return key_of(io.BytesIO(content), name, ocr)

    large = b"x" * 5_000_000
    assert key(large) == key(large)
    assert len({key(b"a"), key(b"b"), key(large), key(b"a", "docx"), key(b"a", ocr=True)}) == 5


def test_the_least_recently_used_texts_are_deleted_first(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    keys = [f"{number:02}aaaaaaaa" for number in range(10)]
    for age, key in enumerate(keys):
        texts.write(key, taking("x" * 10_000))
        for end in ("txt", "map"):
            long_ago = time.time() - 1000 * (age + 1)
            os.utime(tmp_path / key[:2] / f"{key[2:]}.{end}", (long_ago, long_ago))
    texts.mark_used([keys[9]])
    size = texts.trim(1 << 40)
    assert size > 100_000
    assert texts.trim(size - 1) <= size * 0.8
    left = [key for key in keys if texts.load_map(key)]
    assert left == [*keys[: len(left) - 1], keys[9]]
    assert len(left) in (7, 8)
    # No file of the others remains.
    assert len(files(tmp_path)) == 2 * len(left)
    texts.mark_used(["gone"])


def test_texts_used_before_the_clock_was_set_back_are_deleted(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    texts.write(KEY, taking("a"))
    for path in files(tmp_path):
        os.utime(tmp_path / path, (time.time() + 86_400, time.time() + 86_400))
    assert texts.trim(0) == 0
    assert files(tmp_path) == []


def test_old_unfinished_files_are_deleted(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    texts.write(KEY, taking("a"))
    for name, age in (("new-old", ABANDONED_SECONDS + 60), ("new-now", 0)):
        (tmp_path / "01" / name).write_text("half")
        os.utime(tmp_path / "01" / name, (time.time() - age, time.time() - age))
    texts.trim(1 << 40)
    assert files(tmp_path) == ["01/23456789abcdef.map", "01/23456789abcdef.txt", "01/new-now"]


def test_overlay_folders_of_killed_processes_are_deleted(tmp_path: Path) -> None:
    texts = TextStore(tmp_path)
    for name, age in (("laid-old", ABANDONED_SECONDS + 60), ("laid-now", 0)):
        (tmp_path / name / "0").mkdir(parents=True)
        (tmp_path / name / "0" / "a.pdf").write_text("text")
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    texts.trim(1 << 40)
    assert files(tmp_path) == ["laid-now/0/a.pdf"]


def test_links_are_in_another_folder_if_the_cache_is_read_only(tmp_path: Path) -> None:
    with TextStore(tmp_path).overlay_folder() as folder:
        assert Path(folder).parent == tmp_path
    with TextStore(tmp_path / "gone").overlay_folder() as folder:
        assert tmp_path not in Path(folder).parents


def test_unrelated_files_are_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "laid-x").mkdir()
    (tmp_path / "laid-x" / "a.txt").write_text("a")
    (tmp_path / "files.db").write_text("b")
    assert TextStore(tmp_path).trim(0) == 0
    assert files(tmp_path) == ["files.db", "laid-x/a.txt"]


def test_a_deleted_folder_has_no_texts(tmp_path: Path) -> None:
    assert TextStore(tmp_path / "gone").trim(0) == 0
