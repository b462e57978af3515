"""Build the cluster's queries. Each finds at least the texts that the local search would find in
the same repositories, and may find more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from winnow.cluster.documents import token
from winnow.cluster.mappings import PASSAGE_FIELDS, TEXT_FIELDS
from winnow.index.postings.trigrams import TrigramQuery, required_by
from winnow.symbols.search.query import SymbolQuery
from winnow.text.ripgrep import TextPattern

Query = dict[str, Any]

ANY: Query = {"match_all": {}}
# More conditions of a regular expression cost more than they exclude.
MOST_CONDITIONS = 12
# Weights of the evidence that makes a text a candidate, as in the first stage of the ranker.
WEIGHTS = {"body": 1.0, "definition": 0.5, "comment": 0.3, "path": 0.8, "name": 1.0}
_SPECIAL = re.compile(r"[.?+*|{}\[\]()\"\\#@&<>~^$-]")
_REGEX = re.compile(r"[\\.+*?()\[\]{}|^$]")
_WILD = re.compile(r"([*?\\])")


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


# --- exact text ----------------------------------------------------------------------------


def may_match(pattern: TextPattern) -> Query:
    """Return a condition that every text with a match meets."""
    if pattern.encoding not in ("", "auto"):
        return ANY
    is_literal = pattern.literal or not _REGEX.search(pattern.pattern)
    if is_literal:
        lines = [line for line in pattern.pattern.split("\n") if line]
        conditions = [_nested(_contains(line)) for line in lines]
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
    """Return the characters of a trigram; None for bytes of others, which may be parts of one."""
    found = trigram.to_bytes(4, "big")[1:]
    return found.decode("ascii") if found.isascii() else None


def _contains(text: str) -> Query:
    folded = "".join(one if one.isascii() else "*" for one in text.lower())
    return {"wildcard": {"passages.text": {"value": f"*{_escaped(folded)}*"}}}


def _escaped(text: str) -> str:
    return _WILD.sub(r"\\\1", text)


def _nested(query: Query) -> Query:
    return {"nested": {"path": "passages", "query": query}}


# --- definitions ---------------------------------------------------------------------------


def may_define(query: SymbolQuery, *, exact: bool) -> Query:
    """Return a query for the texts with definitions that may match, the likeliest first."""
    terms = [term.text for term in query.terms if term.text] or [
        qualifier for term in query.terms for qualifier in term.qualifiers[-1:]
    ]
    if not terms:
        return ANY
    some: list[Query] = []
    for term in terms:
        name = term.lower()
        forms = [(10.0, _escaped(name))]
        if not exact:
            forms += [(4.0, f"{_escaped(name)}*"), (2.0, f"*{_escaped(name)}*")]
            letters = "*".join(_escaped(one) for one in name if one.isalnum())
            forms.append((1.0, f"*{letters}*"))
        some += [
            {"wildcard": {"names": {"value": form, "boost": boost, "rewrite": "constant_score"}}}
            for boost, form in forms
        ]
    return {"bool": {"should": some, "minimum_should_match": 1}}


# --- ranked text ---------------------------------------------------------------------------


def about(terms: Mapping[int, float], names: Sequence[str], words: str) -> Query:
    """Return a query for the texts about some terms, by number with a weight each. ``names`` are
    identifiers of the question, ``words`` its words, for paths."""

    def having(field: str, weight: float) -> Iterable[Query]:
        for number, share in terms.items():
            yield {"term": {field: {"value": token(number), "boost": share * weight}}}

    some: list[Query] = [
        {
            "nested": {
                "path": "passages",
                "score_mode": "max",
                "query": {"bool": {"should": list(having(f"passages.{field}", WEIGHTS[field]))}},
            }
        }
        for field in PASSAGE_FIELDS
    ]
    some += having("comment", WEIGHTS["comment"])
    some.append({"match": {"locations.path.code": {"query": words, "boost": WEIGHTS["path"]}}})
    some += [
        {"wildcard": {"names": {"value": _escaped(name.lower()), "boost": 20 * WEIGHTS["name"]}}}
        for name in names
    ]
    return {"bool": {"should": some, "minimum_should_match": 1}}


def statistics(numbers: Sequence[int]) -> dict[str, Any]:
    """Return the aggregations that count texts and passages: all, and those with each term."""
    tokens = {token(number): number for number in numbers}

    def counted(field: str) -> dict[str, Any]:
        path = field if field in TEXT_FIELDS else f"passages.{field}"
        filters = {name: {"term": {path: name}} for name in tokens}
        return {
            f"{field}_length": {"sum": {"field": f"{path}_length"}},
            field: {"filters": {"filters": filters}},
        }

    passages = {name: value for field in PASSAGE_FIELDS for name, value in counted(field).items()}
    of_texts = {name: value for field in TEXT_FIELDS for name, value in counted(field).items()}
    return {"passages": {"nested": {"path": "passages"}, "aggs": passages}, **of_texts}
