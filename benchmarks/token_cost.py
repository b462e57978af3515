"""Count the tokens an agent reads until it has the right file, for questions of a benchmark.

    python benchmarks/token_cost.py --annotations dev.jsonl --corpora FOLDER [--questions 30]

`questions.py` describes annotations. Questions are drawn with a seed: one per repository, in random
order, and again until there are enough.

Winnow is `winnow mcp` in a copy of the repository, when its index is complete: each tool is called
with the question and nothing else, so that all defaults hold, and what counts is the text of its
answer. `keyword_search` has no key for a model, and gets terms that are made mechanically: the
question's identifiers, then its capitalised words, then its other words, without stop words, longer
ones first (`search_terms` in `local_ranker.py`); an agent that knows a little of the code would
find better ones. An answer is read from its top to the end of the entry of the first right file. If
there is none, the whole answer counts, and the next page is asked for with its `cursor`, and so on.

"grep and read" is the usual loop, by the rules of semble's benchmark: `rg --fixed-strings
--ignore-case` for each word of the question that is no stop word and has three letters; then the
files that match are read from beginning to end, those with most of the words first (then those with
most matches) until one is right. What ripgrep prints is not even counted.

semble is read both as its benchmark reads it, which is where its published figure is from (the bare
code of the 50 best passages, up to the first that is right), and as its MCP server answers an
agent. probe is read as its command prints ten results.

The index's ranker was trained on questions of this benchmark. What it does not touch is
`keyword_search` without an index, whose ranker has weights of hand.

Where the right file is not found at all, it counts as 32,000 tokens, as there. `whole` is the mean
of the first answer from its top to its end, which is what fills an agent's context; `in it` is the
share of the questions whose right file it has, and the columns behind are the shares that have been
answered after so many tokens. Tokens are those of OpenAI's cl100k_base, by the package bpe-openai;
if that is missing, bytes / 4, which is said.
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

from local_ranker import search_terms
from peers import peers_python
from questions import Question, Repository, add_arguments, asked, same_file
from retrieval_runner import copied

from winnow.index.postings.terms import STOP_WORDS
from winnow.processes.programs import InstalledPrograms

HERE = Path(__file__).parent
RG = InstalledPrograms(os.environ, ()).ripgrep()
NOT_FOUND = 32_000
INDEX_SECONDS = 120
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
PUBLISHED = """\
published by semble, 1,251 questions   348 tokens in the mean (grep and read: 45,587);
                                       .842 after 500, .923 after 1,000, .967 after 2,000"""
INDEX = "[index]\nembeddings = {!r}\n"
NO_INDEX = "[index]\nenabled = false\n"
NOTHING_LEARNED = "[learning]\nenabled = false\n"
Plain = dict[str, Any]


class Tokens:
    """Counts tokens, in a process of the environment that has the tokenizer."""

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
            self.is_exact = self._ask("two words") == 2
        except (OSError, ValueError):
            self.is_exact = False

    def _ask(self, text: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __call__(self, text: str) -> int:
        return self._ask(text) if self.is_exact else len(text.encode()) // 4

    def stop(self) -> None:
        self._process.kill()
        with self._process:
            pass


class Cost(NamedTuple):
    """Tokens until the right file, or None; those of the whole first answer, and whether it has
    the file; those of its data, which is sent beside its text."""

    until: int | None
    whole: int | None = None
    is_in_first: bool = False
    data: int = 0


# --- winnow ----------------------------------------------------------------------------------


class Server:
    """`winnow mcp` on a folder, with its index complete, or with none."""

    def __init__(self, folder: Path, home: Path, index: str) -> None:
        settings = home / "config.toml"
        settings.write_text(index + NOTHING_LEARNED)
        environment = {**os.environ, "WINNOW_CONFIG": str(settings)}
        for key in ("FIREWORKS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            environment.pop(key, None)
        # It starts elsewhere: `-m` finds modules in the folder that it starts in.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "winnow", "mcp", str(folder)],
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
        # It is begun once something was asked.
        ended = time.monotonic() + INDEX_SECONDS
        while index != NO_INDEX and self._index_state() != "ready":
            if time.monotonic() > ended:
                raise TimeoutError(f"the index of {folder.name} is {self._index_state()}")
            time.sleep(0.05)

    def _index_state(self) -> str:
        status = self.call("index_status", {})["structuredContent"]
        return str(status["completeness"]["index"]["state"])

    def call(self, name: str, arguments: Plain) -> Plain:
        """The answer of a tool."""
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
        terms = search_terms(question) or [re.escape(question)]
        return {"query": question, "search_terms": terms, "ranker": "local"}
    return {"query": question}


def winnow(server: Server, tool: str, question: Question, tokens: Tokens) -> Cost:
    arguments = arguments_of(tool, question.text)
    read, whole, data = 0, None, 0
    for page in itertools.count():
        answer = server.call(tool, arguments)
        [content] = answer["content"]
        text = content["text"]
        size = tokens(text)
        result = answer.get("structuredContent") or {}
        if whole is None:
            whole, data = size, tokens(json.dumps(result, ensure_ascii=False))
        end = end_of_right(text, _paths(result), question)
        if end is not None:
            return Cost(read + tokens(text[:end]), whole, page == 0, data)
        read += size
        if not result.get("cursor") or read >= NOT_FOUND:
            return Cost(None, whole, False, data)
        arguments = {**arguments, "cursor": result["cursor"]}
    raise AssertionError


def _paths(result: Plain) -> list[str]:
    found: list[Plain] = result.get("results") or result.get("files") or []
    return [one["path"] for one in found]


def end_of_right(text: str, paths: Sequence[str], question: Question) -> int | None:
    """Where the entry of the first right file ends in an answer's text; None if it has none."""
    starts: list[int] = []
    for path in paths:
        begun = re.compile(rf"^(?:/.*/)?{re.escape(path)}(?=:|  |$)", re.M)
        found = begun.search(text, starts[-1] + 1 if starts else 0)
        assert found, f"{path} is not in the text"
        starts.append(found.start())
    for place, path in enumerate(paths):
        if is_right(path, question):
            return starts[place + 1] if place + 1 < len(starts) else len(text)
    return None


def is_right(path: str, question: Question) -> bool:
    return any(same_file(path, target["path"]) for target in question.targets)


# --- others ----------------------------------------------------------------------------------


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
    for path in sorted(distinct, key=lambda one: (-distinct[one], -matches[one], one)):
        read += tokens((repository.folder / path).read_text("utf-8", "replace"))
        if is_right(path, question):
            return Cost(read)
    return Cost(None)


class Semble:
    """Its index of a repository, see `retrieval_peers.py`."""

    def __init__(self, python: str, folder: Path) -> None:
        pipe = subprocess.PIPE
        command = [python, str(HERE / "retrieval_peers.py"), "semble", str(folder)]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def costs(self, question: Question, tokens: Tokens) -> tuple[Cost, Cost]:
        """By the rules of its benchmark, and as an agent reads it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asking = {"query": question.text, "texts": True}
        self._process.stdin.write(json.dumps(asking) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        entries, few = said["entries"], json.loads(said["answer"]).get("results", [])
        whole = tokens(said["answer"])
        rank = _rank([one["file_path"] for one in entries], question)
        if rank is None:
            return Cost(None), Cost(None, whole)
        bare = sum(map(tokens, said["chunks"][:rank]))
        if rank <= len(few):
            read = tokens(json.dumps({"query": question.text, "results": few[:rank]}))
            return Cost(bare), Cost(read, whole, True)
        # The same again with more results: it has no pages.
        more = tokens(json.dumps({"query": question.text, "results": entries[:rank]}))
        return Cost(bare), Cost(whole + more, whole)

    def stop(self) -> None:
        self._process.kill()
        with self._process:
            pass


def _rank(paths: Sequence[str], question: Question) -> int | None:
    """How many entries are read until one is of a right file."""
    return next((n for n, path in enumerate(paths, 1) if is_right(path, question)), None)


def probe(repository: Repository, question: Question, tokens: Tokens) -> Cost | None:
    """What it prints for ten results; None if it is not installed."""
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
    whole = tokens(text)
    for head, end in zip(heads, ends, strict=True):
        if is_right(os.path.relpath(head[1], repository.folder), question):
            return Cost(tokens(text[:end]), whole, True)
    return Cost(None, whole)


# --- all -------------------------------------------------------------------------------------

TOOLS = ("semantic_search", "code_search", "keyword_search")
UNTRAINED = "keyword_search"
PROBE = "probe, ten results"
BARE = "semble, bare code of 50"
AGENTS = "semble mcp"


def drawn(
    repositories: Sequence[Repository], count: int, seed: int
) -> list[tuple[Repository, list[Question]]]:
    """So many questions, from all repositories in turn."""
    choice = random.Random(seed)
    order = choice.sample(list(range(len(repositories))), len(repositories))
    shuffled = [choice.sample(list(one.questions), len(one.questions)) for one in repositories]
    rounds = itertools.zip_longest(*(shuffled[place] for place in order))
    found: dict[int, list[Question]] = defaultdict(list)
    some = (
        (place, question)
        for questions in rounds
        for place, question in zip(order, questions, strict=True)
        if question is not None
    )
    for place, question in itertools.islice(some, count):
        found[place].append(question)
    return [(repositories[place], found[place]) for place in sorted(found)]


def costs_of(
    repository: Repository, questions: Sequence[Question], tokens: Tokens, embeddings: str
) -> Iterator[tuple[str, Cost]]:
    """What each way costs for each question of a repository."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        folder = home / repository.folder.name
        folder.mkdir()
        copied(repository.folder, folder)
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
    until = [NOT_FOUND if one.until is None else one.until for one in costs]
    middle = f"{statistics.median(until):9,.0f}{statistics.mean(until):9,.0f}"
    wholes = [one.whole for one in costs if one.whole is not None]
    first = f"{'':>9}{'':>8}"
    if wholes:
        share = statistics.mean(one.is_in_first for one in costs)
        first = f"{statistics.mean(wholes):9,.0f}{share:8.2f}"
    shares = [statistics.mean(one <= budget for one in until) for budget in BUDGETS]
    return f"{title:28}{middle}{first}" + "".join(f"{share:8.2f}" for share in shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-embeddings", action="store_true", help="Winnow without its extra")
    options = parser.parse_args()
    some = drawn(asked(options), options.questions, options.seed)
    tokens = Tokens()
    embeddings = "off" if options.no_embeddings else "auto"
    costs: dict[str, list[Cost]] = defaultdict(list)
    for repository, questions in some:
        for title, cost in costs_of(repository, questions, tokens, embeddings):
            costs[title].append(cost)
    tokens.stop()
    count = sum(len(questions) for _, questions in some)
    counted = "tokens of cl100k_base" if tokens.is_exact else "bytes / 4, for want of a tokenizer"
    print(f"{count} questions to {len(some)} repositories, seed {options.seed}; {counted}")
    budgets = "".join(f"{f'{budget:,}':>8}" for budget in BUDGETS)
    print(f"{'until the right file':28}{'median':>9}{'mean':>9}{'whole':>9}{'in it':>8}{budgets}")
    for title, some_costs in costs.items():
        print(row(title, some_costs))
    for missing in {PROBE, AGENTS} - set(costs):
        print(f"{missing:28}is missing")
    print(PUBLISHED)
    data: Callable[[str], float] = lambda tool: statistics.mean(  # noqa: E731
        one.data for one in costs[f"winnow {tool}"]
    )
    said = ", ".join(f"{data(tool):,.0f} for {tool}" for tool in TOOLS)
    print(f"The same answers as data, which `winnow mcp --text-only` does not send: {said}")


if __name__ == "__main__":
    main()
