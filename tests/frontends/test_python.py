"""The Python API, and the page that describes it."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SLOW_TERM, Recorder, child_environment, requires_posix, write_files
from frontends.lsp.conftest import children
from reference.example import project as example_project
from waiting_for import until
from winnow import SearchError, Workspace
from winnow.errors import InvalidParams
from winnow.tools import TOOLS
from winnow.tools.grep import GrepResult
from winnow.tools.read_file import Span

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/python.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)
SETTINGS = {"index": {"enabled": False}, "llm": {"enabled": False}}


@pytest.fixture(scope="module")
def example() -> Iterator[Path]:
    with example_project() as folder:
        yield folder


def opened(folder: Path) -> Workspace:
    return Workspace(folder, settings=SETTINGS, environment={"HOME": str(folder.parent)})


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 4


@pytest.mark.parametrize(("program", "printed"), EXAMPLES)
def test_examples_print_the_output_on_the_page(program: str, printed: str, example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=example,
        env=child_environment(example.parent),
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (printed, "")


@pytest.mark.slow
def test_examples_are_typed(tmp_path: Path) -> None:
    for number, (program, _) in enumerate(EXAMPLES):
        (tmp_path / f"example{number}.py").write_text(program)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from winnow import Workspace\n\n\n"
        "async def main(workspace: Workspace) -> None:\n"
        "    found = await workspace.grep('x')\n"
        "    reveal_type(found)\n"
        "    await workspace.grep(3)\n"
        "    await workspace.no_tool('x')\n"
    )
    # Without a cache, mypy spends most of its time on unchanged files.
    cache = os.path.join(os.environ.get("MYPY_CACHE_DIR", tmp_path), "examples")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache]
    done = subprocess.run(
        [*mypy, "--config-file", "", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "server")},
        capture_output=True,
        text=True,
    )
    said = [line for line in done.stdout.splitlines() if ": note: See" not in line]
    assert said == [
        'wrong.py:6: note: Revealed type is "winnow.tools.grep.GrepResult"',
        'wrong.py:7: error: Argument 1 to "grep" of "ToolMethods" has incompatible type "int";'
        ' expected "str"  [arg-type]',
        'wrong.py:8: error: "Workspace" has no attribute "no_tool"  [attr-defined]',
        f"Found 2 errors in 1 file (checked {len(EXAMPLES) + 1} source files)",
    ]


async def test_a_tool_is_a_method_with_a_typed_result(project: Path) -> None:
    async with opened(project) as workspace:
        found = await workspace.grep("def load_plugin\\b", context_lines=0)
        assert isinstance(found, GrepResult)
        assert [(one.path, one.line) for one in found.matches] == [("src/loader.py", 5)]
        lines = await workspace.read_file(
            project / "src/loader.py", spans=(Span(start=1, end=1), "5-5")
        )
        assert [chunk.start for chunk in lines.chunks] == [1, 5]


async def test_every_tool_is_a_documented_method(project: Path) -> None:
    async with opened(project) as workspace:
        assert set(TOOLS) <= set(dir(workspace))
        for name, tool in TOOLS.items():
            method = getattr(workspace, name)
            assert inspect.getdoc(method) == tool.description
            assert set(inspect.signature(method).parameters) == {one.name for one in tool.fields}
        with pytest.raises(AttributeError, match="no_tool"):
            workspace.no_tool  # type: ignore[attr-defined]  # noqa: B018


async def test_invalid_params_are_rejected(project: Path) -> None:
    async with opened(project) as workspace:
        with pytest.raises(TypeError, match="nonsense"):
            await workspace.grep("x", nonsense=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="pattern"):
            await workspace.grep()  # type: ignore[call-arg]
        with pytest.raises(InvalidParams, match="max_results"):
            await workspace.grep("x", max_results=0)
        # In a tuple as in a list.
        with pytest.raises(InvalidParams, match="control character"):
            await workspace.grep("x", include=("a\x00b",))
        with pytest.raises(InvalidParams, match="no_tool"):
            await workspace.call("no_tool", {})
        with pytest.raises(SearchError) as failed:
            await workspace.grep("(")
        assert failed.value.data["kind"] == "invalid_pattern"


async def test_settings_apply_and_invalid_settings_are_reported(project: Path) -> None:
    (project / "winnow.toml").write_text('[search]\nexclude = ["src/**"]\n[llm]\nenabled = 1\n')
    async with opened(project) as workspace:
        assert len(workspace.problems) == 1
        assert "`llm` is ignored" in workspace.problems[0]
        assert not (await workspace.glob("src/*.py")).files
    with pytest.raises(ValueError, match=r"settings: `limits\.processes`"):
        Workspace(project, settings={"limits": {"processes": 0}})


async def test_a_workspace_that_is_not_open_raises_an_error(project: Path) -> None:
    workspace = opened(project)
    with pytest.raises(RuntimeError, match="not open"):
        await workspace.tree()
    async with workspace:
        assert (await workspace.tree()).returned
        with pytest.raises(RuntimeError, match="already open"):
            await workspace.__aenter__()
    with pytest.raises(RuntimeError, match="not open"):
        await workspace.tree()
    await workspace.aclose()


async def test_progress_and_partial_results_are_reported(project: Path, recorder: Recorder) -> None:
    recorder.streaming = True
    async with opened(project) as workspace:
        await workspace.call("grep", {"pattern": "load_plugin"}, recorder)
    assert recorder.messages[0] == "Searching for 'load_plugin'"
    assert recorder.partials


@requires_posix
async def test_a_cancelled_call_ends_its_ripgrep(
    slow_project: Path,
) -> None:
    before = children(os.getpid())
    async with opened(slow_project) as workspace:
        call = asyncio.create_task(workspace.grep(SLOW_TERM))
        started = await until(lambda: children(os.getpid()) - before, "nothing was started")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not children(os.getpid()) & started


def test_importing_winnow_loads_next_to_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); import winnow;"
        "print(*sorted(name for name in set(sys.modules) - before if 'winnow' in name));"
        "winnow.Workspace; print('msgspec' in sys.modules, 'pygls' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["winnow", "True False"]


async def test_the_first_search_begins_the_index_and_does_not_wait(
    project: Path, tmp_path: Path
) -> None:
    write_files(project, {f"more/part_{number}.py": "part = 1\n" for number in range(60)})
    settings = {"index": {"embeddings": "off"}, "llm": {"enabled": False}}
    async with Workspace(project, settings=settings, environment={"HOME": str(tmp_path)}) as opened:
        await opened.grep("load_plugin")
        assert not (project / ".winnow").exists()
        opened._engine.index.pause()  # type: ignore[union-attr]
        first = await opened.semantic_search("how are plugins loaded")
        assert first.completeness.reasons[0].startswith("the index is being built")
        assert first.index_offer is None
        opened._engine.index.resume()  # type: ignore[union-attr]

        async def is_complete() -> bool:
            found = await opened.semantic_search("how are plugins loaded")
            return found.completeness.complete and found.engine == "lexical"

        await until(is_complete)
    assert list(project.glob(".winnow/index-*.db"))
