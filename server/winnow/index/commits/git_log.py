"""Read the commits of a repository with `git log`.

The output is parsed by position: a message and a path may contain anything but NUL.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from msgspec import Struct

from winnow.errors import SearchError
from winnow.processes.children import Processes
from winnow.text.git_program import LOG_SAFE, running_git

# The newest commits. Older ones are about code that has changed since.
MOST_COMMITS = 4_000
# Limits of one run of git; commits that do not fit are left out.
SECONDS = 20.0
LOG_BYTES = 16 * 1024 * 1024
# A commit that changes more files is about none of them.
MOST_FILES = 100
MESSAGE_CHARACTERS = 2_000
# The bytes of a hash that identify a commit.
ID_BYTES = 8
# Up to this many new commits are named on the command line; for more, all are read.
MOST_NAMED = 200

# The files of the first commit of a repository, and of a shallow clone, are not its changes. Only
# renames without a change are detected: git would read the contents of files for the others.
LOG = ("-c", "log.showRoot=false", "log", "-z", "--name-status", "--find-renames=100%")
OPTIONS = (
    *("--no-merges", "--ignore-submodules=all", "--encoding=UTF-8"),
    "--format=%x01%H%x00%B%x00",
)
_START = b"\1"
_DELETED = b"D"
_STATUS = re.compile(rb"\n?([A-Z])\d*")


class LoggedCommit(Struct, frozen=True):
    """A commit: the first bytes of its hash, its message, the files that it changed and did not
    delete, and the old and new names of files that it renamed."""

    id: bytes
    message: str
    paths: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


class ReadCommits(Struct, frozen=True):
    """The identities of the newest commits, and those commits that were not known; both with the
    newest first."""

    ids: list[bytes]
    new: list[LoggedCommit]


def parse_log(output: bytes) -> Iterator[LoggedCommit]:
    """Yield the commits in the output of :data:`LOG` with :data:`OPTIONS`. If it was cut, the last
    one may lack files."""
    tokens = output.split(b"\0")[:-1]
    at = 0
    while at + 2 <= len(tokens):
        written, message = tokens[at : at + 2]
        at += 2
        paths: list[str] = []
        renamed = []
        while at < len(tokens) and not tokens[at].startswith(_START):
            status = _STATUS.fullmatch(tokens[at])
            names = [os.fsdecode(name) for name in tokens[at + 1 : at + 1 + _names_after(status)]]
            at += 1 + len(names)
            if status is not None and status[1] != _DELETED:
                paths += names[-1:]
            if len(names) == 2:
                renamed.append((names[0], names[1]))
        about_few = len(paths) <= MOST_FILES
        yield LoggedCommit(
            id=commit_id(written.removeprefix(_START)),
            message=message.decode("utf-8", "replace")[:MESSAGE_CHARACTERS],
            paths=tuple(paths) if about_few else (),
            renamed=tuple(renamed),
        )


def _names_after(status: re.Match[bytes] | None) -> int:
    """Return how many paths follow a status; none follow the empty token after a message."""
    if status is None:
        return 0
    return 2 if status[1] == b"R" else 1


def commit_id(written: bytes) -> bytes:
    """Return the first bytes of a hash in hexadecimal digits. Raises ValueError."""
    return bytes.fromhex(written[: 2 * ID_BYTES].decode("ascii"))


async def read_commits(
    root: Path,
    known: Set[bytes],
    processes: Processes,
    git: str | None,
    environment: Mapping[str, str],
) -> ReadCommits | None:
    """Read the newest commits of the working tree in a folder that are not ``known``. Without
    ``git`` or a repository, there are none. Returns None if git fails."""
    if git is None or not await asyncio.to_thread(os.path.lexists, root / ".git"):
        return ReadCommits([], [])
    run = functools.partial(_output, root, processes, git, environment)
    try:
        listed, complete = await run(["rev-list", "--no-merges", f"-n{MOST_COMMITS}", "HEAD", "--"])
        hashes = listed.split()
        if not (complete and hashes):
            return None
        new = [written.decode() for written in hashes if commit_id(written) not in known]
        if not new:
            logged = []
        elif len(new) <= MOST_NAMED:
            logged = await _log(run, ["--no-walk=unsorted", *new])
        else:
            logged = await _log(run, [f"-n{MOST_COMMITS}", hashes[0].decode()])
    except (SearchError, ValueError):
        return None
    if new and not logged:
        return None
    return ReadCommits(list(map(commit_id, hashes)), logged)


async def head_commit(
    root: Path, processes: Processes, git: str | None, environment: Mapping[str, str]
) -> str | None:
    """Return the hash of the current commit in hexadecimal; None without one, or without git."""
    if git is None or not await asyncio.to_thread(os.path.lexists, root / ".git"):
        return None
    try:
        command = ["rev-parse", "--verify", "HEAD^{commit}"]
        output, complete = await _output(root, processes, git, environment, command)
        found = output.decode().strip()
        return found if complete and re.fullmatch("[0-9a-f]{40,64}", found) else None
    except (SearchError, ValueError):
        return None


async def count_commits_since(
    commit: str,
    root: Path,
    processes: Processes,
    git: str | None,
    environment: Mapping[str, str],
) -> int | None:
    """Return the number of commits that HEAD has and a commit lacks; None if that is unknown, as
    in a shallow clone."""
    if git is None or not re.fullmatch("[0-9a-f]{40,64}", commit):
        return None
    try:
        command = ["rev-list", "--count", f"{commit}..HEAD", "--"]
        output, complete = await _output(root, processes, git, environment, command)
        return int(output) if complete else None
    except (SearchError, ValueError):
        return None


async def _log(
    run: Callable[[Sequence[str]], Awaitable[tuple[bytes, bool]]], which: Sequence[str]
) -> list[LoggedCommit]:
    output, complete = await run([*LOG, *LOG_SAFE, *OPTIONS, *which, "--"])
    logged = await asyncio.to_thread(lambda: list(parse_log(output)))
    return logged if complete else logged[:-1]


async def _output(
    root: Path,
    processes: Processes,
    git: str,
    environment: Mapping[str, str],
    arguments: Sequence[str],
) -> tuple[bytes, bool]:
    """Return the output of git, and True if it is complete."""
    output = bytearray()
    deadline = asyncio.get_running_loop().time() + SECONDS
    async with running_git(
        processes, git, root, arguments, environment=environment, deadline=deadline
    ) as child:
        async for chunk in child.chunks():
            output += chunk
            if len(output) > LOG_BYTES:
                return bytes(output[:LOG_BYTES]), False
        return bytes(output), await child.wait() == 0
