"""Find out whether git tracks files in a folder, by reading git's index without git.

Entries are sorted by name, so those in a folder whose name begins with a dot are among the first:
only these are decoded, whatever the size of the repository. The format:
https://git-scm.com/docs/index-format
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from winnow.storage.untrusted import UnusableFile, open_untrusted, read_untrusted

VERSIONS = (2, 3, 4)
# Bytes of an object name: SHA-1, SHA-256.
HASH_BYTES = (20, 32)
# Bytes of an entry before the object name.
STATUS_BYTES = 40
EXTENDED = 0x4000
# The flags of an entry hold the length of its name, up to this.
LENGTH_MASK = 0xFFF
# Git for Windows and Linux have paths of at most 4,096 bytes.
NAME_BYTES = 4096
# A working tree has few names that begin with a dot; ten thousand are decoded in 20 ms.
MAX_ENTRIES = 100_000
# A `.git` file holds one path.
LINK_BYTES = 8192
# Limit for the files of a split index. Git keeps the last ones for two weeks.
MAX_SHARED = 64


class UnreadableIndex(Exception):
    """The index cannot be decoded, so it is unknown what git tracks."""


def is_tracked(root: Path, folder: str) -> bool:
    """Return True if git tracks a folder directly below a working tree, or anything in it.

    ``folder`` begins with a dot. Its name is compared without regard to case, as many file systems
    do. Raises UnreadableIndex.
    """
    if not folder.startswith("."):
        raise ValueError(folder)
    lowered = os.fsencode(folder).lower()
    return any(
        name.lower().partition(b"/")[0] == lowered
        for file in _index_files(root)
        for name in _first_names(file)
    )


def _index_files(root: Path) -> list[Path]:
    """Return the index of a working tree, and those that it may share entries with."""
    folder = _git_folder(root)
    if folder is None:
        return []
    try:
        shared = sorted(folder.glob("sharedindex.*"))
    except OSError as error:
        raise UnreadableIndex(f"{folder}: {error}") from error
    if len(shared) > MAX_SHARED:
        raise UnreadableIndex(f"{folder} has {len(shared)} shared indexes")
    return [folder / "index", *shared]


def _git_folder(root: Path) -> Path | None:
    """Return the folder of a working tree in which git keeps its index; None outside of git."""
    marker = root / ".git"
    if marker.is_dir():
        return marker
    try:
        text = read_untrusted(marker, LINK_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableIndex(str(error)) from error
    if not text.startswith(b"gitdir:"):
        raise UnreadableIndex(f"{marker} names no folder")
    return root / os.fsdecode(text.removeprefix(b"gitdir:").strip())


def _first_names(file: Path) -> list[bytes]:
    """Return the names of an index that sort before all that begin with a letter."""
    problem = ""
    for hash_bytes in HASH_BYTES:  # the index does not say which
        try:
            with os.fdopen(open_untrusted(file), "rb") as opened:
                return list(_decoded(opened, hash_bytes))
        except FileNotFoundError:
            return []
        except (OSError, UnusableFile) as error:
            raise UnreadableIndex(str(error)) from error
        except UnreadableIndex as error:
            problem = str(error)
    raise UnreadableIndex(f"{file}: {problem}")


def _decoded(file: IO[bytes], hash_bytes: int) -> Iterator[bytes]:
    """Yield the names in the order of the index, up to the first that follows all with a dot."""
    header = file.read(12)
    version, count = int.from_bytes(header[4:8], "big"), int.from_bytes(header[8:12], "big")
    if len(header) < 12 or header[:4] != b"DIRC" or version not in VERSIONS:
        raise UnreadableIndex(f"not an index of version {VERSIONS[0]} to {VERSIONS[-1]}")
    before = b""
    for place in range(count):
        if place >= MAX_ENTRIES:
            raise UnreadableIndex(f"more than {MAX_ENTRIES:,} names begin with a dot")
        name = _entry(file, version, hash_bytes, before)
        # A split index begins with entries without a name.
        if name < before or b"\0" in name:
            raise UnreadableIndex("names are not in order")
        if name >= b"/":
            return
        yield name
        before = name


def _entry(file: IO[bytes], version: int, hash_bytes: int, before: bytes) -> bytes:
    """Return the name of the next entry; version 4 writes only how it differs from the last."""
    fixed = STATUS_BYTES + hash_bytes + 2
    flags = int.from_bytes(_exactly(file, fixed)[-2:], "big")
    if flags & EXTENDED:
        fixed += len(_exactly(file, 2))
    length = flags & LENGTH_MASK
    if version == 4:
        cut = _varint(file)
        if cut > len(before):
            raise UnreadableIndex("a name is cut by more than there is")
        name = before[: len(before) - cut] + _until_nul(file)
        read = 0
    elif length < LENGTH_MASK:
        name = _exactly(file, length)
        read = fixed + length
    else:
        name = _until_nul(file)
        read = fixed + len(name) + 1
    if min(len(name), LENGTH_MASK) != length:
        raise UnreadableIndex("a name has a wrong length")
    padded = (fixed + len(name) + 8) & ~7  # one to eight NULs follow
    if version != 4 and _exactly(file, padded - read).strip(b"\0"):
        raise UnreadableIndex("an entry has a wrong end")
    return name


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise UnreadableIndex("it ends within an entry")
    return data


def _until_nul(file: IO[bytes]) -> bytes:
    found = bytearray()
    while (byte := _exactly(file, 1)) != b"\0":
        found += byte
        if len(found) > NAME_BYTES:
            raise UnreadableIndex(f"a name has more than {NAME_BYTES:,} bytes")
    return bytes(found)


def _varint(file: IO[bytes]) -> int:
    """Return a number as git's packs encode offsets."""
    (byte,) = _exactly(file, 1)
    value = byte & 0x7F
    while byte & 0x80:
        (byte,) = _exactly(file, 1)
        value = ((value + 1) << 7) | (byte & 0x7F)
        if value > NAME_BYTES:
            raise UnreadableIndex("a name is cut by more than there is")
    return value
