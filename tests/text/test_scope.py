"""Scope: roots, untrusted paths, arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from conftest import RIPGREP, git, git_commit, git_init, requires_posix, write_files
from winnow.config.globs import glob_regex
from winnow.errors import NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.storage.paths import shown_path
from winnow.text.scope import Filters, clean_path, path_order, search_scope
from winnow.text.search_roots import repository_root, search_roots


def test_the_root_is_the_git_repository_even_without_commits(tmp_path: Path) -> None:
    repository = git_init(tmp_path / "repository")
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    assert repository_root(deep) == repository


def test_without_git_the_root_is_the_folder(tmp_path: Path) -> None:
    assert repository_root(tmp_path) == tmp_path


@pytest.mark.process
def test_worktrees_and_submodules_are_separate_roots(tmp_path: Path) -> None:
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
        assert search_scope([project], Filters(path=path)).paths == ("./src",)
    assert search_scope([project], Filters(path="src/main.py")).paths == ("./src/main.py",)
    assert search_scope([project], Filters(path=".")).paths == (".",)


def test_paths_outside_the_workspace_are_refused_after_resolving_symlinks(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "link").symlink_to(outside)
    for path in ("..", "../outside", "/etc/passwd", "link", "link/x", "src/../../outside", "/"):
        with pytest.raises(PathOutsideWorkspace):
            search_scope([project], Filters(path=path))


@requires_posix
def test_unsearchable_paths_are_not_found(project: Path) -> None:
    os.mkfifo(project / "fifo")
    (project / "dangling").symlink_to(project / "nowhere")
    for path in ("nowhere", "fifo", "dangling", "src/main.py/x"):
        with pytest.raises(NotFound):
            search_scope([project], Filters(path=path))


def test_missing_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        search_scope([], Filters())
    with pytest.raises(NoWorkspace):
        search_scope([], Filters(path="src"))
    with pytest.raises(NotFound, match="the folder of the workspace: was it moved"):
        search_scope([tmp_path / "gone"], Filters())


def test_params_become_arguments_that_cannot_be_options(project: Path) -> None:
    (project / ".winnowignore").write_text("*.md\n")
    params = Filters(include=["--pre=x"], exclude=["-x"], file_types=["py"])
    assert search_scope([project], params, exclude=["dist"]).arguments == (
        "--type-add=winnowinclude:--pre=x",
        "--type=py",
        "--glob=!dist",
        "--glob=!-x",
        "--glob=!.*",
        f"--ignore-file={project / '.winnowignore'}",
    )
    everything = Filters(include_ignored=True, include_hidden=True)
    assert search_scope([project], everything).arguments == (
        "--hidden",
        "--glob=!.git",
        "--glob=!.winnow",
        "--no-ignore",
    )


def test_results_name_the_root_if_there_are_several(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    scope = search_scope([project, other, project / "src"], Filters())
    assert scope.roots == (project, other)
    assert scope.locate("src/main.py") == (project, "src/main.py")
    assert scope.locate(f"{other}/a/b.py") == (other, "a/b.py")


@requires_posix
def test_a_non_unicode_name_is_displayed_and_can_be_located() -> None:
    assert shown_path("ü.py") == ("ü.py", None)
    assert shown_path(os.fsdecode(b"a\xff/b.py")) == ("a\\xff/b.py", "a%FF/b.py")
    assert shown_path("a\nb\x1b.py") == ("a\\x0ab\\x1b.py", "a%0Ab%1B.py")
    assert shown_path("a\x9b\u2028") == ("a\\xc2\\x9b\\xe2\\x80\\xa8", "a%C2%9B%E2%80%A8")
    assert shown_path("a\tb\\x41\\n") == ("a\tb\\x41\\n", None)
    assert shown_path("a\\x41\n")[0] == "a\\x5cx41\\x0a"


# --- covered paths -------------------------------------------------------------------------


def test_a_file_belongs_to_the_deepest_root(tmp_path: Path) -> None:
    outer, inner = tmp_path / "o", tmp_path / "o/i"
    deep = inner / "d"
    for folder in (outer, inner, deep):
        git_init(folder)
    (inner / ".winnowignore").write_text("*.log\n!keep.log\nbuild/\n")
    scope = search_scope([outer, inner, deep], Filters(exclude=["*.tmp"]))
    # The spelling of a path shows which walk over nested roots found it.
    covered = {
        "x": True, "i/x": False, "i/d/x": False, f"{inner}/x": True, f"{deep}/x": True,
        "x.tmp": False, f"{deep}/x.tmp": False, "x.log": True, f"{inner}/x.log": False,
        f"{inner}/keep.log": True, f"{inner}/a/build/x": False, f"{deep}/build/x": True,
    }  # fmt: skip
    assert {path: scope.covers(path) for path in covered} == covered
    assert scope.shown(f"{deep}/a/x").root == str(deep)
    assert scope.shown(f"{inner}/d2/x").path == "d2/x"


def test_include_patterns_match_complete_paths(project: Path) -> None:
    scope = search_scope([project], Filters(include=["src/**/*.py", "*.md"]))
    paths = ["src/a.py", "src/b/c.py", "a.py", "x/src/a.py", "a.md", "docs/b.md", "src/a.pyc"]
    assert [path for path in paths if scope.covers(path)] == [
        "src/a.py",
        "src/b/c.py",
        "a.md",
        "docs/b.md",
    ]


def test_named_files_must_pass_every_filter(project: Path) -> None:
    (project / ".winnowignore").write_text("*.md\n")
    scope = search_scope([project], Filters(exclude=["src/x*"]), exclude=["dist"])
    types = [glob_regex("*.py")]
    paths = ["src/a.py", "src/x.py", "a.txt", "dist/a.py", "x.md", "src/.a.py"]
    named = [path for path in paths if scope.covers_file(path, types)]
    assert named == ["src/a.py", "src/.a.py"]
    assert [path for path in paths if scope.covers_file(path, [])] == [
        *named[:1],
        "a.txt",
        *named[1:],
    ]


def test_paths_within_the_search_path_are_recognized(project: Path, tmp_path: Path) -> None:
    scope = search_scope([project], Filters(path="src"))
    assert [scope.is_in_paths(0, path) for path in ("src", "src/a", "srcs/a", "a", "src/../a")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    (tmp_path / "other").mkdir()
    scope = search_scope([project, tmp_path / "other"], Filters())
    assert scope.is_in_paths(1, "anything")
    assert not scope.is_in_paths(1, "../x")


def test_many_files_are_selected_like_single_ones(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (project / ".winnowignore").write_text("out\n!out/keep\n*.log\n!kept.log\n")
    paths = [
        "src/a.py",
        "src/out/b.py",
        "src/out/keep",
        "src/x.log",
        "src/kept.log",
        "a.py",
        "src/../a.py",
    ]
    types = [glob_regex("*.py"), glob_regex("*.log")]
    for filters in (
        Filters(),
        Filters(path="src"),
        Filters(exclude=("**/a.py",)),
        Filters(include=("src/**",)),
    ):
        scope = search_scope([project, tmp_path / "other"], filters)
        for place in range(len(scope.roots)):
            selects = scope.selector(types)
            assert [selects(place, path) for path in paths] == [
                scope.selects(place, path, types) for path in paths
            ]
    scope = search_scope([project], Filters(path="src", exclude=("**/a.py",)))
    assert [*filter(lambda path: scope.selector(types)(0, path), paths)] == ["src/kept.log"]


@pytest.mark.process
@requires_posix
def test_files_are_ordered_like_ripgrep(tmp_path: Path) -> None:
    names = ["a/b", "a-b", "a.b", "a", "B", "é/x", "ab/c", "\udcff", "b/a/c", "b/a.c", "b/a"]
    names = [name for name in names if not any(one.startswith(name + "/") for one in names)]
    first, second = tmp_path / "z", tmp_path / "a"
    for root in (first, second):
        for name in names:
            file = os.path.join(os.fsencode(root), os.fsencode(name))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            Path(os.fsdecode(file)).touch()
    scope = search_scope([first, second], Filters())
    command = [
        RIPGREP,
        "--no-config",
        "--no-require-git",
        "--files",
        "--null",
        "--sort=path",
        *scope.paths,
    ]
    run = subprocess.run(command, cwd=first, capture_output=True, check=True)
    listed = [clean_path(os.fsdecode(one)) for one in run.stdout.split(b"\0") if one]
    assert len(listed) == 2 * len(names)
    assert sorted(sorted(listed), key=path_order(scope)) == listed


def test_a_path_is_ordered_by_the_last_search_path_that_contains_it(project: Path) -> None:
    scope = search_scope([project], Filters())
    scope = msgspec.structs.replace(scope, paths=(".", "./l", "./l/m", "./k"))
    paths = ["l/m/x", "k/x", "l/x", "lx", "k", "z"]
    assert sorted(paths, key=path_order(scope)) == ["lx", "z", "l/x", "l/m/x", "k", "k/x"]


# --- roots ---------------------------------------------------------------------------------


def test_folders_of_one_repository_are_one_root(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert search_roots([project / "src", project, tmp_path / "link"]) == [project]


def test_a_path_without_folders_is_an_error(project: Path) -> None:
    for path in ("", "src", f"{project}/src", (project / "src").as_uri(), "/etc/passwd"):
        with pytest.raises(NoWorkspace):
            search_scope([], Filters(path=path))


def test_a_folder_in_a_refused_repository_is_its_own_root(project: Path) -> None:
    refused = [project]
    assert search_roots([project / "src"], lambda one: "is refused" * (one in refused)) == [
        project / "src"
    ]


def test_a_path_in_several_roots_is_reported(project: Path, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"src/x": "", "only/y": ""})
    scope = search_scope([project, other], Filters(path="src"))
    assert (scope.roots, scope.paths) == ((project,), ("./src",))
    assert scope.warnings == (
        f"src is in several workspace folders: searched in {project}; pass an absolute path to"
        " choose",
    )
    for path in ("only", str(other / "src"), "docs"):
        assert search_scope([project, other], Filters(path=path)).warnings == ()


def test_system_folders_are_not_searched() -> None:
    arguments = search_scope([Path("/")], Filters()).arguments
    assert {"--glob=!/proc", "--glob=!/sys", "--glob=!/dev"} <= set(arguments)


# --- submodules ----------------------------------------------------------------------------


@pytest.mark.process
def test_submodules_are_skipped_and_reported(tmp_path: Path) -> None:
    library = git_commit(tmp_path / "library", {"x": ""})
    main = git_init(tmp_path / "main")
    for name in ("dep/a", "dep/b [1]", "gone"):
        git(main, "submodule", "add", str(library), name)
    git(main, "submodule", "deinit", "--force", "gone")
    scope = search_scope([main], Filters())
    assert scope.warnings == (
        "not searched: the submodules dep/a, dep/b [1];"
        " `grep` with include_submodules searches them",
    )
    assert scope.arguments == (r"--glob=!/dep/a", r"--glob=!/dep/b \[1\]")
    assert not scope.covers_file("dep/a/x", [])
    everything = search_scope([main], Filters(include_submodules=True))
    assert (everything.warnings, everything.arguments) == ((), ())
    # The path of a submodule selects it.
    assert search_scope([main], Filters(path="dep/a")).warnings == ()
    assert search_scope([main], Filters(path="dep/a/x")).warnings == ()
    assert "dep/a, dep/b" in search_scope([main], Filters(path="dep")).warnings[0]
    both = search_scope([tmp_path / "library", main], Filters())
    assert not both.covers(f"{main}/dep/a/x")
    assert both.covers(f"{main}/y")


@requires_posix
@pytest.mark.parametrize("kind", ["fifo", "endless", "folder", "garbage", "outside"])
def test_an_untrusted_list_of_submodules_does_no_harm(tmp_path: Path, kind: str) -> None:
    """A FIFO instead of the list blocked the server forever."""
    root, file = git_init(tmp_path / "root"), tmp_path / "root/.gitmodules"
    git_init(tmp_path / "outside")
    (root / "link").symlink_to(tmp_path / "outside")
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    elif kind == "garbage":
        file.write_bytes(b"\xff\0path = a\0b\npath=\npath = \xff\n\tpath = .\n")
    else:
        file.write_text(f"path = ../outside\npath = link\npath = {tmp_path}/outside\n")
    assert search_scope([root], Filters()).warnings == ()
