"""Count the tokens that an agent reads until it has all files that the fix of an issue changed.

    python benchmarks/issue_tokens.py --issues dev.jsonl --mirrors FOLDER [--rows FILE]

The policy is fixed: search with the issue's text, read the places in the order of the answer, and
stop once all files of the fix have been read. If they aren't among the places, the agent searches
once more, for 20 places. What it doesn't have then counts as not found.

Winnow is `winnow mcp` with its four tools and a complete index: an agent reads the answers of
`search`, and the lines of each place with `read`. semble's answer contains the code of its places,
so nothing more is read. "grep and read" reads complete files, ordered by the number of words of the
issue's title that they contain. `tools` is the size of the list of tools, which an agent pays for
in every turn, and `answer` the mean size of the first answer. The trees come from bare clones,
`FOLDER/OWNER+NAME/repo`. Tokens are counted as in `token_cost.py`, and what isn't found counts as
32,000, except that "grep and read" reads whatever it takes.

`--rows` keeps the figures of each issue. A run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from bare_clones import clone_of, write_tree
from peers import peers_python
from questions import Question, Repository
from token_cost import NOT_FOUND, Semble, Server, Tokens, grep_and_read

PLACE = re.compile(r"^(\S+?):(\d+)(?:-(\d+))?(?:  .*)?$", re.M)
FEW, MANY = 5, 20
WINNOW, SEMBLE, GREP = "winnow mcp", "semble", "grep and read"


class Reading(NamedTuple):
    """The tokens until a gold file and until all gold files have been read, None if they weren't;
    and the size of the first answer."""

    until_first: int | None
    until_all: int | None
    answer: int


class Row(NamedTuple):
    """The readings of an issue, by method, and the size of Winnow's list of tools."""

    id: str
    readings: dict[str, Reading]
    tools: int


class Short(Server):
    """`winnow mcp` with its four tools and a complete index."""

    def __init__(self, folder: Path, home: Path) -> None:
        super().__init__(folder, home, "[index]\n", ("--tools", "short"))

    def _index_state(self) -> str:
        text = self.text("search", {"query": "how does it start", "limit": 1})
        return "building" if "the index is" in text else "ready"

    def text(self, name: str, arguments: dict[str, Any]) -> str:
        [content] = self.call(name, arguments)["content"]
        return str(content["text"])

    def list_tools(self) -> str:
        return json.dumps(self._request("tools/list", {})["tools"])


def with_winnow(server: Short, issue: str, gold: Sequence[str], tokens: Tokens) -> Reading:
    read, first_answer = 0, 0
    until_first: int | None = None
    missing = set(gold)
    seen: set[str] = set()
    for limit in (FEW, MANY):
        arguments: dict[str, Any] = {"query": issue} | ({"limit": limit} if limit > FEW else {})
        text = server.text("search", arguments)
        size = tokens(text)
        read += size
        first_answer = first_answer or size
        for path, first, last in PLACE.findall(text):
            place = f"{path}:{first}-{last or first}"
            if place in seen:
                continue
            seen.add(place)
            read += tokens(server.text("read", {"path": place}))
            if path in gold and until_first is None:
                until_first = read
            missing.discard(path)
            if not missing:
                return Reading(until_first, read, first_answer)
    return Reading(until_first, None, first_answer)


def with_semble(semble: Semble, issue: str, gold: Sequence[str], tokens: Tokens) -> Reading:
    reply = semble.reply(issue)
    few = json.loads(reply["answer"]).get("results", [])
    first_answer = read = tokens(reply["answer"])
    paths = [entry["file_path"] for entry in reply["entries"][:MANY]]
    shown = paths[: len(few)]
    until_first = read if set(gold) & set(shown) else None
    if set(gold) <= set(shown):
        return Reading(until_first, read, first_answer)
    read += tokens(json.dumps({"query": issue, "results": reply["entries"][:MANY]}))
    if until_first is None and set(gold) & set(paths):
        until_first = read
    return Reading(until_first, read if set(gold) <= set(paths) else None, first_answer)


def with_grep(folder: Path, issue: str, gold: Sequence[str], tokens: Tokens) -> Reading:
    title = issue.partition("\n")[0]
    costs = [
        grep_and_read(
            Repository("", "", folder, [], {}), Question(title, "", [{"path": path}]), tokens
        ).until
        for path in gold
    ]
    known = [cost for cost in costs if cost is not None]
    return Reading(min(known, default=None), max(known) if len(known) == len(costs) else None, 0)


def kept_rows(file: Path | None) -> list[Row]:
    """Return the rows of an earlier run."""
    if file is None or not file.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in file.read_bytes().splitlines()]


def row_of(issue: Mapping[str, Any], mirrors: Path, tokens: Tokens) -> Row:
    """Measure all methods on an issue."""
    text, gold = issue["issue"], issue["gold"]
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name) / "tree", Path(name) / "home"
        home.mkdir()
        write_tree(clone_of(mirrors, issue["clone"]), issue["base_commit"], folder)
        server = Short(folder, home)
        tools = tokens(server.list_tools())
        readings = {WINNOW: with_winnow(server, text, gold, tokens)}
        server.stop()
        if python := peers_python():
            semble = Semble(python, folder)
            readings[SEMBLE] = with_semble(semble, text, gold, tokens)
            semble.stop()
        readings[GREP] = with_grep(folder, text, gold, tokens)
    return Row(issue["id"], readings, tools)


def described(title: str, readings: Sequence[Reading], tools: str) -> str:
    """Return a line of the table."""
    first = [NOT_FOUND if one.until_first is None else one.until_first for one in readings]
    every = [NOT_FOUND if one.until_all is None else one.until_all for one in readings]
    found = sum(one.until_all is not None for one in readings)
    answer = statistics.mean(one.answer for one in readings)
    return (
        f"{title:16}{tools:>7}{answer:9,.0f}{statistics.mean(first):10,.0f}"
        f"{statistics.mean(every):10,.0f}{statistics.median(every):10,.0f}"
        f"{found:5} of {len(readings)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--issues", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--rows", type=Path, help="keep the figures of each issue in this file")
    parser.add_argument("--sample", type=int, default=48, help="issues, evenly over the list")
    options = parser.parse_args()
    issues = [json.loads(line) for line in options.issues.read_text("utf-8").splitlines()]
    step = max(1, len(issues) // options.sample)
    issues = issues[::step][: options.sample]
    tokens = Tokens()
    kept = {row.id: row for row in kept_rows(options.rows)}
    rows = []
    for issue in issues:
        started = time.monotonic()
        row = kept.get(issue["id"]) or row_of(issue, options.mirrors, tokens)
        rows.append(row)
        if row.id not in kept and options.rows is not None:
            with options.rows.open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")
        shown = {title: reading.until_all for title, reading in row.readings.items()}
        seconds = time.monotonic() - started
        print(f"{row.id} ({seconds:.0f} s): {shown}", file=sys.stderr, flush=True)
    print(f"tokens{'' if tokens.is_exact else ' (estimated)'}, mean of {len(issues)} issues")
    print(f"{'':16}{'tools':>7}{'answer':>9}{'one file':>10}{'all files':>10}{'median':>10}  found")
    for title in (WINNOW, SEMBLE, GREP):
        if readings := [row.readings[title] for row in rows if title in row.readings]:
            tools = f"{rows[0].tools:,}" if title == WINNOW else "-"
            print(described(title, readings, tools))
    tokens.stop()
    return 0


if __name__ == "__main__":
    os.environ.setdefault("WINNOW_BACKGROUND", "0")
    sys.exit(main())
