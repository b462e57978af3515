"""What clients are told of errors that are bugs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from lsprotocol import types

import winnow
from winnow.frontends.incidents import new_incident
from winnow.frontends.lsp.protocol import INTERNAL_ERROR, without_traceback


def test_the_log_has_the_traceback_and_the_client_its_id(caplog: pytest.LogCaptureFixture) -> None:
    error = types.ResponseError(INTERNAL_ERROR, "oops", {"traceback": ["line 1\n", "line 2\n"]})
    with caplog.at_level(logging.ERROR):
        told = without_traceback(error)
    assert isinstance(told.data, dict)
    incident = told.data["incident"]
    assert told.message == f"Internal error (incident {incident} in the server's log)"
    assert caplog.messages == [f"Incident {incident}: oops\nline 1\nline 2\n"]


@pytest.mark.parametrize("is_left", [True, False])
def test_an_update_below_a_running_server_asks_for_a_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_left: bool
) -> None:
    package = tmp_path / "__init__.py"
    if is_left:
        package.write_text("")
    monkeypatch.setattr(winnow, "__file__", str(package))
    assert new_incident().message.endswith(
        "Winnow was updated or removed after this server started; restart the server"
    )
