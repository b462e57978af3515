"""`winnow mcp` with the official client library. Tests of the process itself start a new process;
the others run the server in the test's process."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import mcp_types as types
import msgspec
import psutil
import pytest
from mcp import MCPError

from commands import command
from conftest import SLOW_TERM, alive, child_environment, requires_posix, write_files
from mcp_client import COMMAND, WITHOUT_INDEX, connected, connected_here, indexed, text_of
from reference.example import prepare, project
from waiting_for import SECONDS, until, wait_until
from winnow.config import BashSettings, Config
from winnow.frontends.cli.agents import AGENTS
from winnow.frontends.lsp.decoding import Refusal
from winnow.frontends.mcp import MAX_TOKENS
from winnow.frontends.mcp_input import MessageLines
from winnow.search.answer.shorten import BYTES_PER_TOKEN
from winnow.tools import TOOLS, for_agents
from winnow.tools.registry import Tool
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.wire


def servers() -> list[psutil.Process]:
    """Return the running servers that this process has started."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if child.cmdline()[1 : len(COMMAND)] == COMMAND[1:]:
                found.append(child)
    return found


@pytest.fixture(scope="module")
def example() -> Iterator[Path]:
    with project() as folder:
        yield folder


# --- what there is -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_tools_equal_the_manifest(project: Path, mode: str) -> None:
    workspace = EngineWorkspace([project], environment={})
    manifest = (await TOOLS["tools"].call(workspace, {}, no_progress)).tools
    await workspace.aclose()
    async with connected(project, mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "winnow"
        listed = (await client.list_tools()).tools
    assert [one.name for one in listed] == [one.name for one in manifest]
    for told, one in zip(listed, manifest, strict=True):
        assert told.description == one.description
        # Only the default of `max_tokens` differs.
        schema = msgspec.json.decode(msgspec.json.encode(one.input_schema))
        if "max_tokens" in schema["properties"]:
            schema["properties"]["max_tokens"]["default"] = MAX_TOKENS
        assert told.input_schema == schema


async def test_annotations_and_schemas_come_from_the_definitions(project: Path) -> None:
    async with connected_here(project) as client:
        listed = {one.name: one for one in (await client.list_tools()).tools}
    assert set(listed) == set(for_agents(Config().is_on))
    changing = set()
    for name, told in listed.items():
        hints, effects = told.annotations, TOOLS[name].effects
        assert hints is not None
        assert hints.destructive_hint == effects.destroys
        assert hints.idempotent_hint == effects.repeatable
        assert hints.open_world_hint == effects.reaches_out
        if not hints.read_only_hint:
            changing.add(name)
        assert told.output_schema is not None
        properties = TOOLS[name].output_schema["properties"]
        assert set(told.output_schema["properties"]) == set(properties)
    assert changing == {"feedback", "index"}


async def test_every_tool_answers_with_text_and_with_data(example: Path, tmp_path: Path) -> None:
    """The examples of the documentation; the client holds the data against the schema."""
    settings = '[bash]\nenabled = true\n[index]\nembeddings = "off"\n'
    offered = for_agents(Config(bash=BashSettings(enabled=True)).is_on)
    await prepare(example)
    # The same user as in the examples.
    state = {"XDG_STATE_HOME": str(example.parent / ".local/state")}
    async with connected_here(example, home=tmp_path, settings=settings, variables=state) as client:
        assert {one.name for one in (await client.list_tools()).tools} == set(offered)
        for name, tool in offered.items():
            answer = await client.call_tool(name, dict(tool.example))
            assert not answer.is_error, text_of(answer)
            result = msgspec.convert(answer.structured_content, tool.result)
            assert text_of(answer) == tool.plain(result)
            assert result.returned, name


async def test_data_is_sent_only_on_request(project: Path) -> None:
    async with connected(project, "--tools", "all") as client:
        assert not any(one.output_schema for one in (await client.list_tools()).tools)
        answer = await client.call_tool("grep", {"pattern": "def load_plugin"})
    assert answer.structured_content is None
    assert "src/loader.py" in text_of(answer)


# --- budgets -------------------------------------------------------------------------------


async def test_answers_fit_the_default_budget_or_the_agents(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    line = "needle = 'a line of some length, to be found'\n"
    write_files(folder, {f"{number}.py": line * 400 for number in range(2)})

    async with connected_here(folder, "--max-tokens", "1000") as client:

        async def tokens(**params: Any) -> float:
            arguments = {"pattern": "needle", "max_results": 1000, **params}
            answer = await client.call_tool("grep", arguments)
            assert answer.structured_content is not None
            assert answer.structured_content["truncated"] == (params.get("max_tokens") != 0)
            size = len(msgspec.json.encode(answer.structured_content)) / BYTES_PER_TOKEN
            assert len(text_of(answer).encode()) / BYTES_PER_TOKEN < size
            return size

        assert 500 < await tokens() <= 1000
        assert 500 < await tokens(max_tokens=None) <= 1000
        assert 1500 < await tokens(max_tokens=3000) <= 3000
        assert await tokens(max_tokens=0, context_lines=0) > 10_000
    async with connected_here(folder) as client:
        assert 4000 < await tokens() <= MAX_TOKENS


async def test_every_tool_fits_its_budget(tmp_path: Path) -> None:
    """Use a project whose answers would all be longer."""
    folder = tmp_path / "many"
    lines = "".join(f"needle = thing({number})  # a needle in a haystack\n" for number in range(99))
    code = f"def thing(n):\n    return n\n\n\n{lines}"
    write_files(folder, {f"part{n}/needle_{n}.py": code for n in range(40)})
    page = "".join(f"<p>A needle on line {number} of the handbook</p>" for number in range(2_000))
    write_files(folder, {f"docs/{n}.html": page for n in range(5)})
    asked: dict[str, dict[str, Any]] = {
        "bash": {"command": "rg needle"},
        "code_search": {"query": '"needle"', "limit": 200},
        "document_text": {"path": "docs/0.html"},
        "find_references": {"path": "part1/needle_1.py", "line": 1, "column": 5},
        "find_symbol": {"name": "thing", "max_results": 100},
        "glob": {"pattern": "**/*", "max_results": 1000},
        "grep": {"pattern": "needle", "max_results": 1000, "context_lines": 5},
        "keyword_search": {"query": "a needle", "search_terms": ["needle", r"thing\(9"]},
        "read_file": {"path": "part1/needle_1.py"},
        "search_docs": {"query": "needle", "max_results": 100},
        "semantic_search": {"query": "a needle in a haystack", "top_k": 100},
        "tree": {"depth": 3, "show_sizes": True},
    }
    settings = '[bash]\nenabled = true\n[index]\nembeddings = "off"\n'
    offered = for_agents(Config(bash=BashSettings(enabled=True)).is_on)
    limited = {name for name, tool in offered.items() if "max_tokens" in _properties(tool)}
    assert set(asked) == limited
    async with connected_here(
        folder, "--max-tokens", "900", home=tmp_path, settings=settings
    ) as client:
        await indexed(client)
        for name, params in asked.items():
            whole = await client.call_tool(name, {**params, "max_tokens": 0})
            short = await client.call_tool(name, params)
            for answer in (whole, short):
                assert not answer.is_error, (name, text_of(answer))
            assert _tokens(whole) > 900, name
            assert _tokens(short) <= 900, name
            assert len(text_of(short)) / BYTES_PER_TOKEN <= 900, name
            assert short.structured_content is not None
            assert short.structured_content["truncated"], name


def _properties(tool: Tool[Any, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = tool.input_schema["properties"]
    return properties


def _tokens(answer: types.CallToolResult) -> float:
    return len(msgspec.json.encode(answer.structured_content)) / BYTES_PER_TOKEN


# --- progress, cancellation, errors --------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_is_sent_on_request_and_increases(
    example: Path, tmp_path: Path, mode: str
) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def call(name: str, messages: int, **params: Any) -> list[str | None]:
        told.clear()
        await client.call_tool(name, params, progress_callback=hear)
        await until(lambda: len(told) >= messages)  # the last may arrive after the answer
        steps = [step for step, _ in told]
        assert steps == sorted(set(steps))
        return [message for _, message in told]

    async with connected(example, home=tmp_path, mode=mode) as client:
        assert await call("grep", 1, pattern="nothing_like_this") == [
            "Searching for 'nothing_like_this'"
        ]
        # Listing takes a while; quick successive messages may be merged into the last one.
        messages = await call("search_docs", 2, query="plugin")
    assert messages[0] == "Listing documents"
    assert len(messages) > 1


@requires_posix
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_cancelled_call_ends_its_ripgrep_and_the_server_goes_on(
    slow_project: Path, mode: str
) -> None:
    # Of itself ripgrep would go on for longer than anything here waits.
    for number in range(40):
        os.link(slow_project / "big.txt", slow_project / f"big{number}.txt")
    async with connected(slow_project, mode=mode) as client:
        [server] = servers()
        call = asyncio.create_task(client.call_tool("grep", {"pattern": SLOW_TERM}))
        begun = await until(server.children)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: not any(alive(one.pid) for one in begun))
        # It was waited for, too.
        await until(lambda: not server.children())
        answer = await client.call_tool("glob", {"pattern": "*.txt"})
        assert text_of(answer).startswith("big.txt")


async def test_an_invalid_argument_is_reported_to_the_model(project: Path) -> None:
    async with connected_here(project) as client:
        answer = await client.call_tool("grep", {"pattern": "x", "max_results": 0})
        assert (answer.is_error, answer.structured_content) == (True, None)
        assert text_of(answer) == (
            "`max_results`: expected integer >= 1\n"
            'Corrected call: grep {"pattern":"x","max_results":1}'
        )
        assert answer.meta is not None
        error = {"kind": "invalid_params", "field": "max_results"}
        assert answer.meta["winnow/error"] == error
        answer = await client.call_tool("keyword_search", {"query": "q", "search_terms": ["("]})
        assert answer.is_error
        assert answer.meta is not None
        assert answer.meta["winnow/error"]["kind"] == "invalid_pattern"
        answer = await client.call_tool("read_file", {"path": "../../etc/passwd"})
        assert answer.is_error


async def test_an_unknown_or_disabled_tool_is_a_protocol_error(project: Path) -> None:
    async with connected_here(project) as client:
        for name in ("nonsense", "bash", "tools"):
            with pytest.raises(MCPError) as failed:
                await client.call_tool(name, {})
            assert failed.value.error.code == types.INVALID_PARAMS
            assert failed.value.error.message.startswith(f"unknown or disabled tool {name!r}")


# --- documents -----------------------------------------------------------------------------


async def test_documents_are_resources(example: Path, tmp_path: Path) -> None:
    async with connected_here(example, home=tmp_path) as client:
        listed = (await client.list_resources()).resources
        assert [one.name for one in listed] == sorted(one.name for one in listed)
        handbook = next(one for one in listed if one.name == "docs/handbook.pdf")
        assert str(handbook.uri) == f"winnow-doc://{example}/docs/handbook.pdf"
        [contents] = (await client.read_resource(str(handbook.uri))).contents
        assert isinstance(contents, types.TextResourceContents)
        answer = await client.call_tool("document_text", {"path": str(handbook.uri)})
        assert contents.text == text_of(answer)
        assert contents.text.startswith("──── Page 1 ────")
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "winnow-doc://{+path}"
        for uri in ("winnow-doc:///etc/passwd", "file:///etc/passwd", "winnow-doc://"):
            with pytest.raises(MCPError) as failed:
                await client.read_resource(uri)
            assert failed.value.error.code == types.INVALID_PARAMS


async def test_many_documents_come_page_by_page(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    names = [f"{number:03}.html" for number in range(230)]
    write_files(folder, {name: f"<p>{name}</p>" for name in names})
    pages: list[list[str]] = []
    cursor: str | None = None
    async with connected_here(folder) as client:
        while cursor is not None or not pages:
            page = await client.list_resources(cursor=cursor)
            pages.append([one.name for one in page.resources])
            cursor = page.next_cursor
    assert [len(page) for page in pages] == [100, 100, 30]
    assert [name for page in pages for name in page] == names


# --- the process ---------------------------------------------------------------------------


CLIENT = """
import asyncio, os, sys
from mcp import Client, StdioServerParameters

async def main():
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "winnow", "mcp"], env=dict(os.environ)
    )
    async with Client(server, mode="legacy") as client:
        print("connected", flush=True)
        await client.call_tool("grep", {"pattern": sys.argv[1]})

asyncio.run(main())
"""


@requires_posix
def test_the_server_ends_with_a_client_that_is_killed_and_leaves_no_child(
    slow_project: Path,
) -> None:
    write_files(slow_project.parent, {".config/winnow/config.toml": WITHOUT_INDEX})
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, SLOW_TERM],
        cwd=slow_project,
        env=child_environment(slow_project.parent, PYTHONWARNINGS="ignore"),
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"connected\n"
        process = psutil.Process(client.pid)
        [server] = process.children()
        children = wait_until(server.children)
        client.kill()
    assert psutil.wait_procs([server, *children], SECONDS)[1] == []


@requires_posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_its_children(slow_project: Path, number: int) -> None:
    with Raw(slow_project) as raw:
        raw.initialize()
        raw.send(1, "tools/call", {"name": "grep", "arguments": {"pattern": SLOW_TERM}})
        process = psutil.Process(raw.process.pid)
        children = wait_until(process.children)
        raw.process.send_signal(number)
        assert raw.process.wait(SECONDS) == -number
        psutil.wait_procs(children, SECONDS)
        assert not any(alive(one.pid) for one in children)


@requires_posix
@pytest.mark.parametrize("how", ["closed", "SIGTERM"])
async def test_a_server_with_unread_answers_exits(project: Path, how: str) -> None:
    """Its threads wait in writes (#21)."""
    import fcntl
    import termios

    def is_full(stream: IO[bytes]) -> bool:
        waiting = fcntl.ioctl(stream, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(waiting, sys.byteorder) >= 60_000

    with Raw(project, "--tools", "all") as raw:
        raw.initialize()
        assert raw.process.stdin is not None
        for number in range(1, 301):  # no more than the pipe takes
            raw.send(number, "tools/list", {})
        assert raw.process.stdout is not None
        stdout = raw.process.stdout
        await until(lambda: is_full(stdout))
        if how == "closed":
            raw.process.stdin.close()
        else:
            raw.process.terminate()
        raw.process.wait(SECONDS)


class Raw:
    """A server with access to its standard streams, to send messages that no client library
    sends."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        write_files(folder.parent, {".config/winnow/config.toml": WITHOUT_INDEX})
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            env=child_environment(folder.parent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        with self.process:
            pass

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, number: int, method: str, params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.write(json.dumps(message).encode())

    def receive(self) -> Any:
        """Return the next message; fail if the output is not a message."""
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def initialize(self) -> None:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.send(0, "initialize", params)
        assert self.receive()["id"] == 0
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')


REQUEST = b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": %b}'


@pytest.mark.parametrize(
    "line",
    [
        REQUEST % (b"[" + b"[]," * 200_000 + b"[]]"),
        REQUEST % (b"[" * 400 + b"]" * 400),
        REQUEST.replace(b"2.0", b"1.0") % b"{}",
        b'{"jsonrpc": "2.0", "id": 5}',
    ],
)
def test_a_message_that_cannot_be_decoded_is_refused_with_its_id(
    project: Path, line: bytes
) -> None:
    with Raw(project) as raw:
        raw.initialize()
        raw.write(line)
        answer = raw.receive()
        assert answer["id"] == 5
        assert answer["error"]["code"] in (-32600, -32700)


def test_half_of_a_surrogate_pair_does_not_hide_a_request(project: Path) -> None:
    with Raw(project) as raw:
        raw.initialize()
        raw.send(1, "tools/call", {"name": "search", "arguments": {"query": "load \ud83d"}})
        assert raw.receive()["id"] == 1


def test_a_line_that_is_too_long_is_skipped_in_parts() -> None:
    long = b'{"jsonrpc": "2.0", "id": 5, "params": "' + b"x" * 1000 + b'"}\n'
    refused: list[Refusal] = []
    stream = io.BytesIO(long + b'{"a": 1}\n' + long[:-1])
    lines = MessageLines(stream, lambda value: "a" in value, refused.append, limit=100)
    assert lines.readline() == '{"a": 1}\n'
    assert lines.readline() == ""
    length = len(long)
    assert [(one.id, f" {length - n} bytes" in one.problem) for n, one in enumerate(refused)] == [
        (5, True),
        (5, True),
    ]


def test_stdout_carries_only_the_protocol(project: Path) -> None:
    with Raw(project, "--verbose") as raw:
        raw.initialize()
        raw.write(b"no json \xff")
        raw.send(1, "nonsense/method", {})
        assert raw.receive()["error"]["code"] == -32601
        raw.send(2, "tools/call", {"name": "grep", "arguments": "load"})
        assert raw.receive()["error"]["code"] == -32602
        raw.send(3, "tools/call", {"name": "grep", "arguments": {"pattern": "load_plugin"}})
        assert raw.receive()["result"]["isError"] is False
        assert raw.process.stdin is not None
        raw.process.stdin.close()
        assert raw.process.stdout is not None
        assert raw.process.stdout.read() == b""
        assert raw.process.wait(SECONDS) == 0


async def test_the_index_starts_with_the_first_search_and_follows_changes(
    project: Path,
) -> None:
    write_files(project, {f"more/part_{number}.py": "part = 1\n" for number in range(60)})
    async with connected(project, settings='[index]\nembeddings = "off"\n') as client:
        await client.list_tools()
        await client.call_tool("grep", {"pattern": "load_plugin"})
        assert not (project / ".winnow").exists()
        answer = await client.call_tool("semantic_search", {"query": "how are plugins loaded"})
        assert answer.structured_content is not None
        completeness = answer.structured_content["completeness"]
        assert completeness["complete"] or any(
            reason.startswith("the index is being built") for reason in completeness["reasons"]
        )
        await indexed(client)
        write_files(project, {"src/new.py": "def only_just_written():\n    pass\n"})

        async def is_found() -> bool:
            text = text_of(await client.call_tool("find_symbol", {"name": "only_just_written"}))
            # On a busy machine, the server may not have read the file yet, and must report it.
            assert text.startswith("src/new.py:1") or "[incomplete: " in text
            return text.startswith("src/new.py:1")

        await until(is_found)
    assert servers() == []


async def test_the_named_folders_are_searched(project: Path, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"a.py": "only_here = 1\n"})
    async with connected(project, str(other)) as client:
        answer = await client.call_tool("grep", {"pattern": "only_here|load_plugin"})
        assert text_of(answer).startswith("a.py")
        assert "loader" not in text_of(answer)


def winnow(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = child_environment(folder.parent)
    return command(folder, "mcp", *arguments, environment=environment)


def test_a_path_that_is_not_a_folder_is_refused(project: Path) -> None:
    done = winnow(project, "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"winnow mcp: {project}/nowhere is not a folder\n"


def test_without_the_extra_the_error_explains_how_to_install_it(project: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
        "from winnow.frontends.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env=child_environment(project.parent),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    [sentence] = done.stderr.splitlines()
    assert sentence.endswith(f"is not installed: {sys.executable} -m pip install 'winnow-ls[mcp]'")


def test_the_page_names_all_agents_and_their_files() -> None:
    page = (Path(__file__).parents[2] / "docs/mcp.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| `(.*)` \| `(.*)` \|$", page, re.M)
    assert rows == [(name, one.title, one.file, one.key) for name, one in AGENTS.items()]


def test_the_help_states_the_default_limit_of_answers(project: Path) -> None:
    said = " ".join(winnow(project, "--help").stdout.split())
    assert f"Default: {MAX_TOKENS}." in said


def test_the_extension_finds_the_command_in_the_help(project: Path) -> None:
    """It looks for this before it offers the server to agents, see `registerMcp` in agents.ts."""
    source = (Path(__file__).parents[2] / "vscode-extension/src/agents.ts").read_text("utf-8")
    [pattern] = re.findall(r"/(\^.*mcp.*)/m\.test\(help\)", source)
    done = command(project, "--help", environment=child_environment(project.parent))
    assert done.returncode == 0
    assert re.search(pattern, done.stdout, re.M)
