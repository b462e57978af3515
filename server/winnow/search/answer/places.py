"""Choose the place in a passage that answers: a definition or a paragraph, its most telling line,
and the reason in words.

The index finds a passage by counting words, without their lines. Here are the lines: a definition
in the passage that has most of the query answers it, not the import, the license or the neighbor
that the passage begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from winnow.index.postings.imports import is_import
from winnow.search.answer.snippets import AGAIN, Excerpt, Wanted
from winnow.types import DefinedHere

# The share of its weight that a word has in a line that imports, or outside of definitions.
IMPORTED = 0.2
OUTSIDE = 0.4
# The share of the best definition's score from which another one is shown with it.
NEAR = 0.25
# The factor for the words of a definition's name.
NAMED = 1.5
# A value of fewer lines belongs to its paragraph.
VALUES = frozenset(("variable", "constant", "property", "field", "enum_member"))
VALUE_LINES = 2
PACKAGES = frozenset(("module", "namespace"))
CLASSES = frozenset(("class", "enum", "interface", "object", "struct", "trait"))
# A definition with at most this number of lines is shown entirely, even if others are in it.
SHORT = 12
REASON_CHARACTERS = 100
REASON_WORDS = 4

# A line before a definition that is about it: a comment, a decorator; not C's preprocessor.
_LEADING = re.compile(
    r"\s*(?://|/\*|\*|#(?!\s*(?:define|include|if|ifn?def|elif|else|endif|undef|pragma)\b)"
    r'|--|;|%|@|"""|\[\w|<!--|\{-)'
)
_TEXT = re.compile(r"[^\W_]")


class Place(NamedTuple):
    """Lines ``first`` to ``last`` of a file, from 1, and ``line``, the most telling of them.

    ``symbol`` is the qualified name of the definition there, or None. ``reasons`` say why, most
    important first.
    """

    first: int
    last: int
    line: int
    symbol: str | None
    reasons: Sequence[str]


class _Region(NamedTuple):
    """Consecutive lines of a passage: of a definition without those in it, or between two."""

    first: int
    last: int
    definition: DefinedHere | None


def place_in(
    lines: Sequence[str], passage: Excerpt, definitions: Sequence[DefinedHere], wanted: Wanted
) -> Place | None:
    """Return the best place in a passage; None if no line of it is relevant."""
    packages = _packages(definitions)
    definitions = [each for each in definitions if each not in packages]
    containers = [each for each in definitions if not _is_value(each)]
    regions = list(_regions(lines, passage, containers))
    defined = {each.line: each for each in definitions}
    around = {each.line for each in packages}
    weights = _telling(lines, passage.weights, regions, defined, around)
    scores = [_score(of_region) for of_region in weights]
    best = max(scores, default=0.0)
    if not best:
        return None
    chosen = scores.index(best)
    region = regions[chosen]
    totals = {at: sum(words.values()) for at, words in weights[chosen].items()}
    line = max(totals, key=lambda at: (totals[at], -at))
    definition = region.definition
    if definition is None:
        first, last = _paragraph(lines, region, line)
        definition = next((each for each in definitions if each.line == line), None)
    else:
        # Definitions nearby that have some of the query belong to the answer.
        near = [
            each
            for each, score in zip(regions, scores, strict=True)
            if each.definition is not None and score >= NEAR * best
        ]
        first, last = near[0].first, near[-1].last
        if definition.last - region.first < SHORT:
            last = max(last, min(definition.last, passage.last))
        if first <= definition.line <= last:
            line = definition.line
    shown = {at: words for at, words in passage.weights.items() if first <= at <= last}
    reasons = list(_reasons(lines, shown, definition, wanted))
    symbol = definition.name if definition is not None else None
    return Place(first, last, line, symbol, reasons)


def _is_value(definition: DefinedHere) -> bool:
    """Return True for a value of one or two lines, which is part of its paragraph."""
    return definition.kind in VALUES and definition.last - definition.line < VALUE_LINES


def _packages(definitions: Sequence[DefinedHere]) -> list[DefinedHere]:
    """Return the namespaces and modules in which classes are: a passage is about its class. One of
    a single line has all that follows."""
    classes = [each.line for each in definitions if each.kind in CLASSES]

    def has_class(package: DefinedHere) -> bool:
        is_open = package.last == package.line
        return any(package.line < line and (is_open or line <= package.last) for line in classes)

    return [each for each in definitions if each.kind in PACKAGES and has_class(each)]


def _regions(
    lines: Sequence[str], passage: Excerpt, definitions: Sequence[DefinedHere]
) -> Iterator[_Region]:
    """Yield the regions of a passage, in the order of the text."""
    count = passage.last - passage.first + 1
    owners: list[int] = [-1] * count
    for number, definition in enumerate(definitions):
        first = definition.line - passage.first
        if definition.kind != "section":
            first = _with_leading(lines, definition.line, passage.first) - passage.first
        last = min(definition.last, passage.last) - passage.first
        if first <= last and last >= 0:
            owners[max(first, 0) : last + 1] = [number] * (last + 1 - max(first, 0))
    start = 0
    for at in range(1, count + 1):
        if at == count or owners[at] != owners[start]:
            owner = definitions[owners[start]] if owners[start] >= 0 else None
            yield _Region(passage.first + start, passage.first + at - 1, owner)
            start = at


def _with_leading(lines: Sequence[str], line: int, least: int) -> int:
    """Return the first line of the comments and decorators before a definition."""
    while line > least and line - 2 < len(lines) and _LEADING.match(lines[line - 2]):
        line -= 1
    return line


def _telling(
    lines: Sequence[str],
    weights: Mapping[int, Mapping[str, float]],
    regions: Sequence[_Region],
    defined: Mapping[int, DefinedHere],
    around: Set[int],
) -> list[dict[int, dict[str, float]]]:
    """Return the weights of words by region and line: more in a defined name, less in imports and
    in the lines that name a package ``around``."""
    found: list[dict[int, dict[str, float]]] = [{} for _ in regions]
    at = 0
    for line, words in weights.items():
        while regions[at].last < line:
            at += 1
        text = lines[line - 1]
        share = 1.0 if regions[at].definition is not None else OUTSIDE
        if line in around or is_import(text):
            share = IMPORTED
        elif not _TEXT.search(text):
            continue
        name = defined[line].name.rpartition(".")[2].casefold() if line in defined else ""
        found[at][line] = {
            word: weight * (NAMED if word and word in name else share)
            for word, weight in words.items()
        }
    return found


def _score(weights: Mapping[int, Mapping[str, float]]) -> float:
    """Return the weight of a region's words; a repeated word adds little."""
    best: dict[str, float] = {}
    again = 0.0
    for words in weights.values():
        for word, weight in words.items():
            known = best.get(word, 0.0)
            again += AGAIN * min(known, weight)
            best[word] = max(known, weight)
    return sum(best.values()) + again


def _paragraph(lines: Sequence[str], region: _Region, line: int) -> tuple[int, int]:
    """Return some lines around a line, up to blank ones."""
    first = last = line
    while first > max(region.first, line - SHORT) and lines[first - 2].strip():
        first -= 1
    while last < min(region.last, line + SHORT) and lines[last].strip():
        last += 1
    return first, last


def _reasons(
    lines: Sequence[str],
    weights: Mapping[int, Mapping[str, float]],
    definition: DefinedHere | None,
    wanted: Wanted,
) -> Iterator[str]:
    """Yield where the words of the query are: in the name, then in the documentation and elsewhere,
    first where the more telling words are."""
    known: set[str] = set()
    parts = []
    if definition is not None:
        name = definition.name.rpartition(".")[2]
        known.update(word for word, _ in wanted.words_in(name))
        if known:
            section = definition.kind == "section"
            verb = "declares" if definition.declared else "defines"
            yield f"under the heading {name}" if section else f"{verb} {name}"
        weight, documented = _new_words(wanted, [definition.doc], known)
        parts.append((weight, "its documentation mentions", documented))
    # The lines with the most telling words first: reading all of them would take long.
    best = {
        at: max(wanted.words.get(word, 0.0) for word in new)
        for at, words in weights.items()
        if (new := words.keys() - known)
    }
    by_worth = sorted(best, key=lambda at: -best[at])
    telling = (lines[at - 1] for at in by_worth if not known.issuperset(weights[at]))
    weight, others = _new_words(wanted, telling, known)
    parts.append((weight, "mentions", others))
    for _, where, written in sorted(parts, key=lambda part: -part[0]):
        if written:
            yield f"{where} {', '.join(written)}"


def _new_words(wanted: Wanted, texts: Iterable[str], known: set[str]) -> tuple[float, list[str]]:
    """Return the weight of the words of the query in some texts that are not known yet, and the
    most telling of them as written there."""
    found: dict[str, float] = {}
    total = 0.0
    for text in texts:
        for word, written in wanted.words_in(text):
            if word not in known:
                known.add(word)
                weight = wanted.words.get(word, 0.0)
                found[written] = max(found.get(written, 0.0), weight)
                total += weight
        if len(found) >= REASON_WORDS:
            break
    return total, sorted(found, key=lambda written: -found[written])[:REASON_WORDS]


def reason(parts: Sequence[str]) -> str:
    """Return the first parts of a reason that fit in a line."""
    found = ""
    for part in parts:
        longer = f"{found}; {part}" if found else part
        if found and len(longer) > REASON_CHARACTERS:
            break
        found = longer
    return found if len(found) <= REASON_CHARACTERS else found[: REASON_CHARACTERS - 1] + "…"
