"""Options of the programs: their canonical form, and refusals."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import requires_posix
from winnow.errors import NotAllowed, SearchError
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.find import REFUSED
from winnow.search.bash.options import PipelineCommand
from winnow.search.bash.programs import PROGRAMS, offered
from winnow.search.bash.run import commands_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only rg and rga there")


@pytest.fixture
def allowed(project: Path) -> AllowedPaths:
    return AllowedPaths(str(project), (os.path.realpath(project),))


def arguments(line: str, allowed: AllowedPaths) -> list[str]:
    [one] = commands_of(line, allowed)
    return list(one.arguments)


SAFE = ["--no-config", "--no-mmap", "--no-ignore-messages", "--line-buffered"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("grep -rn foo src", ["-r", "-n", "-efoo", "--", "src"]),
        ("grep foo -rn src", ["-r", "-n", "-efoo", "--", "src"]),
        ("grep -A3 -B 2 --context=1 foo", ["-A3", "-B2", "--context=1", "-efoo", "--"]),
        ("grep -nA3 foo", ["-n", "-A3", "-efoo", "--"]),
        ("grep -3 foo", ["-C3", "-efoo", "--"]),
        ("grep -e foo -e -R src", ["-efoo", "-e-R", "--", "src"]),
        ("grep --include '*.py' -r x", ["--include=*.py", "-r", "-ex", "--"]),
        ("grep -- -R src", ["-e-R", "--", "src"]),
        ("grep '' src", ["-e", "", "--", "src"]),
        ("grep foo -", ["-efoo", "--", "-"]),
        ("grep --color foo", ["--color", "-efoo", "--"]),
        ("grep --color=never foo", ["--color=never", "-efoo", "--"]),
        ("head -20", ["-n20", "--"]),
        ("head -n -5 x", ["-n-5", "--", "x"]),
        ("tail -n +5", ["-n+5", "--"]),
        ("tail +5", ["--", "./+5"]),
        ("head -c 10K", ["-c10K", "--"]),
        ("cat -- -n", ["--", "./-n"]),
        ("rg foo", [*SAFE, "-efoo", "--"]),
        ("rg -tpy -g'*.py' -uu foo", [*SAFE, "-tpy", "-g*.py", "-u", "-u", "-efoo", "--"]),
        ("rg --type py foo src", [*SAFE, "--type=py", "-efoo", "--", "src"]),
        ("rg --files src", [*SAFE, "--files", "--", "src"]),
        ("rg -- --pre=x", [*SAFE, "-e--pre=x", "--"]),
        ("rg -e --pre=x src", [*SAFE, "-e--pre=x", "--", "src"]),
        ("rga --type pdf 'a b'", [*SAFE, "--type=pdf", "-ea b", "--"]),
        ("rga -- --rga-config-file=x .", [*SAFE, "-e--rga-config-file=x", "--", "."]),
        ("rga x -- --rga-config-file=x", [*SAFE, "-ex", "--", "./--rga-config-file=x"]),
        ("rga -e --rga-no-cache", [*SAFE, "-e--rga-no-cache", "--"]),
        ("tree -aL2 src", ["-a", "-L", "2", "--", "src"]),
        ("tree -I 'a|b' --charset ascii", ["-I", "a|b", "--charset", "ascii", "--"]),
        ("ls -la", ["-l", "-a", "--"]),
        ("find", ["."]),
        ("find -name '*.py'", [".", "-name", "*.py"]),
        ("find src docs -type f", ["src", "docs", "-type", "f"]),
        (
            r"find . \( -name a -o -name b \) -print0",
            [".", "(", "-name", "a", "-o", "-name", "b", ")", "-print0"],
        ),
        ("find . ! -mtime -7", [".", "!", "-mtime", "-7"]),
        ("find . -newermt 2020-01-01", [".", "-newermt", "2020-01-01"]),
        ("find . -newer src/main.py", [".", "-newer", "src/main.py"]),
        ("find . -name -delete", [".", "-name", "-delete"]),
    ],
)
def test_arguments_are_rewritten_in_a_canonical_form(
    allowed: AllowedPaths, line: str, expected: list[str]
) -> None:
    assert arguments(line, allowed) == expected


@pytest.mark.parametrize(
    ("line", "what", "why"),
    [
        ("grep --recurs foo", "--recurs", "in full: --recursive"),
        ("grep --derefer foo", "--derefer", "--dereference-recursive` follows"),
        ("grep --recursive=yes foo", "--recursive=yes", "takes no value"),
        ("grep -A", "-A", "value is missing"),
        ("grep -A x foo", "-A x", "number"),
        ("tail -5f x", "-5", "not an allowed option of tail"),
        ("head -c 99999999999 x", "-c 99999999999", "number"),
        ("tree -P -o", "-P -o", "looks like an option"),
        ("find . -maxdepth -1", "-maxdepth -1", "number"),
        ("find . -name x foo", "foo", "paths must come before tests"),
        ("find . -name", "-name", "value is missing"),
        ("rga --rga-accurate x", "--rga-accurate", "settings are fixed"),
        ("nonsense", "nonsense", "the programs are grep, find"),
        ("/bin/cat x", "/bin/cat", "without their path"),
        ("'' x", "''", "the programs are"),
        ("rg -r aaaaaaaaaa1000000 x", "-r aaaaaaaaaa1000000", "short text"),
    ],
)  # fmt: skip
def test_a_rejection_suggests_an_alternative(
    allowed: AllowedPaths, line: str, what: str, why: str
) -> None:
    with pytest.raises(NotAllowed) as refused:
        commands_of(line, allowed)
    assert refused.value.data["what"] == what
    assert why in refused.value.data["why"]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda one: one.name)
def test_every_option_listed_as_refused_is_refused(allowed: AllowedPaths, program: object) -> None:
    name = getattr(program, "name", "")
    refused = REFUSED if name == "find" else PROGRAMS[name].refused
    for option in refused:
        with pytest.raises(NotAllowed) as error:
            commands_of(f"{name} {option}", allowed)
        assert error.value.data["what"] == option
        assert f"`{name} {option}`" in error.value.data["why"]


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("cat", True),
        ("cat README", False),
        ("cat -", True),
        ("grep x", True),
        ("grep -r x", False),
        ("rg x", False),
        ("ls", False),
        ("find", False),
        ("rg -f -", True),
        ("cat --help", False),
        ("cat | rg x", True),
        ("cat | rg --files", False),
        ("cat | rg x src", False),
        ("cat | wc -l", True),
    ],
)
def test_programs_that_read_the_pipe_are_recognized(
    allowed: AllowedPaths, line: str, reads: bool
) -> None:
    assert commands_of(line, allowed)[-1].reads_pipe is reads


OUTSIDE = (
    ".. /etc/passwd src/../../x link link/passwd file-link /dev/null /proc/self/environ fifo"
    " fine/../../x".split()
)
TAKES_PATH = (
    *("cat {}", "head -3 -- {}", "ls {}", "tree {}", "find {}", "wc {}", "file {}"),
    *("grep x {}", "grep -r -f {} x", "grep --exclude-from {} x"),
    *("rg x {}", "rg --ignore-file={} x", "rga x {}"),
    *("find . -newer {}", "find . -neweraB {}", "find . -samefile {}"),
)


def test_only_the_last_program_writes_line_by_line(allowed: AllowedPaths) -> None:
    first, last = commands_of("rg x | rg y", allowed)
    assert "--line-buffered" not in first.arguments
    assert "--line-buffered" in last.arguments


@requires_posix
def test_paths_are_checked_in_every_position(allowed: AllowedPaths, tmp_path: Path) -> None:
    folder = Path(allowed.folder)
    (folder / "link").symlink_to("/etc")
    (folder / "file-link").symlink_to("/etc/passwd")
    (folder / "fine").symlink_to("src")
    os.mkfifo(folder / "fifo")
    for path in OUTSIDE:
        for line in TAKES_PATH:
            with pytest.raises(NotAllowed) as refused:
                commands_of(line.format(path), allowed)
            assert refused.value.data["what"] == path
    for path in ("fine/main.py", "src/../docs", "not-there", str(folder / "src"), "./src//main.py"):
        commands_of(f"cat {path}", allowed)


PIECES = st.sampled_from(
    [
        *PROGRAMS,
        *(option for one in PROGRAMS.values() for option in (*one.flags, *one.values)),
        *(option for one in PROGRAMS.values() for option in one.refused),
        *REFUSED,
        *("|", "-", "--", "=", "'", '"', "\\", "*", "../", "/etc/passwd", "src", "5", "-5", "+5"),
        *(
            "--rga-config-file=x",
            "-exec",
            "--pre=x",
            "(",
            "\\(",
            ";",
            "$(id)",
            "{}",
            "!",
            ".",
            "-f",
        ),
    ]
)


@settings(max_examples=400)
@example("rga -e --rga-config-file=src/x .")
@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map(" ".join) | st.text(max_size=80))
def test_any_line_runs_only_known_programs_with_known_options(line: str) -> None:
    folder = os.path.realpath(Path(__file__).parent)
    try:
        commands = commands_of(line, AllowedPaths(folder, (folder,)))
    except SearchError:
        return
    for one in commands:
        assert one.program in offered()
        if one.program != "find":
            _check_arguments(one, folder)


def _check_arguments(command: PipelineCommand, folder: str) -> None:
    """Check that arguments are options of the table, then `--`, then paths in the folder."""
    program = PROGRAMS[command.program]
    end = command.arguments.index("--")
    options = iter(command.arguments[:end])
    for option in options:
        name = option.partition("=")[0] if option.startswith("--") else option[:2]
        if option in (*program.fixed, *program.at_end) or name in program.flags:
            continue
        assert name in program.values
        if option == name and program.values[name] != "optional":
            value = next(options)  # a separate argument, or empty
            assert not value.startswith("-") or value == "-"
    for path in command.arguments[end + 1 :]:
        assert path == "-" or not path.startswith(("-", "+"))
        assert path == "-" or os.path.realpath(os.path.join(folder, path)).startswith(folder)
