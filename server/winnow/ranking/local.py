"""The ranker that needs no key, no index and no network: evidence of ripgrep, weighed.

A file is worth more the rarer and the more important the terms are that it matches, if it defines
what they name, if the lines around its matches hold further words of the query, and most of all if
its own name says what was asked. Tests, documentation and generated files count less, unless the
query asks for them.

What the parts weigh was found with benchmarks/local_ranker.py over 24 repositories in 18 languages:
a value was kept where it helped one half of the languages and did not harm the other. Halving or
doubling one costs at most about 0.01 of NDCG@10, that of terms 0.016 and of paths 0.027.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from winnow.index.postings.terms import STOP_WORDS
from winnow.types import Candidate, Indexed, Line, Ranked

# An earlier term counts for more: the first twice the fifth. The order is the caller's ranking.
ORDER_DECAY = 0.25
# BM25's saturation: how fast further matching lines of one term stop to add. Low, since a term that
# was shrunk shows two or three of its lines: whether a file matches says more than how often.
SATURATION = 0.6
# The four parts of a score: terms that match, what they define, the query's words around the
# matches, and the path. The path says most: people name a file for what it is about.
TERM_WEIGHT = 0.7
DEFINITION_WEIGHT = 1.0
TEXT_WEIGHT = 1.8
PATH_WEIGHT = 1.5
# The words of the query around the matches are weak evidence one by one, so they add up slowly.
TEXT_SATURATION = 4.0
# A word that every file says still tells which of them says it often.
TEXT_FLOOR = 0.3
# Of the path's part: folders group many files, so they tell few apart; and a name that covers all
# of the query beats one that is made of a single word of it.
FOLDER_SHARE = 0.15
COVERAGE_WEIGHT = 0.8
PENALTY = 0.35
# Where an index says something, too: its score is a probability, of which the order of magnitude
# counts, from INDEX_LEAST on; a score of OWN_SCORE here is worth as much as its 1, which has this
# share in the whole. On the same repositories, with an index whose ranker had not been trained on
# them, both together were better by 0.02 of NDCG@10 than the index alone, and by 0.02 to 0.2 than
# without; shares of 0.6 to 0.8 were as good, in both halves of the languages.
MIN_INDEX_SCORE = 0.001
OWN_SCORE = 4.0
INDEX_SHARE = 0.7
# A header beside its source announces what the source does: enough to come second.
HEADER_PENALTY = 0.8
# Names abbreviate: `auth`, `config` and `param` stand for the longer word from this length on.
ABBREVIATION = 4
REASON_CHARACTERS = 160
# What is said of a file that was of use after a similar query, or of none.
LEARNED = {
    True: "useful for an earlier similar query",
    False: "not useful for an earlier similar query",
}
REASON_NAMES = 3

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

# The name that a line defines, in the languages where a keyword says so.
_DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|"
    r"abstract|async|override|virtual|inline|unsafe|extern|sealed|open|data|case|local|declare|"
    r"partial|readonly|const)\s+)*"
    r"(?:class|module|defmodule|interface|struct|enum|trait|type|object|protocol|record|namespace|"
    r"union|extension|newtype|data|def|defp|defmacro|func|function|fn|fun|package|typedef|"
    r"impl|const|val|var|let|mod|actor|macro_rules!|#\s*define)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(?P<name>[\w$]+(?:(?:\.|::)[\w$]+)*)"
)
# A variable of a block: no definition that anyone looks for.
_LOCAL = re.compile(r"^\s+(?:const|let|var|val|local)\s+(?!function\b)")
# A function or method without a keyword, whose body opens on its line: Java, C#, JavaScript, shell.
_METHOD = re.compile(
    r"^\s*(?:[\w$.:<>\[\],?*&]+\s+){0,6}?(?P<name>[\w$~]+)\s*\([^()'\"]*\)"
    r"\s*(?:const|noexcept|throws [\w, ]+|(?::|->)\s*[^=;(){]+)?\s*\{\s*$"
)
# A function that is assigned to a name: JavaScript, Lua.
_ASSIGNED = re.compile(
    r"^\s*(?P<name>[\w$]+(?:\.[\w$]+)*)\s*[:=]\s*"
    r"(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]*)?=>)"
)
# A signature on a line of its own: Haskell.
_SIGNATURE = re.compile(r"^\s{0,4}(?P<name>[a-z_][\w']*)\s*::\s")
# A function in the family of C: a type and a name from the first column, and no semicolon.
_C_FUNCTION = re.compile(r"^[A-Za-z_][\w\s*&:<>,~]*?\b(?P<name>[\w~]+)\s*\([^;]*$")
# What stands before parentheses and a brace and is no name.
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
# What is demoted, and the words by which a query asks for it all the same.
_DEMOTED = (
    (_TEST, frozenset({"test", "tests", "testing", "tested", "spec", "specs", "fixture", "mock"})),
    (_SIDE, frozenset({"doc", "docs", "documentation", "example", "examples", "changelog"})),
    (_GENERATED, frozenset({"vendor", "vendored", "generated", "build", "dist"})),
)
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|d\.ts|pyi|mli)$")
# Files that speak for their folder, so that the folder's name is theirs.
_FRONTS = frozenset({"__init__", "index", "init", "mod"})


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
            return _stem(word[: -len(ending)])
    if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]):
        return word[:-1]  # `typ` of `types`, `quer` of `queries`, `map` of `mapping`
    return word


def defines(line: Line) -> str | None:
    """The name that the line defines, if a match lies in it."""
    if line.start or _LOCAL.match(line.text):
        return None  # the beginning was cut off, and a definition stands there
    for pattern in _possible(line.text):
        found = pattern.match(line.text)
        if found and found["name"] not in _KEYWORDS:
            start, end = found.span("name")
            if any(a < end and b > start for a, b in line.ranges):
                return found["name"]
    return None


def _possible(text: str) -> Iterator[re.Pattern[str]]:
    """The definitions that a line may be, by signs that they have: to look for these is quicker."""
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
    """The candidates, most relevant first, each with its evidence as the reason.

    ``terms`` are all search terms in descending importance, those without matches too;
    ``searched`` is the number of files that were searched, if known. Where an index says something
    of some candidates, it knows all but the ``unknown`` ones. ``boosts`` move files for what became
    of earlier searches, by path: 1 is what the best file is worth.
    """
    candidates = list(candidates)
    question = _question(query, terms)
    weights = _term_weights(terms, candidates, searched)
    said = _said(question, candidates)
    paths = _Paths.of(question, [candidate.path for candidate in candidates])
    scores, reasons = [], []
    for candidate, text_score in zip(candidates, said, strict=True):
        term_score, defined = _matched(candidate, weights, question)
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
    ranked.sort(key=lambda one: (-(one.score or 0.0), one.candidate.path))
    return ranked


def _with_index(
    candidates: Sequence[Candidate], scores: Sequence[float], unknown: Collection[str]
) -> list[float]:
    """The scores, about from 0 to 1, as what the index says moves them; it says nothing of a file
    that it does not know yet."""
    moved = []
    for candidate, score in zip(candidates, scores, strict=True):
        share = score / OWN_SCORE
        if candidate.path not in unknown:
            share += INDEX_SHARE * (_strength(candidate.indexed) - share)
        moved.append(share)
    return moved


def _strength(indexed: Indexed | None) -> float:
    """How much an index says for a file, from 0 to 1."""
    if indexed is None or indexed.score <= MIN_INDEX_SCORE:
        return 0.0
    return 1 - math.log(indexed.score) / math.log(MIN_INDEX_SCORE)


@dataclass(frozen=True)
class _Question:
    """What was asked: ``asked`` are the stems of the query, ``known`` those of the terms, too, and
    of whole identifiers; ``wanted`` the plain words of both."""

    asked: Collection[str]
    known: frozenset[str]
    wanted: frozenset[str]


def _question(query: str, terms: Sequence[str]) -> _Question:
    texts = [query, *(re.sub(r"\\[a-zA-Z]", " ", term) for term in terms)]
    plain = [word.lower() for text in texts for word in re.findall(r"\w+", text)]
    whole = (_joined(word) for word in plain if word not in STOP_WORDS)
    known = frozenset(whole).union(*(words(text) for text in texts))
    wanted = {word.lower() for text in (query, *terms) for word in _WORD.findall(text)}
    return _Question(list(words(query)), known, frozenset(wanted))


def _joined(name: str) -> str:
    """The stem of a whole name: `side_bar`, `SideBar` and `sidebar` are one."""
    return _stem("".join(_WORD.findall(name)).lower())


def _rarity(files: int, total: int) -> float:
    """BM25's inverse document frequency: how much it says that a file has what ``files`` have."""
    return math.log(1 + (total - files + 0.5) / (files + 0.5))


# --- terms and definitions -----------------------------------------------------------------


def _term_weights(
    terms: Sequence[str], candidates: Sequence[Candidate], searched: int | None
) -> dict[str, float]:
    """How much each term says: its place among the terms times its rarity, 1 in all."""
    files = {term: sum(term in c.counts for c in candidates) for term in terms}
    most = max(files.values(), default=0)
    total = max(searched or max(1000, 10 * most), most)
    weights = {
        term: _rarity(n, total) / (1 + ORDER_DECAY * place)
        for place, (term, n) in enumerate(files.items())
        if n
    }
    whole = sum(weights.values())
    return {term: weight / whole for term, weight in weights.items()}


def _matched(
    candidate: Candidate, weights: Mapping[str, float], question: _Question
) -> tuple[float, list[str]]:
    """What the matches and the definitions among them are worth; the names defined, best first."""
    score = 0.0
    defined: list[tuple[float, str]] = []
    for term, count in candidate.counts.items():
        strength = count * (SATURATION + 1) / (count + SATURATION)
        share, name = _best_definition(candidate, term, question)
        score += weights[term] * (TERM_WEIGHT * strength + DEFINITION_WEIGHT * share)
        if name:
            defined.append((weights[term] * share, name))
    defined.sort(key=lambda one: -one[0])
    return score, list(dict.fromkeys(name for _, name in defined))


def _best_definition(
    candidate: Candidate, term: str, question: _Question
) -> tuple[float, str | None]:
    """The definition that a term matches whose name holds the least that was not asked for, and
    the share that was: of `Order` all was, of `OrderLineItem` a third."""
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


def _said(question: _Question, candidates: Sequence[Candidate]) -> list[float]:
    """For each candidate, how much of the query its path, matching lines and context say."""
    texts = [
        "\n".join([candidate.path, *(line.text for line in candidate.lines.values())]).lower()
        for candidate in candidates
    ]
    # A part of a word counts, too: that is how `auth` is seen in `authenticate` at no cost.
    weights = {
        stem: TEXT_FLOOR + _rarity(sum(stem in text for text in texts), len(texts))
        for stem in question.asked
    }
    whole = sum(weights.values()) or 1.0
    scores = []
    for text in texts:
        counts = ((weight, text.count(stem)) for stem, weight in weights.items())
        scores.append(sum(weight * n / (n + TEXT_SATURATION) for weight, n in counts) / whole)
    return scores


# --- paths ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Paths:
    """What the paths of the candidates say, compared with each other: a word that is in many of
    them tells little, asked for or not."""

    question: _Question
    parts: Mapping[str, tuple[Collection[str], Collection[str]]]  # words of folders, of the name
    rarity: Mapping[str, float]
    asked: Mapping[str, float]
    named: frozenset[str]
    sources: frozenset[str]

    @classmethod
    def of(cls, question: _Question, paths: Sequence[str]) -> _Paths:
        of_folders: dict[str, Collection[str]] = {}  # there are far fewer of them than of paths
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
            asked={word: _rarity(files[word], len(paths)) for word in question.asked},
            named=frozenset(word for word in files if _is_named(word, question.known)),
            sources=frozenset(_stem_of(path) for path in paths if not _HEADER.search(path)),
        )

    def score(self, path: str) -> float:
        """How much of the path was asked for, and how much of the query its name covers."""
        in_folders, in_name = self.parts[path]
        whole_name = _joined(_name_of(path)[1]) in self.question.known
        share = 1.0 if whole_name else self._share(in_name)
        whole = sum(self.asked.values()) or 1.0
        covered = sum(self.asked.get(word, 0.0) for word in in_name) / whole
        return (
            (1 - FOLDER_SHARE) * share
            + FOLDER_SHARE * self._share(in_folders)
            + COVERAGE_WEIGHT * covered
        )

    def _share(self, parts: Collection[str]) -> float:
        whole = sum(self.rarity.get(part, 0.0) for part in parts)
        asked = sum(self.rarity.get(part, 0.0) for part in parts if part in self.named)
        return asked / whole if whole else 0.0

    def header_demotion(self, path: str) -> float:
        beside = _HEADER.search(path) and _stem_of(path) in self.sources
        return HEADER_PENALTY if beside else 1.0


def _name_of(path: str) -> tuple[str, str]:
    """The folders and the name by which a file is known: of `parser/mod.rs`, `parser`."""
    folders, _, name = path.rpartition("/")
    stem = name.split(".")[0]
    if stem in _FRONTS and folders:
        folders, _, stem = folders.rpartition("/")
    return folders, stem


def _stem_of(path: str) -> str:
    return path.rpartition("/")[2].split(".")[0]


def _is_named(word: str, known: Collection[str]) -> bool:
    """Whether the word was asked for, or a longer or shorter form of it."""
    if word in known or len(word) < ABBREVIATION:
        return word in known
    return any(
        len(one) >= ABBREVIATION and (one.startswith(word) or word.startswith(one)) for one in known
    )


def _demotion(path: str, question: _Question) -> float:
    unasked = sum(
        bool(pattern.search(path)) and not unless & question.wanted for pattern, unless in _DEMOTED
    )
    return float(PENALTY**unasked)


# --- the reason ----------------------------------------------------------------------------


def _reason(
    candidate: Candidate,
    weights: Mapping[str, float],
    defined: Sequence[str],
    question: _Question,
    boost: float,
) -> str:
    """What it defines, which terms it matches how often, what its path says; as many terms as fit,
    the weightiest first. Of a file that no term matches, what the index says."""
    learned = [LEARNED[boost > 0]] if boost else []
    if candidate.is_only_indexed:
        why = f"from the index: {candidate.indexed.why}" if candidate.indexed else ""
        return "; ".join([*learned, why])[:REASON_CHARACTERS]
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
        reason = "; ".join([*learned, *before, matching, *after])
        if len(reason) <= REASON_CHARACTERS:
            return reason
    return reason[: REASON_CHARACTERS - 1] + "…"
