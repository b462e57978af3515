"""What a process has in memory for itself: what is in no file, and what ends with it."""

from __future__ import annotations

import contextlib
import os


def anonymous_bytes(pid: int) -> int:
    """The anonymous memory of a process of ours; 0 if it has ended.

    On Linux `RssAnon`, which costs some 30 µs to read; elsewhere what the system calls unique to
    the process (USS).
    """
    if os.path.exists("/proc/self/status"):
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/status", "rb") as file:
            return int(file.read().partition(b"RssAnon:")[2].split()[0]) * 1024
        return 0
    import psutil

    try:
        return int(psutil.Process(pid).memory_full_info().uss)
    except psutil.Error:
        return 0
