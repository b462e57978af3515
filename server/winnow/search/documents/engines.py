"""The two engines of a search of documents: which one reads what, and both at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from winnow.documents.format import formats
from winnow.documents.library.builtin import BuiltinSearch
from winnow.documents.library.request import (
    DocumentFile,
    DocumentHits,
    DocumentQuery,
    ReadFailure,
)
from winnow.documents.rga.engine import RgaEngine
from winnow.documents.rga.prefixes import is_anchored
from winnow.errors import NotAllowed, ProgramNotInstalled, SearchFailed
from winnow.search.documents.answer import DocumentSearch
from winnow.workspace import Workspace


def find_rga(workspace: Workspace) -> RgaEngine:
    """ripgrep-all, for one request. Raises ProgramNotInstalled."""
    return RgaEngine(
        workspace.processes,
        workspace.installed,
        ripgrep=workspace.ripgrep,
        configured=workspace.config.programs.rga,
    )


async def run_engines(
    workspace: Workspace, search: DocumentSearch, query: DocumentQuery, own: BuiltinSearch
) -> None:
    """Search the documents with the engines that are asked for; ``own`` is the built-in one.

    Raises InvalidPattern; if ripgrep-all is required, ProgramNotInstalled, NotAllowed (there is no
    place for its cache) and SearchFailed.
    """
    required = search.params.engine == "rga"
    preferred = search.params.engine == "auto" and workspace.config.documents.engine == "rga"
    rga: RgaEngine | None = None
    by_rga: list[DocumentFile] = []
    if required or preferred:
        try:
            rga = find_rga(workspace)
        except ProgramNotInstalled:
            if required:
                raise
    if rga is not None:
        by_rga = _for_rga(search, query, rga, required=required)
    named = {one.absolute for one in by_rga}
    searches = []
    if rga is not None and by_rga:
        fallback = None if required else own.another()
        searches.append(_search_rga(search, query, rga, by_rga, fallback))
    if not required:
        left = [one for one in search.documents if one.absolute not in named]
        searches.append(_search_builtin(search, own, left))
    tasks = [asyncio.create_task(one) for one in searches]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _for_rga(
    search: DocumentSearch, query: DocumentQuery, rga: RgaEngine, *, required: bool
) -> list[DocumentFile]:
    """The documents that ripgrep-all is to read. Where it is required, why it does not read others
    is told.

    Else not those whose files are texts, of which it reads a page in HTML in 150 ms; no archives,
    in which it passes over what it does not read; no unsaved documents; and nothing if the query
    asks for the beginnings of lines: it has the page stand there.
    """
    if not required and not query.query.literal and is_anchored(query.query.pattern):
        return []
    taken = []
    for document in search.documents:
        reason = rga.unsupported(document.path)
        if reason is None:
            if required or _is_for_rga(document):
                taken.append(document)
        elif required:
            search.tell(ReadFailure(document, reason))
    return taken


def _is_for_rga(document: DocumentFile) -> bool:
    known = formats()[document.format]
    return not (document.content or known.is_text or known.has_members)


async def _search_builtin(
    search: DocumentSearch, own: BuiltinSearch, documents: Sequence[DocumentFile]
) -> None:
    if not documents:
        return
    search.read_by("builtin", documents)
    await own.run(documents)
    search.pending += own.pending
    search.searched |= own.searched
    search.timed_out |= own.timed_out


async def _search_rga(
    search: DocumentSearch,
    query: DocumentQuery,
    rga: RgaEngine,
    documents: Sequence[DocumentFile],
    fallback: BuiltinSearch | None,
) -> None:
    told: dict[str, DocumentFile] = {}
    left: dict[str, DocumentFile] = {}
    unread: set[str] = set()
    try:
        answers = rga.search(documents, query, search.ripgrep.deadline)
        async with contextlib.aclosing(answers):
            async for one in answers:
                path = one.document.absolute
                if isinstance(one, DocumentHits):
                    told[path] = one.document
                elif fallback is not None and path not in told:
                    left[path] = one.document
                    continue
                elif not one.member:
                    unread.add(path)
                search.tell(one)
    except (SearchFailed, NotAllowed) as error:
        if fallback is None:
            raise
        search.warnings.append(f"ripgrep-all cannot be used: {error.message}")
        left = {one.absolute: one for one in documents if one.absolute not in told}
    if fallback is not None and left:
        # It reads some that rga cannot, and says better what is wrong with the others.
        await _search_builtin(search, fallback, list(left.values()))
    pending = [one for one in rga.pending if one.absolute not in left]
    taken = [one for one in documents if one.absolute not in left]
    search.read_by("rga", taken)
    search.pending += pending
    search.searched |= {one.file for one in taken} - {one.file for one in pending} - unread
    search.timed_out |= rga.timed_out
