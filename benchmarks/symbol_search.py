"""Measure symbols and references over LSP: indexing, queries and quality, compared with peers.

    python benchmarks/symbol_search.py [TABLE…] [--truth FOLDER --corpora FOLDER]

The tables are indexing, saved, references, search and quality; by default all. Sources come from
PyPI, npm and Debian (see corpora.py) and are copied into a temporary folder, where a new `.winnow`
is built. Peers are universal-ctags (`apt-get install universal-ctags`) and pyright
(`npm install --global pyright@1.1.414`, or its `node_modules/.bin` in PATH). Missing peers are
reported.

`quality` needs the answers of other tools: --truth is a folder with `corpora.json`
(by name: `language`, `dir` below --corpora, `roots` to evaluate), `truth/NAME.refs.jsonl` (`file`,
`line`, `character`, `name`, and `refs`: the lines and columns by file) and `truth/NAME.defs.jsonl`
(file, line, column, name, …). Lines and columns start at 0, and columns are UTF-16 units.

Each row also has its limits. Times depend on other programs: the first and last lines have the
load.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import corpora
from language_client import Client, Plain, anonymous_memory, cpu_of_children, path_of, uri_of
from symbol_names import kernel_names, queries, write_tree
from symbol_quality import print_quality

WINNOW = [sys.executable, "-m", "winnow", "serve"]
PYRIGHT = ["pyright-langserver", "--stdio"]
CTAGS = ["ctags", "--output-format=json", "--fields=+nKS", "-f", "-", "-L", "-"]
SEED = 20261121
SAVES = 20
REFERENCES = 200
COLD = 10
COLD_PYRIGHT = 3
QUERIES = 200
SIZES = (100_000, 1_000_000)
# A class that Django defines once. pyright's answers are complete once they contain it.
DJANGO_CLASS = ("QuerySet", "django/db/models/query.py")
POLL_SECONDS = 0.2
MISSING = "is not installed: see the top of benchmarks/symbol_search.py"


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[Client]:
    client = Client(command, folder)
    try:
        yield client
    finally:
        client.stop()


def is_there(command: Sequence[str]) -> bool:
    return shutil.which(command[0]) is not None


def copy_tree(tree: Path, folder: Path) -> Path:
    """Copy a tree without its index."""
    target = folder / tree.name
    if not target.exists():
        shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".winnow"))
    return target


def row(title: str, figures: Iterable[str], limit: str = "") -> None:
    print(
        f"{title:44}"
        + "".join(f"{figure:>13}" for figure in figures)
        + (f"   {limit}" if limit else "")
    )


def percentiles(times: Sequence[float]) -> list[str]:
    """Format the median and the 95th percentile of times in milliseconds."""
    return [f"{statistics.median(times):.1f}", f"{sorted(times)[int(len(times) * 0.95)]:.1f}"]


# --- indexing ------------------------------------------------------------------------------


def print_indexing(folder: Path) -> None:
    print("\nIndexing: a new index, from `initialized` to the end of its progress")
    row("", ["files", "MB", "s", "CPU s", "MB/s of CPU"])
    for fetch, limit in ((corpora.django, "at most 6 s, at least 4 MB/s"), (corpora.redis, ""),
                         (corpora.rxjs, "")):  # fmt: skip
        tree = copy_tree(fetch(), folder)
        shutil.rmtree(tree / ".winnow", ignore_errors=True)
        with serving(WINNOW, tree) as client:
            seconds = client.wait_for_progress()
            cpu = cpu_of_children(client.process.pid)
        files = indexed_files(tree)
        size = sum(files.values()) / 1e6
        figures = [f"{len(files):,}", f"{size:.1f}", f"{seconds:.1f}"]
        row(f"{tree.name}, winnow", [*figures, f"{cpu:.1f}", f"{size / cpu:.1f}"], limit)
        print_ctags(tree, files, size)
        if fetch is corpora.django:
            print_pyright_start(tree)


def indexed_files(tree: Path) -> dict[str, int]:
    """Return the indexed files and their sizes."""
    [database] = (tree / ".winnow").glob("index-*.db")
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT path, size FROM file WHERE problem=''").fetchall()
    return {os.fsdecode(path): size for path, size in rows}


def print_ctags(tree: Path, files: dict[str, int], size: float) -> None:
    title = f"{tree.name}, ctags on these files"
    if not is_there(CTAGS):
        print(f"{title} {MISSING}")
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    names = "\n".join(files).encode("utf-8", "surrogateescape")
    subprocess.run(
        CTAGS,
        cwd=tree,
        input=names,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row(title, [f"{len(files):,}", f"{size:.1f}", f"{seconds:.1f}", f"{cpu:.1f}",
                f"{size / cpu:.1f}"], "definitions only")  # fmt: skip


def print_pyright_start(tree: Path) -> None:
    title = f"{tree.name}, pyright's first full answer"
    if not is_there(PYRIGHT):
        print(f"{title} {MISSING}")
        return
    with serving(PYRIGHT, tree) as client:
        seconds = first_full_answer(client, tree)
    row(title, ["", "", f"{seconds:.1f}"], "workspace/symbol; no stored index")


def first_full_answer(client: Client, tree: Path) -> float:
    """Return the seconds from `initialized` until workspace/symbol finds an existing class."""
    name, file = DJANGO_CLASS
    while True:
        found = client.request("workspace/symbol", {"query": name}) or []
        if any(symbol["name"] == name and path_of(symbol["location"]["uri"]) == tree / file
               for symbol in found):  # fmt: skip
            return time.perf_counter() - client.started
        time.sleep(POLL_SECONDS)


# --- one saved file ------------------------------------------------------------------------


def print_saved(folder: Path) -> None:
    tree = copy_tree(corpora.django(), folder)
    files = sorted((tree / "django").rglob("*.py"))
    chosen = random.Random(SEED).sample(files, 2 * SAVES)
    with serving(WINNOW, tree) as client:
        client.wait_for_progress()
        client.request("workspace/symbol", {"query": "QuerySet"})
        engine = client.request("$/semanticSearch", {"query": "QuerySet"})["engine"]
        notified = [
            save(client, file, f"saved_function_{n}", is_symbol, notify=True)
            for n, file in enumerate(chosen[:SAVES])
        ]
        written = [
            save(client, file, f"written_function_{n}", is_passage, notify=False)
            for n, file in enumerate(chosen[SAVES:])
        ]
    print(f"\nSaving a file of {tree.name}: milliseconds until its new function is found")
    row("", ["p50", "p95", "max"])
    slowest = f"{max(notified):.1f}"
    row(f"workspace/symbol, {SAVES} files", [*percentiles(notified), slowest], "at most 100")
    slowest = f"{max(written):.1f}"
    title = f"$/semanticSearch, {SAVES} files without didSave"
    row(title, [*percentiles(written), slowest], f"at most 200; {engine}")


def save(
    client: Client,
    file: Path,
    name: str,
    finds: Callable[[Client, Path, str], bool],
    *,
    notify: bool,
) -> float:
    """Append a function to a file, and return the milliseconds until a query finds it. If `notify`
    is set, the client sends didSave; otherwise only the watcher reports the change."""
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n\ndef {name}():\n    pass\n")
    started = time.perf_counter()
    if notify:
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(file)}})
    while not finds(client, file, name):
        pass
    return (time.perf_counter() - started) * 1000


def is_symbol(client: Client, file: Path, name: str) -> bool:
    found = client.request("workspace/symbol", {"query": name})
    return bool(found) and found[0]["name"] == name


def is_passage(client: Client, file: Path, name: str) -> bool:
    found = client.request("$/semanticSearch", {"query": name, "top_k": 1})["results"]
    return bool(found) and found[0].get("symbol") == name and file.match(found[0]["path"])


# --- references ----------------------------------------------------------------------------


def print_references(folder: Path) -> None:
    tree = copy_tree(corpora.django(), folder)
    with serving(WINNOW, tree) as client:
        client.wait_for_progress()
        samples = sample_definitions(client, tree)
        warm = [references(client, symbol)[1] for symbol in samples]
        found = sum(len(references(client, symbol)[0] or []) for symbol in samples)
    print(f"\nReferences to {len(samples)} definitions of {tree.name}, in milliseconds")
    row("", ["p50", "p95", "found"])
    row("winnow, with its index", [*percentiles(warm), f"{found:,}"], "at most 20, 150")
    print_pyright_references(tree, samples)
    print(f"\nThe first partial result for {COLD} of them, each from a new server without an index")
    row("", ["median", "max", "found"])
    print_cold("winnow", WINNOW, tree, samples[:COLD], "at most 300")
    if is_there(PYRIGHT):
        few = samples[:COLD_PYRIGHT]
        print_cold(f"winnow, {COLD_PYRIGHT} of them", WINNOW, tree, few, "")
        print_cold(f"pyright, {COLD_PYRIGHT} of them", PYRIGHT, tree, few, "")


def print_cold(
    title: str, command: list[str], tree: Path, symbols: Sequence[Plain], limit: str
) -> None:
    times, found = zip(*(cold_reference(command, tree, symbol) for symbol in symbols), strict=True)
    row(title, [f"{statistics.median(times):.0f}", f"{max(times):.0f}", f"{sum(found):,}"], limit)


def print_pyright_references(tree: Path, symbols: Sequence[Plain]) -> None:
    if not is_there(PYRIGHT):
        print(f"pyright {MISSING}")
        return
    with serving(PYRIGHT, tree) as client:
        first_full_answer(client, tree)
        warm, found = [], 0
        for symbol in symbols:
            places, milliseconds = references(client, symbol)
            warm.append(milliseconds)
            found += len(places or [])
    row("pyright, after reading all files", [*percentiles(warm), f"{found:,}"])


def sample_definitions(client: Client, tree: Path) -> list[Plain]:
    """Choose one definition each from random files; return params of requests for references."""
    choice = random.Random(SEED)
    files = sorted((tree / "django").rglob("*.py"))
    choice.shuffle(files)
    found: list[Plain] = []
    for file in files:
        document = {"uri": uri_of(file)}
        outline = client.request("textDocument/documentSymbol", {"textDocument": document})
        symbols = list(flat(outline or []))
        if symbols:
            place = choice.choice(symbols)["selectionRange"]["start"]
            context = {"includeDeclaration": True}
            found.append({"textDocument": document, "position": place, "context": context})
        if len(found) == REFERENCES:
            break
    return found


def flat(outline: Iterable[Plain]) -> Iterable[Plain]:
    for symbol in outline:
        yield symbol
        yield from flat(symbol.get("children") or [])


def references(client: Client, params: Plain) -> tuple[Any, float]:
    return client.timed("textDocument/references", params)


def cold_reference(command: list[str], tree: Path, params: Plain) -> tuple[float, int]:
    """Return the milliseconds from the request to the first partial result (or to the answer), and
    the total number of locations: a server that has not read all files yet may find few."""
    shutil.rmtree(tree / ".winnow", ignore_errors=True)
    with serving(command, tree) as client:
        started = time.perf_counter()
        params = {**params, "partialResultToken": "cold"}
        found = len(client.request("textDocument/references", params) or [])
        first = client.first.get("cold", time.perf_counter())
    return (first - started) * 1000, found + client.streamed.get("cold", 0)


# --- search --------------------------------------------------------------------------------


def print_search(folder: Path, sizes: Sequence[int]) -> None:
    names = kernel_names(corpora.kernel(), max(sizes), SEED)
    print("\nworkspace/symbol on names of the kernel's source, one function each: milliseconds of")
    print(f"{QUERIES} queries (3 and 6 letters, subsequences, initials, full names)")
    row("", ["p50", "p95", "index s", "RssAnon MB"])
    limits = {100_000: "at most 15, 150; 200 MB", 1_000_000: "at most 50, 150; 200 MB"}
    for size in sizes:
        tree = write_tree(folder / f"names-{size}", names[:size])
        with serving(WINNOW, tree) as client:
            seconds = client.wait_for_progress()
            times = [client.timed("workspace/symbol", {"query": query})[1]
                     for query in queries(names[:size], QUERIES, SEED)]  # fmt: skip
            memory = anonymous_memory(client.process.pid)
        figures = [*percentiles(times), f"{seconds:.1f}", f"{memory:.0f}"]
        row(f"{size:,} symbols", figures, limits.get(size, ""))
        shutil.rmtree(tree)


# --- all -----------------------------------------------------------------------------------


TABLES = ("indexing", "saved", "references", "search", "quality")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="for `search`")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"unknown table: {', '.join(unknown)}")
    tables = options.tables or TABLES
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {load()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if "indexing" in tables:
            print_indexing(folder)
        if "saved" in tables:
            print_saved(folder)
        if "references" in tables:
            print_references(folder)
        if "search" in tables:
            print_search(folder, options.sizes)
        if "quality" in tables:
            if options.truth and options.corpora:
                peer = PYRIGHT if is_there(PYRIGHT) else None
                tags = CTAGS if is_there(CTAGS) else None
                print_quality(options.truth, options.corpora, folder, WINNOW, peer, tags)
            else:
                print("\nSkipping quality: it needs --truth and --corpora")
    print(f"\n{load()}")


def load() -> str:
    return "load " + " ".join(f"{value:.1f}" for value in os.getloadavg())


if __name__ == "__main__":
    main()
