"""Texts of source files and positions in them."""

from __future__ import annotations

import time

from winnow.text.lines import SourceText, start_of_line


def test_the_words_of_a_line_have_their_offsets() -> None:
    source = SourceText("ä = 1\nfoo(ü, bar) 😀 baz\n".encode())
    assert source.words(1) == [(7, "foo"), (11, "ü"), (15, "bar"), (25, "baz")]
    assert source.words(2) == source.words(-1) == []


def test_the_words_of_a_line_of_one_megabyte_are_found_quickly() -> None:
    line = "function needle(){return value};" * 40_000
    began = time.monotonic()
    words = SourceText(line.encode()).words(0)
    assert len(words) == 160_000
    assert words[-1] == (len(line) - 7, "value")
    assert time.monotonic() - began < 5  # it took minutes, quadratic in the length


def test_lines_end_as_editors_count_them() -> None:
    source = SourceText(b"a\rb\r\nc\x0cd\n\x1ce")
    assert [source.line(number) for number in range(5)] == ["a", "b", "c\x0cd", "\x1ce", ""]
    assert [source.line_at(at) for at in (0, 1, 2, 5, 8, 9, 10)] == [0, 0, 1, 2, 2, 3, 3]
    assert SourceText(b"a\n").offset(1, 0, "utf-8") == 2
    assert SourceText(b"a").offset(1, 0, "utf-8") is None
    assert SourceText(b"").line_at(0) == 0


def test_a_line_starts_behind_the_line_end_before_it() -> None:
    lines = [b"%d" % number for number in range(1, 3_001)]
    text = b"\n".join(lines)
    found = [start_of_line(text, number) for number in range(1, 3_001)]
    assert [text[start:].partition(b"\n")[0] for start in found] == lines
    assert start_of_line(text, 3_001) is None
    assert start_of_line(b"", 1) == 0
    assert start_of_line(b"a\n", 2) == 2
    assert start_of_line(b"a\n", 3) is None
