"""The code that all formats share: budgets, members, locations and unreadable parts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest

from documents.extracted import Extracted, extracted
from winnow.documents.extract import extraction
from winnow.documents.extract.blocks import blocks_of_text
from winnow.documents.extract.extraction import extract
from winnow.documents.extract.input_stream import Budget, BudgetSpent, DocumentInput, member_name
from winnow.documents.extract.output import MOST_FAILURES, TextFull, TextOutput
from winnow.documents.format import DocumentFormat, format_of, formats
from winnow.documents.library.locations import (
    Anchor,
    DocumentLocation,
    TextMap,
    UnreadPart,
    cell_at,
    column_name,
)
from winnow.documents.unreadable import Unreadable


def zipped(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def reading(
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[DocumentInput, TextOutput], None],
    **options: bool,
) -> Extracted:
    """Extract an empty file with this reader."""
    made = DocumentFormat(name="made", extensions=(".made",), read=read, **options)
    monkeypatch.setattr(extraction, "format_of", lambda name: made)
    return extracted("a.made", b"")


# --- documents ---------------------------------------------------------------------------------


def test_the_longest_known_extension_decides_the_format() -> None:
    names = (
        "a.zip",
        "a.tar.gz",
        "A.TAR.GZ",
        "v1.2.tar.gz",
        "a.txt.gz",
        ".gz",
        "zip",
        "d/a.b\\c.ZIP",
    )
    found = [format_of(name) for name in names]
    assert [one and one.name for one in found] == [
        *("zip", "tar.gz", "tar.gz", "tar.gz", "gzip", None, None, "zip")
    ]


def test_no_two_formats_share_an_extension() -> None:
    ends = [end for one in formats().values() for end in one.extensions]
    assert len(ends) == len(set(ends))


def test_a_file_of_an_unknown_format_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"^its format is unknown$"):
        extract("a.xyz", io.BytesIO(b"x"), bytearray().extend)


def test_an_exception_of_a_library_means_a_damaged_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(source: DocumentInput, output: TextOutput) -> None:
        raise KeyError("x" * 1000)

    with pytest.raises(Unreadable) as raised:
        reading(monkeypatch, read)
    assert str(raised.value) == f"it is damaged: KeyError: '{'x' * 199}"


def test_text_before_the_damage_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: DocumentInput, output: TextOutput) -> None:
        output.line("before")
        raise ValueError

    found = reading(monkeypatch, read)
    assert (found.lines, found.failed) == (["before"], [("", "it is damaged: ValueError")])


def test_a_lack_of_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: DocumentInput, output: TextOutput) -> None:
        raise MemoryError

    with pytest.raises(Unreadable, match=r"^reading it needs too much memory$"):
        reading(monkeypatch, read)


def test_images_are_read_only_with_ocr(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unreadable, match=r"^it is an image, and OCR"):
        reading(monkeypatch, lambda source, output: None, is_image=True)


def test_text_beyond_the_limit_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: DocumentInput, output: TextOutput) -> None:
        for _ in range(20):
            output.line("x" * (1024**2 - 1))

    found = reading(monkeypatch, read)
    assert len(found.lines) == 16
    assert found.failed == [("", "it has more than 16 MiB of text: the rest is left out")]


def test_parts_beyond_the_limit_are_left_out_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: DocumentInput, output: TextOutput) -> None:
        for page in range(200_001):
            output.at(DocumentLocation(page=page))

    found = reading(monkeypatch, read)
    assert found.failed == [("", "it has more than 200000 parts: the rest is left out")]


# --- output ------------------------------------------------------------------------------------


def test_lines_contain_no_line_breaks_and_no_typesetting() -> None:
    written: list[bytes] = []
    output = TextOutput(written.append, 1000)
    output.line("soft\u00adware\ufb01ne\u00a0a\nb\0\x1b[0m  ")
    output.text("one\r\ntwo\fthree\n\n")
    assert written == [b"softwarefine a b[0m\n", b"one\n", b"two\n", b"three\n", b"\n"]


def test_a_line_beyond_the_limit_is_not_written() -> None:
    written: list[bytes] = []
    output = TextOutput(written.append, 4)
    output.line("abc")
    with pytest.raises(TextFull):
        output.line("")
    assert written == [b"abc\n"]


def test_each_failure_is_reported_once_and_their_number_is_limited() -> None:
    output = TextOutput(bytearray().extend, 10)
    for _ in range(2):
        output.failed("first")
    for number in range(MOST_FAILURES + 5):
        output.failed("broken", str(number))
    assert len(output.failures) == MOST_FAILURES + 1
    assert output.failures[:2] == (UnreadPart("first"), UnreadPart("broken", "0"))
    assert output.failures[-1] == UnreadPart("further parts of it could not be read")


# --- places ------------------------------------------------------------------------------------

TEXT_MAP = TextMap(
    "made",
    5,
    (
        Anchor(1, DocumentLocation(page=1), "Page 1"),
        Anchor(3, DocumentLocation(sheet="S", row=7)),
        Anchor(4, DocumentLocation(page=2), "Page 2"),
        Anchor(6, DocumentLocation(page=3), "Page 3"),
    ),
)


def test_a_line_has_the_location_of_the_last_anchor_and_its_own_row() -> None:
    assert [TEXT_MAP.place_at(line) for line in range(6)] == [
        DocumentLocation(),
        DocumentLocation(page=1),
        DocumentLocation(page=1),
        DocumentLocation(sheet="S", row=7),
        DocumentLocation(page=2),
        DocumentLocation(page=2),
    ]


def test_the_preview_counts_rulers_as_lines() -> None:
    lines = ["a", "b", "c", "d", "e"]
    shown = [line for line, _ in TEXT_MAP.shown(lines)]
    assert shown == [
        *("──── Page 1 ────", "a", "b", "c", "──── Page 2 ────", "d", "e", "──── Page 3 ────")
    ]
    assert [shown[TEXT_MAP.shown_line(number) - 1] for number in range(1, 6)] == lines


def test_a_cell_is_named_after_its_column_and_row() -> None:
    table = DocumentLocation(sheet="t", row=3, columns=("id", "name"))
    assert cell_at(DocumentLocation(sheet="S", row=3, column=26), "a\tb\t") == "AB3"
    assert cell_at(table, "1\tx") == "row 3, name"
    assert cell_at(table, "1\tx\t") == "row 3, 3"
    assert cell_at(DocumentLocation(page=1), "x") is None
    assert [column_name(number) for number in (1, 26, 27, 702, 703)] == [
        "A",
        "Z",
        "AA",
        "ZZ",
        "AAA",
    ]


# --- members -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\a\\..\\b.txt", "C:/a/b.txt"),
        ("a\n\x1b[31mb", "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31mb"),
        ("a\udcff\u202eb", "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"),
        ("..", "unnamed"),
        ("x" * 5000 + ".pdf", "x" * 996 + ".pdf"),
    ],
)
def test_member_names_are_relative_and_printable(name: str, shown: str) -> None:
    assert member_name(name) == shown


def test_documents_and_text_files_in_archives_are_read() -> None:
    inner = zipped(("deep.txt", b"deep\n"))
    found = extracted(
        "a.zip",
        zipped(("a.txt", "größe\n".encode("latin-1")), ("b.bin", bytes(100)), ("c/d.zip", inner)),
    )
    assert found.shown == [
        *("──── a.txt ────", "größe", "──── c/d.zip ────", "──── c/d.zip!/deep.txt ────", "deep")
    ]
    assert [found.text_map.place_at(line).member for line in (1, 2)] == [
        "a.txt",
        "c/d.zip!/deep.txt",
    ]
    assert found.failed == []


def test_an_unsupported_member_is_named() -> None:
    found = extracted("a.zip", zipped(("old.doc", b"\xd0\xcf\x11\xe0" + bytes(600))))
    assert (found.lines, found.failed) == ([], [("old.doc", "its format is not supported")])


def test_only_the_beginning_of_a_long_text_in_an_archive_is_read() -> None:
    found = extracted(
        "a.zip",
        zipped(
            ("a.txt", b"x" * 1023 + b"\n"), ("b.log", (b"y" * 1023 + b"\n") * 5000), ("c.txt", b"z")
        ),
    )
    assert (found.lines[0], found.lines[-1]) == ("x" * 1023, "z")
    assert 4096 <= found.lines.count("y" * 1023) <= 4096 + 64
    assert found.failed == [("b.log", "only its first 4 MiB are read")]


def test_a_damaged_member_does_not_affect_the_others() -> None:
    found = extracted("a.zip", zipped(("a.txt", b"a"), ("b.zip", b"no archive"), ("c.txt", b"c")))
    assert found.lines == ["a", "c"]
    assert found.failed == [("b.zip", "it is damaged, truncated or not a ZIP archive")]


def test_members_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MEMBERS", 3)
    inner = zipped(("1", b"1"), ("2", b"2"), ("3", b"3"))
    found = extracted("a.zip", zipped(("a.zip", inner), ("last", b"last")))
    assert found.lines == ["1", "2"]
    assert found.failed == [("", "it has more than 3 members: the rest is left out")]


def test_a_spent_budget_ends_the_reading_and_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extraction, "UNPACKED_BYTES", 1024**2)
    inner = zipped(("a", b"a\n"), ("b", b"b\n" * 600_000))
    found = extracted("a.zip", zipped(("a.zip", inner), ("last", b"last")))
    assert set(found.lines) == {"a", "b"}
    assert found.failed == [("", "it unpacks to more than 1 MiB: the rest is left out")]


def test_a_budget_counts_the_bytes_read_from_a_stream() -> None:
    budget = Budget(1024**2, 1)
    source = DocumentInput("a", io.BytesIO(), 0, budget=budget)
    stream = source.limited(io.BytesIO(bytes(2 * 1024**2)))
    assert len(stream.read(1000)) == 1000
    with pytest.raises(BudgetSpent):
        stream.read()


# --- texts -------------------------------------------------------------------------------------


class Trickling:
    """A stream that returns small chunks and raises an error at its end."""

    def __init__(self, raw: bytes, step: int, error: Exception | None = None) -> None:
        self._file = io.BytesIO(raw)
        self._step = step
        self._error = error

    def read(self, size: int, /) -> bytes:
        piece = self._file.read(min(size, self._step))
        if not piece and self._error is not None:
            raise self._error
        return piece


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("step", [1000, 65537, 10**9])
def test_text_in_any_encoding_is_read_in_blocks_of_complete_lines(codec: str, step: int) -> None:
    text = "ascii line\n" * 20_000 + "größe\n" * 20_000 + "end"
    blocks = list(blocks_of_text(Trickling(text.encode(codec), step)))
    assert "".join(blocks) == text
    assert all(block.endswith("\n") for block in blocks[:-1])


def test_an_endless_line_is_split() -> None:
    blocks = list(blocks_of_text(io.BytesIO(b"x" * 5_000_000)))
    assert sum(map(len, blocks)) == 5_000_000
    assert max(map(len, blocks)) <= 1024**2 + 65536


def test_only_the_beginning_of_a_binary_file_is_read() -> None:
    stream = io.BytesIO(bytes(10**6))
    assert list(blocks_of_text(stream)) == []
    assert stream.tell() == 4096


def test_text_before_the_error_of_a_stream_is_returned() -> None:
    blocks = blocks_of_text(Trickling(b"one\ntwo", 3, OSError("gone")))
    assert next(blocks) == "one\n"
    assert next(blocks) == "two"
    with pytest.raises(OSError, match="gone"):
        next(blocks)
