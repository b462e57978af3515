"""The agents in `examples/`: a model calls the server's tools over LSP, and then answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
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


def installed(program: str) -> Path:
    """Return a file that `scripts/environment` installs for the examples."""
    return Path(os.environ.get("WINNOW_EXAMPLES", "/nowhere"), program)


requires_packages = pytest.mark.skipif(
    not installed("complete").exists() and not CI, reason="needs the packages of agent.ts"
)


def python_agent(folder: Path) -> list[str]:
    """Return the command of the example in Python."""
    return [sys.executable, str(EXAMPLES / "agent.py")]


def typescript_agent(folder: Path) -> list[str]:
    """Return the command of the example in TypeScript, in a folder made with `npm init -y`."""
    shutil.copy(EXAMPLES / "agent.ts", folder)
    shutil.copy(installed("package.json"), folder)
    (folder / "node_modules").symlink_to(installed("node_modules"))
    return [str(shutil.which("node")), str(folder / "agent.ts")]


def typescript_agent_on_old_node(folder: Path) -> list[str]:
    """Return the same with the oldest Node.js, which `npx tsx` runs."""
    _, script = typescript_agent(folder)
    node = installed("old-node/node_modules/node/bin/node")
    return [str(node), str(folder / "node_modules/tsx/dist/cli.mjs"), script]


AGENTS = [
    pytest.param(python_agent, id="python"),
    pytest.param(typescript_agent, id="typescript", marks=requires_packages),
    pytest.param(typescript_agent_on_old_node, id="node-20", marks=requires_packages),
]


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


def run_agent(
    command: list[str], project: Path, home: Path, server: ModelServer, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run an example with a question about the project, until it has answered."""
    server.act = Scripted()
    model = ["tiny"] if command[-1].endswith(".ts") else ["--model", "tiny"]
    model_at = {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": f"{server.address}/v1"}
    return subprocess.run(
        [*command, "where are plugins loaded?", *model],
        cwd=project,
        env=child_environment(home, **model_at, **variables),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_a_model_answers_with_the_tools_alone(
    agent: Callable[[Path], list[str]], project: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    winnow = f"{sys.executable} {PATIENT}"
    done = run_agent(agent(home), project, home, model_server, WINNOW_COMMAND=winnow)
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


@pytest.mark.parametrize("kind", ["module", "commonjs"])
@pytest.mark.skipif(
    not (PACKAGES / "vscode-jsonrpc").exists() and not CI, reason="needs TypeScript"
)
def test_the_typescript_example_has_no_type_errors(kind: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    (tmp_path / "package.json").write_text(json.dumps({"type": kind}))
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
