"""The ranker that uses a language model: fast, cheap, and able to choose files but not to add any.

One deadline covers everything. A model gets a second try where that helps, the next model replaces
one that fails, and a model that fails repeatedly is paused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from winnow.config import ModelSettings
from winnow.processes.waiting import wait_within
from winnow.ranking import prompt as prompts
from winnow.ranking.answer import AnswerReader, NamedFile, Validator
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.models import CachedAnswer, Models, NamedModel, cache_key, with_cost
from winnow.ranking.prompt import Prompt
from winnow.ranking.providers import (
    ANSWER_CHARACTERS,
    AnsweredBy,
    ModelError,
    ModelRequest,
    NotSent,
    Usage,
)

# A second try needs this much time, and a server that asks for no longer wait.
RETRY_SECONDS = 3.0
RETRY_AFTER_SECONDS = 2.0
# Fewer tokens leave hardly a line beside the instructions.
MIN_INPUT_TOKENS = 1_000


class LlmRanking(Struct, frozen=True):
    """The files that the model chose, best first; ``broken_off`` is why the answer is
    incomplete."""

    files: list[Ranked]
    model: NamedModel
    prompt: Prompt
    usage: Usage | None
    unknown: int = 0
    broken_off: str | None = None


class RankingFailed(Exception):
    """No model answered; ``attempts`` has ``{model, error}`` for each call."""

    def __init__(self, attempts: list[dict[str, str]]) -> None:
        super().__init__("every language model failed")
        self.attempts = attempts


class _Answer:
    """The answer so far: its text and the files it names."""

    def __init__(
        self, sent: Prompt, root: str, on_file: Callable[[NamedModel, Ranked], None]
    ) -> None:
        self.prompt = sent
        self._root = root
        self._on_file = on_file
        self.restart()

    def restart(self) -> None:
        """Discard the answer before a second try."""
        self.files: list[Ranked] = []
        self.text = ""
        self.usage: Usage | None = None
        self.answered_by = ""
        self._reader = AnswerReader()
        self._validator = Validator(self.prompt.sent, self._root)

    @property
    def unknown(self) -> int:
        return self._validator.unknown

    def feed(self, model: NamedModel, text: str) -> None:
        self.text += text
        if len(self.text) > ANSWER_CHARACTERS:
            raise ModelError("the answer is too long", 413)
        for named in self._reader.feed(text):
            self._accept(model, named)

    def finish(self, model: NamedModel) -> None:
        """Complete the answer. Raises ModelError if it is unusable."""
        for named in self._reader.finish():
            self._accept(model, named)
        if not self.files and not (self._reader.nothing_relevant and not self.unknown):
            raise ModelError(
                f"the answer names only files that were not sent ({self.unknown})"
                if self.unknown
                else "the answer is empty"
                if not self.text.strip()
                else "the answer is unreadable"
            )

    def _accept(self, model: NamedModel, named: NamedFile) -> None:
        ranked = self._validator.accept(named)
        if ranked:
            self.files.append(ranked)
            self._on_file(self.named(model), ranked)

    def named(self, model: NamedModel) -> NamedModel:
        """Return the model under the name of the model that answered for it."""
        return replace(model, name=self.answered_by or model.name)


async def rank(
    query: str,
    candidates: Sequence[Candidate],
    models: Models,
    usable: Sequence[NamedModel],
    *,
    root: str,
    on_file: Callable[[NamedModel, Ranked], None],
    compact: bool = False,
) -> LlmRanking:
    """Let the first usable model that answers choose among the candidates.

    ``candidates`` are in the order of the local ranker; for a ``compact`` prompt, their lines are
    passages. ``root`` is the folder of their paths, and
    ``on_file`` is called for each file as the model names it. Raises RankingFailed.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + models.settings.deadline_seconds
    attempts: list[dict[str, str]] = []
    best: LlmRanking | None = None
    for place, model in enumerate(usable):
        left = deadline - loop.time()
        if left <= 0:
            break
        # A silent model leaves half of the time to the next.
        patience = left / 2 if place + 1 < len(usable) else left
        most = input_tokens(models, model.settings)
        sent = prompts.build(query, candidates, most, models.redact, compact=compact)
        if not sent.sent:
            error = "every matching file has the name of a secret file"
            raise RankingFailed([{"model": model.name, "error": error}])
        answer = _Answer(sent, root, on_file)
        key = cache_key(model, prompts.PROMPT_VERSION, query, sent.body)
        try:
            await wait_within(_ask(models, model, answer, key, patience, deadline), left)
        except asyncio.TimeoutError:
            error = f"no complete answer within {models.settings.deadline_seconds:g} s"
        except NotSent as problem:
            attempts.append({"model": model.name, "error": str(problem)})
            continue
        except ModelError as problem:
            error = str(problem)
        else:
            models.succeeded(model.name)
            return _ranking(model, answer, None)
        models.failed(model.name)
        attempts.append({"model": model.name, "error": error})
        if answer.files and (best is None or len(answer.files) > len(best.files)):
            best = _ranking(model, answer, error)
    if best is not None:
        return best
    raise RankingFailed(attempts)


def _ranking(model: NamedModel, answer: _Answer, broken_off: str | None) -> LlmRanking:
    usage = with_cost(answer.usage, model.settings.prices)
    return LlmRanking(
        answer.files, answer.named(model), answer.prompt, usage, answer.unknown, broken_off
    )


def input_tokens(models: Models, model: ModelSettings) -> int:
    """Return the limit of tokens to send to a model, so that a request stays below its cap."""
    cap = models.settings.request_tokens
    limit = model.input_tokens
    if cap is not None:
        limit = min(limit, cap - model.output_tokens)
    return max(MIN_INPUT_TOKENS, limit)


def request_for(sent: Prompt, *, json: bool = True) -> ModelRequest:
    """Return the request for a prompt."""
    return ModelRequest(
        prompts.system_prompt(json=json, compact=sent.compact),
        sent.text,
        prompts.ANSWER_SCHEMA if json else None,
        files=[candidate.path for candidate in sent.sent.values()],
        redactions=sent.redactions,
    )


async def _ask(
    models: Models, model: NamedModel, answer: _Answer, key: str, patience: float, deadline: float
) -> None:
    """Get one answer of one model: from the cache, at once, as plain text, or on a second try."""
    cached = models.cached(key)
    if cached:
        answer.usage = Usage(input_tokens=0, output_tokens=0)
        answer.answered_by = cached.answered_by
        answer.feed(model, cached.text)
        return answer.finish(model)
    try:
        await _call(models, model, answer, patience, json=True)
    except ModelError as error:
        left = deadline - asyncio.get_running_loop().time()
        wait = error.retry_after or 0.2
        if error.refused_options:
            answer.restart()
            await _call(models, model, answer, patience, json=False)
        elif (
            error.is_temporary
            and not answer.files
            and left >= RETRY_SECONDS
            and wait <= RETRY_AFTER_SECONDS
        ):
            await asyncio.sleep(wait)
            answer.restart()
            await _call(models, model, answer, patience, json=True)
        else:
            raise
    answer.finish(model)
    models.remember(key, CachedAnswer(answer.text, answer.usage, answer.answered_by))
    return None


async def _call(
    models: Models, model: NamedModel, answer: _Answer, patience: float, *, json: bool
) -> None:
    """Feed the pieces of one call to the answer. Raises ModelError, also if none comes in time."""
    pieces = models.ask(model, request_for(answer.prompt, json=json))
    try:
        piece = await wait_within(_next(pieces), patience)
        while piece is not None:
            if isinstance(piece, Usage):
                answer.usage = piece
            elif isinstance(piece, AnsweredBy):
                answer.answered_by = piece.model
            else:
                answer.feed(model, piece)
            piece = await _next(pieces)
    except asyncio.TimeoutError as error:
        raise ModelError(f"no answer within {patience:.1f} s", 504) from error
    finally:
        await pieces.aclose()  # type: ignore[attr-defined]


async def _next(pieces: AsyncIterator[str | Usage | AnsweredBy]) -> str | Usage | AnsweredBy | None:
    return await anext(pieces, None)
