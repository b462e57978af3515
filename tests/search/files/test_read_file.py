"""Tests of read_file on real files, with real hazards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import MakeWorkspace, Recorder, requires_permissions, requires_posix
from winnow.config import Config, Limits, merge_layer
from winnow.errors import (
    BinaryFile,
    InvalidParams,
    NotAFile,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
)
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.files.read import LINE_CHARACTERS, read_text
from winnow.text.paths import locate, open_regular
from winnow.text.search_roots import search_roots
from winnow.tools import TOOLS
from winnow.tools.read_file import (
    SHORT_LINE_CHARACTERS,
    ReadFileParams,
    ReadFileResult,
    page_of,
    request_of,
)
from winnow.types import no_progress

TOOL = TOOLS["read_file"]
Buffers = dict[Path, str]


def answer(
    roots: Sequence[Path], buffers: Buffers, params: ReadFileParams, limits: Limits
) -> ReadFileResult:
    return page_of(params, read_text(roots, buffers, request_of(params), limits))


def read(
    folder: Path, path: str, *, buffers: Buffers | None = None, limits: Any = None, **params: Any
) -> ReadFileResult:
    parsed = TOOL.parse({"path": path, **params})
    assert isinstance(parsed, ReadFileParams)
    return answer(search_roots([folder]), buffers or {}, parsed, limits or Limits())


def spans(result: ReadFileResult) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in result.chunks]


def content(result: ReadFileResult) -> str:
    return "".join(chunk.content for chunk in result.chunks)


def pages(folder: Path, path: str, **params: Any) -> Iterator[ReadFileResult]:
    """Return an answer and the pages that its cursors lead to."""
    result = read(folder, path, **params)
    yield result
    while result.cursor:
        result = read(folder, path, **{**params, "cursor": result.cursor})
        yield result


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """Create a folder with a file of 480 lines."""
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 481)))
    return tmp_path


# --- spans ---------------------------------------------------------------------------------


async def test_a_complete_file_is_read(make_workspace: MakeWorkspace, project: Path) -> None:
    recorder = Recorder()
    result = await TOOL.call(make_workspace(project), {"path": "src/loader.py"}, recorder)
    text = (project / "src/loader.py").read_text()
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "path": "src/loader.py",
        "total_lines": 6,
        "chunks": [{"start": 1, "end": 6, "content": text}],
        "encoding": "utf-8",
        "line_endings": "lf",
        "total_found": 6,
        "returned": 6,
        "truncated": False,
        "completeness": {"complete": True, "reasons": [], "skipped": {}, "timed_out": False},
        "warnings": [],
    }
    assert recorder.messages == ["Reading src/loader.py"]


def test_many_spans_are_merged_and_clamped(numbered: Path) -> None:
    result = read(
        numbered,
        "a.txt",
        spans=[
            {"start": 470, "end": 10**30},
            {"start": -5, "end": 2},
            {"start": 265, "end": 266},
            {"start": 3, "end": 3},
            {"start": 266, "end": 267},
        ],
    )
    assert spans(result) == [(1, 3), (265, 267), (470, 480)]
    assert result.chunks[1].content == "line 265\nline 266\nline 267\n"
    assert (result.total_lines, result.total_found, result.returned) == (480, 17, 17)
    assert (result.truncated, result.completeness.complete, result.warnings) == (False, True, [])


def test_spans_beyond_the_end_are_reported(numbered: Path) -> None:
    result = read(
        numbered, "a.txt", spans=["900-950", "480-481", "700", {"start": 2_000, "end": None}]
    )
    assert spans(result) == [(480, 480)]
    assert result.warnings == [
        "line 700 is beyond the end: the file has 480 lines",
        "lines 900-950 are beyond the end: the file has 480 lines",
        "lines 2000- are beyond the end: the file has 480 lines",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10-20", [(10, 20)]),
        (["10", " 30-31 "], [(10, 10), (30, 31)]),
        ({"start": 479}, [(479, 480)]),
        ([{"end": 2}, "479-"], [(1, 2), (479, 480)]),
        ([], [(1, 480)]),
    ],
)
def test_spans_can_be_written_as_text(
    numbered: Path, given: object, expected: list[tuple[int, int]]
) -> None:
    assert spans(read(numbered, "a.txt", spans=given)) == expected


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["1-2", "x"], "`spans[1]`: expected a range such as 10-20, 10 or 10-"),
        (["-5"], "`spans[0]`: expected a range"),
        (["²"], "`spans[0]`: expected a range"),
        ([{"start": 1}, {"start": 9, "end": 8}], "`spans[1]`: its end 8 is before its start 9"),
        (["9-8"], "`spans[0]`: its end 8 is before its start 9"),
        ([{"start": -9, "end": 0}], "`spans[0]`: its end 0 is before its start 1"),
        ([{"first": 1}], "`spans[0].first`: unknown field"),
        ([{"start": "1"}], "`spans[0].start`: expected integer, got string"),
        ([7], "`spans[0]`: expected object, got integer"),
        (7, "`spans`: expected array, got integer"),
    ],
)
def test_invalid_spans_are_named(numbered: Path, given: object, problem: str) -> None:
    with pytest.raises(InvalidParams) as error:
        read(numbered, "a.txt", spans=given)
    assert error.value.message.startswith(problem)


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    result = read(tmp_path, "empty")
    assert (result.total_lines, result.chunks, result.returned, result.truncated) == (
        0,
        [],
        0,
        False,
    )
    assert (result.total_found, result.warnings, result.line_endings) == (0, [], None)
    assert TOOL.plain(result) == "[the file is empty]"


# --- pages ---------------------------------------------------------------------------------


def test_max_lines_ends_a_page_and_the_cursor_continues_it(numbered: Path) -> None:
    found = list(pages(numbered, "a.txt", spans=["1-3", "100-105", "479-"], max_lines=5))
    assert [spans(page) for page in found] == [
        [(1, 3), (100, 101)],
        [(102, 105), (479, 479)],
        [(480, 480)],
    ]
    assert [page.truncated for page in found] == [True, True, False]
    assert {(page.total_found, page.total_lines) for page in found} == {(11, 480)}
    assert found[2].cursor is None


def test_a_page_has_500_lines_by_default(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 501)
    assert [page.returned for page in pages(tmp_path, "a.txt")] == [500, 1]


@pytest.mark.parametrize("max_tokens", [1, 150, 300, 1_000, 4_000])
def test_answers_fit_max_tokens_and_use_them(numbered: Path, max_tokens: int) -> None:
    result = read(numbered, "a.txt", max_tokens=max_tokens)
    if result.returned > 1:
        assert estimated_tokens(result) <= max_tokens
        assert estimated_tokens(result) > max_tokens - 20 or not result.truncated
    assert result.returned >= 1
    assert result.truncated == (result.returned < 480)
    found = list(pages(numbered, "a.txt", max_tokens=max(150, max_tokens)))
    assert "".join(map(content, found)) == (numbered / "a.txt").read_text()


def test_long_lines_are_shortened_before_lines_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 1_000 + "\n") * 5)
    result = read(tmp_path, "a.txt", max_tokens=600)
    assert content(result) == ("x" * SHORT_LINE_CHARACTERS + "…\n") * 5
    assert (result.truncated, result.cursor, result.returned) == (True, None, 5)
    assert result.completeness.reasons == ["5 lines of more than 200 characters: cut"]


def test_a_line_of_more_than_2000_characters_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("é" * 2_000 + "\n" + "é" * 50_000 + "\nend")
    result = read(tmp_path, "a.txt")
    assert content(result).split("\n") == ["é" * 2_000, "é" * LINE_CHARACTERS + "…", "end"]
    assert result.completeness.reasons == ["1 line of more than 2,000 characters: cut"]
    assert (result.completeness.complete, result.truncated, result.cursor) == (False, True, None)


def test_an_answer_has_a_size_limit_and_a_cursor(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 1_999 + "\n") * 20)
    found = list(pages(tmp_path, "a.txt", limits=Limits(answer_bytes=10_000)))
    assert [page.returned for page in found] == [6, 6, 6, 2]


TEXTS = st.text(st.sampled_from("ab\n\n\r\té😀"), max_size=80)
SPANS = st.lists(
    st.builds(
        lambda start, more: {"start": start, "end": None if more is None else start + more},
        st.integers(1, 30),
        st.none() | st.integers(0, 9),
    ),
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(TEXTS, SPANS, st.integers(1, 9), st.sampled_from([0, 1, 150, 170, 200]), st.booleans())
def test_pages_together_have_the_requested_lines(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    given: list[dict[str, int]],
    max_lines: int,
    max_tokens: int,
    keep: bool,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.txt").write_bytes(text.encode())
    lines = re.findall(r"[^\n]*\n|[^\n]+$", text)
    asked = [
        line if keep else re.sub("\r\n$", "\n", line)
        for number, line in enumerate(lines, 1)
        if not given or any(s["start"] <= number <= (s["end"] or number) for s in given)
    ]
    found = list(
        pages(
            folder,
            "any.txt",
            spans=given,
            max_lines=max_lines,
            max_tokens=max_tokens,
            line_endings="keep" if keep else "normalize",
        )
    )
    assert "".join(map(content, found)) == "".join(asked)
    assert sum(page.returned for page in found) == len(asked)
    assert all(page.returned for page in found) or not asked
    assert {page.total_found for page in found} == {len(asked)}
    assert [page.truncated for page in found] == [True] * (len(found) - 1) + [False]


def test_a_change_between_two_pages_is_reported(numbered: Path) -> None:
    first = read(numbered, "a.txt", max_lines=10)
    with (numbered / "a.txt").open("a") as file:
        file.write("one more\n")
    second = read(numbered, "a.txt", max_lines=10, cursor=first.cursor)
    assert spans(second) == [(11, 20)]
    assert not second.completeness.complete
    [reason] = second.completeness.reasons
    assert reason.startswith("the file changed since the previous page")
    third = read(numbered, "a.txt", max_lines=10, cursor=second.cursor)
    assert third.completeness.complete


def test_a_file_that_shrank_below_the_cursor_ends(numbered: Path) -> None:
    first = read(numbered, "a.txt", max_lines=10)
    (numbered / "a.txt").write_text("short\n")
    second = read(numbered, "a.txt", max_lines=10, cursor=first.cursor)
    assert (second.chunks, second.truncated, second.cursor, second.total_lines) == (
        [],
        False,
        None,
        1,
    )
    assert len(second.completeness.reasons) == 1


def test_a_cursor_of_another_file_is_refused(numbered: Path) -> None:
    (numbered / "b.txt").write_text("b\n")
    cursor = read(numbered, "a.txt", max_lines=1).cursor
    with pytest.raises(InvalidParams, match="belongs to another request"):
        read(numbered, "b.txt", cursor=cursor)


# --- bytes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-16-le", b""),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("latin-1", b""),
    ],
)
@pytest.mark.parametrize("text", ["größe\r\nand\nmore\r\r\n\r\nlast", "größe\n", "größe\r\n"])
def test_kept_line_endings_reproduce_the_file(
    tmp_path: Path, encoding: str, mark: bytes, text: str
) -> None:
    raw = mark + text.encode(encoding)
    (tmp_path / "a.txt").write_bytes(raw)
    result = read(tmp_path, "a.txt", line_endings="keep")
    assert result.encoding == ("utf-8-sig" if encoding == "utf-8" and mark else encoding)
    assert result.byte_order_mark == bool(mark)
    assert mark + content(result).encode(encoding) == raw
    assert content(read(tmp_path, "a.txt")) == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\nb\n", "lf"),
        (b"a\r\nb\r\nc", "crlf"),
        (b"a\r\nb\n", "mixed"),
        (b"a\rb\r", "cr"),
        (b"a", None),
        (b"", None),
    ],
)
def test_line_endings_are_reported(tmp_path: Path, raw: bytes, expected: str | None) -> None:
    (tmp_path / "a.txt").write_bytes(raw)
    assert read(tmp_path, "a.txt").line_endings == expected


def test_lines_that_do_not_fit_the_encoding_or_hold_nuls_are_named(tmp_path: Path) -> None:
    good = "größe\n".encode() * 20_000
    (tmp_path / "a.txt").write_bytes(good + b"\xff\n" * 7 + b"a\0b\n")
    result = read(tmp_path, "a.txt", spans=["20000-"])
    assert result.warnings == [
        "not valid UTF-8, shown with \N{REPLACEMENT CHARACTER}:"
        " lines 20001, 20002, 20003, 20004, 20005 and 2 more",
        "NUL characters, as binary files have them: line 20008",
    ]


def test_binary_files_are_refused_with_their_kind(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 1_992)
    with pytest.raises(BinaryFile) as error:
        read(tmp_path, "a.png")
    assert error.value.message == ("'a.png' is a PNG image (2,000 bytes), not text")
    assert error.value.data == {"kind": "binary_file", "path": "a.png", "bytes": 2_000}


# --- the editor's text ---------------------------------------------------------------------


def test_unsaved_text_is_read_instead_of_the_file(numbered: Path) -> None:
    file = numbered / "a.txt"
    result = read(numbered, "a.txt", buffers={file: "edited\r\ntwo"}, line_endings="keep")
    assert (content(result), result.unsaved, result.total_lines) == ("edited\r\ntwo", True, 2)
    assert TOOL.plain(result).endswith("[unsaved text from the editor]\n[line endings: crlf]")
    new = numbered / "not yet" / "new.txt"
    result = read(numbered, "not yet/new.txt", buffers={new: "new"})
    assert (result.path, content(result), result.unsaved) == ("not yet/new.txt", "new", True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_an_open_document_as_it_is_on_disk_is_not_unsaved(tmp_path: Path, encoding: str) -> None:
    text = "größe\r\n" * 3
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    result = read(tmp_path, "a.txt", buffers={tmp_path / "a.txt": text})
    assert not result.unsaved
    assert result.encoding == {"utf-16": "utf-16-le"}.get(encoding, encoding)
    assert read(tmp_path, "a.txt", buffers={tmp_path / "a.txt": text + "x"}).unsaved


@requires_posix
def test_an_open_document_is_recognised_however_its_folder_is_spelled(numbered: Path) -> None:
    link = numbered.parent / "link"
    link.symlink_to(numbered)
    assert read(numbered, "a.txt", buffers={link / "a.txt": "edited"}).unsaved
    assert read(link, "a.txt", buffers={numbered / "a.txt": "edited"}).unsaved
    assert read(numbered, str(link / "a.txt"), buffers={numbered / "a.txt": "edited"}).unsaved


def test_an_edit_between_two_pages_is_reported(numbered: Path) -> None:
    buffers = {numbered / "a.txt": "a\n" * 9}
    first = read(numbered, "a.txt", buffers=buffers, max_lines=2)
    second = read(numbered, "a.txt", buffers=buffers, max_lines=2, cursor=first.cursor)
    assert second.completeness.complete
    buffers = {numbered / "a.txt": "b\n" * 9}
    third = read(numbered, "a.txt", buffers=buffers, max_lines=2, cursor=second.cursor)
    assert (content(third), third.completeness.complete) == ("b\nb\n", False)


@requires_posix
def test_documents_named_like_a_folder_or_fifo_are_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(NotAFile):
            read(tmp_path, str(path), buffers={path: "text"})
    outside = tmp_path.parent / "outside.txt"
    with pytest.raises(PathOutsideWorkspace):
        read(tmp_path, str(outside), buffers={outside: "text"})
    with pytest.raises(NotFound):
        read(tmp_path, "a", buffers={Path("/bad\0name"): "text"})


def test_lone_surrogates_in_a_document_are_replaced(tmp_path: Path) -> None:
    result = read(tmp_path, "a", buffers={tmp_path / "a": "a\ud800b \ud83d\ude00\udc00"})
    assert content(result) == "a\N{REPLACEMENT CHARACTER}b 😀\N{REPLACEMENT CHARACTER}"


# --- paths ---------------------------------------------------------------------------------


def test_several_folders_are_searched_and_named(numbered: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("other\n")
    (other / "only.txt").write_text("only\n")
    limits = Limits()
    both = answer([numbered, other], {}, ReadFileParams(path="a.txt"), limits)
    assert both.root == str(numbered)
    assert both.warnings == [f"'a.txt' is in several folders: this is the one in {numbered}"]
    only = answer([numbered, other], {}, ReadFileParams(path="only.txt"), limits)
    assert (only.root, only.path, only.warnings) == (str(other), "only.txt", [])


def test_a_path_means_the_same_relative_absolute_and_as_a_uri(project: Path) -> None:
    file = project / "src/main.py"
    for path in ("src/main.py", "./src/../src/main.py", str(file), file.as_uri()):
        result = read(project / "src", path)
        assert (result.root, result.path, result.returned) == (str(project), "src/main.py", 3)


def test_without_a_folder_no_path_is_read(project: Path) -> None:
    file = project / "src/main.py"
    for path in (str(file), file.as_uri(), "src/main.py", "/etc/passwd"):
        with pytest.raises(NoWorkspace):
            answer([], {}, ReadFileParams(path=path), Limits())


def test_paths_outside_the_workspace_are_refused(numbered: Path) -> None:
    folder = numbered / "folder"
    folder.mkdir()
    for path in ("../a.txt", str(numbered / "a.txt"), "x/../../a.txt", "/etc/passwd", "/"):
        with pytest.raises(PathOutsideWorkspace):
            read(folder, path)


@requires_posix
def test_symlinks_are_followed_only_inside_the_workspace(numbered: Path) -> None:
    folder = numbered / "folder"
    folder.mkdir()
    (folder / "in.txt").write_text("inside\n")
    (folder / "good").symlink_to("in.txt")
    (folder / "out").symlink_to(numbered / "a.txt")
    (folder / "up").symlink_to("..")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nothing")
    good = read(folder, "good")
    assert (good.path, content(good)) == ("in.txt", "inside\n")
    for path in ("out", "up/a.txt", "zero"):
        with pytest.raises(PathOutsideWorkspace):
            read(folder, path)
    with pytest.raises(NotFound):
        read(folder, "dangling")
    with pytest.raises((NotAFile, NotFound, PathOutsideWorkspace)):
        read(folder, "loop")


@requires_posix
def test_a_symlink_that_replaces_the_file_is_not_followed(numbered: Path) -> None:
    folder = numbered / "folder"
    folder.mkdir()
    file = folder / "b.txt"
    file.write_text("b\n")
    located = locate("b.txt", [folder])
    file.unlink()
    file.symlink_to(numbered / "a.txt")
    with pytest.raises(PathOutsideWorkspace):
        open_regular(located.real, str(folder))


@pytest.mark.slow
@requires_posix
def test_a_file_swapped_repeatedly_never_reveals_outside_text(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret\n")
    (folder / "inside").write_text("inside\n")
    (folder / "a").symlink_to("inside")  # the reads may all finish before the thread starts
    end = threading.Event()

    def swap() -> None:
        targets = ["../secret", "inside"]
        while not end.is_set():
            targets.reverse()
            (folder / "new").symlink_to(targets[0])
            (folder / "new").rename(folder / "a")

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(500):
            with contextlib.suppress(NotFound, PathOutsideWorkspace):
                seen.add(content(read(folder, "a")))
    finally:
        end.set()
        thread.join()
    assert seen == {"inside\n"}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_system_files_are_never_read_even_in_a_root_workspace() -> None:
    for path in ("/proc/self/environ", "proc/self/status", "/dev/zero", "/sys/kernel/notes"):
        with pytest.raises(PathOutsideWorkspace):
            read(Path("/"), path)


@requires_posix
def test_special_files_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path, what in (("pipe", "a FIFO"), ("socket", "a socket"), (".", "a folder")):
            with pytest.raises(NotAFile, match=what):
                read(tmp_path, path)


def test_missing_files_are_not_found(project: Path) -> None:
    for path in ("nothing.py", "src/main.py/below", "src/" + "x" * 300):
        with pytest.raises(NotFound):
            read(project, path)


@requires_posix
def test_names_need_not_be_unicode_nor_on_one_line(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/bad\xff\nname.txt"
    Path(os.fsdecode(raw)).write_text("found\n")
    shown = "bad\\xff\\x0aname.txt"
    for path in (shown, f"{tmp_path}/{shown}", "file://" + quote_from_bytes(raw)):
        result = read(tmp_path, path)
        assert (result.path, content(result)) == (shown, "found\n")
        assert result.uri == "file://" + quote_from_bytes(raw)


@requires_permissions
def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "a").chmod(0)
    with pytest.raises(NotAFile, match="Permission denied"):
        read(tmp_path, "a")
    assert read(tmp_path, "a", buffers={tmp_path / "a": "text"}).unsaved


# --- time and memory -----------------------------------------------------------------------


def test_a_timeout_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1234567\n" * 100_000)
    hurried = Limits(search_seconds=1e-9)
    result = read(tmp_path, "a.txt", spans=["90000-90001"], limits=hurried)
    assert (result.chunks, result.total_lines, result.cursor) == ([], None, None)
    assert (result.truncated, result.completeness.timed_out) == (True, True)
    [reason] = result.completeness.reasons
    assert reason.startswith("stopped after 1e-09 s at line 8,192")
    result = read(tmp_path, "a.txt", spans=["5-6"], limits=hurried)
    assert (spans(result), result.total_lines, result.truncated) == ([(5, 6)], None, False)
    assert result.completeness.complete
    assert result.warnings == ["the lines of the file could not all be counted in 1e-09 seconds"]
    result = read(tmp_path, "a.txt", spans=["5-6", "90000"], limits=hurried)
    assert (spans(result), result.completeness.timed_out) == ([(5, 6)], True)
    again = read(tmp_path, "a.txt", spans=["5-6", "90000"], cursor=result.cursor)
    assert spans(again) == [(90_000, 90_000)]


async def test_a_cancelled_request_stops_reading(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.write(b"text\n" * 20_000)
        file.truncate(100 * 1024**3)
    config, _ = merge_layer(Config(), {"limits": {"search_seconds": 600.0}}, "test")
    before = threading.active_count()
    call = TOOL.call(make_workspace(tmp_path, config=config), {"path": "a.txt"}, no_progress)
    task = asyncio.create_task(call)
    while threading.active_count() == before:
        assert not task.done()
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)  # the read takes minutes
    threads = threading.active_count()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 60)
    assert threading.active_count() < threads


PROGRAM = """
import re, sys, time
from pathlib import Path
from winnow.config import Limits
from winnow.search.files.read import read_text
from winnow.tools.read_file import ReadFileParams, Span, page_of, request_of

def answer(params, limits):
    return page_of(params, read_text([folder], {}, request_of(params), limits))

def peak():
    # Not ru_maxrss, which starts at that of the parent process.
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

folder, line = Path(sys.argv[1]), int(sys.argv[2])
answer(ReadFileParams(path="small.txt"), Limits())
before = peak()
started = time.perf_counter()
span = Span(start=line, end=line + 2)
params = ReadFileParams(path="big.txt", spans=[span])
result = answer(params, Limits(search_seconds=300))
seconds = time.perf_counter() - started
grown = peak() - before
print(result.chunks[0].content.split()[0], result.total_lines, grown, seconds)
"""


def check_memory(folder: Path, size: int) -> None:
    """Read near the end of a file of about this size, in a separate process."""
    lines = 10_000
    block = b"".join(b"%06d and some text as a log has it\n" % number for number in range(lines))
    count = size // len(block)
    (folder / "small.txt").write_text("small\n")
    with (folder / "big.txt").open("wb") as file:
        for _ in range(count):
            file.write(block)
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder), str(count * lines - 99)],
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        (folder / "big.txt").unlink()
    found, total, kibibytes, seconds = done.stdout.split()
    print(f"{size / 1024**2:.0f} MiB: {int(kibibytes) / 1024:.1f} MiB more, {seconds} s")
    assert (found, int(total)) == ("009900", count * lines)
    assert int(kibibytes) < 30 * 1024


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_a_span_of_a_big_file_is_read_in_constant_memory(tmp_path: Path) -> None:
    check_memory(tmp_path, 200 * 1024**2)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
@pytest.mark.slow
@pytest.mark.hazard  # writing the file takes too long
def test_a_span_of_two_gigabytes_is_read_in_constant_memory(tmp_path: Path) -> None:
    check_memory(tmp_path, 2 * 1024**3)


# --- text for agents -----------------------------------------------------------------------


def test_plain_text_has_numbers_separators_and_notes(numbered: Path) -> None:
    result = read(numbered, "a.txt", spans=["9-10", "100-"], max_lines=3)
    assert TOOL.plain(result) == (
        "9\tline 9\n"
        "10\tline 10\n"
        "...\n"
        "100\tline 100\n"
        "[3 of 383 requested lines of 480 in the file]\n"
        f"[more with the cursor {result.cursor}]"
    )


def test_plain_text_is_sanitized_and_has_the_lines_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\x1b[31mred\x07\r\na\rb\u2028\n\n\n".encode())
    result = read(tmp_path, "a.txt")
    sign = "\N{REPLACEMENT CHARACTER}"
    assert TOOL.plain(result).split("\n") == [
        f"1\t{sign}[31mred{sign}",
        f"2\ta{sign}b{sign}",
        "3\t",
        "4\t",
        "[line endings: mixed]",
    ]
    kept = read(tmp_path, "a.txt", line_endings="keep")
    assert TOOL.plain(kept).split("\n")[0].endswith("\N{SYMBOL FOR CARRIAGE RETURN}")
