"""Files that hold a word: where to look before the index knows."""

from __future__ import annotations

import os
from collections.abc import Sequence

from winnow.text.files import Scope, plain
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep


async def files_with(
    ripgrep: Ripgrep, scope: Scope, words: Sequence[str]
) -> tuple[list[str], bool]:
    """The files of a scope that hold one of these words, as absolute paths with ``/``, and whether
    time ran out before all were seen."""
    found: list[str] = []
    patterns = [part for word in words for part in ("-e", word)]
    # Not --word-regexp: it knows no `$`, which is a letter to some languages.
    arguments = ["--files-with-matches", "--fixed-strings", "--null", *patterns, *scope.arguments]
    async with ripgrep.start([*arguments, "--", *scope.paths], cwd=scope.root) as child:
        async for record in child.records(b"\0", RECORD_BYTES):
            path = plain(os.fsdecode(record))
            if scope.covers(path):
                root, below = scope.locate(path)
                found.append(os.path.join(root, below).replace(os.sep, "/"))
        await child.wait()
    return found, child.timed_out
