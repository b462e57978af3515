"""Search for many terms: ripgrep collects the matches, and a ranker selects the relevant files.

Stage 1 is :mod:`winnow.search.keyword.terms` and :mod:`winnow.search.keyword.budget`; stage 2 is
the local ranker, and :mod:`winnow.search.answer.by_model` if a language model is available.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from winnow.documents.library.locations import DocumentOverlay
from winnow.errors import (
    InvalidPattern,
    SearchTimedOut,
    TermsTooBroad,
)
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.local import (
    READ_FILES,
    loose_text,
    question_of_terms,
    rank_by_matches,
    ranked,
    whole_texts,
)
from winnow.ranking.term_matches import MatchedTerms, matches_of
from winnow.search.answer.by_model import (
    ModelRanking,
    RankedFiles,
    RankerOptions,
    choose_models,
    rank_by_model,
    warming,
)
from winnow.search.answer.completeness import count_excluded_matches
from winnow.search.answer.hits import CurrentTexts
from winnow.search.answer.ranked_by import RankedBy
from winnow.search.answer.telling_words import telling_words
from winnow.search.grep.prefilter import prefilter
from winnow.search.keyword import budget
from winnow.search.keyword.result import KeywordMatches, ranked_files
from winnow.search.keyword.rows import RankedFile
from winnow.search.keyword.terms import CONTEXT_LINES, TermMatches, TermSearch
from winnow.search.shared.scope import shared_texts
from winnow.symbols.file_symbols import Definition
from winnow.text.buffers import unsaved_overlay
from winnow.text.plural import counted
from winnow.text.ripgrep import Ripgrep, TextPattern
from winnow.text.scope import Filters, Scope
from winnow.text.selection import file_type_globs
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.ranking.matched_corpus import LooseText
    from winnow.search.keyword.index_results import IndexRanker, IndexResults

# Send the first local ranking this long after the first match, and later rankings less often.
FIRST_PARTIAL_SECONDS = 0.02
NEXT_PARTIAL_SECONDS = 0.4
# A partial result waits this long for the index: longer if the client has an earlier one.
PARTIAL_SECONDS = 0.06
LATER_PARTIAL_SECONDS = 0.3
EXCLUDED_SECONDS = 1.0
# Returns the definitions of files by their paths in the scope, as far as they are known in time.
ParseFiles = Callable[
    [EngineWorkspace, Scope, Sequence[str]], Awaitable[Mapping[str, Sequence[Definition]]]
]
TOO_BROAD = "no file with these frequent words fits the limits of time and size: use rarer words"
ONLY_INDEX = "no search term gave usable matches; these files come from the index"


@dataclass
class KeywordRequest:
    """A keyword search, and its state.

    ``shrink`` keeps terms that are too broad, in a smaller form. ``send`` gets partial results
    of up to ``max_results`` files; ``has_sent`` is True after the first. ``found`` is set when
    there are new matches. If the matches of all terms don't fit the limit, those of the first terms
    are used, or ``by_rarity``, those of the terms in the fewest files. ``boosts`` raise files
    because of feedback, by absolute path. ``context`` is the number of lines around each match.
    """

    workspace: EngineWorkspace
    scope: Scope
    query: str
    terms: Sequence[str]
    progress: Progress
    shrink: bool = False
    by_rarity: bool = False
    include_documents: bool = False
    context: int = CONTEXT_LINES
    max_results: int = 0
    send: Callable[[str, list[RankedFile], RankedBy], None] | None = None
    documents: DocumentOverlay = field(default_factory=DocumentOverlay)
    found: asyncio.Event = field(default_factory=asyncio.Event)
    has_sent: bool = False
    index: IndexRanker | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, float]:
        """The words that show that a line is about the query."""
        return telling_words(question_of_terms(self.query, self.terms))

    def rows(self, chosen: Sequence[Ranked]) -> list[RankedFile]:
        """Return the rows of files, with their current lines. Reads files."""
        texts = CurrentTexts(self.scope, self.workspace.buffers)
        return ranked_files(self.scope, chosen, self.documents, texts, self.words)


async def search_keywords(
    request: KeywordRequest, options: RankerOptions
) -> tuple[KeywordMatches, RankedFiles]:
    """Return the files that match, and the relevant ones among them, best first.

    Raises TermsTooBroad, InvalidPattern, SearchTimedOut, InvalidParams for an unknown model and, if
    a model is required, NoLlmAvailable and LlmFailed.
    """
    workspace = request.workspace
    models, fallback = choose_models(workspace, options)
    async with warming(workspace, [] if options.dry_run else models):
        async with workspace.search_slots, _opening_index(request):
            request.boosts = await workspace.history.boosts(request.query)
            found, in_order = await _find_with_index(request)
        await _send_local(request, in_order)
        if all(candidate.is_only_indexed for candidate in found.candidates):
            warnings = [*found.warnings, *await _without_matches(request, found)]
            found = msgspec.structs.replace(found, warnings=warnings)

    async def send(ranked_by: RankedBy, chosen: Ranked) -> None:
        path = request.scope.shown(chosen.candidate.path).path
        message = f"{ranked_by.model}: {path}"
        if request.send is None:
            request.progress(message)
            return
        request.send(message, await asyncio.to_thread(request.rows, [chosen]), ranked_by)

    asked = ModelRanking(
        workspace, request.scope, request.query, request.progress, request.documents.documents
    )
    by_local = RankedFiles(in_order, fallback)
    return found, await rank_by_model(asked, options, by_local, models, send)


# --- stage 1 -------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _opening_index(request: KeywordRequest) -> AsyncIterator[None]:
    """Open the index while the block runs."""
    # Not needed for other searches.
    from winnow.search.keyword.index_results import index_ranker

    opened = index_ranker(
        request.workspace, request.scope, request.query, request.words, request.progress
    )
    async with opened as request.index:
        yield


async def _find_with_index(request: KeywordRequest) -> tuple[KeywordMatches, list[Ranked]]:
    """Run stage 1, and rank the files, with those that the index adds.

    Raises TermsTooBroad and SearchTimedOut only if the index has no results either. If broad terms
    are shrunk, a warning replaces TermsTooBroad.
    """
    search = await _searched(request)
    unusable: TermsTooBroad | SearchTimedOut | None = None
    try:
        found = _usable(request, search)
    except (TermsTooBroad, SearchTimedOut) as error:
        unusable = error
        found = KeywordMatches(search, [], [], request.documents)
    in_order, results, warning = await _rank_soon(request, search, found.candidates)
    is_shrunk = request.shrink and isinstance(unusable, TermsTooBroad)
    has_answer = results is not None and results.additional
    if unusable is not None and not is_shrunk and not has_answer:
        raise unusable
    candidates = [entry.candidate for entry in in_order]
    warnings = [warning] * bool(warning)
    if not candidates and any(term.over or term.shrunk for term in search.terms):
        warnings.append(TOO_BROAD)
    found = msgspec.structs.replace(
        found, candidates=candidates, indexed=results, warnings=warnings
    )
    return found, in_order


async def _rank_soon(
    request: KeywordRequest, search: TermSearch, candidates: Sequence[Candidate]
) -> tuple[list[Ranked], IndexResults | None, str]:
    """Rank with the index, and send a ranking without it if that takes long."""
    ranking = asyncio.create_task(_rank_with_index(request, search, candidates))
    try:
        seconds = LATER_PARTIAL_SECONDS if request.has_sent else PARTIAL_SECONDS
        await asyncio.wait({ranking}, timeout=seconds)
        if not ranking.done() and candidates and request.send is not None:
            # The user need not wait for the index.
            await _send_local(request, await ranked_locally(request, search, candidates))
        return await ranking
    finally:
        ranking.cancel()
        await asyncio.gather(ranking, return_exceptions=True)


async def _rank_with_index(
    request: KeywordRequest,
    search: TermSearch,
    candidates: Sequence[Candidate],
    seconds: float | None = None,
) -> tuple[list[Ranked], IndexResults | None, str]:
    """Rank the candidates and the files that the index adds. If the index does not answer in some
    ``seconds``, rank by the matches alone, and return a warning."""
    assert request.index is not None
    matches = matches_of(
        request.query, [term.term for term in search.terms], candidates, search.searched
    )
    if seconds is None:
        results, warning = await request.index.answer(candidates, matches, request.boosts)
    else:
        results, warning = await request.index.query(candidates, matches, request.boosts, seconds)
    if results is None:
        is_final = seconds is None
        return await ranked_locally(request, search, candidates, read=is_final), None, warning
    return ranked(results.merge(candidates), results.hits, matches), results, ""


async def find(request: KeywordRequest) -> KeywordMatches:
    """Run stage 1 without the index; send local rankings as partial results.

    Raises TermsTooBroad, InvalidPattern and SearchTimedOut.
    """
    return _usable(request, await _searched(request))


async def _searched(request: KeywordRequest) -> TermSearch:
    """Return the matches of ripgrep."""
    workspace = request.workspace
    ripgrep = workspace.run_ripgrep()
    # ripgrep's own error would not suggest a type.
    await file_type_globs(ripgrep, request.scope.root, request.scope.filters.file_types)
    search = TermSearch(
        processes=workspace.processes,
        ignore_files=workspace.ignore_files,
        rg=ripgrep.program,
        environment=ripgrep.environment,
        scope=request.scope,
        limits=workspace.config.limits,
        deadline=ripgrep.deadline,
        terms=[TermMatches(term) for term in request.terms],
        evidence=request.found.set,
        context=request.context,
    )
    state = workspace.index.state()
    if state.knows_all and not request.scope.is_filtered:
        search.searched = state.files_total
    request.progress(f"Searching for {counted(len(search.terms), 'term', 'terms')}")
    await _prefilter(request, search, ripgrep)
    sender = asyncio.create_task(_send_while_searching(request, search))
    try:
        async with _overlaid(request, search):
            await search.run(shrink=request.shrink, by_rarity=request.by_rarity)
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
    if not sender.cancelled():
        sender.result()  # raise its error
    return search


def _usable(request: KeywordRequest, search: TermSearch) -> KeywordMatches:
    """Return the usable matches. Raises TermsTooBroad, InvalidPattern, SearchTimedOut."""
    _refuse_hopeless(search)
    kept = search.used_terms(by_rarity=request.by_rarity)
    candidates = candidates_of(kept, request.documents)
    return KeywordMatches(search, kept, candidates, request.documents)


async def _prefilter(request: KeywordRequest, search: TermSearch, ripgrep: Ripgrep) -> None:
    """Restrict the search of each term to the files that can match it, using the index."""
    queries = [TextPattern(found.term, case_sensitive=False) for found in search.terms]
    prefiltered = await prefilter(request.workspace, ripgrep, request.scope, queries)
    for found, files in zip(search.terms, prefiltered, strict=True):
        if files:
            search.candidates[found.term] = files.files


@contextlib.asynccontextmanager
async def _overlaid(request: KeywordRequest, search: TermSearch) -> AsyncIterator[None]:
    """Overlay unsaved documents, and the texts of documents such as PDFs if requested."""
    workspace = request.workspace
    with unsaved_overlay(workspace.buffers, request.scope) as overlay:
        search.overlay = overlay
        if not request.include_documents or request.scope.filters.file_types:
            yield
            return
        # Not needed for other searches.
        from winnow.search.documents.overlay import with_documents

        request.progress("Reading documents")
        documents = with_documents(workspace, request.scope, overlay)
        async with documents as (search.overlay, request.documents):
            search.deadline = (
                asyncio.get_running_loop().time() + workspace.config.limits.search_seconds
            )
            yield


async def _send_while_searching(request: KeywordRequest, search: TermSearch) -> None:
    pause = FIRST_PARTIAL_SECONDS
    while True:
        await request.found.wait()
        await asyncio.sleep(pause)
        request.found.clear()
        usable = [term for term in search.terms if not term.over]
        candidates = candidates_of(usable, request.documents)
        if not candidates and request.shrink:
            # Some files of each term, until they are shrunk.
            candidates = candidates_of(search.terms, request.documents)
        if candidates and request.send is None:
            request.progress(counted(len(candidates), "file matches", "files match"))
        elif candidates:
            in_order = await _order_so_far(request, search, candidates)
            await _send_local(request, in_order)
        if candidates:
            pause = NEXT_PARTIAL_SECONDS


async def _order_so_far(
    request: KeywordRequest, search: TermSearch, candidates: Sequence[Candidate]
) -> list[Ranked]:
    """Return the candidates in an order that takes little time."""
    if request.index is None:
        return await ranked_locally(request, search, candidates)
    if not request.index.is_open:
        # The ranker would load its modules and slow down the opening, in which it also loads them.
        terms = [term.term for term in search.terms]
        return ranked(candidates, [], matches_of(request.query, terms, candidates, None))
    in_order, _, _ = await _rank_with_index(request, search, candidates, PARTIAL_SECONDS)
    return in_order


async def ranked_locally(
    request: KeywordRequest,
    search: TermSearch,
    candidates: Sequence[Candidate],
    *,
    read: bool = False,
    parse: ParseFiles | None = None,
) -> list[Ranked]:
    """Rank the candidates without the index, in a thread to keep the event loop free.

    If ``read``, the best files are read, which takes about a tenth of a second. ``parse`` returns
    their definitions.
    """
    boosts = {}
    if request.boosts:
        paths = ((found.path, request.scope.absolute(found.path)) for found in candidates)
        boosts = {path: request.boosts[full] for path, full in paths if full in request.boosts}
    terms = [term.term for term in search.terms]
    texts = CurrentTexts(request.scope, request.workspace.buffers)

    def lines_of(path: str) -> list[str] | None:
        return None if path in request.documents.documents else texts.lines(path)

    matching: dict[str, LooseText] = {}

    def rank() -> tuple[list[Hit], Mapping[str, MatchedTerms]]:
        matching.update((file.path, loose_text(file)) for file in candidates)
        matches = matches_of(request.query, terms, candidates, search.searched)
        return rank_by_matches(request.query, candidates, matches, boosts, matching), matches

    def rank_texts(definitions: Mapping[str, Sequence[Definition]]) -> list[Hit]:
        whole = {**matching, **whole_texts(others, lines_of, definitions), **known}
        return rank_by_matches(request.query, candidates, matches, boosts, whole)

    hits, matches = await asyncio.to_thread(rank)
    if read:
        best = [hit.path for hit in hits[:READ_FILES]]
        known = shared_texts(request.scope, best)
        others = [path for path in best if path not in known]
        definitions = await parse(request.workspace, request.scope, others) if parse else {}
        hits = await asyncio.to_thread(rank_texts, definitions)
    return ranked(candidates, hits, matches)


async def _send_local(request: KeywordRequest, in_order: Sequence[Ranked]) -> None:
    if not in_order:
        return
    added = sum(entry.candidate.is_only_indexed for entry in in_order)
    more = f", {added} more from the index" if added else ""
    message = f"{counted(len(in_order) - added, 'file matches', 'files match')}{more}"
    if request.send is None:
        request.progress(message)
        return
    files = await asyncio.to_thread(request.rows, in_order[: request.max_results])
    request.send(message, files, RankedBy(kind="local"))
    request.has_sent = True


def _refuse_hopeless(search: TermSearch) -> None:
    """Raise an error if no term can be used."""
    terms = search.terms
    if all(found.invalid for found in terms):
        raise InvalidPattern(terms[0].term, terms[0].invalid or "")
    valid = [found for found in terms if not found.invalid]
    if all(found.over for found in valid):
        raise TermsTooBroad([found.term for found in valid])
    if search.timed_out and not any(found.files or found.counts for found in valid):
        raise SearchTimedOut(search.limits.search_seconds)


def candidates_of(kept: Sequence[TermMatches], documents: DocumentOverlay) -> list[Candidate]:
    """Return the files that match, with the matches of all terms."""
    lines = budget.union_of(found.files for found in kept)
    hits: dict[str, dict[str, tuple[int, ...]]] = {}
    counts: dict[str, dict[str, int]] = {}
    for found in kept:
        for path, of_file in found.files.items():
            numbers = tuple(number for number in sorted(of_file) if of_file[number].ranges)
            hits.setdefault(path, {})[found.term] = numbers
            counts.setdefault(path, {})[found.term] = len(numbers)
        for path, count in (found.counts or {}).items():
            counts.setdefault(path, {})[found.term] = count
    candidates = (
        Candidate(path, lines.get(path, {}), hits.get(path, {}), counts[path])
        for path in sorted(counts)
    )
    return [_as_previewed(candidate, documents) for candidate in candidates]


def _as_previewed(candidate: Candidate, documents: DocumentOverlay) -> Candidate:
    """Return a candidate with the line numbers of the preview, if it is a document."""
    text_map = documents.documents.get(candidate.path)
    if text_map is None:
        return candidate
    shown = text_map.shown_line
    return msgspec.structs.replace(
        candidate,
        lines={shown(number): line for number, line in candidate.lines.items()},
        hits={term: tuple(map(shown, lines)) for term, lines in candidate.hits.items()},
    )


async def _without_matches(request: KeywordRequest, found: KeywordMatches) -> list[str]:
    """Return warnings for a search without matches: where files come from, and excluded matches."""
    warnings = [ONLY_INDEX] if found.candidates else []
    return warnings + (await _excluded_matches(request, found) if found.kept else [])


async def _excluded_matches(request: KeywordRequest, found: KeywordMatches) -> list[str]:
    """Return a warning about matches in excluded files."""

    async def count(filters: Filters) -> int:
        scope = request.workspace.scope(filters)
        files = await found.search.list_files(found.kept, scope, EXCLUDED_SECONDS)
        return len(files.difference(*(term.binary for term in found.kept)))

    files, flags = await count_excluded_matches(request.scope.filters, count)
    if not files:
        return []
    return [f"0 matches; {files} excluded files match: pass {' and '.join(flags)}"]
