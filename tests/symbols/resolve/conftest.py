"""A check of the references in a project that a test writes."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from symbols.references import Check, check_text


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return functools.partial(check_text, tmp_path)
