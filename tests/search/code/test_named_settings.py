"""Settings and selectors that the title of a report names, and the lines that use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import answered
from conftest import MakeWorkspace, write_files
from winnow.search.code.named_settings import settings_in
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress

TOOL = TOOLS["code_search"]
FILES = {
    "docs/settings.md": (
        "# Settings\n\nSHIP_PORT is ignored by old ships: `getenv('SHIP_PORT')`.\n\n"
        "`--max-load` limits the load. `keelDepth: 0` has no effect on a raft.\n"
    ),
    "tests/test_ship.py": 'def test_port():\n    assert os.getenv("SHIP_PORT") == "1"\n',
    "ship/port.py": (
        'import os\n\n__all__ = ["SHIP_PORT"]\n\n# os.getenv("SHIP_PORT") is a number\n'
        'def port():\n    return os.getenv(\n        "SHIP_PORT",\n    )\n'
    ),
    "ship/load.py": (
        "def set_load(options, given):\n    options.max_load = given\n\n"
        "def is_full(options, load):\n    return load > options.max_load\n"
    ),
    "ship/keel.ts": (
        "const own = { keelDepth: options.keelDepth }\n"
        "export function depth(config) { return config.keelDepth || 1 }\n"
    ),
    "ship/mast.c": "if(config->no_sail)\n  return 0;\n",
    "web/deck.css": (
        "// before .deck-table\n.deck-chair, .deck-table:hover {\n  color: red;\n}\n#helm {\n}\n"
    ),
    "web/deck.html": '<div class="wide deck-chair flag-pole">\n</div>\n',
    "web/deck.js": "document.querySelector('.deck-chair').remove()\n",
}


@pytest.mark.parametrize(
    ("title", "place", "why"),
    [
        ("SHIP_PORT is ignored on old ships", "ship/port.py:8", "reads SHIP_PORT"),
        ("[BUG] SHIP_PORT=5 has no effect", "ship/port.py:8", "reads SHIP_PORT"),
        ("--max-load is ignored by old ships", "ship/load.py:5", "reads max-load"),
        ("`keelDepth: 0` has no effect on a raft", "ship/keel.ts:2", "reads keelDepth"),
        ("no effect of --no-sail on a raft", "ship/mast.c:1", "reads no-sail"),
        (".deck-chair overlaps the rail", "web/deck.css:2", "styles .deck-chair"),
        ("the .deck-table is too narrow", "web/deck.css:2", "styles .deck-table"),
        (".flag-pole is hidden by old ships", "web/deck.html:1", "has .flag-pole"),
        ("the #helm element is too narrow", "web/deck.css:5", "styles #helm"),
        ("div#helm is too narrow", "web/deck.css:5", "styles #helm"),
    ],
)
async def test_the_code_that_uses_a_setting_is_first(
    make_workspace: MakeWorkspace, tmp_path: Path, title: str, place: str, why: str
) -> None:
    workspace = make_workspace(write_files(tmp_path, FILES))
    await workspace.index.build()
    raw = {"query": title}
    result = await answered(TOOL, CodeSearchResult, workspace, raw, no_progress, items="results")
    first = result.results[0]
    assert (f"{first.path}:{first.best_line or first.line}", first.why) == (place, why)


async def test_a_setting_in_many_files_is_not_preferred(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    used = {f"ship/part{number}.py": "options.max_load\n" for number in range(5)}
    workspace = make_workspace(write_files(tmp_path, used))
    raw = {"query": "--max-load is ignored by old ships"}
    result = await answered(TOOL, CodeSearchResult, workspace, raw, no_progress, items="results")
    assert not any(one.why and "max-load" in one.why for one in result.results)


async def test_a_word_in_capitals_is_read_as_a_setting(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"a.py": 'allow(\n    "DELETE",\n)\n', "b.py": 'getenv(\n    "EDITOR",\n)\n'}
    workspace = make_workspace(write_files(tmp_path, files))
    rows = []
    for word in ("DELETE", "EDITOR"):
        raw = {"query": f"{word} is ignored by old ships"}
        result = await answered(
            TOOL, CodeSearchResult, workspace, raw, no_progress, items="results"
        )
        rows += [(one.path, one.why) for one in result.results if one.why == f"reads {word}"]
    assert rows == [("b.py", "reads EDITOR")]


@pytest.mark.parametrize(
    "title",
    [
        "The API of HTTP/2 fails at 10:30: true story",
        "port: 80 and force = true are ignored",
        "--force is ignored",
        "setup.py and .env are ignored, see #12 and #issue",
        "see docs/MAX_SIZE.md and ../some-file.css and https://example.org/#a-b",
        "load_plugin and loadPlugin raise when the name is_empty",
    ],
)
def test_other_words_are_no_settings(title: str) -> None:
    assert settings_in(title) == []
