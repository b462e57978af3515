"""The facts about the index that the suggestions of `search_metrics` need."""

from __future__ import annotations

from pathlib import Path

import msgspec

from winnow.errors import SearchError
from winnow.index.store.file_record import EXCLUDED, FULL, HOLDS_SECRETS
from winnow.ranking.history.metrics import IndexFacts
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.workspace import EngineWorkspace


async def index_facts(workspace: EngineWorkspace, root: Path) -> IndexFacts:
    """Return the state of the index; only its settings if it has not been used yet.

    The paths of problems are relative to ``root``, if they are below it.
    """
    settings = workspace.config.index
    facts = IndexFacts(settings.enabled, settings.exclude_patterns, settings.max_index_size_mb)
    if not workspace.has_index:
        return facts
    try:
        problems = await workspace.index.problems()
        left_out = await workspace.index.left_out()
    except (SearchError, StoreDamaged, DatabaseError):
        return facts
    prefix = f"{root.as_posix().rstrip('/')}/"
    return msgspec.structs.replace(
        facts,
        # Deliberate exclusions are not problems; files without room are counted below.
        problems={
            path.removeprefix(prefix): problem
            for path, problem in problems.items()
            if not problem.startswith((EXCLUDED, FULL, HOLDS_SECRETS))
        },
        problem_messages=tuple(
            message for message in workspace.index.problem_messages() if FULL not in message
        ),
        left_out=left_out.size_limit or 0,
    )
