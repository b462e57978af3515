"""Everything to rank at one moment: segments, and the files that have their texts now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.commits.history import CommitHistory
from winnow.index.postings.segment import Segment
from winnow.symbols.file_symbols import Definition


class CorpusPart(Struct, frozen=True):
    """A segment and its files: file ``files[i]`` has the text of document ``documents[i]``. A
    document may have several files, or none if its text is outdated."""

    segment: Segment
    documents: npt.NDArray[np.uint16]
    files: npt.NDArray[np.int32]


# Definitions with the numbers of their files.
Definitions = Sequence[tuple[int, Definition]]


class Corpus(Struct, frozen=True):
    """The texts and files to rank. Files are numbered from 0: ``paths`` are relative to ``roots``,
    and ``root_of`` says which root contains a file (all 0 if there is one). ``paths`` includes
    files that are in no part.

    ``histories`` are the commits of the roots, if they are known.

    ``definitions`` returns the definitions of a case-sensitive name in all files, with their file
    numbers.
    """

    parts: Sequence[CorpusPart]
    paths: Sequence[str]
    roots: Sequence[str]
    root_of: npt.NDArray[np.int32]
    definitions: Callable[[str], Definitions]
    # A cache between requests, for data derived from paths alone.
    cache: dict[str, Any]
    histories: Sequence[CommitHistory | None] = ()
