"""The preview of a row, read from its file."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import requires_posix, write_files
from winnow.frontends.cli.picker.preview import LINES_AROUND, read_preview
from winnow.frontends.cli.picker.state import Preview, Row


def row(root: Path, path: str, line: int | None = 1) -> Row:
    return Row(path, str(root / path), line, line, line, root=str(root))


def test_the_lines_around_a_row_are_read(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "".join(f"line {number}\n" for number in range(1, 1001))})
    shown = read_preview(row(tmp_path, "a.py", 500))
    assert shown.first == 500 - LINES_AROUND
    assert shown.lines[0] == f"line {shown.first}"
    assert shown.lines[-1] == f"line {500 + LINES_AROUND}"
    assert read_preview(row(tmp_path, "a.py", None)).lines[0] == "line 1"


def test_tabs_and_control_characters_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\ta\tb\x1b[31m\r\nna\xefve\n")
    here = row(tmp_path, "a.py")
    assert read_preview(here) == Preview(here, 1, ["    a   b\ufffd[31m", "naïve"])


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x" * 100_000})
    assert len(read_preview(row(tmp_path, "a.py")).lines[0]) < 2_000


def test_the_preview_says_why_a_file_has_no_lines(tmp_path: Path) -> None:
    write_files(tmp_path, {"short.py": "a\n", "empty.py": "", "binary": "a\0b" * 100})
    write_files(tmp_path.parent, {"outside.py": "secret\n"})

    def problem(path: str, line: int = 1) -> str:
        shown = read_preview(row(tmp_path, path, line))
        assert list(shown.lines) == []
        return shown.problem

    assert problem("binary") == "not a text file"
    assert problem("short.py", 900) == "the file has no such line"
    assert problem("empty.py") == "the file has no such line"
    assert "gone.py" in problem("gone.py")
    assert problem(".") != ""


@requires_posix
def test_a_link_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    write_files(tmp_path, {"outside.py": "secret\n", "project/a.py": "a\n"})
    os.symlink(tmp_path / "outside.py", inside / "link.py")
    shown = read_preview(row(inside, "link.py"))
    assert (list(shown.lines), bool(shown.problem)) == ([], True)
    assert "secret" not in shown.problem
