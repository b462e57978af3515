"""Build index snapshots of small projects without workers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from winnow.index.builder.extraction import extract_file
from winnow.index.builder.folder import FolderIndex
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.store.file_record import IndexJob, Part
from winnow.index.store.store import Store
from winnow.symbols.language import language_of
from winnow.workspace import EngineWorkspace

MAX_BYTES = 4 * 1024 * 1024


def fill(store: Store, root: Path, part: Part = "all") -> int:
    """Index all files of a folder in supported languages; return their number."""
    batch = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), root)
            if language_of(path):
                job = IndexJob(os.fsencode(root), os.fsencode(path), MAX_BYTES, part=part)
                record = extract_file(job)
                if record is not None:
                    batch[path.replace(os.sep, "/")] = record
    store.write(batch)
    return len(batch)


@contextlib.contextmanager
def indexed(*roots: Path, overlay: Overlay | None = None) -> Iterator[Snapshot]:
    """Open a snapshot of all files in these folders; nothing is written to them."""
    with contextlib.ExitStack() as stack:
        readers = []
        for root in roots:
            store = Store.temporary()
            stack.callback(store.close)
            fill(store, root)
            readers.append(store.reader())
        yield stack.enter_context(Snapshot([root.as_posix() for root in roots], readers, overlay))


def folder_of(workspace: EngineWorkspace) -> FolderIndex:
    """Return the index of the only folder."""
    (folder,) = workspace.index.folder_indexes()
    return folder
