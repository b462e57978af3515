"""`winnow completions`: what real shells complete with it."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands import command
from conftest import child_environment, write_files
from winnow.frontends.cli import main
from winnow.frontends.cli.completions import SHELLS
from winnow.tools import TOOLS

SECONDS = 20

# Command lines with an incomplete last word, and its completions.
CASES = [
    ("gr", {"grep"}),
    ("--v", {"--version"}),
    ("grep --sco", {"--scope"}),
    ("grep --scope ", {"changed", "open", "workspace"}),
    ("grep --literal pattern s", {"src/"}),
    ("grep --scope open pattern --path s", {"src/"}),
    ("grep --max-results ", set()),
    ("read ", {"src/", "two words.txt"}),
    ("read grep --line-e", {"--line-endings"}),
    ("index ", {"build", "clear", "export", "pause", "pull", "resume", "status", "stop"}),
    ("cluster ", {"consent", "push", "remove", "status", "withdraw"}),
    ("consent g", {"give"}),
    ("feedback 1 src/a.py o", {"opened"}),
    ("find-references --kinds c", {"call"}),
    ("init-agent vs", {"vscode"}),
    ("init-agent cursor cod", {"codex"}),
    ("mcp s", {"src/"}),
    ("mcp src s", {"src/"}),
    ("completions f", {"fish"}),
    ("doctor --js", {"--json"}),
]


def requires(shell: str) -> pytest.MarkDecorator:
    missing = os.name != "posix" or not shutil.which(shell)
    return pytest.mark.skipif(missing, reason=f"{shell} is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with files to complete, and the completion scripts."""
    home = tmp_path_factory.mktemp("home")
    for shell in SHELLS:
        done = command(home, "completions", shell, environment=child_environment(home))
        assert done.returncode == 0
        (home / f"winnow.{shell}").write_text(done.stdout, "utf-8")
    return write_files(home / "folder", {"src/a.py": "", "two words.txt": ""})


def test_every_command_and_option_is_in_every_script(folder: Path) -> None:
    bash, zsh, fish = [(folder.parent / f"winnow.{shell}").read_text() for shell in SHELLS]
    [action] = [one for one in main.command_parser()._actions if isinstance(one.choices, dict)]
    # Without the earlier names of commands and options, which still work.
    assert isinstance(action, argparse._SubParsersAction)
    commands = {one.dest: action.choices[one.dest] for one in action._choices_actions}
    assert {*(tool.command for tool in TOOLS.values()), "serve", "completions"} <= {*commands}
    for name, parser in commands.items():
        shown = [one for one in parser._actions if one.help != argparse.SUPPRESS]
        options = [option for one in shown for option in one.option_strings]
        options = [option for option in options if option.startswith("--")]
        assert f"    '{name} -') words='{' '.join(options)}' ;;\n" in bash
        part = zsh.partition(f"\n        {name})\n")[2].partition(" ;;\n")[0]
        assert re.findall(r"'\*?(--[\w-]+)=?\[", part) == options
        assert re.findall(rf"__winnow_is {name}' -l ([\w-]+) ", fish) == [
            option[2:] for option in options
        ]


def test_where_each_script_goes_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/installing.md").read_text("utf-8")
    assert set(main.SHELL_FILES) == set(SHELLS)
    for shell, file in main.SHELL_FILES.items():
        assert f"\nmkdir -p {os.path.dirname(file)}\nwinnow completions {shell} >{file}\n" in page


@pytest.mark.process
@requires("bash")
@pytest.mark.parametrize(("words", "found"), CASES)
def test_bash_completes(folder: Path, words: str, found: set[str]) -> None:
    assert bash(folder, words.split(" ")) == {name.rstrip("/") for name in found}


@pytest.mark.process
@requires("bash")
def test_bash_completes_after_an_equals_sign_and_after_two_dashes(folder: Path) -> None:
    """Readline cuts words at `=`."""
    assert bash(folder, ["grep", "--scope", "=", "ch"]) == {"changed"}
    assert bash(folder, ["grep", "--scope", "="]) == {"changed", "open", "workspace"}
    assert bash(folder, ["grep", "--scope", "=", "open", "--wo"]) == {"--word", "--word-regexp"}
    assert bash(folder, ["grep", "--", "--scope", "s"]) == {"src"}
    assert bash(folder, ["nonsense", "--"]) == set()


def bash(folder: Path, words: list[str]) -> set[str]:
    """Return the completions of the script's function, without a terminal."""
    program = (
        f"source {folder.parent}/winnow.bash\n"
        "[ \"$(complete -p winnow)\" = 'complete -F _winnow winnow' ] || exit 3\n"
        'COMP_WORDS=(winnow "$@"); COMP_CWORD=$#\n'
        "_winnow\n"
        'for word in "${COMPREPLY[@]}"; do echo "$word"; done\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.splitlines())


@requires("fish")
def test_fish_completes(folder: Path) -> None:
    ask = "".join(f"echo '?'; complete -C 'winnow {words}'\n" for words, _ in CASES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {folder.parent}/winnow.fish\n{ask}"],
        cwd=folder,
        env=child_environment(folder.parent),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stderr == ""
    answers = [part.splitlines()[1:] for part in ("\n" + done.stdout).split("\n?")[1:]]
    assert [
        (words, {line.partition("\t")[0] for line in lines})
        for (words, _), lines in zip(CASES, answers, strict=True)
    ] == CASES


@requires("zsh")
def test_zsh_completes(folder: Path) -> None:
    begin = "autoload -U compinit; compinit -D -u"
    with terminal(folder, ["zsh", "-f", "-i"], f"{begin}; source ../winnow.zsh") as typed:
        for words, found in CASES:
            if len(found) == 1 and not words.endswith(" "):
                line = f"winnow {words.rpartition(' ')[0]} {next(iter(found))}".replace("  ", " ")
                assert typed(f"winnow {words}\t", line)
        listed = "build   clear   export  pause   pull    resume  status  stop"
        assert typed("winnow index \t", listed)
        assert typed("winnow read two\t", r"winnow read two\ words.txt")


@pytest.mark.process
@requires("bash")
def test_bash_completes_at_a_terminal(folder: Path) -> None:
    with terminal(folder, ["bash", "--norc", "-i"], "source ../winnow.bash") as typed:
        assert typed("winnow gr\t", "winnow grep ")
        assert typed("winnow grep --scope=ch\t", "winnow grep --scope=changed ")
        assert typed("winnow read two\t", r"winnow read two\ words.txt")
        assert not typed("winnow grep --scope=x\t", "--scope=x ", seconds=1)


@contextlib.contextmanager
def terminal(folder: Path, shell: list[str], begin: str) -> Iterator[Callable[..., bool]]:
    """Start a shell in a new terminal. Yield a function that types a line and returns True if the
    terminal then shows a text."""
    import pty

    process, screen = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, {**child_environment(folder.parent), "TERM": "dumb"})

    def typed(text: str, awaited: str, seconds: float = SECONDS) -> bool:
        os.write(screen, b"\x15" + text.encode())
        shown, end = "", time.monotonic() + seconds
        while awaited not in shown and time.monotonic() < end:
            if select.select([screen], [], [], 0.1)[0]:
                shown += os.read(screen, 65536).decode("utf-8", "replace")
        return awaited in shown

    try:
        assert typed(f"{begin}; PS1='rea''dy> '\n", "ready> ")
        yield typed
    finally:
        os.close(screen)
        os.waitpid(process, 0)
