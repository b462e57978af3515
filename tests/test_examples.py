"""The agents in `examples/`: a model calls the server's tools over LSP, and then answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import CI, child_environment
from model_server import ModelServer
from winnow.config import Config
from winnow.tools import TOOLS, for_agents

EXAMPLES = Path(__file__).parent.parent / "examples"
PATIENT = Path(__file__).parent / "patient.py"
PACKAGES = Path(__file__).parent.parent / "vscode-extension/node_modules"

pytestmark = pytest.mark.wire


def node() -> str | None:
    """Return a Node.js that runs TypeScript."""
    found = shutil.which("node")
    if found is None or not (PACKAGES / "vscode-jsonrpc").exists():
        return None
    output = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    version = tuple(map(int, output.strip().lstrip("v").split(".")))
    return found if version >= (22, 18) else None


requires_node = pytest.mark.skipif(
    node() is None and not CI,
    reason="needs Node.js 22.18 and the extension's packages",
)


def start(language: str, folder: Path, home: Path, server: ModelServer) -> list[str]:
    """Return the command of an example. TypeScript needs its packages in the same folder."""
    if language == "python":
        return [sys.executable, str(EXAMPLES / "agent.py")]
    program = node()
    assert program is not None
    (home / "node_modules").symlink_to(PACKAGES)
    (home / "package.json").write_text('{"type": "module"}')
    shutil.copy(EXAMPLES / "agent.ts", home)
    return [program, str(home / "agent.ts")]


class Scripted:
    """A model that finds a function, reads its lines, and answers with its location. At first, it
    makes typical mistakes."""

    def __init__(self) -> None:
        self.turns = 0

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.turns += 1
        last = messages[-1]
        if self.turns == 1:
            assert [message["role"] for message in messages] == ["system", "user"]
            # Two calls at once: one with a wrong type, and one of a missing tool.
            return _calls(("grep", '{"pattern": 5}'), ("shell", '{"command": "ls"}'))
        if self.turns == 2:
            errors = [message["content"] for message in messages if message["role"] == "tool"]
            assert errors[0] == "Error: `pattern`: expected string, got integer"
            assert errors[1].startswith("Error: unknown or disabled tool 'shell'")
            return _calls(("find_symbol", "{not json"), ("find_symbol", '{"name": "load_plugin"}'))
        if self.turns == 3:
            assert messages[-2]["content"].startswith("Error: ")
            assert last["content"].startswith("src/loader.py:5")
            return _calls(("read_file", '{"path": "src/loader.py", "spans": "5-6"}'))
        assert "return registry[name]" in last["content"]
        return {"content": "In src/loader.py, line 5: it looks the name up in `registry`."}


def _calls(*calls: tuple[str, str]) -> dict[str, Any]:
    return {
        "tool_calls": [
            {
                "id": f"call{place}",
                "type": "function",
                "function": dict(zip(("name", "arguments"), call, strict=True)),
            }
            for place, call in enumerate(calls)
        ]
    }


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=requires_node)])
def test_a_model_answers_with_the_tools_alone(
    language: str, project: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.act = Scripted()
    home = tmp_path / "home"
    home.mkdir()
    command = start(language, project, home, model_server)
    model = ["--model", "tiny"] if language == "python" else ["tiny"]
    done = subprocess.run(
        [*command, "where are plugins loaded?", *model],
        cwd=project,
        env=child_environment(
            home,
            OPENAI_API_KEY="sk-fake",
            OPENAI_BASE_URL=f"{model_server.address}/v1",
            WINNOW_COMMAND=f"{sys.executable} {PATIENT}",
        ),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "In src/loader.py, line 5: it looks the name up in `registry`.\n"
    assert 'find_symbol {"name": "load_plugin"}' in done.stderr
    # The model gets the definitions in `$/tools`.
    offered = {
        tool["function"]["name"]: tool["function"] for tool in model_server.requests[0]["tools"]
    }
    assert set(offered) == set(for_agents(Config().is_on))
    for name, function in offered.items():
        assert function["description"] == TOOLS[name].description
        assert function["parameters"] == json.loads(json.dumps(TOOLS[name].input_schema))


@requires_node
def test_the_typescript_example_has_no_type_errors(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(EXAMPLES / "agent.ts", tmp_path)
    options = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--skipLibCheck"]
    options += ["--module", "nodenext", "--target", "es2022", "--types", "node"]
    done = subprocess.run(
        [PACKAGES / ".bin/tsc", *options, "--erasableSyntaxOnly", "agent.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("", 0)
