"""The explanation of a query: its parts, and the words that are searched for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asking import answered
from conftest import IndexFiles, MakeWorkspace
from winnow.config import Config, IndexSettings
from winnow.search.code.explanation import ExplainedTerm, NamedPlace
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult, plain
from winnow.tools.terminal import Style
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["code_search"]
REPORT = """\
Plugins are loaded twice

Since the upgrade `Loader.load_plugin` runs "again and again", see src/loader.py. Set LOAD_ONCE=1.

Traceback (most recent call last):
  File "/srv/src/loader.py", line 7, in load_plugin
    raise KeyError(name)
KeyError: 'no such plugin'
"""


async def search(workspace: EngineWorkspace, query: str, **params: Any) -> CodeSearchResult:
    raw = {"query": query, "explain": True, **params}
    return await answered(TOOL, CodeSearchResult, workspace, raw)


async def test_the_parts_of_a_report_are_named(indexed: EngineWorkspace) -> None:
    result = await search(indexed, REPORT)
    found = result.explanation
    assert found is not None
    assert found.title == "Plugins are loaded twice"
    assert found.frames == [NamedPlace(path="/srv/src/loader.py", line=7, function="load_plugin")]
    assert found.errors == ["KeyError: 'no such plugin'"]
    assert found.paths == ["src/loader.py"]
    assert "Loader.load_plugin" in (found.names or ())
    assert found.quotes == ["again and again", "no such plugin"]
    assert found.options == ["LOAD_ONCE"]
    shown = plain(result)
    assert "[title: Plugins are loaded twice]" in shown
    assert "[frames: /srv/src/loader.py:7 in load_plugin]" in shown
    assert "[errors: KeyError: 'no such plugin']" in shown


async def test_words_have_the_rarity_of_the_index_and_the_rarest_come_first(
    index_files: IndexFiles,
) -> None:
    texts = {f"src/a{n}.py": f"def common_{n}():\n    return common\n" for n in range(9)}
    workspace = await index_files({**texts, "src/b.py": "def rare_thing():\n    return common\n"})
    result = await search(workspace, "where is the common rare thing missing")
    assert result.explanation is not None
    rarity = {term.word: term.rarity for term in result.explanation.terms}
    assert list(rarity) == ["rare", "thing", "common", "missing"]
    assert rarity["rare"] == rarity["thing"]
    assert (rarity["rare"] or 0) > (rarity["common"] or 0) > 0
    assert rarity["missing"] == 0
    assert f"[words, weight × rarity: rare 1 × {rarity['rare']:g}, " in plain(result)


async def test_without_an_index_words_have_weights_only(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = make_workspace(project, config=Config(index=IndexSettings(enabled=False)))
    result = await search(workspace, "how are plugins loaded")
    assert result.explanation is not None
    assert result.explanation.terms == [
        ExplainedTerm(word="plugins", weight=1.0),
        ExplainedTerm(word="loaded", weight=1.0),
    ]


@pytest.mark.parametrize("tool", ["code_search", "semantic_search"])
async def test_only_an_explained_answer_has_an_explanation(
    workspace: EngineWorkspace, project: Path, tool: str
) -> None:
    for wanted in (True, False):
        params = {"query": "how are plugins loaded", "explain": wanted}
        result: Any = await TOOLS[tool].call(workspace, params, no_progress)
        assert (result.explanation is not None) == wanted
        for shown in (
            TOOLS[tool].plain(result),
            TOOLS[tool].text(result, Style(colour=False), str(project)),
        ):
            assert ("[words, weight × rarity: " in shown) == wanted
