"""The model registry: order, keys, addresses."""

from __future__ import annotations

import msgspec
import pytest

from winnow.config import LlmSettings, ModelSettings
from winnow.ranking.models import Models


def names(environment: dict[str, str], settings: LlmSettings | None = None) -> list[str]:
    settings = msgspec.structs.replace(settings or LlmSettings(), consent="always")
    usable, _ = Models(settings, environment).usable()
    return [model.name for model in usable]


def test_the_preferred_order_does_not_depend_on_keys() -> None:
    assert names({}) == []
    assert names({"ANTHROPIC_API_KEY": "x"}) == ["claude-sonnet-4.5"]
    assert names({"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y"}) == [
        "gpt-5-thinking-mini",
        "gpt5-mini",
        "claude-sonnet-4.5",
    ]
    assert names({"ANTHROPIC_API_KEY": "x", "FIREWORKS_API_KEY": "z"})[0] == "qwen3-coder-fireworks"
    assert names({"OPENAI_API_KEY": ""}) == []


def test_other_models_come_after_the_preferred_models() -> None:
    local = ModelSettings(provider="openai", model="qwen3", base_url="http://localhost:11434/v1")
    settings = LlmSettings(models={"ollama": local, **LlmSettings().models})
    assert names({}, settings) == ["ollama"]
    assert names({"OPENAI_API_KEY": "x"}, settings)[-1] == "ollama"
    first = msgspec.structs.replace(settings, preferred=("ollama",))
    assert names({"OPENAI_API_KEY": "x"}, first)[0] == "ollama"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://models.example/v1", None),
        ("HTTPS://Models.Example/v1", None),
        ("http://127.0.0.1:8080/v1", None),
        ("http://[::1]:8080/v1", None),
        ("http://localhost:11434/v1", None),
        ("http://127.1.2.3:8080/v1", None),
        ("http://localhost.models.example/v1", "plain http"),
        ("http://127.0.0.1@models.example/v1", "plain http"),
        ("http://0.0.0.0:8080/v1", "plain http"),
        ("http://192.168.0.7:8000/v1", "plain http"),
        ("http://models.example/v1", "plain http"),
        ("ftp://models.example", "is not a valid address"),
        ("models.example/v1", "is not a valid address"),
        ("https://models.example:99999/v1", "is not a valid address"),
        ("https://[::1/v1", "is not a valid address"),
        ("https:///v1", "is not a valid address"),
    ],
)
def test_code_is_not_sent_over_plain_http(address: str, problem: str | None) -> None:
    model = ModelSettings(provider="openai", model="m", base_url=address)
    said = Models(LlmSettings(models={"m": model}, consent="always"), {}).problem("m")
    assert (said is None) if problem is None else (problem in (said or ""))
    allowed = msgspec.structs.replace(model, plain_http=True)
    if problem == "plain http":
        assert Models(LlmSettings(models={"m": allowed}, consent="always"), {}).problem("m") is None


def test_models_can_be_disabled() -> None:
    models = Models(LlmSettings(enabled=False), {"OPENAI_API_KEY": "x"})
    assert models.usable()[0] == []
    assert "turned off" in (models.problem("gpt5-mini") or "")


def test_a_redirected_provider_is_called_at_the_new_address() -> None:
    environment = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "https://gateway.example/v1"}
    assert (
        Models(LlmSettings(), environment).named("gpt5-mini").base_url
        == "https://gateway.example/v1"
    )
    assert (
        Models(LlmSettings(), {}).named("claude-sonnet-4.5").base_url == "https://api.anthropic.com"
    )


def test_keys_are_not_in_any_repr() -> None:
    models = Models(LlmSettings(), {"OPENAI_API_KEY": "sk-very-secret"})
    usable, unusable = models.usable()
    assert "sk-very-secret" not in f"{models!r} {models.settings!r} {usable!r} {unusable!r}"
