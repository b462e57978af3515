"""A search that runs out of time answers with what it has found, on each surface."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from conftest import child_environment, requires_posix, write_files
from documents.conftest import environment_with_formats
from mcp_client import connected
from unending_ripgrep import UNENDING, unending_ripgrep

pytestmark = [requires_posix, pytest.mark.process, pytest.mark.slow]

FILES = {
    UNENDING: "",
    "a.py": f"def needle():\n    return '{UNENDING}'\n",
    "b.txt": f"needle {UNENDING}\n",
    # Its reader never ends.
    "slow/a.hang": "",
}
# The tools with their arguments, what the answer contains, and what it says.
SEARCHES = [
    pytest.param(
        *("grep", ["grep", f"needle|{UNENDING}"], {"pattern": f"needle|{UNENDING}"}),
        *(["a.py", "b.txt"], "stopped after 3 s"),
        id="grep",
    ),
    pytest.param(
        *("code_search", ["search", f"where is {UNENDING}"], {"query": f"where is {UNENDING}"}),
        *(["a.py", "b.txt"], "stopped after 3 s"),
        id="search",
    ),
    pytest.param(
        *("search_docs", ["search-docs", "needle", "--timeout", "3"]),
        {"query": "needle", "timeout": 3},
        *(["b.txt"], "1 document has not been read yet: try again"),
        id="search-docs",
    ),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", FILES)


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a ripgrep and a document format whose searches never end."""
    settings = tmp_path / "config.toml"
    settings.write_text(
        f'[limits]\nsearch_seconds = 3.0\n[programs]\nrg = "{unending_ripgrep(tmp_path)}"\n'
        "[index]\nenabled = false\n"
    )
    return {**environment_with_formats(tmp_path), "WINNOW_CONFIG": str(settings)}


@pytest.mark.parametrize(("tool", "line", "params", "found", "said"), SEARCHES)
def test_the_command_line_prints_what_was_found(
    tool: str,
    line: list[str],
    params: Mapping[str, Any],
    found: list[str],
    said: str,
    root: Path,
    variables: dict[str, str],
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "winnow", *line],
        cwd=root,
        env=child_environment(root.parent, **variables),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert all(path in done.stdout for path in found), done.stdout
    assert said in done.stdout


@pytest.mark.wire
@pytest.mark.parametrize(("tool", "line", "params", "found", "said"), SEARCHES)
async def test_an_agent_gets_what_was_found(
    tool: str,
    line: list[str],
    params: Mapping[str, Any],
    found: list[str],
    said: str,
    root: Path,
    variables: dict[str, str],
) -> None:
    async with connected(root, settings="", variables=variables) as client:
        answer = await client.call_tool(tool, dict(params))
    [content] = answer.content
    assert isinstance(content, types.TextContent)
    assert not answer.is_error, content.text
    assert all(path in content.text for path in found), content.text
    assert said in content.text
