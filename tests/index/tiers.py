"""The tiers of an index on a small real tree: texts, definitions, and occurrences; what searches
answer then, and how a tier is restored.

Batches are small, so that each tier is written in many transactions.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import winnow
from asking import call
from conftest import MakeWorkspace, aged, git_init
from waiting_for import until
from winnow.config import Config, LearningSettings
from winnow.index.builder import writing
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.file_record import NO_DEFINITIONS, FileRecord, IndexJob
from winnow.storage.state_folder import OWN_FOLDER
from winnow.workspace import EngineWorkspace

SMALL_BATCHES = {"MANY_NEW": 0, "FEW_COMPLETE": 0, "BATCH_FILES": 3}
"""Constants of `winnow.index.builder.writing` for many transactions in each tier."""

PACKAGES = ("storage", "index/store")
MEANINGS = ("how is damage of a page noticed", "who owns the state folder")
NAMES = ("StoreDamaged", "close", "read")


class Tier(enum.Enum):
    """The part of an index that is being written."""

    TEXTS = "T1"
    DEFINITIONS = "T2"
    OCCURRENCES = "T3"


def copy_tree(folder: Path) -> Path:
    """Copy a part of Winnow into a new folder."""
    for package in PACKAGES:
        source = Path(winnow.__file__).parent / package
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / package, ignore=ignore)
    return git_init(folder)


def count_files(folder: Path) -> int:
    return len(list(folder.rglob("*.py")))


# --- what is stored ------------------------------------------------------------------------


def share_of(tier: Tier, root: Path) -> float:
    """Return how much of a tier is stored, from 0 to 1. Reads a copy: an open database would change
    what the next process finds."""
    counts, files = stored(root) or Counter(), count_files(root)
    if tier is Tier.TEXTS or counts["files"] < files:
        return counts["files"] / files * (tier is Tier.TEXTS)
    if tier is Tier.DEFINITIONS or counts["texts"]:
        return (1 - counts["texts"] / files) * (tier is Tier.DEFINITIONS)
    return 1 - counts["partial"] / files


def stored(root: Path) -> Counter[str] | None:
    """Count the stored files, those of which only the text is stored, and those without
    occurrences."""
    with tempfile.TemporaryDirectory() as folder:
        for file in (root / OWN_FOLDER).glob("index-*.db*"):
            if not file.name.endswith("-shm"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(file, Path(folder, file.name))
        databases = sorted(Path(folder).glob("*.db"))
        if not databases:
            return None
        with contextlib.closing(sqlite3.connect(databases[-1])) as connection:
            try:
                rows = connection.execute("SELECT problem, partial FROM file WHERE parked=0")
                found = rows.fetchall()
            except sqlite3.OperationalError:  # there is no table yet
                return None
    return Counter(
        files=len(found),
        texts=sum(problem == NO_DEFINITIONS for problem, _ in found),
        partial=sum(partial for _, partial in found),
    )


class Saved:
    """A copy of the index of a root, to be restored as if nothing had happened.

    Winnow trusts a database only as long as it is the same file, so each database is kept alive.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._own = root / OWN_FOLDER
        self._folder = folder
        self._alive = folder.with_name(f"{folder.name}-alive")
        self._alive.mkdir()
        shutil.copytree(self._own, folder)
        for file in folder.glob("*.db"):
            os.link(self._own / file.name, self._alive / file.name)

    def restore(self) -> None:
        for file in self._own.iterdir():
            if not (self._folder / file.name).exists():
                file.unlink()
        for file in self._folder.iterdir():
            there = self._own / file.name
            if file.suffix == ".db":
                there.unlink(missing_ok=True)
                os.link(self._alive / file.name, there)
                there.write_bytes(file.read_bytes())
            else:
                shutil.copy2(file, there)


# --- building and searching ----------------------------------------------------------------


class Opener:
    """Opens workspaces of a user in this process, closes them, and asks them."""

    def __init__(self, make_workspace: MakeWorkspace, home: Path) -> None:
        self._make = make_workspace
        self._environment = {"HOME": str(home)}

    @contextlib.asynccontextmanager
    async def open(self, root: Path) -> AsyncIterator[EngineWorkspace]:
        config = Config(learning=LearningSettings(enabled=False))
        workspace = self._make(root, config=config, environment=self._environment)
        try:
            yield workspace
        finally:
            await workspace.aclose()

    async def answers_after_build(self, root: Path) -> list[Any]:
        async with self.open(root) as workspace:
            await workspace.index.build()
            return await answers(workspace)


async def answers_of_a_new_index(make_workspace: MakeWorkspace, folder: Path) -> list[Any]:
    """Return the answers from a new index of the same files, of a user without another index."""
    copy = aged(copy_tree(folder / "copy"))
    found = await Opener(make_workspace, folder / "another_home").answers_after_build(copy)
    assert None not in found
    return found


async def build_texts(workspace: EngineWorkspace) -> None:
    """Build an index up to the end of its first tier."""
    extract = IndexWorkers.extract

    async def extracted(
        workers: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False
    ) -> AsyncIterator[tuple[IndexJob, FileRecord | None]]:
        if any(job.part == "definitions" for job in jobs):
            await asyncio.Event().wait()
        async with contextlib.aclosing(extract(workers, jobs, urgent)) as answers:
            async for answer in answers:
                yield answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexWorkers, "extract", extracted)
        building = asyncio.create_task(workspace.index.build())
        await until(lambda: workspace.index.state().knows_all_texts)
        building.cancel()
        await asyncio.gather(building, return_exceptions=True)


async def answers(workspace: EngineWorkspace) -> list[Any]:
    """Return the answers to some searches by meaning, by name and for references, with None for
    those that say that they are incomplete."""
    found: list[Any] = []

    def add(answer: Any, rows: list[Any]) -> None:
        found.append(rows if answer.completeness.complete else None)

    for query in MEANINGS:
        answer = await call(workspace, "semantic_search", query=query)
        add(answer, [(hit.path, hit.start_line, hit.score) for hit in answer.results])
    for name in NAMES:
        answer = await call(workspace, "find_symbol", name=name)
        add(answer, [(row.path, row.line, row.qualified_name) for row in answer.symbols])
        answer = await call(workspace, "find_references", name=name)
        add(answer, sorted((row.path, row.line, row.column) for row in answer.references))
    return found


@contextlib.contextmanager
def small_batches() -> Iterator[None]:
    """Within the block, write all tiers one after another, in small transactions."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL_BATCHES.items():
            patch.setattr(writing, name, value)
        yield
