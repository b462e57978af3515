"""A seal on a database that nobody has open: SQLite would not notice a byte that is another one.

Whoever closes it last writes a checksum beside it, with the number of the last transaction. Whoever
opens it and finds that number, but not that checksum, knows that something else has written there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

SUFFIX = ".sum"
# To read more would keep a request waiting.
MOST_BYTES = 512 * 1024 * 1024
DIGEST_BYTES = 16
READ_BYTES = 1024 * 1024


def seal(file: Path, stamp: int) -> None:
    """Seal a database after its transaction ``stamp``, unless somebody has it open."""
    if not _is_open(file) and (digest := _digest(file)):
        unfinished = file.with_suffix(f"{SUFFIX}.{os.getpid()}")
        with contextlib.suppress(OSError):
            unfinished.write_text(f"{stamp} {digest}\n", "ascii")
            unfinished.replace(file.with_suffix(SUFFIX))


def broken_at(file: Path) -> int | None:
    """The transaction after which a database was sealed, if it is another one now: it is damaged
    unless there were more transactions. To be asked before it is opened."""
    try:
        if _is_open(file) or file.stat().st_size > MOST_BYTES:
            return None
        stamp, digest = file.with_suffix(SUFFIX).read_text("ascii").split()
        return None if digest == _digest(file) else int(stamp)
    except (OSError, ValueError):
        return None


def _is_open(file: Path) -> bool:
    """Whether somebody has it open, or has not closed it."""
    return os.path.lexists(f"{file}-wal")


def _digest(file: Path) -> str | None:
    known = hashlib.blake2b(digest_size=DIGEST_BYTES)
    try:
        if file.stat().st_size > MOST_BYTES:
            return None
        with open(file, "rb") as opened:
            while piece := opened.read(READ_BYTES):
                known.update(piece)
    except OSError:
        return None
    return known.hexdigest()
