"""Git's files outside a working tree that ripgrep reads: the user's settings, and files that a
linked working tree shares with its repository.

The user's files are trusted. The `.git` file of a working tree is not: a repository can bring one
that names any folder, so it counts only if git's own link back agrees.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.storage.paths import is_below, real_path, real_path_or_none
from winnow.storage.untrusted import read_untrusted, read_users_own

_NAMED_FILE = re.compile(
    r'^\s*(?:excludesfile|attributesfile|path)\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.I | re.M
)
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.I | re.M)
_GITDIR = "gitdir: "
# Settings may include each other in a loop.
_MOST_SETTINGS = 20


def git_settings(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of the user's git settings and their includes, and of the ignore and
    attributes files that they name."""
    home = environment.get("HOME", "")
    folder = os.path.join(environment.get("XDG_CONFIG_HOME") or f"{home}/.config", "git")
    yield from (os.path.join(folder, name) for name in ("ignore", "attributes"))
    waiting = [f"{home}/.gitconfig", os.path.join(folder, "config")]
    for settings in waiting:  # grows meanwhile
        yield settings
        for named in _NAMED_FILE.findall(_settings_text(settings)):
            path = re.sub(r"^~(?=/)", lambda _: home, named)
            path = os.path.join(os.path.dirname(settings), path)
            if len(waiting) < _MOST_SETTINGS and path not in waiting:
                waiting.append(path)


def is_linked_from_outside(root: Path) -> bool:
    """Return True if the git folder of a working tree is elsewhere and names the tree.

    Git creates such links for working trees and submodules; a repository cannot bring one.
    """
    named = _linked_folder(root / ".git")
    folder = real_path_or_none(os.path.join(root, named)) if named is not None else None
    if folder is None or is_below(folder, real_path(root)):
        return False
    if shared_files(root):
        return True
    with contextlib.suppress(OSError):
        config = read_untrusted(os.path.join(folder, "config")).decode("utf-8", "surrogateescape")
        back = _WORKTREE.search(config)
        return back is not None and real_path_or_none(os.path.join(folder, back[1])) == real_path(
            root
        )
    return False


def shared_files(root: Path) -> tuple[str, ...]:
    """Return the resolved `commondir` and `info/exclude` of a linked working tree's repository,
    which ripgrep reads.

    Empty unless git made the link: the git folder is `worktrees/<name>` in the common folder, and
    its `gitdir` names this working tree. A submodule shares no files: its git folder has no
    `commondir`, so ripgrep reads no further.
    """
    named = _linked_folder(root / ".git")
    if named is None:
        return ()
    folder = real_path_or_none(os.path.join(root, named))
    if folder is None or os.path.basename(os.path.dirname(folder)) != "worktrees":
        return ()
    link, common = _first_line(os.path.join(folder, "gitdir")), os.path.join(folder, "commondir")
    if link is None or _first_line(common) != "../..":
        return ()
    if real_path_or_none(os.path.join(folder, link)) != real_path_or_none(
        os.path.join(root, ".git")
    ):
        return ()
    return common, os.path.join(os.path.dirname(os.path.dirname(folder)), "info", "exclude")


def exclude_files(folder: str, cwd: str) -> tuple[str, ...]:
    """Return the files that ripgrep, started in ``cwd``, reads to apply the `info/exclude` of a
    folder with a `.git`, no matter who made it."""
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return (os.path.join(dot_git, "info", "exclude"),)
    named = _linked_folder(dot_git)
    if named is None:
        return (dot_git,)
    # Unlike git, ripgrep resolves relative paths against its working folder.
    own = os.path.join(cwd, named)
    common = os.path.join(own, "commondir")
    shared = _first_line(common)
    if shared is None:
        return dot_git, common
    base = own if shared.startswith(".") else cwd
    return dot_git, common, os.path.join(base, shared, "info", "exclude")


def _linked_folder(dot_git: str | os.PathLike[str]) -> str | None:
    """Return the git folder that a `.git` file names, as spelled; None if it names none."""
    line = _first_line(dot_git)
    return line.removeprefix(_GITDIR) if line is not None and line.startswith(_GITDIR) else None


def _first_line(file: str | os.PathLike[str]) -> str | None:
    """Return the first line of one of git's files; None if it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        line = read_untrusted(file).partition(b"\n")[0].removesuffix(b"\r")
        return line.decode("utf-8", "surrogateescape")
    return None


def _settings_text(path: str) -> str:
    """Return the text of one of the user's files; empty if it is unusable."""
    with contextlib.suppress(OSError, ValueError):
        return read_users_own(path).decode("utf-8", "surrogateescape")
    return ""
