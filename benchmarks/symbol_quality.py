"""Compare answers about symbols with those of other tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from language_client import Client, Failed, Plain, path_of, uri_of

# File, line and column.
Location = tuple[str, int, int]

LIMITS = {
    "python": "F1 0.95, certain 0.97, definitions 0.98, rank 1 0.97",
    "typescript": "F1 0.95, definitions 0.95, rank 1 0.97",
    "c": "F1 0.88, definitions 0.95, rank 1 0.97",
}
# Of these, pyright finds symbols.
PYRIGHT_LANGUAGE = "python"
# More than any symbol of a corpus has.
ALL = 10_000


def print_quality(
    truth: Path,
    trees: Path,
    folder: Path,
    command: list[str],
    pyright: list[str] | None,
    ctags: list[str] | None,
) -> None:
    """A line for each corpus of which the truth and the sources are there."""
    print("\nQuality on the development split: references (precision, recall, F1; precision of")
    print(
        "those said to be certain), recall of definitions, exact name at rank 1 of workspace/symbol"
    )
    heads = (
        "P",
        "R",
        "F1",
        "certain P",
        "certain R",
        "definitions",
        "ctags'",
        "rank 1",
        "pyright's",
    )
    print(f"{'':12}{'symbols':>9}" + "".join(f"{head:>12}" for head in heads) + "   at least")
    for name, corpus in json.loads((truth / "corpora.json").read_text()).items():
        if not (trees / corpus["dir"]).is_dir():
            print(f"{name:12} is not in {trees}")
            continue
        tree = folder / f"truth-{name}"
        ignore = shutil.ignore_patterns(".winnow")
        shutil.copytree(trees / corpus["dir"], tree, symlinks=True, ignore=ignore)
        symbols = _rows(truth / f"truth/{name}.refs.jsonl")
        definitions = _rows(truth / f"truth/{name}.defs.jsonl")
        *figures, rank = _figures(command, tree, symbols, definitions, corpus)
        tags = f"{_ctags(ctags, tree, definitions):.3f}" if ctags else "missing"
        peer = "missing" if pyright is None else "-"
        if pyright and corpus["language"] == PYRIGHT_LANGUAGE:
            peer = f"{_rank_of_peer(pyright, tree, symbols):.3f}"
        ours = "".join(f"{one:12.3f}" for one in figures)
        least = LIMITS.get(corpus["language"], "")
        print(f"{name:12}{len(symbols):9}{ours}{tags:>12}{rank:12.3f}{peer:>12}   {least}")


def _figures(
    command: list[str], tree: Path, symbols: list[Plain], definitions: list[Any], corpus: Plain
) -> list[float]:
    client = Client(command, tree)
    try:
        client.wait_for_progress()
        roots = tuple(corpus["roots"])
        found = _Counts()
        certain = _Counts()
        for symbol in symbols:
            true = {(file, *at) for file, places in symbol["refs"].items() for at in places}
            found.add(true, _within(_references(client, tree, symbol), roots))
            certain.add(true, _within(_certain(client, tree, symbol), roots))
        return [
            *(found.precision, found.recall, found.f1, certain.precision, certain.recall),
            _definitions(client, tree, definitions),
            _rank(client, symbols),
        ]
    finally:
        client.stop()


class _Counts:
    """Over all symbols: how many places are right, too many, missing."""

    def __init__(self) -> None:
        self.right = self.extra = self.missing = 0

    def add(self, true: set[Location], found: set[Location]) -> None:
        self.right += len(true & found)
        self.extra += len(found - true)
        self.missing += len(true - found)

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.extra, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missing, 1)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(2 * self.right + self.extra + self.missing, 1)


def _within(places: Iterable[Location], roots: Sequence[str]) -> set[Location]:
    return {place for place in places if place[0].split("/")[0] in roots}


def _references(client: Client, tree: Path, symbol: Plain) -> set[Location]:
    answer = client.request(
        "textDocument/references",
        {
            "textDocument": {"uri": uri_of(tree / symbol["file"])},
            "position": {"line": symbol["line"], "character": symbol["character"]},
            "context": {"includeDeclaration": True},
        },
    )
    return {
        (_below(tree, one["uri"]), start["line"], start["character"])
        for one in answer or []
        for start in [one["range"]["start"]]
    }


def _certain(client: Client, tree: Path, symbol: Plain) -> set[Location]:
    """As $/findReferences has it: lines and columns from 1, columns in code points."""
    lines = _lines(tree / symbol["file"])
    params = {
        "path": symbol["file"],
        "line": symbol["line"] + 1,
        "column": _code_points(lines[symbol["line"]], symbol["character"]) + 1,
        "include_declaration": True,
        "certain_only": True,
        "max_results": ALL,
    }
    try:
        answer = client.request("$/findReferences", params)
    except Failed:  # no symbol is known there
        return set()
    found = set()
    for one in answer["references"]:
        before = _lines(tree / one["path"])[one["line"] - 1][: one["column"] - 1]
        found.add((one["path"], one["line"] - 1, len(before.encode("utf-16-le")) // 2))
    return found


def _definitions(client: Client, tree: Path, rows: list[Any]) -> float:
    """The recall of definitions, by file, line and name."""
    true = {(file, line, name) for file, line, _, name, *_ in rows}
    found = set()
    for file in {file for file, _, _ in true}:
        params = {"textDocument": {"uri": uri_of(tree / file)}}
        open_ends = client.request("textDocument/documentSymbol", params) or []
        while open_ends:
            symbol = open_ends.pop()
            found.add((file, symbol["selectionRange"]["start"]["line"], symbol["name"]))
            open_ends += symbol.get("children") or []
    return len(true & found) / len(true)


def _ctags(command: list[str], tree: Path, rows: list[Any]) -> float:
    """The recall of definitions by universal-ctags, by file, line and name."""
    true = {(file, line, name) for file, line, _, name, *_ in rows}
    said = "\n".join(sorted({file for file, _, _ in true}))
    run = subprocess.run(command, cwd=tree, input=said, capture_output=True, text=True, check=True)
    tags = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    found = {(one["path"], one["line"] - 1, one["name"]) for one in tags if "line" in one}
    return len(true & found) / len(true)


def _rank(client: Client, symbols: list[Plain]) -> float:
    """The part of the names of which a symbol that is called exactly so comes first."""
    first = 0
    for symbol in symbols:
        answer = client.request("workspace/symbol", {"query": symbol["name"]})
        first += bool(answer) and answer[0]["name"] == symbol["name"]
    return first / len(symbols)


def _rank_of_peer(command: list[str], tree: Path, symbols: list[Plain]) -> float:
    client = Client(command, tree)
    try:
        # It finds its files meanwhile: the second answers are from all of them.
        _rank(client, symbols)
        return _rank(client, symbols)
    finally:
        client.stop()


def _below(tree: Path, uri: str) -> str:
    path = path_of(uri)
    return path.relative_to(tree).as_posix() if path.is_relative_to(tree) else path.as_posix()


def _lines(file: Path) -> list[str]:
    return file.read_bytes().decode("utf-8", "replace").split("\n")


def _code_points(line: str, column: int) -> int:
    return len(line.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore"))


def _rows(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
