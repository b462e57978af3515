"""Suggest an existing path for a missing one, for "Did you mean …?" in an error message.

Only the folders along the path are listed, so the cost depends only on the depth of the path.
"""

from __future__ import annotations

import difflib
import itertools
import os

from winnow.storage.paths import is_inside, real_path

# Maximum number of entries to compare; of a larger folder, those listed first.
MOST_ENTRIES = 2_000
# difflib's ratio: `loder.py` and `loader.py` have 0.94, `scr` and `src` 0.67, `a.py` and `b.py`
# 0.75, which is as often wrong as right, and harmless.
ALIKE = 0.65


def close_path(missing: str, root: str) -> str:
    """Return the existing path below a root that is most similar to a missing one, or "".

    Both are absolute and resolved; the result is relative to the root, with `/`.
    """
    found = _closest(missing, root)
    try:
        if not found or not is_inside(real_path(found), root):
            return ""
    except (OSError, ValueError):
        return ""
    return os.path.relpath(found, root).replace(os.sep, "/")


def _closest(missing: str, root: str) -> str:
    """Return the path with each missing name replaced by the most similar entry."""
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
    folded = {entry.casefold(): entry for entry in sorted(names, reverse=True)}
    alike = difflib.get_close_matches(name.casefold(), folded, 1, ALIKE)
    return folded[alike[0]] if alike else ""
