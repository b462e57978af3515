"""The path that a missing path may mean: for "Did you mean …?" in an error message.

Only the folders along the path are listed, so that an error costs as much as its path is deep.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re

from winnow.storage.paths import is_inside, real_path

# Entries of a folder that are compared; of a larger folder, any that are listed first.
MOST_ENTRIES = 2_000
# As difflib's ratio: `loder.py` and `loader.py` have 0.94, `scr` and `src` 0.67, `a.py` and `b.py`
# 0.75, which is wrong as often as it is right, and does no harm.
ALIKE = 0.65
# `file.py:12`, `file.py:12:5`, `file.py:3-9`, as compilers and editors print places.
_PLACE = re.compile(r"(.+?):\d+(?:[:-]\d+)?:?", re.S)


def close_path(missing: str, root: str) -> str:
    """Return the existing path below a root that is most like a missing one, or an empty string.

    Both are absolute and resolved; the answer is relative to the root, with `/`.
    """
    place = _PLACE.fullmatch(missing)
    found = place[1] if place and os.path.lexists(place[1]) else _closest(missing, root)
    try:
        if not found or not is_inside(real_path(found), root):
            return ""
    except (OSError, ValueError):
        return ""
    return os.path.relpath(found, root).replace(os.sep, "/")


def _closest(missing: str, root: str) -> str:
    """Return the path with each missing component replaced by the entry most like it."""
    current = root
    for name in os.path.relpath(missing, root).split(os.sep):
        following = os.path.join(current, name)
        if not os.path.lexists(following):
            entry = _closest_entry(current, name)
            if not entry:
                return ""
            following = os.path.join(current, entry)
        current = following
    return current


def _closest_entry(folder: str, name: str) -> str:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, MOST_ENTRIES)]
    except (OSError, ValueError):
        return ""
    folded = {one.casefold(): one for one in sorted(names, reverse=True)}
    alike = difflib.get_close_matches(name.casefold(), folded, 1, ALIKE)
    return folded[alike[0]] if alike else ""
