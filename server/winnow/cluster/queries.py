"""Build the cluster's queries. Each finds at least the texts that the local search would find in
the same repositories, and may find more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from winnow.index.postings.trigrams import TrigramQuery, required_by
from winnow.text.ripgrep import TextPattern

Query = dict[str, Any]

ANY: Query = {"match_all": {}}
# More conditions of a regular expression cost more than they exclude.
MOST_CONDITIONS = 12
_SPECIAL = re.compile(r"[.?+*|{}\[\]()\"\\#@&<>~^$-]")
_REGEX = re.compile(r"[\\.+*?()\[\]{}|^$]")
_WILD = re.compile(r"[*?\\]|[^\x00-\x7f]+")


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
    # A field for substrings doesn't find escaped characters.
    parts = _WILD.split(text.lower())
    return {"wildcard": {"passages.text": {"value": f"*{'*'.join(filter(None, parts))}*"}}}


def _nested(query: Query) -> Query:
    return {"nested": {"path": "passages", "query": query}}
