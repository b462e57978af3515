"""Compressed files: documents and texts, several frames, damage and bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from documents.extracted import extracted
from winnow.documents.unreadable import Unreadable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"line %d\n" % number for number in range(100_000))
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


@pytest.mark.parametrize("end", PACK)
def test_a_compressed_text_is_read_unchanged(end: str) -> None:
    found = extracted(f"notes.txt.{end}", PACK[end]("größe\nzwei\n".encode()))
    assert (found.shown, found.failed) == (["größe", "zwei"], [])


@pytest.mark.parametrize("end", PACK)
def test_the_inner_name_decides_the_format(end: str) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a.txt", "inside\n")
    found = extracted(f"b.zip.{end}", PACK[end](archive.getvalue()))
    assert found.shown == ["──── b.zip ────", "──── b.zip!/a.txt ────", "inside"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("end", "program"), [("gz", "gzip"), ("bz2", "bzip2"), ("xz", "xz"), ("zst", "zstd")]
)
def test_files_of_real_programs_are_read(tmp_path: Path, end: str, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    file = tmp_path / "log"
    file.write_bytes(TEXT)
    subprocess.run([program, "-q", str(file)], check=True)
    found = extracted(f"log.{end}", (tmp_path / f"log.{end}").read_bytes())
    assert (found.lines, found.failed) == (TEXT.decode().splitlines(), [])


@pytest.mark.parametrize("end", PACK)
def test_several_frames_are_joined_and_trailing_zeros_ignored(end: str) -> None:
    packed = PACK[end](b"one\n") + PACK[end](b"") + PACK[end](b"two\n") + bytes(1024)
    found = extracted(f"a.{end}", packed)
    assert (found.lines, found.failed) == (["one", "two"], [])


@pytest.mark.slow
@pytest.mark.parametrize("end", PACK)
def test_a_truncated_file_yields_the_text_before_the_end(end: str) -> None:
    chance = random.Random(1)
    noise = "".join(f"{chance.randrange(10**9)}\n" for _ in range(120_000)).encode()
    packed = PACK[end](noise)
    found = extracted(f"a.{end}", packed[: len(packed) * 9 // 10])
    assert found.lines == noise.decode().splitlines()[: len(found.lines) - 1] + found.lines[-1:]
    assert len(found.lines) > 30_000
    assert found.failed == [("", "it is damaged: EOFError: it ends too early")]


@pytest.mark.parametrize("end", PACK)
def test_data_after_the_text_is_reported(end: str) -> None:
    found = extracted(f"a.{end}", PACK[end](b"text\n") + b"garbage, and more of it")
    assert found.lines == ["text"]
    ((member, reason),) = found.failed
    assert (member, reason[:15]) == ("", "it is damaged: ")


@pytest.mark.parametrize("end", PACK)
@pytest.mark.parametrize("document", [b"", b"nothing packed"])
def test_an_uncompressed_file_is_damaged(end: str, document: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^it is damaged: "):
        extracted(f"a.{end}", document)


@pytest.mark.parametrize("end", PACK)
def test_unknown_content_is_reported(end: str) -> None:
    with pytest.raises(Unreadable, match=r"^its content is neither text"):
        extracted(f"a.bin.{end}", PACK[end](bytes(1000)))
    with pytest.raises(Unreadable, match=r"^\.ps files are not supported$"):
        extracted(f"a.ps.{end}", PACK[end](b"%!PS-Adobe\n(text) show\n"))


@pytest.mark.parametrize("end", PACK)
def test_an_empty_text_is_not_a_failure(end: str) -> None:
    found = extracted(f"a.txt.{end}", PACK[end](b""))
    assert (found.lines, found.failed) == ([], [])


@pytest.mark.slow
def test_a_log_of_a_gigabyte_is_read_up_to_the_limit(tmp_path: Path) -> None:
    lines = b"2026-01-01 00:00:00 INFO something happened somewhere\n" * 20_000
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(lines, 1) * 1100)
    with (tmp_path / "a.log.gz").open("rb") as packed:
        found = extracted("a.log.gz", packed)
        assert packed.tell() < 1_000_000
    assert len(found.lines) == 16 * 1024**2 // 54
    assert found.failed == [("", "it has more than 16 MiB of text: the rest is left out")]


def test_a_window_beyond_the_memory_limit_is_refused() -> None:
    # The size of the window follows the mark and the descriptor: 1 << 31.
    zstd_frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x01\0\0"
    with pytest.raises(Unreadable, match="requires too much memory"):
        extracted("a.zst", zstd_frame)
    with pytest.raises(Unreadable, match="Memory usage limit exceeded"):
        extracted("a.xz", xz_with_dictionary(40))


def xz_with_dictionary(size: int) -> bytes:
    """Return a file that requests a dictionary of this size: 40 is 4 GiB."""
    packed = bytearray(lzma.compress(b"text\n"))
    # The headers of the stream and of its block have 12 bytes each. The block header has two bytes
    # of flags, two of the filter, the size of the dictionary, and ends with a checksum.
    header = packed[12:20]
    header[4] = size
    packed[12:24] = header + zlib.crc32(header).to_bytes(4, "little")
    return bytes(packed)
