"""What speaks for each candidate: the features by which the ranker judges.

A feature that counts or adds up is divided by its greatest value among the candidates of the
question, so that questions and code bases of all sizes look alike; see `FEATURES`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.postings.contents import MEASURES, TYPES
from winnow.postings.corpus import Corpus
from winnow.postings.terms import name_term, term_number
from winnow.retrieval.candidates import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    Candidates,
    Floats,
    Found,
    Looked,
    Numbers,
    bm25,
)
from winnow.retrieval.paths import KINDS, PathIndex, Traits
from winnow.retrieval.question import Question
from winnow.symbols.facts import Definition

# Of a text with more chunks the best are looked at.
MOST_CHUNKS = 200
# A chunk's bag has the words of the file's name twice, and of its folders once: what a file is
# named for, each of its passages is about.
NAME_COUNT, FOLDER_COUNT = 2.0, 1.0

Definitions = Sequence[tuple[int, Definition]]


class Chunks(NamedTuple):
    """The chunks of all candidates. ``owners`` are numbers of candidates, ``ids`` the numbers of
    the chunks in their segments; ``counts`` are by field, then by term and chunk, ``lengths`` and
    ``scores`` by chunk."""

    owners: Numbers
    ids: Numbers
    counts: Mapping[str, Floats]
    lengths: Floats
    defining: Floats
    scores: Floats


class Evidence(NamedTuple):
    """What is known of the candidates, by term and candidate or chunk.

    ``documents`` are counts of terms, by field; ``lengths`` are those of documents, by field.
    ``in_name`` and ``in_folder`` tell how well the path says a term, from 0 to 1. ``defined`` are
    definitions of the names that are asked for, by name.
    """

    question: Question
    candidates: Candidates
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
    defined: Mapping[str, Definitions]
    looked: Looked


def gather(
    corpus: Corpus,
    question: Question,
    looked: Looked,
    index: PathIndex,
    candidates: Candidates,
    defined: Mapping[str, Definitions],
) -> Evidence:
    """What is known of the candidates."""
    count = len(candidates.files)
    chunks = _chunks(corpus, question, looked, candidates)
    documents = {
        field: np.zeros((len(question.terms), count), np.float32) for field in DOCUMENT_FIELDS
    }
    for field in CHUNK_FIELDS:
        documents[field] = _by_owner(chunks.counts[field], chunks.owners, count)
    lengths = {field: np.zeros(count, np.float32) for field in ("body", *DOCUMENT_FIELDS)}
    measures = np.zeros((count, len(MEASURES)), np.float32)
    names = {
        "single": np.zeros((len(question.single), count), np.float32),
        "joined": np.zeros((len(question.joined), count), np.float32),
    }
    for number, part in enumerate(corpus.parts):
        [here] = np.nonzero(candidates.parts == number)
        if not len(here):
            continue
        segment, known = part.segment, looked.postings[number]
        own = candidates.documents[here]
        for field in DOCUMENT_FIELDS:
            lengths[field][here] = segment.lengths(field)[own]
            for term, found in enumerate(known[field]):
                documents[field][term, here] = _counts_at(found, own)
        first, last = _chunk_ranges(segment.chunk_documents, own)
        sums = np.concatenate([[0], np.cumsum(segment.lengths("body"), dtype=np.int64)])
        lengths["body"][here] = sums[last] - sums[first]
        measures[here] = segment.measures[own]
        for kind, terms in (("single", question.single), ("joined", question.joined)):
            for row, name in enumerate(terms):
                postings = segment.postings("name", term_number(name))
                names[kind][row, here] = _counts_at(postings, own)
    traits = [index.traits(file) for file in candidates.files.tolist()]
    in_name, in_folder, name_shares = _in_paths(index, question, candidates.files)
    return Evidence(
        question=question,
        candidates=candidates,
        traits=traits,
        chunks=chunks,
        documents=documents,
        lengths=lengths,
        measures={name: measures[:, column] for column, name in enumerate(MEASURES)},
        in_name=in_name,
        in_folder=in_folder,
        name_shares=name_shares,
        folders=index.folders[candidates.files].astype(np.int64),
        single=names["single"],
        joined=names["joined"],
        imports_name=_named(
            corpus, candidates, "import", [term_number(name_term(one)) for one in question.names]
        ),
        imported=_having(corpus, "import", [one.whole for one in traits]),
        mentioned=_having(corpus, "body", [one.whole_name for one in traits]),
        defined=defined,
        looked=looked,
    )


def _named(corpus: Corpus, candidates: Candidates, field: str, numbers: Sequence[int]) -> Floats:
    """How often each term stands in each candidate, in a field of documents."""
    found = np.zeros((len(numbers), len(candidates.files)), np.float32)
    for number, part in enumerate(corpus.parts):
        [here] = np.nonzero(candidates.parts == number)
        if len(here):
            own = candidates.documents[here]
            for row, term in enumerate(numbers):
                found[row, here] = _counts_at(part.segment.postings(field, term), own)
    return found


def _having(corpus: Corpus, field: str, terms: Sequence[str]) -> Floats:
    """In how many units of a field each term stands."""
    numbers = list(map(term_number, terms))
    return np.array(
        [
            sum(len(part.segment.postings(field, number)[0]) for part in corpus.parts)
            for number in numbers
        ],
        np.float32,
    )


def _counts_at(found: Found, units: Numbers) -> Floats:
    """How often a term stands in each of some units, which are in any order."""
    having, counts = found
    if not len(having):
        return np.zeros(len(units), np.float32)
    places = np.searchsorted(having, units)
    places[places == len(having)] = 0
    at: Floats = np.where(having[places] == units, counts[places], 0).astype(np.float32)
    return at


def _chunk_ranges(owners: npt.NDArray[np.uint16], documents: Numbers) -> tuple[Numbers, Numbers]:
    return np.searchsorted(owners, documents), np.searchsorted(owners, documents, side="right")


def _chunks(corpus: Corpus, question: Question, looked: Looked, candidates: Candidates) -> Chunks:
    owners, ids, lengths, scores, defining = [], [], [], [], []
    counts: dict[str, list[Floats]] = {field: [] for field in CHUNK_FIELDS}
    for number, part in enumerate(corpus.parts):
        [here] = np.nonzero(candidates.parts == number)
        rough = candidates.chunks[number]
        first, last = _chunk_ranges(part.segment.chunk_documents, candidates.documents[here])
        chosen = [
            _best_chunks(rough, start, stop)
            for start, stop in zip(first.tolist(), last.tolist(), strict=True)
        ]
        own = np.concatenate([np.zeros(0, np.int64), *chosen])
        owners.append(np.repeat(here, [len(one) for one in chosen]))
        ids.append(own)
        lengths.append(part.segment.lengths("body")[own].astype(np.float32))
        scores.append(rough[own])
        defining.append(part.segment.lengths("definition")[own].astype(np.float32))
        for field in CHUNK_FIELDS:
            found = np.zeros((len(question.terms), len(own)), np.float32)
            for term, postings in enumerate(looked.postings[number][field]):
                found[term] = _counts_at(postings, own)
            counts[field].append(found)
    return Chunks(
        np.concatenate([np.zeros(0, np.int64), *owners]),
        np.concatenate([np.zeros(0, np.int64), *ids]),
        {
            field: np.concatenate([np.zeros((len(question.terms), 0), np.float32), *found], axis=1)
            for field, found in counts.items()
        },
        np.concatenate([np.zeros(0, np.float32), *lengths]),
        np.concatenate([np.zeros(0, np.float32), *defining]),
        np.concatenate([np.zeros(0, np.float32), *scores]),
    )


def _best_chunks(scores: Floats, first: int, last: int) -> Numbers:
    """The chunks of a text, or the best of them, in their order."""
    if last - first <= MOST_CHUNKS:
        return np.arange(first, last)
    best = np.argpartition(-scores[first:last], MOST_CHUNKS)[:MOST_CHUNKS]
    return first + np.sort(best)


def _by_owner(values: Floats, owners: Numbers, count: int) -> Floats:
    """The sum over each owner's columns; owners may come in any order."""
    found = np.zeros((len(values), count), np.float32)
    for row, one in zip(found, values, strict=True):
        row += np.bincount(owners, one, count).astype(np.float32)
    return found


def _in_paths(
    index: PathIndex, question: Question, files: Numbers
) -> tuple[Floats, Floats, Floats]:
    """How well each term is said by each file's name, and by its folders; and which share of the
    words of its name is asked for."""
    table = np.zeros((len(question.terms), len(index.terms)), np.float32)
    for row, term in enumerate(question.terms):
        numbers, weights = index.named(term)
        table[row, numbers] = weights
    asked = table.max(axis=0) if len(table) else np.zeros(len(index.terms), np.float32)
    in_name = np.zeros((len(question.terms), len(files)), np.float32)
    in_folder = np.zeros_like(in_name)
    shares = np.zeros(len(files), np.float32)
    for column, file in enumerate(files.tolist()):
        own = index.name_terms[index.name_starts[file] : index.name_starts[file + 1]]
        folder = index.folders[file]
        around = index.folder_terms[index.folder_starts[folder] : index.folder_starts[folder + 1]]
        if len(own) and len(table):
            in_name[:, column] = table[:, own].max(axis=1)
            # The whole name is the last term where there are several.
            parts = own[:-1] if len(own) > 1 else own
            shares[column] = asked[parts].mean()
        if len(around) and len(table):
            in_folder[:, column] = table[:, around].max(axis=1)
    return in_name, in_folder, shares


# --- features --------------------------------------------------------------------------------

Scale = Literal["ratio", "plain"]
FEATURES: Mapping[str, Scale] = {
    # BM25, of chunks with the words of the path in them, and of documents.
    "best_chunk": "ratio",
    "top_chunks": "ratio",
    "bare_chunk": "ratio",
    "whole": "ratio",
    "comment": "ratio",
    "head": "ratio",
    "definition": "ratio",
    "defining_chunk": "ratio",
    "type": "ratio",
    # Shares of the question, each term by its rarity.
    "said": "plain",
    "said_at_once": "plain",
    "said_in_code": "ratio",
    "all_names": "plain",
    # Names that are asked for.
    "single_names": "ratio",
    "joined_names": "ratio",
    "defines": "ratio",
    "defines_type": "ratio",
    "defines_title": "ratio",
    "named_like": "plain",
    # Paths.
    "name_share": "plain",
    "name_says": "plain",
    "name_only": "plain",
    "name_rarity": "ratio",
    "folder_says": "plain",
    "path_says": "plain",
    "depth": "plain",
    **{kind: "plain" for kind, _, _ in KINDS},
    "front": "plain",
    "header": "plain",
    "declarations": "plain",
    "own_folder": "ratio",
    "own_folder_files": "plain",
    "front_score": "ratio",
    "neighbours": "ratio",
    "in_folder_rank": "plain",
    # The text.
    "length": "plain",
    "definitions": "plain",
    "types": "plain",
    "imports": "plain",
    "generated_text": "plain",
    # The question.
    "functions": "plain",
    "function_share": "plain",
    "type_share": "plain",
    "imported": "ratio",
    "mentioned": "ratio",
    "paired": "plain",
    "paired_header": "plain",
    "same_end": "plain",
    "most": "ratio",
    "most_defined": "ratio",
    "focus": "ratio",
    "imports_name": "plain",
    "first_terms": "plain",
    "first_in_name": "plain",
    "symbol": "plain",
    "terms": "plain",
    "files": "plain",
}
# The first score, of hand: also a feature.
WEIGHTS = {
    "best_chunk": 1.0,
    "top_chunks": 1.0,
    "comment": 0.3,
    "definition": 0.3,
    "type": 0.2,
    "name_rarity": 0.3,
    "name_share": 0.3,
    "name_says": 0.3,
    "name_only": 0.1,
    "joined_names": 0.2,
    "defines": 0.3,
    "defines_type": 0.3,
    "defines_title": 0.2,
    "named_like": 0.3,
}
SYMBOL_WEIGHTS = WEIGHTS | {"defines": 2.0, "defines_type": 2.0, "named_like": 2.0}
PENALTIES = {
    "test": 1.2,
    "side": 1.2,
    "prose": 1.2,
    "data": 1.0,
    "generated": 1.0,
    "generated_text": 0.3,
    "declarations": 0.3,
}


def compute(evidence: Evidence, corpus_files: int) -> dict[str, Floats]:
    """The features of all candidates, by name, and ``hand``, the first score."""
    question = evidence.question
    count = len(evidence.candidates.files)
    found: dict[str, Floats] = {}
    rarity = evidence.looked.rarity["body"]
    total = float(rarity.sum()) or 1.0
    chunks = evidence.chunks
    owners = chunks.owners
    path_counts = NAME_COUNT * evidence.in_name + FOLDER_COUNT * evidence.in_folder
    body = chunks.counts["body"]
    average = evidence.looked.average
    weighted = rarity[:, None]
    scores = (
        weighted
        * bm25(
            body + path_counts[:, owners],
            chunks.lengths + path_counts[:, owners].sum(axis=0),
            "body",
            average["body"],
        )
    ).sum(axis=0)
    found["best_chunk"], found["top_chunks"] = _best_and_top(scores, owners, count)
    found["bare_chunk"], _ = _best_and_top(chunks.scores, owners, count)
    lengths = evidence.lengths["body"]
    mean_length = float(lengths.mean()) if count else 1.0
    found["whole"] = (
        weighted * bm25(evidence.documents["body"], lengths, "body", max(mean_length, 1.0))
    ).sum(axis=0)
    for field in DOCUMENT_FIELDS:
        found[field] = (
            evidence.looked.rarity[field][:, None]
            * bm25(evidence.documents[field], evidence.lengths[field], field, average[field])
        ).sum(axis=0)
    defined = evidence.documents["definition"]
    rare_names = evidence.looked.rarity["definition"][:, None]
    found["definition"] = (rare_names * defined / (defined + 0.8)).sum(axis=0)
    found["defining_chunk"], _ = _best_and_top(
        (rare_names * np.minimum(chunks.counts["definition"], 1)).sum(axis=0), owners, count
    )
    anywhere = (evidence.documents["body"] > 0) | (path_counts > 0)
    found["said"] = (weighted * anywhere).sum(axis=0) / total
    found["said_in_code"] = (weighted * (evidence.documents["body"] > 0)).sum(axis=0)
    found["said_at_once"], _ = _best_and_top(
        (weighted * (body > 0)).sum(axis=0) / total, owners, count
    )
    found["all_names"] = (weighted * (defined > 0)).sum(axis=0) / total
    for name, rows in (("single_names", evidence.single), ("joined_names", evidence.joined)):
        having = (rows > 0).sum(axis=1, keepdims=True)
        found[name] = (np.log(1 + count / (1 + having)) * (rows > 0)).sum(axis=0).astype(np.float32)
    found.update(_defining(evidence))
    found["name_share"] = evidence.name_shares
    found["name_only"] = (evidence.name_shares >= 0.8).astype(np.float32)
    found["name_says"] = (weighted * evidence.in_name).sum(axis=0) / total
    name_rarity = np.log(1 + count / (1 + (evidence.in_name > 0).sum(axis=1, keepdims=True)))
    found["name_rarity"] = (name_rarity * evidence.in_name).sum(axis=0).astype(np.float32)
    found["folder_says"] = (weighted * evidence.in_folder).sum(axis=0) / total
    found["path_says"] = (weighted * np.maximum(evidence.in_name, evidence.in_folder)).sum(
        axis=0
    ) / total
    found.update(_kinds(evidence))
    found["length"] = np.log1p(evidence.measures["lines"])
    found["definitions"] = np.log1p(evidence.measures["definitions"])
    found["types"] = np.log1p(evidence.measures["types"])
    found["imports"] = evidence.measures["imports"] / np.maximum(evidence.measures["lines"], 1)
    found["generated_text"] = evidence.measures["generated"]
    found["functions"] = np.log1p(evidence.measures["functions"])
    for name in ("functions", "types"):
        share = evidence.measures[name] / np.maximum(evidence.measures["definitions"], 1)
        found[name[:-1] + "_share"] = share
    found["imported"] = np.log1p(evidence.imported)
    found["mentioned"] = np.log1p(evidence.mentioned)
    traits = evidence.traits
    found["paired"] = np.array([one.paired for one in traits], np.float32)
    found["paired_header"] = np.array([one.paired and one.header for one in traits], np.float32)
    found["same_end"] = np.array([one.end for one in traits], np.float32) / max(corpus_files, 1)
    for name, counts in (("most", evidence.documents["body"]), ("most_defined", defined)):
        highest = np.maximum(counts.max(axis=1, initial=0), 1)[:, None]
        found[name] = (weighted * counts / highest).sum(axis=0)
    sizes = np.maximum(chunks.defining, 1)
    found["focus"], _ = _best_and_top(
        (rare_names * np.minimum(chunks.counts["definition"], 1)).sum(axis=0) / np.sqrt(sizes),
        owners,
        count,
    )
    found["imports_name"] = (
        (evidence.imports_name > 0).any(axis=0).astype(np.float32)
        if len(evidence.imports_name)
        else np.zeros(count, np.float32)
    )
    found["first_terms"] = (
        anywhere[:2].mean(axis=0).astype(np.float32)
        if len(anywhere)
        else np.zeros(count, np.float32)
    )
    found["first_in_name"] = (
        evidence.in_name[:2].mean(axis=0) if len(anywhere) else np.zeros(count, np.float32)
    )
    for name, value in (
        ("symbol", question.symbol),
        ("terms", len(question.terms)),
        ("files", np.log1p(corpus_files)),
    ):
        found[name] = np.full(count, value, np.float32)
    found["hand"] = _hand({name: _scaled(name, value) for name, value in found.items()}, question)
    found.update(_neighbours(evidence, found["hand"]))
    scaled = {name: _scaled(name, value) for name, value in found.items()}
    return scaled | {"hand_raw": found["hand"]}


def _scaled(name: str, values: Floats) -> Floats:
    if FEATURES.get(name, "ratio") == "plain" or not len(values):
        return values.astype(np.float32)
    most = float(values.max())
    scaled: Floats = (values / most if most > 1e-6 else values).astype(np.float32)
    return scaled


def _best_and_top(scores: Floats, owners: Numbers, count: int) -> tuple[Floats, Floats]:
    """The best of each owner's scores, and a third of the sum of its best three."""
    best, top = np.zeros(count, np.float32), np.zeros(count, np.float32)
    if not len(scores):
        return best, top
    order = np.lexsort((-scores, owners))
    sorted_owners, sorted_scores = owners[order], scores[order]
    starts = np.flatnonzero(np.append(True, sorted_owners[1:] != sorted_owners[:-1]))
    places = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    best[sorted_owners[starts]] = sorted_scores[starts]
    some = places < 3
    top += np.bincount(sorted_owners[some], sorted_scores[some], count).astype(np.float32) / 3
    return best, top


def _defining(evidence: Evidence) -> dict[str, Floats]:
    """Which candidates define the names that are asked for."""
    question = evidence.question
    places = {file: place for place, file in enumerate(evidence.candidates.files.tolist())}
    found = {
        name: np.zeros(len(places), np.float32)
        for name in ("defines", "defines_type", "defines_title", "named_like")
    }
    for name, definitions in evidence.defined.items():
        best: dict[tuple[str, int], float] = defaultdict(float)
        for file, definition in definitions:
            place = places.get(file)
            if place is None or definition.local:
                continue
            worth = 0.3 if definition.declared else 1.0
            is_type = definition.kind in TYPES
            if name in question.names:
                best["defines", place] = max(best["defines", place], worth)
                if is_type:
                    best["defines_type", place] = max(best["defines_type", place], worth)
            elif is_type:
                best["defines_title", place] = max(best["defines_title", place], worth)
        for (feature, place), worth in best.items():
            found[feature][place] += worth
    wholes = {name.lower().replace("_", "") for name in question.names}
    for place, one in enumerate(evidence.traits):
        if one.whole_name in wholes:
            found["named_like"][place] = 1.0
        elif one.whole in question.joined:
            found["named_like"][place] = 0.7
        elif one.whole in question.single:
            found["named_like"][place] = 0.4
    return found


def _kinds(evidence: Evidence) -> dict[str, Floats]:
    found = {
        name: np.array([one.kinds[column] for one in evidence.traits], np.float32)
        * (not words & evidence.question.stems)
        for column, (name, _, words) in enumerate(KINDS)
    }
    found["front"] = np.array([one.front for one in evidence.traits], np.float32)
    found["header"] = np.array([one.header for one in evidence.traits], np.float32)
    found["declarations"] = np.array([one.declarations for one in evidence.traits], np.float32)
    found["depth"] = np.array([one.depth for one in evidence.traits], np.float32)
    return found


def _hand(found: Mapping[str, Floats], question: Question) -> Floats:
    weights = SYMBOL_WEIGHTS if question.symbol else WEIGHTS
    score = sum((weight * found[name] for name, weight in weights.items()), np.float32(0))
    penalty = sum((weight * found[name] for name, weight in PENALTIES.items()), np.float32(0))
    result: Floats = score * np.exp(-penalty)
    return result


def _neighbours(evidence: Evidence, hand: Floats) -> dict[str, Floats]:
    """What the files around each candidate say: those of the folder that it speaks for, the file
    that speaks for its folder, and the others of its folder."""
    count = len(hand)
    own_folder, own_files = np.zeros(count, np.float32), np.zeros(count, np.float32)
    front, neighbours = np.zeros(count, np.float32), np.zeros(count, np.float32)
    rank = np.zeros(count, np.float32)
    members: dict[int, list[int]] = defaultdict(list)
    for place, folder in enumerate(evidence.folders.tolist()):
        members[folder].append(place)
    for listed in members.values():
        values = hand[listed]
        total = values.sum()
        if len(listed) > 1:
            neighbours[listed] = (total - values) / (len(listed) - 1)
        rank[listed] = (values[:, None] < values[None, :]).sum(axis=1)
    for place, one in enumerate(evidence.traits):
        leaves = (
            [leaf for leaf in members.get(one.own, ()) if leaf != place] if one.own >= 0 else []
        )
        if leaves:
            values = hand[leaves]
            own_folder[place] = values.max()
            own_files[place] = len(leaves)
            front[leaves] = np.maximum(front[leaves], hand[place])
    return {
        "own_folder": own_folder,
        "own_folder_files": np.log1p(own_files),
        "front_score": front,
        "neighbours": neighbours,
        "in_folder_rank": np.log1p(rank),
    }
