"""Passages from the index: what can be ranked is searched, and held against the files as they are.

A file that turns out to be another than the one that the index knows is read anew, and the search
made once more, until all that was found is as it was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from winnow.index.build.disk_scan import ContentExclusions
from winnow.index.report import NotCovered
from winnow.index.workspace_index import CATCH_UP_SECONDS
from winnow.ranking.local import FEEDBACK
from winnow.search.index.retry import again_if_damaged, retry_until_current
from winnow.search.index.state import Covers, left_out_of
from winnow.search.symbols.search import SEARCH_SECONDS
from winnow.text.scope import Scope
from winnow.text.selection import file_type_globs
from winnow.types import Hit, IndexState, ScopeParams
from winnow.workspace import Workspace

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus
    from winnow.index.snapshot import Snapshot
    from winnow.index.vectors.embeddings import EmbeddingModel
    from winnow.ranking.semantic.search import FoundPassage
    from winnow.symbols.file_symbols import Definition


# For so long, a search waits for what is being read before it searches texts as well.
STALE_SECONDS = 0.5
# Without a word of the query in it, a passage is answered if it is so likely to be meant.
NEAR = 0.02


class IndexHits(Struct, frozen=True):
    """What the index has found: the best passage of each file, the best first; and, where that are
    not all files, those that it ``knows``, as paths of the scope. ``settled`` says that those in
    which something was found are known as they are now, ``left_out`` what can never be found.
    ``model`` is that whose vectors were asked, if there are some."""

    hits: Sequence[Hit]
    knows: frozenset[str]
    state: IndexState
    settled: bool
    left_out: NotCovered
    model: str | None = None


class _Asked(Struct, frozen=True):
    """What a search asks for: so many hits as are ``wanted``, of which so many are ``shown`` with
    the definitions that they are in. ``covers`` is None for all files of the scope."""

    query: str
    wanted: int
    shown: int
    scope: Scope
    covers: Covers | None
    boosts: Mapping[str, float]
    embeddings: str


class _Looked(NamedTuple):
    """What one look has found; ``changed`` are files of hits that are not as they are known, by
    absolute path."""

    hits: list[Hit]
    changed: list[str]
    model: str | None
    knows: frozenset[str]


@again_if_damaged
async def search_index(
    workspace: Workspace,
    params: ScopeParams,
    scope: Scope,
    query: str,
    wanted: int,
    *,
    shown: int = 0,
    boosts: Mapping[str, float] = MappingProxyType({}),
    patient: bool = True,
) -> IndexHits:
    """The passages that the index has for a query, at least so many if there are.

    The first ones, as many as are to be ``shown``, name the symbol that they are in; ``boosts``
    move files for what became of earlier searches, by absolute path. Who is not ``patient`` takes
    what is known, though files are being read.

    Raises InvalidParams for a file type that ripgrep does not know, and IndexUnavailable.
    """
    types: Sequence[re.Pattern[str]] = ()
    if params.file_types:
        types = await file_type_globs(workspace.run_ripgrep(), scope.root, params.file_types)

    def covers(place: int, below: str) -> bool:
        return scope.within_paths(place, below) and scope.covers_named(
            scope.prefix(place) + below, types
        )

    narrowed = bool(params.path or params.include or params.exclude or params.file_types)
    only = covers if narrowed else None
    embeddings = workspace.config.index.embeddings
    asked = _Asked(query, wanted, shown, scope, only, boosts, embeddings)
    found: list[IndexHits] = []
    patience = CATCH_UP_SECONDS

    async def look() -> tuple[list[str], IndexState]:
        snapshot = workspace.index.corpus(workspace.buffers, patience)
        async with snapshot as (make, state, view):
            looked = await view.read(_look, view, make, asked, state)
            left_out = await left_out_of(workspace, scope, only, view)
        found[:] = [IndexHits(looked.hits, looked.knows, state, True, left_out, looked.model)]
        return looked.changed, state

    is_settled = await retry_until_current(workspace, look, None, SEARCH_SECONDS)
    if patient and found[0].state.state == "stale":
        # To search texts instead would take about as long as to wait.
        patience = STALE_SECONDS
        is_settled = await retry_until_current(workspace, look, None, SEARCH_SECONDS)
    return msgspec.structs.replace(found[0], settled=is_settled)


@again_if_damaged
async def lacking(
    workspace: Workspace, scope: Scope, texts: Sequence[Hit], knows: frozenset[str]
) -> frozenset[str]:
    """Of files that were found by their texts, those that the index does not know as they are now,
    as paths of the scope; without those of which it is to keep nothing."""
    emptied = ContentExclusions(workspace.config.index.exclude_patterns)
    paths = [hit.path for hit in texts if not emptied.has(scope.locate(hit.path)[1])]
    known = {scope.absolute(path): path for path in paths if path in knows}
    async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
        changed = await view.read(view.changed, known)
    return frozenset(
        [*(path for path in paths if path not in knows), *map(known.__getitem__, changed)]
    )


def _look(view: Snapshot, make: Callable[[], Corpus], asked: _Asked, state: IndexState) -> _Looked:
    """Search what is known at this moment; in a thread."""
    from winnow.index.vectors.embeddings import load_model

    corpus = make()
    files = _Files(corpus, asked.scope, asked.covers)
    model = load_model(asked.embeddings).model
    hits, paths = _search(view, corpus, files, asked, model)
    has_vectors = any(part.segment.vectors is not None for part in corpus.parts)
    return _Looked(
        hits,
        view.changed(paths),
        model.name if model is not None and has_vectors else None,
        frozenset() if state.state == "ready" else files.known(),
    )


def _search(
    view: Snapshot, corpus: Corpus, files: _Files, asked: _Asked, model: EmbeddingModel | None
) -> tuple[list[Hit], list[str]]:
    """Hits, and the files that were found, by absolute path."""
    from winnow.ranking.semantic.search import search

    boosts = asked.boosts
    found = search(
        corpus,
        asked.query,
        limit=asked.wanted,
        allowed=None if files.all_are_covered else files.covered,
        boosts=_by_number(corpus, boosts),
        dense=model,
    )
    hits: list[Hit] = []
    paths: list[str] = []
    for one in found:
        path = files.path(one.file)
        assert path is not None
        root = corpus.roots[int(corpus.root_of[one.file])].rstrip("/")
        paths.append(f"{root}/{corpus.paths[one.file]}")
        learned = FEEDBACK[boosts[paths[-1]] > 0] if paths[-1] in boosts else ""
        if not (one.why or learned):
            if one.score < NEAR:
                continue  # nothing speaks for it
            learned = "near in meaning"
        symbol = one.symbol
        if symbol is None and one.number and len(hits) < asked.shown:
            symbol = view.definition_at(paths[-1], one.number - 1)
        hits.append(_hit(one, path, symbol, learned))
    return hits, paths


class _Files:
    """The files of a corpus by their numbers, as a scope names them."""

    def __init__(self, corpus: Corpus, scope: Scope, covers: Covers | None) -> None:
        self._corpus = corpus
        self._scope = scope
        self._covers = covers
        places = {root.as_posix().rstrip("/"): place for place, root in enumerate(scope.roots)}
        self._places = [places.get(root.rstrip("/")) for root in corpus.roots]
        self._known: dict[int, str | None] = {}

    @property
    def all_are_covered(self) -> bool:
        """Whether no file need be asked for."""
        return self._covers is None and None not in self._places

    def covered(self, file: int) -> bool:
        """Whether the scope covers a file."""
        return self.path(file) is not None

    def path(self, file: int) -> str | None:
        """The path of a file as ripgrep prints it; None for one that the scope does not cover."""
        if file not in self._known:
            self._known[file] = self._path(file)
        return self._known[file]

    def _path(self, file: int) -> str | None:
        place = self._places[int(self._corpus.root_of[file])]
        below = self._corpus.paths[file]
        if place is None or (self._covers is not None and not self._covers(place, below)):
            return None
        return self._scope.prefix(place) + below

    def known(self) -> frozenset[str]:
        """The files whose texts can be found."""
        numbers = {number for part in self._corpus.parts for number in part.files.tolist()}
        return frozenset(path for path in map(self.path, numbers) if path is not None)


def _by_number(corpus: Corpus, boosts: Mapping[str, float]) -> dict[int, float]:
    """What moves files, by their numbers instead of their absolute paths."""
    if not boosts:
        return {}
    if (numbers := corpus.kept.get("numbers")) is None:
        roots = [root.rstrip("/") for root in corpus.roots]
        owners = corpus.root_of.tolist()
        numbers = corpus.kept["numbers"] = {
            f"{roots[owner]}/{path}": number
            for number, (owner, path) in enumerate(zip(owners, corpus.paths, strict=True))
        }
    return {numbers[path]: boost for path, boost in boosts.items() if path in numbers}


def _hit(found: FoundPassage, path: str, symbol: Definition | None, learned: str) -> Hit:
    return Hit(
        path,
        "passage",
        round(found.score, 4),
        "; ".join([*[learned] * bool(learned), *found.why]),
        first=found.first,
        last=found.last,
        symbol=symbol.qualified_name if symbol is not None else None,
    )


def merged(indexed: Sequence[Hit], texts: Sequence[Hit], lacking: frozenset[str]) -> list[Hit]:
    """The hits of an index, and between them those of files that it lacks: each at the place that
    it has among all files by their texts. Scores are the index's."""
    places: list[tuple[int, bool, Hit]] = [
        (place, False, hit) for place, hit in enumerate(indexed) if hit.path not in lacking
    ]
    places += [(place, True, hit) for place, hit in enumerate(texts) if hit.path in lacking]
    places.sort(key=lambda one: one[:2])
    scores: list[float] = []
    following = iter([hit.score for _, is_text, hit in places if not is_text])
    ahead = next(following, 0.0)
    found = []
    for _, is_text, hit in places:
        score = scores[-1] if is_text and scores else ahead if is_text else hit.score
        if not is_text:
            ahead = next(following, hit.score)
        scores.append(score)
        found.append(msgspec.structs.replace(hit, score=score))
    return found
