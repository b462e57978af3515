"""The ranker that needs no key, no index and no network: evidence of ripgrep, weighed.

A file is worth more the rarer, the more important and the more various the terms are that it
matches, if it defines what a term names, if its path says the same words as the query, and if the
lines around its matches hold further words of the query. Tests, documentation and generated files
count less, unless the query asks for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from winnow.types import Candidate, Line, Ranked

# An earlier term counts for more: the first twice the fifth. The order is the caller's ranking.
ORDER_DECAY = 0.25
# BM25's saturation: how fast further matching lines of one term stop to add.
SATURATION = 1.2
DEFINITION_BONUS = 1.0
PATH_WEIGHT = 0.9
QUERY_WEIGHT = 0.5
PENALTY = 0.35
REASON_CHARACTERS = 160

STOP_WORDS = frozenset(
    """
    a all also an and any are as at be been being by can code could do does done each file
    files find for from get gets had has have how i if implement implemented implements in into
    is it its of on one or our out show so such than that the their them then there these they
    this to two us use used uses using via was we were what when where which who why will with
    would
    """.split()
)

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

# The name that a line defines, in the languages where a keyword says so.
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|"
    r"abstract|async|override|virtual|inline|unsafe|extern|sealed|open|data|case|local|declare|"
    r"partial|readonly|const)\s+)*"
    r"(?:class|module|defmodule|interface|struct|enum|trait|type|object|protocol|record|namespace|"
    r"union|extension|newtype|def|defp|defmacro|func|function|fn|fun|package|typedef|impl|const|"
    r"val|var|let|mod|actor|macro_rules!|#\s*define)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(?P<name>[\w$]+(?:(?:\.|::)[\w$]+)*)"
)
# A function in the family of C: a type and a name from the first column, and no semicolon.
_C_FUNCTION = re.compile(r"^[A-Za-z_][\w\s*&:<>,~]*?\b(?P<name>[\w~]+)\s*\([^;]*$")

_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|fixtures?|mocks?)/"
    r"|(?:^|/)(?:test_|conftest\.)[^/]*$|[_.-](?:test|spec)s?\.[a-z]+$"
    r"|[a-z](?:Tests?|Spec|Suite)\.[a-z]+$"
)
_SIDE = re.compile(
    r"(?:^|/)(?:examples?|docs?|documentation|samples?|demos?|changelogs?|locales?|bench(?:es|marks?)?)/"
    r"|\.(?:md|rst|txt|po|lock|svg|csv|html?)$|(?:^|/)(?:changelog|news|history|authors)[^/]*$",
    re.I,
)
_GENERATED = re.compile(
    r"(?:^|/)(?:vendor|third_party|node_modules|dist|build|generated|external)/"
    r"|\.min\.[a-z]+$|[._]pb2?\.[a-z.]+$|\.generated\.|_generated\.|\.snap$|package-lock\.json$",
    re.I,
)
# What is demoted, and the words by which a query asks for it all the same.
_DEMOTED = (
    (_TEST, frozenset({"test", "tests", "testing", "tested", "spec", "specs", "fixture", "mock"})),
    (_SIDE, frozenset({"doc", "docs", "documentation", "example", "examples", "changelog"})),
    (_GENERATED, frozenset({"vendor", "vendored", "generated", "build", "dist"})),
)


def words(text: str) -> dict[str, str]:
    """The words of a text or an identifier, by stem: split at humps and underscores, in lower
    case, the commonest English ones left out."""
    found = (hump.lower() for word in _WORD.findall(text) for hump in _HUMP.findall(word))
    stems: dict[str, str] = {}
    for word in found:
        if word not in STOP_WORDS:
            stems.setdefault(_stem(word), word)
    return stems


def _stem(word: str) -> str:
    """A word without its commonest English endings: enough to see that `ordered` is `order`."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 4 else word


def defines(line: Line) -> str | None:
    """The name that the line defines, if a match lies in it."""
    for pattern in (_DEFINITION, _C_FUNCTION):
        found = pattern.match(line.text)
        if found:
            start, end = found.span("name")
            shift = line.start - line.text.startswith("…")
            if any(a < end + shift and b > start + shift for a, b in line.ranges):
                return found["name"]
    return None


def rank(
    query: str,
    terms: Sequence[str],
    candidates: Iterable[Candidate],
    *,
    searched: int | None = None,
) -> list[Ranked]:
    """The candidates, most relevant first, each with its evidence as the reason.

    ``terms`` are all search terms in descending importance, those without matches too;
    ``searched`` is the number of files that were searched, if known.
    """
    candidates = list(candidates)
    weights = _term_weights(terms, candidates, searched)
    whole = sum(weights.values()) or 1.0
    asked = words(query)
    known = set(asked).union(*(words(re.sub(r"\\[a-zA-Z]", " ", term)) for term in terms))
    wanted = {word.lower() for text in (query, *terms) for word in _WORD.findall(text)}
    ranked = [_ranked(candidate, weights, whole, asked, known, wanted) for candidate in candidates]
    ranked.sort(key=lambda one: (-(one.score or 0.0), one.candidate.path))
    return ranked


def _term_weights(
    terms: Sequence[str], candidates: Sequence[Candidate], searched: int | None
) -> dict[str, float]:
    """How much each term says: its place among the terms times its inverse document frequency."""
    files = {term: sum(term in c.counts for c in candidates) for term in terms}
    most = max(files.values(), default=0)
    total = max(searched or max(1000, 10 * most), most)
    return {
        term: math.log(1 + (total - n + 0.5) / (n + 0.5)) / (1 + ORDER_DECAY * place)
        for place, (term, n) in enumerate(files.items())
        if n
    }


def _ranked(
    candidate: Candidate,
    weights: Mapping[str, float],
    whole: float,
    asked: Collection[str],
    known: set[str],
    wanted: set[str],
) -> Ranked:
    evidence = 0.0
    defined: dict[str, str] = {}
    for term, count in candidate.counts.items():
        names = [defines(candidate.lines[number]) for number in candidate.hits.get(term, ())]
        name = next(filter(None, names), None)
        if name:
            defined[term] = name
        strength = count * (SATURATION + 1) / (count + SATURATION)
        evidence += weights[term] * (strength + DEFINITION_BONUS * bool(name))
    in_path = _path_share(candidate.path, known)
    score = evidence / whole + PATH_WEIGHT * in_path + QUERY_WEIGHT * _said(candidate, asked)
    for pattern, unless in _DEMOTED:
        if pattern.search(candidate.path) and not unless & wanted:
            score *= PENALTY
    return Ranked(candidate, _reason(candidate, weights, defined, known), round(score, 4))


def _path_share(path: str, known: set[str]) -> float:
    """How much of the path the query and the terms name: the file's own name counts most."""
    *folders, name = path.split("/")
    stem = words(name.split(".")[0])
    above = words(" ".join(folders))
    in_name = sum(word in known for word in stem) / len(stem) if stem else 0.0
    in_folders = sum(word in known for word in above) / len(above) if above else 0.0
    return 0.75 * in_name + 0.25 * in_folders


def _said(candidate: Candidate, asked: Collection[str]) -> float:
    """The share of the query's words that the matching lines and their context hold."""
    if not asked:
        return 0.0
    text = " ".join(line.text for line in candidate.lines.values()).lower()
    return sum(word in text for word in asked) / len(asked)


def _reason(
    candidate: Candidate,
    weights: Mapping[str, float],
    defined: Mapping[str, str],
    known: set[str],
) -> str:
    parts = []
    if defined:
        parts.append("defines " + ", ".join(dict.fromkeys(defined.values())))
    by_weight = sorted(candidate.counts, key=lambda term: -weights[term])
    parts.append(
        "matches "
        + ", ".join(
            term + (f" ×{candidate.counts[term]}" if candidate.counts[term] > 1 else "")
            for term in by_weight
        )
    )
    in_path = [word for stem, word in words(candidate.path).items() if stem in known]
    if in_path:
        parts.append("path says " + ", ".join(in_path))
    reason = "; ".join(parts)
    if len(reason) > REASON_CHARACTERS:
        reason = reason[: REASON_CHARACTERS - 1] + "…"
    return reason
