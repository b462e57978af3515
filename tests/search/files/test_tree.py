"""Tests of tree on real folders: breadth, pages and reports of omitted entries."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered, pages
from conftest import (
    MakeWorkspace,
    Recorder,
    git,
    git_commit,
    git_init,
    requires_permissions,
    requires_posix,
    write_files,
)
from winnow.config import Config, merge_layer
from winnow.errors import InvalidParams, NotAFolder, NotFound, PathOutsideWorkspace, SearchTimedOut
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.files.tree import TreeEntry
from winnow.tools import TOOLS
from winnow.tools.tree import TreeResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["tree"]


async def tree(workspace: EngineWorkspace, **params: Any) -> TreeResult:
    return await answered(TOOL, TreeResult, workspace, params)


async def text(workspace: EngineWorkspace, **params: Any) -> list[str]:
    return (await tree(workspace, **params)).text.splitlines()


def shown(entries: Sequence[TreeEntry], above: str = "") -> Iterator[str]:
    """Yield the paths of all entries, folders with a slash."""
    for entry in entries:
        yield above + entry.name + "/" * (entry.type == "folder")
        yield from shown(entry.children or [], f"{above}{entry.name}/")


async def test_the_structure_of_a_project(make_workspace: MakeWorkspace, project: Path) -> None:
    recorder = Recorder()
    result = await TOOL.call(make_workspace(project), {"depth": 1}, recorder)
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "entries": [
            {"name": "docs", "type": "folder", "files": 1, "omitted": 1},
            {"name": "src", "type": "folder", "files": 3, "omitted": 3},
            {"name": "tests", "type": "folder", "files": 1, "omitted": 1},
        ],
        "text": "project/\n  docs/ … 1 file\n  src/ … 3 files\n  tests/ … 1 file",
        "total_found": 3,
        "returned": 3,
        "truncated": False,
        "completeness": {
            "complete": True,
            "reasons": [],
            "skipped": {"ignored": 1, "hidden": 2, "binary": 0, "too_large": 0, "unreadable": 0},
            "timed_out": False,
        },
        "warnings": [],
    }
    assert recorder.messages == ["Listing ."]
    assert TOOL.plain(await tree(make_workspace(project), path="src")) == (
        "src/\n  loader.py\n  main.py\n  registry.py\n\n[3 of 3 entries]"
    )


async def test_depth_include_hidden_and_sizes(workspace: EngineWorkspace, project: Path) -> None:
    assert await text(workspace, include=["m*.py", "*.md"]) == [
        "project/", "  docs/", "    plugins.md", "  src/", "    main.py",
    ]  # fmt: skip
    assert await text(workspace, exclude=["src", "tests/*"], show_hidden=True) == [
        "project/", "  .hidden/", "    secret.py", "  docs/", "    plugins.md", "  tests/",
        "  .gitignore",
    ]  # fmt: skip
    assert await text(workspace, path="src", show_sizes=True) == [
        "src/", "  loader.py  171 B", "  main.py  56 B", "  registry.py  78 B"
    ]  # fmt: skip
    result = await tree(workspace, show_sizes=True, depth=1)
    assert {entry.name: entry.size for entry in result.entries} == {
        "docs": 46, "src": 305, "tests": 61
    }  # fmt: skip
    assert "  ignored/ … 1 file" in await text(workspace, include_ignored=True, depth=1)
    for path in ("", ".", "./", str(project), project.as_uri(), "src/.."):
        assert (await tree(workspace, path=path)).text == (await tree(workspace)).text


async def test_invalid_paths_are_refused(workspace: EngineWorkspace) -> None:
    with pytest.raises(NotAFolder) as file:
        await tree(workspace, path="src/main.py")
    assert file.value.data == {"kind": "not_a_folder", "path": "src/main.py"}
    for path in ("..", "/etc", "/proc/self", "src/../.."):
        with pytest.raises(PathOutsideWorkspace):
            await tree(workspace, path=path)
    with pytest.raises(NotFound):
        await tree(workspace, path="nothing")
    for params in ({"depth": 0}, {"depth": 101}, {"max_entries": 0}, {"include": ["{"]}, {"x": 1}):
        with pytest.raises(InvalidParams, match=f"`{next(iter(params))}"):
            await TOOL.call(workspace, params, no_progress)


# --- pages ---------------------------------------------------------------------------------


def broad_tree(folder: Path, count: int) -> Path:
    """Create a folder with `count` files, next to deep folders."""
    files = [f"many/{number:03}" for number in range(count)]
    files += [f"{name}/{name}/{name}/x" for name in "abz"] + ["top", "many/sub/y"]
    return write_files(folder, dict.fromkeys(files, "x"))


@pytest.fixture
def broad(tmp_path: Path) -> Path:
    """Create a folder with 250 files, next to deep folders."""
    return broad_tree(tmp_path / "broad", 250)


@pytest.mark.parametrize("max_entries", [1, 7, 20, 1_000])
async def test_pages_hold_every_entry_once_and_stay_a_tree(
    tmp_path: Path, make_workspace: MakeWorkspace, max_entries: int
) -> None:
    workspace = make_workspace(broad_tree(tmp_path / "broad", 40))
    whole = await tree(workspace, depth=9, max_entries=10_000)
    everything = list(shown(whole.entries))
    assert len(everything) == whole.total_found == whole.returned == 56
    seen: list[str] = []
    total = 0
    async for page in pages(tree, workspace, depth=9, max_entries=max_entries):
        paths = list(shown(page.entries))
        new = [path for path in paths if path not in seen]
        # Entries of earlier pages only lead to new ones.
        assert all(any(one.startswith(path) for one in new) for path in paths if path not in new)
        assert len(new) == page.returned
        assert page.text.count("\n") == len(paths) + page.text.count("… ")
        seen += new
        total += page.returned
        assert page.truncated == (total < 56)
    assert sorted(seen) == sorted(everything)


async def test_a_folder_with_many_entries_does_not_starve_others(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    names = [f"a/{number:05}" for number in range(2_000)]
    write_files(tmp_path / "r", dict.fromkeys([*names, "b/c/d", "e/f", "g"], ""))
    result = await tree(make_workspace(tmp_path / "r"), max_entries=220)
    assert {"b/c/d", "e/f", "g"} <= set(shown(result.entries))
    [a] = [entry for entry in result.entries if entry.name == "a"]
    assert (a.files, a.omitted, len(a.children or ())) == (2_000, 1_787, 213)
    assert "    … 1787 more" in result.text.splitlines()
    assert (result.total_found, result.returned, result.truncated) == (2_007, 220, True)


async def test_omitted_entries_of_the_folder_itself_are_counted(
    broad: Path, make_workspace: MakeWorkspace
) -> None:
    assert await text(make_workspace(broad), max_entries=2) == [
        "broad/", "  a/", "    … 1 more", "  b/", "    … 1 more", "  … 3 more"
    ]  # fmt: skip


@pytest.mark.parametrize("change", ["added", "removed", "behind", "text"])
async def test_changes_before_the_cursor_are_reported(
    broad: Path, make_workspace: MakeWorkspace, change: str
) -> None:
    workspace = make_workspace(broad)
    first = await tree(workspace, max_entries=3)
    assert list(shown(first.entries)) == ["a/", "b/", "many/"]
    if change == "added":
        write_files(broad, {"aa/x": ""})
    elif change == "removed":
        (broad / "a").rename(broad / "zz")
    elif change == "behind":
        (broad / "zz").touch()
    else:
        (broad / "top").write_text("other")
    second = await tree(workspace, max_entries=3, cursor=first.cursor)
    assert second.completeness.complete == (change in ("behind", "text"))
    assert len(second.completeness.reasons) == (change in ("added", "removed"))


async def test_fewer_tokens_shorten_in_steps_and_lose_nothing(
    broad: Path, make_workspace: MakeWorkspace
) -> None:
    (broad / "link").symlink_to("top")
    workspace = make_workspace(broad)
    whole = await tree(workspace, depth=9, show_sizes=True)
    sizes = []
    for tokens in (100_000, 5_000, 2_000, 1_000, 400):
        seen: set[str] = set()
        async for page in pages(tree, workspace, depth=9, show_sizes=True, max_tokens=tokens):
            assert estimated_tokens(page) <= tokens
            sizes += [page.returned] if not seen else []
            seen |= set(shown(page.entries))
        assert seen == set(shown(whole.entries))
    assert sizes == sorted(sizes, reverse=True)
    bare = await tree(workspace, depth=2, show_sizes=True, max_tokens=6_000, path="a")
    assert bare.entries[0].size == 1
    least = await tree(workspace, max_tokens=1)
    assert (least.returned, least.truncated, bool(least.cursor)) == (1, True, True)


async def test_an_answer_that_cannot_be_shorter_is_not_truncated(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(tmp_path)
    assert not (await tree(workspace, max_tokens=1)).truncated
    write_files(tmp_path, {"a": ""})
    assert not (await tree(workspace, max_tokens=1)).truncated
    sized = await tree(workspace, max_tokens=1, show_sizes=True)
    assert (sized.truncated, sized.cursor, sized.entries[0].size) == (True, None, None)


# --- what lies in folders ------------------------------------------------------------------


async def test_deep_trees(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    write_files(tmp_path, {"d/" * 500 + "file": "text"})
    workspace = make_workspace(tmp_path)
    assert (await text(workspace))[-1] == "      d/ … 1 file"
    result = await tree(workspace, depth=100, show_sizes=True)
    assert result.returned == 100
    assert result.text.splitlines()[-1] == "  " * 100 + "d/  4 B … 1 file"
    assert msgspec.json.decode(msgspec.json.encode(result), type=TreeResult) == result
    assert list(shown((await tree(workspace, path="d/" * 499)).entries)) == ["d/", "d/file"]


@requires_posix
async def test_names_of_any_bytes_are_harmless(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    names = [
        b"\xff/x",
        b"new\n  line/x",
        b"esc\x1b[31m",
        b"tab\there",
        "\u202eold".encode(),
        b" a ",
    ]
    for name in names:
        file = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Path(os.fsdecode(file)).touch()
    result = await tree(make_workspace(tmp_path))
    assert result.text.splitlines()[1:] == [
        "  new\\x0a  line/", "    x", "  \\xff/", "    x", "   a ", "  esc\\x1b[31m",
        "  tab\there", "  \\xe2\\x80\\xaeold",
    ]  # fmt: skip
    by_name = {entry.name: entry for entry in result.entries}
    assert by_name["\\xff"].uri == f"{tmp_path.as_uri()}/%FF"
    assert list(by_name) == [
        "new\\x0a  line",
        "\\xff",
        " a ",
        "esc\\x1b[31m",
        "tab\there",
        "\\xe2\\x80\\xaeold",
    ]
    again = await tree(make_workspace(tmp_path), path="\\xff")
    assert again.text == "\\xff/\n  x"


@requires_posix
async def test_symlinks_are_shown_and_not_followed(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    root = write_files(
        git_init(tmp_path / "root"), {".gitignore": "ign*\n", "a/x": "", "ign/y": ""}
    )
    for name, target in {
        "out": "/etc", "up": "..", "loop": "loop", "gone": "no\x1bwhere", "a/self": ".",
        "ignored": "a", ".hidden": "a",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    workspace = make_workspace(root)
    assert await text(workspace) == [
        "root/", "  a/", "    self -> .", "    x", "  gone -> no\\x1bwhere", "  loop -> loop",
        "  out -> /etc", "  up -> ..",
    ]  # fmt: skip
    sizes = await tree(workspace, show_sizes=True)
    assert [one.size for one in sizes.entries] == [0, None, None, None, None]
    for path in ("out", "up"):
        with pytest.raises(PathOutsideWorkspace):
            await tree(workspace, path=path)
    assert await text(workspace, path="a/self") == ["a/", "  self -> .", "  x"]


@requires_posix
async def test_empty_folders_are_shown_and_special_files_are_not(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(tmp_path, {"a/x": "", "only_hidden/.keep": ""})
    (tmp_path / "empty/deeper/still").mkdir(parents=True)
    (tmp_path / "empty/deeper/link").symlink_to("still")
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "a/socket", stat.S_IFSOCK | 0o600)
    workspace = make_workspace(tmp_path)
    assert await text(workspace, depth=2) == [
        f"{tmp_path.name}/", "  a/", "    x", "  empty/", "    deeper/ … 2 more", "  only_hidden/"
    ]  # fmt: skip
    # With a filter, only folders that contain matching files are shown.
    assert await text(workspace, include=["x"]) == [f"{tmp_path.name}/", "  a/", "    x"]


async def test_unsaved_documents_are_shown(workspace: EngineWorkspace, project: Path) -> None:
    workspace.open_documents = lambda: {
        project / "src/main.py": "é" * 500,
        project / "new/folder/x.py": "text",
        project / "ignored/y.py": "text",
    }
    lines = await text(workspace, show_sizes=True)
    assert lines == [
        "project/", "  docs/  46 B", "    plugins.md  46 B", "  ignored/  4 B",
        "    y.py  4 B  (not saved)", "  new/  4 B", "    folder/  4 B",
        "      x.py  4 B  (not saved)", "  src/  1,249 B", "    loader.py  171 B",
        "    main.py  1,000 B  (not saved)", "    registry.py  78 B", "  tests/  61 B",
        "    test_loader.py  61 B",
    ]  # fmt: skip


@requires_permissions
async def test_unreadable_folders_are_reported_once(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    (project / "closed").mkdir()
    (project / "closed").chmod(0)
    result = await tree(make_workspace(project))
    assert "closed/" in shown(result.entries)
    assert result.completeness.reasons == ["1 file or folder could not be read"]
    assert result.completeness.skipped.unreadable == 1


# --- several roots -------------------------------------------------------------------------


async def test_several_roots_each_have_their_own_entries(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    one, two, inner = tmp_path / "one", tmp_path / "two", tmp_path / "two/inner"
    for root in (one, two, inner):
        write_files(git_init(root), {"a/x": "12345", "out/y": ""})
    (two / ".winnowignore").write_text("out/\nempty/\nlink\n")
    (two / "empty").mkdir()
    (two / "link").symlink_to("a")
    (one / "empty").mkdir()
    workspace = make_workspace(one, two, inner)
    assert await text(workspace, show_sizes=True, exclude=["y"]) == [
        "the workspace folders", f"  {one}/  5 B", "    a/  5 B", "      x  5 B", "    empty/  0 B",
        "    out/  0 B", f"  {two}/  5 B", "    a/  5 B", "      x  5 B", f"  {inner}/  5 B",
        "    a/  5 B", "      x  5 B", "    out/  0 B",
    ]  # fmt: skip
    seen: set[str] = set()
    total = 0
    async for page in pages(tree, workspace, max_entries=4):
        seen |= set(shown(page.entries))
        total += page.returned
    assert total == len(seen) == len(list(shown((await tree(workspace)).entries)))
    assert (await tree(workspace, path="a")).warnings[0].startswith("a is in several workspace")
    assert await text(workspace, path=str(inner / "a")) == ["a/", "  x"]


async def test_submodules_are_shown_on_request(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    library = git_commit(tmp_path / "library", {"x": ""})
    root = git_commit(tmp_path / "root", {"a": ""})
    git(root, "submodule", "--quiet", "add", str(library), "deps/dep")
    workspace = make_workspace(root)
    result = await tree(workspace)
    assert result.text == "root/\n  deps/\n  a"
    assert result.warnings == [
        "not searched: the submodules deps/dep; `grep` with include_submodules searches them"
    ]
    whole = await text(workspace, include_submodules=True)
    assert whole == ["root/", "  deps/", "    dep/", "      x", "  a"]
    assert await text(workspace, path="deps/dep") == ["deps/dep/", "  x"]
    # Also in one of several roots.
    several = await text(make_workspace(library, root))
    assert several[-3:] == [f"  {root}/", "    deps/", "    a"]


# --- shortened results ---------------------------------------------------------------------


async def test_excluded_files_are_counted_if_the_tree_is_empty(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {".gitignore": "*.log\n", "a.log": "", ".x/b.md": ""}
    workspace = make_workspace(write_files(git_init(tmp_path / "root"), files))
    for include, warnings in {
        "*.log": ["no files; 1 excluded file: pass include_ignored"],
        "*.md": ["no files; 1 excluded file: pass show_hidden"],
        "*.none": [],
    }.items():
        result = await tree(workspace, include=[include])
        assert (result.entries, result.text, result.warnings) == ([], "root/", warnings)
    assert (await tree(workspace)).warnings == [
        "no files; 3 excluded files: pass include_ignored and show_hidden"
    ]


@requires_posix
async def test_a_listing_that_takes_too_long_reports_it(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    root = write_files(git_init(tmp_path / "root"), {"src/a": "", "ign/b": "", ".gitignore": "ign"})
    slow = tmp_path / "rg"
    slow.write_text("#!/bin/sh\n[ $1 = --version ] && exit\nexec sleep 20\n")
    slow.chmod(0o755)
    layer: dict[str, Any] = {"limits": {"search_seconds": 0.2}, "programs": {"rg": str(slow)}}
    config, _ = merge_layer(Config(), layer, "test")
    with pytest.raises(SearchTimedOut):
        await tree(make_workspace(root, config=config))
    slow.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exit\n"
        "echo 'rg: DEBUG|x' >&2\nprintf './src/a\\0./s'\nexec sleep 20\n"
    )
    layer["limits"] = {"search_seconds": 2.0}
    config, _ = merge_layer(Config(), layer, "test")
    result = await tree(make_workspace(root, config=config))
    # Without a complete log of excluded files, only listed files are shown.
    assert result.text == "root/\n  src/\n    a"
    assert result.completeness.timed_out
    assert result.completeness.reasons == ["stopped after 2 s: not every file was seen"]


async def test_too_many_excluded_files_are_reported(
    project: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.text.skipped_files.REMEMBERED", 1)
    result = await tree(make_workspace(project), depth=1)
    assert [entry.name for entry in result.entries] == ["docs", "src", "tests"]
    assert result.warnings == [
        "symlinks and empty folders are not shown: too many files are excluded"
    ]
