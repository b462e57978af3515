"""Tests and their child processes cannot reach the network."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import child_environment
from offline.sitecustomize import REFUSED, SOCKETS

# An address that is reserved for documentation.
ELSEWHERE = ("192.0.2.1", 9)
PROGRAM = f"""
import socket
for reach in (
    lambda: socket.create_connection({ELSEWHERE}, 1),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", {ELSEWHERE}),
    lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 9)),
    lambda: socket.gethostbyname("winnow.invalid"),
    lambda: socket.getaddrinfo("winnow.invalid", 80),
):
    try:
        reach()
    except OSError as error:
        print(error.errno, error.strerror)
"""


@pytest.mark.process
def test_network_access_fails_and_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REFUSED, str(tmp_path / "refused"))
    with pytest.raises(OSError, match="The tests have no network"):
        socket.create_connection(ELSEWHERE, 1)
    environment = {**child_environment(tmp_path), REFUSED: str(tmp_path / "refused")}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.count("The tests have no network\n") == 5
    assert len((tmp_path / "refused").read_text().splitlines()) == 6


def test_this_machine_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOCKETS, str(tmp_path / "sockets"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()
    first, second = socket.socketpair()
    first.close()
    second.close()
    assert len((tmp_path / "sockets").read_text().splitlines()) >= 2
