"""What is known of each candidate: where the terms of a question stand in it, and its path.

Counts of terms are arrays, by term and candidate, or by term and chunk of a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.contents import MEASURES
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import chunk_numbers
from winnow.index.postings.terms import name_term, term_number
from winnow.index.vectors.best import Floats, starts_of
from winnow.ranking.semantic.candidates import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    FileCandidates,
    Numbers,
    Postings,
    TermPostings,
)
from winnow.ranking.semantic.paths import PathIndex, Traits
from winnow.ranking.semantic.question import Question
from winnow.symbols.file_symbols import Definition

# Of a text with more chunks the best are looked at.
MAX_CHUNKS = 200

Definitions = Sequence[tuple[int, Definition]]


class Chunks(NamedTuple):
    """The chunks of all candidates, those of one candidate one after the other.

    ``owners`` are numbers of candidates, ``ids`` the numbers of the chunks in their segments.
    ``counts`` are by field, then by term and chunk. ``lengths`` are numbers of terms, ``defining``
    of terms in names that are defined, ``scores`` those of the first stage.
    """

    owners: Numbers
    ids: Numbers
    counts: Mapping[str, Floats]
    lengths: Floats
    defining: Floats
    scores: Floats


class Evidence(NamedTuple):
    """What is known of the candidates.

    ``documents`` are counts by field, then by term and candidate, ``lengths`` numbers of terms by
    field, then by candidate. ``in_name`` and ``in_folder`` tell how well the path says a term, from
    0 to 1, ``name_shares`` how much of the name is asked for. ``folders`` are numbers. ``single``
    and ``joined`` count definitions with the names that the question has them for, and
    ``imports_name`` lines that import one of its ``names``. ``imported`` and ``mentioned`` say how
    many texts import what has the name of the candidate, and how many chunks speak of it.
    ``defined`` are the definitions of names that are asked for.
    """

    question: Question
    candidates: FileCandidates
    looked: TermPostings
    defined: Mapping[str, Definitions]
    traits: Sequence[Traits]
    chunks: Chunks
    documents: Mapping[str, Floats]
    lengths: Mapping[str, Floats]
    measures: Mapping[str, Floats]
    in_name: Floats
    in_folder: Floats
    name_shares: Floats
    folders: Numbers
    single: Floats
    joined: Floats
    imports_name: Floats
    imported: Floats
    mentioned: Floats


def gather(
    corpus: Corpus,
    question: Question,
    looked: TermPostings,
    index: PathIndex,
    candidates: FileCandidates,
    defined: Mapping[str, Definitions],
) -> Evidence:
    """What is known of the candidates."""
    count = len(candidates.files)
    chunks = _chunks(corpus, question, looked, candidates)
    documents = {
        field: np.zeros((len(question.terms), count), np.float32)
        for field in (*CHUNK_FIELDS, *DOCUMENT_FIELDS)
    }
    if len(chunks.owners):
        starts = starts_of(chunks.owners)
        for field in CHUNK_FIELDS:
            totals = np.add.reduceat(chunks.counts[field], starts, axis=1)
            documents[field][:, chunks.owners[starts]] = totals
    lengths = {field: np.zeros(count, np.float32) for field in DOCUMENT_FIELDS}
    lengths["body"] = np.bincount(chunks.owners, chunks.lengths, count).astype(np.float32)
    measures = np.zeros((count, len(MEASURES)), np.float32)
    for part, known, here, own in _located(corpus, looked, candidates):
        measures[here] = part.segment.measures[own]
        for field in DOCUMENT_FIELDS:
            lengths[field][here] = part.segment.lengths(field)[own]
            documents[field][:, here] = _counts_at(known[field], own, part.segment.documents)
    traits = [index.traits(file) for file in candidates.files.tolist()]
    in_name, in_folder, name_shares = _in_paths(index, question, candidates.files)
    names = tuple(map(name_term, question.names))
    return Evidence(
        question=question,
        candidates=candidates,
        looked=looked,
        defined=defined,
        traits=traits,
        chunks=chunks,
        documents=documents,
        lengths=lengths,
        measures={name: measures[:, column] for column, name in enumerate(MEASURES)},
        in_name=in_name,
        in_folder=in_folder,
        name_shares=name_shares,
        folders=index.folders[candidates.files].astype(np.int64),
        single=_of_terms(corpus, looked, candidates, "name", question.single),
        joined=_of_terms(corpus, looked, candidates, "name", question.joined),
        imports_name=_of_terms(corpus, looked, candidates, "import", names),
        imported=_having(corpus, "import", [one.numbers[0] for one in traits]),
        mentioned=_having(corpus, "body", [one.numbers[1] for one in traits]),
    )


def _located(
    corpus: Corpus, looked: TermPostings, candidates: FileCandidates
) -> Iterator[tuple[CorpusPart, Mapping[str, Sequence[Postings]], Numbers, Numbers]]:
    """The parts that have texts of candidates, with what was looked up there: which candidates
    these are, and the numbers of their documents."""
    for number, (part, known) in enumerate(zip(corpus.parts, looked.postings, strict=True)):
        [here] = np.nonzero(candidates.parts == number)
        if len(here):
            yield part, known, here, candidates.documents[here]


def _of_terms(
    corpus: Corpus,
    looked: TermPostings,
    candidates: FileCandidates,
    field: str,
    terms: Sequence[str],
) -> Floats:
    """How often each term stands in each candidate, in a field of documents."""
    numbers = list(map(term_number, terms))
    found = np.zeros((len(terms), len(candidates.files)), np.float32)
    for part, _, here, own in _located(corpus, looked, candidates):
        postings = part.segment.postings(field, numbers)
        found[:, here] = _counts_at(postings, own, part.segment.documents)
    return found


def _having(corpus: Corpus, field: str, terms: Sequence[int]) -> Floats:
    """In about how many units of a field each term stands."""
    numbers = np.array(terms, np.uint64)
    having = np.zeros(len(terms), np.float32)
    for part in corpus.parts:
        having += part.segment.about_having(field, numbers)
    return having


def _counts_at(found: Sequence[Postings], units: Numbers, count: int) -> Floats:
    """How often each term stands in each of some units, of so many."""
    at = np.zeros((len(found), len(units)), np.float32)
    row = np.zeros(count, np.uint8)
    for place, (having, counts) in enumerate(found):
        if len(having):
            row[having] = counts
            at[place] = row[units]
            row[having] = 0
    return at


def _chunks(
    corpus: Corpus, question: Question, looked: TermPostings, candidates: FileCandidates
) -> Chunks:
    owners, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    lengths, defining, scores = ([np.zeros(0, np.float32)] for _ in range(3))
    counts = {field: [np.zeros((len(question.terms), 0), np.float32)] for field in CHUNK_FIELDS}
    for part, known, here, own in _located(corpus, looked, candidates):
        segment = part.segment
        rough = candidates.chunks[int(candidates.parts[here[0]])]
        firsts, counts_of = segment.chunks_of(own)
        of_all = chunk_numbers(firsts, counts_of)
        of_whom = np.repeat(here, counts_of)
        if (counts_of > MAX_CHUNKS).any():
            best = _best_chunks(rough[of_all], counts_of)
            of_all, of_whom = of_all[best], of_whom[best]
        ids.append(of_all)
        owners.append(of_whom)
        lengths.append(segment.lengths("body")[ids[-1]].astype(np.float32))
        defining.append(segment.lengths("definition")[ids[-1]].astype(np.float32))
        scores.append(rough[ids[-1]])
        for field in CHUNK_FIELDS:
            counts[field].append(_counts_at(known[field], ids[-1], segment.chunks))
    return Chunks(
        owners=np.concatenate(owners),
        ids=np.concatenate(ids),
        counts={field: np.concatenate(found, axis=1) for field, found in counts.items()},
        lengths=np.concatenate(lengths),
        defining=np.concatenate(defining),
        scores=np.concatenate(scores),
    )


def _best_chunks(scores: Floats, counts: Numbers) -> npt.NDArray[np.bool_]:
    """Which of the chunks of texts, of which each has so many, are the best ones of theirs."""
    chosen = np.ones(len(scores), np.bool_)
    for end, count in zip(np.cumsum(counts).tolist(), counts.tolist(), strict=True):
        if count > MAX_CHUNKS:
            own = slice(end - count, end)
            chosen[own] = False
            chosen[own][np.argpartition(-scores[own], MAX_CHUNKS)[:MAX_CHUNKS]] = True
    return chosen


def _in_paths(
    index: PathIndex, question: Question, files: Numbers
) -> tuple[Floats, Floats, Floats]:
    """How well each term is said by each file's name, and by its folders; and which share of the
    words of its name is asked for."""
    # The best of no terms is 0.
    table = np.zeros((len(question.terms) + 1, len(index.terms)), np.float32)
    for row, term in enumerate(question.terms):
        numbers, weights = index.named(term)
        table[row, numbers] = weights
    in_name, counts = _best_of_rows(table, index.name_terms, index.name_starts, files)
    folders = index.folders[files].astype(np.int64)
    in_folder, _ = _best_of_rows(table, index.folder_terms, index.folder_starts, folders)
    # Of several terms of a name the last is the whole name, which is no part of it.
    parts = np.where(counts > 1, counts - 1, counts)
    asked = np.append(0, np.cumsum(table.max(axis=0)[index.name_terms], dtype=np.float64))
    firsts = index.name_starts[files]
    shares = (asked[firsts + parts] - asked[firsts]) / np.maximum(parts, 1)
    return in_name[:-1], in_folder[:-1], shares.astype(np.float32)


def _best_of_rows(
    table: Floats, terms: npt.NDArray[np.int32], starts: npt.NDArray[np.int32], rows: Numbers
) -> tuple[Floats, Numbers]:
    """The best of each row's terms by each line of a table, and how many terms the rows have."""
    counts = (starts[rows + 1] - starts[rows]).astype(np.int64)
    found = np.zeros((len(table), len(rows)), np.float32)
    some = np.flatnonzero(counts)
    if len(some):
        begins = np.cumsum(counts[some]) - counts[some]
        places = np.arange(counts.sum()) + np.repeat(starts[rows[some]] - begins, counts[some])
        found[:, some] = np.maximum.reduceat(table[:, terms[places]], begins, axis=1)
    return found, counts
