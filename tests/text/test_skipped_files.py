"""Parsing the real log of ripgrep."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conftest import RIPGREP, git_init, requires_posix, write_files
from winnow.text import skipped_files as module
from winnow.text.skipped_files import DEBUG, SkippedFiles, as_logged

pytestmark = pytest.mark.process


def parsed(folder: Path, *arguments: str) -> tuple[SkippedFiles, list[bytes]]:
    """Return the skipped files of a run, and the lines outside the log."""
    command = [RIPGREP, "--no-config", DEBUG, *arguments, "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    skipped = SkippedFiles()
    return skipped, [line for line in run.stderr.splitlines() if not skipped.parse(line)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "ign/\n*.log\n", ".ignore": "by_ignore\n", "a.py": "x", "ign/b": "",
        "c.log": "", "by_ignore": "", "sub/.hid/d": "", "sub/.gitignore": "e\n", "sub/e": "",
        "big": "x" * 2_000,
    }  # fmt: skip
    return write_files(git_init(tmp_path / "root"), files)


def test_skipped_files_are_counted_by_reason(root: Path) -> None:
    skipped, complaints = parsed(root, "--files", "--glob=!sub/deep")
    assert complaints == []
    assert skipped.has_log
    assert (skipped.ignored, skipped.hidden) == (
        4,
        4,
    )  # .git does not count
    assert skipped.excluded == {
        ".git", ".gitignore", ".ignore", "ign", "c.log", "by_ignore", "sub/.hid", "sub/.gitignore",
        "sub/e",
    }  # fmt: skip


def test_files_excluded_by_the_caller_are_not_counted(root: Path) -> None:
    skipped, _ = parsed(root, "--files", "--hidden", "--no-ignore", "--glob=!.git", "--glob=!/sub")
    assert (skipped.ignored, skipped.hidden) == (0, 0)
    assert skipped.excluded == {".git", "sub"}


def test_binary_and_large_files_are_counted(root: Path) -> None:
    (root / "bin").write_bytes(b"x\n\0")
    (root / "late").write_bytes(b"x\n" * 50_000 + b"\0")
    skipped, _ = parsed(root, "--max-filesize=1K", "-e", "x")
    assert (skipped.too_large, skipped.binary) == (2, {"bin": 2})
    skipped, _ = parsed(root, "-e", "x")
    assert (skipped.too_large, skipped.binary) == (0, {"bin": 2, "late": 100_000})


@requires_posix
def test_links_to_files_are_counted_and_fifos_are_not(root: Path) -> None:
    (root / "file").symlink_to("a.py")
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    skipped, _ = parsed(root, "--files")
    assert skipped.symlinks == 2


@requires_posix
def test_names_of_any_bytes(root: Path) -> None:
    for name in (b"\xff.log", b"new\nline.log", b"a: Ignore(IgnoreMatch(x.log", "ü😀.log".encode()):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).touch()
    skipped, complaints = parsed(root, "--files")
    assert complaints == []
    assert skipped.ignored == 8
    names = [b"\xff.log", b"new\nline.log", "ü😀.log".encode()]
    assert {as_logged(os.fsdecode(name)) for name in names} <= skipped.excluded


def test_files_of_other_types_are_not_counted(root: Path) -> None:
    skipped, _ = parsed(root, "--files", "--type=py")
    assert "big" not in skipped.excluded
    assert "ign" in skipped.excluded


def test_error_messages_are_not_part_of_the_log() -> None:
    skipped = SkippedFiles()
    taken = map(skipped.parse, [b"rg: ./a: Permission denied (os error 13)", b"", b"anything"])
    assert (list(taken), skipped.has_log) == ([False] * 3, False)
    assert skipped.parse(b"rg: DEBUG|something::new|x.rs:1: of a later version")
    begun = b"rg: DEBUG|ignore::walk|crates/ignore/src/walk.rs:1: ignoring ./a"
    assert skipped.parse(begun)
    assert not skipped.parse(b"rg: ./b: Permission denied (os error 13)")
    assert skipped.parse(b"b: Ignore(IgnoreMatch(Hidden))")
    assert (skipped.hidden, skipped.excluded) == (1, {"a\nb"})


def test_an_endless_name_does_not_use_memory() -> None:
    skipped = SkippedFiles()
    skipped.parse(b"rg: DEBUG|ignore::walk|x.rs:1: ignoring ./" + b"a" * module.LONGEST)
    assert not skipped.parse(b"b")


def test_too_many_paths_are_reported_as_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    skipped = SkippedFiles()
    for name in (b"a", b"b", b"c"):
        assert not skipped.is_truncated
        skipped.parse(
            b"rg: DEBUG|ignore::walk|x.rs:1: ignoring ./%s: Ignore(IgnoreMatch(Hidden))" % name
        )
    assert (skipped.is_truncated, skipped.hidden, skipped.excluded) == (
        True,
        3,
        {"a", "b"},
    )


def test_the_files_that_ignore_others_are_known(root: Path) -> None:
    skipped, _ = parsed(root, "--files")
    assert skipped.ignore_files == {".gitignore", ".ignore", "sub/.gitignore"}
