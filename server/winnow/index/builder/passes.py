"""What is being built: the requested build, the passes over changed files, and their progress.

A pass compares the disk with the store and writes what differs. Builds and checks are passes, and
several may run at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Iterable, Iterator

from msgspec import Struct


class BuildPolicy(enum.Enum):
    """The reasons for which the index of a folder is built and kept complete."""

    IF_SMALL = "a request that needs the index of a small folder builds it"
    ALWAYS = "a build was requested: the index stays complete from then on"
    ON_REQUEST = "the index was deleted, or there are too many files: only a new request builds it"


class BuildRequest(Struct, frozen=True):
    """A request to build the index if the folder has at most ``max_files``."""

    max_files: int | None


class Pass:
    """One comparison of a folder with its store, until all differences are written."""

    def __init__(self) -> None:
        self.reading: set[str] = set()
        """Files that the pass has read or will read."""
        self.overtaken: set[str] = set()
        """Files that were reported as changed since the pass began: it may have read them too
        early, so it does not write them."""
        self.is_behind = False
        """True while it knows of changes that are not written."""


class FolderWork:
    """The work on the index of a folder."""

    def __init__(self) -> None:
        self.policy = BuildPolicy.IF_SMALL
        self.pending: BuildRequest | None = None  # for the next check, unless it is built before
        self.building = asyncio.Lock()  # one build at a time
        self.indexed = 0  # files that were compared with the disk
        self.texts = 0  # the same, including those of which only the text is indexed
        # True once a build has indexed the text of each file that it found.
        self.has_all_texts = False
        self.left_out = 0  # files for which there is no room
        self.updated_at = 0.0  # in seconds since 1970
        self._last: BuildRequest | None = None
        self._passes: list[Pass] = []

    # --- the requested build ---------------------------------------------------------------

    def request(self, max_files: int | None) -> None:
        """Let the next check build the index, unless a build finishes before."""
        self.pending = self._last = BuildRequest(max_files)

    def begin(self, max_files: int | None) -> None:
        """Store the limit of a build that begins, in case it has to be repeated."""
        self._last = BuildRequest(max_files)

    def repeat(self) -> None:
        """Let the next check build the index as the last build did, if there was one."""
        self.policy, self.pending = BuildPolicy.ALWAYS, self._last

    def reset(self, policy: BuildPolicy) -> None:
        """Forget the request and the progress."""
        self.policy, self.pending = policy, None
        self.forget_progress()

    def forget_progress(self) -> None:
        """Record that nothing is indexed."""
        self.indexed = self.texts = 0
        self.has_all_texts = False

    # --- passes ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def start_pass(self) -> Iterator[Pass]:
        """Register a pass for the duration of the block."""
        current = Pass()
        self._passes.append(current)
        try:
            yield current
        finally:
            self._passes.remove(current)

    @property
    def is_behind(self) -> bool:
        """True if a pass knows of changes that are not written."""
        return any(current.is_behind for current in self._passes)

    @property
    def reading(self) -> list[str]:
        """The files that the passes have read or will read."""
        return [path for current in self._passes for path in current.reading]

    def overtake(self, paths: Iterable[str]) -> None:
        """Keep the passes in progress from writing files that have changed since they began."""
        changed = set(paths)
        for current in self._passes:
            current.overtaken |= changed
