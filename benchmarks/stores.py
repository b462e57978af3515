"""Where postings and vectors could be kept: SQLite's FTS5, tantivy, our segments; usearch, numpy.

    python benchmarks/stores.py [TABLE…]

Tables are terms and vectors; both without an argument. Sources come from PyPI and, for 100,000
vectors, from Debian (see corpora.py). Peers are `pip install tantivy usearch`; one that is missing
is said to be so.

`terms`: chunks of 40 lines of Django's Python files, cut into words, in three stores, each in a
process of its own. A query is five words of one chunk, and its answer the hundred best chunks by
BM25 (k1 = 1.2, b = 0.75 in all three); "2 fields" is the same with the score of each of them in a
second field, the comments of its file. "as ours" is the share of our first ten that a store has in
its first ten: they weigh terms alike, but not to the last digit. Memory is anonymous: the most
while building, and what is there after the queries, beyond what imports and queries take.

`vectors`: one for each chunk, of 256 random numbers for each word, weighted as static embeddings
are. Recall is that of the ten nearest, against exact products.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import math
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import corpora
import msgspec
import numpy as np
import numpy.typing as npt
from language_client import anonymous_memory

from winnow.index.postings.contents import FIELDS, MEASURES, Contents, Postings
from winnow.index.postings.merging import merge_segments
from winnow.index.postings.segment import Segment, write_segment
from winnow.index.postings.trigrams import in_blocks

SEED = 20261121
CHUNK_LINES = 40
QUERIES = 200
QUERY_WORDS = 5
BEST = 100
K1, B = 1.2, 0.75
# How many texts a segment has before it is merged with others.
BATCH = 256
SAMPLE_SECONDS = 0.005
DIMENSIONS = 256
NEAREST = 10
VECTORS = (10_000, 100_000)
# So few rows that OpenBLAS does not divide them between threads: with 4,096 a busy machine takes
# twenty times as long.
EXACT_ROWS = 1024
# How many candidates HNSW keeps while it searches: usearch's own figure, and a thorough search.
EXPANSIONS = (64, 512)

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
COMMENT = re.compile(r'#.*|"""[\s\S]*?"""|/\*[\s\S]*?\*/')


class Text(msgspec.Struct):
    """The words of a file: of each chunk, and of its comments."""

    chunks: list[list[str]]
    comment: list[str]


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def texts_of(tree: Path, pattern: str) -> Iterator[Text]:
    for file in sorted(tree.rglob(pattern)):
        if file.is_file():
            text = file.read_text(errors="replace")
            lines = text.splitlines()
            starts = range(0, len(lines), CHUNK_LINES)
            chunks = [words("\n".join(lines[at : at + CHUNK_LINES])) for at in starts]
            yield Text(chunks, words(" ".join(COMMENT.findall(text))))


def queries_of(chunks: Sequence[Sequence[str]]) -> list[list[str]]:
    chance = random.Random(SEED)
    rich = [chunk for chunk in chunks if len(set(chunk)) >= QUERY_WORDS]
    return [sorted(chance.sample(sorted(set(chance.choice(rich))), QUERY_WORDS))
            for _ in range(QUERIES)]  # fmt: skip


def read_texts(file: Path) -> Iterator[Text]:
    decoder = msgspec.json.Decoder(Text)
    with file.open("rb") as lines:
        for line in lines:
            yield decoder.decode(line)


# --- stores of terms -------------------------------------------------------------------------


class Store(Protocol):
    def build(self, folder: Path, texts: Iterable[Text]) -> None: ...

    def best(self, query: Sequence[str]) -> list[int]:
        """The numbers of the best chunks."""

    def best_in_two_fields(self, query: Sequence[str]) -> list[tuple[int, float]]:
        """The same, with the scores of their files' comments."""


class Fts5:
    """Tables without contents. Positions must stay: how often a word stands is known from them."""

    def build(self, folder: Path, texts: Iterable[Text]) -> None:
        self.connection = sqlite3.connect(folder / "fts5.db")
        self.documents: list[int] = []
        run = self.connection.execute
        for table in ("chunk", "comment"):
            run(f"CREATE VIRTUAL TABLE {table} USING fts5(words, content='')")
        for document, text in enumerate(texts):
            for chunk in text.chunks:
                values = (len(self.documents), " ".join(chunk))
                run("INSERT INTO chunk(rowid, words) VALUES (?, ?)", values)
                self.documents.append(document)
            values = (document, " ".join(text.comment))
            run("INSERT INTO comment(rowid, words) VALUES (?, ?)", values)
        for table in ("chunk", "comment"):
            run(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        self.connection.commit()
        run("VACUUM")

    def best(self, query: Sequence[str]) -> list[int]:
        statement = "SELECT rowid FROM chunk WHERE chunk MATCH ? ORDER BY rank LIMIT ?"
        return [row for (row,) in self.connection.execute(statement, (_any_of(query), BEST))]

    def best_in_two_fields(self, query: Sequence[str]) -> list[tuple[int, float]]:
        best = self.best(query)
        wanted = ",".join({str(self.documents[chunk]) for chunk in best})
        rows = self.connection.execute(
            "SELECT rowid, -bm25(comment) FROM comment "
            f"WHERE comment MATCH ? AND rowid IN ({wanted})",
            (_any_of(query),),
        )
        scores = dict(rows.fetchall())
        return [(chunk, scores.get(self.documents[chunk], 0.0)) for chunk in best]


def _any_of(query: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in query)


class Tantivy:
    """One index; what is a chunk has a body, and what is a file has a comment."""

    def build(self, folder: Path, texts: Iterable[Text]) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        for field in ("body", "comment"):
            builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        builder.add_integer_field("number", fast=True, stored=True)
        self.schema = builder.build()
        self.documents: list[int] = []
        index = tantivy.Index(self.schema, str(folder))
        writer = index.writer(heap_size=15_000_000, num_threads=1)
        for document, text in enumerate(texts):
            for chunk in text.chunks:
                number = len(self.documents)
                writer.add_document(tantivy.Document(body=" ".join(chunk), number=number))
                self.documents.append(document)
            writer.add_document(tantivy.Document(comment=" ".join(text.comment), number=document))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self.searcher = index.searcher()

    def best(self, query: Sequence[str]) -> list[int]:
        return [number for number, _ in self._search("body", query, BEST)]

    def best_in_two_fields(self, query: Sequence[str]) -> list[tuple[int, float]]:
        scores = dict(self._search("comment", query, self.documents[-1] + 1))
        return [(chunk, scores.get(self.documents[chunk], 0.0)) for chunk in self.best(query)]

    def _search(self, field: str, query: Sequence[str], limit: int) -> list[tuple[int, float]]:
        import tantivy

        terms = [tantivy.Query.term_query(self.schema, field, word) for word in query]
        joined = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        hits = self.searcher.search(joined, limit, count=False).hits
        return [(self.searcher.doc(address)["number"][0], score) for score, address in hits]


class Segments:
    """Segments of some texts each, merged into one."""

    def build(self, folder: Path, texts: Iterable[Text]) -> None:
        parts: list[Segment] = []
        batch: dict[bytes, Contents] = {}

        def write() -> None:
            write_segment(folder / f"part-{len(parts)}", batch)
            parts.append(Segment(folder / f"part-{len(parts)}"))
            batch.clear()

        for document, text in enumerate(texts):
            batch[document.to_bytes(16, "big")] = contents(text)
            if len(batch) == BATCH:
                write()
        write()
        merge_segments(folder / "all", [(part, np.ones(part.documents, bool)) for part in parts])
        for at in range(len(parts)):
            (folder / f"part-{at}").unlink()
        self.segment = Segment(folder / "all")
        self.lengths = {
            field: _penalties(self.segment.lengths(field)) for field in ("body", "comment")
        }

    def best(self, query: Sequence[str]) -> list[int]:
        scores = self._scores("body", query)
        best = np.argpartition(scores, -BEST)[-BEST:]
        best = best[np.argsort(-scores[best], kind="stable")]
        return [int(chunk) for chunk in best if scores[chunk] > 0]

    def best_in_two_fields(self, query: Sequence[str]) -> list[tuple[int, float]]:
        best = self.best(query)
        scores = self._scores("comment", query)[self.segment.chunk_documents[best]]
        return list(zip(best, scores.tolist(), strict=True))

    def _scores(self, field: str, query: Sequence[str]) -> npt.NDArray[np.float32]:
        penalties = self.lengths[field]
        scores = np.zeros(len(penalties), np.float32)
        for word in query:
            [(units, counts)] = self.segment.postings(field, [number_of(word)])
            idf = math.log(1 + (len(scores) - len(units) + 0.5) / (len(units) + 0.5))
            often = counts.astype(np.float32)
            scores[units] += idf * (K1 + 1) * often / (often + penalties[units])
        return scores


def _penalties(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.float32]:
    penalties: npt.NDArray[np.float32] = (K1 * (1 - B + B * lengths / lengths.mean())).astype("f4")
    return penalties


@functools.cache
def number_of(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")


def contents(text: Text) -> Contents:
    """Contents with terms only."""
    count = len(text.chunks)
    lines = np.arange(2 * count, dtype=np.uint32).tobytes()
    filled = {"body": postings(text.chunks), "comment": postings([text.comment])}
    fields = [filled.get(field.name, Postings()) for field in FIELDS]
    return Contents(in_blocks([np.empty(0, np.uint32)]), lines, fields, [0.0] * len(MEASURES))


def postings(units: Sequence[Sequence[str]]) -> Postings:
    entries = [
        (number_of(word), unit, min(count, 255))
        for unit, its in enumerate(units)
        for word, count in Counter(its).items()
    ]
    entries.sort()
    return Postings(
        np.array([term for term, _, _ in entries], np.uint64).tobytes(),
        np.array([unit for _, unit, _ in entries], np.uint16).tobytes(),
        np.array([count for _, _, count in entries], np.uint8).tobytes(),
        np.array([len(its) for its in units], np.uint32).tobytes(),
    )


STORES: dict[str, tuple[Callable[[], Store], str]] = {
    "segments": (Segments, "winnow"),
    "SQLite FTS5": (Fts5, "sqlite3"),
    "tantivy": (Tantivy, "tantivy"),
}


class Figures(msgspec.Struct):
    build: float
    disk: float
    building: float
    kept: float
    one_field: list[float]
    two_fields: list[float]
    first: list[list[int]]


def own_memory() -> float:
    return anonymous_memory(os.getpid())


@contextmanager
def watched_memory(peak: list[float]) -> Iterator[None]:
    """Put the most memory that is taken meanwhile into a list, sampled."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_SECONDS):
            peak[0] = max(peak[0], own_memory())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def measure(store: Store, texts: Path, queries: Sequence[Sequence[str]]) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = own_memory()
        peak = [before]
        started = time.perf_counter()
        with watched_memory(peak):
            store.build(folder, read_texts(texts))
        build = time.perf_counter() - started
        disk = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        first = [store.best(query)[:NEAREST] for query in queries]
        one = [milliseconds(store.best, query) for query in queries]
        two = [milliseconds(store.best_in_two_fields, query) for query in queries]
        return Figures(build, disk, peak[0] - before, own_memory() - before, one, two, first)


def milliseconds(ask: Callable[[Any], object], question: Any) -> float:
    started = time.perf_counter()
    ask(question)
    return (time.perf_counter() - started) * 1000


def row(title: str, figures: Iterable[str]) -> None:
    print(f"{title:36}" + "".join(f"{one:>12}" for one in figures))


def percentiles(times: Sequence[float]) -> list[str]:
    return [f"{statistics.median(times):.2f}", f"{sorted(times)[int(len(times) * 0.95)]:.2f}"]


def print_terms(folder: Path) -> None:
    texts = list(texts_of(corpora.django(), "*.py"))
    file = folder / "texts"
    file.write_bytes(b"".join(msgspec.json.encode(text) + b"\n" for text in texts))
    chunks = [chunk for text in texts for chunk in text.chunks]
    (folder / "queries").write_text(json.dumps(queries_of(chunks)))
    print(f"\nTerms: {len(texts):,} files, {len(chunks):,} chunks, "
          f"{sum(map(len, chunks)):,} words")  # fmt: skip
    row("", ["build s", "disk MB", "most MB", "then MB", "p50 ms", "p95 ms", "2 fields", "p95 ms",
             "as ours"])  # fmt: skip
    ours: list[list[int]] = []
    for name, (_, module) in STORES.items():
        if find_spec(module) is None:
            print(f"{name} is not installed: see the top of this file")
            continue
        command = [sys.executable, __file__, "--store", name, "--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        figures = msgspec.json.decode(done.stdout, type=Figures)
        ours = ours or figures.first
        same = [len(set(a) & set(b)) / len(a) for a, b in zip(ours, figures.first, strict=True)]
        row(name, [f"{figures.build:.1f}", f"{figures.disk:.1f}", f"{figures.building:.0f}",
                   f"{figures.kept:.0f}", *percentiles(figures.one_field),
                   *percentiles(figures.two_fields), f"{statistics.mean(same):.0%}"])  # fmt: skip


# --- vectors -----------------------------------------------------------------------------------


def print_vectors() -> None:
    print(f"\nVectors of {DIMENSIONS} bytes: the {NEAREST} nearest")
    row("", ["vectors", "build s", "memory MB", "disk MB", "p50 ms", "p95 ms", "recall"])
    for count in VECTORS:
        vectors, queries = embedded(count)
        exact = [nearest_exactly(vectors, query) for query in queries]
        times = [milliseconds(functools.partial(nearest_exactly, vectors), query)
                 for query in queries]  # fmt: skip
        disk = f"{vectors.nbytes / 1e6:.0f}"
        row("numpy, exact", [f"{count:,}", "-", "-", disk, *percentiles(times), "100%"])
        if find_spec("usearch") is None:
            print("usearch is not installed: see the top of this file")
            continue
        print_usearch(vectors, queries, exact)


def embedded(count: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Vectors of chunks, and of queries."""
    chunks: list[list[str]] = []
    trees = ((corpora.django, "*.py"), (corpora.kernel, "*.c"))
    for fetch, pattern in trees:
        if len(chunks) < count:
            for text in texts_of(fetch(), pattern):
                chunks += text.chunks
                if len(chunks) >= count:
                    break
    chunks = chunks[:count]
    frequencies = Counter(word for chunk in chunks for word in set(chunk))
    chance = np.random.default_rng(SEED)
    numbers = {word: at for at, word in enumerate(frequencies)}
    of_words = chance.standard_normal((len(numbers), DIMENSIONS), np.float32)
    for word, at in numbers.items():
        of_words[at] *= math.log(1 + count / frequencies[word])

    def vectors_of(many: Sequence[Sequence[str]]) -> npt.NDArray[np.int8]:
        rows = np.zeros((len(many), DIMENSIONS), np.float32)
        for at, its in enumerate(many):
            rows[at] = of_words[[numbers[word] for word in its]].sum(axis=0)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        # Of a unit vector's numbers hardly one is over 0.25, and 127 is the most that fits.
        scaled = np.rint(rows / np.maximum(lengths, 1e-9) * 508)
        small: npt.NDArray[np.int8] = np.clip(scaled, -127, 127).astype(np.int8)
        return small

    return vectors_of(chunks), vectors_of(queries_of(chunks))


def nearest_exactly(
    vectors: npt.NDArray[np.int8], query: npt.NDArray[np.int8]
) -> npt.NDArray[np.int64]:
    """By blocks in 32-bit floats, in which these products are exact, and which BLAS multiplies."""
    scores = np.empty(len(vectors), np.float32)
    wanted = query.astype(np.float32)
    block = np.empty((EXACT_ROWS, DIMENSIONS), np.float32)
    for at in range(0, len(vectors), EXACT_ROWS):
        rows = vectors[at : at + EXACT_ROWS]
        np.copyto(block[: len(rows)], rows)
        np.dot(block[: len(rows)], wanted, out=scores[at : at + len(rows)])
    best = np.argpartition(-scores, NEAREST)[:NEAREST]
    ordered: npt.NDArray[np.int64] = best[np.argsort(-scores[best])]
    return ordered


def print_usearch(
    vectors: npt.NDArray[np.int8],
    queries: npt.NDArray[np.int8],
    exact: Sequence[npt.NDArray[np.int64]],
) -> None:
    from usearch.compiled import MetricKind
    from usearch.index import Index, search

    def search_exactly(query: npt.NDArray[np.int8]) -> Any:
        return search(vectors, query, NEAREST, MetricKind.IP, exact=True)

    times = [milliseconds(search_exactly, query) for query in queries]
    found = [search_exactly(query).keys for query in queries]
    count = f"{len(vectors):,}"
    row("usearch, exact", [count, "-", "-", "-", *percentiles(times), recall(found, exact)])
    before = own_memory()
    started = time.perf_counter()
    index = Index(ndim=DIMENSIONS, metric=MetricKind.IP, dtype="i8")
    index.add(np.arange(len(vectors)), vectors, threads=1)
    build = time.perf_counter() - started
    memory = own_memory() - before
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "index")
        index.save(str(file))
        disk = file.stat().st_size / 1e6
        for expansion in EXPANSIONS:
            mapped = Index(
                ndim=DIMENSIONS, metric=MetricKind.IP, dtype="i8", expansion_search=expansion
            )
            mapped.view(str(file))
            search_graph = functools.partial(mapped.search, count=NEAREST)
            times = [milliseconds(search_graph, query) for query in queries]
            found = [search_graph(query).keys for query in queries]
            row(f"usearch, HNSW of {expansion}, mapped",
                [count, f"{build:.1f}", f"{memory:.0f}", f"{disk:.0f}", *percentiles(times),
                 recall(found, exact)])  # fmt: skip
        del search_graph, mapped  # they hold the file open


def recall(found: Sequence[Any], exact: Sequence[npt.NDArray[np.int64]]) -> str:
    shares = [len({*map(int, a)} & {*b.tolist()}) / NEAREST
              for a, b in zip(found, exact, strict=True)]  # fmt: skip
    return f"{statistics.mean(shares):.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="terms, vectors")
    parser.add_argument("--store", choices=STORES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.store:
        queries = json.loads((arguments.folder / "queries").read_text())
        figures = measure(STORES[arguments.store][0](), arguments.folder / "texts", queries)
        sys.stdout.buffer.write(msgspec.json.encode(figures))
        return
    tables = arguments.tables or ["terms", "vectors"]
    if "terms" in tables:
        with tempfile.TemporaryDirectory() as folder:
            print_terms(Path(folder))
    if "vectors" in tables:
        print_vectors()


if __name__ == "__main__":
    main()
