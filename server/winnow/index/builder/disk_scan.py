"""List the files of a folder and find what has changed since they were read.

ripgrep lists the files, as it does for every search, so both cover the same ones. A new listing is
needed only when the mtime of a folder or an ignore file has changed.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.config.globs import escaped, glob_regex
from winnow.errors import SearchError
from winnow.index.store.file_record import (
    CLOCK_NS,
    EXCLUDED,
    FULL,
    MOST_SEARCHED,
    NO_DEFINITIONS,
    FileState,
    content_hasher,
    content_key,
    file_state,
    language_at,
    state_from_stat,
)
from winnow.storage.paths import is_below, real_path
from winnow.symbols.language import language_of
from winnow.text.buffers import Overlay
from winnow.text.encodings import decode_text
from winnow.text.git_files import git_settings
from winnow.text.ignore_files import with_restarts
from winnow.text.listing import Listing, list_files
from winnow.text.paths import open_regular
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import IGNORE_FILE, Filters, search_scope

# Limit for reading a file that a request names and that is not in the index.
MOST_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 1024 * 1024
# Ignore files that may be in any folder.
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", IGNORE_FILE)
UNSURE = -1  # an mtime that no file has
# Ignore files that are only in the root.
ROOT_FILES = (".git/info/exclude", ".gitmodules")


class FileListing(Struct, frozen=True):
    """The paths of a folder's files, and the mtimes of the folders and ignore files that the list
    depends on. ``is_complete`` is False if the list was cut short; ``folders`` are those with
    files."""

    paths: Sequence[str]
    times: Mapping[str, int]
    is_complete: bool
    folders: Collection[str] = ()


class Changes(Struct, frozen=True):
    """New or modified files, the latest first, and deleted files."""

    changed: Sequence[str] = ()
    gone: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.changed) + len(self.gone)


class IndexScope(Struct, frozen=True):
    """The parts of a folder that its index leaves out: globs to ``exclude``, and ``others``,
    further roots, of which one below this root has its own index. Of files that match ``empty``,
    the index records only that they exist."""

    exclude: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    empty: tuple[str, ...] = ()


class ContentExclusions:
    """The files whose contents are not indexed, by globs that name files or folders."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [glob_regex(pattern.rstrip("/")) for pattern in patterns]
        self._folders = {"": False}

    def contains(self, path: str) -> bool:
        """Return True if a glob matches the file or a folder above it."""
        return bool(self._patterns) and (self._folder(path.rpartition("/")[0]) or self._names(path))

    def _folder(self, folder: str) -> bool:
        known = self._folders.get(folder)
        if known is None:
            known = self._folder(folder.rpartition("/")[0]) or self._names(folder)
            self._folders[folder] = known
        return known

    def _names(self, path: str) -> bool:
        for pattern in self._patterns:  # noqa: SIM110 - a generator takes as long as the matching
            if pattern.fullmatch(path):
                return True
        return False


async def listed_paths(
    ripgrep: Ripgrep, root: Path, covered: IndexScope, folder: str | None = None
) -> Listing:
    """List all files that a search of the root covers, or only those directly in a folder."""
    nested = [
        f"/{escaped(other.relative_to(root).as_posix())}"
        for other in covered.others
        if is_below(str(other), str(root))
    ]
    filters = Filters(path=folder or "")
    scope = search_scope([root], filters, [*covered.exclude, *nested], roots=[root])
    if folder is not None:
        scope = msgspec.structs.replace(scope, arguments=(*scope.arguments, "--max-depth=1"))
    return await with_restarts(lambda: list_files(ripgrep, scope, Overlay()))


def list_with_times(
    root: Path, paths: Sequence[str], is_complete: bool, began_ns: int, timed: bool = True
) -> FileListing:
    """Return a file list with the mtime of each folder, unless ``timed`` is False: reading mtimes
    costs more than everything else before the first answer.

    ``began_ns`` is when the listing started: a folder that changed later gets an unknown mtime.
    """
    folders, since = folders_of(paths), began_ns - CLOCK_NS
    times = _times(str(root), folders) if timed else ()
    known = {path: UNSURE if time > since else time for path, time in times}
    return FileListing(paths, known, is_complete, folders)


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return the folders that contain the files, and their ancestors up to the root."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def outside_times(root: Path, environment: Mapping[str, str]) -> dict[str, int]:
    """Return the mtimes of the files outside a folder that its listing depends on: ignore files of
    its ancestors, git's global ignore file, and the git settings that name one."""
    files = [*_ignore_files_above(root), *git_settings(environment)]
    return {file: _time("", file) for file in files}


@functools.lru_cache(maxsize=64)
def _ignore_files_above(root: Path) -> list[str]:
    return [str(folder / name) for folder in root.parents for name in IGNORE_FILES]


def is_ignore_file(path: str) -> bool:
    """Return True for a file that can ignore other files."""
    return path in ROOT_FILES or path.rpartition("/")[2] in IGNORE_FILES


def new_files(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths that exist as a file or folder."""
    base = str(root)
    return [
        path
        for path in paths
        if os.path.isdir(os.path.join(base, path)) or file_state_at(base, path) is not None
    ]


def below_any(paths: Iterable[str], parents: Iterable[str]) -> list[str]:
    """Return the paths that equal a wanted path or are below one."""
    exactly = set(parents)
    found = []
    for path in paths:
        part = path
        while part and part not in exactly:
            part = part.rpartition("/")[0]
        if part:
            found.append(path)
    return found


def file_state_at(base: str, path: str) -> FileState | None:
    """Return the current state of a file; None if it does not exist."""
    status = _regular(base, path)
    return None if status is None else state_from_stat(status)


def _regular(base: str, path: str) -> os.stat_result | None:
    try:
        # Joined by hand: `os.path.join` takes as long as the system call, and the first request
        # waits for the stat of each file.
        status = os.lstat(f"{base}/{path}")
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def is_unchanged(base: str, path: str, known: FileState | None) -> bool:
    """Return True if a file has not changed since it was indexed, with its definitions."""
    has_definitions = known is not None and known.problem != NO_DEFINITIONS
    return has_definitions and has_same_text(base, path, known)


def has_same_text(base: str, path: str, known: FileState | None) -> bool:
    """Return True if a file has not changed since its text was indexed."""
    now = file_state_at(base, path)
    return now is not None and known is not None and not _differs(known, now)


def read_text(root: Path, path: str) -> str | None:
    """Return the text of a file in a folder; None if it cannot be read."""
    try:
        real = real_path(root / path)
        with os.fdopen(open_regular(real, str(root)), "rb") as file:
            return decode_text(file.read(MOST_BYTES))
    except (OSError, SearchError):
        return None


def content_keys(
    root: Path, paths: Iterable[str], most: int = MOST_BYTES, *, large: bool = False
) -> dict[str, tuple[FileState, bytes]]:
    """Return the states and content keys of the files that have at most ``most`` bytes; with
    ``large``, also of larger ones of which only trigrams are stored."""
    found = {}
    for path in paths:
        try:
            descriptor = open_regular(os.path.join(root, path), str(root))
        except SearchError:
            continue
        with os.fdopen(descriptor, "rb") as file:
            state = file_state(os.fstat(file.fileno()))
            raw = file.read(most + 1)
            if len(raw) <= most:
                found[path] = state, content_key(path, raw, language_at(path, raw))
            elif large and state.size <= MOST_SEARCHED:
                key = content_hasher(path, language_of(path))
                key.update(raw)
                while piece := file.read(PIECE_BYTES):
                    key.update(piece)
                found[path] = state, key.digest()
    return found


def compare_with_listing(
    root: Path,
    known: Iterable[tuple[str, FileState]],
    now: FileListing,
    exclusions: ContentExclusions,
    has_room: bool = False,
) -> tuple[Changes, int]:
    """Compare the indexed files with a new listing; return the changes and the number of listed
    files that exist. Calls stat for each file.

    ``known`` are the files that were indexed before the listing. A file is also changed if its
    contents were indexed and are excluded now, or the reverse; or if only its text is indexed. With
    ``has_room``, so is a file that was left out because the index was full.
    """
    base = str(root)
    written: dict[str, int] = {}
    gone: list[str] = []
    new = dict.fromkeys(now.paths)
    unlisted = object()
    count = 0
    for path, record_state in known:
        is_listed = new.pop(path, unlisted) is not unlisted
        status = _regular(base, path) if is_listed else None
        if status is None:
            gone.append(path)
            continue
        count += 1
        if (
            not _is_of(record_state, status)
            or (record_state.problem == EXCLUDED) != exclusions.contains(path)
            or record_state.problem == NO_DEFINITIONS
            or (has_room and record_state.problem == FULL)
        ):
            written[path] = state_from_stat(status).mtime_ns
    for path in new:
        if (state := file_state_at(base, path)) is not None:
            count += 1
            written[path] = state.mtime_ns
    changed = sorted(written, key=lambda path: -written[path])
    return Changes(changed, gone if now.is_complete else []), count


def find_changes(
    root: Path, known: Iterable[tuple[str, FileState]], reported: Iterable[str] = ()
) -> Changes:
    """Return the changes of indexed files; new files are not found. A file of which only the text
    is indexed counts as changed. Of ``reported`` folders, symlinks may have taken the place."""
    base = str(root)
    links = tuple(f"{path}/" for path in reported if os.path.islink(f"{base}/{path}"))
    changed, gone = [], []
    for path, state in known:
        status = None if path.startswith(links) else _regular(base, path)
        if status is None:
            gone.append(path)
        elif state.problem == NO_DEFINITIONS or not _is_of(state, status):
            changed.append(path)
    return Changes(changed, gone)


def is_listing_stale(root: Path, times: Mapping[str, int]) -> bool:
    """Return True if files may have been added or removed since the listing."""
    base = str(root)
    return any(_time(base, path) != time for path, time in times.items())


def _is_of(known: FileState, status: os.stat_result) -> bool:
    """Return True if the indexed state matches the stat result."""
    return (
        known.mtime_ns == status.st_mtime_ns
        and known.ctime_ns == status.st_ctime_ns
        and known.size == status.st_size
    ) or not _differs(known, state_from_stat(status))


def is_same_text(now: FileState | None, known: FileState | None) -> bool:
    """Return True if a file was not written between two states; None means no file."""
    if now is None or known is None:
        return now is known
    return (now.mtime_ns, now.size) == (known.mtime_ns, known.size)


def is_still_at(root: Path, path: str, state: FileState | None) -> bool:
    """Return True if a file has not been written since a state; None means no file, or one of a
    folder whose place a symlink has taken."""
    now = file_state_at(str(root), path)
    if state is None and now is not None:
        return any(os.path.islink(folder) for folder in _folders_above(str(root), path))
    return is_same_text(now, state)


def _folders_above(base: str, path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield f"{base}/{path}"


def _differs(known: FileState, now: FileState) -> bool:
    return (known.mtime_ns, known.ctime_ns, known.size) != (
        now.mtime_ns,
        now.ctime_ns,
        now.size,
    )


def _times(base: str, folders: Iterable[str]) -> Iterable[tuple[str, int]]:
    """Yield the mtimes of ignore files, of folders, and of their subfolders without listed files,
    where files may appear."""
    for path in ROOT_FILES:
        yield path, _time(base, path)
    for folder in folders:
        yield folder, _time(base, folder)
        try:
            with os.scandir(os.path.join(base, folder)) as entries:
                for entry in entries:
                    if entry.name in IGNORE_FILES or (
                        entry.name[0] != "." and entry.is_dir(follow_symlinks=False)
                    ):
                        path = f"{folder}/{entry.name}" if folder else entry.name
                        yield path, _time(base, path)
        except OSError:
            continue


def _time(base: str, path: str) -> int:
    try:
        return os.stat(f"{base}/{path}").st_mtime_ns
    except OSError:
        return 0
