"""Untrusted paths: find and open the file of the workspace that a path names, if any.

A path is resolved, including links and `..`, before it is checked against the roots. Opening a file
never blocks (on a FIFO), and the checks apply to the opened file, not to an earlier file of the
same name.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import Struct, structs

from winnow.errors import NotAFile, NotFound, NoWorkspace, PathOutsideWorkspace, SearchError
from winnow.storage.paths import is_inside, real_path, real_path_or_none, shown_path
from winnow.storage.untrusted import SETTINGS_BYTES, UnusableFile, open_untrusted

# `a.py:12`, `a.py:12:5`, `a.py:12-40`, `a.py:12-`, `a.py:L12-L40`, `a.py#L12`, `a.py#L12-L40`
_PLACE = re.compile(
    r"(.+?)(?::([0-9]{1,9})(?:-([0-9]{0,9})|:[0-9]{1,9})?:?"
    r"|(?:#|:)L([0-9]{1,9})(?:-L?([0-9]{0,9}))?)",
    re.S,
)
_COLUMN = re.compile(r".+:[0-9]{1,9}:([0-9]{1,9}):?", re.S)
LAST_LINE = 999_999_999
# `send`, `Client.send`, `Client::send`, `Client#send`, `Net\Client`
_SYMBOL_NAME = re.compile(r"\\?\w+(?:(?:\.|::|->|#|\\)\w+)*")
# `a.py:send`, `a.py:Client.send`, `test_a.py::TestClient::test_send[1]`
_MEMBER = re.compile(rf"(.+?\.\w+)::?({_SYMBOL_NAME.pattern})(?:\[.*\])?", re.S)
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


class Located(Struct, frozen=True):
    """A path of the workspace: ``below`` the root at ``place``, with `/`; "." is the root itself.

    ``real`` is the absolute path with all links resolved. ``lines`` are the first and the last line
    of the place, if the path names one.
    """

    place: int
    below: str
    real: str
    lines: tuple[int, int | None] | None = None

    @property
    def shown(self) -> str:
        """The path below the root, as answers show it."""
        return shown_path(self.below)[0]


def shown_folder(folder: Path) -> str:
    """Return the path of a folder as answers show it."""
    return shown_path(str(folder))[0]


def locate(path: str, roots: Sequence[Path], unsaved: Sequence[Path] = ()) -> Located:
    """Resolve a path of params: absolute, relative to a root, or a file URI.

    Paths from results are valid, including bytes written as ``\\xff``, and so are places such as
    `a.py:12`, `a.py:12-40` and `a.py#L12`. With several roots, a path may begin with the name of
    one, as editors show it. ``unsaved`` are documents that need not be on disk.
    Raises NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    if not roots:
        raise NoWorkspace
    missing = None
    real_roots = [real_path(root) for root in roots]
    for spelled in _spellings(path):
        places = list(range(len(roots)))
        if os.path.isabs(spelled):  # of nested roots, the deepest counts
            places.sort(key=lambda place: -len(real_roots[place]))
        candidates = [(place, spelled) for place in places]
        if len(roots) > 1:
            named = [(place, _below_name(spelled, roots[place])) for place in places]
            candidates += [(place, below) for place, below in named if below is not None]
        for place, candidate in candidates:
            root, real_root = roots[place], real_roots[place]
            real = real_path_or_none(os.path.join(root, candidate))
            if real is None or not is_inside(real, real_root):
                continue
            missing = missing or (real, real_root)
            if os.path.lexists(real) or any(
                real_path_or_none(str(path)) == real for path in unsaved
            ):
                below = os.path.relpath(real, real_root).replace(os.sep, "/")
                return Located(place, below, real)
    if missing is None:
        raise PathOutsideWorkspace(path)
    lines = ""
    if found := place_of(path):
        with contextlib.suppress(NotFound):
            located = locate(found[0], roots, unsaved)
            return structs.replace(located, lines=located.lines or found[1])
        lines = path[len(found[0]) :]
    hint, meant = _hint(path, *missing, lines, several=len(roots) > 1)
    raise NotFound(path, hint, meant)


def _below_name(path: str, root: Path) -> str | None:
    """Return the rest of a path that begins with the name of a root; None for any other path."""
    name, _, below = path.partition("/")
    return below if name == root.name else None


def place_of(path: str) -> tuple[str, tuple[int, int | None]] | None:
    """Return the path and the lines of a place, as compilers, editors and web pages write it; None
    if the text names no line."""
    found = _PLACE.fullmatch(path)
    if found is None:
        return None
    path, *numbers = found.groups()
    first, last = (*(number for number in numbers if number is not None), None)[:2]
    return path, (int(first or 0), None if last is None else int(last or LAST_LINE))


def column_of(path: str) -> int:
    """Return the column of a place such as `a.py:12:5`; 0 if it names none."""
    found = _COLUMN.fullmatch(path)
    return int(found[1]) if found else 0


def lines_of_part(located: Located) -> tuple[int, int] | None:
    """Return the lines of a part of a file, such as `a.py:12-40`; None for a file or a place in it,
    such as `a.py:12`."""
    first, last = located.lines or (0, None)
    if last is None:
        return None
    return min(first, last), max(first, last)


def is_symbol_name(text: str) -> bool:
    """Return True if a text may be the name of a symbol: `send` is, `src/send` is not."""
    return _SYMBOL_NAME.fullmatch(text) is not None


def member_of(text: str) -> tuple[str, str] | None:
    """Return the file and the symbol that a text such as `a.py:Client.send` or
    `test_a.py::test_send[1]` names, or None."""
    found = _MEMBER.fullmatch(text)
    return (found[1], found[2]) if found else None


def paths_of_deleted(path: str, roots: Sequence[Path]) -> Iterator[str]:
    """Yield the absolute paths that a deleted file may have had, from a path of params."""
    for root in map(real_path, roots):
        deleted = os.path.normpath(os.path.join(root, path))
        if is_inside(deleted, root):
            yield deleted


def _hint(path: str, missing: str, root: str, lines: str, *, several: bool) -> tuple[str, str]:
    """Return a sentence that suggests a path instead of a missing one, and that path. It keeps the
    ``lines`` at the end of the missing one."""
    # Only errors need this module, which imports this one.
    from winnow.text.nearby import close_path

    if {"*", "?"}.intersection(path):
        return "`path` is not a glob pattern: searches take one as `include`", ""
    if not (close := close_path(missing.removesuffix(lines), root)):
        return "", ""
    shown = shown_path(os.path.join(root, close) if several else close)[0] + lines
    return f"Did you mean {shown!r}?", shown


def is_in_later_root(path: str, located: Located, roots: Sequence[Path]) -> bool:
    """Return True if a relative path also exists below a later root."""
    later = roots[located.place + 1 :]
    return not os.path.isabs(path) and any(
        below is not None and os.path.lexists(os.path.join(root, below))
        for root in later
        for below in (path, _below_name(path, root))
    )


def shared_ending(parts: Sequence[str], others: Sequence[str]) -> int:
    """Return how many names at the end two paths have in common."""
    count = 0
    for own, other in zip(reversed(parts), reversed(others), strict=False):
        if own != other:
            break
        count += 1
    return count


def containing_root(path: str, roots: Sequence[str]) -> tuple[int, str] | None:
    """Return the place of the deepest root that contains a path, and the path below it.

    None if no root does. All paths are absolute, and either resolved or spelled alike, as in the
    index.
    """
    full = path.replace(os.sep, "/") + "/"
    folders = [root.replace(os.sep, "/").rstrip("/") + "/" for root in roots]
    places = [place for place, folder in enumerate(folders) if full.startswith(folder)]
    if not places:
        return None
    place = max(places, key=lambda place: len(folders[place]))
    return place, full[len(folders[place]) : -1] or "."


def path_of_uri(uri: str) -> str | None:
    """Return the path of a file URI, byte for byte, because names need not be valid Unicode."""
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
    """Return the path, its meaning as a URI, with bytes for `\\xff`, see `shown_path`, and with the
    separators of Windows."""
    if path.startswith("file:"):
        found = path_of_uri(path)
        return [path] if found is None else [found]
    if not _ESCAPED.search(path):
        return [path, path.replace("\\", "/")] if "\\" in path else [path]
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda code: bytes([int(code[1], 16)]), os.fsencode(path))
    return [path, os.fsdecode(raw)]


class PathResolver:
    """A cache of resolved paths for one request, which resolves each folder once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def named(self, path: str) -> str:
        """Return the absolute path of a name in a folder; the name itself may be a link."""
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
        """Return the absolute path of a file."""
        named = self.named(path)
        return real_path(named) if os.path.islink(named) else named


def open_regular(real: str, root: str) -> int:
    """Open a regular file for reading and return its descriptor; the caller closes it.

    ``real`` is a resolved path, ``root`` the folder that must contain it. Raises NotFound, NotAFile
    and PathOutsideWorkspace, also if a link has replaced the file meanwhile.
    """
    shown = shown_path(real)[0]
    try:
        # Opening a FIFO or a device may have effects, so check its kind first.
        _check_kind(os.stat(real).st_mode, shown)
        descriptor = open_untrusted(real)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(shown) from None
    except UnusableFile:  # a symlink or another kind of file has replaced it
        raise PathOutsideWorkspace(shown) from None
    except (OSError, ValueError) as error:
        raise NotAFile(shown, f"it cannot be read: {_reason(error)}") from None
    try:
        opened = os.fstat(descriptor)
        _check_kind(opened.st_mode, shown)
        now = _opened_path(descriptor) or real_path_or_none(real)
        # The root may be spelled with a link. A file below it proves that it still exists.
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
    """Return the contents of a regular file of the workspace, without links that lead out of it;
    None if there is none, or if it is larger than ``max_bytes``."""
    held = containing_root(path, roots)
    if held is None:
        return None
    try:
        with os.fdopen(open_regular(path, roots[held[0]]), "rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, SearchError):
        return None
    return data if len(data) <= max_bytes else None


def _opened_path(descriptor: int) -> str | None:
    """Return the path of an open file without links; None if the system cannot tell."""
    try:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    return path.removesuffix(" (deleted)")


def _check_kind(mode: int, shown: str) -> None:
    """Raise NotAFile unless the mode is of a regular file."""
    if stat.S_ISREG(mode):
        return
    kinds = (
        (stat.S_ISDIR, "it is a folder: list it with `tree`, or search it with `grep`"),
        (stat.S_ISFIFO, "it is a FIFO"),
        (stat.S_ISSOCK, "it is a socket"),
        (lambda mode: True, "it is a device"),
    )
    raise NotAFile(shown, next(what for test, what in kinds if test(mode)))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
