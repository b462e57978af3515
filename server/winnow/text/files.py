"""Scope: which folders and files a search covers, as arguments for ripgrep."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from winnow.display import shown_path
from winnow.errors import InvalidParams, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.text.globs import InvalidGlob, glob_regex, name_pattern
from winnow.types import SearchParams

IGNORE_FILE = ".winnowignore"
TYPE = "winnowinclude"  # the name under which ripgrep knows the patterns of `include`


class Scope(Struct, frozen=True):
    """What to search: ripgrep runs in ``root`` with ``arguments`` on ``paths``.

    ``roots`` are all roots that are searched, ``root`` the first of them; paths in results are
    relative to it, or absolute if they are below another one. ``include`` are the patterns of which
    a path must match one, if there are any: ripgrep is told their last parts only.
    """

    roots: tuple[Path, ...]
    paths: tuple[str, ...]
    arguments: tuple[str, ...]
    include: tuple[re.Pattern[str], ...] = ()

    @property
    def root(self) -> Path:
        return self.roots[0]

    def covers(self, path: str) -> bool:
        """Whether a path, as ripgrep printed it but without `./`, is one that was asked for."""
        if not self.include:
            return True
        below = self.locate(path)[1]
        return any(pattern.fullmatch(below) for pattern in self.include)

    def locate(self, path: str) -> tuple[Path, str]:
        """The root that holds a path as ripgrep printed it, and the path below that root."""
        if os.path.isabs(path):
            for root in self.roots[1:]:
                if path.startswith(f"{root}{os.sep}"):
                    return root, path[len(str(root)) + 1 :]
        return self.root, path


def repository_root(folder: Path) -> Path:
    """The git working tree that holds the folder, or the folder itself (REQ-KWS-002).

    ``.git`` is a file in worktrees and submodules.
    """
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return folder


def search_scope(
    folders: Sequence[Path], params: SearchParams, exclude: Sequence[str] = ()
) -> Scope:
    """The scope of a search in the repositories of these folders.

    ``exclude`` are further globs to leave out. Raises NoWorkspace, NotFound,
    PathOutsideWorkspace and, for a bad glob, InvalidParams.
    """
    roots = list(dict.fromkeys(repository_root(folder) for folder in folders))
    if params.path:
        roots, paths = _resolve(params.path, roots)
    else:
        paths = [".", *map(str, roots[1:])]
    if not roots:
        raise NoWorkspace
    for root in roots:
        if not root.is_dir():
            raise NotFound(shown_path(str(root))[0])
    for place, one in enumerate(params.exclude):
        _glob("exclude", place, one)
    arguments = _arguments(roots, params, exclude)
    include = tuple(_glob("include", place, one) for place, one in enumerate(params.include))
    return Scope(tuple(roots), tuple(paths), tuple(arguments), include)


def _glob(field: str, place: int, pattern: str) -> re.Pattern[str]:
    try:
        return glob_regex(pattern)
    except InvalidGlob as error:
        raise InvalidParams(f"{field}[{place}]", str(error)) from None


def _arguments(roots: Sequence[Path], params: SearchParams, exclude: Sequence[str]) -> list[str]:
    # Not --glob for what to include: it overrides ignore files, as types do not.
    arguments = [f"--type-add={TYPE}:{name_pattern(pattern)}" for pattern in params.include]
    types = params.file_types or ([TYPE] if params.include else [])
    arguments += [f"--type={name}" for name in types]
    arguments += [f"--glob=!{pattern}" for pattern in (*exclude, *params.exclude)]
    if params.include_hidden:
        arguments += ["--hidden", "--glob=!.git"]
    elif types:
        # A file of a type that was asked for is searched even if it is hidden.
        arguments.append("--glob=!.*")
    if params.include_ignored:
        arguments.append("--no-ignore")
    else:
        arguments += [
            f"--ignore-file={root / IGNORE_FILE}"
            for root in roots
            if (root / IGNORE_FILE).is_file()
        ]
    return arguments


def _resolve(path: str, roots: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The root that holds a path of params, and the path as an argument for ripgrep."""
    if not roots and os.path.isabs(path):
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        roots = [repository_root(folder)]
    inside = False
    for root in roots:
        real_root = os.path.realpath(root)
        real = os.path.realpath(os.path.join(root, path))
        if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
            continue
        inside = True
        if _searchable(real):
            below = os.path.relpath(real, real_root)
            return [root], [below if below == "." else os.path.join(".", below)]
    if not roots:
        raise NoWorkspace
    raise NotFound(path) if inside else PathOutsideWorkspace(path)


def _searchable(path: str) -> bool:
    """Whether ripgrep may be given the path: it would wait for ever on a FIFO."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
