"""Count the tokens that an agent reads until it finds the correct file.

    python benchmarks/token_cost.py --annotations dev.jsonl --corpora FOLDER [--questions 30]

`questions.py` describes annotations. Questions are chosen with a seed: one per repository, in
random order, and again until there are enough.

Winnow is `winnow mcp` in a copy of the repository with a complete index. Each tool is called with
the question and default parameters, and the text of its answer is counted. `keyword_search` uses no
language model. Its terms are generated: the question's identifiers, then its capitalized words,
then its other words, without stop words and longer words first (`search_terms`). An agent that
knows the code would choose better terms. The agent reads an answer up to the end of the entry of
the first correct file. Without a correct file, the complete answer counts, and the next page is
requested with its `cursor`, and so on.

"grep and read" is the usual loop, with the rules of semble's benchmark: `rg --fixed-strings
--ignore-case` for each word of the question that has at least three letters and isn't a stop word;
then the agent reads the matching files completely until one is correct, ordered by the number of
words, then by the number of matches. ripgrep's output isn't counted.

semble is counted in two ways: like its own benchmark, the source of its published figure (only the
code of the 50 best passages, up to the first correct passage), and as its MCP server answers an
agent. probe is counted with the output of its command for ten results.

The index's ranker was trained on questions of this benchmark. Only `keyword_search` without an
index isn't affected: the weights of its ranker were set by hand.

A correct file that isn't found counts as 32,000 tokens, like in semble's benchmark. `complete` is
the mean size of the complete first answer, which fills an agent's context. `hits` is the share of
questions whose correct file is in the first answer. The other columns are the shares of questions
that are answered within that number of tokens. Tokens are those of OpenAI's cl100k_base, counted by
the package bpe-openai. If it is missing, tokens are estimated as bytes / 4, and the output reports
it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from peers import peers_python
from questions import Question, Repository, add_arguments, load_repositories, same_file
from retrieval_runner import copy_corpus

from winnow.index.postings.terms import STOP_WORDS
from winnow.processes.programs import InstalledPrograms
from winnow.search.answer.telling_words import search_terms
from winnow.text.ripgrep import escaped

HERE = Path(__file__).parent
RG = InstalledPrograms(os.environ, ()).ripgrep()
NOT_FOUND = 32_000
INDEX_SECONDS = 120
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
PUBLISHED = """\
published by semble, 1,251 questions   348 tokens on average (grep and read: 45,587);
                                       .842 after 500, .923 after 1,000, .967 after 2,000"""
INDEX = "[index]\nembeddings = {!r}\n"
NO_INDEX = "[index]\nenabled = false\n"
NOTHING_LEARNED = "[learning]\nenabled = false\n"
Plain = dict[str, Any]


class Tokens:
    """A tokenizer in a child process, whose Python environment has the package."""

    SERVICE = (
        "import json, sys\nfrom bpe_openai import get_encoding\n"
        "encoding = get_encoding('cl100k_base')\n"
        "for line in sys.stdin: print(len(encoding.encode(json.loads(line))), flush=True)\n"
    )

    def __init__(self) -> None:
        python = peers_python()
        command = [python or sys.executable, "-c", self.SERVICE]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self.is_exact = self._count("two words") == 2
        except (OSError, ValueError):
            self.is_exact = False

    def _count(self, text: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __call__(self, text: str) -> int:
        return self._count(text) if self.is_exact else len(text.encode()) // 4

    def stop(self) -> None:
        self._process.kill()
        with self._process:
            pass


class Cost(NamedTuple):
    """Tokens until the correct file, or None; tokens of the complete first answer, and True if it
    contains the file; tokens of its structured data, which is sent along with the text."""

    until: int | None
    first_answer: int | None = None
    is_in_first: bool = False
    data: int = 0


# --- winnow ----------------------------------------------------------------------------------


class Server:
    """`winnow mcp` on a folder, with a complete index or without an index."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        index: str,
        options: Sequence[str] = ("--tools", "all", "--structured"),
    ) -> None:
        settings = home / "config.toml"
        settings.write_text(index + NOTHING_LEARNED)
        environment = {**os.environ, "WINNOW_CONFIG": str(settings)}
        for key in ("FIREWORKS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            environment.pop(key, None)
        # Not started in `folder`: `-m` would import modules from the repository.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "winnow", "mcp", *options, str(folder)],
            cwd=home,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        client = {"name": "benchmark", "version": "1"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self._request("initialize", version)
        self._send({"method": "notifications/initialized"})
        if index != NO_INDEX:
            self.call("code_search", {"query": "main"})  # starts the build
        deadline = time.monotonic() + INDEX_SECONDS
        while index != NO_INDEX and self._index_state() != "ready":
            if time.monotonic() > deadline:
                raise TimeoutError(f"the index of {folder.name} is {self._index_state()}")
            time.sleep(0.05)

    def _index_state(self) -> str:
        status = self.call("index_status", {})["structuredContent"]
        return str(status["completeness"]["index"]["state"])

    def call(self, name: str, arguments: Plain) -> Plain:
        """Call a tool and return its answer."""
        answer: Plain = self._request("tools/call", {"name": name, "arguments": arguments})
        return answer

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)

    def _request(self, method: str, params: Plain) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            message = json.loads(self._process.stdout.readline())
            if message.get("id") == number:
                return message["result"]

    def _send(self, message: Plain) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def arguments_of(tool: str, question: str) -> Plain:
    if tool == "keyword_search":
        terms = list(map(escaped, search_terms(question) or [question]))
        return {"query": question, "search_terms": terms, "ranker": "local"}
    return {"query": question}


def winnow(server: Server, tool: str, question: Question, tokens: Tokens) -> Cost:
    arguments = arguments_of(tool, question.text)
    read, complete, data = 0, None, 0
    for page in itertools.count():
        answer = server.call(tool, arguments)
        [content] = answer["content"]
        text = content["text"]
        size = tokens(text)
        result = answer.get("structuredContent") or {}
        if complete is None:
            complete, data = size, tokens(json.dumps(result, ensure_ascii=False))
        end = end_of_right(text, _paths(result), question)
        if end is not None:
            return Cost(read + tokens(text[:end]), complete, page == 0, data)
        read += size
        if not result.get("cursor") or read >= NOT_FOUND:
            return Cost(None, complete, False, data)
        arguments = {**arguments, "cursor": result["cursor"]}
    raise AssertionError


def _paths(answer: Plain) -> list[str]:
    found: list[Plain] = answer.get("results") or answer.get("files") or []
    return [result["path"] for result in found]


def end_of_right(text: str, paths: Sequence[str], question: Question) -> int | None:
    """Return the end of the first correct file's entry in an answer's text; None without one."""
    starts: list[int] = []
    for path in paths:
        heading = re.compile(rf"^(?:/.*/)?{re.escape(path)}(?=:|  |$)", re.M)
        found = heading.search(text, starts[-1] + 1 if starts else 0)
        assert found, f"{path} is not in the text"
        starts.append(found.start())
    for place, path in enumerate(paths):
        if is_right(path, question):
            return starts[place + 1] if place + 1 < len(starts) else len(text)
    return None


def is_right(path: str, question: Question) -> bool:
    return any(same_file(path, target["path"]) for target in question.targets)


# --- peers -----------------------------------------------------------------------------------


def grep_and_read(repository: Repository, question: Question, tokens: Tokens) -> Cost:
    words = dict.fromkeys(re.findall(r"\w{3,}", question.text.lower()))
    distinct: Counter[str] = Counter()
    matches: Counter[str] = Counter()
    for word in words:
        if word in STOP_WORDS:
            continue
        command = [RG, "--no-config", "--count-matches", "--null", "--fixed-strings"]
        run = subprocess.run(
            [*command, "--ignore-case", "-e", word, "."],
            cwd=repository.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for line in run.stdout.splitlines():
            name, _, count = line.partition(b"\0")
            path = os.fsdecode(name).removeprefix("./")
            distinct[path] += 1
            matches[path] += int(count)
    read = 0
    for path in sorted(distinct, key=lambda path: (-distinct[path], -matches[path], path)):
        read += tokens((repository.folder / path).read_text("utf-8", "replace"))
        if is_right(path, question):
            return Cost(read)
    return Cost(None)


class Semble:
    """semble with its index of a repository, see `retrieval_peers.py`."""

    def __init__(self, python: str, folder: Path) -> None:
        pipe = subprocess.PIPE
        command = [python, str(HERE / "retrieval_peers.py"), "semble", str(folder)]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def reply(self, query: str) -> Plain:
        """Return the answer of its server, and the best 50 entries."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"query": query, "texts": True}) + "\n")
        self._process.stdin.flush()
        reply: Plain = json.loads(self._process.stdout.readline())
        return reply

    def costs(self, question: Question, tokens: Tokens) -> tuple[Cost, Cost]:
        """Return the cost by the rules of semble's benchmark, and the cost for an agent."""
        reply = self.reply(question.text)
        entries, few = reply["entries"], json.loads(reply["answer"]).get("results", [])
        complete = tokens(reply["answer"])
        rank = _rank([entry["file_path"] for entry in entries], question)
        if rank is None:
            return Cost(None), Cost(None, complete)
        bare = sum(map(tokens, reply["chunks"][:rank]))
        if rank <= len(few):
            read = tokens(json.dumps({"query": question.text, "results": few[:rank]}))
            return Cost(bare), Cost(read, complete, True)
        # semble has no pages: the agent repeats the query with more results.
        more = tokens(json.dumps({"query": question.text, "results": entries[:rank]}))
        return Cost(bare), Cost(complete + more, complete)

    def stop(self) -> None:
        self._process.kill()
        with self._process:
            pass


def _rank(paths: Sequence[str], question: Question) -> int | None:
    """Return the number of entries up to the first correct file."""
    return next((n for n, path in enumerate(paths, 1) if is_right(path, question)), None)


def probe(repository: Repository, question: Question, tokens: Tokens) -> Cost | None:
    """Return the cost of probe's output for ten results; None if probe is not installed."""
    command = ["probe", "search", question.text, ".", "--max-results", "10"]
    try:
        run = subprocess.run(
            command,
            cwd=repository.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return None
    text = run.stdout.decode("utf-8", "replace")
    heads = list(re.finditer(r"^File: (.*)$", text, re.M))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    complete = tokens(text)
    for head, end in zip(heads, ends, strict=True):
        if is_right(os.path.relpath(head[1], repository.folder), question):
            return Cost(tokens(text[:end]), complete, True)
    return Cost(None, complete)


# --- all -------------------------------------------------------------------------------------

TOOLS = ("semantic_search", "code_search", "keyword_search")
UNTRAINED = "keyword_search"
PROBE = "probe, ten results"
BARE = "semble, bare code of 50"
AGENTS = "semble mcp"


def drawn(
    repositories: Sequence[Repository], count: int, seed: int
) -> list[tuple[Repository, list[Question]]]:
    """Choose `count` questions from all repositories in turn."""
    choice = random.Random(seed)
    order = choice.sample(list(range(len(repositories))), len(repositories))
    shuffled = [
        choice.sample(list(repository.questions), len(repository.questions))
        for repository in repositories
    ]
    rounds = itertools.zip_longest(*(shuffled[place] for place in order))
    found: dict[int, list[Question]] = defaultdict(list)
    in_turn = (
        (place, question)
        for questions in rounds
        for place, question in zip(order, questions, strict=True)
        if question is not None
    )
    for place, question in itertools.islice(in_turn, count):
        found[place].append(question)
    return [(repositories[place], found[place]) for place in sorted(found)]


def costs_of(
    repository: Repository, questions: Sequence[Question], tokens: Tokens, embeddings: str
) -> Iterator[tuple[str, Cost]]:
    """Yield the cost of each method for each question of a repository."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        folder = home / repository.folder.name
        folder.mkdir()
        copy_corpus(repository.folder, folder)
        server = Server(folder, home, INDEX.format(embeddings))
        try:
            for question in questions:
                for tool in TOOLS:
                    yield f"winnow {tool}", winnow(server, tool, question, tokens)
        finally:
            server.stop()
        server = Server(folder, home, NO_INDEX)
        try:
            for question in questions:
                yield "the same, without an index", winnow(server, UNTRAINED, question, tokens)
        finally:
            server.stop()
    for question in questions:
        yield "grep and read", grep_and_read(repository, question, tokens)
        if (cost := probe(repository, question, tokens)) is not None:
            yield PROBE, cost
    if (python := peers_python()) is not None:
        semble = Semble(python, repository.folder)
        try:
            for question in questions:
                bare, read = semble.costs(question, tokens)
                yield BARE, bare
                yield AGENTS, read
        finally:
            semble.stop()


def row(title: str, costs: Sequence[Cost]) -> str:
    until = [NOT_FOUND if cost.until is None else cost.until for cost in costs]
    middle = f"{statistics.median(until):9,.0f}{statistics.mean(until):9,.0f}"
    first_answers = [cost.first_answer for cost in costs if cost.first_answer is not None]
    first = f"{'':>9}{'':>8}"
    if first_answers:
        share = statistics.mean(cost.is_in_first for cost in costs)
        first = f"{statistics.mean(first_answers):9,.0f}{share:8.2f}"
    shares = [statistics.mean(size <= budget for size in until) for budget in BUDGETS]
    return f"{title:28}{middle}{first}" + "".join(f"{share:8.2f}" for share in shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-embeddings", action="store_true", help="Winnow without embeddings")
    options = parser.parse_args()
    chosen = drawn(load_repositories(options), options.questions, options.seed)
    tokens = Tokens()
    embeddings = "off" if options.no_embeddings else "auto"
    costs: dict[str, list[Cost]] = defaultdict(list)
    for repository, questions in chosen:
        for title, cost in costs_of(repository, questions, tokens, embeddings):
            costs[title].append(cost)
    tokens.stop()
    count = sum(len(questions) for _, questions in chosen)
    unit = "tokens of cl100k_base" if tokens.is_exact else "bytes / 4 (tokenizer missing)"
    print(f"{count} questions about {len(chosen)} repositories, seed {options.seed}; {unit}")
    budgets = "".join(f"{f'{budget:,}':>8}" for budget in BUDGETS)
    print(
        f"{'until the correct file':28}{'median':>9}{'mean':>9}{'complete':>9}{'hits':>8}{budgets}"
    )
    for title, costs_of_title in costs.items():
        print(row(title, costs_of_title))
    for missing in {PROBE, AGENTS} - set(costs):
        print(f"{missing:28}missing")
    print(PUBLISHED)
    data: Callable[[str], float] = lambda tool: statistics.mean(  # noqa: E731
        cost.data for cost in costs[f"winnow {tool}"]
    )
    sizes = ", ".join(f"{data(tool):,.0f} for {tool}" for tool in TOOLS)
    print(f"Structured data of these answers, which only `winnow mcp --structured` sends: {sizes}")


if __name__ == "__main__":
    main()
