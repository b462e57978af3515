"""Members that the title of a report names, and their definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import answered
from conftest import MakeWorkspace, write_files
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["code_search"]
FILLER = "".join(f"    def empty_value_{at}(self):\n        return []\n\n" for at in range(30))
FILES = {
    "ship/load.py": (
        f"class Load:\n{FILLER}    def weight(self):\n        return 1\n\n"
        "class Cargo(Load):\n    pass\n"
    ),
    "ship/keel.rb": "class Keel\n  def depth\n    1\n  end\nend\n",
    "tests/test_load.py": "class Rope:\n    def weight(self):\n        return 2\n",
    "docs/load.md": "# Load\n\nLoad.weight of an empty value is 0.\n",
}


async def first(workspace: EngineWorkspace, query: str) -> tuple[str, int | None, str | None]:
    raw = {"query": query}
    result = await answered(TOOL, CodeSearchResult, workspace, raw, no_progress, items="results")
    row = result.results[0]
    return row.path, row.line, row.why


@pytest.mark.parametrize(
    ("title", "path", "line", "why"),
    [
        ("Load.weight raises for an empty value", "ship/load.py", 92, "defines Load.weight"),
        ("Cargo.weight raises for an empty value", "ship/load.py", 92, "defines Cargo.weight"),
        ("Why is Load::weight() never empty?", "ship/load.py", 92, "defines Load::weight"),
        ("Keel#depth is wrong for an empty value", "ship/keel.rb", 2, "defines Keel#depth"),
    ],
)
async def test_the_definition_of_a_named_member_is_first(
    make_workspace: MakeWorkspace, tmp_path: Path, title: str, path: str, line: int, why: str
) -> None:
    workspace = make_workspace(write_files(tmp_path, FILES))
    await workspace.index.build()
    assert await first(workspace, title) == (path, line, why)


@pytest.mark.parametrize(
    "title", ["Rope.weight raises for an empty value", "Load.rope raises for an empty value"]
)
async def test_a_member_of_a_test_or_of_nothing_is_not_preferred(
    make_workspace: MakeWorkspace, tmp_path: Path, title: str
) -> None:
    workspace = make_workspace(write_files(tmp_path, FILES))
    await workspace.index.build()
    _, _, why = await first(workspace, title)
    assert why != f"defines {title.split()[0]}"
