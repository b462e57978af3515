"""code_search with a language model: what it is sent, and how its choice is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered
from conftest import FAKE_KEY, MakeWorkspace, Recorder, models_config, write_files
from model_server import ModelServer
from planted import all_planted
from winnow.errors import InvalidParams, LlmFailed, NoLlmAvailable
from winnow.ranking.tokens import estimated_tokens
from winnow.search.answer.ranked_by import RankedBy
from winnow.search.code.choice import IS_LATER_PAGE, IS_NAME, MOST_PLACES
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchPartial, CodeSearchResult, plain
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["code_search"]
QUESTION = "how are plugins loaded"


async def search(
    workspace: EngineWorkspace, query: str, progress: Progress = no_progress, **params: Any
) -> CodeSearchResult:
    raw = {"query": query, "ranker": "auto", **params}
    return await answered(TOOL, CodeSearchResult, workspace, raw, progress)


@pytest.fixture
async def workspace(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> EngineWorkspace:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    return workspace


def choose(model_server: ModelServer, *paths: str) -> None:
    """Let the model choose these paths, in this order, if it was sent them."""
    model_server.choose = lambda files: [
        {"id": name, "lines": "1-99", "reason": f"because of {path}"}
        for wanted in paths
        for name, path in files.items()
        if path == wanted
    ]


async def test_the_places_that_a_model_chooses_come_in_its_order_with_its_reasons(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    choose(model_server, "src/main.py", "src/loader.py")
    result = await search(workspace, QUESTION)
    assert [(hit.path, hit.why) for hit in result.results] == [
        ("src/main.py", "because of src/main.py"),
        ("src/loader.py", "because of src/loader.py"),
    ]
    assert result.ranked_by == RankedBy(kind="llm", model="openai-test", provider="openai")
    assert result.usage is not None
    local = await search(workspace, QUESTION, ranker="local")
    assert local.ranked_by == RankedBy(kind="local")
    rest = [hit.path for hit in local.results if hit.path not in ("src/main.py", "src/loader.py")]
    assert [other.path for other in result.not_chosen or ()] == rest
    assert "ranked by openai-test" in plain(result)
    assert f"(not chosen by the model: {rest[0]}:" in plain(result)


async def test_a_result_opens_at_the_line_that_the_model_names(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    [local, *_] = (await search(workspace, QUESTION, ranker="local")).results
    assert local.line is not None
    assert local.end_line is not None
    model_server.choose = lambda files: [
        {"id": "f01", "lines": str(local.end_line), "reason": "there"}
    ]
    [hit] = (await search(workspace, QUESTION)).results
    assert (hit.path, hit.line, hit.best_line) == (local.path, local.line, local.end_line)


async def test_local_results_are_streamed_first_then_each_choice_and_the_result_has_all(
    workspace: EngineWorkspace, model_server: ModelServer, recorder: Recorder
) -> None:
    choose(model_server, "src/main.py", "src/loader.py")
    recorder.streaming = True
    result = await search(workspace, QUESTION, recorder)
    partials = [one for one in recorder.partials if isinstance(one, CodeSearchPartial)]
    assert [one.ranked_by.kind for one in partials] == ["local", "llm", "llm"]
    assert [one.results for one in partials[1:]] == [[hit] for hit in result.results]
    assert len(partials[0].results) > 2


async def test_a_model_gets_the_places_without_secrets_in_few_tokens(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    planted = all_planted(seed=11)[::9]
    body = "\n".join(f"    # plugins are loaded\n    {one.text}" for one in planted)
    large = "\n".join(f"    plugins.loaded({number})" for number in range(3000))
    write_files(
        project,
        {
            "src/settings.py": f"def load_plugins():\n{body}\n",
            "src/large.py": f"def load_plugins_again():\n{large}\n",
            **{f"src/load_{n}.py": f"def load_plugins_{n}():\n{large}\n" for n in range(30)},
        },
    )
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    result = await search(workspace, f"how are plugins loaded {planted[0].value}")
    [request] = model_server.requests
    said = model_server.bodies[0].decode().replace("\\/", "/")
    assert [one.value for one in planted if one.value in said] == []
    assert result.redactions
    prompt = "".join(message["content"] for message in request["messages"])
    assert estimated_tokens(prompt) <= 8_000
    assert prompt.count("\n[f") == MOST_PLACES


async def test_no_part_of_a_secret_is_sent_of_a_line_that_is_cut(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    secret = "correct horse battery staple mountain"
    for length in range(190, 250, 4):
        before = ("def load_plugins(): return 1  # " + "filler " * 40)[:length]
        line = f'{before} password = "{secret}" # ' + "more words " * 400
        write_files(project, {f"src/load_{length}.py": f"{line}\n"})
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    await search(workspace, QUESTION)
    said = model_server.bodies[0].decode()
    assert said.count("src/load_") > 10
    assert [word for word in ("correct", "horse", "staple") if word in said] == []


@pytest.mark.parametrize("query", ["Loader", "loader.py"])
async def test_a_name_or_a_path_is_not_worth_the_tokens_unless_a_model_is_required(
    workspace: EngineWorkspace, model_server: ModelServer, query: str
) -> None:
    choose(model_server, "src/loader.py")
    result = await search(workspace, query)
    assert model_server.requests == []
    assert result.ranked_by == RankedBy(kind="local", fallback_reason=IS_NAME)
    assert f"[ranked locally: {IS_NAME}]" in plain(result)
    result = await search(workspace, query, ranker="llm")
    assert result.ranked_by.kind == "llm"
    assert [hit.path for hit in result.results] == ["src/loader.py"] * len(result.results)
    assert result.results[0].why == "because of src/loader.py"


async def test_the_next_page_continues_behind_what_the_model_saw(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    write_files(project, {f"src/p{n}.py": f"def load_plugin_{n}(): ...\n" for n in range(30)})
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    every = [
        hit.path for hit in (await search(workspace, QUESTION, ranker="local", limit=99)).results
    ]
    choose(model_server, *every[1:4])
    short = await search(workspace, QUESTION, limit=2)
    assert [hit.path for hit in short.results] == every[1:3]
    assert (short.truncated, short.cursor) == (True, None)
    assert (
        "openai-test chose 1 more: increase `limit` or `max_tokens` to see them" in short.warnings
    )
    first = await search(workspace, QUESTION, limit=3)
    assert [hit.path for hit in first.results] == every[1:4]
    second = await search(workspace, QUESTION, limit=99, cursor=first.cursor)
    assert [hit.path for hit in second.results] == every[MOST_PLACES:]
    assert second.ranked_by == RankedBy(kind="local", fallback_reason=IS_LATER_PAGE)
    assert len(model_server.requests) == 1  # the second answer was cached
    model_server.mode = "nothing"
    none = await search(workspace, f"{QUESTION}?", limit=99)
    assert (none.returned, none.truncated) == (0, True)
    rest = await search(workspace, f"{QUESTION}?", limit=99, cursor=none.cursor)
    assert [hit.path for hit in rest.results] == every[MOST_PLACES:]


async def test_of_several_places_in_a_file_only_the_one_that_was_sent_is_not_chosen(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    several = "\n\n".join(f"class C{n}:\n    def same_name(self): ..." for n in range(4))
    write_files(project, {"src/many.py": several})
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment={"FAKE_API_KEY": FAKE_KEY})
    await workspace.index.build()
    model_server.mode = "nothing"
    result = await search(workspace, "same_name", ranker="llm")
    assert [other.line for other in result.not_chosen or ()] == [2]


async def test_a_short_answer_counts_what_the_model_did_not_choose(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    choose(model_server, "src/loader.py")
    every = await search(workspace, QUESTION)
    short = await search(workspace, QUESTION, max_tokens=250)
    assert every.not_chosen
    assert short.not_chosen is None
    assert short.total_not_chosen == len(every.not_chosen)
    assert short.truncated


async def test_a_failing_model_leaves_the_local_order_and_the_answer_says_why(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    model_server.mode = "unauthorized"
    local = await search(workspace, QUESTION, ranker="local")
    result = await search(workspace, QUESTION)
    assert result.results == local.results
    assert "openai-test" in (result.ranked_by.fallback_reason or "")
    with pytest.raises(LlmFailed):
        await search(workspace, QUESTION, ranker="llm")


async def test_without_a_key_the_local_ranker_answers_or_the_error_names_the_models(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    workspace = make_workspace(project, config=models_config(model_server, "openai-test"))
    result = await search(workspace, QUESTION)
    assert "no language model has a key" in (result.ranked_by.fallback_reason or "")
    with pytest.raises(NoLlmAvailable):
        await search(workspace, QUESTION, ranker="llm")
    with pytest.raises(InvalidParams, match="unknown model 'gpt-9'"):
        await search(workspace, QUESTION, model="gpt-9")


async def test_a_model_that_finds_nothing_relevant_hides_nothing(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    model_server.mode = "nothing"
    local = await search(workspace, QUESTION, ranker="local")
    result = await search(workspace, QUESTION)
    assert result.results == []
    assert [other.path for other in result.not_chosen or ()] == [hit.path for hit in local.results]


async def test_the_local_ranker_sends_nothing(
    workspace: EngineWorkspace, model_server: ModelServer
) -> None:
    result = await search(workspace, QUESTION, ranker="local")
    assert model_server.requests == []
    assert msgspec.to_builtins(result.ranked_by) == {"kind": "local"}
