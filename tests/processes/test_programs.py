"""Programs are resolved outside the workspace, with planted programs at every front end (#21)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import winnow
from commands import command
from conftest import (
    RIPGREP,
    child_environment,
    git_commit,
    requires,
    requires_posix,
    without_coverage,
    write_files,
)
from frontends.lsp.conftest import Client
from mcp_client import connected, text_of
from winnow.documents.rga.settings import settings
from winnow.errors import ProgramNotInstalled
from winnow.processes.programs import InstalledPrograms

pytestmark = [pytest.mark.process, requires_posix]
SYSTEM_PATH = os.environ["PATH"]
# Programs that Winnow runs, and programs that these (or scripts in their place) may run.
PLANTED = ("rg", "git", "rga", "pandoc", "sh", "env", "cat", "winnow", "apt-get", "git-lfs")
Entry = Callable[[Path, Path], str]
ENTRIES: dict[str, Entry] = {
    "current folder": lambda ws, outside: ".",
    "empty entry": lambda ws, outside: "",
    "relative entry": lambda ws, outside: "bin",
    "folder of the workspace": lambda ws, outside: str(ws / ".venv/bin"),
    "unnormalized folder": lambda ws, outside: f"{outside}/../{ws.name}/.venv/bin",
    "symlink into the workspace": lambda ws, outside: str(outside / "link"),
    "symlink in the workspace": lambda ws, outside: str(ws / "away"),
    "programs that are symlinks": lambda ws, outside: str(outside / "linked"),
}


def plant(folder: Path, ran: Path, names: tuple[str, ...] = PLANTED) -> None:
    """Write programs to a folder that record their names in the folder ``ran``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f'#!/bin/sh\n: >"{ran}/{name}"\nexit 1\n')
        (folder / name).chmod(0o755)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Return the folder in which planted programs record that they ran."""
    made = tmp_path / "ran"
    made.mkdir()
    return made


@pytest.fixture
def hostile(tmp_path: Path, ran: Path) -> Path:
    """Create a repository with programs, and folders of the user that lead to them."""
    root = git_commit(tmp_path / "hostile", {"a.txt": "needle\n", "b.txt": "other\n"})
    write_files(root, {"a.txt": "needle 2\n"})
    for folder in (root, root / "bin", root / ".venv/bin"):
        plant(folder, ran)
    outside = tmp_path / "outside"
    plant(outside / "programs", ran)
    (outside / "link").symlink_to(root / "bin")
    (outside / "linked").mkdir()
    for name in PLANTED:
        (outside / "linked" / name).symlink_to(root / "bin" / name)
    (root / "away").symlink_to(outside / "programs")
    return root


@pytest.fixture(params=ENTRIES)
def path(
    request: pytest.FixtureRequest, hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Set a PATH that finds the planted programs first, and run in the workspace."""
    entry = ENTRIES[request.param]
    value = os.pathsep.join([entry(hostile, tmp_path / "outside"), SYSTEM_PATH])
    monkeypatch.setenv("PATH", value)
    monkeypatch.chdir(hostile)
    return value


@pytest.fixture
def every_entry(hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a PATH with all these entries, which finds the planted programs first."""
    entries = [entry(hostile, tmp_path / "outside") for entry in ENTRIES.values()]
    value = os.pathsep.join([*entries, SYSTEM_PATH])
    monkeypatch.setenv("PATH", value)
    monkeypatch.chdir(hostile)
    return value


def run(folder: Path, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(folder, *arguments, environment=child_environment(folder.parent, PATH=path))


# --- fronts --------------------------------------------------------------------------------------


@requires("git")
def test_the_command_line_runs_no_planted_program(hostile: Path, path: str, ran: Path) -> None:
    found = run(hostile, path, "grep", "needle")
    assert found.returncode == 0, found.stderr
    assert "a.txt" in found.stdout
    changed = run(hostile, path, "grep", "--scope", "changed", "needle")
    assert (changed.returncode, "a.txt" in changed.stdout) == (0, True), changed.stderr
    piped = run(hostile, path, "bash", "cat a.txt | rg needle")
    assert (piped.returncode, "needle 2" in piped.stdout) == (0, True), piped.stderr
    assert run(hostile, path, "init-agent", "--print").returncode == 0
    assert os.listdir(ran) == []


@requires("git")
def test_doctor_reports_refused_programs(hostile: Path, path: str, ran: Path) -> None:
    done = run(hostile, path, "doctor", "--json")
    assert done.stderr == ""
    findings = {one["subject"]: one for one in json.loads(done.stdout)}
    for subject, name in (("ripgrep", "rg"), ("git", "git")):
        finding = findings[subject]
        assert finding["good"]
        assert str(hostile) not in finding["detail"]
        assert f"{name} on PATH is inside the workspace (" in finding["advice"]
        assert finding["advice"].endswith("): not used")
    assert os.listdir(ran) == []


@requires("git")
async def test_the_language_server_runs_no_planted_program(
    hostile: Path, every_entry: str, ran: Path
) -> None:
    client = Client()
    try:
        await client.start(hostile, PATH=every_entry)
        for scope in ("workspace", "changed"):
            answer = await client.request("$/grep", {"pattern": "needle", "scope": scope})
            assert [one["path"] for one in answer["matches"]] == ["a.txt"]
    finally:
        await client.stop()
    assert os.listdir(ran) == []


@requires("git")
async def test_the_mcp_server_runs_no_planted_program(
    hostile: Path, every_entry: str, ran: Path
) -> None:
    async with connected(hostile) as client:
        for scope in ("workspace", "changed"):
            answer = await client.call_tool("grep", {"pattern": "needle", "scope": scope})
            assert "a.txt" in text_of(answer)
    assert os.listdir(ran) == []


# What a child looks for in a folder of the user's is the user's, also symlinks there.
FOLDERS = [name for name in ENTRIES if name != "programs that are symlinks"]


@requires("git")
@pytest.mark.parametrize("path", FOLDERS, indirect=True)
def test_children_run_no_programs_of_the_workspace(
    hostile: Path, path: str, ran: Path, tmp_path: Path
) -> None:
    """A user's script finds its interpreter on PATH, and git the user's filters."""
    own = tmp_path / "own"
    for name, program in (("rg", RIPGREP), ("git", shutil.which("git", path=SYSTEM_PATH))):
        script = f'#!/usr/bin/env sh\n: >"{own}/{name}.ran"\nexec "{program}" "$@"\n'
        write_files(own, {name: script})
        (own / name).chmod(0o755)
    write_files(hostile, {".gitattributes": "*.txt filter=lfs\n"})
    filters = '[filter "lfs"]\nclean = git-lfs clean\nprocess = git-lfs\n'
    write_files(tmp_path, {".gitconfig": filters})
    first = path.partition(os.pathsep)[0]
    search = ("grep", "--scope", "changed", "needle")
    done = run(hostile, os.pathsep.join([first, str(own), SYSTEM_PATH]), *search)
    assert (done.returncode, "a.txt" in done.stdout) == (0, True), done.stderr
    assert {"rg.ran", "git.ran"} <= set(os.listdir(own))
    assert os.listdir(ran) == []


@without_coverage
@pytest.mark.parametrize("how", ["module", "empty entry of PYTHONPATH"])
def test_a_module_of_the_workspace_is_not_imported(hostile: Path, ran: Path, how: str) -> None:
    for name in ("msgspec", "argparse", "json", "numpy", "tomli", "apsw", "pygls"):
        (hostile / f"{name}.py").write_text(f"open('{ran}/{name}', 'w'); raise ImportError\n")
    server = str(Path(winnow.__file__).parent.parent)
    program = "from winnow.__main__ import main; main()"
    start = ["-m", "winnow"] if how == "module" else ["-c", program]
    for arguments in (["grep", "needle"], ["doctor"], ["mcp", "--help"], ["serve", "--help"]):
        done = subprocess.run(
            [sys.executable, *start, *arguments],
            cwd=hostile,
            env={**child_environment(hostile.parent), "PYTHONPATH": f"{os.pathsep}{server}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert os.listdir(ran) == []


# --- resolving -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANTED)
def test_no_entry_of_path_finds_a_planted_program(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(hostile)
    for entry in ENTRIES.values():
        environment = {"PATH": entry(hostile, tmp_path / "outside") or os.pathsep}
        installed = InstalledPrograms(environment, [hostile])
        assert installed.which(name) is None
        assert [one.reason for one in installed.refused(name)][:1] == ["inside the workspace"]
        with pytest.raises(ProgramNotInstalled, match="inside the workspace"):
            installed.find(name)


def test_a_workspace_with_a_symlink_in_its_path_is_recognized(
    hostile: Path, tmp_path: Path
) -> None:
    named = tmp_path / "named"
    named.symlink_to(hostile)
    for folder, entry in ((named, hostile), (hostile, named), (named, named)):
        installed = InstalledPrograms({"PATH": str(entry / "bin")}, [folder])
        assert installed.which("rg") is None
        assert list(installed.path_entries()) == []


def test_a_relative_entry_outside_of_the_workspace_is_refused(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "outside")
    installed = InstalledPrograms({"PATH": "programs"}, [hostile])
    assert installed.which("rg") is None
    [refused] = installed.refused("rg")
    assert str(refused) == "rg on PATH is in a relative folder (programs/rg): not used"


def test_a_program_outside_of_the_workspace_is_found_by_its_absolute_path(
    hostile: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "outside/programs"
    installed = InstalledPrograms({"PATH": f"{hostile}:{programs}"}, [hostile])
    assert installed.find("rg") == installed.ripgrep() == str(programs / "rg")


@pytest.mark.parametrize(
    ("configured", "problem"),
    [
        ("{ws}/bin/rg", "inside the workspace"),
        ("{ws}/away/rg", "inside the workspace"),
        ("{outside}/link/rg", "inside the workspace"),
        ("{outside}/linked/rg", "inside the workspace"),
        ("bin/rg", "relative"),
        ("./rg", "relative"),
        ("{outside}/nothing", "is not at"),
        ("nothing", "is not on PATH"),
    ],
)
def test_a_configured_program_of_the_workspace_is_refused(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: str, problem: str
) -> None:
    monkeypatch.chdir(hostile)
    outside = tmp_path / "outside"
    installed = InstalledPrograms({"PATH": SYSTEM_PATH}, [hostile])
    with pytest.raises(ProgramNotInstalled) as refused:
        installed.ripgrep(configured.format(ws=hostile, outside=outside))
    assert problem in refused.value.message
    assert installed.ripgrep(str(outside / "programs/rg")) == str(outside / "programs/rg")


def test_the_packaged_ripgrep_may_be_in_the_workspace(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install winnow-ls` into `.venv` of the workspace: Python itself names that folder."""
    scripts = hostile / ".venv/bin"
    installed = InstalledPrograms({"PATH": str(scripts)}, [hostile])
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "elsewhere"))
    with pytest.raises(ProgramNotInstalled):
        installed.ripgrep()
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(scripts))
    assert installed.ripgrep() == str(scripts / "rg")
    assert installed.which("rg") is None
    # But not the target of a symlink there, elsewhere in the workspace.
    (scripts / "rg").unlink()
    (scripts / "rg").symlink_to(hostile / "bin/rg")
    with pytest.raises(ProgramNotInstalled):
        installed.ripgrep()


def test_rga_finds_the_packaged_ripgrep_and_no_other_program_in_its_folder(
    hostile: Path, tmp_path: Path
) -> None:
    ripgrep = str(hostile / ".venv/bin/rg")
    installed = InstalledPrograms(
        {"PATH": f"{hostile}/.venv/bin:/nowhere", "HOME": str(tmp_path / "home")}, [hostile]
    )
    for _ in range(2):
        with settings(installed, ripgrep) as own:
            path = installed.restricted_environment(own.programs)["PATH"]
            assert path.split(":") == ["/nowhere", own.programs]
            assert os.listdir(own.programs) == ["rg"]
            assert os.path.realpath(shutil.which("rg", path=path) or "") == ripgrep


# --- environments --------------------------------------------------------------------------------


def test_children_inherit_no_paths_into_the_workspace(hostile: Path, tmp_path: Path) -> None:
    link = tmp_path / "outside/link"
    environment = {
        "PATH": f".::bin:{hostile}/bin:{link}:/usr/bin",
        "LD_LIBRARY_PATH": f":{hostile}/lib:/opt/lib:.",
        "DYLD_LIBRARY_PATH": ":",
        "LD_PRELOAD": f"libone.so {hostile}/evil.so ./two.so /opt/three.so",
        "LD_AUDIT": "./audit.so",
        "LANG": "C",
    }
    installed = InstalledPrograms(environment, [hostile])
    assert installed.inherited_environment() == {
        "PATH": "/usr/bin",
        "LD_LIBRARY_PATH": "/opt/lib",
        "LD_PRELOAD": "libone.so:/opt/three.so",
        "LANG": "C",
    }
    restricted = installed.restricted_environment(str(hostile / "bin"), "/opt/bin")
    assert restricted == {"PATH": "/usr/bin:/opt/bin", "LC_ALL": restricted["LC_ALL"]}


@requires_posix
def test_children_find_no_symlink_into_the_workspace(hostile: Path, tmp_path: Path) -> None:
    """rga starts the first `rg` on its PATH (#21)."""
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / "rg").symlink_to(hostile / "bin/rg")
    (folder / "pandoc").symlink_to("/bin/sh")
    installed = InstalledPrograms({"PATH": f"{folder}:/usr/bin"}, [hostile])
    assert installed.which("pandoc") == str(folder / "pandoc")
    assert installed.inherited_environment()["PATH"] == "/usr/bin"
    assert installed.restricted_environment()["PATH"] == "/usr/bin"


def test_an_empty_path_is_not_the_current_folder(hostile: Path, ran: Path) -> None:
    """With an empty PATH, a script would find its interpreter in the workspace."""
    installed = InstalledPrograms({"PATH": "."}, [hostile])
    for environment in (installed.inherited_environment(), installed.restricted_environment()):
        assert environment["PATH"] == os.devnull
        subprocess.run(["/usr/bin/env", "rg"], cwd=hostile, env=environment, capture_output=True)
    assert os.listdir(ran) == []
