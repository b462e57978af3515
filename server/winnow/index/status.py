"""Report the state of a folder's index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from winnow.index.builder.folder import FolderIndex
from winnow.index.report import FolderStatus, NotCovered
from winnow.index.store.file_record import EXCLUDED, FULL, HOLDS_SECRETS, TOO_LARGE, UNREADABLE_FILE
from winnow.index.store.reader import Reader
from winnow.index.store.store import REPLACED
from winnow.storage.paths import shown_path

# Reasons by the beginning of a problem.
REASONS = (
    (EXCLUDED, "excluded"),
    (FULL, "size_limit"),
    (TOO_LARGE, "too_large"),
    (HOLDS_SECRETS, "secret"),
    (UNREADABLE_FILE, "unreadable"),
    ("it took longer", "failed"),
    ("its parser has crashed", "failed"),
    ("its symbols cannot be extracted", "failed"),
)


def folder_status(folder: FolderIndex, reader: Reader, state: str) -> FolderStatus:
    """Return the status of a folder's index, from a reader of its store. ``state`` is the state of
    the workspace's index."""
    store = folder.opened
    own = state if folder.complete or state in ("none", "opening") else "building"
    return FolderStatus(
        folder=shown_path(folder.root.as_posix())[0],
        state="none" if state == "none" or not folder.has_index else own,  # type: ignore[arg-type]
        files_indexed=folder.indexed,
        files_total=folder.total,
        not_covered=not_covered(reader.problem_counts(), reader.binaries()),
        store=None if store is None or store.is_temporary else shown_path(str(store.file))[0],
        bytes_on_disk=reader.size(),
        updated_at=folder.updated_at,
        watching="events" if folder.is_watched else "asked",
        watching_why=folder.watcher.reason or None if folder.watcher else None,
        problem=folder.problem or None,
        damage=folder.damage or None,
        replaced=reader.notes().get(REPLACED),
    )


def total_of(folders: Iterable[FolderStatus]) -> NotCovered:
    """Return how many files the indexes of some folders leave out, by reason."""
    counts: Counter[str] = Counter()
    for folder in folders:
        by_reason = msgspec.structs.asdict(folder.not_covered)
        counts.update({reason: count for reason, count in by_reason.items() if count})
    return NotCovered(**counts)


def not_covered(problems: Mapping[str, int], binary: int) -> NotCovered:
    """Return how many files the index leaves out, by reason, from counts by problem."""
    counts: dict[str, int] = {"binary": binary} if binary else {}
    for problem, count in problems.items():
        reason = next((name for start, name in REASONS if problem.startswith(start)), None)
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + count
    return NotCovered(**counts)
