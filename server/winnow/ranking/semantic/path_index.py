"""Words and kinds of paths: which files are named after a query, and what kind of file each is.

All of it is derived from paths alone, once per corpus.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.corpus import Corpus
from winnow.index.postings.terms import (
    name_term,
    parts_of,
    stem,
    term_number,
    terms_of,
    without_convention,
    words,
)
from winnow.index.vectors.best import Floats
from winnow.symbols.search.weight import EXAMPLES, TEST
from winnow.text.paths import shared_ending

Numbers = npt.NDArray[np.int32]

# Names abbreviate: from this length on, `auth` matches `authentication` and vice versa.
ABBREVIATION = 3
ABBREVIATED = 0.8
# A query asks for a kind of file if this share of its words names the kind.
ASKED_SHARE = 1 / 3
# Those of `Traits` between `kinds` and `own`.
_OTHER_TRAITS = 5
# A query looks up the same terms repeatedly.
_CACHED_TERMS = 256

_SIDE = re.compile(
    # `org/example` is a name of a package in Java and Kotlin.
    rf"(?<!\borg)(?<!\bcom)(?:^|/)(?:_?examples?|{EXAMPLES}|docs?_src|legacy|_?compat|deprecated)"
    r"(?:/|$)",
    re.I,
)
_PROSE = re.compile(
    r"\.(?:md|mdx|markdown|rst|adoc|txt|po|pot|html?|svg|tex|org|mdoc)$"
    # The manual of a command; not a version, as in `libcurl.so.4`.
    r"|(?:^|/)[\w-]+\.[1-9]$"
    r"|(?:^|/)(?:readme|changelog|changes|news|history|authors|license|licence|copying|todo)[^/]*$",
    re.I,
)
_DATA = re.compile(
    r"\.(?:json|ya?ml|toml|ini|cfg|conf|csv|tsv|lock|xml|plist|properties|css|scss|less|snap|cmake|mk"
    r"|in|am|ac|m4|gradle|csproj|sln|resx|gemspec|cabal)$"
    r"|(?:^|/)(?:\.[^/]+|makefile[^/]*|cmakelists\.txt|dockerfile[^/]*)$",
    re.I,
)
_GENERATED = re.compile(
    r"(?:^|/)(?:vendor|third_party|node_modules|dist|build|generated|external|gen)/"
    r"|\.min\.[a-z]+$|[._]pb2?\.[a-z.]+$|\.generated\.|_generated\.|\.g\.[a-z]+$",
    re.I,
)
# Message catalogs in several languages. Modules are named after the language.
_FOLDERS = "locales?|i18n|l10n|lang|languages?|translations?|messages"
_LANGUAGE = "[a-z]{2}(?:[_@-][A-Za-z]{2,6}){0,2}"
_TRANSLATIONS = re.compile(
    r"\.(?:po|pot|xlf|xliff|arb|xcstrings)$|\.lproj/|(?:^|/)values(?:-[^/]+)?/strings\.xml$"
    rf"|(?:^|/)(?:{_FOLDERS})/(?:.*/)?(?:[^/]*\.(?:json5?|ya?ml|properties|ftl|res[wx]|xml)"
    rf"|(?:{_LANGUAGE}(?:/[^/]*)?|[^/]*[._-][a-z]?{_LANGUAGE})\.(?:[cm]?[jt]s|php|py|rb))$"
)
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|d\.[cm]?ts|pyi|mli|hrl)$")
_WORDS = re.compile(r"[\w-]+")
_DECLARATIONS = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
# Files that represent their folder and get its name.
FRONTS = frozenset("__init__ index init mod lib main package-info prelude default".split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


# The words of queries about tests.
ABOUT_TESTS = _stems("test spec fixture mock testing")
ABOUT_TRANSLATIONS = _stems("i18n l10n language languages locale locales localization translation")
# Kinds of files that queries seldom ask for, and the words with which they do.
KINDS: tuple[tuple[str, re.Pattern[str], frozenset[str]], ...] = (
    ("test", TEST, ABOUT_TESTS),
    ("side", _SIDE, _stems("example sample demo benchmark legacy compat compatibility deprecated")),
    ("prose", _PROSE, _stems("doc docs documentation readme changelog license")),
    ("data", _DATA, _stems("config configuration settings package build makefile")),
    ("generated", _GENERATED, _stems("generated vendor vendored build dist")),
)


def unasked_kinds(stems: Set[str]) -> frozenset[str]:
    """Return the kinds of files that a query with these words does not ask for: "Fix build with
    base >= 4.8" is not about builds."""
    return frozenset(
        name for name, _, words in KINDS if len(words & stems) < max(1, ASKED_SHARE * len(stems))
    )


def is_translation(path: str) -> bool:
    """Return True if a file has texts in one of several languages, judged by its path."""
    return bool(_TRANSLATIONS.search(path))


def name_of(path: str) -> tuple[str, str, bool]:
    """Return the folders and the name of a file, and True if it represents its folder: for
    `parser/mod.rs` they are those of `parser`."""
    folders, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.lstrip(".").split(".")[0] or name
    if stem in FRONTS and folders:
        around, _, own = folders.rpartition("/")
        return around, own, True
    return folders, stem, stem in FRONTS


class Traits(NamedTuple):
    """The kinds of some files, judged by their paths, as arrays by file.

    ``kinds`` has a row for each of `KINDS`. ``paired`` is 1 if another file in the same folder has
    the same name and another extension. ``own`` is the folder that a file represents (`parser` for
    `parser/mod.rs` and `parser.rs`), or -1. ``whole`` is the number of its name as one term, and
    ``whole_name`` that of the same without stemming.
    """

    kinds: Floats
    front: Floats
    header: Floats
    declarations: Floats
    paired: Floats
    depth: Floats
    own: Numbers
    whole: npt.NDArray[np.uint64]
    whole_name: npt.NDArray[np.uint64]


class PathIndex:
    """An index of the words of all paths.

    ``files`` is the number of files; a deleted file has an empty path. ``ranks`` are the positions
    of files in the order of paths: unlike their numbers, they don't depend on the order in which
    files were indexed.

    ``terms`` are all terms, sorted. The name of file `i` has the term numbers
    ``name_terms[name_starts[i] : name_starts[i + 1]]``; the folder ``folders[i]`` has its own in
    the same way. ``of_names`` and ``of_folders`` find files and folders by these terms. ``parents``
    is the parent of each folder, or -1.

    ``base`` is the index of the first paths, if there is one: the other ones are added to a copy.
    """

    def __init__(self, paths: Sequence[str], base: PathIndex | None = None) -> None:
        self._paths = paths
        # The traits of the files that were needed so far: most of a large code base never are.
        self._has_traits = np.zeros(len(paths), np.bool_)
        self._traits = np.zeros((len(KINDS) + _OTHER_TRAITS, len(paths)), np.float32)
        self._own = np.zeros(len(paths), np.int32)
        self._wholes = np.zeros((2, len(paths)), np.uint64)
        self._files_by_name: dict[str, list[int]] | None = None
        self._named: dict[str, tuple[list[int], list[float]]] = {}
        # In the order of the paths.
        self._term_numbers: dict[str, int] = dict(base._term_numbers if base else {})
        self._of_word: dict[str, list[int]] = dict(base._of_word if base else {})
        self._stems: Counter[tuple[str, str]] = Counter(base._stems if base else {})
        self._numbers: dict[str, int] = dict(base._numbers if base else {})
        self._terms_of_folders: list[list[int]] = list(base._terms_of_folders if base else [])
        self._parents: list[int] = list(base._parents if base else [])
        self._terms_of_names: list[list[int]] = list(base._terms_of_names if base else [])
        numbers, of_word, of_folder = self._term_numbers, self._of_word, self._numbers
        folder_terms, names, parents = self._terms_of_folders, self._terms_of_names, self._parents

        def numbered(name: str) -> list[int]:
            found = of_word.get(name)
            if found is None:
                terms = terms_of(_one_word(name))
                found = [numbers.setdefault(term, len(numbers)) for term in terms]
                of_word[name] = found
            return found

        def folder(path: str) -> int:
            found = of_folder.get(path)
            if found is None:
                around, _, name = path.rpartition("/")
                parent = folder(around) if path else -1
                terms = dict.fromkeys([*(folder_terms[parent] if path else ()), *numbered(name)])
                found = of_folder[path] = len(folder_terms)
                folder_terms.append(list(terms))
                parents.append(parent)
            return found

        known = len(names)
        folders: Numbers = np.empty(len(paths), np.int32)
        if base:
            folders[:known] = base.folders
        for number in range(known, len(paths)):
            around, name, _ = name_of(paths[number])
            self._stems[around, name] += 1
            folders[number] = folder(around)
            names.append(numbered(name))
        order = np.array(sorted(range(len(numbers)), key=list(numbers).__getitem__), np.int32)
        places = np.empty_like(order)
        places[order] = np.arange(len(order), dtype=np.int32)
        self.terms = sorted(numbers)
        self.name_terms, self.name_starts = _flat(names, places)
        self.folder_terms, self.folder_starts = _flat(folder_terms, places)
        self.of_names = TermRows(self.name_terms, self.name_starts, len(numbers))
        self.of_folders = TermRows(self.folder_terms, self.folder_starts, len(numbers))
        self.folders: Numbers = folders
        self.parents = np.array(parents, np.int32)
        self.files = sum(map(bool, paths))
        self.ranks = np.empty(len(paths), np.int32)
        # Sorting what is almost sorted is fast.
        by_path = [*(base._by_path if base else ()), *range(known, len(paths))]
        self._by_path: list[int] = sorted(by_path, key=paths.__getitem__)
        self.ranks[self._by_path] = np.arange(len(paths), dtype=np.int32)

    def traits(self, files: npt.NDArray[np.int64]) -> Traits:
        """Return the kinds of some files."""
        for file in files[~self._has_traits[files]].tolist():
            self._add_traits(file)
        rows, (whole, whole_name) = self._traits[:, files], self._wholes[:, files]
        front, header, declarations, paired, depth = rows[len(KINDS) :]
        return Traits(
            kinds=rows[: len(KINDS)],
            front=front,
            header=header,
            declarations=declarations,
            paired=paired,
            depth=depth,
            own=self._own[files],
            whole=whole,
            whole_name=whole_name,
        )

    def _add_traits(self, file: int) -> None:
        path = self._paths[file]
        around, name, front = name_of(path)
        in_one = "".join(words(name))
        self._traits[:, file] = (
            *(bool(pattern.search(path)) for _, pattern, _ in KINDS),
            front,
            bool(_HEADER.search(path)),
            bool(_DECLARATIONS.search(path)),
            self._stems[around, name] > 1,
            around.count("/") + bool(around),
        )
        self._own[file] = self._numbers.get(f"{around}/{name}" if around else name, -1)
        wholes = name_term(in_one), without_convention(in_one)
        self._wholes[:, file] = list(map(term_number, wholes))
        # Last, for other threads.
        self._has_traits[file] = True

    def has(self, term: str) -> bool:
        """Return True if a path has a term."""
        return term in self._term_numbers

    def named(self, term: str) -> tuple[list[int], list[float]]:
        """Return the terms that match a term, with weights: itself, shorter and longer forms."""
        found = self._named.get(term)
        if found is None:
            if len(self._named) >= _CACHED_TERMS:
                self._named.clear()
            found = self._named[term] = self._matching(term)
        return found

    def _matching(self, term: str) -> tuple[list[int], list[float]]:
        first = bisect_left(self.terms, term)
        numbers, weights = [], []
        for number in range(first, len(self.terms)):
            if not self.terms[number].startswith(term):
                break
            exact = self.terms[number] == term
            if exact or len(term) >= ABBREVIATION:
                numbers.append(number)
                weights.append(1.0 if exact else ABBREVIATED)
        for length in range(ABBREVIATION, len(term)):
            place = bisect_left(self.terms, term[:length])
            if place < len(self.terms) and self.terms[place] == term[:length]:
                numbers.append(place)
                weights.append(ABBREVIATED)
        return numbers, weights

    def written_as(self, paths: Iterable[str]) -> dict[int, float]:
        """Return the files that paths in a text may be, with 1 divided by the number of files that
        the same path may be. A path may be absolute on another machine, or end like the file's."""
        found: dict[int, float] = {}
        for path in paths:
            files = self._ending_like(path.strip("/").split("/"))
            for file in files:
                found[file] = max(found.get(file, 0.0), 1 / len(files))
        return found

    def _ending_like(self, parts: Sequence[str]) -> list[int]:
        """Return the files that end with the most parts of a path: with two, or with all."""
        files = self._by_name().get(parts[-1], [])
        shared = [shared_ending(self._paths[file].split("/"), parts) for file in files]
        most = max(shared, default=0)
        if most < min(2, len(parts)):
            return []
        return [file for file, count in zip(files, shared, strict=True) if count == most]

    def _by_name(self) -> dict[str, list[int]]:
        """Return the files by the last part of their paths."""
        if self._files_by_name is None:
            by_name: dict[str, list[int]] = {}
            for file, path in enumerate(self._paths):
                if path:
                    by_name.setdefault(path.rpartition("/")[2], []).append(file)
            self._files_by_name = by_name
        return self._files_by_name

    def matching_words(self, name: str, terms: Iterable[str]) -> list[str]:
        """Return the words of a name, as written, that match some of the terms: the entire name if
        it is meant as a whole, as `i18n` is, and consists of words only. Other characters of a name
        may be those of a terminal, or a link."""
        meant = {self.terms[number] for term in terms for number in self.named(term)[0]}
        word = _one_word(name)
        parts = parts_of(word)
        if len(parts) > 1 and without_convention(word) in meant and _WORDS.fullmatch(name):
            return [name]
        return [part for part in parts if meant.intersection(terms_of(part))]


def path_index_of(corpus: Corpus) -> PathIndex:
    """Return the index of the paths of a corpus, cached there."""
    index = corpus.cache.get("paths")
    if not isinstance(index, PathIndex):
        base = corpus.cache.get("first paths")
        index = corpus.cache["paths"] = PathIndex(corpus.paths, base)
    return index


class TermRows:
    """Rows by the numbers of their terms: row `i` has ``terms[starts[i] : starts[i + 1]]``, of
    ``count`` terms in total."""

    def __init__(self, terms: Numbers, starts: Numbers, count: int) -> None:
        self._size = len(starts) - 1
        order = np.argsort(terms, kind="stable")
        self._rows = np.repeat(np.arange(self._size, dtype=np.int32), np.diff(starts))[order]
        self._starts: list[int] = np.searchsorted(terms[order], np.arange(count + 1)).tolist()

    def best(self, terms: Iterable[int], weights: Iterable[float]) -> Floats:
        """Return the greatest weight of each row's terms; 0 for a row with none of the terms."""
        found = np.zeros(self._size, np.float32)
        for weight, term in sorted(zip(weights, terms, strict=True)):
            found[self._rows[self._starts[term] : self._starts[term + 1]]] = weight
        return found


def _one_word(name: str) -> str:
    """Return the name of a file or folder as one identifier: `test_run` for `test-run`."""
    return "_".join(words(name))


def _flat(rows: Sequence[Sequence[int]], places: Numbers) -> tuple[Numbers, Numbers]:
    """Return all rows in one array, with each number replaced by its place, and their starts."""
    starts = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    numbers = np.fromiter(chain.from_iterable(rows), np.int32, int(starts[-1]))
    return places[numbers], starts
