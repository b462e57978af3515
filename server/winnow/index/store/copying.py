"""Copy the data of texts from another store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from winnow.index.postings.building import MOST_DOCUMENTS
from winnow.index.store import rows
from winnow.index.store.file_record import FileRecord, FileState
from winnow.index.store.reader import Reader, StoredText
from winnow.index.store.rows import StillMatches
from winnow.index.store.size_limits import SizeLimits
from winnow.index.store.store import Store
from winnow.storage.database import StoreDamaged

# Files of another store that are copied in one transaction.
COPIED_AT_ONCE = 500


def copy_texts(
    store: Store,
    other: Store,
    files: Mapping[str, tuple[FileState, bytes]],
    is_still: StillMatches = lambda path, state: True,
    limits: SizeLimits | None = None,
) -> Iterator[list[str]]:
    """Copy the data of files whose text another store has; ``files`` are states and keys by
    path, as far as an index with these limits can reuse it. For ``is_still`` see
    :meth:`Store.write`.
    Yields the paths after each transaction; any thread may request the next.

    Raises StoreDamaged, DatabaseError and OSError, also for errors of the other store. Files
    that were yielded before are complete.
    """
    paths: dict[bytes, list[str]] = {}
    for path, (_, key) in files.items():
        paths.setdefault(key, []).append(path)
    with other.read() as reader:
        for texts in _grouped(reader.places(paths)):
            segment = _copy_documents(store, other, reader, texts)
            places = (
                {key: (segment, document) for document, key in enumerate(texts)} if segment else {}
            )
            for at in range(0, len(texts), COPIED_AT_ONCE):
                known = {
                    key: text
                    for key in list(texts)[at : at + COPIED_AT_ONCE]
                    if (text := reader.known_text(key)) is not None
                    and rows.is_reusable(text.problem, limits)
                }
                batch = {
                    path: _reused_record(text, files[path][0], key)
                    for key, text in known.items()
                    for path in paths[key]
                    if is_still(path, files[path][0])
                }
                with store.transaction() as connection:
                    if segment and not rows.has_segment(connection, segment):
                        return  # another process has merged it: it had few files yet
                    rows.write(connection, batch, (), places, is_still)
                yield list(batch)
    store.merger.merge_small()


def _copy_documents(
    store: Store, other: Store, reader: Reader, texts: Mapping[bytes, tuple[int | None, int]]
) -> int | None:
    """Write a segment with the documents of another store at these places, in their order;
    return its number. Returns None if the texts have no documents."""
    documents: dict[int, dict[int, bytes]] = {}
    for key, (segment, document) in texts.items():
        if segment is None:
            return None
        documents.setdefault(segment, {})[document] = key
    names, parts = reader.segments(), []
    for number, keys in documents.items():
        known = other.segments.get(names[number])
        if any(known.keys[document] != key for document, key in keys.items()):
            raise StoreDamaged("a text does not match its row")
        parts.append((known, list(keys)))
    name, size = store.segments.merge(parts)
    return store.merger.add(name, len(texts), size)


def _grouped(
    places: Mapping[bytes, tuple[int | None, int]],
) -> Iterator[dict[bytes, tuple[int | None, int]]]:
    """Yield the places of texts in groups, each for one segment: those without a document, and
    the others in the order of their documents, so that each segment is read once or twice."""
    without = {key: place for key, place in places.items() if place[0] is None}
    if without:
        yield without
    ordered = sorted((place, key) for key, place in places.items() if place[0] is not None)
    for at in range(0, len(ordered), MOST_DOCUMENTS):
        yield {key: place for place, key in ordered[at : at + MOST_DOCUMENTS]}


def _reused_record(known: StoredText, state: FileState, key: bytes) -> FileRecord:
    state = FileState(state.mtime_ns, state.ctime_ns, state.size, known.problem)
    return FileRecord(state, known.language, known.symbols, key, binary=known.binary)
