"""Find definitions by a query: first the matching names, then their definitions.

Names come first, best first (:mod:`winnow.symbols.search.name_table`). Their definitions are then
scored with container, path and kind. A definition whose name equals the query precedes all others,
wherever it is.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec
from msgspec import Struct

from winnow.symbols.extract.packed import last_name
from winnow.symbols.file_symbols import CLASSES, CONTAINERS, Definition
from winnow.symbols.search.match import EXACT, EXACT_BUT_CASE, PREFIX, Pattern, fold, is_subsequence
from winnow.symbols.search.name_table import JUDGED, NameTable, find_names
from winnow.symbols.search.query import SymbolQuery, Term, without_packages
from winnow.symbols.search.weight import FileCategory, category_of, weight
from winnow.symbols.view import File, SymbolView

# The score of a word that only matches a container or a complete component of the path; else a part
# of the path.
AROUND = 0.5
IN_PATH = 0.3
# For each name skipped between two that a qualified query names.
SKIPPED = 0.9
# A path component can be a module, as in `json.dumps`; a container is the more frequent meaning.
MODULE = 0.97
# Members inherited from a base class, and the maximum number of bases searched.
INHERITED = 0.9
BASES = 20
# Containers that the word before the dot can mean.
CONTAINERS_TRIED = 40
# Names looked up if there are filters: the best matches may all be elsewhere.
FILTERED = 5_000
# Kinds that an empty query lists.
LISTED = frozenset(
    ("class", "struct", "union", "interface", "trait", "enum", "object", "type", "function")
)
# Files that a module path does not name.
_INDEX_FILES = frozenset(("__init__", "__main__", "index", "mod", "lib", "main"))


class Symbol(Struct, frozen=True):
    """A definition that matches.

    ``name`` is its name, or the part of the qualified name that the query named, with the
    separators as typed, because clients filter results again by the typed text. ``category`` comes
    from :func:`~winnow.symbols.search.weight.category_of`.
    """

    file: File
    definition: Definition
    score: float
    name: str
    exact: bool
    category: FileCategory | None

    @property
    def order(self) -> tuple[bool, float, str, int]:
        """The sort key of results; the score includes the length of the name."""
        return not self.exact, -self.score, self.file.path, self.definition.at


class SymbolMatches(Struct, frozen=True):
    """Symbols, the best first. ``total`` counts all matches; it is a lower bound unless
    ``all_seen``."""

    symbols: list[Symbol]
    total: int
    all_seen: bool
    timed_out: bool = False


class Finder:
    """A search in one view.

    ``accepts`` filters files. ``only`` lists the files to search, if they are few. ``seconds``
    limits the time. ``prune`` stops as soon as the best symbols are known; the total is then a
    lower bound. ``exact`` requires names equal to the query; a member may be inherited if no other
    has the name. ``roots`` are those of files that the view has besides its folders.
    """

    def __init__(
        self,
        view: SymbolView,
        tables: Iterable[NameTable],
        query: SymbolQuery,
        *,
        accepts: Callable[[File], bool] | None = None,
        only: Sequence[str] | None = None,
        limit: int = 100,
        seconds: float = 1.0,
        prune: bool = False,
        exact: bool = False,
        roots: Sequence[str] = (),
    ) -> None:
        self.view = view
        self.tables = list(tables)
        self.query = query
        self.accepts = accepts
        self.only = only
        self.limit = limit
        self.prune = prune
        self.exact = exact
        self.until = time.monotonic() + seconds
        self.terms = [_Matcher(term, exact) for term in query.terms]
        self._filters = bool(accepts or query.kinds or query.paths or query.languages)
        all_roots = [*view.roots(), *roots]
        self._roots = sorted((f"{root.rstrip('/')}/" for root in all_roots), key=len)
        self._below = lru_cache(None)(self._below_root)
        self._category = lru_cache(None)(lambda path: category_of(self._below(path)))
        self._fits = lru_cache(None)(self._matches_filters)
        # Several containers of a query are often in one file.
        self._definitions_in = lru_cache(64)(view.definitions_in)
        self._found: dict[tuple[str, int, str], Symbol] = {}
        self._best: list[tuple[bool, float]] = []  # the scores of the best, up to ``limit``
        self._is_rewritten = False
        self._all_seen = True
        self._timed_out = False

    def find(self, open_files: Sequence[str] = ()) -> SymbolMatches:
        """Return the symbols. An empty query lists some of ``open_files`` first."""
        if self.only is not None:
            symbols = [symbol for path in self.only for symbol in self._in_file(path)]
            symbols.sort(key=attrgetter("order"))
        elif self.terms:
            self._find_by_names()
            self._find_members(inherited=not self.exact)
            if self.exact and not self._found:
                self._find_members(inherited=True)
            for terms in () if self.exact else self._rewritten():
                if self._found:
                    break
                self.terms, self._is_rewritten = terms, True
                self._find_by_names()
                self._find_members(inherited=True)
            symbols = sorted(self._found.values(), key=attrgetter("order"))
        else:
            symbols = self._listed(open_files)
        return SymbolMatches(
            symbols[: self.limit], len(self._found), self._all_seen, self._timed_out
        )

    # --- by names --------------------------------------------------------------------------

    def _find_by_names(self) -> None:
        """Score the definitions of matching names, best first, until the rest cannot be better."""
        for bound, name in self._names():
            if self._is_late() or (self.prune and self._is_enough(bound)):
                self._all_seen = False
                return
            for file, definition in self.view.definitions(name):
                self._judge(file, definition)

    def _names(self) -> list[tuple[float, str]]:
        """Return names that match a word, with an upper bound for their definitions' score."""
        limit = max(FILTERED if self._filters else JUDGED, 2 * self.limit)
        names: set[str] = set()
        for matcher in self.terms:
            for pattern, score in matcher.patterns():
                found = find_names(self.tables, pattern, limit, score)
                names.update(name for _, name in found.names)
                self._all_seen &= found.all_seen and found.total <= len(found.names)
        bounds = [
            (sum(matcher.best(name) for matcher in self.terms) / len(self.terms), name)
            for name in names
        ]
        return sorted(bounds, key=lambda item: (-item[0], len(item[1]), item[1]))

    def _is_enough(self, bound: float) -> bool:
        if len(self._found) < self.limit or bound >= EXACT_BUT_CASE:
            return False
        return self._best[0] >= (False, bound)

    def _is_late(self) -> bool:
        if time.monotonic() > self.until:
            self._timed_out = True
        return self._timed_out

    def _rewritten(self) -> Iterator[list[_Matcher]]:
        """Yield the words in other spellings: getObject, if the user typed get_object; a name
        without its packages."""
        terms = self.query.terms
        if any("_" in term.text.strip("_") for term in terms):
            yield [
                _Matcher(msgspec.structs.replace(term, text=term.text.replace("_", "")), False)
                for term in terms
            ]
        if len(terms) == 1:
            yield from ([_Matcher(term, False)] for term in without_packages(terms[0]))

    # --- members ---------------------------------------------------------------------------

    def _find_members(self, *, inherited: bool) -> None:
        """Score the members of containers that match the word before the dot, and ``inherited``
        ones."""
        for matcher in self.terms:
            if not matcher.term.qualifiers:
                continue
            pattern = Pattern(matcher.term.qualifiers[-1])
            found = find_names(self.tables, pattern, CONTAINERS_TRIED)
            best = found.names[0][0] if found.names else 0.0
            # If there is a Foo, `Foo.` does not mean FooBar.
            least = EXACT_BUT_CASE if best >= EXACT_BUT_CASE else min(best, PREFIX)
            for score, name in found.names:
                if self._is_late() or score < least:
                    break
                for file, definition in self.view.definitions(name):
                    if definition.kind in CONTAINERS:
                        self._judge_members(file, definition)
                        least_of_heir = EXACT if self.exact else EXACT_BUT_CASE
                        if inherited and matcher.term.text and score >= least_of_heir:
                            self._judge_inherited(file, definition)

    def _judge_inherited(self, file: File, container: Definition) -> None:
        """Score the members of a class's bases, and of their bases."""
        classes = [(file, container)]
        names = {container.name}
        while classes and len(names) <= BASES and not self._is_late():
            for base in self._bases(*classes.pop()):
                if base in names:
                    continue
                names.add(base)
                for where, definition in self.view.definitions(base):
                    if definition.kind in CLASSES:
                        classes.insert(0, (where, definition))
                        self._judge_members(where, definition, heir=container.name)

    def _bases(self, file: File, container: Definition) -> list[str]:
        """Return the names of a class's bases."""
        scope_table = self.view.scope_table(file.path)
        if scope_table is None:
            return []
        return [
            last_name(base)
            for number, bases in scope_table.bases.items()
            if scope_table.scopes[number].name == container.name
            and container.start <= scope_table.scopes[number].start <= container.end
            for base in bases
        ]

    def _judge_members(self, file: File, container: Definition, heir: str = "") -> None:
        if not self._fits(file):
            return
        for definition in self._definitions_in(file.path):
            # The container may be spelled in another way: `impl Foo`, `Foo::bar() {}`.
            if definition.container.rpartition(".")[2] == container.name:
                self._judge(file, definition, heir=heir)

    # --- without words ---------------------------------------------------------------------

    def _listed(self, open_files: Sequence[str]) -> list[Symbol]:
        """Return top-level types and functions of open files, then of the workspace.

        Of the workspace, only exported definitions count, tests last, the shortest names first.
        """
        listed: list[Symbol] = []
        for path in open_files:
            listed += self._in_file(path)
        for path in self.query.paths:
            for file in self.view.files_named(path.rpartition("/")[2]):
                listed += self._in_file(file.path)
        further: list[Symbol] = []
        least = FILTERED if self._filters else JUDGED
        names = find_names(self.tables, Pattern(""), max(least, 4 * self.limit))
        for _, name in names.names:
            if self._is_late() or len(self._found) >= max(2 * self.limit, 200):
                self._all_seen = False
                break
            for file, definition in self.view.definitions(name):
                if (symbol := self._judge(file, definition, again=False)) is not None:
                    further.append(symbol)
        self._all_seen &= names.all_seen and names.total <= len(names.names)
        return listed + sorted(
            further, key=lambda item: (-item.score, len(item.definition.name), item.order)
        )

    def _in_file(self, path: str) -> list[Symbol]:
        """Return the symbols of a file that are not found yet."""
        file = self.view.file(path)
        definitions = self.view.definitions_in(path) if file else []
        found = [self._judge(file, definition, again=False) for definition in definitions if file]
        return [symbol for symbol in found if symbol is not None]

    def _is_listed(self, definition: Definition) -> bool:
        if self.query.kinds is not None or self.only is not None:
            return not definition.local
        top = not definition.container and not definition.local
        return top and definition.exported and definition.kind in LISTED

    # --- a definition ----------------------------------------------------------------------

    def _judge(
        self, file: File, definition: Definition, again: bool = True, heir: str = ""
    ) -> Symbol | None:
        """Score a definition and record it if it matches the query.

        Returns None if it does not match, or if it is already recorded and not ``again``. ``heir``
        is a class that inherits it.
        """
        key = (file.path, definition.at, definition.name)
        if key in self._found:
            return self._found[key] if again else None
        if not self._fits(file):
            return None
        kinds = self.query.kinds
        if kinds is not None and not _is_of_kind(definition, kinds):
            return None
        if not self.terms and not self._is_listed(definition):
            return None
        below = self._below(file.path)
        category = self._category(file.path)
        name, score, exact = definition.name, 0.0, bool(self.terms) and not self._is_rewritten
        for matcher in self.terms:
            match = matcher.judge(definition, below, heir)
            if match is None:
                return None
            score += match.score / len(self.terms)
            exact = exact and match.exact
            name = match.name if matcher.term.qualifiers and name == definition.name else name
        score = (score or EXACT) * weight(definition, category, file.language)
        symbol = Symbol(file, definition, score, name, exact, category)
        self._found[key] = symbol
        if len(self._best) < self.limit:
            heapq.heappush(self._best, (exact, score))
        else:
            heapq.heappushpop(self._best, (exact, score))
        return symbol

    def _below_root(self, path: str) -> str:
        root = next((root for root in reversed(self._roots) if path.startswith(root)), "")
        return path[len(root) :]

    def _matches_filters(self, file: File) -> bool:
        query = self.query
        if query.languages and not any(
            file.language == language or file.path.lower().endswith(f".{language}")
            for language in query.languages
        ):
            return False
        if query.paths:
            below = self._below(file.path)
            if not all(is_in_path(path, below) for path in query.paths):
                return False
        return self.accepts is None or self.accepts(file)


class _Match(Struct, frozen=True):
    score: float
    exact: bool
    name: str


class _Matcher:
    """A word of a query."""

    def __init__(self, term: Term, exact: bool) -> None:
        self.term = term
        self.exact = exact
        self.pattern = Pattern(
            term.text,
            start=term.start or (exact and bool(term.text)),
            end=term.end or (exact and bool(term.text)),
            together=term.together,
            sensitive=exact,
        )
        # A name can contain dots.
        self.whole = Pattern(
            term.whole,
            start=term.start or exact,
            end=term.end or exact,
            together=True,
            sensitive=exact,
        )
        self.score = lru_cache(10_000)(self.pattern.score)
        self.score_whole = lru_cache(10_000)(self.whole.score)

    def patterns(self) -> Iterator[tuple[Pattern, Callable[[str], float]]]:
        """Yield the patterns that a name may match, with their scores of names."""
        if self.term.text:
            yield self.pattern, self.score
        if self.term.qualifiers:
            yield self.whole, self.score_whole

    def best(self, name: str) -> float:
        """Return the highest score that a definition of this name can have."""
        own = max(self.score(name) if self.term.text else 0.0, self._whole(name))
        return own if self.term.qualifiers else max(own, AROUND)

    def _whole(self, name: str) -> float:
        return self.score_whole(name) if self.term.qualifiers else 0.0

    def judge(self, definition: Definition, below: str, heir: str = "") -> _Match | None:
        """Return how well a definition in the file at this path matches, or None."""
        name = definition.name
        if self.term.qualifiers:
            if score := self._whole(name):
                return _Match(score, score == EXACT, name)
            return self._qualified(definition, below) or self._inherited(definition, heir)
        if score := self.score(name):
            return _Match(score, score == EXACT, name)
        if self.exact:
            return None
        if any(map(self.score, definition.container.split("."))) and definition.container:
            return _Match(AROUND, False, name)
        if fold(self.term.text) in re.split(r"[/.]", fold(below)):
            return _Match(AROUND, False, name)
        return _Match(IN_PATH, False, name) if is_in_path(self.term.text, below) else None

    def _inherited(self, definition: Definition, heir: str) -> _Match | None:
        own = self.score(definition.name) if heir else 0.0
        if not own:
            return None
        return _Match(own * INHERITED, False, heir + self.term.separators[-1] + definition.name)

    def _qualified(self, definition: Definition, below: str) -> _Match | None:
        own = self.score(definition.name)
        if not own:
            return None
        found = (
            self._within(definition, below, own, containers) for containers in definition.qualifiers
        )
        return max(filter(None, found), key=lambda match: match.score, default=None)

    def _within(
        self, definition: Definition, below: str, own: float, containers: Sequence[str]
    ) -> _Match | None:
        """Return how well the qualifiers match these containers; ``own`` is the score of the
        name."""
        modules = below.rpartition(".")[0] or below
        # A folder can have the name of a whole package: `Company.Product/Client.cs`.
        path = [part for part in modules.replace(".", "/").split("/") if part]
        # A file may have the name of its type, or stand for its folder.
        is_front = path and (path[-1] in _INDEX_FILES or path[-1] == definition.name)
        if path[-1:] == containers[:1] or (is_front and path[-1] not in self.term.qualifiers):
            path = path[:-1]
        parts = [*path, *containers]
        fits, matched = _placed(self.term.qualifiers, parts, len(path), self.exact)
        if not fits:
            return None
        exact = (own == EXACT or not self.term.text) and fits == EXACT
        return _Match(own * fits, exact, _shown(self.term, parts, matched, definition.name))


def _placed(
    qualifiers: Sequence[str], parts: Sequence[str], modules: int, exact: bool
) -> tuple[float, tuple[int, ...]]:
    """Match words to the parts of a qualified name, in order. Return the quality and the matched
    parts.

    The first ``modules`` parts come from the path. The last word should name the last part.
    """
    if not qualifiers:
        return EXACT, ()
    best: tuple[float, tuple[int, ...]] = (0.0, ())
    for place in range(len(parts) - 1, -1, -1):
        quality = _named(qualifiers[-1], parts[place], place < modules, exact)
        # A match further out cannot make up for the skipped parts.
        bound = SKIPPED ** (len(parts) - 1 - place)
        if bound <= best[0] or (exact and bound < 1):
            break
        if quality:
            outer, places = _placed(qualifiers[:-1], parts[:place], modules, exact)
            if quality * bound * outer > best[0]:
                best = quality * bound * outer, (*places, place)
    return best


def _named(word: str, part: str, is_module: bool, exact: bool) -> float:
    """Return how well a word names a part of a qualified name."""
    if word == part:
        return MODULE if is_module else EXACT
    if exact:
        return 0.0
    short, long = fold(word), fold(part)
    if short == long:
        return MODULE * EXACT_BUT_CASE if is_module else EXACT_BUT_CASE
    # Path components must match completely: people rarely mean them.
    if is_module or not is_subsequence(short, long):
        return 0.0
    return Pattern(word).score(part)


def _shown(term: Term, parts: Sequence[str], matched: Sequence[int], name: str) -> str:
    """Return the qualified name from the first part that the query names, as typed."""
    shown = ""
    typed = -1
    for place in range(matched[0], len(parts)):
        typed += place in matched
        shown += parts[place] + term.separators[typed]
    return shown + name


def is_in_path(text: str, path: str) -> bool:
    """Return True if a path contains a text, ignoring case; with stars, its pieces in order."""
    path = fold(path)
    place = 0
    for piece in fold(text).removeprefix("./").split("*"):
        place = path.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _is_of_kind(definition: Definition, kinds: frozenset[str]) -> bool:
    """Return True if a definition has one of the kinds; constants may be recorded as variables."""
    if definition.kind in kinds:
        return True
    is_variable = definition.kind in ("variable", "field")
    return is_variable and "constant" in kinds and definition.name.isupper()
