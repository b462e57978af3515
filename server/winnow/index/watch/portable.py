"""The thread that watches a folder on systems other than Linux, with watchfiles.

It cannot confirm that it has reported all changes: when macOS or Windows lose events, watchfiles
drops their notice (the crate notify marks an event "Rescan", which has no path).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial

from winnow.index.watch.channel import WatchChannel

# Each step takes some 0.1 ms.
STEP_MS = 50
JOIN_MS = 100

# The same as in `watched_folders.py`.
REPORTED_GIT_FILES = {(".git",), (".git", "HEAD"), (".git", "info", "exclude")}


def watch(root: str, own: str, in_scope: Callable[[str], bool], channel: WatchChannel) -> None:
    """Run the thread; the arguments are those of :class:`winnow.index.watch.watcher.Watcher`."""
    reason = "the watcher was closed"
    is_reported = partial(_is_reported, root, own, in_scope)
    try:
        from watchfiles._rust_notify import RustNotify

        with RustNotify([root], False, False, 0, True, False) as events:
            channel.begin()
            while not channel.closing.is_set():
                # Without a timeout: on a timeout, watchfiles drops the events that arrive at that
                # moment.
                found = events.watch(JOIN_MS, STEP_MS, 0, channel.closing)
                if isinstance(found, set):
                    channel.report(path for _, path in found if is_reported(path))
    except Exception as error:
        # The loop must learn that the thread has ended. watchfiles raises errors of many kinds, and
        # one if it is not installed.
        reason = f"{root} cannot be watched: {error}"
    finally:
        channel.end(reason)


def _is_reported(root: str, own: str, in_scope: Callable[[str], bool], path: str) -> bool:
    parts = os.path.relpath(path, root).split(os.sep)
    if own in parts:
        return False
    if ".git" in parts:
        return tuple(parts[parts.index(".git") :]) in REPORTED_GIT_FILES
    return all(in_scope(folder) for folder in _folders(root, parts[:-1]))


def _folders(root: str, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        root = os.path.join(root, name)
        yield root
