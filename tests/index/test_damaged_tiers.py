"""Files of an index are damaged while it has only texts, then definitions, then occurrences: no
answer that claims to be complete is wrong, and a build makes the index as good as a new one."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from asking import call
from conftest import MakeWorkspace, aged, requires_linux
from damages import damage
from hazard_table import Row
from index.tiers import (
    Opener,
    Saved,
    Tier,
    answers,
    answers_of_a_new_index,
    build_texts,
    copy_tree,
    count_files,
    small_batches,
    stored,
)

pytestmark = [pytest.mark.hazard, requires_linux]

DAMAGES = 200
# Damages of an index until it is searched and built.
AT_ONCE = (1, 2, 3, 4)
# A build, and a search that finds the damage, until the index is repaired.
TURNS = 4


@pytest.fixture(autouse=True)
def no_messages(caplog: pytest.LogCaptureFixture) -> None:
    """Record no messages: with their errors, they would keep closed stores in memory."""
    caplog.set_level(logging.CRITICAL, "winnow")


@pytest.mark.parametrize("tier", Tier, ids=lambda tier: tier.value)
async def test_answers_after_damage(
    tier: Tier,
    tmp_path: Path,
    make_workspace: MakeWorkspace,
    row: Row,
    seed: int,
) -> None:
    row.hazard, row.tries = f"damaged index with {tier.value}", DAMAGES
    root = aged(copy_tree(tmp_path / "project"))
    wanted = await answers_of_a_new_index(make_workspace, tmp_path)
    opener = Opener(make_workspace, tmp_path / "home")
    with small_batches():
        states = await states_of(tier, root, opener, tmp_path)
    drawn, replaced, at_once = random.Random(seed), 0, 0
    done = rounds = 0
    while done < DAMAGES:
        drawn.choice(states).restore()
        damages = [damage(root, drawn) for _ in range(drawn.choice(AT_ONCE))]
        done, rounds, what = done + len(damages), rounds + 1, "; ".join(damages)
        async with opener.open(root) as workspace:
            found = await answers(workspace)
            at_once += None not in found
            assert_right(found, wanted, what)
            for _ in range(TURNS):
                await workspace.index.build()
                found = await answers(workspace)
                assert_right(found, wanted, what)
                if None not in found:
                    break
            assert None not in found, what
            status = await call(workspace, "index_status")
            replaced += status.index.folders[0].replaced is not None
    assert 0 < replaced < rounds
    row.tries = done
    row.result = f"0 wrong answers, {replaced} of {rounds} replaced, {at_once} answered before"


async def states_of(tier: Tier, root: Path, opener: Opener, folder: Path) -> list[Saved]:
    """Return the index with this tier, as a process leaves it that ends and one that is killed,
    whose log stays."""
    states = []
    async with opener.open(root) as workspace:
        if tier is Tier.TEXTS:
            await build_texts(workspace)
        else:
            await workspace.index.build()
        if tier is Tier.OCCURRENCES:
            for index in workspace.index.folder_indexes():
                await index.writer.add_all_occurrences(workspace.index.throttle.turn)
        states.append(Saved(root, folder / "killed"))
    states.append(Saved(root, folder / "ended"))
    files = count_files(root)
    for state in states:
        state.restore()
        assert stored(root) == {
            "files": files,
            "texts": files * (tier is Tier.TEXTS),
            "partial": files * (tier is Tier.DEFINITIONS),
        }
    return states


def assert_right(found: list[Any], wanted: list[Any], damages: str) -> None:
    """Assert that all answers that claim to be complete are right."""
    for answer, right in zip(found, wanted, strict=True):
        assert answer in (None, right), damages
