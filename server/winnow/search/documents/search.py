"""Search documents: list them, divide them between two engines, and collect the results.

The engines are :mod:`winnow.documents.library.builtin` and :mod:`winnow.documents.rga.engine`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from winnow.config.globs import GLOB_CHARACTERS
from winnow.documents.format import UNSUPPORTED_EXTENSIONS, format_of, formats, unsupported_reason
from winnow.documents.library.builtin import BuiltinSearch
from winnow.documents.library.locations import file_uri, preview_uri
from winnow.documents.library.phrases import is_phrase
from winnow.documents.library.request import (
    PATTERN_ADVICE,
    DocumentFile,
    DocumentHits,
    DocumentQuery,
    ReadFailure,
    is_written,
)
from winnow.errors import InvalidParams, InvalidPattern, NotFound, SearchTimedOut
from winnow.processes.waiting import acquire_within
from winnow.search.answer.completeness import count_excluded_matches, with_short_deadline
from winnow.search.answer.cursor import stamp_of
from winnow.search.answer.telling_words import search_terms
from winnow.search.documents.engines import run_engines
from winnow.search.documents.results import DocumentOptions, DocumentSearch
from winnow.search.documents.rows import DocumentMatches
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.listing import list_files
from winnow.text.paths import path_of_uri
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern, pattern_problem
from winnow.text.scope import Filters, Scope, path_matcher
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

TRY_AGAIN = "documents are being read in the background: try again"
WAITED = "it waited for other document searches: try again"
MOST_WORDS = 6  # of a question, to count the documents that contain them
TYPE = "winnowdocuments"  # the name of ripgrep's file type for documents


@contextlib.asynccontextmanager
async def search_documents(
    workspace: EngineWorkspace,
    filters: Filters,
    pattern: TextPattern,
    options: DocumentOptions,
    progress: Progress,
    send: Callable[[str, DocumentMatches], None] | None = None,
) -> AsyncIterator[DocumentSearch]:
    """Search documents; the results are valid in the block. ``filters.path`` may be a glob.

    Raises NotFound if the path matches nothing, InvalidPattern and SearchTimedOut.
    """
    extensions = _extensions(filters.file_types)
    scope, accepts = _scope(workspace, filters, extensions)
    ripgrep = workspace.run_ripgrep(options.timeout)
    width = workspace.config.limits.line_characters
    query = DocumentQuery(pattern, options.context, options.max_count, width)
    search = DocumentSearch(scope, filters, query, options, ripgrep, progress, send)
    try:
        await acquire_within(workspace.document_slots, options.timeout)
    except asyncio.TimeoutError:
        raise SearchTimedOut(options.timeout, WAITED) from None
    try:
        with unsaved_overlay(workspace.buffers, scope) as overlay:
            await _search(workspace, search, accepts, extensions, overlay)
            await _drop_changed(workspace, search)
            if search.timed_out and not search.found and not search.searched:
                raise SearchTimedOut(options.timeout, TRY_AGAIN)
            if not search.found:
                search.warnings += await _excluded_documents(workspace, search, extensions)
                search.warnings += await _documents_with_words(workspace, search)
                search.warnings += await _other_files(workspace, search)
            yield search
    finally:
        workspace.document_slots.release()
        await workspace.library.forget([file for file in search.documents if file.content])


# --- which documents -----------------------------------------------------------------------


def _extensions(file_types: Sequence[str]) -> frozenset[str]:
    """Return the file extensions of the requested formats. Raises InvalidParams."""
    known = formats()
    if not file_types:
        return frozenset(end for each in known.values() for end in each.extensions) | frozenset(
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
                f"unknown format {name!r}; the formats are {', '.join(sorted(known))}",
            )
    return frozenset(ends)


def _scope(
    workspace: EngineWorkspace, filters: Filters, extensions: Iterable[str]
) -> tuple[Scope, Callable[[str], bool]]:
    """Return a scope in which ripgrep lists documents only, and a filter for a glob path."""
    folder, pattern = _split(workspace, filters.path)
    scope = document_scope(workspace, msgspec.structs.replace(filters, path=folder), extensions)
    return scope, path_matcher("path", pattern, scope) if pattern else lambda path: True


def document_scope(
    workspace: EngineWorkspace, filters: Filters, extensions: Iterable[str]
) -> Scope:
    """Return a scope in which ripgrep lists only files with these extensions, in any case."""
    scope = workspace.scope(msgspec.structs.replace(filters, file_types=[TYPE]))
    named = tuple(f"--type-add={TYPE}:*{_any_case(end)}" for end in sorted(extensions))
    return msgspec.structs.replace(scope, arguments=(*named, *scope.arguments))


def _split(workspace: EngineWorkspace, path: str) -> tuple[str, str]:
    """Return the folder of a path, and its glob if it has one: `legal`, `legal/*.pdf`."""
    plain = (path_of_uri(path) or path).replace(os.sep, "/")
    if not GLOB_CHARACTERS.intersection(plain):
        return path, ""
    with contextlib.suppress(NotFound):  # a file may have such a name
        workspace.scope(Filters(path=path))
        return path, ""
    parts = plain.split("/")
    first = next(place for place, part in enumerate(parts) if GLOB_CHARACTERS.intersection(part))
    folder = "/".join(parts[:first])
    return folder + "/" * (folder == "" and plain.startswith("/")), plain


def _any_case(end: str) -> str:
    return "".join(f"[{char}{char.upper()}]" if char.isalpha() else char for char in end)


async def documents_of(workspace: EngineWorkspace) -> list[DocumentFile]:
    """Return all documents that need a program to be read, in the order of paths; some of them if
    time runs out. Raises NoWorkspace and ProgramNotInstalled."""
    plain = {end for each in formats().values() if each.is_plain for end in each.extensions}
    scope = document_scope(workspace, Filters(), _extensions(()) - plain)
    listing = await list_files(workspace.run_ripgrep(), scope, Overlay())
    found = [document_in(scope, path) for path in sorted(listing.paths)]
    return [document for document in found if document.format]


def text_uri(document: DocumentFile) -> str:
    """Return the URI of a document's text, as `document_text` accepts it."""
    return preview_uri(file_uri(document.file), "builtin")


async def _list(
    search: DocumentSearch,
    accepts: Callable[[str], bool],
    extensions: frozenset[str],
    overlay: Overlay,
) -> None:
    """List the documents in scope; open documents count as they are in the editor."""
    scope = search.scope
    search.listing = await list_files(search.ripgrep, scope, overlay)
    search.timed_out |= search.listing.timed_out
    # ripgrep lists a file that is named, whatever its extension.
    named = scope.root.joinpath(scope.paths[0]).is_file()
    listed = list(filter(accepts, search.listing.paths))
    search.listed = len(listed)
    for path in listed:
        document = document_in(scope, path)
        if not document.format or (named and not path.lower().endswith(tuple(extensions))):
            search.add(ReadFailure(document, _why_unread(path)))
            continue
        if path in overlay.paths and is_written(overlay.read(path)):
            document = msgspec.structs.replace(document, content=str(overlay.file(path)))
        search.documents.append(document)


def _existing(documents: Sequence[DocumentFile]) -> list[DocumentFile]:
    return [document for document in documents if os.path.exists(document.file)]


async def _drop_changed(workspace: EngineWorkspace, search: DocumentSearch) -> None:
    """Drop matches in documents that were changed or deleted during the search."""
    found = {hits.document.file: hits.document for hits in search.found if hits.engine == "builtin"}
    changed = await workspace.library.changed(list(found.values()))
    if changed:
        search.found = [hits for hits in search.found if hits.document.file not in changed]
        again = await asyncio.to_thread(_existing, [found[file] for file in changed])
        search.pending += again
        search.searched -= changed
        workspace.library.read_in_background(again)


def document_in(scope: Scope, path: str) -> DocumentFile:
    """Return the document with a path as ripgrep prints it; without a format if it is not a
    document."""
    known = format_of(path)
    root, below = scope.locate(path)
    return DocumentFile(path, os.path.join(root, below), known.name if known else "", str(root))


def _why_unread(path: str) -> str:
    other = "it is not a document of a requested format: use `grep` for text files"
    return unsupported_reason(path) or other


# --- the search ----------------------------------------------------------------------------


async def _search(
    workspace: EngineWorkspace,
    search: DocumentSearch,
    accepts: Callable[[str], bool],
    extensions: frozenset[str],
    overlay: Overlay,
) -> None:
    """List the documents and search them."""
    scope, query = search.scope, search.query
    builtin = BuiltinSearch(workspace.library, search.ripgrep, query, search.add)
    # They are probably the same as before: search their texts while they are being listed.
    same = stamp_of(
        scope.roots, scope.paths, scope.arguments, search.filters.path, search.options.engine
    )
    builtin.begin(workspace.library.recent.get(same, ()))
    try:
        search.progress("Listing documents")
        await _list(search, accepts, extensions, overlay)
        search.progress(f"Searching {counted(len(search.documents), 'document', 'documents')}")
        if search.documents:
            await run_engines(workspace, search, query, builtin)
        else:
            await _check_pattern(search, query.query)
    finally:
        await builtin.aclose()
    workspace.library.remember(same, builtin.searched_keys)


async def _check_pattern(search: DocumentSearch, query: TextPattern) -> None:
    """Raise InvalidPattern for a bad pattern if there is no file to run ripgrep on."""
    arguments = [*query.arguments(), "--", os.devnull]
    async with search.ripgrep.start(arguments, cwd=search.scope.root) as child:
        async for _ in child.chunks():
            pass
        code = await child.wait()
        if not child.timed_out and (problem := pattern_problem(code, child.stderr)):
            raise InvalidPattern(query.pattern, problem, PATTERN_ADVICE)


async def _excluded_documents(
    workspace: EngineWorkspace, search: DocumentSearch, extensions: Iterable[str]
) -> list[str]:
    """Return a warning about excluded documents, for a search without matches."""

    async def count(filters: Filters) -> int:
        scope, accepts = _scope(workspace, filters, extensions)
        listing = await list_files(with_short_deadline(search.ripgrep), scope, Overlay())
        return sum(map(accepts, listing.paths))

    more, flags = await count_excluded_matches(search.filters, count, search.listed)
    if more:
        return [f"{more} more documents are excluded: pass {' and '.join(flags)}"]
    return [] if search.listed else ["there are no documents in scope"]


async def _other_files(workspace: EngineWorkspace, search: DocumentSearch) -> list[str]:
    """Return a warning about files in scope that are no documents, for a search without matches."""
    folder, pattern = _split(workspace, search.filters.path)
    if pattern or search.options.by_format:
        return []
    scope = workspace.scope(msgspec.structs.replace(search.filters, path=folder))
    listing = await list_files(with_short_deadline(search.ripgrep), scope, Overlay())
    count = sum(format_of(path) is None for path in listing.paths)
    one = "file is not a document: `grep` searches its text"
    more = "files are not documents: `grep` searches their text"
    return [counted(count, one, more)] if count and not listing.timed_out else []


async def _documents_with_words(workspace: EngineWorkspace, search: DocumentSearch) -> list[str]:
    """Return a warning with the number of documents that contain each word of a question or phrase,
    for a search without matches."""
    query = search.query.query
    # The mark behind a question is no operator.
    asked = msgspec.structs.replace(query, pattern=query.pattern.rstrip("? "))
    words = search_terms(asked.pattern)[:MOST_WORDS]
    if len(words) < 2 or not is_phrase(asked) or not search.searched:
        return []
    read = [document for document in search.documents if document.file in search.searched]
    ripgrep = with_short_deadline(search.ripgrep)

    async def count(word: str) -> int:
        found: list[DocumentHits | ReadFailure] = []
        pattern = TextPattern(word, literal=True, case_sensitive=query.case_sensitive)
        one = DocumentQuery(pattern, 0, 1, search.query.width)
        await BuiltinSearch(workspace.library, ripgrep, one, found.append).run(read)
        return sum(isinstance(each, DocumentHits) for each in found)

    counts = [f"{word} ({await count(word)})" for word in words]
    return [
        f"documents with single words: {', '.join(counts)};"
        " to rank documents by words: `keyword_search` with include_documents"
    ]
