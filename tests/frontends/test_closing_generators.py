"""What the garbage collector says about asynchronous generators."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from winnow.frontends.server_process import ignore_closing_generators


async def numbers() -> AsyncIterator[int]:
    yield 1


def test_only_a_generator_that_is_being_closed_is_not_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    ignore_closing_generators()
    closing = ValueError("async generator already executing")
    sys.unraisablehook(SimpleNamespace(exc_value=closing, object=numbers()))
    assert shown == []
    others = [
        SimpleNamespace(exc_value=closing, object=print),
        SimpleNamespace(exc_value=ValueError("x"), object=numbers()),
    ]
    for other in others:
        sys.unraisablehook(other)
    assert shown == others
