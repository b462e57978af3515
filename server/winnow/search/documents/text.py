"""document_text: a document as text, with rulers where its pages and other parts begin."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct

from winnow.documents.format import format_of, unsupported_reason
from winnow.documents.library.locations import (
    PREVIEW_SCHEME,
    Anchor,
    TextMap,
    file_uri,
    location_fields,
    preview_uri,
)
from winnow.documents.library.request import DocumentFile, EngineName, is_written
from winnow.documents.unreadable import Unreadable
from winnow.errors import InvalidParams, NotAFile, UnreadableDocument
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.documents.engines import find_rga
from winnow.storage.paths import real_path, shown_path
from winnow.text.buffers import unsaved
from winnow.text.paths import Located, locate, path_of_uri
from winnow.types import Completeness, Progress, SearchParams, Skipped
from winnow.types.document_text import DocumentTextParams, DocumentTextResult, TextPart
from winnow.workspace import Workspace

SECONDS = 30.0


class Shown(Struct, frozen=True):
    """A document as a reader sees it: its lines, rulers among them, and the anchors of those lines
    at which one begins."""

    document: DocumentFile
    lines: Sequence[str]
    anchors: Sequence[tuple[int, Anchor]]
    text_map: TextMap
    stamp: bytes


def document_at(
    roots: Sequence[Path], path: str, buffers: Collection[Path] = ()
) -> tuple[Path, Located, DocumentFile]:
    """The document that a path stands for, and the root it is in; ``buffers`` need not be on disk.

    Raises NoWorkspace, NotFound, PathOutsideWorkspace, NotAFile and UnreadableDocument.
    """
    located = locate(path, roots, tuple(buffers))
    root = roots[located.place]
    shown = shown_path(located.below)[0]
    known = format_of(located.below)
    if os.path.isdir(located.real):
        raise NotAFile(shown, "it is a folder: see `tree` or `glob`")
    if known is None:
        reason = (
            unsupported_reason(shown) or "it is no document whose format is known: see `read_file`"
        )
        raise UnreadableDocument(shown, reason)
    return root, located, DocumentFile(shown, located.real, known.name, real_path(root))


async def shown_text(
    workspace: Workspace, document: DocumentFile, engine: EngineName = "builtin"
) -> Shown:
    """A document as a reader sees it. Raises as :meth:`Library.text` and :meth:`Rga.text` do."""
    if engine == "rga":
        deadline = asyncio.get_running_loop().time() + SECONDS
        try:
            lines, text_map = await find_rga(workspace).text(document, deadline)
        except Unreadable as reason:
            raise UnreadableDocument(document.path, str(reason)) from None
    else:
        lines, text_map = await workspace.library.text(document, SECONDS)
    return await asyncio.to_thread(_shown, document, lines, text_map)


def _shown(document: DocumentFile, lines: Sequence[str], text_map: TextMap) -> Shown:
    made: list[str] = []
    anchors = []
    for line, anchor in text_map.shown(lines):
        made.append(line)
        if anchor is not None:
            anchors.append((len(made), anchor))
    return Shown(document, made, anchors, text_map, cursor.stamp_of(made))


async def read_document(
    workspace: Workspace, params: DocumentTextParams, progress: Progress
) -> DocumentTextResult:
    """The text of a document.

    Raises InvalidParams, NoWorkspace, NotFound, PathOutsideWorkspace, NotAFile, UnreadableDocument,
    SearchTimedOut and SearchFailed.
    """
    path, engine = _asked(params)
    if params.end is not None and params.end < params.start:
        raise InvalidParams("end", f"it is before the start {params.start}")
    root, located, document = await asyncio.to_thread(
        document_at, workspace.search_roots(), path, workspace.buffers
    )
    progress(f"Reading {document.path}")
    scope = workspace.scope(SearchParams())
    with unsaved(workspace.buffers, scope) as overlay:
        name = scope.prefix(located.place) + located.below
        if name in overlay.paths and is_written(overlay.read(name)):
            document = msgspec.structs.replace(document, content=str(overlay.file(name)))
            engine = "builtin"
        try:
            shown = await shown_text(workspace, document, engine)
        finally:
            await workspace.library.forget([document] if document.content else [])
    room = workspace.config.limits.answer_bytes
    return await asyncio.to_thread(_result, params, root, located, engine, shown, room)


def _asked(params: DocumentTextParams) -> tuple[str, EngineName]:
    """The path and the engine that params mean, who may have the URI of a preview as path."""
    if not params.path.startswith(f"{PREVIEW_SCHEME}:"):
        return params.path, params.engine
    parts = urlsplit(params.path)
    named = path_of_uri(parts._replace(scheme="file", query="", fragment="").geturl())
    if not named:
        raise InvalidParams("path", "this is no URI of a document's text")
    engine: EngineName = "rga" if parse_qs(parts.query).get("engine") == ["rga"] else params.engine
    return named, engine


# --- the answer ----------------------------------------------------------------------------


def _result(
    params: DocumentTextParams,
    root: Path,
    located: Located,
    engine: EngineName,
    shown: Shown,
    room: int,
) -> DocumentTextResult:
    """The lines that were asked for, as many as there is room for."""
    continued = cursor.decode(params, int)
    first, stamp = continued or (params.start, shown.stamp)
    last = min(params.end or len(shown.lines), len(shown.lines))
    reasons = [CHANGED] if stamp != shown.stamp else []
    failed = [
        f"{one.member}: {one.reason}" if one.member else one.reason for one in shown.text_map.failed
    ]
    if failed:
        reasons.append(f"{len(failed)} parts could not be read: see `failed`")
    completeness = Completeness(
        complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=False
    )
    path, _ = shown_path(located.below)
    warnings = [_beyond(first, len(shown.lines))] if first > max(1, len(shown.lines)) else []

    def lines_to(end: int) -> DocumentTextResult:
        more = end < last
        return DocumentTextResult(
            root=shown_path(str(root))[0],
            path=path,
            uri=preview_uri(file_uri(str(root / located.below)), engine),
            format=shown.document.format,
            engine=engine,
            start=first,
            text="".join(f"{line}\n" for line in shown.lines[first - 1 : end]),
            total_lines=len(shown.lines),
            line_map=_parts(shown, first, end),
            failed=failed,
            total_found=max(0, last - params.start + 1),
            returned=max(0, end - first + 1),
            truncated=more,
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, end + 1, shown.stamp) if more else None,
        )

    end = _fitting(shown.lines, first, last, room)
    fewer = fractions(end - first + 1)[1:]
    steps = [functools.partial(lines_to, first + count - 1) for count in fewer]
    return shorten(lines_to(end), params.max_tokens, steps)


def _beyond(first: int, total: int) -> str:
    lines = "1 line" if total == 1 else f"{total} lines"
    return f"line {first} is beyond the end: the text has {lines}"


def _fitting(lines: Sequence[str], first: int, last: int, room: int) -> int:
    """The last line that there is room for."""
    for number in range(first, last + 1):
        room -= 4 * len(lines[number - 1]) + 1
        if room < 0 and number > first:
            return number - 1
    return last


def _parts(shown: Shown, first: int, end: int) -> list[TextPart]:
    """Where the lines come from, if there are any."""
    if first > end:
        return []
    before = [one for one in shown.anchors if one[0] < first][-1:]
    within = [one for one in shown.anchors if first <= one[0] <= end]
    begins = within and within[0][0] == first
    return [_part(line, anchor) for line, anchor in [*([] if begins else before), *within]]


def _part(line: int, anchor: Anchor) -> TextPart:
    place = anchor.place
    return TextPart(
        line=line,
        title=anchor.ruler or None,
        **location_fields(place),
        row=place.row,
        paragraph=place.paragraph,
    )
