"""Rank by a model, against a server that speaks both wire formats and fails in every way."""

from __future__ import annotations

import asyncio
import gc
from types import AsyncGeneratorType

import pytest

from conftest import FAKE_KEY, models_config
from model_server import ModelServer
from waiting_for import SECONDS, until
from winnow.config import Prices
from winnow.ranking import llm
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.models import Models, NamedModel, with_cost
from winnow.ranking.providers import ModelRequest, Usage, token_usage
from winnow.text.ripgrep import Line

PROVIDERS = ["openai-test", "anthropic-test"]
ENVIRONMENT = {"FAKE_API_KEY": FAKE_KEY}


def candidate(path: str) -> Candidate:
    lines = {
        1: Line("import nothing", 15),
        2: Line(f"def needle_in_{path[0]}():", 22, ((4, 10),)),
    }
    return Candidate(path, lines, {"needle": (2,)}, {"needle": 1})


CANDIDATES = [candidate(name) for name in ("a.py", "b.py", "c.py")]


class Asked:
    """One ranking: the files it streamed and what came of it."""

    def __init__(self, server: ModelServer, *names: str, **settings: object) -> None:
        # On a busy machine an SDK takes longer to load than the default deadline.
        settings = {"deadline_seconds": 60.0, **settings}
        self.models = Models(models_config(server, *names, **settings).llm, ENVIRONMENT)
        self.streamed: list[str] = []

    async def rank(self, query: str = "where is the needle") -> llm.LlmRanking:
        usable, unusable = self.models.usable()
        assert unusable == []

        def on_file(model: NamedModel, file: Ranked) -> None:
            self.streamed.append(file.candidate.path)

        return await llm.rank(query, CANDIDATES, self.models, usable, root="/root", on_file=on_file)


def chosen(ranking: llm.LlmRanking) -> list[tuple[str, str]]:
    return [(file.candidate.path, file.reason) for file in ranking.files]


A_AND_B = [("a.py", "because of a.py"), ("b.py", "because of b.py")]


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    "mode", ["ok", "plain", "thinking", "no_schema", "odd_usage", "odd_content"]
)
async def test_a_model_chooses_files_with_reasons(
    model_server: ModelServer, name: str, mode: str
) -> None:
    model_server.mode = mode
    asked = Asked(model_server, name)
    ranking = await asked.rank()
    assert chosen(ranking) == A_AND_B
    assert asked.streamed == ["a.py", "b.py"]
    assert ranking.broken_off is None
    assert ranking.unknown == 0
    if mode in ("ok", "thinking"):
        assert ranking.usage == Usage(input_tokens=1000, output_tokens=50, cached_tokens=200)
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_server_that_rejects_the_schema_gets_a_request_for_plain_lines(
    model_server: ModelServer, name: str
) -> None:
    model_server.mode = "no_schema"
    asked = Asked(model_server, name)
    await asked.rank()
    first, second = model_server.requests
    assert {"response_format", "output_config"} & first.keys()
    assert not {"response_format", "output_config"} & second.keys()
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_files_that_were_not_sent_are_dropped_and_counted(
    model_server: ModelServer, name: str
) -> None:
    model_server.mode = "unknown_ids"
    asked = Asked(model_server, name)
    ranking = await asked.rank()
    assert chosen(ranking) == A_AND_B
    assert ranking.unknown == 1
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_model_may_find_nothing_relevant(model_server: ModelServer, name: str) -> None:
    model_server.mode = "nothing"
    asked = Asked(model_server, name)
    assert chosen(await asked.rank()) == []
    await asked.models.aclose()


FAILURES = {
    "rate_limited_long": "HTTP 429",
    "error_500": "HTTP 500",
    "unauthorized": "HTTP 401",
    "hang": "no complete answer within",
    "bad_json": "the answer is unreadable",
    "refusal": "refused",
    "empty": "the answer is empty",
    "endless": "too long",
    "deep": "invalid answer: RecursionError",
    "bomb": "the response is compressed",
    "error_in_stream": "bad key",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("mode", FAILURES)
async def test_failures_are_reported_within_the_deadline_without_the_key(
    model_server: ModelServer, name: str, mode: str
) -> None:
    model_server.mode = mode
    deadline = 1.0 if mode == "hang" else SECONDS
    asked = Asked(model_server, name, deadline_seconds=deadline)
    await asked.models.warm(asked.models.usable()[0][0])
    with pytest.raises(llm.RankingFailed) as failed:
        await asked.rank()
    if mode == "hang":  # waits until the deadline
        assert await asyncio.to_thread(model_server.closed.wait, SECONDS)
    [attempt] = failed.value.attempts
    assert FAILURES[mode] in attempt["error"]
    assert FAKE_KEY not in attempt["error"]
    assert "\x1b" not in attempt["error"]
    assert "evil.example" not in attempt["error"]
    await asked.models.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROVIDERS)
async def test_the_deadline_ends_a_slow_answer_and_keeps_the_named_files(
    model_server: ModelServer, name: str
) -> None:
    model_server.mode = "drip"
    model_server.drip_seconds = 0.002  # a moment to the second file, five seconds to the end
    model_server.choose = lambda files: [{"id": "f01"}, {"id": "f02", "reason": "x" * 2500}]
    asked = Asked(model_server, name, deadline_seconds=3.0)
    await asked.models.warm(asked.models.usable()[0][0])
    ranking = await asked.rank()
    assert [file.candidate.path for file in ranking.files] == ["a.py"]
    assert "no complete answer" in (ranking.broken_off or "")
    # The server saw the connection close: a paid generation would have ended.
    assert await asyncio.to_thread(model_server.closed.wait, SECONDS)
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("mode", ["cut", "length"])
async def test_a_cut_answer_keeps_the_named_files_and_reports_the_cut(
    model_server: ModelServer, name: str, mode: str
) -> None:
    model_server.mode = mode
    asked = Asked(model_server, name)
    ranking = await asked.rank()
    assert chosen(ranking) == A_AND_B[:1]
    assert ranking.broken_off
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_server_that_floods_is_cut_off(model_server: ModelServer, name: str) -> None:
    model_server.mode = "flood"
    asked = Asked(model_server, name, deadline_seconds=SECONDS)
    with pytest.raises(llm.RankingFailed) as failed:
        await asked.rank()
    assert "the response is too long" in failed.value.attempts[0]["error"]
    assert await asyncio.to_thread(model_server.closed.wait, SECONDS)
    assert model_server.sent_megabytes < 50
    await asked.models.aclose()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_impossible_end_of_an_answer_keeps_the_named_files(
    model_server: ModelServer, name: str
) -> None:
    model_server.mode = "odd_finish"
    asked = Asked(model_server, name)
    ranking = await asked.rank()
    assert chosen(ranking) == A_AND_B
    assert ranking.broken_off
    await asked.models.aclose()


@pytest.mark.parametrize("count", [-1, 10**18, True, "12", None])
def test_impossible_numbers_of_tokens_do_not_count(count: object) -> None:
    assert token_usage(count, 50, 0) is None
    assert token_usage(1000, count, 0) is None
    assert token_usage(1000, 50, count) == Usage(input_tokens=1000, output_tokens=50)


@pytest.mark.parametrize("mode", ["rate_limited_short", "error_500"])
async def test_a_temporary_failure_is_retried_once(model_server: ModelServer, mode: str) -> None:
    model_server.mode = [mode, "ok"]
    asked = Asked(model_server, "openai-test")
    assert chosen(await asked.rank()) == A_AND_B
    assert len(model_server.requests) == 2
    await asked.models.aclose()


async def test_the_next_model_takes_over(model_server: ModelServer) -> None:
    model_server.mode = ["unauthorized", "ok"]
    asked = Asked(model_server, "openai-test", "anthropic-test")
    ranking = await asked.rank()
    assert (ranking.model.name, chosen(ranking)) == ("anthropic-test", A_AND_B)
    await asked.models.aclose()


@pytest.mark.slow
async def test_a_silent_model_leaves_time_for_the_next_model(model_server: ModelServer) -> None:
    model_server.mode = ["hang", "ok"]
    # With three seconds left, the first model would be retried.
    asked = Asked(model_server, "openai-test", "openai-other", deadline_seconds=5.5)
    for model in asked.models.usable()[0]:
        await asked.models.warm(model)
    ranking = await asked.rank()
    assert (ranking.model.name, chosen(ranking)) == ("openai-other", A_AND_B)
    await asked.models.aclose()


async def test_a_model_that_fails_repeatedly_is_paused(
    model_server: ModelServer,
) -> None:
    model_server.mode = "unauthorized"
    asked = Asked(model_server, "openai-test", failures_before_pause=2)
    for _ in range(2):
        with pytest.raises(llm.RankingFailed):
            await asked.rank()
    usable, unusable = asked.models.usable()
    assert usable == []
    assert unusable == [{"model": "openai-test", "error": "paused after 2 failures in a row"}]
    await asked.models.aclose()


async def test_the_same_request_is_answered_from_the_cache(model_server: ModelServer) -> None:
    asked = Asked(model_server, "openai-test")
    first, second = await asked.rank(), await asked.rank()
    assert chosen(first) == chosen(second) == A_AND_B
    assert second.usage == Usage(input_tokens=0, output_tokens=0)
    await asked.rank("another question")
    assert len(model_server.requests) == 2
    await asked.models.aclose()


async def test_cancelling_closes_the_connection(model_server: ModelServer) -> None:
    model_server.mode = "hang"
    asked = Asked(model_server, "openai-test")
    task = asyncio.create_task(asked.rank())
    while not model_server.requests:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(model_server.closed.wait, SECONDS)
    await asked.models.aclose()


def suspended() -> list[object]:
    """Return the asynchronous generators that have not ended."""
    generators = (found for found in gc.get_objects() if isinstance(found, AsyncGeneratorType))
    return [found for found in generators if found.ag_frame is not None]


@pytest.mark.parametrize("name", PROVIDERS)
async def test_no_suspended_generator_is_left_to_the_garbage_collector(
    model_server: ModelServer, name: str
) -> None:
    asked = Asked(model_server, name)
    gc.collect()
    gc.disable()
    before = suspended()
    try:
        pieces = asked.models.ask(asked.models.named(name), ModelRequest("s", "[f1] a.py", None))
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]
        del pieces
        # Generators that nothing refers to close in tasks of their own.
        await until(lambda: all(found in before for found in suspended()))
    finally:
        gc.enable()
    await asked.models.aclose()


def test_cost_is_reported_if_prices_are_configured() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=500_000)
    prices = Prices(input=1.0, output=10.0, cached_input=0.1)
    told = with_cost(usage, prices)
    assert told is not None
    assert told.cost_usd == pytest.approx(0.5 + 0.05 + 1.0)
    assert with_cost(usage, None) == usage
