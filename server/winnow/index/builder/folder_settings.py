"""The settings for the index of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from winnow.index.store.size_limits import SizeLimits
from winnow.storage import state_folder

# An index that has this share of the files was built on purpose, whatever the threshold is.
BEGUN = 0.5


class Sources(Struct, frozen=True):
    """The places of archives that the user's settings name, and the environment, which has the
    team's key and the token for downloads."""

    places: Sequence[str]
    environment: Mapping[str, str]


class FolderSettings(Struct, frozen=True):
    """The settings for the index of a folder: the largest file to read and the largest to parse, in
    bytes; the largest index, in MB; the number of files from which an index is built only on
    request; whether secrets are masked, and extra rules for them; the source of vectors; everything
    else that changes the stored data; whether commits are read; where to pull the archives for a
    new index from; the owner of the state, None for the user of this process."""

    max_bytes: int
    max_parsed: int
    max_size_mb: int
    threshold: int
    masked: bool = True
    embeddings: str = "off"
    rules: tuple[str, ...] = ()
    variant: str = ""
    commit_history: bool = True
    sources: Sources | None = None
    user: state_folder.User | None = None

    @property
    def size_limits(self) -> SizeLimits:
        return SizeLimits(self.max_bytes, self.max_parsed)
