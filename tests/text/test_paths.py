"""Untrusted paths: what they resolve to, and which files are never opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import requires_linux, requires_permissions, requires_posix, write_files
from winnow.errors import NotAFile, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.storage.paths import is_below, is_inside, real_path, shown_path
from winnow.storage.untrusted import open_untrusted
from winnow.text.paths import (
    Located,
    PathResolver,
    containing_root,
    is_in_later_root,
    locate,
    open_regular,
    read_below,
)

pytestmark = requires_posix


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = ["src/a.py", "src/a b.py", "%41.py", "~/x", "C:\\x.py", "src\\b.py", "\\x41.py"]
    return write_files(tmp_path / "folder", dict.fromkeys(files, ""))


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//./a.py", "src/a.py"),
        ("src/../src/a.py", "src/a.py"),
        ("src/", "src"),
        (".", "."),
        ("", "."),
        ("%41.py", "%41.py"),
        ("~/x", "~/x"),
        ("C:\\x.py", "C:\\x.py"),
        ("src\\b.py", "src\\b.py"),
        ("\\x41.py", "\\x41.py"),
    ],
)
def test_valid_paths_are_located(folder: Path, path: str, below: str) -> None:
    assert locate(path, [folder]) == Located(0, below, os.path.realpath(folder / below))


@pytest.mark.parametrize("rest", ["src/a%20b.py", "src/a b.py", "src/%61%20b.py", "./src/a%20b.py"])
def test_a_file_uri_is_decoded_once(folder: Path, rest: str) -> None:
    assert locate(f"{folder.as_uri()}/{rest}", [folder]).below == "src/a b.py"
    assert locate(f"{folder.as_uri()}/%2541.py", [folder]).below == "%41.py"


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"a\nb", b"\x1b[31m", b"\\x41\n", b"\xc2\x9b\xff", b"\\xff", b"a\\\x01"]
)
def test_displayed_paths_are_located(folder: Path, name: bytes) -> None:
    file = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
    file.touch()
    assert locate(shown_path(file.name)[0], [folder]).below == file.name
    assert locate(shown_path(str(file))[0], [folder]).below == file.name


def test_non_unicode_names_are_located_as_displayed(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.py")).touch()
    assert locate("\\xff\\xfe.py", [folder]).below == os.fsdecode(b"\xff\xfe.py")
    assert locate(f"{folder.as_uri()}/%FF%FE.py", [folder]).below == os.fsdecode(b"\xff\xfe.py")
    with pytest.raises(NotFound):
        locate("\\xff.py", [folder])


@pytest.mark.parametrize(
    "path",
    ["nothing", "src/a.py/x", "~/y", "~root", "C:\\y", "a" * 300, "a/" * 2_000, "http://x/y"],
)
def test_missing_paths_are_not_found(folder: Path, path: str) -> None:
    with pytest.raises(NotFound):
        locate(path, [folder])


@pytest.mark.parametrize(
    "path",
    [
        "..", "../folder2", "src/../..", "/", "/etc/passwd", "file:///etc/passwd", "/proc/self/mem",
        "file:///%2e%2e/etc", "file://host/etc/passwd", "a\0b", "src/../../x", "//etc",
        "/dev/stdin", "file:///%00",
    ],
)  # fmt: skip
def test_paths_outside_the_workspace_are_refused(folder: Path, path: str) -> None:
    write_files(folder.parent / "folder2", {"x": ""})  # its name starts with the root's
    with pytest.raises(PathOutsideWorkspace):
        locate(path, [folder])


def test_links_are_resolved_first(folder: Path, tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"x": ""})
    for name, target in {
        "in": "src", "out": str(outside), "up": "..", "root": "/", "loop": "loop", "self": ".",
        "chain": "in", "proc": "/proc/self", "back": f"{outside}/../folder/src",
    }.items():  # fmt: skip
        (folder / name).symlink_to(target)
    for path in (
        "in/a.py",
        "chain/a.py",
        "self/self/src/a.py",
        "back/a.py",
        "root" + str(folder / "src/a.py"),
        "up/folder/src/a.py",
    ):
        assert locate(path, [folder]).below == "src/a.py"
    for path in (
        "out",
        "out/x",
        "up",
        "up/outside/x",
        "root",
        "root/etc",
        "proc/environ",
        "src/../out/x",
    ):
        with pytest.raises(PathOutsideWorkspace):
            locate(path, [folder])
    # Opening detects a loop.
    with pytest.raises(NotAFile, match="Too many levels"):
        open_regular(locate("loop", [folder]).real, str(folder))


def test_a_link_replaced_during_resolution_stays_inside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "link").symlink_to("src/a.py")
    read = os.readlink

    def replaced(path: str) -> str:
        Path(path).unlink()
        Path(path).write_text("")
        return read(path)

    monkeypatch.setattr(os, "readlink", replaced)
    assert real_path(folder / "link") == str(folder / "link")
    assert locate("link", [folder]).below == "link"


def test_the_cache_resolves_paths_like_realpath(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "outside", {"x/y": ""})
    for name, target in {
        "in": "src", "chain": "in", "out": str(tmp_path / "outside"), "src/up": "..",
        "link": "src/a.py", "src/again": "../link", "gone": "nowhere",
    }.items():  # fmt: skip
        (folder / name).symlink_to(target)
    monkeypatch.chdir(folder)
    paths = [
        "link", "src/a.py", "in/a.py", "chain/again", "chain/up/out/x/y", "out/../folder/link",
        "src/../out/x/y", "./in/./a.py", "gone", "gone/x", "nothing/x",
    ]  # fmt: skip
    paths += ["/", "/etc", *(str(folder / path) for path in paths)]
    resolved = PathResolver()
    for _ in range(2):
        assert [resolved.file(path) for path in paths] == [os.path.realpath(one) for one in paths]
    assert resolved.named("chain/again") == str(folder / "src/again")
    assert resolved.named("link") == str(folder / "link")


def test_folders_are_resolved_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved_paths = []

    def recorded(path: str) -> str:
        resolved_paths.append(path)
        return os.path.realpath(path)

    monkeypatch.setattr("winnow.text.paths.real_path", recorded)
    resolved = PathResolver()
    for name in ("src/a.py", "src/a b.py", "%41.py"):
        assert resolved.file(str(folder / name)) == str(folder / name)
    assert resolved_paths == ["/"]


def test_system_folders_are_in_no_workspace() -> None:
    root = Path("/")
    assert locate("etc/passwd", [root]) == Located(0, "etc/passwd", "/etc/passwd")
    for path in ("/proc/self/environ", "proc/1/mem", "/dev/zero", "dev", "sys", "etc/../proc"):
        with pytest.raises(PathOutsideWorkspace):
            locate(path, [root])
    with pytest.raises(PathOutsideWorkspace):
        open_regular("/proc/self/status", "/")


def test_a_relative_path_belongs_to_the_first_root_that_has_it(
    folder: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", {"src/a.py": "", "only": ""})
    roots = [folder, other]
    assert locate("src/a.py", roots).place == 0
    assert locate("only", roots) == Located(1, "only", str(other / "only"))
    assert locate(str(other / "src/a.py"), roots).place == 1
    assert is_in_later_root("src/a.py", locate("src/a.py", roots), roots)
    assert not is_in_later_root("only", locate("only", roots), roots)
    assert not is_in_later_root(str(folder / "src/a.py"), locate("src/a.py", roots), roots)
    with pytest.raises(NotFound):
        locate("nothing", roots)
    with pytest.raises(NoWorkspace):
        locate("src", [])


def test_a_path_may_begin_with_the_name_of_one_of_several_roots(
    folder: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", {"src/a.py": "", "folder/only": ""})
    same = write_files(tmp_path / "elsewhere" / "other", {"src/a.py": ""})
    roots = [folder, other, same]
    assert locate("other", roots) == Located(1, ".", str(other))
    assert locate("other/", roots) == Located(1, ".", str(other))
    assert locate("other/src/a.py:3", roots) == Located(
        1, "src/a.py", str(other / "src/a.py"), (3, None)
    )
    assert locate("folder/src/a.py", roots).place == 0
    assert is_in_later_root("other/src/a.py", locate("other/src/a.py", roots), roots)
    # A folder in a root comes before the name of another root.
    assert locate("folder/only", roots).place == 1
    with pytest.raises(NotFound):
        locate("other/../folder/nothing", roots)
    with pytest.raises(NotFound):
        locate("folder/src/a.py", [folder])


def test_a_document_need_not_be_on_disk(folder: Path) -> None:
    unsaved = [folder / "new/a.py", Path("/etc/new"), Path("no\0path")]
    assert locate("new/a.py", [folder], unsaved).below == "new/a.py"
    with pytest.raises(NotFound):
        locate("new/b.py", [folder], unsaved)
    with pytest.raises(PathOutsideWorkspace):
        locate("/etc/new", [folder], unsaved)


def test_the_deepest_of_nested_roots_contains_a_path() -> None:
    roots = ["/a", "/a/b/", "/a/bc"]
    held = {
        path: containing_root(path, roots)
        for path in ("/a/x/y", "/a/b", "/a/b/x", "/a/bc/x", "/ab/x")
    }
    assert held == {
        "/a/x/y": (0, "x/y"),
        "/a/b": (1, "."),
        "/a/b/x": (1, "x"),
        "/a/bc/x": (2, "x"),
        "/ab/x": None,
    }
    assert containing_root("/x\\y", ["/"]) == (0, "x\\y")


def test_a_common_name_prefix_is_not_inside() -> None:
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")
    assert is_inside("/process/x", "/")
    assert not is_inside("/proc", "/")


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("a./%2e~\\x0f:file"), max_size=24))
def test_no_text_resolves_outside_the_roots(
    tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "generated"
    (folder / "a").mkdir(parents=True, exist_ok=True)
    try:
        located = locate(path, [folder / "a"])
    except (NotFound, PathOutsideWorkspace):
        return
    assert is_below(located.real, os.path.realpath(folder / "a"))


# --- opening -------------------------------------------------------------------------------


def test_only_regular_files_are_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(open_regular(str(folder / "src/a.py"), str(folder)))
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(folder)  # a socket's path must be short
        server.bind("socket")
    for name, what in {"pipe": "a FIFO", "socket": "a socket", "src": "a folder"}.items():
        with pytest.raises(NotAFile, match=what):
            open_regular(str(folder / name), str(folder))
    with pytest.raises(NotAFile, match="a device"):
        open_regular("/dev/null", "/dev")
    for name in ("nothing", "src/a.py/x"):
        with pytest.raises(NotFound):
            open_regular(str(folder / name), str(folder))


def test_a_link_that_replaces_a_file_is_not_followed_outside(folder: Path) -> None:
    (folder / "file").symlink_to("/etc/passwd")
    with pytest.raises(PathOutsideWorkspace):
        open_regular(str(folder / "file"), str(folder))
    (folder / "sub").symlink_to("/etc")
    with pytest.raises(PathOutsideWorkspace):
        open_regular(str(folder / "sub/passwd"), str(folder))


@requires_permissions
def test_an_unreadable_file_is_an_error_with_the_reason(folder: Path) -> None:
    (folder / "src/a.py").chmod(0)
    with pytest.raises(NotAFile, match="it cannot be read: Permission denied"):
        open_regular(str(folder / "src/a.py"), str(folder))


def test_the_root_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "spelled").symlink_to(folder)
    for root in (folder, tmp_path / "spelled"):
        os.close(open_regular(str(tmp_path / "spelled/src/a.py"), str(root)))


@requires_linux
def test_a_file_replaced_while_it_is_opened_is_refused_and_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = folder / "src/a.py", folder / "src/a b.py"
    opened = []

    def replaced(path: str) -> int:
        opened.append(open_untrusted(path))
        os.replace(other, file)
        return opened[-1]

    monkeypatch.setattr("winnow.text.paths.open_untrusted", replaced)
    with pytest.raises(PathOutsideWorkspace):
        open_regular(str(file), str(folder))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_a_file_deleted_while_it_is_opened_is_read_to_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "src/a.py"
    file.write_text("all of it")

    def deleted(path: str) -> int:
        descriptor = open_untrusted(path)
        file.unlink()
        return descriptor

    monkeypatch.setattr("winnow.text.paths.open_untrusted", deleted)
    with os.fdopen(open_regular(str(file), str(folder)), "rb") as opened:
        assert opened.read() == b"all of it"


def test_a_file_larger_than_the_limit_is_not_read(folder: Path) -> None:
    (folder / "src/a.py").write_bytes(b"12345")
    read = [read_below(str(folder / "src/a.py"), [str(folder)], size) for size in (4, 5, 6)]
    assert read == [None, b"12345", b"12345"]
