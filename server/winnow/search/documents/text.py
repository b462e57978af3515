"""Read the text of one document, with rulers where its pages and other parts begin."""

from __future__ import annotations

import asyncio
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
from winnow.search.answer.cursor import stamp_of
from winnow.search.documents.engines import find_rga
from winnow.search.documents.rows import TextPart
from winnow.storage.paths import real_path, shown_path
from winnow.text.buffers import unsaved_overlay
from winnow.text.paths import Located, locate, path_of_uri
from winnow.text.scope import Filters
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

SECONDS = 30.0


class DocumentText(Struct, frozen=True):
    """The text of a document: its lines with rulers, and the anchors by line number."""

    document: DocumentFile
    lines: Sequence[str]
    anchors: Sequence[tuple[int, Anchor]]
    text_map: TextMap
    stamp: bytes

    def parts(self, first: int, end: int) -> list[TextPart]:
        """Return the sources of a range of lines."""
        if first > end:
            return []
        before = [entry for entry in self.anchors if entry[0] < first][-1:]
        within = [entry for entry in self.anchors if first <= entry[0] <= end]
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


class LocatedDocument(Struct, frozen=True):
    """The text of a document at a path, and the engine that extracted it."""

    root: Path
    located: Located
    engine: EngineName
    text: DocumentText

    @property
    def uri(self) -> str:
        """The URI of the preview."""
        return preview_uri(file_uri(str(self.root / self.located.below)), self.engine)


def document_at(
    roots: Sequence[Path], path: str, buffers: Collection[Path] = ()
) -> tuple[Path, Located, DocumentFile]:
    """Return the document at a path and its root. Those in `buffers` need not be on disk.

    Raises NoWorkspace, NotFound, PathOutsideWorkspace, NotAFile and UnreadableDocument.
    """
    located = locate(path, roots, tuple(buffers))
    root = roots[located.place]
    shown = shown_path(located.below)[0]
    known = format_of(located.below)
    if os.path.isdir(located.real):
        raise NotAFile(shown, "it is a folder: list it with `tree`, or search it with `grep`")
    if known is None:
        reason = unsupported_reason(shown) or "its format is not a document format: use `read_file`"
        raise UnreadableDocument(shown, reason)
    return root, located, DocumentFile(shown, located.real, known.name, real_path(root))


async def read_document(
    workspace: EngineWorkspace, document: DocumentFile, engine: EngineName = "builtin"
) -> DocumentText:
    """Return the text of a document. Raises as :meth:`Library.text` and :meth:`Rga.text` do."""
    if engine == "rga":
        deadline = asyncio.get_running_loop().time() + SECONDS
        try:
            lines, text_map = await find_rga(workspace).text(document, deadline)
        except Unreadable as reason:
            raise UnreadableDocument(document.path, str(reason)) from None
    else:
        lines, text_map = await workspace.library.text(document, SECONDS)
    return await asyncio.to_thread(_with_rulers, document, lines, text_map)


def _with_rulers(document: DocumentFile, lines: Sequence[str], text_map: TextMap) -> DocumentText:
    shown: list[str] = []
    anchors = []
    for line, anchor in text_map.shown(lines):
        shown.append(line)
        if anchor is not None:
            anchors.append((len(shown), anchor))
    return DocumentText(document, shown, anchors, text_map, stamp_of(shown))


def _of_preview(path: str, engine: EngineName) -> tuple[str, EngineName]:
    """Return the path and the engine that the URI of a preview names; other paths unchanged."""
    if not path.startswith(f"{PREVIEW_SCHEME}:"):
        return path, engine
    parts = urlsplit(path)
    file = path_of_uri(parts._replace(scheme="file", query="", fragment="").geturl())
    if not file:
        raise InvalidParams("path", "it is not the URI of a document's text")
    return file, "rga" if parse_qs(parts.query).get("engine") == ["rga"] else engine


async def read_document_at(
    workspace: EngineWorkspace, path: str, engine: EngineName, progress: Progress
) -> LocatedDocument:
    """Read the document at a path, or its unsaved text.

    The path may be the URI of a preview, which names the engine. Raises InvalidParams, NoWorkspace,
    NotFound, PathOutsideWorkspace, NotAFile, UnreadableDocument, SearchTimedOut and SearchFailed.
    """
    path, engine = _of_preview(path, engine)
    root, located, document = await asyncio.to_thread(
        document_at, workspace.search_roots(), path, workspace.buffers
    )
    progress(f"Reading {document.path}")
    scope = workspace.scope(Filters())
    with unsaved_overlay(workspace.buffers, scope) as overlay:
        name = scope.prefix(located.place) + located.below
        if name in overlay.paths and is_written(overlay.read(name)):
            document = msgspec.structs.replace(document, content=str(overlay.file(name)))
            engine = "builtin"
        try:
            text = await read_document(workspace, document, engine)
        finally:
            await workspace.library.forget([document] if document.content else [])
    return LocatedDocument(root, located, engine, text)
