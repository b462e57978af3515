"""Find this user's indexes of similar folders, to reuse their data: another working tree or clone
of a repository, or a copy of it.

A built index leaves a sample of its texts in the user's state folder: the keys of the files whose
paths have the lowest checksums. Two clones have much of their samples in common, whatever their
remotes and branches are called, and unrelated folders hardly anything, so no repository is asked
what it is. A sample only suggests where to search: the other index must be one that Winnow created
for this user, and the key of each text decides whether its data is reused.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import logging
import os
import time
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.index.store import copying
from winnow.index.store.file_record import KEY_BYTES, FileState
from winnow.index.store.reader import Reader
from winnow.index.store.rows import StillMatches
from winnow.index.store.size_limits import SizeLimits
from winnow.index.store.store import Store
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.state_folder import User
from winnow.storage.untrusted import read_untrusted
from winnow.storage.writing import private_folder, replace_file

logger = logging.getLogger(__name__)

# A folder in the user's state folder with a sample for each index.
FOLDER = "indexes"
SAMPLED = 128
# Unrelated repositories may share a license and a few configuration files.
LEAST_SHARED = 4
# An index with at least this share of a sample is imported as a whole.
LEAST_SHARE = 0.5
# Similar indexes that are searched, the most similar first.
MOST_SEARCHED = 4
# Samples beyond this number, and those not renewed for this time, are deleted, the oldest first.
MOST_SAMPLES = 64
EXPIRY_SECONDS = 90 * 24 * 3600.0
# A sample changes little, so it is renewed only after this time.
RENEWAL_SECONDS = 24 * 3600.0
SAMPLE_BYTES = 64 * 1024


class _Sample(Struct, frozen=True, array_like=True):
    """The keys of some texts in the index of a folder, whose path is bytes: it may not be
    Unicode."""

    root: bytes
    keys: list[bytes]


def sampled(paths: Iterable[str]) -> list[str]:
    """Return the paths whose texts are compared: in a similar folder, mostly the same."""
    return heapq.nsmallest(SAMPLED, paths, key=lambda path: zlib.crc32(os.fsencode(path)))


def sampled_keys(reader: Reader) -> list[bytes]:
    """Return the sample of an index."""
    keys = {path: key for path, key in reader.each_key() if len(key) == KEY_BYTES}
    return [keys[path] for path in sampled(keys)]


def needs_sample(root: Path, user: User | None) -> bool:
    """Return True if the index of a folder has no recent sample."""
    file = _sample_file(root, user)
    try:
        return file is not None and time.time() - file.lstat().st_mtime > RENEWAL_SECONDS
    except OSError:
        return True


def write_sample(root: Path, keys: Collection[bytes], user: User | None) -> None:
    """Let other folders find the index of a folder. Does nothing where that is impossible."""
    file = _sample_file(root, user)
    if file is None:
        return
    sample = _Sample(os.fsencode(os.path.realpath(root)), list(keys))
    with contextlib.suppress(OSError):
        private_folder(file.parent)
        replace_file(file, msgspec.msgpack.encode(sample))
        _delete_old(file.parent)


def has_samples(user: User | None) -> bool:
    """Return True if this user has any index."""
    folder = _folder(user)
    return folder is not None and bool(_files(folder))


def similar_roots(root: Path, keys: Collection[bytes], user: User | None) -> list[Path]:
    """Return the folders whose indexes have some of these texts, the most similar first."""
    folder, own = _folder(user), os.path.realpath(root)
    found: list[tuple[int, str]] = []
    for file in _files(folder) if folder is not None else ():
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            sample = msgspec.msgpack.decode(read_untrusted(file, SAMPLE_BYTES), type=_Sample)
            shared, other = len(set(sample.keys).intersection(keys)), os.fsdecode(sample.root)
            if shared >= LEAST_SHARED and other != own:
                found.append((-shared, other))
    return [Path(other) for _, other in sorted(found)[:MOST_SEARCHED]]


def copy_texts(
    store: Store,
    root: Path,
    variant: str,
    user: User | None,
    files: Mapping[str, tuple[FileState, bytes]],
    is_still: StillMatches,
    limits: SizeLimits,
) -> Generator[list[str], None, None]:
    """Copy the data of files whose text the index of another folder has; ``files`` are states and
    keys by path. Yields the paths after each transaction. For the last parameters see
    :func:`winnow.index.store.copying.copy_texts`.

    An index that is damaged or not this user's is ignored.
    """
    with _ignoring_errors(root), contextlib.ExitStack() as stack:
        if (other := _opened(root, variant, user, stack)) is not None:
            yield from copying.copy_texts(store, other, files, is_still, limits)


def import_texts(
    store: Store,
    roots: Sequence[Path],
    sample: Collection[bytes],
    most: int,
    room: int,
    limits: SizeLimits,
    variant: str,
    user: User | None,
) -> bool:
    """Import all texts of another index into an empty store. Of the indexes of ``roots`` that have
    most of a sample's texts, at most ``most`` files, and at most ``room`` bytes, it is the largest:
    a delta has few files. Return False if there is none; those that are damaged or not this user's
    are ignored. For ``limits`` see :meth:`Store.import_all`."""
    with contextlib.ExitStack() as stack:
        found: dict[Path, tuple[int, Store]] = {}
        for root in roots:
            with _ignoring_errors(root):
                other = _opened(root, variant, user, stack)
                if other is not None and (files := _suitable_files(other, sample, most, room)):
                    found[root] = files, other
        if found:
            root = max(found, key=lambda each: found[each][0])
            with _ignoring_errors(root):
                return store.import_all(found[root][1], limits)
    return False


def _suitable_files(other: Store, sample: Collection[bytes], most: int, room: int) -> int:
    """Return the number of files of another index; 0 if it is too different or too large."""
    with other.read() as reader:
        files, shared = reader.file_count(), len(reader.places(sample))
        fits = files <= most and reader.size() <= room
    return files if fits and shared >= LEAST_SHARE * len(sample) else 0


def _opened(
    root: Path, variant: str, user: User | None, stack: contextlib.ExitStack
) -> Store | None:
    """Open the index of a folder for as long as the stack; None if there is none."""
    folder = state_folder.existing(root, user)
    store = Store.open_existing(folder, variant, user) if folder is not None else None
    if store is not None:
        stack.callback(store.close)
    return store


@contextlib.contextmanager
def _ignoring_errors(root: Path) -> Iterator[None]:
    """Ignore errors of the index of a folder, which is not reused then."""
    try:
        yield
    except (StoreDamaged, DatabaseError, OSError) as error:
        logger.info("The index of %s is not reused: %s", root, error)


def _folder(user: User | None) -> Path | None:
    state = (user or User.of(os.environ)).state
    return state / FOLDER if state is not None else None


def _sample_file(root: Path, user: User | None) -> Path | None:
    folder = _folder(user)
    digest = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()
    return folder / digest[:32] if folder is not None else None


def _files(folder: Path) -> list[Path]:
    """Return the files with samples, the newest first."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
    oldest = time.time() - EXPIRY_SECONDS
    newest = heapq.nlargest(MOST_SAMPLES, found)
    return [folder / name for written, name in newest if written > oldest]


def _delete_old(folder: Path) -> None:
    left = set(_files(folder))
    for file in list(folder.iterdir()):
        if file not in left:
            with contextlib.suppress(OSError):
                file.unlink()
