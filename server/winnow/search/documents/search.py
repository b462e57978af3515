"""search_docs: the lines of documents that match, from texts of our own, or from ripgrep-all.

Documents are listed as every search lists files, divided between the two engines
(:mod:`winnow.documents.library.builtin`, :mod:`winnow.documents.rga.engine`), and what these find
is put together in one answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from winnow.config.globs import GLOB_CHARACTERS
from winnow.documents.format import UNSUPPORTED_EXTENSIONS, format_of, formats, unsupported_reason
from winnow.documents.library.builtin import BuiltinSearch
from winnow.documents.library.locations import file_uri, preview_uri
from winnow.documents.library.request import DocumentFile, DocumentQuery, ReadFailure, is_written
from winnow.errors import EmptyQuery, InvalidParams, InvalidPattern, NotFound, SearchTimedOut
from winnow.processes.waiting import acquire_within
from winnow.search.answer.completeness import WIDENING, count_excluded_matches, with_short_deadline
from winnow.search.answer.cursor import stamp_of
from winnow.search.documents.answer import DocumentSearch, nothing_at, result_of
from winnow.search.documents.engines import run_engines
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.listing import list_files
from winnow.text.paths import path_of_uri
from winnow.text.ripgrep import TextPattern, pattern_problem
from winnow.text.scope import Scope, path_matcher
from winnow.types import Progress, SearchParams
from winnow.types.search_docs import SearchDocsParams, SearchDocsResult
from winnow.workspace import Workspace

ASK_AGAIN = "documents are read in the background: ask again"
WAITED = "other searches of documents were before it: ask again"
TYPE = "winnowdocuments"  # the name under which ripgrep knows the names of documents


async def search_documents(
    workspace: Workspace, params: SearchDocsParams, progress: Progress
) -> SearchDocsResult:
    """The matching lines of documents.

    Raises EmptyQuery, InvalidPattern, SearchTimedOut, and what a scope may raise.
    """
    if not params.query.strip():
        raise EmptyQuery
    ends = _ends(params.file_types)
    try:
        scope, wanted = _scope(workspace, params, ends)
    except NotFound as error:
        return nothing_at(workspace.search_roots()[0], error)
    ripgrep = workspace.run_ripgrep(params.timeout)
    search = DocumentSearch(params, scope, ripgrep, progress)
    try:
        await acquire_within(workspace.document_slots, params.timeout)
    except asyncio.TimeoutError:
        raise SearchTimedOut(params.timeout, WAITED) from None
    try:
        with unsaved_overlay(workspace.buffers, scope) as overlay:
            await _search(workspace, search, wanted, ends, overlay)
            await _drop_changed(workspace, search)
            if search.timed_out and not search.found and not search.searched:
                raise SearchTimedOut(params.timeout, ASK_AGAIN)
            if not search.found:
                search.warnings += await _excluded_matches(workspace, search, ends)
            room = workspace.config.limits.answer_bytes
            return await asyncio.to_thread(result_of, search, room)
    finally:
        workspace.document_slots.release()
        await workspace.library.forget([one for one in search.documents if one.content])


# --- which documents -----------------------------------------------------------------------


def _ends(file_types: Sequence[str]) -> frozenset[str]:
    """The ends of names of the formats that are asked for. Raises InvalidParams."""
    known = formats()
    if not file_types:
        return frozenset(end for one in known.values() for end in one.extensions) | frozenset(
            UNSUPPORTED_EXTENSIONS
        )
    ends = {}
    for place, name in enumerate(file_types):
        plain = name.lower().lstrip("*.")
        if plain in known:
            ends.update(dict.fromkeys(known[plain].extensions))
        elif format_of(f"_.{plain}") is not None:
            ends[f".{plain}"] = None
        else:
            raise InvalidParams(
                f"file_types[{place}]",
                f"unknown format {name!r}; known: {', '.join(sorted(known))}",
            )
    return frozenset(ends)


def _scope(
    workspace: Workspace, params: SearchDocsParams, ends: Iterable[str]
) -> tuple[Scope, Callable[[str], bool]]:
    """The scope, in which ripgrep lists documents only, and whether it is one that is meant."""
    folder, pattern = _split(workspace, params.path)
    scope = document_scope(workspace, msgspec.structs.replace(params, path=folder), ends)
    return scope, path_matcher("path", pattern, scope) if pattern else lambda path: True


def document_scope(workspace: Workspace, params: SearchParams, ends: Iterable[str]) -> Scope:
    """A scope in which ripgrep lists only files with these ends of names, in any case."""
    scope = workspace.scope(msgspec.structs.replace(params, file_types=[TYPE]))
    named = tuple(f"--type-add={TYPE}:*{_any_case(end)}" for end in sorted(ends))
    return msgspec.structs.replace(scope, arguments=(*named, *scope.arguments))


def _split(workspace: Workspace, path: str) -> tuple[str, str]:
    """The folder that a path names, and the glob, if it has one: `legal`, `legal/*.pdf`."""
    plain = (path_of_uri(path) or path).replace(os.sep, "/")
    if not GLOB_CHARACTERS.intersection(plain):
        return path, ""
    with contextlib.suppress(NotFound):  # a file may well have such a name
        workspace.scope(SearchDocsParams(query="", path=path))
        return path, ""
    parts = plain.split("/")
    first = next(place for place, part in enumerate(parts) if GLOB_CHARACTERS.intersection(part))
    folder = "/".join(parts[:first])
    return folder + "/" * (folder == "" and plain.startswith("/")), plain


def _any_case(end: str) -> str:
    return "".join(f"[{char}{char.upper()}]" if char.isalpha() else char for char in end)


async def documents_of(workspace: Workspace) -> list[DocumentFile]:
    """All documents that a search would read, in the order of their paths, as far as they can be
    listed in time. Raises NoWorkspace and ProgramNotInstalled."""
    scope = document_scope(workspace, SearchParams(), _ends(()))
    listing = await list_files(workspace.run_ripgrep(), scope, Overlay())
    found = [document_in(scope, path) for path in sorted(listing.paths)]
    return [one for one in found if one.format]


def text_uri(document: DocumentFile) -> str:
    """Return the URI of a document's text, as `document_text` accepts it."""
    return preview_uri(file_uri(document.file), "builtin")


async def _list(
    search: DocumentSearch,
    wanted: Callable[[str], bool],
    ends: frozenset[str],
    overlay: Overlay,
) -> None:
    """Find the documents in scope; what is being written counts as it is in the editor."""
    scope = search.scope
    search.listing = await list_files(search.ripgrep, scope, overlay)
    search.timed_out |= search.listing.timed_out
    # ripgrep lists a file that is named whatever its name is.
    named = scope.root.joinpath(scope.paths[0]).is_file()
    listed = list(filter(wanted, search.listing.paths))
    search.listed = len(listed)
    for path in listed:
        document = document_in(scope, path)
        if not document.format or (named and not path.lower().endswith(tuple(ends))):
            search.tell(ReadFailure(document, _why_unread(path)))
            continue
        if path in overlay.paths and is_written(overlay.read(path)):
            document = msgspec.structs.replace(document, content=str(overlay.file(path)))
        search.documents.append(document)


def _those_there(documents: Sequence[DocumentFile]) -> list[DocumentFile]:
    return [one for one in documents if os.path.exists(one.file)]


async def _drop_changed(workspace: Workspace, search: DocumentSearch) -> None:
    """Leave out what was found in documents that were changed or deleted meanwhile."""
    found = {one.document.file: one.document for one in search.found if one.engine == "builtin"}
    changed = await workspace.library.changed(list(found.values()))
    if changed:
        search.found = [one for one in search.found if one.document.file not in changed]
        again = await asyncio.to_thread(_those_there, [found[file] for file in changed])
        search.pending += again
        search.searched -= changed
        workspace.library.read_in_background(again)


def document_in(scope: Scope, path: str) -> DocumentFile:
    """The document that a path as ripgrep prints it stands for; without a format if it is none."""
    known = format_of(path)
    root, below = scope.locate(path)
    return DocumentFile(path, os.path.join(root, below), known.name if known else "", str(root))


def _why_unread(path: str) -> str:
    other = "it is no document of a format that was asked for: `grep` searches texts"
    return unsupported_reason(path) or other


# --- the search ----------------------------------------------------------------------------


async def _search(
    workspace: Workspace,
    search: DocumentSearch,
    wanted: Callable[[str], bool],
    ends: frozenset[str],
    overlay: Overlay,
) -> None:
    """List the documents and search them."""
    params, scope = search.params, search.scope
    query = DocumentQuery(
        TextPattern(params.query, literal=params.literal, case_sensitive=params.case_sensitive),
        context=params.context_lines,
        max_count=params.max_count,
        width=workspace.config.limits.line_characters,
    )
    builtin = BuiltinSearch(workspace.library, search.ripgrep, query, search.tell)
    # They are probably the same as before: while they are listed, their texts are searched.
    same = stamp_of(scope.roots, scope.paths, scope.arguments, params.path, params.engine)
    builtin.begin(workspace.library.recent.get(same, ()))
    try:
        search.progress("Listing documents")
        await _list(search, wanted, ends, overlay)
        search.progress(f"Searching {len(search.documents)} documents")
        if search.documents:
            await run_engines(workspace, search, query, builtin)
        else:
            await _check_pattern(search, query.query)
    finally:
        await builtin.aclose()
    workspace.library.remember(same, builtin.searched_keys)


async def _check_pattern(search: DocumentSearch, query: TextPattern) -> None:
    """Raise InvalidPattern, where there is nothing that ripgrep could be run on."""
    arguments = [*query.arguments(), "--", os.devnull]
    async with search.ripgrep.start(arguments, cwd=search.scope.root) as child:
        async for _ in child.chunks():
            pass
        code = await child.wait()
        if not child.timed_out and (problem := pattern_problem(code, child.stderr)):
            raise InvalidPattern(query.pattern, problem)


async def _excluded_matches(
    workspace: Workspace, search: DocumentSearch, ends: Iterable[str]
) -> list[str]:
    """Nothing is found: say how many documents were left out."""

    async def count(filters: SearchParams) -> int:
        flags = {flag: getattr(filters, flag) for flag in WIDENING}
        params = msgspec.structs.replace(search.params, **flags)
        scope, wanted = _scope(workspace, params, ends)
        listing = await list_files(with_short_deadline(search.ripgrep), scope, Overlay())
        return sum(map(wanted, listing.paths))

    more, flags = await count_excluded_matches(search.scope.filters, count, search.listed)
    if more:
        return [f"{more} more documents were left out: pass {' and '.join(flags)}"]
    return [] if search.listed else ["there are no documents in scope"]
