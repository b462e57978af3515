"""Trees of folders from the paths of files and the folders on disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from conftest import requires_permissions, requires_posix, write_files
from winnow.text.folders import Node, add_sizes, add_unlisted, folders_of


def nested(node: Node) -> dict[str, object]:
    """Return the children of a node as plain data: dictionaries for folders, kinds for others."""
    return {one.name: nested(one) if one.kind == "folder" else one.kind for one in node.ordered()}


def everything(path: str) -> bool:
    return True


def test_the_tree_has_files_down_to_a_depth() -> None:
    paths = ["a/b/c/d", "a/b/e", "f", "a/g"]
    top = folders_of(".", paths, 2)
    assert nested(top) == {"a": {"b": {}, "g": "file"}, "f": "file"}
    assert (top.files, top.children["a"].files, top.children["a"].children["b"].files) == (4, 3, 2)
    assert nested(folders_of("a", paths, 9)) == {
        "b": {"c": {"d": "file"}, "e": "file"},
        "g": "file",
    }
    assert nested(folders_of("a", ["ab/x", "a/x", "/a/y"], 9)) == {"x": "file"}
    assert nested(folders_of("/o", ["/o/x", "x", "/other/y"], 9)) == {"x": "file"}
    assert folders_of("a", paths, 9).children["b"].path == "a/b"


def test_folders_come_first_then_the_bytes_of_names() -> None:
    names = ["b", "B", "a/x", "é", "z/x", "\udcff", "_"]
    assert [one.name for one in folders_of(".", names, 1).ordered()] == [
        "a", "z", "B", "_", "b", "é", "\udcff"
    ]  # fmt: skip


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map("/".join), unique=True)
)
def test_every_file_counts_in_each_parent_folder(paths: list[str]) -> None:
    paths = [path for path in paths if not any(one.startswith(path + "/") for one in paths)]
    for depth in (1, 3, 9):
        waiting = [folders_of(".", paths, depth)]
        assert waiting[0].files == len(paths)
        while waiting:
            node = waiting.pop()
            prefix = "" if node.path == "." else node.path + "/"
            if node.kind == "folder":
                assert node.files == sum(path.startswith(prefix) for path in paths)
            assert node.depth <= depth
            waiting += node.children.values()


@requires_posix
def test_links_and_empty_folders_are_added_to_the_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/x": "", "left/out/y": "", "deep/1/2/3": ""})
    (tmp_path / "a/empty/deeper").mkdir(parents=True)
    (tmp_path / "a/link").symlink_to("../left")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "left/link").symlink_to("x")
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    top = folders_of(".", ["a/x", "deep/1/2/3"], 2)
    covers = {"a/empty/", "a/empty/deeper/", "a/link", "loop", "deep/"}.__contains__
    assert add_unlisted(top, str(tmp_path), covers, 2) == set()
    assert nested(top) == {
        "a": {"empty": {}, "link": "symlink", "x": "file"},
        "deep": {"1": {}},
        "loop": "symlink",
    }
    assert top.children["a"].children["link"].target == "../left"
    # Entries below the depth are counted.
    assert top.children["a"].children["empty"].unlisted == 1
    assert top.children["deep"].children["1"].files == 1


def test_a_folder_deleted_meanwhile_is_empty(tmp_path: Path) -> None:
    top = folders_of(".", ["gone/x"], 3)
    assert add_unlisted(top, str(tmp_path), everything, 3) == set()
    assert nested(top) == {"gone": {"x": "file"}}


@requires_permissions
def test_unreadable_folders_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a/closed").mkdir(parents=True)
    (tmp_path / "a/closed").chmod(0)
    top = folders_of(".", [], 3)
    assert add_unlisted(top, str(tmp_path), everything, 3) == {"a/closed"}


def test_sizes_add_up(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b/c": "x" * 10, "a/d": "x" * 5, "e": "x"})
    paths = ["a/b/c", "a/d", "e", "gone", "a/new"]
    top = folders_of(".", paths, 2)
    add_sizes(top, str(tmp_path), paths, {"e": 100, "a/new": 7})
    a = top.children["a"]
    sizes = {name: node.size for name, node in a.children.items()}
    assert (top.size, a.size, sizes) == (122, 22, {"b": 10, "d": 5, "new": 7})
    assert top.children["gone"].size == 0
