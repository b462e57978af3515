"""Compressed files: the content is read as the document that its name says, or as text.

The decompressors are those of the standard library and its backport of Zstandard. This module has
its own streams, because those of the library do not limit memory, and lose data before the point
where a file is truncated.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

from winnow.documents.extract.blocks import blocks_of_text
from winnow.documents.extract.input_stream import (
    BudgetSpent,
    ByteStream,
    CountedStream,
    DocumentInput,
)
from winnow.documents.extract.output import TextFull, TextOutput
from winnow.documents.format import DocumentFormat, format_of_member, unsupported_reason
from winnow.documents.unreadable import Unreadable, damaged

PACKED_BYTES = 64 * 1024
# `xz -9` needs 65 MiB.
XZ_MEMORY = 80 * 1024**2
# `zstd -19` needs a window of 8 MiB, and `--ultra -22` one of 128 MiB.
ZSTD_WINDOW_LOG = 26


class Decompressor(Protocol):
    """Decompresses a frame, with the interface of the standard library."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Inflate:
    """zlib's decompressor with the interface of the others."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


class DecompressedStream:
    """The content of a compressed stream of one or more frames. It returns all data before it
    raises."""

    def __init__(self, packed: ByteStream, decompressor: Callable[[], Decompressor]) -> None:
        self._packed = packed
        self._new = decompressor
        self._frame = decompressor()
        self._ahead = b""

    def read(self, size: int, /) -> bytes:
        while True:
            if self._frame.eof and not self._next_frame():
                return b""
            data = b""
            if self._frame.needs_input:
                data, self._ahead = self._ahead or self._packed.read(PACKED_BYTES), b""
                if not data:
                    raise EOFError("it ends too early")
            if unpacked := self._frame.decompress(data, size):
                return unpacked

    def _next_frame(self) -> bool:
        # Zeros may follow a frame, as on tapes.
        rest = self._frame.unused_data.lstrip(b"\0")
        while not rest and (more := self._packed.read(PACKED_BYTES)):
            rest = more.lstrip(b"\0")
        self._ahead = rest
        if rest:
            self._frame = self._new()
        return bool(rest)


def gzip_frame() -> Decompressor:
    return Inflate(zlib.MAX_WBITS | 16)


def bzip2_frame() -> Decompressor:
    import bz2

    return bz2.BZ2Decompressor()


def xz_frame() -> Decompressor:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, XZ_MEMORY)


def zstd_frame() -> Decompressor:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    limits = {int(zstd.DecompressionParameter.window_log_max): ZSTD_WINDOW_LOG}
    frame: Decompressor = zstd.ZstdDecompressor(options=limits)
    return frame


def _reader(
    decompressor: Callable[[], Decompressor],
) -> Callable[[DocumentInput, TextOutput], None]:
    def read(source: DocumentInput, output: TextOutput) -> None:
        """Read the content of a compressed file."""
        inner = source.name.rpartition(".")[0]
        if reason := unsupported_reason(inner):
            raise Unreadable(reason)
        unpacked = DecompressedStream(source.file, decompressor)
        if format_of_member(inner) is not None:
            source.member(inner, unpacked, output)
            return
        before, has_text = source.budget.left, False
        try:
            for block in blocks_of_text(CountedStream(unpacked, source.budget)):
                output.text(block)
                has_text = True
        except (BudgetSpent, TextFull):
            raise
        except Exception as error:
            raise Unreadable(damaged(error)) from error
        if not has_text and source.budget.left < before:
            raise Unreadable("its content is neither text nor a known document")

    return read


FORMATS = (
    DocumentFormat(name="gzip", extensions=(".gz",), read=_reader(gzip_frame), has_members=True),
    DocumentFormat(name="bzip2", extensions=(".bz2",), read=_reader(bzip2_frame), has_members=True),
    DocumentFormat(name="xz", extensions=(".xz",), read=_reader(xz_frame), has_members=True),
    DocumentFormat(name="zstd", extensions=(".zst",), read=_reader(zstd_frame), has_members=True),
)
