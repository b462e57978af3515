"""Keyword search: ripgrep collects the matches of many terms, a ranker keeps what is relevant.

Stage 1 is :mod:`winnow.text.terms` and :mod:`winnow.text.budget`; stage 2 the local ranker, and a
language model if one is available.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from winnow.display import printable, shown_path
from winnow.errors import (
    EmptyQuery,
    InvalidParams,
    InvalidPattern,
    LlmFailed,
    NoLlmAvailable,
    SearchTimedOut,
    TermsTooBroad,
)
from winnow.ranking import llm, local, prompt
from winnow.ranking.models import NamedModel
from winnow.shorten import shorten
from winnow.text import budget
from winnow.text.buffers import unsaved
from winnow.text.files import Scope
from winnow.text.terms import Search, TermMatches
from winnow.types import (
    Candidate,
    Completeness,
    KeywordSearchParams,
    KeywordSearchPartial,
    KeywordSearchResult,
    Line,
    Match,
    Payload,
    Progress,
    Ranked,
    RankedBy,
    RankedFile,
    Skipped,
    TermReport,
    TermStatus,
)
from winnow.workspace import Workspace

# A file is shown with this many of its matching lines; `total_matches` says how many there are.
SHOWN_MATCHES = 8
# The first local ranking goes out this soon after the first match, later ones less often.
FIRST_PARTIAL_SECONDS = 0.05
NEXT_PARTIAL_SECONDS = 0.4
SECOND_LOOK_SECONDS = 1.0


@dataclass
class _Request:
    """A search while it runs: what was asked, where, and what the answer will have to say."""

    workspace: Workspace
    params: KeywordSearchParams
    progress: Progress
    scope: Scope
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def offset(self) -> int:
        return int(self.params.cursor or 0)

    @property
    def max_results(self) -> int:
        return self.params.max_results


async def search_keywords(
    workspace: Workspace, params: KeywordSearchParams, progress: Progress
) -> KeywordSearchResult:
    """The files that matter for the query, most relevant first, with the reason for each.

    Raises EmptyQuery, TermsTooBroad, InvalidPattern, SearchTimedOut and, if a model is required,
    NoLlmAvailable and LlmFailed.
    """
    if not params.query.strip():
        raise EmptyQuery
    if params.model and params.model not in workspace.config.llm.models:
        known = ", ".join(workspace.models.names())
        raise InvalidParams("model", f"unknown model {params.model!r}; configured are: {known}")
    request = _Request(workspace, params, progress, workspace.scope(params))
    models, fallback = _choose_models(request)
    async with _warming(workspace, [] if params.dry_run else models):
        search = await _search(request)
        kept = _fit(request, search)
        candidates = _candidates(kept)
        ranked = local.rank(
            params.query,
            [found.term for found in search.terms],
            candidates,
            searched=search.searched,
        )
        if not ranked:
            await _second_look(request, search, kept)
    if ranked and not params.dry_run:
        _tell_local(request, ranked)
    ranked_by = RankedBy(kind="local", fallback_reason=fallback)
    ranking: llm.LlmRanking | None = None
    payload: Payload | None = None
    if ranked and params.dry_run:
        payload = _payload(request, ranked, models)
    elif ranked and models:
        outcome = await _ask_models(request, ranked, models)
        if isinstance(outcome, str):
            ranked_by = RankedBy(kind="local", fallback_reason=outcome)
        else:
            ranking, ranked = outcome, outcome.files
            ranked_by = _ranked_by(outcome.model)
    return _result(request, search, kept, candidates, ranked, ranked_by, ranking, payload)


# --- stage 1 -------------------------------------------------------------------------------


async def _search(request: _Request) -> Search:
    """Run stage 1, with local rankings as partial results while it runs."""
    workspace, params = request.workspace, request.params
    limits = workspace.config.limits
    news = asyncio.Event()
    search = Search(
        processes=workspace.processes,
        rg=workspace.ripgrep,
        environment=workspace.ripgrep_environment,
        scope=request.scope,
        limits=limits,
        deadline=asyncio.get_running_loop().time() + limits.search_seconds,
        terms=[TermMatches(term) for term in dict.fromkeys(params.search_terms)],
        evidence=news.set,
    )
    request.progress(f"Searching for {len(search.terms)} terms")
    teller = asyncio.create_task(_tell_while_searching(request, search, news))
    try:
        with unsaved(workspace.buffers, request.scope) as search.overlay:
            await search.run()
            if params.broad_terms == "shrink":
                await search.shrink_broad_terms()
    finally:
        teller.cancel()
        await asyncio.gather(teller, return_exceptions=True)
    _refuse_hopeless(search)
    return search


async def _tell_while_searching(request: _Request, search: Search, news: asyncio.Event) -> None:
    pause = FIRST_PARTIAL_SECONDS
    while True:
        await news.wait()
        await asyncio.sleep(pause)
        news.clear()
        terms = [found.term for found in search.terms]
        candidates = _candidates([found for found in search.terms if not found.over])
        if candidates:
            ranked = local.rank(request.params.query, terms, candidates)
            _tell_local(request, ranked)
            pause = NEXT_PARTIAL_SECONDS


def _refuse_hopeless(search: Search) -> None:
    """Raise if no term at all can be used."""
    terms = search.terms
    if all(found.invalid for found in terms):
        raise InvalidPattern(terms[0].term, terms[0].invalid or "")
    valid = [found for found in terms if not found.invalid]
    if all(found.over for found in valid):
        raise TermsTooBroad([found.term for found in valid])
    if search.timed_out and not any(found.files or found.counts for found in valid):
        raise SearchTimedOut(search.limits.search_seconds)


def _fit(request: _Request, search: Search) -> list[TermMatches]:
    """The terms whose matches go on: the longest beginning that fits the total."""
    usable = [found for found in search.terms if not found.over and not found.invalid]
    count = budget.terms_that_fit([_sized(found) for found in usable], search.limits.total_bytes)
    kept = usable[: max(1, count)]
    for found in search.terms:
        if found.long_lines:
            request.warnings.append(
                f"{found.long_lines} lines of more than 4 MiB match {found.term!r}: left out"
            )
    if any(line.start or line.text.endswith("…") for found in kept for line in _lines(found)):
        request.warnings.append(
            f"lines of more than {search.limits.line_characters} characters are cut"
        )
    return kept


def _lines(found: TermMatches) -> Iterable[Line]:
    return (line for lines in found.files.values() for line in lines.values())


def _sized(found: TermMatches) -> budget.Files:
    """The term's files for the budget; a list of files with counts costs a line each."""
    if found.files or not found.counts:
        return found.files
    return {path: {0: Line(str(n), len(str(n)))} for path, n in found.counts.items()}


def _candidates(kept: Sequence[TermMatches]) -> list[Candidate]:
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


async def _second_look(request: _Request, search: Search, kept: Sequence[TermMatches]) -> None:
    """Nothing matches: say whether ignored or hidden files would have."""
    if request.params.include_ignored and request.params.include_hidden:
        return
    everything = msgspec.structs.replace(request.params, include_ignored=True, include_hidden=True)
    count = await search.count_files(kept, request.workspace.scope(everything), SECOND_LOOK_SECONDS)
    if count:
        request.warnings.append(
            f"0 matches; {count} ignored or hidden files match:"
            " pass include_ignored and include_hidden"
        )


# --- stage 2 -------------------------------------------------------------------------------


def _choose_models(request: _Request) -> tuple[list[NamedModel], str | None]:
    """The models to ask, best first; or none, and why the local ranker does the work."""
    params = request.params
    if params.ranker == "local":
        return [], None
    models, unusable = request.workspace.models.usable(params.model)
    if models:
        return models, None
    if params.ranker == "llm" and not params.dry_run:
        raise NoLlmAvailable(unusable)
    return [], _why_no_model(request, unusable)


def _why_no_model(request: _Request, unusable: Sequence[Mapping[str, str]]) -> str:
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


async def _ask_models(
    request: _Request, ranked: Sequence[Ranked], models: Sequence[NamedModel]
) -> llm.LlmRanking | str:
    """The models' ranking, or why the local one stands. Raises LlmFailed if one is required."""
    request.progress(f"Asking {models[0].name} about {len(ranked)} files")

    def tell(model: NamedModel, one: Ranked) -> None:
        partial = KeywordSearchPartial(files=[_file(request, one)], ranked_by=_ranked_by(model))
        request.progress(f"{model.name}: {one.candidate.path}", partial=partial)

    try:
        ranking = await llm.rank(
            request.params.query,
            [one.candidate for one in ranked],
            request.workspace.models,
            models,
            root=str(request.scope.root),
            on_file=tell,
        )
    except llm.RankingFailed as error:
        if request.params.ranker == "llm":
            raise LlmFailed(error.attempts) from error
        return "; ".join(f"{one['model']}: {one['error']}" for one in error.attempts)
    _say_what_was_lost(request, ranking)
    return ranking


def _say_what_was_lost(request: _Request, ranking: llm.LlmRanking) -> None:
    if ranking.unknown:
        request.warnings.append(
            f"{ranking.model.name} named {ranking.unknown} files that it was not sent: dropped"
        )
    if ranking.prompt.left_out:
        request.reasons.append(
            f"{ranking.prompt.left_out} files did not fit the input of {ranking.model.name}"
        )
    if ranking.prompt.context < prompt.CONTEXT_STEPS[0]:
        request.warnings.append(
            f"{ranking.model.name} was sent {ranking.prompt.context} lines of context:"
            " more did not fit its input"
        )
    if ranking.broken_off:
        request.reasons.append(
            f"the answer of {ranking.model.name} broke off after {len(ranking.files)} files:"
            f" {ranking.broken_off}"
        )


def _payload(request: _Request, ranked: Sequence[Ranked], models: Sequence[NamedModel]) -> Payload:
    """What the first usable model would be sent; the most preferred one if none can be used."""
    registry = request.workspace.models
    name = models[0].name if models else (request.params.model or registry.names()[0])
    model = registry.settings.models[name]
    sent = prompt.build(request.params.query, [one.candidate for one in ranked], model.input_tokens)
    system = prompt.system_prompt(json=True)
    return Payload(
        model=name,
        provider=model.provider,
        endpoint=registry.endpoint(name),
        system=system,
        prompt=sent.text,
        bytes=len((system + sent.text).encode()),
        estimated_tokens=prompt.estimated_tokens(system + sent.text),
    )


def _ranked_by(model: NamedModel) -> RankedBy:
    return RankedBy(kind="llm", model=model.name, provider=model.settings.provider)


# --- the answer ----------------------------------------------------------------------------


def _tell_local(request: _Request, ranked: Sequence[Ranked]) -> None:
    files = [_file(request, one) for one in ranked[: request.max_results]]
    partial = KeywordSearchPartial(files=files, ranked_by=RankedBy(kind="local"))
    request.progress(f"{len(ranked)} files match", partial=partial)


def _result(
    request: _Request,
    search: Search,
    kept: Sequence[TermMatches],
    candidates: Sequence[Candidate],
    ranked: Sequence[Ranked],
    ranked_by: RankedBy,
    ranking: llm.LlmRanking | None,
    payload: Payload | None,
) -> KeywordSearchResult:
    page = ranked[request.offset : request.offset + request.max_results]
    end = request.offset + len(page)
    if search.timed_out:
        request.reasons.append(
            f"stopped after {search.limits.search_seconds:g} seconds: not every file was searched"
        )
    result = KeywordSearchResult(
        search_id=uuid.uuid4().hex,
        root=shown_path(str(request.scope.root))[0],
        files=[_file(request, one) for one in page],
        no_relevant_files=not ranked,
        ranked_by=ranked_by,
        terms=[_report(found, kept, search.timed_out) for found in search.terms],
        total_found=len(candidates),
        returned=len(page),
        truncated=end < len(ranked),
        completeness=_completeness(request, search, kept),
        warnings=request.warnings,
        cursor=str(end) if end < len(ranked) else None,
        usage=ranking.usage if ranking else None,
        payload=payload,
    )
    return shorten_result(result, request.params.max_tokens, request.offset)


def _completeness(request: _Request, search: Search, kept: Sequence[TermMatches]) -> Completeness:
    binary = set[str]().union(*(found.binary for found in kept))
    unreadable = set[str]().union(*(found.unreadable for found in search.terms))
    left_out = [found.term for found in search.terms if found not in kept]
    reasons = list(request.reasons)
    if unreadable:
        reasons.append(f"{len(unreadable)} files or folders could not be read")
    if left_out:
        reasons.append("terms that were not used: " + ", ".join(left_out))
    reasons += [f"{found.term!r} was shrunk to {found.shrunk}" for found in kept if found.shrunk]
    return Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(binary=len(binary) or None, unreadable=len(unreadable) or None),
        timed_out=search.timed_out,
    )


def _report(found: TermMatches, kept: Sequence[TermMatches], timed_out: bool) -> TermReport:
    """The fate of a term; counts are absent where the search for it was stopped."""
    if found.invalid:
        return TermReport(term=found.term, status="invalid", detail=found.invalid)
    if found.over:
        return TermReport(term=found.term, status="too_broad")
    status: TermStatus = "used"
    matched = bool(found.files or found.counts)
    if found not in kept and matched:
        status = "peeled"
    elif not matched:
        status = "no_match" if found.finished else "timed_out"
    elif found.shrunk:
        status = "shrunk"
    detail = found.shrunk
    if timed_out and not found.finished:
        detail = "the search was stopped: counts are lower bounds"
    return TermReport(
        term=found.term,
        status=status,
        bytes=max(0, found.bytes - budget.SEPARATOR) if not found.shrunk else found.bytes,
        files=len(found.files) or len(found.counts or ()),
        matches=found.matches,
        detail=detail,
    )


def _file(request: _Request, one: Ranked) -> RankedFile:
    candidate = one.candidate
    root, below = request.scope.locate(candidate.path)
    path, encoded = shown_path(below)
    numbers = sorted({number for hits in candidate.hits.values() for number in hits})
    best = _best_lines(one, numbers)
    return RankedFile(
        path=path,
        reason=one.reason,
        terms=list(candidate.counts),
        matches=[_match(number, candidate.lines[number]) for number in sorted(best)],
        line=best[0] if best else None,
        total_matches=len(numbers) if len(numbers) > SHOWN_MATCHES else None,
        score=one.score,
        root=shown_path(str(root))[0] if len(request.scope.roots) > 1 else None,
        uri=f"{root.as_uri()}/{encoded}" if encoded else None,
    )


def _best_lines(one: Ranked, numbers: Sequence[int]) -> list[int]:
    """The matching lines to show, the best first: those that the ranker pointed at, then
    definitions, of the first terms first, then the first ones of each term in turn."""
    candidate = one.candidate
    first, last = one.first or math.inf, one.last or -math.inf
    pointed = [number for number in numbers if first <= number <= last]
    defining = [
        number
        for hits in candidate.hits.values()
        for number in hits
        if local.defines(candidate.lines[number])
    ]
    turns = [
        hits[turn]
        for turn in range(SHOWN_MATCHES)
        for hits in candidate.hits.values()
        if turn < len(hits)
    ]
    return list(dict.fromkeys([*pointed, *defining, *turns]))[:SHOWN_MATCHES]


def _match(number: int, line: Line) -> Match:
    start, end = line.ranges[0]
    return Match(
        line=number,
        column=start + 1,
        text=printable(line.text),
        match_range=(start + 1, end + 1),
        text_column=line.start or None,
    )


# --- shortening ----------------------------------------------------------------------------


def shorten_result(
    result: KeywordSearchResult, max_tokens: int, offset: int
) -> KeywordSearchResult:
    """The result in at most ``max_tokens``: fewer matching lines, none, then fewer files."""
    steps = [_shorter(result, matches, offset) for matches in (3, 1, 0)]
    steps += [_shorter(result, 0, offset, count) for count in range(result.returned - 1, 0, -1)]
    return shorten(result, max_tokens, steps)


def _shorter(
    result: KeywordSearchResult, matches: int, offset: int, count: int | None = None
) -> Callable[[], KeywordSearchResult]:
    def step() -> KeywordSearchResult:
        files = [_with_matches(file, matches) for file in result.files[:count]]
        return msgspec.structs.replace(
            result,
            files=files,
            returned=len(files),
            truncated=True,
            cursor=result.cursor if count is None else str(offset + count),
        )

    return step


def _with_matches(file: RankedFile, count: int) -> RankedFile:
    total = file.total_matches or len(file.matches)
    return msgspec.structs.replace(
        file,
        matches=file.matches[:count],
        total_matches=total if total > count else None,
    )
