"""Find the files that may match a pattern, by the trigrams of all texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.index.builder.folder import FolderIndex
from winnow.index.store.reader import Reader

if TYPE_CHECKING:
    from winnow.index.postings.trigrams import Condition


class MatchCandidates(Struct, frozen=True):
    """The files of a workspace that may match, by folder: no other file in ``paths`` can match,
    except the ``binary`` ones, which ripgrep skips. ``total`` is the number of files that are not
    binary."""

    numbers: Mapping[Path, Sequence[int]]
    paths: Mapping[Path, Sequence[str]]
    total: int
    binary: Mapping[Path, Sequence[int]]

    @property
    def count(self) -> int:
        """The number of files that may match; does not create their paths."""
        return sum(map(len, self.numbers.values()))

    def files(self, folder: Path) -> list[str]:
        """Return the sorted paths of the files of a folder."""
        return self._paths(folder, self.numbers)

    def binary_files(self, folder: Path) -> list[str]:
        return self._paths(folder, self.binary)

    def _paths(self, folder: Path, numbers: Mapping[Path, Sequence[int]]) -> list[str]:
        return sorted(map(self.paths[folder].__getitem__, numbers[folder]))


def match_candidates(
    folders: Sequence[FolderIndex],
    readers: Sequence[Reader],
    conditions: Sequence[Condition],
    *,
    likely: bool = False,
) -> list[MatchCandidates]:
    """Return the files that may match, for each condition; ``readers`` are those of the folders.
    If ``likely``, without those whose trigrams are not all known. Raises StoreDamaged."""
    import numpy as np

    paths, binary = {}, {}
    numbers: list[dict[Path, Sequence[int]]] = [{} for _ in conditions]
    total = 0
    for folder, reader in zip(folders, readers, strict=True):
        table = folder.disk.table.at(reader)
        parts = list(table.with_segments(reader))
        paths[folder.root] = table.paths
        binary[folder.root] = table.binary.tolist()
        for condition, below in zip(conditions, numbers, strict=True):
            found = [] if likely else [table.uncovered]
            for part in parts:
                has = np.zeros(part.segment.documents, np.bool_)
                has[part.segment.documents_with(condition, likely=likely)] = True
                found.append(part.files[has[part.documents]])
            below[folder.root] = np.concatenate(found).tolist() if found else []
        total += table.count
    return [MatchCandidates(below, paths, total, binary) for below in numbers]
