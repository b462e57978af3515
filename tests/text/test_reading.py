"""Lines by number, compared with Python's reading of the complete file."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import RIPGREP
from winnow.text import reading as module
from winnow.text.encodings import MARKED, SAMPLE_BYTES, UTF_8, UTF_16_LE, Encoding
from winnow.text.reading import (
    LineRange,
    NoText,
    ReadLimits,
    ReadResult,
    count_within,
    first_line_from,
    merge_ranges,
    read_lines,
)

WIDE = ReadLimits(lines=10**6, line_characters=2_000, bytes=10**9)
LINE_CHARACTERS = WIDE.line_characters
Read = Callable[[int], bytes]


def read(raw: bytes, *ranges: LineRange, bounds: ReadLimits = WIDE, first: int = 1) -> ReadResult:
    return read_lines(io.BytesIO(raw).read, merge_ranges(ranges), bounds, first=first)


def whole(reading: ReadResult) -> str:
    return "".join(line.text + line.end for line in reading.lines)


def numbers(reading: ReadResult) -> list[int]:
    return [line.number for line in reading.lines]


# --- ranges --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], [LineRange(1)]),
        ([LineRange(5, 9), LineRange(1, 3)], [LineRange(1, 3), LineRange(5, 9)]),
        ([LineRange(1, 3), LineRange(4, 9)], [LineRange(1, 9)]),
        ([LineRange(1, 9), LineRange(2, 3)], [LineRange(1, 9)]),
        ([LineRange(1, 3), LineRange(3, 5), LineRange(2)], [LineRange(1)]),
        ([LineRange(7), LineRange(1, 2), LineRange(9, 10)], [LineRange(1, 2), LineRange(7)]),
    ],
)
def test_ranges_are_sorted_and_merged_if_they_overlap_or_touch(
    ranges: list[LineRange], expected: list[LineRange]
) -> None:
    assert merge_ranges(ranges) == expected


RANGES = st.lists(
    st.builds(
        lambda start, more: LineRange(start, None if more is None else start + more),
        st.integers(1, 40),
        st.none() | st.integers(0, 20),
    ),
    max_size=6,
)


@given(RANGES, st.integers(1, 60))
def test_merged_ranges_have_the_same_lines(ranges: list[LineRange], number: int) -> None:
    def held(given: list[LineRange], one: int) -> bool:
        return any(each.start <= one <= (each.end or one) for each in given or [LineRange(1)])

    joined = merge_ranges(ranges)
    lines = [one for one in range(1, 100) if held(ranges, one)]
    assert [one for one in range(1, 100) if held(joined, one)] == lines
    assert first_line_from(number, joined) == next((one for one in lines if one >= number), None)
    assert count_within(joined, 99) == len(lines)


# --- lines ---------------------------------------------------------------------------------


def test_only_a_line_feed_ends_a_line() -> None:
    text = "one\rstill one\x0c\x0b\x1c\x85\u2028\u2029\ntwo\r\nthree"
    reading = read(text.encode())
    assert [line.end for line in reading.lines] == ["\n", "\r\n", ""]
    assert whole(reading) == text
    assert (reading.seen, reading.ended, reading.missed) == (3, True, False)


def test_a_final_line_end_starts_no_line() -> None:
    assert read(b"a\nb\n").seen == 2
    assert read(b"a\nb").seen == 2
    assert read(b"\n").seen == 1
    assert read(b"\n\n").seen == 2
    assert read(b"").seen == 0
    assert read(b"").lines == []


@pytest.mark.process
def test_line_numbers_agree_with_ripgrep(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("a\rb\r\n\x0c\nneedle 1\u2028x\n\n\r\r\nneedle 2".encode())
    found = subprocess.run(
        [RIPGREP, "-n", "needle", str(file)],
        capture_output=True,
        check=True,
    )
    expected = [int(one) for one in re.findall(rb"^(\d+):", found.stdout, re.M)]
    lines = read(file.read_bytes()).lines
    assert [line.number for line in lines if "needle" in line.text] == expected


TEXTS = st.text(st.sampled_from("ab\n\r\té\u0a0a\u0a00\u000a\u0d0a😀\u2028"), max_size=60)
ENCODINGS = st.sampled_from([*MARKED, UTF_8])


@settings(max_examples=300)
@given(TEXTS, ENCODINGS, st.integers(1, 5), st.booleans())
def test_a_file_is_read_exactly_for_any_chunk_size(
    text: str, encoding: Encoding, units: int, starve: bool
) -> None:
    raw = encoding.mark + text.encode(encoding.codec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAMPLE_BYTES", 4 * units)
        patch.setattr(module, "CHUNK_BYTES", 4 * units)
        source = io.BytesIO(raw)
        # A read may return less than requested, as on a network file system.
        get: Read = (lambda size: source.read(min(size, 3))) if starve else source.read
        reading = read_lines(get, [LineRange(1)], WIDE, encoding=encoding)
    assert whole(reading) == text
    assert encoding.mark + whole(reading).encode(encoding.codec) == raw
    assert reading.seen == len(re.findall(r"[^\n]*\n|[^\n]+$", text))
    assert not any(line.invalid or line.cut for line in reading.lines)


@settings(max_examples=200)
@given(TEXTS, ENCODINGS, RANGES, st.integers(1, 8), st.integers(1, 30))
def test_ranges_select_their_lines(
    text: str, encoding: Encoding, ranges: list[LineRange], most: int, first: int
) -> None:
    lines = re.findall(r"[^\n]*\n|[^\n]+$", text)
    joined = merge_ranges(ranges)
    expected = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if number >= first and first_line_from(number, joined) == number
    ][:most]
    raw = encoding.mark + text.encode(encoding.codec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAMPLE_BYTES", 4)
        patch.setattr(module, "CHUNK_BYTES", 8)
        bounds = ReadLimits(lines=most, line_characters=2_000, bytes=10**9)
        reading = read_lines(io.BytesIO(raw).read, joined, bounds, first=first, encoding=encoding)
    assert [(line.number, line.text + line.end) for line in reading.lines] == expected
    assert (reading.seen, reading.missed) == (len(lines), False)


def test_newline_bytes_across_two_utf_16_characters_are_not_a_line_end() -> None:
    text = "\u0a41\u4100\u0a00\u000b\n\u000d\u0a0a\r\nend"
    reading = read(MARKED[3].mark + text.encode("utf-16-le"))
    assert whole(reading) == text
    assert reading.seen == 3


def test_an_incomplete_last_code_unit_is_reported() -> None:
    reading = read("a\nb".encode("utf-16-le") + b"\x01", LineRange(2))
    assert reading.encoding is UTF_16_LE
    [line] = reading.lines
    assert (line.number, line.text, line.invalid) == (2, "b\N{REPLACEMENT CHARACTER}", True)


# --- long lines and other bounds -----------------------------------------------------------


@pytest.mark.parametrize("character", ["x", "é", "😀"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("length", [1_999, 2_000, 2_001, 2_002, 9_000, 40_000])
def test_a_long_line_is_cut_at_the_character_limit(character: str, end: str, length: int) -> None:
    for encoding in (UTF_8, *MARKED):
        raw = encoding.mark + ("a\n" + character * length + end).encode(encoding.codec)
        lines = read(raw).lines
        assert len(lines) == 2
        cut = length > LINE_CHARACTERS
        text = character * LINE_CHARACTERS + "…" if cut else character * length
        assert (lines[1].text, lines[1].end, lines[1].cut) == (text, end, cut), encoding.name
        assert not lines[1].invalid


def test_a_line_of_50_megabytes_is_not_stored() -> None:
    import tracemalloc

    pieces = [b"a\n", *[b"x" * 1024 * 1024] * 50, b"\r\nlast\n"]
    rest = b""

    def get(size: int) -> bytes:
        nonlocal rest
        if not rest and pieces:
            rest = pieces.pop(0)
        piece, rest = rest[:size], rest[size:]
        return piece

    tracemalloc.start()
    reading = read_lines(get, [LineRange(1)], WIDE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [len(line.text) for line in reading.lines] == [1, LINE_CHARACTERS + 1, 4]
    assert [line.end for line in reading.lines] == ["\n", "\r\n", "\n"]
    assert peak < 10 * 1024 * 1024


def test_the_result_is_limited_in_bytes() -> None:
    raw = b"x" * 99 + b"\n"
    reading = read(raw * 100, bounds=ReadLimits(lines=100, line_characters=2_000, bytes=1_000))
    assert numbers(reading) == list(range(1, 12))
    assert (reading.seen, reading.ended, reading.missed) == (100, True, False)
    reading = read(raw * 100, bounds=ReadLimits(lines=100, line_characters=2_000, bytes=1))
    assert numbers(reading) == [1]


# --- stopping ------------------------------------------------------------------------------


def test_a_stop_before_the_requested_lines_is_reported() -> None:
    raw = b"12345678\n" * 500_000
    source = io.BytesIO(raw)
    reading = read_lines(source.read, [LineRange(400_000, 400_001)], WIDE, stopped=lambda: True)
    assert (reading.lines, reading.ended, reading.missed) == ([], False, True)
    source.seek(0)
    reading = read_lines(source.read, [LineRange(2, 3)], WIDE, stopped=lambda: True)
    assert (numbers(reading), reading.ended, reading.missed) == ([2, 3], False, False)
    assert source.tell() == SAMPLE_BYTES


# --- encodings beyond the beginning --------------------------------------------------------


ASCII_LINES = SAMPLE_BYTES // 8 + 1


def test_the_first_piece_that_is_not_ascii_decides_between_utf_8_and_latin_1() -> None:
    beginning = b"1234567\n" * ASCII_LINES
    latin = read(beginning + "größer\n".encode("latin-1"), LineRange(ASCII_LINES + 1))
    assert (whole(latin), latin.encoding.name) == ("größer\n", "latin-1")
    utf_8 = read(beginning + "größer\n".encode(), LineRange(ASCII_LINES + 1))
    assert (whole(utf_8), utf_8.encoding.name) == ("größer\n", "utf-8")


def test_an_invalid_line_is_repaired_and_reported() -> None:
    raw = "größer\n".encode() * ASCII_LINES + b"gr\xf6\xdfer\nend\n"
    reading = read(raw, LineRange(ASCII_LINES))
    assert reading.encoding is UTF_8
    assert [line.invalid for line in reading.lines] == [False, True, False]
    assert reading.lines[1].text == "gr\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}er"


def test_a_nul_after_the_sample_is_a_character() -> None:
    raw = b"1234567\n" * ASCII_LINES + b"a\0b\n"
    assert read(raw, LineRange(ASCII_LINES + 1)).lines[0].text == "a\0b"


def test_a_file_with_a_binary_start_is_not_text() -> None:
    with pytest.raises(NoText) as error:
        read(b"\x89PNG\r\n\x1a\n\0\0")
    assert error.value.sample.startswith(b"\x89PNG")
