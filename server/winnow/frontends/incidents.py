"""Tell clients of errors that are bugs: an id to find the error in the server's log."""

from __future__ import annotations

import os
import uuid
from typing import NamedTuple

import winnow


class Incident(NamedTuple):
    """An internal error. The client gets the message, and the log the error."""

    id: str
    message: str


def new_incident() -> Incident:
    """Return an incident. If Winnow's files were replaced since the server started, which then
    imports new modules among old ones, the message says so."""
    number = uuid.uuid4().hex[:12]
    message = f"Internal error (incident {number} in the server's log)"
    if _package() != _at_start:
        message += ": Winnow was updated or removed after this server started; restart the server"
    return Incident(number, message)


def _package() -> tuple[int, int] | None:
    """Identify the installed package; None if there is none any more."""
    try:
        status = os.stat(winnow.__file__)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


_at_start = _package()
