"""How a segment lies in its file: named arrays, a table of them, and checksums.

    magic, version | arrays, each at a multiple of 64 bytes | table (msgpack) | tail

The tail says where the table is; it has a checksum of the table and itself, which opening checks,
and one of all before the table, which takes a reading of everything. The table stands at the end
so that arrays can be written while their sizes are still unknown (as in Parquet). All numbers are
little-endian. A file is complete before it gets its name, so what is damaged was damaged later.
"""

from __future__ import annotations

import contextlib
import functools
import math
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

# Changes with anything that is written here, in `lists.py`, in `building.py`, or in `trigrams.py`.
VERSION = 3
_MAGIC = b"\x89WINSEG\n"
_FRONT = struct.pack("<8sII", _MAGIC, VERSION, 0)
# Where the table is, its size; checksums of all before it, of it with what stands here before.
_PLACES = struct.Struct("<QIII")
_TAIL = struct.Struct("<I8s")
_ALIGNMENT = 64
# Longer than any table can be, shorter than what would be slow to check.
_LARGEST_TABLE = 1 << 16
_CHECKED_AT_ONCE = 1 << 20
_SPOOLED_IN_MEMORY = 1 << 19
# Of files that are still being written. One whose writer was killed stays, and may be deleted.
UNFINISHED = ".part"


class SegmentDamaged(Exception):
    """A segment is not what was written."""


class _Placed(Struct, frozen=True, array_like=True):
    type: str
    shape: tuple[int, ...]
    offset: int


class _Table(Struct, frozen=True, array_like=True):
    arrays: dict[str, _Placed]


class Arrays:
    """The arrays of a segment, which are views of its file."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        """Raises SegmentDamaged unless the table is whole and the arrays lie within the file."""
        self._data = data
        self._table_at, self._checksum, self._arrays = _read_table(data)

    @property
    def size(self) -> int:
        return len(self._data)

    def sizes(self) -> dict[str, int]:
        """How many bytes each array takes."""
        return {
            name: math.prod(placed.shape) * np.dtype(placed.type).itemsize
            for name, placed in self._arrays.items()
        }

    def has(self, name: str) -> bool:
        return name in self._arrays

    def get(self, name: str, dtype: str, *shape: int | None) -> npt.NDArray[Any]:
        """An array, of one dimension if no shape is given; None is for any number of rows."""
        placed = self._arrays.get(name)
        if placed is None or placed.type != dtype:
            raise SegmentDamaged(f"there is no array {name} of {dtype}")
        wanted = shape or (None,)
        if len(placed.shape) != len(wanted) or any(
            there != want
            for there, want in zip(placed.shape, wanted, strict=True)
            if want is not None
        ):
            raise SegmentDamaged(f"the array {name} has the shape {placed.shape}")
        count = math.prod(placed.shape)
        if count * np.dtype(dtype).itemsize > self._table_at - placed.offset:
            raise SegmentDamaged(f"the array {name} is longer than the file")
        flat = np.frombuffer(self._data, dtype, count, placed.offset)
        return flat.reshape(placed.shape)

    def verify(self) -> None:
        """Read all of it; other threads run meanwhile. Raises SegmentDamaged."""
        checksum = 0
        with memoryview(self._data) as view:
            for start in range(0, self._table_at, _CHECKED_AT_ONCE):
                end = min(start + _CHECKED_AT_ONCE, self._table_at)
                checksum = zlib.crc32(view[start:end], checksum)
        if checksum != self._checksum:
            raise SegmentDamaged("its checksum is another")
        _read_table(self._data)


def _read_table(data: mmap.mmap | bytes) -> tuple[int, int, dict[str, _Placed]]:
    """Where the table is, the checksum of all before it, and what it says."""
    tail_at = len(data) - _PLACES.size - _TAIL.size
    if tail_at < len(_FRONT) or data[: len(_FRONT)] != _FRONT:
        raise SegmentDamaged("it is no segment of this version")
    table_at, size, checksum, version = _PLACES.unpack_from(data, tail_at)
    own, magic = _TAIL.unpack_from(data, tail_at + _PLACES.size)
    if magic != _MAGIC or version != VERSION:
        raise SegmentDamaged("its end is missing")
    if size > _LARGEST_TABLE or table_at + size != tail_at:
        raise SegmentDamaged("its table is not where it should be")
    if zlib.crc32(data[table_at : tail_at + _PLACES.size]) != own:
        raise SegmentDamaged("the checksum of its table is another")
    try:
        arrays = msgspec.msgpack.decode(data[table_at:tail_at], type=_Table).arrays
    except msgspec.DecodeError as error:
        raise SegmentDamaged(f"its table cannot be read: {error}") from error
    for placed in arrays.values():
        if not len(_FRONT) <= placed.offset <= table_at or min(placed.shape, default=0) < 0:
            raise SegmentDamaged("its table is wrong")
    return table_at, checksum, arrays


def open_arrays(file: Path) -> Arrays:
    """The arrays of a file, which is mapped and not read. Raises SegmentDamaged and OSError."""
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            raise SegmentDamaged("it is empty")
        return Arrays(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))


class Spool:
    """Numbers that wait until those before them in the file are written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def add(self, piece: npt.NDArray[Any]) -> None:
        self._stream.write(piece.data.cast("B"))

    def pieces(self, dtype: str) -> Iterator[npt.NDArray[Any]]:
        """All that was added, in the order of adding."""
        self._stream.seek(0)
        while data := self._stream.read(_SPOOLED_IN_MEMORY):
            yield np.frombuffer(data, dtype)


class SegmentWriter:
    """Writes arrays one after the other, and then the table. What fails raises OSError."""

    def __init__(self, stream: IO[bytes], temporary: Callable[[], IO[bytes]]) -> None:
        self._stream = stream
        self._temporary = temporary
        self._checksum = 0
        self._at = 0
        self._arrays: dict[str, _Placed] = {}
        self._write(_FRONT)

    def spool(self) -> Spool:
        return Spool(self._temporary())

    def add(
        self, name: str, dtype: str, pieces: Iterable[npt.NDArray[Any]], columns: int | None = None
    ) -> None:
        """Write an array that comes in pieces: of one dimension, or of rows of so many columns."""
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
        """Write the table; gives the size of all."""
        table = msgspec.msgpack.encode(_Table(self._arrays))
        places = _PLACES.pack(self._at, len(table), self._checksum, VERSION)
        tail = _TAIL.pack(zlib.crc32(table + places), _MAGIC)
        self._write(table + places + tail)
        return self._at

    def _write(self, data: bytes | memoryview) -> None:
        self._stream.write(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self._at += len(data)


@contextlib.contextmanager
def writing(file: Path) -> Iterator[SegmentWriter]:
    """What is written under another name first, and takes its place when it is safely on disk.

    Nothing is left if that fails; if the process is killed, a file that ends in `UNFINISHED`.
    """
    folder = file.parent
    spool = functools.partial(
        tempfile.SpooledTemporaryFile, _SPOOLED_IN_MEMORY, "w+b", dir=str(folder)
    )
    number, name = tempfile.mkstemp(UNFINISHED, f"{file.name}.", folder)
    try:
        with os.fdopen(number, "wb") as stream:
            yield SegmentWriter(stream, spool)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable, where the system can: not all can do that to folders."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
