"""What vectors cost: to make them, to keep them, and to ask them.

    python benchmarks/embeddings.py [--files 2000]

Needs `winnow-ls[embeddings]`; the peer is `pip install model2vec`, with the same table of vectors.
Sources come from PyPI and Debian (see corpora.py).

`made`: what workers do with Django's files, with vectors and without; each in a process of its own,
processor seconds. Memory is anonymous, the most of one process. "model2vec" is its own encoding
of the same chunks as they stand there: its time is beside that of vectors alone.

`asked`: files of the kernel's source, at random, whose chunks are all multiplied with a question
(exact), and those of the documents that are chosen by one vector each (see index/vectors).
Recall is that of the 20 nearest files and of the 5 nearest among them, against exact products.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import corpora
import numpy as np
from language_client import anonymous_memory

from winnow.index.build.extraction import extract_file
from winnow.index.postings.chunks import chunks_of
from winnow.index.postings.contents import Contents
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import MOST_DOCUMENTS, Segment, write_segment
from winnow.index.postings.terms import words
from winnow.index.store.file_record import IndexJob
from winnow.index.vectors import vector_search
from winnow.index.vectors.embeddings import AUTO, OFF, EmbeddingModel, Rows, load_model

SEED = 20261121
NEAREST = 20
FIRST = 5
LARGEST = 300_000
QUESTIONS = (
    "where are page faults handled",
    "allocate a network device buffer",
    "usb hub port reset",
    "mount a file system read only",
    "scheduler picks the next task",
    "crypto hash update",
    "parse device tree property",
    "wait queue wake up",
    "interrupt handler registration",
    "tcp congestion control",
    "audio codec mixer controls",
    "memory reclaim of inactive pages",
    "gpio pin configuration",
    "encrypt inode contents",
    "timer expires callback",
    "rcu grace period",
)


def row(title: str, *figures: object) -> None:
    print(f"{title:34}" + "".join(f"{one!s:>14}" for one in figures))


def the_model() -> EmbeddingModel:
    loaded = load_model(AUTO)
    if loaded.model is None:
        sys.exit(loaded.reason)
    return loaded.model


# --- made ----------------------------------------------------------------------------------------


def django_files() -> list[Path]:
    return sorted(one for one in corpora.django().rglob("*.py") if one.is_file())


def facts_with(setting: str) -> None:
    """One process of `made`: what a worker does."""
    root = corpora.django()
    size = kept = 0
    most = 0.0
    begun = time.process_time()
    for file in django_files():
        job = IndexJob(
            os.fsencode(root), os.fsencode(file.relative_to(root)), LARGEST, embeddings=setting
        )
        found = extract_file(job)
        if found is not None and found.contents is not None:
            size += found.state.size
            kept += len(found.contents.vectors)
        most = max(most, anonymous_memory(os.getpid()))
    seconds = time.process_time() - begun
    title = "all facts, with vectors" if kept else "all facts, without vectors"
    told(title, size, seconds, most, kept)


def told(title: str, size: int, seconds: float, memory: float, kept: int) -> None:
    speed = f"{size / 1e6 / seconds:.1f}"
    row(title, f"{seconds:.2f}", speed, f"{memory:.0f}", f"{kept / size:.2f}" if kept else "-")


def django_chunks() -> tuple[int, list[str]]:
    size, chunks = 0, []
    for file in django_files():
        text = file.read_bytes()
        lines = text.decode("utf-8", "replace").split("\n")
        chunks += ["\n".join(lines[a - 1 : b]) for a, b in chunks_of(text, ())]
        size += len(text)
    return size, chunks


def vectors_alone(_: str) -> None:
    size, chunks = django_chunks()
    texts = [words(chunk) for chunk in chunks]
    before = anonymous_memory(os.getpid())
    begun = time.process_time()
    model = the_model()
    for at in range(0, len(texts), 16):
        model.embed_words(texts[at : at + 16])
    seconds = time.process_time() - begun
    told("vectors alone", size, seconds, anonymous_memory(os.getpid()) - before, 0)


def vectors_of_model2vec(_: str) -> None:
    size, chunks = django_chunks()
    package = importlib.util.find_spec("wordllama")
    assert package is not None
    assert package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    before = anonymous_memory(os.getpid())
    begun = time.process_time()
    import tokenizers
    from model2vec import StaticModel

    from winnow.index.vectors.safetensors import tables_of

    tables = tables_of(folder / "weights/l2_supercat_256.safetensors")
    tokenizer = tokenizers.Tokenizer.from_file(
        str(folder / "tokenizers/l2_supercat_tokenizer_config.json")
    )
    model = StaticModel(tables["embedding.weight"].astype(np.float32), tokenizer, normalize=True)
    for at in range(0, len(chunks), 16):
        model.encode(chunks[at : at + 16], max_length=None, use_multiprocessing=False)
    seconds = time.process_time() - begun
    told("model2vec", size, seconds, anonymous_memory(os.getpid()) - before, 0)


MADE: dict[str, Callable[[str], None]] = {
    OFF: facts_with,
    AUTO: facts_with,
    "alone": vectors_alone,
    "model2vec": vectors_of_model2vec,
}


def print_made() -> None:
    print("Made, of Django's Python files")
    row("", "CPU s", "MB/s", "memory MB", "bytes/byte")
    sys.stdout.flush()
    for name in MADE:
        if name == "model2vec" and importlib.util.find_spec(name) is None:
            print("model2vec is not installed: see the top of this file")
            continue
        # One thread, as workers have.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        subprocess.run([sys.executable, __file__, "--made", name], env=environment, check=True)


# --- asked ---------------------------------------------------------------------------------------


def kernel_corpus(folder: Path, count: int) -> Corpus:
    root = corpora.kernel()
    paths = sorted(str(one.relative_to(root)) for one in root.rglob("*.c"))
    random.Random(SEED).shuffle(paths)
    kept: list[str] = []
    texts: dict[bytes, Contents] = {}
    parts: list[CorpusPart] = []

    def write() -> None:
        file = folder / str(len(parts))
        write_segment(file, texts)
        files = np.arange(len(kept) - len(texts), len(kept), dtype=np.int32)
        parts.append(CorpusPart(Segment(file), np.arange(len(texts), dtype=np.uint16), files))
        texts.clear()

    for path in paths[:count]:
        job = IndexJob(os.fsencode(root), os.fsencode(path), LARGEST, embeddings=AUTO)
        found = extract_file(job)
        if found is not None and found.contents is not None:
            texts[len(kept).to_bytes(16, "little")] = found.contents
            kept.append(path)
            if len(texts) == MOST_DOCUMENTS:
                write()
    if texts:
        write()
    return Corpus(parts, kept, [str(root)], np.zeros(len(kept), np.int32), lambda name: (), {})


def timed(ask: Callable[[Rows], list[int]], questions: Rows) -> tuple[list[list[int]], str]:
    """The answers, and the median time in milliseconds."""
    answers, times = [], []
    for question in questions:
        ask(question)
        begun = time.perf_counter()
        answers.append(ask(question))
        times.append((time.perf_counter() - begun) * 1000)
    return answers, f"{statistics.median(times):.1f}"


def recall(found: Sequence[Sequence[int]], exact: Sequence[Sequence[int]], first: int) -> str:
    shares = [
        len(set(one) & set(true[:first])) / first for one, true in zip(found, exact, strict=True)
    ]
    return f"{statistics.mean(shares):.0%}"


def print_asked(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = kernel_corpus(Path(folder), count)
        chunks = sum(part.segment.chunks for part in corpus.parts)
        print(f"\nAsked: {len(corpus.paths):,} files of the kernel, {chunks:,} chunks")
        row("", "p50 ms", f"recall of {NEAREST}", f"of {FIRST}")
        questions = the_model().embed(QUESTIONS)

        def nearest(question: Rows) -> list[int]:
            return vector_search.Cosines(corpus, question).nearest(NEAREST)

        vector_search.MOST_CHUNKS = chunks
        exact, median = timed(nearest, questions)
        row("exact", median, "100%", "100%")
        vector_search.MOST_CHUNKS = -1
        for chosen in (500, 1_000, 2_000, 4_000):
            vector_search.CHOSEN = chosen
            found, median = timed(nearest, questions)
            of_first = recall(found, exact, FIRST)
            row(f"{chosen:,} documents first", median, recall(found, exact, NEAREST), of_first)
        files = random.Random(SEED).sample(range(len(corpus.paths)), 200)

        def features(question: Rows) -> list[int]:
            vector_search.Cosines(corpus, question).of_files(files)
            return files

        row("features of 200 files", timed(features, questions)[1])
        times = [seconds(functools.partial(the_model().embed, [one])) for one in QUESTIONS]
        row("vector of a question", f"{statistics.median(times) * 1000:.2f}")


def seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=2_000, help="how many of the kernel's")
    parser.add_argument("--made", choices=MADE, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.made:
        MADE[arguments.made](arguments.made)
        return
    the_model()
    print_made()
    print_asked(arguments.files)


if __name__ == "__main__":
    main()
