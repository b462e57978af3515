"""Block network access in every Python process of the tests and its descendants.

Attempts fail as without a network and are recorded, because a program may ignore the failure. All
internet sockets are recorded, too, because most tested code must not create any.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import Any

# Environment variables with the paths of the records.
REFUSED = "WINNOW_TESTS_REFUSED"
SOCKETS = "WINNOW_TESTS_SOCKETS"
INTERNET = (socket.AF_INET, socket.AF_INET6)
# Events that query a name server, with the index of the name in their arguments.
LOOKUPS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}
REACHING = ("socket.connect", "socket.sendto", "socket.sendmsg")


def is_here(host: object) -> bool:
    """Return True if a name or an address belongs to this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    return not name or name in ("localhost", "::1", "0.0.0.0") or str(name).startswith("127.")


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event == "socket.__new__" and arguments[1] in INTERNET:
        _note(SOCKETS, f"{event} {arguments[1:]}")
    elif event in LOOKUPS and not is_here(arguments[LOOKUPS[event]]):
        _refuse(event, arguments)
    elif event in REACHING and arguments[0].family in INTERNET:
        address = arguments[1]
        if address is not None and not is_here(address[0]):
            _refuse(event, arguments)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    _note(REFUSED, f"{event} {arguments[1:] if event in REACHING else arguments}")
    raise OSError(errno.ENETUNREACH, "The tests have no network")


def _note(variable: str, text: str) -> None:
    if file := os.environ.get(variable):
        with open(file, "a", encoding="utf-8") as opened:
            opened.write(f"{text} by {sys.orig_argv[:4]}\n")


sys.addaudithook(watch)
