"""Find the files with terms of an error message, without a process if the index knows them.

The trigrams of the index name the files that can have a term. Otherwise, one run of ripgrep prints
the terms that each file has. Either way, the files with the most terms are read first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.messages import BEFORE, STATEMENT_LINES, MatchedText
from winnow.search.grep.prefilter import prefilter, unsaved_files
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, TextPattern, cut_line, pattern_problem
from winnow.text.scope import Scope, clean_path
from winnow.workspace import EngineWorkspace

# The most files to read. The place that makes a message has most of its terms, so it is among the
# first. Results with less than half of the terms of the best one are dropped anyway.
MOST_FILES = 40
LEAST_VALUE = 0.5
MOST_CHARACTERS = 16_000_000
# The output of ripgrep and its lines per file. More matches than that belong to common words.
LISTED_BYTES = 4 * 1024 * 1024
LINES_OF_FILE = 50


async def files_with_terms(
    workspace: EngineWorkspace, scope: Scope, terms: Sequence[str]
) -> Mapping[str, Set[str]]:
    """Return the files that may have some of the terms, with these terms, by path.

    Raises InvalidParams for a glob or a file type that ripgrep rejects.
    """
    ripgrep = workspace.run_ripgrep()
    patterns = [TextPattern(term, literal=True, case_sensitive=False) for term in terms]
    prefiltered = await prefilter(workspace, ripgrep, scope, patterns)
    found: dict[str, set[str]] = {}
    for term, candidates in zip(terms, prefiltered, strict=True):
        for path in candidates.files if candidates else ():
            found.setdefault(path, set()).add(term)
    if not any(prefiltered):
        found = await _listed(ripgrep, scope, terms)
    for path in await unsaved_files(workspace, ripgrep, scope):
        found[path] = set(terms)
    return found


async def indexed_files_with(
    workspace: EngineWorkspace, scope: Scope, text: str, most: int
) -> list[str]:
    """Return the files that may have a text as they were indexed last; none if there are more than
    ``most`` of them. Takes a fraction of a millisecond."""
    if scope.filters.file_types or scope.files is not None:
        return []
    # Costs the import of numpy.
    from winnow.index.postings.trigrams import condition_of

    condition = condition_of(TextPattern(text, literal=True, case_sensitive=False))
    if condition.required.is_any or not workspace.index.state().knows_all_texts:
        return []
    found = await workspace.index.indexed_candidates([condition])
    if not found or found[0].count > most:
        return []
    return [
        scope.prefix(place) + below
        for place, root in enumerate(scope.roots)
        if root in found[0].numbers
        for below in found[0].files(root)
        # Deleted files have no path.
        if below and (not scope.is_filtered or scope.selects(place, below, ()))
    ]


async def _listed(ripgrep: Ripgrep, scope: Scope, terms: Sequence[str]) -> dict[str, set[str]]:
    """List the files that have some of the terms, and these, in one run of ripgrep."""
    known = {term.lower(): term for term in terms}
    found: dict[str, set[str]] = {}
    size = 0
    arguments = [
        "--only-matching",
        "--with-filename",
        "--null",
        "--no-line-number",
        "--no-heading",
        "--ignore-case",
        "--fixed-strings",
        f"--max-count={LINES_OF_FILE}",
        *(argument for term in terms for argument in ("-e", term)),
        *scope.arguments,
        "--",
        *scope.paths,
    ]
    async with ripgrep.start(arguments, cwd=scope.root) as child:
        async for record in child.records(b"\n", RECORD_BYTES):
            name, _, text = record.partition(b"\0")
            path = clean_path(os.fsdecode(name))
            term = known.get(text.decode("utf-8", "replace").lower())
            if term is not None and (path in found or scope.covers(path)):
                found.setdefault(path, set()).add(term)
            size += len(record)
            if size > LISTED_BYTES:
                child.kill()
        code = await child.wait()
        if size <= LISTED_BYTES and not child.timed_out:
            pattern_problem(code, child.stderr)
    return found


def matched_texts(
    texts: CurrentTexts,
    files: Mapping[str, Set[str]],
    terms: Sequence[str],
    weight: Callable[[str], float],
    width: int,
) -> Iterator[MatchedText]:
    """Yield the matches in the ``files`` with the most ``terms``, best first. Reads files.

    ``weight`` returns a factor for a path. Lines with more than ``width`` characters are cut.
    """
    folded = {term: term.lower() for term in terms}
    values = {path: _value(known & folded.keys()) for path, known in files.items()}
    best = characters = 0.0
    count = 0
    for path in sorted(values, key=lambda path: (-values[path] * weight(path), path)):
        if values[path] < best * LEAST_VALUE or not values[path]:
            continue
        if count == MOST_FILES or characters > MOST_CHARACTERS:
            return
        text = texts.text(path) or ""
        count += 1
        characters += len(text)
        lower = text.lower()
        if present := [term for term in terms if folded[term] in lower]:
            best = max(best, _value(present) * weight(path))
            matching = lines_with(lower, [folded[term] for term in present])
            yield MatchedText(path, _around(text, matching, present, width), matching)


def _value(terms: Iterable[str]) -> int:
    return sum(map(len, terms))


def lines_with(text: str, terms: Iterable[str]) -> list[int]:
    """Return the numbers of the lines that have one of the terms."""
    offsets: set[int] = set()
    for term in terms:
        at = text.find(term)
        while at >= 0:
            offsets.add(at)
            at = text.find(term, at + len(term))
    numbers: dict[int, None] = {}
    number, start = 1, 0
    for offset in sorted(offsets):
        number += text.count("\n", start, offset)
        start = offset
        numbers[number] = None
    return list(numbers)


def _around(text: str, matching: Sequence[int], terms: Sequence[str], width: int) -> dict[int, str]:
    """Return the matching lines and those around them, by number."""
    lines = text.split("\n")
    return {
        near: _short(lines[near - 1].removesuffix("\r"), terms, width)
        for number in matching
        for near in range(max(1, number - BEFORE), min(len(lines), number + STATEMENT_LINES) + 1)
    }


def _short(line: str, terms: Sequence[str], width: int) -> str:
    """Return a line, or of a long one the text around its first term."""
    if len(line) <= width:
        return line
    places = [at for term in terms if (at := line.lower().find(term.lower())) >= 0]
    first = min(places, default=0)
    return cut_line(line, [(first, first)], width).text
