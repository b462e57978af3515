"""Changed and open files, with real git and untrusted repositories."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, git, git_commit, requires_posix, write_files
from winnow.errors import InvalidParams, ProgramNotInstalled
from winnow.text.scope import Scope
from winnow.text.selection import Selector
from winnow.tools.scope_filters import filters_of
from winnow.types import FileParams
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


async def narrowed(workspace: EngineWorkspace, **params: Any) -> Scope:
    request = FileParams(**{"scope": "changed", **params})
    scope, ripgrep = workspace.scope(filters_of(request)), workspace.run_ripgrep()
    return await workspace.narrow_scope(
        scope, ripgrep, files=request.scope, follow_symlinks=request.follow_symlinks
    )


async def selected(workspace: EngineWorkspace, **params: Any) -> list[str]:
    return list((await narrowed(workspace, **params)).files or ())


# --- changed -------------------------------------------------------------------------------


async def test_every_git_state_counts_as_changed(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    names = ["same", "staged", "unstaged", "both", "gone", "gone staged", "old", "mode", "kept"]
    repository = git_commit(
        tmp_path / "r", {**dict.fromkeys(names, "1\n"), ".gitignore": "*.log\n"}
    )
    write_files(repository, {"staged": "2\n", "both": "2\n", "new staged": "1\n"})
    git(repository, "add", "staged", "both", "new staged")
    write_files(repository, {"unstaged": "2\n", "both": "3\n", "a/b/untracked": "", "x.log": ""})
    (repository / "gone").unlink()
    git(repository, "rm", "--quiet", "gone staged")
    git(repository, "mv", "old", "renamed")
    (repository / "mode").chmod(0o755)
    git(repository, "rm", "--quiet", "--cached", "kept")
    (repository / "link").symlink_to("same")
    assert await selected(make_workspace(repository)) == [
        "a/b/untracked", "both", "kept", "mode", "new staged", "renamed", "staged", "unstaged",
    ]  # fmt: skip


async def test_the_output_of_git_is_limited(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    repository = git_commit(tmp_path / "r", {"a.py": ""})
    write_files(repository, {f"untracked-{n}": "" for n in range(20)})
    workspace = make_workspace(repository)
    scope, ripgrep = workspace.scope(filters_of(FileParams())), workspace.run_ripgrep()
    selector = Selector(ripgrep, workspace.installed, {}, git_bytes=200)
    with pytest.raises(InvalidParams, match="has too many changed files"):
        await selector.select(scope, "changed")


async def test_files_in_conflict_are_changed(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    repository = git_commit(tmp_path / "r", {"f": "base\n", "g": "base\n", "same": ""})
    git(repository, "checkout", "--quiet", "-b", "other")
    git_commit(repository, {"f": "theirs\n"})
    git(repository, "checkout", "--quiet", "-")
    git_commit(repository, {"f": "ours\n"})
    with pytest.raises(Exception, match="non-zero exit"):
        git(repository, "merge", "other")
    assert await selected(make_workspace(repository)) == ["f"]


async def test_all_files_of_a_repository_without_commits_are_changed(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    git(project, "add", "src/main.py")
    assert await selected(make_workspace(project), path="src") == [
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
    ]
    assert ".hidden/secret.py" in await selected(make_workspace(project))
    assert "ignored/cache.py" not in await selected(make_workspace(project))


@requires_posix
async def test_names_of_any_bytes(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    repository = git_commit(tmp_path / "r")
    names = [b'"q".py', b"-x", b" a b ", b"a -> b", b"new\nline", b"\xff\xfe.py", "ü/😀".encode()]
    for name in names:
        file = os.path.join(os.fsencode(repository), name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Path(os.fsdecode(file)).touch()
    found = await selected(make_workspace(repository))
    assert sorted(map(os.fsencode, found)) == sorted(names)


async def test_files_outside_the_scope_are_not_selected(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = ["a.py", "a.md", "src/b.py", "src/gen/c.py", "src/d.txt", "src/Makefile"]
    repository = write_files(git_commit(tmp_path / "r"), dict.fromkeys(files, ""))
    (repository / ".winnowignore").write_text("gen/\n.winnowignore\n")
    workspace = make_workspace(repository)
    assert await selected(workspace) == ["a.md", "a.py", "src/Makefile", "src/b.py", "src/d.txt"]
    assert await selected(workspace, include=["*.py"]) == ["a.py", "src/b.py"]
    assert await selected(workspace, include=["src/**"], exclude=["*.txt"]) == [
        "src/Makefile",
        "src/b.py",
    ]
    assert await selected(workspace, file_types=["py", "make"], path="src") == [
        "src/Makefile",
        "src/b.py",
    ]
    assert await selected(workspace, file_types=["all"], include=["a.*"]) == ["a.md", "a.py"]
    assert "src/gen/c.py" in await selected(workspace, include_ignored=True)
    with pytest.raises(InvalidParams, match=r"file_types\[1\]`: unrecognized file type: nothing"):
        await selected(workspace, file_types=["py", "nothing"])
    with pytest.raises(InvalidParams, match=r"unrecognized file type: ex\. Did you mean elixir\?"):
        await selected(workspace, file_types=["ex"])


async def test_a_worktree_is_a_repository(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    main = git_commit(tmp_path / "main", {"a": "", "b": ""})
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    write_files(tmp_path / "tree", {"a": "changed", "c": ""})
    assert await selected(make_workspace(tmp_path / "tree")) == ["a", "c"]
    assert await selected(make_workspace(main)) == []


async def test_submodules_are_included_on_request(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    inner = git_commit(tmp_path / "inner", {"i": "", "j": ""})
    library = git_commit(tmp_path / "library", {"x": "", "y": ""})
    git(library, "submodule", "--quiet", "add", str(inner), "deep")
    git_commit(library)
    main = git_commit(tmp_path / "main", {"a": ""})
    git(main, "submodule", "--quiet", "add", str(library), "dep")
    git(main, "submodule", "--quiet", "update", "--init", "--recursive")
    git_commit(main)
    write_files(main, {"dep/x": "changed", "dep/new": "", "dep/deep/i": "changed", "a": "changed"})
    scope = await narrowed(make_workspace(main))
    assert scope.files == ("a",)
    assert scope.warnings == (
        "not searched: the submodules dep; `grep` with include_submodules searches them",
    )
    everything = await narrowed(make_workspace(main), include_submodules=True)
    assert everything.files == ("a", "dep/deep/i", "dep/new", "dep/x")
    assert everything.warnings == ()


async def test_a_nested_repository_is_reported(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    main = git_commit(tmp_path / "main", {"a": ""})
    git_commit(main / "vendor/inner", {"x": "", "y": ""})
    write_files(main, {"vendor/inner/x": "changed", "b": ""})
    scope = await narrowed(make_workspace(main))
    assert scope.files == ("b",)
    assert scope.warnings == (
        "not searched: vendor/inner/, a nested repository;"
        " `grep` with include_submodules searches it",
    )
    assert await selected(make_workspace(main), include_submodules=True) == ["b", "vendor/inner/x"]
    assert (await narrowed(make_workspace(main), path="b")).warnings == ()


async def test_a_root_outside_git_is_reported(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    first = git_commit(tmp_path / "first", {"a": ""})
    second = write_files(git_commit(tmp_path / "second", {"a": ""}), {"a": "changed", "b": ""})
    (tmp_path / "third").mkdir()
    workspace = make_workspace(first, second, tmp_path / "third")
    scope = await narrowed(workspace)
    assert scope.files == (f"{second}/a", f"{second}/b")
    assert scope.warnings == (
        f"not searched: {tmp_path / 'third'}, which is not in a git repository",
    )
    with pytest.raises(InvalidParams, match="is not in a git repository"):
        await selected(make_workspace(tmp_path / "third"))


async def test_a_missing_git_is_an_error(project: Path, make_workspace: MakeWorkspace) -> None:
    workspace = make_workspace(project, environment={"PATH": "/nowhere"})
    with pytest.raises(ProgramNotInstalled) as missing:
        await selected(workspace)
    assert missing.value.data == {"kind": "git_not_installed", "program": "git"}
    assert await selected(workspace, scope="open") == []


async def test_errors_of_git_are_reported(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    outer = git_commit(tmp_path / "outer", {"inner/a": ""})
    (outer / "inner/.git").mkdir()
    (outer / "inner/b").touch()
    # It must not use the parent's repository, which has other paths.
    with pytest.raises(InvalidParams, match=r"git failed in .*not a git repository"):
        await selected(make_workspace(outer / "inner"))


async def test_git_variables_are_ignored(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    one = write_files(git_commit(tmp_path / "one", {"a": ""}), {"a": "changed"})
    other = git_commit(tmp_path / "other", {"a": ""})
    variables = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    variables |= {"GIT_INDEX_FILE": str(other / ".git/index"), "PATH": os.environ["PATH"]}
    assert await selected(make_workspace(one, environment=variables)) == ["a"]


# --- untrusted repositories -------------------------------------------------------------


def marking(folder: Path, command: str = "cat") -> tuple[str, Path]:
    """Return a command that leaves a mark when it runs."""
    return f"touch {folder / 'MARK'}; {command}", folder / "MARK"


@requires_posix
@pytest.mark.parametrize("key", ["clean", "process"])
async def test_filters_of_the_repository_do_not_run(
    tmp_path: Path, make_workspace: MakeWorkspace, key: str
) -> None:
    repository = git_commit(tmp_path / "r", {"a.txt": "one\n", ".gitattributes": "* filter=f\n"})
    command, mark = marking(tmp_path)
    git(repository, "config", f"filter.f.{key}", command)
    git(repository, "config", "filter.f.required", "true")
    (repository / "a.txt").write_text("two\n")
    assert await selected(make_workspace(repository)) == ["a.txt"]
    assert not mark.exists()
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(repository, "config", "--worktree", "filter.w.clean", command)
    (repository / ".gitattributes").write_text("* filter=w\n")
    assert await selected(make_workspace(repository)) == [".gitattributes", "a.txt"]
    assert not mark.exists()


@requires_posix
async def test_a_filter_that_cannot_be_overridden_does_not_run(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    repository = git_commit(tmp_path / "r", {"a.txt": "one\n", ".gitattributes": "* filter=a=b\n"})
    command, mark = marking(tmp_path)
    git(repository, "config", "filter.a=b.clean", command)
    (repository / "a.txt").write_text("two\n")
    with pytest.raises(InvalidParams, match="would run a filter"):
        await selected(make_workspace(repository))
    assert not mark.exists()


@requires_posix
@pytest.mark.parametrize("submodules", [False, True])
async def test_filters_of_a_submodule_do_not_run(
    tmp_path: Path, make_workspace: MakeWorkspace, submodules: bool
) -> None:
    library = git_commit(tmp_path / "library", {"x": "1\n", ".gitattributes": "* filter=f\n"})
    main = git_commit(tmp_path / "main", {"a": ""})
    git(main, "submodule", "--quiet", "add", str(library), "dep")
    git_commit(main)
    command, mark = marking(tmp_path)
    git(main / "dep", "config", "filter.f.clean", command)
    (main / "dep/x").write_text("2\n")
    found = await selected(make_workspace(main), include_submodules=submodules)
    assert found == ["dep/x"] * submodules
    assert not mark.exists()


@requires_posix
async def test_other_programs_of_the_repository_do_not_run(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    repository = git_commit(tmp_path / "r", {"a.txt": "one\n"})
    command, mark = marking(tmp_path, "true")
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{command}\n")
    script.chmod(0o755)
    (repository / "hooks").mkdir()
    shutil.copy(script, repository / "hooks/post-index-change")
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"):
        git(repository, "config", name, str(script))
    git(repository, "config", "core.hooksPath", str(repository / "hooks"))
    mark.unlink(missing_ok=True)  # git in this test may have run it
    write_files(repository, {"a.txt": "two\n"})
    assert "a.txt" in await selected(make_workspace(repository))
    assert not mark.exists()


@requires_posix
async def test_git_fetches_nothing(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    """A partial clone fetches missing objects with a program from its configuration."""
    source = git_commit(tmp_path / "source", {"a": "1\n", "b/c": "1\n"})
    git(source, "config", "uploadpack.allowFilter", "true")
    git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    options = ("--quiet", "--no-checkout", "--filter=tree:0")
    git(tmp_path, "clone", *options, source.as_uri(), str(clone))
    command, mark = marking(tmp_path, 'exec git-upload-pack "$@"')
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{command}\n")
    script.chmod(0o755)
    git(clone, "config", "remote.origin.uploadpack", str(script))
    with pytest.raises(InvalidParams, match="git failed in"):
        await selected(make_workspace(clone))
    assert not mark.exists()


@requires_posix
async def test_a_working_tree_elsewhere_is_not_searched(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    outside = write_files(tmp_path / "outside", {"sub/secret": "", "top": ""})
    repository = git_commit(tmp_path / "r", {"a": ""})
    (repository / "sub").symlink_to(outside / "sub")
    git(repository, "config", "core.worktree", str(outside))
    assert await selected(make_workspace(repository)) == ["a"]  # git does not see it


@requires_posix
async def test_a_link_is_not_a_submodule(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    outside = write_files(git_commit(tmp_path / "outside"), {"secret": ""})
    repository = git_commit(tmp_path / "r", {"a": ""})
    (repository / "dep").symlink_to(outside)
    for path in ("dep", "../outside", str(outside)):
        (repository / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n')
        found = await selected(make_workspace(repository), include_submodules=True)
        assert found == [".gitmodules"]


# --- open and unsaved ----------------------------------------------------------------------


async def test_unsaved_documents_are_changed(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    repository = git_commit(tmp_path / "r", {"same": "1\n", "edited": "1\n", "disk": "1\n"})
    (repository / "disk").write_text("2\n")
    workspace = make_workspace(repository)
    workspace.open_documents = lambda: {
        repository / "same": "1\n",
        repository / "edited": "2\n",
        repository / "new/one": "text",
        tmp_path / "elsewhere": "text",
    }
    assert await selected(workspace) == ["disk", "edited", "new/one"]
    assert await selected(workspace, path="new/one") == ["new/one"]
    assert await selected(workspace, scope="open") == ["edited", "new/one", "same"]
    assert await selected(workspace, scope="open", include=["e*"]) == ["edited"]


@requires_posix
async def test_open_documents_are_selected_under_any_spelling(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    other = write_files(tmp_path / "other", {"x.py": ""})
    (tmp_path / "link").symlink_to(project)
    (project / "inner.py").symlink_to("src/main.py")
    (project / "outer.py").symlink_to(other / "x.py")
    (project / "out.py").symlink_to("/etc/passwd")
    os.mkfifo(project / "pipe")
    workspace = make_workspace(project)
    workspace.open_documents = lambda: {
        tmp_path / "link/src/loader.py": (project / "src/loader.py").read_text(),
        project / "inner.py": (project / "src/main.py").read_text(),
        project / "out.py": Path("/etc/passwd").read_text(),
        project / "pipe": "text",
        project / "ignored/cache.py": "load_plugin_from_cache = 1\n",
        project / "no\0file": "text",
        other / "x.py": "",
    }
    assert await selected(workspace, scope="open") == [
        "ignored/cache.py",
        "src/loader.py",
        "src/main.py",
    ]
    # A link whose document differs from its file counts by its own name, as in the overlay.
    workspace.open_documents = lambda: {project / "inner.py": "changed"}
    assert await selected(workspace, scope="open") == ["inner.py"]
    assert await selected(make_workspace(project, other), scope="open") == []
