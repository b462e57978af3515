"""`winnow init-agent`: entries are added, and nothing that is there is lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import command as winnow
from conftest import child_environment, requires_permissions, requires_posix, write_files
from winnow.frontends.cli.agents import AGENTS, command, frozen_command
from winnow.processes.programs import InstalledPrograms

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

JSON_AGENTS = sorted(name for name, agent in AGENTS.items() if agent.file.endswith(".json"))
START = [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", "winnow"]


def init(
    folder: Path, *arguments: str, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `winnow init-agent` in a folder of the user's home, without `winnow` on PATH."""
    environment = child_environment(home or folder.parent, PATH="/nowhere")
    return winnow(folder, "init-agent", *arguments, environment=environment)


def settings(file: Path) -> Any:
    text = file.read_text("utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


def files(folder: Path) -> set[str]:
    found = (one for one in folder.rglob("*") if one.is_file() and ".git" not in one.parts)
    return {one.relative_to(folder).as_posix() for one in found}


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_an_entry_starts_this_program(project: Path, name: str) -> None:
    agent = AGENTS[name]
    done = init(project, name)
    assert (done.returncode, done.stdout) == (
        0,
        f"{agent.title}: wrote {project / agent.file}\n" + f"   {agent.note}\n" * bool(agent.note),
    )
    entry = settings(project / agent.file)[agent.key]["winnow"]
    started = [entry["command"], *entry["args"]]
    root = [agent.root] if agent.root else []
    assert started == [*START, "mcp", *root]
    again = init(project, name)
    assert again.stdout == f"{agent.title}: {project / agent.file} already has the entry\n"
    assert again.returncode == 0


@pytest.mark.process
def test_the_command_of_entries_works(project: Path) -> None:
    """Once the agent has put its folder in."""
    done = subprocess.run(
        [*START, "mcp", "--help"],
        env=child_environment(project.parent),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "MCP server" in done.stdout


@pytest.mark.process
def test_the_entry_starts_the_server(project: Path) -> None:
    """The client library starts the written command in the project, like an agent."""
    import asyncio

    from mcp import Client, StdioServerParameters

    init(project, "claude")
    if sys.version_info >= (3, 11):
        # Which Python would take for its own.
        hostile = "raise SystemExit('code of the project has run')\n"
        write_files(project, {"typing.py": hostile, "winnow/__main__.py": hostile})
    entry = settings(project / ".mcp.json")["mcpServers"]["winnow"]
    environment = child_environment(project.parent)

    async def names() -> list[str]:
        server = StdioServerParameters(**entry, cwd=project, env=environment)
        async with Client(server) as client:
            return [one.name for one in (await client.list_tools()).tools]

    assert "search" in asyncio.run(names())


def test_without_names_agents_are_detected_by_their_files(project: Path) -> None:
    done = init(project)
    assert files(project) >= {".mcp.json"}
    assert "Other agents: winnow init-agent cursor vscode codex gemini zed" in done.stderr
    (project / ".cursor").mkdir()
    (project.parent / ".codex").mkdir()
    before = files(project)
    init(project)
    assert files(project) - before == {".cursor/mcp.json", ".codex/config.toml"}


def test_in_a_subfolder_the_repositorys_root_is_used(project: Path) -> None:
    init(project / "src", "claude")
    assert (project / ".mcp.json").exists()


def test_print_writes_nothing(project: Path) -> None:
    before = files(project)
    done = init(project, "all", "--print")
    assert (done.returncode, done.stderr) == (0, "")
    assert files(project) == before
    for agent in AGENTS.values():
        assert f"# {agent.title}: {project / agent.file}" in done.stdout


def test_an_unknown_agent_is_refused(project: Path) -> None:
    done = init(project, "claude", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'nobody'" in done.stderr
    assert "cursor" in done.stderr
    assert not (project / ".mcp.json").exists()


@pytest.mark.parametrize("name", JSON_AGENTS)
def test_a_json_files_content_stays(project: Path, name: str) -> None:
    agent = AGENTS[name]
    before = {"z": "é ☃", agent.key: {"other": {"command": "x", "args": []}}, "a": [1, 2.5, None]}
    text = json.dumps(before, indent=4, ensure_ascii=False)
    write_files(project, {agent.file: text})
    done = init(project, name)
    assert done.stdout.startswith(f"{agent.title}: added to")
    after = settings(project / agent.file)
    assert after[agent.key].pop("winnow")["command"] == sys.executable
    assert after == before
    # In the same order and form, too.
    written = (project / agent.file).read_text("utf-8")
    assert written.startswith(text.partition("        }")[0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  // mine\n  "mcpServers": {}\n}\n', "not plain JSON (line 2"),
        ('{"mcpServers": {}', "not plain JSON"),
        ("[]", "`mcpServers` is not an object"),
        ('{"mcpServers": []}', "`mcpServers` is not an object"),
        ('{"a": 1, "a": 2}', "a duplicate key"),
        ('{"mcpServers": {"winnow": {"command": "mine"}}}', "a different entry `winnow`"),
        ("\ufeff{}", "not plain JSON"),
    ],
)
def test_a_json_file_that_would_lose_content_is_not_changed(
    project: Path, text: str, why: str
) -> None:
    write_files(project, {".mcp.json": text})
    done = init(project, "claude", "zed")
    assert done.returncode == 2
    assert (project / ".mcp.json").read_text("utf-8") == text
    assert why in done.stderr
    # It can be added by hand, and the others have theirs.
    assert '"mcp"' in done.stderr
    assert (project / ".zed/settings.json").exists()


def test_a_file_that_is_not_text_is_not_changed(project: Path) -> None:
    (project / ".mcp.json").write_bytes(b'{"a": "\xff"}')
    assert init(project, "claude").returncode == 2
    assert (project / ".mcp.json").read_bytes() == b'{"a": "\xff"}'


def test_a_toml_files_content_stays_byte_for_byte(project: Path) -> None:
    text = '# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "y"\nargs = ["a\\tb"]'
    write_files(project, {".codex/config.toml": text})
    assert init(project, "codex").returncode == 0
    written = (project / ".codex/config.toml").read_text("utf-8")
    assert written.startswith(text + "\n\n[mcp_servers.winnow]\n")
    assert list(tomllib.loads(written)["mcp_servers"]) == ["other", "winnow"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = ", "not TOML"),
        ('mcp_servers = { other = { command = "x" } }\n', "an entry can't be added"),
        ("mcp_servers = 1\n", "`mcp_servers` is not a table"),
        ('[mcp_servers.winnow]\ncommand = "mine"\n', "a different entry `winnow`"),
    ],
)
def test_a_toml_file_that_cannot_be_extended_is_not_changed(
    project: Path, text: str, why: str
) -> None:
    write_files(project, {".codex/config.toml": text})
    done = init(project, "codex")
    assert done.returncode == 2
    assert why in done.stderr
    assert "[mcp_servers.winnow]" in done.stderr
    assert (project / ".codex/config.toml").read_text("utf-8") == text


@requires_posix
@pytest.mark.parametrize("place", ["in the project", "in the home folder"])
def test_the_users_symlinks_and_permissions_stay(project: Path, tmp_path: Path, place: str) -> None:
    """A user keeps the files of the home folder elsewhere, as dotfiles managers do."""
    home = place == "in the home folder"
    real = write_files(tmp_path if home else project, {"dotfiles/mcp.json": "{}"})
    real = real / "dotfiles/mcp.json"
    real.chmod(0o600)
    (project / ".mcp.json").symlink_to(real)
    assert init(project, "claude", home=project if home else None).returncode == 0
    assert (project / ".mcp.json").is_symlink()
    assert "winnow" in settings(real)["mcpServers"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert os.listdir(real.parent) == ["mcp.json"]


@requires_posix
@pytest.mark.parametrize("plant", ["file", "missing file", "folder", "missing folder", "chain"])
def test_a_planted_symlink_writes_nothing_outside_the_project(
    project: Path, tmp_path: Path, plant: str
) -> None:
    """A repository may bring symlinks at the names of all configuration files (#21)."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name, agent in AGENTS.items():
        file = project / agent.file
        empty = "" if file.suffix == ".toml" else "{}"
        if plant.endswith("folder") and file.parent != project:
            target = outside / name
            if plant == "folder":
                write_files(target, {file.name: empty})
            file.parent.symlink_to(target)
            continue
        file.parent.mkdir(exist_ok=True)
        target = outside / name
        if not plant.startswith("missing"):
            target.write_text(empty)
        if plant == "chain":
            (project / name).symlink_to(os.path.relpath(target, project))
            target = project / name
        file.symlink_to(os.path.relpath(target, file.parent))
    before = {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()}
    done = init(project, "all")
    assert done.returncode == 2
    assert done.stderr.count("a symlink leads out of the project, to ") == len(AGENTS)
    assert {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()} == before


@requires_posix
def test_a_file_that_is_not_regular_is_not_changed(project: Path) -> None:
    os.mkfifo(project / ".mcp.json")
    done = init(project, "claude")
    assert done.returncode == 2
    assert "it is not a regular file" in done.stderr


@requires_permissions
def test_an_unwritable_folder_is_reported(project: Path) -> None:
    project.chmod(0o500)
    try:
        done = init(project, "claude")
    finally:
        project.chmod(0o700)
    assert done.returncode == 2
    assert "Permission denied" in done.stderr


@requires_posix
def test_a_command_on_path_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "scripts"))
    program = write_files(tmp_path, {"scripts/winnow": "#!/bin/sh\n"}) / "scripts/winnow"
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert command(InstalledPrograms(os.environ, ())) == [str(program)]
    monkeypatch.setenv("PATH", str(program.parent))
    assert command(InstalledPrograms(os.environ, ())) == ["winnow"]
    # A different program with that name is not accepted.
    other = write_files(tmp_path, {"other/winnow": "#!/bin/sh\n"}) / "other/winnow"
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert command(InstalledPrograms(os.environ, ())) == [str(program)]
    program.unlink()
    assert command(InstalledPrograms(os.environ, ())) == START


@requires_posix
@pytest.mark.process
def test_the_command_of_a_frozen_program_survives_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "it's all/.vscode/extensions"

    def install(version: str, seconds: int) -> Path:
        program = folder / f"winnow-ls.winnow-{version}-linux-x64/server/winnow"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\necho {version} "$@"\n')
        program.chmod(0o755)
        os.utime(program, (seconds, seconds))
        return program

    def started() -> str:
        done = subprocess.run(
            [*words, "mcp", "a b"],
            env={"PATH": "/nowhere", "newest": "x"},
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr

    old = install("0.9.0", 1_000_000)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(old))
    words = command(InstalledPrograms({"PATH": "/nowhere"}, ()))
    assert started() == "0.9.0 mcp a b\n"
    new = install("0.10.0", 2_000_000)
    assert started() == "0.10.0 mcp a b\n"
    old.unlink()
    assert started() == "0.10.0 mcp a b\n"
    # Another extension of the same author isn't started.
    other = folder / "winnow-ls.winnow-themes-9.0.0/server/winnow"
    other.parent.mkdir(parents=True)
    new.rename(other)
    assert "themes" not in started()


def test_a_frozen_program_elsewhere_is_called_by_its_path() -> None:
    program = Path("/opt/winnow/winnow")
    assert frozen_command(program, has_shell=True) == [str(program)]
    extension = Path("/home/me/.vscode/extensions/winnow-ls.winnow-0.1.0/server/winnow")
    assert frozen_command(extension, has_shell=False) == [str(extension)]
    assert frozen_command(extension, has_shell=True)[0] == "/bin/sh"
