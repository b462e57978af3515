"""A real Neovim with a screen, for the tests: attached over its RPC, or in a terminal."""

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
# The one limit of all waits: a server that starts beside other work takes its time.
WAIT_SECONDS = 60.0

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


def setup_lua(options: str = "", index: bool = False, more: str = "", model: str = "") -> str:
    """What a user's init.lua would have; ``model`` is the address of the only language model."""
    at = f"base_url = '{model}/v1', plain_http = true"
    wire = f"wire = {{ provider = 'openai', model = 'wire-1', {at} }}"
    only = f"deadline_seconds = {2 * WAIT_SECONDS}, preferred = {{ 'wire' }}, models = {{ {wire} }}"
    llm = f"llm = {{ {only} }}," if model else ""
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
    """A window with a border, as it stands on the screen: rows and columns from 0."""

    top: int
    left: int
    bottom: int
    right: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def box(screen: list[str], title: str) -> Box:
    """Return the window with this in its upper border, which nothing may cover."""
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
    """An environment without settings, keys and state of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "DATA", "CONFIG")}
    return {**kept, **folders, "XDG_CACHE_HOME": str(home / "cache"), "TERM": "xterm-256color"}


class Editor:
    """Neovim with an attached screen of 130 columns and 34 lines."""

    def __init__(self, folder: Path, home: Path, **setup: Any) -> None:
        nvim = shutil.which("nvim") or "nvim"
        argv = [nvim, "--embed", "-u", "NONE", "-i", "NONE", "--cmd", f"cd {folder}"]
        # pynvim hands on its own environment.
        before, own = os.environ.copy(), environment(home)
        os.environ.clear()
        os.environ.update(own)
        try:
            self.nvim = pynvim.attach("child", argv=argv)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.pid: int = self.nvim.eval("getpid()")
        self.nvim.ui_attach(COLUMNS, LINES, rgb=True)
        self.lua(setup_lua(**setup))

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def press(self, keys: str) -> None:
        """Type keys as somebody does, and go on when Neovim has taken them.

        A prompt that waits for Enter is a failure: nothing of the plugin is to cause one.
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

    def wait(self, what: str, condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> Any:
        """What a condition gives as soon as it gives something."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"waited in vain: {what}\n" + "\n".join(self.screen()))

    def see(self, text: str) -> list[str]:
        """The screen, when a text stands on it."""

        def seen() -> list[str] | None:
            screen = self.screen()
            return screen if any(text in line for line in screen) else None

        found: list[str] = self.wait(f"{text!r} on the screen", seen)
        return found

    def gone(self, text: str) -> None:
        """Wait until a text stands on the screen no more."""
        self.wait(f"{text!r} to go", lambda: not any(text in line for line in self.screen()))

    def place(self) -> tuple[str, int, int]:
        """The current file, line and column, from 1, in bytes."""
        name = Path(self.nvim.eval("expand('%:p')")).name
        return name, self.nvim.eval("line('.')"), self.nvim.eval("col('.')")

    def close(self) -> None:
        if self.nvim.api.get_mode()["blocking"]:
            self.nvim.input("<C-c>")
        self.lua(
            "for _, c in ipairs(vim.lsp.get_clients()) do c:stop() end"
            " vim.wait(20000, function() return #vim.lsp.get_clients() == 0 end, 10)"
        )
        started = [self.pid, *descendants(self.pid)]
        with contextlib.suppress(OSError, EOFError):
            self.nvim.command("qall!")
        self.nvim.close()
        end(started)

    def reset(self) -> None:
        """Leave nothing to the next test but the server."""
        self.lua(RESET)
        self.wait("normal mode", lambda: self.nvim.eval("mode()") == "n")


def children(pid: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(one) for one in task.read_text().split()]
        except OSError:
            continue
    return found


def descendants(pid: int) -> dict[int, str]:
    """All processes below a process, by the names of their programs."""
    found = {}
    for child in children(pid):
        try:
            found[child] = Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            continue
        found |= descendants(child)
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def end(pids: list[int]) -> None:
    """Wait until processes have ended that are about to; it fails where one had to be killed."""
    until = time.monotonic() + WAIT_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    left = [pid for pid in pids if is_running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"{left} had to be killed"


class Terminal:
    """Neovim in a terminal, whose screen has colours."""

    def __init__(self, folder: Path, home: Path, **setup: Any) -> None:
        init = home / "init.lua"
        init.write_text(setup_lua(**setup))
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._side, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            ["nvim", "-u", str(init), "-i", "NONE", "+set termguicolors"],
            cwd=folder,
            env={**environment(home), "COLORTERM": "truecolor"},
            stdin=there,
            stdout=there,
            stderr=there,
            start_new_session=True,
        )
        os.close(there)

    def read(self, seconds: float) -> None:
        """Take what Neovim draws, until it has drawn nothing for so long."""
        until = time.monotonic() + WAIT_SECONDS
        while select.select([self._side], [], [], seconds)[0] and time.monotonic() < until:
            try:
                self._stream.feed(os.read(self._side, 65536))
            except OSError:
                return

    def type(self, keys: str) -> None:
        os.write(self._side, keys.encode())

    def _shows(self, text: str) -> bool:
        return any(text in line for line in self.screen.display)

    def see(self, *texts: str) -> None:
        """Wait until all these texts stand on the screen."""
        self._wait(f"{texts} on the screen", lambda: all(map(self._shows, texts)))

    def gone(self, text: str) -> None:
        """Wait until a text stands on the screen no more."""
        self._wait(f"{text!r} to go", lambda: not self._shows(text))

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while not condition():
            self.read(0.05)
            if time.monotonic() > until:
                screen = "\n".join(self.screen.display)
                raise AssertionError(f"waited in vain: {what}\n{screen}")

    def close(self) -> None:
        started = [*descendants(self._process.pid)]
        self.type("\x1b\x1b:qall!\r")
        until = time.monotonic() + WAIT_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            # What it draws has to be read, or it waits.
            self.read(0.05)
        self._process.kill()
        self._process.wait()
        os.close(self._side)
        end(started)
