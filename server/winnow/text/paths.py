"""Paths that strangers name: which file of the workspace they mean, if any.

A path is resolved, links and `..` and all, before it is held against the roots. A file is opened
in a way that cannot wait (a FIFO) and that is checked on what was opened, not on what the name
stood for a moment before.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import Struct

from winnow.errors import NotAFile, NotFound, NoWorkspace, PathOutsideWorkspace, SearchError
from winnow.storage.paths import is_inside, real_path, shown_path
from winnow.storage.untrusted import SETTINGS_BYTES, UnusableFile, open_untrusted

_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


class Located(Struct, frozen=True):
    """A path of the workspace: ``below`` the root at ``place``, with `/`; "." is the root itself.

    ``real`` is the path with every link resolved.
    """

    place: int
    below: str
    real: str


def locate(path: str, roots: Sequence[Path], unsaved: Sequence[Path] = ()) -> Located:
    """What a path of params means: absolute, relative to a root, or a file URI.

    A path as results show it is understood, also one with bytes as ``\\xff``. ``unsaved`` are
    documents that need not be on disk. Raises NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    if not roots:
        raise NoWorkspace
    missing = None
    real_roots = [real_path(root) for root in roots]
    for spelled in _spellings(path):
        places = list(range(len(roots)))
        if os.path.isabs(spelled):  # of roots in roots, the deepest is meant
            places.sort(key=lambda place: -len(real_roots[place]))
        for place in places:
            root, real_root = roots[place], real_roots[place]
            real = _real(os.path.join(root, spelled))
            if real is None or not is_inside(real, real_root):
                continue
            missing = missing or (real, real_root)
            if os.path.lexists(real) or any(_real(str(one)) == real for one in unsaved):
                below = os.path.relpath(real, real_root).replace(os.sep, "/")
                return Located(place, below, real)
    if missing is None:
        raise PathOutsideWorkspace(path)
    raise NotFound(path, _hint(path, *missing, several=len(roots) > 1))


def _hint(path: str, missing: str, root: str, *, several: bool) -> str:
    """Return the sentence that says which path may be meant by a missing one."""
    # Needed for errors only; it needs this module in turn.
    from winnow.text.nearby import close_path

    if {"*", "?"}.intersection(path):
        return "`path` takes no glob pattern here"
    if not (close := close_path(missing, root)):
        return ""
    close = os.path.join(root, close) if several else close
    return f"Did you mean {shown_path(close)[0]!r}?"


def also_in(path: str, located: Located, roots: Sequence[Path]) -> bool:
    """Whether a relative path exists below a later root, too."""
    later = roots[located.place + 1 :]
    return not os.path.isabs(path) and any(
        os.path.lexists(os.path.join(one, path)) for one in later
    )


def held_by(path: str, roots: Sequence[str]) -> tuple[int, str] | None:
    """The place of the root that a path is in, the deepest if there are several, and the path below
    it; None for a path outside of all. All are absolute, and either resolved or all spelled alike,
    as in the index."""
    whole = path.replace(os.sep, "/") + "/"
    folders = [root.replace(os.sep, "/").rstrip("/") + "/" for root in roots]
    holding = [place for place, folder in enumerate(folders) if whole.startswith(folder)]
    if not holding:
        return None
    place = max(holding, key=lambda one: len(folders[one]))
    return place, whole[len(folders[place]) : -1] or "."


def path_of_uri(uri: str) -> str | None:
    """The path of a file URI, byte for byte: names need not be valid Unicode."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if sys.platform == "win32":
        path = path.lstrip("/")
        return f"//{parts.netloc}/{path}" if parts.netloc else path
    return path


def _spellings(path: str) -> list[str]:
    """The path, and what it means if it is a URI or shows bytes as `\\xff`, see `shown_path`."""
    if path.startswith("file:"):
        found = path_of_uri(path)
        return [path] if found is None else [found]
    if not _ESCAPED.search(path):
        return [path]
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda one: bytes([int(one[1], 16)]), os.fsencode(path))
    return [path, os.fsdecode(raw)]


def _real(path: str) -> str | None:
    """The path with every link resolved; None for what is no path, or a loop."""
    try:
        return real_path(path)
    except (OSError, ValueError):
        return None


class Resolved:
    """Paths with every link resolved, for one request: of each folder the links are looked at
    once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def named(self, path: str) -> str:
        """The absolute path of a name in a folder; the name itself may be a link."""
        folder, name = os.path.split(path)
        return os.path.join(self._folder(folder), name)

    def _folder(self, folder: str) -> str:
        real = self._folders.get(folder)
        if real is None:
            around, name = os.path.split(folder)
            if sys.platform == "win32" or around == folder or name in ("", os.curdir, os.pardir):
                real = real_path(folder)
            else:
                real = os.path.join(self._folder(around), name)
                if os.path.islink(real):
                    real = real_path(real)
            self._folders[folder] = self._folders[real] = real
        return real

    def file(self, path: str) -> str:
        """The absolute path of a file."""
        named = self.named(path)
        return real_path(named) if os.path.islink(named) else named


def open_regular(real: str, root: str) -> int:
    """A descriptor of a regular file for reading; the caller closes it.

    ``real`` is a path that was resolved and ``root`` what it must be in. Raises NotFound, NotAFile
    and PathOutsideWorkspace, the last one also if a link was put in its place meanwhile.
    """
    shown = shown_path(real)[0]
    try:
        # A FIFO or a device may do something when it is opened; a look beforehand spares that.
        _check_kind(os.stat(real).st_mode, shown)
        descriptor = open_untrusted(real)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(shown) from None
    except UnusableFile:  # a symlink or something else was put in its place
        raise PathOutsideWorkspace(shown) from None
    except (OSError, ValueError) as error:
        raise NotAFile(shown, f"it cannot be read: {_reason(error)}") from None
    try:
        opened = os.fstat(descriptor)
        _check_kind(opened.st_mode, shown)
        now = _opened_path(descriptor) or _real(real)
        # The root may be spelled by a link; where something is found below it, it is none.
        if now is None or not (is_inside(now, root) or is_inside(now, real_path(root))):
            raise PathOutsideWorkspace(shown)
        with contextlib.suppress(OSError):
            named = os.stat(now)
            if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
                raise PathOutsideWorkspace(shown)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_below(path: str, roots: Sequence[str], max_bytes: int = SETTINGS_BYTES) -> bytes | None:
    """Return the contents of a regular file of the workspace, without symlinks that lead out of it;
    None if there is none, or it is larger than ``max_bytes``."""
    held = held_by(path, roots)
    if held is None:
        return None
    try:
        with os.fdopen(open_regular(path, roots[held[0]]), "rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, SearchError):
        return None
    return data if len(data) <= max_bytes else None


def _opened_path(descriptor: int) -> str | None:
    """Where an open file is, without a link in it; None where the system does not tell."""
    try:
        said = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    return said.removesuffix(" (deleted)")


def _check_kind(mode: int, shown: str) -> None:
    """Raise NotAFile for what is no regular file."""
    if stat.S_ISREG(mode):
        return
    kinds = (
        (stat.S_ISDIR, "it is a folder: see `tree` or `glob`"),
        (stat.S_ISFIFO, "it is a FIFO"),
        (stat.S_ISSOCK, "it is a socket"),
        (lambda mode: True, "it is a device"),
    )
    raise NotAFile(shown, next(what for test, what in kinds if test(mode)))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
