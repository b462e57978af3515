"""Confine a search to changed or open files.

ripgrep searches files on its command line no matter what its filters say, so the filters are
applied here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from winnow.config.globs import glob_regex
from winnow.errors import InvalidParams, SearchTimedOut
from winnow.processes.programs import InstalledPrograms
from winnow.storage.paths import is_inside, real_path, real_path_or_none, shown_path
from winnow.text.buffers import is_unsaved, unsaved_paths
from winnow.text.git_program import running_git
from winnow.text.paths import containing_root
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep
from winnow.text.scope import Scope, checked_out_submodules, path_order

# The paths of 300,000 changed files. In git's index, which a repository can bring, a path of 4,000
# bytes takes about 70.
GIT_BYTES = 32 * 1024**2


@dataclass
class Selector:
    """Confines scopes to files; git is among the ``installed`` programs, if it exists, and may
    print ``git_bytes``."""

    ripgrep: Ripgrep
    installed: InstalledPrograms
    buffers: Mapping[Path, str]
    git_bytes: int = GIT_BYTES

    async def select(self, scope: Scope, state: Literal["changed", "open"]) -> Scope:
        """Return the scope, confined to files in a state.

        Raises InvalidParams outside a git repository, ProgramNotInstalled without git.
        """
        warnings: list[str] = []
        if state == "open":
            files = unsaved_paths(self.buffers, scope) | set(self._saved(scope))
        else:
            files = await self._changed_files(scope, warnings)
        types = await file_type_globs(self.ripgrep, scope.root, scope.filters.file_types)
        named = [path for path in files if scope.covers_file(path, types)]
        return msgspec.structs.replace(
            scope,
            files=tuple(sorted(named, key=path_order(scope))),
            warnings=(*scope.warnings, *warnings),
        )

    # --- open ------------------------------------------------------------------------------

    def _saved(self, scope: Scope) -> Iterator[str]:
        """Yield the files of saved open documents, as ripgrep prints paths. A link is not searched,
        but its target is."""
        roots = [real_path(root) for root in scope.roots]
        for path, text in self.buffers.items():
            real = real_path_or_none(path)
            held = containing_root(real, roots) if real is not None else None
            if real is None or held is None or not is_inside(real, roots[held[0]]):
                continue
            place, below = held
            if scope.is_in_paths(place, below) and not is_unsaved(real, text) and _is_regular(real):
                yield scope.prefix(place) + below

    # --- changed ---------------------------------------------------------------------------

    async def _changed_files(self, scope: Scope, warnings: list[str]) -> set[str]:
        """Return the files that differ from HEAD on disk, and the unsaved documents."""
        files = set(unsaved_paths(self.buffers, scope))
        for place, root in enumerate(scope.roots):
            if not _exists(root / ".git"):
                if len(scope.roots) == 1:
                    raise InvalidParams("scope", f"{root} is not in a git repository")
                warnings.append(f"not searched: {root}, which is not in a git repository")
                continue
            for below in await self._changed_in(root, scope.filters.include_submodules):
                if not scope.is_in_paths(place, below.rstrip("/")):
                    continue
                if below.endswith("/"):
                    warnings.append(
                        f"not searched: {shown_path(below)[0]}, a nested repository;"
                        " `grep` with include_submodules searches it"
                    )
                elif _is_file_of(root, below):
                    files.add(scope.prefix(place) + below)
        return files

    async def _changed_in(self, root: Path, submodules: bool) -> list[str]:
        """Return the changed files of a repository, and those of nested repositories, or the
        folders of these with a trailing slash."""
        files = self.ripgrep.ignore_files
        is_blocked = files is not None and files.blocks_git()
        untracked_files = "no" if is_blocked else "all"
        status = ("status", "--porcelain", "-z", "--no-renames")
        harmless = await self._without_filters(root)
        # git would enter submodules by itself, and run their filters.
        options = (f"--untracked-files={untracked_files}", "--ignore-submodules=all")
        output = await self._git(root, *harmless, *status, *options)
        changed = [os.fsdecode(entry[3:]) for entry in output.split(b"\0") if entry]
        if files is not None and is_blocked:
            # Unlike `git status`, this reads no other ignore files.
            exclude = [f"--exclude-from={file}" for file in files.root_files(root)]
            listed = await self._git(root, "ls-files", "--others", "-z", *exclude)
            changed += [os.fsdecode(path) for path in listed.split(b"\0") if path]
        if not submodules:
            return changed
        # Of an untracked repository, git reports only the folder.
        untracked = [path.rstrip("/") for path in changed if path.endswith("/")]
        found = [path for path in changed if not path.endswith("/")]
        for folder in dict.fromkeys([*untracked, *checked_out_submodules(root)]):
            found += [f"{folder}/{path}" for path in await self._changed_in(root / folder, True)]
        return found

    async def _without_filters(self, root: Path) -> list[str]:
        """Return options that disable the filters in a repository's own configuration: `git status`
        runs these programs on files that may have changed."""
        listed = await self._git(
            root, "config", "--null", "--show-scope", "--name-only", "--get-regexp", r"^filter\."
        )
        scopes, names = listed.split(b"\0")[0::2], listed.split(b"\0")[1::2]
        own = {
            os.fsdecode(name).rpartition(".")[0]
            for scope, name in zip(scopes, names, strict=False)
            if scope in (b"local", b"worktree")
        }
        if any("=" in name for name in own):  # `-c` cannot name it
            raise InvalidParams("scope", f"git would run a filter of {root}/.git/config")
        values = (("clean", ""), ("process", ""), ("required", "false"))
        return [
            part
            for name in own
            for key, value in values
            for part in ("-c", f"{name}.{key}={value}")
        ]

    async def _git(self, root: Path, *arguments: str) -> bytes:
        git = self.installed.find("git", "scope='changed' needs it")
        files = self.ripgrep.ignore_files
        async with running_git(
            self.ripgrep.processes,
            git,
            root,
            arguments,
            environment=self.ripgrep.environment,
            deadline=self.ripgrep.deadline,
            watchdog=files.watchdog() if files else None,
        ) as child:
            output = bytearray()
            async for chunk in child.chunks():
                output += chunk
                if len(output) > self.git_bytes:
                    raise InvalidParams("scope", f"{root} has too many changed files")
            code = await child.wait()
            if child.timed_out:
                raise SearchTimedOut(self.ripgrep.seconds)
            if code and child.stderr:
                raise InvalidParams("scope", f"git failed in {root}: {child.stderr[:500].strip()}")
        return bytes(output)


async def file_type_globs(
    ripgrep: Ripgrep, root: Path, names: Sequence[str]
) -> list[re.Pattern[str]]:
    """Return the globs of ripgrep's file types. Raises InvalidParams for an unknown type."""
    if not names:
        return []
    types = await file_types(ripgrep, root)
    for place, name in enumerate(names):
        if name not in types and name != "all":
            raise unknown_file_type(f"file_types[{place}]", name, types)
    selected = types if "all" in names else names
    return [glob_regex(glob) for name in selected for glob in types[name]]


def unknown_file_type(
    parameter: str, name: str, types: Mapping[str, Sequence[str]]
) -> InvalidParams:
    """Return the error for a name that is none of the types. It may be a file extension."""
    ending = f"*.{name.removeprefix('.')}"
    meant = [known for known, globs in types.items() if ending in globs]
    hint = f". Did you mean {' or '.join(meant)}?" if meant else ""
    return InvalidParams(parameter, f"unrecognized file type: {name}{hint}")


async def file_types(ripgrep: Ripgrep, root: Path) -> dict[str, list[str]]:
    """Return the globs of each of ripgrep's file types."""
    types: dict[str, list[str]] = {}
    async with ripgrep.start(["--type-list"], cwd=root) as child:
        async for record in child.records(b"\n", RECORD_BYTES):
            name, _, globs = record.decode("utf-8", "replace").partition(": ")
            types[name] = globs.split(", ")
    return types


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _is_file_of(root: Path, below: str) -> bool:
    """Return True if a path from git is a file below the root: through a link or its configuration,
    git may use another folder."""
    inside = is_inside(real_path(root / below), real_path(root))
    return inside and _is_regular(str(root / below))


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
