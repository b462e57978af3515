"""Questions about a project itself: its guides, and where it starts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from asking import answered
from conftest import IndexFiles, MakeWorkspace, write_files
from winnow.config import Config, IndexSettings
from winnow.search.code.orientation import (
    asks_for_history,
    asks_for_start,
    documented_topic,
    guided_topic,
    introduction,
    overview_topic,
)
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TREE = {
    "README.md": "# Kettle\n\nIt boils water.\n\n## Install\n\nDownload it.\n",
    "CONTRIBUTING.md": "# Contributing\n\n## Running the tests\n\nRun `make test`.\n",
    "docs/building.md": "# Building\n\nRun `make` to build the project from source.\n",
    "src/run_tests.py": "def run_tests(tests):\n    for test in tests:\n        test.run()\n" * 9,
    "tests/test_run.py": "def test_the_tests_run():\n    assert run_tests([])\n" * 9,
    "cmd/kettle/main.go": "package main\n\nfunc main() {\n}\n",
    "scripts/release/main.go": "package main\n\nfunc main() {\n}\n",
    "manage.py": "print(1)\n",
    "a/b/c/app.py": "print(1)\n",
    "tests/manage.py": "print(1)\n",
    "web/main.css": "main {\n  color: red;\n}\n",
}


@pytest.fixture(params=["off", "on"], ids=["without an index", "with an index"])
async def workspace(
    make_workspace: MakeWorkspace, tmp_path: Path, request: pytest.FixtureRequest
) -> EngineWorkspace:
    settings = IndexSettings(enabled=request.param == "on", embeddings="off")
    workspace = make_workspace(write_files(tmp_path, TREE), config=Config(index=settings))
    if request.param == "on":
        await workspace.index.build()
    return workspace


async def search(workspace: EngineWorkspace, query: str, **params: object) -> CodeSearchResult:
    raw = {"query": query, **params}
    tool = TOOLS["code_search"]
    return await answered(tool, CodeSearchResult, workspace, raw, no_progress, items="results")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("how to run the tests", "run the tests"),
        ("How do I run a single test?", "run a single test"),
        ("how do we build this project", "build this project"),
        ("how to build and test", "build and test"),
        ("how can I contribute", "contribute"),
        ("how do I set up a development environment", "set up a development environment"),
        ("how to run the app in docker", "run the app in docker"),
        ("instructions for building from source", "building from source"),
        ("running the unit tests", "running the unit tests"),
        ("how do I build a query", ""),
        ("how to run a migration", ""),
        ("start the server", ""),
        ("test server", ""),
        ("install package", ""),
        ("", ""),
    ],
)
def test_a_question_may_be_about_the_project(question: str, topic: str) -> None:
    assert guided_topic(question) == topic


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("where is the steam valve documented?", "steam valve"),
        ("Where are kettles documented", "kettles"),
        ("documentation of the steam valve", "steam valve"),
        ("where is the documentation for kettles", "kettles"),
        ("docs for kettles", "kettles"),
        ("where is the documentation built", ""),
        ("how are documents indexed", ""),
        ("undocumented options", ""),
    ],
)
def test_a_question_may_ask_for_documentation(text: str, topic: str) -> None:
    assert documented_topic(text) == topic


async def test_documents_come_before_code(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    files = {
        "steam_valve.py": "class SteamValve:\n    def open_steam_valve(self):\n        pass\n",
        "docs/kettle/parts.md": "# Parts\n\nThe steam valve opens at a pressure of two bar.\n",
        "CHANGELOG.md": "- The steam valve is documented.\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    await workspace.index.build()
    result = await search(workspace, "where is the steam valve documented")
    paths = [hit.path for hit in result.results]
    assert paths[:2] == ["docs/kettle/parts.md", "steam_valve.py"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("entry point", True),
        ("what is the entry point of the program?", True),
        ("where does the program start", True),
        ("where does it begin?", True),
        ("main function", True),
        ("entry points of plugins", False),
        ("where does the timer start", False),
        ("main", False),
    ],
)
def test_a_question_may_be_about_the_start(text: str, expected: bool) -> None:
    assert asks_for_start(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what changed recently in the kettle", True),
        ("which files were changed since yesterday?", True),
        ("what was last changed", True),
        ("the latest commits to main", True),
        ("when was run_tests added?", True),
        ("who wrote run_tests", True),
        ("who last modified the kettle", True),
        ("what happens when a file changed", False),
        ("when was the water last heated", False),
        ("latest changes dialog", False),
        ("where are recently changed files listed", False),
    ],
)
def test_a_question_may_be_about_the_history(text: str, expected: bool) -> None:
    assert asks_for_history(text) is expected


async def test_the_history_is_not_searched(workspace: EngineWorkspace) -> None:
    warning = "the history was not searched, only the files as they are: use git log or git blame"
    assert warning in (await search(workspace, "when was run_tests added")).warnings
    assert warning not in (await search(workspace, "where are tests run")).warnings


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("how do I run the tests", "CONTRIBUTING.md"),
        ("how to build this project from source", "docs/building.md"),
        ("how to install", "README.md"),
    ],
)
async def test_guides_come_before_code(workspace: EngineWorkspace, query: str, path: str) -> None:
    result = await search(workspace, query)
    assert result.results[0].path == path


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("what does this project do?", "introduction"),
        ("What is this repository about", "introduction"),
        ("explain this codebase", "introduction"),
        ("overview of the project", "introduction"),
        ("how is this project structured?", "architecture overview"),
        ("project architecture", "architecture overview"),
        ("architecture of this repo", "architecture overview"),
        ("what does this function do", ""),
        ("how does the project loader work", ""),
        ("what is this error", ""),
        ("folder structure of a theme", ""),
    ],
)
def test_a_question_may_ask_what_the_project_is(text: str, topic: str) -> None:
    assert overview_topic(text) == topic


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Kettle\n\n[![CI](a.svg)](https://ci)\n\nKettle boils water as fast as it can.", (5, 5)),
        ('<p align="center"><img src="a.png" alt="Logo of the project that boils"></p>\n'
         "Kettle boils water as fast as it can.\nIt does.\n\n## Install\nDownload it.\n", (2, 3)),
        ("Kettle boils water as fast as it can.\n\nInstall\n-------\n", (1, 1)),
        ("======\nKettle\n======\n\n.. image:: a png of one two three four\n\n"
         "Kettle boils water as fast as it can.\n", (7, 7)),
        ("A title of more than six words\n======\n\nIt boils.\n", (1, 4)),
        ("# Kettle\n\nIt boils.\n", (1, 3)),
        ("", (1, 0)),
    ],
)  # fmt: skip
def test_a_readme_introduces_a_project_in_sentences(text: str, expected: tuple[int, int]) -> None:
    lines = introduction(text.splitlines())
    assert (lines.start, lines.stop - 1) == expected


async def test_a_project_is_introduced_by_its_readme(workspace: EngineWorkspace) -> None:
    write_files(
        Path(workspace.folders[0]),
        {
            "README.md": f"# Kettle\n\nKettle boils water with {'much ' * 5}steam.\n",
            "web/README.md": "# Web\n\nThe web page of the project that shows the kettle.\n",
            "docs/architecture.md": "# Architecture\n\nThe lid is a plugin.\n",
            "src/project.py": "class Project:\n    def what_it_does(self): ...\n",
        },
    )
    result = await search(workspace, "what does this project do?")
    [first, *others] = result.results
    assert (first.path, first.line, first.why) == (
        *("README.md", 3),
        "the README introduces the project",
    )
    assert "src/project.py" in {hit.path for hit in others}
    result = await search(workspace, "how is this project structured?")
    assert [hit.path for hit in result.results[:2]] == ["docs/architecture.md", "README.md"]
    result = await search(workspace, "what does this project do?", path="web")
    assert (result.results[0].path, result.results[0].line) == ("web/README.md", 3)


async def test_a_filter_excludes_guides(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "how do I run the tests", include=["*.py"])
    assert {Path(hit.path).suffix for hit in result.results} == {".py"}


async def test_the_start_of_the_project_is_before_those_of_tools_and_tests(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, "where does the program start")
    assert [(hit.path, hit.line) for hit in result.results] == [
        ("manage.py", None),
        ("cmd/kettle/main.go", 3),
        ("scripts/release/main.go", 3),
        ("tests/manage.py", None),
    ]
    assert {hit.why for hit in result.results} == {"may start a program"}
    assert result.reason.endswith("it asks where the program starts")


async def test_without_an_entry_point_the_words_are_searched(index_files: IndexFiles) -> None:
    workspace = await index_files({"a.py": "entry_point = 1\n"})
    result = await search(workspace, "entry point")
    assert "no function or file has a usual name for it" in result.reason
    assert [hit.path for hit in result.results] == ["a.py"]


@pytest.mark.parametrize("part", ["![", ".. ", "<", "]("])
def test_hostile_lines_of_a_readme_take_little_time(part: str) -> None:
    begin = time.process_time()
    introduction([part * 300_000] * 300)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("part", ["what does this project ", "the project ", "architecture of "])
def test_long_questions_about_the_project_take_little_time(part: str) -> None:
    begin = time.process_time()
    for _ in range(100):
        overview_topic(part * (100 // len(part)))
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("part", ["how to ", "run ", "run the ", "the ", "where does "])
def test_long_questions_take_little_time(part: str) -> None:
    begin = time.process_time()
    for _ in range(100):
        guided_topic(part * (100 // len(part)))
        asks_for_start(part * (100 // len(part)))
        asks_for_history(part * (100 // len(part)))
    assert time.process_time() - begin < 1
