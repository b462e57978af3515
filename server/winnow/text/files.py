"""Scope: which folders and files a search covers, as arguments for ripgrep."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.display import shown_path
from winnow.errors import InvalidParams, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.globs import InvalidGlob, glob_regex, name_pattern
from winnow.types import SearchParams

IGNORE_FILE = ".winnowignore"
TYPE = "winnowinclude"  # the name under which ripgrep knows the patterns of `include`


class Rule(Struct, frozen=True):
    """A line of an ignore file; ``keeps`` if it takes an earlier one back."""

    pattern: re.Pattern[str]
    keeps: bool


class Scope(Struct, frozen=True):
    """What to search: ripgrep runs in ``root`` with ``arguments`` on ``paths``.

    ``roots`` are all roots that are searched, ``root`` the first of them; paths in results are
    relative to it, or absolute if they are below another one. What ripgrep cannot be told, since it
    would hold for the first root only or override ignore files, is checked by :meth:`covers`:
    ``include`` are patterns of which a path must match one, ``ignored`` the rules for each root.
    """

    roots: tuple[Path, ...]
    paths: tuple[str, ...]
    arguments: tuple[str, ...]
    include: tuple[re.Pattern[str], ...] = ()
    ignored: tuple[tuple[Rule, ...], ...] = ()

    @property
    def root(self) -> Path:
        return self.roots[0]

    def covers(self, path: str) -> bool:
        """Whether a path, as ripgrep printed it but without `./`, is one that was asked for."""
        root, below = self.locate(path)
        if self.include and not any(pattern.fullmatch(below) for pattern in self.include):
            return False
        if len(self.roots) == 1:
            return True
        # A root below another one is searched by itself, too: a file counts for the deepest.
        whole = os.path.join(root, below)
        deeper = any(
            len(str(other)) > len(str(root)) and whole.startswith(f"{other}{os.sep}")
            for other in self.roots
        )
        return not deeper and not _is_ignored(below, self.ignored[self.roots.index(root)])

    def locate(self, path: str) -> tuple[Path, str]:
        """The root that holds a path as ripgrep printed it, and the path below that root."""
        if os.path.isabs(path):
            holding = [root for root in self.roots[1:] if path.startswith(f"{root}{os.sep}")]
            if holding:
                root = max(holding, key=lambda one: len(str(one)))
                return root, path[len(str(root)) + 1 :].replace(os.sep, "/")
        return self.root, path


def _is_ignored(below: str, rules: Sequence[Rule]) -> bool:
    """Whether the last rule for the path, or for a folder that holds it, ignores it."""
    parts = below.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        last = next((rule for rule in reversed(rules) if rule.pattern.fullmatch(part)), None)
        if last and not last.keeps:
            return True
    return False


def _ignore_rules(root: Path) -> Iterator[Rule]:
    """The rules of a root's own ignore file, for a search of several roots."""
    file = root / IGNORE_FILE
    with contextlib.suppress(OSError):
        for line in file.read_text("utf-8", "replace").splitlines() if file.is_file() else ():
            pattern = line.strip()
            if pattern and not pattern.startswith("#"):
                with contextlib.suppress(InvalidGlob):
                    yield Rule(glob_regex(pattern.removeprefix("!")), pattern.startswith("!"))


def repository_root(folder: Path) -> Path:
    """The git working tree that holds the folder, or the folder itself (REQ-KWS-002).

    ``.git`` is a file in worktrees and submodules.
    """
    for spelled in (folder, Path(os.path.realpath(folder))):
        for candidate in (spelled, *spelled.parents):
            if os.path.lexists(candidate / ".git"):
                return candidate
    return folder


def search_roots(folders: Sequence[Path], path: str = "") -> list[Path]:
    """The repositories of the folders, each once; without folders, that of an absolute path."""
    if not folders and os.path.isabs(path):
        folders = [Path(path) if os.path.isdir(path) else Path(path).parent]
    distinct: dict[str, Path] = {}
    for root in map(repository_root, folders):
        distinct.setdefault(os.path.realpath(root), root)
    return list(distinct.values())


def search_scope(
    folders: Sequence[Path], params: SearchParams, exclude: Sequence[str] = ()
) -> Scope:
    """The scope of a search in the repositories of these folders.

    ``exclude`` are further globs to leave out. Raises NoWorkspace, NotFound,
    PathOutsideWorkspace and, for a bad glob, InvalidParams.
    """
    roots = search_roots(folders, params.path)
    if params.path:
        roots, paths = _resolve(params.path, roots)
    else:
        paths = [".", *map(str, roots[1:])]
    if not roots:
        raise NoWorkspace
    for root in roots:
        if not root.is_dir():
            raise NotFound(shown_path(str(root))[0])
    excluded = [_glob("exclude", place, one) for place, one in enumerate(params.exclude)]
    arguments = _arguments(roots, params, exclude)
    include = tuple(_glob("include", place, one) for place, one in enumerate(params.include))
    if len(roots) == 1:
        return Scope(tuple(roots), tuple(paths), tuple(arguments), include)
    rules = tuple(Rule(one, False) for one in (*map(glob_regex, exclude), *excluded))
    own = () if params.include_ignored else tuple(tuple(_ignore_rules(root)) for root in roots)
    ignored = tuple((*one, *rules) for one in own or ((),) * len(roots))
    return Scope(tuple(roots), tuple(paths), tuple(arguments), include, ignored)


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
    alone = len(roots) == 1
    if alone:  # for several roots, ripgrep would take what holds for the first
        arguments += [f"--glob=!{pattern}" for pattern in (*exclude, *params.exclude)]
    if params.include_hidden:
        arguments += ["--hidden", "--glob=!.git"]
    elif types:
        # A file of a type that was asked for is searched even if it is hidden.
        arguments.append("--glob=!.*")
    if params.include_ignored:
        arguments.append("--no-ignore")
    elif alone and (roots[0] / IGNORE_FILE).is_file():
        arguments.append(f"--ignore-file={roots[0] / IGNORE_FILE}")
    return arguments


def _resolve(path: str, roots: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The root that holds a path of params, and the path as an argument for ripgrep."""
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
