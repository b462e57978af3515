"""Let a language model choose among the files of an answer; or say why none did."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Literal

import msgspec

from winnow.errors import InvalidParams, LlmFailed, NoLlmAvailable
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.models import Models, NamedModel
from winnow.ranking.providers import ModelError, ModelRequest, Usage
from winnow.ranking.tokens import estimated_tokens
from winnow.search.answer.ranked_by import Payload, RankedBy
from winnow.text.plural import counted
from winnow.text.scope import Scope
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.ranking import llm
    from winnow.ranking.prompt import Prompt


NOT_SHARED = "texts of a search cluster are not sent to language models"


class RankerOptions(msgspec.Struct, frozen=True):
    """The ranker: 'auto' is a ``model`` if one is available. ``dry_run`` sends nothing.

    A model gets all matches, or for a ``compact`` payload, the best passages. Nothing is sent if
    the answer ``is_shared``, with texts of a search cluster: consent is for those of the workspace.
    """

    ranker: Literal["auto", "llm", "local"] = "auto"
    model: str = ""
    dry_run: bool = False
    compact: bool = False
    is_shared: bool = False


class RankedFiles(msgspec.Struct, frozen=True):
    """Files, best first, and the ranker that ordered them.

    ``reasons`` are why the answer may be incomplete. ``sent`` is what a model saw, or would see;
    ``others`` are files that it saw and did not select, in the order of the local ranker.
    """

    ranked: Sequence[Ranked]
    ranked_by: RankedBy
    reasons: Sequence[str] = ()
    warnings: Sequence[str] = ()
    usage: Usage | None = None
    payload: Payload | None = None
    sent: Prompt | None = None
    others: Sequence[Ranked] = ()


class ModelRanking(msgspec.Struct, frozen=True):
    """A question to language models about files of a scope, some of which are ``documents``."""

    workspace: EngineWorkspace
    scope: Scope
    query: str
    progress: Progress
    documents: Collection[str] = ()


def choose_models(
    workspace: EngineWorkspace, options: RankerOptions
) -> tuple[list[NamedModel], RankedBy]:
    """Return the models to try, best first; or none, and why the local ranker is used.

    Raises InvalidParams for an unknown model and, if a model is required, NoLlmAvailable.
    """
    if options.model and options.model not in workspace.models.known:
        known = ", ".join(workspace.models.names())
        raise InvalidParams(
            "model", f"unknown model {options.model!r}; the configured models are {known}"
        )
    if options.ranker == "local":
        return [], RankedBy(kind="local")
    if options.is_shared:
        if options.ranker == "llm":
            raise InvalidParams("ranker", f"{NOT_SHARED}: use 'local', or omit `repositories`")
        return [], RankedBy(kind="local", fallback_reason=NOT_SHARED)
    models, unusable = workspace.models.usable(options.model)
    if models:
        return models, RankedBy(kind="local")
    needed = workspace.models.awaiting_consent(options.model)
    consent = workspace.models.how_to_consent(options.model)
    if options.ranker == "llm" and not options.dry_run:
        raise NoLlmAvailable(unusable, needed, consent)
    why = consent or _why_no_model(workspace, unusable)
    return [], RankedBy(kind="local", fallback_reason=why, needs_consent=needed or None)


def _why_no_model(workspace: EngineWorkspace, unusable: Sequence[Mapping[str, str]]) -> str:
    """Return a reason: one sentence if only keys are missing, else a reason per model."""
    models = workspace.config.llm.models
    names = [(problem["model"], problem["error"]) for problem in unusable]
    missing = [models[name].key_env or "" for name, _ in names if name in models]
    if all(error.startswith("no key") for _, error in names):
        return "no language model has a key; set one of " + ", ".join(dict.fromkeys(missing))
    return "no language model: " + "; ".join(f"{name}: {error}" for name, error in names)


@contextlib.asynccontextmanager
async def warming(workspace: EngineWorkspace, models: Sequence[NamedModel]) -> AsyncIterator[None]:
    """Import the first model's SDK while the block runs."""
    if not models:
        yield
        return
    task = asyncio.create_task(workspace.models.warm(models[0]))
    try:
        yield
        # An SDK that cannot be imported is reported when the model is used.
        with contextlib.suppress(ImportError):
            await task
    finally:
        task.cancel()


async def rank_by_model(
    asked: ModelRanking,
    options: RankerOptions,
    by_local: RankedFiles,
    models: Sequence[NamedModel],
    on_file: Callable[[RankedBy, Ranked], Awaitable[None]],
) -> RankedFiles:
    """Let a model select from the files, or keep the order of the local ranker. ``on_file`` gets
    each file as a model names it, one after the other.

    Raises LlmFailed if a model is required.
    """
    if not by_local.ranked:
        return by_local
    if options.dry_run:
        payload, sent = await _payload(asked, options, by_local, models)
        return msgspec.structs.replace(
            by_local, payload=payload, sent=sent, reasons=[*_not_sent(sent, payload.model)]
        )
    if not models:
        return by_local
    # Not needed without a model, and slow to import: its patterns of secrets are compiled.
    from winnow.ranking import llm

    asked.progress(
        f"Asking {models[0].name} about {counted(len(by_local.ranked), 'file', 'files')}"
    )
    to_send = await _candidates_to_send(asked, options, by_local)
    found = {entry.candidate.path: entry.candidate for entry in by_local.ranked}
    try:
        async with _one_by_one(on_file) as send:
            ranking = await llm.rank(
                asked.query,
                to_send,
                asked.workspace.models,
                models,
                root=str(asked.scope.root),
                on_file=lambda model, chosen: send(_ranked_by(model), _with_matches(chosen, found)),
                compact=options.compact,
            )
    except llm.RankingFailed as error:
        if options.ranker == "llm":
            raise LlmFailed(error.attempts) from error
        why = "; ".join(f"{failed['model']}: {failed['error']}" for failed in error.attempts)
        return RankedFiles(by_local.ranked, RankedBy(kind="local", fallback_reason=why))
    files = [_with_matches(chosen, found) for chosen in ranking.files]
    return _chosen_by_model(msgspec.structs.replace(ranking, files=files), by_local)


@contextlib.asynccontextmanager
async def _one_by_one(
    on_file: Callable[[RankedBy, Ranked], Awaitable[None]],
) -> AsyncIterator[Callable[[RankedBy, Ranked], None]]:
    """Yield a function that passes a file on and returns at once. The block ends once all are
    passed on."""
    files: asyncio.Queue[tuple[RankedBy, Ranked] | None] = asyncio.Queue()

    async def pass_on() -> None:
        while (file := await files.get()) is not None:
            await on_file(*file)

    passing = asyncio.create_task(pass_on())
    try:
        yield lambda ranked_by, chosen: files.put_nowait((ranked_by, chosen))
        files.put_nowait(None)
        await passing
    finally:
        passing.cancel()


def _with_matches(chosen: Ranked, found: Mapping[str, Candidate]) -> Ranked:
    """Return a file that a model chose, with all matches instead of the lines that it got."""
    return msgspec.structs.replace(chosen, candidate=found[chosen.candidate.path])


async def _candidates_to_send(
    asked: ModelRanking, options: RankerOptions, by_local: RankedFiles
) -> list[Candidate]:
    """Return the candidates with the lines that a model may get: their matches or passages."""
    if not options.compact:
        return [entry.candidate for entry in by_local.ranked]
    from winnow.search.answer.passages import passages_to_send

    return await asyncio.to_thread(
        passages_to_send,
        asked.scope,
        asked.workspace.buffers,
        by_local.ranked,
        asked.documents,
    )


def _not_sent(sent: Prompt, model: str) -> Iterator[str]:
    """Yield which candidates a model does not get."""
    if sent.secret_files:
        files = counted(sent.secret_files, "file is", "files are")
        yield f"{files} named like files with secrets: not sent to a model"
    if sent.left_out:
        yield f"{counted(sent.left_out, 'file', 'files')} did not fit the input of {model}"


def _chosen_by_model(ranking: llm.LlmRanking, by_local: RankedFiles) -> RankedFiles:
    """Return the files that the model selected, and the other files that it saw, so that a prompt
    injection cannot hide a file."""
    from winnow.ranking import prompt

    name, sent = ranking.model.name, ranking.prompt
    reasons, warnings = [*_not_sent(sent, name)], list[str]()
    if ranking.broken_off:
        files = counted(len(ranking.files), "file", "files")
        reasons.append(f"the answer of {name} broke off after {files}: {ranking.broken_off}")
    if ranking.unknown:
        unknown = counted(ranking.unknown, "file", "files")
        warnings.append(f"{name} named {unknown} that it was not sent: ignored")
    if not sent.compact and sent.context < prompt.CONTEXT_STEPS[0]:
        warnings.append(
            f"{name} was sent {sent.context} lines of context: more did not fit its input"
        )
    ranked_by = _ranked_by(ranking.model)
    seen = {candidate.path for candidate in sent.sent.values()}
    rest = seen - {ranked.candidate.path for ranked in ranking.files}
    others = [ranked for ranked in by_local.ranked if ranked.candidate.path in rest]
    return RankedFiles(
        ranking.files, ranked_by, reasons, warnings, ranking.usage, sent=sent, others=others
    )


async def _payload(
    asked: ModelRanking,
    options: RankerOptions,
    by_local: RankedFiles,
    models: Sequence[NamedModel],
) -> tuple[Payload, Prompt]:
    """Return the request for the first usable model, or for the preferred one if none is usable."""
    from winnow.ranking import llm, prompt

    registry = asked.workspace.models
    name = models[0].name if models else (options.model or registry.names()[0])
    model = registry.named(name)
    candidates = await _candidates_to_send(asked, options, by_local)
    most = llm.input_tokens(registry, model.settings)
    sent = prompt.build(asked.query, candidates, most, registry.redact, compact=options.compact)
    model_request = llm.request_for(sent)
    payload = Payload(
        model=name,
        provider=model.settings.provider,
        endpoint=model.base_url,
        system=model_request.system,
        prompt=model_request.prompt,
        body=await _body(registry, model, model_request),
        bytes=model_request.size,
        estimated_tokens=estimated_tokens(model_request.system + model_request.prompt),
    )
    return payload, sent


async def _body(registry: Models, model: NamedModel, model_request: ModelRequest) -> str | None:
    with contextlib.suppress(ModelError):
        return (await registry.body(model, model_request)).decode()
    return None


def _ranked_by(model: NamedModel) -> RankedBy:
    return RankedBy(kind="llm", model=model.name, provider=model.settings.provider)
