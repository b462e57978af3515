"""Decide which folders to watch, and interpret the events in them.

inotify watches one folder, not its subfolders. A new folder is first watched, then listed, and
reported after both: a reader then sees what came before, and events report the rest. A moved folder
is unwatched and found again at its new path. Events name a folder by the number of its watch.
Events of an old watch are skipped: they are older than the report of the new path, so a reader of
that path sees their effects.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from winnow.index.watch import inotify
from winnow.index.watch.channel import WatchEnded
from winnow.index.watch.inotify import Inotify, InotifyEvent

# CLOSE_WRITE is for files written through memory, which cause no events before. Opening and reading
# a file are not subscribed to: a search would be one change after another.
CHANGES = (
    inotify.MODIFY
    | inotify.ATTRIB
    | inotify.CLOSE_WRITE
    | inotify.MOVED_FROM
    | inotify.MOVED_TO
    | inotify.CREATE
    | inotify.DELETE
    | inotify.EXCL_UNLINK
    | inotify.ONLYDIR
)
GONE = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.UNMOUNT | inotify.IGNORED

# The reported names in git's folders: those that decide which files are ignored, and HEAD for a
# switched branch. Each commit writes hundreds of other files.
GIT = {
    ".git": (frozenset({"HEAD"}), frozenset({"info"})),
    "info": (frozenset({"exclude"}), frozenset[str]()),
}


class WatchedFolder:
    """A folder below the root. ``watch`` is the number of its watch; None if it must not be read.
    ``tells`` are the only names in it to report, ``enters`` its only subfolders to watch."""

    __slots__ = ("children", "enters", "is_readable", "path", "tells", "watch")

    def __init__(self, path: str, parent: WatchedFolder | None = None) -> None:
        self.path = path
        self.children: dict[str, WatchedFolder] = {}
        self.watch: int | None = None
        self.is_readable = True
        self.tells: frozenset[str] | None = None
        self.enters: frozenset[str] | None = None
        name = os.path.basename(path)
        if parent is not None and (name == ".git" or parent.tells is not None):
            self.tells, self.enters = GIT[name]


class WatchedFolders:
    """All folders below a root. ``own`` is the name of folders whose contents are never reported;
    ``in_scope`` returns True for a folder whose contents may be."""

    def __init__(
        self,
        queue: Inotify,
        root: str,
        *,
        own: str,
        in_scope: Callable[[str], bool],
        is_closing: Callable[[], bool],
    ) -> None:
        self._queue = queue
        self._own = own
        self._in_scope = in_scope
        self._is_closing = is_closing
        self._root = WatchedFolder(root)
        self._watched: dict[int, WatchedFolder] = {}
        self._silent: Mapping[str, str] = {}

    def rescan(self, silent: Mapping[str, str]) -> set[str]:
        """Watch all existing folders; return the paths of those not watched before. ``silent`` has
        the kinds of file systems that report no changes, by their paths below the root. Raises
        WatchEnded if there is one, or no more folders can be watched."""
        root = self._root.path
        self._silent = {
            os.path.join(root, below) if below else root: kind for below, kind in silent.items()
        }
        return self._enter(self._root)

    def process(self, events: Iterable[InotifyEvent]) -> set[str]:
        """Return the paths that these events have changed. Watches new folders, whose contents are
        not reported yet. Raises WatchEnded as :meth:`rescan` does, and if the root is gone."""
        changed: set[str] = set()
        for event in events:
            folder = self._watched.get(event.watch)
            if folder is None:
                continue
            if event.name:
                self._process_named(folder, event.name, event.mask, changed)
            elif event.mask & GONE and folder is self._root:
                raise WatchEnded(f"{folder.path} was deleted, moved or unmounted")
            elif event.mask & inotify.IGNORED:
                self._unwatch(folder)
            elif event.mask & inotify.ATTRIB and _readable_changed(folder):
                changed.add(folder.path)
        return changed

    def _process_named(
        self, folder: WatchedFolder, name: str, mask: int, changed: set[str]
    ) -> None:
        path = os.path.join(folder.path, name)
        if not mask & inotify.ISDIR:
            if folder.tells is None or name in folder.tells:
                changed.add(path)
            return
        if self._is_passed_over(folder, name):
            return
        known = folder.children.get(name)
        if mask & inotify.ATTRIB and known is not None and known.watch is not None:
            return  # its own watch reports its attributes
        self._rewatch(folder, name)
        changed.add(path)

    def _rewatch(self, parent: WatchedFolder, name: str) -> None:
        """Watch the folder that is at a path now, if any. The event itself does not matter: more
        may have happened since, and if two folders swap places, the one that leaves is reported
        after the one that comes."""
        known = parent.children.get(name)
        if known is not None and known.watch is not None and self._add(known) == known.watch:
            return
        self._let_go(parent, name)
        path = os.path.join(parent.path, name)
        if os.path.lexists(path) and self._is_entered(parent, name):
            parent.children[name] = WatchedFolder(path, parent)
            self._enter(parent.children[name])

    def _enter(self, top: WatchedFolder) -> set[str]:
        """Watch a folder and all below it; return the paths of the new ones, without those below
        them."""
        changed = set()
        pending = [(top, False)]
        while pending and not self._is_closing():
            folder, is_told = pending.pop()
            if folder.path in self._silent:
                raise WatchEnded(
                    f"{folder.path} is on {self._silent[folder.path]}, which does not report all"
                    " changes: files are checked on request"
                )
            before = folder.watch
            if self._watch(folder):
                if folder.watch != before and not is_told:
                    changed.add(folder.path)
                    is_told = True
                pending += [(below, is_told) for below in self._subfolders(folder)]
        return changed

    def _watch(self, folder: WatchedFolder) -> bool:
        """Watch one folder. Return False if that is impossible."""
        number = self._add(folder)
        if folder.watch is not None and folder.watch != number:
            self._queue.remove(folder.watch)
            self._unwatch(folder)
        folder.is_readable = number is not None
        if number is None:
            return False
        # The folder was known by another path and has moved: an event of that will come.
        other = self._watched.get(number)
        if other is not None and other is not folder:
            other.watch = None
        self._watched[number] = folder
        folder.watch = number
        return True

    def _add(self, folder: WatchedFolder) -> int | None:
        """Return the number of a folder's watch; None if it cannot be read, or does not exist."""
        mask = CHANGES
        if folder is self._root:
            mask |= inotify.DELETE_SELF | inotify.MOVE_SELF
        else:
            mask |= inotify.DONT_FOLLOW
        try:
            return self._queue.add(folder.path, mask)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise WatchEnded(limit_reached("max_user_watches", "watched folders")) from None
            if folder is self._root or error.errno == errno.ENOMEM:
                raise WatchEnded(f"{folder.path} cannot be watched: {error.strerror}") from None
            return None

    def _subfolders(self, folder: WatchedFolder) -> list[WatchedFolder]:
        """Return the subfolders to watch, and unwatch others."""
        try:
            with os.scandir(folder.path) as entries:
                found = [entry.name for entry in entries if _is_folder(entry)]
        except OSError:
            found = []
        names = {name for name in found if self._is_entered(folder, name)}
        for name in [name for name in folder.children if name not in names]:
            self._let_go(folder, name)
        for name in names:
            if name not in folder.children:
                folder.children[name] = WatchedFolder(os.path.join(folder.path, name), folder)
        return list(folder.children.values())

    def _is_entered(self, parent: WatchedFolder, name: str) -> bool:
        if self._is_passed_over(parent, name):
            return False
        is_of_git = name == ".git" or parent.enters is not None
        return is_of_git or self._in_scope(os.path.join(parent.path, name))

    def _is_passed_over(self, parent: WatchedFolder, name: str) -> bool:
        return name == self._own or (parent.enters is not None and name not in parent.enters)

    def _let_go(self, parent: WatchedFolder, name: str) -> None:
        """Stop watching a folder and all below it."""
        pending = [parent.children.pop(name)] if name in parent.children else []
        while pending:
            folder = pending.pop()
            pending += folder.children.values()
            if folder.watch is not None:
                self._queue.remove(folder.watch)
                self._unwatch(folder)

    def _unwatch(self, folder: WatchedFolder) -> None:
        if folder.watch is not None:
            del self._watched[folder.watch]
            folder.watch = None


def limit_reached(setting: str, of_what: str) -> str:
    """Describe an exhausted limit of the kernel and how to raise it."""
    name = f"fs.inotify.{setting}"
    try:
        limit = int(Path("/proc/sys", *name.split(".")).read_text())
    except (OSError, ValueError):
        return f"the system's limit of {of_what} ({name}) is reached"
    return (
        f"the system's limit of {limit} {of_what} ({name}) is reached; raise it with"
        f" `sudo sysctl {name}={limit * 4}`"
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _readable_changed(folder: WatchedFolder) -> bool:
    """Return True if a folder has become readable or unreadable."""
    before = folder.is_readable
    folder.is_readable = os.access(folder.path, os.R_OK | os.X_OK)
    return folder.is_readable != before
