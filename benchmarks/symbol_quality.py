"""Compare Winnow's symbols and references with the answers of other tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from language_client import Client, Plain, RequestFailed, path_of, uri_of

# File, line and column.
Location = tuple[str, int, int]

LIMITS = {
    "python": "F1 0.95, certain 0.97, definitions 0.98, rank 1 0.97",
    "typescript": "F1 0.95, definitions 0.95, rank 1 0.97",
    "c": "F1 0.88, definitions 0.95, rank 1 0.97",
}
# The only language that pyright supports.
PYRIGHT_LANGUAGE = "python"
# More than the references of any symbol in a corpus.
ALL = 10_000


def print_quality(
    truth: Path,
    trees: Path,
    folder: Path,
    command: list[str],
    pyright: list[str] | None,
    ctags: list[str] | None,
) -> None:
    """Print a row for each corpus whose expected answers and sources are available."""
    print("\nQuality on the development split: references (precision, recall, F1; precision of")
    print("certain ones), recall of definitions, exact name at rank 1 of workspace/symbol")
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
            print(f"{name:12} missing in {trees}")
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
        ours = "".join(f"{figure:12.3f}" for figure in figures)
        minimum = LIMITS.get(corpus["language"], "")
        print(f"{name:12}{len(symbols):9}{ours}{tags:>12}{rank:12.3f}{peer:>12}   {minimum}")


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
    """The number of correct, unexpected and missing locations over all symbols."""

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
        (_below(tree, location["uri"]), start["line"], start["character"])
        for location in answer or []
        for start in [location["range"]["start"]]
    }


def _certain(client: Client, tree: Path, symbol: Plain) -> set[Location]:
    """Return the certain results of $/findReferences, whose lines and columns start at 1 and whose
    columns are code points."""
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
    except RequestFailed:  # no known symbol at this position
        return set()
    found = set()
    for reference in answer["references"]:
        path, line = reference["path"], reference["line"] - 1
        before = _lines(tree / path)[line][: reference["column"] - 1]
        found.add((path, line, len(before.encode("utf-16-le")) // 2))
    return found


def _definitions(client: Client, tree: Path, rows: list[Any]) -> float:
    """Return the recall of definitions, by file, line and name."""
    true = {(file, line, name) for file, line, _, name, *_ in rows}
    found = set()
    for file in {file for file, _, _ in true}:
        params = {"textDocument": {"uri": uri_of(tree / file)}}
        pending = client.request("textDocument/documentSymbol", params) or []
        while pending:
            symbol = pending.pop()
            found.add((file, symbol["selectionRange"]["start"]["line"], symbol["name"]))
            pending += symbol.get("children") or []
    return len(true & found) / len(true)


def _ctags(command: list[str], tree: Path, rows: list[Any]) -> float:
    """Return the recall of definitions by universal-ctags, by file, line and name."""
    true = {(file, line, name) for file, line, _, name, *_ in rows}
    names = "\n".join(sorted({file for file, _, _ in true}))
    run = subprocess.run(command, cwd=tree, input=names, capture_output=True, text=True, check=True)
    tags = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    found = {(tag["path"], tag["line"] - 1, tag["name"]) for tag in tags if "line" in tag}
    return len(true & found) / len(true)


def _rank(client: Client, symbols: list[Plain]) -> float:
    """Return the share of names whose first result has exactly this name."""
    first = 0
    for symbol in symbols:
        answer = client.request("workspace/symbol", {"query": symbol["name"]})
        first += bool(answer) and answer[0]["name"] == symbol["name"]
    return first / len(symbols)


def _rank_of_peer(command: list[str], tree: Path, symbols: list[Plain]) -> float:
    client = Client(command, tree)
    try:
        # pyright reads its files during the first round; only the second round is complete.
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
