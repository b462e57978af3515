"""The files that git tracks, read from its index in all formats that git writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import git, git_commit, git_init, write_files
from winnow.storage import git_index
from winnow.storage.git_index import UnreadableIndex, is_tracked

pytestmark = pytest.mark.process

FILES = {
    "!first": "",
    ".github/workflows/ci.yml": "",
    ".winnowignore": "",
    ".winnow-new-a/x": "",
    "a/.winnow/b": "",
    "z.py": "",
    f"long/{'n' * 200}/{'m' * 200}": "",
}
TRACKED = {**FILES, ".winnow/learning.db": ""}


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_each_version_and_hash_is_read(tmp_path: Path, version: str, algorithm: str) -> None:
    for name, files in (("without", FILES), ("with", TRACKED)):
        root = tmp_path / name
        command = ["git", "init", "-q", f"--object-format={algorithm}", str(root)]
        subprocess.run(command, check=True)
        write_files(root, files)
        git(root, "add", "--all", "--intent-to-add")  # an extended flag
        git(root, "add", "z.py")
        git(root, "update-index", "--index-version", version)
        assert is_tracked(root, ".winnow") == (name == "with")
        assert is_tracked(root, ".github")
        assert not is_tracked(root, ".none")


def test_names_are_compared_without_case(tmp_path: Path) -> None:
    root = git_commit(tmp_path / "r", {".Winnow/learning.db": ""})
    assert is_tracked(root, ".winnow")


def test_a_link_or_submodule_of_that_name_counts(tmp_path: Path) -> None:
    root = git_init(tmp_path / "r")
    (root / ".winnow").symlink_to("/tmp")
    git(root, "add", ".winnow")
    assert is_tracked(root, ".winnow")
    git_commit(tmp_path / "sub", {"a": ""})
    root = git_init(tmp_path / "s")
    git(root, "submodule", "--quiet", "add", str(tmp_path / "sub"), ".winnow")
    assert is_tracked(root, ".winnow")


def test_a_split_index_is_read(tmp_path: Path) -> None:
    for name, files in (("without", FILES), ("with", TRACKED)):
        root = git_commit(tmp_path / name, files)
        git(root, "update-index", "--split-index")
        write_files(root, {"new.py": ""})
        git(root, "add", "new.py")
        assert list((root / ".git").glob("sharedindex.*"))
        assert is_tracked(root, ".winnow") == (name == "with")


def test_a_working_tree_has_its_own_index(tmp_path: Path) -> None:
    root = git_commit(tmp_path / "r", FILES)
    git(root, "worktree", "add", "--quiet", str(tmp_path / "w"))
    assert not is_tracked(tmp_path / "w", ".winnow")
    git_commit(tmp_path / "w", {".winnow/owner": ""})
    assert is_tracked(tmp_path / "w", ".winnow")
    assert not is_tracked(root, ".winnow")


def test_without_an_index_nothing_is_tracked(tmp_path: Path) -> None:
    assert not is_tracked(tmp_path, ".winnow")
    assert not is_tracked(git_init(tmp_path / "r"), ".winnow")


def test_only_the_beginning_of_the_index_is_read(tmp_path: Path) -> None:
    root = git_commit(tmp_path / "r", {".a": "", "b.py": ""})
    index = root / ".git/index"
    index.write_bytes(index.read_bytes()[:-30])
    assert not is_tracked(root, ".winnow")


@pytest.mark.parametrize(
    "data",
    [b"", b"DIRC", b"DIRC\0\0\0\5\0\0\0\1", b"DIRC\0\0\0\2\0\0\0\1", b"DIRC" + b"\xff" * 999],
)
def test_a_damaged_git_index_is_an_error(tmp_path: Path, data: bytes) -> None:
    root = git_init(tmp_path / "r")
    (root / ".git/index").write_bytes(data)
    with pytest.raises(UnreadableIndex):
        is_tracked(root, ".winnow")


def test_hostile_markers_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nothing")
    with pytest.raises(UnreadableIndex):
        is_tracked(tmp_path, ".winnow")
    (tmp_path / ".git").write_text("gitdir: g\n")
    (tmp_path / "g").mkdir()
    (tmp_path / "g/index").symlink_to("/dev/zero")
    with pytest.raises(UnreadableIndex):
        is_tracked(tmp_path, ".winnow")


def test_the_number_of_names_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git_commit(tmp_path / "r", FILES)
    monkeypatch.setattr(git_index, "MAX_ENTRIES", 2)
    with pytest.raises(UnreadableIndex):
        is_tracked(root, ".winnow")
