"""The command line, as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from commands import command
from conftest import RIPGREP, child_environment, git_init, requires_posix, write_files
from model_server import ModelServer
from winnow import __version__
from winnow.documents.extract import ocr

pytestmark = pytest.mark.process

SEARCH = ("keyword-search", "how are plugins loaded", "load_plugin", "registry")


def winnow(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # The home folder itself is not searched.
    home = Path(os.environ["XDG_CACHE_HOME"])
    return command(folder, *arguments, environment=child_environment(home, **variables))


def process(
    folder: Path, *arguments: str, stdout: int | IO[str] = subprocess.PIPE, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "winnow", *arguments],
        cwd=folder,
        env=child_environment(folder.parent / "home", **variables),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_separate_process_behaves_like_the_test_process(project: Path) -> None:
    # The scores of a keyword search depend on which terms end in time.
    file = project.parent / "config.toml"
    file.write_text("[limits]\nprobe_seconds = 60\nsearch_seconds = 60\n")
    config = str(file)
    for arguments in (SEARCH, ("keyword-search", "q", "no_such_thing"), ("grep", "--nonsense")):
        own = process(project, *arguments, WINNOW_CONFIG=config)
        here = winnow(project, *arguments, WINNOW_CONFIG=config)
        assert (own.returncode, own.stdout) == (here.returncode, here.stdout)
        assert own.stderr == here.stderr


def test_text_for_people_has_reason_best_line_and_omissions(project: Path) -> None:
    done = winnow(project, *SEARCH)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "src/loader.py:2"
    assert "load_plugin" in lines[1]
    assert lines[2] == "    2: def load_plugins(self, names):"
    assert "4 of 4 matching files, ranked by the local ranker" in done.stdout
    assert "terms: load_plugin (used, 6 lines in 3 files); registry" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_broad_terms_of_a_person_are_shrunk(project: Path) -> None:
    """Terms that match too much are shrunk unless the user passes an option (#21)."""
    (project / "broad.txt").write_text("broad word\n" * 8000)
    done = winnow(project, "keyword-search", "a broad question", "broad", "word")
    assert (done.returncode, done.stderr) == (0, "")
    assert "terms: broad (shrunk, " in done.stdout
    done = winnow(project, "keyword-search", "q", "broad", "word", "--broad-terms", "skip")
    assert done.returncode == 2
    assert "each of those search terms yielded too many results" in done.stderr
    described = winnow(project, "keyword-search", "--help").stdout
    assert "Default: shrink." in " ".join(described.split())


def test_plain_lines_have_path_and_reason(project: Path) -> None:
    done = winnow(project, *SEARCH, "--format", "plain")
    for line in done.stdout.splitlines():
        path, reason = line.split(": ", 1)
        assert Path(path).is_file()
        assert reason


def test_json_equals_the_requests_result(project: Path) -> None:
    done = winnow(project, *SEARCH, "--json", "--max-results", "1", "--include", "*.py")
    result = json.loads(done.stdout)
    assert [file["path"] for file in result["files"]] == ["src/loader.py"]
    assert (result["truncated"], result["cursor"]) == (True, "1")


def test_paths_are_relative_to_the_current_folder(project: Path) -> None:
    done = winnow(project / "src", "keyword-search", "q", "load_plugin", "--path", "../tests")
    assert done.stdout.splitlines()[0] == "../tests/test_loader.py:1"
    done = winnow(project / "src", "keyword-search", "q", "load_plugin", "--path", "loader.py")
    assert done.stdout.splitlines()[0] == "loader.py:2"


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("Makefile:1", "below:"),
        ("src/b.py:1-2", "def brew(): ..."),
        ("c.py:pour", "def pour(): ..."),
    ],
)
def test_a_place_is_relative_to_the_folder_of_its_file(
    place: str, line: str, tmp_path: Path
) -> None:
    folder = git_init(tmp_path / "r")
    above = {"Makefile": "above:\n", "c.py": "def pour(): pass\n"}
    below = {"Makefile": "below:\n", "b.py": "def brew(): ...\n", "c.py": "def pour(): ...\n"}
    write_files(folder, above | {f"src/{name}": text for name, text in below.items()})
    assert winnow(folder / "src", "read", place).stdout.splitlines()[-1].endswith(f"\t{line}")


def test_file_names_cannot_send_terminal_commands(project: Path) -> None:
    (project / "evil\x1b[2J\n.py").write_text("only_here = '\x1b[31m'\n")
    for form in ("text", "plain"):
        done = winnow(project, "keyword-search", "q", "only_here", "--format", form)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout


def test_exit_codes_match_grep(project: Path) -> None:
    nothing = winnow(project, "keyword-search", "q", "no_such_thing")
    assert (nothing.returncode, nothing.stdout.splitlines()[0]) == (1, "No relevant files found")
    error = winnow(project, "keyword-search", " ", "a")
    assert (error.returncode, error.stdout) == (2, "")
    assert error.stderr == "winnow keyword-search: Search query is empty\n"
    assert winnow(project, "keyword-search").returncode == 2
    assert winnow(project, "grep", "--nonsense").returncode == 2


def test_an_error_as_json_has_its_kind(project: Path) -> None:
    done = winnow(project, "keyword-search", "q", "(", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "invalid_pattern"


def test_an_invalid_option_is_named(project: Path) -> None:
    done = winnow(project, *SEARCH, "--max-results", "0")
    assert done.returncode == 2
    assert "`max_results`: expected integer >= 1" in done.stderr


def test_a_closed_pipe_is_not_an_error(project: Path) -> None:
    command = f"{sys.executable} -m winnow tools --json | head -c 1"
    done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{", "")


def test_a_model_from_the_users_settings_ranks(
    project: Path, tmp_path: Path, model_server: ModelServer
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        "[llm]\npreferred = ['mine']\n[llm.models.mine]\nprovider = 'openai'\nmodel = 'm'\n"
        f"base_url = '{model_server.address}/v1'\n"
        "prices = { input = 1.0, output = 10.0 }\n"
    )
    done = winnow(project, *SEARCH, WINNOW_CONFIG=str(config))
    assert "because of src/loader.py" in done.stdout
    assert "ranked by mine (openai)" in done.stdout
    assert "tokens: 1000 in, 50 out, $0.001500" in done.stdout


def test_tools_lists_names_and_json_has_schemas(project: Path) -> None:
    assert "keyword_search: " in winnow(project, "tools").stdout
    tools = json.loads(winnow(project, "tools", "--json").stdout)["tools"]
    required = {tool["name"]: tool["input_schema"]["required"] for tool in tools}
    assert required["keyword_search"] == ["query", "search_terms"]


def test_doctor_reports_installed_and_missing_parts(project: Path) -> None:
    done = winnow(project, "doctor", OPENAI_API_KEY="sk-very-secret")
    assert done.returncode == 0
    assert f"ok winnow: {__version__}" in done.stdout
    assert "ok ripgrep: ripgrep " in done.stdout
    assert "no key: FIREWORKS_API_KEY is not set" in done.stdout
    assert "key in OPENAI_API_KEY" in done.stdout
    assert "sk-very-secret" not in done.stdout


@requires_posix
def test_doctor_reports_programs_for_documents(project: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("rga", "pandoc"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    own = write_files(project, {"bin/pdftotext": "#!/bin/sh\n"}) / "bin"
    (own / "pdftotext").chmod(0o755)
    path = os.pathsep.join([str(programs), str(own)])
    config = tmp_path / "config.toml"
    config.write_text(f"[programs]\nrg = '{RIPGREP}'\n")
    done = winnow(project, "doctor", PATH=path, WINNOW_CONFIG=str(config))
    assert done.returncode == 0
    assert "ok documents: Winnow reads them itself; rga is optional\n" in done.stdout
    assert f"ok rga: {programs}/rga: `search_docs` can use the engine" in done.stdout
    assert f"ok pandoc: {programs}/pandoc: the engine 'rga' reads EPUB" in done.stdout
    # What the project brings along is not run.
    refused = f"pdftotext on PATH is inside the workspace ({own}/pdftotext): not used"
    missing = f"ok pdftotext: not found (optional)\n   {refused}. With it, the engine 'rga'"
    assert f"{missing} reads PDF. Install it: " in done.stdout


@requires_posix
def test_doctor_reports_the_location_and_size_of_document_texts(
    project: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    texts = cache / "winnow" / "documents"
    write_files(texts, {"ab/one.txt": "x" * 1024**2, "two.txt": "x" * 1024**2 * 2})
    done = winnow(project, "doctor", XDG_CACHE_HOME=str(cache))
    assert f"ok document texts: 3.0 MiB in {texts}\n" in done.stdout
    (tmp_path / "file").write_text("")
    done = winnow(project, "doctor", XDG_CACHE_HOME=str(tmp_path / "file"))
    assert done.returncode == 0
    assert "-- document texts: deleted when Winnow exits" in done.stdout


def test_doctor_reports_whether_ocr_is_available(project: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[documents]\nocr = true\n")
    off = winnow(project, "doctor").stdout
    on = winnow(project, "doctor", WINNOW_CONFIG=str(config)).stdout
    if ocr.is_installed():
        assert "ok winnow-ls[ocr]: installed; `documents.ocr` is off\n" in off
        assert "ok winnow-ls[ocr]: installed; `documents.ocr` is on\n" in on
    else:
        assert "ok winnow-ls[ocr]: not installed; `documents.ocr` is off\n" in off
        assert "-- winnow-ls[ocr]: not installed; `documents.ocr` is on\n" in on
        assert "Install it: pip install 'winnow-ls[ocr]'\n" in on


def test_doctor_fails_if_ripgrep_is_missing(project: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[programs]\nrg = '/no/such/rg'\n")
    done = winnow(project, "doctor", WINNOW_CONFIG=str(config))
    assert done.returncode == 2
    assert "ripgrep is not at /no/such/rg. Correct or remove" in done.stdout
    config.write_text(f"[programs]\nrg = '{sys.executable}'\n")
    done = winnow(project, "doctor", WINNOW_CONFIG=str(config))
    assert done.returncode == 2
    assert "!! ripgrep: not found or does not run" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (("--help",), "usage: winnow [-h]"),
        (("help",), "usage: winnow [-h]"),
        (("keyword-search", "--help"), "usage: winnow keyword-search [-h]"),
        (("help", "keyword-search"), "usage: winnow keyword-search [-h]"),
    ],
)
def test_commands_print_their_help(project: Path, arguments: tuple[str, ...], usage: str) -> None:
    done = winnow(project, *arguments)
    assert done.returncode == 0
    assert done.stdout.startswith(usage)


def test_other_words_after_help_are_a_question(project: Path) -> None:
    write_files(project, {"notes.md": "help users\n"})
    assert "notes.md" in winnow(project, "help", "users").stdout


def test_without_arguments_a_terminal_is_needed(project: Path) -> None:
    done = winnow(project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "winnow: The search as you type needs a terminal with a cursor. To ask: winnow 'QUESTION'\n"
        "Try 'winnow --help'.\n"
    )


def test_system_errors_are_reported(project: Path) -> None:
    port = process(project, "serve", "--tcp", "99999")
    assert (port.returncode, "99999 is not a port up to 65535" in port.stderr) == (2, True)
    past_the_end = winnow(project, *SEARCH, "--cursor", "50")
    assert past_the_end.returncode == 1
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            done = process(project, *SEARCH, stdout=full)
        assert (done.returncode, done.stderr) == (2, "winnow: No space left on device\n")


@requires_posix
def test_a_deleted_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "deleted"
    folder.mkdir()
    script = f"rmdir ../deleted && exec {sys.executable} -m winnow tea"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=child_environment(tmp_path), capture_output=True
    )
    assert (done.returncode, done.stderr) == (2, b"winnow: The current folder does not exist\n")


# --- read ----------------------------------------------------------------------------------


def test_lines_of_a_file_are_shown_with_their_numbers(project: Path) -> None:
    done = winnow(project / "src", "read", "loader.py", "--spans", "1-2", "--spans", "6-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "     1\tclass Loader:\n"
        "     2\t    def load_plugins(self, names):\n"
        "...\n"
        "     6\t        return registry[name]\n"
    )


def test_a_cursor_of_the_command_line_continues_it(project: Path) -> None:
    arguments = ("read", "src/loader.py", "--spans", "2-5", "--max-lines", "3")
    first = winnow(project, *arguments)
    note, more = first.stdout.splitlines()[3:]
    assert note == "[3 of 4 requested lines of 6 in the file]"
    second = winnow(project, *arguments, *more.strip("[]").split()[1:])
    assert second.stdout == "     5\t    def load_plugin(self, name):\n"


@pytest.mark.slow
def test_an_unreadable_file_is_an_error(project: Path) -> None:
    (project / "a.gif").write_bytes(b"GIF89a\0\0")
    for path, said in (
        ("a.gif", "'a.gif' is a GIF image (8 bytes)"),
        ("src", "it is a folder"),
        ("../project2", "outside of every workspace folder"),
        ("nothing", "There is no file or folder 'nothing'"),
    ):
        done = winnow(project, "read", path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    done = winnow(project, "read", "src/loader.py", "--spans", "a-b")
    assert "`spans[0]`: expected a range such as 10-20, 10 or 10-" in done.stderr
    (project / "empty").touch()
    done = winnow(project, "read", "empty")
    assert (done.returncode, done.stdout) == (1, "[the file is empty]\n")


def test_a_symbol_is_read_by_its_name(project: Path) -> None:
    write_files(project, {"Makefile": "all:\n"})
    read = winnow(project / "src", "read", "load_plugin")
    assert read.returncode == 0, read.stderr
    assert "def load_plugin(" in read.stdout
    mistyped = winnow(project / "src", "read", "load_plugn")
    assert mistyped.returncode == 2
    assert "Did you mean the method 'Loader.load_plugin'?" in mistyped.stderr
    outline = winnow(project / "src", "read", "loader.py", "--outline")
    assert "def load_plugin(" in outline.stdout
    assert "return" not in outline.stdout


def test_people_are_told_the_command_that_builds_an_index(project: Path) -> None:
    shown = winnow(project, "index-status")
    assert "note: there is no index: `winnow index build` makes one" in shown.stdout
    for_agents = winnow(project, "index-status", "--format", "plain")
    assert "there is no index: `index build` makes one" in for_agents.stdout


@requires_posix
def test_a_file_with_an_invalid_unicode_name_is_read(project: Path) -> None:
    file = Path(os.fsdecode(bytes(project) + b"/bad\xff.txt"))
    file.write_text("found\n")
    for path in (file.name, str(file), "bad\\xff.txt"):
        done = winnow(project, "read", path)
        assert (done.returncode, done.stdout) == (0, "     1\tfound\n"), done.stderr


def test_an_index_is_exported_and_pulled(project: Path, tmp_path: Path) -> None:
    key = {"WINNOW_TEAM_KEY": "the key of the team"}
    archive = tmp_path / "main.winnow"
    early = winnow(project, "index", "export", str(archive), **key)
    assert (early.returncode, early.stdout) == (2, "")
    assert early.stderr == (
        "winnow index export: the index is not complete: run `winnow index build` first\n"
    )
    winnow(project, "index", "build")
    done = winnow(project, "index", "export", str(archive), **key)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("main.winnow: 5 texts, ")
    assert done.stdout.endswith(" MB, signed\n")
    assert "set WINNOW_TEAM_KEY to sign" in winnow(project, "index", "export", "x").stderr

    other = write_files(tmp_path / "other", {"src/a.py": "def here(): ...\n"})
    pulled = winnow(other, "index", "pull", str(archive), **key)
    assert (pulled.returncode, pulled.stderr) == (0, "")
    assert pulled.stdout.splitlines()[0].startswith("5 texts, ")
    assert "the index is complete" in pulled.stdout
    again = winnow(other, "index", "pull", str(archive), "--json", **key)
    assert json.loads(again.stdout)["archives"][0]["signed"]
    unsigned = winnow(project, "index", "export", "--unsigned", str(archive))
    assert (unsigned.returncode, unsigned.stderr) == (0, "")
    assert unsigned.stdout.endswith(" MB, not signed\n")
    winnow(project, "index", "export", str(archive), **key)
    wrong = winnow(other, "index", "pull", str(archive), WINNOW_TEAM_KEY="another key, also long")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert f"{archive}: its signature does not match WINNOW_TEAM_KEY" in wrong.stderr
    assert "pass an archive" in winnow(other, "index", "pull").stderr
    assert "unrecognized arguments: more" in winnow(other, "index", "build", "more").stderr
