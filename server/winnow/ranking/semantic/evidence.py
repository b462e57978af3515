"""Collect the evidence for each candidate: where the query's terms occur in it, and its path.

Counts of terms are arrays, by term and candidate, or by term and chunk of a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.contents import MEASURES
from winnow.index.postings.corpus import Corpus, CorpusPart, Definitions
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
from winnow.ranking.semantic.path_index import PathIndex, Traits
from winnow.ranking.semantic.question import Question

# Only the best chunks of a longer text are used.
MAX_CHUNKS = 200


class Chunks(NamedTuple):
    """The chunks of all candidates, in the order of candidates.

    ``owners`` are numbers of candidates, ``ids`` the numbers of the chunks in their segments.
    ``counts`` are by field, then by term and chunk. ``lengths`` are numbers of terms, ``defining``
    numbers of terms in defined names, and ``scores`` those of the first stage.
    """

    owners: Numbers
    ids: Numbers
    counts: Mapping[str, Floats]
    lengths: Floats
    defining: Floats
    scores: Floats


class Evidence(NamedTuple):
    """The evidence for the candidates.

    ``documents`` are counts by field, then by term and candidate, and ``lengths`` numbers of terms
    by field, then by candidate. ``in_name`` and ``in_folder`` are how well the path matches a term,
    from 0 to 1, and ``name_shares`` the share of the name in the query. ``folders`` are numbers.
    ``single`` and ``joined`` count definitions with those names of the query, ``imports_name``
    counts lines that import one of its ``names``. ``imported`` is the number of texts that import a
    name like the candidate's, ``mentioned`` the number of chunks that contain it. ``written`` is 1
    for a file whose path is in the query, less if several may be meant. ``defined`` are the
    definitions of names in the query.
    """

    question: Question
    candidates: FileCandidates
    terms: TermPostings
    defined: Mapping[str, Definitions]
    traits: Traits
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
    written: Floats


def gather(
    corpus: Corpus,
    question: Question,
    terms: TermPostings,
    index: PathIndex,
    candidates: FileCandidates,
    defined: Mapping[str, Definitions],
    written: Mapping[int, float],
) -> Evidence:
    """Collect the evidence for the candidates. ``written`` are the files whose paths the query has:
    see :meth:`PathIndex.written_as`."""
    count = len(candidates.files)
    chunks = _chunks(corpus, question, terms, candidates)
    documents = {
        field: np.zeros((len(question.terms), count), np.float32)
        for field in (*CHUNK_FIELDS, *DOCUMENT_FIELDS)
    }
    if len(chunks.owners):
        starts = starts_of(chunks.owners)
        owning = chunks.owners[starts]
        for field in CHUNK_FIELDS:
            documents[field][:, owning] = np.add.reduceat(chunks.counts[field], starts, axis=1)
    lengths = {field: np.zeros(count, np.float32) for field in DOCUMENT_FIELDS}
    lengths["body"] = np.bincount(chunks.owners, chunks.lengths, count).astype(np.float32)
    measures = np.zeros((count, len(MEASURES)), np.float32)
    for part, known, here, own in _located(corpus, terms, candidates):
        measures[here] = part.segment.measures[own]
        for field in DOCUMENT_FIELDS:
            lengths[field][here] = part.segment.lengths(field)[own]
            documents[field][:, here] = _counts_at(known[field], own, part.segment.documents)
    traits = index.traits(candidates.files)
    in_name, in_folder, name_shares = _in_paths(index, question, candidates.files)
    names = tuple(map(name_term, question.names))
    return Evidence(
        question=question,
        candidates=candidates,
        terms=terms,
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
        single=_of_terms(corpus, terms, candidates, "name", question.single),
        joined=_of_terms(corpus, terms, candidates, "name", question.joined),
        imports_name=_of_terms(corpus, terms, candidates, "import", names),
        imported=_frequencies(terms, "import", traits.whole),
        written=_written(candidates, written),
        mentioned=_frequencies(terms, "body", traits.whole_name),
    )


def _written(candidates: FileCandidates, written: Mapping[int, float]) -> Floats:
    shares = np.zeros(len(candidates.files), np.float32)
    for file, share in written.items():
        shares[candidates.files == file] = share
    return shares


def _located(
    corpus: Corpus, terms: TermPostings, candidates: FileCandidates
) -> Iterator[tuple[CorpusPart, Mapping[str, Sequence[Postings]], Numbers, Numbers]]:
    """Yield the parts that contain candidates, with their postings: the positions of the candidates
    and the numbers of their documents."""
    for number, (part, known) in enumerate(zip(corpus.parts, terms.postings, strict=True)):
        [here] = np.nonzero(candidates.parts == number)
        if len(here):
            yield part, known, here, candidates.documents[here]


def _of_terms(
    corpus: Corpus,
    terms: TermPostings,
    candidates: FileCandidates,
    field: str,
    names: Sequence[str],
) -> Floats:
    """Return how often each name occurs in each candidate, in a field of documents."""
    numbers = list(map(term_number, names))
    found = np.zeros((len(names), len(candidates.files)), np.float32)
    for part, _, here, own in _located(corpus, terms, candidates):
        postings = part.segment.postings(field, numbers)
        found[:, here] = _counts_at(postings, own, part.segment.documents)
    return found


def _frequencies(terms: TermPostings, field: str, numbers: npt.NDArray[np.uint64]) -> Floats:
    """Return the number of units of a field that contain each term."""
    found = np.zeros(len(numbers), np.int64)
    for texts in terms.live:
        found += texts.frequencies(field, numbers)
    return found.astype(np.float32)


def _counts_at(found: Sequence[Postings], units: Numbers, count: int) -> Floats:
    """Return how often each term occurs in each of some units, of ``count`` in total."""
    at = np.zeros((len(found), len(units)), np.float32)
    row = np.zeros(count, np.uint8)
    for place, (having, counts) in enumerate(found):
        if len(having):
            row[having] = counts
            at[place] = row[units]
            row[having] = 0
    return at


def _chunks(
    corpus: Corpus, question: Question, terms: TermPostings, candidates: FileCandidates
) -> Chunks:
    owners, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    lengths, defining, scores = ([np.zeros(0, np.float32)] for _ in range(3))
    counts = {field: [np.zeros((len(question.terms), 0), np.float32)] for field in CHUNK_FIELDS}
    for part, known, here, own in _located(corpus, terms, candidates):
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
    all_owners = np.concatenate(owners)
    # In the order of candidates: sums may not depend on the segments that have the texts.
    order = np.argsort(all_owners, kind="stable")
    return Chunks(
        owners=all_owners[order],
        ids=np.concatenate(ids)[order],
        counts={field: np.concatenate(found, axis=1)[:, order] for field, found in counts.items()},
        lengths=np.concatenate(lengths)[order],
        defining=np.concatenate(defining)[order],
        scores=np.concatenate(scores)[order],
    )


def _best_chunks(scores: Floats, counts: Numbers) -> npt.NDArray[np.bool_]:
    """Return a mask of the best chunks of each text; ``counts`` are the chunks per text."""
    chosen = np.ones(len(scores), np.bool_)
    for end, count in zip(np.cumsum(counts).tolist(), counts.tolist(), strict=True):
        if count > MAX_CHUNKS:
            own = slice(end - count, end)
            chosen[own] = False
            chosen[own][np.argsort(-scores[own], kind="stable")[:MAX_CHUNKS]] = True
    return chosen


def _in_paths(
    index: PathIndex, question: Question, files: Numbers
) -> tuple[Floats, Floats, Floats]:
    """Return how well names and folders match each term, and each name's share in the query."""
    # Without terms the maximum is 0.
    table = np.zeros((len(question.terms) + 1, len(index.terms)), np.float32)
    for row, term in enumerate(question.terms):
        numbers, weights = index.named(term)
        table[row, numbers] = weights
    in_name, counts = _best_of_rows(table, index.name_terms, index.name_starts, files)
    folders = index.folders[files].astype(np.int64)
    in_folder, _ = _best_of_rows(table, index.folder_terms, index.folder_starts, folders)
    # The last of several terms of a name is the complete name, not a part.
    parts = np.where(counts > 1, counts - 1, counts)
    asked = np.append(0, np.cumsum(table.max(axis=0)[index.name_terms], dtype=np.float64))
    firsts = index.name_starts[files]
    shares = (asked[firsts + parts] - asked[firsts]) / np.maximum(parts, 1)
    return in_name[:-1], in_folder[:-1], shares.astype(np.float32)


def _best_of_rows(
    table: Floats, terms: npt.NDArray[np.int32], starts: npt.NDArray[np.int32], rows: Numbers
) -> tuple[Floats, Numbers]:
    """Return each row's maximum in each line of a table, and the number of terms per row."""
    counts = (starts[rows + 1] - starts[rows]).astype(np.int64)
    found = np.zeros((len(table), len(rows)), np.float32)

    filled = np.flatnonzero(counts)
    if len(filled):
        begins = np.cumsum(counts[filled]) - counts[filled]
        places = np.arange(counts.sum()) + np.repeat(starts[rows[filled]] - begins, counts[filled])
        found[:, filled] = np.maximum.reduceat(table[:, terms[places]], begins, axis=1)
    return found, counts
