"""The scan of the disk, and the detection of changes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from conftest import write_files
from winnow.index.builder.disk_scan import (
    Changes,
    ContentExclusions,
    FileListing,
    below_any,
    compare_with_listing,
    file_state_at,
    find_changes,
    is_listing_stale,
    list_with_times,
)
from winnow.index.store.file_record import FileState

FILES = {"a/b/one.py": "1\n", "a/two.txt": "2\n", "Rakefile": "3\n", "a/LICENSE": "4\n"}
LATER_NS = 10**9


def test_a_listing_has_files_and_their_folders(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "a/empty").mkdir()
    now = list_with_times(tmp_path, list(FILES), True, time.time_ns() + LATER_NS)
    assert set(now.paths) == set(FILES)
    assert {"", "a", "a/b", "a/empty"} <= set(now.times)
    assert not is_listing_stale(tmp_path, now.times)
    write_files(tmp_path, {"a/empty/new.py": ""})
    assert is_listing_stale(tmp_path, now.times)


def test_a_folder_that_changes_during_a_listing_has_an_unknown_mtime(tmp_path: Path) -> None:
    began = time.time_ns() - LATER_NS
    write_files(tmp_path, FILES)
    now = list_with_times(tmp_path, list(FILES), True, began)
    assert is_listing_stale(tmp_path, now.times)


def test_a_changed_ignore_file_makes_the_listing_stale(tmp_path: Path) -> None:
    write_files(tmp_path, {**FILES, "a/.gitignore": "x\n", ".git/info/exclude": ""})
    for name in ("a/.gitignore", ".git/info/exclude"):
        now = list_with_times(tmp_path, list(FILES), True, time.time_ns() + LATER_NS)
        assert not is_listing_stale(tmp_path, now.times)
        os.utime(tmp_path / name, (1, 1))
        assert is_listing_stale(tmp_path, now.times)


def test_changes_are_found_by_listing_and_by_checking_indexed_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"old.py": "", "new.py": "", "same.py": ""})
    os.utime(tmp_path / "new.py", (10, 10))
    os.utime(tmp_path / "old.py", (5, 5))
    same = file_state_at(str(tmp_path), "same.py")
    assert same is not None
    known = {"same.py": same, "old.py": FileState(1, 1, 0), "gone.py": FileState(1, 1, 1)}
    paths = ["same.py", "new.py", "old.py", "gone while they were listed.py"]
    now = list_with_times(tmp_path, paths, True, time.time_ns())
    expected = Changes(["new.py", "old.py"], ["gone.py"])
    assert compare_with_listing(tmp_path, known.items(), now, ContentExclusions([])) == (
        expected,
        3,
    )
    assert find_changes(tmp_path, known.items()) == Changes(["old.py"], ["gone.py"])
    # An incomplete listing does not prove that a file was deleted.
    changes, _ = compare_with_listing(
        tmp_path, known.items(), FileListing(now.paths, {}, False), ContentExclusions([])
    )
    assert changes.gone == []


def test_files_below_paths_are_found() -> None:
    paths = ["a/b/c.py", "a/bc.py", "d.py", "a/b/c.txt"]
    assert below_any(paths, ["a/b", "d.py", "x"]) == ["a/b/c.py", "d.py", "a/b/c.txt"]
