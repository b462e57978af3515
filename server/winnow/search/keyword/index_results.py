"""The index's part in a keyword search: files that a query points to, whatever the terms match.

It is asked while ripgrep searches, behind the first partial result, which has all processors; and
only if it is there: nothing waits for an index that is being built. What it says orders the files
that match; of those that no term matches, the first ones join, with the lines of their passages as
they are now.
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
from winnow.search.answer.hits import CurrentTexts
from winnow.search.answer.snippets import LINES, Excerpt, Wanted
from winnow.search.index.background import open_index
from winnow.text.ripgrep import cut_line
from winnow.text.scope import Scope
from winnow.types import Candidate, Hit, IndexState, Line, Progress, no_progress
from winnow.types.keyword_search import KeywordSearchParams
from winnow.workspace import Lifetime, Workspace

# As many files are ordered by what the index says of them: with more, the order at the top is the
# same.
ASKED = 40
# As many of the first ones join where no term matches them, if anything speaks for them.
JOINING = 20
# An index that is being built is asked from here on.
KNOWS_MUCH = 0.5
# The index is asked after this, if there was nothing to tell before.
BEGIN_SECONDS = 0.15
# When all else is done, the index has so long to answer; more at the command line, where it has to
# be opened first, and if there is nothing else to answer.
SECONDS = 0.25
COMMAND_SECONDS = 1.0
ALONE_SECONDS = 3.0


class IndexResults(Struct, frozen=True):
    """What the index says of ``files``, by path, and the lines of those that may be ``joining``;
    where it does not know all files, the paths of those that it ``knows``."""

    state: IndexState
    files: Mapping[str, Hit]
    joining: Mapping[str, Mapping[int, Line]]
    knows: Collection[str] | None

    def joined(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with what the index says of them, and those that join."""
        matching = {one.path for one in candidates}
        found = [
            msgspec.structs.replace(one, indexed=self.files.get(one.path)) for one in candidates
        ]
        return found + [
            Candidate(path, lines, {}, {}, self.files[path])
            for path, lines in self.joining.items()
            if path not in matching
        ]

    def unknown(self, candidates: Sequence[Candidate]) -> frozenset[str]:
        """The candidates of which the index does not know anything yet."""
        if self.knows is None:
            return frozenset()
        return frozenset(one.path for one in candidates).difference(self.knows)


class Timing:
    """How long the index is waited for: that begins when it is ``open``."""

    def __init__(self, seconds: float) -> None:
        self.open = asyncio.Event()
        self.seconds = seconds

    async def wait_until_open(self, workspace: Workspace, progress: Progress) -> None:
        """Wait for an index on disk, a bounded time; the first question to it takes longer."""
        try:
            if await open_index(workspace, progress):
                self.seconds = max(self.seconds, COMMAND_SECONDS)
        finally:
            self.open.set()


class IndexQuery:
    """A question to the index, under way while ripgrep searches, and then for ``seconds``."""

    def __init__(
        self, task: asyncio.Task[IndexResults | None], begun: asyncio.Event, timing: Timing
    ) -> None:
        self._task = task
        self._begun = begun
        self._timing = timing

    def begin(self) -> None:
        """Ask now."""
        self._begun.set()

    @property
    def is_pending(self) -> bool:
        """Whether it may still say something."""
        return not self._task.done()

    @property
    def said(self) -> IndexResults | None:
        """What the index has said, if it has."""
        if not self._task.done() or self._task.cancelled() or self._task.exception():
            return None
        return self._task.result()

    async def answer(self, *, alone: bool) -> tuple[IndexResults | None, str]:
        """What the index says in time, or else why it says nothing; neither where there is no
        index. It has more time if it is ``alone`` with an answer."""
        self.begin()
        await self._timing.open.wait()
        seconds = ALONE_SECONDS if alone else self._timing.seconds
        await asyncio.wait({self._task}, timeout=seconds)
        if not self._task.done():
            return None, "the index did not answer in time"
        try:
            return self._task.result(), ""
        except SearchError as error:
            return None, f"the index could not be asked: {error}"


@contextlib.asynccontextmanager
async def index_query(
    workspace: Workspace,
    params: KeywordSearchParams,
    scope: Scope,
    told: Callable[[], None],
    progress: Progress = no_progress,
) -> AsyncIterator[IndexQuery]:
    """Ask the index while the block runs; ``told`` is called when it has said something."""
    begun = asyncio.Event()
    timing = Timing(SECONDS if workspace.lifetime is Lifetime.SERVER else COMMAND_SECONDS)
    task = asyncio.create_task(_ask(workspace, params, scope, begun, timing, progress))
    asked = IndexQuery(task, begun, timing)
    task.add_done_callback(lambda _: told() if asked.said else None)
    try:
        yield asked
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _ask(
    workspace: Workspace,
    params: KeywordSearchParams,
    scope: Scope,
    begun: asyncio.Event,
    timing: Timing,
    progress: Progress,
) -> IndexResults | None:
    """What the index says; None where there is none, or one that knows little."""
    await timing.wait_until_open(workspace, progress)
    if not (workspace.has_index and _knows_much(workspace.index.state())):
        return None
    with contextlib.suppress(asyncio.TimeoutError):
        await wait_within(begun.wait(), BEGIN_SECONDS)
    # numpy takes time to load.
    from winnow.search.code.indexed import search_index

    query = asked_for(params.query, params.search_terms)
    found = await search_index(workspace, params, scope, query, ASKED, patient=False)
    if not _knows_much(found.state):
        return None
    return await asyncio.to_thread(
        _said,
        CurrentTexts(scope, workspace.buffers),
        found.hits,
        found.state,
        None if found.state.knows_all else found.knows,
        query,
        workspace.config.limits.line_characters,
    )


def _knows_much(state: IndexState) -> bool:
    return state.knows_all or state.files_indexed > KNOWS_MUCH * state.files_total


def asked_for(query: str, terms: Sequence[str]) -> str:
    """The question to the index: the query, and the words of the terms that it does not say."""
    plain = [re.sub(r"\\[a-zA-Z]", " ", term) for term in terms]
    said = {word.lower() for word in words(query)}
    more = dict.fromkeys(word for term in plain for word in words(term) if word.lower() not in said)
    return " ".join([query, *more])


def _said(
    texts: CurrentTexts,
    hits: Sequence[Hit],
    state: IndexState,
    knows: Collection[str] | None,
    query: str,
    width: int,
) -> IndexResults:
    files = {hit.path: hit for hit in hits}
    wanted = Wanted(dict.fromkeys(local.words(query), 1.0))
    joining = {
        hit.path: lines
        for hit in hits[:JOINING]
        if hit.score > local.MIN_INDEX_SCORE
        and hit.why
        and (lines := _lines(texts, hit, wanted, width))
    }
    return IndexResults(state, files, joining, knows)


def _lines(texts: CurrentTexts, hit: Hit, wanted: Wanted, width: int) -> dict[int, Line]:
    """The most telling lines of a passage as they are now; none of a file that is gone."""
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
