"""Write the files of a cluster to a private folder that goes with the request, so that ripgrep and
everything that reads files works on them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.cluster.documents import Branch
from winnow.processes.waiting import run_to_end
from winnow.search.shared.session import SharedFile
from winnow.storage.writing import create_file, temporary_folder
from winnow.workspace import EngineWorkspace

NAME_CHARACTERS = 100


class BranchFolder(Struct, frozen=True):
    """A folder with files of a branch."""

    root: Path
    branch: Branch
    files: Sequence[SharedFile]


@contextlib.asynccontextmanager
async def laid_out(
    workspace: EngineWorkspace, files: Sequence[SharedFile], path: str
) -> AsyncIterator[list[BranchFolder]]:
    """Write the files below a path to a private folder during the block, and yield a folder for
    each branch. Raises OSError."""
    by_ref: dict[str, dict[str, SharedFile]] = {}
    for file in files:
        if _is_below(file.path, path):
            # During a push, a path may have an old and a new text.
            by_ref.setdefault(file.branch.ref, {}).setdefault(file.path, file)
    if not by_ref:
        yield []
        return
    created = temporary_folder(".winnow-")
    try:
        # Resolved, as all roots are.
        temporary = await asyncio.to_thread(Path(created.name).resolve)
        with workspace.readable_meanwhile(temporary):
            # Not canceled while it writes: what it wrote after the removal would stay.
            yield await run_to_end(asyncio.to_thread(_write, temporary, by_ref))
    finally:
        # In a thread: it may have hundreds of folders.
        await run_to_end(asyncio.to_thread(created.cleanup))


def _write(temporary: Path, by_ref: Mapping[str, Mapping[str, SharedFile]]) -> list[BranchFolder]:
    """Write the texts of each branch to a folder, and return the folders."""
    folders = []
    for number, ref in enumerate(sorted(by_ref)):
        folder, files = temporary / f"{number:05}" / _name(ref), list(by_ref[ref].values())
        for file in files:
            target = folder / file.path
            # A path may not be possible here.
            with contextlib.suppress(OSError, ValueError):
                target.parent.mkdir(parents=True, exist_ok=True)
                create_file(target, file.source.text.encode("utf-8", "replace"))
        folders.append(BranchFolder(folder, files[0].branch, files))
    return folders


def _name(ref: str) -> str:
    """Return the name that the folder of a clone has: imports may begin with it."""
    name = re.sub(r"[^\w-]", "_", ref.partition("@")[0].rpartition("/")[2], flags=re.ASCII)
    return name[:NAME_CHARACTERS] or "_"


def _is_below(path: str, wanted: str) -> bool:
    """Return True if a path of a repository is in the path of the request."""
    wanted = wanted.replace("\\", "/").removeprefix("./").strip("/") if wanted else ""
    return wanted in ("", ".") or path == wanted or path.startswith(f"{wanted}/")
