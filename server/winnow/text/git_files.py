"""Files of git outside of a working tree that ripgrep reads: the user's settings, and what a linked
working tree shares with its repository.

The user's files are trusted. The `.git` file of a working tree is not: a repository can bring one
that names any folder, so it counts only where git's own link back agrees.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.storage.paths import is_below, real_path
from winnow.storage.untrusted import read_untrusted, read_users_own

_NAMED_FILE = re.compile(
    r'^\s*(?:excludesfile|attributesfile|path)\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.I | re.M
)
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.I | re.M)
_GITDIR = "gitdir: "
# Settings that include each other end somewhere.
_MOST_SETTINGS = 20


def git_settings(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of the user's settings for git, of those that they include, and of the ignore
    and attributes files that they name."""
    home = environment.get("HOME", "")
    folder = os.path.join(environment.get("XDG_CONFIG_HOME") or f"{home}/.config", "git")
    yield from (os.path.join(folder, name) for name in ("ignore", "attributes"))
    waiting = [f"{home}/.gitconfig", os.path.join(folder, "config")]
    for settings in waiting:  # which grows meanwhile
        yield settings
        for named in _NAMED_FILE.findall(_settings_text(settings)):
            path = re.sub(r"^~(?=/)", lambda _: home, named)
            path = os.path.join(os.path.dirname(settings), path)
            if len(waiting) < _MOST_SETTINGS and path not in waiting:
                waiting.append(path)


def is_linked_from_outside(root: Path) -> bool:
    """Return whether the git folder of a working tree lies elsewhere and names the tree back, as
    git does for linked working trees and submodules. What a repository brings cannot do that."""
    named = _first_line(root / ".git")
    folder = _resolved(os.path.join(root, named.removeprefix(_GITDIR))) if named else None
    if named is None or not named.startswith(_GITDIR) or folder is None:
        return False
    if is_below(folder, real_path(root)):
        return False
    if shared_files(root):
        return True
    with contextlib.suppress(OSError):
        config = read_untrusted(os.path.join(folder, "config")).decode("utf-8", "surrogateescape")
        back = _WORKTREE.search(config)
        return back is not None and _resolved(os.path.join(folder, back[1])) == real_path(root)
    return False


def shared_files(root: Path) -> tuple[str, ...]:
    """Return the files that ripgrep reads of the repository of a linked working tree: its
    `commondir` and `info/exclude`, resolved.

    Empty unless git made the link: the git folder is `worktrees/<name>` of the common folder and
    its `gitdir` names this working tree. A submodule shares nothing: its git folder has no
    `commondir`, without which ripgrep looks no further.
    """
    named = _first_line(root / ".git")
    if named is None or not named.startswith(_GITDIR):
        return ()
    folder = _resolved(os.path.join(root, named.removeprefix(_GITDIR)))
    if folder is None or os.path.basename(os.path.dirname(folder)) != "worktrees":
        return ()
    link, common = _first_line(os.path.join(folder, "gitdir")), os.path.join(folder, "commondir")
    if link is None or _first_line(common) != "../..":
        return ()
    if _resolved(os.path.join(folder, link)) != _resolved(os.path.join(root, ".git")):
        return ()
    return common, os.path.join(os.path.dirname(os.path.dirname(folder)), "info", "exclude")


def exclude_files(folder: str, cwd: str) -> tuple[str, ...]:
    """Return the files that ripgrep, started in ``cwd``, reads to find and apply the `info/exclude`
    of a folder that has a `.git`, whether or not git made it."""
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return (os.path.join(dot_git, "info", "exclude"),)
    named = _first_line(dot_git)
    if named is None or not named.startswith(_GITDIR):
        return (dot_git,)
    # Unlike git, ripgrep takes relative paths as seen from the folder that it starts in.
    own = os.path.join(cwd, named.removeprefix(_GITDIR))
    common = os.path.join(own, "commondir")
    shared = _first_line(common)
    if shared is None:
        return dot_git, common
    base = own if shared.startswith(".") else cwd
    return dot_git, common, os.path.join(base, shared, "info", "exclude")


def _first_line(file: str | os.PathLike[str]) -> str | None:
    """Return the first line of one of git's files; None if it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        line = read_untrusted(file).partition(b"\n")[0].removesuffix(b"\r")
        return line.decode("utf-8", "surrogateescape")
    return None


def _resolved(path: str) -> str | None:
    with contextlib.suppress(OSError, ValueError):
        return real_path(path)
    return None


def _settings_text(path: str) -> str:
    """Return the text of a file of the user's; empty if it is unusable."""
    with contextlib.suppress(OSError, ValueError):
        return read_users_own(path).decode("utf-8", "surrogateescape")
    return ""
