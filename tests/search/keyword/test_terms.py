"""Stage 1: whatever way it takes, it finds what a full ripgrep for each term finds."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec
import pytest

from conftest import RIPGREP, requires_posix, write_files
from search.keyword.test_budget import plain_size
from text.test_grep import write_candidates
from unending_ripgrep import UNENDING, unending_ripgrep
from winnow.config import Limits
from winnow.processes.children import Processes
from winnow.search.keyword.terms import TermMatches, TermSearch
from winnow.text.scope import search_scope
from winnow.tools.keyword_search import KeywordSearchParams
from winnow.tools.scope_filters import filters_of

pytestmark = pytest.mark.process

TERMS = ["alpha", "bra.o", "charlie delta", "echo", "nothing_here", "zulu$"]
WAYS = {
    "by probes alone": Limits(),
    "by one scan": Limits(probe_seconds=1e-6),
    "by one scan after a moment": Limits(probe_seconds=0.01),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create about a hundred files of words, and a file with many matches for `echo`."""
    folder = tmp_path_factory.mktemp("tree")
    rng = random.Random(7)
    words = ["alpha", "bravo", "charlie delta", "zulu", *(f"word{n}" for n in range(400))]
    for number in range(400):
        file = folder / f"d{number % 9}" / f"file {number}.txt"
        file.parent.mkdir(exist_ok=True)
        lines = [" ".join(rng.choices(words, k=3)) for _ in range(60)]
        file.write_text("\n".join(lines))
    (folder / "d0" / "echo.txt").write_text("an echo\n" * 9000)
    return folder


async def searched(
    folder: Path,
    terms: list[str],
    limits: Limits,
    seconds: float = 20,
    candidates: list[str] | None = None,
    *,
    shrink: bool = False,
    by_rarity: bool = False,
    rg: str = RIPGREP,
) -> TermSearch:
    params = KeywordSearchParams(query="q", search_terms=terms)
    search = TermSearch(
        processes=Processes(),
        rg=rg,
        environment={},
        scope=search_scope([folder], filters_of(params)),
        limits=limits,
        deadline=asyncio.get_running_loop().time() + seconds,
        terms=[TermMatches(term) for term in terms],
        candidates={} if candidates is None else dict.fromkeys(terms, candidates),
    )
    await search.run(shrink=shrink, by_rarity=by_rarity)
    return search


@pytest.mark.parametrize("way", WAYS)
async def test_the_cost_of_each_term_is_the_size_of_ripgreps_output(tree: Path, way: str) -> None:
    generous = msgspec.structs.replace(WAYS[way], term_bytes=10**8)
    search = await searched(tree, TERMS, generous)
    sizes = {found.term: max(0, found.bytes - 3) for found in search.terms}
    assert sizes == {term: plain_size(tree, term) for term in TERMS}
    assert all(found.finished for found in search.terms)


@pytest.mark.parametrize("way", WAYS)
async def test_a_term_over_its_limit_is_dropped_and_the_others_are_complete(
    tree: Path, way: str
) -> None:
    limit = plain_size(tree, "bra.o")
    search = await searched(tree, TERMS, msgspec.structs.replace(WAYS[way], term_bytes=limit))
    out = {found.term for found in search.terms if found.over}
    assert out == {term for term in TERMS if plain_size(tree, term) > limit}
    assert {"echo"} <= out < set(TERMS)


async def test_a_long_line_is_counted_although_its_probe_is_stopped(
    tmp_path: Path,
) -> None:
    """The file counted as searched, and no notice reported the missing match (#22)."""
    write_files(tmp_path, {"match.txt": "x" * 5_000_000 + "pin\n"})
    search = await searched(tmp_path, ["nothing_here"], Limits())
    found = TermMatches("pin")
    search.terms = [found]
    probe = asyncio.create_task(search._search_tree(found))
    search.evidence = lambda: (probe.cancel(), None)[1]
    await asyncio.gather(probe, return_exceptions=True)
    assert probe.cancelled()
    await search._search_batch(found, ["./match.txt"])
    assert found.long_lines == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_bad_regex_does_not_stop_the_other_terms(tree: Path, way: str) -> None:
    generous = msgspec.structs.replace(WAYS[way], term_bytes=10**8)
    search = await searched(tree, ["(", "charlie delta", "[z-a]", "nothing_here"], generous)
    assert [bool(found.invalid) for found in search.terms] == [True, False, True, False]
    assert [bool(found.files) for found in search.terms] == [False, True, False, False]


@requires_posix
async def test_the_deadline_keeps_earlier_matches(tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", {"small.txt": "a rare word\n", UNENDING: ""})
    rg = unending_ripgrep(tmp_path)
    search = await searched(root, ["rare word", UNENDING], Limits(), seconds=3.0, rg=rg)
    assert search.timed_out
    found, slow = search.terms
    assert list(found.files) == ["small.txt"]
    assert not slow.finished


async def test_a_file_deleted_during_the_search_is_not_an_error(tree: Path) -> None:
    search = await searched(tree, ["alpha"], Limits(term_bytes=10**8))
    found = TermMatches("alpha")
    paths = [*list(search.terms[0].files)[:5], "d0/deleted.txt"]
    await search._search_files(found, paths, 10, None)
    assert set(found.files) == set(paths[:-1])
    assert found.unreadable == set()


@pytest.mark.parametrize(
    ("term", "limit", "form"),
    [
        ("alpha", 100_000, "its matches, with 5 lines before and after"),
        ("alpha", 60_000, "its matches, with 2 lines before and after"),
        ("alpha", 12_000, "the first 2 matches of each file"),
        ("echo", 4_000, "the first 3 matches of each file, with 2 lines before and after"),
        ("alpha", 2_000, "the numbers of matches in"),
    ],
)
async def test_a_broad_term_is_shrunk_by_the_first_step_that_fits(
    tree: Path, term: str, limit: int, form: str
) -> None:
    [broad] = (await searched(tree, [term], Limits(term_bytes=limit))).terms
    [found] = (await searched(tree, [term], Limits(term_bytes=limit), shrink=True)).terms
    assert (broad.over, broad.files, found.over) == (True, {}, False)
    assert form in (found.shrunk or "")
    assert 0 < found.bytes <= limit + 3
    assert found.matches


@requires_posix
async def test_a_broad_term_is_shrunk_in_few_runs(tree: Path, tmp_path: Path) -> None:
    rg, runs = tmp_path / "rg", tmp_path / "runs"
    rg.write_text(f'#!/bin/sh\necho >> {runs}\nexec {RIPGREP} "$@"\n')
    rg.chmod(0o755)
    [found] = (
        await searched(tree, ["alpha"], Limits(term_bytes=12_000), shrink=True, rg=str(rg))
    ).terms
    assert found.shrunk == "the first 2 matches of each file"
    # A search of all files, a count, and two of the four steps.
    assert len(runs.read_text().splitlines()) == 4


async def test_of_broad_terms_only_those_that_are_used_are_shrunk(tree: Path) -> None:
    limits = Limits(term_bytes=8_000, total_bytes=5_000)
    all_shrunk = await searched(tree, TERMS, limits, shrink=True)
    some_shrunk = await searched(tree, TERMS, limits, shrink=True, by_rarity=True)
    used = [
        {found.term: found.files for found in search.used_terms(by_rarity=True)}
        for search in (all_shrunk, some_shrunk)
    ]
    assert used[0] == used[1] != {}
    assert not any(found.over for found in all_shrunk.terms)
    assert any(found.over for found in some_shrunk.terms)


async def test_a_search_of_candidates_equals_a_full_search(
    tmp_path: Path,
) -> None:
    names = write_candidates(tmp_path)
    whole = await searched(tmp_path, ["needle", "("], Limits())
    known = await searched(tmp_path, ["needle", "("], Limits(), candidates=names)
    for found in (whole, known):
        needle, bad = found.terms
        assert (set(needle.files), needle.binary, needle.finished) == (
            {"a.txt"},
            {"late.bin"},
            True,
        )
        assert bad.invalid is not None
    nothing = await searched(tmp_path, ["needle", "("], Limits(), candidates=[])
    assert [bool(one.files) for one in nothing.terms] == [False, False]
    assert nothing.terms[1].invalid is not None
