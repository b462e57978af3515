"""What a user's hands do: keys held down, the mouse, unusual windows, macros, tabs.

Each test types or clicks, and reads the screen. WINNOW_TRIALS sets the number of trials with keys
held down.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from editor import Editor, box

from conftest import Start

TRIALS = int(os.environ.get("WINNOW_TRIALS", "20"))
# Clicks within this time are a double click.
MOUSE_SECONDS = 0.6


def is_closed(editor: Editor) -> bool:
    return not editor.lua("return require('winnow.picker').get() ~= nil")


def normal_mode(editor: Editor) -> None:
    editor.wait("normal mode", lambda: editor.nvim.api.get_mode()["mode"] == "n")


def assert_closed(editor: Editor) -> None:
    editor.wait("the picker to close", lambda: is_closed(editor))
    normal_mode(editor)
    assert not any("╭" in line for line in editor.screen())


def opened(editor: Editor, name: str, line: int) -> None:
    editor.wait(f"{name}:{line}", lambda: editor.place()[:2] == (name, line))
    assert_closed(editor)


@pytest.mark.parametrize("key", ["<C-p>", "<Down>", "<PageDown>", "<Tab>"])
def test_keys_held_down_while_results_arrive(editor: Editor, key: str) -> None:
    for _ in range(max(1, TRIALS // 4)):
        editor.nvim.command("let v:errmsg = ''")
        editor.nvim.input(":Winnow grep import<CR>")
        for _ in range(60):
            editor.nvim.input(key)
            assert not editor.nvim.api.get_mode()["blocking"]
        editor.finished()
        assert editor.nvim.eval("v:errmsg") == ""
        editor.press("<Esc>")
        assert_closed(editor)


def test_moving_stays_on_the_result_while_others_arrive(editor: Editor) -> None:
    editor.nvim.input(":Winnow grep import<CR>")
    editor.wait("results", lambda: editor.lua("return #require('winnow.picker').get().shown > 3"))
    editor.press("<Down><Down>")
    before = editor.lua("return require('winnow.picker').get():item().key")
    screen = editor.finished()
    assert editor.lua("return require('winnow.picker').get():item().key") == before
    assert " 3/500 ╯" in "\n".join(screen)


def test_enter_before_the_results_opens_the_first_one(editor: Editor) -> None:
    editor.nvim.input(":Winnow grep class MigrationExecutor:<CR><CR>")
    opened(editor, "executor.py", 10)


def test_enter_after_typing_opens_the_first_result_of_the_typed_query(editor: Editor) -> None:
    editor.command("Winnow grep")
    editor.nvim.input("class MigrationExecutor:<CR>")
    opened(editor, "executor.py", 10)


def test_the_lines_of_a_pasted_text_are_one_query(editor: Editor) -> None:
    editor.command("Winnow grep")
    editor.nvim.api.paste("class Migration\n    Executor:\n", False, -1)
    pasted = "return require('winnow.picker').get():typed()"
    editor.wait("one line", lambda: editor.lua(pasted) == "class Migration Executor: ")
    assert "│> class Migration Executor:" in "\n".join(editor.screen())
    editor.nvim.input("<C-u>")
    editor.nvim.api.paste("class\nMigrationExecutor:", False, -1)
    editor.nvim.input("<CR>")
    opened(editor, "executor.py", 10)


def test_a_macro_with_a_search_replays(editor: Editor) -> None:
    editor.nvim.call("setreg", "q", ":Winnow grep class MigrationExecutor:\r\r", "c")
    editor.press("@q")
    opened(editor, "executor.py", 10)


def test_a_click_selects_a_double_click_opens_and_the_wheel_scrolls(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    screen = editor.finished()
    results = box(screen, " grep: ")

    def click(row: int) -> None:
        for action in ("press", "release"):
            editor.nvim.api.input_mouse("left", action, "", 0, row, results.left + 5)

    third = results.lines[2].split()[0]
    click(results.top + 3)
    screen = editor.see(" 3/")
    assert editor.nvim.eval("mode()") == "i"
    assert editor.lua("return vim.bo.buftype") == "prompt"
    editor.wait(
        "its preview", lambda: editor.lua("return require('winnow.picker').get().current") == 3
    )
    # The wheel scrolls the preview.
    preview = editor.lua("return require('winnow.picker').get().windows.preview")
    top = editor.nvim.eval(f"line('w0', {preview})")
    editor.nvim.api.input_mouse("wheel", "down", "", 0, results.top + 3, results.right + 10)
    editor.wait("the preview to scroll", lambda: editor.nvim.eval(f"line('w0', {preview})") > top)
    # The keys still go to the prompt.
    editor.press("x<BS>")
    time.sleep(MOUSE_SECONDS)
    click(results.top + 3)
    click(results.top + 3)
    name, line = third.split(":")
    opened(editor, name, int(line))


def test_a_click_outside_closes_the_picker(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.nvim.api.input_mouse("left", "press", "", 0, 0, 0)
    assert_closed(editor)


def test_control_w_deletes_a_word(editor: Editor) -> None:
    editor.command("Winnow grep")
    editor.press("foo bar<C-w>c")
    screen = editor.see("> foo c")
    assert box(screen, " [grep] ").lines == ["> foo c"]


@pytest.mark.parametrize("keys", [r"<C-\><C-n>:q<CR>", "<C-o>:q<CR>", r"<C-\><C-n>ZQ", "<C-c>"])
def test_the_usual_keys_close_the_picker(editor: Editor, keys: str) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.press("x")
    editor.press(keys)
    assert_closed(editor)


WINDOWS = {
    "quickfix": "call setqflist([{'text': 'one'}]) | copen",
    "location list": "call setloclist(0, [{'text': 'one'}]) | lopen",
    "terminal": "split | terminal",
    "winfixbuf": "vsplit | enew | set winfixbuf",
    "scratch side bar": "vsplit | enew | set buftype=nofile",
    "diff": "diffthis | vsplit django/shortcuts.py | diffthis",
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_result_opens_in_a_suitable_window(editor: Editor, name: str) -> None:
    editor.nvim.command("edit README.rst")
    editor.nvim.command(WINDOWS[name])
    origin, buf = editor.nvim.current.window.handle, editor.nvim.current.buffer.number
    before = len(editor.nvim.windows)
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.press("<CR>")
    opened(editor, "executor.py", 10)
    # The window still shows its buffer, and the file is in another one.
    assert editor.nvim.call("winbufnr", editor.nvim.call("win_id2win", origin)) == buf
    assert editor.nvim.current.window.handle != origin
    assert editor.nvim.current.window.height > 3
    assert len(editor.nvim.windows) == before + (name == "diff")


def test_a_result_opens_in_a_new_window_if_no_other_is_suitable(editor: Editor) -> None:
    editor.nvim.command("set winfixbuf")
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.press("<CR>")
    opened(editor, "executor.py", 10)
    assert len(editor.nvim.windows) == 2
    assert not editor.nvim.current.window.options["winfixbuf"]


def test_a_result_opens_below_a_floating_window(editor: Editor) -> None:
    editor.lua(
        "vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,"
        " { relative = 'editor', row = 2, col = 2, width = 30, height = 5 })"
    )
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.press("<CR>")
    editor.wait("the file", lambda: editor.place()[:2] == ("executor.py", 10))
    assert editor.lua("return vim.api.nvim_win_get_config(0).relative") == ""


def test_the_command_line_window_gives_a_message(editor: Editor) -> None:
    editor.nvim.command("nmap gw <Plug>(winnow-code)")
    editor.press("q:")
    editor.press("gw")
    editor.see("winnow: close the command-line window first")
    editor.press(":q<CR>")
    editor.nvim.command("nunmap gw")
    normal_mode(editor)


def test_a_new_tab_closes_the_picker_and_insert_mode_ends(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.nvim.command("tabnew")
    assert_closed(editor)


def test_another_windows_prompt_keeps_insert_mode(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.lua(
        "local buf = vim.api.nvim_create_buf(false, true)\n"
        "vim.bo[buf].buftype = 'prompt'\n"
        "vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 2, col = 2, width = 30,"
        " height = 1 })\n"
        "vim.cmd.startinsert()"
    )
    editor.wait("the picker to close", lambda: is_closed(editor))
    editor.press("abc")
    editor.see("% abc")


def test_windows_keys_return_to_the_prompt(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.press(r"<C-\><C-n><C-w>w")
    editor.wait("the prompt", lambda: editor.lua("return vim.bo.buftype") == "prompt")
    editor.press("<Esc>")
    assert_closed(editor)


@pytest.mark.parametrize("columns", [130, 60])
def test_lists_never_wait_for_enter(editor: Editor, columns: int) -> None:
    editor.nvim.ui_try_resize(columns, 20)
    try:
        # The explanation has several lines.
        editor.nvim.input(f":Winnow! grep {'no_such_name_' * 20}<CR>")
        editor.see("winnow: no results")
        assert not editor.nvim.api.get_mode()["blocking"]
        editor.nvim.input(":Winnow! keyword the<CR>")
        editor.see("winnow: ")
        assert not editor.nvim.api.get_mode()["blocking"]
    finally:
        editor.nvim.ui_try_resize(130, 34)


@pytest.mark.parametrize("columns", [130, 40])
def test_messages_are_one_line(start: Start, tmp_path: Path, columns: int) -> None:
    """The server warns of a foreign `.winnow` as soon as it starts, in several lines."""
    folder = tmp_path / "project"
    (folder / ".winnow").mkdir(parents=True)
    (folder / ".winnow" / "index.db").write_text("of another user\n")
    (folder / "a.txt").write_text("needle\n")
    editor = start(folder, index=True)
    editor.nvim.ui_try_resize(columns, 34)
    # Neovim 0.12 keeps the rest of the line for its ruler.
    room = columns - 20 if editor.nvim.call("has", "nvim-0.12") else columns

    def is_shown(text: str) -> None:
        editor.see(text)
        assert not editor.nvim.api.get_mode()["blocking"]

    editor.nvim.input(":Winnow code needle<CR>")
    is_shown(" 1/1 ╯")
    editor.press("<M-i>")
    is_shown("╰ code leaves out ignored fil")
    editor.press("<C-g>n")
    editor.gone("code searches no")
    # The line of the mode covers messages until insert mode ends.
    editor.press("<Esc>")
    is_shown("winnow: .winnow in ")
    assert editor.screen()[-1].rstrip().endswith("…")
    assert_closed(editor)
    editor.nvim.input(":Winnow index build<CR>")
    is_shown("winnow: index build")
    editor.nvim.input(":Winnow grep max_result=3 needle<CR>")
    is_shown("winnow: unknown parameter `"[:room])
    editor.nvim.input(":Winnow index no_such_action<CR>")
    is_shown("winnow: unknown action "[:room])
    # The log has what does not fit.
    editor.press(":Winnow log<CR>")
    log = "\n".join(editor.nvim.current.buffer[:])
    assert "Delete it to keep the index there" in log
    editor.press(":tabclose<CR>")
    for command, text in (("status", "winnow 0."), ("audit", "no requests to any model")):
        editor.nvim.input(f":Winnow {command}<CR>")
        is_shown(text)
        editor.press("q")
    editor.nvim.input(":Winnow consent<CR>")
    is_shown("winnow: no ")


def test_a_mistyped_parameter_is_reported(editor: Editor) -> None:
    editor.command("Winnow grep max_result=3 foo")
    editor.see("unknown parameter `max_result`. Did you mean `max_results`?")
    assert is_closed(editor)
    editor.command("Winnow grep")
    editor.press("max_result=3 foo")
    screen = editor.see("unknown parameter")
    assert "╰ unknown parameter `max_result`" in "\n".join(screen)


def test_the_one_box_searches_for_the_word_below_the_cursor(editor: Editor) -> None:
    editor.nvim.command("edit django/db/migrations/executor.py")
    editor.press("10G0w")
    editor.command("Winnow")
    screen = editor.finished()
    assert box(screen, " [code] ").lines == ["> MigrationExecutor"]
    assert "executor.py:10 " in box(screen, " search: MigrationExecutor ").lines[0]
    # Typing replaces it.
    editor.press("LoaderTest")
    screen = editor.see(" search: LoaderTest ")
    assert box(screen, " [code] ").lines == ["> LoaderTest"]


def test_the_one_box_searches_for_the_selection(editor: Editor) -> None:
    editor.nvim.command("edit django/db/migrations/executor.py")
    editor.press("10G0wvee<Esc>")
    editor.nvim.command("'<,'>Winnow")
    editor.see(" search: MigrationExecutor: ")


def test_changing_the_mode_keeps_the_query(editor: Editor) -> None:
    editor.command("Winnow")
    editor.press("migration_plan")
    editor.see("executor.py:22")
    editor.press("<C-t><C-t>")
    screen = editor.see(" grep: migration_plan ")
    assert box(screen, " [grep] ").lines == ["> migration_plan"]
    editor.see(" matches ")
    editor.press("<C-t>")
    editor.see(" symbols: migration_plan ")
    editor.see("method MigrationExecutor.migration_plan")


def test_a_search_in_the_listed_files(editor: Editor) -> None:
    editor.command("Winnow grep class Migration\\w+:")
    screen = editor.finished()
    assert "executor.py:10 " in "\n".join(screen)
    editor.press("<M-s>")
    editor.see(" files) ")
    editor.press("def check_replacements")
    screen = editor.see(" 1 of 1 match ")
    assert "executor.py:" in box(screen, "def check_replacements ").lines[0]


def test_ignored_and_hidden_files_can_be_included(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    for name in ("seen.txt", "ignored.txt", ".hidden.txt"):
        (folder / name).write_text("needle\n")
    (folder / ".gitignore").write_text("ignored.txt\n")
    editor = start(folder)
    editor.command("Winnow grep needle")
    editor.see(" 1 of 1 match ")
    editor.press("<M-i>")
    editor.see(" 2 of 2 matches ")
    editor.see("ignored.txt:1")
    editor.press("<M-h>")
    editor.see(".hidden.txt:1")
    editor.see(" grep (hidden too, ignored too): needle ")
    editor.press("<M-i>")
    editor.see(" grep (hidden too): needle ")


def test_the_match_is_highlighted_in_the_list(editor: Editor) -> None:
    editor.command("Winnow grep include=*.py def apply_migration")
    screen = editor.finished()
    results = box(screen, " grep: ")
    assert results.lines[0].startswith("  executor.py:239 ")
    row = results.top + 1
    column = screen[row].index("def apply_migration") + 1
    colors = [
        editor.nvim.call("screenattr", row + 1, column + offset)
        for offset in range(len("def apply_migration("))
    ]
    assert len(set(colors[:-1])) == 1, "the match has one color"
    assert colors[-1] != colors[0]


def test_the_match_has_the_same_color_in_the_current_row(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    screen = editor.finished()
    top = box(screen, " grep: ").top
    columns = [screen[row].index("migration_plan") for row in (top + 1, top + 2)]

    def color(row: int, offset: int) -> int:
        attribute: int = editor.nvim.call("screenattr", top + row + 2, columns[row] + offset + 1)
        return attribute

    assert color(0, 0) == color(1, 0)
    # The rest of the line has the color of the current row.
    assert color(0, -1) != color(1, -1)


def test_words_of_the_question_are_highlighted_in_the_list(editor: Editor) -> None:
    editor.command("Winnow code search_type=text migration_plan")
    screen = editor.finished()
    results = box(screen, " search: ")
    row = next(
        row for row in range(results.top, results.bottom) if "migration_plan(" in screen[row]
    )
    column = screen[row].index("migration_plan", results.left) + 1
    colors = [editor.nvim.call("screenattr", row + 1, column + offset) for offset in range(15)]
    assert len(set(colors[:-1])) == 1, "the word has one color"
    assert colors[-1] != colors[0]


def test_question_mark_lists_the_keys(editor: Editor) -> None:
    editor.command("Winnow grep")
    editor.see("Type a query. ? lists the keys.")
    editor.press("<Esc>")
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.press("?")
    screen = editor.see("switch query and filter")
    assert "<C-g>" in box(screen, " keys ").text
    assert "╰ <C-f> scrolls ─" in "\n".join(screen)
    editor.press("<C-f>")
    editor.see("? <F1>               these keys")
    editor.press("<C-_>")
    assert box(editor.see(" details "), " details ").lines[0].endswith("base.py:586")
    editor.press("?")
    editor.see("switch query and filter")
    # In a query it is a letter.
    editor.press("?")
    editor.gone("switch query and filter")
    editor.press("a?")
    editor.see("> a?")


def test_the_preview_scrolls_by_line_and_sideways(editor: Editor) -> None:
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    screen = editor.see("10 class MigrationExecutor")
    before = box(screen, " django/db/migrations/executor.py ").lines
    editor.press("<C-e>")
    after = box(editor.screen(), " django/db/migrations/executor.py ").lines
    assert after[:-1] == before[1:]
    editor.press("<M-Right>")
    editor.see(" 10 ationExecutor:")
    editor.press("<M-Left>")
    editor.see("10 class MigrationExecutor")


def test_resume_shows_the_same_rows(editor: Editor) -> None:
    editor.command("Winnow grep import")
    editor.finished()
    for keys in ("<Down><Down>", "<PageDown><PageDown><Up>"):
        editor.press(keys)
        before = box(editor.screen(), " grep: import ").lines
        editor.press("<Esc>")
        assert_closed(editor)
        editor.command("Winnow resume")
        assert box(editor.see(" grep: import "), " grep: import ").lines == before


def test_the_history_opens_in_the_picker(editor: Editor) -> None:
    editor.command("Winnow grep migration_plan")
    editor.finished()
    editor.press("<Esc>")
    editor.command("Winnow symbols MigrationExecutor")
    editor.finished()
    editor.press("<Esc>")
    editor.command("Winnow history")
    screen = editor.see(" search again ")
    assert [line.split() for line in box(screen, " search again ").lines[:2]] == [
        ["MigrationExecutor", "symbols"],
        ["migration_plan", "grep"],
    ]
    editor.press("plan<CR>")
    editor.see(" grep: migration_plan ")


@pytest.mark.parametrize("background", ["dark", "light"])
def test_sixty_columns_have_a_preview_and_readable_colors(editor: Editor, background: str) -> None:
    editor.nvim.ui_try_resize(60, 20)
    editor.nvim.command(f"set background={background}")
    try:
        editor.command("Winnow grep class MigrationExecutor:")
        screen = editor.see("executor.py:10 ")
        results = box(screen, " grep: ")
        assert "executor.py:10 " in results.lines[0]
        assert "class MigrationExecutor:" in results.lines[0]
        preview = box(screen, " django/db/migrations/executor.py ")
        assert preview.top == results.bottom + 1
        assert "10 class MigrationExecutor" in preview.text
        # The groups have colors of both backgrounds.
        for group in ("WinnowName", "WinnowMatch", "WinnowReason", "WinnowCurrent"):
            shown = editor.lua(
                "return vim.api.nvim_get_hl(0, { name = ..., link = true }).link", group
            )
            assert editor.lua("return next(vim.api.nvim_get_hl(0, { name = ... })) ~= nil", shown)
        editor.press("<Esc>")
        assert_closed(editor)
    finally:
        editor.nvim.command("set background=dark")
        editor.nvim.ui_try_resize(130, 34)


@pytest.mark.parametrize(
    ("columns", "lines"), [(200, 50), (130, 34), (110, 30), (100, 30), (99, 30), (80, 26), (60, 20)]
)
def test_lines_of_code_and_reasons_line_up(editor: Editor, columns: int, lines: int) -> None:
    editor.nvim.ui_try_resize(columns, lines)
    try:
        editor.command("Winnow keyword how are migrations ordered -- MigrationExecutor migrate")
        editor.finished()
        screen = editor.see("╰ defines MigrationExecutor")
        results = box(screen, " keyword search: ")
        rows = [line for line in results.lines if line]
        assert len(rows) > 4
        assert all(line.startswith("  ") and line[2] != " " for line in rows)
        first = rows[0]
        code = first.index("def ")
        assert first.startswith("  executor.py:")
        # The columns of files, code and reasons start at the same place in each row.
        assert all(line[code - 2 : code] == "  " and line[code] != " " for line in rows)
        # Side by side on fewer than 130 columns, only the preview shows the reason.
        if columns in (200, 130, 99, 80):
            reason = first.index("defines ")
            assert all(line[reason - 2 : reason] == "  " and line[reason] != " " for line in rows)
            code_color, reason_color = (
                editor.nvim.call("screenattr", results.top + 2, results.left + 2 + column)
                for column in (code, reason)
            )
            assert code_color != reason_color
        else:
            assert "defines" not in results.text
        assert (box(screen, " django/").left > results.left) == (columns >= 100)
    finally:
        editor.nvim.ui_try_resize(130, 34)


def test_resizing_while_results_arrive(editor: Editor) -> None:
    """The windows follow the screen, the cursor stays on its result, and the layout changes."""
    editor.nvim.command("let v:errmsg = ''")
    editor.nvim.input(":Winnow grep import<CR>")
    editor.wait("results", lambda: editor.lua("return #require('winnow.picker').get().shown > 3"))
    editor.press("<Down><Down>")
    before = editor.lua("return require('winnow.picker').get():item().key")
    try:
        for columns, lines in ((80, 26), (60, 20), (40, 12), (200, 50), (130, 34)):
            editor.nvim.ui_try_resize(columns, lines)
            editor.press("<Down><Up>")
            screen = editor.see(" grep: import ")
            results = box(screen, " grep: import ")
            assert box(screen, " filter ").bottom < results.top
            assert results.right - results.left < columns
        screen = editor.finished()
    finally:
        editor.nvim.ui_try_resize(130, 34)
    assert editor.nvim.eval("v:errmsg") == ""
    assert editor.lua("return require('winnow.picker').get():item().key") == before
    assert " 3/500 ╯" in "\n".join(screen)


# A language server in Neovim itself that finds one reference, in the second line.
SECOND_SERVER = """
    vim.lsp.config('second', {
      root_markers = { '.git' },
      cmd = function()
        local closing = false
        return {
          request = function(method, params, done)
            local result = vim.NIL
            if method == 'initialize' then
              result = { capabilities = { referencesProvider = true, definitionProvider = true } }
            elseif method ~= 'shutdown' then
              local at = { line = 1, character = 0 }
              local range = { start = at, ['end'] = at }
              result = { { uri = params.textDocument.uri, range = range } }
            end
            done(nil, result)
            return true, 1
          end,
          notify = function(method)
            closing = closing or method == 'exit'
          end,
          is_closing = function()
            return closing
          end,
          terminate = function()
            closing = true
          end,
        }
      end,
    })
    vim.lsp.enable({ 'winnow', 'second' })
    vim.cmd.filetype('on')
"""
BOTH_RUN = """
    local clients = vim.lsp.get_clients({ bufnr = 0 })
    return #clients == 2 and clients[1].initialized and clients[2].initialized
"""


def test_beside_another_language_server_references_appear_once(start: Start) -> None:
    editor = start(more=SECOND_SERVER)
    editor.nvim.command("edit django/db/migrations/executor.py")
    editor.wait("both servers", lambda: editor.lua(BOTH_RUN))
    editor.press("10G0wgrr")
    editor.wait("references", lambda: editor.nvim.call("getqflist"))
    assert [entry["lnum"] for entry in editor.nvim.call("getqflist")] == [2]
    editor.see("executor.py|2")
    editor.press(":cclose<CR>10G")
    # The picker works beside it, and a definition is a jump without a list.
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.press("<CR>")
    opened(editor, "executor.py", 10)
    editor.lua("vim.lsp.buf.definition()")
    editor.wait("the definition", lambda: editor.nvim.eval("line('.')") == 2)
    assert len(editor.nvim.windows) == 1


PICKERS = {
    "telescope": (["WINNOW_TELESCOPE", "WINNOW_PLENARY"], "Telescope buffers"),
    "fzf-lua": (["WINNOW_FZF_LUA"], "FzfLua buffers"),
    "snacks": (["WINNOW_SNACKS"], "lua require('snacks').picker.buffers()"),
}


@pytest.mark.parametrize("name", PICKERS)
def test_another_picker_can_be_open(start: Start, name: str) -> None:
    variables, command = PICKERS[name]
    folders = [os.environ.get(variable, "") for variable in variables]
    if not all(folders):
        pytest.skip(f"{' and '.join(variables)} are not set")
    if name == "fzf-lua" and not shutil.which("fzf"):
        pytest.skip("fzf is not installed")
    more = "\n".join(f"vim.opt.runtimepath:append('{folder}')" for folder in folders)
    more += "\nvim.cmd.runtime('plugin/telescope.lua plugin/fzf-lua.lua')"
    editor = start(more=more)
    editor.nvim.command("edit django/db/migrations/executor.py")
    # Ours over the other one.
    editor.nvim.command(command)
    editor.see("executor.py")
    editor.wait("its prompt", lambda: editor.nvim.api.get_mode()["mode"] in ("i", "t"))
    editor.nvim.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.see("executor.py:10 ")
    editor.press("<CR>")
    editor.wait("the picker to close", lambda: is_closed(editor))
    # The other one over ours, which closes.
    editor.press(r"<C-\><C-n>")
    editor.reset()
    editor.nvim.command("edit django/db/migrations/executor.py")
    editor.command("Winnow grep class MigrationExecutor:")
    editor.finished()
    editor.nvim.command(command)
    editor.wait("the picker to close", lambda: is_closed(editor))
    editor.press("exec")
    editor.see("executor.py")
