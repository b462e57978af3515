"""Run semantic search on a retrieval benchmark: build the index, then answer one question per line.

    python benchmarks/retrieval_runner.py [--no-embeddings] CORPUS

The files that ripgrep lists in CORPUS are copied into a temporary folder, where a workspace builds
and updates its index like a language server. Nothing is written to CORPUS. A line of JSON on
standard error has the seconds that building the index took. For each line ``{"query": …}`` on
standard input, one line is written to standard output: a list of
``{"path": …, "line": …, "end_line": …, "best_line": …}``, best first. `retrieval_peers.py` does the
same for other systems.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from winnow.config import Config, IndexSettings
from winnow.tools import TOOLS
from winnow.tools.semantic_search import SemanticSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

RESULTS = 10


def copy_corpus(corpus: Path, folder: Path) -> None:
    """Copy the files that ripgrep lists."""
    command = ["rg", "--files", "--null"]
    listed = subprocess.run(command, cwd=corpus, stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, listed.split(b"\0")):
        path = os.fsdecode(name)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(corpus / path, folder / path)


def places(answer: SemanticSearchResult) -> list[dict[str, Any]]:
    """Return the places of an answer as `questions.py` compares them."""
    return [
        {
            "path": result.path,
            "line": result.start_line,
            "end_line": result.end_line,
            "best_line": result.best_line or result.start_line,
        }
        for result in answer.results
    ]


async def answer(folder: Path, embeddings: Literal["auto", "off"]) -> None:
    """Build the index, then answer questions until the input ends."""
    config = Config(index=IndexSettings(embeddings=embeddings, cpu_throttle_threshold=1.0))
    workspace = EngineWorkspace([folder], config)
    search = TOOLS["semantic_search"]
    try:
        workspace.index.enable_watching()
        started = time.perf_counter()
        await workspace.index.build()
        seconds = time.perf_counter() - started
        print(json.dumps({"index_seconds": seconds}), file=sys.stderr, flush=True)
        for line in iter(sys.stdin.readline, ""):
            params = {"query": json.loads(line)["query"], "top_k": RESULTS}
            answer = await search.call(workspace, params, no_progress)
            assert isinstance(answer, SemanticSearchResult)
            print(json.dumps(places(answer)), flush=True)
    finally:
        await workspace.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-embeddings", action="store_true")
    parser.add_argument("corpus", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy_corpus(arguments.corpus, Path(folder))
        asyncio.run(answer(Path(folder), "off" if arguments.no_embeddings else "auto"))


if __name__ == "__main__":
    main()
