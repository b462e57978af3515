"""Search the open documents of an editor that has no folder open.

Their texts are copied to a private temporary folder, which the tool searches like any workspace. No
other file is read, whatever path a request names.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from winnow.config import IndexSettings, LearningSettings
from winnow.errors import NoWorkspace, RootRefused, SearchError
from winnow.storage.paths import real_path
from winnow.storage.state_folder import OWN_FOLDER
from winnow.storage.writing import create_file, temporary_folder
from winnow.text.paths import path_of_uri
from winnow.text.scope import IGNORE_FILE
from winnow.types import Answer, Params, Progress, Result
from winnow.workspace import EngineWorkspace

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Answer)
S = TypeVar("S", bound=Struct)

# Makes the temporary folder a repository: otherwise a search would apply the ignore files of one
# around it.
_REPOSITORY = ".git"
_NEVER_SEARCHED = frozenset({_REPOSITORY, OWN_FOLDER})
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore", IGNORE_FILE})
# The reason why answers have no index, and its replacement.
_NO_INDEX = "index.enabled is off", "open documents are not indexed"


class Copies(Struct, frozen=True):
    """Copies of the open documents below `root` in `folder`, with `paths` relative to both.

    `left_out` counts the documents that could not be copied.
    """

    root: Path
    folder: Path
    paths: frozenset[str]
    left_out: int

    def below(self, path: str) -> str | None:
        """Return a path of the params relative to the folder; None if no document is there."""
        named = path_of_uri(path) or path
        absolute = os.path.normpath(os.path.join(self.root, named))
        below = os.path.relpath(absolute, self.root).replace(os.sep, "/")
        is_there = any(path == below or path.startswith(f"{below}/") for path in self.paths)
        return below if is_there or below == "." else None


class _Relayed(Progress):
    """Reports the progress of a search of the copies, with the paths of the documents."""

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
    run: Callable[[EngineWorkspace, P, Progress], Awaitable[R]],
    workspace: EngineWorkspace,
    params: P,
    progress: Progress,
) -> R:
    """Run a tool on the open documents of a workspace that has no folder to search.

    Raise NoWorkspace if no document is open or at the requested path, and for requests that need a
    repository.
    """
    problem = _problem(workspace)
    config = msgspec.structs.replace(
        workspace.config,
        index=IndexSettings(enabled=False),
        learning=LearningSettings(enabled=False),
    )
    with temporary_folder(".winnow-") as temporary:
        folder = Path(real_path(temporary))
        copies = _copied(_searchable(workspace.buffers, params), folder)
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


def _problem(workspace: EngineWorkspace) -> NoWorkspace:
    """Return the error of a search without a folder."""
    try:
        workspace.search_roots()
    except NoWorkspace as error:
        return error
    return NoWorkspace()  # a folder was opened a moment ago


# --- copies --------------------------------------------------------------------------------


def _searchable(buffers: Mapping[Path, str], params: Params) -> dict[Path, str]:
    """Return the documents that a tool can search.

    Open ignore files are left out for tools without `include_ignored`: they would hide documents.
    """
    documents = {Path(os.path.normpath(path)): text for path, text in buffers.items()}
    heeds_ignore_files = "include_ignored" not in params.__struct_fields__
    return {
        path: text
        for path, text in documents.items()
        if path.is_absolute()
        and not _NEVER_SEARCHED.intersection(path.parts)
        and not (heeds_ignore_files and path.name in _IGNORE_FILES)
    }


def _copied(documents: Mapping[Path, str], folder: Path) -> Copies | None:
    """Copy documents into a folder, relative to their common parent; None if there are none."""
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
    """Return the params for the copies, which may be hidden. Raise `problem` if none match."""
    fields = params.__struct_fields__
    changes: dict[str, Any] = {
        name: True for name in ("include_ignored", "include_hidden") if name in fields
    }
    if (path := getattr(params, "path", "")) and not getattr(params, "repository", ""):
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
    """Replace the paths of the copies in a result with those of the documents."""
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
        return {key: _mapped(item, copies) for key, item in value.items()}
    return [_mapped(item, copies) for item in value] if isinstance(value, list) else value


def _spellings(folder: Path) -> tuple[str, ...]:
    return str(folder), folder.as_posix(), folder.as_uri()


def _warnings(problem: NoWorkspace, copies: Copies) -> Iterator[str]:
    why = problem.message if isinstance(problem, RootRefused) else "no folder is open"
    count = len(copies.paths)
    documents = "the open document" if count == 1 else f"the {count} open documents"
    yield f"{why}: searched only {documents}, no files on disk"
    if copies.left_out:
        yield f"{copies.left_out} open documents could not be searched"
