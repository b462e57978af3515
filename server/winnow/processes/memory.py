"""What a process takes: memory for itself, that is in no file and ends with it; and processors.
Whether there is one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

# What glibc's mallopt(3) takes: M_ARENA_MAX, M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, in bytes.
_GLIBC_OPTIONS = {-8: 1, -1: 1 << 20, -3: 1 << 20}


def give_back_what_is_freed() -> None:
    """Have the C library give memory back to the system when it is freed. Else glibc has an arena
    for each thread, and each keeps what a large answer has taken: 50 MB for a server that indexes
    generated headers. Does nothing with other libraries."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _GLIBC_OPTIONS.items():
            mallopt(option, value)


def give_back_free_pages() -> None:
    """Give back what lies free between what is in use, which the C library keeps otherwise: some
    10 MB after a batch of files. Takes milliseconds; does nothing with other libraries than
    glibc."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


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


def processor_seconds(pid: int) -> float:
    """For how long a process of ours has had a processor, in seconds; 0 if it has ended."""
    if os.path.exists("/proc/self/stat"):
        with (
            contextlib.suppress(OSError, IndexError, ValueError),
            open(f"/proc/{pid}/stat", "rb") as file,
        ):
            # The name stands in brackets, and may hold anything.
            fields = file.read().rpartition(b")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def wants_processor(pid: int) -> bool:
    """Whether a thread of a process of ours would go on if it had a processor or a disk's answer;
    False for a process that waits for something else, or has ended."""
    if os.path.exists("/proc/self/task"):
        return any(state in "RD" for state in _states(pid))
    import psutil

    try:
        return psutil.Process(pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except psutil.Error:
        return False


def _states(pid: int) -> Iterator[str]:
    """The state of each thread of a process, as Linux names it."""
    threads: list[str] = []
    with contextlib.suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")
    for thread in threads:
        with (
            contextlib.suppress(OSError, IndexError),
            open(f"/proc/{pid}/task/{thread}/stat", "rb") as file,
        ):
            yield file.read().rpartition(b")")[2].split()[0].decode()


def is_there(pid: int) -> bool:
    """Whether there is a process of this number that has not ended."""
    if os.path.exists("/proc/self/stat"):
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
        return False
    import psutil

    return bool(psutil.pid_exists(pid))
