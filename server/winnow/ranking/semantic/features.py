"""Compute the features of each candidate, by which the ranker judges.

Features that count or add up are divided by their maximum among the candidates of the query, so
that queries and code bases of all sizes are comparable; see `FEATURES`. The names are part of the
trained models.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winnow.index.postings.contents import TYPES
from winnow.index.postings.terms import term_number
from winnow.index.vectors.best import Floats, best_of_each, starts_of, top_of_each
from winnow.ranking.semantic.candidates import DOCUMENT_FIELDS, bm25
from winnow.ranking.semantic.commit_evidence import CommitEvidence
from winnow.ranking.semantic.evidence import Evidence
from winnow.ranking.semantic.path_index import KINDS, unasked_kinds
from winnow.ranking.semantic.question import Question

# Each chunk counts the words of the file's name twice and of its folders once: every passage is
# about what its file is named after.
NAME_COUNT, FOLDER_COUNT = 2.0, 1.0

Scale = Literal["ratio", "plain", "spread"]


def _scale(scale: Scale, names: str) -> dict[str, Scale]:
    return dict.fromkeys(names.split(), scale)


# How to scale each feature among the candidates: as a share of the maximum, not at all, or from the
# median to the maximum.
FEATURES: Mapping[str, Scale] = {
    # BM25 of the best chunk (with and without the words of the path), of the best three, of the
    # entire text, and of fields.
    **_scale("ratio", "best_chunk bare_chunk top_chunks whole comment head type definition"),
    # The share of the terms' occurrences, relative to the candidate with the most.
    **_scale("ratio", "most most_defined"),
    # The share of a chunk's definitions that is in the query.
    **_scale("ratio", "focus"),
    # The share of the query that occurs anywhere, in one chunk, or in defined names; and the share
    # of its first words, which usually name the subject.
    **_scale("plain", "said said_at_once all_names first_terms"),
    # Names in the query: as written, of several words, of one.
    **_scale("ratio", "defines defines_type defines_title"),
    **_scale("plain", "imports_name"),
    **_scale("ratio", "joined_names single_names"),
    **_scale("plain", "named_like"),
    # The share of the name in the query, and of the query in the path.
    **_scale("plain", "name_share name_only name_says"),
    **_scale("ratio", "name_rarity"),
    **_scale("plain", "first_in_name folder_says path_says"),
    # A path that is written in the query.
    **_scale("plain", "path_written"),
    # The kind of file.
    **_scale("plain", " ".join(name for name, _, _ in KINDS)),
    **_scale(
        "plain",
        "generated_text declarations header paired paired_header front depth length imports "
        "functions function_share",
    ),
    # Number of other files that import or mention it.
    **_scale("ratio", "imported mentioned"),
    # The files around it.
    **_scale("ratio", "own_folder front_score neighbours"),
    **_scale("plain", "in_folder_rank"),
    # 1 if the query is one name.
    **_scale("plain", "symbol"),
    # The score of the manual weights below.
    **_scale("ratio", "hand"),
}
# With the commits of the repository: the messages of those that changed a file, the nearest of
# them, and how often it changed together with the best files.
COMMIT_FEATURES: Mapping[str, Scale] = {
    **_scale("ratio", "earlier_messages"),
    **_scale("plain", "message_says"),
    **_scale("ratio", "changes_together"),
}
# With vectors: of the best chunk, the best three, the document and the path.
DENSE_FEATURES: Mapping[str, Scale] = _scale("spread", "near_best near_top near_document near_path")
# The manual weights, found with the benchmark's runner when they were the entire ranker; halving or
# doubling a weight moves NDCG@10 by at most 0.01.
_WEIGHTS = {
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
_SYMBOL_WEIGHTS = _WEIGHTS | {"defines": 2.0, "defines_type": 2.0, "named_like": 2.0}
_PENALTIES = {
    "test": 1.2,
    "side": 1.2,
    "prose": 1.2,
    "data": 1.0,
    "generated": 1.0,
    "generated_text": 0.3,
    "declarations": 0.3,
}
# A declaration only refers to a definition elsewhere.
_DECLARED = 0.3
# A name as written, as adjacent words, or as a single word of the query.
_NAMED, _NAMED_JOINED, _NAMED_SINGLE = 1.0, 0.7, 0.4
# From this share on, a file's name contains nothing but the query.
_NAME_ONLY = 0.8
_FIRST_TERMS = 2
_DEFINITION_SATURATION = 0.8
_LEAST = 1e-6


def compute(
    evidence: Evidence,
    commits: CommitEvidence | None = None,
    nearness: Mapping[str, Floats] | None = None,
) -> dict[str, Floats]:
    """Return the scaled features of all candidates, by name: also those of ``commits``, and of
    vectors, which are in ``nearness``."""
    found = {
        **_of_terms(evidence),
        **_of_names(evidence),
        **_of_paths(evidence),
        **_of_kinds(evidence),
    }
    scaled = _scaled(FEATURES, found)
    hand = _hand(scaled, evidence.question)
    scaled |= _scaled(FEATURES, {"hand": hand, **_around(evidence, hand)})
    if commits is not None:
        scaled |= _scaled(COMMIT_FEATURES, commits.features(evidence.candidates.files, hand))
    return scaled | _scaled(DENSE_FEATURES, nearness or {})


def _scaled(scales: Mapping[str, Scale], found: Mapping[str, Floats]) -> dict[str, Floats]:
    """Scale all features at once, which needs fewer numpy calls."""
    rows = np.array(list(found.values()), np.float32)
    chosen = {name: place for place, name in enumerate(found) if scales[name] != "plain"}
    scaled = list(chosen.values())
    if scaled and rows.size:
        own = rows[scaled]
        least = np.zeros(len(own), np.float32)
        is_spread = [scales[name] == "spread" for name in chosen]
        if any(is_spread):
            least[is_spread] = _medians(own[is_spread])
        span = own.max(axis=1) - least
        varying = span > _LEAST
        shares = (own[varying] - least[varying, None]) / span[varying, None]
        own[varying] = np.clip(shares, -1, 1)
        rows[scaled] = own
    return dict(zip(found, rows, strict=True))


def _medians(rows: Floats) -> Floats:
    # numpy's median loads its masked arrays.
    ordered, count = np.sort(rows, axis=1), rows.shape[1]
    medians: Floats = ordered[:, (count - 1) // 2 : count // 2 + 1].mean(axis=1)
    return medians


def _of_terms(evidence: Evidence) -> dict[str, Floats]:
    """Return features of how often, where and how close together the query's terms occur."""
    chunks, terms = evidence.chunks, evidence.terms

    def weigh(field: str, counts: Floats, lengths: Floats, average: float) -> Floats:
        rarity = terms.rarity[field][:, None]
        total: Floats = (rarity * bm25(counts, lengths, field, average)).sum(axis=0)
        return total

    rarity = terms.rarity["body"][:, None]
    rare_names = terms.rarity["definition"][:, None]
    total = float(rarity.sum()) or 1.0
    body, defined = evidence.documents["body"], evidence.documents["definition"]
    in_path = NAME_COUNT * evidence.in_name + FOLDER_COUNT * evidence.in_folder
    of_chunks = in_path[:, chunks.owners]
    counts, lengths = chunks.counts["body"] + of_chunks, chunks.lengths + of_chunks.sum(axis=0)
    scores = weigh("body", counts, lengths, terms.average["body"])
    names = (rare_names * (chunks.counts["definition"] > 0)).sum(axis=0)
    mean_length = max(float(evidence.lengths["body"].mean()), 1.0) if body.shape[1] else 1.0
    anywhere = (body > 0) | (in_path > 0)
    best = functools.partial(best_of_each, chunks.owners, count=body.shape[1])
    return {
        "best_chunk": best(scores),
        "bare_chunk": best(chunks.scores),
        "top_chunks": top_of_each(chunks.owners, scores, body.shape[1]),
        "whole": weigh("body", body, evidence.lengths["body"], mean_length),
        **{
            field: weigh(
                field, evidence.documents[field], evidence.lengths[field], terms.average[field]
            )
            for field in DOCUMENT_FIELDS
        },
        "definition": (rare_names * defined / (defined + _DEFINITION_SATURATION)).sum(axis=0),
        "most": (rarity * _share_of_most(body)).sum(axis=0),
        "most_defined": (rarity * _share_of_most(defined)).sum(axis=0),
        "focus": best(names / np.sqrt(np.maximum(chunks.defining, 1))),
        "said": (rarity * anywhere).sum(axis=0) / total,
        "said_at_once": best((rarity * (chunks.counts["body"] > 0)).sum(axis=0) / total),
        "all_names": (rarity * (defined > 0)).sum(axis=0) / total,
        "first_terms": _mean(anywhere[:_FIRST_TERMS]),
    }


def _share_of_most(counts: Floats) -> Floats:
    shares: Floats = counts / np.maximum(counts.max(axis=1, keepdims=True, initial=0), 1)
    return shares


def _mean(rows: npt.NDArray[Any]) -> Floats:
    """Return the mean of each column; 0 without rows."""
    mean: Floats = rows.sum(axis=0) / max(len(rows), 1)
    return mean


def _of_names(evidence: Evidence) -> dict[str, Floats]:
    """Return features of names in the query that candidates define or export."""
    question = evidence.question
    places = {file: place for place, file in enumerate(evidence.candidates.files.tolist())}
    found = {
        name: np.zeros(len(places), np.float32)
        for name in ("defines", "defines_type", "defines_title", "named_like")
    }
    for name, definitions in evidence.defined.items():
        worth = {feature: np.zeros(len(places), np.float32) for feature in found}
        for file, definition in definitions:
            place = places.get(file)
            if place is None or definition.local:
                continue
            is_type = definition.kind in TYPES
            asked = name in question.names
            for feature, holds in (
                ("defines", asked),
                ("defines_type", asked and is_type),
                ("defines_title", is_type and not asked),
            ):
                if holds:
                    least = _DECLARED if definition.declared else 1.0
                    worth[feature][place] = max(worth[feature][place], least)
        for feature, values in worth.items():
            found[feature] += values
    written = {name.lower().replace("_", "") for name in question.names}
    traits, named_like = evidence.traits, found["named_like"]
    for own, names, share in (
        (traits.whole, question.single, _NAMED_SINGLE),
        (traits.whole, question.joined, _NAMED_JOINED),
        (traits.whole_name, written, _NAMED),
    ):
        named_like[_any_of(own, names)] = share
    return {
        **found,
        "imports_name": (evidence.imports_name.sum(axis=0) > 0).astype(np.float32),
        "joined_names": _rarely_true(evidence.joined > 0),
        "single_names": _rarely_true(evidence.single > 0),
    }


def _any_of(numbers: npt.NDArray[np.uint64], terms: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return a mask of the numbers that are those of some terms."""
    wanted = np.array([*map(term_number, terms)], np.uint64)
    found: npt.NDArray[np.bool_] = (numbers[:, None] == wanted).any(axis=1)
    return found


def _rarely_true(rows: npt.NDArray[np.bool_]) -> Floats:
    """Return the sum of the true rows of each candidate, weighted by their rarity."""
    having = rows.sum(axis=1, keepdims=True)
    total: Floats = (np.log(1 + rows.shape[1] / (1 + having)) * rows).sum(axis=0)
    return total


def _of_paths(evidence: Evidence) -> dict[str, Floats]:
    rarity = evidence.terms.rarity["body"][:, None]
    total = float(rarity.sum()) or 1.0
    in_name, in_folder = evidence.in_name, evidence.in_folder
    having = (in_name > 0).sum(axis=1, keepdims=True)
    name_only = np.zeros(len(evidence.name_shares), np.float32)
    name_only[evidence.name_shares >= _NAME_ONLY] = 1
    return {
        "name_share": evidence.name_shares,
        "name_only": name_only,
        "name_says": (rarity * in_name).sum(axis=0) / total,
        "name_rarity": (np.log(1 + in_name.shape[1] / (1 + having)) * in_name).sum(axis=0),
        "first_in_name": _mean(in_name[:_FIRST_TERMS]),
        "folder_says": (rarity * in_folder).sum(axis=0) / total,
        "path_written": evidence.written,
        "path_says": (rarity * np.maximum(in_name, in_folder)).sum(axis=0) / total,
    }


def _of_kinds(evidence: Evidence) -> dict[str, Floats]:
    """Return features of the kind of each file. A kind that the query asks for counts as none."""
    question, measures = evidence.question, evidence.measures
    unasked = unasked_kinds(question.stems)
    traits = evidence.traits
    found = {
        name: row * np.float32(name in unasked)
        for (name, _, _), row in zip(KINDS, traits.kinds, strict=True)
    }
    return {
        **found,
        "generated_text": measures["generated"],
        "declarations": traits.declarations,
        "header": traits.header,
        "paired": traits.paired,
        "paired_header": traits.header * traits.paired,
        "front": traits.front,
        "depth": traits.depth,
        "length": np.log1p(measures["lines"]),
        "imports": measures["imports"] / np.maximum(measures["lines"], 1),
        "functions": np.log1p(measures["functions"]),
        "function_share": measures["functions"] / np.maximum(measures["definitions"], 1),
        "imported": np.log1p(evidence.imported),
        "mentioned": np.log1p(evidence.mentioned),
        "symbol": np.full(len(traits.own), question.symbol, np.float32),
    }


def _hand(found: Mapping[str, Floats], question: Question) -> Floats:
    weights = _SYMBOL_WEIGHTS if question.symbol else _WEIGHTS
    score = sum((weight * found[name] for name, weight in weights.items()), np.float32(0))
    penalty = sum((weight * found[name] for name, weight in _PENALTIES.items()), np.float32(0))
    result: Floats = score * np.exp(-penalty)
    return result


def _around(evidence: Evidence, hand: Floats) -> dict[str, Floats]:
    """Return features of the files around each candidate, by manual score: the best file of the
    folder that it represents, the file that represents its folder, the mean of its siblings, and
    the number of better siblings."""
    own, front, others, better = np.zeros((4, len(hand)), np.float32)
    # Group the files by folder, best first.
    order = np.lexsort((-hand, evidence.folders))
    folders, values = evidence.folders[order], hand[order]
    starts = starts_of(folders)
    sizes = np.diff(starts, append=len(hand))
    many = np.repeat(sizes, sizes)
    totals = np.repeat(np.add.reduceat(values, starts), sizes)
    others[order] = (totals - values) * (many > 1) / np.maximum(many - 1, 1)
    # Better files precede the first file with the same score.
    differs = (folders[1:] != folders[:-1]) | (values[1:] != values[:-1])
    firsts = np.maximum.accumulate(np.append(0, np.arange(1, len(hand)) * differs))
    better[order] = firsts - np.repeat(starts, sizes)
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    members = dict(zip(folders[starts].tolist(), spans, strict=True))
    for place, folder in enumerate(evidence.traits.own.tolist()):
        if folder in members:
            leaves = order[slice(*members[folder])]
            leaves = leaves[leaves != place]
            if len(leaves):
                own[place] = hand[leaves].max()
                front[leaves] = np.maximum(front[leaves], hand[place])
    return {
        "own_folder": own,
        "front_score": front,
        "neighbours": others,
        "in_folder_rank": np.log1p(better),
    }
