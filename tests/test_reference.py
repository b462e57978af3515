"""The generated documentation matches the code, and its examples match the real behavior."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commands import command
from conftest import Recorder, child_environment
from reference.error_page import error_classes
from reference.example import prepare, project, run, steady
from reference.extension import PACKAGE, package_text, settings
from reference.methods import STUB, stub_text
from reference.pages import DOCS, all_pages, generated_files
from reference.settings_page import sections, sentences_of
from reference.shapes import Struct, sentence, structs_in
from winnow.tools import TOOLS
from winnow.tools.registry import Tool, fields_of

each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
AnyTool = Tool[Any, Any]


@pytest.fixture(scope="module")
def example() -> Iterator[Path]:
    with project() as folder:
        yield folder


def page_of(tool: AnyTool) -> str:
    return (DOCS / f"tools/{tool.command}.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks in the example's section."""
    section = page.partition("\n## Example\n")[2]
    return re.findall(rf"^```{language}\n(.*?)\n```$", section, re.M | re.S)


@pytest.mark.slow
async def test_the_pages_are_up_to_date() -> None:
    made = await all_pages()
    assert generated_files() == set(made)
    for file, text in made.items():
        assert (DOCS / file).read_text("utf-8") == text, f"docs/{file} is stale: run scripts/docs"


def test_the_extensions_settings_and_tools_are_up_to_date() -> None:
    assert PACKAGE.read_text("utf-8") == package_text(), "package.json is stale: run scripts/docs"


def test_the_type_stub_of_the_python_api_is_up_to_date() -> None:
    assert STUB.read_text("utf-8") == stub_text(), "tool_methods.pyi is stale: run scripts/docs"


def test_a_workspace_cannot_set_programs_addresses_or_keys() -> None:
    shown = settings()
    window = {name for name, schema in shown.items() if schema["scope"] == "window"}
    assert {"programs.rg", "bash.enabled", "llm.models", "llm.enabled"}.isdisjoint(window)
    assert "search.exclude" in window
    assert shown.keys() == {
        f"{path}.{field.name}"
        for path, struct in sections()
        if "NAME" not in path
        for field in fields_of(struct)
    }


@pytest.mark.slow
@each_tool
def test_commands_print_the_output_on_their_page(tool: AnyTool, example: Path) -> None:
    page = page_of(tool)
    commands = blocks(page, "sh")
    assert commands
    for line, shown in zip(commands, blocks(page, "text"), strict=True):
        program, *arguments = shlex.split(line)
        assert program == "winnow"
        asyncio.run(prepare(example))
        done = command(example, *arguments, environment=child_environment(example.parent))
        assert (done.stderr, done.returncode) == ("", 0)
        assert steady(done.stdout, example) == shown + "\n"


@each_tool
def test_requests_return_the_result_on_their_page(tool: AnyTool) -> None:
    request, answer = map(json.loads, blocks(page_of(tool), "json"))
    assert request == {"method": tool.method, "params": tool.example}
    found = answer["tools"] if tool.name == "tools" else answer["returned"]
    assert found
    # The page has all fields, in the same form as the result.
    result = msgspec.convert(answer, tool.result)
    assert json.loads(msgspec.json.encode(result)) == answer


@pytest.mark.slow
@each_tool
async def test_a_tool_sends_the_partial_results_on_its_page(tool: AnyTool, example: Path) -> None:
    recorder = Recorder()
    recorder.streaming = True
    await run(tool, example, recorder)
    assert {type(partial) for partial in recorder.partials} == {tool.partial} - {None}


@each_tool
def test_every_field_of_an_answer_has_a_description(tool: AnyTool) -> None:
    partial: list[Struct] = [tool.partial] if tool.partial else []
    for struct in (tool.result, *structs_in(tool.result), *partial):
        assert sentence(struct).endswith("."), struct
        for field in fields_of(struct):
            assert field.description.endswith("."), f"{struct.__name__}.{field.name}"


def test_every_error_is_raised_by_a_tool_and_has_a_description() -> None:
    assert {error for tool in TOOLS.values() for error in tool.raises} == set(error_classes())
    for error in error_classes():
        assert sentence(error).endswith("."), error


@each_tool
def test_errors_that_the_engine_documents_are_on_the_page(tool: AnyTool) -> None:
    names = {error.__name__ for error in error_classes()}
    documented = set(re.findall(r"\w+", " ".join(engine_docstrings(tool)))) & names
    assert documented <= {error.__name__ for error in tool.raises}


def engine_docstrings(tool: AnyTool) -> Iterator[str]:
    """Yield the docstrings of the engine's functions that a tool's coroutine uses or imports."""
    names = inspect.unwrap(tool.run).__globals__
    for node in ast.walk(ast.parse(inspect.getsource(tool.run))):
        used = names.get(node.id) if isinstance(node, ast.Name) else None
        if inspect.isfunction(used) and used.__module__.startswith("winnow.search"):
            yield inspect.getdoc(used) or ""
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):  # a module of a package
                    importlib.import_module(f"{node.module}.{alias.name}")
                yield inspect.getdoc(getattr(module, alias.name)) or ""


def test_every_setting_has_a_description() -> None:
    for path, struct in sections():
        missing = {field.name for field in fields_of(struct)} - sentences_of(struct).keys()
        below = {name.rpartition(".")[2] for name, _ in sections() if name.startswith(path)}
        assert missing <= below, path
