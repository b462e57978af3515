"""The registry of models: which can be used, in which order, and what was learnt of each.

The order is the design's (REQ-KWS-005): the preferred names first, then any other. Keys are read
from the environment when a model is used, and stay in here.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from winnow.config import Llm, Model
from winnow.ranking.providers import ModelError, Provider, connect
from winnow.ranking.providers.editor import COMPLETE, AskEditor, EditorProvider
from winnow.types.keyword_search import Usage

# Where a provider's own models are, and the variable by which its SDK lets a user redirect them.
OWN_ADDRESS = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
}
# The name of the model that the editor offers, unless the settings have one of that provider.
EDITOR = "editor"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CACHED_ANSWERS = 64
CACHE_SECONDS = 600.0


class NamedModel(Struct, frozen=True):
    """A model that can be used now."""

    name: str
    settings: Model
    base_url: str


class CachedAnswer(Struct, frozen=True):
    """An answer that a model gave: as text, to be read again against the same candidates."""

    text: str
    usage: Usage | None
    answered_by: str = ""


class Models:
    """The configured models and their state: connections, recent failures, recent answers.

    ``ask_editor`` is there if an editor offers its own model, which is then the first to ask:
    somebody has chosen that.
    """

    def __init__(
        self, settings: Llm, environment: Mapping[str, str], ask_editor: AskEditor | None = None
    ) -> None:
        self.settings = settings
        self.known: Mapping[str, Model] = settings.models
        self._ask_editor = ask_editor
        if ask_editor and not any(one.provider == "editor" for one in self.known.values()):
            own = Model(provider="editor", model=EDITOR)
            self.known = {EDITOR: own, **self.known}
        self._environment = environment
        self._providers: dict[str, Provider] = {}
        self._failures: dict[str, int] = {}
        self._paused_until: dict[str, float] = {}
        self._answers: OrderedDict[str, tuple[float, CachedAnswer]] = OrderedDict()

    def names(self) -> list[str]:
        """Every configured model, in the order of preference."""
        preferred = [name for name in self.settings.preferred if name in self.known]
        others = [name for name in self.known if name not in preferred]
        offered = [name for name in others if self._ask_editor and self._is_editors(name)]
        return offered + preferred + [name for name in others if name not in offered]

    def usable(self, only: str = "") -> tuple[list[NamedModel], list[dict[str, str]]]:
        """The models that can be used, best first, and why each other one cannot."""
        models, unusable = [], []
        for name in [only] if only else self.names():
            problem = self.problem(name)
            if problem:
                unusable.append({"model": name, "error": problem})
            else:
                models.append(self._named(name))
        return models, unusable

    def problem(self, name: str) -> str | None:
        """Why the model cannot be used, in words that say what would help."""
        model = self.known.get(name)
        if not self.settings.enabled:
            return "language models are turned off (llm.enabled)"
        if model is None:
            return "no model of that name is configured"
        if model.provider == "editor":
            return self._left_alone(name) if self._ask_editor else "no editor offers its model"
        if model.key_env and not self._environment.get(model.key_env):
            return f"no key: {model.key_env} is not set"
        address = urlsplit(self._address(model))
        safe = address.scheme == "https" or address.hostname in LOOPBACK or model.plain_http
        if address.scheme not in ("http", "https") or not address.hostname:
            return f"{self._address(model)!r} is not an address"
        if not safe:
            return "its address is plain http: use https, or set plain_http"
        return self._left_alone(name)

    def _left_alone(self, name: str) -> str | None:
        if self._paused_until.get(name, 0.0) > time.monotonic():
            return f"left alone for a while after {self._failures[name]} failures in a row"
        return None

    def _is_editors(self, name: str) -> bool:
        return self.known[name].provider == "editor"

    def endpoint(self, name: str) -> str:
        """The address that a model of this name is asked at."""
        return self._address(self.known[name])

    def provider(self, model: NamedModel) -> Provider:
        """The connection to a model, made at its first use. Raises ModelError."""
        if self._ask_editor and model.settings.provider == "editor":
            return EditorProvider(model.settings, self._ask_editor)
        if model.name not in self._providers:
            key_env = model.settings.key_env
            key = self._environment.get(key_env) if key_env else None
            try:
                self._providers[model.name] = connect(
                    model.settings, model.base_url, key, self.settings.connect_seconds
                )
            except ImportError as error:
                raise ModelError(f"its SDK cannot be imported: {error}", 424) from error
        return self._providers[model.name]

    async def warm(self, model: NamedModel) -> None:
        """Import the model's SDK in a thread: it takes seconds that a search can use."""
        await asyncio.to_thread(
            importlib.import_module, f"winnow.ranking.providers.{model.settings.provider}"
        )

    def succeeded(self, name: str) -> None:
        self._failures.pop(name, None)
        self._paused_until.pop(name, None)

    def failed(self, name: str) -> None:
        """Count a failure; after some in a row the model is left alone for a while."""
        self._failures[name] = self._failures.get(name, 0) + 1
        if self._failures[name] >= self.settings.failures_before_pause:
            self._paused_until[name] = time.monotonic() + self.settings.pause_seconds

    def cached(self, key: str) -> CachedAnswer | None:
        """The answer that was remembered under a key, while it is fresh."""
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

    def _named(self, name: str) -> NamedModel:
        model = self.known[name]
        return NamedModel(name, model, self._address(model))

    def _address(self, model: Model) -> str:
        if model.provider == "editor":
            return COMPLETE
        variable, own = OWN_ADDRESS[model.provider]
        return model.base_url or self._environment.get(variable) or own


def cache_key(model: NamedModel, *parts: str | int) -> str:
    """The key of an answer: equal for the same model and the same parts of a request."""
    content = msgspec.json.encode((model.settings, model.base_url, parts))
    return hashlib.sha256(content).hexdigest()
