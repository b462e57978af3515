"""Places in repositories of a cluster, as answers print them: `team/project:src/a.py:12-40`."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from winnow.text.paths import place_of

REPOSITORY = r"[A-Za-z0-9_][A-Za-z0-9._/-]*(?:@[A-Za-z0-9._/+-]+)?"
_PLACE = re.compile(rf"({REPOSITORY}):(.+)", re.S)
_ONLY_LINES = re.compile(r"[0-9]+(?:[:-][0-9]+)*:?")


class SharedPlace(NamedTuple):
    """A file of a repository, and the lines of the place, if it names some. The branch is part of
    the ``repository``; ``commit`` is that of an answer, or empty."""

    repository: str
    path: str
    lines: tuple[int, int | None] | None = None
    commit: str = ""


def shared_place(text: str) -> SharedPlace | None:
    """Return the place in a repository that a text names, if it is one."""
    found = _PLACE.fullmatch(text)
    if not found or found[2].startswith(":") or _ONLY_LINES.fullmatch(found[2]):
        return None
    place = place_below(found[1], found[2])
    return place if is_inside(place.path) else None


def place_below(repository: str, path: str, commit: str = "") -> SharedPlace:
    """Return the place of a path in a repository, such as `src/a.py:12`."""
    path, lines = place_of(path) or (path, None)
    return SharedPlace(repository, path.removeprefix("./"), lines, commit)


def is_inside(path: str) -> bool:
    """Return True for a path that cannot lead out of a folder."""
    parts = path.split("/")
    return (
        bool(path)
        and "\0" not in path
        and not {"", ".", ".."} & set(parts)
        and (os.sep == "/" or (os.sep not in path and ":" not in path))
    )
