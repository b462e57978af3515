"""Read a file of a repository in the cluster, or the identical file of the workspace."""

from __future__ import annotations

import asyncio
import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from winnow.cluster.documents import record_of
from winnow.cluster.shared import text_at
from winnow.errors import InvalidParams, NotInRepository, RepositoryUnavailable, SearchError
from winnow.privacy.secrets import mask_secrets
from winnow.search.answer.cursor import stamp_of
from winnow.search.files.read import (
    FileText,
    ReadRequest,
    bounds_of,
    lines_of_place,
    read_file_text,
    unsaved_text,
)
from winnow.search.shared.clones import clones_in
from winnow.search.shared.place import SharedPlace, is_inside
from winnow.search.shared.session import SharedFile, SharedRequest
from winnow.storage.untrusted import read_untrusted
from winnow.text.encodings import UTF_8
from winnow.text.paths import Located, locate
from winnow.text.reading import LineRange, merge_ranges, read_lines
from winnow.workspace import EngineWorkspace

# A reader waits for this text; a search has an answer without the cluster.
LEAST_SECONDS = 2.0


async def read_shared_text(
    workspace: EngineWorkspace, request: ReadRequest, place: SharedPlace, *, outline: bool = False
) -> FileText:
    """Read lines of a file in a repository, with ``outline`` those on which definitions begin.

    Raises InvalidParams, NotInRepository and RepositoryUnavailable.
    """
    file = await _file_at(workspace, place)
    ranges = request.ranges
    if outline:
        ranges = _outline(file)
    elif place.lines and ranges == merge_ranges([]):
        ranges = [lines_of_place(*place.lines)]
    request = structs.replace(request, path=place.path, ranges=ranges)
    if local := await asyncio.to_thread(_identical, workspace, file):
        return await read_file_text(workspace, structs.replace(request, path=str(local)))
    return await asyncio.to_thread(_read, workspace, request, place, file)


async def _file_at(workspace: EngineWorkspace, place: SharedPlace) -> SharedFile:
    """Return the file at a place of the cluster."""
    if not is_inside(place.path):
        raise NotInRepository(place.repository, place.path)
    ref = place.repository
    shared = SharedRequest(
        *(workspace, [ref], f"{ref}:{place.path}"),
        lambda client, index, _: text_at(client, index, ref, place.path),
        reads_open=True,
        least_seconds=LEAST_SECONDS,
    )
    async with shared:
        answer = await shared.answer()
    if not answer.state.answered:
        raise RepositoryUnavailable(ref, answer.state.reason or "")
    for file in answer.files:
        if (file.branch.ref, file.path) == (ref, place.path):
            return file
    if answer.state.searched and answer.state.reason:
        raise RepositoryUnavailable(ref, answer.state.reason)
    raise NotInRepository(ref, place.path)


def _outline(file: SharedFile) -> list[LineRange]:
    record = record_of(file.source)
    if record is None or not record.definitions:
        raise InvalidParams("outline", "no definitions are known in this file: read its lines")
    return merge_ranges([LineRange(each.line + 1, each.line + 1) for each in record.definitions])


def _identical(workspace: EngineWorkspace, file: SharedFile) -> Path | None:
    """Return the file of the workspace that has the same text: secrets are replaced in both."""
    config = workspace.config
    wanted = file.source.text.encode("utf-8", "replace")
    repository = file.branch.ref.partition("@")[0]
    for clone in clones_in(workspace.roots()):
        if not clone.is_of(repository):
            continue
        try:
            located = locate(str(clone.root / file.path), [clone.root], tuple(workspace.buffers))
            unsaved = unsaved_text(located, workspace.buffers)
            text = (
                read_untrusted(located.real, config.limits.parse_bytes)
                if unsaved is None
                else unsaved.encode("utf-8", "replace")
            )
        except (OSError, SearchError):
            continue
        if config.index.enable_sensitive_filtering:
            text, _ = mask_secrets(text, config.secret_rules)
        if text == wanted:
            return Path(located.real)
    return None


def _read(
    workspace: EngineWorkspace, request: ReadRequest, place: SharedPlace, file: SharedFile
) -> FileText:
    """Read lines of the cluster's text."""
    limits, branch = workspace.config.limits, file.branch
    raw = file.source.text.encode("utf-8", "replace").removeprefix(codecs.BOM_UTF8)
    return FileText(
        root=next(iter(workspace.roots()), Path("/")),
        located=Located(0, file.path, file.path),
        ranges=request.ranges,
        reading=read_lines(
            io.BytesIO(raw).read,
            request.ranges,
            bounds_of(request, limits),
            first=request.first,
            encoding=UTF_8,
        ),
        stamp=stamp_of(raw),
        unsaved=False,
        document=None,
        seconds=limits.search_seconds,
        warnings=list(_warnings(place, branch.commit)),
        repository=branch.ref,
        commit=branch.commit,
    )


def _warnings(place: SharedPlace, commit: str) -> Iterator[str]:
    if place.commit and place.commit != commit:
        yield (
            f"{place.repository} was pushed again since: this is the text of commit {commit}, not"
            f" of {place.commit}"
        )
