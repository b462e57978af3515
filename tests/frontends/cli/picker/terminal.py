"""A terminal with a program in it: what is on its screen, and its keys."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

from waiting_for import wait_until

KEYS = {
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "PageUp": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "Enter": "\r",
    "Escape": "\x1b",
    **{f"Ctrl-{letter}": chr(ord(letter) - 64) for letter in "CDNOPUWZ"},
}


ALTERNATE_SCREEN = 1049


class Screen(pyte.Screen):
    """A screen that is empty after a program has left its own, which pyte does not know."""

    def reset_mode(self, *modes: int, **options: Any) -> None:
        super().reset_mode(*modes, **options)
        if options.get("private") and ALTERNATE_SCREEN in modes:
            self.reset()


class Terminal:
    """A terminal. ``output`` is what the program has written."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes], size: tuple[int, int]):
        self._descriptor = descriptor
        self._process = process
        self._screen = Screen(*size)
        self._stream: Any = pyte.ByteStream(self._screen)
        self.output = b""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def press(self, *keys: str) -> None:
        self.type("".join(KEYS[key] for key in keys))

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        set_size(self._descriptor, columns, rows)
        # The kernel tells only programs whose controlling terminal it is.
        self._process.send_signal(signal.SIGWINCH)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def lines(self) -> list[str]:
        """Return the lines on the screen, without blanks at their ends."""
        with contextlib.suppress(BlockingIOError, OSError):  # nothing to read, or the end
            while data := os.read(self._descriptor, 1 << 16):
                self.output += data
                self._stream.feed(data)
        return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        return "\n".join(self.lines())

    def wait_for(self, *texts: str) -> list[str]:
        """Wait until all of these texts are on the screen, and return its lines."""
        wait_until(lambda: all(text in self.text() for text in texts), self.text)
        return self.lines()

    def wait_without(self, text: str) -> list[str]:
        """Wait until a text is no longer on the screen, and return its lines."""
        wait_until(lambda: text not in self.text(), self.text)
        return self.lines()

    def ended(self) -> int:
        """Wait until the program has ended. Return its exit code."""

        def has_ended() -> bool:
            self.lines()  # a program may wait until its output is read
            return self._process.poll() is not None

        wait_until(has_ended, self.text)
        return self._process.wait()


@contextlib.contextmanager
def terminal(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    columns: int = 100,
    rows: int = 24,
) -> Iterator[Terminal]:
    """Run a program in a terminal. It is killed at the end of the block, if it still runs."""
    descriptor, side = pty.openpty()
    try:
        set_size(side, columns, rows)
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"TERM": "xterm-256color", **environment},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
        )
        os.close(side)
        os.set_blocking(descriptor, False)
        try:
            yield Terminal(descriptor, process, (columns, rows))
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(descriptor)


def set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
