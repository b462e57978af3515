"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from conftest import child_environment
from winnow.config import MODELS, PREFERRED
from winnow.tools import TOOLS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    command = fenced("sh")[0].rpartition("&&")[2].strip()
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/winnow"
    done = subprocess.run(
        [sys.executable, "-m", "winnow", *arguments],
        cwd=ROOT,
        env=child_environment(tmp_path),
        capture_output=True,
        text=True,
    )
    # Line numbers and counts change with the sources; what is found and why does not.
    assert re.sub(r"\d+", "N", done.stdout) == re.sub(r"\d+", "N", fenced("text")[0])


def test_the_second_command_is_the_script_that_ci_runs() -> None:
    script = fenced("sh")[1].strip()
    assert (ROOT / script).stat().st_mode & 0o111
    assert f"exec {script}" in (ROOT / ".ci/run").read_text()


def test_every_tool_is_in_the_table_and_among_the_commands() -> None:
    rows = re.findall(r"^\| \[`(.*?)`\]\((.*?)\) \| `(.*?)` \| .*\. \|$", README, re.M)
    assert sorted(rows) == sorted(
        (tool.method, f"docs/tools/{tool.command}.md", f"winnow {tool.command}")
        for tool in TOOLS.values()
    )
    section = README.partition("## The command line")[2].partition("\n## ")[0]
    commands = re.findall(r"^winnow ([\w-]+)", section, re.M)
    assert len(commands) == len(set(commands))
    assert set(commands) == {tool.command for tool in TOOLS.values()} | {
        "doctor",
        "init-agent",
        "mcp",
        "serve",
    }


def test_models_and_their_keys_are_those_that_are_there() -> None:
    section = README.partition("## Language models")[2]
    assert [name for name in re.findall(r"`([\w.-]+)`", section) if name in MODELS] == list(
        PREFERRED
    )
    for model in MODELS.values():
        assert f"`{model.key_env}`" in section


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    from winnow.config import load

    file = tmp_path / "config.toml"
    file.write_text(fenced("toml")[0].replace("# key_env", "key_env").replace("# prices", "prices"))
    config, problems = load({"WINNOW_CONFIG": str(file)})
    assert problems == []
    assert config.llm.preferred == ("ollama",)
    assert config.llm.models["ollama"].key_env == "MY_KEY"
