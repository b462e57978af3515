"""What is on disk: the files of a folder, and what has changed since they were read.

Files are listed as every search does it, by ripgrep, so that both cover the same ones. To list
them anew is only needed when a folder or an ignore file has changed; that these have not is seen
by their times.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.errors import SearchError
from winnow.config.globs import escaped, glob_regex
from winnow.index.store.file_record import (
    CLOCK_NS,
    EXCLUDED,
    FULL,
    FileState,
    file_state,
    content_key,
    language_at,
    state_from_stat,
)
from winnow.text.buffers import Overlay
from winnow.text.encodings import decoded
from winnow.text.scope import IGNORE_FILE, search_scope
from winnow.text.git_files import git_settings
from winnow.text.ignore_files import with_restarts
from winnow.text.listing import Listing, list_files
from winnow.text.paths import open_regular
from winnow.storage.paths import is_below, real_path
from winnow.text.ripgrep import Ripgrep
from winnow.types import SearchParams

# Of a file that a request is about and that is not in the index.
MOST_BYTES = 4 * 1024 * 1024
# Files in any folder that say what is ignored.
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", IGNORE_FILE)
UNSURE = -1  # a time that no file has
# And at the root.
ROOT_FILES = (".git/info/exclude", ".gitmodules")


class FileListing(Struct, frozen=True):
    """The paths of a folder's files, and the times of folders and ignore files on which the list
    depends. ``whole`` says that the list is not cut short; ``folders`` are those with files."""

    paths: Sequence[str]
    times: Mapping[str, int]
    whole: bool
    folders: Collection[str] = ()


class Changes(Struct, frozen=True):
    """Files that are new or not as they were, the one written last first, and files that are
    gone."""

    changed: Sequence[str] = ()
    gone: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.changed) + len(self.gone)


class IndexScope(Struct, frozen=True):
    """What of a folder is not the index's: globs to leave out, and ``others``, further roots, of
    which one that is below this one has an index of its own. Of files that ``empty`` names, it is
    only known that they are there."""

    exclude: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    empty: tuple[str, ...] = ()


class ContentExclusions:
    """Which files nothing is kept of, by globs that name files or folders."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [glob_regex(pattern.rstrip("/")) for pattern in patterns]
        self._folders = {"": False}

    def has(self, path: str) -> bool:
        """Whether a file is one, or is below a folder that is one."""
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
    ripgrep: Ripgrep, root: Path, covers: IndexScope, folder: str | None = None
) -> Listing:
    """All files that a search of the root covers, or those directly in a folder that is covered."""
    nested = [
        f"/{escaped(one.relative_to(root).as_posix())}"
        for one in covers.others
        if is_below(str(one), str(root))
    ]
    params = SearchParams(path=folder or "")
    scope = search_scope([root], params, [*covers.exclude, *nested], roots=[root])
    if folder is not None:
        scope = msgspec.structs.replace(scope, arguments=(*scope.arguments, "--max-depth=1"))
    return await with_restarts(lambda: list_files(ripgrep, scope, Overlay()))


def list_with_times(root: Path, paths: Sequence[str], whole: bool, began_ns: int) -> FileListing:
    """A list of files, with a look at each folder.

    ``began_ns`` is when they began to be listed: a folder that has changed since is not known well.
    """
    base = str(root)
    folders = folders_of(paths)
    since = began_ns - CLOCK_NS
    times = {path: UNSURE if time > since else time for path, time in _times(base, folders)}
    return FileListing(paths, times, whole, folders)


def list_without_times(root: Path, paths: Sequence[str], whole: bool, began_ns: int) -> FileListing:
    """A list of files as of :func:`list_with_times`, without the look at each folder, which costs more than
    all else on the way to the first answer."""
    return FileListing(paths, {}, whole, folders_of(paths))


def folders_of(paths: Iterable[str]) -> set[str]:
    """The folders that files are in, and those that these are in, up to the root."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def outside_times(root: Path, environment: Mapping[str, str]) -> dict[str, int]:
    """The times of the files outside of a folder on which its list depends, too: ignore files of
    the folders that hold it, git's for the user, and those in which git's is named."""
    files = [*_ignore_files_above(root), *git_settings(environment)]
    return {file: _time("", file) for file in files}


@functools.lru_cache(maxsize=64)
def _ignore_files_above(root: Path) -> list[str]:
    return [str(folder / name) for folder in root.parents for name in IGNORE_FILES]


def is_ignore_file(path: str) -> bool:
    """Whether a file says which others are ignored."""
    return path in ROOT_FILES or path.rpartition("/")[2] in IGNORE_FILES


def new_files(root: Path, paths: Iterable[str]) -> list[str]:
    """Of paths that are not known, the files and folders that are there."""
    base = str(root)
    return [
        path
        for path in paths
        if os.path.isdir(os.path.join(base, path)) or file_state_at(base, path) is not None
    ]


def below_any(paths: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The files that are, or are below, one of those that are wanted."""
    exactly = set(wanted)
    found = []
    for path in paths:
        part = path
        while part and part not in exactly:
            part = part.rpartition("/")[0]
        if part:
            found.append(path)
    return found


def file_state_at(base: str, path: str) -> FileState | None:
    """A file as it is now; None if there is none."""
    told = _regular(base, path)
    return None if told is None else state_from_stat(told)


def _regular(base: str, path: str) -> os.stat_result | None:
    try:
        # Joined by hand: `os.path.join` takes as long as the system does to answer, and a first
        # question waits for a look at each file.
        told = os.lstat(f"{base}/{path}")
    except (OSError, ValueError):
        return None
    return told if stat.S_ISREG(told.st_mode) else None


def is_unchanged(base: str, path: str, known: FileState | None) -> bool:
    """Whether a file is what its facts were taken from."""
    now = file_state_at(base, path)
    return now is not None and known is not None and not _differs(known, now)


def read_text(root: Path, path: str) -> str | None:
    """The text of a file of a folder; None if there is none."""
    try:
        real = real_path(root / path)
        with os.fdopen(open_regular(real, str(root)), "rb") as file:
            return decoded(file.read(MOST_BYTES))
    except (OSError, SearchError):
        return None


def content_keys(
    root: Path, paths: Iterable[str], most: int = MOST_BYTES
) -> dict[str, tuple[FileState, bytes]]:
    """The states and keys of files, of those that have no more than so many bytes."""
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
    return found


def compare_with_listing(
    root: Path,
    known: Iterable[tuple[str, FileState]],
    now: FileListing,
    emptied: ContentExclusions,
    room: bool = False,
) -> tuple[Changes, int]:
    """What has changed, by a whole list, and how many of its files are there; takes a look at each.

    ``known`` are those that were known before they were listed. Among the changes are files of
    which something was kept and is not to be any more, and the other way round. ``room`` says that
    there is some again for those that were left out for lack of it.
    """
    base = str(root)
    written: dict[str, int] = {}
    gone: list[str] = []
    new = dict.fromkeys(now.paths)
    unlisted = object()
    count = 0
    for path, kept in known:
        is_listed = new.pop(path, unlisted) is not unlisted
        told = _regular(base, path) if is_listed else None
        if told is None:
            gone.append(path)
            continue
        count += 1
        if (
            not _is_of(kept, told)
            or (kept.problem == EXCLUDED) != emptied.has(path)
            or (room and kept.problem == FULL)
        ):
            written[path] = state_from_stat(told).mtime_ns
    for path in new:
        if (state := file_state_at(base, path)) is not None:
            count += 1
            written[path] = state.mtime_ns
    changed = sorted(written, key=lambda path: -written[path])
    return Changes(changed, gone if now.whole else []), count


def find_changes(root: Path, known: Iterable[tuple[str, FileState]]) -> Changes:
    """What has changed of known files, as far as no new ones are concerned."""
    base = str(root)
    changed, gone = [], []
    for path, state in known:
        now = file_state_at(base, path)
        if now is None:
            gone.append(path)
        elif _differs(state, now):
            changed.append(path)
    return Changes(changed, gone)


def is_listing_stale(root: Path, times: Mapping[str, int]) -> bool:
    """Whether there may be other files than those that were listed."""
    base = str(root)
    return any(_time(base, path) != time for path, time in times.items())


def _is_of(known: FileState, told: os.stat_result) -> bool:
    """Whether the system tells of a file what is known of it."""
    return (
        known.mtime_ns == told.st_mtime_ns
        and known.ctime_ns == told.st_ctime_ns
        and known.size == told.st_size
    ) or not _differs(known, state_from_stat(told))


def is_same_text(now: FileState | None, known: FileState | None) -> bool:
    """Return whether a file was not written between two states; None stands for no file."""
    if now is None or known is None:
        return now is known
    return (now.mtime_ns, now.size) == (known.mtime_ns, known.size)


def _differs(known: FileState, now: FileState) -> bool:
    return (known.mtime_ns, known.ctime_ns, known.size) != (
        now.mtime_ns,
        now.ctime_ns,
        now.size,
    )


def _times(base: str, folders: Iterable[str]) -> Iterable[tuple[str, int]]:
    """The times of folders, of the folders in these that have no listed files, which may come to
    have some, and of ignore files."""
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
        return os.stat(os.path.join(base, path)).st_mtime_ns
    except OSError:
        return 0
