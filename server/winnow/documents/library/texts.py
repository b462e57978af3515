"""The cache of document texts: a file that ripgrep can search, and the map of its lines.

The key of a text depends on the content of the document, its format and the version of the reader.
A copy of a document, or one whose change is undone, is therefore not read again. Files are written
atomically, the text before its map, so that a map implies a text.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

import winnow.documents
from winnow import __version__
from winnow.documents.library.locations import TextMap
from winnow.storage.untrusted import open_untrusted
from winnow.storage.writing import atomic_write, private_folder, temporary_folder

HASHED_BYTES = 1024 * 1024
# Unfinished files of this age are deleted: their process has died.
ABANDONED_SECONDS = 3600.0
# A running search may still read a text that was used within this time.
PROTECTED_SECONDS = 60.0
# The share of the cache that is freed when it is full.
FREED = 0.2
# The number of maps in memory, each of some hundred bytes.
MAPS = 2_000
OVERLAY_PREFIX = "laid-"  # the prefix of folders that link to texts by document name

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TextMap).decode


@functools.cache
def version() -> bytes:
    """Return a digest of the code and the libraries that read documents."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    digest = hashlib.blake2b(__version__.encode(), digest_size=8)
    for package in ("pypdfium2", "python-calamine", "rapidocr"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(version_of(package).encode())
    for folder in winnow.documents.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.digest()


def key_of(file: IO[bytes], format_name: str, ocr: bool) -> str:
    """Read a document to its end, and return the key of its text."""
    digest = hashlib.blake2b(version(), digest_size=16)
    digest.update(f"{format_name} {ocr}\n".encode())
    while chunk := file.read(HASHED_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def text_path(key: str) -> str:
    """Return the path of a text in the folder of the cache."""
    return f"{key[:2]}/{key[2:]}.txt"


def key_of_path(path: str) -> str:
    """Return the key of a text from its :func:`text_path`."""
    return path[:-4].replace("/", "").replace(os.sep, "")


def _map_path(key: str) -> str:
    return f"{key[:2]}/{key[2:]}.map"


class TextStore:
    """The texts in a folder, which several processes may read and write at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.map_of = functools.lru_cache(MAPS)(self._map_of)

    def make_folder(self) -> None:
        """Create the folder if it was deleted. Errors are ignored."""
        with contextlib.suppress(OSError):
            private_folder(self.folder)

    def load_map(self, key: str) -> TextMap | None:
        """Return the map of a text, or None if there is no such text."""
        try:
            with _opened(self.folder / _map_path(key)) as file:
                return _decode(file.read())
        except (OSError, msgspec.MsgspecError):
            return None

    def _map_of(self, key: str) -> TextMap:
        """Return the map of a text. Raises OSError if there is no such text."""
        found = self.load_map(key)
        if found is None:
            raise FileNotFoundError(key)
        return found

    def lines(self, key: str) -> list[str]:
        """Return the lines of a text. Raises OSError if it was deleted."""
        text = self.read(key).decode("utf-8", "replace")
        return text.removesuffix("\n").split("\n") if text else []

    def read(self, key: str) -> bytes:
        """Return a text in UTF-8. Raises OSError if it was deleted."""
        with _opened(self.folder / text_path(key)) as file:
            return file.read()

    def size(self, key: str) -> int:
        """Return the size of a text. Raises OSError if it was deleted."""
        return (self.folder / text_path(key)).stat().st_size

    def write(self, key: str, read: Callable[[Callable[[bytes], object]], TextMap]) -> TextMap:
        """Write a text: ``read`` passes its lines to the function that it gets, and returns the
        map. If it raises, no file remains. Raises OSError if the text cannot be written."""
        file = self.folder / text_path(key)
        private_folder(file.parent)
        with atomic_write(file) as stream:
            text_map = read(stream.write)
        with atomic_write(self.folder / _map_path(key)) as stream:
            stream.write(_encode(text_map))
        return text_map

    def overlay_folder(self) -> tempfile.TemporaryDirectory[str]:
        """Return a temporary folder for links to texts, beside them if that is writable."""
        place = self.folder if os.access(self.folder, os.W_OK) else None
        return temporary_folder(OVERLAY_PREFIX, place)

    def mark_used(self, keys: Iterable[str]) -> None:
        """Mark texts as recently used, so that others are deleted first."""
        for key in keys:
            with contextlib.suppress(OSError):
                os.utime(self.folder / _map_path(key))

    def trim(self, max_bytes: int) -> int:
        """Delete the least recently used texts if the cache exceeds ``max_bytes``, except those in
        use. Return the remaining size."""
        entries = list(self._entries())
        size = sum(bytes_ for _, bytes_, _ in entries)
        if size <= max_bytes:
            return size
        now = time.time()
        for used, bytes_, key in sorted(entries):
            if size <= max_bytes * (1 - FREED):
                break
            # Later times are from before the clock was set back.
            if abs(now - used) < PROTECTED_SECONDS:
                continue
            # The map goes first, because it implies a text.
            for path in (_map_path(key), text_path(key)):
                with contextlib.suppress(OSError):
                    (self.folder / path).unlink()
            size -= bytes_
        return size

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """Yield the last use, size and key of each text, and delete abandoned files."""
        now = time.time()
        _delete_overlays(self.folder, now - ABANDONED_SECONDS)
        for folder in _folders(self.folder):
            sizes: dict[str, int] = {}
            used: dict[str, float] = {}
            with contextlib.suppress(OSError), os.scandir(folder) as found:
                for entry in found:
                    state = entry.stat(follow_symlinks=False)
                    stem, _, end = entry.name.rpartition(".")
                    if end in ("txt", "map"):
                        key = os.path.basename(folder) + stem
                        sizes[key] = sizes.get(key, 0) + state.st_size
                        used[key] = max(state.st_mtime, used.get(key, 0.0))
                    elif now - state.st_mtime > ABANDONED_SECONDS:
                        os.unlink(entry.path)
            yield from ((used[key], size, key) for key, size in sizes.items())


def _opened(file: Path) -> IO[bytes]:
    return os.fdopen(open_untrusted(file), "rb")


def _delete_overlays(folder: Path, before: float) -> None:
    """Delete the overlay folders of killed processes, whose links keep texts alive."""
    for overlay in folder.glob(f"{OVERLAY_PREFIX}*"):
        with contextlib.suppress(OSError):
            if overlay.stat().st_mtime < before:
                shutil.rmtree(overlay)


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [
                entry.path
                for entry in found
                if len(entry.name) == 2 and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []
