"""Loaded by every Python that the tests start, and by theirs: nothing reaches beyond this machine.

Whoever tries fails as without a network, and is written down: a program may pass over the failure.
All sockets of the internet are written down as well, since most of what is tested is to have none.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import Any

# The files in which all of that is written.
REFUSED = "WINNOW_TESTS_REFUSED"
SOCKETS = "WINNOW_TESTS_SOCKETS"
INTERNET = (socket.AF_INET, socket.AF_INET6)
# Those that would ask a name server, by the place of the name among their arguments.
LOOKUPS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}
REACHING = ("socket.connect", "socket.sendto", "socket.sendmsg")


def is_here(host: object) -> bool:
    """Whether a name or an address is one of this machine."""
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
