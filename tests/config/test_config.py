"""Configuration: layers, invalid values, and settings that a workspace may not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import requires_posix
from winnow.config import MODELS, PREFERRED, Config, ModelSettings, Prices, merge_layer
from winnow.frontends.config_files import load


def test_the_preferred_models_match_the_design() -> None:
    assert Config().llm.preferred == PREFERRED == tuple(MODELS)
    assert PREFERRED == (
        "qwen3-coder-fireworks",
        "gpt-5-thinking-mini",
        "gpt5-mini",
        "claude-sonnet-4.5",
    )


def test_later_layers_win_value_by_value(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text(
        "[limits]\nsearch_seconds = 5\n"
        "[llm.models.ollama]\nprovider = 'openai'\nmodel = 'qwen3:8b'\n"
        "base_url = 'http://127.0.0.1:11434/v1'\ninput_tokens = 8000\n"
        "[llm.models.gpt5-mini]\nmodel = 'gpt-6-mini'\n"
    )
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "winnow.toml").write_text("[search]\nexclude = ['dist/**']\n")
    config, problems = load({"WINNOW_CONFIG": str(user)}, folder)
    assert problems == []
    assert config.limits.search_seconds == 5
    assert config.search.exclude == ("dist/**",)
    assert config.llm.models["ollama"] == ModelSettings(
        provider="openai",
        model="qwen3:8b",
        base_url="http://127.0.0.1:11434/v1",
        input_tokens=8000,
    )
    assert config.llm.models["gpt5-mini"].model == "gpt-6-mini"
    assert config.llm.models["gpt5-mini"].key_env == "OPENAI_API_KEY"


def test_an_invalid_value_is_reported_and_the_previous_one_stays() -> None:
    layer = {"limits": {"search_seconds": "long", "term_bytes": 100}, "llm": {"enabled": 1}}
    config, problems = merge_layer(Config(), layer, "settings")
    assert (config.limits.search_seconds, config.limits.term_bytes) == (10.0, 100)
    assert [problem.split(" is ")[0] for problem in problems] == [
        "settings: `limits.search_seconds`",
        "settings: `llm.enabled`",
    ]


@pytest.mark.parametrize("section", sorted({*Config.__struct_fields__} - {"search"}))
def test_a_workspace_may_only_change_harmless_settings(tmp_path: Path, section: str) -> None:
    (tmp_path / "winnow.toml").write_text(f"[{section}]\nrg = 'evil'\nenabled = false\n")
    config, problems = load({"HOME": str(tmp_path / "home")}, tmp_path)
    assert config == Config()
    assert len(problems) == 1
    assert f"`{section}` is ignored" in problems[0]


@requires_posix
def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    import os

    for make in (
        lambda file: file.write_text("not = [toml"),
        lambda file: file.write_bytes(b"\xff"),
        lambda file: file.write_text("#" * 2_000_000),
        os.mkfifo,
        lambda file: file.mkdir(),
    ):
        file = tmp_path / "winnow.toml"
        make(file)
        config, problems = load({"HOME": str(tmp_path / "home")}, tmp_path)
        assert config == Config()
        assert len(problems) == 1
        file.rmdir() if file.is_dir() else file.unlink()


def test_missing_files_are_not_reported(tmp_path: Path) -> None:
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path) == (Config(), [])


@pytest.mark.parametrize("pattern", ["a\\u0000b", "[z-a]", "x" * 2000, ""])
def test_a_workspace_cannot_break_searches_with_invalid_patterns(
    tmp_path: Path, pattern: str
) -> None:
    (tmp_path / "winnow.toml").write_text(f'[search]\nexclude = ["{pattern}"]\n')
    config, problems = load({"HOME": str(tmp_path / "home")}, tmp_path)
    assert config == Config()
    assert len(problems) == 1


def test_a_custom_model_is_merged_field_by_field() -> None:
    own = {
        "llm": {"models": {"o": {"provider": "openai", "model": "m", "base_url": "http://[::1]"}}}
    }
    config, problems = merge_layer(Config(), own, "user")
    config, more = merge_layer(config, {"llm": {"models": {"o": {"input_tokens": 9000}}}}, "editor")
    assert problems + more == []
    assert (config.llm.models["o"].model, config.llm.models["o"].input_tokens) == ("m", 9000)


def test_a_table_instead_of_a_plain_value_counts_as_one_value() -> None:
    """Found by review: each of these crashed the program."""
    prices = {"llm": {"models": {"gpt5-mini": {"prices": {"input": 1.0, "output": 2.0}}}}}
    config, problems = merge_layer(Config(), prices, "user")
    assert problems == []
    assert config.llm.models["gpt5-mini"].prices == Prices(input=1.0, output=2.0)
    for layer in ({"search": {"exclude": {"a": 1}}}, {"limits": {"term_bytes": {"b": {"c": 2}}}}):
        same, problems = merge_layer(config, layer, "workspace")
        assert same == config
        assert len(problems) == 1


@pytest.mark.parametrize(
    ("rule", "good"),
    [
        ("acme_[a-z0-9]{32}", True),
        (r"acme\\.[A-Za-z0-9+/=_-]{20,60}-v1", True),
        ("acme_[a-z0-9]{2,32}[0-9]{1,4}", False),  # two ranges
        ("(a+)+b", False),
        ("acme.*", False),
        ("[a-z]{32}", False),  # no plain characters
        ("acme_[^a]{3}", False),
        ("acme_[z-a]{3}", False),
        ("acme_[a-z]{40,2}", False),
        ("acme_[a-z]{1000}", False),
        ("acme$", False),
        ("", False),
    ],
)
def test_patterns_of_secrets_are_bounded(tmp_path: Path, rule: str, good: bool) -> None:
    """A workspace's file may add patterns, and is untrusted."""
    (tmp_path / "winnow.toml").write_text(f'[search]\nsecrets = ["{rule}"]\n')
    config, problems = load({"HOME": str(tmp_path / "home")}, tmp_path)
    assert (len(config.search.secrets), len(problems)) == ((1, 0) if good else (0, 1))
    config, problems = merge_layer(
        Config(), {"llm": {"secrets": [rule.replace("\\\\", "\\")]}}, "user"
    )
    assert (len(config.llm.secrets), len(problems)) == ((1, 0) if good else (0, 1))


def test_a_workspace_cannot_remove_patterns_or_allow_values(tmp_path: Path) -> None:
    user = tmp_path / "config.toml"
    user.write_text('[llm]\nsecrets = ["acme_[a-z0-9]{32}"]\n')
    (tmp_path / "winnow.toml").write_text(
        '[search]\nsecrets = []\nnot_secrets = ["x"]\n[llm]\nsecrets = []\nnot_secrets = ["x"]\n'
    )
    config, problems = load({"WINNOW_CONFIG": str(user)}, tmp_path)
    assert config.llm.secrets == ("acme_[a-z0-9]{32}",)
    assert config.llm.not_secrets == ()
    assert len(problems) == 2


def test_a_section_that_is_not_a_table_is_reported() -> None:
    config, problems = merge_layer(Config(), {"search": 5, "llm": {"models": 7}}, "user")
    assert config == Config()
    assert len(problems) == 2
