"""Map tables of numbers from safetensors files into memory.

The format is the length of a header, 64-bit, the header in JSON, and the numbers of all tables in
sequence, little-endian (github.com/huggingface/safetensors). The library for it reads a table into
memory; of a mapped table, only the requested rows are read, and none are kept.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

# The library's own limit.
_MOST_HEADER = 100_000_000
_LENGTH_BYTES = 8
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
}


class DamagedModel(Exception):
    """A file does not follow its format; the message says why."""


class _Table(Struct, frozen=True):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def tables_of(file: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the tables in a file by name, those with a type that numpy has. Raises DamagedModel
    and OSError."""
    size = os.path.getsize(file)
    with open(file, "rb") as stream:
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if not 0 < length <= min(_MOST_HEADER, size - _LENGTH_BYTES):
            raise DamagedModel(f"{file.name} is not a complete safetensors file")
        try:
            header = msgspec.json.decode(stream.read(length), type=dict[str, msgspec.Raw])
            header.pop("__metadata__", None)
            tables = {name: msgspec.json.decode(raw, type=_Table) for name, raw in header.items()}
        except msgspec.DecodeError as error:
            raise DamagedModel(f"{file.name} has no valid header: {error}") from error
    start = _LENGTH_BYTES + length
    return {
        name: _mapped(file, start, size, table)
        for name, table in tables.items()
        if table.dtype in _TYPES
    }


def _mapped(file: Path, start: int, size: int, table: _Table) -> npt.NDArray[Any]:
    kind = np.dtype(_TYPES[table.dtype])
    first, last = table.data_offsets
    count = math.prod(table.shape)
    if min(first, *table.shape, 0) < 0 or last - first != count * kind.itemsize:
        raise DamagedModel(f"{file.name} has a table whose shape does not fit its data")
    if start + last > size:
        raise DamagedModel(f"{file.name} is shorter than its header says")
    if not count:
        return np.zeros(table.shape, kind)
    return np.memmap(file, kind, "r", start + first, table.shape)
