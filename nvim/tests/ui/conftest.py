"""Editors in Django's source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
sys.path += map(str, (Path(__file__).parent, CHECKOUT / "benchmarks", CHECKOUT / "tests"))

import corpora
from editor import Editor

Start = Callable[..., Editor]


def link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # On another file system.
        shutil.copy2(source, target)


@pytest.fixture(scope="session")
def django(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with Django's source. Tests may add files."""
    folder = tmp_path_factory.mktemp("trees") / "django"
    ignored = shutil.ignore_patterns(".winnow", ".git")
    shutil.copytree(corpora.django(), folder, ignore=ignored, copy_function=link)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@pytest.fixture
def start(django: Path, tmp_path: Path) -> Iterator[Start]:
    """A function that starts editors in a folder, by default Django's."""
    editors: list[Editor] = []

    def start_editor(folder: Path | None = None, **setup: object) -> Editor:
        editor = Editor(folder or django, tmp_path, **setup)
        editors.append(editor)
        return editor

    yield start_editor
    for editor in editors:
        editor.close()


@pytest.fixture(scope="module")
def running(django: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(django, tmp_path_factory.mktemp("home"))
    yield editor
    editor.close()


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    """An editor in Django's source, without a language model. All tests share its server."""
    yield running
    running.reset()
