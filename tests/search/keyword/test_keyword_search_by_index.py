"""Keyword search where there is an index: files that no term matches, and the order of all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import FAKE_KEY, SLOW_TERM, MakeWorkspace, Recorder, built, models_config, write_files
from model_server import ModelServer
from winnow.config import Config, IndexSettings, LearningSettings, merge_layer
from winnow.errors import TermsTooBroad
from winnow.index.builder.disk_scan import Changes, IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.search.code import indexed
from winnow.search.keyword.rows import RankedFile
from winnow.search.keyword.search import ONLY_INDEX
from winnow.search.keyword.terms import TermSearch
from winnow.tools import TOOLS
from winnow.tools.keyword_search import KeywordSearchPartial, KeywordSearchResult, text
from winnow.tools.terminal import Style
from winnow.workspace import EngineWorkspace, Lifetime

TOOL = TOOLS["keyword_search"]
QUESTION = "where are parcels weighed before shipping"
# The query is about files without `postage`, which is the only search term.
FILES = {
    "shop/postage.py": "def postage(kilos):\n    return 3 + kilos\n",
    "shop/parcels.py": (
        "class Scales:\n"
        "    def weigh_parcel(self, parcel):\n"
        '        """Weigh a parcel before it is shipped."""\n'
        "        return parcel.kilos\n"
    ),
    "shop/colours.py": "RED = 'red'\n",
    "docs/parcels.md": "# Parcels\n\nParcels are weighed before shipping.\n",
}
BROAD = {"broad.txt": "postage due\n" * 8000}


async def search(workspace: EngineWorkspace, *terms: str, **params: Any) -> KeywordSearchResult:
    recorder = params.pop("recorder", None) or Recorder()
    raw = {"query": QUESTION, "search_terms": list(terms) or ["postage"], **params}
    result: KeywordSearchResult = await TOOL.call(workspace, raw, recorder)
    return result


def paths(result: KeywordSearchResult) -> list[str]:
    return [file.path for file in result.files]


def by_index(result: KeywordSearchResult) -> dict[str, RankedFile]:
    return {file.path: file for file in result.files if file.by == "index"}


@pytest.fixture(autouse=True)
def time_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for the index: on a busy machine, its answer could come too late."""
    monkeypatch.setattr("winnow.search.keyword.index_results.SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.keyword.index_results.ALONE_SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.code.indexed.CATCH_UP_SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.code.indexed.SEARCH_SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.index.background.OPEN_SECONDS", 30.0)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", FILES)


@pytest.fixture
async def workspace(make_workspace: MakeWorkspace, shop: Path) -> EngineWorkspace:
    return await built(make_workspace(shop))


async def test_files_that_no_term_matches_are_added_with_their_passage(
    workspace: EngineWorkspace,
) -> None:
    recorder = Recorder()
    result = await search(workspace, recorder=recorder)
    assert set(paths(result)) == {"shop/postage.py", "shop/parcels.py", "docs/parcels.md"}
    assert set(by_index(result)) == {"shop/parcels.py", "docs/parcels.md"}
    (file,) = (file for file in result.files if file.path == "shop/parcels.py")
    assert file.passage is not None
    assert msgspec.to_builtins(file) == {
        "path": "shop/parcels.py",
        "reason": file.reason,
        "terms": [],
        "matches": [],
        "by": "index",
        "passage": {
            "start_line": 2,
            "end_line": 4,
            "score": file.passage.score,
            "symbol": "Scales.weigh_parcel",
            "snippet": FILES["shop/parcels.py"].rstrip("\n").partition("\n")[2],
            "snippet_line": 2,
        },
        "line": 2,
        "line_text": "    def weigh_parcel(self, parcel):",
        "score": file.score,
    }
    assert file.reason.startswith("from the index: ")
    assert (result.total_found, result.returned, result.warnings) == (3, 3, [])
    assert result.total_by_index == 2
    assert "1 file matches, 2 more from the index" in recorder.messages
    assert result.completeness.complete
    assert result.completeness.index is not None
    assert result.completeness.index.state == "ready"
    shown = text(result, Style(colour=False), str(workspace.folders[0]))
    assert "shop/parcels.py:2\n" in shown
    assert "\n3 of 3 files, ranked by the local ranker\n  (2 of them by the index alone)\n" in shown


async def test_a_file_that_matches_is_marked_by_its_terms_alone(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "weigh_parcel", "postage")
    assert set(by_index(result)) == {"docs/parcels.md"}
    (file,) = (file for file in result.files if file.path == "shop/parcels.py")
    assert (file.terms, file.by, file.line) == (["weigh_parcel"], None, 2)


@pytest.mark.parametrize("enabled", [True, False])
async def test_words_far_from_the_matches_affect_the_order(
    make_workspace: MakeWorkspace, tmp_path: Path, enabled: bool
) -> None:
    files = {
        f"module{letter}.py": (
            f"item = 1\n\n\ndef run_{letter}(order):\n    return item + order\n" + "\n\n" * 30
        )
        for letter in "abcdef"
    }
    files["modulee.py"] += "class Customs:\n    def declare(self): ...\n"
    folder = write_files(tmp_path / "same", files)
    workspace = make_workspace(folder, config=Config(index=IndexSettings(enabled=enabled)))
    await workspace.index.build()
    params = {"query": "customs declare", "search_terms": ["item"]}
    result: KeywordSearchResult = await TOOL.call(workspace, params, Recorder())
    assert paths(result)[0] == "modulee.py"
    assert sorted(paths(result)) == sorted(files)
    first = result.files[0]
    assert first.passage is not None
    assert first.passage.start_line <= (first.line or 0) <= first.passage.end_line
    assert first.line_text == "class Customs:"


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        ({"path": "shop"}, {"shop/parcels.py"}),
        ({"path": "shop/postage.py"}, set()),
        ({"include": ["*.md"]}, {"docs/parcels.md"}),
        ({"exclude": ["docs/**"]}, {"shop/parcels.py"}),
        ({"file_types": ["md"]}, {"docs/parcels.md"}),
    ],
)
async def test_only_files_in_the_scope_are_added(
    workspace: EngineWorkspace, scope: dict[str, Any], found: set[str]
) -> None:
    assert set(by_index(await search(workspace, "postage", "shi?pping", **scope))) <= found
    assert set(by_index(await search(workspace, **scope))) == found


async def test_paths_of_a_second_folder_have_their_root(
    make_workspace: MakeWorkspace, shop: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", {"scales.py": FILES["shop/parcels.py"]})
    workspace = await built(make_workspace(shop, other))
    found = by_index(await search(workspace))
    assert found["scales.py"].root == str(other)
    # A file that both engines find counts once.
    result = await search(workspace, "weigh_parcel")
    assert sorted(paths(result)).count("scales.py") == 1
    assert set(by_index(result)) == {"docs/parcels.md"}


async def test_the_editors_text_counts_and_files_that_are_gone_do_not(
    workspace: EngineWorkspace, shop: Path
) -> None:
    workspace.open_documents = lambda: {
        shop / "shop/colours.py": "def weigh_shipping_parcels(parcels):\n    return sum(parcels)\n",
        shop / "shop/parcels.py": "GONE = 1\n",
    }
    (shop / "docs/parcels.md").unlink()
    found = by_index(await search(workspace))
    shown = {path: file.passage and file.passage.snippet for path, file in found.items()}
    assert shown == {
        "shop/colours.py": "def weigh_shipping_parcels(parcels):\n    return sum(parcels)",
        "shop/parcels.py": "GONE = 1",
    }


async def test_a_changed_file_is_shown_with_its_current_text(
    workspace: EngineWorkspace, shop: Path
) -> None:
    (shop / "shop/parcels.py").write_text("\n\n# moved\n" + FILES["shop/parcels.py"])
    passage = by_index(await search(workspace))["shop/parcels.py"].passage
    assert passage is not None
    assert passage.snippet is not None
    assert passage.start_line == 5
    assert passage.snippet == FILES["shop/parcels.py"].rstrip("\n").partition("\n")[2]


# --- where the terms find nothing that can be used -----------------------------------------


async def test_if_all_terms_are_too_broad_the_index_answers(
    workspace: EngineWorkspace, shop: Path
) -> None:
    write_files(shop, BROAD)
    workspace.files_changed([shop / "broad.txt"])
    result = await search(workspace)
    assert [term.status for term in result.terms] == ["too_broad"]
    assert {"shop/parcels.py", "docs/parcels.md"} <= set(by_index(result)) == set(paths(result))
    assert not result.completeness.complete
    assert result.completeness.reasons == ["these terms were not used: postage"]
    assert result.warnings == [ONLY_INDEX]


async def test_all_terms_too_broad_without_index_results_is_an_error(
    make_workspace: MakeWorkspace, shop: Path
) -> None:
    write_files(shop, BROAD)
    workspace = make_workspace(shop)
    with pytest.raises(TermsTooBroad):
        await search(workspace)
    await workspace.index.build()
    with pytest.raises(TermsTooBroad):
        await search(workspace, ".", query="zebra")


async def test_a_warning_reports_that_all_files_come_from_the_index(
    workspace: EngineWorkspace, shop: Path
) -> None:
    write_files(shop, {".hidden.py": "franking = 1\n"})
    result = await search(workspace, "franking")
    assert set(by_index(result)) == set(paths(result)) == {"shop/parcels.py", "docs/parcels.md"}
    assert not result.no_relevant_files
    assert result.warnings == [
        ONLY_INDEX,
        "0 matches; 1 excluded files match: pass include_hidden",
    ]
    nothing = await search(workspace, "franking", query="zebra crossing")
    assert (nothing.files, nothing.no_relevant_files) == ([], True)
    assert nothing.warnings == result.warnings[1:]


# --- models --------------------------------------------------------------------------------


async def test_a_dry_run_shows_the_passages_that_a_model_would_see(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, dry_run=True, ranker="auto")
    assert result.payload is not None
    assert "shop/parcels.py\n1-class Scales:\n2-    def weigh_parcel" in result.payload.prompt
    assert "(an index points to these lines)" in result.payload.prompt
    assert "1:def postage(kilos):" in result.payload.prompt


async def test_a_model_may_choose_a_file_that_the_index_adds(
    make_workspace: MakeWorkspace, shop: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(shop, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    result = await search(workspace, ranker="llm")
    assert result.ranked_by.kind == "llm"
    assert "shop/parcels.py" in by_index(result)


# --- when the index is used ----------------------------------------------------------------


async def test_a_search_does_not_build_an_index(make_workspace: MakeWorkspace, shop: Path) -> None:
    workspace = make_workspace(shop, config=Config(learning=LearningSettings(enabled=False)))
    result = await search(workspace)
    assert (paths(result), result.completeness.index) == (["shop/postage.py"], None)
    assert not (shop / ".winnow").exists()


async def test_an_index_of_an_earlier_process_answers(
    workspace: EngineWorkspace, make_workspace: MakeWorkspace, shop: Path
) -> None:
    await workspace.index.aclose()
    assert by_index(await search(make_workspace(shop)))
    off = make_workspace(shop, config=Config(index=IndexSettings(enabled=False)))
    assert not by_index(await search(off))


async def test_the_first_query_waits_for_an_index_on_disk(
    workspace: EngineWorkspace, make_workspace: MakeWorkspace, shop: Path
) -> None:
    """It was refused though all terms are too broad for ripgrep alone (#21)."""
    write_files(shop, BROAD)
    await workspace.index.build()
    later = await search(workspace)
    await workspace.aclose()
    server = make_workspace(shop)
    server.lifetime = Lifetime.SERVER
    result = await search(server)
    assert paths(result) == paths(later) != []
    assert result.completeness.index is not None
    assert result.completeness.index.state == "ready"
    assert result.warnings == [ONLY_INDEX]


async def test_rows_by_text_are_shown_while_the_index_opens(
    workspace: EngineWorkspace,
    make_workspace: MakeWorkspace,
    shop: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await workspace.aclose()
    recorder = Recorder()
    recorder.streaming = True
    opened = FolderIndex.open

    async def open_behind_rows(folder: FolderIndex, covers: IndexScope, few: int) -> Changes:
        while not recorder.partials:
            await asyncio.sleep(0.01)
        return await opened(folder, covers, few)

    monkeypatch.setattr(FolderIndex, "open", open_behind_rows)
    server = make_workspace(shop)
    server.lifetime = Lifetime.SERVER
    result = await search(server, recorder=recorder)
    assert "Opening the index" in recorder.messages
    first = recorder.partials[0]
    assert isinstance(first, KeywordSearchPartial)
    assert [file.path for file in first.files] == ["shop/postage.py"]
    assert set(by_index(result)) == {"shop/parcels.py", "docs/parcels.md"}


async def test_an_index_that_is_being_built_is_not_waited_for(
    make_workspace: MakeWorkspace, shop: Path
) -> None:
    workspace = make_workspace(shop)
    workspace.lifetime = Lifetime.SERVER
    result = await search(workspace)
    assert (paths(result), result.completeness.index) == (["shop/postage.py"], None)
    assert result.warnings == []


async def test_a_slow_index_does_not_delay_the_search(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*arguments: object, **more: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(indexed, "search_index", never)
    monkeypatch.setattr("winnow.search.keyword.index_results.SECONDS", 1.0)
    recorder = Recorder()
    recorder.streaming = True
    result = await asyncio.wait_for(search(workspace, recorder=recorder), 60)
    assert paths(result) == ["shop/postage.py"]
    assert result.warnings == ["the index did not answer in time"]
    assert recorder.partials


async def test_the_first_partial_result_does_not_wait_for_the_index(
    make_workspace: MakeWorkspace, slow_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, _ = merge_layer(Config(), {"limits": {"search_seconds": 60}}, "test")
    workspace = make_workspace(write_files(slow_project, FILES), config=config)
    held = asyncio.Event()
    ask = indexed.search_index

    async def late(*arguments: Any, **more: Any) -> Any:
        await held.wait()
        return await ask(*arguments, **more)

    class Waiting(Recorder):
        def __call__(self, message: str, **more: Any) -> None:
            super().__call__(message, **more)
            if self.partials:
                held.set()
                # The second partial result waits for the index, also on a busy machine.
                monkeypatch.setattr("winnow.search.keyword.search.PARTIAL_SECONDS", 60.0)
            if len(self.partials) == 2:  # as if its time were up
                for child in list(workspace.processes._alive):
                    if child._deadline is not None:
                        child._expire()

    monkeypatch.setattr(indexed, "search_index", late)
    await workspace.index.build()
    recorder = Waiting()
    recorder.streaming = True
    result = await search(workspace, "postage", SLOW_TERM, recorder=recorder)
    partials = [one for one in recorder.partials if isinstance(one, KeywordSearchPartial)]
    assert [file.path for file in partials[0].files] == ["shop/postage.py"]
    # The next one has the index's files, before ripgrep is done.
    assert {file.path for file in partials[1].files} == set(paths(result))
    assert set(by_index(result)) == {"shop/parcels.py", "docs/parcels.md"}


# --- what was learned ----------------------------------------------------------------------


async def test_useful_files_come_first_for_a_similar_query(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"module_{letter}.py": "postage = 1\n" for letter in "abcd"}
    folder = write_files(tmp_path / "same", files)
    workspace = make_workspace(folder, config=Config(index=IndexSettings(enabled=False)))
    before = await search(workspace)
    assert paths(before) == sorted(files)
    for path, action in (("module_c.py", "up"), ("module_a.py", "down")):
        told = {"search_id": before.search_id, "path": path, "action": action}
        await TOOLS["feedback"].call(workspace, told, Recorder())
    after = await search(workspace, query=f"{QUESTION} at night")
    assert paths(after) == ["module_c.py", "module_b.py", "module_d.py", "module_a.py"]
    assert after.files[0].reason.startswith("useful for an earlier similar query; ")
    assert after.files[0].reason.endswith("; matches postage")
    assert after.files[3].reason.startswith("not useful for an earlier similar query; ")
    other = await search(workspace, query="postage stamps of Mauritius")
    assert paths(other) == sorted(files)


@pytest.mark.parametrize("enabled", [True, False])
async def test_semantic_search_waits_for_an_index_on_disk(
    make_workspace: MakeWorkspace, tmp_path: Path, enabled: bool
) -> None:
    files = {f"module_{letter}.py": "postage = 1\n" for letter in "abcd"}
    folder = write_files(tmp_path / "same", files)
    workspace = make_workspace(folder, config=Config(index=IndexSettings(enabled=enabled)))
    params = {"query": "what is the postage"}
    before = await TOOLS["semantic_search"].call(workspace, params, Recorder())
    assert sorted(one.path for one in before.results) == sorted(files)
    last = before.results[-1].path
    told = {"search_id": before.search_id, "path": last, "action": "up"}
    await TOOLS["feedback"].call(workspace, told, Recorder())
    after = await TOOLS["semantic_search"].call(workspace, params, Recorder())
    assert after.results[0].path == last
    assert "useful for an earlier similar query" in after.results[0].why.split("; ")


async def test_scores_do_not_depend_on_which_runs_of_ripgrep_finish(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_prefilter(*arguments: Any) -> list[None]:
        return [None] * len(arguments[-1])

    collect = TermSearch._collect

    async def not_to_the_end(self: TermSearch, *arguments: Any, **options: Any) -> None:
        await collect(self, *arguments, **options)

    monkeypatch.setattr("winnow.search.keyword.search.prefilter", no_prefilter)
    complete = await search(workspace, "postage", "kilos")
    monkeypatch.setattr(TermSearch, "_collect", not_to_the_end)
    cut_short = await search(workspace, "postage", "kilos")
    assert complete.files
    assert msgspec.to_builtins(complete.files) == msgspec.to_builtins(cut_short.files)
