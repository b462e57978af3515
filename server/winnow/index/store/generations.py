"""Find and delete the databases of a folder, by the version that wrote them and by generation."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import winnow
from winnow.index.store.rows import SCHEMA_VERSION
from winnow.storage import database
from winnow.storage.lock import locked_briefly

# Longest wait for another process's transaction, which takes some tenths of a second.
BUSY_SECONDS = 10.0
# Databases of other versions of Winnow are deleted when they have not been written for this time.
OLD_SECONDS = 6 * 3600.0
BUILDING = ".building"
_GENERATION = re.compile(r"index-[0-9a-f]+(?:\.(\d+))?\.db")
# Folders and files whose code decides what is stored.
CODE_FOLDERS = ("symbols", "index/postings", "privacy/secrets")
CODE_FILES = ("index/builder/extraction.py", "index/store/file_record.py")


@functools.cache
def version(variant: str = "") -> str:
    """Return the version of the stored data: it depends on the tables, the code that extracts
    symbols and contents, the grammars, and the settings that ``variant`` stands for."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    seed = f"{SCHEMA_VERSION} {winnow.__version__} {variant}"
    digest = hashlib.blake2b(seed.encode(), digest_size=6)
    for name in ("tree-sitter", "tree-sitter-language-pack"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(version_of(name).encode())
    for package in map(Path, winnow.__path__):
        for folder in CODE_FOLDERS:
            for file in sorted((package / folder).rglob("*.py")):
                digest.update(file.read_bytes())
        for name in CODE_FILES:
            digest.update((package / name).read_bytes())
    return digest.hexdigest()


def generations(folder: Path, kind: str) -> list[Path]:
    """Return the databases of a version, the newest first."""
    numbered = [
        (int(found[1] or 0), file)
        for file in folder.glob(f"index-{kind}*.db")
        if (found := _GENERATION.fullmatch(file.name))
    ]
    return [file for _, file in sorted(numbered, reverse=True)]


def is_building(file: Path) -> bool:
    """Return True if a database is an unfinished successor."""
    return os.path.lexists(building_mark(file))


def delete_files(file: Path) -> None:
    """Delete a database and its segments; ignore files that cannot be deleted."""
    database.delete_database(file)
    _delete_segments(file)
    with contextlib.suppress(OSError):
        building_mark(file).unlink(missing_ok=True)


def _delete_segments(file: Path) -> None:
    for segment in file.parent.glob(f"{file.stem}-*.seg*"):
        with contextlib.suppress(OSError):
            segment.unlink()


def building_mark(file: Path) -> Path:
    return file.with_suffix(BUILDING)


def next_file(folder: Path, kind: str) -> Path:
    """Return the path of the next database of a version."""
    found = generations(folder, kind)
    newest = _GENERATION.fullmatch(found[0].name) if found else None
    generation = int(newest[1] or 0) + 1 if newest else 0
    return folder / (f"index-{kind}.{generation}.db" if generation else f"index-{kind}.db")


@contextlib.contextmanager
def exclusive(folder: Path, kind: str) -> Iterator[None]:
    """Keep other processes from opening or deleting a store within the block: opening one between
    two steps would write into the log of another."""
    with locked_briefly(folder / f"index-{kind}.open", BUSY_SECONDS):
        yield


def delete_old(folder: Path, kind: str) -> None:
    """Delete stores of other versions, unless a process has written them lately."""
    limit = time.time() - OLD_SECONDS
    for file in (*folder.glob("index-*.db*"), *folder.glob("symbols-*.db*")):
        with contextlib.suppress(OSError):
            if not file.name.startswith(f"index-{kind}.") and file.lstat().st_mtime < limit:
                file.unlink()
                for suffix in (".sum", ".lock", ".open", ".damaged", BUILDING):
                    file.with_suffix(suffix).unlink(missing_ok=True)
                _delete_segments(file)
