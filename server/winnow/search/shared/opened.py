"""Open the scope of a ranked search, with the candidates of a search cluster if they are wanted."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from winnow.search.shared.wanted import Wanted
from winnow.text.scope import Filters, Scope
from winnow.workspace import EngineWorkspace


@contextlib.asynccontextmanager
async def opened_scope(
    workspace: EngineWorkspace, filters: Filters, repositories: Sequence[str], wanted: Wanted
) -> AsyncIterator[Scope]:
    """Open the scope of a search: the files of the workspace, and with ``repositories``, the
    cluster's best texts for a query.

    Raises what :meth:`EngineWorkspace.scope` raises.
    """
    if not repositories:
        yield workspace.scope(filters)
        return
    # Costs the import of what reads the cluster's documents.
    from winnow.search.shared.ranked import with_candidates

    async with with_candidates(workspace, filters, repositories, wanted) as scope:
        yield scope
