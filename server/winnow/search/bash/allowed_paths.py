"""The paths that the programs of a pipeline may read: those in the workspace."""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.storage.paths import is_inside, real_path, shown_path
from winnow.text.scope import Scope

_KINDS = (
    (stat.S_ISFIFO, "it is a FIFO: reading it may never end"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


class AllowedPaths(Struct, frozen=True):
    """The `folder` that programs run in, and the resolved `roots` that they may read."""

    folder: str
    roots: tuple[str, ...]

    @classmethod
    def of_scope(cls, scope: Scope) -> AllowedPaths:
        """Allow the roots of a scope, and run in its first."""
        return cls(str(scope.root), tuple(real_path(root) for root in scope.roots))

    def contains(self, path: str) -> bool:
        """Return True if a path is in the workspace after resolving symlinks and `..`.

        It is relative to the folder and need not exist.
        """
        return self._real(path) is not None

    def check(self, path: str) -> None:
        """Raise NotAllowed for a path outside the workspace, and for FIFOs, sockets and devices.

        A path that does not exist is left for the program to report.
        """
        real = self._real(path)
        if real is None:
            raise NotAllowed(shown_path(path)[0], "it is, or leads, outside the workspace")
        try:
            mode = os.stat(real).st_mode
        except OSError:
            return
        for test, what in _KINDS:
            if test(mode):
                raise NotAllowed(shown_path(path)[0], what)

    def _real(self, path: str) -> str | None:
        try:
            real = real_path(os.path.join(self.folder, path))
        except (OSError, ValueError):
            return None
        return real if any(is_inside(real, root) for root in self.roots) else None
