"""$/grep on the wire: the contract's shape, streams, cancellation."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SLOW_TERM, requires_posix
from frontends.lsp.conftest import Client, StartClient, check_cancelled_soon

pytestmark = pytest.mark.wire

METHOD = "$/grep"


async def test_matches_have_the_shape_of_the_contract(client: Client, project: Path) -> None:
    result = await client.request(METHOD, {"pattern": "def load_plugins", "context_lines": 0})
    assert result["root"] == str(project)
    assert result["matches"] == [
        {
            "path": "src/loader.py",
            "line": 2,
            "column": 5,
            "match_range": [5, 21],
            "preview": [{"line": 2, "text": "    def load_plugins(self, names):", "match": True}],
        }
    ]
    assert (result["total_matches"], result["total_found"], result["returned"]) == (1, 1, 1)
    assert result["truncated"] is False
    assert result["completeness"]["complete"] is True
    assert result["completeness"]["skipped"]["ignored"] == 1


async def test_partial_results_are_complete_and_not_repeated_in_the_answer(
    client: Client, project: Path
) -> None:
    (project / "many.txt").write_text("needle in a line\n" * 3000)
    result = await client.request(
        METHOD, {"pattern": "needle", "max_results": 10_000, "partialResultToken": "stream"}
    )
    assert result["matches"] == []
    assert (result["returned"], result["total_matches"]) == (3000, 3000)
    parts = client.progress["stream"]
    assert len(parts) > 5
    lines = [match["line"] for part in parts for match in part["matches"]]
    assert lines == list(range(1, 3001))


@requires_posix
async def test_cancelling_ends_ripgrep_within_100_ms(
    start_client: StartClient, slow_project: Path
) -> None:
    client = await start_client(slow_project)
    for mode in ("matches", "counts"):
        await check_cancelled_soon(client, METHOD, {"pattern": SLOW_TERM, "mode": mode})
