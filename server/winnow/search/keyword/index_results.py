"""Query the index during a keyword search, for files that match the query but perhaps no term.

The query runs while ripgrep searches, after the first partial result, which needs all processors,
and only if an index exists: a search never waits for an index that is being built. The results
affect the order of matching files; the best files without a match are added, with the current lines
of their passages.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from winnow.errors import SearchError
from winnow.index.postings.terms import words
from winnow.processes.waiting import wait_within
from winnow.ranking import local
from winnow.ranking.candidates import Candidate
from winnow.search.answer.hits import CurrentTexts
from winnow.search.answer.snippets import LINES, Excerpt, Wanted
from winnow.search.index.background import open_index
from winnow.text.ripgrep import Line, cut_line
from winnow.text.scope import Scope
from winnow.types import Hit, IndexState, Progress, no_progress
from winnow.workspace import EngineWorkspace, Lifetime

# Number of hits that affect the order: with more, the first files are the same.
RANKED = 40
# Maximum number of files to add that no term matches.
ADDITIONAL = 20
# An incomplete index is used from this share of files.
MIN_SHARE = 0.5
# The query starts after this time, or earlier after the first partial result.
BEGIN_SECONDS = 0.15
# How long to wait for the index after ripgrep: longer at the command line, where the index has to
# be opened first, and if nothing else was found.
SECONDS = 0.25
COMMAND_SECONDS = 1.0
ALONE_SECONDS = 3.0


class IndexResults(Struct, frozen=True):
    """Index results for a keyword search: a hit per file, the lines of ``additional`` files that no
    term may match, and, while the index is incomplete, the ``indexed`` paths."""

    state: IndexState
    files: Mapping[str, Hit]
    additional: Mapping[str, Mapping[int, Line]]
    indexed: Collection[str] | None

    def merge(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with their hits of the index, and the additional files."""
        matching = {candidate.path for candidate in candidates}
        merged = [
            msgspec.structs.replace(candidate, indexed=self.files.get(candidate.path))
            for candidate in candidates
        ]
        return merged + [
            Candidate(path, lines, {}, {}, self.files[path])
            for path, lines in self.additional.items()
            if path not in matching
        ]

    def unindexed(self, candidates: Sequence[Candidate]) -> frozenset[str]:
        """Return the candidates that are not indexed yet."""
        if self.indexed is None:
            return frozenset()
        return frozenset(candidate.path for candidate in candidates).difference(self.indexed)


class Timing:
    """The time to wait for the index, which starts when the index is ``open``."""

    def __init__(self, seconds: float) -> None:
        self.open = asyncio.Event()
        self.seconds = seconds

    async def wait_until_open(self, workspace: EngineWorkspace, progress: Progress) -> None:
        """Wait a limited time for an index on disk; the first query takes longer."""
        try:
            if await open_index(workspace, progress):
                self.seconds = max(self.seconds, COMMAND_SECONDS)
        finally:
            self.open.set()


class IndexQuery:
    """A query of the index that runs while ripgrep searches, and for a limited time after that."""

    def __init__(
        self, task: asyncio.Task[IndexResults | None], begun: asyncio.Event, timing: Timing
    ) -> None:
        self._task = task
        self._begun = begun
        self._timing = timing

    def begin(self) -> None:
        """Start the query now."""
        self._begun.set()

    @property
    def is_pending(self) -> bool:
        """True while results may still come."""
        return not self._task.done()

    @property
    def results(self) -> IndexResults | None:
        """The results, if they have come."""
        if not self._task.done() or self._task.cancelled() or self._task.exception():
            return None
        return self._task.result()

    async def answer(self, *, alone: bool) -> tuple[IndexResults | None, str]:
        """Wait for the results; return them, or a warning. Returns neither without an index.

        ``alone`` allows more time, because nothing else was found.
        """
        self.begin()
        await self._timing.open.wait()
        seconds = ALONE_SECONDS if alone else self._timing.seconds
        await asyncio.wait({self._task}, timeout=seconds)
        if not self._task.done():
            return None, "the index did not answer in time"
        try:
            return self._task.result(), ""
        except SearchError as error:
            return None, f"the index could not be queried: {error}"


@contextlib.asynccontextmanager
async def index_query(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    terms: Sequence[str],
    notify: Callable[[], None],
    progress: Progress = no_progress,
) -> AsyncIterator[IndexQuery]:
    """Query the index while the block runs; call ``notify`` when results are there."""
    begun = asyncio.Event()
    timing = Timing(SECONDS if workspace.lifetime is Lifetime.SERVER else COMMAND_SECONDS)
    question = index_question(query, terms)
    task = asyncio.create_task(_query_index(workspace, scope, question, begun, timing, progress))
    pending = IndexQuery(task, begun, timing)
    task.add_done_callback(lambda _: notify() if pending.results else None)
    try:
        yield pending
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _query_index(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    begun: asyncio.Event,
    timing: Timing,
    progress: Progress,
) -> IndexResults | None:
    """Return the results of the index; None if there is no index, or a small part of one."""
    await timing.wait_until_open(workspace, progress)
    if not (workspace.has_index and _has_much(workspace.index.state())):
        return None
    with contextlib.suppress(asyncio.TimeoutError):
        await wait_within(begun.wait(), BEGIN_SECONDS)
    # numpy takes time to load.
    from winnow.search.code.indexed import search_index

    found = await search_index(workspace, scope, query, RANKED, patient=False)
    if not _has_much(found.state):
        return None
    return await asyncio.to_thread(
        _results,
        CurrentTexts(scope, workspace.buffers),
        found.hits,
        found.state,
        None if found.state.knows_all else found.known,
        query,
        workspace.config.limits.line_characters,
    )


def _has_much(state: IndexState) -> bool:
    return state.knows_all_texts or state.files_indexed > MIN_SHARE * state.files_total


def index_question(query: str, terms: Sequence[str]) -> str:
    """Return the question to the index: the query, and further words of the terms."""
    plain = [re.sub(r"\\[a-zA-Z]", " ", term) for term in terms]
    in_query = {word.lower() for word in words(query)}
    more = dict.fromkeys(
        word for term in plain for word in words(term) if word.lower() not in in_query
    )
    return " ".join([query, *more])


def _results(
    texts: CurrentTexts,
    hits: Sequence[Hit],
    state: IndexState,
    indexed: Collection[str] | None,
    query: str,
    width: int,
) -> IndexResults:
    files = {hit.path: hit for hit in hits}
    wanted = Wanted(dict.fromkeys(local.words(query), 1.0))
    additional = {
        hit.path: lines
        for hit in hits[:ADDITIONAL]
        if hit.score > local.MIN_INDEX_SCORE
        and hit.why
        and (lines := _lines(texts, hit, wanted, width))
    }
    return IndexResults(state, files, additional, indexed)


def _lines(texts: CurrentTexts, hit: Hit, wanted: Wanted, width: int) -> dict[int, Line]:
    """Return the most relevant current lines of a passage; none if the file is gone."""
    lines = texts.lines(hit.path, hit.last) if texts.is_there(hit.path) else None
    if lines is None or hit.first is None or hit.last is None:
        return {}
    snippet = Excerpt(lines, hit.first, hit.last, wanted).snippet(LINES)
    if snippet is None:
        return {}
    last = snippet.first + snippet.text.count("\n")
    return {number: _line(lines[number - 1], width) for number in range(snippet.first, last + 1)}


def _line(text: str, width: int) -> Line:
    if len(text) > width:
        return cut_line(text, (), width)
    return Line(text, len(text.encode("utf-8", "replace")) + 1)
