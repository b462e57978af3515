"""What is kept of one text for search: made by a worker, put into a segment by the server.

It depends on the text and on the end of its file's name alone, so that the same text elsewhere, or
back after a change, need not be read again. What depends on the path is added by whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from winnow.symbols.facts import Definition

Unit = Literal["chunk", "document"]


class Field(Struct, frozen=True):
    """A kind of terms, with postings of its own: of each chunk, or of each document."""

    name: str
    unit: Unit


# In the order of `Contents.fields`. A change of it, as of whatever makes contents, gives the store
# another version by itself.
FIELDS = (
    Field("body", "chunk"),
    Field("comment", "document"),
    Field("definition", "document"),
)
# Numbers that are kept for each document, in the order of `Contents.measures`.
MEASURES = ("lines", "definitions")


class Postings(Struct, frozen=True, array_like=True):
    """The terms of one field of one text, as arrays in the machine's order, entry by entry.

    ``terms`` are 64-bit numbers (see :func:`winnow.postings.terms.term_number`), ``units`` 16-bit
    numbers of the chunk (0 in a field of documents), ``counts`` 8-bit, at most 255. Entries are
    sorted by term and unit. ``lengths`` has for each unit how many terms stand there, 32-bit.
    """

    terms: bytes = b""
    units: bytes = b""
    counts: bytes = b""
    lengths: bytes = b""


class Contents(Struct, frozen=True, array_like=True):
    """What is kept of one text.

    ``trigrams`` are those of the text, 32-bit numbers, ascending, each once (see
    :mod:`winnow.postings.trigrams`); ``chunks`` the first and the last line of each chunk, from 1,
    32-bit, at most 65,535 chunks. ``vectors`` are 8-bit, one row a chunk and one more for the
    document as a whole, empty where no model is at hand. ``covered`` is False where the trigrams do
    not tell all of the text: parts of it were masked or left out, and a search of the text must
    read the file.
    """

    trigrams: bytes
    chunks: bytes
    fields: Sequence[Postings]
    measures: Sequence[float]
    vectors: bytes = b""
    covered: bool = True


def contents_of(
    path: str, text: bytes, definitions: Sequence[Definition], language: str, *, covered: bool
) -> Contents:
    """What is kept of a text in UTF-8. Of the path only the name's end may count."""
    import numpy as np

    lines = text.count(b"\n") + 1
    chunks = np.array([[1, lines]], np.uint32).tobytes()
    e = Postings(lengths=np.zeros(1, np.uint32).tobytes())
    return Contents(
        b"", chunks, (e, e, e), (float(lines), float(len(definitions))), covered=covered
    )
