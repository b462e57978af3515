"""What ripgrep says it passed over, as it really says it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conftest import RIPGREP, git_init, requires_posix, write_files
from winnow.text import skipped_files as module
from winnow.text.skipped_files import DEBUG, Notes, logged, skipped
from winnow.types import Skipped

pytestmark = pytest.mark.process


def noted(folder: Path, *arguments: str) -> tuple[Notes, list[bytes]]:
    """The notes of a run, and the lines that are no part of the log."""
    command = [RIPGREP, "--no-config", DEBUG, *arguments, "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    notes = Notes()
    return notes, [line for line in run.stderr.splitlines() if not notes.take(line)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "ign/\n*.log\n", ".ignore": "by_ignore\n", "a.py": "x", "ign/b": "",
        "c.log": "", "by_ignore": "", "sub/.hid/d": "", "sub/.gitignore": "e\n", "sub/e": "",
        "big": "x" * 2_000,
    }  # fmt: skip
    return write_files(git_init(tmp_path / "root"), files)


def test_everything_that_is_left_out_is_counted_by_its_reason(root: Path) -> None:
    notes, complaints = noted(root, "--files", "--glob=!sub/deep")
    assert complaints == []
    assert notes.heard
    assert (notes.ignored, notes.hidden) == (4, 4)  # .git, which nobody misses, does not count
    assert notes.left_out == {
        ".git", ".gitignore", ".ignore", "ign", "c.log", "by_ignore", "sub/.hid", "sub/.gitignore",
        "sub/e",
    }  # fmt: skip


def test_what_the_caller_excludes_is_left_out_and_not_counted(root: Path) -> None:
    notes, _ = noted(root, "--files", "--hidden", "--no-ignore", "--glob=!.git", "--glob=!/sub")
    assert (notes.ignored, notes.hidden) == (0, 0)
    assert notes.left_out == {".git", "sub"}


def test_binary_and_large_files_are_told(root: Path) -> None:
    (root / "bin").write_bytes(b"x\n\0")
    (root / "late").write_bytes(b"x\n" * 50_000 + b"\0")
    notes, _ = noted(root, "--max-filesize=1K", "-e", "x")
    assert (notes.too_large, notes.binary) == (2, {"bin": 2})
    notes, _ = noted(root, "-e", "x")
    assert (notes.too_large, notes.binary) == (0, {"bin": 2, "late": 100_000})


@requires_posix
def test_links_to_files_are_told_and_fifos_are_none(root: Path) -> None:
    (root / "file").symlink_to("a.py")
    (root / "gone").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    notes, _ = noted(root, "--files")
    assert notes.symlinks == 2


@requires_posix
def test_names_of_any_bytes(root: Path) -> None:
    for name in (b"\xff.log", b"new\nline.log", b"a: Ignore(IgnoreMatch(x.log", "ü😀.log".encode()):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).touch()
    notes, complaints = noted(root, "--files")
    assert complaints == []
    assert notes.ignored == 8
    names = [b"\xff.log", b"new\nline.log", "ü😀.log".encode()]
    assert {logged(os.fsdecode(name)) for name in names} <= notes.left_out


def test_files_that_are_of_no_type_asked_for_are_not_left_out(root: Path) -> None:
    notes, _ = noted(root, "--files", "--type=py")
    assert "big" not in notes.left_out
    assert "ign" in notes.left_out


def test_complaints_are_no_notes() -> None:
    notes = Notes()
    taken = map(notes.take, [b"rg: ./a: Permission denied (os error 13)", b"", b"anything"])
    assert (list(taken), notes.heard) == ([False] * 3, False)
    assert notes.take(b"rg: DEBUG|something::new|x.rs:1: of a later version")
    begun = b"rg: DEBUG|ignore::walk|crates/ignore/src/walk.rs:1: ignoring ./a"
    assert notes.take(begun)
    assert not notes.take(b"rg: ./b: Permission denied (os error 13)")
    assert notes.take(b"b: Ignore(IgnoreMatch(Hidden))")
    assert (notes.hidden, notes.left_out) == (1, {"a\nb"})


def test_a_name_without_end_takes_no_memory() -> None:
    notes = Notes()
    notes.take(b"rg: DEBUG|ignore::walk|x.rs:1: ignoring ./" + b"a" * module.LONGEST)
    assert not notes.take(b"b")


def test_more_than_is_remembered_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    notes = Notes()
    for name in (b"a", b"b", b"c"):
        assert not notes.forgot
        notes.take(
            b"rg: DEBUG|ignore::walk|x.rs:1: ignoring ./%s: Ignore(IgnoreMatch(Hidden))" % name
        )
    assert (notes.forgot, notes.hidden, notes.left_out) == (True, 3, {"a", "b"})


def test_a_count_that_was_not_taken_is_absent() -> None:
    assert skipped(None) == Skipped()
    assert skipped(Notes(), binary=2) == Skipped(binary=2)
    notes = Notes()
    notes.take(b"rg: DEBUG|x|y.rs:1: anything")
    nothing = Skipped(ignored=0, hidden=0, binary=0, too_large=0, unreadable=0)
    assert skipped(notes) == nothing
    assert skipped(notes, folder_links=0) == Skipped(
        ignored=0, hidden=0, binary=0, too_large=0, unreadable=0, symlink=0
    )
