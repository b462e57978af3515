"""Chunks: where texts are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.index.postings.chunks import (
    CHUNK_BYTES,
    CHUNK_LINES,
    LINE_BYTES,
    MOST_CHUNKS,
    chunks_of,
)
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import languages


def chunks(language: str, text: str) -> list[str]:
    """Return the text of each chunk."""
    source = text.encode()
    lines = text.split("\n")
    definitions = extract(languages()[language], source).definitions
    return ["\n".join(lines[a - 1 : b]) for a, b in chunks_of(source, definitions)]


def function(name: str, lines: int) -> str:
    body = "\n".join(f"    {name}_{number} = {number}" for number in range(lines))
    return f"# What {name} does.\n@cached\ndef {name}():\n{body}\n"


def test_an_empty_text_has_no_chunks() -> None:
    assert chunks_of(b"", ()) == []


def test_a_small_text_is_one_chunk() -> None:
    assert chunks_of(b"one\ntwo\n", ()) == [(1, 2)]
    assert chunks_of(b"no line end", ()) == [(1, 1)]


def test_a_chunk_begins_with_a_function_and_its_comment_and_decorators() -> None:
    texts = [function(name, 36) for name in ("first", "second", "third")]
    assert chunks("python", "\n".join(texts)) == [texts[0], texts[1], texts[2].rstrip("\n")]


def test_small_functions_stay_together() -> None:
    text = "\n".join(function(f"small{number}", 2) for number in range(4))
    assert len(chunks("python", text)) == 1


def test_a_long_class_is_cut_at_its_methods() -> None:
    methods = [
        f"    def method{number}(self):\n" + "        work(self)\n" * 28 for number in range(4)
    ]
    found = chunks("python", "class Long:\n" + "".join(methods))
    assert [one.strip().split("\n")[0] for one in found[1:]] == [
        "def method1(self):" if len(found) > 3 else "def method2(self):",
        *(["def method2(self):", "def method3(self):"] if len(found) > 3 else []),
    ]


def test_a_long_function_is_cut_after_a_blank_line() -> None:
    body = "    step()\n" * 40 + "\n" + "    step()\n" * 40
    first, second = chunks("python", f"def long():\n{body}")
    assert first.count("step") == second.count("step") == 40


def test_prose_is_cut_at_headings() -> None:
    part = "Words of a paragraph that goes on for a while, and then ends.\n" * 16
    text = f"# One\n\n{part}\n# Two\n\n{part}\n# Three\n\n{part}"
    assert [one.split("\n")[0] for one in chunks("markdown", text)] == ["# One", "# Two", "# Three"]


def test_a_long_data_line_does_not_split_the_other_lines() -> None:
    text = b"\n".join([b"x" * 100_000] * 6)
    assert chunks_of(text, ()) == [(1, 3), (4, 6)]


@pytest.mark.slow
def test_a_huge_text_has_longer_chunks() -> None:
    found = chunks_of(b"\n" * 5_000_000, ())
    assert len(found) <= MOST_CHUNKS
    assert found[-1][1] == 5_000_000


@given(st.lists(st.binary(max_size=600), max_size=200))
def test_chunks_are_contiguous_and_of_limited_size(parts: list[bytes]) -> None:
    text = b"\n".join(parts)
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    found = chunks_of(text, ())
    assert [line for a, b in found for line in range(a, b + 1)] == [*range(1, len(lines) + 1)]
    for first, last in found:
        size = sum(min(len(line), LINE_BYTES) + 1 for line in lines[first - 1 : last])
        assert last - first < CHUNK_LINES
        assert size <= CHUNK_BYTES or first == last
