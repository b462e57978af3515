"""Measure what a user waits for; run by hand with WINNOW_MEASURE=1.

    WINNOW_MEASURE=1 python -m pytest nvim/tests/ui/test_speed.py -s

With WINNOW_SNACKS, or WINNOW_TELESCOPE and WINNOW_PLENARY, the same typing is measured in the live
grep of these plugins, in the same Neovim and in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from editor import COMMAND, Editor, environment
from test_ui import INDEX_STATE

from conftest import Start

pytestmark = pytest.mark.skipif(
    "WINNOW_MEASURE" not in os.environ, reason="measured by hand: WINNOW_MEASURE is not set"
)

QUESTIONS = [
    "how are migrations ordered and applied",
    "where are sessions ended",
    "how is a query set evaluated lazily",
    "how are templates found and loaded",
    "where are passwords hashed",
    "how does csrf protection work",
    "how are static files collected",
    "where are signals dispatched",
    "how are forms validated",
    "where is the cache key made",
]
TYPED = ["migration_plan", "get_queryset", "class Session", "cached_property", "ValidationError"]
READY = "return (vim.lsp.get_clients({ name = 'winnow' })[1] or {}).initialized == true"
SHOWN = "return #require('winnow.picker').get().shown > 0"
# Note the longest time between two ticks of a timer, which is the time the main loop was blocked.
WATCH = """
    _G.blocked = {}
    local last = vim.uv.hrtime()
    _G.ticks = vim.uv.new_timer()
    _G.ticks:start(1, 1, function()
      local now = vim.uv.hrtime()
      table.insert(_G.blocked, (now - last) / 1e6)
      last = now
    end)
"""
# Return the time until the first row contains the query. Results of its first letters may.
LIVE = """
    local name, query = ...
    local rows = ({
      winnow = function()
        local picker = require('winnow.picker').get()
        local item = picker and picker.shown[1]
        return item and item.text:find(query, 1, true)
      end,
      snacks = function()
        local picker = require('snacks').picker.get()[1]
        local item = picker and picker:items()[1]
        return item and (item.text or ''):find(query, 1, true)
      end,
      telescope = function()
        local state = require('telescope.actions.state')
        local picker = state.get_current_picker(vim.api.nvim_get_current_buf())
        local entry = picker and picker.manager and picker.manager:get_entry(1)
        return entry and (entry.text or ''):find(query, 1, true)
      end,
    })[name]
    local started = vim.uv.hrtime()
    local ok = vim.wait(5000, rows, 1)
    return ok and (vim.uv.hrtime() - started) / 1e6 or -1
"""
OPEN = {
    "winnow": "Winnow grep literal=true",
    "snacks": "lua require('snacks').picker.grep({ regex = false })",
    "telescope": "Telescope live_grep",
}


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def wait_for(editor: Editor, condition: str) -> None:
    editor.wait(condition, lambda: editor.lua(condition))


@pytest.fixture
def indexed(django: Path, tmp_path: Path) -> Path:
    """Django's source, with a complete index on disk."""
    build = [*COMMAND[:-1], "index", "build"]
    subprocess.run(build, cwd=django, env=environment(tmp_path), check=True)
    return django


def test_first_questions_of_new_sessions(
    indexed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times, answers, ready = [], 0, []
    for number in range(20):
        editor = Editor(indexed, tmp_path, index=True)
        question = QUESTIONS[number % len(QUESTIONS)]
        editor.nvim.input(f":Winnow keyword {question}<CR>")
        started = time.perf_counter()
        wait_for(editor, READY)
        ready.append(time.perf_counter() - started)
        started = time.perf_counter()
        wait_for(editor, SHOWN)
        times.append((time.perf_counter() - started) * 1000)
        editor.finished()
        problem = editor.lua("return require('winnow.picker').get().search.problem")
        answers += problem is None
        editor.close()
    with capsys.disabled():
        print(
            f"\nfirst questions: {answers} of 20 answered; first line after the client is ready:"
            f" {statistics.median(times):.0f} ms (median), {max(times):.0f} at most;"
            f" client ready after {statistics.median(ready) * 1000:.0f} ms"
        )
    assert answers == 20


def typing(editor: Editor, name: str, query: str) -> float:
    editor.nvim.command(OPEN[name])
    time.sleep(0.3)
    for letter in query:
        editor.nvim.input("<Space>" if letter == " " else letter)
        time.sleep(0.03)
    milliseconds: float = editor.lua(LIVE, name, query)
    time.sleep(0.3)
    editor.nvim.input("<Esc><Esc>")
    time.sleep(0.3)
    return milliseconds


@pytest.mark.parametrize("index", [True, False])
def test_typing_in_live_modes(
    indexed: Path, start: Start, capsys: pytest.CaptureFixture[str], index: bool
) -> None:
    plugins: dict[str, list[str | None]] = {
        "snacks": [os.environ.get("WINNOW_SNACKS")],
        "telescope": [os.environ.get("WINNOW_TELESCOPE"), os.environ.get("WINNOW_PLENARY")],
    }
    names = ["winnow", *(name for name, folders in plugins.items() if all(folders))]
    more = "\n".join(
        f"vim.opt.runtimepath:append('{folder}')" for name in names[1:] for folder in plugins[name]
    )
    if "snacks" in names:
        more += "\nrequire('snacks').setup({ picker = { enabled = true } })"
    if "telescope" in names:
        more += "\nvim.cmd.runtime('plugin/telescope.lua')"
    editor = start(indexed, more=more, index=index)
    typing(editor, "winnow", "warm")
    if index:
        editor.wait("the index", lambda: editor.lua(INDEX_STATE) == "ready")
    times: dict[str, list[float]] = {name: [] for name in names}
    editor.lua(WATCH)
    blocked: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(4):
        for query in TYPED:
            for name in names:
                editor.lua("_G.blocked = {}")
                times[name].append(typing(editor, name, query))
                blocked[name] += editor.lua("return _G.blocked")
    with capsys.disabled():
        print("\nwith an index:" if index else "\nwithout an index:")
        for name in names:
            found = [value for value in times[name] if value >= 0]
            print(
                f"{name}: last key to first row {statistics.median(found):.0f} ms (median),"
                f" {percentile(found, 0.95):.0f} (p95), {len(times[name]) - len(found)} without;"
                f" main loop blocked {percentile(blocked[name], 0.99):.1f} ms (p99),"
                f" {max(blocked[name]):.0f} at most"
            )
