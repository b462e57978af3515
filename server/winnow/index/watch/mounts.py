"""Find out which file systems report all changes, from Linux's list of mounts (proc(5))."""

from __future__ import annotations

import os
import re
import select
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from winnow.index.watch.channel import WatchEnded

MOUNTS = "/proc/self/mountinfo"
# File systems that only this machine's kernel changes, so that it sees every change. Others (NFS,
# SMB, 9p, FUSE, folders that a virtual machine shares with its host) are changed from elsewhere,
# and an unknown name may be one of these.
LOCAL = frozenset(
    """
    aufs bcachefs btrfs ecryptfs erofs exfat ext2 ext3 ext4 f2fs fuseblk hfs hfsplus iso9660 jfs
    msdos nilfs2 ntfs ntfs3 overlay ramfs reiserfs rootfs squashfs tmpfs ubifs udf vfat xfs zfs
    """.split()
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A file system of a ``kind``, mounted at a ``point``: an absolute path."""

    point: str
    kind: str


def parsed(text: str) -> list[Mount]:
    """Return the mounts in the text of a `mountinfo`, in its order; malformed lines are skipped."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) > 4 and kinds[0]:
            point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
            mounts.append(Mount(point, kinds[0]))
    return mounts


def mounted_at(mounts: Sequence[Mount], root: str) -> list[Mount]:
    """Return the mount of a folder, then those below the folder, one per mount point. ``root`` is a
    real path. The latest mount at a point hides earlier ones."""
    by_point = dict(mounts)
    above = [point for point in by_point if _is_at_or_below(root, point)]
    below = [point for point in by_point if point != root and _is_at_or_below(point, root)]
    points = [*([max(above, key=len)] if above else []), *below]
    return [Mount(point, by_point[point]) for point in points]


def silent_below(mounts: Sequence[Mount], root: str) -> Mapping[str, str]:
    """Return the kinds of file systems that do not report all changes, by the folders at or below a
    ``root`` (a real path) where they are mounted, as paths below it: "" is the root itself."""
    found = {}
    for point, kind in mounted_at(mounts, root):
        if kind not in LOCAL:
            below = _is_at_or_below(point, root)
            found[point[len(root.rstrip("/")) :].lstrip("/") if below else ""] = kind
    return found


class Mounts:
    """The mounts of a folder, and whether they have changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        try:
            self._descriptor = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise WatchEnded(
                f"the file system of {root} is unknown ({error}): files are checked on request"
            ) from None
        self._poll = select.poll()
        # poll reports a change of mounts as an error, even without any subscribed event.
        self._poll.register(self._descriptor, select.POLLPRI)
        self._known = self._now()

    def fileno(self) -> int:
        return self._descriptor

    def changed(self, noticed: bool) -> bool:
        """Return True if the file systems at or below the folder have changed since the last call.
        The system reports a change only once: ``noticed`` means that the caller has received it."""
        if not (self._poll.poll(0) or noticed):
            return False
        before, self._known = self._known, self._now()
        return self._known != before

    def silent(self) -> Mapping[str, str]:
        """Return the result of :func:`silent_below`."""
        return silent_below(self._known, os.path.realpath(self._root))

    def close(self) -> None:
        os.close(self._descriptor)

    def _now(self) -> list[Mount]:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return mounted_at(parsed(file.read()), os.path.realpath(self._root))


def _is_at_or_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
