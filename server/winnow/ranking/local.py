"""The ranker that needs no key, index or network: it weighs the evidence of ripgrep's matches.

A file scores higher if it matches rarer and more important terms, if it defines what they name, if
the lines around its matches contain other words of the query, and most of all if its own name
matches the query. Tests, documentation and generated files score lower unless the query asks for
them.

The weights were found with benchmarks/local_ranker.py on 24 repositories in 18 languages: a value
was kept if it helped one half of the languages and did not hurt the other. Halving or doubling a
weight costs at most about 0.01 of NDCG@10, that of terms 0.016 and of paths 0.027.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from winnow.index.postings.terms import STOP_WORDS
from winnow.ranking.candidates import Candidate, Ranked
from winnow.text.ripgrep import Line
from winnow.types import Hit

# An earlier term counts more: the first twice as much as the fifth. The caller orders the terms by
# importance.
ORDER_DECAY = 0.25
# BM25's saturation: how fast more matching lines of a term stop counting. It is low because only
# two or three lines of a shortened term are known: that a file matches means more than how often.
SATURATION = 0.6
# The four parts of a score: matching terms, definitions of what they name, words of the query
# around the matches, and the path. The path counts most because people name a file after its
# content.
TERM_WEIGHT = 0.7
DEFINITION_WEIGHT = 1.0
TEXT_WEIGHT = 1.8
PATH_WEIGHT = 1.5
# Single words of the query around the matches are weak evidence, so they add up slowly.
TEXT_SATURATION = 4.0
# A word that is in every file still counts where it is frequent.
TEXT_FLOOR = 0.3
# Within the path: folders contain many files, so they distinguish few; and a name that covers the
# entire query beats a name made of one of its words.
FOLDER_SHARE = 0.15
COVERAGE_WEIGHT = 0.8
PENALTY = 0.35
# Combination with an index. Its score is a probability, of which the order of magnitude counts,
# from MIN_INDEX_SCORE on. A score of OWN_SCORE here equals a probability of 1, which has
# INDEX_SHARE of the sum. On the same repositories, with an index whose ranker had not been trained
# on them, both together were better by 0.02 of NDCG@10 than the index alone, and by 0.02 to 0.2
# than without; shares of 0.6 to 0.8 were as good, in both halves of the languages.
MIN_INDEX_SCORE = 0.001
OWN_SCORE = 4.0
INDEX_SHARE = 0.7
# A header beside its source only declares it, so it comes second.
HEADER_PENALTY = 0.8
# Names abbreviate: from this length on, `auth`, `config` and `param` match the longer word.
ABBREVIATION = 4
REASON_CHARACTERS = 160
# The reason for a file with feedback after a similar query.
FEEDBACK = {
    True: "useful for an earlier similar query",
    False: "not useful for an earlier similar query",
}
REASON_NAMES = 3

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

# A definition in languages with a keyword for it.
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|"
    r"abstract|async|override|virtual|inline|unsafe|extern|sealed|open|data|case|local|declare|"
    r"partial|readonly|const)\s+)*"
    r"(?:class|module|defmodule|interface|struct|enum|trait|type|object|protocol|record|namespace|"
    r"union|extension|newtype|data|def|defp|defmacro|func|function|fn|fun|package|typedef|"
    r"impl|const|val|var|let|mod|actor|macro_rules!|#\s*define)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(?P<name>[\w$]+(?:(?:\.|::)[\w$]+)*)"
)
# A local variable, which nobody searches for.
_LOCAL = re.compile(r"^\s+(?:const|let|var|val|local)\s+(?!function\b)")
# A function or method without a keyword, whose body starts on its line: Java, C#, JavaScript,
# shell.
_METHOD = re.compile(
    r"^\s*(?:[\w$.:<>\[\],?*&]+\s+){0,6}?(?P<name>[\w$~]+)\s*\([^()'\"]*\)"
    r"\s*(?:const|noexcept|throws [\w, ]+|(?::|->)\s*[^=;(){]+)?\s*\{\s*$"
)
# A function assigned to a name: JavaScript, Lua.
_ASSIGNED = re.compile(
    r"^\s*(?P<name>[\w$]+(?:\.[\w$]+)*)\s*[:=]\s*"
    r"(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]*)?=>)"
)
# A signature on a separate line: Haskell.
_SIGNATURE = re.compile(r"^\s{0,4}(?P<name>[a-z_][\w']*)\s*::\s")
# A function in C and its relatives: a type and a name from the first column, and no semicolon.
_C_FUNCTION = re.compile(r"^[A-Za-z_][\w\s*&:<>,~]*?\b(?P<name>[\w~]+)\s*\([^;]*$")
# Words before parentheses and a brace that are not names.
_KEYWORDS = frozenset(
    """
    assert await case catch defer elif else elsif for foreach function guard if import lock match
    new print return super switch synchronized throw unless until using when while with yield
    """.split()
)

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
# Demoted kinds of files, and the words with which a query asks for them.
_DEMOTED = (
    (_TEST, frozenset({"test", "tests", "testing", "tested", "spec", "specs", "fixture", "mock"})),
    (_SIDE, frozenset({"doc", "docs", "documentation", "example", "examples", "changelog"})),
    (_GENERATED, frozenset({"vendor", "vendored", "generated", "build", "dist"})),
)
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|d\.ts|pyi|mli)$")
# Files that represent their folder and get its name.
_FRONTS = frozenset({"__init__", "index", "init", "mod"})


def words(text: str) -> dict[str, str]:
    """Return the words of a text by stem: split at humps and underscores, without stop words."""
    found = (hump.lower() for word in _WORD.findall(text) for hump in _HUMP.findall(word))
    stems: dict[str, str] = {}
    for word in found:
        if word not in STOP_WORDS:
            stems.setdefault(_stem(word), word)
    return stems


def _stem(word: str) -> str:
    """Return a word without common English endings: enough to match `ordered` with `order`."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _stem(word[: -len(ending)])
    if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]):
        return word[:-1]  # `typ` of `types`, `quer` of `queries`, `map` of `mapping`
    return word


def defines(line: Line) -> str | None:
    """Return the name that the line defines, if a match is in it."""
    if line.start or _LOCAL.match(line.text):
        return None  # a definition would be at the cut-off beginning
    for pattern in _possible(line.text):
        found = pattern.match(line.text)
        if found and found["name"] not in _KEYWORDS:
            start, end = found.span("name")
            if any(a < end and b > start for a, b in line.ranges):
                return found["name"]
    return None


def _possible(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that can match a line, judged by characters in it: that is faster."""
    yield _DEFINITION
    if "{" in text:
        yield _METHOD
    if "function" in text or "=>" in text:
        yield _ASSIGNED
    if "::" in text:
        yield _SIGNATURE
    if "(" in text:
        yield _C_FUNCTION


def rank(
    query: str,
    terms: Sequence[str],
    candidates: Iterable[Candidate],
    *,
    searched: int | None = None,
    unknown: Collection[str] = (),
    boosts: Mapping[str, float] = MappingProxyType({}),
) -> list[Ranked]:
    """Return the candidates, most relevant first, each with its evidence as the reason.

    ``terms`` are all search terms by descending importance, including those without matches;
    ``searched`` is the number of searched files, if known. If an index has scores for some
    candidates, it has indexed all but the ``unknown`` ones. ``boosts`` move files by path because
    of earlier feedback; 1 equals the best score.
    """
    candidates = list(candidates)
    question = _question(query, terms)
    weights = _term_weights(terms, candidates, searched)
    text_scores = _text_scores(question, candidates)
    paths = _Paths.of(question, [candidate.path for candidate in candidates])
    scores, reasons = [], []
    for candidate, text_score in zip(candidates, text_scores, strict=True):
        term_score, defined = _term_score(candidate, weights, question)
        score = term_score + TEXT_WEIGHT * text_score + PATH_WEIGHT * paths.score(candidate.path)
        score *= _demotion(candidate.path, question) * paths.header_demotion(candidate.path)
        scores.append(score)
        boost = boosts.get(candidate.path, 0.0)
        reasons.append(_reason(candidate, weights, defined, question, boost))
    if any(candidate.indexed for candidate in candidates):
        scores = _with_index(candidates, scores, unknown)
    best = max(scores, default=0.0)
    ranked = [
        Ranked(
            candidate, reason, round(max(0.0, score + best * boosts.get(candidate.path, 0.0)), 4)
        )
        for candidate, reason, score in zip(candidates, reasons, scores, strict=True)
    ]
    ranked.sort(key=lambda file: (-(file.score or 0.0), file.candidate.path))
    return ranked


def _with_index(
    candidates: Sequence[Candidate], scores: Sequence[float], unknown: Collection[str]
) -> list[float]:
    """Return the scores, about from 0 to 1, combined with index scores of indexed files."""
    moved = []
    for candidate, score in zip(candidates, scores, strict=True):
        share = score / OWN_SCORE
        if candidate.path not in unknown:
            share += INDEX_SHARE * (_strength(candidate.indexed) - share)
        moved.append(share)
    return moved


def _strength(indexed: Hit | None) -> float:
    """Return the strength of an index score, from 0 to 1."""
    if indexed is None or indexed.score <= MIN_INDEX_SCORE:
        return 0.0
    return 1 - math.log(indexed.score) / math.log(MIN_INDEX_SCORE)


@dataclass(frozen=True)
class _Question:
    """The words of a query and its terms: ``stems`` of the query, ``known`` stems of both and of
    complete identifiers, and the plain ``words`` of both."""

    stems: Collection[str]
    known: frozenset[str]
    words: frozenset[str]


def _question(query: str, terms: Sequence[str]) -> _Question:
    texts = [query, *(re.sub(r"\\[a-zA-Z]", " ", term) for term in terms)]
    plain = [word.lower() for text in texts for word in re.findall(r"\w+", text)]
    names = (_joined(word) for word in plain if word not in STOP_WORDS)
    known = frozenset(names).union(*(words(text) for text in texts))
    plain_words = {word.lower() for text in (query, *terms) for word in _WORD.findall(text)}
    return _Question(list(words(query)), known, frozenset(plain_words))


def _joined(name: str) -> str:
    """Return the stem of a complete name: the same for `side_bar`, `SideBar` and `sidebar`."""
    return _stem("".join(_WORD.findall(name)).lower())


def _rarity(files: int, total: int) -> float:
    """Return BM25's inverse document frequency of a word that ``files`` contain."""
    return math.log(1 + (total - files + 0.5) / (files + 0.5))


# --- terms and definitions -----------------------------------------------------------------


def _term_weights(
    terms: Sequence[str], candidates: Sequence[Candidate], searched: int | None
) -> dict[str, float]:
    """Return the weight of each term: its position among the terms times its rarity, 1 in sum."""
    files = {term: sum(term in c.counts for c in candidates) for term in terms}
    largest = max(files.values(), default=0)
    total = max(searched or max(1000, 10 * largest), largest)
    weights = {
        term: _rarity(n, total) / (1 + ORDER_DECAY * place)
        for place, (term, n) in enumerate(files.items())
        if n
    }
    weight_sum = sum(weights.values())
    return {term: weight / weight_sum for term, weight in weights.items()}


def _term_score(
    candidate: Candidate, weights: Mapping[str, float], question: _Question
) -> tuple[float, list[str]]:
    """Return the score of matches and definitions, and the defined names, best first."""
    score = 0.0
    defined: list[tuple[float, str]] = []
    for term, count in candidate.counts.items():
        strength = count * (SATURATION + 1) / (count + SATURATION)
        share, name = _best_definition(candidate, term, question)
        score += weights[term] * (TERM_WEIGHT * strength + DEFINITION_WEIGHT * share)
        if name:
            defined.append((weights[term] * share, name))
    defined.sort(key=lambda pair: -pair[0])
    return score, list(dict.fromkeys(name for _, name in defined))


def _best_definition(
    candidate: Candidate, term: str, question: _Question
) -> tuple[float, str | None]:
    """Return the best definition and its share in the query: 1/3 for `OrderLineItem`."""
    best: tuple[float, str | None] = (0.0, None)
    for number in candidate.hits.get(term, ()):
        name = defines(candidate.lines[number])
        if name:
            parts = words(name)
            share = sum(part in question.known for part in parts) / len(parts) if parts else 1.0
            if best[1] is None or share > best[0]:
                best = share, name
            if share == 1:
                break
    return best


# --- the text around the matches -----------------------------------------------------------


def _text_scores(question: _Question, candidates: Sequence[Candidate]) -> list[float]:
    """Return the share of the query in each candidate's path, matching lines and context."""
    texts = [
        "\n".join([candidate.path, *(line.text for line in candidate.lines.values())]).lower()
        for candidate in candidates
    ]
    # Parts of words count too: `auth` matches `authenticate` at no extra cost.
    weights = {
        stem: TEXT_FLOOR + _rarity(sum(stem in text for text in texts), len(texts))
        for stem in question.stems
    }
    weight_sum = sum(weights.values()) or 1.0
    scores = []
    for text in texts:
        counts = ((weight, text.count(stem)) for stem, weight in weights.items())
        scores.append(sum(weight * n / (n + TEXT_SATURATION) for weight, n in counts) / weight_sum)
    return scores


# --- paths ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Paths:
    """The words in the paths of the candidates; a word in many paths counts little."""

    question: _Question
    # Words of the folders, and of the name.
    parts: Mapping[str, tuple[Collection[str], Collection[str]]]
    rarity: Mapping[str, float]
    query: Mapping[str, float]
    named: frozenset[str]
    sources: frozenset[str]

    @classmethod
    def of(cls, question: _Question, paths: Sequence[str]) -> _Paths:
        of_folders: dict[str, Collection[str]] = {}  # fewer than paths
        parts: dict[str, tuple[Collection[str], Collection[str]]] = {}
        for path in paths:
            folders, name = _name_of(path)
            if folders not in of_folders:
                of_folders[folders] = words(folders)
            parts[path] = of_folders[folders], words(name)
        files = Counter(word for folders, name in parts.values() for word in {*folders, *name})
        return cls(
            question,
            parts,
            rarity={word: _rarity(n, len(paths)) for word, n in files.items()},
            query={word: _rarity(files[word], len(paths)) for word in question.stems},
            named=frozenset(word for word in files if _is_named(word, question.known)),
            sources=frozenset(_stem_of(path) for path in paths if not _HEADER.search(path)),
        )

    def score(self, path: str) -> float:
        """Return the score of a path: its share in the query, and the query's share in its name."""
        in_folders, in_name = self.parts[path]
        is_name_known = _joined(_name_of(path)[1]) in self.question.known
        share = 1.0 if is_name_known else self._share(in_name)
        total = sum(self.query.values()) or 1.0
        covered = sum(self.query.get(word, 0.0) for word in in_name) / total
        return (
            (1 - FOLDER_SHARE) * share
            + FOLDER_SHARE * self._share(in_folders)
            + COVERAGE_WEIGHT * covered
        )

    def _share(self, parts: Collection[str]) -> float:
        total = sum(self.rarity.get(part, 0.0) for part in parts)
        named = sum(self.rarity.get(part, 0.0) for part in parts if part in self.named)
        return named / total if total else 0.0

    def header_demotion(self, path: str) -> float:
        beside = _HEADER.search(path) and _stem_of(path) in self.sources
        return HEADER_PENALTY if beside else 1.0


def _name_of(path: str) -> tuple[str, str]:
    """Return the folders and the name of a file: for `parser/mod.rs`, the name is `parser`."""
    folders, _, name = path.rpartition("/")
    stem = name.split(".")[0]
    if stem in _FRONTS and folders:
        folders, _, stem = folders.rpartition("/")
    return folders, stem


def _stem_of(path: str) -> str:
    return path.rpartition("/")[2].split(".")[0]


def _is_named(word: str, known: Collection[str]) -> bool:
    """Return True if the query contains the word, or a longer or shorter form of it."""
    if word in known or len(word) < ABBREVIATION:
        return word in known
    return any(
        len(other) >= ABBREVIATION and (other.startswith(word) or word.startswith(other))
        for other in known
    )


def _demotion(path: str, question: _Question) -> float:
    unwanted = sum(
        bool(pattern.search(path)) and not unless & question.words for pattern, unless in _DEMOTED
    )
    return float(PENALTY**unwanted)


# --- the reason ----------------------------------------------------------------------------


def _reason(
    candidate: Candidate,
    weights: Mapping[str, float],
    defined: Sequence[str],
    question: _Question,
    boost: float,
) -> str:
    """Return the reason: definitions, matching terms with counts, and words of the path; the
    weightiest terms first, as many as fit. For a file without matches, return the reason of the
    index."""
    feedback = [FEEDBACK[boost > 0]] if boost else []
    if candidate.is_only_indexed:
        why = f"from the index: {candidate.indexed.why}" if candidate.indexed else ""
        return "; ".join([*feedback, why])[:REASON_CHARACTERS]
    matches = [
        term + (f" ×{candidate.counts[term]}" if candidate.counts[term] > 1 else "")
        for term in sorted(candidate.counts, key=lambda term: -weights[term])
    ]
    before = [f"defines {', '.join(defined[:REASON_NAMES])}"] if defined else []
    in_path = [word for stem, word in words(candidate.path).items() if stem in question.known]
    after = [f"path matches {', '.join(in_path)}"] if in_path else []
    for shown in range(len(matches), 0, -1):
        rest = f" and {len(matches) - shown} more" if shown < len(matches) else ""
        matching = f"matches {', '.join(matches[:shown])}{rest}"
        reason = "; ".join([*feedback, *before, matching, *after])
        if len(reason) <= REASON_CHARACTERS:
            return reason
    return reason[: REASON_CHARACTERS - 1] + "…"
