"""Test the plugin on a real screen with the real server and Django's source.

    python -m pytest nvim/tests/ui      (with the packages that scripts/environment installs)

If WINNOW_PICTURE is set, the tests also write the README's picture.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
sys.path += map(str, (Path(__file__).parent, CHECKOUT / "benchmarks", CHECKOUT / "tests"))

from editor import PLUGIN, WAIT_SECONDS, Editor, Terminal, box, descendants
from svg import picture

from model_server import ModelServer

QUESTION = "how are migrations ordered and applied"
TERMS = "MigrationExecutor apply_migration migration_plan"
# The best line of the best file, and its text.
LINE = 147
TEXT = "def _migrate_all_forwards"
EXECUTOR = "django/db/migrations/executor.py"
# The required time from pressing Enter to the first line in the list.
FIRST_LINE_SECONDS = 0.2
MEASURED = "WINNOW_MEASURE" in os.environ

Start = Callable[..., Editor]


def search(editor: Editor) -> list[str]:
    """Search, and return the screen with the answer."""
    editor.command(f"Winnow keyword {QUESTION} -- {TERMS}")
    return editor.finished()


def test_the_picker_shows_results_reasons_the_ranker_and_a_preview(editor: Editor) -> None:
    screen = search(editor)
    text = "\n".join(screen)
    assert f"keyword search: {QUESTION[:30]}" in text
    assert "no language model" not in text
    assert " 1/" in text
    prompt, results = box(screen, " filter "), box(screen, " keyword search: ")
    assert prompt.bottom < results.top
    assert results.lines[0].startswith(f"  executor.py:{LINE} ")
    assert f"  {TEXT[:15]}" in results.lines[0]
    # The preview on the right shows the file at the line, a moment after the last order arrived.
    editor.see("╰ defines MigrationExecutor in line ")
    screen = editor.see(f"{LINE}     {TEXT}")
    preview = box(screen, " django/db/migrations/executor.py ")
    assert results.right < preview.left
    assert f"{LINE}     {TEXT}" in preview.text


def test_moving_changes_the_preview_and_enter_opens_line_and_column(editor: Editor) -> None:
    search(editor)
    editor.press("<C-n>")
    screen = editor.see("migrate.py ─")
    name, line = box(screen, " keyword search: ").lines[1].split()[0].split(":")
    preview = box(screen, f"{name} ")
    assert any(text.split()[:1] == [line] for text in preview.lines), preview.text
    editor.press("<C-p>")
    screen = editor.see("executor.py ─")
    assert f"{LINE}     {TEXT}" in box(screen, "executor.py ─").text
    editor.press("<CR>")
    editor.wait("normal mode in the file", lambda: editor.nvim.eval("mode()") == "n")
    editor.gone("╭")
    assert editor.place() == ("executor.py", LINE, 5)
    # The cursor is on the line on the screen too, and nothing covers the file.
    screen = editor.screen()
    row, column = editor.lua("return { vim.fn.screenrow(), vim.fn.screencol() }")
    assert screen[row - 1][column - 1 :].startswith(TEXT)
    assert not any("╭" in line for line in screen)


def test_the_order_of_a_model_replaces_the_local_order(start: Start) -> None:
    model, local_is_seen = ModelServer(), threading.Event()

    def choose(files: dict[str, str]) -> list[dict[str, str]]:
        assert local_is_seen.wait(WAIT_SECONDS)
        chosen = enumerate(list(files)[2:0:-1], 1)
        return [{"id": name, "lines": "1", "reason": f"its no. {rank}"} for rank, name in chosen]

    model.choose = choose
    try:
        editor = start(model=model.address, options="reasons = 'below'")
        editor.command(f"Winnow keyword {QUESTION} -- {TERMS}")
        local = editor.see("defines MigrationExecutor in line ")
        assert not any("its no." in line for line in local)
        local_is_seen.set()
        screen = editor.see("ranked by wire")
    finally:
        model.stop()
    assert len(model.requests) == 1
    reasons = [row.strip() for row in box(screen, " keyword search: ").lines[1:6:2]]
    assert reasons == ["its no. 1", "its no. 2", "not chosen by the model"]


def test_a_remote_model_is_used_only_with_consent(django: Path, tmp_path: Path) -> None:
    """Run in a terminal, because Neovim itself shows the prompt for consent."""
    model = ModelServer()
    # The server treats this address as remote, but it reaches this machine.
    address = model.address.replace("127.0.0.1", "0.0.0.0")
    terminal = Terminal(django, tmp_path, model=address)
    try:
        terminal.see("[No Name]")
        terminal.type(f":Winnow keyword {QUESTION} -- {TERMS}\r")
        terminal.see(":Winnow consent to use a model ─")
        terminal.type("\x03")
        terminal.gone("consent to use a model ─")
        assert model.requests == []
        terminal.type(":Winnow consent\r")
        terminal.see(
            f"Winnow: send code of django to {address}?",
            "1: Allow for this workspace",
            "2: Not for this workspace",
            "3: Withdraw",
        )
        terminal.type("1\r")
        terminal.see("may be sent, with your consent")
        terminal.type(":Winnow resume\r")
        terminal.see("ranked by wire")
    finally:
        terminal.close()
        model.stop()
    assert len(model.requests) == 1


def test_a_filter_narrows_the_list_and_escape_restores_the_screen(editor: Editor) -> None:
    editor.command("edit README.rst")
    before = editor.screen()
    search(editor)
    editor.press("command")
    editor.see("> command")
    screen = editor.see("match the filter")
    listed = [line for line in box(screen, " keyword search: ").lines if ":" in line]
    assert listed
    assert box(screen, " filter ").lines == ["> command"]
    editor.press("<Esc>")
    editor.gone("match the filter")
    assert editor.nvim.eval("mode()") == "n"
    # Except for messages in the command line.
    assert editor.screen()[:-2] == before[:-2]


def test_selected_results_go_to_the_quickfix_list(editor: Editor) -> None:
    search(editor)
    editor.press("<Tab><Tab>")
    editor.see("2 selected")
    editor.press("<C-q>")
    screen = editor.see(f"|{LINE}| ")
    # The list is below the file, and the picker is closed.
    row = next(row for row, line in enumerate(screen) if f"|{LINE}| " in line)
    assert screen[row].startswith(f"{EXECUTOR}|{LINE}| ")
    assert row > len(screen) // 2
    assert not any("╭" in line for line in screen)
    assert len(editor.nvim.call("getqflist")) == 2
    editor.command("cfirst")
    assert editor.place() == ("executor.py", LINE, 5)
    editor.command("Winnow! grep include=*.py def apply_migration")
    editor.wait("the next list", lambda: editor.nvim.call("getqflist", {"nr": "$"})["nr"] == 2)
    editor.see("winnow: 1 of 1 match")
    editor.command("silent colder")
    assert QUESTION in editor.nvim.call("getqflist", {"title": 0})["title"]


def test_text_search_runs_as_the_user_types(editor: Editor) -> None:
    editor.command("Winnow grep include=*.py")
    editor.see("[grep]")
    for key in "def apply_migration":
        editor.press("<Space>" if key == " " else key)
    editor.see(" grep: def apply_migration ")  # the last key has arrived
    editor.see("executor.py:239")
    screen = editor.see("239     def apply_migration")
    assert box(screen, " [grep] ").lines == ["> def apply_migration"]
    row = box(screen, " grep: def apply_migration ").lines[0]
    assert row.split()[:4] == ["executor.py:239", "…/migrations", "def", "apply_migration(self,"]
    editor.press("<Esc>")
    editor.wait("normal mode", lambda: editor.nvim.eval("mode()") == "n")


def test_a_column_after_multibyte_characters_is_exact(editor: Editor, django: Path) -> None:
    (django / "wide").mkdir()
    (django / "wide/a.py").write_text("x = 1\ny = 'žluťoučký 😀'; needle = 2\n", "utf-8")
    editor.command("Winnow grep path=wide needle")
    editor.see("1 of 1")
    editor.press("<CR>")
    editor.wait("the file", lambda: editor.place()[0] == "a.py")
    editor.wait("normal mode", lambda: editor.nvim.eval("mode()") == "n")
    assert editor.place()[1:] == (2, len("y = 'žluťoučký 😀'; ".encode()) + 1)


def test_stopping_a_search_kills_ripgrep_and_ends_the_busy_state(editor: Editor) -> None:
    editor.command("Winnow grep warm")
    editor.see(" of ")
    editor.press("<Esc>")
    pid = editor.nvim.eval("getpid()")

    def ripgreps() -> list[int]:
        return [child for child, name in descendants(pid).items() if name == "rg"]

    # ripgrep needs many seconds for this pattern.
    slow = r"(\w+\s+){40,80}zzz(\w+\s+){40,80}"
    editor.command(f"Winnow grep multiline=true {slow}")
    for pid_of_rg in editor.wait("ripgrep to run", ripgreps):
        # A stopped process does not exit on its own; it must be killed.
        os.kill(pid_of_rg, signal.SIGSTOP)
    editor.press("<C-c>")
    editor.see("stopped after 0")
    editor.wait("ripgrep to exit", lambda: not ripgreps())
    editor.press("<Esc>")
    editor.command("Winnow grep MigrationExecutor")
    editor.see("executor.py:10")


QUESTIONS = [
    ("how are migrations ordered and applied", "MigrationExecutor apply_migration"),
    ("where are sessions ended", "flush cycle_key SessionBase clear_expired"),
    ("how is a query set evaluated lazily", "_fetch_all _result_cache iterator"),
    ("how are templates found and loaded", "get_template find_template Loader"),
    ("where are passwords hashed", "make_password check_password PBKDF2"),
    ("how does csrf protection work", "CsrfViewMiddleware csrf_token _check_token"),
]
FIRST_LINE = """
    local ms, picker = ...
    local ok = vim.wait(ms, function()
      picker = require('winnow.picker').get()
      return picker and #picker.shown > 0
    end, 1)
    return ok and vim.api.nvim_buf_get_lines(picker.windows.list_buf, 0, 1, false)[1] or ''
"""
INDEX_STATE = """
    local client = vim.lsp.get_clients({ name = 'winnow' })[1]
    local answer = client:request_sync('$/indexStatus', vim.empty_dict(), 5000, 0)
    return answer.result.index.folders[1].state
"""


def seconds_to_first_lines(editor: Editor) -> list[float]:
    """Measure the time from pressing Enter to the first line in the list, for each question."""
    times = []
    for question, terms in QUESTIONS:
        editor.nvim.input(f":Winnow keyword {question} -- {terms}")
        started = time.perf_counter()
        editor.nvim.input("<CR>")
        line = editor.lua(FIRST_LINE, 60000)
        times.append(time.perf_counter() - started)
        assert line.strip()
        editor.finished()
        editor.press("<Esc>")
        editor.gone("╭")
    return times


def summary(name: str, times: list[float]) -> str:
    median, maximum = statistics.median(times) * 1000, max(times) * 1000
    return f"first line, {name}: {median:.0f} ms (median of {len(times)}), {maximum:.0f} at most"


def test_every_question_gets_its_first_line(
    editor: Editor, capsys: pytest.CaptureFixture[str]
) -> None:
    times = seconds_to_first_lines(editor)
    with capsys.disabled():
        print("\n" + summary("without an index", times))
    # Timings are meaningless on a busy machine.
    if MEASURED:
        assert min(times) <= FIRST_LINE_SECONDS


@pytest.mark.skipif(not MEASURED, reason="measured by hand: WINNOW_MEASURE is not set")
def test_the_first_line_is_fast_with_an_index(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = start(index=True)
    _, *building = seconds_to_first_lines(editor)
    # Background indexing waits while other processes keep the processors busy.
    editor.wait("the index", lambda: editor.lua(INDEX_STATE) == "ready", 70)
    ready = seconds_to_first_lines(editor)
    with capsys.disabled():
        print("\n" + summary("while the index is built", building))
        print(summary("with the index", ready))
    assert statistics.median(ready) <= FIRST_LINE_SECONDS


def test_fzf_lua_shows_results_and_opens_the_place(start: Start) -> None:
    plugin = os.environ.get("WINNOW_FZF_LUA", "")
    if not Path(plugin, "lua").is_dir() or not shutil.which("fzf"):
        pytest.skip("WINNOW_FZF_LUA is not a folder, or fzf is not installed")
    editor = start(more=f"vim.opt.runtimepath:append('{plugin}')")
    editor.command("Winnow grep picker=fzf_lua include=*.py def apply_migration")
    editor.see("executor.py:239")
    editor.see("def apply_migration(self, state, migration")
    editor.press("<CR>")
    editor.wait("the file", lambda: editor.place() == ("executor.py", 239, 5))
    editor.command(f"Winnow keyword picker=fzf_lua {QUESTION} -- {TERMS}")
    editor.see("defines MigrationExecutor")
    editor.press("<Esc>")
    editor.gone("defines MigrationExecutor")
    editor.see("winnow: 5 of 5 files")


@pytest.mark.parametrize(("name", "columns", "lines"), [("keyword", 130, 34), ("narrow", 80, 26)])
def test_the_pictures_for_the_readme(
    django: Path, tmp_path: Path, name: str, columns: int, lines: int
) -> None:
    """Draw the screen of a terminal as SVG."""
    terminal = Terminal(django, tmp_path, columns, lines)
    try:
        terminal.see("[No Name]")
        terminal.type(f":edit {EXECUTOR}\r")
        terminal.see("class MigrationExecutor:")
        terminal.type(f":Winnow keyword {QUESTION}\r")
        terminal.see("╰ 50 of ", " 1/50 ╯", "migration.py:", "matches ordered")
        if os.environ.get("WINNOW_PICTURE"):
            terminal.read(0.5)
        drawn = picture(terminal.screen, f":Winnow keyword {QUESTION}")
    finally:
        terminal.close()
    assert drawn.count("<text") > 60
    if os.environ.get("WINNOW_PICTURE"):
        media = PLUGIN / "media"
        media.mkdir(exist_ok=True)
        (media / f"{name}.svg").write_text(drawn)
