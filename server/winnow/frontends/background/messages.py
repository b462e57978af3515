"""The messages between a command and the background process.

    command                         process
    CALL (identity)              →
                                 ←  NAMES (salt, further environment variables), or DECLINED
    RUN (fingerprint, arguments) →
                                 ←  PROGRESS and WAITING, any number of times
    SKIP, while WAITING          →
                                 ←  DONE (exit code, standard output, standard error), or DECLINED

A command that is declined does its work itself. A closed connection cancels the command. WAITING
with a text says that the command waits for something that it can do without, and SKIP ends that
wait; WAITING without a text says that the wait is over. STATUS
asks for a description, STOP ends the process, which closes the connection when it has ended.

Every command imports this module, so it imports little.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection, Iterable, Mapping

import winnow

CALL, RUN, SKIP, STATUS, STOP = b"C", b"R", b"K", b"S", b"X"
NAMES, PROGRESS, WAITING, DONE = b"n", b"p", b"w", b"d"
DECLINED, DESCRIPTION = b"-", b"s"

LENGTH_BYTES = 4

# Variables that change what a command or its child processes do, by name or by prefix. The names of
# variables with keys are settings, and the process adds them.
VARIABLES = frozenset(
    ("HOME", "PATH", "USERPROFILE", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE")
)
PREFIXES = (
    *("WINNOW_", "XDG_", "LC_", "GIT_", "RIPGREP_", "RGA_", "LD_", "DYLD_", "PYTHON"),
    *("OPENAI_", "ANTHROPIC_", "SSL_", "TOKENIZERS_"),
)
PROXIES = ("_PROXY", "_proxy")
# They say who runs a command, and change nothing that it does.
UNRELATED = frozenset(("WINNOW_BACKGROUND", "XDG_SESSION_ID", "XDG_VTNR", "XDG_SEAT"))
# Variables of the caller's terminal, which are sent.
OF_TERMINAL = ("TERM", "NO_COLOR")


def identity() -> list[str]:
    """Return what the code of a process depends on: version, Python and folders. A process knows by
    itself if its code has changed since it started."""
    return [winnow.__version__, sys.version, sys.prefix, os.path.dirname(winnow.__file__)]


def fingerprint(environment: Mapping[str, str], names: Collection[str], salt: str) -> str:
    """Return a hash of the user and the environment, as far as they can change an answer.

    ``names`` are further variables that count. With another ``salt``, the hash is another one.
    """
    user = (os.geteuid(), os.getegid(), *sorted(os.getgroups()))
    parts = [salt, repr(user)]
    parts += [f"{name}={environment[name]}" for name in sorted(environment) if counts(name, names)]
    return hashlib.sha256(pack(parts)).hexdigest()


def counts(name: str, names: Collection[str]) -> bool:
    """Return True if a variable can change an answer."""
    if name in UNRELATED:
        return False
    return name in VARIABLES or name in names or name.startswith(PREFIXES) or name.endswith(PROXIES)


def pack(parts: Iterable[str]) -> bytes:
    """Return texts as bytes, each with its length before it. Arguments and answers may have any
    characters, and halves of surrogate pairs."""
    encoded = (part.encode("utf-8", "surrogatepass") for part in parts)
    return b"".join(len(part).to_bytes(LENGTH_BYTES, "little") + part for part in encoded)


def unpack(payload: bytes) -> list[str]:
    """Return the texts of :func:`pack`. Raise ValueError if it is something else."""
    parts, start = [], 0
    while start < len(payload):
        end = start + LENGTH_BYTES + int.from_bytes(payload[start : start + LENGTH_BYTES], "little")
        if end > len(payload) or start + LENGTH_BYTES > len(payload):
            raise ValueError("a text is cut off")
        parts.append(payload[start + LENGTH_BYTES : end].decode("utf-8", "surrogatepass"))
        start = end
    return parts


def framed(kind: bytes, parts: Iterable[str] = ()) -> bytes:
    """Return a message: its length, its kind and its texts."""
    payload = kind + pack(parts)
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload
