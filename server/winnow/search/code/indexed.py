"""Search the index for passages, and check them against the current files.

If a file changed after it was indexed, the index reads it again and the search is repeated.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from winnow.index.builder.disk_scan import ContentExclusions
from winnow.index.not_covered import NotCovered
from winnow.index.workspace_index import CATCH_UP_SECONDS
from winnow.ranking.candidates import Candidate
from winnow.ranking.local import (
    FEEDBACK,
    defined_here,
    hit_of,
    loose_text,
    possible_definitions,
)
from winnow.ranking.term_matches import MatchedTerms
from winnow.ranking.unknown_words import unknown_words
from winnow.search.index.retry import again_if_damaged, index_files, retry_until_current
from winnow.search.index.state import Covers, left_out_of
from winnow.search.shared.scope import SharedScope, shared_roots
from winnow.search.symbols.search import SEARCH_SECONDS
from winnow.text.paths import containing_root, read_below
from winnow.text.scope import Scope
from winnow.text.selection import file_type_globs
from winnow.types import Hit, IndexState
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.index.postings.corpus import Corpus
    from winnow.index.snapshot import Snapshot
    from winnow.index.vectors.embeddings import EmbeddingModel
    from winnow.ranking.matched_corpus import LooseText


# How long a search waits for changed files to be indexed before it also searches texts.
STALE_SECONDS = 0.5
# How long a search waits for the definitions of the files that it shows.
DEFINITIONS_SECONDS = 2.0
# A larger file is not read to see whether it has a word.
READ_BYTES = 1024**2
# A passage without any word of the query needs at least this score.
NEAR = 0.02


class IndexHits(Struct, frozen=True):
    """The best passage of each file, best first.

    ``known`` are the files whose text is indexed, as paths of the scope, unless all should be.
    ``is_current`` is True if the files with hits have not changed since they were indexed.
    ``left_out`` are files that are never indexed. ``model`` is the embedding model, if any.
    ``unknown_words`` of the query are in no text, if they are many and all texts are indexed.
    """

    hits: Sequence[Hit]
    known: frozenset[str]
    state: IndexState
    is_current: bool = True
    left_out: NotCovered = NotCovered()
    model: str | None = None
    unknown_words: Sequence[str] = ()


class _IndexSearch(Struct, frozen=True):
    """A search for ``wanted`` hits. The first ``shown`` get the definitions in and around them.
    ``covers`` is None for all files of the scope. The known files are listed if some are left out
    because the index ``is_full``, or if it is not ready."""

    query: str
    wanted: int
    shown: int
    scope: Scope
    covers: Covers | None
    boosts: Mapping[str, float]
    embeddings: str
    matched: Sequence[tuple[Candidate, MatchedTerms]]
    is_full: bool = False


class _Searched(NamedTuple):
    """The result of one search. By absolute path, ``changed`` are files with hits that changed
    since they were indexed, and ``undefined`` are shown files of which only the text is indexed."""

    found: IndexHits
    changed: list[str]
    undefined: list[str]


@again_if_damaged
async def search_index(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    wanted: int,
    *,
    shown: int = 0,
    boosts: Mapping[str, float] = MappingProxyType({}),
    matched: Sequence[tuple[Candidate, MatchedTerms]] = (),
    patient: bool = True,
) -> IndexHits:
    """Return the passages in the index for a query: at least ``wanted``, if there are as many.

    The first ``shown`` get the definitions in and around them. ``boosts`` raise files because of
    feedback, by absolute path. All files with matches of search terms, ``matched``, are ranked,
    too, also those that are not indexed. A search that is not ``patient`` does not wait for changed
    files, nor for definitions of the shown files that are not indexed yet.

    Raises InvalidParams for a file type that ripgrep does not know, and IndexUnavailable.
    """
    types: Sequence[re.Pattern[str]] = ()
    if scope.filters.file_types:
        ripgrep = workspace.run_ripgrep()
        types = await file_type_globs(ripgrep, scope.root, scope.filters.file_types)

    only = scope.selector(types) if scope.is_filtered else None
    embeddings = workspace.config.index.embeddings
    search_for = _IndexSearch(query, wanted, shown, scope, only, boosts, embeddings, matched)
    found: list[IndexHits] = []
    undefined: list[str] = []
    patience = CATCH_UP_SECONDS

    async def search() -> tuple[list[str], IndexState]:
        snapshot = workspace.index.corpus(workspace.buffers, patience)
        async with snapshot as (make, state, view):
            left_out = await left_out_of(workspace, scope, only, view)
            asked = msgspec.structs.replace(search_for, is_full=bool(left_out.size_limit))
            searched = await view.read(_search_snapshot, view, make, asked, state)
        found[:] = [msgspec.structs.replace(searched.found, left_out=left_out)]
        undefined[:] = searched.undefined
        return searched.changed, state

    is_current = await retry_until_current(workspace, search, None, SEARCH_SECONDS)
    if patient and found[0].state.state == "stale":
        # Searching texts instead would take about as long.
        patience = STALE_SECONDS
        is_current = await retry_until_current(workspace, search, None, SEARCH_SECONDS)
    # Without definitions, a passage may begin and end anywhere, and no name in it is a definition.
    if patient and await index_files(workspace, undefined, DEFINITIONS_SECONDS):
        is_current = await retry_until_current(workspace, search, None, SEARCH_SECONDS)
    return msgspec.structs.replace(found[0], is_current=is_current)


@again_if_damaged
async def missing_files(
    workspace: EngineWorkspace, scope: Scope, texts: Sequence[Hit], known: frozenset[str]
) -> frozenset[str]:
    """Return the files with text hits that are not indexed in their current state, as paths of the
    scope, without those that are never indexed."""
    exclusions = ContentExclusions(workspace.config.index.exclude_patterns)
    paths = [hit.path for hit in texts if not exclusions.contains(scope.locate(hit.path)[1])]
    indexed = {scope.absolute(path): path for path in paths if path in known}
    async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
        changed = await view.read(view.changed, indexed)
    return frozenset(
        [*(path for path in paths if path not in known), *map(indexed.__getitem__, changed)]
    )


def _search_snapshot(
    view: Snapshot, make: Callable[[], Corpus], search_for: _IndexSearch, state: IndexState
) -> _Searched:
    """Search a snapshot; runs in a thread."""
    from winnow.index.vectors.embeddings import load_model

    corpus = make()
    model = load_model(search_for.embeddings)
    hits, paths = _search(view, corpus, search_for, model)
    has_vectors = any(part.segment.vectors is not None for part in corpus.parts)
    undefined: list[str] = []
    known: frozenset[str] = frozenset()
    if state.state != "ready":
        shown = [search_for.scope.absolute(hit.path) for hit in hits[: search_for.shown]]
        undefined = view.without_definitions(shown)
    if state.state != "ready" or search_for.is_full:
        known = _Files(corpus, search_for.scope, search_for.covers).known()
    unknown: Sequence[str] = ()
    is_question = not search_for.matched and not isinstance(search_for.scope, SharedScope)
    # A word that is in no indexed text may be in one of those left out.
    if is_question and state.knows_all_texts and not search_for.is_full:
        unknown = unknown_words(corpus, search_for.query, functools.partial(_text_of, corpus))
    found = IndexHits(
        hits,
        known,
        state,
        model=model.name if model is not None and has_vectors else None,
        unknown_words=unknown,
    )
    return _Searched(found, view.changed(paths), undefined)


def _text_of(corpus: Corpus, file: int) -> bytes | None:
    """Return the text of an indexed file; None if it is large or cannot be read."""
    path = f"{corpus.roots[int(corpus.root_of[file])].rstrip('/')}/{corpus.paths[file]}"
    return read_below(path, corpus.roots, READ_BYTES)


def _search(
    view: Snapshot,
    corpus: Corpus,
    search_for: _IndexSearch,
    model: EmbeddingModel | None,
) -> tuple[list[Hit], list[str]]:
    """Return the hits, and their files by absolute path."""
    from winnow.ranking.semantic.search import search

    boosts = search_for.boosts
    indexed = len(corpus.paths)
    shared: Mapping[str, LooseText] = {}
    if isinstance(search_for.scope, SharedScope):
        shared = search_for.scope.texts
        corpus = _with_shared(corpus, search_for.scope, model)
    corpus, matched = _with_matched(corpus, search_for.scope, search_for.matched, model)
    files = _Files(corpus, search_for.scope, search_for.covers)
    found = search(
        corpus,
        search_for.query,
        limit=search_for.wanted + len(matched),
        allowed=None if files.all_are_covered else files.covered,
        boosts=_by_number(corpus, boosts),
        matched=matched,
        dense=model,
    )
    hits: list[Hit] = []
    paths: list[str] = []
    for passage in found:
        path = files.path(passage.file)
        assert path is not None
        root = corpus.roots[int(corpus.root_of[passage.file])].rstrip("/")
        full = f"{root}/{corpus.paths[passage.file]}"
        learned = FEEDBACK[boosts[full] > 0] if full in boosts else ""
        if not (passage.why or learned or passage.file in matched):
            if passage.score < NEAR:
                continue  # it has no evidence
            learned = "close in meaning to the question"
        hit = hit_of(passage, path, learned, matched=passage.file in matched)
        is_known = passage.file < indexed or full in shared
        if passage.symbol is None and len(hits) < search_for.shown and is_known:
            places = possible_definitions(passage)
            if full in shared:
                definitions = shared[full].definitions_at(places, passage.number - 1)
            else:
                definitions = view.definitions_at(full, places, passage.number - 1)
            here = [*defined_here(definitions, passage.first)]
            hit = msgspec.structs.replace(hit, definitions=here)
        if passage.file < indexed and len(paths) < search_for.wanted:
            paths.append(full)
        hits.append(hit)
    return hits, paths


def _with_shared(corpus: Corpus, scope: SharedScope, model: EmbeddingModel | None) -> Corpus:
    """Return the corpus with the texts of a cluster."""
    from winnow.ranking.matched_corpus import with_texts

    roots = [root.as_posix() for root in shared_roots(scope)]
    located = [containing_root(path, roots) for path in scope.texts]
    new = [(len(corpus.roots) + at[0], at[1]) for at in located if at]
    numbered = enumerate(scope.texts.values(), len(corpus.paths))
    # The words of others are not indexed.
    files = {number: text for number, text in numbered if text.contents or text.lines}
    return with_texts(corpus, files, new, roots, model)


def _with_matched(
    corpus: Corpus,
    scope: Scope,
    matched: Sequence[tuple[Candidate, MatchedTerms]],
    model: EmbeddingModel | None,
) -> tuple[Corpus, dict[int, MatchedTerms]]:
    """Return the corpus with the files that have matches, and the matches by file number."""
    if not matched:
        return corpus, {}
    import numpy as np

    from winnow.ranking.matched_corpus import with_texts

    numbers = _numbers(corpus)
    has_text = np.zeros(len(corpus.paths), np.bool_)
    for part in corpus.parts:
        has_text[part.files] = True
    roots = {root.rstrip("/"): place for place, root in enumerate(corpus.roots)}
    found: dict[int, MatchedTerms] = {}
    lacking: dict[int, LooseText] = {}
    new: list[tuple[int, str]] = []
    for file, matches in matched:
        number = numbers.get(scope.absolute(file.path))
        if number is None:
            root, below = scope.locate(file.path)
            if (place := roots.get(root.as_posix().rstrip("/"))) is None:
                continue
            number = len(corpus.paths) + len(new)
            new.append((place, below))
        found[number] = matches
        if number >= len(has_text) or not has_text[number]:
            lacking[number] = loose_text(file)
    return with_texts(corpus, lacking, new, model=model), found


class _Files:
    """The files of a corpus by number, with the paths that a scope uses."""

    def __init__(self, corpus: Corpus, scope: Scope, covers: Covers | None) -> None:
        self._corpus = corpus
        self._scope = scope
        self._covers = covers
        places = {root.as_posix().rstrip("/"): place for place, root in enumerate(scope.roots)}
        self._places = [places.get(root.rstrip("/")) for root in corpus.roots]
        self._known: dict[int, str | None] = {}

    @property
    def all_are_covered(self) -> bool:
        """True if the scope covers all files."""
        return self._covers is None and None not in self._places

    def covered(self, file: int) -> bool:
        """Return True if the scope covers a file."""
        return self.path(file) is not None

    def path(self, file: int) -> str | None:
        """Return the path of a file as ripgrep prints it; None if the scope does not cover it."""
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
        """Return the indexed files with texts."""
        numbers = {number for part in self._corpus.parts for number in part.files.tolist()}
        return frozenset(path for path in map(self.path, numbers) if path is not None)


def _by_number(corpus: Corpus, boosts: Mapping[str, float]) -> dict[int, float]:
    """Return the boosts by file number instead of absolute path."""
    if not boosts:
        return {}
    numbers = _numbers(corpus)
    return {numbers[path]: boost for path, boost in boosts.items() if path in numbers}


def _numbers(corpus: Corpus) -> Mapping[str, int]:
    """Return the numbers of files by absolute path, cached in the corpus."""
    found: dict[str, int] | None = corpus.cache.get("numbers")
    if found is None:
        roots = [root.rstrip("/") for root in corpus.roots]
        owners = corpus.root_of.tolist()
        found = corpus.cache["numbers"] = {
            f"{roots[owner]}/{path}": number
            for number, (owner, path) in enumerate(zip(owners, corpus.paths, strict=True))
        }
    return found


def merged(
    indexed: Sequence[Hit], texts: Sequence[Hit], missing: frozenset[str], share: float
) -> list[Hit]:
    """Merge hits of the index with text hits in files that it lacks.

    A text hit keeps its rank among the text hits, which come from all files. The index has a
    ``share`` of the files, so a hit of the index gets the rank that is likely among all. Scores are
    those of the index.
    """
    places: list[tuple[float, bool, Hit]] = [
        ((place + 0.5) / share - 0.5, False, hit)
        for place, hit in enumerate(indexed)
        if hit.path not in missing
    ]
    places += [(place, True, hit) for place, hit in enumerate(texts) if hit.path in missing]
    places.sort(key=lambda place: place[:2])
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
