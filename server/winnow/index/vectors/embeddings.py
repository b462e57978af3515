"""Static embeddings: compute vectors of texts from a table of vectors of tokens.

The vector of a text is the sum of the vectors of its words, and that of a word the sum of its
tokens', so it costs a few look-ups and no neural network. A word weighs 1 + log of its frequency,
without case; punctuation is ignored. On the annotated questions that train the ranker, this finds
more than the plain mean of all tokens.

The table comes from the package `wordllama` (Miller, "WordLlama", 2024), which
`winnow-ls[embeddings]` installs, or from any model in the layout of model2vec (Tulkens and van
Dongen, "Model2Vec", 2024). It is mapped into memory, and nothing is ever downloaded.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.terms import WORD_CHARACTERS, words
from winnow.index.store.file_record import NO_VECTORS
from winnow.index.vectors.safetensors import DamagedModel, tables_of
from winnow.index.vectors.tokenizer import Tokenizer, tokenizer_at

Rows = npt.NDArray[np.float32]

# Values of `index.embeddings`, besides a folder.
AUTO = "auto"
NOT_INSTALLED = "embeddings are not installed: pip install 'winnow-ls[embeddings]'"
_PACKAGE = "wordllama"
_PACKAGE_FILES = (
    "weights/l2_supercat_256.safetensors",
    "tokenizers/l2_supercat_tokenizer_config.json",
)
_FOLDER_FILES = ("model.safetensors", "tokenizer.json")
# Names of the vector table in such files.
_TABLES = ("embeddings", "embedding.weight")
# The first numbers of a vector matter most in a table that was trained for it.
MOST_DIMENSIONS = 256
# Each number of a unit vector of n numbers is about 1/√n, and hardly any exceeds four times that:
# the limit of 8 bits.
_MOST_DEVIATIONS = 4.0
_MOST_NUMBER = 127
# Words with cached tokens; the words of a code base repeat.
_CACHED_WORDS = 1 << 14
# Texts whose words are looked up together.
_TOGETHER = 32
# Texts whose vectors are quantized at a time: before, a vector takes four times as much, a KB.
_QUANTIZED = 256
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_LEAST_LENGTH = 1e-9

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


class EmbeddingModel:
    """A table of vectors; thread-safe. ``name`` changes with the vectors; ``dimensions`` is the
    length of a vector."""

    def __init__(
        self, name: str, tables: Mapping[str, npt.NDArray[Any]], tokenizer: Tokenizer
    ) -> None:
        """Raise DamagedModel if the tables do not fit such a model and its tokenizer."""
        table = next((tables[key] for key in _TABLES if key in tables), None)
        if table is None or table.ndim != 2 or not table.size:
            raise DamagedModel("it has no table of vectors")
        self._weights, self._mapping = tables.get("weights"), tables.get("mapping")
        _check(table, self._weights, self._mapping, tokenizer.size)
        self.name = name
        self._table = table[:, :MOST_DIMENSIONS]
        self.dimensions = self._table.shape[1]
        self._pieces = tokenizer.pieces
        self._known: dict[str, tuple[int, ...]] = {}

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return a unit vector for each text; zeros if no token of the text is known."""
        return self.embed_words([words(text) for text in texts])

    def embed_words(self, texts: Sequence[Sequence[str]]) -> Rows:
        """Return a unit vector for each text, which is split into words and identifiers."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for at in range(0, len(texts), _TOGETHER):
            self._add(found[at : at + _TOGETHER], texts[at : at + _TOGETHER])
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _LEAST_LENGTH)
        return found

    def _add(self, found: Rows, texts: Sequence[Sequence[str]]) -> None:
        counts = list(map(Counter, texts))
        distinct = list(dict.fromkeys(chain.from_iterable(counts)))
        numbers = {word: number for number, word in enumerate(distinct)}
        weights = np.zeros((len(texts), len(numbers)), np.float32)
        for row, count in zip(weights, counts, strict=True):
            row[[numbers[word] for word in count]] = list(count.values())
        there = weights > 0
        np.log(weights, out=weights, where=there)
        weights += there
        pieces = self._of_words(distinct)
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        ids = np.fromiter(chain.from_iterable(pieces), np.int64, sizes.sum())
        if len(ids):
            # Identifiers share many tokens; each is looked up once.
            order = np.argsort(ids, kind="stable")
            starts = np.flatnonzero(np.append(True, np.diff(ids[order])))
            of_pieces = weights[:, np.repeat(np.arange(len(sizes)), sizes)[order]]
            of_pieces = np.add.reduceat(of_pieces, starts, axis=1)
            np.matmul(of_pieces, self._vectors(ids[order[starts]]), out=found)

    def _vectors(self, ids: npt.NDArray[np.int64]) -> Rows:
        places = ids if self._mapping is None else self._mapping[ids]
        vectors: Rows = self._table[places].astype(np.float32)
        if self._weights is not None:
            vectors *= self._weights[ids, None]
        with np.errstate(over="ignore", invalid="ignore"):
            total = vectors.sum()
        if not np.isfinite(total):  # one damaged vector would spoil all texts
            vectors[~np.isfinite(vectors).all(axis=1)] = 0
        return vectors

    def _of_words(self, asked_: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the tokens of words, by their parts: identifiers share parts."""
        if len(self._known) > _CACHED_WORDS:
            self._known = {}
        known = self._known
        found = {word: known.get(word) for word in asked_}
        new = {word: _parts(word) for word, pieces in found.items() if pieces is None}
        cut = {part: known.get(part) for part in chain.from_iterable(new.values())}
        unknown = [part for part, pieces in cut.items() if pieces is None]
        cut.update(zip(unknown, self._pieces(unknown), strict=True))
        of_new = {
            word: tuple(piece for part in parts for piece in cut[part] or ())
            for word, parts in new.items()
        }
        known.update({part: cut[part] or () for part in unknown})
        known.update(of_new)
        return [of_new[word] if its is None else its for word, its in found.items()]


def _check(
    table: npt.NDArray[Any],
    weights: npt.NDArray[Any] | None,
    mapping: npt.NDArray[Any] | None,
    size: int,
) -> None:
    """Raise DamagedModel if a token has no vector or no weight."""
    if mapping is not None:
        if mapping.ndim != 1 or mapping.dtype.kind not in "iu" or len(mapping) < size:
            raise DamagedModel("its mapping does not name a vector for each token")
        if mapping.min(initial=0) < 0 or mapping.max(initial=0) >= len(table):
            raise DamagedModel("its mapping names missing vectors")
    elif len(table) < size:
        raise DamagedModel(f"it has {len(table)} vectors, and its tokenizer {size} pieces")
    if weights is not None and (weights.ndim != 1 or len(weights) < size):
        raise DamagedModel("it does not have a weight for each token")


class LoadedModel(NamedTuple):
    """A model, or the reason why there is none: empty if embeddings are off."""

    model: EmbeddingModel | None
    reason: str = ""


@functools.lru_cache(4)
def load_model(setting: str) -> LoadedModel:
    """Load the model that `index.embeddings` names: 'off', 'auto', or a folder."""
    if setting == NO_VECTORS:
        return LoadedModel(None)
    if setting != AUTO and not Path(setting).expanduser().is_absolute():
        return LoadedModel(
            None, f"index.embeddings is not an absolute path, 'auto' or 'off': {setting}"
        )
    files = _files(setting)
    if files is None:
        return LoadedModel(None, NOT_INSTALLED)
    vectors, tokenizer = files
    try:
        model = EmbeddingModel(
            _name(vectors, tokenizer), tables_of(vectors), tokenizer_at(tokenizer)
        )
        return LoadedModel(model)
    except DamagedModel as error:
        return LoadedModel(None, f"the embeddings of {files[0].parent} cannot be used: {error}")
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename}"
        return LoadedModel(None, f"the embeddings of {files[0].parent} cannot be read: {reason}")


def model_or_reason(setting: str) -> str | None:
    """Return the name of the model, or why there is none; None if embeddings are off."""
    loaded = load_model(setting)
    return loaded.model.name if loaded.model else loaded.reason or None


def embedder(setting: str) -> Callable[[Iterable[Sequence[str]]], bytes] | None:
    """Return a function that embeds tokenized text as int8 rows, for
    :class:`winnow.index.postings.contents.Contents`; None without a model."""
    model = load_model(setting).model
    if model is None:
        return None

    def vectors(texts: Iterable[Sequence[str]]) -> bytes:
        left = iter(texts)
        blocks = iter(lambda: list(islice(left, _QUANTIZED)), [])
        return b"".join(quantized(model.embed_words(block)).tobytes() for block in blocks)

    return vectors


def quantized(rows: Rows) -> npt.NDArray[np.int8]:
    """Quantize unit vectors to 8 bits: products of the result are those of the vectors times
    `scale_of` squared."""
    scaled = np.rint(rows * scale_of(rows.shape[1]))
    small: npt.NDArray[np.int8] = np.clip(scaled, -_MOST_NUMBER, _MOST_NUMBER).astype(np.int8)
    return small


def scale_of(dimensions: int) -> float:
    """Return the factor from unit vectors to 8 bits."""
    return float(_MOST_NUMBER * dimensions**0.5 / _MOST_DEVIATIONS)


def _files(setting: str) -> tuple[Path, Path] | None:
    """Return the files of the vectors and the tokenizer; None if the package is not installed."""
    if setting != AUTO:
        folder, names = Path(setting).expanduser(), _FOLDER_FILES
    else:
        # Importing it would take 60 MB and start its logging.
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            return None
        folder, names = Path(spec.submodule_search_locations[0]), _PACKAGE_FILES
    return folder / names[0], folder / names[1]


def _name(vectors: Path, tokenizer: Path) -> str:
    """Return the name of a model: the file name, and a digest of samples from all of it."""
    digest = hashlib.blake2b(digest_size=8)
    for file in (vectors, tokenizer):
        with open(file, "rb") as stream:
            size = stream.seek(0, 2)
            digest.update(str(size).encode())
            for sample in range(_SAMPLES):
                stream.seek(size * sample // _SAMPLES)
                digest.update(stream.read(_SAMPLE_BYTES))
    return f"{vectors.stem}-{digest.hexdigest()}"


def _parts(word: str) -> list[str]:
    """Return the lowercase parts of an identifier: models know most words in this form."""
    return [part.lower() for part in _PART.findall(word)] if len(word) <= WORD_CHARACTERS else []
