"""Scope: roots, paths of strangers, arguments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import git, git_init, requires_posix, write_files
from winnow.display import shown_path
from winnow.errors import NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.text.files import repository_root, search_scope
from winnow.types import SearchParams


def test_the_root_is_the_git_repository_even_without_commits(tmp_path: Path) -> None:
    repository = git_init(tmp_path / "repository")
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    assert repository_root(deep) == repository


def test_without_git_the_root_is_the_folder(tmp_path: Path) -> None:
    assert repository_root(tmp_path) == tmp_path


def test_worktrees_and_submodules_are_roots_of_their_own(tmp_path: Path) -> None:
    library = write_files(git_init(tmp_path / "library"), {"x.py": ""})
    git(library, "add", ".")
    git(library, "commit", "-m", "x")
    git(library, "worktree", "add", str(tmp_path / "tree"))
    main = git_init(tmp_path / "main")
    git(main, "submodule", "add", str(library), "deps/library")
    assert (tmp_path / "tree" / ".git").is_file()
    assert repository_root(tmp_path / "tree") == tmp_path / "tree"
    assert (main / "deps/library/.git").is_file()
    assert repository_root(main / "deps/library") == main / "deps/library"


def test_paths_may_be_relative_or_absolute_a_folder_or_a_file(project: Path) -> None:
    for path in ("src", str(project / "src"), "src/../src/"):
        assert search_scope([project], SearchParams(path=path)).paths == ("./src",)
    assert search_scope([project], SearchParams(path="src/main.py")).paths == ("./src/main.py",)
    assert search_scope([project], SearchParams(path=".")).paths == (".",)


def test_paths_outside_are_refused_with_symlinks_resolved(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "link").symlink_to(outside)
    for path in ("..", "../outside", "/etc/passwd", "link", "link/x", "src/../../outside", "/"):
        with pytest.raises(PathOutsideWorkspace):
            search_scope([project], SearchParams(path=path))


@requires_posix
def test_what_cannot_be_searched_is_not_found(project: Path) -> None:
    os.mkfifo(project / "fifo")
    (project / "dangling").symlink_to(project / "nowhere")
    for path in ("nowhere", "fifo", "dangling", "src/main.py/x"):
        with pytest.raises(NotFound):
            search_scope([project], SearchParams(path=path))


def test_no_folder_and_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        search_scope([], SearchParams())
    with pytest.raises(NoWorkspace):
        search_scope([], SearchParams(path="src"))
    with pytest.raises(NotFound):
        search_scope([tmp_path / "gone"], SearchParams())


def test_params_become_arguments_that_cannot_be_options(project: Path) -> None:
    (project / ".winnowignore").write_text("*.md\n")
    params = SearchParams(include=["--pre=x"], exclude=["-x"], file_types=["py"])
    assert search_scope([project], params, exclude=["dist"]).arguments == (
        "--type-add=winnowinclude:--pre=x",
        "--type=py",
        "--glob=!dist",
        "--glob=!-x",
        "--glob=!.*",
        f"--ignore-file={project / '.winnowignore'}",
    )
    everything = SearchParams(include_ignored=True, include_hidden=True)
    assert search_scope([project], everything).arguments == (
        "--hidden",
        "--glob=!.git",
        "--no-ignore",
    )


def test_several_roots_are_told_apart(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    scope = search_scope([project, other, project / "src"], SearchParams())
    assert scope.roots == (project, other)
    assert scope.locate("src/main.py") == (project, "src/main.py")
    assert scope.locate(f"{other}/a/b.py") == (other, "a/b.py")


@requires_posix
def test_a_name_that_is_no_unicode_is_shown_and_can_be_found_again() -> None:
    assert shown_path("ü.py") == ("ü.py", None)
    assert shown_path(os.fsdecode(b"a\xff/b.py")) == ("a\\xff/b.py", "a%FF/b.py")
