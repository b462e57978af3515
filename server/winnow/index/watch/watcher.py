"""Tells of every change below a folder, and can say that it has told of all up to now.

One thread for each folder waits for the system's events; what it does is in `watching/`. On Linux
the events are inotify's, and whoever asks learns in well under a millisecond whether all has been
told. Nothing is ever written to find that out. What inotify itself does not tell of is not told
here: what is written to a file through memory, until whoever wrote closes it, and what is written
to a file by another name of it (a hard link) that is not below the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from winnow.index.watch.channel import WatchChannel
from winnow.processes.waiting import within

# The thread ends within microseconds, unless a system call hangs: nobody waits for that.
CLOSE_SECONDS = 0.1


class Watcher:
    """What happens below a folder.

    ``changed`` is called in the event loop with absolute paths, below ``root`` as it is spelled: of
    files, and of folders, which may be new with all that is below them, gone with it, or moved.
    Changes in quick succession are joined. ``lost`` is called there when events were lost, and when
    no more will come (then there is a :attr:`reason`): everything must be looked at anew.

    Nothing is told of what is in folders with the name of ``own``, nor of git's own files except
    `.git` itself, `.git/HEAD` and `.git/info/exclude`. ``wanted`` is asked, by the path of a folder
    and in a thread, when a folder is met, whether anything in it is to be told; each folder that is
    watched takes about 1 kB of the kernel's memory. That a folder came or went is told anyway.
    """

    def __init__(
        self,
        root: Path,
        changed: Callable[[set[str]], None],
        lost: Callable[[], None],
        *,
        own: Path,
        wanted: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self._root = str(root)
        self._changed = changed
        self._lost = lost
        self._own = own.name
        self._wanted = wanted
        self._exchange: WatchChannel | None = None

    @property
    def reason(self) -> str:
        """Why nothing is told, or no longer, in words for a user; empty while all is well."""
        return self._exchange.reason if self._exchange is not None else ""

    async def start(self) -> bool:
        """Begin, once; True when changes that happen from now on are told. False where none can
        be: :attr:`reason` says why."""
        self._exchange = WatchChannel(self._changed, self._lost)
        threading.Thread(
            target=self._run, args=(self._exchange,), name=f"watch {self._root}", daemon=True
        ).start()
        await self._exchange.begun
        return not self._exchange.reason

    async def settle(self, seconds: float) -> bool:
        """True as soon as every change that had happened before this call has been handed to
        ``changed``, or ``lost`` was called for it; False where that is not known after so many
        seconds, and always on systems other than Linux."""
        if self._exchange is None or self._exchange.ended.is_set() or sys.platform != "linux":
            return False
        try:
            return await within(self._exchange.ask(), seconds)
        except asyncio.TimeoutError:
            return False

    def refresh(self) -> None:
        """Ask ``wanted`` anew about every folder; those that are watched only now are told of."""
        if self._exchange is not None and not self._exchange.ended.is_set():
            self._exchange.refresh()

    async def aclose(self) -> None:
        """Tell of nothing more; a call of :meth:`settle` that waits is answered with False."""
        if self._exchange is None:
            return
        self._exchange.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await within(self._exchange.ended.wait(), CLOSE_SECONDS)

    def _run(self, exchange: WatchChannel) -> None:
        if sys.platform == "linux":
            from winnow.index.watch.linux import LinuxWatch

            LinuxWatch(self._root, self._own, self._wanted, exchange).run()
        else:
            from winnow.index.watch.portable import watch

            watch(self._root, self._own, self._wanted, exchange)
