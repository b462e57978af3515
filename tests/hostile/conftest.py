"""Fixtures of hostile tests: folders are git repositories, and servers have few descriptors."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import git_init
from frontends.lsp.conftest import no_server_is_left
from frontends.lsp.wire import Wire

__all__ = ["no_server_is_left"]

# The usual limit is 1,024; with a lower limit, leaks show after fewer requests.
OPEN_FILES = 256


@pytest.fixture(autouse=True)
def few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wire, "open_files", OPEN_FILES)


@pytest.fixture
def project(project: Path) -> Path:
    return git_init(project)


@pytest.fixture
def slow_project(slow_project: Path) -> Path:
    return git_init(slow_project)
