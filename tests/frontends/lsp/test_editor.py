"""Requests for editors, over LSP: their own model as a ranker, and search terms."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from frontends.lsp.conftest import NO_INDEX, Client, StartClient
from waiting_for import until

pytestmark = pytest.mark.wire

METHOD = "$/keywordSearch"
REQUEST = {"query": "how are plugins loaded", "search_terms": ["load_plugin", "registry"]}


class EditorsModel:
    """A client's side of `$/complete`, which chooses the last file that it is shown."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.error: str | None = None
        self.model: str | None = "tiny-ranker"
        self.text: str | None = None
        self.released = asyncio.Event()
        self.released.set()
        self.cancelled = asyncio.Event()

    async def answer(self, params: Any) -> dict[str, Any]:
        self.asked.append(params)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error:
            raise JsonRpcException(self.error, -32803)
        last = re.findall(r"^\[(f\d+)\] ", params["prompt"], re.M)[-1]
        chosen = {"files": [{"id": last, "lines": "1", "reason": "the last one"}]}
        text = json.dumps(chosen) if self.text is None else self.text
        return {"text": text, **({"model": self.model} if self.model else {})}


@pytest.fixture
async def editor(start_client: StartClient, project: Path) -> tuple[Client, EditorsModel]:
    """Start a client whose editor provides a model; return both."""
    model = EditorsModel()
    announced = {"winnow": {"requests": ["$/complete"]}}
    client = await start_client(project, options=NO_INDEX, experimental=announced)

    @client.lsp.feature("$/complete")  # type: ignore[untyped-decorator]
    async def complete(params: Any) -> dict[str, Any]:
        return await model.answer(params)

    return client, model


async def test_the_editors_model_ranks_and_is_named(editor: tuple[Client, EditorsModel]) -> None:
    client, model = editor
    result = await client.request(METHOD, {**REQUEST, "partialResultToken": "p"})
    assert result["ranked_by"] == {"kind": "llm", "model": "tiny-ranker", "provider": "editor"}
    assert [file["reason"] for file in result["files"]] == ["the last one"]
    by = [partial["ranked_by"] for partial in client.progress["p"]]
    assert (by[0]["kind"], by[-1].get("model")) == ("local", "tiny-ranker")
    [asked] = model.asked
    assert asked.keys() == {"system", "prompt", "max_tokens"}
    assert "how are plugins loaded" in asked["prompt"]
    assert asked["max_tokens"] == 1500
    again = await client.request(METHOD, REQUEST)
    assert again["ranked_by"] == result["ranked_by"], "an answer from the cache keeps its name"
    assert len(model.asked) == 1


async def test_requests_to_the_editors_model_need_no_consent_and_are_logged(
    editor: tuple[Client, EditorsModel],
) -> None:
    client, model = editor
    result = await client.request(METHOD, REQUEST)
    assert result["ranked_by"]["kind"] == "llm"
    shown = await client.request("$/consent", {})
    assert shown["destinations"] == []
    audited = await client.request("$/audit", {"limit": 1})
    [one] = audited["requests"]
    assert (one["destination"], one["remote"]) == ("editor", True)
    assert (one["answered_by"], one["outcome"]) == ("tiny-ranker", "answered")
    [asked] = model.asked
    assert one["bytes"] == len((asked["system"] + asked["prompt"]).encode())
    # Tokens that the editor doesn't report are estimated.
    assert audited["today"]["tokens"] == one["tokens"] > 1_000
    assert audited["today"]["requests"] == 1


async def test_a_model_without_a_name_is_the_editors(editor: tuple[Client, EditorsModel]) -> None:
    client, model = editor
    model.model = None
    result = await client.request(METHOD, REQUEST)
    assert result["ranked_by"] == {"kind": "llm", "model": "editor", "provider": "editor"}
    payload = (await client.request(METHOD, {**REQUEST, "dry_run": True}))["payload"]
    assert (payload["model"], payload["endpoint"]) == ("editor", "$/complete")


@pytest.mark.parametrize(
    ("error", "text", "why"),
    [
        ("the user said no", None, "the user said no"),
        (None, "", "the answer is empty"),
        (None, "[]] {", "the answer is unreadable"),
    ],
)
async def test_without_an_answer_from_the_editor_the_local_ranker_answers(
    editor: tuple[Client, EditorsModel], error: str | None, text: str | None, why: str
) -> None:
    client, model = editor
    model.error, model.text = error, text
    result = await client.request(METHOD, REQUEST)
    assert result["ranked_by"]["kind"] == "local"
    assert why in result["ranked_by"]["fallback_reason"]
    assert result["files"][0]["path"] == "src/loader.py"


async def test_a_cancelled_search_cancels_its_request_to_the_editor(
    editor: tuple[Client, EditorsModel],
) -> None:
    client, model = editor
    model.released.clear()
    search = asyncio.create_task(client.request(METHOD, REQUEST, "search"))
    await until(lambda: model.asked, "the editor is not asked")
    client.lsp.cancel_request(types.CancelParams(id="search"))
    with pytest.raises(JsonRpcException) as cancelled:
        await search
    assert cancelled.value.code == -32800
    await asyncio.wait_for(model.cancelled.wait(), 5)
    model.released.set()
    result = await client.request(METHOD, REQUEST)
    assert result["ranked_by"]["model"] == "tiny-ranker", "the next search is asked and answered"


async def test_the_editors_model_is_not_used_when_models_are_off(
    editor: tuple[Client, EditorsModel],
) -> None:
    client, model = editor
    result = await client.request(METHOD, {**REQUEST, "ranker": "local"})
    assert result["ranked_by"] == {"kind": "local"}
    assert model.asked == []


async def test_terms_for_a_question_are_its_identifiers_then_its_words(client: Client) -> None:
    query = "where is load_plugin called, and how are errors of it (a.b) shown?"
    answer = await client.request("$/suggestTerms", {"query": query})
    assert answer == {"terms": ["load_plugin", r"a\.b", "called", "errors", "shown"]}
    empty = {"query": " ?", "workDoneToken": 1, "partialResultToken": "p"}
    assert await client.request("$/suggestTerms", empty) == {"terms": []}
    error = await client.error("$/suggestTerms", {"text": "x"})
    assert error.code == -32602


async def test_similar_names_from_the_index_are_suggested_last(
    start_client: StartClient, project: Path
) -> None:
    # Beside other tests it would wait for a processor.
    client = await start_client(project, options={"index": {"cpu_throttle_threshold": 1}})
    (project / "shelf.py").write_text("def stow_zebras():\n    pass\n\n\ndef zebra():\n    pass\n")
    asked = {"query": "where is a zebra kept"}

    async def terms() -> list[str] | None:
        found: list[str] = (await client.request("$/suggestTerms", asked))["terms"]
        return found if len(found) > 2 else None

    assert await until(terms, "no name is proposed") == ["zebra", "kept", "stow_zebras"]
