"""Generate the page of a tool, and the list of all tools."""

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
    SharedState,
    Skipped,
)

INDEX = "README.md"
# Structs whose tables are on the page that lists the tools.
SHARED: dict[Struct, str] = dict.fromkeys((Completeness, Skipped, IndexState, SharedState), INDEX)

INTRODUCTION = """\
Winnow is a set of tools. Each is a request of the language server, a command, an MCP tool and a
Python method, with the same params and results. These pages are generated from the tools'
definitions. The examples are run in [a small project](../example), shown as `/example`; a test
fails if a page differs from the code."""

FRONT_ENDS = """\
**Over LSP**, in an editor or elsewhere, a tool is a request with one object of params. With a
`workDoneToken` it reports progress; `$/cancelRequest` or `window/workDoneProgress/cancel` cancels
it. With a `partialResultToken`, tools with partial results stream them.

**On the command line**, required params are positional, and all others are options: `file_types` is
`--file-types py`, an array is a repeatable option, a range is `--spans 10-20`, and a boolean needs
no value. The number of results is `--limit` (`-n`) everywhere. `--format` is `text` for people (as
in the examples), `plain` for agents, or `json`, the request's result. Exit codes are grep's: 0
found, 1 nothing found, 2 error.

**For agents**, [`winnow mcp`](../mcp.md) is a Model Context Protocol server; by default it has four
of these tools, under shorter names. In [your own program](../embedding.md), [`$/tools`](tools.md)
lists the name, description and JSON Schema of each tool. A single value is accepted as an array,
and a range may be written `"10-20"`.

**From Python**, a tool is a method of [`winnow.Workspace`](../python.md)."""

ABSENT = """\
Fields in *italics* are optional. A count that wasn't taken and a field that doesn't apply are
absent, never 0 or null. An absent boolean is false."""


def index_page() -> str:
    """Return the list of all tools, and how to call them."""
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
        table(["Tool", "Request", "Command", "Description"], rows),
        "See also [errors](../errors.md) and [settings](../settings.md).",
        "## How to call them",
        FRONT_ENDS,
        "## In every answer",
        "Every answer except that of `tools` has these fields.",
        ABSENT,
        result_table(Answer, dict.fromkeys(SHARED, "")),
        *_structs(list(SHARED)),
    )


def tool_page(tool: Tool[Any, Any], example: Example) -> str:
    """Return the page of a tool; ``example`` is the result of its example."""
    return page(
        tool.name,
        tool.summary,
        _front_ends(tool),
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


def _front_ends(tool: Tool[Any, Any]) -> str:
    rows = [
        ["Request", f"`{tool.method}`"],
        ["Command", f"`{' '.join(synopsis(tool))}`"],
        ["Name for agents", f"`{tool.name}`" if tool.for_agents else "none: not for agents"],
    ]
    if tool.switch and not Config().is_on(tool.switch):
        rows.append(
            ["Availability", "off as a request unless enabled in [the settings](../settings.md)"]
        )
    return table(["", ""], rows)


def _inherited(params: Struct) -> set[str]:
    """Return the names of params that several tools share."""
    bases = [base for base in (PageParams, SearchParams, FileParams) if issubclass(params, base)]
    return {field.name for base in bases for field in fields_of(base)}


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
            "The same, for agents:",
            block("sh", command_line(tool, tool.example, "--format", "plain")),
            block("text", plain),
        ]
    answer = msgspec.to_builtins(example.result)
    return [
        *parts,
        "As a request:",
        block("json", pretty({"method": tool.method, "params": tool.example})),
        "The result:",
        block("json", pretty(json.loads(steady(json.dumps(answer), folder)))),
    ]
