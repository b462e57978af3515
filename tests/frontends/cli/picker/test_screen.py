"""`winnow` on a terminal: the picker as its user sees it."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import child_environment, requires_posix, write_files
from frontends.background.background_process import environment_of, home_folder, running, started
from frontends.cli.picker.terminal import Terminal, terminal
from waiting_for import wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow, requires_posix]

HINT = "Type a question"
COLOR = re.compile(rb"\x1b\[[\d;]*3[1-7][\d;]*m")


@contextlib.contextmanager
def picker(
    folder: Path, columns: int = 100, rows: int = 24, **variables: str
) -> Iterator[Terminal]:
    environment = child_environment(folder.parent / "home", **variables)
    program = [sys.executable, "-m", "winnow"]
    with terminal(program, folder, environment, columns, rows) as shown:
        shown.wait_for(HINT)
        yield shown


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """A program `vim` that prints its arguments, outside of the project."""
    program = tmp_path / "programs/vim"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "edited: $@"\nexit 3\n')
    program.chmod(0o755)
    return program


def test_typing_searches_and_enter_prints_the_place(project: Path) -> None:
    with picker(project) as shown:
        first = shown.lines()
        assert first[0] == ">"
        assert first[-1].startswith("Enter prints  Esc quits  ↑↓ choose")
        shown.type("load_plugin")
        # The file is beside the list, with the line marked.
        lines = shown.wait_for("symbol search", "> loader.py:5", "│> 5      def load_plugin")
        assert lines[0] == "> load_plugin"
        assert lines[3].startswith("    def load_plugin(self, name):")
        shown.press("Enter")
        assert shown.ended() == 0
        assert shown.text().strip() == "src/loader.py:5"


def test_enter_opens_the_editor_at_the_line(project: Path, editor: Path) -> None:
    with picker(project, EDITOR=f"{editor} -R") as shown:
        assert shown.lines()[-1].startswith("Enter opens  Ctrl-O prints  Esc quits")
        shown.type("load_plugin")
        shown.wait_for("> loader.py:5")
        shown.press("Enter")
        assert shown.ended() == 3
        assert "".join(shown.lines()) == f"edited: -R +5 {project}/src/loader.py"


def test_ctrl_o_prints_the_place_in_spite_of_an_editor(project: Path, editor: Path) -> None:
    with picker(project / "src", EDITOR=str(editor)) as shown:
        shown.type("load_plugin")
        shown.wait_for("> loader.py:5")
        shown.press("Ctrl-O")
        assert shown.ended() == 0
        assert shown.text().strip() == "loader.py:5"


def test_an_unusable_editor_is_reported(project: Path) -> None:
    write_files(project, {"bin/vim": "#!/bin/sh\necho owned\n"})
    (project / "bin/vim").chmod(0o755)
    with picker(project, EDITOR="vim", PATH=f"{project}/bin:/nowhere") as shown:
        shown.type("load_plugin")
        shown.wait_for("> loader.py:5")
        shown.press("Enter")
        assert shown.ended() == 0
        assert shown.lines()[:2] == [
            "winnow: `$EDITOR`: vim is not on PATH outside of the repository",
            "src/loader.py:5",
        ]


@pytest.mark.parametrize("key", ["Escape", "Ctrl-C", "Ctrl-D"])
def test_keys_that_quit(key: str, project: Path) -> None:
    with picker(project) as shown:
        shown.press(key)
        assert shown.ended() == 130
        assert shown.text().strip() == ""


def test_an_interrupt_quits(project: Path) -> None:
    with picker(project) as shown:
        shown.interrupt()
        assert shown.ended() == 130


def test_keys_that_move_and_delete(project: Path) -> None:
    with picker(project) as shown:
        shown.type("plugin")
        first = selected(shown)
        shown.press("Down")
        shown.wait_without(first)
        shown.press("Ctrl-P")
        shown.wait_for(first)
        shown.press("PageDown")
        shown.wait_without(first)
        shown.press("PageUp")
        shown.wait_for(first)
        shown.type(" registry")
        shown.wait_for("> plugin registry")
        shown.press("Ctrl-W")
        assert shown.wait_without("> plugin registry")[0] == "> plugin"
        shown.press("Ctrl-U")
        lines = shown.wait_for(HINT)
        assert lines[0] == ">"


def selected(shown: Terminal) -> str:
    """Wait for the marker of the selected row, and return the row."""
    lines = shown.wait_for("\n> ")
    return next(line[:40] for line in lines[1:] if line.startswith("> "))


def test_a_small_screen_has_the_preview_below_and_a_wide_one_beside(project: Path) -> None:
    with picker(project, 60, 20) as shown:
        shown.type("load_plugin")
        lines = shown.wait_for("> loader.py:5", "> 5  ", "───")
        assert len(lines) == 20
        assert max(map(len, lines)) <= 60
        assert lines[-1].startswith("Enter prints")
        shown.resize(120, 20)
        shown.wait_for("> loader.py:5", "│> 5  ", "Ctrl-U clears")
        shown.wait_without("───")
        shown.resize(40, 8)
        shown.wait_without("│")
        shown.wait_for("> loader.py:5", "Enter prints")


def test_no_color_draws_without_colors(project: Path) -> None:
    colorless: dict[str, str] = {"NO_COLOR": ""}
    for variables in ({}, colorless):
        with picker(project, 100, 24, **variables) as shown:
            shown.type("load_plugin")
            shown.wait_for("> loader.py:5")
            assert bool(COLOR.search(shown.output)) == (not variables)
            shown.press("Escape")
            shown.ended()


def test_hostile_names_and_texts_are_drawn_as_text(project: Path) -> None:
    write_files(
        project,
        {
            "src/wide.py": "def needle_函数():  # " + "漢字" * 80 + "\n\treturn '\x1b[31m\x07'\n",
            "src/a\x1b]0;owned\x07.py": "needle_in_title = 1\n",
        },
    )
    with picker(project, 60, 20) as shown:
        shown.type("needle")
        lines = shown.wait_for("wide.py:1", "needle_函数", "needle_in_title")
        assert not any("\x1b" in line for line in lines)
        assert b"\x1b]0;owned" not in shown.output
        assert b"\x07" not in shown.output


def test_enter_before_the_answer_chooses_its_first_row(project: Path) -> None:
    with picker(project) as shown:
        shown.type("load_plugin")
        shown.press("Enter")
        assert shown.ended() == 0
        assert shown.text().strip() == "src/loader.py:5"


def test_a_pasted_stack_trace_is_a_query(project: Path) -> None:
    trace = 'Traceback:\n  File "src/registry.py", line 4, in register_plugin\nKeyError: name'
    with picker(project) as shown:
        shown.type(f"\x1b[200~{trace}\x1b[201~")
        lines = shown.wait_for("> registry.py:", "│src/registry.py")
        assert lines[0] == "> Traceback:"
        assert lines[2].strip() == "KeyError: name"


def test_the_mouse_selects_rows(project: Path) -> None:
    with picker(project) as shown:
        shown.type("plugin")
        first = selected(shown)
        shown.type("\x1b[<65;5;5M")  # the wheel, down
        shown.wait_without(first)
        shown.type("\x1b[<64;5;5M")
        shown.wait_for(first)
        # A click on the third row.
        row = shown.lines()[6][2:30]
        shown.type("\x1b[<0;5;7M\x1b[<0;5;7m")
        shown.wait_for(f"> {row}")


def test_a_bug_ends_the_picker_and_leaves_the_screen(project: Path) -> None:
    program = [sys.executable, "-c", BUG]
    with terminal(program, project, child_environment(project.parent)) as shown:
        shown.wait_for(HINT)
        shown.type("anything")
        assert shown.ended() == 1
        assert "RuntimeError: a bug" in shown.text()
        assert HINT not in shown.text()


BUG = """
from winnow.frontends.cli.picker import command, searches
async def search(self, query, notify):
    raise RuntimeError("a bug")
searches.Searches.search = search
command.run()
"""


def test_a_warning_is_not_written_into_the_screen(project: Path) -> None:
    program = [sys.executable, "-c", WARNING]
    with terminal(program, project, child_environment(project.parent)) as shown:
        shown.wait_for(HINT)
        shown.type("anything")
        shown.wait_for("it has failed")
        assert "a warning" not in shown.text()


WARNING = """
import logging
from winnow.frontends.cli.picker import command, searches
async def search(self, query, notify):
    logging.getLogger("winnow").warning("a warning")
    raise searches.SearchFailed("it has failed")
searches.Searches.search = search
command.run()
"""


def test_a_complete_index_brings_a_better_answer(project: Path) -> None:
    program = [sys.executable, "-c", BETTER]
    with terminal(program, project, child_environment(project.parent)) as shown:
        shown.wait_for(HINT)
        shown.type("anything")
        shown.wait_for("first.py", "> second.py", "not complete")
        shown.press("Down")
        shown.wait_for("> first.py")
        (project / "complete").touch()
        shown.wait_for("third.py")
        shown.wait_for("> first.py")
        shown.wait_without("not complete")
        shown.press("Enter")
        assert shown.ended() == 0
        assert shown.text().strip() == "first.py"


BETTER = """
import asyncio, os
from winnow.frontends.cli.picker import command, searches
from winnow.frontends.cli.picker.state import Answer, Row

def rows(*names):
    return [Row(name, os.path.abspath(name)) for name in names]

async def search(self, query, notify):
    if os.path.exists("complete"):
        return Answer(rows("third.py", "first.py", "second.py"))
    return Answer(rows("second.py", "first.py"), notes=["not complete"], is_early=True)

async def is_building(self):
    return not os.path.exists("complete")

searches.POLL_SECONDS = 0.01
searches.Searches.search = search
searches.Searches._is_building = is_building
command.run()
"""


def test_an_answer_without_results_says_so(project: Path) -> None:
    with picker(project) as shown:
        shown.type("zzqx_nowhere")
        shown.wait_for("nothing found", "use `winnow grep --include-ignored")
        shown.press("Enter")  # there is nothing to choose
        shown.press("Escape")
        assert shown.ended() == 130


def test_a_failed_search_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = child_environment(home)
    with terminal([sys.executable, "-m", "winnow"], home, environment) as shown:
        shown.wait_for(HINT)
        shown.type("anything")
        # The path of the folder decides where the lines end.
        wait_until(lambda: "because it is a home folder" in " ".join(shown.text().split()))


def test_the_background_process_answers(project: Path) -> None:
    with home_folder() as home:
        environment = environment_of(home)
        with (
            started(project, environment),
            terminal([sys.executable, "-m", "winnow"], project, environment) as shown,
        ):
            shown.wait_for(HINT)
            shown.type("load_plugin")
            shown.wait_for("> loader.py:5")
            shown.press("Ctrl-O")
            assert shown.ended() == 0
            # At least the search and the feedback.
            process = running(project, environment)
            assert process is not None
            assert process.commands >= 2


def test_a_terminal_without_a_cursor_gets_the_error(project: Path) -> None:
    environment = child_environment(project.parent, TERM="dumb")
    with terminal([sys.executable, "-m", "winnow"], project, environment) as shown:
        assert shown.ended() == 2
        assert "needs a terminal with a cursor" in shown.text()
