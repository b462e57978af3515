"""Run the fake model server of the server's tests, for the extension's end-to-end tests.

The first line of output is its address. Each line of standard input sets a mode, and the program
answers it with the number of requests so far.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from model_server import ModelServer

# Reasons for the files the model chooses: the second and third of the prompt.
REASONS = ("runs the migrations in order", "writes down which were applied")


def choose(files: dict[str, str]) -> list[dict[str, str]]:
    chosen = list(files)[1:3] or list(files)
    return [
        {"id": name, "lines": "1-3", "reason": reason}
        for name, reason in zip(chosen, REASONS, strict=False)
    ]


class Server(ModelServer):
    """A server that drips briefly: its files arrive after two and after four seconds."""

    def _pieces(self, mode: str, body: dict[str, Any]) -> list[str]:
        pieces = super()._pieces(mode, body)
        while pieces[-1] == " ":
            pieces.pop()
        return pieces


def main() -> None:
    server = Server()
    server.drip_seconds = 0.03
    server.choose = choose
    print(server.address, flush=True)  # noqa: T201
    for line in sys.stdin:
        server.mode = line.strip() or server.mode
        print(len(server.requests), flush=True)  # noqa: T201
    server.stop()


main()
