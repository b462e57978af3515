"""The texts of a new index come before its definitions: searches by meaning answer early, and the
complete index is that of a build in one pass."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from asking import call
from conftest import MakeWorkspace, git_commit, write_files
from indexed import fill, folder_of
from waiting_for import until
from winnow.config import Config, IndexSettings
from winnow.index.builder import writing
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.file_record import FULL, NO_DEFINITIONS, FileRecord, IndexJob
from winnow.index.store.store import Store
from winnow.search.code import indexed
from winnow.search.index.state import current_status
from winnow.tools import TOOLS
from winnow.tools.index_status import IndexStatusResult
from winnow.types import COMPLETE, IndexState, no_progress
from winnow.workspace import EngineWorkspace, Lifetime

SCALES = 'def weigh_parcel(parcel):\n    """Weigh a parcel."""\n    return 1\n'
FILES = {
    "post/scales.py": SCALES,
    "post/office.py": "from scales import weigh_parcel\n\n\ndef send():\n    weigh_parcel(1)\n",
    "post/copy_of_scales.py": SCALES,
    "web/stamps.ts": "export function buyStamp() {}\n",
    "README.md": "# Post\n\nParcels are weighed before they are sent.\n",
    "data.txt": "parcel parcel parcel\n",
}
# Markdown has sections, and plain text has no definitions.
WITH_DEFINITIONS = len(FILES) - 1
MakeServer = Callable[[Path], EngineWorkspace]
MEANING = {"query": "where is a parcel weighed"}


@pytest.fixture(autouse=True)
def texts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index texts first, however few there are."""
    monkeypatch.setattr(writing, "MANY_NEW", 0)
    monkeypatch.setattr(writing, "FEW_COMPLETE", 0)


class Definitions:
    """Holds workers back from the definitions of a build, and records all jobs."""

    def __init__(self) -> None:
        self.may_begin = asyncio.Event()
        self.jobs: list[IndexJob] = []

    def parts(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for job in self.jobs:
            found.setdefault(job.part, []).append(os.fsdecode(job.path))
        return {part: sorted(paths) for part, paths in found.items()}


@pytest.fixture
def definitions(monkeypatch: pytest.MonkeyPatch) -> Definitions:
    held, extract = Definitions(), IndexWorkers.extract

    async def extracted(
        self: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False
    ) -> AsyncIterator[tuple[IndexJob, FileRecord | None]]:
        held.jobs += jobs
        if not urgent and any(job.part == "definitions" for job in jobs):
            await held.may_begin.wait()
        async with contextlib.aclosing(extract(self, jobs, urgent)) as answers:
            async for answer in answers:
                yield answer

    monkeypatch.setattr(IndexWorkers, "extract", extracted)
    return held


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_commit(tmp_path / "p", FILES)


@pytest.fixture
def make_server(make_workspace: MakeWorkspace) -> MakeServer:
    """Create workspaces whose searches don't wait for the index."""

    def make(folder: Path) -> EngineWorkspace:
        workspace = make_workspace(folder)
        workspace.lifetime = Lifetime.SERVER
        return workspace

    return make


@contextlib.asynccontextmanager
async def only_texts(workspace: EngineWorkspace) -> AsyncIterator[asyncio.Task[None]]:
    """Build until all texts are indexed, and no definitions; cancel the build at the end."""
    building = asyncio.create_task(workspace.index.build())
    try:
        await until(lambda: workspace.index.state().knows_all_texts)
        yield building
    finally:
        building.cancel()
        await asyncio.gather(building, return_exceptions=True)


async def test_a_name_found_as_text_only_says_that_its_definition_may_follow(
    project: Path,
    make_server: MakeServer,
    definitions: Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As on a busy machine, there is no time to read the file for its definition.
    monkeypatch.setattr("winnow.search.symbols.search.COLD_SECONDS", 0.0)
    workspace = make_server(project)
    async with only_texts(workspace) as building:
        found = await call(workspace, "code_search", query="weigh_parcel")
        assert found.search_type_used == "text"
        assert found.completeness.index.state == "building"
        [reason] = found.completeness.reasons
        assert reason.startswith("nothing is defined with the name weigh_parcel in the files read")
        definitions.may_begin.set()
        await building
    found = await call(workspace, "code_search", query="weigh_parcel")
    assert (found.search_type_used, found.completeness.complete) == ("symbol", True)


async def passages(workspace: EngineWorkspace) -> list[Any]:
    found = await call(workspace, "semantic_search", **MEANING)
    return list(found.results)


async def problems(workspace: EngineWorkspace) -> dict[str, int]:
    reader = await folder_of(workspace).reader()
    try:
        return reader.problem_counts()
    finally:
        reader.close()


def segments_on_disk(project: Path) -> set[str]:
    return {file.stem.rpartition("-")[2] for file in (project / ".winnow").glob("*.seg")}


async def test_a_search_that_lacks_a_few_texts_says_that_they_are_missing(
    project: Path,
    make_server: MakeServer,
    definitions: Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        monkeypatch.setattr(IndexState, "knows_all_texts", False)
        found = await call(workspace, "semantic_search", **MEANING)
        assert found.fallback is None
        [reason] = found.completeness.reasons
        assert reason.endswith(
            "): the other files are missing here, and the order of results may change"
        )


async def test_a_search_by_meaning_answers_from_the_texts(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace) as building:
        found = await call(workspace, "semantic_search", **MEANING)
        assert found.engine == "lexical+embeddings"
        assert found.fallback is None
        best = {hit.path for hit in found.results[:2]}
        assert best == {"post/scales.py", "post/copy_of_scales.py"}
        assert not found.completeness.complete
        [reason] = found.completeness.reasons
        so_far = "the index is being built (all texts, and the definitions of 1 of 6 files"
        assert reason.startswith(so_far)  # on a busy machine, it also says that indexing waits
        assert reason.endswith("): the order of results may change")
        state = found.completeness.index
        assert (state.state, state.texts_indexed, state.files_indexed) == ("building", 6, 1)
        definitions.may_begin.set()
        await building
    found = await call(workspace, "semantic_search", **MEANING)
    assert found.completeness.complete
    assert found.completeness.index.texts_indexed is None


async def test_the_results_shown_have_their_definitions(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)

    def places(found: Any) -> list[Any]:
        return [(hit.path, hit.start_line, hit.end_line, hit.symbol) for hit in found.results]

    async with only_texts(workspace) as building:
        early = await call(workspace, "semantic_search", **MEANING, top_k=2)
        assert {hit.symbol for hit in early.results} == {"weigh_parcel"}
        # The build has parsed nothing yet.
        assert (await problems(workspace))[NO_DEFINITIONS] == WITH_DEFINITIONS - 2
        definitions.may_begin.set()
        await building
    late = await call(workspace, "semantic_search", **MEANING, top_k=2)
    assert places(early) == places(late)


async def test_results_come_though_their_files_are_not_parsed_in_time(
    project: Path,
    make_server: MakeServer,
    definitions: Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_server(project)
    monkeypatch.setattr(indexed, "DEFINITIONS_SECONDS", 0.0)
    async with only_texts(workspace):
        found = await call(workspace, "semantic_search", **MEANING, top_k=2)
    assert [hit.symbol for hit in found.results] == [None, None]
    assert not found.completeness.complete


async def test_the_status_counts_texts(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        status = await current_status(workspace)
    answer = IndexStatusResult(
        root="/p",
        index=status,
        total_found=1,
        returned=1,
        truncated=False,
        completeness=COMPLETE,
        warnings=[],
    )
    lines = "  1 of 6 files indexed\n  and the texts of 6 files, whose definitions follow\n"
    assert lines in TOOLS["index_status"].plain(answer)
    assert (await problems(workspace))[NO_DEFINITIONS] == WITH_DEFINITIONS


@pytest.mark.parametrize(
    ("tool", "params", "found"),
    [
        ("find_symbol", {"name": "buyStamp"}, ["web/stamps.ts"]),
        (
            "find_references",
            {"name": "weigh_parcel", "path": "post/scales.py"},
            ["post/office.py", "post/office.py", "post/scales.py"],
        ),
        ("code_search", {"query": "buyStamp"}, ["web/stamps.ts"]),
    ],
)
async def test_a_search_for_symbols_reads_the_definitions_that_it_needs(
    project: Path,
    make_server: MakeServer,
    definitions: Definitions,
    tool: str,
    params: dict[str, str],
    found: list[str],
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        answer = await call(workspace, tool, **params)
    rows = next(
        value
        for name in ("symbols", "references", "results")
        if (value := getattr(answer, name, None)) is not None
    )
    assert sorted(row.path for row in rows) == found


async def test_the_complete_index_is_that_of_one_pass(
    project: Path,
    tmp_path: Path,
    make_server: MakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "FEW_CHANGES", 0)  # tidy up after any build
    workspace = make_server(project)
    await workspace.index.build()
    monkeypatch.setattr(writing, "MANY_NEW", len(FILES))
    other = make_server(git_commit(tmp_path / "other", FILES))
    await other.index.build()
    assert await passages(workspace) == await passages(other) != []
    assert await problems(workspace) == await problems(other)
    reader = await folder_of(workspace).reader()
    try:
        live = {
            number: len({document for document, _ in reader.keys_in(number)})
            for number in reader.segments()
        }
        # Files with the same text share a document, and no document of the first pass is left.
        assert sum(live.values()) == len(FILES) - 1
        assert live == reader.sizes()
        names = set(reader.segments().values())
    finally:
        reader.close()
    assert segments_on_disk(project) > names
    monkeypatch.setattr("winnow.index.store.merging.GRACE_SECONDS", 0.0)
    monkeypatch.setattr("winnow.index.store.segments.GRACE_SECONDS", 0.0)
    await folder_of(workspace).tidy()
    assert segments_on_disk(project) == names


async def test_a_command_that_waits_for_the_index_reads_each_text_once(
    project: Path, make_workspace: MakeWorkspace, definitions: Definitions
) -> None:
    definitions.may_begin.set()
    built = await call(make_workspace(project), "index", action="build")
    assert built.done
    assert definitions.parts() == {"definitions": sorted(FILES)}


async def test_a_later_build_reads_no_text_again(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        pass
    await workspace.aclose()
    assert definitions.parts()["text"] == sorted(FILES)
    definitions.jobs.clear()
    definitions.may_begin.set()
    later = make_server(project)
    await later.index.build()
    assert definitions.parts() == {"definitions": sorted({*FILES} - {"data.txt"})}
    assert later.index.state().state == "ready"
    assert NO_DEFINITIONS not in await problems(later)


async def test_a_file_that_changes_between_the_passes_is_found_as_it_is(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace) as building:
        write_files(project, {"post/scales.py": "def measure_envelope(): ...\n"})
        workspace.files_changed([project / "post/scales.py"])
        found = await call(workspace, "semantic_search", query="measure an envelope")
        assert found.results[0].path == "post/scales.py"
        definitions.may_begin.set()
        await building
    found = await call(workspace, "find_symbol", name="measure_envelope")
    assert [symbol.path for symbol in found.symbols] == ["post/scales.py"]
    assert found.completeness.complete


async def test_a_complete_index_keeps_its_definitions_while_many_files_change(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    definitions.may_begin.set()
    workspace = make_server(project)
    await workspace.index.build()
    definitions.jobs.clear()
    write_files(project, {path: text + "\n" for path, text in FILES.items()})
    await workspace.index.build()
    assert "text" not in definitions.parts()


async def test_an_outline_has_the_definitions_of_its_file(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace, file = make_server(project), f"{project.as_posix()}/post/scales.py"
    async with only_texts(workspace), workspace.index.snapshot({}, 0, [file]) as (view, _):
        found = await view.read(view.definitions_in, file)
    assert [definition.name for definition in found] == ["weigh_parcel"]


async def test_texts_of_an_earlier_index_do_not_count(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    definitions.may_begin.set()
    workspace = make_server(project)
    await workspace.index.build()
    await workspace.aclose()
    definitions.may_begin.clear()
    definitions.jobs.clear()
    code = [path for path in FILES if path.endswith((".py", ".ts"))]
    write_files(project, dict.fromkeys(code, "measure_envelope = 1\n"))
    later = make_server(project)
    building = asyncio.create_task(later.index.build())
    await until(lambda: any(job.part == "definitions" for job in definitions.jobs))
    assert not later.index.state().knows_all_texts
    found = await call(later, "semantic_search", query="measure an envelope")
    assert {hit.path for hit in found.results} == {*code}
    definitions.may_begin.set()
    await building


async def test_all_folders_of_a_workspace_count(
    project: Path, tmp_path: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    other = git_commit(tmp_path / "other", {"envelope.py": "def measure_envelope(): ...\n"})
    workspace = make_server(project)
    workspace.change_folders([other], [])
    building = asyncio.create_task(workspace.index.build())
    await until(lambda: any(job.part == "definitions" for job in definitions.jobs))
    assert not workspace.index.state().knows_all_texts
    found = await call(workspace, "semantic_search", query="measure an envelope")
    assert [hit.path.rpartition("/")[2] for hit in found.results] == ["envelope.py"]
    definitions.may_begin.set()
    await building


async def test_a_new_file_is_found_before_the_build_ends(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace) as building:
        write_files(project, {"post/envelope.py": "def measure_envelope(): ...\n"})
        workspace.files_changed([project / "post/envelope.py"])
        await until(lambda: not workspace.index.state().knows_all_texts)
        await until(lambda: not workspace.index._updates.is_busy)
        found = await call(workspace, "semantic_search", query="measure an envelope")
        assert [hit.path for hit in found.results] == ["post/envelope.py"]
        definitions.may_begin.set()
        await building


async def test_an_old_listing_is_not_trusted(
    project: Path,
    make_server: MakeServer,
    definitions: Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        monkeypatch.setattr("winnow.index.builder.folder_files.FRESH_SECONDS", 0.0)
        assert not workspace.index.state().knows_all_texts


def test_a_text_replaces_no_definitions(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "p", {"a.py": SCALES})
    store = Store.temporary()
    for part, problem in (("text", NO_DEFINITIONS), ("definitions", ""), ("text", "")):
        fill(store, folder, part)  # type: ignore[arg-type]
        with store.read() as reader:
            assert reader.files()["a.py"].problem == problem
            assert len(reader.definitions_in("a.py")) == (not problem)
    store.drop_texts()
    with store.read() as reader:
        assert [*reader.files()] == ["a.py"]
    write_files(folder, {"a.py": "def other(): ...\n"})
    fill(store, folder, "text")
    store.drop_texts()
    with store.read() as reader:
        assert reader.files() == {}
    store.check()
    store.close()


async def test_only_texts_without_secrets_are_not_searched_for_secrets_again(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    secret = "".join(("gh", "p_", "Zk3vQ8Lr2XwTn5Yb7Hc9", "Md4Jf6Gp1Sa0UeKt"))
    held, changed = f'TOKEN = "{secret}"\n', f'{SCALES}KEY = "{secret}"\n'
    write_files(project, {"post/token.py": held})
    workspace = make_server(project)
    building = asyncio.create_task(workspace.index.build())
    await until(lambda: workspace.index.state().knows_all_texts)
    # Its text had no secret when it was indexed.
    write_files(project, {"post/scales.py": changed})
    definitions.may_begin.set()
    await building
    jobs = {os.fsdecode(job.path): job for job in definitions.jobs if job.part == "definitions"}
    assert jobs["post/office.py"].harmless
    assert not jobs["post/token.py"].harmless
    with contextlib.closing(await folder_of(workspace).reader()) as reader:
        for path in ("post/token.py", "post/scales.py"):
            signature = reader.definitions_in(path)[-1].signature
            assert "****" in signature
            assert secret not in signature


async def test_a_full_index_has_as_many_files_as_that_of_one_pass(
    tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "BATCH_FILES", 40)
    monkeypatch.setattr("winnow.index.builder.size_limit.MEGABYTE", 1)
    files = {
        f"m{number}.py": "".join(f"def word_{number}_{line}(): ...\n" for line in range(40))
        for number in range(400)
    }
    left_out = []
    for number, many_new in enumerate((0, len(files))):
        monkeypatch.setattr(writing, "MANY_NEW", many_new)
        config = Config(index=IndexSettings(max_index_size_mb=1_000_000))
        folder = write_files(tmp_path / str(number), files)
        workspace = make_workspace(folder, config=config)
        await workspace.index.build(consent=True)
        left_out.append((await problems(workspace)).get(FULL, 0))
        assert NO_DEFINITIONS not in await problems(workspace)
    assert 0 < left_out[0] < left_out[1] + 30


async def test_the_count_of_texts_ends_with_the_build(
    project: Path, make_server: MakeServer
) -> None:
    workspace = make_server(project)
    await workspace.index.build()
    (project / "data.txt").unlink()
    workspace.files_changed([project / "data.txt"])
    await until(lambda: workspace.index.state().files_total == len(FILES) - 1)
    assert workspace.index.state().texts_indexed is None
    assert (await current_status(workspace)).folders[0].texts_indexed is None


async def test_the_outline_of_a_file_is_known_before_its_definitions_are_indexed(
    project: Path, make_server: MakeServer, definitions: Definitions
) -> None:
    workspace = make_server(project)
    async with only_texts(workspace):
        params = {"path": "post/scales.py", "outline": True}
        outline = await TOOLS["read_file"].call(workspace, params, no_progress)
    assert outline.chunks[0].content == "def weigh_parcel(parcel):\n"
