"""The short list of tools that `winnow mcp` offers by default, and errors with a corrected call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from conftest import write_files
from mcp_client import connected_here, text_of
from winnow.tools import TOOLS, short_list

pytestmark = pytest.mark.wire

SHORT = ("--tools", "short")
# Of English and JSON. Fewer than any current tokenizer has on average.
CHARACTERS_PER_TOKEN = 3.5


async def test_the_short_list_is_small(project: Path) -> None:
    async with connected_here(project, *SHORT) as client:
        listed = (await client.list_tools()).tools
    assert [one.name for one in listed] == ["search", "references", "grep", "read"]
    size = sum(len(json.dumps([one.name, one.description, one.input_schema])) for one in listed)
    assert size / CHARACTERS_PER_TOKEN <= 1_500
    assert not any(one.output_schema for one in listed)


def test_the_short_list_has_only_params_of_the_tools() -> None:
    for tool in short_list().values():
        assert tool.short is not None
        names = {field.name for field in tool.fields}
        assert {*tool.short.params, *tool.short.defaults} <= names
        schema = tool.short_schema(tool.short)
        for name, described in schema["properties"].items():
            full = tool.input_schema["properties"][name]
            assert described.get("type") == full.get("type"), (tool.name, name)
            assert described.get("enum") == full.get("enum"), (tool.name, name)
        assert set(schema.get("required", ())) == set(tool.input_schema.get("required", ()))


async def test_the_default_is_the_short_list_without_data(project: Path) -> None:
    from winnow.frontends.cli.main import command_parser

    options = command_parser().parse_args(["mcp"])
    assert (options.tools, options.structured) == ("short", False)
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool("grep", {"pattern": "def load_plugin"})
    assert answer.structured_content is None
    assert "src/loader.py" in text_of(answer)


async def test_a_search_has_five_results_and_few_tokens(tmp_path: Path) -> None:
    code = "def load_plugin_{0}(name):\n" + "    plugin = load(name)  # the plugin\n" * 30
    folder = tmp_path / "many"
    write_files(folder, {f"plugin_{n}.py": code.format(n) for n in range(30)})
    async with connected_here(folder, *SHORT) as client:

        async def results(**params: Any) -> tuple[int, float]:
            text = text_of(await client.call_tool("search", {"query": "load plugin", **params}))
            places = [line for line in text.splitlines() if line.startswith("plugin_")]
            return len(places), len(text) / CHARACTERS_PER_TOKEN

        count, tokens = await results()
        assert (count, tokens <= 800) == (5, True)
        assert (await results(limit=2))[0] == 2
        assert (await results(limit=12))[0] == 12


async def test_tools_outside_the_short_list_are_named_with_a_remedy(project: Path) -> None:
    async with connected_here(project, *SHORT) as client:
        for name in ("code_search", "glob", "bash", "index"):
            with pytest.raises(MCPError) as failed:
                await client.call_tool(name, {})
            assert "offered: search, references, grep, read" in failed.value.error.message
            assert "--tools all" in failed.value.error.message


@pytest.mark.parametrize(
    ("name", "params", "corrected"),
    [
        ("search", {"qeury": "loader"}, {"query": "loader"}),
        ("search", {"text": "loader", "top_k": 3}, {"limit": 3, "query": "loader"}),
        ("search", {"query": "loader", "limit": "3"}, {"query": "loader", "limit": 3}),
        ("search", {"query": "loader", "limit": 900}, {"query": "loader", "limit": 200}),
        (
            "grep",
            {"query": "load", "glob": "*.py"},
            {"pattern": "load", "include": ["*.py"]},
        ),
        ("grep", {"pattern": "load("}, {"pattern": "load(", "literal": True}),
        ("grep", {"pattern": "load", "limit": 2}, {"pattern": "load", "max_results": 2}),
        (
            "references",
            {"name": "load_plugin", "limit": 2},
            {"name": "load_plugin", "max_results": 2},
        ),
        ("grep", {"pattern": "x", "max_results": 0}, {"pattern": "x", "max_results": 1}),
        ("read", {"file_path": "src/loader.py"}, {"path": "src/loader.py"}),
        ("read", {"path": "src/loder.py"}, {"path": "src/loader.py"}),
        (
            "read",
            {"path": "src/loader.py", "lines": "2-3"},
            {"path": "src/loader.py", "spans": ["2-3"]},
        ),
        ("read", {"path": "src/loder.py:2-3"}, {"path": "src/loader.py:2-3"}),
        (
            "read",
            {"file": "src/loader.py", "start_line": 2, "end_line": 3},
            {"path": "src/loader.py", "spans": ["2-3"]},
        ),
        (
            "read",
            {"file_path": "src/loader.py", "offset": 2, "limit": 3},
            {"path": "src/loader.py", "spans": ["2-4"]},
        ),
        (
            "read",
            {"path": "src/loader.py", "offset": 2},
            {"path": "src/loader.py", "spans": ["2-"]},
        ),
        (
            "read",
            {"path": "src/loader.py", "spans": [[1, 1], "2-3"]},
            {"path": "src/loader.py", "spans": ["1-1", "2-3"]},
        ),
        (
            "read",
            {"path": "src/loader.py", "view_range": [2, -1]},
            {"path": "src/loader.py", "spans": ["2-"]},
        ),
        (
            "grep",
            {"pattern": "LOAD", "-i": True, "type": "py", "output_mode": "files_with_matches"},
            {"pattern": "LOAD", "case_sensitive": False, "file_types": ["py"], "mode": "files"},
        ),
        ("grep", {"pattern": "load", "mode": "count"}, {"pattern": "load", "mode": "counts"}),
        ("grep", {"pattern": "x", "path": "./src/*.py"}, {"pattern": "x", "include": ["src/*.py"]}),
        ("search", {"query": "load", "path": ["src"]}, {"query": "load", "path": "src"}),
        (
            "references",
            {"name": "load_plugin", "kinds": ["calls"]},
            {"name": "load_plugin", "kinds": ["call"]},
        ),
        ("references", {"symbol": "load_plugin"}, {"name": "load_plugin"}),
        ("references", {"name": "load_plugn"}, {"name": "Loader.load_plugin"}),
        ("references", {"name": "Loader::load_plugns"}, {"name": "Loader.load_plugins"}),
    ],
)
async def test_an_error_has_the_corrected_call_and_that_works(
    name: str, params: dict[str, Any], corrected: dict[str, Any], project: Path
) -> None:
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool(name, params)
        assert answer.is_error
        message, _, call = text_of(answer).partition(f"\nCorrected call: {name} ")
        assert message
        shown = json.loads(call)
        assert shown == corrected
        assert not (await client.call_tool(name, shown)).is_error


async def test_a_corrected_call_names_the_params_that_it_lacks(project: Path) -> None:
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool("search", {"query": "loader", "offset": 5, "page": 2})
    lacks = "Corrected call, without `offset`, `page`: search "
    assert text_of(answer).endswith(f'{lacks}{{"query":"loader"}}')


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("search", {"query": ""}),
        ("search", {}),
        # As text, it would find nothing, and this would seem to be the answer.
        ("grep", {"pattern": "(?<=x)load"}),
        ("read", {"path": "nothing_like_it"}),
        ("read", {"path": "srcs"}),  # similar to a folder
        ("read", {"path": "../../etc/passwd"}),
    ],
)
async def test_an_unclear_call_is_not_corrected(
    name: str, params: dict[str, Any], project: Path
) -> None:
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool(name, params)
    assert answer.is_error
    assert "Corrected call" not in text_of(answer)


async def test_an_index_is_offered_in_words_that_an_agent_can_follow(project: Path) -> None:
    settings = "[index]\nauto_index_threshold = 3\nmax_files = 2\n"
    async with connected_here(project, *SHORT, settings=settings) as client:
        answer = await client.call_tool("search", {"query": "where is a plugin loaded"})
    assert "[answers are better after `winnow index build` in a shell]" in text_of(answer)


async def test_an_unknown_field_is_answered_with_those_of_the_short_list(project: Path) -> None:
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool("read", {"path": "src/loader.py", "nonsense": 1})
    assert text_of(answer).startswith(
        "`nonsense`: unknown field; valid fields: path, outline, spans, cursor\n"
    )


async def test_a_definition_that_is_read_by_name_has_its_file(project: Path) -> None:
    async with connected_here(project, *SHORT) as client:
        answer = await client.call_tool("read", {"path": "Loader.load_plugins"})
    assert text_of(answer).startswith("src/loader.py:2-3  Loader.load_plugins\n2\t")


@pytest.mark.parametrize(
    ("name", "params", "says"),
    [
        ("read", {"path": "src"}, "list it with `winnow tree`, or search it with `grep`"),
        ("read", {"path": "nothing.like_it"}, "No indexed file defines a symbol of this name"),
        ("references", {"name": "nothing_like_it"}, "search with `grep`"),
        ("references", {}, "`name`: pass a name or a place, such as 'src/a.py:12'"),
        ("search", {"query": "zebra crossing"}, "docs/manual.pdf: see `winnow search-docs`]"),
    ],
)
async def test_messages_name_commands_instead_of_tools_outside_the_short_list(
    name: str, params: dict[str, Any], says: str, project: Path
) -> None:
    write_files(project, {"docs/manual.pdf": "%PDF-1.4\n"})
    async with connected_here(project, *SHORT) as client:
        answer = text_of(await client.call_tool(name, params))
    assert says in answer
    assert not {f"`{name}`" for name in TOOLS.keys() - short_list().keys()} & {
        *re.findall("`.*?`", answer)
    }


def test_every_tool_of_the_short_list_changes_nothing_and_sends_nothing() -> None:
    for tool in short_list().values():
        assert tool.short is not None
        assert not tool.effects.changes
        assert not {"ranker", "model"} & {*tool.short.params}
        assert next((f.default for f in tool.fields if f.name == "ranker"), "local") == "local"
