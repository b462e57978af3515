"""Measure the first question of a session: new processes with an index on disk.

    python benchmarks/first_question.py [FOLDER] [--runs N] [--doors lsp mcp cli]

Each run is a new process. It gets the question right after the answer to `initialize`; the command
line gets it at its start, so its times include the start of Python. An answer is correct if the
right file is among the first results and they equal those of a server whose index has long been
open. The times of the first row and the answer start at `initialize`. CPU includes the children.
Without a folder, Django is used, and its index is built first.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from language_client import Client

WINNOW = [sys.executable, "-m", "winnow"]
LIMIT_MS = 300
# So many results are compared, and the right file has to be among so many.
COMPARED, AMONG = 10, 10
TOKEN = "rows"
# What each tool calls its results.
ROWS = {
    "keyword_search": "files",
    "semantic_search": "results",
    "code_search": "results",
    "find_symbol": "symbols",
}


class Question(NamedTuple):
    """A call of a tool, and the file that answers it."""

    tool: str
    params: Mapping[str, Any]
    file: str


class Asked(NamedTuple):
    """The files of an answer, why it may lack some, and the seconds to its first row and to all of
    it."""

    paths: Sequence[str]
    reasons: Sequence[str]
    first: float
    answered: float


MIGRATIONS = "how are migrations ordered and applied"
QUESTIONS = (
    Question(
        "keyword_search",
        {
            "query": MIGRATIONS,
            "search_terms": ["migrations", "ordered", "applied"],
            "ranker": "local",
            "broad_terms": "shrink",  # as the editors ask
        },
        "django/db/migrations/executor.py",
    ),
    Question("semantic_search", {"query": MIGRATIONS}, "django/db/migrations/executor.py"),
    Question(
        "code_search",
        {"query": "where is a session saved"},
        "django/contrib/sessions/backends/base.py",
    ),
    Question("find_symbol", {"name": "MigrationLoader"}, "django/db/migrations/loader.py"),
)


# --- doors ---------------------------------------------------------------------------------


def by_language_server(folder: Path, question: Question, environment: dict[str, str]) -> Asked:
    """Ask a new language server."""
    client = Client([*WINNOW, "serve"], folder, environment)
    try:
        return _ask(client, question)
    finally:
        client.stop()


def by_open_index(
    folder: Path, questions: Sequence[Question], environment: dict[str, str]
) -> list[Asked]:
    """Ask a language server whose index is open and watched."""
    client = Client([*WINNOW, "serve"], folder, environment)
    try:
        client.wait_for_progress()
        return [_ask(client, one) for one in questions]
    finally:
        client.stop()


def _ask(client: Client, question: Question) -> Asked:
    first, *others = question.tool.split("_")
    method = "$/" + first + "".join(map(str.title, others))
    result = client.request(method, {**question.params, "partialResultToken": TOKEN})
    answered = time.perf_counter()
    rows = result[ROWS[question.tool]]
    if question.tool != "keyword_search":  # whose answer has all, in the final order
        rows = [*client.rows.get(TOKEN, []), *rows]
    client.rows.pop(TOKEN, None)
    shown = client.first.pop(TOKEN, answered)
    reasons = result["completeness"]["reasons"]
    return Asked(_paths(rows), reasons, shown - client.started, answered - client.started)


def by_mcp(folder: Path, question: Question, environment: dict[str, str]) -> Asked:
    """Ask a new MCP server."""
    with subprocess.Popen(
        [*WINNOW, "mcp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def call(number: int, method: str, params: Mapping[str, Any]) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:
                    return answer["result"]
            raise EOFError("the server is gone")

        client = {"name": "benchmark", "version": "1"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        call(1, "initialize", version)
        started = time.perf_counter()
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        arguments = {**question.params, "max_tokens": 0}
        if question.tool == "keyword_search":
            del arguments["max_tokens"]
        result = call(2, "tools/call", {"name": question.tool, "arguments": arguments})
        seconds = time.perf_counter() - started
        process.stdin.close()
        process.wait(20)
    if result.get("isError"):
        raise RuntimeError(result["content"][0]["text"])
    return _at_once(question, result["structuredContent"], seconds)


def by_command(folder: Path, question: Question, environment: dict[str, str]) -> Asked:
    """Ask at the command line, where params that are no options stand behind the command."""
    params = dict(question.params)
    if params.get("broad_terms") == "shrink":
        del params["broad_terms"]  # which is its default
    positional = [params.pop(name) for name in ("query", "name") if name in params]
    terms = params.pop("search_terms", [])
    options = [word for name, value in params.items() for word in (f"--{name}", str(value))]
    command = [*WINNOW, question.tool.replace("_", "-"), *positional, *terms, *options, "--json"]
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    seconds = time.perf_counter() - started
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return _at_once(question, answer, seconds)


def _at_once(question: Question, answer: Mapping[str, Any], seconds: float) -> Asked:
    """An answer of which nothing came before the rest."""
    rows = answer[ROWS[question.tool]]
    return Asked(_paths(rows), answer["completeness"]["reasons"], seconds, seconds)


def _paths(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["path"] for row in rows[:COMPARED]]


Door = Callable[[Path, Question, dict[str, str]], Asked]
DOORS: dict[str, Door] = {"lsp": by_language_server, "mcp": by_mcp, "cli": by_command}


# --- runs ----------------------------------------------------------------------------------


class Run(NamedTuple):
    """What became of one question to a fresh process; ``problem`` is empty for a correct answer."""

    first: float
    answered: float
    cpu: float
    problem: str


def run(door: Door, folder: Path, question: Question, expected: Asked, settings: Path) -> Run:
    """Ask a fresh process, and hold its answer against the one that is expected."""
    before = _cpu_of_children()
    try:
        asked = door(folder, question, environment(settings))
    except Exception as error:
        return Run(0.0, 0.0, _cpu_of_children() - before, f"{type(error).__name__}: {error}")
    problem = ""
    if question.file not in asked.paths[:AMONG]:
        problem = f"{question.file} is not among {asked.paths}"
    elif asked.paths != expected.paths:
        problem = f"{asked.paths} instead of {expected.paths}: {asked.reasons}"
    return Run(asked.first, asked.answered, _cpu_of_children() - before, problem)


def environment(settings: Path) -> dict[str, str]:
    """The environment of a user with default settings, of whose searches nothing is learned."""
    file = settings / "winnow/config.toml"
    if not file.exists():
        file.parent.mkdir(parents=True)
        file.write_text("[learning]\nenabled = false\n")
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, "XDG_CONFIG_HOME": str(settings)}


def make_index(folder: Path, settings: Path) -> None:
    """Make the index of a folder, or bring it up to date."""
    command = [*WINNOW, "index", "build"]
    subprocess.run(
        command, cwd=folder, env=environment(settings), stdout=subprocess.DEVNULL, check=True
    )


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="asked about what Django has, too")
    parser.add_argument("--runs", type=int, default=20, help="processes for each door")
    parser.add_argument("--doors", nargs="+", choices=DOORS, default=list(DOORS))
    options = parser.parse_args()
    if options.folder is None:
        import corpora

        options.folder = corpora.django()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name)
        make_index(options.folder, settings)
        expected = by_open_index(options.folder, QUESTIONS, environment(settings))
        load = os.getloadavg()[0]
        print(f"{options.runs} processes for each row, {os.cpu_count()} cores, load {load:.1f}")
        print(f"{'':22}{'correct':>9}{'first row':>18}{'answer':>18}{'CPU':>8}")
        for door in options.doors:
            for question, known in zip(QUESTIONS, expected, strict=True):
                runs = [
                    run(DOORS[door], options.folder, question, known, settings)
                    for _ in range(options.runs)
                ]
                wrong += _print_row(f"{door} {question.tool}", runs)
    return int(wrong > 0)


def _print_row(title: str, runs: Sequence[Run]) -> int:
    """Print medians and the slowest; how many answers were wrong."""
    problems = [one.problem for one in runs if one.problem]
    good = [one for one in runs if not one.problem] or list(runs)
    columns = [
        f"{1000 * statistics.median(times):6.0f} to {1000 * max(times):4.0f} ms"
        for times in ([one.first for one in good], [one.answered for one in good])
    ]
    cpu = statistics.median(one.cpu for one in good)
    correct = f"{len(runs) - len(problems)}/{len(runs)}"
    print(f"{title:22}{correct:>9}{columns[0]:>18}{columns[1]:>18}{cpu:6.2f} s", flush=True)
    for problem in dict.fromkeys(problems):
        print(f"  {problem[:300]}")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
