"""Keyword search as a coroutine: the requirements one by one, and what can go wrong."""

from __future__ import annotations

import asyncio
import stat
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import msgspec
import pytest

from conftest import (
    FAKE_KEY,
    RIPGREP,
    MakeWorkspace,
    Recorder,
    git_init,
    models_config,
    requires_permissions,
    requires_posix,
    with_limits,
    write_files,
)
from model_server import ModelServer
from planted import Draw, all_planted, private_key
from unending_ripgrep import UNENDING, unending_ripgrep
from winnow.config import Config, merge_layer
from winnow.errors import (
    EmptyQuery,
    InvalidParams,
    InvalidPattern,
    LlmFailed,
    NoLlmAvailable,
    ProgramNotInstalled,
    SearchFailed,
    SearchTimedOut,
    TermsTooBroad,
)
from winnow.search.answer.ranked_by import RankedBy
from winnow.search.keyword import terms
from winnow.search.keyword.search import TOO_BROAD
from winnow.tools import TOOLS
from winnow.tools.keyword_search import KeywordSearchPartial, KeywordSearchResult
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["keyword_search"]
KEYS = {"FAKE_API_KEY": FAKE_KEY}


async def search(
    workspace: EngineWorkspace, *terms: str, recorder: Recorder | None = None, **params: Any
) -> KeywordSearchResult:
    raw = {"query": "how are plugins loaded", "search_terms": list(terms), **params}
    result: KeywordSearchResult = await TOOL.call(workspace, raw, recorder or Recorder())
    return result


def paths(result: KeywordSearchResult) -> list[str]:
    return [file.path for file in result.files]


def statuses(result: KeywordSearchResult) -> dict[str, str]:
    return {term.term: term.status for term in result.terms}


# --- REQ-KWS-001 and 002: search, scope, broad terms ---------------------------------------


async def test_the_search_is_from_the_repository_root_and_ignores_case(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    result = await search(make_workspace(project / "src"), "LOAD_PLUGIN")
    assert result.root == str(project)
    assert set(paths(result)) == {"src/loader.py", "src/main.py", "tests/test_loader.py"}


async def test_without_git_the_search_is_from_the_working_folder(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"sub/a.py": "load_plugin", "b.py": "load_plugin"})
    result = await search(make_workspace(tmp_path / "sub"), "load_plugin")
    assert (result.root, paths(result)) == (str(tmp_path / "sub"), ["a.py"])


async def test_a_broad_term_is_skipped_and_the_others_go_on(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    (project / "broad.txt").write_text("broad word\n" * 8000)
    result = await search(make_workspace(project), "broad", "register_plugin")
    assert statuses(result) == {"broad": "too_broad", "register_plugin": "used"}
    assert paths(result) == ["src/registry.py", "docs/plugins.md"]
    assert not result.completeness.complete
    assert result.completeness.reasons == ["these terms were not used: broad"]


async def test_all_terms_too_broad_is_an_error_that_names_them(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    (project / "broad.txt").write_text("broad word\n" * 8000)
    with pytest.raises(TermsTooBroad) as broad:
        await search(make_workspace(project), "broad", "word")
    assert broad.value.data == {"kind": "terms_too_broad", "terms": ["broad", "word"]}
    assert "each of those search terms yielded too many results" in broad.value.message


async def test_a_broad_term_can_be_shrunk_instead(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    (project / "broad.txt").write_text("broad word\n" * 8000)
    result = await search(make_workspace(project), "broad", "nothing", broad_terms="shrink")
    assert statuses(result) == {"broad": "shrunk", "nothing": "no_match"}
    [file] = result.files
    assert (file.path, len(file.matches)) == ("broad.txt", 5)
    assert "first 3 matches of each file" in result.completeness.reasons[0]


async def test_a_broad_term_keeps_the_matches_found_in_time(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_late(search: terms.TermSearch, found: object, counts: object) -> None:
        search.timed_out = True

    monkeypatch.setattr(terms.TermSearch, "_shrink", too_late)
    write_files(project, {f"broad_{number}.txt": "broad word\n" * 1000 for number in range(9)})
    result = await search(make_workspace(project), "broad", "word", broad_terms="shrink")
    assert statuses(result)["broad"] == "shrunk"
    assert {path.partition("_")[0] for path in paths(result)} == {"broad"}
    assert result.completeness.timed_out
    assert "of 'broad', only the matches found in time were used" in result.completeness.reasons


@pytest.mark.parametrize("left", ["no room for a path", "no time to count"])
async def test_a_warning_reports_that_shrunk_terms_leave_nothing(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """A caller that already requested shorter forms gets no advice to request them (#21)."""
    config = Config()
    if left == "no room for a path":
        config, _ = merge_layer(config, {"limits": {"term_bytes": 4}}, "test")
    else:
        counts = dict[str, int]()
        monkeypatch.setattr(terms.TermSearch, "_count", AsyncMock(return_value=counts))
    (project / "broad.txt").write_text("broad word\n" * 8000)
    workspace = make_workspace(project, config=config)
    result = await search(workspace, "broad", "word", broad_terms="shrink")
    assert (result.files, result.no_relevant_files) == ([], True)
    assert TOO_BROAD in result.warnings


async def test_terms_are_peeled_from_the_end_until_the_rest_fits(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    for name in ("first", "second", "third"):
        (project / f"{name}.txt").write_text(f"{name} {'x' * 400}\n" * 110)
    result = await search(make_workspace(project), "first", "second", "third", "register_plugin")
    assert statuses(result) == {
        "first": "used",
        "second": "used",
        "third": "peeled",
        "register_plugin": "peeled",
    }
    assert set(paths(result)) == {"first.txt", "second.txt"}


async def test_an_invalid_term_does_not_stop_the_others(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    result = await search(make_workspace(project), "load(", "register_plugin")
    assert statuses(result) == {"load(": "invalid", "register_plugin": "used"}
    assert result.terms[0].detail == "unclosed group"
    with pytest.raises(InvalidPattern):
        await search(make_workspace(project), "(", "[")


async def test_every_term_has_its_counts(make_workspace: MakeWorkspace, project: Path) -> None:
    result = await search(make_workspace(project), "load_plugin", "no such thing", "load_plugin")
    used, missing = result.terms
    assert (used.files, used.matches, used.status) == (3, 6, "used")
    assert used.bytes
    assert (missing.files, missing.matches, missing.bytes, missing.status) == (0, 0, 0, "no_match")


async def test_scope_is_controllable(workspace: EngineWorkspace) -> None:
    assert set(paths(await search(workspace, "load_plugin", path="tests"))) == {
        "tests/test_loader.py"
    }
    assert paths(await search(workspace, "plugin", include=["*.md"])) == ["docs/plugins.md"]
    assert "docs/plugins.md" not in paths(await search(workspace, "plugin", exclude=["docs/**"]))
    assert paths(await search(workspace, "plugin", file_types="md")) == ["docs/plugins.md"]
    deep = await search(workspace, "plugin", include=["src/**/*.py", "docs/"])
    assert {path.partition("/")[0] for path in paths(deep)} == {"src", "docs"}
    both = await search(workspace, "plugin", include=["src/**"], file_types=["md"])
    assert both.files == []
    ignored = await search(workspace, "plugin_from_cache", include_ignored=True)
    assert paths(ignored) == ["ignored/cache.py"]
    hidden = await search(workspace, "hidden_plugin", include_hidden=True)
    assert paths(hidden) == [".hidden/secret.py"]


async def test_including_files_does_not_unhide_or_unignore_others(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {".gitignore": "*.gen.py\n", "a.gen.py": "needle", "b.py": "needle"})
    write_files(project, {".hidden.py": "needle", ".dir/c.py": "needle", "d.md": "needle"})
    workspace = make_workspace(project)
    scopes: list[dict[str, Any]] = [
        {"include": ["*.py"]},
        {"include": ["**/*.py"]},
        {"file_types": ["py"]},
    ]
    for scope in scopes:
        assert paths(await search(workspace, "needle", **scope)) == ["b.py"]
    more = await search(workspace, "needle", include=["*.py"], include_ignored=True)
    assert set(paths(more)) == {"a.gen.py", "b.py"}
    more = await search(workspace, "needle", include=["*.py"], include_hidden=True)
    assert set(paths(more)) == {".hidden.py", ".dir/c.py", "b.py"}


async def test_no_match_reports_matches_in_ignored_and_hidden_files(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    result = await search(make_workspace(project), "plugin_from_cache", "hidden_plugin")
    assert result.files == []
    assert result.no_relevant_files
    assert result.warnings == [
        "0 matches; 2 excluded files match: pass include_ignored and include_hidden"
    ]


async def test_cut_lines_are_reported(make_workspace: MakeWorkspace, project: Path) -> None:
    (project / "bundle.js").write_text("a" * 300_000 + "needle_here" + "b" * 300_000)
    result = await search(make_workspace(project), "needle_here")
    [match] = result.files[0].matches
    assert len(match.text) < 510
    assert match.column == 300_001
    assert match.text_column is not None
    start = match.match_range[0] - match.text_column
    assert match.text[start : start + 11] == "needle_here"
    assert result.warnings == ["lines of more than 500 characters are cut"]


# --- unsaved documents ---------------------------------------------------------------------


async def test_the_text_of_open_documents_counts_not_that_on_disk(
    workspace: EngineWorkspace, project: Path
) -> None:
    workspace.open_documents = lambda: {
        project / "src/loader.py": "def load_addon():\n    pass\n",
        project / "src/fresh.py": "x = load_addon()\n",
    }
    old = await search(workspace, "load_plugin")
    assert set(paths(old)) == {"src/main.py", "tests/test_loader.py"}
    new = await search(workspace, "load_addon")
    assert paths(new) == ["src/loader.py", "src/fresh.py"]


async def test_ignore_files_elsewhere_do_not_hide_unsaved_documents(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    write_files(temporary, {".ignore": "*.py\n"})
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    workspace = make_workspace(project)
    workspace.open_documents = lambda: {project / "src/loader.py": "def load_addon():\n    pass\n"}
    assert paths(await search(workspace, "load_addon")) == ["src/loader.py"]


async def test_an_unsaved_hidden_document_is_found_on_request(
    workspace: EngineWorkspace, project: Path
) -> None:
    workspace.open_documents = lambda: {
        project / ".env": "load_addon\n",
        project / ".d/e.py": "load_addon\n",
    }
    assert paths(await search(workspace, "load_addon")) == []
    assert paths(await search(workspace, "load_addon", path=".env")) == [".env"]


# --- several roots -------------------------------------------------------------------------


async def test_a_root_below_another_root_counts_once(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    inner = write_files(git_init(project / "inner"), {"deep.py": "needle"})
    write_files(project, {"top.py": "needle"})
    link = project.parent / "link"
    link.symlink_to(project)
    result = await search(make_workspace(project, inner, link), "needle")
    found = sorted((file.root, file.path) for file in result.files)
    assert found == [(str(project), "top.py"), (str(inner), "deep.py")]
    assert result.total_found == 2


async def test_excludes_apply_below_each_root(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"src/a.py": "needle", "gen/b.py": "needle", "gen/keep.py": "needle", "c.py": "needle"}
    one = write_files(git_init(tmp_path / "one"), files)
    two = write_files(git_init(tmp_path / "two"), files)
    write_files(two, {".winnowignore": "# generated\n/gen/*\n!keep.py\n"})
    workspace = make_workspace(one, two)
    result = await search(workspace, "needle", exclude=["src/**"])
    found = {(Path(file.root or "").name, file.path) for file in result.files}
    assert found == {
        ("one", "c.py"),
        ("one", "gen/b.py"),
        ("one", "gen/keep.py"),
        ("two", "c.py"),
        ("two", "gen/keep.py"),
    }


@requires_posix
async def test_a_symlinked_folder_belongs_to_the_repository_it_points_into(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project / "src")
    result = await search(make_workspace(link), "load_plugin")
    assert result.root == str(project)
    assert "tests/test_loader.py" in paths(result)


# --- REQ-KWS-003 and 005: ranking ----------------------------------------------------------


async def test_a_model_ranks_with_reasons_and_the_local_ranker_streams_first(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, recorder: Recorder
) -> None:
    model_server.choose = lambda files: [
        {"id": name, "lines": "5-6", "reason": "loads one plugin"}
        for name, path in files.items()
        if path == "src/loader.py"
    ]
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    recorder.streaming = True
    result = await search(workspace, "load_plugin", "registry", recorder=recorder)
    [file] = result.files
    assert (file.path, file.reason, file.line) == ("src/loader.py", "loads one plugin", 5)
    assert result.ranked_by == RankedBy(kind="llm", model="openai-test", provider="openai")
    assert result.usage is not None
    partials = [one for one in recorder.partials if isinstance(one, KeywordSearchPartial)]
    assert partials[0].ranked_by.kind == "local"
    assert partials[-1].files == [file]


async def test_without_a_reader_of_partial_results_progress_names_the_files_of_a_model(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, recorder: Recorder
) -> None:
    model_server.choose = lambda files: [{"id": name, "reason": "loads"} for name in files]
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin", "registry", recorder=recorder)
    assert {f"openai-test: {file.path}" for file in result.files} <= {*recorder.messages}
    assert recorder.partials == []


async def test_files_that_a_model_does_not_select_are_named(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    model_server.choose = lambda files: []
    for number in range(30):
        (project / f"src/many{number:02}.py").write_text("pad = 0\n" * 9 + "load_plugin()\n")
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    local = await search(workspace, "load_plugin", ranker="local", max_results=100)
    result = await search(workspace, "load_plugin")
    assert (result.files, result.no_relevant_files) == ([], True)
    assert [(one.path, one.line) for one in result.not_chosen or ()] == [
        (one.path, one.line) for one in local.files
    ]
    total = len(local.files)
    nothing, others = TOOL.plain(result).split("\n")
    assert nothing == "No relevant files found"
    assert others.endswith(f"src/many06.py:10, {total - 10} more)"), others
    short = await search(workspace, "load_plugin", max_tokens=300)
    assert len(short.not_chosen or ()) == 5
    assert (short.total_not_chosen, short.truncated, short.cursor) == (total, True, None)
    none = await search(workspace, "load_plugin", max_tokens=1)
    assert (none.not_chosen, none.total_not_chosen) == (None, total)
    assert f"(not chosen by the model: {total} more)" in TOOL.plain(none)


async def test_the_local_order_does_not_wait_for_an_sdk_to_be_imported(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    told = asyncio.Event()

    async def slow_import(model: object) -> None:
        await asyncio.wait_for(told.wait(), 20)

    workspace.models.warm = slow_import  # type: ignore[method-assign]
    raw = {"query": "how are plugins loaded", "search_terms": ["load_plugin"]}

    class Listener(Progress):
        streaming = True

        def __call__(self, message: str, *, percentage: Any = None, partial: Any = None) -> None:
            if partial is not None:
                told.set()

    result = await TOOL.call(workspace, raw, Listener())
    assert result.ranked_by.kind == "llm"


async def test_a_model_is_sent_the_query_last_and_each_path_once(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    await search(workspace, "load_plugin", "registry")
    system, user = (message["content"] for message in model_server.requests[0]["messages"])
    assert system.startswith("You are a code search relevance evaluator.")
    assert user.rstrip().endswith("Original search query: how are plugins loaded")
    assert user.count("src/loader.py") == 1
    assert "2:    def load_plugins(self, names):" in user
    assert "4-" in user


async def test_without_matches_no_model_is_called(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "no such thing")
    assert result.no_relevant_files
    assert model_server.requests == []


async def test_a_dry_run_shows_the_request_and_sends_nothing(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin", dry_run=True)
    assert model_server.requests == []
    payload = result.payload
    assert payload is not None
    assert (payload.model, payload.endpoint) == ("openai-test", f"{model_server.address}/v1")
    assert "[f01] src/loader.py" in payload.prompt
    await search(workspace, "load_plugin")
    sent = [message["content"] for message in model_server.requests[0]["messages"]]
    without_fence = [line for line in sent[1].splitlines() if not line.startswith("===")]
    shown = [line for line in payload.prompt.splitlines() if not line.startswith("===")]
    assert (payload.system, shown) == (sent[0], without_fence)


@pytest.mark.parametrize("model", ["openai-test", "anthropic-test"])
async def test_requests_contain_no_secrets(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer, model: str
) -> None:
    planted = all_planted(seed=11)[::9]
    key, secret_lines = private_key(Draw(11))
    text = "\n".join(f"# needle\n{one.text}" for one in planted)
    env = Draw(12).of("abcdefghjkmnpqrst23456789", 20)
    write_files(
        project,
        {
            "src/settings.py": text,
            "src/key.py": f'# needle\nKEY = """\n{key}"""\n',
            ".env": f"needle = {env}\n",
        },
    )
    config = models_config(model_server, model)
    workspace = make_workspace(project, config=config, environment=KEYS)
    params: dict[str, Any] = {"query": f"needle {planted[0].value}", "include_hidden": True}
    result = await search(workspace, "needle", **params)
    [sent] = model_server.bodies
    values = [one.value for one in planted] + secret_lines + [env]
    # Values with a quote or a slash may be escaped there.
    said = sent.decode().replace("\\/", "/")
    assert [value for value in values if value in said] == []
    assert "src/settings.py" in said
    assert "] .env" not in said
    assert result.redactions is not None
    assert result.redactions["private-key"] == 1
    assert sum(result.redactions.values()) == said.count("[REDACTED:") >= len(planted)
    assert result.completeness.skipped.secret == 1
    assert not result.completeness.complete
    assert (
        "1 file is named like files with secrets: not sent to a model"
        in result.completeness.reasons
    )
    dry = await search(workspace, "needle", dry_run=True, **params)
    assert dry.payload is not None
    assert [value for value in values if value in dry.payload.prompt] == []
    assert (dry.redactions, dry.completeness.skipped) == (
        result.redactions,
        result.completeness.skipped,
    )


async def test_a_compact_payload_has_passages_without_secrets(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    planted = all_planted(seed=11)[::9]
    key, secret_lines = private_key(Draw(11))
    body = "\n\n\n".join(f"def part_{n}(needle):\n    return {n}" for n in range(30))
    secrets = "\n".join(f"# needle\n{one.text}" for one in planted)
    files = {
        "src/settings.py": f"{body}\n{secrets}\n",
        "src/key.py": f'KEY = """\n{key}"""\n\n\ndef needle():\n    return KEY\n',
    }
    write_files(project, files)
    model_server.choose = lambda files: [
        {"id": name, "lines": "", "reason": "has it"} for name in files
    ]
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "needle", query="where is the needle", payload="compact")
    [sent] = model_server.bodies
    said = sent.decode().replace("\\/", "/")
    assert [one for one in [*(each.value for each in planted), *secret_lines] if one in said] == []
    assert "def needle():" in said
    assert {file.path for file in result.files} == {"src/settings.py", "src/key.py"}
    [settings] = (file for file in result.files if file.path == "src/settings.py")
    assert settings.total_matches == 30 + len(planted)
    dry = await search(
        workspace, "needle", query="where is the needle", payload="compact", dry_run=True
    )
    assert dry.payload is not None
    assert dry.payload.estimated_tokens <= 8_000
    assert "the passage of each file" in dry.payload.system


async def test_the_local_ranker_redacts_nothing(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    value = Draw(13).of("abcdefghjkmnpqrst23456789", 20)
    write_files(project, {".env": f"NEEDLE_PASSWORD={value}\n"})
    result = await search(make_workspace(project), "needle", ranker="local", include_hidden=True)
    assert [file.matches[0].text for file in result.files] == [f"NEEDLE_PASSWORD={value}"]
    assert (result.redactions, result.completeness.skipped.secret) == (None, None)


async def test_if_all_that_matches_are_secrets_nothing_is_sent(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    write_files(project, {".env": "NEEDLE=1\n"})
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "needle", include_hidden=True)
    assert model_server.requests == []
    assert (paths(result), result.ranked_by) == (
        [".env"],
        RankedBy(
            kind="local",
            fallback_reason="openai-test: every matching file has the name of a secret file",
        ),
    )
    with pytest.raises(LlmFailed):
        await search(workspace, "needle", include_hidden=True, ranker="llm")


async def test_nothing_relevant_is_an_answer(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    model_server.mode = "nothing"
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert (result.files, result.no_relevant_files) == ([], True)
    assert (result.total_found, result.ranked_by.kind) == (3, "llm")


async def test_files_that_were_not_sent_are_reported(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    model_server.mode = "unknown_ids"
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert result.warnings == ["openai-test named 1 file that it was not sent: ignored"]


async def test_an_interrupted_answer_is_incomplete(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    model_server.mode = "cut"
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin")
    assert result.ranked_by.kind == "llm"
    assert not result.completeness.complete
    assert "broke off after 1 file" in result.completeness.reasons[0]


async def test_a_small_model_gets_less_and_the_answer_reports_it(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    for number in range(60):
        (project / f"src/many{number}.py").write_text(f"# {'x ' * 40}\n" * 12 + "load_plugin\n")
    config = models_config(model_server, "openai-test")
    small = msgspec.structs.replace(config.llm.models["openai-test"], input_tokens=1400)
    llm = msgspec.structs.replace(config.llm, models={"openai-test": small})
    workspace = make_workspace(
        project, config=msgspec.structs.replace(config, llm=llm), environment=KEYS
    )
    result = await search(workspace, "load_plugin")
    prompt = model_server.requests[0]["messages"][1]["content"]
    assert len(prompt) < 1400 * 2.3
    assert "files did not fit the input of openai-test" in result.completeness.reasons[0]
    assert "0 lines of context" in result.warnings[0]


async def test_without_a_key_the_local_ranker_works_and_reports_the_reason(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    result = await search(make_workspace(project), "load_plugin")
    assert paths(result)[0] == "src/loader.py"
    assert result.ranked_by.kind == "local"
    reason = result.ranked_by.fallback_reason or ""
    for variable in ("FIREWORKS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        assert variable in reason
    with pytest.raises(NoLlmAvailable):
        await search(make_workspace(project), "load_plugin", ranker="llm")


async def test_the_local_ranker_can_be_requested(
    make_workspace: MakeWorkspace, project: Path, model_server: ModelServer
) -> None:
    config = models_config(model_server, "openai-test")
    workspace = make_workspace(project, config=config, environment=KEYS)
    result = await search(workspace, "load_plugin", ranker="local")
    assert result.ranked_by == RankedBy(kind="local")
    assert model_server.requests == []


# --- length --------------------------------------------------------------------------------


async def test_a_cursor_continues_where_the_answer_stopped(workspace: EngineWorkspace) -> None:
    whole = await search(workspace, "plugin")
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await search(workspace, "plugin", max_results=2, cursor=cursor)
        assert page.truncated == (page.cursor is not None)
        found += paths(page)
        cursor = page.cursor
    assert found == paths(whole)
    assert len(found) == whole.total_found


async def test_an_answer_is_shortened_to_its_tokens_with_a_notice(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    for number in range(30):
        (project / f"src/many{number}.py").write_text("load_plugin(1)\n" * 20)
    workspace = make_workspace(project)
    whole = await search(workspace, "load_plugin")
    size = len(msgspec.json.encode(whole)) / 3
    for share in (0.6, 0.3, 0.15):
        tokens = int(size * share)
        result = await search(workspace, "load_plugin", max_tokens=tokens)
        assert len(msgspec.json.encode(result)) / 3 <= tokens
        assert result.truncated
        assert result.returned == len(result.files)
    assert result.cursor == str(result.returned)
    following = await search(workspace, "load_plugin", cursor=result.cursor)
    assert paths(following)[0] == paths(whole)[result.returned]


# --- hazards -------------------------------------------------------------------------------


async def test_an_empty_query(make_workspace: MakeWorkspace, project: Path) -> None:
    with pytest.raises(EmptyQuery, match="Search query is empty"):
        await search(make_workspace(project), "a", query=" \n\t")


async def test_an_unknown_file_type(make_workspace: MakeWorkspace, project: Path) -> None:
    with pytest.raises(InvalidParams, match=r"tsx. Did you mean ts or typescript\?"):
        await search(make_workspace(project), "a", file_types=["tsx"])


async def test_ripgrep_is_missing(make_workspace: MakeWorkspace, project: Path) -> None:
    config, _ = merge_layer(Config(), {"programs": {"rg": "/no/such/rg"}}, "test")
    with pytest.raises(ProgramNotInstalled) as missing:
        await search(make_workspace(project, config=config), "a")
    assert missing.value.data["kind"] == "ripgrep_not_installed"


def stand_in(folder: Path, script: str) -> Config:
    """Return a configuration whose ripgrep is a script."""
    program = folder / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    config, _ = merge_layer(Config(), {"programs": {"rg": str(program)}}, "test")
    return config


@requires_posix
async def test_ripgrep_fails(make_workspace: MakeWorkspace, project: Path, tmp_path: Path) -> None:
    config = stand_in(tmp_path, "echo out of memory >&2; exit 7")
    with pytest.raises(SearchFailed) as failed:
        await search(make_workspace(project, config=config), "a", "b")
    assert (failed.value.data["exit_code"], failed.value.data["stderr"]) == (7, "out of memory\n")


@requires_posix
@pytest.mark.parametrize("probe_seconds", [60.0, 1e-6])  # alone, or all terms at once
async def test_a_term_that_exhausts_the_memory_is_too_broad_and_stops_no_other_term(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path, probe_seconds: float
) -> None:
    full = "echo 'memory allocation of 1073741824 bytes failed' >&2; kill -ABRT $$"
    script = f'case "$*" in *manywhere*) {full};; esac\nexec {RIPGREP} "$@"'
    config = stand_in(tmp_path, script)
    limits = msgspec.structs.replace(config.limits, probe_seconds=probe_seconds)
    workspace = make_workspace(project, config=msgspec.structs.replace(config, limits=limits))
    result = await search(workspace, "manywhere", "register_plugin")
    assert [term.status for term in result.terms] == ["too_broad", "used"]
    assert paths(result)[0] == "src/registry.py"


@requires_posix
async def test_invalid_json_from_ripgrep_is_an_error(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    config = stand_in(tmp_path, "echo this is not ripgrep; exit 0")
    with pytest.raises(SearchFailed):
        await search(make_workspace(project, config=config), "a", "b")


@requires_posix
async def test_files_of_broad_terms_are_sent_before_the_terms_are_shrunk(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "root", {f"{n}.py": "needle\n" * 3000 for n in range(9)})
    told = tmp_path / "told"
    waits = f'while [ ! -e "{told}" ]; do sleep 0.02; done'
    script = f'case "$*" in *--count*) {waits};; esac\nexec {RIPGREP} "$@"'
    workspace = make_workspace(root, config=stand_in(tmp_path, script))

    class Listener(Progress):
        streaming = True

        def __call__(self, message: str, *, percentage: Any = None, partial: Any = None) -> None:
            if partial is not None:
                told.touch()

    raw = {"query": "needle", "search_terms": ["needle"], "broad_terms": "shrink"}
    result = await TOOL.call(workspace, raw, Listener())
    assert told.exists()
    assert result.terms[0].matches == 27_000


@requires_posix
async def test_ripgrep_prints_without_end(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    config = stand_in(tmp_path, '[ "$1" = --version ] || exec yes')
    # It is read up to a limit, which takes a while where the machine has other work.
    limits = msgspec.structs.replace(config.limits, search_seconds=300.0)
    config = msgspec.structs.replace(config, limits=limits)
    with pytest.raises(SearchFailed):
        await search(make_workspace(project, config=config), "a", "b")


@requires_permissions
async def test_an_unreadable_folder_is_counted_and_the_rest_is_found(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a/open.py": "needle\n", "b/closed.py": "needle\n"})
    (tmp_path / "b").chmod(0)
    result = await search(make_workspace(tmp_path), "needle", "other")
    (tmp_path / "b").chmod(stat.S_IRWXU)
    assert paths(result) == ["a/open.py"]
    assert result.completeness.skipped.unreadable == 1
    assert result.completeness.reasons == ["1 file or folder could not be read"]


async def test_names_with_line_ends_are_counted_when_a_term_is_shrunk(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"new\nline.py": "needle\n" * 9000, "line.py": "", "ok.py": "needle"})
    result = await search(make_workspace(tmp_path), "needle", broad_terms="shrink")
    assert sorted(paths(result)) == [r"new\x0aline.py", "ok.py"]
    assert result.terms[0].matches == 9001


async def test_a_matching_line_that_is_too_long_is_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    long = "x" * 5_000_000
    write_files(tmp_path, {"context.txt": f"{long}\nneedle\n", "match.txt": f"{long}pin\n"})
    result = await search(make_workspace(tmp_path), "needle", "pin")
    assert result.warnings == ["1 line of more than 4 MiB with 'pin': not shown"]


async def test_a_broken_ignore_file_and_a_null_do_not_stop_other_terms(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    (project / ".winnowignore").write_text("[z-a]\n")
    result = await search(make_workspace(project), "load_plugin", "(", r"a\x00b")
    assert [term.status for term in result.terms] == ["used", "invalid", "invalid"]


async def test_a_shortened_answer_keeps_the_line_to_open(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.py": "widget()\n" * 7 + "class widget:\n"})
    for tokens in (0, 400, 330):
        result = await search(make_workspace(tmp_path), "widget", max_tokens=tokens)
        [file] = result.files
        assert file.line == 8
        assert 8 in [match.line for match in file.matches]


@requires_posix
async def test_searches_wait_for_a_slot_and_can_be_canceled_while_waiting(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "root", {UNENDING: ""})
    config = with_limits(unending_ripgrep(tmp_path), search_seconds=300.0)
    workspace = make_workspace(root, config=config)
    running = [asyncio.create_task(search(workspace, UNENDING)) for _ in range(20)]
    loop, limit, alive = asyncio.get_running_loop(), workspace.config.limits.searches, [0]
    # How soon they have begun depends on the machine; between two ripgreps, a search has none.
    end = loop.time() + 60
    while max(alive) < limit and loop.time() < end:
        await asyncio.sleep(0.01)
        alive.append(len(workspace.processes._alive))
    for _ in range(20):
        await asyncio.sleep(0.01)
        alive.append(len(workspace.processes._alive))
    assert max(alive) == limit
    for task in running:
        task.cancel()
    ends = await asyncio.gather(*running, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert workspace.processes._alive == set()


@requires_posix
async def test_at_the_deadline_results_so_far_are_returned(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    rg = unending_ripgrep(tmp_path)
    root = write_files(tmp_path / "root", {"small.py": "a rare word\n", UNENDING: ""})
    workspace = make_workspace(root, config=with_limits(rg, search_seconds=3.0))
    result = await search(workspace, "rare word", UNENDING)
    assert paths(result) == ["small.py"]
    assert result.completeness.timed_out
    assert statuses(result) == {"rare word": "used", UNENDING: "timed_out"}
    hurried = make_workspace(root, config=with_limits(rg, search_seconds=1.0))
    with pytest.raises(SearchTimedOut, match="Search timed out after 1 seconds"):
        await search(hurried, UNENDING)


async def test_names_with_spaces_newlines_and_dashes(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = git_init(tmp_path / "a folder\nwith lines")
    names = ["d-3-needle.txt", "a:1:b.txt", "-dash.txt", "quote'\".txt", "new\nline.txt", "😀.txt"]
    write_files(folder, dict.fromkeys(names, "needle\n"))
    result = await search(make_workspace(folder), "needle", "other")
    assert sorted(paths(result)) == sorted(name.replace("\n", r"\x0a") for name in names)
    assert result.root == str(folder).replace("\n", r"\x0a")


async def test_files_of_other_encodings_and_line_ends(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "latin.txt").write_bytes("café needle\n".encode("latin-1"))
    (tmp_path / "utf16.txt").write_text("the needle\n", "utf-16")
    (tmp_path / "crlf.txt").write_bytes(b"one\r\nneedle\r\n")
    (tmp_path / "binary.bin").write_bytes(b"needle\n" + b"text\n" * 50_000 + b"\0")
    result = await search(make_workspace(tmp_path), "needle")
    assert result.completeness.reasons == ["1 binary file matches: not shown"]
    texts = {file.path: file.matches[0].text for file in result.files}
    assert texts == {
        "latin.txt": "café needle",
        "utf16.txt": "the needle",
        "crlf.txt": "needle",
    }
    assert result.completeness.skipped.binary == 1


async def test_an_empty_repository(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    result = await search(make_workspace(git_init(tmp_path / "empty")), "needle")
    assert (result.files, result.total_found) == ([], 0)
    assert result.completeness.complete
