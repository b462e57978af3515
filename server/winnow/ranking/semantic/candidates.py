"""The first stage: select the files that are worth a closer look.

It reads the postings of the query's terms once and gives each file a rough score: BM25 of its best
chunk, of the names it defines and of its comments, plus the score of its path. BM25 is that of
Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.distinct import distinct
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.live_texts import LiveTexts
from winnow.index.vectors.best import Floats, best_of_each
from winnow.ranking.semantic.path_index import KINDS, PathIndex, unasked_kinds
from winnow.ranking.semantic.question import Question

Numbers = npt.NDArray[np.int64]

# Files that pass this stage, and files whose kind is checked.
CANDIDATES = 120
LISTED = 400
# Files that pass for each kind of evidence alone.
SINGLE = 15
# Factor for a file of a kind that the query does not ask for.
UNASKED = 0.4
# Weights of the evidence in the rough score.
_WEIGHTS = {"body": 1.0, "definition": 0.5, "comment": 0.3, "path": 0.8, "exact": 1.0}


class Saturation(NamedTuple):
    """BM25's parameters of a field: saturation of repeated terms, and weight of the length."""

    k1: float
    b: float


SATURATION = {
    "body": Saturation(1.2, 0.75),
    "definition": Saturation(0.8, 0.3),
    "comment": Saturation(1.2, 0.6),
    "head": Saturation(1.0, 0.5),
    "type": Saturation(0.6, 0.3),
}
CHUNK_FIELDS = ("body", "definition")
DOCUMENT_FIELDS = ("comment", "head", "type")

Postings = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]


class TermPostings(NamedTuple):
    """The postings of a query's terms, by part, field and term.

    ``rarity`` is the inverse document frequency of each term times its weight in the query, and
    ``average`` the mean length, both by field. ``live`` are the statistics of each part, without
    outdated texts.
    """

    postings: Sequence[dict[str, list[Postings]]]
    live: Sequence[LiveTexts]
    rarity: dict[str, Floats]
    average: dict[str, float]


class FileCandidates(NamedTuple):
    """Files and the location of their texts: ``parts`` is -1 for a file in no part.

    ``chunks`` has the rough scores of the chunks of each part.
    """

    files: Numbers
    parts: Numbers
    documents: Numbers
    chunks: Sequence[Floats]


def read_postings(corpus: Corpus, question: Question) -> TermPostings:
    """Read the postings of the query's terms in all parts."""
    numbers = np.array(question.numbers, np.uint64)
    postings = [
        {
            field: part.segment.postings(field, numbers)
            for field in (*CHUNK_FIELDS, *DOCUMENT_FIELDS)
        }
        for part in corpus.parts
    ]
    live = [part.segment.live_texts(part.documents) for part in corpus.parts]
    average: dict[str, float] = {}
    all_units = np.zeros((len(SATURATION), 1), np.float32)
    having = np.zeros((len(SATURATION), len(question.terms)), np.float32)
    for row, field in enumerate(SATURATION):
        totals = [texts.totals(field) for texts in live]
        units, total = (sum(column) for column in zip(*totals, strict=True)) if totals else (0, 0)
        all_units[row] = units
        for texts, known in zip(live, postings, strict=True):
            having[row] += [texts.count(field, numbers) for numbers, _ in known[field]]
        average[field] = max(total / units, 1e-6) if units else 1.0
    rarities = inverse_frequency(having, all_units) * np.array(question.weights, np.float32)
    rarity = dict(zip(SATURATION, rarities, strict=True))
    return TermPostings(postings, live, rarity, average)


def rarity_of(corpus: Corpus, numbers: Sequence[int]) -> list[float]:
    """Return the inverse document frequency of terms in the chunks of a corpus; 0 for a term that
    it does not have."""
    terms = np.array(numbers, np.uint64)
    having, units = np.zeros(len(terms), np.int64), 0
    for part in corpus.parts:
        live = part.segment.live_texts(part.documents)
        having += live.frequencies("body", terms)
        units += live.totals("body")[0]
    found: list[float] = np.where(having > 0, inverse_frequency(having, units), 0).tolist()
    return found


def inverse_frequency(having: npt.NDArray[Any], units: int | Floats) -> Floats:
    """Return BM25's inverse document frequency of terms that some of all ``units`` have."""
    rarity: Floats = np.log(1 + (units - having + 0.5) / (having + 0.5)).astype(np.float32)
    return rarity


def bm25(counts: Floats, lengths: Floats, field: str, average: float) -> Floats:
    """Return the BM25 weight of terms with these counts in units of these lengths."""
    k1, b = SATURATION[field]
    weight: Floats = counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths / average))
    return weight


def find_candidates(
    corpus: Corpus,
    question: Question,
    terms: TermPostings,
    index: PathIndex,
    exact: Sequence[int],
    allowed: Callable[[int], bool] | None,
    more: Sequence[int] = (),
) -> FileCandidates:
    """Return the files that are worth a closer look. Files in ``exact`` define a requested name;
    files in ``more`` were found by other means."""
    count = len(corpus.paths)
    scores = {name: np.zeros(count, np.float32) for name in _WEIGHTS}
    chunks: list[Floats] = []
    for part, known, live in zip(corpus.parts, terms.postings, terms.live, strict=True):
        documents = part.documents.astype(np.int64)
        found_chunks, found_documents = _part_scores(part, known, live, terms)
        chunks.append(found_chunks)
        for field, found in found_documents.items():
            scores[field][part.files] = found[documents]
    scores["path"] = path_scores(index, question)
    scores["exact"][list(exact)] = 1.0
    rough = np.zeros(count, np.float32)
    for name, found in scores.items():
        if count and (largest := float(found.max())) > 0:
            rough += found * np.float32(_WEIGHTS[name] / largest)
    chosen = _listed(rough, LISTED, allowed, index.ranks)
    if len(chosen) > CANDIDATES:
        kinds = unasked_kinds(question.stems)
        listed = np.array(chosen, np.int64)
        unasked = index.traits(listed).kinds[[name in kinds for name, _, _ in KINDS]]
        again = rough[listed] * np.where(unasked.any(axis=0), UNASKED, 1.0)
        chosen = listed[(-again).argsort(kind="stable")[:CANDIDATES]].tolist()
        for found in scores.values():
            chosen += _listed(found, SINGLE, allowed, index.ranks)
    chosen += [file for file in more if allowed is None or allowed(file)]
    # The order of candidates decides between equal scores and how sums are rounded.
    files = distinct(np.array(chosen, np.int64))
    return _located(corpus, files[np.argsort(index.ranks[files])], chunks)


def _listed(
    scores: Floats,
    limit: int,
    allowed: Callable[[int], bool] | None,
    ranks: npt.NDArray[np.int32],
) -> list[int]:
    """Return the allowed files with the highest scores above 0; of equal ones, those with the
    lowest ranks."""
    scored = np.flatnonzero(scores > 0)
    most = limit
    while True:
        files = scored
        if len(files) > most:
            least = np.partition(scores[files], len(files) - most)[len(files) - most]
            files = files[scores[files] >= least]
        ordered: list[int] = files[np.lexsort((ranks[files], -scores[files]))].tolist()
        listed = list(islice(filter(allowed, ordered) if allowed else ordered, limit))
        if len(listed) == limit or len(files) == len(scored):
            return listed
        most *= 8


def _part_scores(
    part: CorpusPart, known: dict[str, list[Postings]], live: LiveTexts, terms: TermPostings
) -> tuple[Floats, dict[str, Floats]]:
    """Return BM25 of each chunk, and of each document's best chunk, names and comments."""
    segment = part.segment
    chunks = _unit_scores(live, known, terms, "body")
    best = best_of_each(segment.chunk_documents, chunks, segment.documents)
    defined = np.zeros(segment.documents, np.float32)
    for (units, counts), rarity in zip(
        known["definition"], terms.rarity["definition"], strict=True
    ):
        if len(units):
            total = np.bincount(segment.chunk_documents[units], counts, segment.documents)
            defined += rarity * (total / (total + 1)).astype(np.float32)
    comments = _unit_scores(live, known, terms, "comment")
    return chunks, {"body": best, "definition": defined, "comment": comments}


def _unit_scores(
    live: LiveTexts, known: dict[str, list[Postings]], terms: TermPostings, field: str
) -> Floats:
    """Return BM25 of each chunk or document of a part in one field."""
    lengths = live.lengths[field]
    scores = np.zeros(len(lengths), np.float32)
    for (units, counts), rarity in zip(known[field], terms.rarity[field], strict=True):
        if len(units):
            scores[units] += rarity * bm25(
                counts.astype(np.float32),
                lengths[units].astype(np.float32),
                field,
                terms.average[field],
            )
    return scores


def path_scores(index: PathIndex, question: Question) -> Floats:
    """Return how well each file's name matches the query, plus its folders with less weight."""
    names = np.zeros(len(index.folders), np.float32)
    folders = np.zeros(len(index.parents), np.float32)
    for term in question.terms:
        numbers, weights = index.named(term)
        if not numbers:
            continue
        in_name = index.of_names.best(numbers, weights)
        in_folder = index.of_folders.best(numbers, weights)
        rarity = np.log(1 + index.files / (1 + np.count_nonzero(in_name)))
        names += np.float32(rarity) * in_name
        folders += np.float32(rarity) * in_folder
    sizes = np.diff(index.name_starts).astype(np.float32)
    result: Floats = (
        names * (1 + 1 / np.maximum(sizes, 1)) + np.float32(0.3) * folders[index.folders]
    )
    return result


def _located(corpus: Corpus, files: Numbers, chunks: Sequence[Floats]) -> FileCandidates:
    """Return the files with the location of their texts."""
    parts = np.full(len(files), -1, np.int64)
    documents = np.zeros(len(files), np.int64)
    document_of = np.empty(len(corpus.paths), np.int64)
    for number, part in enumerate(corpus.parts):
        document_of.fill(-1)
        document_of[part.files] = part.documents
        own = document_of[files]
        here = own >= 0
        parts[here] = number
        documents[here] = own[here]
    return FileCandidates(files, parts, documents, chunks)
