"""$/feedback and $/searchMetrics on the wire, and what a client does without being asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from frontends.lsp.conftest import Client, StartClient
from frontends.lsp.wire import Wire
from waiting_for import until
from winnow.ranking.history.history import WRITE_SECONDS
from winnow.ranking.history.store import NAME, HistoryStore, SearchEvent
from winnow.storage.state_folder import OWN_FOLDER, create

pytestmark = pytest.mark.wire


def events(project: Path) -> list[SearchEvent]:
    store = HistoryStore.open(project)
    try:
        return store.all()[1]
    finally:
        store.close()


async def test_feedback_and_metrics(client: Client) -> None:
    found = await client.request("$/grep", {"pattern": "load_plugin"})
    told = {"search_id": found["search_id"], "path": "src/loader.py", "action": "kept", "rank": 1}
    result = await client.request("$/feedback", told)
    assert (result["query"], result["path"]) == ("load_plugin", "src/loader.py")
    metrics = await client.request("$/searchMetrics", {})
    assert (metrics["total_found"], metrics["hit_rate"]) == (1, 1.0)
    assert metrics["satisfaction"]["kept"] == 1
    error = await client.error("$/feedback", {**told, "search_id": "unknown"})
    assert error.code == -32803
    assert error.data == {"kind": "not_found", "search_id": "unknown"}
    error = await client.error("$/feedback", {**told, "action": "liked"})
    assert (error.code, error.message.split(":")[0]) == (-32602, "`action`")


async def test_a_document_opened_after_a_search_counts_as_its_result(
    indexed_client: Client, project: Path
) -> None:
    client = indexed_client
    found = await client.request("$/grep", {"pattern": "load_plugin"})
    for name in ("src/registry.py", "src/loader.py"):
        client.open(project / name)
    store = project / OWN_FOLDER / NAME
    [event] = await until(lambda: events(project) if store.exists() else [])
    rank = list(dict.fromkeys(one["path"] for one in found["matches"])).index("src/loader.py") + 1
    assert (event.search, event.signal, event.path, event.rank) == (
        found["search_id"], "viewed", "src/loader.py", rank,
    )  # fmt: skip


async def test_nothing_is_written_when_learning_is_off(
    project: Path, start_client: StartClient
) -> None:
    options = {"learning": {"enabled": False}, "index": {"enabled": False}}
    client = await start_client(project, options=options)
    found = await client.request("$/grep", {"pattern": "load_plugin"})
    client.open(project / "src/loader.py")
    told = {"search_id": found["search_id"], "path": "src/loader.py", "action": "up"}
    assert (await client.request("$/feedback", told))["returned"] == 0
    await asyncio.sleep(WRITE_SECONDS + 0.2)
    assert not (project / OWN_FOLDER).exists()
    assert found["search_id"]


def test_searches_just_before_the_end_are_written(project: Path) -> None:
    create(project)
    wire = Wire()
    wire.initialize(project)
    wire.request(1, "$/grep", {"pattern": "load_plugin"})
    found = wire.receive()["result"]["search_id"]
    assert wire.stop() == 0
    store = HistoryStore.open(project)
    assert [one.id for one in store.all()[0]] == [found]
    store.close()


def test_two_servers_learn_in_one_folder(project: Path) -> None:
    wires = [Wire(), Wire()]
    for wire in wires:
        wire.initialize(project)
    ids = []
    for number in range(5):
        for wire in wires:
            wire.request(number + 1, "$/grep", {"pattern": f"load_plugin|x{number}"})
        ids += [wire.receive()["result"]["search_id"] for wire in wires]
    told = {"search_id": ids[-1], "path": "src/loader.py", "action": "up"}
    # One server gets feedback about a search of the other.
    wires[1].request(98, "$/feedback", told)
    wires[1].receive()
    wires[0].request(99, "$/feedback", told)
    assert wires[0].receive()["result"]["query"] == "load_plugin|x4"
    assert [wire.stop() for wire in wires] == [0, 0]
    store = HistoryStore.open(project)
    searches, known = store.all()
    assert {one.id for one in searches} == set(ids)
    assert [one.signal for one in known if one.path] == ["up", "up"]
    store.close()
