"""Find matches in the texts of the cluster, with ripgrep on this machine.

The cluster names the texts that may match; they are written to a private folder that goes with the
request. So the matches, their columns and the globs are those of a local search.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.cluster.documents import Branch
from winnow.cluster.shared import MATCHING, matching
from winnow.search.grep.page import GrepMatch, GrepPage
from winnow.search.shared.session import SharedAnswer, SharedFile, SharedRequest, described
from winnow.storage.writing import create_file, temporary_folder
from winnow.text.buffers import Overlay
from winnow.text.grep import TextSearch
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Filters, Scope, search_scope
from winnow.types import SharedState
from winnow.workspace import EngineWorkspace


class SharedMatches(Struct, frozen=True):
    """The matches in the cluster, or the number of matches of each file; ``total`` counts all of
    them. ``more`` is True if some are left out."""

    state: SharedState
    reasons: Sequence[str] = ()
    matches: Sequence[GrepMatch] = ()
    counts: Sequence[tuple[Branch, str, int]] = ()
    total: int = 0
    more: bool = False


def begin_matching(
    workspace: EngineWorkspace, repositories: Sequence[str], pattern: TextPattern
) -> SharedRequest:
    """Ask the cluster for the texts that may match."""
    return SharedRequest(
        workspace,
        repositories,
        pattern.pattern,
        lambda client, index, patterns: matching(client, index, patterns, pattern),
    )


async def matches_in(
    workspace: EngineWorkspace,
    answer: SharedAnswer,
    query: TextPattern,
    filters: Filters,
    *,
    context: int,
    max_results: int,
) -> SharedMatches:
    """Return the matches in the candidates, in the order of repositories and paths."""
    async with _laid_out(workspace, answer, filters) as (scope, branches):
        if scope is None:
            return SharedMatches(answer.state, _reasons(answer))
        search = _search(workspace, scope, query, context, max_results)
        page = GrepPage(
            *(scope, Overlay(), None),
            max_matches=max_results,
            max_bytes=workspace.config.limits.answer_bytes,
            context=context,
        )
        async with contextlib.aclosing(search.lines()) as lines:
            async for path, line in lines:
                page.add(path, line)
        page.end()
        places = {str(root): branch for root, branch in zip(scope.roots, branches, strict=True)}
        rows = [
            msgspec.structs.replace(
                match, root=None, uri=None, origin="cluster", repository=branch.ref,
                commit=branch.commit,
            )
            for match in page.matches
            for branch in [places[match.root] if match.root else branches[0]]
        ]  # fmt: skip
    return SharedMatches(
        answer.state,
        _reasons(answer),
        matches=rows,
        total=page.seen,
        more=page.more or page.no_room,
    )


async def counts_in(
    workspace: EngineWorkspace,
    answer: SharedAnswer,
    query: TextPattern,
    filters: Filters,
    *,
    matches: bool,
) -> SharedMatches:
    """Return the files that match, with the number of their matches if that is wanted."""
    async with _laid_out(workspace, answer, filters) as (scope, branches):
        if scope is None:
            return SharedMatches(answer.state, _reasons(answer))
        found = await _search(workspace, scope, query, 0, 1).count(matches=matches)
        counts = [
            (branches[scope.roots.index(root)], below, count)
            for path, count in found.items()
            for root, below in [scope.locate(path)]
        ]
    total = sum(count for _, _, count in counts)
    return SharedMatches(answer.state, _reasons(answer), counts=counts, total=total)


def _search(
    workspace: EngineWorkspace,
    scope: Scope,
    query: TextPattern,
    context: int,
    max_matches: int,
) -> TextSearch:
    return TextSearch(
        *(workspace.run_ripgrep(), scope, query, Overlay(), workspace.config.limits),
        context=context,
        max_matches=max_matches,
    )


def _reasons(answer: SharedAnswer) -> list[str]:
    reasons = described(answer.state)
    if answer.total > MATCHING:
        reasons.append(
            f"repositories: {MATCHING} of {answer.total} texts that may match were searched: narrow"
            " the pattern or `repositories`"
        )
    return reasons


@contextlib.asynccontextmanager
async def _laid_out(
    workspace: EngineWorkspace, answer: SharedAnswer, filters: Filters
) -> AsyncIterator[tuple[Scope | None, list[Branch]]]:
    """Write the files to a private folder during the block, a folder for each branch, and yield
    their scope; None if there are none."""
    files = [file for file in answer.files if _is_below(file.path, filters.path)]
    by_ref: dict[str, list[SharedFile]] = {}
    for file in files:
        by_ref.setdefault(file.branch.ref, []).append(file)
    if not by_ref:
        yield None, []
        return
    with contextlib.ExitStack() as stack:
        created = stack.enter_context(temporary_folder(".winnow-"))
        # Resolved, as all roots are.
        temporary = await asyncio.to_thread(Path(created).resolve)
        stack.enter_context(workspace.readable_meanwhile(temporary))
        folders = await asyncio.to_thread(_write, temporary, by_ref)
        branches = [by_ref[ref][0].branch for ref in sorted(by_ref)]
        # Ignored and hidden files were left out when the commit was pushed.
        wider = msgspec.structs.replace(
            filters, path="", include_ignored=True, include_hidden=True, include_submodules=True
        )
        scope = search_scope(folders, wider, workspace.config.search.exclude, roots=folders)
        yield scope, branches


def _write(temporary: Path, by_ref: Mapping[str, Sequence[SharedFile]]) -> list[Path]:
    """Write the texts of each branch to a folder, and return the folders."""
    folders = []
    for number, ref in enumerate(sorted(by_ref)):
        folder = temporary / f"{number:05}"
        for file in by_ref[ref]:
            target = folder / file.path
            with contextlib.suppress(OSError):
                target.parent.mkdir(parents=True, exist_ok=True)
                create_file(target, file.source.text.encode("utf-8"))
        folders.append(folder)
    return folders


def _is_below(path: str, wanted: str) -> bool:
    """Return True if a path of a repository is in the path of the request."""
    wanted = wanted.replace("\\", "/").removeprefix("./").strip("/") if wanted else ""
    return wanted in ("", ".") or path == wanted or path.startswith(f"{wanted}/")
