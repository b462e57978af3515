"""Write an archive of an index."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import zipfile
from collections.abc import Mapping, Set
from datetime import datetime, timezone
from pathlib import Path

import msgspec

import winnow
from winnow.index.archive import manifest as manifests
from winnow.index.archive.manifest import FORMAT, Manifest, Member, signed
from winnow.index.builder.other_indexes import sampled_keys
from winnow.index.store.copying import copy_texts
from winnow.index.store.file_record import FileState
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store

# zlib's fastest level: for an index, the default takes five times as long and saves a tenth.
COMPRESSION = 1
PIECE_BYTES = 1024 * 1024
# In a transaction, which is kept in memory.
ADOPTED_AT_ONCE = 1_000
# Times and sizes say nothing on another machine.
_NO_STATE = FileState(0, 0, 0)


class Base(msgspec.Struct, frozen=True):
    """The archive that a delta adds to: its digest, and the keys of its texts."""

    digest: str
    keys: Set[bytes]


def write_archive(
    store: Store,
    target: Path,
    *,
    key: str | None,
    model: str | None,
    commit: str | None,
    base: Base | None = None,
    signatures: bool = True,
) -> Manifest:
    """Write what a store knows of its texts into a new archive, and return its manifest.

    It has relative paths, and neither times nor the names of users and machines. Without
    ``signatures``, no line of source code and no documentation is in it, only names and words. With
    a ``base``, it has only what the base lacks. Raises ValueError for a key that can be guessed,
    OSError, StoreDamaged and DatabaseError. An existing target is replaced at the end.
    """
    with store.read() as reader:
        keys = dict(_keys(reader))
        sample = sampled_keys(reader)
    wanted = {path: text for path, text in keys.items() if base is None or text not in base.keys}
    with tempfile.TemporaryDirectory(prefix="winnow-", dir=target.parent) as name:
        folder = Path(name, "store")
        folder.mkdir()
        copy = Store(folder / f"index-{store.kind}.db", temporary=True)
        with contextlib.closing(copy):
            _copy_texts(store, copy, wanted, all_texts=base is None)
            files = copy.packed(signatures=signatures)
            manifest = Manifest(
                format=FORMAT,
                winnow=winnow.__version__,
                kind=store.kind,
                model=model,
                commit=commit,
                created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                files=len(keys),
                texts=len(set(wanted.values())),
                signatures=signatures,
                base=base.digest if base is not None else None,
                sample=[text.hex() for text in sample],
                members={file.name: _member(file) for file in files},
            )
            manifest = signed(manifest, key) if key is not None else manifest
            unfinished = Path(name, "archive")
            _zip(unfinished, manifest, {file.name: file for file in files})
        unfinished.replace(target)
    return manifest


def _copy_texts(store: Store, copy: Store, keys: Mapping[str, bytes], *, all_texts: bool) -> None:
    """Copy the texts of files, whose keys are given by path, into an empty store."""
    files = {path: (_NO_STATE, key) for path, key in keys.items()}
    if not all_texts or not copy.import_all(store):
        for _ in copy_texts(copy, store, files):
            pass
        return
    paths = list(files)
    for at in range(0, len(paths), ADOPTED_AT_ONCE):
        copy.adopt({path: files[path] for path in paths[at : at + ADOPTED_AT_ONCE]})
    copy.drop_unused()


def keys_of(store: Store) -> frozenset[bytes]:
    """Return the keys of the texts of a store."""
    with store.read() as reader:
        return frozenset(key for _, key in _keys(reader))


def _keys(reader: Reader) -> list[tuple[str, bytes]]:
    """Return the files that have a text."""
    return [(path, key) for path, key in reader.each_key() if key]


def _member(file: Path) -> Member:
    hashed = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            hashed.update(piece)
    return Member(file.stat().st_size, hashed.hexdigest())


def _zip(target: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write a zip file; the manifest comes first."""
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive:
        data = msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"))
        # A fixed time instead of the current one.
        archive.writestr(zipfile.ZipInfo(manifests.NAME), data, zipfile.ZIP_DEFLATED)
        for name, file in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.file_size = file.stat().st_size
            with archive.open(info, "w") as entry, file.open("rb") as opened:
                while piece := opened.read(PIECE_BYTES):
                    entry.write(piece)
