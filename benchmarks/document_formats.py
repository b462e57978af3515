"""Measure the matches of search_docs in real documents, by engine and format.

    python benchmarks/document_formats.py [--folder FOLDER] [--engine rga|builtin] [--differences]

The documents are in `tests/documents/fixtures` and in manuals from Debian's documentation packages,
which are downloaded into $WINNOW_CORPORA or ~/.cache/winnow/corpora. With --folder, only the
documents of that folder are used. `document_truth.py` determines the expected matches. Each word is
a separate request. `found` counts the expected locations in the results, `elsewhere` counts hits at
other locations, and `refused` counts documents that the result reports as unread or partly read.
`first` is the median time of the first request for a document, with empty caches; `later` is the
median of all other requests. --differences lists missing, unexpected and refused matches. Needs
pdftotext and pandoc.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora import documents
from document_truth import Case, Expected, fixtures, public

from document_fixtures import Where
from winnow.search.documents.rows import DocumentMatch
from winnow.tools import TOOLS
from winnow.tools.search_docs import SearchDocsResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

ENGINES = ("builtin", "rga")


@dataclasses.dataclass
class Row:
    """The measurements of one engine for one format."""

    files: int = 0
    expected: int = 0
    found: int = 0
    elsewhere: int = 0
    refused: list[bool] = dataclasses.field(default_factory=list)
    first: list[float] = dataclasses.field(default_factory=list)
    later: list[float] = dataclasses.field(default_factory=list)


async def search_docs(
    workspace: EngineWorkspace, engine: str, path: Path, word: str
) -> SearchDocsResult:
    """Call search_docs and return its result."""
    params: dict[str, Any] = {
        "query": word,
        "literal": True,
        "case_sensitive": True,
        "path": str(path),
        "engine": engine,
        "context_lines": 0,
        "max_count": 10_000,
        "max_results": 10_000,
        "include_ignored": True,
        "timeout": 60,
    }
    result: SearchDocsResult = await TOOLS["search_docs"].call(workspace, params, no_progress)
    return result


async def measure(workspace: EngineWorkspace, engine: str, case: Case, row: Row) -> list[str]:
    """Search a document for its expected words; return the differences."""
    row.files += 1
    if case.refused:
        result = await search_docs(workspace, engine, case.path, "the")
        is_reported = bool(result.failed) and not result.documents
        row.refused.append(is_reported)
        return [] if is_reported else [f"{case.path.name}: not reported as unread"]
    differences = []
    words: Sequence[Expected] = case.builtin if engine == "builtin" else case.rga
    for number, expected in enumerate(words):
        started = time.perf_counter()
        result = await search_docs(workspace, engine, case.path, expected.word)
        (row.later if number else row.first).append(time.perf_counter() - started)
        if result.failed and not number:
            row.refused.append(True)
            differences.append(f"{case.path.name}: {result.failed[0].reason}")
        found = [
            where
            for document in result.documents
            for match in document.matches
            for where in places_of(match, case.compared)
        ]
        missing = [place for place in expected.places if place not in found]
        elsewhere = [place for place in found if place not in expected.places]
        row.expected += len(expected.places)
        row.found += len(expected.places) - len(missing)
        row.elsewhere += len(elsewhere)
        name = f"{case.path.name}: {expected.word!r}"
        differences += [f"{name} not found {shown(place)}" for place in missing]
        differences += [f"{name} also found {shown(place)}" for place in elsewhere]
    return differences


def places_of(match: DocumentMatch, compared: Sequence[str]) -> Iterator[Where]:
    """Yield the compared parts of a match's location; in sheets, yield one location per cell."""
    where = {name: getattr(match, name) for name in compared if getattr(match, name) is not None}
    if match.cells and "cell" in compared:
        yield from (where | {"cell": cell} for cell in match.cells)
    else:
        yield where


def shown(where: Where) -> str:
    return ", ".join(f"{name} {value}" for name, value in where.items()) or "at all"


def table(rows: dict[tuple[str, str], Row]) -> Iterator[str]:
    yield (
        f"{'format':10}{'engine':9}{'files':>6}{'found':>13}{'elsewhere':>11}{'refused':>9}"
        f"{'first':>10}{'later':>10}"
    )
    for (kind, engine), row in sorted(rows.items()):
        found = f"{row.found} of {row.expected}" if row.expected else ""
        refused = f"{sum(row.refused)} of {len(row.refused)}" if row.refused else ""
        times = [
            f"{statistics.median(seconds) * 1000:.0f} ms" if seconds else ""
            for seconds in (row.first, row.later)
        ]
        yield (
            f"{kind:10}{engine:9}{row.files:6}{found:>13}{row.elsewhere or '':>11}{refused:>9}"
            f"{times[0]:>10}{times[1]:>10}"
        )


def cases(folder: Path | None) -> list[Case]:
    """Return the documents with their expected matches."""
    root = folder or documents()
    public_cases = [public(path) for path in sorted(root.rglob("*")) if path.is_file()]
    return ([] if folder else fixtures()) + [case for case in public_cases if case is not None]


async def run(all_cases: Sequence[Case], engines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the table, and the differences."""
    rows: dict[tuple[str, str], Row] = {}
    differences = []
    for case in all_cases:
        for engine in engines:
            with tempfile.TemporaryDirectory() as cache:
                environment = {**os.environ, "XDG_CACHE_HOME": cache, "WINNOW_CACHE": cache}
                workspace = EngineWorkspace([case.path.parent], environment=environment)
                row = rows.setdefault((case.kind, engine), Row())
                lines = await measure(workspace, engine, case, row)
                differences += [f"{engine}: {line}" for line in lines]
                await workspace.aclose()
    return list(table(rows)), differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args()
    engines = (options.engine,) if options.engine else ENGINES
    lines, differences = asyncio.run(run(cases(options.folder), engines))
    print("\n".join(lines))
    if options.differences:
        print("", *differences, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
