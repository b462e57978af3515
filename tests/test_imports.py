"""Commands load no heavy packages, and SDKs are imported only when they are needed."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import child_environment, without_coverage

HEAVY = {
    *("pygls", "lsprotocol", "openai", "anthropic", "httpx2", "numpy", "tree_sitter", "mcp"),
    "prompt_toolkit",
}

PROGRAM = """
import json, sys
from winnow.frontends.cli.main import main
for command in json.loads(sys.argv[1]):
    code = None
    try:
        code = main(command)
    except SystemExit as end:
        code = end.code
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print("\\nLOADED", json.dumps([command, code or 0, loaded]))
"""


@pytest.mark.process
def test_commands_load_no_heavy_packages(project: Path) -> None:
    commands = [
        ["--help"],
        ["keyword-search", "--help"],
        ["tools"],
        ["doctor"],
        ["init-agent", "--print"],
        ["read", "src/loader.py", "--spans", "1-2"],
    ]
    ranking = ["keyword-search", "where is the needle", "needle"]
    loaded = loaded_by(project, *commands, ranking)
    # Packages stay loaded for later commands: the first command with a package is the culprit.
    heavy = {command: packages & HEAVY for command, packages in loaded.items()}
    light: dict[str, set[str]] = {" ".join(command): set() for command in commands}
    assert heavy == {**light, " ".join(ranking): {"numpy"}}


def loaded_by(project: Path, *commands: Sequence[str]) -> dict[str, set[str]]:
    """Run commands in one process; return the loaded packages after each command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=project,
        env=child_environment(project.parent),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line[7:]) for line in done.stdout.split("\n") if line[:7] == "LOADED "]
    loaded = {" ".join(command): set(packages) for command, code, packages in rows if code != 2}
    assert all("winnow" in packages for packages in loaded.values())
    return loaded


@pytest.mark.process
def test_reading_the_index_loads_no_parser_and_no_sdk(project: Path) -> None:
    """Files are parsed in another process."""
    [loaded] = loaded_by(project, ["find-references", "load_plugin"]).values()
    assert loaded & HEAVY <= {"numpy"}


@pytest.mark.process
def test_settings_of_an_index_load_no_database() -> None:
    """A server whose index is disabled needs none."""
    program = "import sys, winnow.index.builder.folder_settings; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert not {"apsw", "numpy"} & set(loaded.split())


@pytest.mark.process
def test_a_question_loads_no_patterns_of_secrets_and_no_masked_arrays(project: Path) -> None:
    """Both are slow to load; only a build, and what a search leaves behind, need them."""
    config = project.parent / "config.toml"
    config.write_text("[learning]\nenabled = false\n")
    program = (
        "import sys; from winnow.frontends.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print('LOADED', *sys.modules)"
    )

    def run(*arguments: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=project,
            env={**child_environment(project.parent), "WINNOW_CONFIG": str(config)},
            capture_output=True,
            text=True,
            check=True,
        )
        return set(done.stdout.rpartition("LOADED ")[2].split())

    run("index", "build")
    loaded = run("semantic-search", "where is the loader")
    assert "winnow.index.store.store" in loaded
    assert loaded & {"numpy.ma", "winnow.privacy.secrets.formats"} == set()


def test_one_folder_imports_pygls_and_two_modules_start_processes() -> None:
    package = Path(__file__).parent.parent / "server" / "winnow"
    for file in package.rglob("*.py"):
        name = file.relative_to(package).as_posix()
        text = file.read_text()
        if not name.startswith("frontends/lsp/"):
            assert "import pygls" not in text, name
            assert "from pygls" not in text, name
            assert "lsprotocol" not in text or name == "frontends/cli/doctor.py", name
        # The pager and the editor get the terminal.
        if name not in ("processes/children.py", "processes/terminal_programs.py"):
            assert "subprocess" not in text, name
            assert "os.system" not in text, name


def test_one_module_imports_mcp() -> None:
    package = Path(__file__).parent.parent / "server" / "winnow"
    for file in package.rglob("*.py"):
        if file.relative_to(package).as_posix() != "frontends/mcp.py":
            for line in file.read_text().splitlines():
                assert not line.strip().startswith(("import mcp", "from mcp")), (file, line)


def test_only_the_symbols_package_imports_tree_sitter() -> None:
    package = Path(__file__).parent.parent / "server" / "winnow"
    for file in package.rglob("*.py"):
        name = file.relative_to(package).as_posix()
        if not name.startswith("symbols/"):
            assert "import tree_sitter" not in file.read_text(), name


@without_coverage
@pytest.mark.process
def test_a_worker_loads_no_event_loop_and_no_database() -> None:
    program = "import sys, winnow.index.builder.worker; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "tree_sitter" in loaded
    assert loaded & {"asyncio", "sqlite3", "pygls", "lsprotocol"} == set()


def test_programs_written_as_text_import_names_that_exist() -> None:
    """Linters and rename tools miss these names."""
    checked = 0
    root = Path(__file__).parent.parent
    for file in (*root.glob("tests/**/*.py"), *root.glob("benchmarks/*.py")):
        if "fixtures" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for module, names in IMPORT.findall(node.value):
                    for name in names.split(","):
                        assert exists(module, name.split()[0]), f"{file}: {module}.{name}"
                        checked += 1
    assert checked > 20


IMPORT = re.compile(r"\bfrom (winnow[\w.]*) import (\w[\w, ]*)")


def exists(module: str, name: str) -> bool:
    """Return True if a module has a name or a submodule with that name."""
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True
