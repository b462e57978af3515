"""Forty command lines for ripgrep: `winnow grep` finds the same files and lines.

The table was written before the flags existed. Each line is passed unchanged to `rg`, with options
that only set the form of its output, and to `winnow grep`.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import RIPGREP, write_files
from frontends.cli.test_cli import winnow

# The forms of output that programs read are compared byte by byte, in any order of lines.
pytestmark = pytest.mark.process
LINES = """\
load_plugin
-i LOAD_PLUGIN
-w load_plugin
-F 'load_plugin('
-n load_plugin
load_plugin src
load_plugin src tests
-n load_plugin src tests docs
load_plugin src/loader.py
load_plugin src/loader.py tests/test_loader.py
load_plugin src -i
-in LOADER src
-iw loader src tests
-iF 'LOADER()'
-A 1 load_plugin
-B 1 load_plugin
-C 1 load_plugin
-C1 load_plugin src
-A2 -B1 registry
--context 1 register
--after-context=1 register src
-g '*.py' plugin
-g '!*.md' plugin
-g '*.py' -g '!test_*' plugin
--glob '*.md' plugin
-t py plugin
-T py plugin
--type md plugin
-l plugin
-il LOADER src
-l -t py plugin
-l0 plugin
-c plugin
-ci LOADER src tests
-o 'load_\\w+'
-io 'LOADER\\w*' src
--vimgrep plugin
--vimgrep -w plugin src docs
--json load_plugin
-F -e 'load_plugin(' -e 'Loader()'
"""
COMMAND_LINES = LINES.splitlines()
FOR_PROGRAMS = re.compile(r"-\w*[lco]\w* |-l0|--vimgrep")
Row = tuple[str, int, bool, str]


def test_there_are_forty_command_lines() -> None:
    assert len(set(COMMAND_LINES)) == len(COMMAND_LINES) == 40


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_a_command_line_for_ripgrep_finds_the_same(line: str, project: Path) -> None:
    write_files(project, {"src/plugin list.py": "plugin = 'load_plugin'  # plugin\n"})
    arguments = shlex.split(line)
    theirs = ripgrep(project, arguments)
    ours = winnow(project, "grep", *arguments)
    assert ours.returncode == 0, ours.stderr
    assert ours.stderr == ""
    if "--json" in arguments:
        assert matches_in(ours.stdout) == matches_in(theirs)
    elif FOR_PROGRAMS.match(line):
        end = "\0" if "-l0" in arguments else "\n"
        assert sorted(ours.stdout.split(end)) == sorted(theirs.split(end))
    else:
        assert set(rows(ours.stdout)) == set(rows_of_ripgrep(theirs))


@pytest.mark.parametrize(
    "line",
    [
        "--no-heading -A 1 load_plugin",
        "--no-heading -C 1 -w registry src",
        "-0 --no-heading plugin src",
        "-0 --no-heading -B 1 plugin src",
        "-0c plugin src",
    ],
)
def test_records_have_the_marks_of_ripgrep(line: str, project: Path) -> None:
    arguments = shlex.split(line)
    count = ["--no-line-number"] if "-0c" in arguments else []
    theirs = ripgrep(project, [*count, "--no-context-separator", *arguments])
    ours = winnow(project, "grep", *arguments)
    assert (ours.returncode, ours.stderr) == (0, "")
    assert sorted(ours.stdout.splitlines()) == sorted(theirs.splitlines())


@pytest.mark.parametrize(
    ("for_grep", "for_ripgrep"),
    [
        ("-rn load_plugin .", "load_plugin ."),
        ("-RHE 'load_(plugin|module)' src", "'load_(plugin|module)' src"),
        ("-a load_plugin", "-a load_plugin"),
        ("-S Loader", "-S Loader"),
        ("-S 'load\\S'", "-S 'load\\S'"),
        ("-is loader src", "-is loader src"),
        ("--sort path --color never loader", "loader"),
    ],
)
def test_flags_of_grep_that_ripgrep_does_not_need(
    for_grep: str, for_ripgrep: str, project: Path
) -> None:
    theirs = ripgrep(project, shlex.split(for_ripgrep)).replace("./", "")
    ours = winnow(project, "grep", *shlex.split(for_grep))
    assert (ours.returncode, ours.stderr) == (0, "")
    assert set(rows(ours.stdout)) == set(rows_of_ripgrep(theirs))


def test_lines_with_too_many_matches_to_show_are_counted(project: Path) -> None:
    write_files(project, {"wide.txt": "e" * 200_000 + "\n"})
    theirs = ripgrep(project, ["-c", "e"])
    ours = winnow(project, "grep", "-c", "e")
    assert (ours.returncode, ours.stderr) == (0, "")
    assert sorted(ours.stdout.splitlines()) == sorted(theirs.splitlines())


def test_a_pattern_behind_e_may_begin_with_a_sign(project: Path) -> None:
    write_files(project, {"src/oom.py": "fail('-OOM command')\n--flag\n"})
    ours = winnow(project, "grep", "-e", "-OOM", "-e", "--flag")
    assert ours.returncode == 0, ours.stderr
    assert [number for _, number, _, _ in rows(ours.stdout)] == [1, 2]


def ripgrep(folder: Path, arguments: list[str]) -> str:
    """Return the output of ripgrep, with the names of files and the numbers of lines."""
    named = any(name in ("-c", "-ci") for name in arguments)
    form = [] if named or "--json" in arguments else ["--line-number", "--no-heading"]
    command = [RIPGREP, "--no-config", "--with-filename", *form, *arguments]
    # Without a path, ripgrep reads a pipe.
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def rows_of_ripgrep(output: str) -> Iterator[Row]:
    for line in output.splitlines():
        if line != "--":
            found = re.fullmatch(r"(.*?\.(?:py|md))([:-])(\d+)\2(.*)", line)
            assert found, line
            yield found[1], int(found[3]), found[2] == ":", found[4]


def rows(output: str) -> Iterator[Row]:
    """Yield the rows of an answer for people: lines below the name of their file."""
    path = ""
    for line in output.splitlines():
        if found := re.fullmatch(r"(\d+)([:-])(.*)", line):
            yield path, int(found[1]), found[2] == ":", found[3]
        elif line and not line.startswith(("--", "[")):
            path = line


def test_colors_on_request(project: Path) -> None:
    assert "\x1b[" in winnow(project, "grep", "--color", "always", "load_plugin").stdout
    assert "\x1b[" not in winnow(project, "grep", "load_plugin").stdout


def matches_in(output: str) -> list[dict[str, Any]]:
    """Return the matches of JSON Lines, without the offset of the line, which few programs need."""
    messages = [json.loads(line) for line in output.splitlines()]
    matches = [one["data"] for one in messages if one["type"] == "match"]
    for match in matches:
        match.pop("absolute_offset", None)
    return sorted(matches, key=lambda match: (match["path"]["text"], match["line_number"]))


@pytest.mark.parametrize("flag", ["-c", "-l", "-n"])
def test_more_matches_than_fit_into_an_answer_are_all_printed(
    flag: str, project: Path, tmp_path: Path
) -> None:
    lines = "".join(f"load {number}\n" for number in range(2_000))
    write_files(project, {"a.md": lines, "b.md": "load\n"})
    write_files(tmp_path, {"limits.toml": "[limits]\nanswer_bytes = 50000\n"})
    arguments = [flag, "load", "a.md", "b.md"]
    ours = winnow(project, "grep", *arguments, WINNOW_CONFIG=str(tmp_path / "limits.toml"))
    assert (ours.returncode, ours.stderr) == (0, "")
    if flag == "-n":
        assert set(rows(ours.stdout)) == set(rows_of_ripgrep(ripgrep(project, arguments)))
    else:
        assert sorted(ours.stdout.split()) == sorted(ripgrep(project, arguments).split())
