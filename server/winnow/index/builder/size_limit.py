"""Keep a store below its maximum size, and find out if there is room again."""

from __future__ import annotations

from winnow.index.builder.folder_store import FolderStore
from winnow.index.store.reader import Reader

# Files that were left out because the index was full are indexed once this share of its size is
# free again, or the limit was raised.
FREE_SHARE = 0.2
# Name of the note in the store that holds the limit and the size, in bytes, when files were left
# out.
FULL_AT = "full at"
MEGABYTE = 1024 * 1024


async def trim(disk: FolderStore, max_size_mb: int) -> bool:
    """Shrink the store to its size limit. Return True if data of files was dropped."""
    limit = max_size_mb * MEGABYTE
    emptied = await disk.run(lambda store: store.trim(limit))
    if emptied:
        size = await disk.query(Reader.size)
        await disk.run(lambda store: store.note(FULL_AT, f"{limit} {size}"))
    return emptied > 0


async def has_room(disk: FolderStore, max_size_mb: int) -> bool:
    """Return True if there is room again for files that were left out."""
    noted = (await disk.query(Reader.notes)).get(FULL_AT)
    if noted is None:
        return False
    limit, size = map(int, noted.split())
    if max_size_mb * MEGABYTE > limit:
        return True
    return await disk.query(Reader.size) < size * (1 - FREE_SHARE)
