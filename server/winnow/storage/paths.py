"""Paths: resolve symlinks, test which folder contains a path, and show any path as text."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from urllib.parse import quote_from_bytes

# Reading some files below these folders has side effects or never ends.
SYSTEM = ("/proc", "/sys", "/dev")
RESOLVED_ANEW = 20

# Control characters, and characters that reorder a line: they could disguise a name.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# In a path with such characters, a literal `\xff` is escaped as well.
_ESCAPED = re.compile(rf"{UNPRINTABLE.pattern}|\\(?=x[0-9a-f]{{2}})")


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path with every symlink resolved.

    `os.path.realpath` first detects a symlink, then reads it: if the link is replaced or deleted in
    between, that raises. The path is then resolved again. Raises OSError if that keeps happening,
    which takes a process that does nothing else.
    """
    for _ in range(RESOLVED_ANEW):
        with contextlib.suppress(OSError):
            return os.path.realpath(path)
    return os.path.realpath(path)


def real_path_or_none(path: str | os.PathLike[str]) -> str | None:
    """Return the absolute path with every symlink resolved; None for an invalid path."""
    with contextlib.suppress(OSError, ValueError):
        return real_path(path)
    return None


def is_inside(real: str, real_root: str) -> bool:
    """Return True if a resolved path is a resolved root or below it, and not a system path."""
    if sys.platform != "win32" and any(is_below(real, folder) for folder in SYSTEM):
        return False
    return is_below(real, real_root)


def is_below(path: str, folder: str) -> bool:
    """Return True if a path is a folder or below it; both are resolved."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def shown_path(path: str) -> tuple[str, str | None]:
    """Return a path as text for any client, and its percent-encoded bytes if they differ from the
    path.

    Bytes that are not UTF-8 are shown as ``\\xff``, because JSON cannot represent them, and so are
    control characters. :func:`winnow.text.paths.locate` accepts this form.
    """
    if not UNPRINTABLE.search(path):
        return path, None
    return _ESCAPED.sub(_escaped, path), quote_from_bytes(os.fsencode(path))


def _escaped(sign: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign[0]))
