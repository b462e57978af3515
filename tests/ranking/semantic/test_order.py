"""The order of results depends on the files alone: not on how their index was built or updated."""

from __future__ import annotations

import functools
import itertools
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from winnow.index.builder.extraction import extract_file
from winnow.index.postings.corpus import Corpus
from winnow.index.snapshot import Snapshot
from winnow.index.store.file_record import FileRecord, IndexJob
from winnow.index.store.file_table import FileTable
from winnow.index.store.store import Store
from winnow.ranking.semantic import candidates, decision_trees
from winnow.ranking.semantic import search as searching
from winnow.ranking.semantic.search import search

NOUNS = (
    "order basket customer invoice payment cookie session token cache queue worker parser".split()
)
VERBS = "load save parse render merge expire validate send".split()
QUERIES = [
    *(f"where do we {verb} the {noun}" for verb, noun in zip(VERBS, NOUNS, strict=False)),
    *(f"{noun} {other}" for noun, other in itertools.pairwise(NOUNS)),
    *(f"{verb}_{noun}" for verb, noun in zip(VERBS, reversed(NOUNS), strict=False)),
    *(f"{noun.title()}{verb.title()}er" for noun, verb in zip(NOUNS, VERBS, strict=False)),
    "shared",
    "shared value of every file",
    "tests of the shared parser",
    "import shared",
    "modules of the queue",
]


@functools.cache
def text_of(seed: int) -> str:
    """Return a random module. Different seeds may give the same text."""
    chance = random.Random(seed)
    imported, noun = chance.choices(NOUNS, k=2)
    lines = [f'"""The {noun} and its {chance.choice(NOUNS)}."""', f"import {imported}", ""]
    for _ in range(chance.randrange(4)):
        verb, other = chance.choice(VERBS), chance.choice(NOUNS)
        lines += [f"def {verb}_{other}(shared):", f"    return {imported}.{verb}(shared)", ""]
    if chance.random() < 0.3:
        lines += [f"class {noun.title()}{chance.choice(VERBS).title()}er:", "    shared = 1", ""]
    return "\n".join(lines * chance.choice((1, 1, 8)))


@functools.cache
def record_of(text: str, extension: str) -> FileRecord:
    job = IndexJob(b"/root", os.fsencode(f"file{extension}"), 100_000, text.encode())
    record = extract_file(job)
    assert record is not None
    return record


class History:
    """Files that change, and a store that follows."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.store = Store.open(folder)
        self.files: dict[str, str] = {}
        self._table = FileTable()
        self._chance = random.Random(seed)

    def write(self, files: Mapping[str, str], gone: Iterable[str] = ()) -> None:
        records = {path: record_of(text, os.path.splitext(path)[1]) for path, text in files.items()}
        self.store.write(records, gone)

    def build(self, files: Mapping[str, str], batch: int) -> None:
        """Index files in their order, some at a time."""
        self.files = dict(files)
        paths = list(files)
        for start in range(0, len(paths), batch):
            self.write({path: files[path] for path in paths[start : start + batch]})

    def new_path(self) -> str:
        chance = self._chance
        folder = chance.choice(("shop", "shop/core", "tests", "docs", ""))
        name = f"{chance.choice(NOUNS)}_{chance.choice((*VERBS, '', 'x', 'y', 'z'))}".rstrip("_")
        return os.path.join(folder, name + chance.choice((".py", ".py", ".py", ".md", ".js")))

    def update(self, edits: int) -> None:
        """Make random edits, deletions, renames and copies."""
        chance = self._chance
        for _ in range(edits):
            path = chance.choice(sorted(self.files))
            kind = chance.choice(("edit", "edit", "edit", "delete", "rename", "copy", "compact"))
            if kind == "edit":
                self.files[path] = text_of(chance.randrange(500))
                self.write({path: self.files[path]})
            elif kind == "delete":
                del self.files[path]
                self.write({}, [path])
            elif kind in ("rename", "copy"):
                new = self.new_path()
                self.files[new] = self.files[path]
                record = record_of(self.files[path], os.path.splitext(new)[1])
                if not self.store.adopt({new: (record.state, record.key)}):
                    self.write({new: self.files[path]})
                if kind == "rename" and new != path:
                    del self.files[path]
                    self.write({}, [path])
            else:
                self.store.merger.compact()
            if chance.random() < 0.1:
                # The numbers of the table depend on when it is read.
                self.results([])

    def results(self, queries: Sequence[str]) -> list[object]:
        """Return the best passages for each query, with paths instead of numbers."""
        with Snapshot(["/root"], [self.store.reader()]) as snapshot:
            corpus = snapshot.corpus([self._table], {})
            return [results_of(corpus, query) for query in queries]


def results_of(corpus: Corpus, query: str) -> list[object]:
    return [
        (corpus.paths[found.file], found.first, found.last, found.score, found.why, found.symbol)
        for found in search(corpus, query, limit=20)
    ]


def project(seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    found = {}
    for number, name in itertools.product(range(5), NOUNS):
        for folder in ("shop", "shop/core", "tests", f"lib/{name}"):
            extension = chance.choice((".py", ".py", ".py", ".md"))
            path = f"{folder}/{name}{number or ''}{extension}"
            found[path] = text_of(chance.randrange(500))
    return found


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few files reach the limits, at which ties matter."""
    monkeypatch.setattr(candidates, "LISTED", 60)
    monkeypatch.setattr(candidates, "CANDIDATES", 30)
    monkeypatch.setattr(candidates, "SINGLE", 5)
    monkeypatch.setattr(decision_trees, "MAX_SCORED", 12)
    monkeypatch.setattr(searching, "MAX_DEFINITIONS", 4)


@pytest.fixture
def history(tmp_path: Path) -> Iterable[Callable[[], History]]:
    made: list[History] = []

    def make() -> History:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(History(folder, len(made)))
        return made[-1]

    yield make
    for each in made:
        each.store.close()


def test_results_do_not_depend_on_the_order_of_a_build(history: Callable[[], History]) -> None:
    files = project(1)
    shuffled = list(files.items())
    random.Random(2).shuffle(shuffled)
    found = []
    for order, batch in ((list(files.items()), 1000), (shuffled, 1000), (shuffled, 9)):
        built = history()
        built.build(dict(order), batch)
        found.append(built.results(QUERIES))
    assert all(found[0])
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_an_updated_index_ranks_like_a_new_one(history: Callable[[], History]) -> None:
    updated = history()
    updated.build(project(3), 50)
    updated.results([])
    for _ in range(3):
        updated.update(100)
        new = history()
        new.build(dict(sorted(updated.files.items())), 1000)
        assert updated.results(QUERIES) == new.results(QUERIES)
