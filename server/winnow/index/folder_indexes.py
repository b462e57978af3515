"""The indexes of the folders of a workspace, with the settings and scope of each."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from winnow.config import Config
from winnow.errors import SearchError
from winnow.index.builder.disk_scan import IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.folder_settings import FolderSettings, Sources
from winnow.index.builder.throttle import most_parsed
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.writing import OrderFiles
from winnow.index.vectors.embeddings import load_model
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.paths import real_path
from winnow.storage.state_folder import User
from winnow.text.paths import containing_root
from winnow.text.ripgrep import Ripgrep
from winnow.text.roots import is_indexable

logger = logging.getLogger(__name__)


class FolderIndexes:
    """The indexes of the folders of a workspace, each created when it is first needed.

    ``config`` and ``folders`` return the current values, ``roots_of`` the roots of folders; each
    root has an index. ``ripgrep`` returns the program that lists files, ``ordered`` sorts the files
    of a folder by importance, and ``created`` is called with each new index.
    """

    def __init__(
        self,
        workers: IndexWorkers,
        environment: Mapping[str, str],
        *,
        config: Callable[[], Config],
        folders: Callable[[], Sequence[Path]],
        roots_of: Callable[[Sequence[Path]], list[Path]],
        ripgrep: Callable[[], Ripgrep],
        ordered: OrderFiles,
        created: Callable[[FolderIndex], None],
    ) -> None:
        self._workers = workers
        self._environment = environment
        self._config = config
        self._folders = folders
        self._roots_of = roots_of
        self._ripgrep = ripgrep
        self._ordered = ordered
        self._created = created
        self._indexes: dict[Path, FolderIndex] = {}

    def current(self) -> list[FolderIndex]:
        """Return the indexes of the workspace's folders."""
        try:
            roots = self._roots_of(self._folders())
        except SearchError:
            return []
        for root in roots:
            if root not in self._indexes:
                self._indexes[root] = FolderIndex(
                    root,
                    self._workers,
                    self._ripgrep,
                    self.settings,
                    self._ordered,
                    self._config().index.enabled and self.is_indexable(root),
                )
                self._created(self._indexes[root])
        return [self._indexes[root] for root in roots]

    def known(self) -> list[FolderIndex]:
        """Return all indexes, also of folders that the workspace does not have any more."""
        return list(self._indexes.values())

    def get(self, root: Path) -> FolderIndex | None:
        """Return the index of a root, if it was needed before."""
        return self._indexes.get(root)

    def scope_of(self, folder: FolderIndex) -> IndexScope:
        """Return the scope of a folder's index with the current settings."""
        others = [other.root for other in self.current() if other is not folder]
        config = self._config()
        return IndexScope(config.search.exclude, tuple(others), config.index.exclude_patterns)

    def is_indexable(self, root: Path) -> bool:
        """Return True if a root may be indexed without a request."""
        return is_indexable(root, self._environment)

    def settings(self) -> FolderSettings:
        """Return the current settings of the indexes."""
        config = self._config()
        masked = config.index.enable_sensitive_filtering
        rules = config.secret_rules if masked else ()
        model = load_model(config.index.embeddings)
        return FolderSettings(
            max_bytes=config.limits.parse_bytes,
            max_parsed=most_parsed(
                config.index, sum(folder.files.total for folder in self.current())
            ),
            max_size_mb=config.index.max_index_size_mb,
            threshold=config.index.auto_index_threshold,
            masked=masked,
            embeddings=config.index.embeddings,
            rules=rules,
            variant=_variant(masked, rules, model.name if model else ""),
            commit_history=config.index.commit_history,
            sources=Sources(config.index.source, self._environment)
            if config.index.source
            else None,
            user=User.of(self._environment, config.index.location),
        )


def _variant(masked: bool, rules: Sequence[str], model: str) -> str:
    """Identify the settings that decide what is stored: an index built with other settings is
    useless."""
    added = hashlib.blake2b("\n".join(rules).encode(), digest_size=8).hexdigest() if rules else ""
    return ("" if masked else "unmasked") + added + model


def by_folder(
    folders: Sequence[FolderIndex], paths: Iterable[str | Path]
) -> dict[FolderIndex, set[str]]:
    """Group paths by the folder that contains them, relative to it; the client may spell a folder
    differently."""
    roots = [real_path(folder.root) for folder in folders]
    found: dict[FolderIndex, set[str]] = {}
    parents: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            parent, name = os.path.split(path)
            if parent not in parents:
                parents[parent] = real_path(parent)
            held = containing_root(os.path.join(parents[parent], name), roots)
            if held:
                found.setdefault(folders[held[0]], set()).add(held[1])
    return found


@contextlib.contextmanager
def recorded_problem(folder: FolderIndex) -> Iterator[None]:
    """Record an error within the block as the folder's problem; requests continue. No error
    is a problem at the end of the workspace, when its processes are killed."""
    try:
        yield
    except (SearchError, StoreDamaged, DatabaseError, OSError) as error:
        if folder.is_ending:
            return
        folder.files.schedule_rescan()  # the changes were not applied
        folder.lifecycle.failed(str(error))
        logger.warning("The index of %s: %s", folder.root, error)
