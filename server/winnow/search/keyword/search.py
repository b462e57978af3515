"""Keyword search: ripgrep collects the matches of many terms, a ranker keeps what is relevant.

Stage 1 is :mod:`winnow.search.keyword.terms` and :mod:`winnow.search.keyword.budget`; stage 2 the
local ranker, and a language model if one is available. The answer is put together in
:mod:`winnow.search.keyword.result`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from winnow.documents.library.overlay import DocumentOverlay
from winnow.errors import (
    EmptyQuery,
    InvalidParams,
    InvalidPattern,
    LlmFailed,
    NoLlmAvailable,
    SearchTimedOut,
    TermsTooBroad,
)
from winnow.privacy.outbound import REFUSED, no_consent
from winnow.ranking import llm, local, prompt
from winnow.ranking.models import Models, NamedModel
from winnow.ranking.prompt import Prompt
from winnow.ranking.providers import ModelError, ModelRequest
from winnow.ranking.tokens import estimated_tokens
from winnow.search.answer.completeness import count_excluded_matches
from winnow.search.grep.prefilter import prefilter
from winnow.search.keyword import budget
from winnow.search.keyword.result import KeywordMatches, RankedMatches, ranked_file, result_of
from winnow.search.keyword.terms import TermMatches, TermSearch
from winnow.text.buffers import unsaved_overlay
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Scope
from winnow.types import Candidate, Line, Progress, Ranked, SearchParams
from winnow.types.keyword_search import (
    KeywordSearchParams,
    KeywordSearchPartial,
    KeywordSearchResult,
    Payload,
    RankedBy,
)
from winnow.workspace import Workspace

if TYPE_CHECKING:
    from winnow.search.keyword.index_results import IndexQuery, IndexResults

# The first local ranking goes out this soon after the first match, later ones less often.
FIRST_PARTIAL_SECONDS = 0.05
NEXT_PARTIAL_SECONDS = 0.4
EXCLUDED_SECONDS = 1.0
TOO_BROAD = "these words are in too many files to rank them: name something more specific"
ONLY_INDEX = "no search term has matches that can be used: these files are the index's alone"


@dataclass
class Request:
    """A search while it runs: what was asked, where, and who listens.

    ``news`` is set when something was found; ``index`` is a question to the index, ``boosts`` what
    moves files that were of use before, by absolute path.
    """

    workspace: Workspace
    params: KeywordSearchParams
    progress: Progress
    scope: Scope
    laid: DocumentOverlay = field(default_factory=DocumentOverlay)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    index: IndexQuery | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)


async def search_keywords(
    workspace: Workspace, params: KeywordSearchParams, progress: Progress
) -> KeywordSearchResult:
    """The files that matter for the query, most relevant first, with the reason for each.

    Raises EmptyQuery, TermsTooBroad, InvalidPattern, SearchTimedOut and, if a model is required,
    NoLlmAvailable and LlmFailed.
    """
    if not params.query.strip():
        raise EmptyQuery
    if params.model and params.model not in workspace.models.known:
        known = ", ".join(workspace.models.names())
        raise InvalidParams("model", f"unknown model {params.model!r}; configured are: {known}")
    request = Request(workspace, params, progress, workspace.scope(params))
    models, fallback = _choose_models(request)
    async with _warming(workspace, [] if params.dry_run else models):
        async with workspace.search_slots, _asking_index(request):
            request.boosts = await workspace.history.boosts(params.query)
            found = await _find_with_index(request)
            ranked = await ranked_locally(request, found.search, found.candidates, found.said)
        _tell_local(request, ranked)
        if all(one.is_only_indexed for one in found.candidates):
            warnings = [*found.warnings, *await _without_matches(request, found)]
            found = msgspec.structs.replace(found, warnings=warnings)
    by_local = RankedMatches(ranked, fallback)
    chosen = await _choose(request, found, by_local, models)
    return result_of(params, request.scope, found, chosen)


# --- stage 1 -------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _asking_index(request: Request) -> AsyncIterator[None]:
    """Have the index asked while the block runs."""
    # Not needed for other searches.
    from winnow.search.keyword.index_results import index_query

    told = request.news.set
    question = request.workspace, request.params, request.scope, told, request.progress
    async with index_query(*question) as request.index:
        yield


async def _find_with_index(request: Request) -> KeywordMatches:
    """Run stage 1, and take what the index says to what it found.

    Raises TermsTooBroad and SearchTimedOut only where the index has nothing, either, and the first
    only where terms are not to be shrunk: else the answer says that they are too broad.
    """
    assert request.index is not None
    search = await _searched(request)
    try:
        found = _usable(request, search)
    except (TermsTooBroad, SearchTimedOut) as error:
        said, _ = await request.index.answer(alone=True)
        shrink = request.params.broad_terms == "shrink" and isinstance(error, TermsTooBroad)
        if not shrink and (said is None or not said.joining):
            raise
        found = KeywordMatches(search, [], [], request.laid)
    request.index.begin()
    if request.index.is_pending and found.candidates:
        # Who watches need not wait for the index.
        _tell_local(request, await ranked_locally(request, search, found.candidates))
    said, warning = await request.index.answer(alone=not found.candidates)
    if said is not None:
        found = msgspec.structs.replace(found, candidates=said.joined(found.candidates), said=said)
    warnings = [warning] * bool(warning)
    if not found.candidates and any(one.over or one.shrunk for one in search.terms):
        warnings.append(TOO_BROAD)
    return msgspec.structs.replace(found, warnings=warnings)


async def find(request: Request) -> KeywordMatches:
    """Run stage 1 without an index, with local rankings as partial results while it runs.

    Raises TermsTooBroad, InvalidPattern and SearchTimedOut.
    """
    return _usable(request, await _searched(request))


async def _searched(request: Request) -> TermSearch:
    """All that ripgrep finds."""
    workspace, params = request.workspace, request.params
    limits = workspace.config.limits
    search = TermSearch(
        processes=workspace.processes,
        ignore_files=workspace.ignore_files,
        rg=workspace.ripgrep,
        environment=workspace.ripgrep_environment,
        scope=request.scope,
        limits=limits,
        deadline=asyncio.get_running_loop().time() + limits.search_seconds,
        terms=[TermMatches(term) for term in dict.fromkeys(params.search_terms)],
        evidence=request.news.set,
    )
    request.progress(f"Searching for {len(search.terms)} terms")
    await _prefilter(request, search)
    teller = asyncio.create_task(_tell_while_searching(request, search))
    try:
        async with _overlaid(request, search):
            await search.run(shrink=params.broad_terms == "shrink")
    finally:
        teller.cancel()
        await asyncio.gather(teller, return_exceptions=True)
    if not teller.cancelled():
        teller.result()  # it has failed, which must not be passed over
    return search


def _usable(request: Request, search: TermSearch) -> KeywordMatches:
    """What goes on of all that was found. Raises TermsTooBroad, InvalidPattern, SearchTimedOut."""
    _refuse_hopeless(search)
    kept = _terms_that_fit(search)
    candidates = list(map(request.laid.numbered, candidates_of(kept)))
    return KeywordMatches(search, kept, candidates, request.laid)


async def _prefilter(request: Request, search: TermSearch) -> None:
    """Let the search know which files can match, as far as the index tells."""
    workspace = request.workspace
    queries = [TextPattern(found.term, case_sensitive=False) for found in search.terms]
    ripgrep = workspace.run_ripgrep()
    prefiltered = await prefilter(workspace, ripgrep, request.scope, queries)
    for found, files in zip(search.terms, prefiltered, strict=True):
        if files:
            search.candidates[found.term] = files.files
            search.searched = files.searched
    if request.index and not search.candidates:
        request.index.begin()  # terms that are in so many files are shrunk first: it tells sooner


@contextlib.asynccontextmanager
async def _overlaid(request: Request, search: TermSearch) -> AsyncIterator[None]:
    """Have the search see unsaved documents, and the texts of PDFs and the like if wanted."""
    workspace, params = request.workspace, request.params
    with unsaved_overlay(workspace.buffers, request.scope) as overlay:
        search.overlay = overlay
        if not params.include_documents or params.file_types:
            yield
            return
        # Not needed for other searches.
        from winnow.search.documents.overlay import with_documents

        request.progress("Reading documents")
        joined = with_documents(workspace, params, request.scope, overlay)
        async with joined as (search.overlay, request.laid):
            search.deadline = (
                asyncio.get_running_loop().time() + workspace.config.limits.search_seconds
            )
            yield


async def _tell_while_searching(request: Request, search: TermSearch) -> None:
    pause = FIRST_PARTIAL_SECONDS
    while True:
        await request.news.wait()
        await asyncio.sleep(pause)
        request.news.clear()
        told = candidates_of([found for found in search.terms if not found.over])
        if not told and request.params.broad_terms == "shrink":
            told = candidates_of(search.terms)  # some files of each, until they are shrunk
        candidates = list(map(request.laid.numbered, told))
        said = request.index.said if request.index else None
        if said is not None:
            candidates = said.joined(candidates)
        if candidates:
            _tell_local(request, await ranked_locally(request, search, candidates, said))
            pause = NEXT_PARTIAL_SECONDS
            if request.index:
                request.index.begin()


async def ranked_locally(
    request: Request,
    search: TermSearch,
    candidates: Sequence[Candidate],
    said: IndexResults | None = None,
) -> list[Ranked]:
    """The local ranker's order, made in a thread: the loop has others to serve."""
    boosts = {}
    if request.boosts:
        paths = ((one.path, request.scope.absolute(one.path)) for one in candidates)
        boosts = {path: request.boosts[whole] for path, whole in paths if whole in request.boosts}
    return await asyncio.to_thread(
        local.rank,
        request.params.query,
        [found.term for found in search.terms],
        candidates,
        searched=search.searched,
        unknown=said.unknown(candidates) if said is not None else (),
        boosts=boosts,
    )


def _tell_local(request: Request, ranked: Sequence[Ranked]) -> None:
    if not ranked:
        return
    files = [
        ranked_file(request.scope, one, request.laid)
        for one in ranked[: request.params.max_results]
    ]
    partial = KeywordSearchPartial(files=files, ranked_by=RankedBy(kind="local"))
    joined = sum(one.candidate.is_only_indexed for one in ranked)
    more = f", {joined} more by the index" if joined else ""
    request.progress(f"{len(ranked) - joined} files match{more}", partial=partial)


def _refuse_hopeless(search: TermSearch) -> None:
    """Raise if no term at all can be used."""
    terms = search.terms
    if all(found.invalid for found in terms):
        raise InvalidPattern(terms[0].term, terms[0].invalid or "")
    valid = [found for found in terms if not found.invalid]
    if all(found.over for found in valid):
        raise TermsTooBroad([found.term for found in valid])
    if search.timed_out and not any(found.files or found.counts for found in valid):
        raise SearchTimedOut(search.limits.search_seconds)


def _terms_that_fit(search: TermSearch) -> list[TermMatches]:
    """The terms whose matches go on: the longest beginning that fits the total."""
    usable = [found for found in search.terms if not found.over and not found.invalid]
    count = budget.terms_that_fit([_sized(found) for found in usable], search.limits.total_bytes)
    return usable[: max(1, count)]


def _sized(found: TermMatches) -> budget.Files:
    """The term's files for the budget; a list of files with counts costs a line each."""
    if found.files or not found.counts:
        return found.files
    return {path: {0: Line(str(n), len(str(n)))} for path, n in found.counts.items()}


def candidates_of(kept: Sequence[TermMatches]) -> list[Candidate]:
    """The files that match, with the evidence of all terms together."""
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
    return [
        Candidate(path, lines.get(path, {}), hits.get(path, {}), counts[path])
        for path in sorted(counts)
    ]


async def _without_matches(request: Request, found: KeywordMatches) -> list[str]:
    """Nothing matches: say whose files there are, and whether some that were left out match."""
    warnings = [ONLY_INDEX] if found.candidates else []
    return warnings + (await _excluded_matches(request, found) if found.kept else [])


async def _excluded_matches(request: Request, found: KeywordMatches) -> list[str]:
    """Whether files that were left out would have matched."""

    async def count(filters: SearchParams) -> int:
        scope = request.workspace.scope(filters)
        others = await found.search.list_files(found.kept, scope, EXCLUDED_SECONDS)
        return len(others.difference(*(one.binary for one in found.kept)))

    files, flags = await count_excluded_matches(request.scope.filters, count)
    if not files:
        return []
    return [f"0 matches; {files} files that were left out match: pass {' and '.join(flags)}"]


# --- stage 2 -------------------------------------------------------------------------------


def _choose_models(request: Request) -> tuple[list[NamedModel], RankedBy]:
    """The models to ask, best first; or none, and why the local ranker does the work."""
    params = request.params
    if params.ranker == "local":
        return [], RankedBy(kind="local")
    models, unusable = request.workspace.models.usable(params.model)
    if models:
        return models, RankedBy(kind="local")
    needed = request.workspace.models.awaiting_consent(params.model)
    refused = REFUSED if any(one["error"] == REFUSED for one in unusable) else None
    consent = no_consent(needed) if needed else refused
    if params.ranker == "llm" and not params.dry_run:
        raise NoLlmAvailable(unusable, needed, consent)
    why = consent or _why_no_model(request, unusable)
    return [], RankedBy(kind="local", fallback_reason=why, needs_consent=needed or None)


def _why_no_model(request: Request, unusable: Sequence[Mapping[str, str]]) -> str:
    """In one sentence where all that is missing is a key, else for each model."""
    models = request.workspace.config.llm.models
    missing = [models[one["model"]].key_env or "" for one in unusable if one["model"] in models]
    if all(one["error"].startswith("no key") for one in unusable):
        return "no language model has a key; set one of " + ", ".join(dict.fromkeys(missing))
    return "no language model: " + "; ".join(f"{one['model']}: {one['error']}" for one in unusable)


@contextlib.asynccontextmanager
async def _warming(workspace: Workspace, models: Sequence[NamedModel]) -> AsyncIterator[None]:
    """Import the first model's SDK while the block runs."""
    if not models:
        yield
        return
    task = asyncio.create_task(workspace.models.warm(models[0]))
    try:
        yield
        # An SDK that cannot be imported is a failure of its model, told when that is asked.
        with contextlib.suppress(ImportError):
            await task
    finally:
        task.cancel()


async def _choose(
    request: Request, found: KeywordMatches, by_local: RankedMatches, models: Sequence[NamedModel]
) -> RankedMatches:
    """Run stage 2: what a model chooses among the candidates, or the local ranker's order.

    Raises LlmFailed if a model is required.
    """
    if not by_local.ranked:
        return by_local
    if request.params.dry_run:
        payload, sent = await _payload(request, by_local, models)
        return msgspec.structs.replace(by_local, payload=payload, sent=sent)
    if not models:
        return by_local
    request.progress(f"Asking {models[0].name} about {len(by_local.ranked)} files")

    def tell(model: NamedModel, one: Ranked) -> None:
        file = ranked_file(request.scope, one, request.laid)
        partial = KeywordSearchPartial(files=[file], ranked_by=_ranked_by(model))
        request.progress(f"{model.name}: {file.path}", partial=partial)

    try:
        ranking = await llm.rank(
            request.params.query,
            [one.candidate for one in by_local.ranked],
            request.workspace.models,
            models,
            root=str(request.scope.root),
            on_file=tell,
        )
    except llm.RankingFailed as error:
        if request.params.ranker == "llm":
            raise LlmFailed(error.attempts) from error
        why = "; ".join(f"{one['model']}: {one['error']}" for one in error.attempts)
        return RankedMatches(by_local.ranked, RankedBy(kind="local", fallback_reason=why))
    return _chosen_by_model(ranking, by_local)


def _chosen_by_model(ranking: llm.LlmRanking, by_local: RankedMatches) -> RankedMatches:
    """What the model chose, and the other files that it saw: what it obeys can hide none."""
    name, sent = ranking.model.name, ranking.prompt
    reasons, warnings = [], []
    if sent.left_out:
        reasons.append(f"{sent.left_out} files did not fit the input of {name}")
    if ranking.broken_off:
        reasons.append(
            f"the answer of {name} broke off after {len(ranking.files)} files: {ranking.broken_off}"
        )
    if ranking.unknown:
        warnings.append(f"{name} named {ranking.unknown} files that it was not sent: dropped")
    if sent.context < prompt.CONTEXT_STEPS[0]:
        warnings.append(
            f"{name} was sent {sent.context} lines of context: more did not fit its input"
        )
    ranked_by = _ranked_by(ranking.model)
    left = {one.path for one in sent.sent.values()} - {one.candidate.path for one in ranking.files}
    others = [one for one in by_local.ranked if one.candidate.path in left]
    return RankedMatches(
        ranking.files, ranked_by, reasons, warnings, ranking.usage, sent=sent, others=others
    )


async def _payload(
    request: Request, by_local: RankedMatches, models: Sequence[NamedModel]
) -> tuple[Payload, Prompt]:
    """What the first usable model would be sent; the most preferred one if none can be used."""
    registry = request.workspace.models
    name = models[0].name if models else (request.params.model or registry.names()[0])
    model = registry.named(name)
    candidates = [one.candidate for one in by_local.ranked]
    most = llm.input_tokens(registry, model.settings)
    sent = prompt.build(request.params.query, candidates, most, registry.redact)
    asked = llm.request_for(sent)
    payload = Payload(
        model=name,
        provider=model.settings.provider,
        endpoint=model.base_url,
        system=asked.system,
        prompt=asked.prompt,
        body=await _body(registry, model, asked),
        bytes=asked.size,
        estimated_tokens=estimated_tokens(asked.system + asked.prompt),
    )
    return payload, sent


async def _body(registry: Models, model: NamedModel, asked: ModelRequest) -> str | None:
    with contextlib.suppress(ModelError):
        return (await registry.body(model, asked)).decode()
    return None


def _ranked_by(model: NamedModel) -> RankedBy:
    return RankedBy(kind="llm", model=model.name, provider=model.settings.provider)
