"""Restrict programs to the files of the workspace with Linux's Landlock.

Programs open files by name. A symlink can replace a file after Winnow has checked its name, but the
kernel checks the opened file. A restriction is permanent for a thread and the processes that it
starts, so each program starts in a new thread, and the server stays unrestricted. They may read
these files and write none. Some may also run no other program.

Without Landlock (macOS, Windows, Linux before 5.13) programs run unrestricted.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import stat
import struct
import sys
import threading
from collections.abc import Iterable, Iterator

from msgspec import Struct

# landlock(7). The system call numbers are the same on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_EXECUTE = 1 << 0
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# Writing to a file, and creating and deleting files of all kinds.
_WRITE_FILE = 1 << 1
_WRITE = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
# Since version 3 of Landlock. In earlier ones, a file may be truncated by its name.
_TRUNCATE, _TRUNCATE_VERSION = 1 << 14, 3
_GET_VERSION = 1
_NO_NEW_PRIVILEGES = 38  # prctl(2)
_INTERPRETER = 3  # PT_INTERP of elf(5)

# Folders of programs and their libraries, none of them a user's.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"),
    *("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"),
)


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class ReadablePath(Struct, frozen=True):
    """A file, or a folder with all that it contains, that a program may read.

    A repository can create or name a ``strict`` file, so it must be a regular file, and its path
    must have no symlinks.
    """

    path: str
    is_folder: bool = False
    strict: bool = False


@functools.cache
def is_available() -> bool:
    """Return True if the kernel can restrict a thread; the first call tries it."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    worked = []

    def attempt() -> None:
        with contextlib.suppress(OSError):
            restrict_thread([ReadablePath("/", is_folder=True)])
            worked.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(worked)


def restrict_thread(allowed: Iterable[ReadablePath], only_program: str = "") -> None:
    """Restrict this thread, and the processes that it starts, to reading these files and folders;
    with ``only_program``, also to running this program.

    Paths that don't exist, or aren't the expected kind of file, are ignored. Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    write = _WRITE | (_TRUNCATE if _version(libc) >= _TRUNCATE_VERSION else 0)
    handled = _Ruleset(_READ_FILE | _READ_DIR | write | (_EXECUTE if only_program else 0))
    size = ctypes.sizeof(handled)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0)
    _check(ruleset)
    try:
        for path in allowed:
            with contextlib.suppress(OSError):
                _allow(libc, ruleset, path)
        for started in _started(only_program) if only_program else ():
            _allow(libc, ruleset, ReadablePath(started), _EXECUTE)
        # Python opens it for the program's standard streams.
        _allow(libc, ruleset, ReadablePath(os.devnull), _WRITE_FILE)
        _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _version(libc: ctypes.CDLL) -> int:
    version: int = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GET_VERSION)
    return version


def _started(program: str) -> Iterator[str]:
    """Yield the files that the kernel runs to start a program: itself, and the loader of its
    libraries, which an ELF file names."""
    real = os.path.realpath(program)
    yield real
    with open(real, "rb") as file:
        head = file.read(64)
        is_wide, order = head[4:5] == b"\2", "<" if head[5:6] == b"\1" else ">"
        if not head.startswith(b"\x7fELF") or len(head) < 64:
            return
        form, at = (f"{order}Q", 32) if is_wide else (f"{order}I", 28)
        [start] = struct.unpack_from(form, head, at)
        size, count = struct.unpack_from(f"{order}HH", head, 54 if is_wide else 42)
        for number in range(count):
            file.seek(start + number * size)
            entry = file.read(size)
            if len(entry) < size or struct.unpack_from(f"{order}I", entry)[0] != _INTERPRETER:
                continue
            at, length = (8, 32) if is_wide else (4, 16)
            file.seek(struct.unpack_from(form, entry, at)[0])
            name = file.read(min(4096, struct.unpack_from(form, entry, length)[0]))
            yield os.path.realpath(os.fsdecode(name.rstrip(b"\0")))


def _allow(libc: ctypes.CDLL, ruleset: int, path: ReadablePath, more: int = 0) -> None:
    """Add a rule for the file at a path, if it is of the expected kind: to read it and ``more``."""
    flags = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if path.strict else 0)
    opened = os.open(path.path, flags)
    try:
        if not _is_expected(opened, path):
            return
        allowed = _READ_FILE | _READ_DIR if path.is_folder else _READ_FILE
        rule = _Beneath(allowed | more, opened)
        _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(opened)


def _is_expected(opened: int, path: ReadablePath) -> bool:
    """Check an opened file: a rule for a folder instead of a file would allow all below it."""
    mode = os.fstat(opened).st_mode
    if stat.S_ISDIR(mode) != path.is_folder:
        return False
    if not path.strict:
        return True
    # A symlink may have replaced a folder of the path since the path was resolved.
    return stat.S_ISREG(mode) and os.readlink(f"/proc/self/fd/{opened}") == path.path


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def is_of_system(program: str) -> bool:
    """Return True if a program and all that it loads belong to the system.

    Other programs must be tried: a program whose files are in a user's folder, or a script whose
    interpreter is there, does not start. snap needs privileges that the sandbox removes.
    """
    real = os.path.realpath(program)
    is_there = any(real.startswith(f"{folder}/") for folder in SYSTEM)
    return is_there and os.path.basename(real) != "snap"
