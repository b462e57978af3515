"""Cursors continue the request that they were made for, and no other."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.errors import InvalidParams
from winnow.search.answer.cursor import decode, encode, resume, stamp_of
from winnow.tools.read_file import ReadFileParams, Span
from winnow.types import PageParams


class OtherParams(PageParams, frozen=True, kw_only=True):
    path: str


PARAMS = ReadFileParams(path="a.py", spans=[Span(start=3)])
STAMP = stamp_of("state", 1)


def continued(cursor: str, **changes: Any) -> ReadFileParams:
    return msgspec.structs.replace(PARAMS, cursor=cursor, **changes)


@given(st.lists(st.integers(-(2**63), 2**64 - 1) | st.binary()), st.binary(max_size=16))
def test_a_cursor_holds_its_position_and_stamp(position: list[int | bytes], stamp: bytes) -> None:
    cursor = encode(PARAMS, position, stamp)
    assert decode(continued(cursor), list[int | bytes]) == (position, stamp)
    assert cursor[0] == "1"  # never a hyphen, which would make an option of it


def test_without_a_cursor_there_is_no_position() -> None:
    assert decode(PARAMS, int) is None


def test_the_amount_to_answer_may_change() -> None:
    cursor = encode(PARAMS, 7, STAMP)
    assert decode(continued(cursor, max_tokens=5, max_lines=7), int) == (7, STAMP)


@pytest.mark.parametrize(
    "changes", [{"path": "b.py"}, {"spans": []}, {"line_endings": "keep"}, {"spans": [Span()]}]
)
def test_a_cursor_of_other_params_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams, match="`cursor`: it belongs to another request"):
        decode(continued(encode(PARAMS, 7), **changes), int)


def test_a_cursor_of_another_tool_is_refused() -> None:
    cursor = encode(OtherParams(path="a.py"), 7)
    with pytest.raises(InvalidParams, match="belongs to another request"):
        decode(ReadFileParams(path="a.py", cursor=cursor), int)


@given(st.data())
def test_a_damaged_cursor_is_refused(data: st.DataObject) -> None:
    cursor = encode(PARAMS, [7, b"bytes"], STAMP)
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABab01-_").filter(lambda one: one != cursor[place]))
    damaged = cursor[:place] + other + cursor[place + 1 :]
    if place == len(cursor) - 1:  # it has bits that may mean nothing
        return
    with pytest.raises(InvalidParams, match="`cursor`: it is damaged"):
        decode(continued(damaged), list[int | bytes])


def test_a_truncated_or_modified_cursor_is_refused() -> None:
    cursor = encode(PARAMS, [7, b"bytes"], STAMP)
    damaged = [cursor[:length] for length in range(1, len(cursor))]
    for place in range(len(cursor) + 1):
        damaged += [cursor[:place] + one + cursor[place:] for one in ("A", "\xe9", " " * 4, "****")]
    for text in damaged:
        with pytest.raises(InvalidParams, match="`cursor`: it is damaged"):
            decode(continued(text), list[int | bytes])


@given(st.text(min_size=1, max_size=60))
def test_any_text_is_a_cursor_or_an_error(text: str) -> None:
    with pytest.raises(InvalidParams, match="`cursor`: it is damaged"):
        decode(continued(text), int)


def test_a_position_of_another_type_is_damage() -> None:
    with pytest.raises(InvalidParams, match="`cursor`: it is damaged"):
        decode(continued(encode(PARAMS, b"bytes")), int)


def test_params_with_integers_of_any_size_have_cursors() -> None:
    params = ReadFileParams(path="a", spans=[Span(start=1, end=10**40)])
    again = msgspec.structs.replace(params, cursor=encode(params, 5))
    assert decode(again, int) == (5, b"")


def test_stamps_differ_for_different_values() -> None:
    assert stamp_of(1, "a", b"a") == stamp_of(1, "a", b"a")
    assert len({stamp_of(1), stamp_of("1"), stamp_of(b"1"), stamp_of(1, 1)}) == 4


def test_a_position_that_is_nested_too_deep_is_damage() -> None:
    data = b"\x93\xc4\x00" + b"\x91" * 8_000 + b"\x01\xc4\x00"
    text = base64.urlsafe_b64encode(zlib.crc32(data).to_bytes(4, "big") + data).decode()
    with pytest.raises(InvalidParams, match="`cursor`: it"):
        decode(continued("1" + text.rstrip("=")), int)


def test_a_page_starts_after_the_position_and_reports_a_change() -> None:
    answered = ["a", "c", "e"]

    def resumed(params: ReadFileParams, found: list[str]) -> tuple[int, bool]:
        return resume(
            params,
            str,
            passed=lambda last: sum(one <= last for one in found),
            stamp=lambda first: stamp_of(found[:first]),
        )

    assert resumed(PARAMS, answered) == (0, False)
    params = continued(encode(PARAMS, "c", stamp_of(["a", "c"])))
    assert resumed(params, answered) == (2, False)
    assert resumed(params, [*answered, "f"]) == (2, False)
    assert resumed(params, ["a", "b", "c", "e"]) == (3, True)
    assert resumed(params, ["c", "e"]) == (1, True)
