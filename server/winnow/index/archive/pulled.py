"""Keep pulled archives among the user's indexes: folders with these texts reuse them.

A pulled archive is the index of a folder of its own in the user's state folder, which has no files.
Nothing else knows that it comes from another machine: :mod:`winnow.index.builder.other_indexes`
finds it by its sample, and the key of each text decides whether its data is reused.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from winnow.index.archive.manifest import ArchiveRejected, Manifest
from winnow.index.archive.reading import read_manifest, unpack
from winnow.index.builder.other_indexes import write_sample
from winnow.index.store.generations import version
from winnow.index.store.store import Store
from winnow.storage import database, state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.state_folder import User
from winnow.storage.writing import private_folder

logger = logging.getLogger(__name__)

FOLDER = "pulled"
# More are deleted, those pulled first.
MOST_PULLED = 6


class Pulled(NamedTuple):
    """An archive that is kept, and its folder; it was there before unless it ``is_new``."""

    manifest: Manifest
    root: Path
    is_new: bool


def pull(
    archive: Path, user: User, variant: str, key: str | None, *, may_be_unsigned: bool
) -> Pulled:
    """Keep an archive for this user's folders.

    Raises ArchiveRejected if anything in it is wrong; nothing of it is kept then. Raises OSError.
    """
    kind = version(variant)
    manifest = read_manifest(archive, kind, key, may_be_unsigned=may_be_unsigned)
    if user.state is None:
        raise ArchiveRejected("this user has no folder for the state of programs")
    folder = user.state / FOLDER
    private_folder(folder)
    root = folder / manifest.digest[:32]
    if _is_kept(root, variant, user):
        return Pulled(manifest, root, False)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(root)
    root.mkdir(mode=0o700)
    try:
        _keep(archive, root, user, variant, key, may_be_unsigned=may_be_unsigned)
        write_sample(root, [bytes.fromhex(text) for text in manifest.sample], user)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    _delete_old(folder, root)
    return Pulled(manifest, root, True)


def _keep(
    archive: Path, root: Path, user: User, variant: str, key: str | None, *, may_be_unsigned: bool
) -> None:
    """Unpack an archive as the index of a root, and read all of it once."""
    kind, own = version(variant), state_folder.create(root, user)
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=root) as name:
        unpack(archive, Path(name), kind, key, may_be_unsigned=may_be_unsigned)
        for file in Path(name).iterdir():
            file.replace(own / file.name)
    file = own / f"index-{kind}.db"
    try:
        with contextlib.closing(database.connect(file, busy_seconds=1.0, cache_kb=1024)) as opened:
            mark = state_folder.mark_of(own, file, user)
            opened.execute("UPDATE owner SET mark=?", (mark,)).fetchall()
        store = Store.open_existing(own, variant, user)
        if store is None:
            raise ArchiveRejected("it has no index")
        with contextlib.closing(store):
            store.check()
    except (StoreDamaged, DatabaseError) as error:
        raise ArchiveRejected(f"its index is damaged: {error}") from error


def _is_kept(root: Path, variant: str, user: User) -> bool:
    """Return True if a complete index is there."""
    try:
        own = state_folder.existing(root, user)
        store = Store.open_existing(own, variant, user) if own is not None else None
    except (StoreDamaged, DatabaseError, OSError) as error:
        logger.info("The pulled index in %s is replaced: %s", root, error)
        return False
    if store is not None:
        store.close()
    return store is not None


def _delete_old(folder: Path, newest: Path) -> None:
    """Delete the archives pulled first; ignore what cannot be deleted."""
    with contextlib.suppress(OSError):
        others = [root for root in folder.iterdir() if root != newest]
        others.sort(key=lambda root: root.stat().st_mtime, reverse=True)
        for root in others[MOST_PULLED - 1 :]:
            shutil.rmtree(root, ignore_errors=True)
