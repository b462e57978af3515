"""Occurrences of names are stored when a request needs them: with the answers of a full index."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, built, git_commit, write_files
from indexed import MAX_BYTES, fill, folder_of
from waiting_for import until
from winnow.config import Config, Limits
from winnow.errors import NoSymbol
from winnow.index import occurrences
from winnow.index.builder import writing
from winnow.index.builder.extraction import extract_file
from winnow.index.builder.workers import IndexWorkers
from winnow.index.occurrences import SearchedNames, unread_files, words_for
from winnow.index.snapshot import Snapshot
from winnow.index.store.copying import copy_texts
from winnow.index.store.file_record import FileRecord, IndexJob
from winnow.index.store.file_table import FileTable
from winnow.index.store.store import Store
from winnow.search.code.relations import Relation
from winnow.search.code.uses import find_related
from winnow.search.symbols import requests
from winnow.search.symbols.navigation import Navigation
from winnow.symbols.file_symbols import unpack_numbers
from winnow.text.lines import SourceTexts
from winnow.text.scope import Filters
from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

FIXTURES = Path(__file__).parent.parent / "symbols" / "fixtures"
FILES = {
    "net/client.py": "class Client:\n    def send(self, data):\n        return data\n",
    "app.py": "from net.client import Client\n\nClient().send(b'')\n",
    "other.py": "sender = resend = 3\nprint(sender, resend)\n",
    "web/a.ts": "export function run() {}\n",
    "web/b.ts": "export {run as go} from './a'\n",
    "web/c.ts": "import {go} from './b'\ngo()\n",
    "web/d.ts": "import run from './e'\nrun()\n",
}
SEND = ["app.py:3 call", "net/client.py:2 definition"]


@pytest.fixture(autouse=True)
def lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store no occurrences, however few files are indexed."""
    monkeypatch.setattr(writing, "FEW_COMPLETE", 0)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[IndexJob]:
    """The jobs that workers got."""
    given: list[IndexJob] = []
    extract = IndexWorkers.extract

    def recorded(self: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False) -> object:
        given.extend(jobs)
        return extract(self, jobs, urgent)

    monkeypatch.setattr(IndexWorkers, "extract", recorded)
    return given


@pytest.fixture
async def workspace(tmp_path: Path, make_workspace: MakeWorkspace) -> EngineWorkspace:
    return await built(make_workspace(git_commit(tmp_path / "p", FILES)))


async def references(workspace: EngineWorkspace, name: str) -> list[str]:
    result: Any = await TOOLS["find_references"].call(workspace, {"name": name}, no_progress)
    return [f"{one.path}:{one.line} {one.kind}" for one in result.references]


async def counts(workspace: EngineWorkspace) -> tuple[int, int | None]:
    reader = await folder_of(workspace).reader()
    try:
        missing = reader.partial_count()
        return reader.source_count() - missing, missing or None
    finally:
        reader.close()


async def partial(workspace: EngineWorkspace) -> list[str]:
    reader = await folder_of(workspace).reader()
    try:
        return sorted(reader.partial_among(FILES))
    finally:
        reader.close()


async def test_a_request_reads_the_files_with_the_name_once(
    workspace: EngineWorkspace, jobs: list[IndexJob]
) -> None:
    assert {job.part for job in jobs} <= {"definitions"}
    assert await counts(workspace) == (0, len(FILES))
    jobs.clear()
    assert await references(workspace, "Client.send") == SEND
    read = {os.fsdecode(job.path): job.part for job in jobs}
    # `resend` has the letters, but not the word.
    assert read == dict.fromkeys(["app.py", "net/client.py", "other.py"], "occurrences")
    assert await counts(workspace) == (2, len(FILES) - 2)
    jobs.clear()
    assert await references(workspace, "Client.send") == SEND
    assert jobs == []


async def test_nothing_is_read_for_a_name_that_no_file_defines(
    workspace: EngineWorkspace, jobs: list[IndexJob]
) -> None:
    jobs.clear()
    with pytest.raises(NoSymbol):
        await references(workspace, "socket")
    with pytest.raises(NoSymbol):
        await references(workspace, "data")  # a parameter
    assert jobs == []


async def test_uses_of_a_name_with_another_spelling_are_found(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {"a.rb": "class A\n  def valid?\n    true\n  end\nend\nA.new.valid?\n"}
    workspace = await built(make_workspace(git_commit(tmp_path / "p", files)))
    relation = Relation("uses", "valid", is_certain=True)
    found = await find_related(workspace, workspace.scope(Filters()), relation, no_progress)
    assert [(hit.path, hit.best) for hit in found.hits] == [("a.rb", 6)]


async def test_uses_under_an_alias_are_found(workspace: EngineWorkspace) -> None:
    found = await references(workspace, "run")
    assert "web/c.ts:2 call" in found
    assert "web/c.ts" not in await partial(workspace)


async def test_the_work_is_not_repeated_if_nothing_is_missing(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await references(workspace, "run")
    runs: list[object] = []

    def recorded(*args: Any) -> Navigation:
        runs.append(args)
        return Navigation(*args)

    monkeypatch.setattr(requests, "Navigation", recorded)
    assert await references(workspace, "run") == found
    assert len(runs) == 1


async def test_a_name_searched_before_a_build_is_looked_up_again(
    workspace: EngineWorkspace, jobs: list[IndexJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(occurrences, "MOST_SINCE", 3)
    assert await references(workspace, "Client.send") == SEND
    root = workspace.folders[0]
    write_files(root, {f"more/m{number}.py": "def other(): pass\n" for number in range(9)})
    write_files(root, {"more/use.py": "from net.client import Client\nClient().send(b'')\n"})
    assert await workspace.index.refresh([], 20)
    await workspace.index.build()
    jobs.clear()
    assert await references(workspace, "Client.send") == [SEND[0], "more/use.py:2 call", *SEND[1:]]
    # `resend` has the letters.
    assert {os.fsdecode(job.path) for job in jobs} == {"more/use.py", "other.py"}


async def test_files_that_had_occurrences_get_them_again(workspace: EngineWorkspace) -> None:
    await references(workspace, "Client.send")
    root = workspace.folders[0]
    write_files(root, {"app.py": FILES["app.py"] + "Client().send(b'a')\n", "other.py": "a = 1\n"})
    workspace.files_changed([root / "app.py", root / "other.py"])
    await until_current(workspace)
    assert "app.py" not in await partial(workspace)
    assert "other.py" in await partial(workspace)
    assert await references(workspace, "Client.send") == ["app.py:3 call", "app.py:4 call", SEND[1]]


async def until_current(workspace: EngineWorkspace) -> None:
    async def is_current() -> bool:
        async with workspace.index.snapshot({}, 1.0) as (_, state):
            return state.state == "ready"

    await until(is_current, "the changes are not indexed")


async def test_a_file_with_another_text_than_the_stored_one_is_indexed_again(
    workspace: EngineWorkspace,
) -> None:
    folder = folder_of(workspace)
    write_files(folder.root, {"app.py": "def changed(): ...\n"})
    (folder.root / "other.py").unlink()
    async for _ in folder.writer.add_occurrences(["app.py", "other.py", "net/client.py"]):
        pass
    reader = await folder.reader()
    try:
        assert [one.name for one in reader.definitions_in("app.py")] == ["changed"]
        assert reader.file("other.py") is None
        assert reader.partial_among(["app.py", "net/client.py"]) == []
    finally:
        reader.close()


async def test_a_server_completes_all_files_in_the_background(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(git_commit(tmp_path / "p", FILES))
    workspace.index.enable_watching()
    await workspace.index.build()

    async def is_complete() -> bool:
        return await counts(workspace) == (len(FILES), None)

    await until(is_complete, "not all files have occurrences")
    assert await references(workspace, "Client.send") == SEND


async def test_an_answer_reports_files_that_were_not_read_in_time(
    tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(limits=Limits(search_seconds=1.0))
    workspace = await built(make_workspace(git_commit(tmp_path / "p", FILES), config=config))

    async def hanging(
        self: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False
    ) -> AsyncIterator[tuple[IndexJob, FileRecord | None]]:
        await asyncio.Event().wait()
        yield jobs[0], None

    monkeypatch.setattr(IndexWorkers, "extract", hanging)
    result: Any = await TOOLS["find_references"].call(
        workspace, {"name": "Client.send"}, no_progress
    )
    assert result.completeness.timed_out
    assert not result.completeness.complete
    assert "timed out before reading every file that contains the name" in (
        result.completeness.reasons
    )


def test_a_full_store_drops_occurrences_before_other_data(tmp_path: Path) -> None:
    files = {f"m{n}.py": "".join(f"use{n}_{i}(a{i})\n" for i in range(900)) for n in range(12)}
    root = write_files(tmp_path, files)
    store = Store.temporary()
    try:
        fill(store, root)
        limit = store.size() * 3 // 4
        assert store.trim(limit) == 0
        assert store.size() <= limit
        with store.read() as reader:
            assert reader.partial_count() > 0
            assert reader.problem_counts() == {}
        complete(store, root, list(files))
        with store.read() as reader:
            assert reader.partial_count() == 0
            assert len(reader.names_in("m0.py")) == 1800
    finally:
        store.close()


def test_files_without_occurrences_are_copied_to_another_store(tmp_path: Path) -> None:
    root = write_files(tmp_path, {"a.py": FILES["app.py"], "b.py": FILES["net/client.py"]})
    first, second = Store.temporary(), Store.temporary()
    try:
        fill(first, root, "definitions")
        complete(first, root, ["a.py"])
        with first.read() as reader:
            states, keys = reader.files(), reader.keys_of(["a.py", "b.py"])
        texts = {path: (states[path], keys[path]) for path in keys}
        [copied] = copy_texts(second, first, texts)
        assert sorted(copied) == ["a.py", "b.py"]
        assert second.adopt({"c.py": (states["b.py"], keys["b.py"])}) == ["c.py"]
        with first.read() as one, second.read() as other:
            assert other.partial_among(["a.py", "b.py", "c.py"]) == ["b.py", "c.py"]
            assert other.all_occurrences("a.py") == one.all_occurrences("a.py")
            assert other.all_occurrences("c.py") == one.all_occurrences("b.py")
    finally:
        first.close()
        second.close()


# --- answers are those of a full index -----------------------------------------------------


def complete(
    store: Store,
    root: Path,
    paths: Sequence[str],
    names: Sequence[str] = (),
    searched: SearchedNames | None = None,
) -> None:
    """Store the occurrences of files, and of those with one of some names."""
    with store.read() as reader:
        unread = unread_files(reader, FileTable, names, paths, searched or SearchedNames())
    batch = {}
    for files, words in ((unread.files, []), (unread.with_names, words_for(names))):
        for path in files:
            job = IndexJob(
                *(os.fsencode(root), os.fsencode(path), MAX_BYTES),
                part="occurrences",
                names=tuple(words),
            )
            record = extract_file(job)
            if record is not None and record.symbols is not None:
                batch[path] = record
    assert store.add_occurrences(batch) == []


@pytest.fixture
def stores() -> Iterator[tuple[Store, Store]]:
    full, lazy = Store.temporary(), Store.temporary()
    try:
        fill(full, FIXTURES)
        fill(lazy, FIXTURES, "definitions")
        yield full, lazy
    finally:
        full.close()
        lazy.close()


def answer(store: Store, path: str, at: int) -> tuple[Navigation, object]:
    """What the name at an offset means, and its references."""
    with Snapshot([FIXTURES.as_posix()], [store.reader()]) as view:
        navigation = Navigation(view, SourceTexts([FIXTURES], {}, MAX_BYTES))
        symbol = navigation.at(path, at)
        if symbol is None:
            return navigation, None
        uses = sorted(
            (use.path, use.at, use.kind, use.tier) for use in navigation.references(symbol)
        )
        places = sorted((place.path, place.at) for place in symbol.places)
        called = sorted((one.place.path, one.place.at) for one in navigation.callees(symbol))
        return navigation, (places, uses, called, navigation.undecided)


def test_answers_are_those_of_a_full_index(stores: tuple[Store, Store]) -> None:
    full, lazy = stores
    searched, prefix = SearchedNames(), FIXTURES.as_posix() + "/"
    with full.read() as reader:
        everywhere = [
            (path, at, name)
            for path, state in sorted(reader.files().items())
            if not state.problem
            for name, packed in sorted(reader.all_occurrences(path).items())
            for at, _, _ in unpack_numbers(packed)
        ]
    for path, at, name in random.Random(24).sample(everywhere, 300):
        names, paths = [name], [path]
        complete(lazy, FIXTURES, paths, names, searched)
        navigation, found = answer(lazy, prefix + path, at)
        while more := [one for one in navigation.searched_names if one not in names]:
            names += more
            complete(lazy, FIXTURES, paths, names, searched)
            navigation, found = answer(lazy, prefix + path, at)
        while unread := [
            one for one in navigation.searched_files if one.removeprefix(prefix) not in paths
        ]:
            paths += [one.removeprefix(prefix) for one in unread]
            complete(lazy, FIXTURES, paths, names, searched)
            navigation, found = answer(lazy, prefix + path, at)
        assert found == answer(full, prefix + path, at)[1], f"{name} at {at} of {path}"


async def test_texts_without_secrets_are_not_searched_for_them_again(
    tmp_path: Path, make_workspace: MakeWorkspace, jobs: list[IndexJob]
) -> None:
    token = "".join(("gh", "p_", "Zk3vQ8Lr2XwTn5Yb7Hc9", "Md4Jf6Gp1Sa0UeKt"))
    secret = f'from net.client import Client\n\nTOKEN = "{token}"\nClient().send(TOKEN)\n'
    workspace = make_workspace(git_commit(tmp_path / "q", {**FILES, "secret.py": secret}))
    await workspace.index.build()
    jobs.clear()
    assert await references(workspace, "send") == [*SEND, "secret.py:4 call"]
    harmless = {os.fsdecode(job.path): bool(job.harmless) for job in jobs}
    safe = dict.fromkeys(("app.py", "net/client.py", "other.py"), True)
    assert harmless == {**safe, "secret.py": False}
