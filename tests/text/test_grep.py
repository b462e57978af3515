"""Search of one pattern in a tree: the probe and the counted search give the same results."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import threading
from pathlib import Path

import pytest

from conftest import RIPGREP, requires_posix, write_files
from waiting_for import SECONDS, wait_until
from winnow.config import Limits
from winnow.errors import InvalidPattern
from winnow.processes.children import Processes
from winnow.text import grep
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.grep import COUNT, LIST, TextSearch, first_null, first_nulls
from winnow.text.ripgrep import Ripgrep, TextPattern
from winnow.text.scope import Filters, search_scope

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
        scope=search_scope([folder], Filters()),
        query=TextPattern(pattern),
        overlay=overlay or Overlay(),
        limits=Limits(),
        max_matches=max_matches,
    )


async def found(search: TextSearch) -> list[tuple[str, int]]:
    return [(path, line.number) async for path, line in search.lines()]


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.01, 0.02])
async def test_an_interrupted_probe_neither_loses_nor_repeats_matches(
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


@requires_posix
@pytest.mark.parametrize(("lines", "buffered"), [(400, "line"), (600, "block")])
async def test_only_many_matches_are_printed_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, buffered: str
) -> None:
    monkeypatch.setattr(grep, "PROBE_SECONDS", 0.0)
    root = write_files(tmp_path / "root", dict.fromkeys(("a.txt", "b.txt"), "needle\n" * lines))
    rg, runs = tmp_path / "rg", tmp_path / "runs"
    rg.write_text(f'#!/bin/sh\necho "$@" >> {runs}\nexec {RIPGREP} "$@"\n')
    rg.chmod(0o755)
    search = search_in(root, "needle", max_matches=10**9)
    search.ripgrep = dataclasses.replace(search.ripgrep, program=str(rg))
    assert len(await found(search)) == search.total == 2 * lines
    assert f"--{buffered}-buffered" in runs.read_text().splitlines()[-1]


async def test_a_stopped_search_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A count follows a probe that ends before ripgrep has started.
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
    assert await search.count(COUNT) == dict.fromkeys(sorted(names, key=os.fsencode), 3)
    assert await search_in(tmp_path, "needle").count(LIST) == dict.fromkeys(
        sorted(names, key=os.fsencode), 1
    )


async def test_counts_include_unsaved_documents(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "needle\n", "b.txt": "needle\n"})
    scope = search_scope([tmp_path], Filters())
    buffers = {tmp_path / "a.txt": "hay", tmp_path / "c.txt": "needle needle"}
    with unsaved_overlay(buffers, scope) as overlay:
        search = search_in(tmp_path, "needle", overlay=overlay)
        assert await search.count(COUNT) == {"b.txt": 1, "c.txt": 2}


@pytest.mark.parametrize("way", ["probe", "count"])
async def test_matches_before_a_late_nul_are_kept(
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
    assert search.total is None  # these were not counted


@pytest.mark.parametrize("offset", [60_000, 70_000])
@pytest.mark.skipif(os.name == "nt", reason="names have no line ends")
async def test_the_name_of_a_file_makes_no_other_file_binary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    """ripgrep's log contains names unchanged: their second line may look like a line of the log."""
    log = f"rg: DEBUG|grep_printer::x|x ignoring text.txt: found binary data at offset {offset}"
    write_files(tmp_path, {".ignore": "z*", f"z\n{log}": ""})
    (tmp_path / "text.txt").write_text("needle\n" + "hay\n" * 20_000 + "needle\n")
    assert await search_in(tmp_path, "needle").count(COUNT) == {"text.txt": 2}
    monkeypatch.setattr(grep, "PROBE_SECONDS", 0.0)
    assert await found(search_in(tmp_path, "needle")) == [("text.txt", 1), ("text.txt", 20_002)]


def write_candidates(folder: Path) -> list[str]:
    """Write a text with `needle`, and binary files with early and late NULs; return their names."""
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
async def test_a_file_with_a_late_nul_is_found_with_file_types_and_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    write_candidates(tmp_path)
    (tmp_path / "z.txt").write_bytes(b"hay needle needle\n")
    monkeypatch.setattr(grep, "PROBE_SECONDS", seconds)
    scope = search_scope([tmp_path], Filters(include=["*.bin", "*.txt"]))
    for how in (COUNT, LIST):
        search = search_in(tmp_path, "needle")
        search.scope = scope
        expected = {"a.txt": 1, "late.bin": 1, "z.txt": 1 + (how == COUNT)}
        assert await search.count(how) == expected
    search = search_in(tmp_path, "needle")
    search.scope = scope
    assert await found(search) == [("a.txt", 1), ("late.bin", 1), ("z.txt", 1)]
    assert search.skipped_files is None
    assert search.partly_binary == {"late.bin"}


@pytest.mark.parametrize(("few", "little"), [(0, 0), (2_000, 0), (2_000, 1_000)])
async def test_candidates_match_only_if_a_search_of_all_files_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, little: int
) -> None:
    names = [*write_candidates(tmp_path), "z.txt"]
    (tmp_path / "z.txt").write_bytes(b"hay needle needle\n")
    monkeypatch.setattr(grep, "FEW_CANDIDATES", few)
    monkeypatch.setattr(grep, "LITTLE", little)
    monkeypatch.setattr(grep, "PROBE_SECONDS", 0.0)
    for how in (COUNT, LIST):
        search = search_in(tmp_path, "needle")
        search.candidates = names
        expected = {"a.txt": 1, "late.bin": 1, "z.txt": 1 + (how == COUNT)}
        assert await search.count(how) == expected
    search = search_in(tmp_path, "needle")
    search.candidates = [*names, "gone.txt"]
    assert await found(search) == [("a.txt", 1), ("late.bin", 1), ("z.txt", 1)]
    assert search.finished
    assert search.partly_binary == {"late.bin"}
    assert not search.unreadable


async def test_without_candidates_a_bad_pattern_is_still_rejected(
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
        await search.count(LIST)


@pytest.mark.parametrize("seconds", [0.2, 2 * SECONDS])
async def test_a_large_named_file_is_read_in_a_thread_that_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Its NUL bytes were looked for on the event loop, whatever the deadline."""
    write_files(tmp_path, {"large.log": "needle\n"})
    loop = asyncio.get_running_loop()
    reading = asyncio.Event()
    threads: list[threading.Thread] = []

    def read_until_stopped(
        root: Path, *_: object, stopped: threading.Event, **__: object
    ) -> dict[str, int]:
        loop.call_soon_threadsafe(reading.set)
        assert stopped.wait(SECONDS)
        threads.append(threading.current_thread())
        return {}

    monkeypatch.setattr(grep, "first_nulls", read_until_stopped)
    search = search_in(tmp_path, "needle")
    search.scope = search_scope([tmp_path], Filters(path="large.log"))
    search.ripgrep = dataclasses.replace(search.ripgrep, deadline=loop.time() + seconds)
    searching = asyncio.create_task(found(search))
    await reading.wait()
    if seconds > SECONDS:
        searching.cancel()
    await asyncio.wait({searching})
    assert searching.cancelled() or (searching.result() == [] and search.timed_out)
    wait_until(lambda: threads)
    assert threading.current_thread() not in threads


def test_a_stopped_search_for_nuls_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "late.bin").write_bytes(b"x" * 300_000 + b"\0")
    stopped = threading.Event()
    assert first_nulls(tmp_path, ["late.bin"], stopped=stopped) == {"late.bin": 300_000}
    stopped.set()
    assert first_nulls(tmp_path, ["late.bin"], stopped=stopped) == {}


def test_the_offset_of_the_first_nul_is_found(tmp_path: Path) -> None:
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
