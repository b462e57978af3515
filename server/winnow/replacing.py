"""Files that others may be reading, written in one step."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[IO[bytes]]:
    """A stream whose bytes are the file's, for the user alone, once the block has ended well.

    Nothing is left if it has not. Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=file.parent, prefix="new-")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
