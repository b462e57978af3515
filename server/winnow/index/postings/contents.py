"""Compute what the index keeps of one text for search; a worker computes it, the server writes it
into a segment.

It depends only on the text and the file extension, so the same text in another place, or restored
after a change, is not read again. Data that depends on the path is computed at query time.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from msgspec import Struct

from winnow.index.postings.chunks import chunks_of
from winnow.index.postings.comments import comments_of
from winnow.index.postings.imports import imports_of
from winnow.index.postings.notebooks import NOTEBOOK, without_outputs
from winnow.index.postings.term_counts import Postings, TermCounts
from winnow.index.postings.terms import pack_names, pack_terms, words
from winnow.index.postings.trigrams import Trigrams, trigrams_of
from winnow.symbols.file_symbols import CONTAINERS, Definition

Unit = Literal["chunk", "document"]


class ContentField(Struct, frozen=True):
    """A kind of terms with its own postings: per chunk or per document.

    With ``frequencies``, a segment stores how many units contain each term: queries need that of
    many terms, without their postings.
    """

    name: str
    unit: Unit
    frequencies: bool = False


# In the order of `Contents.fields`. A change here, or to other code that computes contents, changes
# the store version automatically.
FIELDS = (
    # All words of the chunk.
    ContentField("body", "chunk", frequencies=True),
    # The parts of the names that the chunk defines.
    ContentField("definition", "chunk"),
    # The parts of the names of the definitions around the chunk, and of what contains its own.
    ContentField("context", "chunk"),
    # The words of comments and docstrings.
    ContentField("comment", "document"),
    # The same, before the first function or value: the text's description of itself.
    ContentField("head", "document"),
    # The parts of the names of classes and other types.
    ContentField("type", "document"),
    # All defined names, not split, see :func:`winnow.index.postings.terms.name_term`.
    ContentField("name", "document"),
    # The words of import lines, not split: the files that this one uses.
    ContentField("import", "document", frequencies=True),
)
BODY, DEFINITION, _CONTEXT, _COMMENT, HEAD, _TYPE, _NAME, _IMPORTED_NAME = range(len(FIELDS))
# Numbers per document, in the order of `Contents.measures`: lines; definitions outside functions,
# and the functions among them; lines that import or re-export; 1 if the text says that a program
# generated it.
MEASURES = ("lines", "definitions", "functions", "imports", "generated")
# Numbers per chunk, see `Contents.chunks`.
CHUNK_COLUMNS = 6


class Contents(Struct, frozen=True, array_like=True):
    """Everything that the index keeps of one text.

    ``chunks`` has six 32-bit numbers for each chunk, of at most 65,535 chunks: its first and last
    line, from 1; the definition that contains it or that it has first, from 1, or 0 for none; the
    number of definitions before it; and its numbers of lines that are comments, and that import.
    ``vectors`` are 8-bit, one row per chunk and one for the document, empty without a model.
    ``covered`` is False if the trigrams do not cover the entire text, because parts were masked or
    left out: a text search must read the file.
    """

    trigrams: Trigrams
    chunks: bytes
    fields: Sequence[Postings]
    measures: Sequence[float]
    vectors: bytes = b""
    covered: bool = True


# Marks of generated files. Go's is in its documentation.
_GENERATED = re.compile(
    r"(?i)\bdo not (?:edit|modify)\b|@generated\b|\b(?:auto-?|automatically |code )generated\b"
    r"|\bgenerated (?:by|from)\b"
)
_GENERATED_CHARACTERS = 2_000
# How lines of comments begin in most languages; of a docstring, only the first.
_COMMENT_SIGNS = ("#", "//", "/*", "*", "--", ";", "%", '"""', "{-")
# Kinds of definitions that are searched for by name and have members.
TYPES = (CONTAINERS | {"type"}) - {"section"}
FUNCTIONS = frozenset(("function", "method", "constructor", "macro"))
# A file describes itself at its beginning.
_HEAD_LINES = 80


# The rest of a longer line is data.
_LINE_CHARACTERS = 2_000


def contents_of(
    path: str,
    text: bytes,
    definitions: Sequence[Definition],
    language: str,
    *,
    covered: bool,
    for_text_search: bool = True,
) -> Contents:
    """Return what the index keeps of a text in UTF-8, without vectors. Only the file extension of
    the path counts; of a notebook, the words of outputs are left out. Without ``for_text_search``
    there are no trigrams, which take half of the time."""
    written = without_outputs(text) if path.endswith(NOTEBOOK) else text
    chunks = chunks_of(written, definitions)
    lines = _lines(written)
    joined = "\n".join(lines)
    known = [definition for definition in definitions if not definition.local]
    first = min(
        (definition.line for definition in known if definition.kind not in TYPES),
        default=len(lines),
    )
    comments = "\n".join(comments_of(joined, language))
    head = "\n".join(comments_of("\n".join(lines[: min(first, _HEAD_LINES)]), language))
    types = [
        definition.name
        for definition in known
        if definition.kind in TYPES and not definition.declared
    ]
    functions = sum(definition.kind in FUNCTIONS for definition in known)
    located = [*imports_of(joined)]
    imports = {line for _, line in located}
    imported = [word for line in imports for word in set(words(line))]
    terms = TermCounts(len(FIELDS))
    terms.add(_COMMENT, pack_terms(words(comments)))
    terms.add(HEAD, pack_terms(words(head)))
    terms.add(_TYPE, pack_terms(types))
    terms.add(_NAME, pack_names(definition.name for definition in known))
    terms.add(_IMPORTED_NAME, pack_names(imported))
    placed = _placed(chunks, definitions)
    for names in _names_by_chunk(chunks, known):
        terms.add(DEFINITION, pack_terms(names))
    for place in placed:
        terms.add(_CONTEXT, pack_terms(words(" ".join(place.context))))
    del joined, comments  # in a text of megabytes, the words of its chunks need as much memory
    for a, b in chunks:
        terms.add(BODY, pack_terms(words("\n".join(lines[a - 1 : b]))))
    return Contents(
        trigrams=trigrams_of(text if for_text_search else b""),
        chunks=_numbered(chunks, placed, lines, sorted({at for at, _ in located})).tobytes(),
        fields=terms.postings(),
        measures=[
            len(lines),
            len(known),
            functions,
            len(imports),
            float(bool(_GENERATED.search(head[:_GENERATED_CHARACTERS]))),
        ],
        covered=covered,
    )


def _lines(text: bytes) -> list[str]:
    """Return the lines of a text, without the parts that are data."""
    lines = text.decode("utf-8", "replace").split("\n")
    if len(text) > _LINE_CHARACTERS:
        return [line[:_LINE_CHARACTERS] for line in lines]
    return lines


class _Placed(NamedTuple):
    """A chunk among the definitions: the number of the one that contains it, or that it has first,
    from 1, or 0 for none; how many begin before it; and the names of those that have half of its
    lines, and of the classes of its members."""

    number: int
    before: int
    context: Sequence[str]


def _placed(chunks: Sequence[tuple[int, int]], definitions: Sequence[Definition]) -> list[_Placed]:
    found = []
    known = sorted(enumerate(definitions, 1), key=lambda each: each[1].line)
    lines = [definition.line + 1 for _, definition in known]
    # In the order of the text, so that those of a chunk follow each other.
    reached = list(accumulate((definition.line + 1 for definition in definitions), max))
    begun = 0
    around: list[tuple[int, Definition]] = []
    for first, last in chunks:
        # Definitions of earlier chunks that have not ended, and those that begin here.
        behind = bisect_left(lines, first)
        around += known[begun:behind]
        around = [each for each in around if each[1].end_line + 1 >= first]
        begun = behind
        inside = known[behind : bisect_right(lines, last)]
        here = [*around, *inside]
        holding = [each for each in here if each[1].line < first and each[1].end_line + 1 >= last]
        number = 0
        if holding:
            number, _ = min(holding, key=lambda each: each[1].end_line - each[1].line)
        else:
            number = next((number for number, each in inside if not each.local), 0)
        # Of a function that ends in the first lines, the chunk shows little.
        half = (last - first + 1) / 2
        names = [each.name for _, each in here if _common(each, first, last) >= half]
        names += [each.container for _, each in inside if not each.local]
        found.append(_Placed(number, bisect_left(reached, first), list(dict.fromkeys(names))))
    return found


def _common(definition: Definition, first: int, last: int) -> int:
    """Return how many of some lines, from 1, a definition has."""
    return min(definition.end_line + 1, last) - max(definition.line + 1, first) + 1


def _numbered(
    chunks: Sequence[tuple[int, int]],
    placed: Sequence[_Placed],
    lines: Sequence[str],
    imports: Sequence[int],
) -> array[int]:
    """Return the numbers in `Contents.chunks`. ``imports`` are the numbers of lines that import."""
    found = array("I")
    for (first, last), place in zip(chunks, placed, strict=True):
        stripped = map(str.lstrip, lines[first - 1 : last])
        comments = sum(line.startswith(_COMMENT_SIGNS) for line in stripped)
        importing = bisect_right(imports, last) - bisect_left(imports, first)
        found.extend((first, last, place.number, place.before, comments, importing))
    return found


def _names_by_chunk(
    chunks: Sequence[tuple[int, int]], definitions: Sequence[Definition]
) -> list[list[str]]:
    """Return the names that each chunk defines."""
    firsts = [first for first, _ in chunks]
    names: list[list[str]] = [[] for _ in chunks]
    for definition in definitions:
        names[max(bisect_right(firsts, definition.line + 1) - 1, 0)].append(definition.name)
    return names
