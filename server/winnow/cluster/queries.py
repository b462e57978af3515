"""Build the cluster's queries. Each finds at least the texts that the local search would find in
the same repositories, and may find more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from winnow.cluster.documents import token
from winnow.index.postings.trigrams import TrigramQuery, required_by
from winnow.text.ripgrep import TextPattern

Query = dict[str, Any]


class Words(Struct, frozen=True):
    """What a query is about: ``terms`` are the numbers of the ranker's terms with their weights,
    ``names`` may be names of definitions, ``parts`` parts of them, ``text`` may be in paths, and
    ``patterns`` in lines; one of these must be if it ``must_match``."""

    terms: Sequence[tuple[int, float]]
    names: Sequence[str] = ()
    parts: Sequence[str] = ()
    text: str = ""
    patterns: Sequence[TextPattern] = ()
    must_match: bool = False


ANY: Query = {"match_all": {}}
# More conditions of a regular expression cost more than they exclude.
MOST_CONDITIONS = 12
# Trigrams of a text.
MOST_TRIGRAMS = 48
# The weights of the evidence, about those of :mod:`winnow.ranking.semantic.candidates`: a text that
# defines a name, or has an exact text, is always a candidate.
_BODY, _DEFINITION, _COMMENT, _PATH = 1.0, 0.5, 0.3, 0.8
_NAMED, _PART_OF_NAME, _EXACT = 30.0, 10.0, 100.0
_SPECIAL = re.compile(r"[.?+*|{}\[\]()\"\\#@&<>~^$-]")
_REGEX = re.compile(r"[\\.+*?()\[\]{}|^$]")
_WILD = re.compile(r"[*?\\]|[^\x00-\x7f]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def in_branches(patterns: Sequence[str], field: str) -> Query:
    """Return the condition that a field names a branch that one of some patterns selects.

    ``team/*`` selects the default branches of repositories, ``team/a@*`` all other branches of one.
    """
    return {
        "bool": {
            "should": [{"regexp": {field: {"value": _regex(pattern)}}} for pattern in patterns],
            "minimum_should_match": 1,
        }
    }


def _regex(pattern: str) -> str:
    """Return Lucene's regular expression for a pattern of branches."""
    parts = {"*": "[^@]*", "?": "[^@]"}
    return "".join(parts.get(one) or _SPECIAL.sub(r"\\\g<0>", one) for one in pattern)


def texts(patterns: Sequence[str], *conditions: Query) -> Query:
    """Return the query for the texts of branches that meet all conditions."""
    filters = [{"term": {"kind": "text"}}, in_branches(patterns, "locations.ref"), *conditions]
    return {"bool": {"filter": filters}}


def at(ref: str, path: str) -> Query:
    """Return a condition that the text at a path of a branch meets, and perhaps a text that is
    there in another branch."""
    places = [{"term": {"locations.ref": ref}}, {"term": {"locations.path": path}}]
    return {"bool": {"filter": places}}


# --- exact text ----------------------------------------------------------------------------


def may_match(pattern: TextPattern) -> Query:
    """Return a condition that every text with a match meets."""
    if pattern.encoding not in ("", "auto"):
        return ANY
    is_literal = pattern.literal or not _REGEX.search(pattern.pattern)
    if is_literal:
        lines = map(_contains, pattern.pattern.split("\n"))
        conditions = [_nested(line) for line in lines if line != ANY]
        found = {"bool": {"filter": conditions}} if conditions else ANY
    else:
        required = required_by(pattern)
        if pattern.multiline:
            found = _required(required, lambda part: _nested(_contains(part)))
        else:
            found = _required(required, _contains)
            found = found if found == ANY else _nested(found)
    if found == ANY:
        return ANY
    # A passage of one very long line is not in the field.
    return {"bool": {"should": [found, {"term": {"is_long": True}}], "minimum_should_match": 1}}


def _required(query: TrigramQuery, leaf: Any) -> Query:
    texts = list(filter(None, map(_ascii, query.trigrams)))
    conditions = [leaf(text) for text in texts[:MOST_CONDITIONS]]
    for options in query.either[: MOST_CONDITIONS - len(conditions)]:
        some = [_required(option, leaf) for option in options]
        if len(some) <= MOST_CONDITIONS and ANY not in some:
            conditions.append({"bool": {"should": some, "minimum_should_match": 1}})
    return {"bool": {"filter": conditions}} if conditions else ANY


def _ascii(trigram: int) -> str | None:
    """Return the characters of a trigram; None for bytes of others, which may be parts of one, and
    for more than one line, which may be in two passages."""
    found = trigram.to_bytes(4, "big")[1:]
    return found.decode("ascii") if found.isascii() and b"\n" not in found else None


def _contains(text: str) -> Query:
    """Return a condition that each passage with a line meets that contains a text, in upper or
    lower case: it has the trigrams of the text."""
    # Other characters may be several in lower case.
    parts = [part.lower() for part in _NOT_ASCII.split(text)]
    found = sorted({part[at : at + 3] for part in parts for at in range(len(part) - 2)})
    step = -(-len(found) // MOST_TRIGRAMS) or 1
    terms = [{"term": {"passages.text": {"value": trigram}}} for trigram in found[::step]]
    return {"bool": {"filter": terms}} if terms else ANY


def _has(text: str, field: str) -> Query:
    """Return the condition that a field for substrings contains a text, in upper or lower case."""
    # Such a field doesn't find escaped characters.
    parts = _WILD.split(text.lower())
    return {"wildcard": {field: {"value": f"*{'*'.join(filter(None, parts))}*"}}}


def _nested(query: Query) -> Query:
    return {"nested": {"path": "passages", "query": query}}


# --- words ---------------------------------------------------------------------------------


def about(words: Words) -> Query:
    """Return a query that scores texts as the ranker's first stage does: by their best passage, the
    names that they define, their comments and paths."""
    evidence = [
        *_scored(words, "passages.body", _BODY),
        *_scored(words, "passages.definition", _DEFINITION),
        *_scored(words, "comment", _COMMENT),
    ]
    if words.text:
        match = {"query": words.text, "boost": _PATH}
        evidence.append({"match": {"locations.path.code": match}})
        evidence.append({"match": {"names.code": {**match, "boost": _DEFINITION}}})
    evidence += [_constant({"term": {"names": {"value": name}}}, _NAMED) for name in words.names]
    evidence += [_constant(_has(part, "names"), _PART_OF_NAME) for part in words.parts]
    matching = [may_match(pattern) for pattern in words.patterns[:MOST_CONDITIONS]]
    evidence += [_constant(condition, _EXACT) for condition in matching if condition != ANY]
    if not evidence:
        return ANY
    if words.must_match and matching and ANY not in matching:
        either = {"bool": {"should": matching, "minimum_should_match": 1}}
        return {"bool": {"should": evidence, "filter": [either]}}
    return {"bool": {"should": evidence, "minimum_should_match": 1}}


def _scored(words: Words, field: str, weight: float) -> list[Query]:
    terms = [
        {"term": {field: {"value": token(number), "boost": round(weight * own, 3)}}}
        for number, own in words.terms
    ]
    if not terms:
        return []
    found = {"bool": {"should": terms, "minimum_should_match": 1}}
    if not field.startswith("passages."):
        return [found]
    return [{"nested": {"path": "passages", "query": found, "score_mode": "max"}}]


def _constant(query: Query, score: float) -> Query:
    return {"constant_score": {"filter": query, "boost": score}}
