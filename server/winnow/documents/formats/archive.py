"""ZIP and TAR archives, whose members are read as documents and text files.

Members are read in the order of the archive, in memory or from an unnamed temporary file. Nothing
is unpacked to the path that an archive states. Links, devices and folders have no text.

The standard library reads directories, names and headers. This module reads the data of ZIP members
itself: zipfile does not limit memory for bzip2, returns nothing of a truncated member, and rejects
a truncated archive.
"""

from __future__ import annotations

import functools
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol, cast

from msgspec import Struct

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
_LOCAL = struct.Struct("<4s2xHH4xLLLHH")
_LOCAL_MARK = b"PK\3\4"
# The marks that may follow the data of a member whose size is stated after them.
_MARKS = (b"PK\7\x08", _LOCAL_MARK, b"PK\1\2")
_ENCRYPTED, _SIZE_FOLLOWS, _IN_UTF_8 = 1, 8, 0x800
_IN_LARGE = 0xFFFFFFFF
_STORED, _DEFLATED, _BZIP2, _ZSTD = 0, 8, 12, 93
_FRAMES: dict[int, Callable[[], Decompressor]] = {
    _DEFLATED: functools.partial(Inflate, -zlib.MAX_WBITS),
    _BZIP2: bzip2_frame,
    _ZSTD: zstd_frame,
}


class ZipMember(Struct, frozen=True):
    """A member of a ZIP, with the position and compression of its data. ``checksum`` is None if it
    is stated after the data."""

    name: str
    header: int
    method: int
    encrypted: bool
    packed: int
    size: int | None
    checksum: int | None


def read_zip(source: DocumentInput, output: TextOutput) -> None:
    """Read the members of a ZIP archive."""
    members, is_complete = _members(source)
    found = False
    for member in members:
        found = True
        _read_zipped(source, member, output)
    if not is_complete:
        raise Unreadable(
            "it is truncated or damaged: only part of it was read"
            if found
            else "it is damaged, or not a ZIP archive"
        )


def _members(source: DocumentInput) -> tuple[Iterator[ZipMember], bool]:
    """Return the members of a ZIP, and True if they come from an intact directory."""
    try:
        size = directory_bytes(source.file, source.size)
        if size > MOST_DIRECTORY_BYTES:
            return _by_headers(source.file, source.size), True
        archive = zipfile.ZipFile(source.file)
    except (zipfile.BadZipFile, struct.error, ValueError, EOFError, NotImplementedError):
        return _by_headers(source.file, source.size), False
    return _by_directory(archive, source.budget.count_member), True


def directory_bytes(file: IO[bytes], size: int) -> int:
    """Return the size of a ZIP's directory, which the end of the archive states."""
    start = max(0, size - _END_BYTES - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read(_END_BYTES + _LONGEST_COMMENT)
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        raise zipfile.BadZipFile
    _, _, _, directory, _ = _END.unpack_from(tail, at)
    if directory != _IN_LARGE:
        return int(directory)
    file.seek(max(0, start + at - _LOCATOR.size))
    mark, large = _LOCATOR.unpack(file.read(_LOCATOR.size))
    if mark != b"PK\6\7":
        raise zipfile.BadZipFile
    file.seek(large)
    return int(_LARGE_END.unpack(file.read(_LARGE_END.size))[1])


def _by_directory(archive: zipfile.ZipFile, skip: Callable[[], object]) -> Iterator[ZipMember]:
    for info in archive.infolist():
        if info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
            skip()
            continue
        yield ZipMember(
            _name(info.filename, info.flag_bits),
            info.header_offset,
            info.compress_type,
            bool(info.flag_bits & _ENCRYPTED),
            info.compress_size,
            info.file_size,
            info.CRC,
        )


def _by_headers(file: IO[bytes], end: int) -> Iterator[ZipMember]:
    """Yield members by the headers before their data, for an archive without a directory."""
    at = _next_mark(file, 0, (_LOCAL_MARK,))
    while at is not None:
        file.seek(at)
        header = file.read(_LOCAL.size)
        if len(header) < _LOCAL.size:
            return
        _, flags, method, checksum, packed, size, name_bytes, extra_bytes = _LOCAL.unpack(header)
        name, extra = file.read(name_bytes), file.read(extra_bytes)
        data = at + _LOCAL.size + name_bytes + extra_bytes
        if data > end:
            return
        if packed == _IN_LARGE:
            size, packed = _large_sizes(extra)
        follows = bool(flags & _SIZE_FOLLOWS)
        if follows:
            mark = _next_mark(file, data, _MARKS)
            packed = (end if mark is None else mark) - data
        if not name.endswith(b"/"):
            yield ZipMember(
                _name(name.decode("utf-8" if flags & _IN_UTF_8 else "cp437", "replace"), flags),
                at,
                method,
                bool(flags & _ENCRYPTED),
                packed,
                None if follows else size,
                None if follows else checksum,
            )
        at = _next_mark(file, data + packed, (_LOCAL_MARK,))


def _large_sizes(extra: bytes) -> tuple[int, int]:
    """Return the unpacked and packed size of a member of 4 GiB or more."""
    at = 0
    while at + 20 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            unpacked, packed = struct.unpack_from("<QQ", extra, at + 4)
            return int(unpacked), int(packed)
        at += 4 + length
    return _IN_LARGE, _IN_LARGE


def _next_mark(file: IO[bytes], at: int, marks: tuple[bytes, ...]) -> int | None:
    """Return the position of the next mark of four bytes."""
    file.seek(at)
    tail = b""
    while chunk := file.read(CHUNK_BYTES):
        window = tail + chunk
        found = [place for mark in marks if (place := window.find(mark)) >= 0]
        if found:
            return at + min(found)
        tail = window[-3:]
        at += len(window) - len(tail)
    return None


def _name(name: str, flags: int) -> str:
    """Decode a name. Many programs write UTF-8 without setting the flag."""
    if not flags & _IN_UTF_8:
        try:
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return name


def _read_zipped(source: DocumentInput, member: ZipMember, output: TextOutput) -> None:
    if _is_metadata(member.name):
        source.budget.count_member()
    elif member.encrypted:
        source.budget.count_member()
        output.failed("it is encrypted", member.name)
    elif member.method != _STORED and member.method not in _FRAMES:
        source.budget.count_member()
        output.failed(f"its compression method is not supported ({member.method})", member.name)
    else:
        source.member(member.name, _content(source.file, member), output, size=member.size)


def _is_metadata(name: str) -> bool:
    """Return True if a member is metadata that macOS stores beside a file."""
    return name.startswith("__MACOSX/") and name.rpartition("/")[2].startswith("._")


def _content(file: IO[bytes], member: ZipMember) -> ByteStream:
    data = _Part(file, functools.partial(_begin, file, member), member.packed)
    frame = _FRAMES.get(member.method)
    content = data if frame is None else DecompressedStream(data, frame)
    return content if member.checksum is None else _Checked(content, member.checksum)


def _begin(file: IO[bytes], member: ZipMember) -> int:
    """Return the position of a member's data. Called on the first read, so that a damaged header is
    reported for this member."""
    file.seek(member.header)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size:
        raise EOFError("it ends too early")
    mark, *_, name_bytes, extra_bytes = _LOCAL.unpack(header)
    if mark != _LOCAL_MARK:
        raise zipfile.BadZipFile("a member is not at its stated position")
    return member.header + _LOCAL.size + int(name_bytes) + int(extra_bytes)


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
