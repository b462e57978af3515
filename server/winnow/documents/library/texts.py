"""Texts of documents on disk, each in a file that ripgrep can search, beside the map of its lines.

A text is named for the content of its document, the format that it was read as, and the version of
what read it: the same document elsewhere, or back after a change, is read once. Files appear in one
step, the text before its map: a map says that there is a text.
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
from winnow.storage.writing import private_folder, replacing, temporary_folder

HASHED_BYTES = 1024 * 1024
# What was begun and not ended by then never will be.
ABANDONED_SECONDS = 3600.0
# A search may be about to answer from a text that was used so recently.
PROTECTED_SECONDS = 60.0
# When there is no more room, so much of it is made.
FREED = 0.2
# So many maps are kept in memory, of some hundred bytes each.
MAPS = 2_000
OVERLAY_PREFIX = (
    "laid-"  # how the names of folders begin in which texts have the names of documents
)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TextMap).decode


@functools.cache
def version() -> bytes:
    """What texts depend on beside the documents: the code that reads them, and its libraries."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    known = hashlib.blake2b(__version__.encode(), digest_size=8)
    for package in ("pypdfium2", "python-calamine", "rapidocr"):
        with contextlib.suppress(PackageNotFoundError):
            known.update(version_of(package).encode())
    for folder in winnow.documents.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            known.update(file.read_bytes())
    return known.digest()


def key_of(file: IO[bytes], format_name: str, ocr: bool) -> str:
    """The name of the text of a document, which is read to its end."""
    digest = hashlib.blake2b(version(), digest_size=16)
    digest.update(f"{format_name} {ocr}\n".encode())
    while chunk := file.read(HASHED_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def text_path(key: str) -> str:
    """Where a text is below the folder of a cache."""
    return f"{key[:2]}/{key[2:]}.txt"


def key_of_path(path: str) -> str:
    """The key of a text by its path, as :func:`text_path` makes it."""
    return path[:-4].replace("/", "").replace(os.sep, "")


def _map_path(key: str) -> str:
    return f"{key[:2]}/{key[2:]}.map"


class TextStore:
    """The texts in one folder; any number of processes may write and read them at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.map_of = functools.lru_cache(MAPS)(self._map_of)

    def make_folder(self) -> None:
        """Have a folder, if there can be one: it may be deleted at any time."""
        with contextlib.suppress(OSError):
            private_folder(self.folder)

    def load_map(self, key: str) -> TextMap | None:
        """The map of a text; None if there is no such text."""
        try:
            with _opened(self.folder / _map_path(key)) as file:
                return _decode(file.read())
        except (OSError, msgspec.MsgspecError):
            return None

    def _map_of(self, key: str) -> TextMap:
        """The map of a text, the last ones from memory. Raises OSError if there is no such text."""
        found = self.load_map(key)
        if found is None:
            raise FileNotFoundError(key)
        return found

    def lines(self, key: str) -> list[str]:
        """The lines of a text. Raises OSError if it is gone."""
        text = self.read(key).decode("utf-8", "replace")
        return text.removesuffix("\n").split("\n") if text else []

    def read(self, key: str) -> bytes:
        """A text, in UTF-8. Raises OSError if it is gone."""
        with _opened(self.folder / text_path(key)) as file:
            return file.read()

    def size(self, key: str) -> int:
        """The size of a text. Raises OSError if it is gone."""
        return (self.folder / text_path(key)).stat().st_size

    def write(self, key: str, take: Callable[[Callable[[bytes], object]], TextMap]) -> TextMap:
        """Make a text: ``take`` hands its lines on, and gives the map. Whatever it raises, nothing
        of it stays. Raises OSError where nothing can be written."""
        file = self.folder / text_path(key)
        private_folder(file.parent)
        with replacing(file) as stream:
            made = take(stream.write)
        with replacing(self.folder / _map_path(key)) as stream:
            stream.write(_encode(made))
        return made

    def laid_folder(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for links to texts, beside them if something can be written there."""
        place = self.folder if os.access(self.folder, os.W_OK) else None
        return temporary_folder(OVERLAY_PREFIX, place)

    def mark_used(self, keys: Iterable[str]) -> None:
        """Keep texts from being the next to go."""
        for key in keys:
            with contextlib.suppress(OSError):
                os.utime(self.folder / _map_path(key))

    def trim(self, max_bytes: int) -> int:
        """Delete the texts that were used longest ago, if all together have more than
        ``max_bytes``, but none that is in use; gives the bytes that are left."""
        entries = list(self._entries())
        size = sum(one for _, one, _ in entries)
        if size <= max_bytes:
            return size
        protected = time.time() - PROTECTED_SECONDS
        for used, taken, key in sorted(entries):
            if size <= max_bytes * (1 - FREED) or used > protected:
                break
            # The map goes first: without one, there is no text.
            for path in (_map_path(key), text_path(key)):
                with contextlib.suppress(OSError):
                    (self.folder / path).unlink()
            size -= taken
        return size

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """When each text was used last, its size, and its key; what is half-made is deleted."""
        now = time.time()
        _delete_laid(self.folder, now - ABANDONED_SECONDS)
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


def _delete_laid(folder: Path, before: float) -> None:
    """Delete what a process has laid out that was killed: its links keep texts from going."""
    for laid in folder.glob(f"{OVERLAY_PREFIX}*"):
        with contextlib.suppress(OSError):
            if laid.stat().st_mtime < before:
                shutil.rmtree(laid)


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
