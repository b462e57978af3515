"""Fixtures of the tests of the background process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frontends.background.background_process import home_folder


@pytest.fixture
def home() -> Iterator[Path]:
    with home_folder() as folder:
        yield folder
