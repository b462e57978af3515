"""Every front end in a hostile clone (#21): nothing outside is read or changed, no program of the
workspace runs, and no incomplete answer claims to be complete."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import MakeWorkspace, requires_linux
from hazard_table import Row
from hostile.clone import (
    NEEDLE,
    ODD,
    PLANTED,
    PROMOTED,
    REAL_SERVICE,
    SERVICE,
    TOPIC,
    VARIANTS,
    Attack,
    Places,
    Variant,
    Watch,
    attackers_winnow,
    make_attack,
    make_clone,
)
from hostile.clone_cases import CASES, SEARCH_ID, WIRE_CASES, Case
from hostile.clone_fronts import HANG_SECONDS, Answer, CommandLine, Front, LanguageServer, opened
from winnow.processes.sandbox import is_available
from winnow.tools import TOOLS

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

SETTINGS = "[bash]\nenabled = true\n[limits]\nsearch_seconds = 5\n[llm]\nenabled = 'off'\n"
SEARCH_SECONDS = 5.0
# Time to start a process and to report a timeout on a busy machine.
GRACE_SECONDS = 25.0
MOST_MB = 300
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
FRONT_VARIANTS: list[tuple[str, Variant]] = [
    *(("lsp", variant) for variant in VARIANTS),
    ("lsp_indexed", "cloned"),
    ("lsp_indexed", "git_file"),
    ("lsp_indexed", "archive"),
    ("api", "archive"),
    ("api", "cloned"),
    ("mcp", "archive"),
    ("cli", "archive"),
]


class Attacked(NamedTuple):
    """A front end in a clone, and the watcher that detects harm."""

    front: Front
    watch: Watch
    name: str
    lost: list[str]  # a request without an answer

    @property
    def places(self) -> Places:
        return self.front.places

    def ask(self, tool: str, params: Mapping[str, Any]) -> Answer:
        """Return the answer; fail immediately if an earlier request got none."""
        assert not self.lost, f"{self.lost[0]} was never answered"
        began = time.monotonic()
        try:
            answer = self.front.ask(tool, params)
        except BaseException:
            if time.monotonic() - began > HANG_SECONDS:
                self.lost.append(f"{tool} {params}")
            raise
        return answer


@pytest.fixture(scope="session")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Attack:
    return make_attack(tmp_path_factory.mktemp("attack"))


@contextlib.contextmanager
def attacked_by(attack: Attack, folder: Path, name: str, variant: Variant) -> Iterator[Attacked]:
    """Start a front end in a new clone."""
    places = make_clone(folder, variant, attack, SETTINGS)
    watch = Watch(places)
    try:
        with opened(name.partition("_")[0], places) as front:
            if name == "lsp_indexed":
                wait_for_index(front)
            yield Attacked(front, watch, name, [])
    finally:
        watch.close()


def wait_for_index(front: Front) -> None:
    end = time.monotonic() + 60
    while True:
        result = front.ask("find_symbol", {"name": "no_such_name"}).result
        assert result is not None
        if result["completeness"].get("index", {}).get("state") == "ready":
            return
        assert time.monotonic() < end, result
        time.sleep(0.05)


def test_every_tool_has_cases() -> None:
    assert CASES.keys() == TOOLS.keys()
    assert all(CASES.values())


def test_the_forged_state_fools_a_user_who_trusts_it(attack: Attack) -> None:
    """Without this, the other tests would prove nothing."""
    (attack.twin / SERVICE).write_text(REAL_SERVICE)
    for file in attack.twin.rglob("*.py"):
        os.utime(file)  # as a clone does
    attackers_winnow(attack.twin, attack.home, "index", "build")
    blinded = attackers_winnow(attack.twin, attack.home, "find-symbol", NEEDLE)
    planted = attackers_winnow(attack.twin, attack.home, "find-symbol", PLANTED)
    moved = attackers_winnow(attack.twin, attack.home, "semantic-search", TOPIC)
    assert (blinded["total_found"], blinded["completeness"]["complete"]) == (0, True)
    assert planted["total_found"] == 1
    assert moved["results"][0]["path"] == PROMOTED


# --- every tool through every front end -----------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), FRONT_VARIANTS)
def test_every_tool_through_a_front_end(
    attack: Attack, tmp_path: Path, name: str, variant: Variant, row: Row, often: int
) -> None:
    """Send all requests to one front end in one clone, and collect the problems of each request."""
    row.hazard = f"every tool through a front end in a hostile clone ({name}, {variant})"
    wrong: list[str] = []
    with attacked_by(attack, tmp_path / "clone", name, variant) as attacked:
        for tool, case in cases_of(name, variant, often):
            row.tries += 1
            if problems := problems_of(attacked, tool, case):
                wrong.append(f"{tool} {case.params}: {problems}")
        if isinstance(attacked.front, LanguageServer):
            for method, params, says in WIRE_CASES:
                row.tries += 1
                if problems := problems_of_request(attacked, attacked.front, method, params, says):
                    wrong.append(f"{method} {params}: {problems}")
        if name != "lsp_indexed" and variant in ("ignore_files", "archive"):
            wrong += ignore_files_that_are_not_named(attacked)
        if isinstance(attacked.front, CommandLine):
            wrong += control_characters(attacked.front)
        wrong += attacked.watch.changes()
        wrong += attacked.watch.harm()
        assert "Traceback" not in attacked.front.log()
    row.result = f"{len(wrong)} requests did harm, or were answered wrong"
    assert not wrong, "\n".join(wrong)


def cases_of(name: str, variant: Variant, often: int) -> Iterator[tuple[str, Case]]:
    """Yield the cases of a front end's tools in a clone. The command line starts a process for each
    case, so it gets only some of them, unless `--thorough` is set."""
    for tool, cases in CASES.items():
        if name != "mcp" or TOOLS[tool].for_agents:
            applicable = [(tool, case) for case in cases if variant in case.variants]
            yield from applicable[:2] if name == "cli" and often == 1 else applicable


def problems_of(attacked: Attacked, tool: str, case: Case) -> list[str]:
    """Return the problems of an answer, and the answer; an empty list without problems."""
    params = dict(case.params)
    if params.get("search_id") == SEARCH_ID:
        found = attacked.ask("semantic_search", {"query": TOPIC}).result
        assert found is not None
        params["search_id"] = found["search_id"]
    answer = attacked.ask(tool, params)
    problems = [*harm_of(attacked, answer), *falsehoods_of(attacked.places, case, answer)]
    deadline = (case.seconds or SEARCH_SECONDS) + GRACE_SECONDS
    if answer.seconds > deadline:
        problems.append(f"it took {answer.seconds:.1f} s")
    return [*problems, shortened(answer)] if problems else []


def problems_of_request(
    attacked: Attacked, front: LanguageServer, method: str, params: dict[str, Any], says: str
) -> list[str]:
    """Return the problems of a standard LSP request."""
    if document := params.get("textDocument"):
        params = {**params, "textDocument": {"uri": front.uri(document["uri"])}}
    answer = front.request(method, params)
    problems = harm_of(attacked, answer)
    if says and says not in json.dumps(answer.result):
        problems.append(f"{says} is not in the answer")
    if answer.seconds > SEARCH_SECONDS + GRACE_SECONDS:
        problems.append(f"it took {answer.seconds:.1f} s")
    return [*problems, shortened(answer)] if problems else []


def ignore_files_that_are_not_named(attacked: Attacked) -> Iterator[str]:
    """Yield unread ignore files that an answer does not report."""
    for tool, params in (("grep", {"pattern": NEEDLE}), ("glob", {"pattern": "*.py"})):
        result = attacked.ask(tool, params).result
        assert result is not None
        notices = " ".join([*result["warnings"], *result["completeness"]["reasons"]])
        for name in (".gitignore", ".winnowignore"):
            if name not in notices:
                yield f"{tool} does not name {name}: {notices}"


def control_characters(front: CommandLine) -> Iterator[str]:
    """Yield commands whose output contains control characters."""
    commands = [
        *(["grep", ODD], ["grep", ODD, "--mode=files"], ["glob", "odd/*"], ["tree", "odd"]),
        *(["keyword-search", "odd", ODD], ["code-search", ODD], ["find-symbol", ODD]),
        *(["semantic-search", ODD], ["search-docs", ODD, "--path=odd"], ["index-status"]),
        ["bash", "rg -l odd_needle"],
    ]
    for command in commands:
        for form in ("text", "plain"):
            run = front.run(*command, f"--format={form}")
            if found := CONTROL.search(run.stdout + run.stderr):
                yield f"{command} as {form}: {found}"


def test_a_clones_search_history_does_not_change_the_ranking(
    attack: Attack, tmp_path: Path
) -> None:
    orders = []
    for brought in (attack, None):
        places = make_clone(tmp_path / str(brought is None), "cloned", brought, SETTINGS)
        with opened("api", places) as front:
            built = front.ask("index", {"action": "build"})
            assert built.error is None
            found = front.ask("semantic_search", {"query": TOPIC, "top_k": 50}).result
            assert found is not None
            orders.append([result["path"] for result in found["results"]])
    assert orders[0] == orders[1]


@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_sandboxed_program_reads_nothing_outside(
    attack: Attack, make_workspace: MakeWorkspace, tmp_path: Path, variant: Variant
) -> None:
    """With any folder of the clone open, and ignore files that lead outside."""
    if not is_available():
        pytest.skip("no Landlock here")
    places = make_clone(tmp_path / "made", variant, attack)
    for folder in ("", "src"):
        for name in (".gitignore", ".ignore", ".rgignore"):
            (places.root / folder / name).unlink(missing_ok=True)
            (places.root / folder / name).symlink_to("/")
    outside = [str(places.outside / "canary.py"), str(places.home / ".ssh/id_rsa")]
    program = shutil.which("cat")
    assert program is not None
    with contextlib.closing(Watch(places)) as watch:
        for below in ("", "src", "src/deep"):
            root = places.root / below
            if below:  # without a `.git`, the open folder is not the repository's root
                shutil.rmtree(places.root / ".git", ignore_errors=True)
                (places.root / ".git").unlink(missing_ok=True)
            workspace = make_workspace(root, environment={"HOME": str(places.home)})
            deadline = asyncio.get_running_loop().time() + 20
            async with workspace.processes.start(
                [program, *outside], cwd=root, deadline=deadline, sandboxed=True
            ) as child:
                output = b"".join([chunk async for chunk in child.chunks()])
                assert await child.wait() != 0
            assert (below, output, watch.harm()) == (below, b"", [])


def harm_of(attacked: Attacked, answer: Answer) -> list[str]:
    """Return the harm that an answer did, and forbidden content in it."""
    problems = attacked.watch.harm()
    if attacked.places.canary in json.dumps([answer.result, answer.error]):
        problems.append("text from outside is in the answer")
    if answer.error and answer.error.get("code") == -32603:
        problems.append("internal error")
    if answer.error and "nternal error" in answer.error["message"]:
        problems.append("internal error")
    peak = attacked.front.peak_mb()
    if peak > MOST_MB:
        problems.append(f"it used {peak:.0f} MB")
    return problems


def falsehoods_of(places: Places, case: Case, answer: Answer) -> list[str]:
    """Return the differences between an answer and the facts about the clone."""
    if answer.error is not None:
        kinds = (*case.refused, *case.may_fail)
        kind = answer.error.get("kind")  # an agent gets only the message
        right = kind in kinds or (kind is None and bool(kinds))
        return [] if right else [f"{kind}: {answer.error['message']}"]
    if case.refused:
        return ["it was not refused"]
    assert answer.result is not None
    text = json.dumps(answer.result, ensure_ascii=False)
    paths = paths_in(answer.result)
    expected = case.finds | (places.needles if case.needles else frozenset())
    problems = [f"not found: {path}" for path in sorted(expected - paths)]
    if len(paths) < case.at_least:
        problems.append(f"{len(paths)} of {case.at_least} files")
    if case.says and case.says not in text:
        problems.append(f"{case.says} is not in the answer")
    if case.nothing and answer.result["total_found"]:
        problems.append("it was found")
    if case.exact and is_complete(answer.result):
        problems += [f"found: {path}" for path in sorted(paths - expected - places.allowed)]
    if problems and is_complete(answer.result):
        problems.append("and the answer claims to be complete")
    return problems


def is_complete(result: Mapping[str, Any]) -> bool:
    return bool(result["completeness"]["complete"]) and not result["truncated"]


def paths_in(value: object) -> frozenset[str]:
    """Return all paths in an answer; for `bash`, all lines."""
    found: set[str] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "path" and isinstance(inner, str):
                found.add(inner)
            elif key == "stdout":
                found.update(inner.splitlines())
            else:
                found |= paths_in(inner)
    elif isinstance(value, list):
        for inner in value:
            found |= paths_in(inner)
    return frozenset(found)


def shortened(answer: Answer) -> str:
    return json.dumps([answer.result, answer.error])[:3_000]
