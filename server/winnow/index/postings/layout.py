"""The file format of a segment: named arrays, a table of them, and checksums.

    magic, version | arrays, each at a multiple of 64 bytes | checksums | table (msgpack) | tail

The checksums (CRC-32) cover the blocks of 64 KiB before them. A block is compared with its checksum
when something in it is first read. The tail says where the table is; it has a checksum of the
checksums, the table and itself, which is compared on opening. The table is at the end so that
arrays can be written while their sizes are still unknown (as in Parquet). It contains the name of
the file: a copy in the place of another segment is intact, but wrong. All numbers are
little-endian. A file is complete before it gets its name, so any damage happened later.
"""

from __future__ import annotations

import contextlib
import functools
import math
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.storage.untrusted import open_untrusted
from winnow.storage.writing import atomic_write, spool

# Changes with anything written here, in `lists.py`, in `building.py`, or in `trigrams.py`.
VERSION = 7
_MAGIC = b"\x89WINSEG\n"
_FRONT = struct.pack("<8sII", _MAGIC, VERSION, 0)
# The offset of the checksums, and the offset and size of the table.
_PLACES = struct.Struct("<QQII")
_TAIL = struct.Struct("<I8s")
_ALIGNMENT = 64
# Longer than any table can be, and short enough to check quickly.
_LARGEST_TABLE = 1 << 16
# When a list is read, at most this much around it is read for its checksum: 20 microseconds.
_BLOCK_BYTES = 1 << 16
_CHECKSUM_BYTES = 4
_SPOOLED_IN_MEMORY = 1 << 19
# Suffix of files that are being written. A killed writer leaves one, which may be deleted.
UNFINISHED = ".part"


class SegmentDamaged(Exception):
    """A segment does not contain what was written."""


class _Placed(Struct, frozen=True, array_like=True):
    type: str
    shape: tuple[int, ...]
    offset: int


class _Table(Struct, frozen=True, array_like=True):
    arrays: dict[str, _Placed]
    file: str


# msgspec prepares a type at its first use, and crashes if two threads do that at once.
_TABLE = msgspec.msgpack.Decoder(_Table)


class Arrays:
    """The arrays of a segment, which are views of its file; thread-safe."""

    def __init__(self, data: mmap.mmap | bytes, file: str = "") -> None:
        """Raise SegmentDamaged unless the table is intact, the arrays lie within the file, and the
        segment was written as the ``file`` of this name; empty for one in memory."""
        self._data = data
        self._file = file
        self._end, self._checksums, self._arrays = _read_table(data, file)
        # Of each block: most reads are of one, for which numpy takes longer.
        self._verified = bytearray(len(self._checksums))

    @property
    def size(self) -> int:
        return len(self._data)

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each array takes."""
        return {
            name: math.prod(placed.shape) * np.dtype(placed.type).itemsize
            for name, placed in self._arrays.items()
        }

    def has(self, name: str) -> bool:
        return name in self._arrays

    def get(self, name: str, dtype: str, *shape: int | None) -> npt.NDArray[Any]:
        """Return an array, of one dimension if no shape is given; None is for any number of rows.

        Raises SegmentDamaged if its checksum differs.
        """
        found, offset = self._view(name, dtype, shape or (None,))
        self._verify(offset, found.nbytes)
        return found

    def lazy(self, name: str, dtype: str) -> LazyArray:
        """Return an array of one dimension whose parts are verified when they are read."""
        found, offset = self._view(name, dtype, (None,))
        return LazyArray(found, offset, self._verify)

    def _view(
        self, name: str, dtype: str, shape: tuple[int | None, ...]
    ) -> tuple[npt.NDArray[Any], int]:
        placed = self._arrays.get(name)
        if placed is None or placed.type != dtype:
            raise SegmentDamaged(f"there is no array {name} of {dtype}")
        if len(placed.shape) != len(shape) or any(
            there != want
            for there, want in zip(placed.shape, shape, strict=True)
            if want is not None
        ):
            raise SegmentDamaged(f"the array {name} has the shape {placed.shape}")
        count = math.prod(placed.shape)
        if count * np.dtype(dtype).itemsize > self._end - placed.offset:
            raise SegmentDamaged(f"the array {name} is longer than the file")
        flat = np.frombuffer(self._data, dtype, count, placed.offset)
        return flat.reshape(placed.shape), placed.offset

    def verify(self) -> None:
        """Read the entire segment; other threads run meanwhile. Raises SegmentDamaged."""
        self._verified[:] = bytes(len(self._verified))
        self._verify(0, self._end)
        _read_table(self._data, self._file)

    def _verify(self, offset: int, size: int) -> None:
        """Compare the checksums of the blocks that hold some bytes, unless that was done before.

        Raises SegmentDamaged. Two threads may do it at once with the same result.
        """
        if not size:
            return
        first, last = offset // _BLOCK_BYTES, (offset + size - 1) // _BLOCK_BYTES
        for block in range(first, last + 1):
            if self._verified[block]:
                continue
            start = block * _BLOCK_BYTES
            with memoryview(self._data) as view:
                found = zlib.crc32(view[start : min(start + _BLOCK_BYTES, self._end)])
            if found != self._checksums[block]:
                raise SegmentDamaged(f"the checksum of block {block} differs")
            self._verified[block] = True


class LazyArray:
    """An array in a segment whose slices are verified when they are read."""

    def __init__(
        self, values: npt.NDArray[Any], offset: int, verify: Callable[[int, int], None]
    ) -> None:
        self._values = values
        self._offset = offset
        self._verify = verify

    def __len__(self) -> int:
        return len(self._values)

    def part(self, start: int, end: int) -> npt.NDArray[Any]:
        """Return the values from one place to before another. Raises SegmentDamaged."""
        found = self._values[start:end]
        self._verify(self._offset + start * self._values.itemsize, found.nbytes)
        return found

    def parts(self, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the values of several ranges, one after another. Raises SegmentDamaged."""
        if int(ends.max(initial=0)) > len(self._values):
            raise SegmentDamaged("a list is misplaced")
        size = self._values.itemsize
        for start, end in zip((starts * size).tolist(), (ends * size).tolist(), strict=True):
            self._verify(self._offset + start, end - start)
        lengths = ends - starts
        shifts = starts - np.cumsum(lengths) + lengths
        found: npt.NDArray[Any] = self._values[
            np.arange(lengths.sum()) + np.repeat(shifts, lengths)
        ]
        return found

    def all(self) -> npt.NDArray[Any]:
        """Return all values. Raises SegmentDamaged."""
        return self.part(0, len(self._values))


def _read_table(
    data: mmap.mmap | bytes, file: str
) -> tuple[int, npt.NDArray[np.uint32], dict[str, _Placed]]:
    """Return where the arrays end, the checksums of their blocks, and what the table says."""
    tail_at = len(data) - _PLACES.size - _TAIL.size
    if tail_at < len(_FRONT) or data[: len(_FRONT)] != _FRONT:
        raise SegmentDamaged("it is not a segment of this version")
    end, table_at, size, version = _PLACES.unpack_from(data, tail_at)
    own, magic = _TAIL.unpack_from(data, tail_at + _PLACES.size)
    if magic != _MAGIC or version != VERSION:
        raise SegmentDamaged("its end is missing")
    blocks = -(-end // _BLOCK_BYTES)
    if (
        size > _LARGEST_TABLE
        or table_at + size != tail_at
        or end + blocks * _CHECKSUM_BYTES != table_at
    ):
        raise SegmentDamaged("its table is misplaced")
    if zlib.crc32(data[end : tail_at + _PLACES.size]) != own:
        raise SegmentDamaged("the checksum of its table differs")
    try:
        table = _TABLE.decode(data[table_at:tail_at])
    except msgspec.DecodeError as error:
        raise SegmentDamaged(f"its table cannot be read: {error}") from error
    if table.file != file:
        raise SegmentDamaged(f"it is a copy of {table.file}")
    for placed in table.arrays.values():
        if not len(_FRONT) <= placed.offset <= end or min(placed.shape, default=0) < 0:
            raise SegmentDamaged("its table is wrong")
    return end, np.frombuffer(data, "<u4", blocks, end), table.arrays


def open_arrays(file: Path) -> Arrays:
    """Map the arrays of a file. Raises SegmentDamaged and OSError."""
    with os.fdopen(open_untrusted(file), "rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            raise SegmentDamaged("it is empty")
        return Arrays(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), file.name)


class Spool:
    """Numbers that are written after those that precede them in the file."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def add(self, piece: npt.NDArray[Any]) -> None:
        self._stream.write(piece.data.cast("B"))

    def pieces(self, dtype: str) -> Iterator[npt.NDArray[Any]]:
        """Yield everything that was added, in order."""
        self._stream.seek(0)
        while data := self._stream.read(_SPOOLED_IN_MEMORY):
            yield np.frombuffer(data, dtype)


class SegmentWriter:
    """Writes arrays one after another, then the table. Raises OSError."""

    def __init__(
        self, stream: IO[bytes], temporary: Callable[[], IO[bytes]], file: str = ""
    ) -> None:
        """Begin a segment that gets the name ``file``; empty for one in memory."""
        self._stream = stream
        self._temporary = temporary
        self._file = file
        self._checksums: list[int] = []
        self._block = 0  # checksum of the current block
        self._at = 0
        self._arrays: dict[str, _Placed] = {}
        self._write(_FRONT)

    def spool(self) -> Spool:
        return Spool(self._temporary())

    def add(
        self, name: str, dtype: str, pieces: Iterable[npt.NDArray[Any]], columns: int | None = None
    ) -> None:
        """Write an array that comes in pieces: of one dimension, or of rows with ``columns``."""
        self._write(bytes(-self._at % _ALIGNMENT))
        offset = self._at
        for piece in pieces:
            if piece.dtype != np.dtype(dtype):
                raise TypeError(f"{name} is of {dtype}, and not of {piece.dtype}")
            if piece.size:
                self._write(np.ascontiguousarray(piece).data.cast("B"))
        items = (self._at - offset) // np.dtype(dtype).itemsize
        shape = (items,) if columns is None else (items // columns if columns else 0, columns)
        self._arrays[name] = _Placed(dtype, shape, offset)

    def finish(self) -> int:
        """Write the checksums and the table; return the total size."""
        end = self._at
        if end % _BLOCK_BYTES:
            self._checksums.append(self._block)
        checksums = np.array(self._checksums, "<u4").tobytes()
        table = msgspec.msgpack.encode(_Table(self._arrays, self._file))
        places = _PLACES.pack(end, end + len(checksums), len(table), VERSION)
        own = zlib.crc32(checksums + table + places)
        last = checksums + table + places + _TAIL.pack(own, _MAGIC)
        self._stream.write(last)
        return end + len(last)

    def _write(self, data: bytes | memoryview) -> None:
        self._stream.write(data)
        with memoryview(data) as view:
            done = 0
            while done < len(view):
                room = _BLOCK_BYTES - self._at % _BLOCK_BYTES
                piece = view[done : done + room]
                self._block = zlib.crc32(piece, self._block)
                self._at += len(piece)
                done += len(piece)
                if self._at % _BLOCK_BYTES == 0:
                    self._checksums.append(self._block)
                    self._block = 0


@contextlib.contextmanager
def writing(file: Path) -> Iterator[SegmentWriter]:
    """Yield a writer; its file gets the final name when it is safely on disk.

    A failure leaves nothing; a killed process leaves a file that ends in `UNFINISHED`.
    """
    spooled = functools.partial(spool, _SPOOLED_IN_MEMORY, file.parent)
    with atomic_write(file, prefix=f"{file.name}.", suffix=UNFINISHED, durable=True) as stream:
        yield SegmentWriter(stream, spooled, file.name)
