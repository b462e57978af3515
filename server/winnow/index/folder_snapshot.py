"""Open a snapshot of some folders with unsaved texts, and start the repair of a store that turns
out to be damaged."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from winnow.errors import SearchError
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.unsaved import texts_in_place
from winnow.index.folder_indexes import by_folder
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.store.reader import Reader, ReaderStopped
from winnow.index.store.segments import SegmentMissing
from winnow.storage.database import StoreDamaged


@contextlib.asynccontextmanager
async def open_snapshot(
    folders: Sequence[FolderIndex], overlay: Overlay | None = None
) -> AsyncIterator[tuple[Snapshot, Sequence[Reader]]]:
    """Open a snapshot of the folders, and yield it with the readers of their stores. If a read
    fails because a store is damaged, start its repair and raise StoreDamaged."""
    readers: list[Reader] = []
    try:
        with contextlib.ExitStack() as stack:
            for folder in folders:
                readers.append(await folder.reader())
                stack.callback(readers[-1].close)
            view = Snapshot([folder.root.as_posix() for folder in folders], readers, overlay)
            stack.pop_all()
        with view:
            yield view, readers
    except (SearchError, ReaderStopped):
        raise
    except Exception as error:
        if await _handle_damage(folders, error):
            raise StoreDamaged(str(error)) from error
        raise


async def texts_in_place_of_files(
    folders: Sequence[FolderIndex], buffers: Mapping[Path, str], requested: Collection[str]
) -> dict[str, str]:
    """Return the texts that replace files in a snapshot, by absolute path: those of ``buffers``,
    and of ``requested`` files that are not indexed as they are."""
    documents: dict[FolderIndex, dict[str, str | None]] = {}
    for path, text in {**dict.fromkeys(map(Path, requested)), **buffers}.items():
        for folder, (below,) in by_folder(folders, [path]).items():
            documents.setdefault(folder, {})[below] = text
    texts: dict[str, str] = {}
    for folder, by_path in documents.items():
        known = await folder.known(by_path)
        requested_paths = {path for path in by_path if folder.prefix + path in requested}
        texts |= await asyncio.to_thread(texts_in_place, folder, by_path, known, requested_paths)
    return texts


async def _handle_damage(folders: Iterable[FolderIndex], error: Exception) -> bool:
    """Return True if an error comes from a damaged store, and start its repair."""
    if not isinstance(error, StoreDamaged):
        return any([await folder.disk.repair() for folder in folders])
    some = list(folders)
    certain = len(some) == 1 and not isinstance(error, SegmentMissing)
    for folder in some:
        await folder.disk.suspect(await folder.store(), error, certain=certain)
    return True
