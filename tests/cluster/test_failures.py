"""A cluster that is away, slow or wrong neither fails nor delays a search."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import time
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cluster.nodes import workspace_of
from winnow.cluster.documents import Branch, document_of
from winnow.cluster.mappings import format_of_records
from winnow.config import ClusterSettings
from winnow.errors import NoSymbol
from winnow.index.postings.contents import contents_of
from winnow.index.store.file_record import FileRecord, FileState
from winnow.search.shared import consent
from winnow.search.symbols import references
from winnow.storage.user_folders import state_folder
from winnow.symbols.extract.packed import pack
from winnow.symbols.file_symbols import Definition, FileSymbols, ScopeTable
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchParams, code_search
from winnow.tools.find_references import FindReferencesParams, find_references
from winnow.tools.find_symbol import FindSymbolParams, find_symbol
from winnow.tools.grep import GrepParams, GrepResult, grep
from winnow.tools.keyword_search import KeywordSearchParams, keyword_search
from winnow.tools.semantic_search import SemanticSearchParams, semantic_search
from winnow.types import InRepository, SearchAnswer, no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.process

pytest.importorskip("opensearchpy", reason="winnow-ls[cluster] is not installed")

PARAMS = GrepParams(pattern="needle", repositories=["team/*"])
HANGS = None
# More than the 300 ms of the cluster, for what a busy machine adds.
SECONDS = 1.0


@asynccontextmanager
async def server(
    answer: bytes | None, status: str = "200 OK"
) -> AsyncIterator[tuple[str, list[str]]]:
    """Start a server that gives each request this answer, or none; yield its address and the
    headers that it gets."""
    heard: list[str] = []
    stop = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heard.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower())
            if answer is HANGS:
                await stop.wait()
            else:
                head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                head += f"content-length: {len(answer)}\r\nconnection: close\r\n\r\n"
                writer.write(head.encode() + answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", heard
    finally:
        stop.set()
        listening.close()
        await listening.wait_closed()


async def answered(workspace: EngineWorkspace) -> tuple[GrepResult, float]:
    """Search again, when everything is imported. Return the answer, and how long it took."""
    await grep.run(workspace, PARAMS, no_progress)
    start = time.monotonic()
    return await grep.run(workspace, PARAMS, no_progress), time.monotonic() - start


def says(result: GrepResult, why: str) -> None:
    assert [(match.path, match.line) for match in result.matches] == [("local.py", 1)]
    state = result.completeness.shared
    assert state is not None
    assert not state.answered
    assert why in str(state.reason)
    assert any(why in reason for reason in result.completeness.reasons)


HIT = {"hits": {"hits": [{"_source": {"branch": 3}}], "total": {"value": 1}}}


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (HANGS, "", "did not answer within 300 ms"),
        (b"", "200 OK", "cannot be understood"),
        (b"\xff\xfe\x00garbage", "200 OK", "cannot be understood"),
        (b"[1, 2", "200 OK", "cannot be understood"),
        (b"[]", "200 OK", "cannot be understood"),
        (b'{"responses": []}', "200 OK", "cannot be understood"),
        (b'{"responses": [{}, {}]}', "200 OK", "cannot be understood"),
        (json.dumps({"responses": [HIT, HIT]}).encode(), "200 OK", "cannot be understood"),
        (b"<html>proxy</html>", "200 OK", "cannot be understood"),
        (b"{}", "401 Unauthorized", "the cluster refused the token (401)"),
        (b"{}", "403 Forbidden", "the cluster refused the token (403)"),
        (b"{}", "404 Not Found", "no such index"),
        (b"{}", "500 Error", "the cluster failed (500)"),
        (b"{}", "503 Busy", "the cluster failed (503)"),
    ],
)
async def test_a_bad_answer(folder: Path, answer: bytes | None, status: str, why: str) -> None:
    async with (
        server(answer, status) as (address, _),
        workspace_of(folder, ClusterSettings(addresses=(address,))) as workspace,
    ):
        result, seconds = await answered(workspace)
    says(result, why)
    assert seconds < SECONDS


async def test_a_cluster_that_is_away(folder: Path) -> None:
    settings = ClusterSettings(addresses=("http://127.0.0.1:9",))
    async with workspace_of(folder, settings) as workspace:
        result, seconds = await answered(workspace)
    says(result, "cannot be reached")
    assert seconds < SECONDS


async def test_without_a_cluster_nothing_is_imported_or_sent(folder: Path) -> None:
    async with workspace_of(folder, ClusterSettings()) as workspace:
        says((await answered(workspace))[0], "no cluster is configured")


async def test_the_token_and_the_log(folder: Path) -> None:
    async with (
        server(b"{}") as (address, heard),
        workspace_of(
            folder, ClusterSettings(addresses=(address,)), WINNOW_CLUSTER_TOKEN="secret-token"
        ) as workspace,
    ):
        result = await grep.run(workspace, PARAMS, no_progress)
        assert "authorization: bearer secret-token" in heard[0]
        assert "secret-token" not in str(result)
        await asyncio.sleep(0.2)
        state = state_folder(workspace.environment)
        assert state is not None
        logged = list(state.rglob("*"))
    written = "".join(file.read_text() for file in logged if file.is_file())
    assert '"purpose":"shared_search"' in written.replace(" ", "")
    assert f'"destination":"{address}"' in written.replace(" ", "")
    assert "secret-token" not in written
    assert "needle" not in written


async def test_nothing_is_sent_without_consent(folder: Path) -> None:
    settings = ClusterSettings(addresses=("https://search.example.com:9200",))
    async with workspace_of(folder, settings) as workspace:
        says((await answered(workspace))[0], "run `winnow cluster consent`")
        assert consent.give(workspace) == ["https://search.example.com:9200"]
        assert consent.problem(workspace) is None
    other = ClusterSettings(addresses=("https://other.example.com",))
    async with workspace_of(folder, other) as workspace:
        assert "other.example.com" in str(consent.problem(workspace))
    async with workspace_of(folder, settings) as workspace:
        consent.withdraw(workspace)
        assert consent.problem(workspace) is not None


# --- ranked searches -----------------------------------------------------------------------

BRANCH = Branch(
    ref="team/evil",
    commit="c1",
    pushed_at="2026-11-27T00:00:00.000Z",
    format="",
    files=1,
    bytes=1,
    masked=0,
    skipped={},
)
TEXT = "def needle_of(hay):\n    return hay\n"
EVIL_PATHS = ["../../escaped.py", "/escaped.py", "a/../../escaped.py", "", ".", "x\0y.py", "ok.py"]


def answer_with(texts: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the answer of a cluster that has these texts in one branch."""

    def hits(sources: Sequence[object]) -> dict[str, Any]:
        found = [{"_source": source} for source in sources]
        return {"hits": {"hits": found, "total": {"value": len(found)}}, "_shards": {"failed": 0}}

    branch = {"branch": msgspec.to_builtins(BRANCH)}
    return json.dumps({"responses": [hits([branch]), hits(texts)]}).encode()


def text_at(*paths: str, **fields: Any) -> dict[str, Any]:
    """Return the document of a text, as this version of Winnow makes it."""
    symbols = FileSymbols("python", [DEFINITION], ScopeTable(()), {})
    record = FileRecord(
        FileState(0, 0, len(TEXT)),
        "python",
        pack(symbols),
        contents=contents_of("a.py", TEXT.encode(), [DEFINITION], "python", covered=True),
    )
    document = document_of("team/evil", format_of_records(), b"key", TEXT, record)
    places = [{"ref": BRANCH.ref, "path": path} for path in paths]
    return {**document, "locations": places, **fields}


DEFINITION = Definition("needle_of", "function", 4, 0, len(TEXT) - 1, 0, 1, (4, 4, 4))


async def find_rows(folder: Path, texts: Sequence[Mapping[str, Any]]) -> list[InRepository]:
    """Return the rows of all ranked searches."""
    rows: list[InRepository] = []
    async with (
        server(answer_with(texts)) as (address, _),
        workspace_of(folder, ClusterSettings(addresses=(address,), seconds=5.0)) as workspace,
    ):
        semantic = SemanticSearchParams(
            query="what is needle of hay", repositories=["team/*"], top_k=200
        )
        rows += (await semantic_search.run(workspace, semantic, no_progress)).results
        symbol = FindSymbolParams(name="needle_of", repositories=["team/*"])
        rows += (await find_symbol.run(workspace, symbol, no_progress)).symbols
        references = FindReferencesParams(name="needle_of", repositories=["team/*"])
        rows += (await find_references.run(workspace, references, no_progress)).references
        keywords = KeywordSearchParams(
            query="needle", search_terms=["needle"], ranker="local", repositories=["team/*"]
        )
        rows += (await keyword_search.run(workspace, keywords, no_progress)).files
    return [row for row in rows if row.repository]


async def test_paths_do_not_leave_the_temporary_folder(folder: Path) -> None:
    rows = await find_rows(folder, [text_at(*EVIL_PATHS)])
    assert [row.path for row in rows] == ["ok.py"] * 4
    assert not list(folder.parent.rglob("escaped*"))
    assert not Path("/escaped.py").exists()


def damaged(packed: str, chance: random.Random) -> str:
    """Return a packed value with some bytes changed, some of which still unpack."""
    data = bytearray(zlib.decompress(base64.b64decode(packed)))
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return base64.b64encode(zlib.compress(bytes(data))).decode()


async def test_damaged_data_neither_fails_nor_hides_rows(folder: Path) -> None:
    chance = random.Random(29)
    good = text_at("good.py")
    bombs = base64.b64encode(zlib.compress(bytes(100_000_000))).decode()
    for _ in range(3):
        texts = [good, text_at("bomb.py", contents=bombs), text_at("none.py", symbols="!")]
        for number in range(50):
            field = chance.choice(["contents", "symbols"])
            texts.append(text_at(f"{number}.py", **{field: damaged(good[field], chance)}))
        rows = await find_rows(folder, texts)
        assert {"good.py", "none.py", "bomb.py"} <= {row.path for row in rows}


async def test_texts_that_are_not_parsed_in_time_are_a_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "PARSE_SECONDS", 0)
    params = FindReferencesParams(name="needle_of", repositories=["team/*"])
    async with (
        server(answer_with([text_at("good.py")])) as (address, _),
        workspace_of(folder, ClusterSettings(addresses=(address,), seconds=5.0)) as workspace,
    ):
        with pytest.raises(NoSymbol, match="1 text was not parsed in 0 seconds"):
            await find_references.run(workspace, params, no_progress)


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("semantic_search", {"query": "what is needle"}),
        ("code_search", {"query": "needle"}),
        ("find_symbol", {"name": "needle"}),
        ("find_references", {"name": "needle"}),
        ("keyword_search", {"query": "needle", "search_terms": ["needle"], "ranker": "local"}),
    ],
)
async def test_a_hanging_cluster_delays_no_ranked_search(
    folder: Path, tool: str, params: dict[str, Any]
) -> None:
    raw = {**params, "repositories": ["team/*"]}
    async with (
        server(HANGS) as (address, _),
        workspace_of(folder, ClusterSettings(addresses=(address,))) as workspace,
    ):
        await TOOLS[tool].call(workspace, raw, no_progress)
        start = time.monotonic()
        result = await TOOLS[tool].call(workspace, raw, no_progress)
        seconds = time.monotonic() - start
    assert isinstance(result, SearchAnswer)
    assert result.returned == 1
    assert result.completeness.shared is not None
    assert not result.completeness.shared.answered
    assert "did not answer within 300 ms" in str(result.completeness.reasons)
    assert seconds < SECONDS


async def test_ranked_searches_without_a_cluster_say_so(folder: Path) -> None:
    async with workspace_of(folder, ClusterSettings()) as workspace:
        params = CodeSearchParams(query="needle", repositories=["team/*"])
        result = await code_search.run(workspace, params, no_progress)
        assert [row.path for row in result.results] == ["local.py"]
        assert "no cluster is configured" in str(result.completeness.reasons)
        references = FindReferencesParams(name="nowhere_defined", repositories=["team/*"])
        with pytest.raises(NoSymbol, match="no cluster is configured"):
            await find_references.run(workspace, references, no_progress)
