"""Damage the files of an index at random, as a failing disk does."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from pathlib import Path

PAGE = 4096


def flip(file: Path, drawn: random.Random) -> None:
    with file.open("r+b") as opened:
        for _ in range(drawn.choice([1, 1, 50])):
            opened.seek(drawn.randrange(file.stat().st_size))
            byte = opened.read(1)[0]
            opened.seek(-1, os.SEEK_CUR)
            opened.write(bytes([byte ^ 1 << drawn.randrange(8)]))


def truncate(file: Path, drawn: random.Random) -> None:
    os.truncate(file, drawn.randrange(file.stat().st_size))


def zero(file: Path, drawn: random.Random) -> None:
    size = file.stat().st_size
    at = drawn.randrange(size)
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(bytes(min(drawn.choice([1, 100, 4096, 100_000]), size - at)))


def zero_pages(file: Path, drawn: random.Random) -> None:
    """Write zeros over whole pages."""
    pages = -(-file.stat().st_size // PAGE)
    with file.open("r+b") as opened:
        opened.seek(PAGE * drawn.randrange(pages))
        opened.write(bytes(PAGE * drawn.choice([1, 1, 4])))


def swap(file: Path, drawn: random.Random) -> None:
    """Exchange two ranges of a file."""
    raw = bytearray(file.read_bytes())
    size = min(drawn.choice([16, 512, 4096]), len(raw) // 2)
    first, second = drawn.randrange(len(raw) - size + 1), drawn.randrange(len(raw) - size + 1)
    raw[first : first + size], raw[second : second + size] = (
        raw[second : second + size],
        raw[first : first + size],
    )
    with file.open("r+b") as opened:
        opened.write(raw)


def exchange(file: Path, drawn: random.Random) -> None:
    """Replace a file with another file of its kind."""
    others = sorted(file.parent.glob(f"*{file.suffix}"))
    shutil.copyfile(drawn.choice(others), file.with_name("copy"))
    file.with_name("copy").replace(file)


def delete(file: Path, drawn: random.Random) -> None:
    file.unlink()


DAMAGES = [flip, truncate, zero, zero_pages, swap, exchange, delete]


def damage(root: Path, drawn: random.Random) -> str:
    """Damage a file of a root's index at random. Return which and how."""
    while True:
        # A server that runs may delete or empty what has been drawn.
        with contextlib.suppress(FileNotFoundError, ValueError):
            return _damage_drawn(root, drawn)


def _damage_drawn(root: Path, drawn: random.Random) -> str:
    endings = (".db", ".db-wal", ".seg")
    files = [
        file
        for file in sorted((root / ".winnow").iterdir())
        if file.name.endswith(endings) and file.stat().st_size
    ]
    ending = drawn.choice(sorted({file.suffix for file in files}))
    file = drawn.choice([file for file in files if file.suffix == ending])
    how = drawn.choice(DAMAGES)
    how(file, drawn)
    return f"{how.__name__} of {file.name}"
