"""Overlay the texts of documents, so that ripgrep searches them like files.

This works like the overlay of unsaved documents (:mod:`winnow.text.buffers`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.documents.format import formats
from winnow.documents.library.library import DocumentLibrary
from winnow.documents.library.locations import DocumentOverlay, TextMap
from winnow.documents.library.request import DocumentFile
from winnow.documents.library.texts import text_path
from winnow.errors import SearchFailed
from winnow.processes.waiting import wait_within
from winnow.search.documents.search import document_in, document_scope
from winnow.storage.writing import link_or_copy
from winnow.text.buffers import Overlay
from winnow.text.listing import list_files
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Scope
from winnow.workspace import EngineWorkspace

# Time limit for reading new documents; then the search continues without them.
READ_SECONDS = 3.0


@contextlib.asynccontextmanager
async def with_documents(
    workspace: EngineWorkspace, scope: Scope, overlay: Overlay
) -> AsyncIterator[tuple[Overlay, DocumentOverlay]]:
    """Add the texts of the documents in scope to an overlay, during the block.

    Formats that people edit as text, such as HTML, are searched as they are.
    """
    library = workspace.library
    ripgrep = workspace.run_ripgrep(READ_SECONDS)
    listed = await _documents(workspace, scope, ripgrep, overlay)
    await _read(library, listed, ripgrep.deadline)
    known = await library.sort(listed)
    library.read_in_background(known.unread)
    with library.texts.overlay_folder() as folder:
        laid = await asyncio.to_thread(_lay_out, library, scope, known.ready, Path(folder))
        folders = [
            (below, scope.prefix(place))
            for place in range(len(scope.roots))
            if (below := Path(folder, str(place))).is_dir()
        ]
        joined = msgspec.structs.replace(
            overlay,
            folders=(*overlay.folders, *folders),
            paths=overlay.paths | frozenset(laid),
        )
        yield joined, DocumentOverlay(laid, len(known.unread), len(known.unreadable))


async def _documents(
    workspace: EngineWorkspace, scope: Scope, ripgrep: Ripgrep, overlay: Overlay
) -> list[DocumentFile]:
    extensions = [
        extension
        for document_format in formats().values()
        if not document_format.is_text
        for extension in document_format.extensions
    ]
    scope = document_scope(workspace, scope.filters, extensions)
    listing = await list_files(ripgrep, scope, Overlay())
    found = (document_in(scope, path) for path in sorted(listing.paths))
    return [each for each in found if each.format and each.path not in overlay.paths]


async def _read(
    library: DocumentLibrary, documents: Sequence[DocumentFile], deadline: float
) -> None:
    """Read new documents until the deadline."""
    unread = (await library.sort(documents)).unread

    async def read() -> None:
        async with contextlib.aclosing(library.read(unread)) as answers:
            async for _ in answers:
                pass

    if unread:
        left = deadline - asyncio.get_running_loop().time()
        # Documents that remain are counted, for whatever reason.
        with contextlib.suppress(asyncio.TimeoutError, SearchFailed):
            await wait_within(read(), left)


def _lay_out(
    library: DocumentLibrary,
    scope: Scope,
    ready: Mapping[str, Sequence[DocumentFile]],
    folder: Path,
) -> dict[str, TextMap]:
    """Place each text at the path of its document, below the folder of its root."""
    laid = {}
    for key, documents in ready.items():
        text_map = library.texts.load_map(key)
        for document in documents if text_map else ():
            root, below = scope.locate(document.path)
            file = folder / str(scope.roots.index(root)) / below
            with contextlib.suppress(OSError):  # its text was deleted: skip the document
                file.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(library.texts.folder / text_path(key), file)
                assert text_map is not None
                laid[document.path] = text_map
    return laid
