"""Divide documents between the two engines, and run both."""

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
from winnow.search.documents.results import DocumentSearch
from winnow.workspace import EngineWorkspace


def find_rga(workspace: EngineWorkspace) -> RgaEngine:
    """Return ripgrep-all, for one request. Raises ProgramNotInstalled."""
    return RgaEngine(
        workspace.processes,
        workspace.installed,
        ripgrep=workspace.ripgrep,
        configured=workspace.config.programs.rga,
    )


async def run_engines(
    workspace: EngineWorkspace, search: DocumentSearch, query: DocumentQuery, own: BuiltinSearch
) -> None:
    """Search the documents with the requested engines; ``own`` is the built-in engine.

    Raises InvalidPattern; if ripgrep-all is required, ProgramNotInstalled, NotAllowed (its cache
    has no folder) and SearchFailed.
    """
    required = search.options.engine == "rga"
    preferred = search.options.engine == "auto" and workspace.config.documents.engine == "rga"
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
    named = {file.absolute for file in by_rga}
    searches = []
    if rga is not None and by_rga:
        fallback = None if required else own.another()
        searches.append(_search_rga(search, query, rga, by_rga, fallback))
    if not required:
        rest = [file for file in search.documents if file.absolute not in named]
        searches.append(_search_builtin(search, own, rest))
    tasks = [asyncio.create_task(run) for run in searches]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _for_rga(
    search: DocumentSearch, query: DocumentQuery, rga: RgaEngine, *, required: bool
) -> list[DocumentFile]:
    """Return the documents for ripgrep-all. If it is required, report those that it cannot read.

    If not, exclude text formats (it takes 150 ms for an HTML page), archives (it silently skips
    members that it cannot read), unsaved documents, and everything if the query is anchored to the
    start of a line, where ripgrep-all inserts the page number.
    """
    if not required and not query.query.literal and is_anchored(query.query.pattern):
        return []
    selected = []
    for document in search.documents:
        reason = rga.unsupported(document.path)
        if reason is None:
            if required or _is_for_rga(document):
                selected.append(document)
        elif required:
            search.add(ReadFailure(document, reason))
    return selected


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
    found: dict[str, DocumentFile] = {}
    left: dict[str, DocumentFile] = {}
    unread: set[str] = set()
    try:
        answers = rga.search(documents, query, search.ripgrep.deadline)
        async with contextlib.aclosing(answers):
            async for result in answers:
                path = result.document.absolute
                if isinstance(result, DocumentHits):
                    found[path] = result.document
                elif fallback is not None and path not in found:
                    left[path] = result.document
                    continue
                elif not result.member:
                    unread.add(path)
                search.add(result)
    except (SearchFailed, NotAllowed) as error:
        if fallback is None:
            raise
        search.warnings.append(f"ripgrep-all cannot be used: {error.message}")
        left = {file.absolute: file for file in documents if file.absolute not in found}
    if fallback is not None and left:
        # It reads some documents that rga cannot, and reports better errors for others.
        await _search_builtin(search, fallback, list(left.values()))
    pending = [file for file in rga.pending if file.absolute not in left]
    read = [file for file in documents if file.absolute not in left]
    search.read_by("rga", read)
    search.pending += pending
    search.searched |= {file.file for file in read} - {file.file for file in pending} - unread
    search.timed_out |= rga.timed_out
