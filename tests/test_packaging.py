"""The package as a user gets it: built, installed into an empty environment, and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import child_environment

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


def with_network() -> dict[str, str]:
    """The environment of what may fetch something, which no test otherwise does."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*pip, str(ROOT)], check=True, env=with_network())
    [wheel] = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"winnow", "winnow_ls-0.1.0.dist-info"}
    assert "winnow/py.typed" in names


def test_the_installed_command_does_the_main_job(
    wheel: Path, project: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    venv.create(environment)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(environment)]
    pip += ["install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True, env=with_network())
    variables = child_environment(project)
    variables.pop("PYTHONPATH", None)
    # Nothing but what the package brings: no ripgrep of the system's.
    variables["PATH"] = "/usr/bin:/bin" if not Path("/usr/bin/rg").exists() else "/nowhere"
    done = subprocess.run(
        [scripts / "winnow", "keyword-search", "how are plugins loaded", "load_plugin"],
        cwd=project,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("src/loader.py:2\n")


def test_versions_agree(wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    package = (ROOT / "server/winnow/__init__.py").read_text()
    assert f'__version__ = "{version}"' in package
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)
