"""Tests of glob on real trees: matches, order, pages and reports of excluded files."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered, pages
from conftest import (
    RIPGREP,
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
from winnow.errors import EmptyQuery, InvalidParams, NotFound, PathOutsideWorkspace, SearchTimedOut
from winnow.search.answer.shorten import estimated_tokens
from winnow.tools import TOOLS
from winnow.tools.glob import GlobPartial, GlobResult, plain
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
from corpora import CORPORA

TOOL = TOOLS["glob"]
DJANGO = CORPORA / "django-5.1.4"


async def glob(
    workspace: EngineWorkspace, pattern: str = "**", progress: Progress = no_progress, **params: Any
) -> GlobResult:
    raw = {"pattern": pattern, **params}
    return await answered(TOOL, GlobResult, workspace, raw, progress, items="files")


async def paths(workspace: EngineWorkspace, pattern: str = "**", **params: Any) -> list[str]:
    return [one.path for one in (await glob(workspace, pattern, **params)).files]


async def test_matching_files_have_sizes_and_times(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    os.utime(project / "src/main.py", ns=(0, 1_700_000_000_999_999_999))
    recorder = Recorder()
    result = await glob(make_workspace(project), "src/m*.py", recorder)
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "search_id": result.search_id,
        "files": [{"path": "src/main.py", "size": 56, "modified": "2023-11-14T22:13:20Z"}],
        "total_found": 1,
        "returned": 1,
        "truncated": False,
        "completeness": {
            "complete": True,
            "reasons": [],
            "skipped": {
                "ignored": 1, "hidden": 2, "binary": 0, "too_large": 0, "unreadable": 0,
                "symlink": 0,
            },
            "timed_out": False,
        },
        "warnings": [],
    }  # fmt: skip
    assert recorder.messages == ["Listing files that match src/m*.py"]
    assert plain(result) == "src/main.py\n\n[1 of 1 files]\n[left out: 1 ignored, 2 hidden]"


# --- patterns ------------------------------------------------------------------------------

NAMES = ["a", "b.py", "c.md", "a b.txt", "x[1].py", "ü.py", "__init__.py", "Makefile", "q?.c"]
IGNORED = {".gitignore": "*.log\nbuild/\n!keep.log\n", "sub/.gitignore": "/c.md\n"}


def listed(root: Path, *arguments: str) -> list[str]:
    command = [
        RIPGREP,
        "--no-config",
        "--no-require-git",
        "--files",
        "--null",
        *arguments,
    ]
    run = subprocess.run(command, cwd=root, capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in (0, 1), run.stderr
    return [os.fsdecode(path) for path in run.stdout.split(b"\0") if path]


def generated(chance: random.Random, names: list[str]) -> str:
    """Generate a pattern that is likely to match something."""
    parts = []
    for part in chance.choice(names).split("/"):
        cut = chance.randrange(len(part))
        plain_part = "".join("?" if char in "[]?*{}\\!" else char for char in part)
        parts.append(
            chance.choice(
                [
                    plain_part, "*", "**", f"*{plain_part[cut:]}", f"{plain_part[:cut]}*",
                    f"{plain_part[:cut]}?{plain_part[cut + 1 :]}", f"{{{plain_part},other}}",
                    f"[{part[0]}z]*" if part[0].isalnum() else "*",
                    f"*[!{part[-1]}]" if part[-1].isalnum() else "*",
                ]
            )
        )  # fmt: skip
    some = parts[chance.randrange(len(parts)) :] if chance.random() < 0.4 else parts
    return "/".join([*["**"] * (chance.random() < 0.3), *some])


async def equals_ripgrep(root: Path, workspace: EngineWorkspace, patterns: int, seed: str) -> int:
    """Compare generated patterns without ignore files, which ripgrep's globs override."""
    chance = random.Random(seed)
    searched = set(listed(root))
    names = sorted(searched)
    hits = 0
    for _ in range(patterns):
        pattern = generated(chance, names)
        expected = searched.intersection(listed(root, f"--glob={pattern}"))
        result = await glob(workspace, pattern, max_results=100_000)
        assert {one.path for one in result.files} == expected, pattern
        assert result.total_found == len(expected)
        hits += bool(expected)
    return hits


@requires_posix
async def test_generated_patterns_match_like_ripgreps_globs(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    chance = random.Random(7)
    folders = ["", "src/", "src/deep/", "src/deep/er/", "sub/", "sub/src/", "build/", "docs/a b/"]
    files = {f"{folder}{name}": "" for folder in folders for name in NAMES if chance.random() < 0.8}
    root = write_files(
        git_init(tmp_path / "root"), {**files, **IGNORED, "x.log": "", "keep.log": ""}
    )
    assert await equals_ripgrep(root, make_workspace(root), 80, "small") > 50


@pytest.mark.slow
@pytest.mark.skipif(not DJANGO.is_dir(), reason="Django's source is not there")
async def test_generated_patterns_on_a_real_tree(make_workspace: MakeWorkspace) -> None:
    assert await equals_ripgrep(DJANGO, make_workspace(DJANGO), 12, "django") > 5


@requires_posix
async def test_patterns_are_relative_to_the_root_or_the_path(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(project, {"src/src/x.py": "", "src/tests/y.py": "", "src/[z]/a.py": ""})
    workspace = make_workspace(project)
    assert await paths(workspace, "src/*.py", path="src") == [
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
        "src/src/x.py",
    ]
    assert await paths(workspace, "tests/*", path="src") == ["src/tests/y.py"]
    assert await paths(workspace, "main.py", path="src/main.py") == ["src/main.py"]
    assert await paths(workspace, "*.md", path="src") == []
    assert (
        await paths(workspace, "./src/m*") == await paths(workspace, "/src/m*") == ["src/main.py"]
    )
    assert await paths(workspace, "src/src/") == ["src/src/x.py"]
    assert await paths(workspace, f"{project}/src/m*") == ["src/main.py"]
    assert await paths(workspace, f"{project}/m*") == []
    assert await paths(workspace, r"src/\[z\]/*") == ["src/[z]/a.py"]
    assert await paths(make_workspace(project / "src"), f"{project}/tests/*") == [
        "tests/test_loader.py"
    ]


@requires_posix
async def test_absolute_patterns_match_in_their_root(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    one, other, inner = tmp_path / "one [1]", tmp_path / "other", tmp_path / "one [1]/inner"
    for root in (one, other, inner):
        write_files(git_init(root), {"a.py": "", "sub/b.py": ""})
    workspace = make_workspace(one, other, inner)

    async def found(pattern: str) -> list[tuple[str | None, str]]:
        return [(file.root, file.path) for file in (await glob(workspace, pattern)).files]

    assert await found(f"{other}/*.py") == [(str(other), "a.py")]
    assert await found(f"{inner}/*.py") == [(str(inner), "a.py")]
    assert await found(f"{one}/**/b.py") == [(str(one), "sub/b.py"), (str(inner), "sub/b.py")]
    assert await found(f"{tmp_path}/elsewhere/*.py") == []


@pytest.mark.parametrize("pattern", ["[", "{a", "a[!", "[z-a]"])
async def test_invalid_patterns_are_refused(
    project: Path, make_workspace: MakeWorkspace, pattern: str
) -> None:
    with pytest.raises(InvalidParams, match=r"`pattern`: .* is not a glob"):
        await glob(make_workspace(project), pattern)


async def test_other_invalid_params_are_refused(project: Path, workspace: EngineWorkspace) -> None:
    for pattern in ("", "  "):
        with pytest.raises(EmptyQuery):
            await glob(workspace, pattern)
    for pattern in ("../*", "src/../../*", f"{project}/../*"):
        with pytest.raises(PathOutsideWorkspace):
            await glob(workspace, pattern)
    with pytest.raises(PathOutsideWorkspace):
        await glob(workspace, path="/etc")
    with pytest.raises(NotFound):
        await glob(workspace, path="nothing")
    for params in (
        {"max_results": 0},
        {"sort_by": "name"},
        {"cursor": "1abc"},
        {"include": ["["]},
        {"file_types": ["nothing"]},
    ):
        with pytest.raises(InvalidParams, match=f"`{next(iter(params))}"):
            await glob(workspace, **params)


async def test_a_broken_ignore_file_is_harmless(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    (project / ".gitignore").write_text("[\n{a\nignored/\n")
    assert "ignored/cache.py" not in await paths(make_workspace(project))
    assert "src/main.py" in await paths(make_workspace(project))
    assert await paths(make_workspace(project), "*.none") == []


@requires_posix
async def test_names_of_any_bytes_can_be_passed_to_other_tools(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    names = [b"\xff\xfe.py", b"new\nline.py", b"esc\x1b[31m.py", b" a ", b"-x", "ü😀.py".encode()]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text\n")
    workspace = make_workspace(tmp_path)
    result = await glob(workspace)
    assert sorted(os.fsencode(one.path) for one in result.files) == sorted(
        [b"\\xff\\xfe.py", b"new\\x0aline.py", b"esc\\x1b[31m.py", *names[3:]]
    )
    for one in result.files:
        for path in (one.path, one.uri or (tmp_path / one.path).as_uri()):
            again = await glob(workspace, path=path) if path.isprintable() else result
            assert one in again.files
    assert "\x1b" not in plain(result)
    assert len(plain(result).splitlines()) == len(names) + 2


# --- order and pages -----------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Create files in folders; some have equal sizes and times."""
    chance = random.Random(3)
    for number in range(57):
        folder = tmp_path / chance.choice(["a", "a/b", "ab", "é", "z"])
        folder.mkdir(exist_ok=True, parents=True)
        file = folder / f"f{number}"
        file.write_text("x" * chance.randrange(6))
        os.utime(file, ns=(0, chance.randrange(9) * 10**17))
    return tmp_path


async def test_every_order_is_stable(many: Path, make_workspace: MakeWorkspace) -> None:
    workspace = make_workspace(many)
    in_order = listed(many, "--sort=path")
    assert await paths(workspace) == in_order
    by_size = sorted(in_order, key=lambda one: -(many / one).stat().st_size)
    assert await paths(workspace, sort_by="size") == by_size
    by_time = sorted(in_order, key=lambda one: -(many / one).stat().st_mtime_ns)
    assert await paths(workspace, sort_by="mtime") == by_time


@pytest.mark.parametrize(
    ("sort_by", "max_results"),
    [
        *(("path", 1), ("path", 10), ("path", 57)),
        *(("mtime", 3), ("mtime", 57), ("size", 3), ("size", 57)),
    ],
)
async def test_pages_hold_every_file_once(
    many: Path, make_workspace: MakeWorkspace, sort_by: str, max_results: int
) -> None:
    workspace = make_workspace(many)
    whole = await glob(workspace, sort_by=sort_by)
    found = []
    async for page in pages(glob, workspace, sort_by=sort_by, max_results=max_results):
        found += page.files
        assert (page.total_found, page.completeness.complete) == (57, True)
        assert page.truncated == bool(page.cursor)
    assert found == whole.files


@pytest.mark.parametrize("sort_by", ["path", "mtime", "size"])
@pytest.mark.parametrize("change", ["added", "removed", "changed", "none", "behind"])
async def test_changes_before_the_cursor_are_reported(
    many: Path, make_workspace: MakeWorkspace, sort_by: str, change: str
) -> None:
    workspace = make_workspace(many)
    first = await glob(workspace, sort_by=sort_by, max_results=20)
    before, after = many / first.files[5].path, first.files[-1]
    if change == "added":
        (many / "a/0").write_text("x" * 100)  # the first in every order
    elif change == "removed":
        before.unlink()
    elif change == "changed":
        before.write_text("y" * 500)
    elif change == "behind":
        (many / "zz").touch()
        os.utime(many / "zz", (0, 0))
    second = await glob(workspace, sort_by=sort_by, max_results=100, cursor=first.cursor)
    # Sorted by path, a changed text does not change the answer.
    told = change in ("added", "removed") or (change == "changed" and sort_by != "path")
    assert second.completeness.complete == (not told)
    assert [reason.partition(":")[0] for reason in second.completeness.reasons] == [
        "what is before this page has changed since"
    ] * told
    if not told:
        expected = await paths(workspace, sort_by=sort_by)
        assert after.path == expected[19]
        assert [one.path for one in second.files] == expected[20:]


async def test_the_file_at_the_cursor_may_be_deleted(
    many: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(many)
    everything = await paths(workspace)
    first = await glob(workspace, max_results=20)
    (many / everything[19]).unlink()
    second = await glob(workspace, cursor=first.cursor)
    assert [one.path for one in second.files] == everything[20:]
    assert not second.completeness.complete


async def test_a_cursor_of_another_request_is_refused(
    many: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(many)
    cursor = (await glob(workspace, max_results=5)).cursor
    for change in ({"sort_by": "size"}, {"pattern": "f*"}, {"path": "a"}, {"include_hidden": True}):
        with pytest.raises(InvalidParams, match="`cursor`"):
            await TOOL.call(workspace, {"pattern": "**", "cursor": cursor, **change}, no_progress)


@pytest.mark.parametrize("seconds", [-1, 0, 2**33, 2**40, -(2**40)])
async def test_extreme_times_are_shown(
    tmp_path: Path, make_workspace: MakeWorkspace, seconds: int
) -> None:
    write_files(tmp_path, {"a": "", "b": ""})
    for name in "ab":
        try:
            os.utime(tmp_path / name, (seconds, seconds))
        except OSError:
            pytest.skip("the file system has no such time")
    [first, second] = [
        page async for page in pages(glob, make_workspace(tmp_path), sort_by="mtime", max_results=1)
    ]
    assert first.files[0].modified == second.files[0].modified
    assert str(first.files[0].modified).endswith("Z")


# --- max_tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("sort_by", ["path", "size"])
async def test_fewer_tokens_shorten_in_steps_and_lose_nothing(
    many: Path, make_workspace: MakeWorkspace, sort_by: str
) -> None:
    workspace = make_workspace(many)
    whole = await glob(workspace, sort_by=sort_by)
    sizes = []
    for tokens in (10_000, 1_200, 900, 500, 300):
        found = []
        async for page in pages(glob, workspace, sort_by=sort_by, max_tokens=tokens):
            assert estimated_tokens(page) <= tokens
            assert page.truncated == (tokens < 10_000) or not page.cursor
            found += [one.path for one in page.files]
            sizes += [page.returned] * (len(found) == page.returned)
        assert found == [one.path for one in whole.files]
    assert sizes == sorted(sizes, reverse=True)
    bare = await glob(workspace, max_tokens=1_200)
    assert (bare.returned, bare.truncated, bare.cursor) == (57, True, None)
    assert {(one.size, one.modified) for one in bare.files} == {(None, None)}
    least = await glob(workspace, max_tokens=1)
    assert (least.returned, least.truncated, bool(least.cursor)) == (1, True, True)


async def test_an_empty_answer_is_not_truncated(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    result = await glob(make_workspace(project), "*.none", max_tokens=1)
    assert (result.files, result.truncated, result.cursor) == ([], False, None)


async def test_streamed_files_are_not_repeated_in_the_result(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    class Streaming(Recorder):
        streaming = True

    recorder = Streaming()
    workspace = make_workspace(project)
    result = await glob(workspace, "*.py", recorder, max_results=2)
    assert (result.files, result.returned, result.truncated) == ([], 2, True)
    [partial] = recorder.partials
    assert isinstance(partial, GlobPartial)
    assert [one.path for one in partial.files] == ["src/loader.py", "src/main.py"]
    short = await glob(workspace, "*.py", Streaming(), max_results=2, max_tokens=10_000)
    assert len(short.files) == 2


# --- scope ---------------------------------------------------------------------------------


async def test_ignored_and_hidden_files_are_found_on_request(workspace: EngineWorkspace) -> None:
    assert await paths(workspace, "*.py", include_ignored=True, path="ignored") == [
        "ignored/cache.py"
    ]
    assert await paths(workspace, "c*.py", include_ignored=True) == ["ignored/cache.py"]
    assert await paths(workspace, "s*.py", include_hidden=True) == [".hidden/secret.py"]
    assert await paths(workspace, "*.py", exclude=["src"], include=["t*"]) == [
        "tests/test_loader.py"
    ]
    assert await paths(workspace, "*", file_types=["md"]) == ["docs/plugins.md"]
    assert not any(".git/" in one for one in await paths(workspace, include_hidden=True))


async def test_excluded_matches_are_counted_if_nothing_matches(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    library = git_commit(tmp_path / "library", {"s.sub": ""})
    root = git_commit(tmp_path / "root", {".gitignore": "ign/\n.both\n", "a": ""})
    git(root, "submodule", "--quiet", "add", str(library), "dep")
    files = {"ign/i.ign": "", ".h/h.hid": "", ".both/b.two": "", "ign/m.mix": "", ".h/m.mix": ""}
    workspace = make_workspace(write_files(root, files))
    named = "not searched: the submodules dep; `grep` with include_submodules searches them"

    async def warnings(pattern: str, **params: Any) -> list[str]:
        result = await glob(workspace, pattern, **params)
        assert (result.files, result.total_found) == ([], 0)
        return [warning for warning in result.warnings if warning != named]

    left_out = "0 files; {} excluded files match: pass {}".format
    assert await warnings("*.ign") == [left_out(1, "include_ignored")]
    assert await warnings("*.hid") == [left_out(1, "include_hidden")]
    assert await warnings("*.two") == [left_out(1, "include_ignored and include_hidden")]
    assert await warnings("*.two", include_hidden=True) == [left_out(1, "include_ignored")]
    assert await warnings("*.mix") == [left_out(2, "include_ignored and include_hidden")]
    assert await warnings("*.sub") == [left_out(1, "include_submodules")]
    assert await warnings("*.none") == []
    assert await warnings("*.sub", scope="open") == ["scope='open' has only 0 files"]


async def test_submodules_are_listed_once_on_request(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    library = git_commit(tmp_path / "library", {"x": ""})
    root = git_commit(tmp_path / "root", {"a": ""})
    git(root, "submodule", "--quiet", "add", str(library), "dep")
    workspace = make_workspace(root)
    result = await glob(workspace)
    assert [one.path for one in result.files] == ["a"]
    assert result.warnings == [
        "not searched: the submodules dep; `grep` with include_submodules searches them"
    ]
    assert await paths(workspace, include_submodules=True) == ["a", "dep/x"]
    assert await paths(workspace, path="dep") == ["dep/x"]
    both = await glob(make_workspace(root, root / "dep"))
    assert [(one.root, one.path) for one in both.files] == [
        (str(root), "a"),
        (str(root / "dep"), "x"),
    ]


async def test_the_scope_can_be_changed_or_open_files(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    root = write_files(
        git_commit(tmp_path / "root", {"a.py": "", "b.py": ""}), {"b.py": "x", "c": ""}
    )
    workspace = make_workspace(root)
    workspace.open_documents = lambda: {root / "a.py": "", root / "new/d.py": "text"}
    assert await paths(workspace, scope="changed") == ["b.py", "c", "new/d.py"]
    assert await paths(workspace, "*.py", scope="changed", sort_by="size") == ["new/d.py", "b.py"]
    assert await paths(workspace, scope="open") == ["a.py", "new/d.py"]
    [first, second, third] = [
        page async for page in pages(glob, workspace, scope="changed", max_results=1)
    ]
    assert [page.files[0].path for page in (first, second, third)] == ["b.py", "c", "new/d.py"]


async def test_several_roots_list_each_file_once(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    inner, deep = two / "inner", two / "inner/deep"
    for root in (one, two, inner, deep):
        write_files(git_init(root), {"same": "", "sub/f": ""})
    expected = [
        (str(one), "same"), (str(one), "sub/f"), (str(two), "same"), (str(two), "sub/f"),
        (str(inner), "same"), (str(inner), "sub/f"), (str(deep), "same"), (str(deep), "sub/f"),
    ]  # fmt: skip
    workspace = make_workspace(one, two, inner, deep)
    result = await glob(workspace)
    assert [(file.root, file.path) for file in result.files] == expected
    found = []
    async for page in pages(glob, workspace, max_results=3):
        found += [(file.root, file.path) for file in page.files]
    assert found == expected
    result = await glob(workspace, path="same")
    assert [(file.root, file.path) for file in result.files] == [(None, "same")]
    assert "is in several workspace folders" in result.warnings[0]
    for file in (await glob(workspace)).files:
        again = await glob(workspace, path=f"{file.root}/{file.path}")
        assert (again.root, [one.path for one in again.files]) == (file.root, [file.path])


async def test_unsaved_documents_are_found_with_their_size(
    project: Path, workspace: EngineWorkspace
) -> None:
    workspace.open_documents = lambda: {
        project / "src/main.py": "é" * 1_000,
        project / "new/folder/x.py": "text",
        project / "ignored/new.py": "someone works on it",
        project / ".hidden/new.py": "hidden",
        project.parent / "elsewhere.py": "",
    }
    result = await glob(workspace, "*.py", sort_by="size")
    found = [(one.path, one.size, one.unsaved) for one in result.files]
    assert found[0] == ("src/main.py", 2_000, True)
    assert ("new/folder/x.py", 4, True) in found
    assert ("ignored/new.py", 19, True) in found
    assert len(found) == 6
    assert await paths(workspace, path="new/folder/x.py") == ["new/folder/x.py"]
    assert await paths(workspace, path=".hidden") == [".hidden/new.py", ".hidden/secret.py"]
    assert ".hidden/new.py" in await paths(workspace, include_hidden=True)
    assert await paths(workspace, "new.py", exclude=["ignored"]) == []


async def test_documents_that_cannot_be_copied_are_reported(
    project: Path, workspace: EngineWorkspace
) -> None:
    workspace.open_documents = lambda: {project / "x": "a file", project / "x/y.py": "below a file"}
    assert (await glob(workspace)).warnings == [
        "1 unsaved documents could not be copied: their saved files are listed"
    ]


# --- shortened results ---------------------------------------------------------------------


@requires_posix
async def test_a_listing_that_takes_too_long_reports_it(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    slow = tmp_path / "rg"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    layer = {"limits": {"search_seconds": 0.2}, "programs": {"rg": str(slow)}}
    config, _ = merge_layer(Config(), layer, "test")
    with pytest.raises(SearchTimedOut) as timed_out:
        await glob(make_workspace(project, config=config))
    assert timed_out.value.data == {"kind": "timeout", "seconds": 0.2}


@requires_posix
async def test_files_listed_before_the_timeout_are_returned(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    """A ripgrep that hangs after some files, as on a slow disk."""
    slow = tmp_path / "rg"
    slow.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exit\nprintf 'src/main.py\\0src/lo'\nexec sleep 20\n"
    )
    slow.chmod(0o755)
    root = write_files(tmp_path / "root", {"src/main.py": ""})
    layer = {"limits": {"search_seconds": 2.0}, "programs": {"rg": str(slow)}}
    config, _ = merge_layer(Config(), layer, "test")
    result = await glob(make_workspace(root, config=config))
    assert [one.path for one in result.files] == ["src/main.py"]
    assert (result.completeness.complete, result.completeness.timed_out) == (False, True)
    assert result.completeness.reasons == ["stopped after 2 s: not every file was seen"]
    with pytest.raises(SearchTimedOut):
        await glob(make_workspace(root, config=config), "*.none")


@requires_permissions
async def test_unreadable_folders_are_reported(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    (project / "closed").mkdir()
    (project / "closed").chmod(0)
    result = await glob(make_workspace(project), "*.md")
    assert [one.path for one in result.files] == ["docs/plugins.md"]
    assert result.completeness.reasons == ["1 file or folder could not be read"]
    assert result.completeness.skipped.unreadable == 1


@requires_posix
async def test_only_regular_files_are_found(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    write_files(tmp_path, {"a": ""})
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").symlink_to(".")
    (tmp_path / "loop").symlink_to("loop")
    result = await glob(make_workspace(tmp_path))
    assert [one.path for one in result.files] == ["a"]
    assert result.completeness.skipped.symlink == 3
    for path in ("pipe", "socket", "loop"):
        with pytest.raises(NotFound):
            await glob(make_workspace(tmp_path), path=path)
    assert await paths(make_workspace(tmp_path), path="link") == ["a"]
