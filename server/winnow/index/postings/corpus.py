"""All that can be ranked at one moment: segments, and the files that have their texts today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.postings.segment import Segment
from winnow.symbols.file_symbols import Definition


class CorpusPart(Struct, frozen=True):
    """A segment and the files that have its texts: the file ``files[i]`` has that of the document
    ``documents[i]``. A document may have several files, or none: what it was once."""

    segment: Segment
    documents: npt.NDArray[np.uint16]
    files: npt.NDArray[np.int32]


class Corpus(Struct, frozen=True):
    """What can be ranked. Files have numbers from 0: ``paths`` are theirs, below ``roots``, where
    ``root_of`` says which root holds a file (all 0 where there is one). The path of a file that is
    in no part is still there.

    ``definitions`` gives those of a name, with the numbers of their files, of all files; names are
    case-sensitive.
    """

    parts: Sequence[CorpusPart]
    paths: Sequence[str]
    roots: Sequence[str]
    root_of: npt.NDArray[np.int32]
    definitions: Callable[[str], Sequence[tuple[int, Definition]]]
    # Anything that is derived from paths alone may be kept here between two questions.
    kept: dict[str, Any]
