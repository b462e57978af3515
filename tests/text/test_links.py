"""Symlinks: counted if they are skipped, searched once on request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import RIPGREP, MakeWorkspace, git_init, requires_posix, write_files
from winnow.config import Config, merge_layer
from winnow.errors import SearchTimedOut
from winnow.text.links import folder_links
from winnow.text.scope import Filters, search_scope
from winnow.tools import TOOLS
from winnow.tools.glob import GlobResult
from winnow.types import no_progress

pytestmark = requires_posix

FILES = {"src/a.py": "", "src/deep/b.py": "", "ign/c.py": "", "ign/deep/d.py": "", ".hid/e.py": ""}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "root"), {**FILES, ".gitignore": "ign/\n"})


def link(root: Path, **links: str) -> None:
    for name, target in links.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


async def followed(
    make_workspace: MakeWorkspace, *roots: Path, config: Config | None = None, **params: Any
) -> GlobResult:
    workspace = make_workspace(*roots, config=config)
    arguments = {"pattern": "**", "follow_symlinks": True, "max_results": 10_000, **params}
    result = await TOOLS["glob"].call(workspace, arguments, no_progress)
    assert isinstance(result, GlobResult)
    return result


def found(result: GlobResult) -> list[str]:
    return [one.path for one in result.files]


def reals(result: GlobResult) -> list[str]:
    """Return the resolved paths of the files, which must be distinct."""
    folder = Path(result.root)
    all_of_them = [os.path.realpath(folder / (one.root or "") / one.path) for one in result.files]
    assert len(all_of_them) == len(set(all_of_them))
    return sorted(os.path.relpath(one, os.path.realpath(folder)) for one in all_of_them)


async def test_links_to_searched_files_add_nothing(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, one="src", two="src/deep", file="src/a.py", self=".", src__up="..", src__loop="loop")
    result = await followed(make_workspace, root)
    assert found(result) == ["src/a.py", "src/deep/b.py"]
    assert (result.completeness.complete, result.warnings) == (True, [])


async def test_a_link_to_an_ignored_or_hidden_folder_is_followed_once(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, one="ign", two="ign", src__three="../ign/deep", chain="one", hidden=".hid")
    result = await followed(make_workspace, root)
    assert reals(result) == [".hid/e.py", "ign/c.py", "ign/deep/d.py", "src/a.py", "src/deep/b.py"]
    assert found(result) == [
        "src/a.py", "src/deep/b.py", "chain/c.py", "chain/deep/d.py", "hidden/e.py"
    ]  # fmt: skip
    # Only on request.
    assert found(await followed(make_workspace, root, follow_symlinks=False)) == [
        "src/a.py",
        "src/deep/b.py",
    ]


async def test_a_link_to_a_file_is_followed_if_its_name_matches(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(root, {"ign/notes.txt": "", "ign/x.log": ""})
    (root / ".gitignore").write_text("ign/\n*.log\n")
    link(root, m="ign/c.py", **{"n.py": "ign/notes.txt", "o.log": "ign/deep/d.py"})
    assert found(await followed(make_workspace, root)) == ["src/a.py", "src/deep/b.py", "m", "n.py"]
    kinds: list[dict[str, Any]] = [{"include": ["*.py"]}, {"file_types": ["py"]}]
    for params in kinds:
        assert found(await followed(make_workspace, root, **params)) == [
            "src/a.py",
            "src/deep/b.py",
            "n.py",
        ]
    assert found(await followed(make_workspace, root, exclude=["n.*"], path="src")) == [
        "src/a.py",
        "src/deep/b.py",
    ]


async def test_links_out_of_the_workspace_are_never_followed(
    root: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    outside = write_files(tmp_path / "outside", {"secret": ""})
    link(root, a="/", b="/etc/passwd", c=str(outside), d="..", e="/proc/self", f="/dev/zero")
    link(outside, back=str(root / "ign"))
    result = await followed(make_workspace, root)
    assert found(result) == ["src/a.py", "src/deep/b.py"]
    assert result.warnings == ["6 symlinks lead out of the workspace: not followed"]


async def test_links_in_ignored_and_hidden_folders_are_not_followed(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(root, {"far/x": "", "far/y/z": ""})
    (root / ".gitignore").write_text("ign/\nfar/\nname\n")
    link(root, ign__l="../far", name="far", **{".hid__l": "../far", ".l": "far"})
    assert found(await followed(make_workspace, root)) == ["src/a.py", "src/deep/b.py"]
    everything = await followed(make_workspace, root, include_hidden=True)
    assert reals(everything) == [
        ".gitignore", ".hid/e.py", "far/x", "far/y/z", "src/a.py", "src/deep/b.py"
    ]  # fmt: skip


async def test_links_in_folders_without_files_are_found(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, links__deep__l="../../ign/deep")
    assert found(await followed(make_workspace, root))[2:] == ["links/deep/l/d.py"]


async def test_chains_of_linked_folders_are_followed(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(root, {f"ign/{number}/f": "" for number in range(15)})
    link(root, **{"0": "ign/0"})
    for number in range(4):
        link(root, **{f"ign__{number}__next": f"../{number + 1}"})
    result = await followed(make_workspace, root)
    assert found(result)[2:] == [f"0{'/next' * number}/f" for number in range(5)]
    assert result.warnings == []
    for number in range(4, 14):
        link(root, **{f"ign__{number}__next": f"../{number + 1}"})
    result = await followed(make_workspace, root)
    assert result.warnings == ["some symlinks are not followed: there are too many"]


async def test_a_link_to_the_parent_of_a_linked_folder_adds_its_other_files(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, l="ign/deep")
    link(root, ign__deep__up="..")
    assert reals(await followed(make_workspace, root)) == [
        "ign/c.py", "ign/deep/d.py", "src/a.py", "src/deep/b.py"
    ]  # fmt: skip
    # The link leads to the folder even if its parent's ignore files exclude it.
    (root / "ign/.gitignore").write_text("deep/\n")
    assert reals(await followed(make_workspace, root)) == [
        "ign/c.py", "ign/deep/d.py", "src/a.py", "src/deep/b.py"
    ]  # fmt: skip


async def test_only_links_below_the_path_are_followed(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, top="ign", src__up="..", src__l="../ign/deep")
    assert found(await followed(make_workspace, root, path="src")) == [
        "src/a.py",
        "src/deep/b.py",
        "src/l/d.py",
    ]
    assert found(await followed(make_workspace, root, path="src/a.py")) == ["src/a.py"]
    assert found(await followed(make_workspace, root, path="top")) == ["ign/c.py", "ign/deep/d.py"]


async def test_links_between_roots_are_followed(
    root: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    other = write_files(tmp_path / "other", {"x": "", "ign/y": "", ".winnowignore": "ign/\nno"})
    link(other, back=str(root / "src"), in_="ign", no=str(root / "ign"))
    link(root, there=str(other), inner=str(other / "ign"))
    (tmp_path / "beside").symlink_to(root / "ign")  # in no root
    result = await followed(make_workspace, root, other)
    assert reals(result) == ["../other/ign/y", "../other/x", "src/a.py", "src/deep/b.py"]
    assert result.warnings == []


async def test_a_path_through_a_link_is_valid_in_the_next_tool(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, l="ign")
    workspace = make_workspace(root)
    for path in found(await followed(make_workspace, root)):
        await TOOLS["read_file"].call(workspace, {"path": path}, no_progress)


async def test_an_unsaved_document_replaces_the_target_file_of_a_link(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, l="ign", m="src/a.py")
    (root / "ign/c.py").write_text("old text\n")
    workspace = make_workspace(root)
    workspace.open_documents = lambda: {
        root / "ign/c.py": "new text\n",
        root / "l/deep/new.py": "new text\n",
    }
    params = {"pattern": "**", "follow_symlinks": True}
    result = await TOOLS["glob"].call(workspace, params, no_progress)
    assert [(one.path, one.unsaved) for one in result.files] == [
        ("src/a.py", False),
        ("src/deep/b.py", False),
        ("l/c.py", True),
        ("l/deep/d.py", False),
        ("l/deep/new.py", True),
    ]
    matches = await TOOLS["grep"].call(workspace, {**params, "pattern": "text"}, no_progress)
    assert [(one.path, one.preview[0].text) for one in matches.matches] == [
        ("l/c.py", "new text"),
        ("l/deep/new.py", "new text"),
    ]


async def test_following_links_respects_the_time_limit(
    root: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    link(root, one="ign")
    slow = tmp_path / "rg"
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *--follow*) exec sleep 20;; esac\nexec {RIPGREP} "$@"'
    )
    slow.chmod(0o755)
    layer = {"limits": {"search_seconds": 1.0}, "programs": {"rg": str(slow)}}
    config, _ = merge_layer(Config(), layer, "test")
    with pytest.raises(SearchTimedOut):
        await followed(make_workspace, root, config=config)


async def test_hundreds_of_links_are_followed(root: Path, make_workspace: MakeWorkspace) -> None:
    write_files(root, {f"ign/many/{number}/f": "" for number in range(300)})
    link(root, **{f"l{number}": f"ign/many/{number}" for number in range(300)})
    result = await followed(make_workspace, root)
    assert (len(reals(result)), result.warnings) == (302, [])


# --- counting ------------------------------------------------------------------------------


def test_links_to_folders_are_counted_outside_excluded_folders(root: Path) -> None:
    link(root, a="src", b="src/a.py", loop="loop", gone="nowhere", src__c="..", ign__d="../src")
    scope = search_scope([root], Filters())
    assert folder_links(scope, {"ign", ".hid", ".git"}, 5) == 2
    assert folder_links(scope, {"ign", ".hid", ".git", "a"}, 5) == 1
    assert folder_links(scope, set(), 0) is None
    assert folder_links(search_scope([root], Filters(path="src")), set(), 5) == 1
    assert folder_links(search_scope([root], Filters(path="src/a.py")), set(), 5) == 0


@pytest.mark.parametrize("tool", ["glob", "grep", "tree"])
async def test_broken_links_do_not_break_a_search(
    tool: str, root: Path, make_workspace: MakeWorkspace
) -> None:
    """A link to itself made every request fail."""
    link(root, loop="loop", one="two", two="one", gone="nowhere", long="x/" * 300)
    params = {} if tool == "tree" else {"pattern": "." if tool == "grep" else "**"}
    result = await TOOLS[tool].call(make_workspace(root), params, no_progress)
    assert result.completeness.complete
