"""Segments of the kernel's C files: how fast they are made, merged and asked; how big they are.

    python benchmarks/segments.py [--files N]

The sources come from Debian (see corpora.py); files are chosen at random, always the same. Each
file's trigrams are those of its bytes in lower case; terms are the words of chunks of 40 lines, and
of comments (see stores.py). A segment of 4,096 texts is written at once, and merged from 16 small
ones; both are the same, byte for byte. Speeds are in MB of source per second, without the reading
of the source. Memory is the most anonymous memory that is taken meanwhile, each in a process of
its own, beyond what was there before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import corpora
import msgspec
import numpy as np
import numpy.typing as npt
from stores import (
    CHUNK_LINES,
    COMMENT,
    QUERIES,
    SEED,
    Text,
    contents,
    milliseconds,
    number_of,
    own_memory,
    percentiles,
    row,
    watched_memory,
    words,
)

from winnow.index.postings.contents import Contents
from winnow.index.postings.merging import merge_segments
from winnow.index.postings.segment import MOST_DOCUMENTS, Segment, write_segment
from winnow.index.postings.trigrams import Condition, TrigramQuery, in_blocks

PARTS = 16
LITERAL = 12
VERIFIED = 10


def chosen_files(count: int) -> list[Path]:
    files = sorted(file for file in corpora.kernel().rglob("*.c") if file.is_file())
    return sorted(random.Random(SEED).sample(files, min(count, len(files))))


def trigrams(data: bytes) -> npt.NDArray[np.uint32]:
    units = np.frombuffer(data.lower(), np.uint8).astype(np.uint32)
    if len(units) < 3:
        return np.zeros(0, np.uint32)
    found: npt.NDArray[np.uint32] = np.unique(units[:-2] << 16 | units[1:-1] << 8 | units[2:])
    return found


def contents_of_file(file: Path) -> Contents:
    data = file.read_bytes()
    text = data.decode(errors="replace")
    lines = text.splitlines()
    starts = range(0, len(lines), CHUNK_LINES)
    chunks = [words("\n".join(lines[at : at + CHUNK_LINES])) for at in starts]
    terms = contents(Text(chunks, words(" ".join(COMMENT.findall(text)))))
    return msgspec.structs.replace(terms, trigrams=in_blocks([trigrams(data)]))


def texts_of_files(files: Sequence[Path]) -> dict[bytes, Contents]:
    return {at.to_bytes(16, "big"): contents_of_file(file) for at, file in enumerate(files)}


def measured(work: Callable[[], object]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and the most memory in MB."""
    before = own_memory()
    peak = [before]
    started, cpu = time.perf_counter(), time.process_time()
    with watched_memory(peak):
        work()
    return time.perf_counter() - started, time.process_time() - cpu, peak[0] - before


def write(files: Sequence[Path], folder: Path) -> tuple[float, float, float]:
    """Write one segment of all, and the same in parts; measures the former."""
    texts = texts_of_files(files)
    figures = measured(lambda: write_segment(folder / "all", texts))
    keys = list(texts)
    for part in range(PARTS):
        cut = slice(part * len(keys) // PARTS, (part + 1) * len(keys) // PARTS)
        write_segment(folder / f"part-{part}", {key: texts[key] for key in keys[cut]})
    return figures


def merge(folder: Path) -> tuple[float, float, float]:
    parts = [Segment(folder / f"part-{part}") for part in range(PARTS)]
    kept = [(part, np.ones(part.documents, bool)) for part in parts]
    figures = measured(lambda: merge_segments(folder / "merged", kept))
    assert (folder / "merged").read_bytes() == (folder / "all").read_bytes()
    return figures


def literals(files: Sequence[Path]) -> list[str]:
    """Pieces of lines, of files that have some."""
    chance = random.Random(SEED)
    found: list[str] = []
    while len(found) < QUERIES:
        lines = chance.choice(files).read_text(errors="replace").splitlines()
        line = chance.choice(lines or [""]).strip()
        if line.isascii() and len(line) >= LITERAL:
            at = chance.randrange(len(line) - LITERAL + 1)
            found.append(line[at : at + LITERAL].lower())
    return found


def print_asked(segment: Segment, files: Sequence[Path]) -> None:
    times, candidates, found = [], 0, 0
    lowered = [file.read_bytes().lower() for file in files]
    for literal in literals(files):
        condition = Condition(TrigramQuery(tuple(trigrams(literal.encode()).tolist())))
        segment.documents_with(condition)  # the system reads the file once
        times.append(milliseconds(segment.documents_with, condition))
        named = segment.documents_with(condition).tolist()
        holding = {at for at, text in enumerate(lowered) if literal.encode() in text}
        assert holding <= set(named)
        candidates += len(named)
        found += len(holding)
    row(f"documents with {LITERAL} characters, ms", percentiles(times))
    row(
        "  documents named, that have them",
        [f"{candidates / QUERIES:.0f}", f"{found / QUERIES:.0f}"],
    )
    chance = random.Random(SEED)
    known = sorted({word for at in range(50) for word in words(lowered[at].decode("latin-1"))})
    times = []
    for word in chance.choices(known, k=10 * QUERIES):
        term = number_of(word)
        times.append(milliseconds(partial(segment.postings, "body"), term) * 1000)
    row("postings of a term, µs", percentiles(times))


def print_sizes(file: Path, megabytes: float) -> None:
    segment = Segment(file)
    sizes = {name: size / 1e6 for name, size in segment.arrays.sizes().items()}
    of_trigrams = sum(size for name, size in sizes.items() if name.startswith("trigrams."))
    of_terms = sum(size for name, size in sizes.items() if "." in name) - of_trigrams
    for title, size in (
        ("all", segment.size / 1e6), ("trigrams", of_trigrams), ("terms", of_terms)
    ):  # fmt: skip
        row(f"size: {title}, MB, of the source", [f"{size:.1f}", f"{size / megabytes:.1%}"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=MOST_DOCUMENTS, help="how many (4096)")
    files = chosen_files(parser.parse_args().files)
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    print(f"{len(files):,} files, {megabytes:.0f} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row("", ["MB/s", "MB/s of CPU", "memory MB"])
        for title, work in (("written at once", partial(write, files)), ("merged", merge)):
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context) as process:
                seconds, cpu, memory = process.submit(work, folder=folder).result()
            speeds = [f"{megabytes / seconds:.0f}", f"{megabytes / cpu:.0f}"]
            row(title, [*speeds, f"{memory:.0f}"])
        print_sizes(folder / "all", megabytes)
        times = [milliseconds(Segment, folder / "all") * 1000 for _ in range(QUERIES)]
        row("", ["p50", "p95"])
        row("opened, µs", percentiles(times))
        segment = Segment(folder / "all")
        row("verified, ms", percentiles([milliseconds(lambda _: segment.verify(), None)
                                         for _ in range(VERIFIED)]))  # fmt: skip
        print_asked(segment, files)


if __name__ == "__main__":
    main()
