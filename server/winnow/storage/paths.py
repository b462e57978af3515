"""Paths: resolve symlinks, test which folder holds a path, and show any path as text."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from urllib.parse import quote_from_bytes

# Reading some files below these folders has side effects or never ends.
SYSTEM = ("/proc", "/sys", "/dev")
RESOLVED_ANEW = 20

# Control characters, and the characters that reorder a line: they would disguise a name.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# In a path with such characters, a literal `\xff` is escaped as well.
_ESCAPED = re.compile(rf"{UNPRINTABLE.pattern}|\\(?=x[0-9a-f]{{2}})")


def real_path(path: str | os.PathLike[str]) -> str:
    """The absolute path with every link resolved.

    `os.path.realpath` first sees that something is a link, then reads it: if it was replaced in
    between, by a file or by nothing, that raises. Then it is resolved anew. Raises OSError if that
    goes on, which takes somebody who does nothing else.
    """
    for _ in range(RESOLVED_ANEW):
        with contextlib.suppress(OSError):
            return os.path.realpath(path)
    return os.path.realpath(path)


def is_inside(real: str, real_root: str) -> bool:
    """Whether a resolved path is a resolved root or below it, and nothing of the system's."""
    if sys.platform != "win32" and any(is_below(real, one) for one in SYSTEM):
        return False
    return is_below(real, real_root)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it; both are resolved."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def shown_path(path: str) -> tuple[str, str | None]:
    """A path as text for any client, and its percent-encoded bytes if that is not the path itself.

    Bytes that are not UTF-8 show as ``\\xff``, which JSON has no other way to say, and so do those
    of control characters. :func:`winnow.text.paths.locate` understands that.
    """
    if not UNPRINTABLE.search(path):
        return path, None
    return _ESCAPED.sub(_escaped, path), quote_from_bytes(os.fsencode(path))


def _escaped(sign: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(sign[0]))
