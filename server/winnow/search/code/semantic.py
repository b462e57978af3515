"""Find passages about a question, in the index or by the words of the question.

Nothing here uses the network. While the index is missing or incomplete, files are searched for the
words of the question, and the answer says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

import msgspec
from msgspec import Struct

from winnow.errors import IndexUnavailable, SearchTimedOut
from winnow.index.postings.terms import content_words
from winnow.index.similar_names import respelled, terms_of_index
from winnow.processes.waiting import cancel_all
from winnow.ranking.query.parts import parse_query
from winnow.search.answer.completeness import with_reasons
from winnow.search.answer.function_words import without_function_words
from winnow.search.answer.hits import SPARE_HITS, CurrentTexts, Engine, HitList, SearchFallback
from winnow.search.answer.telling_words import telling_words
from winnow.search.code.errors import error_hits
from winnow.search.code.files import files_named
from winnow.search.code.handlers import route_hits
from winnow.search.code.indexed import IndexHits, merged, missing_files, search_index
from winnow.search.code.message_files import ASIDE, repeating_kinds
from winnow.search.code.message_sites import WITHIN_FILES, BestFiles
from winnow.search.code.named_members import member_hits
from winnow.search.code.named_settings import setting_hits
from winnow.search.code.orientation import (
    DOCUMENTS,
    GUIDES,
    INTRODUCTION,
    OVERVIEWS,
    READ_LINES,
    documented_topic,
    guided_topic,
    introduction,
    overview_topic,
)
from winnow.search.code.ranked_text import files_about
from winnow.search.code.relations import is_named_after, topic_of_tests
from winnow.search.grep.prefilter import known_files
from winnow.search.index.retry import again_if_damaged
from winnow.search.index.state import (
    full_in_words,
    left_out_in_words,
    nothing_indexed,
    path_not_indexed,
    state_in_words,
)
from winnow.search.shared.scope import SharedScope
from winnow.text.plural import counted
from winnow.text.scope import Filters, Scope
from winnow.types import Completeness, Hit, IndexState, Progress, Skipped
from winnow.workspace import EngineWorkspace

# With a smaller share of the files, the index knows too little of the words to order results: the
# answer comes from text search alone.
LEAST_SHARE = 0.5
# With this share, the few texts that it lacks are not worth a search of all texts.
NEARLY_ALL = 0.99
# Too many names are like a shorter word, such as the extension of a file.
LEAST_LETTERS = 3
# More documents are about something else.
MOST_GUIDES = 3
MOST_TESTS = 5
# The files of tests, as most projects name them.
TESTS = (
    *("**/test/**", "**/tests/**", "**/__tests__/**", "**/spec/**", "**/specs/**", "**/e2e/**"),
    *("test_*", "*_test.*", "*-test.*", "*.test.*", "*_spec.*", "*-spec.*", "*.spec.*"),
    *("*Test.*", "*Tests.*", "*Spec.*", "*Suite.*", "*.feature"),
)
# A query of so many characters is parsed without a thread.
SHORT_QUERY = 500


class Passages(Struct, frozen=True):
    """The passages about a question, and the engine that ranked them."""

    found: HitList
    engine: Engine
    model: str | None = None
    fallback: SearchFallback | None = None


async def find_passages(
    workspace: EngineWorkspace, scope: Scope, query: str, wanted: int, progress: Progress
) -> Passages:
    """Return the passages about a question: at least ``wanted``, if there are as many.

    The places that raise the errors of the question, and those of its stack traces, are first, or
    the guides to a project that the question asks for. Raises InvalidParams for an unknown file
    type, and SearchTimedOut.
    """
    telling = without_function_words(query)
    ranking = asyncio.create_task(_find_respelled(workspace, scope, telling, wanted, progress))

    async def best_files() -> Sequence[str]:
        return [hit.path for hit in (await ranking).found.hits]

    finding_first = asyncio.create_task(_find_first(workspace, scope, query, best_files, progress))
    try:
        passages = await ranking
        first = await finding_first
    finally:
        await cancel_all([ranking, finding_first])
    if not first:
        return passages
    found = passages.found
    others = [hit for hit in found.hits if not any(_overlap(hit, other) for other in first)]
    least = first[-1].score
    hits = [
        *_ordered(first, found.hits),
        *(msgspec.structs.replace(hit, score=min(hit.score, least)) for hit in others),
    ]
    found = msgspec.structs.replace(found, hits=hits, total=max(found.total, len(hits)))
    return msgspec.structs.replace(passages, found=found)


def _ordered(first: Sequence[Hit], passages: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits to show first. The rest of a report tells which of several places that make
    its message equally is meant: those in the files of the best passages come first."""
    ranks = {hit.path: rank for rank, hit in reversed([*enumerate(passages)])}
    for _, equal in groupby(first, key=lambda hit: hit.score):
        yield from sorted(equal, key=lambda hit: ranks.get(hit.path, len(passages)))


async def _find_first(
    workspace: EngineWorkspace, scope: Scope, query: str, best_files: BestFiles, progress: Progress
) -> Sequence[Hit]:
    """Return the hits to show before those that the ranker finds in the ``best_files``."""
    text = query.strip()
    if not (scope.filters.include or isinstance(scope, SharedScope)):
        if topic := overview_topic(text):
            return await _overviews(workspace, scope, topic, progress)
        if topic := guided_topic(text):
            found = await _find_in(workspace, scope, GUIDES, topic, progress)
            return found[:MOST_GUIDES]
        if topic := documented_topic(text):
            found = await _find_in(workspace, scope, DOCUMENTS, topic, progress)
            return found[:MOST_GUIDES]
        if topic := topic_of_tests(text):
            found = await _find_in(workspace, scope, TESTS, f"test {topic}", progress)
            return sorted(found, key=lambda hit: not is_named_after(hit.path, topic))[:MOST_TESTS]
    # Of a question, in a tenth of a millisecond: less than a thread needs to begin.
    is_short = len(text) <= SHORT_QUERY
    parts = parse_query(text) if is_short else await asyncio.to_thread(parse_query, text)
    errors = await error_hits(workspace, scope, parts, best_files, progress)
    first = [*errors, *await route_hits(workspace, scope, text, progress)]
    if any(ASIDE.isdisjoint(repeating_kinds(hit.path)) for hit in first):
        return first
    # Documentation has the words of a title about a setting.
    title = parts.written_title
    named = await setting_hits(workspace, scope, title, progress)
    return named or await member_hits(workspace, scope, title) or first


async def _find_in(
    workspace: EngineWorkspace,
    scope: Scope,
    include: Sequence[str],
    topic: str,
    progress: Progress,
) -> Sequence[Hit]:
    """Return the best passage about a topic of each file with some names."""
    only = workspace.scope(msgspec.structs.replace(scope.filters, include=include))
    passages = await _find_passages(workspace, only, topic, MOST_TESTS + SPARE_HITS, progress)
    best: dict[str, Hit] = {}
    for hit in passages.found.hits:
        best.setdefault(hit.path, hit)
    return list(best.values())


async def _overviews(
    workspace: EngineWorkspace, scope: Scope, topic: str, progress: Progress
) -> Sequence[Hit]:
    """Return the beginnings of READMEs, and documents about the project as a whole."""
    named = await files_named(workspace, scope, "readme", progress)
    folders = ("", scope.filters.path.strip("/"))
    readmes = [hit for hit in named.hits if os.path.dirname(hit.path) in folders]
    texts = CurrentTexts(scope, workspace.buffers)
    introductions = await asyncio.to_thread(_introductions, texts, readmes)
    found = await _find_in(workspace, scope, OVERVIEWS, topic, progress)
    documents = [hit for hit in found if hit.path not in {readme.path for readme in readmes}]
    both = introductions, documents[:MOST_GUIDES]
    return [*chain.from_iterable(both if topic == INTRODUCTION else reversed(both))]


def _introductions(texts: CurrentTexts, readmes: Sequence[Hit]) -> list[Hit]:
    """Return the lines of READMEs that introduce a project."""
    found = []
    for hit in readmes:
        if lines := introduction(texts.lines(hit.path, READ_LINES) or ()):
            first, last = lines[0], lines[-1]
            why = "the README introduces the project"
            found.append(Hit(hit.path, "passage", hit.score, why, first, last, best=first))
    return found


async def _find_respelled(
    workspace: EngineWorkspace, scope: Scope, query: str, wanted: int, progress: Progress
) -> Passages:
    """Find passages. Words that are in no text and look misspelled are replaced, and a warning says
    so."""
    passages = await _find_passages(workspace, scope, query, wanted, progress)
    unknown = passages.found.unknown_words
    if not unknown:
        return passages
    meant = await _respelled(workspace, unknown)
    if not meant:
        warnings = [*passages.found.warnings, *await _unsearched_documents(workspace)]
        found = msgspec.structs.replace(passages.found, warnings=warnings)
        return msgspec.structs.replace(passages, found=found)
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, meant))})\b", re.I)
    corrected = words.sub(lambda found: meant[found[0].lower()], query)
    again = await _find_passages(workspace, scope, corrected, wanted, progress)
    instead = (f"{new!r} was searched for instead of {old!r}" for old, new in meant.items())
    warnings = [*again.found.warnings, f"{', '.join(instead)}, which no text file contains"]
    left = [word for word in unknown if word.lower() not in meant]
    found = msgspec.structs.replace(again.found, warnings=warnings, unknown_words=left)
    return msgspec.structs.replace(again, found=found)


async def _unsearched_documents(workspace: EngineWorkspace) -> list[str]:
    """Return a warning about documents, which may contain words that no text file contains."""
    # Few searches need it.
    from winnow.documents.format import format_of

    known = await known_files(workspace, workspace.scope(Filters()))

    def is_document(path: str) -> bool:
        kind = format_of(path)
        return kind is not None and not (kind.is_text or kind.is_plain or kind.is_image)

    documents = await asyncio.to_thread(
        lambda: sorted(path for path in known.paths if is_document(path) and known.covers(path))
    )
    if not documents:
        return []
    count = counted(len(documents), "document was", "documents were")
    return [f"{count} not searched, such as {documents[0]}: see `search_docs`"]


@again_if_damaged
async def _respelled(workspace: EngineWorkspace, words: Sequence[str]) -> dict[str, str]:
    """Return the words of names that some words are probably meant to be; none while the index is
    incomplete."""
    if not workspace.index.state().knows_all:
        return {}
    async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
        tables = await view.read(view.names, workspace.names)

        def read() -> dict[str, str]:
            found = ((word, respelled(tables, word)) for word in words)
            return {word.lower(): meant for word, meant in found if meant is not None}

        return await view.read(read)


def _overlap(some: Hit, other: Hit) -> bool:
    """Return True if two hits have common lines."""
    if some.path != other.path or some.first is None or other.first is None:
        return False
    some_last, other_last = some.last or some.first, other.last or other.first
    return some.first <= other_last and other.first <= some_last


async def _find_passages(
    workspace: EngineWorkspace, scope: Scope, query: str, wanted: int, progress: Progress
) -> Passages:
    trouble = ""
    try:
        indexed = await _from_index(workspace, scope, query, wanted, progress)
    except IndexUnavailable as error:
        indexed, trouble = None, error.data["detail"]
    state = indexed.state if indexed is not None else workspace.index.state()
    has_texts = state.state == "ready" or (
        state.state == "building" and _knows_nearly_all_texts(state)
    )
    if indexed is not None and indexed.is_current and has_texts:
        if indexed.left_out.size_limit:
            with contextlib.suppress(SearchTimedOut):
                return await _with_left_out(workspace, scope, query, indexed, progress)
        return _passages_of_index(workspace, scope, query, indexed, wanted)
    reason = _why_not_indexed(workspace, state, trouble)
    texts = await files_about(workspace, scope, query, progress)
    # Files that other requests have read, without an index, are not an index.
    is_missing = state.state == "none" and not workspace.index.has_complete_folder
    known = len(indexed.known) if indexed is not None else 0
    known = max(known, state.known_texts)
    share = known / max(state.files_total, 1)
    is_begun = share >= LEAST_SHARE or workspace.index.has_complete_folder
    if indexed is None or is_missing or not indexed.known or not is_begun:
        fallback = SearchFallback(wanted="semantic", used="text", reason=reason)
        return Passages(with_state(texts, state, reason), "text", None, fallback)
    missing = await missing_files(workspace, scope, texts.hits, indexed.known)
    # Files that were indexed during the search of texts are not missing, and may have new hits.
    with contextlib.suppress(IndexUnavailable):
        again = await _from_index(workspace, scope, query, wanted, progress, patient=False)
        indexed = again or indexed
    return _with_texts(query, indexed, texts, missing, min(share, 1.0), state, reason)


async def _with_left_out(
    workspace: EngineWorkspace, scope: Scope, query: str, indexed: IndexHits, progress: Progress
) -> Passages:
    """Return the passages of a full index, and of files that are left out of it those with the
    words of the query. Raises SearchTimedOut."""
    texts = await files_about(workspace, scope, query, progress)
    missing = await missing_files(workspace, scope, texts.hits, indexed.known)
    reason = (
        f"{full_in_words(indexed.left_out)}: only the words of the query were searched for there"
    )
    return _with_texts(query, indexed, texts, missing, 1.0, indexed.state, reason)


def _with_texts(
    query: str,
    indexed: IndexHits,
    texts: HitList,
    missing: frozenset[str],
    share: float,
    state: IndexState,
    reason: str,
) -> Passages:
    """Return the passages of an index that has a ``share`` of the files, and texts of ``missing``
    ones."""
    hits = merged(indexed.hits, texts.hits, missing, share)
    words = {**telling_words(query), **texts.words}
    found = msgspec.structs.replace(texts, hits=hits, total=len(hits), words=words)
    fallback = SearchFallback(wanted="semantic", used="text", reason=reason, partly=True)
    found = with_state(found, state, reason)
    return Passages(found, _engine(indexed), indexed.model, fallback)


def _passages_of_index(
    workspace: EngineWorkspace, scope: Scope, query: str, indexed: IndexHits, wanted: int
) -> Passages:
    """Return the passages of an index that has all texts, or nearly all."""
    nothing = [*nothing_indexed(workspace), *path_not_indexed(workspace, scope)]
    found = _only_indexed(scope, query, indexed, wanted, nothing)
    state = indexed.state
    if state.state != "ready":
        change = "the order of results may change"
        if not state.knows_all_texts:
            change = f"the other files are missing here, and {change}"
        found = with_state(found, state, f"{state_in_words(workspace.index, state)}: {change}")
    return Passages(found, _engine(indexed), indexed.model)


def _knows_nearly_all_texts(state: IndexState) -> bool:
    return state.knows_all_texts or state.known_texts >= NEARLY_ALL * state.files_total > 0


def _engine(indexed: IndexHits) -> Engine:
    return "lexical+embeddings" if indexed.model is not None else "lexical"


async def _from_index(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    wanted: int,
    progress: Progress,
    *,
    patient: bool = True,
) -> IndexHits | None:
    """Search the index, see :func:`search_index`; return None if the index is turned off."""
    if not (workspace.config.index.enabled or workspace.index.state().knows_all):
        return None
    async with workspace.search_slots:
        progress("Searching the index")
        boosts = await workspace.history.boosts(query)
        shown = wanted - SPARE_HITS
        return await search_index(
            *(workspace, scope, query, _ranked(wanted)), shown=shown, boosts=boosts, patient=patient
        )


def _ranked(wanted: int) -> int:
    """Return how many hits to request: also the files in which messages are looked for."""
    return max(wanted, WITHIN_FILES)


def _only_indexed(
    scope: Scope, query: str, indexed: IndexHits, wanted: int, more: Sequence[str]
) -> HitList:
    """Return the hits of the index, and what it excludes; ``more`` are further reasons why it is
    incomplete."""
    left_out = indexed.left_out
    if indexed.hits:
        # Minified files and `node_modules/` are worth a word only if nothing is found.
        left_out = msgspec.structs.replace(left_out, excluded=None)
    reasons, warnings = left_out_in_words(left_out)
    reasons += more
    skipped = Skipped(
        binary=left_out.binary,
        too_large=left_out.too_large,
        unreadable=left_out.unreadable,
        secret=left_out.secret,
    )
    completeness = Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=skipped,
        timed_out=False,
        index=indexed.state,
    )
    hits, all_seen = indexed.hits, len(indexed.hits) < _ranked(wanted)
    words = telling_words(query)
    warnings = [*scope.warnings, *warnings]
    return HitList(
        scope, hits, len(hits), completeness, words, warnings, all_seen, indexed.unknown_words
    )


async def suggestions(workspace: EngineWorkspace, query: str) -> list[str]:
    """Return other queries to try, from the names in the index."""
    names = await names_near(workspace, query)
    return await workspace.history.suggestions(query, lambda words: names)


@again_if_damaged
async def names_near(workspace: EngineWorkspace, query: str) -> Sequence[str]:
    """Return the names of definitions that are most similar to the words of a query; none while
    the index is incomplete."""
    if not workspace.index.state().knows_all:
        return ()
    async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
        tables = await view.read(view.names, workspace.names)
        words = [word for word in content_words(query) if len(word) >= LEAST_LETTERS]
        return await view.read(terms_of_index(view, tables), words)


def with_state(found: HitList, state: IndexState, reason: str) -> HitList:
    """Return hits that are incomplete because of the state of the index."""
    completeness = msgspec.structs.replace(with_reasons(found.completeness, reason), index=state)
    return msgspec.structs.replace(found, completeness=completeness)


def _later(workspace: EngineWorkspace) -> str:
    is_paused = workspace.index.throttle.state == "paused"
    return "" if is_paused else "; the next search knows more files"


def _why_not_indexed(workspace: EngineWorkspace, state: IndexState, trouble: str) -> str:
    """Return why the index cannot answer, or not alone."""
    searched = "files were searched for the words of the query"
    if not workspace.config.index.enabled:
        return f"index.enabled is off: {searched}"
    lacks = state_in_words(workspace.index, state)
    if state.state == "building":
        which = "the other " if state.files_total or state.files_indexed else ""
        return f"{lacks}: {which}{searched}{_later(workspace)}"
    if state.knows_all:
        return f"{lacks}: {searched}, too"
    problem_messages = [trouble] if trouble else workspace.index.problem_messages()
    because = f" ({'; '.join(problem_messages)})" if problem_messages else ""
    return f"{lacks}{because}: {searched}"
