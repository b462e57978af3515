"""Open documents with unsaved changes, laid out so that ripgrep finds their text, not the disk's.

Their text is written to a private temporary folder, in the shape of the roots they belong to, and
searched there; what the search finds of the same files on disk does not count. An open document
counts even where ignore files exclude it: someone is working on it.
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
from winnow.text.encodings import decoded
from winnow.text.paths import held_by
from winnow.text.reading import CHARACTER_BYTES
from winnow.text.scope import Scope


class Overlay(Struct, frozen=True):
    """Unsaved documents: ``folders`` to search in, each with the prefix that makes its files'
    paths those of the scope; ``paths`` are all of these. ``failed`` counts the documents whose
    text could not be laid out: for them, the disk's is searched."""

    folders: tuple[tuple[Path, str], ...] = ()
    paths: frozenset[str] = frozenset()
    failed: int = 0

    def file(self, path: str) -> Path:
        """Where the text of a document is laid out; ``path`` is one of ``paths``."""
        folder, prefix = max(
            (one for one in self.folders if path.startswith(one[1])), key=lambda one: len(one[1])
        )
        return folder / path[len(prefix) :]

    def read(self, path: str) -> bytes:
        """Return the text of a document, in UTF-8. Raises OSError."""
        with os.fdopen(open_untrusted(self.file(path)), "rb") as file:
            return file.read()


@contextlib.contextmanager
def unsaved(buffers: Mapping[Path, str], scope: Scope) -> Iterator[Overlay]:
    """The documents in scope whose text is not what is on disk, for the time of the block."""
    changed = list(_changed(buffers, scope))
    if not changed:
        yield Overlay()
        return
    with temporary_folder(".winnow-") as temporary:
        paths = set()
        for place, below, text in changed:
            file = Path(temporary, str(place), below)
            # A name may be too long, or a folder elsewhere: that document is searched on disk.
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
    """What ripgrep is to search of one of an overlay's folders: the scope, as it is on disk."""
    if scope.files is not None:  # of which each is named, hidden ones too
        return ["--hidden", "--no-ignore", "--", "."]
    # What is hidden is searched if it is asked for by name.
    asked = "." if prefix or not (folder / scope.paths[0]).exists() else scope.paths[0]
    if (folder / asked).is_file():
        return ["--no-ignore", "--", asked]
    # No ignore file holds here, least of all one of the folder for temporary files.
    filters = [one for one in scope.arguments if not one.startswith("--ignore-file=")]
    return [*filters, "--no-ignore", "--", asked]


def changed_paths(buffers: Mapping[Path, str], scope: Scope) -> list[str]:
    """The documents in scope whose text is not what is on disk, as paths of the scope."""
    return [shown_path(path)[0] for path in sorted(unsaved_paths(buffers, scope))]


def unsaved_paths(buffers: Mapping[Path, str], scope: Scope) -> set[str]:
    """The documents in scope whose text is not what is on disk, in paths as ripgrep prints them."""
    return {
        scope.prefix(place) + below
        for place, below, text in _changed(buffers, scope)
        if is_unsaved(os.path.join(scope.roots[place], below), text)
    }


def _changed(buffers: Mapping[Path, str], scope: Scope) -> Iterator[tuple[int, str, str]]:
    """The place of the root, the path below it, and the text of each unsaved document in scope."""
    roots = [real_path(root) for root in scope.roots]
    for path, text in buffers.items():
        with contextlib.suppress(OSError, ValueError):
            # The client may spell a folder in another way. The file itself may not exist.
            real = os.path.join(real_path(path.parent), path.name)
            held = held_by(real, roots)
            if held is None or not _differs(real, text):
                continue
            place, below = held
            for target, link in scope.links:
                if is_below(real, target):  # it is searched by this name only
                    root, below = scope.locate(link + real[len(target) :].replace(os.sep, "/"))
                    place = scope.roots.index(root)
                    break
            if scope.within_paths(place, below):
                yield place, below, text


def is_unsaved(path: str, text: str) -> bool:
    """Whether the text is not that of the file, whatever encoding the file has."""
    try:
        large = os.stat(path).st_size > (len(text) + 1) * CHARACTER_BYTES
    except FileNotFoundError:
        return True
    if not _differs(path, text):
        return False
    try:
        return large or decoded(_read(path, (len(text) + 1) * CHARACTER_BYTES)) != text
    except UnusableFile:  # it has been replaced since
        return True


def _differs(path: str, text: str) -> bool:
    """Whether the file holds other bytes than the text in UTF-8, which is what ripgrep reads;
    False where it is no file."""
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
    """Return what a document has on disk, which is compared and never shown."""
    return read_untrusted(real_path(path), max_bytes)
