"""Run peers on a retrieval benchmark, with the protocol of `retrieval_runner.py`.

    python benchmarks/retrieval_peers.py semble|bm25|probe|ripgrep CORPUS

`semble` is the package of that name, here with the vectors of the package `wordllama`, because
nothing is downloaded at run time. `bm25` is plain BM25 on windows of lines, with the package
`bm25s`. `probe` is the command of the npm package `@probelabs/probe`, run once per question.
`ripgrep` searches for each word of the question and orders files by the number of words in them,
weighted by rarity. The packages need a separate environment: `benchmarks/peers.txt`.

For a line with `"texts": true`, semble answers with what an agent reads: `answer`, the text of its
MCP server with default options; `entries`, the MCP entries of the 50 best passages; and `chunks`,
the code of these passages.
"""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = 10
# semble: the passages that its token benchmark evaluates, and the defaults of its MCP server.
MOST_CHUNKS = 50
AGENTS_RESULTS, AGENTS_LINES = 5, 10
# The size of BM25's windows, in lines; consecutive windows overlap by half.
WINDOW = 50
MOST_BYTES = 1_000_000

Request = dict[str, Any]
# The function that answers a request, and the seconds to build its index.
Peer = tuple[Callable[[Request], Any], float]


def semble(corpus: Path) -> Peer:
    from semble import SembleIndex
    from semble.utils import format_results

    model = model_of_wordllama()
    started = time.perf_counter()
    index = SembleIndex.from_path(corpus, model_path=str(model))
    seconds = time.perf_counter() - started

    def search(request: Request) -> Any:
        query = request["query"]
        if request.get("texts"):
            return texts(query)
        chunks = [result.chunk for result in index.search(query, top_k=RESULTS)]
        return [
            {"path": chunk.file_path, "line": chunk.start_line, "end_line": chunk.end_line}
            for chunk in chunks
        ]

    def texts(query: str) -> Any:
        found = index.search(query, top_k=MOST_CHUNKS)
        few = index.search(query, top_k=AGENTS_RESULTS, max_snippet_lines=AGENTS_LINES)
        return {
            "answer": json.dumps(format_results(query, few, AGENTS_LINES)),
            "entries": format_results(query, found, AGENTS_LINES)["results"],
            "chunks": [result.chunk.content for result in found],
        }

    return search, seconds


def model_of_wordllama() -> Path:
    """Write wordllama's vectors and tokenizer into a folder in the format of model2vec."""
    from safetensors.numpy import load_file, save_file

    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    table = load_file(package / "weights/l2_supercat_256.safetensors")["embedding.weight"]
    save_file({"embeddings": table.astype("float32")}, folder / "model.safetensors")
    shutil.copy(package / "tokenizers/l2_supercat_tokenizer_config.json", folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"normalize": True}))
    return folder


def bm25(corpus: Path) -> Peer:
    import bm25s
    import Stemmer

    started = time.perf_counter()
    command = ["rg", "--files", "--null"]
    listed = subprocess.run(command, cwd=corpus, stdout=subprocess.PIPE, check=True).stdout
    places: list[tuple[str, int, int]] = []
    texts: list[str] = []
    for path in sorted(os.fsdecode(name) for name in listed.split(b"\0") if name):
        raw = (corpus / path).read_bytes()
        if b"\0" in raw or len(raw) > MOST_BYTES:
            continue
        lines = raw.decode("utf-8", "replace").split("\n")
        for start in range(0, len(lines), WINDOW // 2):
            window = lines[start : start + WINDOW]
            places.append((path, start + 1, start + len(window)))
            texts.append("\n".join([path, *window]))
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stemmer=stemmer, show_progress=False), show_progress=False)
    seconds = time.perf_counter() - started

    def search(request: Request) -> Any:
        query = bm25s.tokenize(request["query"], stemmer=stemmer, show_progress=False)
        found, _ = index.retrieve(query, k=min(10 * RESULTS, len(texts)), show_progress=False)
        best = {places[number][0]: places[number] for number in reversed(found[0].tolist())}
        ordered = dict.fromkeys(places[number][0] for number in found[0].tolist())
        return [
            dict(zip(("path", "line", "end_line"), best[path], strict=True))
            for path in list(ordered)[:RESULTS]
        ]

    return search, seconds


def probe(corpus: Path) -> Peer:
    def search(request: Request) -> Any:
        command = ["probe", "search", request["query"], str(corpus), "--format", "json"]
        command += ["--max-results", str(RESULTS)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # Without results, probe prints a sentence instead of JSON.
        found = json.loads(run.stdout)["results"] if run.stdout.startswith(b"{") else []
        return [
            {
                "path": os.path.relpath(result["file"], corpus),
                "line": result["lines"][0],
                "end_line": result["lines"][1],
            }
            for result in found
        ]

    return search, 0.0


def ripgrep(corpus: Path) -> Peer:
    def files(word: str) -> dict[str, int]:
        command = ["rg", "--count-matches", "--ignore-case", "--fixed-strings", "--null"]
        run = subprocess.run([*command, "-e", word, "."], cwd=corpus, stdout=subprocess.PIPE)
        rows = (line.split(b"\0") for line in run.stdout.splitlines())
        return {os.fsdecode(path).removeprefix("./"): int(count) for path, count in rows}

    def search(request: Request) -> Any:
        score: dict[str, float] = defaultdict(float)
        for word in dict.fromkeys(re.findall(r"\w{3,}", request["query"].lower())):
            found = files(word)
            for path, count in found.items():
                score[path] += math.log(1 + count) / (1 + math.log(1 + len(found)))
        best = sorted(score, key=lambda path: (-score[path], path))
        return [{"path": path} for path in best[:RESULTS]]

    return search, 0.0


PEERS = {"semble": semble, "bm25": bm25, "probe": probe, "ripgrep": ripgrep}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("corpus", type=Path)
    arguments = parser.parse_args()
    search, seconds = PEERS[arguments.peer](arguments.corpus.resolve())
    print(json.dumps({"index_seconds": seconds}), file=sys.stderr, flush=True)
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(search(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
