"""The user's editor, and the arguments that open a file at a line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import running_in
from conftest import git_init, requires_posix
from winnow.frontends.cli import editor
from winnow.frontends.cli.editor import Editor

pytestmark = [pytest.mark.process, requires_posix]

Install = Callable[[str], Path]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Return a function that makes a program, which writes its arguments into `arguments`."""

    def installed(path: str) -> Path:
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/arguments\nexit 3\n')
        program.chmod(0o755)
        return program

    return installed


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., Editor]:
    """Return a function that finds the editor of an environment, in a repository."""
    git_init(tmp_path / "project")

    def of(**variables: str) -> Editor:
        with running_in(tmp_path / "project"):
            return editor.of_user({"PATH": f"{tmp_path}/bin", **variables})

    return of


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("vim", ["+12", "{}"]),
        ("nvim", ["+12", "{}"]),
        ("nano", ["+12", "{}"]),
        ("emacs", ["+12", "{}"]),
        ("code", ["--goto", "{}:12"]),
        ("codium", ["--goto", "{}:12"]),
        ("cursor", ["--goto", "{}:12"]),
        ("zed", ["{}:12"]),
        ("subl", ["{}:12"]),
        ("hx", ["{}:12"]),
        ("pycharm", ["--line", "12", "{}"]),
    ],
)
def test_each_editor_opens_a_file_at_a_line_in_its_own_way(
    name: str, arguments: list[str], tmp_path: Path, install: Install, found: Callable[..., Editor]
) -> None:
    install(f"bin/{name}")
    file = f"{tmp_path}/project/-a b.py"
    assert found(EDITOR=name).open(file, 12) == 3
    written = (tmp_path / "arguments").read_text().splitlines()
    assert written == [one.format(file) for one in arguments]


def test_the_value_may_have_arguments_and_quotes(
    tmp_path: Path, install: Install, found: Callable[..., Editor]
) -> None:
    program = install("my programs/vim")
    assert found(EDITOR=f"'{program}' -u 'my rc'").command == (str(program), "-u", "my rc")


def test_visual_comes_first(install: Install, found: Callable[..., Editor]) -> None:
    vim, nano = install("bin/vim"), install("bin/nano")
    assert found(EDITOR="nano", VISUAL="vim").command == (str(vim),)
    assert found(EDITOR="nano", VISUAL=" ").command == (str(nano),)


def test_without_an_editor_there_is_no_problem(found: Callable[..., Editor]) -> None:
    assert found() == Editor()
    assert found().open("/a.py", 1) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("ed", "`$EDITOR` is ed, which Winnow can't open at a line"),
        ("vim 'a", "`$EDITOR` has a quote without an end"),
        ("vim", "`$EDITOR`: vim is not on PATH outside of the repository"),
        ("./vim", "`$EDITOR`: ./vim is not on PATH outside of the repository"),
    ],
)
def test_an_editor_that_cannot_be_used_is_a_problem(
    value: str, problem: str, found: Callable[..., Editor]
) -> None:
    assert found(EDITOR=value) == Editor(problem=problem)


def test_an_editor_in_the_repository_is_not_run(
    tmp_path: Path, install: Install, found: Callable[..., Editor]
) -> None:
    program = install("project/tools/vim")
    for path in (f"{tmp_path}/project/tools", "tools", "."):
        assert found(EDITOR="vim", PATH=path).command == ()
    assert found(EDITOR=str(program)).command == ()
    assert found(EDITOR="tools/vim").command == ()
    (tmp_path / "bin").mkdir()
    os.symlink(program, tmp_path / "bin/vim")
    assert found(EDITOR="vim").command == ()


def test_an_editor_that_cannot_be_started_has_no_exit_code(
    tmp_path: Path, install: Install, found: Callable[..., Editor]
) -> None:
    install("bin/vim").write_bytes(b"\x7fELF no program")
    assert found(EDITOR="vim").open("/a.py", 1) is None
