"""Run the local ranker on a retrieval benchmark, with keyword_search and no language model.

    python evaluate.py --annotations dev.jsonl --corpora FOLDER -- \\
        python benchmarks/local_ranker.py [--broad-terms skip|shrink] [--index]

`FOLDER` has one folder per repository; the harness appends its path. The runner answers each
`{"query": ...}` line on stdin with one line, the paths of the best files as `[{"path": ...}, ...]`.
Search terms come only from the query, so this measures the minimum: a caller who knows the code
base finds more. With `--index`, an index is built first in the folder's `.winnow` and contributes
to every answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from pathlib import Path

from winnow.config import Config, IndexSettings, LearningSettings
from winnow.errors import TermsTooBroad
from winnow.index.postings.terms import STOP_WORDS
from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

MAX_RESULTS = 10  # the harness evaluates ten
# Otherwise the answers to earlier queries would influence later queries.
NOTHING_LEARNED = LearningSettings(enabled=False)
_WORD = re.compile(r"\w+(?:(?:::|\.)\w+)*")
_IDENTIFIER = re.compile(r"[_.:\d]|[a-z][A-Z]|[A-Z]{2}[a-z]")


def search_terms(query: str) -> list[str]:
    """Return the query's identifiers, then its names, then its words; the longer of each first."""

    def specific(word: str) -> tuple[bool, bool, int]:
        return (not _IDENTIFIER.search(word), word.islower(), -len(word))

    words = _WORD.findall(query)
    meaningful = [word for word in words if word.lower() not in STOP_WORDS]
    return [re.escape(word) for word in dict.fromkeys(sorted(meaningful or words, key=specific))]


async def answer(workspace: EngineWorkspace, query: str, broad_terms: str) -> list[dict[str, str]]:
    """Return the best files; none if every term is too broad."""
    params = {
        "query": query,
        "search_terms": search_terms(query) or [re.escape(query)],
        "max_results": MAX_RESULTS,
        "ranker": "local",
        "broad_terms": broad_terms,
    }
    try:
        result = await TOOLS["keyword_search"].call(workspace, params, no_progress)
    except TermsTooBroad:
        return []
    return [{"path": file.path} for file in result.files]


async def serve(corpus: Path, broad_terms: str, index: bool) -> None:
    workspace = EngineWorkspace(
        [corpus], Config(index=IndexSettings(enabled=index), learning=NOTHING_LEARNED)
    )
    started = time.perf_counter()
    await workspace.index.build()
    seconds = time.perf_counter() - started if index else 0.0
    print(json.dumps({"index_seconds": round(seconds, 3)}), file=sys.stderr, flush=True)
    try:
        # Blocking reads are fine: only one question is processed at a time.
        for line in sys.stdin:
            files = await answer(workspace, json.loads(line)["query"], broad_terms)
            print(json.dumps(files), flush=True)
    finally:
        await workspace.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--broad-terms", choices=["skip", "shrink"], default="skip")
    parser.add_argument("--index", action="store_true", help="build and use an index")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.corpus, arguments.broad_terms, arguments.index))


if __name__ == "__main__":
    main()
