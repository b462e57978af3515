"""Find the files with terms of an error message, without a process if the index knows them.

The trigrams of the index name the files that can have a term. Otherwise, one run of ripgrep prints
the terms that each file has. Either way, the files with the most terms are read first.
"""

from __future__ import annotations

import functools
import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from winnow.ranking.semantic.path_index import KINDS
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.message_catalogs import is_catalog, is_template
from winnow.search.code.messages import BEFORE, STATEMENT_LINES, MatchedText
from winnow.search.grep.prefilter import prefilter, unsaved_files
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, TextPattern, cut_line, pattern_problem
from winnow.text.scope import Scope, clean_path
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.index.match_candidates import MatchCandidates

# The most files with terms, and the most files to read: trigrams also name files without any. The
# place that makes a message has most of its terms, so it is among the first. Results with less than
# half of the terms of the best one are dropped anyway.
MOST_FILES, MOST_READ = 40, 100
# A term that this share of all files may have says nothing.
COMMON_SHARE = 0.1
LEAST_VALUE = 0.5
# Candidates for each returned file, weighed by their paths, because long documents have the
# trigrams of nearly every text.
WEIGHED = 4
MOST_BYTES = 16_000_000
# The catalogs to read besides: the same text is in those of many languages.
MOST_CATALOGS = 3
# The factor for files that repeat messages: tests, documentation, translations, generated files.
REPEATING = 0.5
# The kinds of files that repeat what programs say.
ASIDE = frozenset(("test", "prose"))
_ENGLISH = re.compile(r"(?<![a-z])en(?![a-z])", re.I)
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


def knows_texts(workspace: EngineWorkspace, scope: Scope) -> bool:
    """Return True if the index knows the texts of a scope, as far as it is up to date."""
    is_plain = not scope.filters.file_types and scope.files is None
    return is_plain and workspace.index.state().knows_all_texts


async def indexed_files_with(
    workspace: EngineWorkspace,
    scope: Scope,
    terms: Sequence[str],
    most: int,
    weight: Callable[[str], float],
    *,
    literal: bool = True,
) -> Mapping[str, Set[str]]:
    """Return the files that may have some of the terms as they were indexed last, with these terms,
    by path: the ``most`` with the longest terms, times the ``weight`` of the path, and the best
    message catalogs. Terms that are not ``literal`` are regular expressions. Ignores terms that
    many files may have, and files with secrets. The index must know the texts of the scope. Takes a
    fraction of a millisecond for each term."""
    # Costs the import of numpy.
    from winnow.index.postings.trigrams import condition_of

    conditions = {
        term: condition
        for term in terms
        if not (
            condition := condition_of(TextPattern(term, literal=literal, case_sensitive=False))
        ).required.is_any
    }
    candidates = await workspace.index.likely_candidates([*conditions.values()]) or []
    found: dict[tuple[int, int], set[str]] = {}
    for term, files in zip(conditions, candidates, strict=False):
        if files.count <= max(most, COMMON_SHARE * files.total):
            for place, root in enumerate(scope.roots):
                for number in files.numbers.get(root, ()):
                    found.setdefault((place, number), set()).add(term)
    values = {file: _value(known) for file, known in found.items()}
    least = min(heapq.nlargest(WEIGHED * most, values.values()), default=0)
    paths = {
        path: found[place, number]
        for (place, number), value in values.items()
        if value >= least and (path := _path(candidates[0], scope, place, number))
    }
    weighed = {path: _value(known) * weight(path) for path, known in paths.items()}
    best = sorted(paths, key=lambda path: (-weighed[path], by_length(path)))
    catalogs = [path for path in best if is_catalog(path)][:MOST_CATALOGS]
    return {path: paths[path] for path in [*best[:most], *catalogs]}


def _path(candidates: MatchCandidates, scope: Scope, place: int, number: int) -> str:
    """Return the path of a file; empty if it is deleted, or the scope does not cover it."""
    below = candidates.paths[scope.roots[place]][number]
    if not below or (scope.is_filtered and not scope.selects(place, below, ())):
        return ""
    return scope.prefix(place) + below


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
    hidden = {one: {term for term in terms if _hides(one, term)} for one in terms}
    return {path: has.union(*(hidden[term] for term in has)) for path, has in found.items()}


def _hides(reported: str, term: str) -> bool:
    """Return True if a match of a term may overlap one that ripgrep has reported, behind its
    beginning: of overlapping matches, it reports the first."""
    is_behind = not term.endswith(reported)
    return is_behind and not set(reported.split()).isdisjoint(term.split())


def matched_texts(
    texts: CurrentTexts,
    files: Mapping[str, Set[str]],
    terms: Sequence[str],
    weight: Callable[[str], float],
    width: int,
) -> Iterator[MatchedText]:
    """Yield the matches in the ``files`` with the most ``terms``, best first. Reads files.

    A file has no other terms than those given for it. ``weight`` returns a factor for a path. Lines
    with more than ``width`` characters are cut.
    """
    folded = {term: term.lower().encode() for term in terms}
    is_ascii = all(map(str.isascii, terms))
    values = {path: _value(known & folded.keys()) for path, known in files.items()}
    best = size = 0.0
    count = read = 0
    order = sorted(values, key=lambda path: (-values[path] * weight(path), by_length(path)))
    for path in order:
        if values[path] < best * LEAST_VALUE or not values[path]:
            continue
        if count == MOST_FILES or read == MOST_READ or size > MOST_BYTES:
            return
        data = texts.data(path) or b""
        read += 1
        size += len(data)
        # Of texts with other letters, lower case takes ten times as long.
        lower = data.lower() if is_ascii else data.decode("utf-8", "replace").lower().encode()
        known = files[path]
        present = [term for term in terms if term in known and folded[term] in lower]
        value = _value(present) * weight(path)
        best = max(best, value)
        # Trigrams of common words name many files that do not have all of the words together.
        count += bool(present) and value >= best * LEAST_VALUE
        if present:
            matching = lines_with(lower, [folded[term] for term in present])
            text = data.decode("utf-8", "replace")
            yield MatchedText(path, _around(text, matching, present, width), matching)


@functools.lru_cache(4096)
def repeating_kinds(path: str) -> frozenset[str]:
    """Return the kinds of a file that make it repeat messages: none for code, and no documentation
    for a template of HTML, which is part of the program."""
    others = ("side", "prose") if is_template(path) else ("side",)
    kinds = (kind for kind, pattern, _ in KINDS if kind not in others and pattern.search(path))
    return frozenset(kinds)


def by_length(path: str) -> tuple[int, bool, str]:
    """Return a sort key: of files with the same text in several languages, that of the default
    language is first, `values/strings.xml` before `values-ka/strings.xml`, and English before a
    language into which the text is not translated yet."""
    return len(path), not _ENGLISH.search(path), path


def _value(terms: Iterable[str]) -> int:
    return sum(map(len, terms))


def lines_with(text: bytes, terms: Iterable[bytes]) -> list[int]:
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
        number += text.count(b"\n", start, offset)
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
