"""bash: what models write works, and no attempt to run, write, read outside or hang does."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands import command
from conftest import (
    SLOW_TERM,
    MakeWorkspace,
    child_environment,
    git_init,
    requires,
    write_files,
)
from documents.making_pdf import make_pdf
from winnow.config import BashSettings, Config, merge_layer
from winnow.errors import InvalidParams, NotAllowed, NoWorkspace, ProgramNotInstalled
from winnow.tools import TOOLS
from winnow.tools.bash import BashResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only rg and rga there")

SECRET = "outside-secret-0123"
ON = Config(bash=BashSettings(enabled=True))
requires_rga = requires("rga", "pdftotext", "pandoc")


async def bash(workspace: EngineWorkspace, line: str, **params: Any) -> BashResult:
    result = await TOOLS["bash"].call(workspace, {"command": line, **params}, no_progress)
    assert isinstance(result, BashResult)
    return result


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Create a folder with a secret outside the project."""
    return write_files(tmp_path / "outside", {"secret.txt": SECRET, "secret.py": SECRET})


@pytest.fixture
def workspace(
    project: Path, outside: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> EngineWorkspace:
    """Open the project with links to outside, a FIFO, untrusted programs and lists of paths."""
    (project / "link").symlink_to(outside)
    (project / "link.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(project / "fifo")
    write_files(
        project,
        {
            "run.sh": "#!/bin/sh\ntouch marker\n",
            "paths": f"{outside}/secret.txt\0",
            "magic": "0 string x x\n",
            "rga.json": json.dumps({"custom_adapters": [adapter(project)]}),
        },
    )
    (project / "run.sh").chmod(0o755)
    return make_workspace(project, config=ON, environment=user_environment(tmp_path))


def adapter(project: Path) -> dict[str, Any]:
    """Create an rga adapter that runs an untrusted program for every text."""
    return {
        "name": "evil",
        "description": "evil",
        "version": 1,
        "extensions": ["md", "txt", "py"],
        "binary": str(project / "run.sh"),
        "args": [],
    }


def user_environment(tmp_path: Path, **more: str) -> dict[str, str]:
    home = tmp_path / "home"
    return {"PATH": os.environ["PATH"], "HOME": str(home), **more}


ATTEMPTS = [
    # shell syntax
    ("rg a; touch marker", ";"),
    ("rg a && touch marker", "&&"),
    ("rg a || touch marker", "||"),
    ("touch marker & rg a", "&"),
    ("rg a\ntouch marker", "\n"),
    ("rg a $(touch marker)", "$(touch marker)"),
    ('rg "$(touch marker)"', "$(touch marker)"),
    ("rg `touch marker`", "`touch marker`"),
    ('rg "`touch marker`"', "`touch marker`"),
    ("cat <(touch marker)", "<(touch marker)"),
    ("(touch marker)", "("),
    ("{ touch marker }", "{"),
    ("! touch marker", "!"),
    ("PATH=. run.sh", "PATH=."),
    ("cat $HOME/.ssh/id_rsa", "$HOME"),
    ("cat ~/.ssh/id_rsa", "~/.ssh/id_rsa"),
    ("cat {/etc/passwd,/etc/hosts}", "{/etc/passwd,/etc/hosts}"),
    # running programs
    ("touch marker", "touch"),
    ("rg a | xargs touch marker", "xargs"),
    ("sh -c 'touch marker'", "sh"),
    ("./run.sh", "./run.sh"),
    ("/bin/cat link.txt", "/bin/cat"),
    ("env rg a", "env"),
    ("sed -n 'w marker' docs/plugins.md", "sed 'w'"),
    ("awk 'BEGIN{system(\"touch marker\")}'", "awk system"),
    ("sort -o marker docs/plugins.md", "-o"),
    ("tee marker", "tee"),
    ("find . -exec touch marker ';'", "-exec"),
    ("find . -exec touch marker {} +", "-exec"),
    ("find . -execdir touch marker {} +", "-execdir"),
    ("find . -ok touch marker ';'", "-ok"),
    ("find . -okdir touch marker ';'", "-okdir"),
    ("rg --pre ./run.sh plugin", "--pre"),
    ("rg --pre=./run.sh plugin", "--pre"),
    ("rg --pre-glob '*' plugin", "--pre-glob"),
    ("rg -z plugin", "-z"),
    ("rg -nz plugin", "-z"),
    ("rg --search-zip plugin", "--search-zip"),
    ("rg --hostname-bin ./run.sh --hyperlink-format default plugin", "--hostname-bin"),
    ("rga --pre ./run.sh plugin", "--pre"),
    ("rga --rga-config-file=rga.json plugin", "--rga-config-file"),
    ("rga --rga-adapters=+evil plugin", "--rga-adapters"),
    ("rga plugin --rga-no-cache", "--rga-no-cache"),
    ("file -z docs/plugins.md", "-z"),
    ("tree -L 1 -R -o marker", "-R"),
    # writing files
    ("rg a > marker", "> marker"),
    ("rg a >> marker", ">> marker"),
    ("rg a 2> marker", "2> marker"),
    ("rg a &> marker", "&>"),
    ("find . -delete", "-delete"),
    ("find . -name plugins.md -delete", "-delete"),
    ("find . -fprint marker", "-fprint"),
    ("find . -fprint0 marker", "-fprint0"),
    ("find . -fprintf marker %p", "-fprintf"),
    ("find . -fls marker", "-fls"),
    ("tree -o marker", "-o"),
    ("tree -ao marker", "-o"),
    ("file -C -m magic", "-C"),
    ("file --compile -m magic", "--compile"),
    ("rga --rga-cache-path=marker plugin", "--rga-cache-path"),
    # reading outside the workspace
    ("cat /etc/passwd", "/etc/passwd"),
    ("cat ../outside/secret.txt", "../outside/secret.txt"),
    ("cat src/../../outside/secret.txt", "src/../../outside/secret.txt"),
    ("cat nothing/../../outside/secret.txt", "nothing/../../outside/secret.txt"),
    ("cat link.txt", "link.txt"),
    ("cat link/secret.txt", "link/secret.txt"),
    ("cat < link.txt", "< link.txt"),
    ("cat *.txt", "link.txt"),
    ("cat link/*", "link/*"),
    ("cat ../*/secret.txt", "../*/secret.txt"),
    ("cat /etc/pass*", "/etc/pass*"),
    ("cat '' -- ../outside/secret.txt", "../outside/secret.txt"),
    ("head -5 docs/plugins.md link.txt", "link.txt"),
    ("tail -n 5 link.txt", "link.txt"),
    ("wc -c link.txt", "link.txt"),
    ("wc --files0-from=paths", "--files0-from"),
    ("wc --files0=paths", "--files0"),
    ("file -f paths", "-f"),
    ("file -L link.txt", "-L"),
    ("file -m ../outside/secret.txt src", "-m"),
    ("ls -la ..", ".."),
    ("ls -L", "-L"),
    ("ls -l link/", "link/"),
    ("tree link", "link"),
    ("tree -l", "-l"),
    ("tree --fromfile paths", "--fromfile"),
    ("tree --info", "--info"),
    ("find /", "/"),
    ("find link/", "link/"),
    ("find -L . -name '*.txt'", "-L"),
    ("find -H link", "-H"),
    ("find . -follow", "-follow"),
    ("find -files0-from paths", "-files0-from"),
    ("find . -newer ../outside/secret.txt", "../outside/secret.txt"),
    ("find . -samefile link.txt", "link.txt"),
    ("grep -r secret ..", ".."),
    ("grep -R secret .", "-R"),
    ("grep -rnR secret .", "-R"),
    ("grep --dereference-rec secret .", "--dereference-rec"),
    ("grep -f ../outside/secret.txt -r .", "../outside/secret.txt"),
    ("grep -vf link.txt docs/plugins.md", "link.txt"),
    ("grep --exclude-from=link.txt -r a", "link.txt"),
    ("rg secret ..", ".."),
    ("rg -L secret", "-L"),
    ("rg --follow secret", "--follow"),
    ("rg secret link", "link"),
    ("rg -f link.txt src", "link.txt"),
    ("rg --ignore-file ../outside/secret.txt a", "../outside/secret.txt"),
    ("rga secret ../outside", "../outside"),
    ("rg a | cat - link.txt", "link.txt"),
    ("cat /proc/self/environ", "/proc/self/environ"),
    # hanging, or using all memory
    ("tail -f docs/plugins.md", "-f"),
    ("tail -F docs/plugins.md", "-F"),
    ("tail -nf docs/plugins.md", "-n f"),
    ("tail --follow=name docs/plugins.md", "--follow"),
    ("tail --foll docs/plugins.md", "--foll"),
    ("tail --pid=1 docs/plugins.md", "--pid"),
    ("tail --retry docs/plugins.md", "--retry"),
    ("cat fifo", "fifo"),
    ("cat f*o", "fifo"),
    ("grep a fifo", "fifo"),
    ("grep -D read a fifo", "-D"),
    ("rg -f fifo a", "fifo"),
    ("cat /dev/zero", "/dev/zero"),
    ("head -c 99999999999 /dev/zero", "-c 99999999999"),
    ("head -c 99G docs/plugins.md", "-c 99G"),
    ("file -s /dev/sda", "-s"),
    ("rg --dfa-size-limit 99G a", "--dfa-size-limit"),
]


async def test_an_attempt_is_refused_by_name_and_changes_nothing(
    workspace: EngineWorkspace, project: Path
) -> None:
    """Check that refusals do not depend on the timeout, which would kill a hanging program."""
    before = sorted(project.rglob("*"))
    wrong: dict[str, object] = {}
    for line, what in ATTEMPTS:
        try:
            wrong[line] = await bash(workspace, line)
        except NotAllowed as refused:
            if refused.data["what"] != what or len(refused.data["why"]) <= 15:
                wrong[line] = refused.data
            if SECRET in refused.message:
                wrong[line] = refused.message
        if (now := sorted(project.rglob("*"))) != before:
            wrong[line], before = now, now
    assert not wrong


def test_there_are_many_attempts() -> None:
    assert len(ATTEMPTS) >= 60
    assert len({line for line, _ in ATTEMPTS}) == len(ATTEMPTS)


@requires("tree")
async def test_recursive_programs_do_not_follow_links_or_wait_for_fifos(
    workspace: EngineWorkspace,
) -> None:
    for line in (
        "grep -r outside-secret",
        "grep -rs outside-secret . --include=*.txt",
        "rg -uuu outside-secret",
        "find . -path ./.hidden -prune -o -name 'secret.*' -print",
        "ls -R",
        "tree",
        "find . -name fifo -size -1k | cat",
    ):
        started = time.monotonic()
        result = await bash(workspace, line)
        assert time.monotonic() - started < 15, line
        assert SECRET not in result.stdout, line
        # The target of a symlink is shown, but not its contents.
        assert "secret.py" not in result.stdout, line


# --- what models write -----------------------------------------------------------------------

HARMLESS = [
    ("rg -n load_plugins src/main.py", "3:Loader().load_plugins(['a'])\n"),
    ("rg -l register_plugin --sort path", "docs/plugins.md\nsrc/registry.py\n"),
    ('rg "def \\w+" -o -N --no-filename src/registry.py', "def register_plugin\n"),
    ("rg -c 'load_plugin' src/loader.py", "3\n"),
    ("rg load_plugin -tpy --files-with-matches --sort=path | head -1", "src/loader.py\n"),
    ("rg -i PLUGINS -g '*.md'", "docs/plugins.md:# Plugins\n"),
    ("rg --files src --sort path | wc -l", "3\n"),
    ("rg --no-ignore -l load_plugin_from", "ignored/cache.py\n"),
    ("rg --hidden -l hidden_plugin -g '!.git'", ".hidden/secret.py\n"),
    ("rg -A1 'class Loader' src", "src/loader.py:class Loader:\nsrc/loader.py-    def load_plugins"
     "(self, names):\n"),
    ("rg -U 'class Loader:\\n\\s+def' src -l", "src/loader.py\n"),
    ("rg -F \"registry[name]\" -n src/registry.py", "4:    registry[name] = plugin\n"),
    ("rg -w -e Loader -e registry --count-matches --sort path src",
     "src/loader.py:2\nsrc/main.py:2\nsrc/registry.py:2\n"),
    ("rg -r 'X$0' -o 'plugin\\b' docs", "docs/plugins.md:Xplugin\n"),
    ("rg --json register_plugin src | grep -c '\"type\":\"match\"'", "1\n"),
    ("rg --type-list | grep ^toml:", "toml: *.toml, Cargo.lock\n"),
    ("rg nothing_at_all", ""),
    ('grep -rn "def load_plugin(" src', "src/loader.py:5:    def load_plugin(self, name):\n"),
    ("grep -rniE 'CLASS|IMPORT' --include='*.py' src/main.py", "1:from loader import Loader\n"),
    ("grep -rl register_plugin --include=*.md docs", "docs/plugins.md\n"),
    ("grep -c def src/loader.py", "2\n"),
    ("grep -n -A 1 -m 1 def src/registry.py", "3:def register_plugin(name, plugin):\n"
     "4-    registry[name] = plugin\n"),
    ("grep -oP '(?<=def )\\w+' src/loader.py", "load_plugins\nload_plugin\n"),
    ("grep -vc '^$' src/registry.py", "3\n"),
    ("grep -rL def src --exclude-dir=.git", "src/main.py\n"),
    ("grep -h -o 'Loader()' -r src tests", "Loader()\nLoader()\n"),
    ('find . -name "*.md" -not -path "./.git/*"', "./docs/plugins.md\n"),
    ("find src -type f -name 'm*.py'", "src/main.py\n"),
    ("find . -maxdepth 1 -type d -name '[st]*' | grep -c /", "2\n"),
    (r"find . \( -name .git -o -name ignored \) -prune -o -name 'l*.py' -print",
     "./src/loader.py\n"),
    ("find docs -type f -size -2k -printf '%f\\n'", "plugins.md\n"),
    ("find src -iname '*REG*' -mtime -7", "src/registry.py\n"),
    ("cat src/main.py", "from loader import Loader\n\nLoader().load_plugins(['a'])\n"),
    ("cat -n docs/plugins.md | head -1", "     1\t# Plugins\n"),
    ("cat src/*.py | grep -c plugin", "6\n"),
    ("cat src/main.py src/main.py | wc -l", "6\n"),
    ("head -1 src/main.py", "from loader import Loader\n"),
    ("head -n 2 src/loader.py | tail -1", "    def load_plugins(self, names):\n"),
    ("head -c 4 src/main.py", "from"),
    ("tail -n +3 src/main.py", "Loader().load_plugins(['a'])\n"),
    ("tail -1 docs/plugins.md", "Call `register_plugin` to add one.\n"),
    ("ls", "docs\nignored\nsrc\ntests\n"),
    ("ls src/", "loader.py\nmain.py\nregistry.py\n"),
    ("ls -a | head -3", ".\n..\n.git\n"),
    ("ls -1 src | wc -l", "3\n"),
    ("ls *.nothing", ""),
    ("wc -l src/loader.py", "6 src/loader.py\n"),
    ("wc -l src/*.py | grep -o '[0-9]* total'", "13 total\n"),
    ("file -b docs/plugins.md", "ASCII text\n"),
    ("tree -L 1 -d --noreport", ".\n├── docs\n├── ignored\n├── src\n└── tests\n"),
    ("tree -a -I '.git|src|tests|ignored' --noreport -P '*.md'",
     ".\n├── .hidden\n└── docs\n    └── plugins.md\n"),
]  # fmt: skip


@requires("file", "tree")
async def test_typical_commands_of_models_work(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(project, config=ON, environment=user_environment(tmp_path))
    for line, expected in HARMLESS:
        result = await bash(workspace, line)
        assert result.stdout == expected, line
        assert result.returned == result.total_found == len(expected.splitlines()), line
        assert (result.truncated, result.warnings) == (False, []), line
        assert result.exit_code == (0 if expected else result.exit_code), line
        if "nothing" not in line:
            assert result.stderr is None, line
            assert result.completeness.complete, line


async def test_stderr_and_the_exit_code_are_in_the_answer(
    workspace: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `head` may exit before `cat` reports an error.
    monkeypatch.setattr("winnow.search.bash.run.GRACE_SECONDS", 20.0)
    result = await bash(workspace, "cat docs/plugins.md nothing | head -1")
    assert result.stdout == "# Plugins\n"
    assert result.stderr == "cat: nothing: No such file or directory\n"
    assert (result.exit_code, result.root) == (0, str(project))
    assert result.completeness.reasons == ["a program wrote errors: see stderr"]
    result = await bash(workspace, "rg '(' src")
    assert result.exit_code == 2
    assert "regex parse error" in (result.stderr or "")


async def test_a_program_without_input_gets_a_warning(workspace: EngineWorkspace) -> None:
    result = await bash(workspace, "grep plugin")
    assert result.warnings == ["`grep` has no file to read, and nothing is piped to it"]
    result = await bash(workspace, "cat src/main.py | rg Loader src/main.py | wc -l")
    assert result.warnings == [
        "`rg` does not read the pipe: its arguments name something else to read"
    ]


async def test_a_pipeline_ends_when_its_last_program_has_enough(
    tmp_path: Path, outside: Path, make_workspace: MakeWorkspace, slow_project: Path
) -> None:
    workspace = make_workspace(slow_project, config=ON, environment=user_environment(tmp_path))
    result = await bash(workspace, "cat big.txt big.txt big.txt | head -2 | wc -l")
    assert (result.stdout.strip(), result.exit_code) == ("2", 0)
    result = await bash(workspace, f"rg '{SLOW_TERM}' | head -c 0", timeout=3)
    assert (result.exit_code, result.completeness.timed_out) == (0, False)


async def test_the_timeout_kills_the_programs_and_returns_their_output(
    tmp_path: Path, make_workspace: MakeWorkspace, slow_project: Path
) -> None:
    (slow_project / "a.txt").write_text("x 2 3 4 5 6 7 8 2024\n")
    workspace = make_workspace(slow_project, config=ON, environment=user_environment(tmp_path))
    result = await bash(workspace, f"rg --sort path '{SLOW_TERM}'", timeout=3)
    assert result.completeness.timed_out
    assert result.exit_code is None
    assert result.stdout == "a.txt:x 2 3 4 5 6 7 8 2024\n"
    assert result.completeness.reasons == ["the programs were killed after 3 s"]


async def test_long_output_is_cut_with_a_notice(
    tmp_path: Path, make_workspace: MakeWorkspace, slow_project: Path
) -> None:
    config = Config(bash=BashSettings(enabled=True, output_bytes=1_000))
    workspace = make_workspace(slow_project, config=config, environment=user_environment(tmp_path))
    started = time.monotonic()
    result = await bash(workspace, "cat big.txt big.txt")
    assert time.monotonic() - started < 15
    assert 998 <= len(result.stdout.encode()) <= 1_000
    assert "\ufffd" not in result.stdout
    assert (result.truncated, result.exit_code) == (True, None)
    assert "cut after 1000 bytes" in result.completeness.reasons[0]
    exactly = await bash(workspace, "head -c 1000 big.txt")
    assert (exactly.truncated, exactly.exit_code) == (False, 0)


async def test_max_tokens_drops_the_last_lines(
    tmp_path: Path, make_workspace: MakeWorkspace, slow_project: Path
) -> None:
    workspace = make_workspace(slow_project, config=ON, environment=user_environment(tmp_path))
    result = await bash(workspace, "head -100 big.txt", max_tokens=1_000)
    assert result.truncated
    assert result.total_found == 100
    assert 10 <= result.returned < 50
    assert result.stdout.count("\n") == result.returned
    assert f"tail -n +{result.returned + 1}" in result.completeness.reasons[0]


async def test_cancelling_kills_the_programs(
    tmp_path: Path, make_workspace: MakeWorkspace, slow_project: Path
) -> None:
    workspace = make_workspace(slow_project, config=ON, environment=user_environment(tmp_path))
    task = asyncio.create_task(bash(workspace, f"rg '{SLOW_TERM}' | wc -l"))
    while not workspace.processes._alive:
        await asyncio.sleep(0.01)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 8  # it would take more than ten seconds
    assert not workspace.processes._alive


async def test_invalid_utf_8_is_shown_with_replacement_characters(
    workspace: EngineWorkspace, project: Path
) -> None:
    (project / "latin").write_bytes(b"caf\xe9\n")
    assert (await bash(workspace, "cat latin")).stdout == "caf\ufffd\n"


async def test_unsaved_text_is_not_read_and_the_answer_warns(
    workspace: EngineWorkspace, project: Path
) -> None:
    saved = project / "docs/plugins.md"
    workspace.open_documents = lambda: {
        project / "src/main.py": "unsaved_here = 1\n",
        saved: saved.read_text(),
    }
    result = await bash(workspace, "rg unsaved_here")
    assert result.stdout == ""
    assert result.warnings == [
        "the programs read files from disk; 1 have unsaved changes: src/main.py"
    ]


async def test_programs_run_in_the_root_and_read_every_root(
    project: Path, tmp_path: Path, outside: Path, make_workspace: MakeWorkspace
) -> None:
    environment = user_environment(tmp_path)
    workspace = make_workspace(project / "src", outside, config=ON, environment=environment)
    assert (await bash(workspace, "ls")).stdout == "docs\nignored\nsrc\ntests\n"
    assert (await bash(workspace, "cat ../outside/secret.txt")).stdout == SECRET
    assert (await bash(workspace, f"ls {outside}/*.py")).stdout == f"{outside}/secret.py\n"
    empty = make_workspace(config=ON, environment=environment)
    with pytest.raises(NoWorkspace):
        await bash(empty, "ls")


async def test_programs_of_the_workspace_are_not_run(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (project, project / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("cat", "tree", "rga"):
            (folder / name).write_text("#!/bin/sh\ntouch marker\n")
            (folder / name).chmod(0o755)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "cat").symlink_to(project / "bin" / "cat")
    monkeypatch.chdir(project)
    for path in (f".:bin::{project}/bin:{tmp_path}/links", ".", f"{project}"):
        workspace = make_workspace(project, config=ON, environment={"PATH": path})
        with pytest.raises(ProgramNotInstalled) as missing:
            await bash(workspace, "cat docs/plugins.md")
        assert missing.value.data == {"kind": "cat_not_installed", "program": "cat"}
        with pytest.raises(ProgramNotInstalled, match=r"Install it: .*ripgrep.all"):
            await bash(workspace, "rga plugin")
    assert not (project / "marker").exists()


async def test_the_environment_cannot_change_the_behavior_of_programs(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    config = tmp_path / "ripgreprc"
    config.write_text("--invert-match\n")
    environment = user_environment(
        tmp_path,
        RIPGREP_CONFIG_PATH=str(config),
        GREP_OPTIONS="-v",
        GREP_COLORS="mt=01;32",
        LS_COLORS="di=1",
        LC_ALL="C",
        POSIXLY_CORRECT="1",
        MAGIC=str(config),
        LD_PRELOAD=str(project / "evil.so"),
    )
    workspace = make_workspace(project, config=ON, environment=environment)
    result = await bash(workspace, "rg -l register_plugin src")
    assert (result.stdout, result.stderr) == ("src/registry.py\n", None)
    result = await bash(workspace, "grep -r register_plugin src -l")
    assert (result.stdout, result.stderr) == ("src/registry.py\n", None)
    (project / "größe.txt").write_text("ä\n")
    assert (await bash(workspace, "ls g*")).stdout == "größe.txt\n"
    assert (await bash(workspace, "wc -m größe.txt")).stdout == "2 größe.txt\n"


# --- off and on --------------------------------------------------------------------------------


async def test_bash_is_off_by_default(project: Path, make_workspace: MakeWorkspace) -> None:
    off = make_workspace(project)
    with pytest.raises(NotAllowed) as refused:
        await bash(off, "ls")
    assert refused.value.data["what"] == "bash"
    assert "bash.enabled" in refused.value.message
    for workspace, offered in ((off, False), (make_workspace(project, config=ON), True)):
        listed = await TOOLS["tools"].call(workspace, {}, no_progress)
        assert ("bash" in [one.name for one in listed.tools]) is offered


async def test_params_are_checked(workspace: EngineWorkspace) -> None:
    for params in ({"timeout": 0}, {"timeout": 121}, {"timeout": "5"}, {"command": ""}):
        with pytest.raises(InvalidParams):
            await TOOLS["bash"].call(workspace, {"command": "ls", **params}, no_progress)


# --- rga ---------------------------------------------------------------------------------------


def docx(text: str) -> dict[str, str]:
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    package = "http://schemas.openxmlformats.org/package/2006"
    wml = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override'
        f' PartName="/word/document.xml" ContentType="{wml}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r"'
        f' Type="{office}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{main}"><w:body><w:p><w:r><w:t>{text}</w:t>'
        "</w:r></w:p></w:body></w:document>",
    }


@pytest.fixture
def documents(workspace: EngineWorkspace, project: Path) -> EngineWorkspace:
    """Open the workspace with documents that contain search terms."""
    report = make_pdf([["The quarterly report of our search term"]])
    (project / "docs/report.pdf").write_bytes(report)
    with zipfile.ZipFile(project / "docs/contract.docx", "w") as file:
        for name, text in docx("A search term for the contract").items():
            file.writestr(name, text)
    (project / "docs/terms.txt").write_text("another search term\n")
    return workspace


@requires_rga
async def test_the_examples_of_the_design_work(documents: EngineWorkspace) -> None:
    result = await bash(documents, 'rga "search term" docs/ | cat')
    assert sorted(result.stdout.splitlines()) == [
        "docs/contract.docx:A search term for the contract",
        "docs/report.pdf:Page 1: The quarterly report of our search term",
        "docs/terms.txt:another search term",
    ]
    assert result.stderr is None
    result = await bash(documents, 'rga --type pdf "quarterly report" | head -20')
    assert result.stdout == ("docs/report.pdf:Page 1: The quarterly report of our search term\n")


@requires_rga
@pytest.mark.parametrize(
    "line",
    [
        "rga plugin docs",
        "rga -e plugin -e --rga-config-file=rga.json .",
        "rga -- --rga-config-file=rga.json .",
        "rga plugin -g --rga-config-file=rga.json .",
        "rga plugin -- . --rga-config-file=rga.json",
    ],
)
async def test_rga_runs_no_program_of_the_workspace(
    project: Path, tmp_path: Path, make_workspace: MakeWorkspace, line: str
) -> None:
    write_files(project, {"run.sh": "#!/bin/sh\ntouch marker; cat\n"})
    (project / "run.sh").chmod(0o755)
    evil = json.dumps({"custom_adapters": [adapter(project)]})
    write_files(project, {"rga.json": evil, "--rga-config-file=rga.json": "plugin\n"})
    write_files(tmp_path / "home/.config/ripgrep-all", {"config.jsonc": evil})
    environment = user_environment(tmp_path, RGA_CONFIG=evil)
    workspace = make_workspace(project, config=ON, environment=environment)
    before = sorted(project.rglob("*"))
    result = await bash(workspace, line)
    assert result.exit_code in (0, 1, 2)
    assert sorted(project.rglob("*")) == before
    # The same file runs the program if the user passes it to rga.
    command = ["rga", "--rga-config-file=rga.json", f"--rga-cache-path={tmp_path}", "plugin", "."]
    await asyncio.to_thread(subprocess.run, command, cwd=project, capture_output=True)
    assert (project / "marker").exists()


@pytest.fixture
def visited() -> Iterator[tuple[str, list[str]]]:
    """Start a web server; return its address and the requested paths."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<p>fetched</p>")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    thread.join()
    server.server_close()


@requires_rga
async def test_a_document_makes_no_request_and_reads_no_other_file(
    workspace: EngineWorkspace, project: Path, outside: Path, visited: tuple[str, list[str]]
) -> None:
    address, paths = visited
    frames = "".join(
        f'<iframe src="{source}"></iframe>'
        for source in (f"{address}/x", f"file://{outside}/secret.txt", f"{outside}/secret.txt")
    )
    (project / "page.html").write_text(f"<p>needle</p>{frames}")
    with zipfile.ZipFile(project / "pages.zip", "w") as file:
        file.writestr("inner.html", f"<p>needle</p>{frames}")
    result = await bash(workspace, "rga --sort path '[a-z]' page.html pages.zip")
    assert [line for line in result.stdout.splitlines() if not line.endswith(": ")] == [
        "page.html:needle",
        "pages.zip:inner.html: needle",
    ]
    assert paths == []


@requires_rga
async def test_rga_writes_nothing_into_the_workspace(
    workspace: EngineWorkspace, project: Path, tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    import sqlite3

    database = sqlite3.connect(project / "x.db")
    database.execute("pragma journal_mode=wal")
    database.execute("create table t (a)")
    database.commit()
    database.close()
    (project / "page.html").write_text("<p>a plugin</p>")
    before = sorted(project.rglob("*"))
    assert "page.html:a plugin" in (await bash(workspace, "rga plugin")).stdout
    assert sorted(project.rglob("*")) == before
    assert (tmp_path / "home/.cache/winnow/rga/cache.sqlite3").is_file()
    assert not (tmp_path / "home/.config").exists()
    # With the home folder as the workspace, there is no place for the cache.
    home = write_files(git_init(tmp_path / "other"), {"a.html": "<p>plugin</p>\n"})
    allowed, _ = merge_layer(ON, {"workspace": {"allow_home_root": True}}, "test")
    inside = make_workspace(
        home, config=allowed, environment={"PATH": os.environ["PATH"], "HOME": str(home)}
    )
    assert (await bash(inside, "rga plugin")).stdout == "a.html:plugin\n"
    assert sorted(one.name for one in home.iterdir()) == [".git", "a.html"]


# --- the command line ----------------------------------------------------------------------------


def winnow(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = child_environment(folder.parent / "home")
    return command(folder, *arguments, environment=environment)


@pytest.mark.slow
def test_a_call_at_the_command_line_enables_bash(project: Path) -> None:
    done = winnow(project, "bash", "rg -n Loader src/main.py | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1:from loader import Loader\n", "")
    done = winnow(project, "bash", "rg nothing_at_all")
    assert (done.returncode, done.stdout) == (1, "[exit code 1]\n")
    done = winnow(project, "bash", "cat src/main.py > x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("winnow bash: '> x' is not allowed: there is no redirection")
    done = winnow(project, "bash", "cat nothing docs/plugins.md")
    assert done.stdout.splitlines()[-2:] == [
        "[stderr: cat: nothing: No such file or directory]",
        "[exit code 1]",
    ]
    done = winnow(project, "bash", "rg nothing", "--json")
    assert json.loads(done.stdout)["exit_code"] == 1
    assert "bash" not in winnow(project, "tools").stdout


@pytest.mark.process
def test_no_control_sequence_reaches_the_terminal(project: Path) -> None:
    (project / "evil.txt").write_text("a\x1b[2Jb\n")
    for form in ("text", "plain"):
        done = winnow(project, "bash", "cat evil.txt", "--format", form)
        assert done.stdout == "a\ufffd[2Jb\n"


async def test_sockets_are_refused(
    workspace: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        monkeypatch.chdir(project)  # a socket's path must be short
        one.bind("socket")
        with pytest.raises(NotAllowed, match="it is a socket"):
            await bash(workspace, "cat socket")
