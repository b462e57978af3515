"""What is being built: the requested build, the passes over changed files, and their progress.

A pass compares the disk with the store and writes what differs. Builds and checks are passes, and
several may run at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

# Called with the number of indexed files, of which those with only a text count as a part, and the
# total.
ReportProgress = Callable[[int, int], None]

# The part of the work on a file that its text is.
TEXT_SHARE = 1 / 3


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
        # Whether a build indexes all texts before any definitions, which takes a third longer.
        self.texts_first = True
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


class PassProgress:
    """The progress of a pass over ``changed`` of the ``total`` files of a folder.

    Recorded in the ``work`` on the folder, unless the pass says nothing about that.
    """

    def __init__(
        self, work: FolderWork | None, total: int, changed: int, report: ReportProgress | None
    ) -> None:
        self._work = work
        self._changed = changed
        self._others = max(total - changed, 0)
        self._report = report
        self._done = self._texts = 0
        if work is not None:
            work.forget_progress()
            work.indexed = work.texts = self._others

    def set_left(self, left: int) -> None:
        """Record that all but this number of changed files are indexed."""
        self._done = self._changed - left
        if self._work is not None:
            self._work.indexed = self._others + self._done

    def set_without_text(self, left: int) -> None:
        """Record that at least the texts of all but this number of changed files are indexed."""
        self._texts = self._changed - left
        if self._work is not None:
            self._work.texts = self._others + self._texts

    def report(self) -> None:
        """Report the progress to the caller of the build."""
        if self._report is not None:
            texts = max(self._texts - self._done, 0)
            self._report(self._done + round(TEXT_SHARE * texts), self._changed)

    def end(self, total: int) -> None:
        """Record that all files are indexed."""
        if self._work is not None:
            self._work.forget_progress()
            self._work.indexed = total
