"""ZIP and TAR archives, whose members are read as documents and text files.

Members are read in the order of the archive, documents from an unnamed temporary file. Nothing
is unpacked to the path that an archive states. Links, devices and folders have no text.

The standard library reads directories, names and headers. This module reads the data of ZIP members
itself: zipfile does not limit memory for bzip2, and returns nothing of a truncated member.
"""

from __future__ import annotations

import functools
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Protocol, cast

from winnow.documents.extract.blocks import ChunkReader
from winnow.documents.extract.input_stream import (
    CHUNK_BYTES,
    ByteStream,
    CountedStream,
    DocumentInput,
)
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.formats.compressed import (
    DecompressedStream,
    Decompressor,
    Inflate,
    bzip2_frame,
    gzip_frame,
    xz_frame,
    zstd_frame,
)
from winnow.documents.unreadable import Unreadable

# --- ZIP ---------------------------------------------------------------------------------------

# zipfile makes an object of each entry, several times its size of 47 bytes or more.
MOST_DIRECTORY_BYTES = 8 * 1024**2
_END = struct.Struct("<4s4xHHLL")
_END_BYTES = 22
_LONGEST_COMMENT = 0xFFFF
_LOCATOR = struct.Struct("<4s4xQ4x")
_LARGE_END = struct.Struct("<4s20x16xQ")
_LARGE_END_BYTES = 56
_LOCAL = struct.Struct("<4s22xHH")
_ENCRYPTED, _IN_UTF_8 = 1, 0x800
_IN_LARGE = 0xFFFFFFFF
_STORED, _DEFLATED, _BZIP2, _ZSTD = 0, 8, 12, 93
_FRAMES: dict[int, Callable[[], Decompressor]] = {
    _DEFLATED: functools.partial(Inflate, -zlib.MAX_WBITS),
    _BZIP2: bzip2_frame,
    _ZSTD: zstd_frame,
}


def read_zip(source: DocumentInput, output: TextOutput) -> None:
    """Read the members of a ZIP archive."""
    try:
        is_too_large = directory_bytes(source.file, source.size) > MOST_DIRECTORY_BYTES
        members = [] if is_too_large else zipfile.ZipFile(source.file).infolist()
    except (zipfile.BadZipFile, struct.error, ValueError, EOFError, NotImplementedError) as error:
        raise Unreadable("it is damaged, truncated or not a ZIP archive") from error
    if is_too_large:
        raise Unreadable("it has too many members")
    for member in members:
        _read_zipped(source, member, output)


def directory_bytes(file: IO[bytes], size: int) -> int:
    """Return the size of a ZIP's directory, which the end of the archive states; the largest, if an
    archive states several, because versions of zipfile differ in which one they use."""
    start = max(0, size - _END_BYTES - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read(_END_BYTES + _LONGEST_COMMENT)
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        raise zipfile.BadZipFile
    _, _, _, directory, _ = _END.unpack_from(tail, at)
    stated = [] if directory == _IN_LARGE else [int(directory)]
    locator = max(0, start + at - _LOCATOR.size)
    file.seek(locator)
    mark, large = _LOCATOR.unpack(file.read(_LOCATOR.size))
    if mark == b"PK\6\7":
        for place in (large, max(0, locator - _LARGE_END_BYTES)):
            file.seek(place)
            record = file.read(_LARGE_END.size)
            if record.startswith(b"PK\6\6"):
                stated.append(int(_LARGE_END.unpack(record)[1]))
    if not stated:
        raise zipfile.BadZipFile
    return max(stated)


def _read_zipped(source: DocumentInput, member: zipfile.ZipInfo, output: TextOutput) -> None:
    name = _name(member)
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    if member.is_dir() or is_link or _is_metadata(name):
        source.budget.count_member()
    elif member.flag_bits & _ENCRYPTED:
        source.budget.count_member()
        output.failed("it is encrypted", name)
    elif member.compress_type != _STORED and member.compress_type not in _FRAMES:
        source.budget.count_member()
        method = member.compress_type
        output.failed(f"its compression method is not supported ({method})", name)
    else:
        source.member(name, _content(source.file, member), output, size=member.file_size)


def _name(member: zipfile.ZipInfo) -> str:
    """Return the name of a member. Many programs write UTF-8 without setting the flag."""
    if not member.flag_bits & _IN_UTF_8:
        try:
            return member.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return member.filename


def _is_metadata(name: str) -> bool:
    """Return True if a member is metadata that macOS stores beside a file."""
    return name.startswith("__MACOSX/") and name.rpartition("/")[2].startswith("._")


def _content(file: IO[bytes], member: zipfile.ZipInfo) -> ByteStream:
    data = _Part(file, functools.partial(_begin, file, member), member.compress_size)
    frame = _FRAMES.get(member.compress_type)
    content = data if frame is None else DecompressedStream(data, frame)
    return _Checked(content, member.CRC)


def _begin(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Return the position of a member's data. Called on the first read, so that a damaged header is
    reported for this member."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size:
        raise EOFError("it ends too early")
    mark, name_bytes, extra_bytes = _LOCAL.unpack(header)
    if mark != b"PK\3\4":
        raise zipfile.BadZipFile("a member is not at its stated position")
    return member.header_offset + _LOCAL.size + int(name_bytes) + int(extra_bytes)


class Seekable(Protocol):
    """A seekable archive."""

    def seek(self, at: int, /) -> object: ...
    def tell(self) -> int: ...
    def read(self, size: int, /) -> bytes: ...


class _Part:
    """The packed data of a member."""

    def __init__(self, file: Seekable, begin: Callable[[], int], size: int) -> None:
        self._file = file
        self._begin = begin
        self._at: int | None = None
        self._left = size

    def read(self, size: int, /) -> bytes:
        if self._at is None:
            self._at = self._begin()
        self._file.seek(self._at)
        data = self._file.read(min(size, self._left))
        if self._left and size and not data:
            raise EOFError("it ends too early")
        self._at += len(data)
        self._left -= len(data)
        return data


class _Checked:
    def __init__(self, stream: ByteStream, checksum: int) -> None:
        self._stream = stream
        self._expected = checksum
        self._checksum = 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._checksum = zlib.crc32(data, self._checksum)
        if not data and self._checksum != self._expected:
            raise zipfile.BadZipFile("its checksum is wrong")
        return data


# --- TAR ---------------------------------------------------------------------------------------

# tarfile reads long names and other extensions of a header at once.
_LONGEST_HEADER = 1024**2


def _reader(
    frame: Callable[[], Decompressor] | None,
) -> Callable[[DocumentInput, TextOutput], None]:
    def read(source: DocumentInput, output: TextOutput) -> None:
        """Read the members of a TAR archive."""
        if frame is None:
            _read_tar(source, _Headers(source.file), output, counted=False)
        else:
            stream = CountedStream(DecompressedStream(source.file, frame), source.budget)
            _read_tar(source, _Headers(_Forward(stream)), output, counted=True)

    return read


def _read_tar(source: DocumentInput, file: _Headers, output: TextOutput, *, counted: bool) -> None:
    import tarfile

    class Header(tarfile.TarInfo):
        """A header that raises an error if it is damaged; tarfile would treat it as the end."""

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
            try:
                return super().frombuf(buf, encoding, errors)
            except tarfile.HeaderError as error:
                if not any(buf):
                    raise  # the end
                raise tarfile.ReadError(str(error)) from error

    with tarfile.open(
        fileobj=cast(IO[bytes], file), mode="r:", tarinfo=Header, encoding="utf-8"
    ) as archive:
        while (info := archive.next()) is not None:
            if archive.offset <= info.offset:
                raise tarfile.ReadError("a header points backwards")
            if not info.isreg() or _is_metadata(info.name):
                source.budget.count_member()
                continue
            stream: ByteStream | None = _Part(
                file, functools.partial(int, info.offset_data), info.size
            )
            if info.issparse():
                stream = archive.extractfile(info)
            assert stream is not None  # because it is a regular file
            name = _tar_name(info.name)
            source.member(name, stream, output, size=info.size, counted=counted)


def _tar_name(name: str) -> str:
    raw = name.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


class _Headers:
    """A file for tarfile that rejects headers of excessive size."""

    def __init__(self, file: Seekable) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell

    def read(self, size: int, /) -> bytes:
        if size > _LONGEST_HEADER:
            raise Unreadable("it is damaged: a header is too large")
        return self._file.read(size)

    def close(self) -> None:
        pass  # tarfile does not own the file


class _Forward:
    """A stream that can seek forward."""

    def __init__(self, stream: ByteStream) -> None:
        self._chunks = ChunkReader(stream)
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, at: int, /) -> int:
        if at < self._at:
            raise Unreadable("it is damaged: a header points backwards")
        while self._at < at and self.read(min(CHUNK_BYTES, at - self._at)):
            pass
        return self._at

    def read(self, size: int, /) -> bytes:
        data = self._chunks.read(size)
        if not data and self._chunks.error is not None:
            raise self._chunks.error
        self._at += len(data)
        return data


FORMATS = tuple(
    DocumentFormat(name=name, extensions=extensions, read=read, has_members=True)
    for name, extensions, read in (
        ("zip", (".zip", ".jar", ".war", ".whl", ".apk"), read_zip),
        ("tar", (".tar",), _reader(None)),
        ("tar.gz", (".tar.gz", ".tgz"), _reader(gzip_frame)),
        ("tar.bz2", (".tar.bz2", ".tbz", ".tbz2"), _reader(bzip2_frame)),
        ("tar.xz", (".tar.xz", ".txz"), _reader(xz_frame)),
        ("tar.zst", (".tar.zst", ".tzst"), _reader(zstd_frame)),
    )
)
