"""One pattern in a tree: the two ways to search it, and that they join without a seam."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from conftest import RIPGREP, requires_posix, write_files
from winnow.config import Limits
from winnow.errors import InvalidPattern
from winnow.processes.children import Processes
from winnow.text import grep
from winnow.text.buffers import Overlay, unsaved
from winnow.text.grep import TextSearch, first_null
from winnow.text.ripgrep import Ripgrep, TextPattern
from winnow.text.scope import search_scope
from winnow.types import SearchParams

pytestmark = pytest.mark.process


def search_in(
    folder: Path, pattern: str, *, overlay: Overlay | None = None, max_matches: int = 50
) -> TextSearch:
    seconds = 30.0
    deadline = asyncio.get_running_loop().time() + seconds
    return TextSearch(
        ripgrep=Ripgrep(
            Processes(),
            RIPGREP,
            dict(os.environ),
            deadline,
            seconds,
        ),
        scope=search_scope([folder], SearchParams()),
        query=TextPattern(pattern),
        overlay=overlay or Overlay(),
        limits=Limits(),
        max_matches=max_matches,
    )


async def found(search: TextSearch) -> list[tuple[str, int]]:
    return [(path, line.number) async for path, line in search.lines()]


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.01, 0.02])
async def test_a_probe_that_is_given_up_anywhere_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    names = [f"{folder}/{name}.txt" for folder in "abc" for name in ("x", "x-y", "x/z")]
    write_files(tmp_path, dict.fromkeys(names, "needle\nhay\n" * 600))
    monkeypatch.setattr(grep, "PROBE_SECONDS", seconds)
    search = search_in(tmp_path, "needle", max_matches=10**9)
    order = sorted(names, key=lambda name: name.split("/"))
    assert await found(search) == [(name, line) for name in order for line in range(1, 1200, 2)]
    assert search.finished
    assert search.total in (5_400, None)


async def test_a_search_that_is_stopped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A probe that is given up before ripgrep has begun is followed by a count.
    monkeypatch.setattr(grep, "PROBE_SECONDS", 20.0)
    write_files(tmp_path, {f"{number:03}.txt": "needle\n" * 1000 for number in range(300)})
    search = search_in(tmp_path, "needle")
    seen = 0
    async for _ in search.lines():
        seen += 1
        if seen == 10:
            search.stop()
    assert seen < 300_000
    assert not search.finished
    assert search.total is None


@requires_posix
async def test_counts_are_right_for_any_name(tmp_path: Path) -> None:
    names = ["a\nb.txt", "1\n2", "-x", "a b", ":", os.fsdecode(b"\xff.txt")]
    for name in names:
        (tmp_path / name).write_text("needle needle\nneedle\n")
    search = search_in(tmp_path, "needle")
    assert await search.count(matches=True) == dict.fromkeys(sorted(names, key=os.fsencode), 3)
    assert await search_in(tmp_path, "needle").count(matches=False) == dict.fromkeys(
        sorted(names, key=os.fsencode), 1
    )


async def test_counts_hold_unsaved_documents(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "needle\n", "b.txt": "needle\n"})
    scope = search_scope([tmp_path], SearchParams())
    buffers = {tmp_path / "a.txt": "hay", tmp_path / "c.txt": "needle needle"}
    with unsaved(buffers, scope) as overlay:
        search = search_in(tmp_path, "needle", overlay=overlay)
        assert await search.count(matches=True) == {"b.txt": 1, "c.txt": 2}


@pytest.mark.parametrize("way", ["probe", "count"])
async def test_a_file_that_shows_itself_binary_late_keeps_what_ripgrep_has_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    text = b"needle\n" + b"hay\n" * 100_000
    (tmp_path / "late.bin").write_bytes(text + b"\0\nneedle\n")
    (tmp_path / "text.txt").write_bytes(b"needle\n")
    if way == "count":
        monkeypatch.setattr(grep, "PROBE_SECONDS", 0.0)
    search = search_in(tmp_path, "needle")
    assert await found(search) == [("late.bin", 1), ("text.txt", 1)]
    assert search.skipped_files
    assert search.skipped_files.binary == {"late.bin": len(text)}
    assert search.total is None  # nobody has counted those


def write_candidates(folder: Path) -> list[str]:
    """A text with `needle`, and files that show themselves binary sooner or later; their names."""
    hay = b"hay\n" * 100_000
    raws = {
        "a.txt": b"needle\n",
        "early.bin": b"needle\n\0needle\n",
        "late.bin": b"needle\n" + hay + b"\0\nneedle\n",
        "later.bin": hay + b"\0\nneedle\n",
    }
    for name, raw in raws.items():
        (folder / name).write_bytes(raw)
    return [*raws]


@pytest.mark.parametrize("seconds", [0.0, 10.0])
async def test_such_a_file_is_found_where_types_are_asked_for_and_no_log_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    write_candidates(tmp_path)
    (tmp_path / "z.txt").write_bytes(b"hay needle needle\n")
    monkeypatch.setattr(grep, "PROBE_SECONDS", seconds)
    scope = search_scope([tmp_path], SearchParams(include=["*.bin", "*.txt"]))
    for matches in (True, False):
        search = search_in(tmp_path, "needle")
        search.scope = scope
        expected = {"a.txt": 1, "late.bin": 1, "z.txt": 1 + matches}
        assert await search.count(matches=matches) == expected
    search = search_in(tmp_path, "needle")
    search.scope = scope
    assert await found(search) == [("a.txt", 1), ("late.bin", 1), ("z.txt", 1)]
    assert search.skipped_files is None
    assert search.partly_binary == {"late.bin"}


@pytest.mark.parametrize(("few", "little"), [(0, 0), (2_000, 0), (2_000, 1_000)])
async def test_of_candidates_only_those_are_found_that_a_search_of_all_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, little: int
) -> None:
    names = [*write_candidates(tmp_path), "z.txt"]
    (tmp_path / "z.txt").write_bytes(b"hay needle needle\n")
    monkeypatch.setattr(grep, "FEW_CANDIDATES", few)
    monkeypatch.setattr(grep, "LITTLE", little)
    monkeypatch.setattr(grep, "PROBE_SECONDS", 0.0)
    for matches in (True, False):
        search = search_in(tmp_path, "needle")
        search.candidates = names
        expected = {"a.txt": 1, "late.bin": 1, "z.txt": 1 + matches}
        assert await search.count(matches=matches) == expected
    search = search_in(tmp_path, "needle")
    search.candidates = [*names, "gone.txt"]
    assert await found(search) == [("a.txt", 1), ("late.bin", 1), ("z.txt", 1)]
    assert search.finished
    assert search.partly_binary == {"late.bin"}
    assert not search.unreadable


async def test_without_candidates_nothing_is_read_and_a_bad_pattern_is_still_refused(
    tmp_path: Path,
) -> None:
    write_files(tmp_path, {"a.txt": "needle\n"})
    search = search_in(tmp_path, "needle")
    search.candidates = []
    assert await found(search) == []
    assert (search.total, search.finished) == (0, True)
    search = search_in(tmp_path, "needle(")
    search.candidates = []
    with pytest.raises(InvalidPattern):
        await search.count(matches=False)


def test_where_the_first_null_is(tmp_path: Path) -> None:
    for content, null in (
        (b"", None),
        (b"text", None),
        (b"te\0xt\0", 2),
        (b"x" * 3_000_000 + b"\0", 3_000_000),
        ("text".encode("utf-16"), None),
    ):
        (tmp_path / "file").write_bytes(content)
        assert first_null(str(tmp_path / "file")) == null
    assert first_null(str(tmp_path / "nothing")) is None
