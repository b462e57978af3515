"""The lines that show the picker, without a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from winnow.frontends.cli.picker import view
from winnow.frontends.cli.picker.state import HINT, Answer, Picker, Preview, Row
from winnow.frontends.cli.picker.view import Line

LOADER = Row(
    path="src/plugins/loader.py",
    file="/project/src/plugins/loader.py",
    line=5,
    last=6,
    best=5,
    code="    def load_plugin(self, name):",
    why="defines load_plugin",
)
FILE = Row("loader.py", "/project/loader.py", why="its name")
TEXT = [f"line {number}" for number in range(1, 41)]


def picker(*rows: Row, words: str = "", notes: tuple[str, ...] = (), selected: int = 0) -> Picker:
    made = Picker()
    number = made.typed("query")
    assert number is not None
    pattern = re.compile(words) if words else None
    made.answered(number, Answer(rows, "2 of 2", notes, pattern))
    made.select(selected)
    return made


def plain(lines: list[Line]) -> list[str]:
    return ["".join(text for _, text in line).rstrip() for line in lines]


def styled(line: Line, style: str) -> list[str]:
    return [text for name, text in line if style in name.split()]


# --- the list ------------------------------------------------------------------------------


def test_a_row_has_the_name_first_and_the_code_below() -> None:
    lines = view.list_lines(picker(LOADER, FILE), 0, 60, 10)
    assert plain(lines) == [
        "> loader.py:5  src/plugins  defines load_plugin",
        "    def load_plugin(self, name):",
        "  loader.py",
        "    its name",
    ]
    assert styled(lines[0], "class:dim") == ["  src/plugins", "  defines load_plugin"]
    assert styled(lines[0], "class:selected") == ["loader.py:5"]
    assert styled(lines[2], "class:name") == ["loader.py"]


def test_matches_are_highlighted() -> None:
    lines = view.list_lines(picker(LOADER, words="load|name"), 0, 60, 10)
    assert styled(lines[1], "class:match") == ["load", "name"]


def test_a_narrow_list_keeps_the_name_and_the_last_folders() -> None:
    lines = view.list_lines(picker(LOADER), 0, 36, 10)
    assert plain(lines) == [
        "> loader.py:5  …/plugins  defines l…",
        "    def load_plugin(self, name):",
    ]


def test_a_long_line_begins_where_its_match_is_in_view() -> None:
    code = "x = 1; " * 30 + "needle(1)" + "; y = 2" * 30
    [_, line] = view.list_lines(picker(LOADER._replace(code=code), words="needle"), 0, 50, 2)
    assert styled(line, "class:match") == ["needle"]
    assert plain([line])[0].startswith("    …")


@pytest.mark.parametrize(
    ("first", "selected", "expected"), [(0, 0, 0), (0, 4, 0), (0, 5, 1), (3, 2, 2), (3, 9, 5)]
)
def test_the_list_scrolls_by_as_little_as_possible(
    first: int, selected: int, expected: int
) -> None:
    assert view.first_row(first, selected, 10) == expected


def test_the_list_begins_at_the_first_visible_row() -> None:
    rows = [Row(f"{number}.py", "", best=1, code="x") for number in range(9)]
    lines = plain(view.list_lines(picker(*rows, selected=4), 3, 40, 5))
    assert lines == ["  3.py:1", "    x", "> 4.py:1", "    x", "  5.py:1"]


# --- the preview ---------------------------------------------------------------------------


def preview(row: Row, shown: Preview, width: int = 40, height: int = 10) -> list[Line]:
    made = picker(row, words="line")
    made.previewed(shown)
    return view.preview_lines(made, width, height)


def test_the_preview_marks_the_line() -> None:
    row = LOADER._replace(line=20, last=21, best=20)
    lines = preview(row, Preview(row, 1, TEXT), height=6)
    assert plain(lines) == [
        "src/plugins/loader.py",
        "  18  line 18",
        "  19  line 19",
        "> 20  line 20",
        "  21  line 21",
        "  22  line 22",
    ]
    # Only the lines of the place have highlighted words.
    assert [styled(line, "class:match") for line in lines[1:]] == [[], [], ["line"], ["line"], []]
    assert styled(lines[3], "class:best") == ["line", " 20"]


def test_the_preview_shows_the_start_and_the_end_of_a_file() -> None:
    first = LOADER._replace(line=1, last=1, best=1)
    assert plain(preview(first, Preview(first, 1, TEXT), height=3)) == [
        "src/plugins/loader.py",
        ">  1  line 1",
        "   2  line 2",
    ]
    last = LOADER._replace(line=40, last=40, best=40)
    assert plain(preview(last, Preview(last, 11, TEXT[10:]), height=4)) == [
        "src/plugins/loader.py",
        "  38  line 38",
        "  39  line 39",
        "> 40  line 40",
    ]


def test_a_file_without_a_line_is_shown_from_its_start() -> None:
    assert plain(preview(FILE, Preview(FILE, 1, ["a", "b"])))[1:] == ["  1  a", "  2  b"]


def test_the_preview_says_why_there_is_none() -> None:
    assert plain(preview(FILE, Preview(FILE, problem="not a text file"))) == [
        "loader.py",
        "not a text file",
    ]
    assert view.preview_lines(Picker(), 40, 10) == []


# --- other lines ---------------------------------------------------------------------------


def test_the_summary_line_has_the_hint_then_the_size_and_the_progress() -> None:
    made = Picker()
    assert plain([view.summary_line(made, 80)]) == [f"  {HINT}"]
    made = picker(LOADER)
    assert plain([view.summary_line(made, 80)]) == ["  2 of 2"]
    number = made.typed("other")
    assert number is not None
    made.report(number, "searching…")
    assert plain([view.summary_line(made, 80)]) == ["  2 of 2; searching…"]


def test_notes_take_at_most_two_lines() -> None:
    assert view.note_lines(picker(LOADER), 30) == []
    notes = ("the index has 4 of 9 files", "the search timed out", "three")
    assert plain(view.note_lines(picker(notes=notes), 30)) == [
        "the index has 4 of 9 files;",
        "the search timed out; three",
    ]
    assert plain(view.note_lines(picker(notes=notes), 20)) == [
        "the index has 4 of 9",
        "files; the search t…",
    ]


def test_keys_that_do_not_fit_are_left_out() -> None:
    assert plain([view.keys_line(30, opens=True)]) == ["Enter opens  Ctrl-O prints"]
    assert plain([view.keys_line(5, opens=False)]) == [""]


@given(
    st.text(alphabet="ab /漢é\u0301\t…x", max_size=60),
    st.text(alphabet="ab /漢é\u0301\t", max_size=60),
    st.integers(1, 60),
)
def test_no_line_is_wider_than_the_screen(path: str, code: str, width: int) -> None:
    row = Row(path, "", 1, 1, 1, code, code)
    made = picker(row, words="[ab]", notes=(path, code))
    made.previewed(Preview(row, 1, [code.expandtabs(4)]))
    lines = [
        *view.list_lines(made, 0, width, 10),
        *view.preview_lines(made, width, 10),
        *view.note_lines(made, width),
        view.summary_line(made, width),
        view.keys_line(width, opens=True),
    ]
    for line in lines:
        assert get_cwidth("".join(text for _, text in line)) <= width
