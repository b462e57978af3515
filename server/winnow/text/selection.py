"""Which files a search is confined to: those that changed, or those that are open.

Files that are named on ripgrep's command line are searched whatever its filters say. So what the
filters would see to is seen to here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from winnow.errors import InvalidParams, ProgramNotInstalled, SearchTimedOut
from winnow.globs import glob_regex
from winnow.text.buffers import is_unsaved
from winnow.text.files import Scope, order
from winnow.text.paths import is_inside
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep
from winnow.types import FileParams

GIT_SAFE = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


@dataclass
class Selector:
    """Confines scopes to files; ``git`` is the program, if there is one."""

    ripgrep: Ripgrep
    git: str | None
    buffers: Mapping[Path, str]

    async def select(self, scope: Scope, params: FileParams) -> Scope:
        """The scope, confined to what ``params.scope`` names.

        Raises InvalidParams where there is no git repository, ProgramNotInstalled for git.
        """
        warnings: list[str] = []
        if params.scope == "open":
            files = {path for path, _ in self._open_files(scope)}
        else:
            files = await self._changed_files(scope, params.include_submodules, warnings)
        types = await self._types(scope.root, params.file_types)
        named = [path for path in files if scope.covers_named(path, types)]
        return msgspec.structs.replace(
            scope,
            files=tuple(sorted(named, key=order(scope))),
            warnings=(*scope.warnings, *warnings),
        )

    # --- open ------------------------------------------------------------------------------

    def _open_files(self, scope: Scope) -> Iterator[tuple[str, bool]]:
        """The documents that are open, in paths as ripgrep prints them, and whether their text is
        another one than the disk's."""
        roots = [os.path.realpath(root) for root in scope.roots]
        for path, text in self.buffers.items():
            try:
                real = os.path.realpath(path)
            except (OSError, ValueError):
                continue
            holding = [place for place, root in enumerate(roots) if is_inside(real, root)]
            if not holding:
                continue
            place = max(holding, key=lambda one: len(roots[one]))
            below = os.path.relpath(real, roots[place]).replace(os.sep, "/")
            if scope.within_paths(place, below):
                yield scope.prefix(place) + below, is_unsaved(real, text)

    # --- changed ---------------------------------------------------------------------------

    async def _changed_files(self, scope: Scope, submodules: bool, warnings: list[str]) -> set[str]:
        """What differs from HEAD on disk, and the documents that are not saved."""
        files = {path for path, changed in self._open_files(scope) if changed}
        for place, root in enumerate(scope.roots):
            if not _exists(root / ".git"):
                if len(scope.roots) == 1:
                    raise InvalidParams("scope", f"{root} is in no git repository")
                warnings.append(f"{root} is in no git repository: nothing of it is searched")
                continue
            for below in await self._changed_in(root, submodules):
                if scope.within_paths(place, below) and _is_regular(root / below):
                    files.add(scope.prefix(place) + below)
        return files

    async def _changed_in(self, root: Path, submodules: bool) -> list[str]:
        """The files of a repository that git calls changed, and those of its submodules."""
        status = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
        harmless = await self._without_filters(root)
        which = "--ignore-submodules=none" if submodules else "--ignore-submodules=all"
        found: list[str] = []
        for entry in (await self._git(root, *harmless, *status, which)).split(b"\0"):
            below = os.fsdecode(entry[3:]).rstrip("/")
            if not below:
                continue
            if submodules and _exists(root / below / ".git"):
                found += [f"{below}/{one}" for one in await self._changed_in(root / below, True)]
            else:
                found.append(below)
        return found

    async def _without_filters(self, root: Path) -> list[str]:
        """Options that keep git from running the filters that a repository's own configuration
        names: those are programs, and `git status` runs them on files that may have changed."""
        listed = await self._git(
            root, "config", "--null", "--show-scope", "--name-only", "--get-regexp", r"^filter\."
        )
        scopes, names = listed.split(b"\0")[0::2], listed.split(b"\0")[1::2]
        own = {
            os.fsdecode(name).rpartition(".")[0]
            for scope, name in zip(scopes, names, strict=False)
            if scope in (b"local", b"worktree")
        }
        values = (("clean", ""), ("process", ""), ("required", "false"))
        return [
            part
            for name in own
            for key, value in values
            for part in ("-c", f"{name}.{key}={value}")
        ]

    async def _git(self, root: Path, *arguments: str) -> bytes:
        if self.git is None:
            raise ProgramNotInstalled("git", "git is not on PATH: scope='changed' needs it")
        environment = {
            name: value
            for name, value in self.ripgrep.environment.items()
            if not name.startswith("GIT_")
        }
        async with self.ripgrep.processes.start(
            [self.git, "-C", str(root), *GIT_SAFE, *arguments],
            cwd=root,
            deadline=self.ripgrep.deadline,
            environment={**environment, "LC_ALL": "C"},
        ) as child:
            output = b"".join([chunk async for chunk in child.chunks()])
            code = await child.wait()
            if child.timed_out:
                raise SearchTimedOut(self.ripgrep.seconds)
            if code and child.stderr:
                raise InvalidParams("scope", f"git says of {root}: {child.stderr[:500].strip()}")
        return output

    async def _types(self, root: Path, names: Sequence[str]) -> list[re.Pattern[str]]:
        """The globs of ripgrep's file types. Raises InvalidParams for a type it does not know."""
        if not names:
            return []
        known: dict[str, list[str]] = {}
        async with self.ripgrep.start(["--type-list"], cwd=root) as child:
            async for record in child.records(b"\n", RECORD_BYTES):
                name, _, globs = record.decode("utf-8", "replace").partition(": ")
                known[name] = globs.split(", ")
        for place, name in enumerate(names):
            if name not in known and name != "all":
                raise InvalidParams(f"file_types[{place}]", f"unrecognized file type: {name}")
        wanted = known if "all" in names else names
        return [glob_regex(glob) for name in wanted for glob in known[name]]


def _exists(path: Path) -> bool:
    return os.path.lexists(path)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
