"""The folders of a workspace that are clones of repositories in a cluster."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.text.git_files import shared_files

_ORIGIN = re.compile(rb'^\[remote "origin"\]\s*$(?:\n\s+\w+ = .*$)*?\n\s*url = (.+?)\s*$', re.M)
_HEAD = re.compile(rb"ref: refs/heads/(.+)\s*")


class Clone(Struct, frozen=True):
    """A clone: the path of its remote repository, the branch that is checked out, if any, and its
    folder."""

    name: str
    branch: str
    root: Path

    def is_of(self, repository: str) -> bool:
        """Return True if this is a clone of a repository, whatever it has checked out."""
        return self.name == repository or self.name.endswith(f"/{repository}")

    def has(self, ref: str) -> bool:
        """Return True if the folder has the files of a branch: the working tree stands for the
        default branch, and for the one that is checked out."""
        repository, _, branch = ref.partition("@")
        return self.is_of(repository) and branch in ("", self.branch)


def clones_in(roots: Sequence[Path]) -> Iterator[Clone]:
    """Yield the folders that have a remote repository."""
    for root in roots:
        with contextlib.suppress(OSError, UnusableFile):
            config, head = _git_files(root)
            if origin := _ORIGIN.search(read_untrusted(config)):
                url = origin[1].decode("utf-8", "replace").rstrip("/").removesuffix(".git")
                name = re.sub(r"^\w+://[^/]+/|^[^/]+:", "", url).strip("/")
                yield Clone(name, _branch(head), root)


def _git_files(root: Path) -> tuple[Path, Path]:
    """Return git's configuration and its HEAD for a working tree."""
    if linked := shared_files(root):
        own, exclude = map(Path, linked)
        return exclude.parent.parent / "config", own.parent / "HEAD"
    return root / ".git" / "config", root / ".git" / "HEAD"


def _branch(head: Path) -> str:
    with contextlib.suppress(OSError, UnusableFile):
        if found := _HEAD.fullmatch(read_untrusted(head)):
            return found[1].decode("utf-8", "replace").strip()
    return ""
