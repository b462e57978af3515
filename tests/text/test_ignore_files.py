"""Searches continue without ignore files that ripgrep must not read, and report them (#21)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, git, git_commit, git_init, requires_posix, write_files
from winnow.errors import SearchFailed
from winnow.storage.untrusted import SETTINGS_BYTES
from winnow.text import ignore_files
from winnow.text.ignore_files import IgnoreFiles, IgnoreFilesChanged, with_restarts
from winnow.text.scope import MOST_LINES
from winnow.tools import TOOLS
from winnow.types import no_progress

pytestmark = requires_posix

FILES = {
    "a.py": "needle\n",
    "sub/b.py": "needle\n",
    "ignored/c.py": "needle\n",
    ".gitignore": "ignored/\n",
}
NOT_REGULAR = "it is not a regular file"
WITHOUT_DOT = "(ripgrep ran with --no-ignore-dot)"
WITHOUT_EXCLUDE = "(ripgrep ran with --no-ignore-exclude)"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "root"), FILES)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore_files, "STALL_SECONDS", 0.2)
    monkeypatch.setattr(ignore_files, "SCAN_INTERVAL_SECONDS", 0.0)


def plant(path: Path, kind: str = "fifo") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "sparse":
        path.touch()
        os.truncate(path, 3 * 1024**3)
    else:
        path.symlink_to("/dev/zero")
    return path


async def grep(make_workspace: MakeWorkspace, *roots: Path, **params: Any) -> Any:
    workspace = make_workspace(*roots)
    raw = {"pattern": "needle", "mode": "files", **params}
    return await TOOLS["grep"].call(workspace, raw, no_progress)


def paths(result: Any) -> list[str]:
    return sorted(file.path for file in result.files)


@pytest.mark.parametrize("kind", ["fifo", "sparse"])
@pytest.mark.parametrize("folder", ["", "sub/"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
async def test_an_unusable_ignore_file_is_skipped_and_reported(
    root: Path, make_workspace: MakeWorkspace, name: str, folder: str, kind: str
) -> None:
    plant(root / folder / name, kind)
    result = await grep(make_workspace, root)
    assert {"a.py", "sub/b.py"} <= set(paths(result))
    [warning] = result.warnings
    assert warning.startswith(f"not applied: {folder}{name}, it is ")
    assert result.completeness.complete


async def test_a_symlink_to_a_device_is_skipped_and_reported(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    plant(root / ".ignore", "device")
    result = await grep(make_workspace, root)
    assert paths(result) == ["a.py", "sub/b.py"]
    assert result.warnings == [f"not applied: .ignore, {NOT_REGULAR} {WITHOUT_DOT}"]


@pytest.mark.parametrize("folder", ["", "dep/"])
async def test_an_unusable_exclude_file_is_skipped_and_reported(
    root: Path, make_workspace: MakeWorkspace, folder: str
) -> None:
    git_init(root / folder)
    plant(root / folder / ".git/info/exclude")
    result = await grep(make_workspace, root)
    assert paths(result) == ["a.py", "sub/b.py"]
    named = f"{folder}.git/info/exclude"
    assert result.warnings == [f"not applied: {named}, {NOT_REGULAR} {WITHOUT_EXCLUDE}"]


async def test_a_scan_finds_an_unusable_file_that_leads_to_an_exclude_file(root: Path) -> None:
    write_files(root, {"dep/.git": "gitdir: dep/g\n" + "# more than a path\n" * 1_000})
    planted = plant(root / "dep/g/commondir")
    files = IgnoreFiles(lambda: [root], {})
    await files.scan()
    assert [one.path for one in files.unusable()] == [str(planted)]


async def test_other_ignore_files_of_the_root_still_apply(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(root, {"excluded.py": "needle\n", ".git/info/exclude": "excluded.py\n"})
    plant(root / "sub/.gitignore")
    assert paths(await grep(make_workspace, root)) == ["a.py", "sub/b.py"]


async def test_a_linked_working_tree_keeps_its_usable_ignore_files(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    main = git_commit(tmp_path / "main", {"main.py": "needle\n"})
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    root = write_files(tmp_path / "tree", FILES)
    write_files(root, {"gitdir:": "needle\n"})
    plant(root / "sub/.gitignore")
    result = await grep(make_workspace, root)
    assert paths(result) == ["a.py", "gitdir:", "main.py", "sub/b.py"]


async def test_the_shared_exclude_file_applies_in_a_linked_working_tree(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    main = git_commit(tmp_path / "main", {"main.py": "needle\n"})
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    write_files(main, {".git/info/exclude": "excluded.py\n"})
    root = write_files(tmp_path / "tree", {"excluded.py": "needle\n", "a.py": "needle\n"})
    assert paths(await grep(make_workspace, root)) == ["a.py", "main.py"]
    plant(root / "sub/.ignore")
    assert paths(await grep(make_workspace, root)) == ["a.py", "main.py"]


async def test_a_file_that_is_usable_again_applies_again(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(root)
    raw = {"pattern": "needle", "mode": "files"}
    file = plant(root / "sub/.gitignore")
    assert (await TOOLS["grep"].call(workspace, raw, no_progress)).warnings
    file.unlink()
    file.write_text("b.py\n")
    result = await TOOLS["grep"].call(workspace, raw, no_progress)
    assert (paths(result), result.warnings) == (["a.py"], [])


async def test_an_unusable_file_above_the_root_is_skipped_and_reported(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    above = plant(root.parent / ".ignore")
    result = await grep(make_workspace, root)
    assert paths(result) == ["a.py", "sub/b.py"]
    [warning] = result.warnings
    assert str(above) in warning


async def test_an_unusable_ignore_file_of_the_user_is_skipped_and_reported(
    root: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    plant(tmp_path / "home/.config/git/ignore")
    workspace = make_workspace(root)
    workspace.environment["HOME"] = str(tmp_path / "home")
    workspace.environment.pop("XDG_CONFIG_HOME", None)
    raw = {"pattern": "needle", "mode": "files"}
    result = await TOOLS["grep"].call(workspace, raw, no_progress)
    assert paths(result) == ["a.py", "sub/b.py"]
    assert "--no-ignore-global" in result.warnings[0]


async def test_no_ignore_file_is_turned_off_if_ignored_files_are_included(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    plant(root / ".gitignore")
    result = await grep(make_workspace, root, include_ignored=True)
    assert (paths(result), result.warnings) == (["a.py", "ignored/c.py", "sub/b.py"], [])


async def test_usable_symlinks_and_regular_files_apply(
    root: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(root, {"sub/rules": "b.py\n"})
    (root / "sub/.ignore").symlink_to("rules")
    result = await grep(make_workspace, root)
    assert (paths(result), result.warnings) == (["a.py"], [])


async def test_a_search_of_changed_files_continues_without_unusable_ignore_files(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    """git waits for a FIFO as ripgrep does."""
    root = git_commit(tmp_path / "root", {**FILES, "same.py": "needle\n"})
    write_files(root, {"a.py": "needle 2\n", "new.py": "needle\n", "ignored/new.py": "needle\n"})
    plant(root / "sub/.gitignore")
    result = await grep(make_workspace, root, scope="changed")
    assert paths(result) == ["a.py", "new.py"]


@pytest.mark.parametrize("kind", ["fifo", "sparse", "device", "large", "many lines"])
@pytest.mark.parametrize("name", [".winnowignore", ".gitmodules"])
async def test_unusable_files_that_winnow_reads_are_skipped_and_reported(
    root: Path, make_workspace: MakeWorkspace, name: str, kind: str
) -> None:
    if kind == "large":
        (root / name).write_text("*.py" + " " * SETTINGS_BYTES)
    elif kind == "many lines":
        (root / name).write_text("*.py\n" * (MOST_LINES + 1))
    else:
        plant(root / name, kind)
    result = await grep(make_workspace, root)
    assert paths(result) == ["a.py", "sub/b.py"]
    [warning] = result.warnings
    assert warning.startswith(f"not applied: {name}, it ")


async def test_a_request_restarts_only_a_few_times() -> None:
    starts = 0

    async def request() -> None:
        nonlocal starts
        starts += 1
        raise IgnoreFilesChanged

    with pytest.raises(SearchFailed, match="keep appearing"):
        await with_restarts(request)
    assert starts == ignore_files.RESTARTS


@pytest.fixture
def many(root: Path) -> Path:
    for number in range(ignore_files.MOST_REMEMBERED + 5):
        plant(root / f"f{number}/.ignore")
    return root


async def test_the_number_of_remembered_files_is_limited(many: Path) -> None:
    files = IgnoreFiles(lambda: [many], {})
    await files.scan()
    assert len(files.unusable()) == ignore_files.MOST_REMEMBERED
