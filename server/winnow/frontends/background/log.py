"""The log of all background processes of a user: one small file beside their sockets."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from winnow.storage.writing import move_file, open_for_append

NAME = "background.log"
# Of each of the two files.
MAX_BYTES = 256 * 1024


class BoundedLog(logging.Handler):
    """Appends to the log. The file is opened for each line, because several processes share it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file = folder / NAME

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line. If that fails, drop it: there is no other place for it."""
        with contextlib.suppress(OSError):
            line = self.format(record).encode("utf-8", "replace")[:MAX_BYTES] + b"\n"
            if os.path.lexists(self._file) and self._file.stat().st_size > MAX_BYTES:
                move_file(self._file, self._file.with_suffix(".old"))
            with open_for_append(self._file) as stream:
                stream.write(line)
