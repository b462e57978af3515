"""Unpack an archive, and reject it as a whole if anything in it is wrong."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from winnow.index.archive import manifest as manifests
from winnow.index.archive.manifest import ArchiveRejected, Manifest
from winnow.index.archive.writing import Base, keys_of
from winnow.index.store.store import Store
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.untrusted import open_untrusted

PIECE_BYTES = 1024 * 1024


def read_manifest(archive: Path, kind: str, key: str | None, *, may_be_unsigned: bool) -> Manifest:
    """Return the manifest of an archive, see :func:`winnow.index.archive.manifest.verified`.

    Raises ArchiveRejected, and OSError if the file cannot be read.
    """
    with _opened(archive) as opened:
        return _manifest(opened, kind, key, may_be_unsigned)


def unpack(
    archive: Path, folder: Path, kind: str, key: str | None, *, may_be_unsigned: bool
) -> Manifest:
    """Write the files of an archive into a folder and return its manifest, once every size and hash
    is right. Raises ArchiveRejected and OSError; the folder may have some files then."""
    with _opened(archive) as opened:
        manifest = _manifest(opened, kind, key, may_be_unsigned)
        names = [info.filename for info in opened.infolist()]
        if sorted(names) != sorted([manifests.NAME, *manifest.members]):
            raise ArchiveRejected("it has other files than its manifest names")
        for name in manifest.members:
            _write(opened, name, folder / name, manifest)
        return manifest


def read_keys(archive: Path, kind: str, key: str | None, *, may_be_unsigned: bool) -> Base:
    """Return an archive as the base of a delta. Raises ArchiveRejected and OSError."""
    with tempfile.TemporaryDirectory(prefix="winnow-") as name:
        manifest = unpack(archive, Path(name), kind, key, may_be_unsigned=may_be_unsigned)
        if manifest.base is not None:
            raise ArchiveRejected("it is a delta itself: pass the archive that it adds to")
        try:
            with contextlib.closing(Store(Path(name, f"index-{kind}.db"), temporary=True)) as store:
                return Base(manifest.digest, keys_of(store))
        except (StoreDamaged, DatabaseError) as error:
            raise ArchiveRejected(f"its index is damaged: {error}") from error


# What reading a file that is not an archive, or a damaged one, raises.
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    NotImplementedError,
    EOFError,
    ValueError,
    RuntimeError,
)


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive, if it is a regular file. If reading it fails, it is rejected as damaged.

    Raises ArchiveRejected, and OSError if the file cannot be opened or read.
    """
    # The user names it, perhaps by a symlink.
    file = open_untrusted(os.path.realpath(archive), manifests.MOST_ARCHIVE_BYTES)
    try:
        with os.fdopen(file, "rb") as raw, zipfile.ZipFile(raw) as opened:
            yield opened
    except _BROKEN as error:
        raise ArchiveRejected(f"it is damaged: {error}") from error
    except OSError as error:
        # A damaged directory may name a negative offset.
        if error.errno != errno.EINVAL:
            raise
        raise ArchiveRejected(f"it is damaged: {error.strerror}") from error


def _manifest(
    opened: zipfile.ZipFile, kind: str, key: str | None, may_be_unsigned: bool
) -> Manifest:
    try:
        with opened.open(manifests.NAME) as file:
            data = file.read(manifests.MOST_BYTES + 1)
    except KeyError:
        raise ArchiveRejected("it is not an archive of an index: it has no manifest") from None
    if len(data) > manifests.MOST_BYTES:
        raise ArchiveRejected("its manifest is too large")
    return manifests.verified(data, kind, key, may_be_unsigned=may_be_unsigned)


def _write(opened: zipfile.ZipFile, name: str, target: Path, manifest: Manifest) -> None:
    """Write a member. No more is written than the manifest says: a small archive may unpack to any
    size."""
    expected, hashed, left = manifest.members[name], hashlib.sha256(), manifest.members[name].bytes
    with opened.open(name) as source, target.open("xb") as file:
        while piece := source.read(PIECE_BYTES):
            left -= len(piece)
            if left < 0:
                raise ArchiveRejected(f"{name} is larger than its manifest says")
            hashed.update(piece)
            file.write(piece)
    if left or hashed.hexdigest() != expected.sha256:
        raise ArchiveRejected(f"{name} has other contents than its manifest says")
