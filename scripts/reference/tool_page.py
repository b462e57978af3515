"""The page of a tool, and the list of all."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from reference.error_page import kind_of
from reference.example import Example, command_line, steady, synopsis
from reference.markdown import block, page, pretty, table
from reference.shapes import (
    Struct,
    params_table,
    result_table,
    sentence,
    structs_in,
)
from winnow.config import Config
from winnow.tools import TOOLS
from winnow.tools.registry import Tool, fields_of
from winnow.tools.terminal import Style
from winnow.types import (
    Answer,
    Completeness,
    FileParams,
    IndexState,
    PageParams,
    SearchParams,
    Skipped,
)

INDEX = "README.md"
# Their tables are on the page that lists the tools.
SHARED: dict[Struct, str] = {Completeness: INDEX, Skipped: INDEX, IndexState: INDEX}

INTRODUCTION = """\
What Winnow can do is a set of tools. Each is a request of the language server, a command, and a
function that an agent can be given; params and answers are the same at every door. The pages are
made from the definitions of the tools, and their examples are run in
[a little project](../example), which is shown as if it stood in `/example`: a test fails when a
page is not what the code does."""

DOORS = """\
**In an editor**, and over LSP in general, a tool is a request with one object of params. It takes
`workDoneToken` and then reports progress, and it is cancelled by `$/cancelRequest` or
`window/workDoneProgress/cancel`. With a `partialResultToken`, the tools that have partial results
send these.

**At the command line**, required params stand behind the command, and every other param is an
option: `max_results` is `--max-results 5`, an array is an option that can be repeated, a range is
`--spans 10-20`, a boolean needs no value. `--format` chooses between `text` for people (as the
examples show it), `plain` for agents, and `json`, which is the answer of the request. Exit codes
are grep's: 0 found, 1 nothing found, 2 error.

**For agents**, [`winnow mcp`](../mcp.md) is a server of the Model Context Protocol; in a program of
[your own](../embedding.md), [`$/tools`](tools.md) lists name, description and JSON Schema of each
tool. Where an array is wanted, a single value is taken, too, and a range may be written `"10-20"`.

**From Python**, a tool is a method of [`winnow.Workspace`](../python.md)."""

ABSENT = """\
Fields in *italics* are optional: a count that was not taken, or what does not apply, is absent,
never 0 or null; a boolean that is absent is false."""


def index_page() -> str:
    """The list of all tools, and what holds for each."""
    rows = [
        [
            f"[{tool.name}]({tool.command}.md)",
            f"`{tool.method}`",
            f"`winnow {tool.command}`",
            tool.summary,
        ]
        for tool in TOOLS.values()
    ]
    return page(
        "Tools",
        INTRODUCTION,
        table(["Tool", "Request", "Command", ""], rows),
        "See also [errors](../errors.md) and [settings](../settings.md).",
        "## How to call them",
        DOORS,
        "## In every answer",
        "These fields are in the answer of every tool but `tools`.",
        ABSENT,
        result_table(Answer, {Completeness: "", Skipped: "", IndexState: ""}),
        *_structs([Completeness, Skipped, IndexState]),
    )


def tool_page(tool: Tool[Any, Any], example: Example) -> str:
    """All about one tool; ``example`` is what its example answers."""
    return page(
        tool.name,
        tool.summary,
        _doors(tool),
        "## What agents read",
        block("text", tool.description),
        "## Params",
        params_table(tool.params, _inherited(tool.params)) or "None.",
        *_param_structs(tool),
        "## Result",
        *_result(tool),
        *_partial(tool),
        "## Errors",
        _errors(tool),
        "## Example",
        *_example(tool, example),
    )


def _doors(tool: Tool[Any, Any]) -> str:
    rows = [
        ["Request", f"`{tool.method}`"],
        ["Command", f"`{' '.join(synopsis(tool))}`"],
        ["Name for agents", f"`{tool.name}`" if tool.for_agents else "none: it is for people"],
    ]
    if not tool.offered(Config()):
        rows.append(["Off", "as a request, unless [the settings](../settings.md) turn it on"])
    return table(["", ""], rows)


def _inherited(params: Struct) -> set[str]:
    """The params that other tools have, too, in the same words."""
    shared = [one for one in (PageParams, SearchParams, FileParams) if issubclass(params, one)]
    return {field.name for one in shared for field in fields_of(one)}


def _param_structs(tool: Tool[Any, Any]) -> list[str]:
    return [
        part
        for struct in structs_in(tool.params)
        for part in (f"### {struct.__name__}", sentence(struct), params_table(struct))
    ]


def _result(tool: Tool[Any, Any]) -> list[str]:
    answer = Answer if issubclass(tool.result, Answer) else None
    own = [struct for struct in structs_in(tool.result) if struct not in SHARED]
    return [
        sentence(tool.result),
        ABSENT,
        result_table(tool.result, SHARED, answer),
        *_structs(own),
    ]


def _structs(structs: list[Struct]) -> list[str]:
    elsewhere = dict.fromkeys(structs, "")
    return [
        part
        for struct in structs
        for part in (f"### {struct.__name__}", sentence(struct), result_table(struct, elsewhere))
    ]


def _partial(tool: Tool[Any, Any]) -> list[str]:
    if tool.partial is None:
        return []
    return ["## Partial results", sentence(tool.partial), result_table(tool.partial, {})]


def _errors(tool: Tool[Any, Any]) -> str:
    rows = [
        [f"[`{error.kind}`](../errors.md)", sentence(error)]
        for error in sorted(tool.raises, key=kind_of)
    ]
    return table(["Kind", ""], rows)


def _example(tool: Tool[Any, Any], example: Example) -> list[str]:
    folder = example.folder
    text = steady(tool.text(example.result, Style(False), str(folder)), folder)
    plain = steady(tool.plain(example.result), folder)
    parts = [block("sh", command_line(tool, tool.example)), block("text", text)]
    if plain != text:
        parts += [
            "The same for agents:",
            block("sh", command_line(tool, tool.example, "--format", "plain")),
            block("text", plain),
        ]
    answer = msgspec.to_builtins(example.result)
    return [
        *parts,
        "As a request:",
        block("json", pretty({"method": tool.method, "params": tool.example})),
        "Its answer:",
        block("json", pretty(json.loads(steady(json.dumps(answer), folder)))),
    ]
