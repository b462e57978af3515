"""Small code bases as what can be ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from winnow.index.postings.contents import Contents, Embed, contents_of
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import in_memory
from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import Definition
from winnow.symbols.language import language_of


def corpus_of(files: Mapping[str, str], *, segments: int = 1, embed: Embed | None = None) -> Corpus:
    """What can be ranked of some files, in so many segments."""
    definitions: dict[str, list[tuple[int, Definition]]] = defaultdict(list)
    parts: list[dict[int, Contents]] = [{} for _ in range(segments)]
    for number, (path, text) in enumerate(files.items()):
        source = text.encode()
        language = language_of(path)
        facts = extract(language, source) if language else None
        known = facts.definitions if facts else []
        name = facts.language if facts else ""
        kept = contents_of(path, source, known, name, covered=True, embed=embed)
        parts[number % segments][number] = kept
        for one in known:
            definitions[one.name].append((number, one))
    return Corpus(
        [_part(part, gone=number == 0) for number, part in enumerate(parts)],
        [*files],
        ["/root"],
        np.zeros(len(files), np.int32),
        lambda name: definitions.get(name, ()),
        {},
    )


def _part(contents: Mapping[int, Contents], gone: bool) -> CorpusPart:
    # Another order than that of the files, and in one part a text that no file has any more.
    numbers = sorted(contents, reverse=True)
    texts = {number.to_bytes(16, "big"): contents[number] for number in numbers}
    if gone:
        texts[b"gone" * 4] = contents_of("gone.py", b"cookie jar gone\n" * 9, (), "", covered=True)
    documents = np.arange(len(numbers), dtype=np.uint16)
    return CorpusPart(in_memory(texts), documents, np.array(numbers, np.int32))
