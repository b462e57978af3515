"""The folder for the state of a root: which folders are trusted, and what replaces the others."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import git, git_commit, git_init, requires_posix, write_files
from winnow.storage import identity
from winnow.storage.secret import make_secret, read_secret
from winnow.storage.state_folder import (
    IGNORE,
    MARK,
    ROOT,
    User,
    create,
    examine,
    existing,
    file_mark,
    is_indexed,
    state_root,
)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path / "state/winnow", tmp_path / "cache")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", {"a.py": "a = 1\n"})


def contents(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def is_ignored(root: Path, user: User) -> bool:
    """Return True if the `.winnow` of a root is left unchanged, with a notice, and another folder
    is used."""
    own = root / ".winnow"
    before = contents(own)
    found = examine(root, user)
    assert existing(root, user) is None
    instead = create(root, user)
    assert instead == existing(root, user) != own
    assert contents(own) == before
    return bool(found.notice) and not found.trusted


def test_examining_creates_nothing(root: Path, user: User, tmp_path: Path) -> None:
    found = examine(root, user)
    assert (found.path, found.trusted, found.notice) == (root / ".winnow", False, None)
    assert existing(root, user) is None
    assert not is_indexed(root, user)
    assert {one.name for one in tmp_path.iterdir()} == {"root"}
    assert {one.name for one in root.iterdir()} == {"a.py"}


def test_a_folder_that_was_created_is_trusted_again(root: Path, user: User) -> None:
    folder = create(root, user)
    assert folder == root / ".winnow"
    assert set(contents(folder)) == {MARK, IGNORE}
    assert (folder / IGNORE).read_text() == "*\n"
    assert existing(root, user) == create(root, user) == folder
    assert examine(root, user).notice is None
    assert set(os.listdir(root)) == {"a.py", ".winnow"}
    (folder / "index-1.db").write_text("x")
    assert is_indexed(root, user)


@requires_posix
def test_folder_and_secret_are_private(root: Path, user: User) -> None:
    folder = create(root, user)
    assert user.state is not None
    secret = user.state / "secret"
    modes = [
        stat.S_IMODE(one.stat().st_mode) for one in (folder, folder / MARK, user.state, secret)
    ]
    assert modes == [0o700, 0o600, 0o700, 0o600]
    assert secret.read_bytes().hex() not in (folder / MARK).read_text()


def test_a_folder_that_moves_keeps_its_mark(root: Path, user: User, tmp_path: Path) -> None:
    create(root, user)
    moved = root.rename(tmp_path / "moved")
    assert existing(moved, user) == moved / ".winnow"


def copied(root: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", str(root), str(to)], check=True)


def packed(root: Path, to: Path) -> None:
    with tarfile.open(to.with_suffix(".tar"), "w") as archive:
        archive.add(root, ".")
    with tarfile.open(to.with_suffix(".tar")) as archive:
        archive.extractall(to)


def cloned(root: Path, to: Path) -> None:
    git(git_init(root), "add", "--force", "--all")
    git_commit(root)
    subprocess.run(["git", "clone", "-q", str(root), str(to)], check=True)
    (to / ".winnow").chmod(0o700)


@pytest.mark.process
@requires_posix
@pytest.mark.parametrize("copy", [copied, packed, cloned])
def test_a_copy_is_ignored_for_the_same_user(
    root: Path, user: User, tmp_path: Path, copy: Callable[[Path, Path], None]
) -> None:
    """#21, H2."""
    (create(root, user) / "learning.db").write_text("x")
    other = tmp_path / "copy"
    copy(root, other)
    assert (other / ".winnow" / MARK).read_bytes() == (root / ".winnow" / MARK).read_bytes()
    assert is_ignored(other, user)
    if copy is cloned:  # git also tracks it in the original
        assert is_ignored(root, user)
    else:
        assert existing(root, user) == root / ".winnow"


def test_a_folder_with_another_secret_is_ignored(root: Path, user: User, tmp_path: Path) -> None:
    create(root, User(tmp_path / "other/winnow", tmp_path / "cache"))
    assert is_ignored(root, user)


def test_a_folder_without_a_mark_is_ignored(root: Path, user: User) -> None:
    write_files(root, {".winnow/learning.db": "x"})
    assert is_ignored(root, user)
    notice = examine(root, user).notice
    assert notice is not None
    assert notice == (
        f".winnow in {root} is ignored: it has no mark."
        " Delete it to keep the index there, not in Winnow's cache."
    )


def test_the_state_returns_to_the_root_after_the_folder_is_deleted(root: Path, user: User) -> None:
    write_files(root, {".winnow/learning.db": "x"})
    assert create(root, user) != root / ".winnow"
    shutil.rmtree(root / ".winnow")
    assert create(root, user) == root / ".winnow" == existing(root, user)


@requires_posix
def test_a_symlink_is_ignored(root: Path, user: User, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"b.py": "b"})
    create(other, user)
    (root / ".winnow").symlink_to(other / ".winnow")
    assert is_ignored(root, user)


def test_a_file_instead_of_the_folder_is_ignored(root: Path, user: User) -> None:
    (root / ".winnow").write_text("x")
    assert create(root, user) == existing(root, user) != root / ".winnow"
    assert (root / ".winnow").read_text() == "x"


@requires_posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_ignored(root: Path, user: User, mode: int) -> None:
    create(root, user).chmod(mode)
    assert is_ignored(root, user)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another owner")
def test_a_folder_of_another_user_is_ignored(root: Path, user: User) -> None:
    folder = create(root, user)
    os.chown(folder, 12345, -1)
    try:
        assert is_ignored(root, user)
    finally:
        os.chown(folder, 0, -1)  # so that pytest can delete it later


@pytest.mark.process
@requires_posix
@pytest.mark.parametrize("name", [MARK, "learning.db"])
def test_a_folder_that_git_pull_changed_is_ignored(
    root: Path, user: User, tmp_path: Path, name: str
) -> None:
    """#21, H2: git overwrites ignored files without a warning."""
    upstream = git_commit(tmp_path / "upstream", {"a.py": "a = 1\n"})
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(upstream), str(clone)], check=True)
    folder = create(clone, user)
    (folder / "learning.db").write_text("ours")
    before = file_mark(folder, folder / "learning.db", user)
    write_files(upstream, {f".winnow/{name}": "forged"})
    git_commit(upstream)
    git(clone, "pull", "--quiet")
    assert (folder / name).read_text() == "forged"
    assert is_ignored(clone, user)
    if name != MARK:
        assert file_mark(folder, folder / name, user) != before


def test_a_file_mark_is_valid_for_one_file(root: Path, user: User, tmp_path: Path) -> None:
    folder = create(root, user)
    file = folder / "learning.db"
    with pytest.raises(FileNotFoundError):
        file_mark(folder, file, user)
    file.write_text("a")
    mark = file_mark(folder, file, user)
    assert re.fullmatch("[0-9a-f]{64}", mark)
    file.write_text("what is in it does not count")
    assert file_mark(folder, file, user) == mark
    kept = file.rename(folder / "kept")
    file.write_text("a")
    marks = {mark, file_mark(folder, file, user), file_mark(folder, kept, user)}
    assert len(marks) == 3
    kept.replace(file)
    assert file_mark(folder, file, user) == mark
    moved = root.rename(tmp_path / "moved")
    assert file_mark(moved / ".winnow", moved / ".winnow/learning.db", user) == mark


def test_without_a_creation_time_the_mark_covers_the_path(
    root: Path, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "creation_time", lambda path: None)
    assert create(root, user) == root / ".winnow" == existing(root, user)
    moved = root.rename(tmp_path / "moved")
    assert is_ignored(moved, user)
    monkeypatch.undo()
    assert existing(moved.rename(root), user) == root / ".winnow"


@pytest.mark.process
def test_concurrent_processes_create_one_folder(root: Path, user: User, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from winnow.storage.state_folder import User, create, existing\n"
        "root, state, cache = map(Path, sys.argv[1:])\n"
        "user = User(state, cache)\n"
        "for turn in sys.stdin:\n"
        "    assert create(root, user) == root / '.winnow' == existing(root, user)\n"
        "    print('made', flush=True)\n"
    )
    arguments = map(str, (root, user.state, user.cache))
    command = [sys.executable, "-c", program, *arguments]
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(4)
        ]
        children = [(one.stdin, one.stdout) for one in started if one.stdin and one.stdout]
        for _ in range(5):
            for begin, _ in children:
                begin.write("create\n")
                begin.flush()
            assert [made.readline() for _, made in children] == ["made\n"] * 4
            assert sorted(os.listdir(root)) == [".winnow", "a.py"]
            shutil.rmtree(root / ".winnow")
            shutil.rmtree(tmp_path / "state")


def test_leftovers_of_killed_processes_are_removed(root: Path, user: User) -> None:
    create(root, user).rename(root / ".winnow-new-killed")
    (root / ".winnow-new-empty").mkdir()
    theirs = write_files(root, {".winnow-new-theirs/.gitignore": "x"}) / ".winnow-new-theirs"
    (root / ".winnow-new-young").mkdir()
    for name in ("killed", "empty", "theirs"):
        os.utime(root / f".winnow-new-{name}", (1, 1))
    create(root, user)
    assert sorted(os.listdir(root)) == [".winnow", theirs.name, ".winnow-new-young", "a.py"]


@requires_posix
def test_the_cache_is_used_if_the_root_is_not_writable(
    root: Path, user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object, **named: object) -> str:
        if named.get("dir") == root:
            raise PermissionError(13, "refused")
        return made(*arguments, **named)  # type: ignore[no-any-return]

    made = __import__("tempfile").mkdtemp
    monkeypatch.setattr("tempfile.mkdtemp", refused)  # root may write anywhere
    folder = create(root, user)
    assert folder.is_relative_to(tmp_path / "cache")
    assert existing(root, user) == folder == create(root, user)
    assert examine(root, user).notice is None
    assert sorted(os.listdir(root)) == ["a.py"]


def test_the_setting_keeps_the_state_in_the_cache(root: Path, user: User, tmp_path: Path) -> None:
    in_cache = User(user.state, user.cache, "user")
    folder = create(root, in_cache)
    assert folder.parent == tmp_path / "cache/winnow/index"
    assert existing(root, in_cache) == folder
    assert sorted(os.listdir(root)) == ["a.py"]
    write_files(root, {".winnow/learning.db": "x"})
    assert examine(root, in_cache).notice is None


def test_a_new_root_at_the_same_path_has_new_state(root: Path, user: User) -> None:
    in_cache = User(user.state, user.cache, "user")
    folder = create(root, in_cache)
    (folder / "index-1.db").write_text("x")
    root.rename(root.with_name("moved"))
    root.mkdir()
    assert existing(root, in_cache) is None
    assert create(root, in_cache) == folder
    assert set(contents(folder)) == {MARK, ROOT}
    assert sorted(os.listdir(folder.parent)) == [folder.name]


def test_the_cache_drops_roots_that_were_deleted_long_ago(
    root: Path, user: User, tmp_path: Path
) -> None:
    in_cache = User(user.state, user.cache, "user")
    roots = [tmp_path / name for name in ("gone", "gone lately", "there")]
    for one in roots:
        one.mkdir()
    gone, lately, there = (create(one, in_cache) for one in roots)
    for folder in (gone, there):
        os.utime(folder, (1, 1))
    for one in roots[:2]:
        one.rmdir()
    new = create(root, in_cache)
    assert set(new.parent.iterdir()) == {lately, there, new}


@pytest.mark.parametrize("location", ["workspace", "user"])
def test_without_a_folder_for_the_user_nothing_is_trusted(
    root: Path, user: User, location: str
) -> None:
    create(root, user)
    nobody = User(None, None, location)  # type: ignore[arg-type]
    assert existing(root, nobody) is None
    with pytest.raises(OSError, match="HOME is not set"):
        create(root, nobody)


def test_the_environment_determines_the_folders(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path / "s"), "XDG_CACHE_HOME": str(tmp_path / "c")}
    if sys.platform == "linux":
        assert User.of(environment) == User(tmp_path / "s/winnow", tmp_path / "c")


# --- the secret ----------------------------------------------------------------------------


def test_the_secret_is_created_once(tmp_path: Path) -> None:
    assert read_secret(tmp_path / "state") is None
    secret = make_secret(tmp_path / "state")
    assert len(secret) == 32
    assert make_secret(tmp_path / "state") == secret == read_secret(tmp_path / "state")


@requires_posix
@pytest.mark.parametrize("spoil", ["mode", "short", "long", "symlink"])
def test_a_readable_secret_is_replaced(tmp_path: Path, spoil: str) -> None:
    state = tmp_path / "state"
    before = make_secret(state)
    file = state / "secret"
    if spoil == "mode":
        file.chmod(0o640)
    elif spoil == "symlink":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_bytes(before[1:] if spoil == "short" else before * 2)
    assert read_secret(state) is None
    after = make_secret(state)
    assert after != before
    assert after == read_secret(state)
    assert stat.S_IMODE(file.lstat().st_mode) == 0o600


@requires_posix
def test_a_state_folder_that_others_can_write_has_no_secret(tmp_path: Path) -> None:
    state = tmp_path / "state"
    make_secret(state)
    state.chmod(0o777)
    assert read_secret(state) is None
    with pytest.raises(PermissionError):
        make_secret(state)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another owner")
def test_nothing_is_written_into_the_home_of_another_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12345, -1)
    try:
        with pytest.raises(PermissionError):
            make_secret(home / "state")
        assert list(home.iterdir()) == []
    finally:
        os.chown(home, 0, -1)  # so that pytest can delete it later


# --- a shared state for a tree outside git -------------------------------------------------


def test_a_subfolder_has_the_state_of_its_nearest_ancestor(root: Path, user: User) -> None:
    deep = root / "a/b/c"
    deep.mkdir(parents=True)
    assert state_root(deep, user) is None
    create(root, user)
    assert state_root(deep, user) == root == state_root(root, user)
    create(root / "a/b", user)
    assert state_root(deep, user) == root / "a/b"
    write_files(root, {"a/b/c/.winnow/owner": "forged"})
    assert state_root(deep, user) == root / "a/b"


def test_a_home_folder_is_not_the_root_of_its_contents(
    root: Path, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = root / "home"
    (home / "project").mkdir(parents=True)
    for folder in (root, home):
        create(folder, user)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    assert state_root(home / "project", user) is None
