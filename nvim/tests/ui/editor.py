"""Run a real Neovim with a screen, attached over RPC or in a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvim
import pyte

PLUGIN = Path(__file__).parents[2]
COMMAND = os.environ.get("WINNOW_COMMAND", f"{sys.executable} -m winnow serve").split()
COLUMNS, LINES = 130, 34
# The timeout of all waits. A server starts slowly on a busy machine.
WAIT_SECONDS = float(os.environ.get("WINNOW_WAIT", "60"))

SCREEN = """
local lines = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  lines[row] = table.concat(cells)
end
return lines
"""

FINISHED = """
local picker = require('winnow.picker').get()
return picker and picker.running and not picker.running.busy and not picker.draw_pending
"""


def setup_lua(options: str = "", index: bool = False, more: str = "", model: str = "") -> str:
    """Return a user's init.lua. ``model`` is the address of the only language model."""
    address = f"base_url = '{model}/v1', plain_http = true"
    wire = f"wire = {{ provider = 'openai', model = 'wire-1', {address} }}"
    settings = (
        f"deadline_seconds = {2 * WAIT_SECONDS}, preferred = {{ 'wire' }}, models = {{ {wire} }}"
    )
    llm = f"llm = {{ {settings} }}," if model else ""
    command = "{" + ", ".join(f"'{word}'" for word in COMMAND) + "}"
    return f"""
        vim.opt.swapfile = false
        vim.opt.runtimepath:prepend('{PLUGIN}')
        {more}
        vim.cmd.runtime('plugin/winnow.lua')
        vim.lsp.config('winnow', {{
          cmd = {command},
          settings = {{
            winnow = {{
              index = {{ enabled = {str(index).lower()} }},
              learning = {{ enabled = false }},
              {llm}
            }},
          }},
        }})
        require('winnow').setup({{ {options} }})
    """


RESET = """
local picker = package.loaded['winnow.picker']
if picker and picker.get() then
  picker.get():close()
end
vim.cmd.stopinsert()
vim.cmd('silent! only | silent! tabonly | enew')
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if buf ~= vim.api.nvim_get_current_buf() then
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
end
vim.fn.setqflist({}, 'f')
vim.cmd.echo()
"""


@dataclass(frozen=True)
class Box:
    """The screen area and lines of a window with a border. Rows and columns count from 0."""

    top: int
    left: int
    bottom: int
    right: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def box(screen: list[str], title: str) -> Box:
    """Return the window with this title in its upper border. Fail if something covers it."""
    top = next(row for row, line in enumerate(screen) if "╭" in line and title in line)
    at = screen[top].index(title)
    left, right = screen[top].rindex("╭", 0, at), screen[top].index("╮", at)
    bottom = top + 1
    while screen[bottom][left] != "╰":
        assert screen[bottom][left] + screen[bottom][right] == "││", screen[bottom]
        bottom += 1
    assert screen[bottom][right] == "╯", screen[bottom]
    lines = [line[left + 1 : right].rstrip() for line in screen[top + 1 : bottom]]
    return Box(top, left, bottom, right, lines)


def environment(home: Path) -> dict[str, str]:
    """Return an environment without the user's settings, keys and state."""
    without_keys = {
        name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")
    }
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "DATA", "CONFIG")}
    folders["XDG_CACHE_HOME"] = str(home / "cache")
    return {**without_keys, **folders, "TERM": "xterm-256color"}


class Editor:
    """Neovim with an attached screen of 130 columns and 34 lines."""

    def __init__(self, folder: Path, home: Path, **setup: Any) -> None:
        nvim = shutil.which("nvim") or "nvim"
        argv = [nvim, "--embed", "-u", "NONE", "-i", "NONE", "--cmd", f"cd {folder}"]
        # pynvim passes its own environment to Neovim.
        original, isolated = os.environ.copy(), environment(home)
        os.environ.clear()
        os.environ.update(isolated)
        try:
            self.nvim = pynvim.attach("child", argv=argv)
        finally:
            os.environ.clear()
            os.environ.update(original)
        self.pid: int = self.nvim.eval("getpid()")
        self.nvim.ui_attach(COLUMNS, LINES, rgb=True)
        self.lua(setup_lua(**setup))

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def press(self, keys: str) -> None:
        """Type keys and wait until Neovim has processed them.

        Fail if a prompt waits for Enter, because the plugin must not cause one.
        """
        self.nvim.input(keys)
        for _ in range(8):
            mode = self.nvim.api.get_mode()
            if mode["blocking"]:
                self.nvim.input("<CR>")
                raise AssertionError(f"after {keys}, Neovim waits for a key ({mode['mode']})")
            time.sleep(0.01)

    def command(self, text: str) -> None:
        """Type a command line."""
        self.press(f":{text.replace('<', '<lt>')}<CR>")

    def screen(self) -> list[str]:
        lines: list[str] = self.lua(SCREEN)
        return lines

    def wait(
        self, description: str, condition: Callable[[], Any], seconds: float = WAIT_SECONDS
    ) -> Any:
        """Wait until a condition returns a true value, and return that value."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"timed out waiting for {description}\n" + "\n".join(self.screen()))

    def see(self, text: str) -> list[str]:
        """Wait until a text is on the screen, and return the screen."""

        def screen_with_text() -> list[str] | None:
            screen = self.screen()
            return screen if any(text in line for line in screen) else None

        screen: list[str] = self.wait(f"{text!r} on the screen", screen_with_text)
        return screen

    def finished(self) -> list[str]:
        """Wait until the picker shows the complete answer, and return the screen."""
        self.wait("the end of the search", lambda: self.lua(FINISHED))
        return self.screen()

    def gone(self, text: str) -> None:
        """Wait until a text is no longer on the screen."""
        self.wait(f"{text!r} to disappear", lambda: not any(text in line for line in self.screen()))

    def place(self) -> tuple[str, int, int]:
        """Return the current file, line and column, from 1, in bytes."""
        name = Path(self.nvim.eval("expand('%:p')")).name
        return name, self.nvim.eval("line('.')"), self.nvim.eval("col('.')")

    def close(self) -> None:
        if self.nvim.api.get_mode()["blocking"]:
            self.nvim.input("<C-c>")
        self.lua(
            "for _, c in ipairs(vim.lsp.get_clients()) do c:stop() end"
            " vim.wait(20000, function() return #vim.lsp.get_clients() == 0 end, 10)"
        )
        pids = [self.pid, *descendants(self.pid)]
        with contextlib.suppress(OSError, EOFError):
            self.nvim.command("qall!")
        self.nvim.close()
        wait_for_exit(pids)

    def reset(self) -> None:
        """Reset everything for the next test, except the server."""
        self.lua(RESET)
        self.wait("normal mode", lambda: self.nvim.eval("mode()") == "n")


def children(pid: int) -> list[int]:
    """Return the running children of a process."""
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids += [int(child) for child in task.read_text().split()]
        except OSError:
            continue
    return pids


def descendants(pid: int) -> dict[int, str]:
    """Return the descendants of a process with the names of their programs."""
    names = {}
    for child in children(pid):
        try:
            names[child] = Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            continue
        names |= descendants(child)
    return names


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for_exit(pids: list[int]) -> None:
    """Wait until the processes exit. Kill those that don't, and fail."""
    deadline = time.monotonic() + WAIT_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    remaining = [pid for pid in pids if is_running(pid)]
    for pid in remaining:
        os.kill(pid, signal.SIGKILL)
    assert not remaining, f"{remaining} did not exit and were killed"


class Terminal:
    """Neovim in a terminal with colors."""

    def __init__(
        self, folder: Path, home: Path, columns: int = COLUMNS, lines: int = LINES, **setup: Any
    ) -> None:
        init = home / "init.lua"
        init.write_text(setup_lua(**setup))
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self._terminal, child_side = pty.openpty()
        fcntl.ioctl(child_side, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process = subprocess.Popen(
            ["nvim", "-u", str(init), "-i", "NONE", "+set termguicolors"],
            cwd=folder,
            env={**environment(home), "COLORTERM": "truecolor"},
            stdin=child_side,
            stdout=child_side,
            stderr=child_side,
            start_new_session=True,
        )
        os.close(child_side)

    def read(self, seconds: float) -> None:
        """Read Neovim's output until there is none for this time."""
        deadline = time.monotonic() + WAIT_SECONDS
        while select.select([self._terminal], [], [], seconds)[0] and time.monotonic() < deadline:
            try:
                self._stream.feed(os.read(self._terminal, 65536))
            except OSError:
                return

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def _shows(self, text: str) -> bool:
        return any(text in line for line in self.screen.display)

    def see(self, *texts: str) -> None:
        """Wait until all these texts are on the screen."""
        self._wait(f"{texts} on the screen", lambda: all(map(self._shows, texts)))

    def gone(self, text: str) -> None:
        """Wait until a text is no longer on the screen."""
        self._wait(f"{text!r} to disappear", lambda: not self._shows(text))

    def _wait(self, description: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            self.read(0.05)
            if time.monotonic() > deadline:
                screen = "\n".join(self.screen.display)
                raise AssertionError(f"timed out waiting for {description}\n{screen}")

    def close(self) -> None:
        pids = [*descendants(self._process.pid)]
        self.type("\x1b\x1b:qall!\r")
        deadline = time.monotonic() + WAIT_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            # Read its output, or it blocks.
            self.read(0.05)
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
        wait_for_exit(pids)
