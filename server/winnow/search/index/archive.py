"""Export the index of a folder into an archive, and pull the archives of others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from winnow.index.archive.manifest import KEY_VARIABLE, ArchiveRejected, Manifest
from winnow.index.archive.pulled import Pulled
from winnow.index.archive.reading import read_keys
from winnow.index.archive.sources import pull_from
from winnow.index.archive.writing import write_archive
from winnow.index.builder.folder import FolderIndex
from winnow.index.commits.git_log import head_commit
from winnow.index.vectors.embeddings import load_model
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

__all__ = ["ArchiveError", "Manifest", "Pulled", "export_index", "pull_archives"]


class ArchiveError(Exception):
    """An archive cannot be written or used. The message says why."""


async def export_index(
    workspace: EngineWorkspace,
    target: Path,
    *,
    base: Path | None = None,
    signatures: bool = True,
    may_be_unsigned: bool = False,
) -> Manifest:
    """Write the complete index of the folder into an archive, signed with the team's key from the
    environment. A ``base`` makes it a delta. Raises ArchiveError and IndexUnavailable.
    """
    folder, key = _folder(workspace), workspace.environment.get(KEY_VARIABLE) or None
    if key is None and not may_be_unsigned:
        raise ArchiveError(f"set {KEY_VARIABLE} to sign the archive, or pass --unsigned")
    installed = workspace.installed
    commit = await head_commit(
        folder.root, workspace.processes, installed.which("git"), installed.inherited_environment()
    )
    model = load_model(workspace.config.index.embeddings)
    store = await folder.disk.current()

    def write() -> Manifest:
        known = None
        if base is not None:
            known = read_keys(base, store.kind, key, may_be_unsigned=may_be_unsigned)
        return write_archive(
            store,
            target,
            key=key,
            model=model.name if model is not None else None,
            commit=commit,
            base=known,
            signatures=signatures,
        )

    try:
        return await asyncio.to_thread(write)
    except OSError as error:
        raise ArchiveError(f"{target}: {error.strerror or error}") from error
    except (ArchiveRejected, ValueError, StoreDamaged, DatabaseError) as error:
        raise ArchiveError(str(error)) from error


async def pull_archives(
    workspace: EngineWorkspace,
    sources: Sequence[str],
    progress: Progress,
    *,
    may_be_unsigned: bool = False,
) -> list[Pulled]:
    """Keep archives for this user, from files, folders of archives, or HTTPS addresses. The next
    build of a folder with the same texts reuses them. Raises ArchiveError.
    """

    def report(done: int, total: int | None) -> None:
        of = f" of {total / 1e6:.0f}" if total else ""
        progress(f"Downloading the index: {done / 1e6:.0f}{of} MB")

    found: list[Pulled] = []
    for source in sources:
        try:
            found += await asyncio.to_thread(
                pull_from,
                source,
                workspace.user,
                workspace.index.variant,
                workspace.environment,
                report,
                may_be_unsigned=may_be_unsigned,
            )
        except ArchiveRejected as error:
            raise ArchiveError(str(error)) from error
    return found


def _folder(workspace: EngineWorkspace) -> FolderIndex:
    """Return the only folder, whose index is complete. Raises ArchiveError."""
    folders = workspace.index.folder_indexes()
    if len(folders) != 1:
        raise ArchiveError("an archive has the index of one folder: open only that")
    if not workspace.index.state().knows_all:
        raise ArchiveError("the index is not complete: run `winnow index build` first")
    return folders[0]
