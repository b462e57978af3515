"""Ask the cluster for candidates: texts that may answer a request, with the branches they are of.

This is the only part of the package that searches use. Each function makes one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from winnow.cluster import queries
from winnow.cluster.connection import ClusterUnavailable, converted
from winnow.cluster.documents import Branch, TextSource
from winnow.cluster.queries import Query, Words
from winnow.text.ripgrep import TextPattern

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

# Texts in an answer to a pattern.
MATCHING = 400
MOST_BRANCHES = 10_000
# Texts in an answer to a question: the ranker's first stage lets 120 files pass.
ABOUT = 60
# Texts in an answer about a path, which other branches may have with other texts.
AT_PATH = 50
_WITH_TEXT = ["repository", "locations", "key", "passages.text", "passages.long"]
_WITH_RECORD = [*_WITH_TEXT, "format", "contents", "symbols"]


class Candidates(Struct, frozen=True):
    """The candidates of a request, the best first. ``branches`` are all that the patterns select,
    by ref, and ``missing`` the patterns that select none. ``total`` is the number of candidates in
    the cluster, of which these may be a part. ``failed`` counts shards that did not answer."""

    branches: Mapping[str, Branch]
    missing: Sequence[str]
    texts: Sequence[TextSource]
    total: int
    failed: int


async def matching(
    client: AsyncOpenSearch, index: str, patterns: Sequence[str], pattern: TextPattern
) -> Candidates:
    """Return the texts that may match a pattern, ordered by repository."""
    body = {
        "query": queries.texts(patterns, queries.may_match(pattern)),
        "sort": [{"repository": "asc"}, {"key": "asc"}],
        "size": MATCHING,
        "_source": _WITH_TEXT,
        "track_total_hits": True,
    }
    return await _ask(client, index, patterns, body)


async def about(
    client: AsyncOpenSearch, index: str, patterns: Sequence[str], words: Words
) -> Candidates:
    """Return the texts that may be about some words, the best first."""
    query = queries.texts(patterns)
    query["bool"]["must"] = queries.about(words)
    body = {
        "query": query,
        "sort": ["_score", {"repository": "asc"}, {"key": "asc"}],
        "size": ABOUT,
        "_source": _WITH_RECORD,
        "track_total_hits": True,
    }
    return await _ask(client, index, patterns, body)


async def text_at(client: AsyncOpenSearch, index: str, ref: str, path: str) -> Candidates:
    """Return the text at a path of a branch, and perhaps others, see :func:`queries.at`."""
    body = {
        "query": queries.texts([ref], queries.at(ref, path)),
        "size": AT_PATH,
        "_source": _WITH_RECORD,
        "track_total_hits": True,
    }
    return await _ask(client, index, [ref], body)


async def branches_of(client: AsyncOpenSearch, index: str, patterns: Sequence[str]) -> list[Branch]:
    """Return the branches that some patterns select."""
    answer = await client.search(index=index, body=_branches(patterns))
    return list(_branches_in(answer).values())


# --- requests ------------------------------------------------------------------------------


class _Shards(Struct, frozen=True):
    failed: int = 0


class _Total(Struct, frozen=True):
    value: int


class _Hit(Struct, frozen=True):
    source: dict[str, Any] = field(name="_source")


class _Hits(Struct, frozen=True):
    hits: list[_Hit]
    total: _Total = _Total(0)


class _Answer(Struct, frozen=True):
    hits: _Hits
    shards: _Shards = field(name="_shards", default=_Shards())


class _Many(Struct, frozen=True):
    responses: list[dict[str, Any]]


class _Branch(Struct, frozen=True):
    branch: Branch


async def _ask(
    client: AsyncOpenSearch,
    index: str,
    patterns: Sequence[str],
    body: Query,
) -> Candidates:
    searches: list[Query] = [{}, _branches(patterns), {}, body]
    answer = converted(await client.msearch(index=index, body=searches), _Many)
    if len(answer.responses) != len(searches) // 2:
        raise ClusterUnavailable("the cluster's answer cannot be understood")
    failures = [each for each in answer.responses if "error" in each]
    if failures:
        from opensearchpy.exceptions import NotFoundError, TransportError

        status = failures[0].get("status")
        kind = NotFoundError if status == 404 else TransportError
        raise kind(status, failures[0]["error"])
    named, found = answer.responses
    branches = _branches_in(named)
    hits = converted(found, _Answer)
    texts = [converted(hit.source, TextSource) for hit in hits.hits.hits[: body["size"]]]
    return Candidates(
        branches=branches,
        missing=[one for one in patterns if not _selected(one, branches)],
        texts=texts,
        total=hits.hits.total.value,
        failed=hits.shards.failed,
    )


def _branches(patterns: Sequence[str]) -> Query:
    conditions = [{"term": {"kind": "branch"}}, queries.in_branches(patterns, "ref")]
    return {
        "query": {"bool": {"filter": conditions}},
        "size": MOST_BRANCHES,
        "_source": ["branch"],
    }


def _branches_in(answer: object) -> dict[str, Branch]:
    hits = converted(answer, _Answer).hits.hits
    found = [converted(hit.source, _Branch).branch for hit in hits]
    return {branch.ref: branch for branch in sorted(found, key=lambda branch: branch.ref)}


def _selected(pattern: str, branches: Mapping[str, Branch]) -> bool:
    import re

    regex = "".join(
        "[^@]*" if one == "*" else "[^@]" if one == "?" else re.escape(one) for one in pattern
    )
    return any(re.fullmatch(regex, ref) for ref in branches)
