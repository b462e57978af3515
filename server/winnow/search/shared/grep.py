"""Find matches in the texts of the cluster, with ripgrep on this machine.

The cluster names the texts that may match; they are written to a private folder that goes with the
request. So the matches, their columns and the globs are those of a local search.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from winnow.cluster.documents import Branch
from winnow.cluster.shared import MATCHING, matching
from winnow.search.grep.page import GrepMatch, GrepPage
from winnow.search.shared.laid_out import BranchFolder, laid_out
from winnow.search.shared.session import SharedAnswer, SharedRequest, described
from winnow.text.buffers import Overlay
from winnow.text.grep import Counting, TextSearch
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
    async with laid_out(workspace, answer.files, filters.path) as folders:
        if not folders:
            return SharedMatches(answer.state, _reasons(answer))
        scope = _scope(workspace, folders, filters)
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
        places = {str(folder.root): folder.branch for folder in folders}
        rows = [
            msgspec.structs.replace(
                match, root=None, uri=None, origin="cluster", repository=branch.ref,
                commit=branch.commit,
            )
            for match in page.matches
            for branch in [places[match.root] if match.root else folders[0].branch]
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
    how: Counting,
) -> SharedMatches:
    """Return the counts of the files that match."""
    async with laid_out(workspace, answer.files, filters.path) as folders:
        if not folders:
            return SharedMatches(answer.state, _reasons(answer))
        scope = _scope(workspace, folders, filters)
        found = await _search(workspace, scope, query, 0, 1).count(how)
        counts = [
            (folders[scope.roots.index(root)].branch, below, count)
            for path, count in found.items()
            for root, below in [scope.locate(path)]
        ]
    total = sum(count for _, _, count in counts)
    return SharedMatches(answer.state, _reasons(answer), counts=counts, total=total)


def _scope(workspace: EngineWorkspace, folders: Sequence[BranchFolder], filters: Filters) -> Scope:
    # Ignored and hidden files were left out when the commit was pushed.
    wider = msgspec.structs.replace(
        filters, path="", include_ignored=True, include_hidden=True, include_submodules=True
    )
    roots = [folder.root for folder in folders]
    return search_scope(roots, wider, workspace.config.search.exclude, roots=roots)


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
