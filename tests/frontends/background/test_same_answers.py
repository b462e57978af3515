"""A command that the background process runs prints what it prints by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frontends.background.background_process import (
    Done,
    by_itself,
    environment_of,
    home_folder,
    offered,
    started,
)
from frontends.background.patient_process import OF_GREP
from frontends.lsp.fork_server import PATIENT_SECONDS
from reference import example
from reference.example import command_line, steady
from waiting_for import wait_until
from winnow.tools import TOOLS
from winnow.tools.registry import Tool

pytestmark = [pytest.mark.process, pytest.mark.slow]

Run = Callable[..., Done]

# What they say depends on the process by nature.
OF_THE_PROCESS = {"index_status"}
UNSETTLED = "some changed files are not indexed yet"
FORMS = ("text", "plain", "json")
# Options and errors of tools that have them.
OTHERS = (
    "grep no_such_thing",
    "grep load_plugin src --include '*.py'",
    "grep load_plugin no/such/folder",
    "grep '('",
    "grep load --max-results 1",
    "grep load --mode files",
    "grep load --mode counts",
    "read src/loader.py --spans 1-2",
    "read ../outside",
    "read no_such_file.py",
    "keyword-search ' ' a",
    "code-search Loader",
    "Loader src tests -n 3",
    "how are plugins loaded",
    "grep -l load src docs",
    "grep -T py -A1 load",
    "code-search loader.py",
    "code-search 'how are plugins loaded'",
    "find-symbol 'kind:class Load'",
    "glob '**/*.py'",
    "tree src",
    "bash 'grep -rn load src | head -2'",
    "bash 'rm -rf src'",
    "consent show",
)


@pytest.fixture(autouse=True)
def time_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process search as long as the background process."""
    for name in OF_GREP:
        monkeypatch.setattr(f"winnow.search.grep.search.{name}", PATIENT_SECONDS)


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[Path, dict[str, str]]]:
    """The example project, a background process for it, and its environment."""
    with home_folder() as home, example.project() as folder:
        settings = folder.parent / ".config/winnow/config.toml"
        # Commands read the outcomes of earlier searches at once, the process within seconds.
        settings.write_text(
            settings.read_text()
            + "[limits]\nprobe_seconds = 60\nsearch_seconds = 60\n"
            + "[learning]\nenabled = false\n"
        )
        environment = environment_of(home, WINNOW_CONFIG=str(settings))
        by_itself(folder, "index", "build", environment=environment)
        with started(folder, environment):
            # At first, it compares the index with the files.
            wait_until(lambda: '"state": "ready"' in status(folder, environment), "the index")
            yield folder, environment


def status(folder: Path, environment: dict[str, str]) -> str:
    return offered(folder, "index-status", "--format", "json", environment=environment).output


def settled(run: Run, folder: Path, *arguments: str, **more: Any) -> Done:
    """Run a command, and repeat it while its answer says that the index is behind: the background
    process compares the index with the files at times of its own."""
    found: list[Done] = []

    def is_settled() -> bool:
        found.append(run(folder, *arguments, **more))
        return UNSETTLED not in found[-1].output + found[-1].errors

    wait_until(is_settled, "the index to be compared with the files")
    return found[-1]


def compare(place: tuple[Path, dict[str, str]], line: str, **more: Any) -> Done:
    """Run a command in both ways. Return what the background process printed."""
    folder, environment = place
    arguments = shlex.split(line)
    below = more.pop("below", "")
    found = []
    for run in (offered, by_itself):
        done = settled(run, folder / below, *arguments, environment=environment, **more)
        found.append(done._replace(output=steady(done.output, folder)))
    assert found[0].output.splitlines() == found[1].output.splitlines(), line
    assert found[0] == found[1], line
    return found[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_every_tool(place: tuple[Path, dict[str, str]], tool: Tool[Any, Any], form: str) -> None:
    line = command_line(tool, tool.example, "--format", form).removeprefix("winnow ")
    if tool.name in OF_THE_PROCESS:
        assert offered(place[0], *shlex.split(line), environment=place[1]).code == 0
    else:
        compare(place, line)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("line", OTHERS)
def test_options_and_errors(place: tuple[Path, dict[str, str]], line: str, form: str) -> None:
    compare(place, f"{line} --format {form}")


@pytest.mark.parametrize("line", OTHERS)
def test_on_a_terminal(place: tuple[Path, dict[str, str]], line: str) -> None:
    """Colors are the same, and so is the line of progress, whose messages depend on the time."""
    folder, environment = place
    found = []
    for run in (offered, by_itself):
        done = settled(run, folder, *shlex.split(line), environment=environment, terminal=True)
        errors = re.sub(r"\r\x1b\[K[^\r]*…", "", done.errors)
        found.append(done._replace(output=steady(done.output, folder), errors=errors))
    assert found[0] == found[1]


@pytest.mark.parametrize("line", ["grep load_plugin", "read loader.py", "grep load ..", "tree"])
def test_in_a_subfolder(place: tuple[Path, dict[str, str]], line: str) -> None:
    compare(place, line, below="src")
