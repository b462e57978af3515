"""Collect the names that the kernel's source defines, and generate trees that define many names."""

from __future__ import annotations

import keyword
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from winnow.symbols.search.match import boundaries

# If more names are needed than these folders define, existing names are combined.
PARTS = ("kernel", "mm", "fs", "lib", "net", "block", "include", "sound", "drivers/net")
_DEFINED = re.compile(
    rb"^(?:#define\s+(\w{3,})|(?:struct|union|enum)\s+(\w{3,})\s*\{"
    rb"|(?:[a-z_]\w*[\s*]+){1,5}(\w{3,})\s*\((?!.*;\s*$)|\t([A-Z][A-Z0-9_]{3,})\s*(?:=.*)?,$)",
    re.MULTILINE,
)
# Definitions per file, and files per folder.
IN_FILE = 50
IN_FOLDER = 100


def kernel_names(kernel: Path, count: int, seed: int) -> list[str]:
    """Return `count` names in the order of the files; a name repeats for each definition."""
    names: list[str] = []
    for name in _defined(kernel):
        names.append(name)
        if len(names) == count:
            return names
    choice, defined = random.Random(seed), len(names)
    while len(names) < count:
        first, second = names[choice.randrange(defined)], names[choice.randrange(defined)]
        names.append(f"{first}_{second}")
    return names


def _defined(kernel: Path) -> Iterator[str]:
    for part in PARTS:
        for file in sorted((kernel / part).rglob("*.[ch]")):
            for found in _DEFINED.finditer(file.read_bytes()):
                name = found[found.lastindex or 0].decode("ascii", "replace")
                if name.isidentifier() and not keyword.iskeyword(name):
                    yield name


def write_tree(folder: Path, names: Sequence[str]) -> Path:
    """Write files that define each of the names, and return their folder."""
    for number, first in enumerate(range(0, len(names), IN_FILE)):
        file = folder / f"part{number // IN_FOLDER}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        defined = names[first : first + IN_FILE]
        file.write_text("".join(f"def {name}():\n    pass\n\n\n" for name in defined), "utf-8")
    return folder


def queries(names: Sequence[str], count: int, seed: int) -> list[str]:
    """Return queries that a user might type to find some of the names."""
    choice = random.Random(seed)
    found: list[str] = []
    for name in choice.sample(names, count // 5 + 1):
        low = name.lower()
        subsequence = "".join(letter for letter in low if choice.random() < 0.6)
        initials = [letter for letter, begins in zip(name, boundaries(name), strict=True) if begins]
        found += [low[:3], low[:6], subsequence or low, "".join(initials), name]
    return found[:count]
