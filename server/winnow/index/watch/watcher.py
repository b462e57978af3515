"""Report every change below a folder, and confirm that all changes until now are reported.

One thread per folder waits for the system's events, see the modules beside this one. On Linux, it
uses inotify and confirms in well under a millisecond, without writing any file. Two kinds of
changes are not reported, because inotify does not: writes through memory, until the file is closed,
and writes through a hard link outside the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from winnow.index.watch.channel import WatchChannel
from winnow.processes.waiting import wait_within

# The thread ends within microseconds, unless a system call hangs: nothing waits for that.
CLOSE_SECONDS = 0.1


class Watcher:
    """Reports the changes below a folder.

    ``changed`` is called in the event loop with absolute paths, below ``root`` as it is spelled: of
    files, and of folders that are new with everything below them, deleted with it, or moved.
    Changes in quick succession are joined. ``lost`` is called when events were lost, and when no
    more will come (then there is a :attr:`reason`): everything must be scanned again.

    Nothing is reported in folders with the name of ``own``, nor of git's own files except `.git`
    itself, `.git/HEAD` and `.git/info/exclude`. ``in_scope`` is called in a thread for each new
    folder and returns True if changes in it are to be reported; each watched folder takes about 1
    kB of kernel memory. The creation and deletion of the folder itself is always reported.
    """

    def __init__(
        self,
        root: Path,
        changed: Callable[[set[str]], None],
        lost: Callable[[], None],
        *,
        own: Path,
        in_scope: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self._root = str(root)
        self._changed = changed
        self._lost = lost
        self._own = own.name
        self._in_scope = in_scope
        self._channel: WatchChannel | None = None

    @property
    def reason(self) -> str:
        """Why nothing is reported, or not any longer, for a user; empty while all is well."""
        return self._channel.reason if self._channel is not None else ""

    async def start(self) -> bool:
        """Start, once. Return True if changes are reported from now on; otherwise, :attr:`reason`
        says why not."""
        self._channel = WatchChannel(self._changed, self._lost)
        threading.Thread(
            target=self._run, args=(self._channel,), name=f"watch {self._root}", daemon=True
        ).start()
        await self._channel.begun
        return not self._channel.reason

    def is_current(self) -> bool:
        """Return True if every earlier change has been passed to ``changed``; False if only
        :meth:`settle` can tell."""
        return (
            self._channel is not None
            and not self._channel.ended.is_set()
            and self._channel.is_current()
        )

    async def settle(self, seconds: float) -> bool:
        """Return True as soon as every earlier change has been passed to ``changed``, or ``lost``
        was called for it; False if that is not known after ``seconds``, and always on systems other
        than Linux."""
        if self._channel is None or self._channel.ended.is_set() or sys.platform != "linux":
            return False
        try:
            return await wait_within(self._channel.request_sync(), seconds)
        except asyncio.TimeoutError:
            return False

    def refresh(self) -> None:
        """Call ``in_scope`` again for every folder; report those that are watched only now."""
        if self._channel is not None and not self._channel.ended.is_set():
            self._channel.refresh()

    async def aclose(self) -> None:
        """Report nothing more; a waiting call of :meth:`settle` returns False."""
        if self._channel is None:
            return
        self._channel.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await wait_within(self._channel.ended.wait(), CLOSE_SECONDS)

    def _run(self, channel: WatchChannel) -> None:
        if sys.platform == "linux":
            from winnow.index.watch.linux import LinuxWatch

            LinuxWatch(self._root, self._own, self._in_scope, channel).run()
        else:
            from winnow.index.watch.portable import watch

            watch(self._root, self._own, self._in_scope, channel)
