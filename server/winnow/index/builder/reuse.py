"""Reuse what is stored about texts: in the store of a folder, and in the user's other indexes."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from winnow.index.builder.disk_scan import content_keys, is_still_at
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.folder_store import FolderStore
from winnow.index.builder.other_indexes import (
    copy_texts,
    has_samples,
    import_texts,
    needs_sample,
    sampled,
    sampled_keys,
    similar_roots,
    write_sample,
)
from winnow.index.builder.size_limit import MEGABYTE
from winnow.index.store.file_record import FileState
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store
from winnow.processes.waiting import run_to_end
from winnow.storage.state_folder import User

logger = logging.getLogger(__name__)

# Files compared with already indexed texts at once.
AT_ONCE = 500
# With more changes than this, the user's other indexes are searched for the texts: a branch was
# switched, or everything is new.
FEW_CHANGES = 20
# All texts of another index are imported only if it has at most this number of files per file here.
MOST_TIMES = 2

# States and text keys by path.
Texts = Mapping[str, tuple[FileState, bytes]]


class TextReuse:
    """Reuses stored texts for the files of a folder."""

    def __init__(
        self, root: Path, disk: FolderStore, settings: Callable[[], FolderSettings]
    ) -> None:
        self._root = root
        self._disk = disk
        self._settings = settings
        self._is_still = functools.partial(is_still_at, root)
        self._has_pulled = False
        self.notice = ""  # about the archives in the user's settings

    async def reuse(self, paths: Sequence[str], overtaken: Set[str]) -> list[str]:
        """Write the files whose text is stored here or in a similar folder. Return the other files,
        and those that were ``overtaken``: changed since the pass began."""
        others, has_imported = list[Path](), False
        if len(paths) > FEW_CHANGES:
            await self._pull_for_new_index()
            others, has_imported = await self._similar(paths)
        if not others and not await self._disk.query(Reader.has_keys):
            return list(paths)  # a new index has no texts to reuse
        reused: set[str] = set()
        # About 300 bytes per file; without other indexes, only those of some files at a time.
        unknown: dict[str, tuple[FileState, bytes]] = {}
        for at in range(0, len(paths), AT_ONCE):
            portion = paths[at : at + AT_ONCE]
            keys = await asyncio.to_thread(_keys, self._root, portion, self._settings())
            for path in overtaken & keys.keys():
                del keys[path]
            adopt = functools.partial(Store.adopt, files=keys, is_still=self._is_still)
            reused.update(await self._disk.run(adopt))
            if others:
                unknown.update((path, keys[path]) for path in keys.keys() - reused)
        if has_imported:
            await self._disk.run(Store.drop_parked)
        for other in others:
            left = {path: unknown[path] for path in unknown.keys() - reused - overtaken}
            reused.update(await self._copy_texts(other, left))
        return [path for path in paths if path not in reused]

    async def _pull_for_new_index(self) -> None:
        """Pull the archives that the user's settings name, if this index is new."""
        settings = self._settings()
        if settings.sources is None or self._has_pulled:
            return
        self._has_pulled = True
        if await self._disk.query(Reader.has_keys):
            return
        # Loads what only downloads need.
        from winnow.index.archive.sources import pull_for_new_index

        is_canceled = threading.Event()

        def report(done: int, total: int | None) -> None:
            if is_canceled.is_set():
                raise InterruptedError("it was canceled")

        user = settings.user or User.of(settings.sources.environment)
        try:
            self.notice = await asyncio.to_thread(
                pull_for_new_index, settings.sources, user, settings.variant, report
            )
        finally:
            is_canceled.set()
        logger.info("%s: %s", self._root, self.notice)

    async def _similar(self, paths: Sequence[str]) -> tuple[list[Path], bool]:
        """Return the folders whose indexes may have the texts of these files, and True if all texts
        of one of them were imported, because this index is new."""
        settings = self._settings()
        if not await asyncio.to_thread(has_samples, settings.user):
            return [], False
        sample = await asyncio.to_thread(_sample, self._root, paths, settings)
        roots = await asyncio.to_thread(similar_roots, self._root, sample, settings.user)
        if not roots or await self._disk.query(Reader.has_keys):
            return roots, False
        importing = functools.partial(
            import_texts,
            roots=roots,
            sample=sample,
            most=MOST_TIMES * len(paths),
            room=settings.max_size_mb * MEGABYTE,
            limits=settings.size_limits,
            variant=settings.variant,
            user=settings.user,
        )
        return roots, await run_to_end(self._disk.run(importing))

    async def _copy_texts(self, other: Path, files: Texts) -> list[str]:
        """Copy the data of files whose text the index of another folder has. Return the paths."""
        store, settings = await self._disk.current(), self._settings()
        steps = copy_texts(
            *(store, other, settings.variant, settings.user),
            *(files, self._is_still, settings.size_limits),
        )
        copied: list[str] = []

        def step(current: Store) -> list[str]:
            return next(steps, []) if current is store else []

        try:
            while portion := await run_to_end(self._disk.run(step)):
                copied += portion
        finally:
            await run_to_end(asyncio.to_thread(steps.close))
        return copied

    async def let_others_reuse(self) -> None:
        """Let similar folders find this index, unless they can already."""
        store, user = self._disk.opened, self._settings().user
        if store is None or store.is_temporary:
            return
        if await asyncio.to_thread(needs_sample, self._root, user):
            keys = await self._disk.query(sampled_keys)
            await asyncio.to_thread(write_sample, self._root, keys, user)


def _sample(root: Path, paths: Sequence[str], settings: FolderSettings) -> set[bytes]:
    return {key for _, key in _keys(root, sampled(paths), settings).values()}


def _keys(
    root: Path, paths: Sequence[str], settings: FolderSettings
) -> dict[str, tuple[FileState, bytes]]:
    """Return the states and keys of files whose text may be indexed: that depends on the name of
    files with secrets, which a key does not contain."""
    if settings.masked:
        # Slow to import, and the first search waits for this module.
        from winnow.privacy.secrets import is_secret_file

        paths = [path for path in paths if not is_secret_file(path)]
    return content_keys(root, paths, settings.max_bytes, large=True)
