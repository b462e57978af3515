"""Select the files that sandboxed programs may read: the workspace, the system, git's settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from winnow.processes.sandbox import SYSTEM, ReadablePath
from winnow.storage.paths import is_below, real_path
from winnow.text.git_files import git_settings, shared_files

# Files for the C library, `ls` (user names), `file`, and ripgrep (git's settings).
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/etc/group", "/etc/magic", "/etc/magic.mime", "/etc/gitconfig"),
    *("/dev/null", "/dev/urandom"),
)
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


def readable(roots: Sequence[Path], environment: Mapping[str, str]) -> Iterator[ReadablePath]:
    """Yield the paths that programs which search these folders may read: the folders, the system's
    programs, and ignore files outside the folders that apply to them."""
    yield from (ReadablePath(path, is_folder=True) for path in SYSTEM)
    yield from map(ReadablePath, _SYSTEM_FILES)
    yield from map(ReadablePath, git_settings(environment))
    for root in roots:
        real = real_path(root)
        yield ReadablePath(str(root), is_folder=True)
        for folder in _parents(root, real):
            for name in _IGNORE_FILES:
                yield ReadablePath(os.path.join(folder, name), strict=True)
        for path in shared_files(root):
            if not is_below(path, real):
                yield ReadablePath(path, strict=True)


def _parents(root: Path, real: str) -> list[str]:
    """Return the resolved parents of a root, both of its spelling and of its real path, because
    ripgrep may use either."""
    found = {str(folder): None for folder in Path(real).parents}
    if str(root) != real:
        found |= {real_path(folder): None for folder in root.parents}
    return list(found)
