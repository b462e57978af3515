"""Rank the files of a keyword search with the index, which may add files that no term matches.

A search never waits for an index that is being built. Files with matches that the index lacks are
ranked by their matches; the best files without a match are added, with the current lines of their
passages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

from msgspec import Struct

from winnow.errors import SearchError
from winnow.ranking.candidates import Candidate
from winnow.ranking.term_matches import MatchedTerms
from winnow.search.answer.hits import CurrentTexts
from winnow.search.answer.snippets import LINES, Excerpt, Wanted
from winnow.search.index.background import open_index
from winnow.text.ripgrep import Line, plain_line
from winnow.text.scope import Scope
from winnow.types import Hit, IndexState, Progress, no_progress
from winnow.workspace import EngineWorkspace

# Number of hits among which are the files to add.
RANKED = 40
# Maximum number of files to add that no term matches, and their least score.
ADDITIONAL = 20
MIN_SCORE = 0.001
# An incomplete index is used from this share of files.
MIN_SHARE = 0.5
# How long to wait for the index, which takes longest for its first question; and if nothing else
# was found. Meanwhile, the client has a partial result.
SECONDS = 1.0
ALONE_SECONDS = 3.0


class IndexResults(Struct, frozen=True):
    """The order of the index: ``hits`` of all files, best first, and the lines of ``additional``
    files that no term matches."""

    state: IndexState
    hits: Sequence[Hit]
    additional: Mapping[str, Mapping[int, Line]]

    def merge(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates and the additional files."""
        matching = {candidate.path for candidate in candidates}
        return [
            *candidates,
            *(
                Candidate(path, lines, {}, {})
                for path, lines in self.additional.items()
                if path not in matching
            ),
        ]


class IndexRanker:
    """The index of a workspace, which opens while ripgrep searches."""

    def __init__(
        self,
        workspace: EngineWorkspace,
        scope: Scope,
        question: str,
        words: Mapping[str, float],
        opening: asyncio.Task[bool],
    ) -> None:
        self._workspace = workspace
        self._scope = scope
        self._question = question
        self._wanted = Wanted(words)
        self._opening = opening

    @property
    def is_open(self) -> bool:
        """True once the index can be queried, if there is one."""
        return self._opening.done()

    async def answer(
        self,
        candidates: Sequence[Candidate],
        matches: Mapping[str, MatchedTerms],
        boosts: Mapping[str, float],
    ) -> tuple[IndexResults | None, str]:
        """Wait for the results; return them, or a warning. Returns neither without an index.

        Without candidates, allows more time, because nothing else was found.
        """
        with contextlib.suppress(SearchError):
            await self._opening
        seconds = SECONDS if candidates else ALONE_SECONDS
        return await self.query(candidates, matches, boosts, seconds)

    async def query(
        self,
        candidates: Sequence[Candidate],
        matches: Mapping[str, MatchedTerms],
        boosts: Mapping[str, float],
        seconds: float,
    ) -> tuple[IndexResults | None, str]:
        """Return the results that come in time, or a warning, or neither without an index."""
        task = asyncio.create_task(self._query(candidates, matches, boosts))
        try:
            await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                return None, "the index did not answer in time"
            return task.result(), ""
        except SearchError as error:
            return None, f"the index could not be queried: {error}"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _query(
        self,
        candidates: Sequence[Candidate],
        matches: Mapping[str, MatchedTerms],
        boosts: Mapping[str, float],
    ) -> IndexResults | None:
        """Return the results of the index; None if there is no index, or a small part of one."""
        workspace = self._workspace
        if not (workspace.has_index and _has_much(workspace.index.state())):
            return None
        # numpy takes time to load.
        from winnow.search.code import indexed

        found = await indexed.search_index(
            workspace,
            self._scope,
            self._question,
            RANKED,
            shown=RANKED,
            boosts=boosts,
            matched=[(file, matches[file.path]) for file in candidates],
            patient=False,
        )
        if not _has_much(found.state):
            return None
        width = workspace.config.limits.line_characters
        texts = CurrentTexts(self._scope, workspace.buffers)
        return await asyncio.to_thread(
            _results, texts, found.hits, found.state, matches, self._wanted, width
        )


@contextlib.asynccontextmanager
async def index_ranker(
    workspace: EngineWorkspace,
    scope: Scope,
    question: str,
    words: Mapping[str, float],
    progress: Progress = no_progress,
) -> AsyncIterator[IndexRanker]:
    """Open the index while the block runs. ``words`` with their weights select lines."""
    opening = asyncio.create_task(open_index(workspace, progress))
    try:
        yield IndexRanker(workspace, scope, question, words, opening)
    finally:
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)


def _has_much(state: IndexState) -> bool:
    return state.knows_all_texts or state.files_indexed > MIN_SHARE * state.files_total


def _results(
    texts: CurrentTexts,
    hits: Sequence[Hit],
    state: IndexState,
    matching: Collection[str],
    wanted: Wanted,
    width: int,
) -> IndexResults:
    others = [hit for hit in hits if hit.path not in matching]
    additional = {
        hit.path: lines
        for hit in others[:ADDITIONAL]
        if hit.score > MIN_SCORE and hit.why and (lines := _lines(texts, hit, wanted, width))
    }
    return IndexResults(state, hits, additional)


def _lines(texts: CurrentTexts, hit: Hit, wanted: Wanted, width: int) -> dict[int, Line]:
    """Return the most relevant current lines of a passage; none if the file is gone."""
    lines = texts.lines(hit.path, hit.last) if texts.is_there(hit.path) else None
    if lines is None or hit.first is None or hit.last is None:
        return {}
    snippet = Excerpt(lines, hit.first, hit.last, wanted).snippet(LINES)
    if snippet is None:
        return {}
    last = snippet.first + snippet.text.count("\n")
    return {
        number: plain_line(lines[number - 1], width) for number in range(snippet.first, last + 1)
    }
