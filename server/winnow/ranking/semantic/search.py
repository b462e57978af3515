"""Search a corpus: from a query to the best passage of each file, best file first.

A first stage (:mod:`winnow.ranking.semantic.candidates`) finds candidate files, features
(:mod:`winnow.ranking.semantic.features`) describe the evidence for each, and a trained ranker
weighs it. Only the index is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, islice, product
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from winnow.index.postings.contents import CHUNK_COLUMNS, TYPES
from winnow.index.postings.corpus import Corpus, Definitions
from winnow.index.postings.terms import term_number
from winnow.index.vectors.best import Floats, best_of_each
from winnow.index.vectors.embeddings import EmbeddingModel, Rows
from winnow.index.vectors.vector_search import Cosines
from winnow.ranking.semantic.candidates import SINGLE, find_candidates, rarity_of, read_postings
from winnow.ranking.semantic.commit_evidence import CommitEvidence
from winnow.ranking.semantic.decision_trees import model_name, trained
from winnow.ranking.semantic.evidence import Evidence, gather
from winnow.ranking.semantic.features import compute
from winnow.ranking.semantic.path_index import (
    ABOUT_TESTS,
    ABOUT_TRANSLATIONS,
    PathIndex,
    is_translation,
    name_of,
    path_index_of,
)
from winnow.ranking.semantic.question import Question, question_of
from winnow.ranking.term_matches import MatchedTerms

# What makes a chunk the best one of its file, in addition to BM25. For a term in a name that it
# defines, shared by the parts of all these names, and in a name around it:
DEFINING = 0.5
AROUND = 1.0
# For a chunk of comments only, of imports only, and for one without definitions, as a share of all
# terms. Licenses, imports and lists of names are rarely the answer.
COMMENTS = -0.2
IMPORTS = -1.2
UNDEFINED = -0.05
# The same for a chunk in a test or in a module of tests, as Rust has them beside the code, unless
# the query mentions tests.
TESTS = -1.0
TEST = term_number("test")
# For the cosine of its vector and the query's, as a share of all terms.
NEARNESS = 0.5
# Definitions that begin in a passage: more are tables of values.
MAX_BEGUN = 60
# Definitions used per name: some names have thousands.
MAX_DEFINITIONS = 2_000
# A file without a word of the query may answer it if its vector is this near: 63 % of the answers
# are, and 3 % of the other files.
NEAR = 0.35
# Weights of search terms that match, in the score: of their share in the file, and in its best
# passage, and of the names that the file defines. With the terms that VS Code proposes for 501
# questions, mostly their own words, NDCG@10 is 0.901 with and without; weights of 3 lose 0.004. A
# caller that knows the code has other terms.
MATCHED_FILE = 1.0
MATCHED_PASSAGE = 1.0
MATCHED_NAMES = 3.0
# In the choice of a passage, all terms count as this share of the best passage of all files.
MATCHED_CHUNK = 0.05
# Of a file that fills an answer, passages with a smaller share of the best one's worth are noise.
LEAST_WORTH = 0.3
# Fewer commits, as in a shallow clone, say too little.
LEAST_COMMITS = 50
# Limit of a boost.
MAX_BOOST = 0.5
WHY_WORDS = 4
# Vectors of paths in memory, a kilobyte each.
_CACHED_VECTORS = 4_096


def load(dense: EmbeddingModel | None) -> None:
    """Load the models that the first search needs: a name is ranked without vectors."""
    for by_vectors in (False, True) if dense is not None else (False,):
        for commits, task in product((False, True), repeat=2):
            trained(model_name(dense=by_vectors, commits=commits, task=task))


def derive(corpus: Corpus) -> None:
    """Derive the data that all searches of a corpus share from its paths."""
    path_index_of(corpus)


def project_names(corpus: Corpus) -> frozenset[str]:
    """Return the names of a corpus's folders, as people write those of projects."""
    return frozenset(root.rstrip("/").rpartition("/")[2].lower() for root in corpus.roots)


class FoundPassage(Struct, frozen=True):
    """A passage: lines ``first`` to ``last``, from 1, of the file with this number in the corpus.

    ``score`` is from 0 to 1, ``why`` the evidence, and ``about`` the part of it that concerns the
    file. ``symbol`` is the qualified name of the
    definition that the query names, if the passage is that definition; otherwise ``number`` is the
    number of the definition that contains the passage or is first in it, from 1, or 0 for none, and
    ``begun`` are the numbers of the definitions that begin in it, from 0.
    """

    file: int
    first: int
    last: int
    score: float
    why: tuple[str, ...]
    about: tuple[str, ...] = ()
    symbol: str | None = None
    number: int = 0
    begun: range = range(0)


class WeighedCandidates(NamedTuple):
    """The evidence for the candidates of a query, and their features; ``cosines`` if the query has
    a vector."""

    evidence: Evidence
    features: Mapping[str, Floats]
    cosines: Cosines | None


def search(
    corpus: Corpus,
    query: str,
    *,
    limit: int,
    allowed: Callable[[int], bool] | None = None,
    boosts: Mapping[int, float] | None = None,
    matched: Mapping[int, MatchedTerms] | None = None,
    dense: EmbeddingModel | None = None,
) -> list[FoundPassage]:
    """Return the passages that answer a query best: that of each file, best first, then further
    ones if there are fewer files than ``limit``.

    ``allowed`` decides which files may be found. ``boosts`` are added to scores, by file.
    ``matched`` are files with matches of search terms: all of them are returned, within the limit,
    each with one passage.
    With ``dense``, the vectors of the corpus are used if they are of this model. Results are
    deterministic.
    """
    boosts, matched = boosts or {}, matched or {}
    liked = [file for file, boost in boosts.items() if boost > 0]
    more = [*liked, *matched]
    # All texts that were searched for the name of the project have it.
    projects = () if matched else project_names(corpus)
    weighed = weigh(corpus, query, allowed=allowed, more=more, dense=dense, projects=projects)
    if weighed is None:
        return []
    evidence, features, cosines = weighed
    in_chunks = matches_in_chunks(corpus, evidence, matched) if matched else None
    # The letters of a single name matter: vectors only blur them.
    question = evidence.question
    by_vectors = "near_best" in features and not question.symbol
    has_commits = "message_says" in features
    ranker = trained(model_name(dense=by_vectors, commits=has_commits, task=question.task))
    raw = ranker.scores(features, symbol=question.symbol)
    files = evidence.candidates.files.tolist()
    if in_chunks is not None:
        best = best_of_each(evidence.chunks.owners, in_chunks, len(files))
        own = [
            MATCHED_FILE * matched[file].share + MATCHED_NAMES * matched[file].defined
            if file in matched
            else 0.0
            for file in files
        ]
        raw = raw + np.array(own, np.float32) + MATCHED_PASSAGE * best
    scores = ranker.probabilities(raw)
    for place, file in enumerate(files if boosts else ()):
        if file in boosts:
            boost = min(MAX_BOOST, max(-MAX_BOOST, boosts[file]))
            scores[place] = min(1.0, max(0.0, scores[place] + boost))
    paths = [corpus.paths[file] for file in files]
    by_worth = list(zip((-scores).tolist(), (-raw).tolist(), paths, strict=True))
    order = sorted(range(len(files)), key=by_worth.__getitem__)
    if ABOUT_TRANSLATIONS.isdisjoint(question.stems):
        in_order = (paths[place] for place in order)
        repeated = dict.fromkeys(compress(order, _repeats_texts(in_order, limit)))
        if repeated:
            others = [place for place in order if place not in repeated]
            order = [*others, *repeated]
            least = scores[others[:limit]].min(initial=1.0)
            scores[[*repeated]] = np.minimum(scores[[*repeated]], least)
    passages = _Passages(corpus, evidence, cosines if by_vectors else None, in_chunks)
    found = [passages.of(place, float(scores[place])) for place in order[:limit]]
    if matched or len(found) >= limit:
        return found
    further = chain.from_iterable(map(passages.besides, order, found))
    by_score = sorted(further, key=lambda passage: -passage.score)[: limit - len(found)]
    return [
        *found,
        *(replace(passage, score=min(passage.score, found[-1].score)) for passage in by_score),
    ]


def _repeats_texts(paths: Iterable[str], most: int) -> Iterator[bool]:
    """Yield True for each file that only repeats texts of an earlier one in another language, up to
    ``most`` others."""
    has_texts = False
    for path in paths:
        if not most:
            return
        is_repeated = has_texts and is_translation(path)
        has_texts = has_texts or is_translation(path)
        most -= not is_repeated
        yield is_repeated


def weigh(
    corpus: Corpus,
    query: str,
    *,
    allowed: Callable[[int], bool] | None = None,
    more: Sequence[int] = (),
    dense: EmbeddingModel | None = None,
    projects: Collection[str] = (),
) -> WeighedCandidates | None:
    """Return the candidates of a query with their evidence; None for a query without terms.

    Files in ``more`` are always candidates. ``projects`` are the names of the projects.
    """
    question = question_of(query, functools.partial(rarity_of, corpus), projects)
    if not question.terms and not question.names:
        return None
    index = path_index_of(corpus)
    defined = {
        name: _first_definitions(corpus, index, name)
        for name in (*question.names, *question.titles)
    }
    exact = sorted(
        {file for known in defined.values() for file, definition in known if not definition.local}
    )
    cosines = Cosines(corpus, dense.embed([question.text])[0]) if dense is not None else None
    if cosines is not None:
        nearest, of_nearest = cosines.nearest(SINGLE, index.ranks)
        more = [*more, *nearest[of_nearest >= NEAR].tolist()]
    written = index.written_as(question.paths)
    more = [*more, *written]
    commits = CommitEvidence(corpus, question) if _has_commits(corpus) else None
    if commits is not None:
        more += commits.found(SINGLE, index.ranks)
    terms = read_postings(corpus, question)
    candidates = find_candidates(corpus, question, terms, index, exact, allowed, more)
    if not len(candidates.files):
        return None
    evidence = gather(corpus, question, terms, index, candidates, defined, written)
    nearness: dict[str, Floats] = {}
    if dense is not None and cosines is not None:
        near = cosines.of_files(candidates.files)
        if near.best.any():
            paths = _path_vectors(corpus, dense, candidates.files.tolist())
            nearness = {
                "near_best": near.best,
                "near_top": near.top,
                "near_document": near.document,
                "near_path": paths @ cosines.query,
            }
    return WeighedCandidates(evidence, compute(evidence, commits, nearness), cosines)


def matches_in_chunks(
    corpus: Corpus, evidence: Evidence, matched: Mapping[int, MatchedTerms]
) -> Floats:
    """Return the weights of the search terms that match in each chunk, in sum."""
    chunks, candidates = evidence.chunks, evidence.candidates
    found = np.zeros(len(chunks.owners), np.float32)
    ends = np.searchsorted(chunks.owners, np.arange(len(candidates.files) + 1))
    for place, file in enumerate(candidates.files.tolist()):
        start, end = ends[place : place + 2].tolist()
        matches = matched.get(file)
        if matches is None or start == end:
            continue
        segment = corpus.parts[int(candidates.parts[place])].segment
        firsts = segment.described[chunks.ids[start:end], 0]
        for term, numbers in matches.hits.items():
            places = np.searchsorted(firsts, numbers, side="right") - 1
            here = np.zeros(end - start, np.bool_)
            here[places[places >= 0]] = True
            found[start:end] += matches.weights[term] * here
    return found


def _has_commits(corpus: Corpus) -> bool:
    return any(
        history is not None and history.count >= LEAST_COMMITS for history in corpus.histories
    )


def _first_definitions(corpus: Corpus, index: PathIndex, name: str) -> Definitions:
    """Return the definitions of a name; if there are too many, the first ones by path."""
    found = corpus.definitions(name)
    if len(found) <= MAX_DEFINITIONS:
        return found
    by_path = sorted(found, key=lambda each: (index.ranks[each[0]], each[1].at))
    return by_path[:MAX_DEFINITIONS]


def _path_vectors(corpus: Corpus, model: EmbeddingModel, files: Sequence[int]) -> Rows:
    """Return the vectors of files' paths, cached in the corpus."""
    known: dict[int, Rows] = corpus.cache.get(model.name, {})
    if new := [file for file in files if file not in known]:
        texts = [" ".join(name_of(corpus.paths[file])[:2]) for file in new]
        made = dict(zip(new, model.embed(texts), strict=True))
        # Other threads may still read the old dictionary.
        known = {**known, **made}
        corpus.cache[model.name] = known if len(known) <= _CACHED_VECTORS else made
    return np.array([known[file] for file in files])


class _Passages:
    """The best passages of candidates, with their evidence."""

    def __init__(
        self,
        corpus: Corpus,
        evidence: Evidence,
        cosines: Cosines | None,
        matches: Floats | None = None,
    ) -> None:
        self._corpus = corpus
        self._evidence = evidence
        self._index = path_index_of(corpus)
        self._names = _names(evidence.defined)
        # By candidate: for each term, True if it occurs.
        self._in_name: list[list[bool]] = (evidence.in_name > 0).T.tolist()
        self._in_folder: list[list[bool]] = (evidence.in_folder > 0).T.tolist()
        self._worth = _worth(corpus, evidence, cosines)
        if matches is not None and len(matches):
            self._worth = self._worth + MATCHED_CHUNK * self._worth.max() * matches
        # The start of each candidate's chunks.
        owners = np.arange(len(self._in_name) + 1)
        self._starts: list[int] = np.searchsorted(evidence.chunks.owners, owners).tolist()

    def of(self, place: int, score: float) -> FoundPassage:
        """Return the best passage of a candidate."""
        file = int(self._evidence.candidates.files[place])
        about = tuple(self._about(place, file))
        why = (*self._defines(file), *about)
        if (defined := self._definition(file, score, why)) is not None:
            return defined
        start, end = self._starts[place : place + 2]
        if start == end:
            return FoundPassage(file, 1, 1, score, why)
        best = start + int(self._worth[start:end].argmax())
        return self._passage(place, best, score, why, about)

    def besides(self, place: int, best: FoundPassage) -> Iterator[FoundPassage]:
        """Yield further passages of a candidate, each with a share of the score of the best."""
        start, end = self._starts[place : place + 2]
        worth = self._worth[start:end]
        most = worth.max(initial=0.0)
        for at in np.flatnonzero((worth > 0) & (worth >= LEAST_WORTH * most)).tolist():
            score = best.score * float(worth[at] / most)
            found = self._passage(place, start + at, score)
            if found.why and (found.last < best.first or best.last < found.first):
                yield found

    def _passage(
        self,
        place: int,
        number: int,
        score: float,
        why: tuple[str, ...] = (),
        about: tuple[str, ...] = (),
    ) -> FoundPassage:
        """Return a chunk of a candidate, by its number among all chunks."""
        evidence = self._evidence
        file = int(evidence.candidates.files[place])
        segment = self._corpus.parts[int(evidence.candidates.parts[place])].segment
        chunk = int(evidence.chunks.ids[number])
        first, last, definition, before, *_ = segment.described[chunk].tolist()
        behind = before + MAX_BEGUN
        if chunk + 1 < segment.chunks and segment.described[chunk + 1, 0] > first:
            behind = min(behind, int(segment.described[chunk + 1, 3]))
        having = (evidence.chunks.counts["body"][:, number] > 0).tolist()
        if present := _spelled(evidence.question, having):
            why += (f"mentions {', '.join(present[:WHY_WORDS])}",)
        begun = range(before, behind)
        return FoundPassage(*(file, first, last, score, why, about), number=definition, begun=begun)

    def _definition(self, file: int, score: float, why: tuple[str, ...]) -> FoundPassage | None:
        """Return the definition in a file that a query for a symbol means, as a passage."""
        question = self._evidence.question
        for name in question.names if question.symbol else ():
            here = [
                definition
                for number, definition in self._evidence.defined[name]
                if number == file and not definition.local
            ]
            if here:
                best = max(
                    here, key=lambda d: (not d.declared, d.kind in TYPES, d.end - d.start, -d.at)
                )
                first, last = best.line + 1, best.end_line + 1
                symbol = best.qualified_name
                return FoundPassage(file, first, last, score, why, symbol=symbol)
        return None

    def _defines(self, file: int) -> Iterator[str]:
        """Yield the names of the query that the file defines, or only declares."""
        known = self._names.get(file, {})
        for verb, is_declared in (("defines", False), ("declares", True)):
            names = (name for name, only in known.items() if only is is_declared)
            if shown := ", ".join(islice(names, WHY_WORDS)):
                yield f"{verb} {shown}"

    def _about(self, place: int, file: int) -> Iterator[str]:
        """Yield the words of the query in the file's path."""
        question = self._evidence.question
        folders, name, _ = name_of(self._corpus.paths[file])
        for what, parts, having in (
            ("file", [name], self._in_name[place]),
            ("folder", folders.split("/"), self._in_folder[place]),
        ):
            matching = _matching(self._index, parts, question, having)
            if matching:
                yield f"{what} name: {', '.join(matching[:WHY_WORDS])}"
                break


def _worth(corpus: Corpus, evidence: Evidence, cosines: Cosines | None) -> Floats:
    """Return how well each chunk answers the query, compared with others of its file."""
    chunks, rarity = evidence.chunks, evidence.terms.rarity
    parts = evidence.candidates.parts[chunks.owners]
    described = np.zeros((len(parts), CHUNK_COLUMNS), np.int64)
    around = np.zeros((len(evidence.question.terms), len(parts)), np.bool_)
    tests = np.zeros(len(parts), np.bool_)
    near = np.zeros(len(parts), np.float32)
    numbers = evidence.question.numbers
    is_about_code = ABOUT_TESTS.isdisjoint(evidence.question.stems)
    for number, part in enumerate(corpus.parts):
        [here] = np.nonzero(parts == number)
        if not len(here):
            continue
        segment, ids = part.segment, chunks.ids[here]
        described[here] = segment.described[ids]
        if cosines is not None:
            near[here] = cosines.of_chunks(segment, ids)
        having = np.zeros(segment.chunks, np.bool_)
        *in_context, (test_units, _) = segment.postings("context", [*numbers, TEST])
        for row, (units, _) in enumerate(in_context):
            if len(units):
                having[units] = True
                around[row, here] = having[ids]
                having[units] = False
        if is_about_code:
            having[test_units] = True
            for units, _ in segment.postings("definition", [TEST]):
                having[units] = True
            tests[here] = having[ids]
    first, last, defined, _, comments, imports = described.T
    defining = rarity["definition"] @ (chunks.counts["definition"] > 0)
    of_all = rarity["body"].sum()
    worth: Floats = (
        chunks.scores
        + DEFINING * defining / np.sqrt(np.maximum(chunks.defining, 1))
        + AROUND * (rarity["body"] @ around)
        + of_all * (COMMENTS * comments + IMPORTS * imports) / (last - first + 1)
        + UNDEFINED * of_all * (defined == 0)
        + TESTS * of_all * tests
        + NEARNESS * of_all * near
    ).astype(np.float32)
    return worth


def _spelled(question: Question, having: Sequence[bool]) -> list[str]:
    """Return the words of the query behind some of its terms."""
    return list(dict.fromkeys(compress(question.spelled, having)))


def _matching(
    index: PathIndex, names: Sequence[str], question: Question, having: Sequence[bool]
) -> list[str]:
    """Return the words of names, as written, that match some of the terms."""
    terms = list(compress(question.terms, having))
    if not terms:
        return []
    return list(dict.fromkeys(word for name in names for word in index.matching_words(name, terms)))


def _names(defined: Mapping[str, Definitions]) -> dict[int, dict[str, bool]]:
    """Return the names that each file defines, each with True if the file only declares it."""
    found: dict[int, dict[str, bool]] = {}
    for name, known in defined.items():
        for file, definition in known:
            if not definition.local:
                names = found.setdefault(file, {})
                names[name] = names.get(name, True) and definition.declared
    return found
