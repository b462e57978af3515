"""The scope of a search that also covers candidates of a search cluster.

Apart from what reads the cluster's documents, because every search knows of such scopes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from winnow.search.answer.completeness import with_reasons
from winnow.storage.paths import shown_path
from winnow.text.paths import containing_root
from winnow.text.scope import Scope, display_path
from winnow.types import Completeness, InRepository, SharedState

if TYPE_CHECKING:
    from winnow.cluster.documents import Branch
    from winnow.ranking.matched_corpus import LooseText
    from winnow.symbols.file_symbols import FileSymbols


class SharedScope(Scope, frozen=True, kw_only=True):
    """A scope whose last roots are folders with candidates of a cluster, one for each of
    ``branches``. They exist as long as the request.

    ``texts`` and ``symbols`` are what is known of their files, by absolute path. ``state`` is what
    the cluster has contributed, and ``reasons`` why the answer may lack some of it.
    """

    state: SharedState
    reasons: Sequence[str] = ()
    branches: Sequence[Branch] = ()
    texts: Mapping[str, LooseText] = {}
    symbols: Mapping[str, FileSymbols] = {}

    @property
    def local_roots(self) -> int:
        """The number of roots that are folders of the workspace."""
        return len(self.roots) - len(self.branches)

    def shown(self, path: str) -> InRepository:
        """Return a path as results show it: that of a candidate with its repository."""
        root, below = self.locate(path)
        place = self.roots.index(root) - self.local_roots
        if place < 0:
            return display_path(root, below, several=self.local_roots > 1)
        branch = self.branches[place]
        return InRepository(
            path=shown_path(below)[0], repository=branch.ref, commit=branch.commit, origin="cluster"
        )


def shared_roots(scope: Scope) -> Sequence[Path]:
    """Return the folders with a cluster's files."""
    return scope.roots[scope.local_roots :] if isinstance(scope, SharedScope) else ()


def shared_files(scope: Scope) -> dict[Path, list[str]]:
    """Return a cluster's files, by their folder and as paths below it."""
    found: dict[Path, list[str]] = {root: [] for root in shared_roots(scope)}
    roots = [root.as_posix() for root in found]
    for path in scope.texts if isinstance(scope, SharedScope) else ():
        if located := containing_root(path, roots):
            found[Path(roots[located[0]])].append(located[1])
    return found


def shared_symbols(scope: Scope) -> Mapping[str, FileSymbols]:
    """Return the symbols of a cluster's files, by absolute path."""
    return scope.symbols if isinstance(scope, SharedScope) else {}


def shared_texts(scope: Scope, paths: Sequence[str]) -> dict[str, LooseText]:
    """Return the texts of a cluster whose words are known, by their paths in the scope."""
    known = scope.texts if isinstance(scope, SharedScope) else {}
    return {
        path: dataclasses.replace(text, path=path)
        for path in paths
        if (text := known.get(scope.absolute(path))) is not None and text.contents is not None
    }


def with_shared(completeness: Completeness, scope: Scope) -> Completeness:
    """Return the completeness with what a cluster has contributed, if it was to."""
    if not isinstance(scope, SharedScope):
        return completeness
    completeness = with_reasons(completeness, *scope.reasons)
    return msgspec.structs.replace(completeness, shared=scope.state)
