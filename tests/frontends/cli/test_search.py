"""`winnow QUESTION`: a question needs no command, and its answer fits on a screen."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest

from commands import command
from conftest import child_environment, git, git_commit, requires_posix, write_files
from frontends.cli.test_cli import winnow

pytestmark = pytest.mark.process

FUNCTION = '''\
def load_plugin_{0}(name):
    """Load the plugin number {0}."""
    first = {0}
    second = first + 1
    third = second + 1
    fourth = third + 1
    return fourth
'''
MANY = {f"src/plugin_{number}.py": FUNCTION.format(number) for number in range(12)}
PLACE = re.compile(r"(src/\w+\.py|tests/\w+\.py|docs/\w+\.md):\d+(-\d+)?(  .+)?")


def results_in(output: str) -> list[str]:
    return [block for block in output.split("\n\n") if PLACE.match(block)]


def test_a_question_needs_no_command(project: Path) -> None:
    bare = winnow(project, "how are plugins loaded")
    assert bare.returncode == 0, bare.stderr
    assert bare.stdout == winnow(project, "search", "how are plugins loaded").stdout
    assert bare.stdout == winnow(project, "how", "are", "plugins", "loaded").stdout
    assert bare.stdout == winnow(project, "code-search", "how are plugins loaded").stdout
    assert PLACE.match(bare.stdout)


def test_paths_may_follow_a_question(project: Path) -> None:
    done = winnow(project, "load_plugin", "tests")
    assert {block.partition(":")[0] for block in results_in(done.stdout)} == {
        "tests/test_loader.py"
    }


def test_five_results_with_few_lines_and_one_line_of_notes(project: Path) -> None:
    write_files(project, MANY)
    lines = winnow(project, "where is a plugin loaded").stdout.splitlines()
    *blocks, notes = "\n".join(lines).split("\n\n")
    assert len(blocks) == 5
    for block in blocks:
        place, *code = block.splitlines()
        assert PLACE.fullmatch(place)
        assert 1 <= len(code) <= 4
        assert all(re.match(r" *\d+\t", line) for line in code)
    assert "\n" not in notes
    assert re.match(r"5 of (at least )?\d+, \w+ search", notes)
    assert "--limit 20 shows more" in notes


def test_one_result_has_more_lines_and_begins_with_code(project: Path) -> None:
    numbered = "\n".join(f"    step({number})" for number in range(30))
    write_files(project, {"src/paths.py": f"import os\n\n\ndef resolve():\n\n{numbered}\n"})
    _, *code = results_in(winnow(project, "resolve", "-n", "1").stdout)[0].splitlines()
    shown = [line.split("\t", 1)[1] for line in code]
    assert shown[0] == "def resolve():"
    assert len(shown) > 4
    assert shown[-1].strip()


@pytest.mark.parametrize("option", ["-n8", "--limit=8", "--limit 8"])
def test_more_results_on_request(option: str, project: Path) -> None:
    write_files(project, MANY)
    done = winnow(project, "where is a plugin loaded", *option.split())
    assert len(results_in(done.stdout)) == 8


@pytest.mark.parametrize(
    ("arguments", "old"),
    [
        (["find-symbol", "load_plugin", "--limit", "1"], "--max-results"),
        (["grep", "load_plugin", "--limit", "1"], "--max-results"),
        (["semantic-search", "load plugins", "--limit", "1"], "--top-k"),
        (["tree", "--limit", "1"], "--max-entries"),
        (["read", "src/loader.py", "-n", "1"], "--max-lines"),
    ],
)
def test_a_limit_has_one_name_and_the_earlier_ones_work(
    arguments: list[str], old: str, project: Path
) -> None:
    new = winnow(project, *arguments)
    assert new.returncode == 0, new.stderr
    earlier = winnow(project, *arguments[:-2], old, "1")
    # A search that stops when its page is full may have counted more matches or fewer.
    assert new.stdout.partition("\n[")[0] == earlier.stdout.partition("\n[")[0] != ""
    assert old not in winnow(project, arguments[0], "--help").stdout


def test_nothing_found_is_one_line(project: Path) -> None:
    done = winnow(project, '"no such text"')
    assert (done.returncode, done.stdout.count("\n")) == (1, 1)
    assert done.stdout.startswith("nothing found, text search")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serch", "x"], "winnow: Unknown command `serch`. Did you mean `search`?"),
        (["x", "--path", "nope"], "winnow search: There is no file or folder 'nope'"),
        (["gerp"], "winnow: Unknown command `gerp`. Did you mean `grep`?"),
        (
            ["find-refrences", "x"],
            "winnow: Unknown command `find-refrences`. Did you mean `find-references`?",
        ),
        (
            ["grep", "x", "--limt", "3"],
            "winnow grep: Unknown option `--limt`. Did you mean `--limit`?",
        ),
        (
            ["search", "x", "--max-results", "3"],
            "winnow search: Unknown option `--max-results`. Did you mean `--limit`?",
        ),
        (
            ["read", "src/loader.py", "--lines", "1-2"],
            "winnow read: Unknown option `--lines`. Did you mean `--spans`?",
        ),
        (["tree", "--qqq"], "winnow tree: Unknown option `--qqq`."),
        (["tree", "-t", "py"], "winnow tree: Unknown option `-t`."),
        (["find-symbol", "--qqq"], "winnow find-symbol: Unknown option `--qqq`."),
        (
            ["--skip-bundle"],
            "winnow search: Unknown option `--skip-bundle`."
            " To search for it: winnow search -- --skip-bundle",
        ),
        (
            ["grep", "-OOM", "src"],
            "winnow grep: Unknown option `-OOM`. To search for it: winnow grep -- -OOM",
        ),
        (["search", "-n", "3"], "winnow search: the following arguments are required: query"),
        (
            ["read", "src/loder.py"],
            "winnow read: There is no file or folder 'src/loder.py' in the workspace."
            " Did you mean 'src/loader.py'?",
        ),
        (
            ["grep", "x", "src", "tets"],
            "winnow grep: There is no file or folder 'tets' in the workspace."
            " Did you mean 'tests'?",
        ),
        (
            ["how are plugins loaded", "scr"],
            "winnow search: There is no file or folder 'scr' in the workspace. Did you mean 'src'?",
        ),
    ],
)
def test_a_mistyped_word_is_reported_with_what_was_meant(
    arguments: list[str], message: str, project: Path
) -> None:
    done = winnow(project, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)


def test_words_of_the_query_are_highlighted_on_a_terminal(project: Path) -> None:
    home = Path(os.environ["XDG_CACHE_HOME"])
    environment = child_environment(home, PAGER="cat")
    done = command(project, "how are plugins loaded", environment=environment, terminal=True)
    assert "def \x1b[1;31mload_plugins\x1b[0m(" in done.stdout
    assert "\x1b[" not in winnow(project, "how are plugins loaded").stdout


# --- the pager -----------------------------------------------------------------------------


def on_a_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """Run a command on a terminal of 24 lines, and type q when it waits."""
    environment = child_environment(folder.parent / "home", TERM="xterm", **variables)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "winnow", *arguments], environment)
    output, until = b"", time.monotonic() + 60
    try:
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 1.0)[0]:
                os.write(terminal, b"q")
                continue
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return output.decode("utf-8", "replace")


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that marks the text that it shows."""
    program = tmp_path / "bin/page"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "paged with $LESS"\ncat\n')
    program.chmod(0o755)
    return str(program)


@requires_posix
def test_a_long_answer_on_a_terminal_is_paged(project: Path, pager: str) -> None:
    write_files(project, {"src/long.py": "plugin = 1\n" * 60})
    paged = on_a_terminal(project, "grep", "plugin = 1", PAGER=pager)
    assert "paged with FRX" in paged
    own = on_a_terminal(project, "grep", "plugin = 1", PAGER=pager, LESS="-i -Pprompt")
    assert "paged with -R -i -Pprompt" in own
    assert "60\x1b[0m" in paged or "60:" in paged
    for short in (["grep", "no_such_thing"], ["grep", "plugin = 1", "src/long.py", "-n", "-l"]):
        assert "paged" not in on_a_terminal(project, *short, PAGER=pager)
    assert "paged" not in on_a_terminal(project, "grep", "plugin = 1", PAGER="cat")


@requires_posix
def test_a_program_of_the_repository_is_not_the_pager(project: Path) -> None:
    write_files(project, {"src/long.py": "plugin = 1\n" * 60, "less": "#!/bin/sh\necho owned\n"})
    (project / "less").chmod(0o755)
    path = os.pathsep.join([".", str(project), os.environ["PATH"]])
    for named in ("less", "./less"):
        shown = on_a_terminal(project, "grep", "plugin = 1", PATH=path, PAGER=named)
        assert "owned" not in shown
        assert "plugin = 1" in shown


@requires_posix
def test_a_pager_in_a_folder_of_the_repository_on_the_path_is_not_run(project: Path) -> None:
    write_files(
        project,
        {"src/long.py": "plugin = 1\necho owned\n" * 60, "bin/less": "#!/bin/sh\necho owned\n"},
    )
    (project / "bin/less").chmod(0o755)
    write_files(project, {"links/more.txt": ""})
    (project / "links/less").symlink_to("/bin/sh")
    for folder in ("bin", "links"):
        path = os.pathsep.join([str(project / folder), os.environ["PATH"]])
        shown = on_a_terminal(project / "src", "grep", "plugin = 1", "long.py", PATH=path)
        assert "owned" not in shown
        assert "plugin = 1" in shown


def test_lines_of_several_paths_are_refused(project: Path) -> None:
    done = winnow(project, "grep", "plugin", "src/loader.py:1-5", "src/main.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "lines, as in `a.py:12-40`, need a single path" in done.stderr


def test_a_missing_path_behind_a_word_is_reported(project: Path) -> None:
    done = winnow(project, "load_plugin", "no/such.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no/such.py" in done.stderr


def test_a_submodule_that_is_not_searched_is_named_with_a_command_that_searches_it(
    tmp_path: Path,
) -> None:
    library = git_commit(tmp_path / "library", {"dep.py": "def inside(): ...\n"})
    root = git_commit(tmp_path / "project", {"a.py": "def outside(): ...\n"})
    git(root, "submodule", "--quiet", "add", str(library), "dep")
    done = winnow(root, "find-symbol", "outside")
    assert "submodules dep; `winnow grep --include-submodules` searches them" in done.stdout
    done = winnow(root, "grep", "--include-submodules", "inside")
    assert "dep/dep.py" in done.stdout
