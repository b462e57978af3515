"""The registry of models: which are usable, in which order, and their recent failures.

The order is the design's (REQ-KWS-005): preferred names first, then the others. Keys are read from
the environment when a model is used, and never leave this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from winnow.config import LlmSettings, ModelSettings, Prices
from winnow.privacy.outbound import (
    REFUSED,
    Egress,
    RequestBlocked,
    Roots,
    destination_of,
    is_this_machine,
    no_consent,
)
from winnow.privacy.outbound.audit_log import Outcome, RequestEnd, SentRequest, now
from winnow.privacy.outbound.caps import Caps
from winnow.ranking.providers import AnsweredBy, ModelError, ModelRequest, NotSent, Provider, Usage
from winnow.ranking.providers.editor import AskEditor, EditorProvider
from winnow.ranking.tokens import estimated_tokens
from winnow.storage.paths import shown_path
from winnow.types import EDITOR_REQUEST

if TYPE_CHECKING:
    from winnow.privacy.secrets import Redacted

# Default address of each provider, and the variable with which its SDK lets a user redirect it.
OWN_ADDRESS = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
}
# Name of the editor's model, unless the settings name one of that provider.
EDITOR = "editor"
CACHED_ANSWERS = 64
CACHE_SECONDS = 600.0
TURNED_OFF = "language models are turned off (llm.enabled)"


class NamedModel(Struct, frozen=True):
    """A model with its name and address."""

    name: str
    settings: ModelSettings
    base_url: str


class CachedAnswer(Struct, frozen=True):
    """The text of a model's answer, to be parsed again for the same candidates."""

    text: str
    usage: Usage | None
    answered_by: str = ""


class Models:
    """The configured models and their state: connections, recent failures, recent answers.

    ``ask_editor`` is set if an editor offers its own model. The user chose that model, so it comes
    first. ``roots`` are the folders whose code is sent, and ``rules`` their secret patterns in
    addition to the user's.
    """

    def __init__(
        self,
        settings: LlmSettings,
        environment: Mapping[str, str],
        ask_editor: AskEditor | None = None,
        roots: Roots = tuple[Path],
        rules: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self._rules = (*settings.secrets, *rules)
        caps = Caps(
            request_tokens=settings.request_tokens,
            daily_tokens=settings.daily_tokens,
            request_usd=settings.request_usd,
            daily_usd=settings.daily_usd,
        )
        self.egress = Egress(environment, roots, caps, always=settings.consent == "always")
        self.known: Mapping[str, ModelSettings] = settings.models
        self._ask_editor = ask_editor
        if ask_editor and not any(model.provider == "editor" for model in self.known.values()):
            own = ModelSettings(provider="editor", model=EDITOR)
            self.known = {EDITOR: own, **self.known}
        self._environment = environment
        self._providers: dict[str, Provider] = {}
        self._failures: dict[str, int] = {}
        self._paused_until: dict[str, float] = {}
        self._answers: OrderedDict[str, tuple[float, CachedAnswer]] = OrderedDict()

    def names(self) -> list[str]:
        """Return every configured model, in order of preference."""
        preferred = [name for name in self.settings.preferred if name in self.known]
        others = [name for name in self.known if name not in preferred]
        offered = [name for name in others if self._ask_editor and self._is_of_editor(name)]
        return offered + preferred + [name for name in others if name not in offered]

    def usable(self, only: str = "") -> tuple[list[NamedModel], list[dict[str, str]]]:
        """Return the usable models, best first, and the problem of each other model."""
        models, unusable = [], []
        for name in [only] if only else self.names():
            problem = self.problem(name)
            if problem:
                unusable.append({"model": name, "error": problem})
            else:
                models.append(self.named(name))
        return models, unusable

    def problem(self, name: str) -> str | None:
        """Return why a model is unusable and how to fix that; None if it is usable."""
        problem = self._problem_of_settings(name)
        if problem is None:
            model = self.named(name)
            problem = self.egress.consent_problem(model.settings.provider, model.base_url)
        return problem or self._pause_problem(name)

    def _problem_of_settings(self, name: str) -> str | None:
        model = self.known.get(name)
        if not self.settings.enabled:
            return TURNED_OFF
        if model is None:
            return "no model with that name is configured"
        if model.provider == "editor":
            return None if self._ask_editor else "no editor offers a model"
        if model.key_env and not self._environment.get(model.key_env):
            return f"no key: {model.key_env} is not set"
        address = self._address(model)
        if not _is_address(address):
            return f"{address!r} is not a valid address"
        by_tls = urlsplit(address).scheme == "https"
        if not (by_tls or is_this_machine(address) or model.plain_http):
            return "the address uses plain http: use https, or set plain_http"
        return None

    def ready(self) -> list[str]:
        """Return the models that settings and environment allow; consent may be missing."""
        return [name for name in self.names() if self._problem_of_settings(name) is None]

    def destinations(self, only: str = "") -> dict[str, list[NamedModel]]:
        """Return remote models that lack at most consent, by destination."""
        found: dict[str, list[NamedModel]] = {}
        for name in [only] if only else self.names():
            if self._problem_of_settings(name) is None and not self._is_of_editor(name):
                model = self.named(name)
                if not is_this_machine(model.base_url):
                    found.setdefault(destination_of(model.base_url), []).append(model)
        return found

    def awaiting_consent(self, only: str = "") -> list[str]:
        """Return the destinations that need consent; none if the user refused."""
        egress = self.egress
        roots = egress.roots()
        if self.settings.consent == "always" or not roots or egress.consents.refused(roots):
            return []
        return [
            destination
            for destination in self.destinations(only)
            if not egress.consents.given(roots, destination)
        ]

    def how_to_consent(self, only: str = "") -> str:
        """Return why code may not be sent and how to allow it; "" if no model lacks consent."""
        if needed := self.awaiting_consent(only):
            return no_consent(needed)
        _, unusable = self.usable(only)
        return REFUSED if any(problem["error"] == REFUSED for problem in unusable) else ""

    def _pause_problem(self, name: str) -> str | None:
        if self._paused_until.get(name, 0.0) > time.monotonic():
            return f"paused after {self._failures[name]} failures in a row"
        return None

    def _is_of_editor(self, name: str) -> bool:
        return self.known[name].provider == "editor"

    def provider(self, model: NamedModel) -> Provider:
        """Return the connection to a model, opened on first use. Raises ModelError."""
        if model.settings.provider == "editor":
            return EditorProvider(model.settings, self._ask_editor or _no_editor)
        if model.name not in self._providers:
            key_env = model.settings.key_env
            key = self._environment.get(key_env) if key_env else None
            try:
                self._providers[model.name] = connect(
                    model.settings, model.base_url, key, self.settings.connect_seconds
                )
            except ImportError as error:
                raise ModelError(f"cannot import the SDK: {error}", 424) from error
        return self._providers[model.name]

    def redact(self, text: str) -> Redacted:
        """Return a text without its secrets, as a model may receive it."""
        # Not needed to start a server.
        from winnow.privacy.secrets import redact_secrets

        return redact_secrets(text, self._rules, self.settings.not_secrets)

    async def ask(
        self, model: NamedModel, request: ModelRequest
    ) -> AsyncIterator[str | Usage | AnsweredBy]:
        """Yield the pieces of a model's answer, as :meth:`Provider.stream` does: the only way to a
        model.

        Each request is logged before it is sent. Raises ModelError, and NotSent without consent, at
        a cap, or if the log cannot be written.
        """
        if problem := self.egress.consent_problem(model.settings.provider, model.base_url):
            raise NotSent(problem)
        provider = await asyncio.to_thread(self.provider, model)
        sent = self._sent(model, request)
        try:
            await asyncio.to_thread(self.egress.begin, sent)
        except RequestBlocked as error:
            raise NotSent(str(error)) from error
        pieces = provider.stream(request)
        outcome: Outcome = "broken_off"
        usage, answered_by = None, None
        try:
            async for piece in pieces:
                usage = piece if isinstance(piece, Usage) else usage
                answered_by = piece.model if isinstance(piece, AnsweredBy) else answered_by
                yield piece
            outcome = "answered"
        except ModelError as error:
            outcome = "broken_off" if error.reached else "failed"
            raise
        finally:
            try:
                # Closes the connection, which ends the generation and its cost.
                await pieces.aclose()  # type: ignore[attr-defined]
            finally:
                ended = self._ended(sent, model.settings, outcome, usage, answered_by)
                await asyncio.shield(asyncio.to_thread(self._log_end, ended))

    def _sent(self, model: NamedModel, request: ModelRequest) -> SentRequest:
        """Return the log entry of a request."""
        from winnow.privacy.secrets import redact_path

        settings = model.settings
        prices = settings.prices
        input_tokens = estimated_tokens(request.system + request.prompt)
        is_of_editor = settings.provider == "editor"
        return SentRequest(
            id=os.urandom(8).hex(),
            time=now(),
            purpose=request.purpose,
            workspace=self.egress.roots(),
            model=model.name,
            provider=settings.provider,
            destination=EDITOR if is_of_editor else destination_of(model.base_url),
            remote=is_of_editor or not is_this_machine(model.base_url),
            files=[redact_path(shown_path(path)[0], self.redact) for path in request.files],
            bytes=request.size,
            redactions=request.redactions,
            tokens=input_tokens + settings.output_tokens,
            usd=cost(prices, input_tokens, settings.output_tokens) if prices else None,
        )

    def _ended(
        self,
        sent: SentRequest,
        settings: ModelSettings,
        outcome: Outcome,
        usage: Usage | None,
        answered_by: str | None,
    ) -> RequestEnd:
        usage = with_cost(usage, settings.prices)
        return RequestEnd(
            id=sent.id,
            time=now(),
            outcome=outcome,
            answered_by=answered_by,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            cached_tokens=usage.cached_tokens if usage else None,
            usd=usage.cost_usd if usage else None,
        )

    def _log_end(self, ended: RequestEnd) -> None:
        # On failure, the request counts with its maximum cost.
        with contextlib.suppress(OSError):
            self.egress.log.end(ended)

    async def body(self, model: NamedModel, request: ModelRequest) -> bytes:
        """Return the bytes that a request would send, without sending them. Raises ModelError."""
        provider = await asyncio.to_thread(self.provider, model)
        return await provider.body(request)

    async def warm(self, model: NamedModel) -> None:
        """Import the model's SDK in a thread, while a search runs: that takes seconds."""
        await asyncio.to_thread(
            importlib.import_module, f"winnow.ranking.providers.{model.settings.provider}"
        )

    def succeeded(self, name: str) -> None:
        self._failures.pop(name, None)
        self._paused_until.pop(name, None)

    def failed(self, name: str) -> None:
        """Count a failure; several in a row pause the model."""
        self._failures[name] = self._failures.get(name, 0) + 1
        if self._failures[name] >= self.settings.failures_before_pause:
            self._paused_until[name] = time.monotonic() + self.settings.pause_seconds

    def cached(self, key: str) -> CachedAnswer | None:
        """Return a recent answer by its key."""
        when, answer = self._answers.get(key, (0.0, None))
        return answer if time.monotonic() - when < CACHE_SECONDS else None

    def remember(self, key: str, answer: CachedAnswer) -> None:
        self._answers[key] = (time.monotonic(), answer)
        self._answers.move_to_end(key)
        while len(self._answers) > CACHED_ANSWERS:
            self._answers.popitem(last=False)

    async def aclose(self) -> None:
        for provider in self._providers.values():
            await provider.aclose()
        self._providers.clear()

    def named(self, name: str) -> NamedModel:
        """Return a model by its name, usable or not."""
        model = self.known[name]
        return NamedModel(name, model, self._address(model))

    def _address(self, model: ModelSettings) -> str:
        if model.provider == "editor":
            return EDITOR_REQUEST
        variable, own = OWN_ADDRESS[model.provider]
        return model.base_url or self._environment.get(variable) or own


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or an incomplete IPv6 address
        return False


def connect(
    model: ModelSettings, base_url: str, key: str | None, connect_seconds: float
) -> Provider:
    """Return a connection to a model; importing its SDK takes one to three seconds."""
    if model.provider == "anthropic":
        from winnow.ranking.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model, base_url, key, connect_seconds)
    from winnow.ranking.providers.openai import OpenAIProvider

    return OpenAIProvider(model, base_url, key, connect_seconds)


async def _no_editor(_: Mapping[str, object]) -> object:
    raise ConnectionError("no editor offers a model")


def cost(
    prices: Prices, input_tokens: int, output_tokens: int, cached_tokens: int | None = None
) -> float:
    """Return the cost of tokens in US dollars; ``cached_tokens`` are part of the input."""
    cached = cached_tokens or 0
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    dollars = (
        (input_tokens - cached) * prices.input
        + cached * cached_price
        + output_tokens * prices.output
    ) / 1_000_000
    return round(dollars, 6)


def with_cost(usage: Usage | None, prices: Prices | None) -> Usage | None:
    """Return the usage with its cost in US dollars, if prices are configured."""
    if usage is None or prices is None:
        return usage
    dollars = cost(prices, usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    return replace(usage, cost_usd=dollars)


def cache_key(model: NamedModel, *parts: str | int) -> str:
    """Return the cache key of an answer: equal for the same model and parts of a request."""
    content = msgspec.json.encode((model.settings, model.base_url, parts))
    return hashlib.sha256(content).hexdigest()
