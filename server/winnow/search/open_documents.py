"""Searches with no folder open: of the documents that are open in the editor, and of nothing else.

The texts are laid out in a private temporary folder, in which the tool runs as in any workspace. No
file on disk is read, whatever path a request names.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from winnow.config import OWN_FOLDER, IndexSettings, LearningSettings
from winnow.errors import NoWorkspace, RootRefused, SearchError
from winnow.storage.paths import real_path
from winnow.storage.writing import create_file, temporary_folder
from winnow.text.paths import path_of_uri
from winnow.text.scope import IGNORE_FILE
from winnow.types import Answer, Params, Progress, Result
from winnow.workspace import Workspace

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Answer)
S = TypeVar("S", bound=Struct)

# So that no search takes the temporary folder for a part of a repository that holds it, or applies
# the ignore files of one.
_REPOSITORY = ".git"
_NEVER_SEARCHED = frozenset({_REPOSITORY, OWN_FOLDER})
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore", IGNORE_FILE})
# How answers say why they lack an index, and why it is here.
_NO_INDEX = "index.enabled is off", "open documents are not indexed"


class Copies(Struct, frozen=True):
    """The open documents below ``root``, laid out in ``folder``; ``paths`` are those below both.

    ``left_out`` counts the documents that could not be laid out.
    """

    root: Path
    folder: Path
    paths: frozenset[str]
    left_out: int

    def below(self, path: str) -> str | None:
        """Return where a path of params is below the folder; None if no document is there."""
        named = path_of_uri(path) or path
        whole = os.path.normpath(os.path.join(self.root, named))
        below = os.path.relpath(whole, self.root).replace(os.sep, "/")
        is_there = any(one == below or one.startswith(f"{below}/") for one in self.paths)
        return below if is_there or below == "." else None


class _Relayed(Progress):
    """Progress of a search of the copies, told as that of the documents."""

    def __init__(self, progress: Progress, copies: Copies) -> None:
        self._progress = progress
        self._copies = copies
        self.streaming = progress.streaming

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        partial = None if partial is None else _about_documents(partial, self._copies)
        self._progress(message, percentage=percentage, partial=partial)

    async def drain(self) -> None:
        await self._progress.drain()


async def search_open_documents(
    run: Callable[[Workspace, P, Progress], Awaitable[R]],
    workspace: Workspace,
    params: P,
    progress: Progress,
) -> R:
    """Run a tool on the open documents of a workspace that has no folder to search.

    Raises NoWorkspace where none is open, for a path that is none of theirs, and for what only a
    repository has.
    """
    problem = _problem(workspace)
    config = msgspec.structs.replace(
        workspace.config,
        index=IndexSettings(enabled=False),
        learning=LearningSettings(enabled=False),
    )
    with temporary_folder(".winnow-") as temporary:
        folder = Path(real_path(temporary))
        copies = _laid_out(_searchable(workspace.buffers, params), folder)
        if copies is None:
            raise problem
        own = _params_for(params, copies, problem)
        copy = workspace.sharing(folder, config)
        try:
            result = await run(copy, own, _Relayed(progress, copies))
        except SearchError as error:
            raise _error_about_documents(error, copies) from None
        finally:
            await copy.close_shared()
    result = _about_documents(result, copies)
    warnings = [*result.warnings, *_warnings(problem, copies)]
    return msgspec.structs.replace(result, warnings=warnings)


def _problem(workspace: Workspace) -> NoWorkspace:
    """Return why no folder is searched."""
    try:
        workspace.search_roots()
    except NoWorkspace as error:
        return error
    return NoWorkspace()  # there was none a moment ago


# --- copies --------------------------------------------------------------------------------


def _searchable(buffers: Mapping[Path, str], params: Params) -> dict[Path, str]:
    """Return the documents that a tool can search: where it cannot be told to search what is
    ignored, an open ignore file would hide others."""
    documents = {Path(os.path.normpath(path)): text for path, text in buffers.items()}
    heeds_ignore_files = "include_ignored" not in params.__struct_fields__
    return {
        path: text
        for path, text in documents.items()
        if path.is_absolute()
        and not _NEVER_SEARCHED.intersection(path.parts)
        and not (heeds_ignore_files and path.name in _IGNORE_FILES)
    }


def _laid_out(documents: Mapping[Path, str], folder: Path) -> Copies | None:
    """Write documents into a folder, as they lie in what holds all; None if there are none."""
    if not documents:
        return None
    *_, last = documents
    # On Windows, documents of other drives have no folder in common.
    chosen = [path for path in documents if path.anchor == last.anchor]
    root = Path(os.path.commonpath([path.parent for path in chosen]))
    (folder / _REPOSITORY).mkdir()
    below = set()
    for path in chosen:
        copy = folder / path.relative_to(root)
        # A name may be too long, or that of the folder of another document.
        with contextlib.suppress(OSError, ValueError):
            copy.parent.mkdir(parents=True, exist_ok=True)
            create_file(copy, documents[path].encode("utf-8", "replace"))
            below.add(path.relative_to(root).as_posix())
    return Copies(root, folder, frozenset(below), len(documents) - len(below))


def _params_for(params: P, copies: Copies, problem: NoWorkspace) -> P:
    """Return the params for the copies: all of them count, hidden or not. Raises the problem."""
    fields = params.__struct_fields__
    changes: dict[str, Any] = {
        name: True for name in ("include_ignored", "include_hidden") if name in fields
    }
    if path := getattr(params, "path", ""):
        below = copies.below(path)
        if below is None:
            raise problem
        changes["path"] = "" if below == "." else below
    if getattr(params, "scope", "") == "changed":
        raise problem
    if "scope" in fields:
        changes["scope"] = "workspace"
    return msgspec.structs.replace(params, **changes)


# --- answers -------------------------------------------------------------------------------


def _about_documents(result: S, copies: Copies) -> S:
    """Return a result with the documents' paths in the place of their copies'."""
    plain = _mapped(msgspec.to_builtins(result), copies)
    return msgspec.convert(plain, type(result))


def _error_about_documents(error: SearchError, copies: Copies) -> SearchError:
    error.message = _mapped(error.message, copies)
    error.data = _mapped(error.data, copies)
    error.args = (error.message,)
    return error


def _mapped(value: Any, copies: Copies) -> Any:
    if isinstance(value, str):
        folders, roots = _spellings(copies.folder), _spellings(copies.root)
        for folder, root in zip(folders, roots, strict=True):
            value = value.replace(f"{folder}/", f"{root.rstrip('/')}/").replace(folder, root)
        return value.replace(*_NO_INDEX)
    if isinstance(value, dict):
        return {key: _mapped(one, copies) for key, one in value.items()}
    return [_mapped(one, copies) for one in value] if isinstance(value, list) else value


def _spellings(folder: Path) -> tuple[str, ...]:
    return str(folder), folder.as_posix(), folder.as_uri()


def _warnings(problem: NoWorkspace, copies: Copies) -> Iterator[str]:
    why = problem.message if isinstance(problem, RootRefused) else "no folder is open"
    count = len(copies.paths)
    documents = "the open document counts" if count == 1 else f"the {count} open documents count"
    yield f"{why}: only {documents}, and no file on disk"
    if copies.left_out:
        yield f"{copies.left_out} open documents could not be searched"
