"""Rank the files with matches of search terms, without an index or a language model.

The ranker is the one of the index, :mod:`winnow.ranking.semantic.search`. Instead of indexed texts
it gets the lines that ripgrep printed, and for the best files, the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from winnow.index.postings.terms import words
from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.term_matches import MatchedTerms
from winnow.symbols.file_symbols import Definition
from winnow.types import DefinedHere, Hit

if TYPE_CHECKING:
    from winnow.ranking.matched_corpus import LooseText
    from winnow.ranking.semantic.search import FoundPassage

# Files that are read without an index, at most, and their size together. On 100 questions, NDCG@10
# was 0.85 without reading, 0.89 with 30 files, and 0.895 with all.
READ_FILES = 30
READ_CHARACTERS = 1_500_000
# A passage may begin in a definition and end behind it. Between the beginning of that definition
# and the passage are few others: its members, and functions in it.
DEFINITIONS_BEFORE = 16
# A function inside of a function is a place of its own from this many lines on.
LOCAL_LINES = 5
REASON_CHARACTERS = 160
# Weight of terms in names of definitions, where files are ordered by the terms that match.
DEFINED = 3.0
REASON_NAMES = 3
# The reason for a file with feedback after a similar query.
FEEDBACK = {
    True: "useful for an earlier similar query",
    False: "not useful for an earlier similar query",
}


# Returns the lines of a file, or None if they cannot be read.
ReadLines = Callable[[str], Sequence[str] | None]


def question_of_terms(query: str, terms: Sequence[str]) -> str:
    """Return the question to rank by: the query, and further words of the terms."""
    plain = [re.sub(r"\\[a-zA-Z]", " ", term) for term in terms]
    in_query = {word.lower() for word in words(query)}
    more = dict.fromkeys(
        word for term in plain for word in words(term) if word.lower() not in in_query
    )
    return " ".join([query, *more])


def possible_definitions(passage: FoundPassage) -> range:
    """Return the positions of the definitions that begin in a passage, and of those before it that
    may end in it."""
    return range(max(0, passage.begun.start - DEFINITIONS_BEFORE), passage.begun.stop)


def defined_here(definitions: Iterable[Definition], first: int) -> Iterator[DefinedHere]:
    """Yield those definitions that end in line ``first`` or later, except short functions inside of
    functions."""
    for each in definitions:
        is_part = each.local and each.end_line - each.line < LOCAL_LINES
        if not is_part and each.end_line + 1 >= first:
            yield DefinedHere(
                each.qualified_name,
                each.kind,
                each.line + 1,
                each.end_line + 1,
                each.doc,
                each.declared,
            )


def hit_of(passage: FoundPassage, path: str, learned: str, *, matched: bool) -> Hit:
    """Return a passage as a search result. ``learned`` is what feedback says about its file. If
    search terms match in the file, :func:`ranked` adds them to the reason, instead of words."""
    # A column that cuts the reason should show what the passage has.
    last = [learned] * bool(learned)
    why = [part for part in passage.why if not (matched and part.startswith("mentions "))]
    return Hit(
        path,
        "passage",
        round(passage.score, 4),
        "; ".join([*why, *last]),
        first=passage.first,
        last=passage.last,
        symbol=passage.symbol,
        about=[*passage.about, *last],
    )


def rank_by_matches(
    question: str,
    candidates: Sequence[Candidate],
    matches: Mapping[str, MatchedTerms],
    boosts: Mapping[str, float],
    texts: Mapping[str, LooseText],
) -> list[Hit]:
    """Return the best passage of each file, best first. ``boosts`` and ``texts`` are by path, and
    each file is ranked by its text."""
    # numpy takes time to load.
    from winnow.ranking.matched_corpus import empty_corpus, with_texts
    from winnow.ranking.semantic.search import search

    known = [texts[file.path] for file in candidates]
    paths = [text.path for text in known]
    corpus = with_texts(empty_corpus(""), dict(enumerate(known)), [(0, path) for path in paths])
    found = search(
        corpus,
        question,
        limit=len(paths),
        boosts={number: boosts[path] for number, path in enumerate(paths) if path in boosts},
        matched={number: matches[path] for number, path in enumerate(paths)},
    )
    return [
        _with_definitions(hit_of(passage, path, learned, matched=True), passage, known)
        for passage in found
        for path in [paths[passage.file]]
        for learned in [FEEDBACK[boosts[path] > 0] if path in boosts else ""]
    ]


def _with_definitions(hit: Hit, passage: FoundPassage, texts: Sequence[LooseText]) -> Hit:
    """Add the definitions in and around the passage, if its file is parsed."""
    text = texts[passage.file]
    if text.definitions is None or hit.symbol is not None:
        return hit
    here = text.definitions_at(possible_definitions(passage), passage.number - 1)
    return msgspec.structs.replace(hit, definitions=[*defined_here(here, passage.first)])


def whole_texts(
    paths: Sequence[str], read: ReadLines, definitions: Mapping[str, Sequence[Definition]]
) -> dict[str, LooseText]:
    """Return the texts of files, up to a total size, with their ``definitions`` if known."""
    from winnow.ranking.matched_corpus import LooseText

    texts = {}
    left = READ_CHARACTERS
    for path in paths:
        lines = read(path)
        if lines is not None and (size := sum(map(len, lines))) <= left:
            left -= size
            texts[path] = LooseText(path, dict(enumerate(lines, 1)), definitions.get(path))
    return texts


def loose_text(file: Candidate) -> LooseText:
    """Return the known lines of a file."""
    from winnow.ranking.matched_corpus import LooseText

    return LooseText(file.path, {number: line.text for number, line in file.lines.items()})


def ranked(
    candidates: Sequence[Candidate], hits: Sequence[Hit], matches: Mapping[str, MatchedTerms]
) -> list[Ranked]:
    """Return the candidates in the order of the hits, each with a reason. Those without a hit come
    last, by the terms that match, above all in names of definitions."""
    by_path = {file.path: file for file in candidates}
    found = {hit.path: hit for hit in hits if hit.path in by_path}
    others = sorted(
        by_path.keys() - found.keys(), key=lambda path: (-_strength(matches.get(path)), path)
    )
    in_order = []
    for path in [*found, *others]:
        hit, of_file = found.get(path), matches.get(path)
        reason = _reason(by_path[path], of_file, hit)
        if hit is not None and of_file is not None:
            lines = of_file.lines()
            # Without the text and without a line, the passage is only a guess.
            known = lines or hit.definitions is not None
            hit = msgspec.structs.replace(hit, marks=lines) if known else None
        file = msgspec.structs.replace(by_path[path], best=hit)
        in_order.append(Ranked(file, reason, found[path].score if path in found else 0.0))
    return in_order


def _strength(matches: MatchedTerms | None) -> float:
    return matches.share + DEFINED * matches.defined if matches is not None else 0.0


def _defined(names: Mapping[str, int], hit: Hit | None) -> str:
    """Return which names a file defines, given with their lines; or where it defines the first, if
    its passage has none of them."""
    known = list(names)[:REASON_NAMES]
    first, last = (hit.first, hit.last) if hit is not None else (None, None)
    if first is None or last is None or any(first <= names[name] <= last for name in known):
        return f"defines {', '.join(known)}"
    return f"defines {known[0]} in line {names[known[0]]}"


def _reason(file: Candidate, matches: MatchedTerms | None, hit: Hit | None) -> str:
    """Return the reason: the evidence for the passage, the matching definitions, then the terms
    that match, the weightiest first, as many as fit."""
    why = hit.why if hit is not None else ""
    if matches is None:
        return f"from the index: {why}"[:REASON_CHARACTERS]
    terms = [
        term + (f" ×{file.counts[term]}" if file.counts[term] > 1 else "")
        for term in sorted(file.counts, key=lambda term: -matches.weights[term])
    ]
    if matches.names and "defines " not in why:
        why = "; ".join(filter(None, [_defined(matches.names, hit), why]))
    reason = why
    for shown in range(len(terms), 0, -1):
        rest = f" and {len(terms) - shown} more" if shown < len(terms) else ""
        reason = "; ".join(filter(None, [why, f"matches {', '.join(terms[:shown])}{rest}"]))
        if len(reason) <= REASON_CHARACTERS:
            return reason
    return reason[: REASON_CHARACTERS - 1] + "…"
