"""The thread that watches a folder on Linux. It sleeps while nothing happens."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import select
import time
from collections.abc import Callable

from winnow.index.watch import inotify
from winnow.index.watch.channel import WatchChannel, WatchEnded
from winnow.index.watch.inotify import Inotify
from winnow.index.watch.mounts import Mounts
from winnow.index.watch.watched_folders import WatchedFolders, limit_reached

# Changes come in groups. A build or `git checkout` goes on for long: each group costs the loop a
# call, and repeated writes in one interval are reported once.
JOIN_SECONDS = 0.005
BUSY_JOIN_SECONDS = 0.025
QUIET_SECONDS = 0.1

logger = logging.getLogger(__name__)


class LinuxWatch:
    """The code of the thread; the arguments are those of
    :class:`winnow.index.watch.watcher.Watcher`."""

    def __init__(
        self, root: str, own: str, in_scope: Callable[[str], bool], channel: WatchChannel
    ) -> None:
        self._root = root
        self._own = own
        self._in_scope = in_scope
        self._channel = channel
        self._told_at = 0.0

    def run(self) -> None:
        """Report changes until the folder cannot be watched or the channel closes."""
        reason = "the watcher was closed"
        try:
            with contextlib.ExitStack() as stack:
                self._open(stack)
                self._channel.begin()
                while not self._channel.closing.is_set():
                    self._wait()
                    self._round()
        except WatchEnded as ended:
            reason = str(ended)
        except Exception as error:
            # The loop must learn that the thread has ended, whatever the error was.
            logger.exception("Watching %s", self._root)
            reason = f"{self._root} cannot be watched: {error}"
        finally:
            self._channel.end(reason)

    def _open(self, stack: contextlib.ExitStack) -> None:
        self._identity = _identity(self._root)
        self._mounts = stack.enter_context(contextlib.closing(Mounts(self._root)))
        self._queue = stack.enter_context(contextlib.closing(opened()))
        self._wakeful = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        stack.callback(os.close, self._wakeful)
        # The thread has its own: reading a change of the mounts takes it from the other reader.
        mounts = stack.enter_context(contextlib.closing(Mounts(self._root)))
        self._channel.connect(self._wake, functools.partial(self._is_quiet, mounts))
        # Before the descriptors are closed: other files may get their numbers.
        stack.callback(self._channel.disconnect)
        self._anything, self._requests = select.poll(), select.poll()
        self._anything.register(self._queue.fileno(), select.POLLIN)
        self._anything.register(self._mounts.fileno(), select.POLLPRI)
        self._anything.register(self._wakeful, select.POLLIN)
        self._requests.register(self._wakeful, select.POLLIN)
        self._folders = WatchedFolders(
            self._queue,
            self._root,
            own=self._own,
            in_scope=self._in_scope,
            is_closing=self._channel.closing.is_set,
        )
        self._folders.rescan(self._mounts.silent())

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # woken often, and has not read it yet
            os.eventfd_write(self._wakeful, 1)

    def _is_quiet(self, mounts: Mounts) -> bool:
        """Return True if the system has reported no change that the thread has not read. The loop
        calls it, while the thread reads nothing: asking the thread takes a hundred times as
        long."""
        try:
            is_same = _identity(self._root) == self._identity
            return is_same and not self._queue.waiting() and not mounts.changed(noticed=False)
        except (WatchEnded, OSError):
            return False  # the thread will find out

    def _wait(self) -> None:
        """Wait for something to do, and a bit longer for more of it, unless a request comes."""
        ready = self._anything.poll()
        self._mounts_changed = any(descriptor == self._mounts.fileno() for descriptor, _ in ready)
        quiet = time.monotonic() - self._told_at > QUIET_SECONDS
        self._requests.poll((JOIN_SECONDS if quiet else BUSY_JOIN_SECONDS) * 1000)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wakeful)

    def _round(self) -> None:
        """Report all earlier events, then answer earlier requests."""
        pending, refresh = self._channel.requests()
        events = self._queue.read()
        overflowed = any(event.mask & inotify.Q_OVERFLOW for event in events)
        changed = self._folders.process(events)
        mounted = self._mounts.changed(self._mounts_changed)
        if overflowed or mounted or refresh:
            changed |= self._folders.rescan(self._mounts.silent())
        if _identity(self._root) != self._identity:
            raise WatchEnded(f"another folder is at {self._root}")
        self._channel.report(changed, overflowed or mounted, pending)
        self._told_at = time.monotonic()


def _identity(root: str) -> tuple[int, int]:
    try:
        found = os.stat(root)
    except OSError as error:
        raise WatchEnded(f"{root} cannot be watched: {error.strerror}") from None
    return found.st_dev, found.st_ino


def opened() -> Inotify:
    """Open a queue of events. Raises WatchEnded, with the reason, if the system has none left."""
    try:
        return Inotify()
    except OSError as error:
        if error.errno == errno.EMFILE:
            raise WatchEnded(limit_reached("max_user_instances", "watchers")) from None
        raise WatchEnded(f"the system does not report changes: {error.strerror}") from None
