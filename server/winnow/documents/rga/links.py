"""Names for documents that change when they do.

rga knows what it has read by the path and the time of the last change: a document that is replaced
by one of the same time (from an archive, a reproducible build) would be answered as it was. It is
given a link instead, whose folder is named for all that tells one state of a file from another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from winnow.documents.extract.job import stamp_of
from winnow.documents.library.request import Document
from winnow.storage.writing import private_folder

FOLDER = "links"
# Then all are forgotten, and with them what rga has kept of documents that are long gone.
MOST_LINKS = 20_000


def linked(documents: Sequence[Document], cache: Path) -> dict[str, Document]:
    """The documents by what rga is to call them: links in a folder of its cache, or their own
    paths where there can be no links."""
    return {_link(one, cache / FOLDER): one for one in documents}


def has_many(cache: Path) -> bool:
    """Whether there are so many links that it is time to forget them."""
    try:
        return len(os.listdir(cache / FOLDER)) > MOST_LINKS
    except OSError:
        return False


def forget(cache: Path) -> None:
    """Delete all links."""
    shutil.rmtree(cache / FOLDER, ignore_errors=True)


def _link(document: Document, folder: Path) -> str:
    path = document.absolute
    try:
        state = stamp_of(os.stat(path))
        known = hashlib.blake2b(os.fsencode(path), digest_size=16)
        known.update(repr(state).encode())
        link = folder / known.hexdigest() / os.path.basename(path)
        private_folder(link.parent)
        with contextlib.suppress(FileExistsError):
            os.symlink(path, link)
    except OSError:
        return path
    return str(link)
