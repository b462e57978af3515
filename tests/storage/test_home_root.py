"""A home folder, its ancestors, and the root of a file system are not searched entirely (#21)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import command
from conftest import MakeWorkspace, child_environment, git_init, requires_posix, write_files
from frontends.lsp.conftest import StartClient, start_client  # noqa: F401 - a fixture
from search.test_missing_paths import PARAMS
from waiting_for import until
from winnow.config import Config, merge_layer
from winnow.errors import PathOutsideWorkspace, RootRefused
from winnow.text.roots import refusal
from winnow.tools import TOOLS
from winnow.tools.grep import GrepResult
from winnow.types import no_progress

SETTING = {"workspace": {"allow_home_root": True}}
ALLOWED, _ = merge_layer(Config(), SETTING, "test")
FILES = {
    "private.txt": "rocket\n",
    "project/main.py": "rocket = 1\n",
    "other/x.py": "rocket = 2\n",
}
SEARCH = {"pattern": "rocket"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_files(tmp_path / "users/me", FILES)


async def grep(workspace: Any, **params: Any) -> GrepResult:
    result = await TOOLS["grep"].call(workspace, {**SEARCH, **params}, no_progress)
    assert isinstance(result, GrepResult)
    return result


def paths(result: GrepResult) -> list[str]:
    return [match.path for match in result.matches]


def test_home_folders_and_drives_are_rejected(home: Path) -> None:
    environment = {"HOME": str(home)}
    assert refusal(home, environment) == "is a home folder"
    assert refusal(home.parent, environment) == "contains a home folder"
    assert refusal(Path(home.anchor), environment) == "is the root of a file system"
    assert refusal(home / "project", environment) == ""
    assert refusal(home.parent / "other", environment) == ""


@requires_posix
def test_a_symlink_to_a_home_folder_is_rejected(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    assert refusal(tmp_path / "link", {"HOME": str(home)}) == "is a home folder"
    assert refusal(home, {"HOME": str(tmp_path / "link")}) == "is a home folder"


@pytest.mark.parametrize("name", [*PARAMS, "search_docs", "index", "index_status", "consent"])
async def test_every_tool_rejects_a_home_folder_with_advice(
    name: str, home: Path, make_workspace: MakeWorkspace
) -> None:
    own = {"index": {"action": "build"}, "search_docs": {"query": "rocket"}}
    needed = {"read_file": {"path": "private.txt"}, "document_text": {"path": "private.txt"}}
    params = {**PARAMS.get(name, {}), **own.get(name, {}), **needed.get(name, {})}
    params |= {"path": "private.txt"} if name == "feedback" else {}
    for root in (home, home.parent, Path(home.anchor)):
        workspace = make_workspace(root, environment={"HOME": str(home)})
        with pytest.raises(RootRefused) as failed:
            await TOOLS[name].call(workspace, params, no_progress)
        assert failed.value.data == {"kind": "no_workspace", "root": str(root)}
        assert "workspace.allow_home_root" in failed.value.message
        assert "open a folder below it" in failed.value.message
    assert not (home / ".winnow").exists()


async def test_the_setting_allows_a_home_folder(home: Path, make_workspace: MakeWorkspace) -> None:
    workspace = make_workspace(home, environment={"HOME": str(home)}, config=ALLOWED)
    assert sorted(paths(await grep(workspace))) == ["other/x.py", "private.txt", "project/main.py"]


async def test_a_folder_in_a_home_repository_is_searched(
    home: Path, make_workspace: MakeWorkspace
) -> None:
    git_init(home)
    workspace = make_workspace(home / "project", environment={"HOME": str(home)})
    result = await grep(workspace)
    assert (result.root, paths(result)) == (str(home / "project"), ["main.py"])
    with pytest.raises(PathOutsideWorkspace):
        await grep(workspace, path="../private.txt")
    await workspace.index.build()
    assert workspace.index.state().files_total == 1
    assert not (home / ".winnow").exists()


@requires_posix
async def test_programs_in_a_rejected_home_folder_are_run(
    home: Path, make_workspace: MakeWorkspace
) -> None:
    program = home / ".local/bin/rg"
    write_files(home, {".local/bin/rg": "#!/bin/sh\n"})
    program.chmod(0o755)
    environment = {"HOME": str(home), "PATH": str(program.parent)}
    assert make_workspace(home, environment=environment).ripgrep == str(program)
    searched = make_workspace(home, environment=environment, config=ALLOWED)
    assert searched.ripgrep != str(program)


async def test_a_home_folder_among_other_folders_is_skipped_with_a_warning(
    home: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(home, home / "project", environment={"HOME": str(home)})
    result = await grep(workspace)
    assert paths(result) == ["main.py"]
    assert result.completeness.reasons == [
        f"not searched: the workspace folder {home}, see workspace.allow_home_root"
    ]


def run(folder: Path, home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return command(folder, *arguments, environment=child_environment(home, **more))


@pytest.mark.slow
def test_the_command_line_in_a_home_folder_accepts_a_path(home: Path, tmp_path: Path) -> None:
    done = run(home, home, "grep", "rocket")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a home folder: open a folder below it" in done.stderr
    for path in ("project", "project/main.py", str(home / "project")):
        done = run(home, home, "grep", "rocket", path)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "project/main.py"), path
    assert run(home / "project", home, "grep", "rocket").returncode == 0
    for path in ("private.txt", "..", "/"):
        done = run(home, home, "grep", "rocket", path)
        assert (done.returncode, "workspace.allow_home_root" in done.stderr) == (2, True), path
    done = run(home, home, "doctor")
    assert f"-- search root: {home} is not searched, because it is a home folder" in done.stdout
    config = tmp_path / "config.toml"
    config.write_text("[workspace]\nallow_home_root = true\n")
    done = run(home, home, "grep", "rocket", WINNOW_CONFIG=str(config))
    assert (done.returncode, "private.txt" in done.stdout) == (0, True)


@pytest.mark.slow
def test_an_mcp_server_does_not_start_in_a_home_folder(home: Path) -> None:
    for arguments in ((), (str(home),), ("/",), (str(home / "project"), str(home))):
        done = run(home, home, "mcp", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "workspace.allow_home_root" in done.stderr


@pytest.mark.wire
async def test_an_editor_shows_why_a_home_folder_is_not_searched(
    home: Path,
    start_client: StartClient,  # noqa: F811
) -> None:
    client = await start_client(home, HOME=str(home))
    await client.check_error("$/grep", SEARCH, -32803, "no_workspace")
    await client.check_error("$/readFile", {"path": "private.txt"}, -32803, "no_workspace")
    await until(lambda: client.lsp.messages, "nothing is shown")
    [message] = client.lsp.messages
    assert message.message.startswith(
        f"Winnow: {home} is not searched, because it is a home folder"
    )
    assert not (home / ".winnow").exists()


@pytest.mark.wire
async def test_an_editor_setting_allows_a_home_folder(
    home: Path,
    start_client: StartClient,  # noqa: F811
) -> None:
    client = await start_client(home, options=SETTING, HOME=str(home))
    assert len((await client.request("$/grep", SEARCH))["matches"]) == 3
    assert not client.lsp.messages
