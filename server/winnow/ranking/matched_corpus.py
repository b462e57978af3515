"""Add texts to a corpus that are not indexed: whole files, or the lines that ripgrep printed.

So the ranker works without an index, and on files that an index lacks: new ones, documents, and
those whose text is not indexed. Nothing is parsed here: unless a caller knows the definitions of a
file, they are lines that look like one.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from winnow.index.postings.chunks import CHUNK_LINES
from winnow.index.postings.contents import CHUNK_COLUMNS, Contents, contents_of
from winnow.index.postings.corpus import Corpus, CorpusPart, Definitions
from winnow.index.postings.segment import MOST_DOCUMENTS, in_memory
from winnow.index.vectors.embeddings import EmbeddingModel
from winnow.symbols.file_symbols import Definition
from winnow.symbols.language import language_of
from winnow.text.definition_lines import definition_in


@dataclass(frozen=True, eq=False)
class LooseText:
    """Some lines of a file by number, from 1, or all, and its definitions; None if unknown. With
    ``contents`` that are known, lines are not needed."""

    path: str
    lines: Mapping[int, str]
    definitions: Sequence[Definition] | None = None
    contents: Contents | None = None

    @functools.cached_property
    def indexed(self) -> tuple[Contents, Sequence[Definition]]:
        """The contents that an index would have of the lines, and the definitions in them."""
        return _indexed(self)

    def definitions_at(self, places: range, other: int) -> list[Definition]:
        """Return the definitions at positions in their list, and at one other position; positions
        without a definition are ignored."""
        known = self.definitions or ()
        numbers = sorted({*places, other})
        return [known[number] for number in numbers if 0 <= number < len(known)]


def empty_corpus(root: str) -> Corpus:
    """Return a corpus without files."""
    return Corpus([], [], [root], np.zeros(0, np.int32), lambda name: (), {})


def with_texts(
    corpus: Corpus,
    files: Mapping[int, LooseText],
    new: Sequence[tuple[int, str]] = (),
    roots: Sequence[str] = (),
    model: EmbeddingModel | None = None,
) -> Corpus:
    """Return a corpus that also has the texts of ``files``, by their numbers.

    ``new`` are the roots and paths of files that the corpus does not number yet, and ``roots``
    further roots. ``model`` is that of the corpus's vectors, if it has some.
    """
    if not files and not new:
        return corpus
    definitions: dict[str, list[tuple[int, Definition]]] = defaultdict(list)
    texts: dict[int, Contents] = {}
    for number, file in files.items():
        contents, defined = file.indexed
        texts[number] = contents if model is None else model.with_vectors(contents)
        for definition in defined:
            definitions[definition.name].append((number, definition))
    numbers = list(texts)
    parts = []
    for start in range(0, len(numbers), MOST_DOCUMENTS):
        batch = numbers[start : start + MOST_DOCUMENTS]
        segment = in_memory({number.to_bytes(16, "big"): texts[number] for number in batch})
        documents = np.arange(len(batch), dtype=np.uint16)
        parts.append(CorpusPart(segment, documents, np.array(batch, np.int32)))

    def defined_anywhere(name: str) -> Definitions:
        return [*corpus.definitions(name), *definitions.get(name, ())]

    return Corpus(
        [*corpus.parts, *parts],
        [*corpus.paths, *(path for _, path in new)] if new else corpus.paths,
        [*corpus.roots, *roots],
        np.append(corpus.root_of, np.array([root for root, _ in new], np.int32)),
        defined_anywhere,
        {"first paths": corpus.cache.get("paths")} if new else corpus.cache,
        corpus.histories,
    )


def _indexed(file: LooseText) -> tuple[Contents, Sequence[Definition]]:
    """Return the contents of some lines of a file, and the definitions in them."""
    language = language_of(file.path)
    name = language.name if language else ""
    if file.definitions is not None:
        known = file.definitions
        if file.contents is not None:
            return file.contents, known
        source = _source(file.lines.values())
        return _ranked_contents(file.path, source, known, name), known
    texts: list[str] = []
    numbers: list[int] = []
    last = 0
    for number in sorted(file.lines):
        # A chunk does not span a gap of this length.
        gap = min(number - last - 1, CHUNK_LINES)
        texts += [""] * gap + [file.lines[number]]
        numbers += range(number - gap, number + 1)
        last = number
    packed = [*_definition_lines(texts)] if language else []
    contents = _ranked_contents(file.path, _source(texts), packed, name)
    chunks = np.frombuffer(contents.chunks, np.uint32).reshape(-1, CHUNK_COLUMNS).copy()
    if len(chunks):
        chunks[:, :2] = np.array(numbers, np.uint32)[chunks[:, :2].astype(np.int64) - 1]
    defined = [
        msgspec.structs.replace(
            found, line=numbers[found.line] - 1, end_line=numbers[found.end_line] - 1
        )
        for found in packed
    ]
    return msgspec.structs.replace(contents, chunks=chunks.tobytes()), defined


def _ranked_contents(
    path: str, source: bytes, definitions: Sequence[Definition], language: str
) -> Contents:
    return contents_of(path, source, definitions, language, covered=False, for_text_search=False)


def _source(lines: Iterable[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "replace")


def _definition_lines(texts: Sequence[str]) -> Iterator[Definition]:
    """Yield a definition for each line that looks like one."""
    for at, text in enumerate(texts):
        if text and (found := definition_in(text)) is not None:
            name = found.name.rpartition(".")[2].rpartition(":")[2]
            yield Definition(name, found.kind, 0, 0, 0, at, _end(texts, at), (0, 0, 0))


def _end(texts: Sequence[str], at: int) -> int:
    """Return the last line of the definition that begins in a line, judged by indentation."""
    indent = _indent(texts[at])
    last = at
    for number in range(at + 1, len(texts)):
        text = texts[number]
        if not text.strip():
            continue
        if _indent(text) <= indent:
            return number if text.lstrip()[0] in "})]" or text.strip() == "end" else last
        last = number
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
