"""Open documents with unsaved changes, laid out so that ripgrep finds their text, not the disk's.

Their text is written to a private temporary folder, in the shape of the roots they belong to, and
searched there; what the search finds of the same files on disk does not count. An open document
counts even where ignore files exclude it: someone is working on it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from winnow.text.files import Scope


class Overlay(Struct, frozen=True):
    """Unsaved documents: ``folders`` to search in, each with the prefix that makes its files'
    paths those of the scope; ``paths`` are all of these."""

    folders: tuple[tuple[Path, str], ...] = ()
    paths: frozenset[str] = frozenset()


@contextlib.contextmanager
def unsaved(buffers: Mapping[Path, str], scope: Scope) -> Iterator[Overlay]:
    """The documents in scope whose text is not what is on disk, for the time of the block."""
    changed = [
        (place, below, text)
        for path, text in buffers.items()
        for place, below in _places(path, scope)
        if _differs(path, text)
    ]
    if not changed:
        yield Overlay()
        return
    with tempfile.TemporaryDirectory(prefix="winnow-") as temporary:
        paths = set()
        for place, below, text in changed:
            file = Path(temporary, str(place), below)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8", "replace", newline="")
            paths.add(_prefix(scope, place) + below)
        folders = tuple(
            (Path(temporary, str(place)), _prefix(scope, place))
            for place in sorted({place for place, _, _ in changed})
        )
        yield Overlay(folders, frozenset(paths))


def _places(path: Path, scope: Scope) -> Iterator[tuple[int, str]]:
    """The root that the path is below, if it is in scope, and the path from there, with `/`."""
    for place, root in enumerate(scope.roots):
        with contextlib.suppress(ValueError):
            below = path.relative_to(root).as_posix()
            searched = scope.paths[place]
            only = Path(searched).as_posix() if place == 0 else "."
            if only == "." or below == only or below.startswith(f"{only}/"):
                yield place, below
            return


def _prefix(scope: Scope, place: int) -> str:
    return f"{scope.roots[place]}{os.sep}" if place else ""


def _differs(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() != text.encode("utf-8", "surrogatepass")
    except OSError:
        return True
