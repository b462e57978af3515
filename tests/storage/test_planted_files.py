"""Opening and writing: files planted by a repository are neither read nor written (#21)."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from commands import command
from conftest import child_environment, requires_posix, write_files
from winnow.config import Config
from winnow.frontends import config_files
from winnow.storage.untrusted import (
    SETTINGS_BYTES,
    UnusableFile,
    open_listed,
    open_untrusted,
    problem_of,
    read_untrusted,
    read_users_own,
)
from winnow.storage.writing import (
    atomic_write,
    create_file,
    link_or_copy,
    open_for_append,
    private_folder,
    replace_file,
    replace_with_link,
    temporary_copy,
)
from winnow.symbols.scopes.rust import _CRATE
from winnow.text.paths import read_below

pytestmark = requires_posix
HUGE = 3 * 1024**3


def sparse(file: Path, size: int = HUGE) -> Path:
    with file.open("wb") as stream:
        stream.truncate(size)
    return file


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Create a file of the user outside the repository."""
    file = tmp_path / "outside" / "secret"
    write_files(file.parent, {"secret": "mine"})
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    return made


def planted(root: Path, secret: Path) -> dict[str, Path]:
    """Return the kinds of files that a repository may contain and Winnow does not read."""
    os.mkfifo(root / "fifo")
    (root / "link").symlink_to(secret)
    (root / "dangling").symlink_to(root / "nothing")
    (root / "folder").mkdir()
    return {
        "it is a symlink": root / "link",
        "it is a symlink ": root / "dangling",
        "it is not a regular file": root / "fifo",
        "it is not a regular file ": root / "folder",
        f"it is larger than {SETTINGS_BYTES:,} bytes": sparse(root / "sparse"),
    }


# --- opening -------------------------------------------------------------------------------------


def test_planted_files_are_not_read_and_their_descriptors_are_closed(
    root: Path, secret: Path
) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    begun = time.monotonic()
    for reason, file in planted(root, secret).items():
        with pytest.raises(UnusableFile, match=reason.strip()):
            read_untrusted(file)
        assert problem_of(file) == reason.strip()
    assert time.monotonic() - begun < 30  # no FIFO blocked
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_of_the_user_may_be_a_symlink(root: Path, secret: Path) -> None:
    (root / "link").symlink_to(secret)
    assert read_users_own(root / "link") == b"mine"
    os.mkfifo(root / "fifo")
    (root / "to fifo").symlink_to(root / "fifo")
    with pytest.raises(UnusableFile):
        read_users_own(root / "to fifo")


def test_a_listed_symlink_is_followed_and_never_blocks(root: Path, secret: Path) -> None:
    (root / "link").symlink_to(secret)
    with os.fdopen(open_listed(root / "link"), "rb") as file:
        assert file.read() == b"mine"
    os.mkfifo(root / "fifo")
    with pytest.raises(UnusableFile):
        open_listed(root / "fifo")


def test_symlinks_that_leave_the_folder_are_not_read(root: Path, secret: Path) -> None:
    write_files(root, {"go.mod": "module here\n", "sub/go.mod": "module sub\n"})
    (root / "out").symlink_to(secret.parent)
    (root / "in").symlink_to(root / "sub")
    (root / "file").symlink_to(secret)
    assert read_below(f"{root}/go.mod", [str(root)]) == b"module here\n"
    assert read_below(f"{root}/in/go.mod", [str(root)]) == b"module sub\n"
    for path in ("out/secret", "file", "nothing", "sub"):
        assert read_below(f"{root}/{path}", [str(root)]) is None
    assert read_below(str(secret), [str(root)]) is None
    sparse(root / "sparse")
    assert read_below(f"{root}/sparse", [str(root)]) is None


@pytest.mark.parametrize("plant", ["link", "fifo", "sparse", "folder"])
def test_planted_workspace_settings_are_reported(root: Path, secret: Path, plant: str) -> None:
    planted(root, secret)
    (root / plant).rename(root / "winnow.toml")
    config, problems = config_files.load({"HOME": str(secret.parent)}, root)
    assert config == Config()
    assert [problem.startswith(f"{root}/winnow.toml is ignored: it is ") for problem in problems]
    assert len(problems) == 1


def test_user_settings_may_be_a_symlink(root: Path, tmp_path: Path) -> None:
    """As dotfile managers create them."""
    real = write_files(tmp_path / "dotfiles", {"winnow.toml": "[bash]\nenabled = true\n"})
    file = write_files(tmp_path / "home", {".config/winnow/empty": ""}) / ".config/winnow"
    (file / "config.toml").symlink_to(real / "winnow.toml")
    config, problems = config_files.load({"HOME": str(tmp_path / "home")}, root)
    assert (config.bash.enabled, problems) == (True, [])


# --- writing -------------------------------------------------------------------------------------


def write_at_once(file: Path) -> None:
    replace_file(file, b"new")


def write_in_pieces(file: Path) -> None:
    with atomic_write(file, durable=True) as stream:
        stream.write(b"new")


def create(file: Path) -> None:
    with pytest.raises(FileExistsError):
        create_file(file, b"new")


def append(file: Path) -> None:
    with pytest.raises(OSError), open_for_append(file) as stream:
        stream.write(b"new")


def link(file: Path) -> None:
    with pytest.raises(FileExistsError):
        link_or_copy(Path(__file__), file)


def replace_by_link(file: Path) -> None:
    replace_with_link(file, "/nowhere")


WRITERS = (write_at_once, write_in_pieces, create, append, link, replace_by_link)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("dangling", [False, True])
def test_nothing_is_written_through_a_planted_symlink(
    root: Path, secret: Path, write: Callable[[Path], None], dangling: bool
) -> None:
    target = secret.parent / "missing" if dangling else secret
    (root / "state").symlink_to(target)
    write(root / "state")
    assert secret.read_text() == "mine"
    assert os.listdir(secret.parent) == ["secret"]
    assert os.listdir(root) == ["state"]


def test_nothing_is_appended_to_a_fifo(root: Path) -> None:
    os.mkfifo(root / "log")
    with pytest.raises(OSError, match="not a regular file"), open_for_append(root / "log"):
        pass


def test_a_failed_write_leaves_the_old_file_and_nothing_else(root: Path) -> None:
    write_files(root, {"state": "old"})

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError), atomic_write(root / "state", suffix=".part") as stream:
        fail(stream)
    assert (root / "state").read_text() == "old"
    assert os.listdir(root) == ["state"]


def test_written_files_are_private(root: Path) -> None:
    private_folder(root / "a/b")
    create_file(root / "a/b/created", b"")
    replace_file(root / "a/b/replaced", b"")
    with open_for_append(root / "a/b/log") as stream:
        stream.write(b"line\n")
    with open(__file__, "rb") as source:
        copy = Path(temporary_copy(source))
    modes = [stat.S_IMODE(file.stat().st_mode) for file in (root / "a/b").iterdir()]
    modes.append(stat.S_IMODE(copy.stat().st_mode))
    copy.unlink()
    assert modes == [0o600] * 4
    assert stat.S_IMODE((root / "a/b").stat().st_mode) == 0o700
    replace_file(root / "shared", b"", 0o644)
    assert stat.S_IMODE((root / "shared").stat().st_mode) == 0o644


def test_a_copy_replaces_a_symlink_where_there_are_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(root, {"text": "a text"})

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "symlink", refuse)
    link_or_copy(root / "text", root / "linked")
    replace_with_link(root / "program", str(root / "text"))
    assert (root / "linked").read_text() == (root / "program").read_text() == "a text"


def test_an_untrusted_descriptor_is_read_only(root: Path) -> None:
    write_files(root, {"a": "text"})
    descriptor = open_untrusted(root / "a")
    try:
        assert os.read(descriptor, 10) == b"text"
        with pytest.raises(OSError):
            os.write(descriptor, b"x")
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


# --- manifests -----------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("plant", ["link", "fifo", "sparse", "folder"])
def test_a_planted_manifest_does_not_block_a_search_for_references(
    root: Path, secret: Path, plant: str
) -> None:
    """Reading a FIFO named go.mod blocked forever (#21)."""
    write_files(
        root,
        {
            "main.go": 'package main\n\nimport "m/pkg"\n\nfunc main() { pkg.Hello() }\n',
            "pkg/pkg.go": "package pkg\n\nfunc Hello() {}\n",
            "one/src/main.rs": "use two::hello;\n\nfn main() { hello(); }\n",
            "another/src/lib.rs": "pub fn hello() {}\n",
        },
    )
    for manifest in ("go.mod", "another/Cargo.toml"):
        folder = root / manifest
        folder.parent.mkdir(exist_ok=True)
        made = root / "plants"
        made.mkdir()
        planted(made, secret)
        (made / plant).rename(folder)
        shutil.rmtree(made)
    (root.parent / "patient.toml").write_text("[limits]\nsearch_seconds = 60\n")
    environment = child_environment(root.parent, WINNOW_CONFIG=str(root.parent / "patient.toml"))
    for name in ("Hello", "hello"):
        done = command(root, "find-references", name, environment=environment)
        assert done.returncode == 0, done.stderr
        assert "definition" in done.stdout


@pytest.mark.parametrize("manifest", ["\n", "[package]\n", " \n", "[package]\nname\n", "name = "])
def test_a_crate_name_is_found_in_linear_time(manifest: str) -> None:
    """Blank lines took quadratic time: 60,000 of them 13 seconds (#21)."""
    text = manifest * (SETTINGS_BYTES // len(manifest))
    begun = time.monotonic()
    assert _CRATE.findall(text) == []
    assert time.monotonic() - begun < 20
    assert _CRATE.findall('\n\n  [lib]\n\n  name = "crate"\n') == ["crate"]
