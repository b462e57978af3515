"""Starting, settings, folders, and ending."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest

from conftest import SLOW_TERM, alive, requires_posix
from frontends.lsp.conftest import COMMAND, StartClient, children, environment
from frontends.lsp.wire import Wire
from waiting_for import SECONDS, wait_until
from winnow.tools import TOOLS

pytestmark = pytest.mark.wire

REQUEST = {"query": "q", "search_terms": ["load_plugin"]}


def test_custom_requests_are_announced_at_initialize(project: Path) -> None:
    wire = Wire(forked=False)
    answer = wire.initialize(project)
    announced = answer["result"]["capabilities"]["experimental"]["winnow"]
    tools = sorted(tool.method for tool in TOOLS.values())
    assert announced["requests"] == [*tools, "$/callTool", "$/suggestTerms"]
    assert {"$/keywordSearch", "$/bash", "$/tools"} <= set(announced["requests"])
    assert answer["result"]["serverInfo"]["name"] == "winnow"
    assert wire.stop() == 0


def test_requests_before_initialize_and_after_shutdown_are_refused(project: Path) -> None:
    wire = Wire(forked=False)
    wire.request(1, "$/keywordSearch", REQUEST)
    assert wire.receive()["error"]["code"] == -32002
    wire.initialize(project)
    wire.request(2, "shutdown", None)
    assert wire.receive()["id"] == 2
    wire.request(3, "$/keywordSearch", REQUEST)
    assert wire.receive()["error"]["code"] == -32600
    wire.send({"jsonrpc": "2.0", "method": "exit"})
    assert wire.join() == 0


def test_exit_does_not_have_to_wait_for_the_answer_to_shutdown(project: Path) -> None:
    wire = Wire()
    wire.initialize(project, index=True)
    shutdown, exit_ = (
        {"jsonrpc": "2.0", "id": 1, "method": "shutdown", "params": None},
        {"jsonrpc": "2.0", "method": "exit"},
    )
    wire.send_bytes(json.dumps(shutdown).encode(), json.dumps(exit_).encode())
    assert wire.join() == 0


async def test_a_wrong_setting_is_reported_and_the_default_stays(
    start_client: StartClient, project: Path
) -> None:
    client = await start_client(
        project, options={"limits": {"search_seconds": -5}, "nonsense": {"a": 1}}
    )
    result = await client.request("$/keywordSearch", REQUEST)
    assert result["files"]
    said = [message.message for message in client.lsp.messages]
    assert len(said) == 2
    assert "`limits.search_seconds` is ignored" in said[0]
    assert "`nonsense.a` is ignored" in said[1]


async def test_a_workspace_cannot_set_programs_keys_or_addresses(
    start_client: StartClient, project: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\n")
    evil.chmod(0o755)
    (project / "winnow.toml").write_text(
        f'[programs]\nrg = "{evil}"\n[llm.models.gpt5-mini]\nbase_url = "http://127.0.0.1:9"\n'
        '[search]\nexclude = ["docs/**"]\n'
    )
    client = await start_client(project)
    result = await client.request(
        "$/keywordSearch", {"query": "q", "search_terms": ["register_plugin"]}
    )
    assert [file["path"] for file in result["files"]] == ["src/registry.py"]
    assert not marker.exists()
    said = " ".join(message.message for message in client.lsp.messages)
    assert "`programs` is ignored" in said
    assert "`llm` is ignored" in said


async def test_every_folder_is_searched_and_named(
    start_client: StartClient, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other folder"
    other.mkdir()
    (other / "more.py").write_text("def load_plugin_again(): pass\n")
    client = await start_client(project, other)
    result = await client.request("$/keywordSearch", REQUEST)
    found = {(file["root"], file["path"]) for file in result["files"]}
    assert (str(other), "more.py") in found
    assert (str(project), "src/loader.py") in found


@requires_posix
def test_a_folder_whose_name_is_not_unicode_is_searched(tmp_path: Path) -> None:
    folder = bytes(tmp_path) + b"/bad\xff\nname"
    Path(folder.decode("utf-8", "surrogateescape")).mkdir()
    file = Path((folder + b"/fil\xe9.py").decode("utf-8", "surrogateescape"))
    file.write_text("load_plugin = 1\n")
    wire = Wire()
    root = f"file://{quote_from_bytes(folder)}"
    wire.request(0, "initialize", {"processId": None, "rootUri": root, "capabilities": {}})
    wire.receive()
    wire.request(1, "$/keywordSearch", REQUEST)
    result = wire.receive()["result"]
    assert result["root"].endswith("bad\\xff\\x0aname")
    [found] = result["files"]
    assert found["path"] == "fil\\xe9.py"
    assert found["uri"] == f"{root}/fil%E9.py"
    assert wire.stop() == 0


@requires_posix
def test_many_searches_and_cancellations_leave_the_server_working(
    slow_project: Path,
) -> None:
    wire = Wire()
    wire.initialize(slow_project)
    for msg_id in range(100):
        wire.request(msg_id, "$/keywordSearch", {"query": "q", "search_terms": [SLOW_TERM]})
    wait_until(lambda: children(wire.process.pid))
    for msg_id in range(100):
        wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": msg_id}})
    answers = [wire.receive() for _ in range(100)]
    assert {answer["error"]["code"] for answer in answers} == {-32800}
    # None was answered by its deadline; its children are gone or, on a busy machine, about to be.
    wait_until(lambda: not any(map(alive, children(wire.process.pid))), "a child is alive")
    wire.request("after", "$/tools", {})
    assert wire.receive()["id"] == "after"
    assert wire.stop() == 0


def test_tcp_refuses_addresses_that_others_can_reach() -> None:
    done = subprocess.run(
        [*COMMAND, "--tcp", "0.0.0.0:2087"], env=environment(), capture_output=True, timeout=SECONDS
    )
    assert done.returncode == 2
    assert b"loopback" in done.stderr
