"""Find files by name: by a path, a part of one, a glob, or letters of a name."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence

from winnow.config.globs import GLOB_CHARACTERS
from winnow.errors import InvalidParams, PathOutsideWorkspace, SearchTimedOut
from winnow.search.answer.completeness import completeness_of, links_of, unsaved_failed
from winnow.search.answer.hits import HitList
from winnow.search.grep.prefilter import indexed_files
from winnow.symbols.search.match import EXACT, PART, PREFIX, WORDS, Pattern, fold, is_subsequence
from winnow.text.buffers import unsaved_overlay
from winnow.text.listing import list_files
from winnow.text.paths import containing_root, path_of_uri, shared_ending
from winnow.text.scope import Scope, path_matcher
from winnow.types import COMPLETE, Hit, Progress
from winnow.workspace import EngineWorkspace

# Scores of a query with folders: the end of a file's path, a folder with the file below it, the
# folders in order with others between them, and other folders.
END_OF_PATH = 0.99
BELOW_FOLDER = 0.95
FURTHER_FOLDERS = 0.9
OTHER_FOLDERS = 0.5
# A path of another machine needs this many equal folders and names at its end.
EQUAL_NAMES = 2
# A word that matches only the name of a folder.
IN_FOLDER = 0.5
# A query in code search means a file if the best match has this score. Matches of scattered letters
# are below it.
LIKELY = WORDS

_SEPARATORS = re.compile(r"[\\/]+")


async def files_named(
    workspace: EngineWorkspace,
    scope: Scope,
    name: str,
    progress: Progress,
    line: int | None = None,
) -> HitList:
    """Return the files that match a name, a path, a part of one or a glob, best first.

    Raises SearchTimedOut, and InvalidParams for a bad glob.
    """
    async with workspace.search_slots:
        progress(f"Searching files: {name[:60]}")
        ripgrep = workspace.run_ripgrep()
        if (indexed := await indexed_files(workspace, ripgrep, scope)) is not None:
            hits = await asyncio.to_thread(
                _hits, scope, name, indexed.paths, line, covers=indexed.covers
            )
            if _is_likely(hits):
                return HitList(scope, hits, len(hits), COMPLETE, warnings=scope.warnings)
        # Otherwise, count what a search skips: perhaps the file is ignored.
        with unsaved_overlay(workspace.buffers, scope) as overlay:
            listing = await list_files(ripgrep, scope, overlay)
        if listing.timed_out and not listing.paths:
            raise SearchTimedOut(ripgrep.seconds)
        hits = await asyncio.to_thread(_hits, scope, name, listing.paths, line)
        completeness = completeness_of(
            ripgrep,
            listing.skipped_files,
            timed_out=listing.timed_out,
            unreadable=listing.unreadable,
            links=await links_of(ripgrep, scope, listing.skipped_files),
        )
    warnings = [*scope.warnings, *unsaved_failed(overlay)]
    return HitList(scope, hits, len(hits), completeness, warnings=warnings)


def is_meant(found: HitList) -> bool:
    """Return True if the user probably means the best match."""
    return _is_likely(found.hits)


def has_name(found: HitList) -> bool:
    """Return True if the best match has all of the name, but perhaps no extension."""
    return bool(found.hits) and found.hits[0].score >= END_OF_PATH


def _is_likely(hits: Sequence[Hit]) -> bool:
    return bool(hits) and hits[0].score >= LIKELY


def _hits(
    scope: Scope,
    name: str,
    paths: Sequence[str],
    line: int | None,
    covers: Callable[[str], bool] = lambda path: True,
) -> list[Hit]:
    below = _below_roots(scope, name)
    located = [(path, scope.locate(path)[1]) for path in paths]
    matched: Sequence[tuple[float, str]]
    if GLOB_CHARACTERS.intersection(below):
        # `[id]` is the name of a folder, in some frameworks.
        matched = [(EXACT, path) for path, at in located if f"/{at}".endswith(f"/{below}")]
        if not matched:
            matches = _glob(below, scope)
            matched = [(EXACT, path) for path, _ in located if matches(path)]
    else:
        words = [_Word(word) for word in ([below] if "/" in below else below.split())]
        matched = [(score, path) for path, at in located if (score := _score(words, at))]
        if not any(score >= LIKELY for score, _ in matched):
            matched = _by_ending(below, located) or matched
    matched = [(score, path) for score, path in matched if covers(path)]
    best = max((score for score, _ in matched), default=0.0)
    return [
        Hit(path, "file", round(score, 3), first=line, last=line)
        for score, path in sorted(
            matched, key=lambda match: (-match[0], match[1].count("/"), match[1])
        )
        if score >= PART or best < PART
    ]


def _by_ending(name: str, located: Sequence[tuple[str, str]]) -> list[tuple[float, str]]:
    """Return the files with the most equal names at the end of their path: on another machine, the
    path begins with further folders. ``located`` are paths in the scope and below their root."""
    names = name.split("/")
    equal = {path: shared_ending(names, below.split("/")) for path, below in located}
    most = max(equal.values(), default=0)
    if most < EQUAL_NAMES:
        return []
    return [(FURTHER_FOLDERS, path) for path, count in equal.items() if count == most]


def _below_roots(scope: Scope, name: str) -> str:
    """Return a path relative to its root, with ``/``."""
    name = path_of_uri(name) or name
    if name.startswith("~/"):
        name = os.path.expanduser(name)
    if os.path.isabs(name):
        roots = [str(root) for root in scope.roots]
        held = containing_root(os.path.normpath(name), roots)
        if held is not None:
            return held[1]
    name = re.sub(r"^[A-Za-z]:(?=[\\/])", "", name)
    if not GLOB_CHARACTERS.intersection(name):
        name = _SEPARATORS.sub("/", name)
    return re.sub(r"^(?:\.{1,2}/)+|^/+", "", name)


def _glob(pattern: str, scope: Scope) -> Callable[[str], bool]:
    try:
        return path_matcher("query", pattern, scope)
    except PathOutsideWorkspace as error:
        raise InvalidParams("query", error.message) from None


class _Word:
    """A word of a query for a path: folders, and a name."""

    def __init__(self, text: str) -> None:
        folders, _, name = text.rpartition("/")
        self.text = text
        self.folded = fold(text)
        self.letters = self.folded.replace("/", "")
        self.folders = [fold(folder) for folder in folders.split("/") if folder]
        self.name = Pattern(name) if name else None
        self.is_whole_name = "." in name

    def score(self, path: str) -> float:
        """Return how well a path matches, up to 1; 0 if it does not."""
        folded = fold(path)
        if not is_subsequence(self.letters, folded):
            return 0.0
        if folded == self.folded:
            return EXACT if path == self.text else END_OF_PATH
        folders = folded.split("/")[:-1]
        if self.name is None:  # everything below some folders
            return PREFIX if _in_order(self.folders, folders) else 0.0
        stem = folded if self.is_whole_name else re.sub(r"(?<=[^/])\.[^/]*\Z", "", folded)
        if f"/{stem}".endswith(f"/{self.folded}"):
            return END_OF_PATH
        if self.folders and f"/{self.folded}/" in f"/{folded}":
            return BELOW_FOLDER
        value = self._name_score(path.rpartition("/")[2])
        if not self.folders:
            inside = max((self._folder_score(folder) for folder in folders), default=0.0)
            return max(value, inside * IN_FOLDER)
        return value * (FURTHER_FOLDERS if _in_order(self.folders, folders) else OTHER_FOLDERS)

    def _name_score(self, name: str) -> float:
        assert self.name is not None
        stem = name.split(".", 1)[0] if not self.is_whole_name and name[0] != "." else ""
        return max(self.name.score(name), END_OF_PATH * self.name.score(stem) if stem else 0.0)

    def _folder_score(self, folder: str) -> float:
        assert self.name is not None
        score = self.name.score(folder)
        return score if score >= WORDS else 0.0


def _score(words: Sequence[_Word], path: str) -> float:
    """Return the mean score of all words; 0 if one does not match."""
    scores = []
    for word in words:
        scores.append(word.score(path))
        if not scores[-1]:
            return 0.0
    return sum(scores) / len(scores) if scores else 0.0


def _in_order(wanted: Sequence[str], folders: Sequence[str]) -> bool:
    """Return True if each wanted folder is a prefix of a folder of the path, in order."""
    rest = iter(folders)
    return all(any(folder.startswith(name) for folder in rest) for name in wanted)
