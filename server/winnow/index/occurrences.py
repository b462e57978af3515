"""Find the files whose occurrences a request needs and the store does not have yet.

The trigrams of the stored texts name the files that may contain a name. Once all of these have been
read for a name, only files that were indexed since can lack its occurrences.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.symbols.view import IMPORT_OF

if TYPE_CHECKING:
    from winnow.index.store.file_table import FileTable
    from winnow.index.store.reader import Reader

MOST_NAMES = 1_000
# Files since the last search for a name that are read without looking up which of them have it.
MOST_SINCE = 50
# Names that JavaScript may use without writing them, and the words that stand for them.
_STAND_FOR = {
    "default": ("default", "import", "export", "require"),
    "constructor": ("constructor", "super"),
}


class UnreadFiles(Struct, frozen=True):
    """Files without occurrences: ``files`` that are needed in any case, and others that may contain
    one of some names. ``stamp`` is the last transaction of the ``store`` that changed a text."""

    files: Sequence[str]
    with_names: Sequence[str]
    store: object
    stamp: int


class SearchedNames:
    """The names whose files have been read, with the last transaction that changed a text then."""

    def __init__(self) -> None:
        self._stamps: OrderedDict[str, tuple[object, int]] = OrderedDict()

    def add(self, names: Sequence[str], unread: UnreadFiles) -> None:
        """Record that all files with these names have been read."""
        for name in names:
            self._stamps[name] = unread.store, unread.stamp
            self._stamps.move_to_end(name)
        while len(self._stamps) > MOST_NAMES:
            self._stamps.popitem(last=False)

    def stamp(self, name: str, store: object) -> int | None:
        """Return the transaction up to which the files with a name were read; None if unknown."""
        known, stamp = self._stamps.get(name, (None, 0))
        return stamp if known is store else None


def words_for(names: Sequence[str]) -> list[str]:
    """Return words of which a text with an occurrence of one of some names has one."""
    written = (name.removeprefix(IMPORT_OF) for name in names)
    return [word for name in written for word in _STAND_FOR.get(name, (name,))]


def unread_files(
    reader: Reader,
    table: Callable[[], FileTable],
    names: Sequence[str],
    paths: Collection[str],
    searched: SearchedNames,
) -> UnreadFiles:
    """Return the files without occurrences among ``paths``, and others that may contain one of some
    names. Raises StoreDamaged."""
    if not reader.has_partial():
        return UnreadFiles((), (), reader.store, 0)
    found: set[str] = set()
    new: list[str] = []
    for name in names:
        since = _texts_since(reader, searched.stamp(name, reader.store))
        if since is None:
            new.append(name)
        else:
            found.update(since)
    if new:
        found |= _files_with(reader, table(), words_for(new))
    files = reader.partial_among(paths)
    with_names = reader.partial_among(found.difference(files))
    return UnreadFiles(files, sorted(with_names), reader.store, reader.last_text())


def _texts_since(reader: Reader, stamp: int | None) -> list[str] | None:
    """Return the files written since a transaction; None if it is unknown, or if reading so many
    takes longer than looking up a name again: a build may have begun only then."""
    if stamp is None:
        return None
    since = [path for path, *_ in islice(reader.texts_since(stamp), MOST_SINCE + 1)]
    return since if len(since) <= MOST_SINCE else None


def _files_with(reader: Reader, table: FileTable, words: Sequence[str]) -> set[str]:
    """Return the files that may contain one of some words."""
    import numpy as np

    from winnow.index.postings.trigrams import condition_of
    from winnow.text.ripgrep import TextPattern

    state = table.at(reader)
    found = [state.uncovered, state.binary]
    conditions = [condition_of(TextPattern(word, literal=True)) for word in words]
    for part in state.with_segments(reader):
        has = np.zeros(part.segment.documents, np.bool_)
        for condition in conditions:
            has[part.segment.documents_with(condition)] = True
        found.append(part.files[has[part.documents]])
    return {state.paths[number] for number in np.concatenate(found).tolist()}
