"""Install the packages that `scripts/build` builds into empty environments, and run them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

import release
from conftest import CI, child_environment, requires_posix
from model_server import ModelServer
from test_examples import requires_packages, run_agent, typescript_agent
from winnow import __version__

ROOT = Path(__file__).parent.parent
EXTRAS = {"mcp", "ocr"}

pytestmark = [pytest.mark.slow, requires_posix]


def with_network() -> dict[str, str]:
    """Return an environment with network access, which other tests don't have."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def build(target: Path, *parts: str, **variables: str) -> Path:
    """Build these parts with `scripts/build`, and return the output folder."""
    own = {name: str(target / name) for name in ("TMPDIR", "npm_config_cache")}
    (target / "TMPDIR").mkdir()
    environment = {**with_network(), **own, "WINNOW_DIST": str(target / "dist"), **variables}
    done = subprocess.run(
        [ROOT / "scripts/build", *parts], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target / "dist"


# --- the server ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"), "server", "plugin")


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return dist / f"winnow_ls-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment, without a compiler; return its programs' folder.

    The environment has no pip, like those of uv.
    """
    environment = tmp_path_factory.mktemp("installed") / "environment"
    venv.create(environment)
    pip = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet"]
    pip += ["--only-binary", ":all:", "--no-compile"]
    subprocess.run([*pip, str(wheel)], check=True, env=with_network())
    return environment / "bin"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Return an environment without the system's ripgrep and without settings."""
    found = child_environment(tmp_path)
    found.pop("PYTHONPATH", None)
    return {**found, "PATH": "/nowhere"}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_contains_only_the_package(wheel: Path) -> None:
    found = contents(wheel)
    tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "winnow"]
    listed = subprocess.run(tracked, cwd=ROOT / "server", capture_output=True, text=True).stdout
    about = f"winnow_ls-{__version__}.dist-info"
    assert set(found) == {
        *listed.splitlines(),
        *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")),
        f"{about}/licenses/LICENSE",
    }
    metadata = found[f"{about}/METADATA"].decode()
    assert set(re.findall("^Provides-Extra: (.+)$", metadata, re.M)) >= EXTRAS
    assert "Requires-Python: >=3.10\n" in metadata
    assert b"winnow = winnow.__main__:main" in found[f"{about}/entry_points.txt"]


def test_the_sdist_builds_the_same_wheel(dist: Path, wheel: Path, tmp_path: Path) -> None:
    sdist = dist / f"winnow_ls-{__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        top = {"/".join(name.split("/")[1:2]) for name in archive.getnames()}
    assert top == {
        *("server", "tests", "benchmarks", "scripts", "examples", "docs", "CHANGELOG.md"),
        *("README.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore"),
    }
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    subprocess.run([*pip, str(sdist)], check=True, env=with_network())
    assert contents(tmp_path / wheel.name) == contents(wheel)


@pytest.mark.network
def test_the_installed_command_works(
    installed: Path, project: Path, variables: dict[str, str]
) -> None:
    def winnow(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [installed / "winnow", *arguments],
            cwd=project,
            env=variables,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done

    assert winnow("--version").stdout == f"winnow {__version__}\n"
    assert "keyword-search" in winnow("--help").stdout
    searched = winnow("keyword-search", "how are plugins loaded", "load_plugin")
    assert searched.stderr == ""
    assert searched.stdout.startswith("src/loader.py:2\n")
    assert "src/loader.py" in winnow("find-symbol", "Loader", "--json").stdout
    checks = json.loads(winnow("doctor", "--json").stdout)
    findings = {finding["subject"]: finding for finding in checks}
    assert all(finding["good"] for finding in findings.values() if finding["required"])
    for extra in EXTRAS:
        advice = findings[f"winnow-ls[{extra}]"]["advice"]
        assert advice.endswith(f"uv pip install --python {installed}/python 'winnow-ls[{extra}]'")
    refused = winnow("mcp", code=2)
    assert refused.stderr.endswith(f"--python {installed}/python 'winnow-ls[mcp]'\n")


@pytest.mark.network
def test_the_installed_server_answers(
    installed: Path, project: Path, variables: dict[str, str]
) -> None:
    with subprocess.Popen(
        [installed / "winnow", "serve"],
        cwd=project,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        folder = {"uri": project.as_uri(), "name": "project"}
        params: Any = {"processId": None, "capabilities": {}, "workspaceFolders": [folder]}
        capabilities = request(server, 1, "initialize", params)["capabilities"]
        assert "$/keywordSearch" in json.dumps(capabilities["experimental"]["winnow"])
        send(server, {"method": "initialized", "params": {}})
        found = request(server, 2, "$/grep", {"pattern": "def load_plugin\\b"})
        assert [match["path"] for match in found["matches"]] == ["src/loader.py"]
        request(server, 3, "shutdown", None)
        send(server, {"method": "exit"})
        assert server.wait(20) == 0


@pytest.mark.network
@requires_packages
@pytest.mark.parametrize("agent", ["agent.py", "agent.ts"])
def test_the_examples_run_with_the_installed_wheel(
    agent: str, installed: Path, project: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = f"{installed}:{os.environ['PATH']}"  # has `winnow` and `python`
    is_python = agent == "agent.py"
    command = [str(installed / "python"), str(ROOT / "examples" / agent)]
    done = run_agent(
        command if is_python else typescript_agent(home),
        *(project, home, model_server),
        PATH=path,
        PYTHONPATH="",
    )
    assert (done.stdout, done.returncode) == (
        "In src/loader.py, line 5: it looks the name up in `registry`.\n",
        0,
    ), done.stderr


def send(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def request(server: subprocess.Popen[bytes], number: int, method: str, params: Any) -> Any:
    """Send a request and return its result; skip other messages."""
    send(server, {"id": number, "method": method, "params": params})
    assert server.stdout is not None
    while True:
        length = 0
        while header := server.stdout.readline().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has exited"
        message = json.loads(server.stdout.read(length))
        if message.get("id") == number and "method" not in message:
            assert "error" not in message, message
            return message["result"]


# --- the editors ---------------------------------------------------------------------------


def test_the_extension_contains_only_the_files_it_needs(tmp_path: Path) -> None:
    folder = ROOT / "vscode-extension"
    if not (folder / "node_modules").exists() and not CI:
        pytest.skip("the extension's npm packages are not installed")
    found = contents(build(tmp_path, "extension") / f"winnow-{__version__}.vsix")
    shown = [
        f"extension/{file.relative_to(folder).as_posix()}"
        for part in ("media", "walkthrough")
        for file in (folder / part).iterdir()
    ]
    assert set(found) == {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        "extension/LICENSE.txt",
        "extension/changelog.md",
        "extension/dist/extension.js",
        "extension/package.json",
        "extension/readme.md",
        *shown,
    }
    assert f'Version="{__version__}"' in found["extension.vsixmanifest"].decode()
    named = re.findall(
        r'"(?:\./)?([\w/-]+\.(?:js|md|png|svg))"', found["extension/package.json"].decode()
    )
    assert {f"extension/{name}" for name in named} <= set(found)
    assert b"sourceMappingURL" not in found["extension/dist/extension.js"]


def test_a_published_extension_has_links_and_a_date(tmp_path: Path) -> None:
    if not (ROOT / "vscode-extension/node_modules").exists() and not CI:
        pytest.skip("the extension's npm packages are not installed")
    url = "https://github.com/example/winnow"
    variables = {"WINNOW_REPOSITORY_URL": url, "SOURCE_DATE_EPOCH": "1795694400"}
    dist = build(tmp_path, "extension", **variables)
    found = contents(dist / f"winnow-{__version__}.vsix")
    manifest = json.loads(found["extension/package.json"])
    assert manifest["repository"]["url"] == f"{url}.git"
    assert manifest["bugs"]["url"] == f"{url}/issues"
    assert {"AI", "Chat"} <= set(manifest["categories"])
    assert 5 <= len(manifest["keywords"]) <= 30
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", found["extension/readme.md"].decode())
    pictures = f"{url}/raw/v{__version__}/vscode-extension/media/"
    assert links
    assert all(link.startswith(pictures) for link in links)
    names = {link.removeprefix(pictures) for link in links}
    assert names <= {file.name for file in (ROOT / "vscode-extension/media").iterdir()}
    assert f"## {__version__} (2026-11-26)" in found["extension/changelog.md"].decode()
    # The checkout names no repository.
    assert "repository" not in json.loads((ROOT / "vscode-extension/package.json").read_text())


def neovim() -> str | None:
    cache = Path(os.environ.get("WINNOW_CACHE") or Path.home() / ".cache/winnow")
    return shutil.which("nvim") or next(map(str, cache.glob("neovim-*/bin/nvim")), None)


@pytest.mark.network
def test_the_unpacked_plugin_searches_in_neovim(
    dist: Path, installed: Path, project: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    program = neovim()
    if program is None and not CI:
        pytest.skip("Neovim is not installed")
    assert program is not None
    start = tmp_path / "site/pack/winnow/start"
    start.mkdir(parents=True)
    with tarfile.open(dist / f"winnow.nvim-{__version__}.tar.gz") as archive:
        names = archive.getnames()
        archive.extractall(start)
    assert {name.split("/")[1] for name in names} == {*release.PLUGIN_PARTS, "LICENSE"}
    script = tmp_path / "check.lua"
    script.write_text(PLUGIN_CHECK)
    packpath = f"set packpath^={tmp_path}/site"
    done = subprocess.run(
        [program, *("--clean", "--headless", "-i", "NONE"), *("--cmd", packpath), "-S", script],
        cwd=project,
        env={**variables, "WINNOW": str(installed / "winnow")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr.splitlines()[-1:] == [f"{__version__} src/loader.py 2"], done.stderr


# Load all modules, open the help, and search with the installed server.
PLUGIN_CHECK = """
local ok, problem = pcall(function()
  assert(vim.fn.exists(':Winnow') == 2, 'there is no :Winnow')
  local lua = vim.fs.dirname(vim.api.nvim_get_runtime_file('lua/winnow', false)[1])
  for name in vim.fs.dir(lua .. '/winnow', { depth = 2 }) do
    local module = name:match('^(.*)%.lua$')
    if module and not module:find('^adapters/.') then
      require('winnow.' .. module:gsub('/init$', ''):gsub('/', '.'))
    end
  end
  vim.cmd.helptags(vim.fs.dirname(lua) .. '/doc')
  vim.cmd.help('winnow-start')
  vim.lsp.config('winnow', { cmd = { vim.env.WINNOW, 'serve' } })
  local items, answered, failed
  require('winnow').search('grep', { query = 'def load_plugins' }, function(found, _, why)
    items, failed, answered = found, why, true
  end)
  assert(vim.wait(20000, function() return answered end), 'no answer')
  assert(items, failed)
  -- Neovim's last message may have no newline.
  io.stderr:write('\\n', require('winnow.version'), ' ', items[1].path, ' ', items[1].lnum)
end)
if not ok then io.stderr:write(problem) end
vim.cmd(ok and 'qall!' or 'cquit!')
"""


# --- the version ---------------------------------------------------------------------------


def test_all_files_have_the_same_version() -> None:
    found = release.versions()
    assert len(found) == 7
    assert set(found.values()) == {__version__}


def test_the_build_fails_if_versions_differ(tmp_path: Path) -> None:
    needed = {name.partition(",")[0] for name in release.versions()}
    needed |= {"pyproject.toml", "nvim/tests/ui/requirements.txt"}
    needed |= {f"scripts/{name}" for name in ("build", "environment", "release.py")}
    for name in needed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    file = tmp_path / "nvim/lua/winnow/version.lua"
    file.write_text(file.read_text().replace(__version__, "9.9.9"))
    done = subprocess.run(
        [tmp_path / "scripts/build", "plugin"], env=with_network(), capture_output=True, text=True
    )
    assert done.returncode == 1
    file_name, source = "nvim/lua/winnow/version.lua", release.SOURCE
    assert done.stderr == f"{file_name} has version 9.9.9, but {source} has {__version__}\n"
    assert not (tmp_path / "dist").exists()


def test_the_same_files_produce_the_same_archive(tmp_path: Path) -> None:
    for name in ("one", "two"):
        release.pack_plugin(tmp_path / name, 1_700_000_000)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_notes_of_a_version_are_its_section_of_the_changes() -> None:
    changes = "# Changes\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0\n\n### Added\n\n- old\n"
    assert release.notes(changes, "0.2.0") == "- new\n"
    assert release.notes(changes, "0.1.0") == "### Added\n\n- old\n"
    with pytest.raises(ValueError, match=r"no section for 0\.3\.0"):
        release.notes(changes, "0.3.0")
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "### Searches" in release.notes(text, release.versions()[release.SOURCE])


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "SHA256SUMS").write_bytes(b"earlier")
    first, second = release.checksums(tmp_path)
    assert first == f"{hashlib.sha256(b'one').hexdigest()}  a"
    assert second.endswith("  b")
