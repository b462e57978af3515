"""Notices that the answers of several tools share."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeWorkspace
from winnow.search.answer.completeness import (
    EXCLUDED_SECONDS,
    completeness_of,
    count_excluded_matches,
    fractions,
    links_of,
    skipped_counts,
    unsaved_failed,
    with_short_deadline,
)
from winnow.text.buffers import Overlay
from winnow.text.scope import Filters, search_scope
from winnow.text.skipped_files import SkippedFiles
from winnow.types import Completeness, Skipped


def heard() -> SkippedFiles:
    notes = SkippedFiles()
    notes.parse(b"rg: DEBUG|x|y.rs:1: anything")
    return notes


@given(st.integers(0, 10_000), st.integers(-1, 20))
def test_fractions_fall_from_all_to_the_least(count: int, least: int) -> None:
    steps = fractions(count, least)
    assert steps == sorted(set(steps), reverse=True)
    assert steps[:1] == ([count] if count >= max(1, least) else [])
    assert all(one >= max(1, least) for one in steps)
    assert len(steps) < 50
    if steps and least <= 1:
        assert steps[-1] == 1


async def test_every_reason_is_reported(project: Path, make_workspace: MakeWorkspace) -> None:
    ripgrep = make_workspace(project).run_ripgrep()
    whole = completeness_of(ripgrep, None, timed_out=False, unreadable=())
    assert whole == Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)
    notes = heard()
    notes.too_large, notes.ignored = 2, 3
    counts = Skipped(ignored=3, hidden=0, binary=1, too_large=2, unreadable=2, symlink=4)
    assert completeness_of(
        ripgrep,
        notes,
        timed_out=True,
        unreadable={"a", "b"},
        file_bytes=5 * 1024 * 1024,
        binary=1,
        links=4,
        more=["something else"],
    ) == Completeness(
        complete=False,
        reasons=[
            "stopped after 10 s: not every file was seen",
            "2 files or folders could not be read",
            "2 files of more than 5 MiB were not searched",
            "something else",
        ],
        skipped=counts,
        timed_out=True,
    )


@pytest.mark.parametrize(
    ("has", "given_already", "expected"),
    [
        ({}, {}, (0, [])),
        ({"include_ignored"}, {}, (1, ["include_ignored"])),
        ({"include_hidden", "include_ignored"}, {}, (1, ["include_ignored", "include_hidden"])),
        ({"include_hidden", "include_ignored"}, {"include_ignored": True}, (1, ["include_hidden"])),
        ({"include_submodules"}, {}, (1, ["include_submodules"])),
    ],
)
async def test_only_the_flags_that_are_needed_are_named(
    has: set[str], given_already: dict[str, bool], expected: tuple[int, list[str]]
) -> None:
    async def count(params: Filters) -> int:
        return int(bool(has) and all(getattr(params, flag) for flag in has))

    assert await count_excluded_matches(Filters(**given_already), count) == expected  # type: ignore[arg-type]


async def test_flags_that_each_find_something_are_all_named() -> None:
    async def count(params: Filters) -> int:
        return 2 * params.include_hidden + 3 * params.include_submodules

    found, flags = await count_excluded_matches(Filters(), count)
    assert (found, flags) == (5, ["include_hidden", "include_submodules"])


async def test_flags_that_make_no_difference_are_not_named() -> None:
    """There would be nothing to advise: it was found by the time that had passed, for instance."""

    async def count(params: Filters) -> int:
        return 7

    assert await count_excluded_matches(Filters(), count) == (0, [])


async def test_nothing_is_counted_if_everything_is_included() -> None:
    async def count(params: Filters) -> int:
        raise AssertionError

    everything = Filters(include_ignored=True, include_hidden=True, include_submodules=True)
    assert await count_excluded_matches(everything, count) == (0, [])


async def test_counting_excluded_matches_respects_the_deadline_of_the_search(
    project: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.search.answer.completeness.EXCLUDED_SECONDS", EXCLUDED_SECONDS)
    ripgrep = make_workspace(project).run_ripgrep()
    now = asyncio.get_running_loop().time()
    deadline = with_short_deadline(ripgrep).deadline
    assert now < deadline <= asyncio.get_running_loop().time() + EXCLUDED_SECONDS
    short = with_short_deadline(with_short_deadline(ripgrep))
    assert short.deadline <= with_short_deadline(ripgrep).deadline


async def test_links_are_counted_where_the_log_was_heard_and_the_tree_is_small(
    project: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "link").symlink_to("src")
    scope = search_scope([project], Filters())
    ripgrep = make_workspace(project).run_ripgrep()
    assert await links_of(ripgrep, scope, None) is None
    assert await links_of(ripgrep, scope, SkippedFiles()) is None
    assert await links_of(ripgrep, scope, heard()) == 1
    monkeypatch.setattr("winnow.search.answer.completeness.SMALL_TREE_SECONDS", 0.0)
    assert await links_of(ripgrep, scope, heard()) is None


def test_unsaved_documents_that_failed_are_reported() -> None:
    assert unsaved_failed(Overlay()) == []
    assert unsaved_failed(Overlay(failed=2)) == [
        "2 unsaved documents could not be copied: their saved files are listed"
    ]


def test_unknown_counts_are_absent() -> None:
    assert skipped_counts(None) == Skipped()
    assert skipped_counts(SkippedFiles(), binary=2) == Skipped(binary=2)
    skipped = SkippedFiles()
    skipped.parse(b"rg: DEBUG|x|y.rs:1: anything")
    nothing = Skipped(ignored=0, hidden=0, binary=0, too_large=0, unreadable=0)
    assert skipped_counts(skipped) == nothing
    assert skipped_counts(skipped, folder_links=0) == Skipped(
        ignored=0, hidden=0, binary=0, too_large=0, unreadable=0, symlink=0
    )
