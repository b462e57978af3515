"""ZIP and TAR archives: intact, unusual, damaged and hostile."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from documents.extracted import extracted
from winnow.documents.formats import archive
from winnow.documents.unreadable import Unreadable

NOISE = random.Random(7).randbytes(100_000)


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members:
            made.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def tarred(*members: tuple[str, bytes], mode: str = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as made:  # type: ignore[call-overload]
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            made.addfile(header, io.BytesIO(content))
    return file.getvalue()


def folder(tmp_path: Path) -> Path:
    """Return a folder for real archivers, with text and other files."""
    made = tmp_path / "d"
    made.mkdir()
    (made / "a.txt").write_text("alpha needle\n")
    (made / "ü.txt").write_text("größe\n", "utf-8")
    (made / "noise.bin").write_bytes(NOISE)
    (made / "link.txt").symlink_to("a.txt")
    os.mkfifo(made / "pipe")
    return made


# --- by real programs --------------------------------------------------------------------------

TAR = [["tar", "caf", f"x.{end}", "d"] for end in ("tar", "tar.gz", "tbz2", "txz", "tar.zst")]
ZIP = [
    ["zip", "-qryFI", "x.zip", "d", "-x", "d/pipe"],
    ["7z", "a", "-tzip", "-mm=BZip2", "x.zip", "d"],
]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
@pytest.mark.parametrize("command", TAR + ZIP, ids=" ".join)
def test_archives_of_real_programs_are_read(tmp_path: Path, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    made = folder(tmp_path)
    if command[0] == "7z":
        (made / "pipe").unlink()
        (made / "link.txt").unlink()
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (file,) = tmp_path.glob("x.*")
    found = extracted(file.name, file.read_bytes())
    texts = {found.text_map.place_at(n).member: line for n, line in enumerate(found.lines, 1)}
    assert texts == {"d/a.txt": "alpha needle", "d/ü.txt": "größe"}
    assert found.failed == []


@pytest.mark.skipif(shutil.which("7z") is None, reason="needs 7z")
def test_encrypted_members_are_reported(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "open.txt").write_text("open\n")
    for options in (["-psecret", "x.zip", "secret.txt"], ["x.zip", "open.txt"]):
        command = ["7z", "a", "-tzip", *options]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    found = extracted("x.zip", (tmp_path / "x.zip").read_bytes())
    assert (found.lines, found.failed) == (["open"], [("secret.txt", "it is encrypted")])


# --- ZIP ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_are_in_the_order_of_the_archive(method: int) -> None:
    members = (
        ("z.txt", b"last name\n"),
        ("n", NOISE),
        ("a.txt", b"first name\n"),
        ("z.txt", b"again"),
    )
    with pytest.warns(UserWarning, match="Duplicate name"):
        document = zipped(*members, method=method)
    assert extracted("a.jar", document).shown == [
        *("──── z.txt ────", "last name", "──── a.txt ────", "first name"),
        *("──── z.txt ────", "again"),
    ]


def test_an_unsupported_compression_method_is_reported() -> None:
    found = extracted("a.zip", zipped(("a.txt", b"a"), method=zipfile.ZIP_LZMA))
    assert found.failed == [("a.txt", "its compression method is not supported (14)")]


def test_names_are_decoded_with_and_without_the_utf_8_flag() -> None:
    marked = zipped(("größe-я.txt", b"marked"))
    unmarked = zipped(("gr__e.txt", b"bare")).replace(b"gr__e.txt", "grüe.txt".encode())
    old = zipped(("gr_e.txt", b"old")).replace(b"gr_e.txt", "grüe.txt".encode("cp437"))
    shown = [extracted("a.zip", document).shown[0] for document in (marked, unmarked, old)]
    assert shown == ["──── größe-я.txt ────", "──── grüe.txt ────", "──── grüe.txt ────"]


def test_members_with_paths_to_the_outside_are_read_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    members = (("../../evil.txt", b"up"), (f"{tmp_path}/evil2.txt", b"down"), ("..\\e\n.txt", b"w"))
    for name, document in (("a.zip", zipped(*members)), ("a.tar", tarred(*members))):
        found = extracted(name, document)
        assert found.lines == ["up", "down", "w"]
        assert [found.text_map.place_at(line).member for line in (1, 2, 3)] == [
            "evil.txt",
            f"{tmp_path}/evil2.txt".lstrip("/"),
            "e\N{REPLACEMENT CHARACTER}.txt",
        ]
    assert list(tmp_path.iterdir()) == []


def test_macos_metadata_is_skipped() -> None:
    members = (("a.txt", b"a"), ("__MACOSX/._a.zip", b"\0\5\x16\7"), ("__MACOSX/b.txt", b"b"))
    found = extracted("a.zip", zipped(*members))
    assert (found.lines, found.failed) == (["a", "b"], [])


def test_large_sizes_are_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made, made.open("a.txt", "w", force_zip64=True) as member:
        member.write(b"large\n")
    assert extracted("a.zip", file.getvalue()).lines == ["large"]


def test_a_truncated_zip_is_reported() -> None:
    document = zipped(("a.txt", b"a"), ("b.txt", NOISE))
    with pytest.raises(Unreadable, match=r"^it is damaged, truncated or not a ZIP archive$"):
        extracted("a.zip", document[: len(document) // 2])


def test_a_damaged_member_of_a_zip_does_not_affect_the_others() -> None:
    document = bytearray(zipped(("a.txt", b"a"), ("b.txt", b"bbb"), ("c.txt", b"c"), method=0))
    document[document.index(b"bbb")] = 0x78
    header = bytearray(document)
    header[header.index(b"PK\3\4", 10)] = 0
    for damaged, lines, reason in (
        (document, ["a", "xbb", "c"], "its checksum is wrong"),
        (header, ["a", "c"], "a member is not at its stated position"),
    ):
        found = extracted("a.zip", bytes(damaged))
        assert found.lines == lines
        assert found.failed == [("b.txt", f"it is damaged: BadZipFile: {reason}")]


@pytest.mark.parametrize("document", [b"", b"no archive", bytes(1000), NOISE])
@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz", "a.tbz", "a.txz", "a.tzst"])
def test_a_file_that_is_not_an_archive_is_damaged(name: str, document: bytes) -> None:
    if (name, document) == ("a.tar", bytes(1000)):
        return  # the archive is empty
    with pytest.raises(Unreadable, match=r"^it is damaged"):
        extracted(name, document)


def test_random_damage_only_loses_text() -> None:
    chance = random.Random(5)
    inner = zipped(("deep.txt", b"deep\n" * 100))
    members = (("a.txt", b"a\n" * 100), ("b.zip", inner), ("c.txt", b"c\n" * 100))
    for name, document in (
        ("a.zip", zipped(*members)),
        ("a.tar", tarred(*members)),
        ("a.tgz", tarred(*members, mode="w:gz")),
    ):
        for _ in range(150):
            damaged = bytearray(document)
            for _ in range(chance.randrange(1, 5)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            try:
                found = extracted(name, bytes(damaged[: chance.randrange(1, len(damaged) + 1)]))
            except Unreadable:
                continue
            assert len(found.lines) <= 400


# --- TAR ---------------------------------------------------------------------------------------


def test_a_truncated_tar_yields_the_members_before_the_end() -> None:
    text = b"".join(b"line %d\n" % number for number in range(10_000))
    members = (("a.txt", b"a"), ("b.txt", text), ("c.txt", b"c"))
    for name, document in (("a.tar", tarred(*members)), ("a.tgz", tarred(*members, mode="w:gz"))):
        found = extracted(name, document[: len(document) // 2])
        assert found.lines[:3] == ["a", "line 0", "line 1"]
        assert 1000 < len(found.lines) < 10_000
        assert [member for member, _ in found.failed] == ["b.txt", ""]


def test_a_damaged_header_is_not_mistaken_for_the_end() -> None:
    document = bytearray(tarred(("a.txt", b"a"), ("b.txt", b"b")))
    document[1024] ^= 1
    found = extracted("a.tar", bytes(document))
    assert (found.lines, found.failed) == (["a"], [("", "it is damaged: ReadError: bad checksum")])


def test_members_that_are_not_files_are_skipped() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            header = tarfile.TarInfo(f"x{kind!r}.txt")
            header.type, header.linkname = kind, "/etc/passwd"
            made.addfile(header)
        made.addfile(tarfile.TarInfo("empty.txt"))
    found = extracted("a.tar", file.getvalue())
    assert (found.shown, found.failed) == ([], [])


@pytest.mark.process
def test_a_sparse_file_is_read(tmp_path: Path) -> None:
    if shutil.which("tar") is None:
        pytest.skip("needs tar")
    with (tmp_path / "s.zip").open("wb") as file:
        file.seek(1024**2)
        file.write(zipped(("a.txt", b"behind a hole")))
    subprocess.run(["tar", "cSf", "a.tar", "s.zip"], cwd=tmp_path, check=True)
    document = (tmp_path / "a.tar").read_bytes()
    assert len(document) < 1024**2
    found = extracted("a.tar", document)
    assert (found.lines, found.failed) == (["behind a hole"], [])


def test_a_header_of_excessive_size_is_not_read() -> None:
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.XHDTYPE, 1024**3
    document = tarred(("a.txt", b"a"))[:1024] + header.tobuf(tarfile.GNU_FORMAT)
    found = extracted("a.tar", document + bytes(2 * 1024**2))
    assert (found.lines, found.failed) == (["a"], [("", "it is damaged: a header is too large")])


# --- hazards -----------------------------------------------------------------------------------

IN_CHILD = """
import json, sys
from winnow.documents.extract.extraction import extract
written = bytearray()
with open(sys.argv[1], "rb") as file:
    found = extract(sys.argv[1], file, written.extend)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([written.decode()[-200:], [[f.member, f.reason] for f in found.failed],
                  int(peak.split()[1]) // 1024]))
"""


def in_child(file: Path) -> tuple[list[str], list[list[str]]]:
    """Extract a document in a child with a memory limit; return its last lines and failures."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    command = [sys.executable, "-c", IN_CHILD, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    text, failed, megabytes = json.loads(done.stdout)
    assert megabytes < 150
    return text.splitlines()[-2:], failed


# More than the limits for unpacked data (256 MiB) and for memory (150 MB).
BOMB_BYTES, SMALL_BOMB_BYTES = 300 * 1024**2, 160 * 1024**2


def bomb(file: Path, name: str, piece: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Return archives of at most 2 MB with a bomb between two texts."""
    size = SMALL_BOMB_BYTES if method == zipfile.ZIP_BZIP2 else BOMB_BYTES
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as made:
        made.writestr("first.txt", "first\n")
        with made.open(name, "w") as member:
            for _ in range(size // len(piece)):
                member.write(piece)
        made.writestr("last.txt", "last\n")
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "piece", "method", "reason"),
    [
        ("b.bin", bytes(1024**2), zipfile.ZIP_DEFLATED, None),
        ("b.txt", b" " * 1024**2, zipfile.ZIP_DEFLATED, "only its first 4 MiB are read"),
        ("b.txt", b" " * 1024**2, zipfile.ZIP_BZIP2, "only its first 4 MiB are read"),
        (
            "b.zip",
            bytes(1024**2),
            zipfile.ZIP_DEFLATED,
            "it exceeds the limit for unpacked data",
        ),
    ],
)
def test_a_zip_bomb_does_not_affect_the_other_members(
    tmp_path: Path, name: str, piece: bytes, method: int, reason: str | None
) -> None:
    lines, failed = in_child(bomb(tmp_path / "a.zip", name, piece, method))
    assert lines[-1] == "last"
    assert failed == ([] if reason is None else [[name, reason]])


@pytest.mark.slow
def test_a_bomb_in_a_compressed_tar_spends_the_budget(tmp_path: Path) -> None:
    class Spaces(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return b" " * (size or 0)

    with tarfile.open(tmp_path / "a.tar.gz", "w:gz", compresslevel=1) as made:
        for name, size in (("first.txt", 6), ("b.txt", BOMB_BYTES), ("last.txt", 5)):
            header = tarfile.TarInfo(name)
            header.size = size
            made.addfile(header, Spaces())
    lines, failed = in_child(tmp_path / "a.tar.gz")
    assert len(lines) == 2
    assert failed == [
        ["b.txt", "only its first 4 MiB are read"],
        ["", "it unpacks to more than 256 MiB: the rest is left out"],
    ]


@pytest.mark.process
def test_members_that_overlap_spend_the_budget_once(tmp_path: Path) -> None:
    plain = b"a" * 64 * 1024**2
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(plain) + packer.flush()
    sizes = (zlib.crc32(plain), len(packed), len(plain))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, *sizes, 5, 0) + b"k.zip" + packed
    names = [b"%05d.zip" % number for number in range(1000)]
    entries = [
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, *sizes, 9, *[0] * 4, 0, 0) + name
        for name in names
    ]
    directory = b"".join(entries)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1000, 1000, len(directory), len(local), 0)
    (tmp_path / "a.zip").write_bytes(local + directory + end)
    _, failed = in_child(tmp_path / "a.zip")
    reasons = [reason for _, reason in failed]
    assert reasons[:4] == ["it is damaged, truncated or not a ZIP archive"] * 4
    assert set(reasons[4:-1]) == {"it exceeds the limit for unpacked data"}


@pytest.mark.process
def test_a_hundred_nested_archives_are_read_to_a_depth(tmp_path: Path) -> None:
    document = b"the deepest"
    for number in range(100):
        document = zipped(
            (f"{number}.zip" if number else "a.txt", document), ("t.txt", b"%d" % number)
        )
    (tmp_path / "a.zip").write_bytes(document)
    lines, failed = in_child(tmp_path / "a.zip")
    assert lines == ["98", "99"]
    path = "!/".join(f"{number}.zip" for number in range(99, 93, -1))
    assert failed == [[path, "it is nested in more than 5 archives"]]


@pytest.mark.parametrize("stated_place", [0, 200])
def test_the_size_of_a_directory_is_the_largest_that_the_end_states(stated_place: int) -> None:
    """zipfile prefers the size in the record before the locator, or the one the locator names."""
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 5000, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, stated_place, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 10, 0, 0)
    data = b"x" * 200 + large + locator + end
    assert archive.directory_bytes(io.BytesIO(data), len(data)) == 5000


def test_a_directory_that_is_too_large_for_memory_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = [(f"{number}.txt", b"%d" % number) for number in range(100)]
    monkeypatch.setattr(archive, "MOST_DIRECTORY_BYTES", 1000)
    with pytest.raises(Unreadable, match=r"^it has too many members$"):
        extracted("a.zip", zipped(*members))


@pytest.mark.slow
def test_only_the_first_of_very_many_members_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for number in range(50_100):
            made.writestr(zipfile.ZipInfo(str(number)), "x\n")
    lines, failed = in_child(tmp_path / "a.zip")
    assert lines == ["x", "x"]
    assert failed == [["", "it has more than 50000 members: the rest is left out"]]
