"""Compare search_docs on 1,000 generated documents with ripgrep on their text, and with rga.

    python benchmarks/document_search.py [--documents N] [--runs N] [--no-rga]

Half of the documents are PDFs with ten pages; the other half are DOCX files with a hundred
paragraphs. First, a server without a cache searches all of them; the limit is 30 seconds. Then each
query runs in turn on the server ($/searchDocs with the built-in engine), with ripgrep and the same
options on the text that the server extracted, and with rga, which has all documents in its cache.
Prints medians, and the median ratios of the pairs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from language_client import Client, anonymous_memory

from winnow.processes.programs import InstalledPrograms

# Not imported as `documents.making_office`: a module of that name could hide the package.
sys.path.append(str(Path(__file__).parents[1] / "tests" / "documents"))
from making_office import make_docx  # type: ignore[import-not-found]
from making_pdf import make_pdf  # type: ignore[import-not-found]

RG = InstalledPrograms(os.environ, ()).ripgrep()
LIMIT_SECONDS = 30.0
RATIO = 2.0
# The queries, by the number of documents (of a thousand) that contain them.
QUERIES = {
    "in no document": "zyzzyva",
    "in 10 documents": "retention period",
    "in 100 documents": "quarterly report",
    "in all documents": "wherefore",
}
WORDS = [
    a + b + c
    for a in ("ba", "co", "di", "fe", "gu", "ka", "lo", "mi", "nu", "pe", "ra", "so", "ti", "vu")
    for b in ("ba", "ce", "do", "fi", "gu", "la", "me", "no", "pi", "ru")
    for c in ("n", "r", "s", "l", "t", "nd", "st")
]


def make_documents(folder: Path, count: int) -> None:
    """Write documents of meaningless words, and insert the queries into some of them."""
    chance = random.Random(5)
    for number in range(count):
        planted = [
            query
            for place, query in enumerate(list(QUERIES.values())[1:])
            if number % (100, 10, 1)[place] == 0
        ]
        lines = [" ".join(chance.choices(WORDS, k=12)) for _ in range(400)]
        for query in planted:
            line = chance.randrange(len(lines))
            lines[line] = f"{lines[line]} {query}"
        file = folder / f"part{number % 20}" / f"document{number}"
        file.parent.mkdir(exist_ok=True)
        if number % 2:
            pages = [lines[at : at + 40] for at in range(0, 400, 40)]
            file.with_suffix(".pdf").write_bytes(make_pdf(pages))
        else:
            paragraphs = [" ".join(lines[at : at + 4]) for at in range(0, 400, 4)]
            file.with_suffix(".docx").write_bytes(make_docx(paragraphs))


def timed(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def by_ripgrep(texts: Path, query: str) -> list[str]:
    """Return the ripgrep command that searches the texts with the options of a document search."""
    names = [str(path.relative_to(texts)) for path in texts.rglob("*.txt")]
    options = ["--json", "--ignore-case", "--context=2", "--max-count=101", "--no-mmap"]
    return [RG, "--no-config", *options, "-e", query, "--", *names]


def by_rga(query: str) -> list[str]:
    return [
        "rga",
        "--rga-adapters=-ffmpeg",
        "-i",
        "--max-count=100",
        "--context=2",
        "--color=never",
        "--json",
        "-e",
        query,
        ".",
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--runs", type=int, default=11)
    options.add_argument(
        "--no-rga", action="store_true", help="skip rga, which needs minutes to fill its cache"
    )
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.path.realpath(temporary))
        documents, cache = folder / "documents", folder / "cache"
        documents.mkdir()
        print(f"making {chosen.documents} documents", file=sys.stderr)
        make_documents(documents, chosen.documents)
        compare(documents, cache, chosen.runs, rga=not chosen.no_rga and bool(shutil.which("rga")))


def compare(documents: Path, cache: Path, runs: int, *, rga: bool) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    client = Client([sys.executable, "-m", "winnow", "serve"], documents, environment)

    def search(query: str) -> Any:
        return client.request("$/searchDocs", {"query": query, "engine": "builtin"})

    first: Any = None

    def search_first() -> None:
        nonlocal first
        first = search("quarterly report")

    seconds = timed(search_first)
    print(
        f"first search: {seconds:.1f} s, {first['statistics']['files']} documents searched,"
        f" {first.get('pending', 0)} pending (limit {LIMIT_SECONDS:g} s)"
    )
    waited = timed(wait, search)
    print(f"all documents searched after {seconds + waited:.1f} s")
    texts = cache / "winnow" / "documents"
    memory = anonymous_memory(client.process.pid)
    size = sum(path.stat().st_size for path in texts.rglob("*.txt"))
    print(f"extracted texts: {size / 1024**2:.1f} MiB; server memory: {memory:.0f} MB")
    if rga:
        print("filling rga's cache", file=sys.stderr)
        run(by_rga("quarterly report"), documents, environment)
    print()
    print("| query | searchDocs | rg on the texts | ratio | rga, warm cache | ratio |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    for title, query in QUERIES.items():
        winnow_times: list[float] = []
        ripgrep_times: list[float] = []
        rga_times: list[float] = []
        command = by_ripgrep(texts, query)
        for _ in range(runs + 1):
            winnow_times.append(timed(search, query))
            ripgrep_times.append(timed(run, command, texts, environment))
            if rga:
                rga_times.append(timed(run, by_rga(query), documents, environment))
        ratio = statistics.median(
            a / b for a, b in zip(winnow_times[1:], ripgrep_times[1:], strict=True)
        )
        worst = max(worst, ratio)
        row = [title, milliseconds(winnow_times), milliseconds(ripgrep_times), f"{ratio:.2f}x"]
        if rga:
            to_rga = statistics.median(
                a / b for a, b in zip(winnow_times[1:], rga_times[1:], strict=True)
            )
            row += [milliseconds(rga_times), f"{to_rga:.3f}x"]
        print(f"| {' | '.join(row)} |")
    print()
    print(f"worst ratio to ripgrep: {worst:.2f} (limit {RATIO:g})")
    client.stop()


def wait(search: Callable[[str], Any]) -> None:
    """Wait until no documents are pending."""
    while search("quarterly report").get("pending"):
        time.sleep(0.2)


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def milliseconds(times: list[float]) -> str:
    return f"{1000 * statistics.median(times[1:]):.0f} ms"


if __name__ == "__main__":
    main()
