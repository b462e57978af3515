"""Open documents with unsaved changes, written to disk so that ripgrep searches their text.

A private temporary folder holds the texts, in the layout of their roots. Results from the same
files on disk are dropped. An open document is searched even if ignore files exclude it, because the
user is editing it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from winnow.storage.paths import is_below, real_path, shown_path
from winnow.storage.untrusted import UnusableFile, open_untrusted, read_untrusted
from winnow.storage.writing import create_file, temporary_folder
from winnow.text.encodings import decode_text
from winnow.text.paths import containing_root
from winnow.text.reading import CHARACTER_BYTES
from winnow.text.scope import Scope


class Overlay(Struct, frozen=True):
    """Unsaved documents on disk. Each of ``folders`` comes with a prefix that turns its paths into
    paths of the scope; ``paths`` are all of these. ``failed`` counts documents that could not be
    written, whose files on disk are searched instead."""

    folders: tuple[tuple[Path, str], ...] = ()
    paths: frozenset[str] = frozenset()
    failed: int = 0

    def file(self, path: str) -> Path:
        """Return the file with the text of a document; ``path`` is one of ``paths``."""
        folder, prefix = max(
            (pair for pair in self.folders if path.startswith(pair[1])),
            key=lambda pair: len(pair[1]),
        )
        return folder / path[len(prefix) :]

    def read(self, path: str) -> bytes:
        """Return the text of a document, in UTF-8. Raises OSError."""
        with os.fdopen(open_untrusted(self.file(path)), "rb") as file:
            return file.read()


@contextlib.contextmanager
def unsaved_overlay(buffers: Mapping[Path, str], scope: Scope) -> Iterator[Overlay]:
    """Write the documents in scope that differ from the disk to an overlay, during the block."""
    changed = list(_changed(buffers, scope))
    if not changed:
        yield Overlay()
        return
    with temporary_folder(".winnow-") as temporary:
        paths = set()
        for place, below, text in changed:
            file = Path(temporary, str(place), below)
            # A name may be too long, or a folder elsewhere: then the file on disk is searched.
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                create_file(file, text.encode("utf-8", "replace"))
                paths.add(scope.prefix(place) + below)
        folders = tuple(
            (folder, scope.prefix(place))
            for place in range(len(scope.roots))
            if (folder := Path(temporary, str(place))).is_dir()
        )
        yield Overlay(folders, frozenset(paths), len(changed) - len(paths))


def scope_arguments(scope: Scope, folder: Path, prefix: str) -> list[str]:
    """Return ripgrep's arguments for a folder of an overlay: the scope, as on disk."""
    if scope.files is not None:  # they are all named, hidden ones too
        return ["--hidden", "--no-ignore", "--", "."]
    # A hidden path is searched if the request names it.
    path = "." if prefix or not (folder / scope.paths[0]).exists() else scope.paths[0]
    if (folder / path).is_file():
        return ["--no-ignore", "--", path]
    # Ignore files don't apply here, least of all one of the folder for temporary files.
    filters = [option for option in scope.arguments if not option.startswith("--ignore-file=")]
    return [*filters, "--no-ignore", "--", path]


def changed_paths(buffers: Mapping[Path, str], scope: Scope) -> list[str]:
    """Return the documents in scope that differ from the disk, as results show paths."""
    return [shown_path(path)[0] for path in sorted(unsaved_paths(buffers, scope))]


def unsaved_paths(buffers: Mapping[Path, str], scope: Scope) -> set[str]:
    """Return the documents in scope that differ from the disk, as ripgrep prints paths."""
    return {
        scope.prefix(place) + below
        for place, below, text in _changed(buffers, scope)
        if is_unsaved(os.path.join(scope.roots[place], below), text)
    }


def _changed(buffers: Mapping[Path, str], scope: Scope) -> Iterator[tuple[int, str, str]]:
    """Yield the place of the root, the path below it and the text of each unsaved document."""
    roots = [real_path(root) for root in scope.roots]
    for path, text in buffers.items():
        with contextlib.suppress(OSError, ValueError):
            # The client may spell a folder differently. The file itself need not exist.
            real = os.path.join(real_path(path.parent), path.name)
            held = containing_root(real, roots)
            if held is None or not _differs(real, text):
                continue
            place, below = held
            for target, link in scope.links:
                if is_below(real, target):  # it is searched only through the link
                    root, below = scope.locate(link + real[len(target) :].replace(os.sep, "/"))
                    place = scope.roots.index(root)
                    break
            if scope.is_in_paths(place, below):
                yield place, below, text


def is_unsaved(path: str, text: str) -> bool:
    """Return True if the text differs from that of the file, in whatever encoding."""
    try:
        is_large = os.stat(path).st_size > (len(text) + 1) * CHARACTER_BYTES
    except FileNotFoundError:
        return True
    if not _differs(path, text):
        return False
    try:
        return is_large or decode_text(_read(path, (len(text) + 1) * CHARACTER_BYTES)) != text
    except UnusableFile:  # another process has replaced it
        return True


def _differs(path: str, text: str) -> bool:
    """Return True if the bytes of the file, which ripgrep reads, are not the text in UTF-8; False
    if it is not a regular file."""
    raw = text.encode("utf-8", "surrogatepass")
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(state.st_mode):
        return False
    try:
        return state.st_size != len(raw) or _read(path, len(raw)) != raw
    except UnusableFile:
        return True


def _read(path: str, max_bytes: int) -> bytes:
    """Return the contents of a document's file, which are compared and never shown."""
    return read_untrusted(real_path(path), max_bytes)
