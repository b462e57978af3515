"""Memory and processor time of Winnow's processes."""

from __future__ import annotations

import contextlib
import os
import sys

# For glibc's mallopt(3): M_ARENA_MAX, then M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in bytes.
_GLIBC_OPTIONS = {-8: 1, -1: 1 << 20, -3: 1 << 20}


def return_freed_memory() -> None:
    """Make glibc return memory to the system when it is freed.

    By default, glibc has an arena per thread, and each keeps the memory of a large answer: 50 MB
    for a server that indexes generated headers. Other C libraries are left alone.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _GLIBC_OPTIONS.items():
            mallopt(option, value)


def return_free_pages() -> None:
    """Make glibc return free pages between used ones: some 10 MB after a batch of files.

    This takes milliseconds. Other C libraries are left alone.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def anonymous_bytes(pid: int) -> int:
    """Return the anonymous memory of a process; 0 if it has exited.

    On Linux this is `RssAnon`, which takes 30 µs to read; elsewhere the memory unique to the
    process (USS).
    """
    if _has_proc():
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/status", "rb") as file:
            return int(file.read().partition(b"RssAnon:")[2].split()[0]) * 1024
        return 0
    import psutil

    try:
        return int(psutil.Process(pid).memory_full_info().uss)
    except psutil.Error:
        return 0


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used, in seconds; 0 if it has exited."""
    if _has_proc():
        fields = _stat(f"/proc/{pid}/stat")
        ticks = int(fields[11]) + int(fields[12]) if fields else 0
        return ticks / os.sysconf("SC_CLK_TCK")
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def wants_processor(pid: int) -> bool:
    """Return True if a thread of a process runs, or waits only for a processor or the disk."""
    if _has_proc():
        threads: list[str] = []
        with contextlib.suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")
        return any(
            _stat(f"/proc/{pid}/task/{name}/stat")[:1] in ([b"R"], [b"D"]) for name in threads
        )
    import psutil

    try:
        return psutil.Process(pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except psutil.Error:
        return False


def is_there(pid: int) -> bool:
    """Return True if a process with this id exists and has not exited."""
    if _has_proc():
        return _stat(f"/proc/{pid}/stat")[:1] not in ([], [b"Z"], [b"X"])
    import psutil

    return bool(psutil.pid_exists(pid))


def _has_proc() -> bool:
    """Return True if the system describes processes in files, which are read faster than psutil."""
    return os.path.exists("/proc/self/stat")


def _stat(file: str) -> list[bytes]:
    """Return the fields of proc(5)'s `stat`, from the state on; none of a process that is gone."""
    with contextlib.suppress(OSError), open(file, "rb") as opened:
        # The name before the state is in brackets, and may contain anything.
        return opened.read().rpartition(b")")[2].split()
    return []
