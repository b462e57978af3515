"""Measure the first question of a session: new processes with an index on disk.

    python benchmarks/first_question.py [FOLDER] [--runs N] [--front-ends lsp mcp cli]

Each run is a new process. It gets the question right after the answer to `initialize`; the command
line gets it at its start, so its times include the start of Python. An answer is correct if the
correct file is among the first results and the results equal those of a server that has had its
index open for long. The times of the first row and of the answer start at `initialize`. CPU time
includes child processes. Without a folder, Django is used, and its index is built first.
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
# The number of results to compare, and the lowest acceptable rank of the correct file.
COMPARED, LOWEST_RANK = 10, 10
TOKEN = "rows"
# The name of each tool's list of results.
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


class Answer(NamedTuple):
    """The files of an answer, why it may be incomplete, and the seconds until its first row and
    until the complete answer."""

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
            "broad_terms": "shrink",  # like the editors
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


# --- front ends ----------------------------------------------------------------------------


def by_language_server(folder: Path, question: Question, environment: dict[str, str]) -> Answer:
    """Send the question to a new language server."""
    client = Client([*WINNOW, "serve"], folder, environment)
    try:
        return _answer(client, question)
    finally:
        client.stop()


def by_open_index(
    folder: Path, questions: Sequence[Question], environment: dict[str, str]
) -> list[Answer]:
    """Send the questions to a language server whose index is open and watched."""
    client = Client([*WINNOW, "serve"], folder, environment)
    try:
        client.wait_for_progress()
        return [_answer(client, question) for question in questions]
    finally:
        client.stop()


def _answer(client: Client, question: Question) -> Answer:
    first, *rest = question.tool.split("_")
    method = "$/" + first + "".join(map(str.title, rest))
    result = client.request(method, {**question.params, "partialResultToken": TOKEN})
    answered = time.perf_counter()
    rows = result[ROWS[question.tool]]
    # The final answer of keyword_search repeats all rows in the final order.
    if question.tool != "keyword_search":
        rows = [*client.rows.get(TOKEN, []), *rows]
    client.rows.pop(TOKEN, None)
    shown = client.first.pop(TOKEN, answered)
    reasons = result["completeness"]["reasons"]
    return Answer(_paths(rows), reasons, shown - client.started, answered - client.started)


def by_mcp(folder: Path, question: Question, environment: dict[str, str]) -> Answer:
    """Send the question to a new MCP server."""
    with subprocess.Popen(
        [*WINNOW, "mcp", "--tools", "all", "--structured"],
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
            raise EOFError("The server has exited")

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


def by_command(folder: Path, question: Question, environment: dict[str, str]) -> Answer:
    """Run the question on the command line; parameters without an option are positional."""
    params = dict(question.params)
    if params.get("broad_terms") == "shrink":
        del params["broad_terms"]  # the command's default
    positional = [params.pop(name) for name in ("query", "name") if name in params]
    terms = params.pop("search_terms", [])
    params["limit"] = COMPARED  # the default for people is lower
    options = [f"--{name}={value}" for name, value in params.items()]
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


def _at_once(question: Question, answer: Mapping[str, Any], seconds: float) -> Answer:
    """Return an answer that arrived all at once, without partial results."""
    rows = answer[ROWS[question.tool]]
    return Answer(_paths(rows), answer["completeness"]["reasons"], seconds, seconds)


def _paths(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["path"] for row in rows[:COMPARED]]


FrontEnd = Callable[[Path, Question, dict[str, str]], Answer]
FRONT_ENDS: dict[str, FrontEnd] = {"lsp": by_language_server, "mcp": by_mcp, "cli": by_command}


# --- runs ----------------------------------------------------------------------------------


class Run(NamedTuple):
    """The result of one question to a new process; ``problem`` is empty for a correct answer."""

    first: float
    answered: float
    cpu: float
    problem: str


def run(
    front_end: FrontEnd, folder: Path, question: Question, expected: Answer, settings: Path
) -> Run:
    """Send a question to a new process, and compare its answer with the expected answer."""
    before = _cpu_of_children()
    try:
        answer = front_end(folder, question, environment(settings))
    except Exception as error:
        return Run(0.0, 0.0, _cpu_of_children() - before, f"{type(error).__name__}: {error}")
    problem = ""
    if question.file not in answer.paths[:LOWEST_RANK]:
        problem = f"{question.file} is not in {answer.paths}"
    elif answer.paths != expected.paths:
        problem = f"{answer.paths} instead of {expected.paths}: {answer.reasons}"
    return Run(answer.first, answer.answered, _cpu_of_children() - before, problem)


def environment(settings: Path) -> dict[str, str]:
    """Return the environment of a user with default settings, but without learning."""
    file = settings / "winnow/config.toml"
    if not file.exists():
        file.parent.mkdir(parents=True)
        file.write_text("[learning]\nenabled = false\n")
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**keyless, "XDG_CONFIG_HOME": str(settings), "WINNOW_BACKGROUND": "0"}


def make_index(folder: Path, settings: Path) -> None:
    """Build or update the index of a folder."""
    command = [*WINNOW, "index", "build"]
    subprocess.run(
        command, cwd=folder, env=environment(settings), stdout=subprocess.DEVNULL, check=True
    )


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="a copy of Django")
    parser.add_argument("--runs", type=int, default=20, help="processes for each row")
    parser.add_argument("--front-ends", nargs="+", choices=FRONT_ENDS, default=list(FRONT_ENDS))
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
        for front_end in options.front_ends:
            for question, answer in zip(QUESTIONS, expected, strict=True):
                runs = [
                    run(FRONT_ENDS[front_end], options.folder, question, answer, settings)
                    for _ in range(options.runs)
                ]
                wrong += _print_row(f"{front_end} {question.tool}", runs)
    return int(wrong > 0)


def _print_row(title: str, runs: Sequence[Run]) -> int:
    """Print medians and maximums; return the number of wrong answers."""
    problems = [run.problem for run in runs if run.problem]
    good = [run for run in runs if not run.problem] or list(runs)
    columns = [
        f"{1000 * statistics.median(times):6.0f} to {1000 * max(times):4.0f} ms"
        for times in ([run.first for run in good], [run.answered for run in good])
    ]
    cpu = statistics.median(run.cpu for run in good)
    correct = f"{len(runs) - len(problems)}/{len(runs)}"
    print(f"{title:22}{correct:>9}{columns[0]:>18}{columns[1]:>18}{cpu:6.2f} s", flush=True)
    for problem in dict.fromkeys(problems):
        print(f"  {problem[:300]}")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
