"""Outbound requests: consent, spending caps, and the log."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audited import ended, sent
from commands import command
from conftest import (
    FAKE_KEY,
    MakeWorkspace,
    Recorder,
    child_environment,
    models_config,
    requires_posix,
    write_files,
)
from model_server import ModelServer
from planted import Draw
from winnow.config import Config, LlmSettings, ModelSettings, Prices, merge_layer
from winnow.errors import InvalidParams, LlmFailed, NoLlmAvailable, StateUnavailable
from winnow.privacy.outbound import audit_log, destination_of, is_this_machine, no_consent
from winnow.privacy.outbound.audit_log import AuditLog, DayUse
from winnow.privacy.outbound.consent import Consents
from winnow.ranking.models import Models, cost
from winnow.ranking.providers import ModelError, ModelRequest
from winnow.ranking.providers.editor import EditorProvider
from winnow.storage.user_folders import state_folder
from winnow.tools import TOOLS
from winnow.tools.audit import AuditResult
from winnow.tools.consent import ConsentResult
from winnow.tools.keyword_search import KeywordSearchResult
from winnow.workspace import EngineWorkspace

KEYS = {"FAKE_API_KEY": FAKE_KEY}
PROVIDERS = ["openai-test", "anthropic-test"]


async def search(workspace: EngineWorkspace, *terms: str, **params: Any) -> KeywordSearchResult:
    raw = {"query": "how are plugins loaded", "search_terms": list(terms), **params}
    result: KeywordSearchResult = await TOOLS["keyword_search"].call(workspace, raw, Recorder())
    return result


async def read(workspace: EngineWorkspace, **params: Any) -> AuditResult:
    result: AuditResult = await TOOLS["audit"].call(workspace, params, Recorder())
    return result


async def decide(workspace: EngineWorkspace, action: str = "show", **params: Any) -> ConsentResult:
    raw = {"action": action, **params}
    result: ConsentResult = await TOOLS["consent"].call(workspace, raw, Recorder())
    return result


def remote_config(server: ModelServer, *names: str, **llm: Any) -> Config:
    """Return a configuration with models that appear to be remote, over plain HTTP."""
    config = models_config(server, *(names or ("openai-test",)), **llm)
    models = {
        name: msgspec.structs.replace(model, plain_http=True)
        for name, model in config.llm.models.items()
    }
    return msgspec.structs.replace(config, llm=msgspec.structs.replace(config.llm, models=models))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the model server count as another machine."""
    import winnow.ranking.providers.http  # noqa: F401 (it is to keep what is not patched)

    for module in ("winnow.privacy.outbound", "winnow.ranking.models"):
        monkeypatch.setattr(f"{module}.is_this_machine", lambda address: False)


# --- the log -------------------------------------------------------------------------------


async def test_a_token_in_a_file_name_is_neither_sent_nor_logged(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, user_state: Path
) -> None:
    """#21: H7."""
    token = "gh" + "p_" + Draw(4).of("abcdefghijkABCDEFGH123456789", 36)
    password = Draw(5).of("abcdefghjkmnpqrst23456789", 20)
    names = {f"src/{token}.py", f"src/password={password}/a.py"}
    write_files(project, dict.fromkeys(names, "def load_plugin_in_odd_file(): ...\n"))
    config = models_config(model_server, PROVIDERS[0])
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert names <= {file.path for file in [*result.files, *(result.not_chosen or ())]}
    for text in ((user_state / "audit.jsonl").read_text(), json.dumps(model_server.requests)):
        assert token not in text
        assert password not in text
    [request] = (await read(workspace)).requests
    assert {"src/[REDACTED:github-token].py", "src/password=[REDACTED:password]/a.py"} <= set(
        request.files
    )


@pytest.mark.parametrize("model", PROVIDERS)
async def test_a_request_is_logged_before_it_is_sent_without_contents_or_keys(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    user_state: Path,
    model: str,
) -> None:
    password = Draw(1).of("abcdefghjkmnpqrst23456789", 20)
    write_files(project, {"src/settings.py": f'load_plugin_password = "{password}"\n'})
    seen: list[str] = []

    def choose(files: dict[str, str]) -> list[dict[str, str]]:
        seen.append((user_state / "audit.jsonl").read_text())
        return [{"id": "f01", "lines": "1", "reason": "it is the one"}]

    model_server.choose = choose
    config = models_config(model_server, model)
    workspace = make_workspace(project, config=config, environment=KEYS)
    await search(workspace, "load_plugin")
    [before] = seen
    assert json.loads(before)["event"] == "sent"
    result = await read(workspace)
    [request] = result.requests
    assert (request.model, request.provider) == (model, model.partition("-")[0])
    assert (request.destination, request.remote) == (model_server.address, False)
    assert (request.purpose, request.workspace) == ("keyword_search", [str(project)])
    assert set(request.files) == {
        "src/loader.py",
        "src/main.py",
        "src/settings.py",
        "tests/test_loader.py",
    }
    assert request.redactions == {"password": 1}
    assert (request.input_tokens, request.output_tokens, request.tokens) == (1000, 50, 1050)
    assert request.outcome == "answered"
    [body] = model_server.requests
    system = body.get("system") or body["messages"][0]["content"]
    assert request.bytes == len((system + body["messages"][-1]["content"]).encode())
    text = (user_state / "audit.jsonl").read_text()
    for secret in (FAKE_KEY, password, "how are plugins loaded", "self.load_plugin", "the one"):
        assert secret not in text
    if os.name == "posix":
        assert (user_state / "audit.jsonl").stat().st_mode & 0o077 == 0
        assert user_state.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("mode", "outcomes"),
    [
        ("cut", ["broken_off"]),
        ("length", ["broken_off"]),
        ("unauthorized", ["failed"]),
        (["no_schema", "no_schema"], ["answered", "failed"]),
    ],
)
async def test_the_outcome_of_a_request_is_logged(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    mode: Any,
    outcomes: list[str],
) -> None:
    model_server.mode = mode
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    await search(workspace, "load_plugin")
    result = await read(workspace)
    assert [request.outcome for request in result.requests] == outcomes
    for request in result.requests:
        assert (request.tokens == 0) == (request.outcome == "failed")


async def test_searches_that_send_nothing_are_not_logged(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, user_state: Path
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    await search(workspace, "load_plugin", ranker="local")
    await search(workspace, "load_plugin", dry_run=True)
    await search(workspace, "no such thing")
    assert not user_state.exists()
    assert (await read(workspace)).requests == []
    await search(workspace, "load_plugin")
    await search(workspace, "load_plugin")  # answered from memory
    assert (await read(workspace)).total_found == 1


def no_check(used: DayUse) -> None:
    pass


WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from audited import ended, sent
from winnow.privacy.outbound.audit_log import AuditLog

class Full(Exception): pass

def check(used):
    if used.tokens + 100 > int(sys.argv[3]):
        raise Full

log, first = AuditLog(Path(sys.argv[1])), int(sys.argv[2])
for number in range(first, first + 40):
    try:
        log.begin(sent(number), check, needs_use=True)
    except Full:
        continue
    log.end(ended(number, input_tokens=60, output_tokens=40))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("cap", "requests"), [(1_000_000, 160), (2_500, 25)])
def test_many_processes_can_write_one_log_and_share_a_cap(
    tmp_path: Path, cap: int, requests: int
) -> None:
    here = str(Path(__file__).parent.parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(first), str(cap), here],
            env=child_environment(tmp_path),
        )
        for first in range(0, 160, 40)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    log = AuditLog(tmp_path).read()
    assert (len(log.requests), log.unreadable) == (requests, 0)
    assert all(request.ended for request in log.requests)
    assert AuditLog(tmp_path).used_on("2026-01-02") == DayUse(
        "2026-01-02", requests, 100 * requests, 0.0
    )


def test_full_log_files_are_rotated_and_the_oldest_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "FILE_BYTES", 2_000)
    log = AuditLog(tmp_path)
    for number in range(100):
        log.begin(sent(number), no_check, needs_use=False)
    files = sorted(tmp_path.glob("*.jsonl"))
    assert [file.name for file in files] == [
        *(f"audit.{number}.jsonl" for number in range(1, 5)),
        "audit.jsonl",
    ]
    assert all(file.stat().st_size <= 2_000 for file in files)
    numbers = [int(request.sent.id) for request in log.read().requests]
    assert numbers == list(range(numbers[0], 100))
    assert 20 < len(numbers) < 50
    # A day is counted over all files with its requests.
    assert log.used_on("2026-01-02").requests == len(numbers)


def test_a_truncated_line_is_counted_and_spoils_no_other(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.begin(sent(1), no_check, needs_use=False)
    file = tmp_path / "audit.jsonl"
    file.write_bytes(file.read_bytes() + b'{"event":"sent","id":"00\xff')
    log.begin(sent(2), no_check, needs_use=False)
    found = log.read()
    assert ([request.sent.id for request in found.requests], found.unreadable) == (
        ["0001", "0002"],
        1,
    )


def test_a_day_counts_reported_usage_or_else_the_maximum(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for number, end in enumerate(
        [
            None,  # killed
            ended(1, "broken_off"),
            ended(2, "failed"),
            ended(3, input_tokens=7, output_tokens=2, usd=0.25),
            ended(4),
        ]
    ):
        log.begin(sent(number, usd=1.0), no_check, needs_use=False)
        if end:
            log.end(end)
    log.begin(sent(5, day="2026-01-03"), no_check, needs_use=False)
    log.begin(sent(6, remote=False), no_check, needs_use=False)
    assert log.used_on("2026-01-02") == DayUse("2026-01-02", 5, 309, 3.25)


@requires_posix
async def test_nothing_is_sent_if_the_log_cannot_be_written(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    user_state: Path,
    request: pytest.FixtureRequest,
) -> None:
    user_state.parent.mkdir(parents=True)
    user_state.write_text("a file, where the folder would be")
    local = models_config(model_server, "openai-test")
    result = await search(make_workspace(project, config=local, environment=KEYS), "load_plugin")
    assert result.ranked_by.kind == "llm"
    request.getfixturevalue("elsewhere")
    remote = remote_config(model_server, consent="always")
    workspace = make_workspace(project, config=remote, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert result.ranked_by.kind == "local"
    assert "cannot write the log of requests" in (result.ranked_by.fallback_reason or "")
    assert len(model_server.requests) == 1
    with pytest.raises(StateUnavailable):
        await read(workspace)
    with pytest.raises(StateUnavailable):
        await decide(workspace, "give")


# --- consent -------------------------------------------------------------------------------


async def test_code_is_sent_only_with_consent(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, elsewhere: None
) -> None:
    config = remote_config(model_server)
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert model_server.requests == []
    assert result.ranked_by.kind == "local"
    assert result.ranked_by.fallback_reason == no_consent([model_server.address])
    assert result.ranked_by.needs_consent == [model_server.address]
    with pytest.raises(NoLlmAvailable, match="winnow consent give") as needed:
        await search(workspace, "load_plugin", ranker="llm")
    assert needed.value.data["needs_consent"] == [model_server.address]
    shown = await decide(workspace)
    assert [(row.destination, row.models, row.state) for row in shown.destinations] == [
        (model_server.address, ["openai-test"], "needed")
    ]
    await decide(workspace, "give", destinations=result.ranked_by.needs_consent)
    # Other processes see the consent at once, and so do existing workspaces.
    for user in (workspace, make_workspace(project, config=config, environment=KEYS)):
        assert (await search(user, "load_plugin")).ranked_by.kind == "llm"
    [first, _] = (await read(workspace)).requests
    assert first.remote
    await decide(workspace, "withdraw")
    other = await search(workspace, "registry")
    assert other.ranked_by.needs_consent == [model_server.address]


async def test_a_user_who_refused_is_not_asked_again(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, elsewhere: None
) -> None:
    workspace = make_workspace(project, config=remote_config(model_server), environment=KEYS)
    shown = await decide(workspace, "refuse")
    assert [row.state for row in shown.destinations] == ["refused"]
    by = (await search(workspace, "load_plugin")).ranked_by
    assert (by.kind, by.needs_consent) == ("local", None)
    assert "you refused to send code" in (by.fallback_reason or "")
    with pytest.raises(NoLlmAvailable, match="you refused to send code"):
        await search(workspace, "load_plugin", ranker="llm")
    assert model_server.requests == []
    await decide(workspace, "give")
    assert (await search(workspace, "load_plugin")).ranked_by.kind == "llm"


async def test_consent_covers_one_workspace_and_one_destination(
    make_workspace: MakeWorkspace,
    project: Path,
    tmp_path: Path,
    model_server: ModelServer,
    elsewhere: None,
) -> None:
    config = remote_config(model_server)
    workspace = make_workspace(project, config=config, environment=KEYS)
    await decide(workspace, "give")
    other = write_files(tmp_path / "other", {"a.py": "load_plugin = 1\n"})
    both = make_workspace(project, other, config=config, environment=KEYS)
    for user in (make_workspace(other, config=config, environment=KEYS), both):
        assert (await search(user, "load_plugin")).ranked_by.needs_consent
    second = ModelServer()
    try:
        moved = make_workspace(project, config=remote_config(second), environment=KEYS)
        assert (await search(moved, "load_plugin")).ranked_by.needs_consent == [second.address]
        states = {row.destination: row.state for row in (await decide(moved)).destinations}
        assert states == {second.address: "needed", model_server.address: "given"}
        assert (second.requests, model_server.requests) == ([], [])
    finally:
        second.stop()


async def test_consent_requires_the_destination_of_a_configured_model(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, elsewhere: None
) -> None:
    workspace = make_workspace(project, config=remote_config(model_server), environment=KEYS)
    with pytest.raises(InvalidParams, match="no usable model is at"):
        await decide(workspace, "give", destinations=["https://evil.example"])
    assert [row.state for row in (await decide(workspace)).destinations] == ["needed"]


async def test_disabled_models_are_the_reason_for_sending_nothing(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, elsewhere: None
) -> None:
    config = remote_config(model_server, enabled=False)
    workspace = make_workspace(project, config=config, environment=KEYS)
    said = (await decide(workspace)).warnings
    assert said == ["language models are turned off (llm.enabled): nothing is sent"]
    with pytest.raises(InvalidParams, match="turned off"):
        await decide(workspace, "give", destinations=["https://evil.example"])


async def test_a_local_model_needs_no_consent_and_ends_the_questions(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    far = ModelSettings(
        provider="openai", model="m", base_url="https://m.example/v1", key_env="FAKE_API_KEY"
    )
    llm = msgspec.structs.replace(
        config.llm, models={"far": far, **config.llm.models}, preferred=("far", "openai-test")
    )
    config = msgspec.structs.replace(config, llm=llm)
    workspace = make_workspace(project, config=config, environment=KEYS)
    by = (await search(workspace, "load_plugin")).ranked_by
    assert (by.kind, by.model, by.needs_consent) == ("llm", "openai-test", None)


async def test_files_of_a_workspace_cannot_give_consent(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    said = {str(project): {"given": {"https://api.openai.com": "2026-01-01T00:00:00.000Z"}}}
    for name in ("consent.json", ".winnow/consent.json", ".local/state/winnow/consent.json"):
        write_files(project, {name: json.dumps(said)})
    (project / "winnow.toml").write_text('[llm]\nconsent = "always"\n')
    from winnow.frontends.config_files import load

    config, problems = load({"HOME": str(project.parent / "home")}, project)
    assert len(problems) == 1
    assert "`llm` is ignored" in problems[0]
    workspace = make_workspace(project, config=config, environment={"OPENAI_API_KEY": FAKE_KEY})
    by = (await search(workspace, "load_plugin")).ranked_by
    assert by.needs_consent == ["https://api.openai.com"]
    assert by.fallback_reason == no_consent(["https://api.openai.com"])


def test_a_damaged_consent_file_gives_no_consent_and_can_be_replaced(tmp_path: Path) -> None:
    consents = Consents(tmp_path / "winnow")
    consents.give(["/a"], ["https://x"])
    assert consents.given(["/a"], "https://x")
    file = tmp_path / "winnow/consent.json"
    for damaged in ("", "[]", '{"/a": {"given": ["https://x"]}}', "\0"):
        file.write_text(damaged)
        assert not consents.given(["/a"], "https://x")
    consents.give(["/b"], ["https://x"])
    assert consents.given(["/b"], "https://x")
    assert [file.name for file in (tmp_path / "winnow").iterdir() if "new" in file.name] == []


def command_line(folder: Path, *arguments: str, home: Path, **variables: str) -> str:
    done = command(folder, *arguments, environment=child_environment(home, **variables))
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.slow
def test_consent_at_the_command_line(project: Path) -> None:
    key: dict[str, Any] = {"OPENAI_API_KEY": FAKE_KEY, "home": project.parent / "home"}
    asked = ("keyword-search", "how are plugins loaded", "load_plugin")
    assert "run `winnow consent give` there" in command_line(project, *asked, **key)
    assert "allow it with `winnow consent give`" in command_line(project, "consent", **key)
    assert "you have consented" in command_line(project / "src", "consent", "give", **key)
    doctor = command_line(project, "doctor", **key)
    assert "ok ranking: by gpt-5-thinking-mini" in doctor
    assert "you have refused" in command_line(project, "consent", "refuse", **key)
    assert "you refused to send code" in command_line(project, *asked, **key)
    assert "nothing is sent" in command_line(project, "consent", "withdraw", **key)
    assert "No request was made to any model." in command_line(project, "audit", **key)


@pytest.mark.process
async def test_the_option_yes_is_consent_for_one_call(
    project: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, elsewhere: None
) -> None:
    from winnow.frontends.cli import main

    settings = project.parent / "config.toml"
    settings.write_text(
        "[llm]\npreferred = ['mine']\n[llm.models.mine]\nprovider = 'openai'\nmodel = 'm'\n"
        f"base_url = '{model_server.address}/v1'\nplain_http = true\n"
    )
    monkeypatch.setenv("WINNOW_CONFIG", str(settings))
    monkeypatch.chdir(project)
    asked = ["keyword-search", "how are plugins loaded", "load_plugin"]
    for arguments, requests in ((asked, 0), ([*asked, "--yes"], 1), (asked, 1)):
        thread = threading.Thread(target=main.main, args=(arguments,))  # main starts an event loop
        thread.start()
        thread.join()
        assert len(model_server.requests) == requests


# --- caps ----------------------------------------------------------------------------------

PRICES = Prices(input=1.0, output=10.0)


def priced(config: Config, prices: Prices | None = PRICES) -> Config:
    models = {
        name: msgspec.structs.replace(model, prices=prices)
        for name, model in config.llm.models.items()
    }
    return msgspec.structs.replace(config, llm=msgspec.structs.replace(config.llm, models=models))


@pytest.mark.parametrize(
    ("cap", "prices", "reason"),
    [
        ({"daily_tokens": 3_200}, None, "`llm.daily_tokens` is 3,200, and"),
        ({"daily_usd": 0.017}, PRICES, "`llm.daily_usd` is $0.02, and"),
        ({"daily_usd": 5.0}, None, "the model has no prices in the settings"),
        ({"request_usd": 0.001}, PRICES, "`llm.request_usd` is $0.0010"),
        ({"request_usd": 0.001}, None, "the model has no prices in the settings"),
    ],
)
async def test_at_a_cap_the_local_ranker_answers_with_the_reason(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    elsewhere: None,
    cap: dict[str, Any],
    prices: Prices | None,
    reason: str,
) -> None:
    config = priced(remote_config(model_server, consent="always", **cap), prices)
    made = 1 if next(iter(cap)).startswith("daily") and "prices" not in reason else 0
    for number, term in enumerate(["load_plugin", "registry", "names"]):
        # A new workspace each time: the day's use includes all processes.
        workspace = make_workspace(project, config=config, environment=KEYS)
        result = await search(workspace, term)
        assert result.files
        assert result.ranked_by.kind == ("llm" if number < made else "local")
        assert len(model_server.requests) == made or number < made
        if number >= made:
            assert reason in (result.ranked_by.fallback_reason or "")
    with pytest.raises(LlmFailed, match=re.escape(reason)):
        await search(workspace, "load_plugin", ranker="llm")
    # This is not a failure of the model, which would pause it after the cap is raised.
    assert workspace.models.problem("openai-test") is None
    today = (await read(workspace)).today
    assert today.requests == made


async def test_a_cap_on_a_request_shortens_the_prompt(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    user_state: Path,
    elsewhere: None,
) -> None:
    for number in range(60):
        (project / f"src/many{number}.py").write_text(f"# {'x ' * 40}\n" * 12 + "load_plugin\n")
    config = remote_config(model_server, consent="always", request_tokens=4_000)
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert result.ranked_by.kind == "llm"
    assert "more did not fit its input" in result.warnings[0]
    [request] = (
        audit_log.AuditLog(state_folder({"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}))
        .read()
        .requests
    )
    assert 2_500 < request.sent.tokens <= 4_000


async def test_daily_caps_do_not_apply_to_local_models(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test", daily_tokens=1, daily_usd=0.01)
    workspace = make_workspace(project, config=config, environment=KEYS)
    assert (await search(workspace, "load_plugin")).ranked_by.kind == "llm"
    assert (await read(workspace)).today.requests == 0


def test_cost_of_tokens() -> None:
    assert cost(PRICES, 1_000_000, 100_000) == 2.0
    cached = msgspec.structs.replace(PRICES, cached_input=0.1)
    assert cost(cached, 1_000_000, 0, 500_000) == 0.55


# --- contents --------------------------------------------------------------------------------


async def test_secrets_by_rules_of_user_and_workspace_are_not_sent(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    draw = Draw(3)
    users, projects = ("ac" + f"m{name}_" + draw.of("abcdef0123456789", 32) for name in "ab")
    write_files(project, {"src/keys.py": f"load_plugin('{users}', '{projects}')\n"})
    layer = {"search": {"secrets": ["acmb_[a-f0-9]{32}"]}}
    config, problems = merge_layer(
        models_config(model_server, "openai-test", secrets=["acma_[a-f0-9]{32}"]), layer, "x"
    )
    assert problems == []
    workspace = make_workspace(project, environment=KEYS)
    workspace.reconfigure(config)
    result = await search(workspace, "load_plugin")
    [body] = model_server.bodies
    assert users.encode() not in body
    assert projects.encode() not in body
    assert result.redactions == {"added-rule": 2}


# --- where it goes -------------------------------------------------------------------------


@pytest.mark.parametrize("model", PROVIDERS)
async def test_a_dry_run_shows_the_exact_bytes_of_the_request(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, model: str
) -> None:
    write_files(project, {"src/odd.py": 'load_plugin = "ä\\u2028\\" \U0001f600"\n'})
    config = models_config(model_server, model)
    workspace = make_workspace(project, config=config, environment=KEYS)
    dry = await search(workspace, "load_plugin", "registry", dry_run=True)
    assert model_server.bodies == []
    await search(workspace, "load_plugin", "registry")
    assert dry.payload is not None
    assert [(dry.payload.body or "").encode()] == model_server.bodies
    assert json.dumps(dry.payload.prompt, ensure_ascii=False)[1:-1] in (dry.payload.body or "")
    assert FAKE_KEY not in (dry.payload.body or "")


async def test_a_dry_run_shows_the_request_to_the_editor() -> None:
    asked: list[Any] = []

    async def ask(params: Any) -> object:
        asked.append(params)
        return {"text": "{}"}

    provider = EditorProvider(ModelSettings(provider="editor", model="m"), ask)
    request = ModelRequest("system", "prompt ä", None)
    body = await provider.body(request)
    assert asked == []
    assert [piece async for piece in provider.stream(request)] == ["{}"]
    assert [json.loads(body)] == asked


@pytest.fixture
def trap() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server that must not be reached, and the requests that reached it."""
    reached: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reached.append(self.path)
            self.send_response(500)
            self.end_headers()

        do_CONNECT = do_POST  # noqa: N815 (the name that http.server looks for)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", reached
        server.shutdown()


@pytest.mark.parametrize("model", PROVIDERS)
async def test_requests_to_this_machine_bypass_the_proxy(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    trap: tuple[str, list[str]],
    model: str,
) -> None:
    address, reached = trap
    for name, upper in itertools.product(("http", "https", "all"), (False, True)):
        variable = f"{name}_proxy"
        monkeypatch.setenv(variable.upper() if upper else variable, address)
    config = models_config(model_server, model)
    workspace = make_workspace(project, config=config, environment=KEYS)
    await search(workspace, "load_plugin", dry_run=True)
    assert (reached, model_server.requests) == ([], [])
    result = await search(workspace, "load_plugin")
    assert (result.ranked_by.kind, result.ranked_by.fallback_reason) == ("llm", None)
    assert (reached, len(model_server.requests)) == ([], 1)


@pytest.mark.parametrize("model", PROVIDERS)
async def test_redirects_are_not_followed(
    make_workspace: MakeWorkspace,
    project: Path,
    model_server: ModelServer,
    trap: tuple[str, list[str]],
    model: str,
) -> None:
    address, reached = trap
    model_server.redirect = f"{address}/v1/elsewhere"
    model_server.mode = "redirect"
    config = models_config(model_server, model)
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert reached == []
    assert "HTTP 307" in (result.ranked_by.fallback_reason or "")


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("https://localhost", True),
        ("http://[::1]:1", True),
        ("http://127.9.9.9", True),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1@evil.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://0.0.0.0", False),
        ("http://192.168.1.1", False),
        ("http://[::ffff:8.8.8.8]", False),
        ("", False),
        ("editor", False),
    ],
)
def test_addresses_of_this_machine_are_recognized(address: str, here: bool) -> None:
    assert is_this_machine(address) is here


def test_a_destination_contains_no_secret() -> None:
    assert destination_of("https://user:pa55@Models.Example:8443/v1?key=x#y") == (
        "https://models.example:8443"
    )
    assert destination_of("http://[::1]:80/v1") == "http://[::1]:80"


def test_the_user_state_folder_follows_the_platform(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("Linux has a variable for it")
    home = {"HOME": str(tmp_path)}
    assert state_folder(home) == tmp_path / ".local/state/winnow"
    assert state_folder({**home, "XDG_STATE_HOME": "/x"}) == Path("/x/winnow")
    assert state_folder({**home, "XDG_STATE_HOME": "in/the/workspace"}) == (
        tmp_path / ".local/state/winnow"
    )


def test_caps_and_consent_can_only_be_set_by_the_user() -> None:
    config, problems = merge_layer(
        Config(), {"llm": {"daily_tokens": 5, "consent": "never", "request_tokens": 10}}, "x"
    )
    assert config.llm == msgspec.structs.replace(LlmSettings(), daily_tokens=5)
    assert len(problems) == 2


async def test_consent_is_checked_again_at_the_request(
    model_server: ModelServer, elsewhere: None
) -> None:
    """A model that was usable a moment ago may have lost its consent."""
    models = Models(remote_config(model_server).llm, KEYS)
    with pytest.raises(ModelError, match="not consented"):
        async for _ in models.ask(models.named("openai-test"), ModelRequest("s", "p", None)):
            pass
    assert model_server.requests == []
