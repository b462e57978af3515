"""Which folders a search may begin to index, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.text.buffers import Overlay
from winnow.text.listing import list_files
from winnow.text.roots import is_indexable
from winnow.text.scope import Filters
from winnow.workspace import EngineWorkspace

# Builds the index of any folder.
COMMAND = "winnow index build"


def may_be_indexed(workspace: EngineWorkspace) -> bool:
    """Return True unless a folder needs an explicit request to be indexed, as home folders do."""
    found = list(_is_indexable(workspace))
    return bool(found) and all(found)


def any_may_be_indexed(workspace: EngineWorkspace) -> bool:
    """Return True if that is so for at least one folder."""
    return any(_is_indexable(workspace))


def _is_indexable(workspace: EngineWorkspace) -> Iterator[bool]:
    return (is_indexable(root, workspace.environment) for root in workspace.roots())


async def count_files(workspace: EngineWorkspace) -> int:
    """Return the number of files that searches cover; lists them if the index has not."""
    listed = workspace.index.files_listed if workspace.has_index else None
    if listed is not None:
        return listed
    ripgrep = workspace.run_ripgrep()
    async with workspace.search_slots:
        listing = await list_files(ripgrep, workspace.scope(Filters()), Overlay())
    return len(listing.paths)
