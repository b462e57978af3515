"""Build ranked corpora from small code bases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from winnow.index.postings.contents import Contents, contents_of
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import in_memory
from winnow.index.vectors.embeddings import EmbeddingModel
from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import Definition
from winnow.symbols.language import language_of


def corpus_of(
    files: Mapping[str, str], *, segments: int = 1, model: EmbeddingModel | None = None
) -> Corpus:
    """Build the ranked corpus of some files, in this number of segments, with a model's vectors."""
    definitions: dict[str, list[tuple[int, Definition]]] = defaultdict(list)
    parts: list[dict[int, Contents]] = [{} for _ in range(segments)]
    for number, (path, text) in enumerate(files.items()):
        source = text.encode()
        language = language_of(path)
        symbols = extract(language, source) if language else None
        defined = symbols.definitions if symbols else []
        name = symbols.language if symbols else ""
        text_contents = contents_of(path, source, defined, name, covered=True)
        if model is not None:
            text_contents = model.with_vectors(text_contents)
        parts[number % segments][number] = text_contents
        for definition in defined:
            definitions[definition.name].append((number, definition))
    return Corpus(
        [_part(part, gone=number == 0) for number, part in enumerate(parts)],
        [*files],
        ["/root"],
        np.zeros(len(files), np.int32),
        lambda name: definitions.get(name, ()),
        {},
    )


def _part(contents: Mapping[int, Contents], gone: bool) -> CorpusPart:
    # In a different order than the files; one part also contains the text of a deleted file.
    numbers = sorted(contents, reverse=True)
    texts = {number.to_bytes(16, "big"): contents[number] for number in numbers}
    if gone:
        texts[b"gone" * 4] = contents_of("gone.py", b"cookie jar gone\n" * 9, (), "", covered=True)
    documents = np.arange(len(numbers), dtype=np.uint16)
    return CorpusPart(in_memory(texts), documents, np.array(numbers, np.int32))
