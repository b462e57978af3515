"""Tokenize words: convert them to the numbers of the tokens that a model knows.

Byte pair encoding as in Llama's tokenizer (Kudo and Richardson, "SentencePiece", 2018) is
implemented here, with numpy look-ups for many words at a time. Every worker tokenizes: this takes 5
MB and 20 ms, the library `tokenizers` 22 MB and 100 ms in each. The library, if installed, handles
all other kinds.
"""

from __future__ import annotations

import importlib.util
import os
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw, Struct

from winnow.index.vectors.safetensors import DamagedModel
from winnow.storage.disk_cache import cached


class Tokenizer(NamedTuple):
    """A function ``pieces`` that returns the tokens of each word, without unknown ones; all are
    less than ``size``. Thread-safe."""

    pieces: Callable[[Sequence[str]], list[tuple[int, ...]]]
    size: int


# The version of the cached tables.
VERSION = "llama-1"
NO_LIBRARY = "its tokenizer needs the package tokenizers: pip install 'winnow-ls[embeddings]'"
BLANK = "▁"
# Llama's normalizer: a blank before the text, and blanks as a letter.
_LLAMA = [
    {"type": "Prepend", "prepend": BLANK},
    {"type": "Replace", "pattern": {"String": " "}, "content": BLANK},
]
# Words looked up together: more take longer because of the longest among them.
_TOGETHER = 256
_NONE = np.iinfo(np.int64).max


class _Kind(Struct, frozen=True):
    """The `model` section of a tokenizer file."""

    type: str
    vocab: Raw
    merges: Raw = Raw(b"[]")
    unk_token: str | None = None
    dropout: float | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    byte_fallback: bool = False
    ignore_merges: bool = False


class _File(Struct, frozen=True):
    model: _Kind
    normalizer: Any = None
    pre_tokenizer: Any = None


class _Llama(Struct, frozen=True):
    """The cached tables of a Llama tokenizer. ``pairs`` are 8-byte numbers, three per pair: left,
    right, and the merged token; see `BytePairs`."""

    letters: dict[str, int]
    of_bytes: list[int]
    pairs: bytes
    size: int


class _OtherKind(Exception):
    """A tokenizer that is not like Llama's."""


def tokenizer_at(file: Path) -> Tokenizer:
    """Load a tokenizer from its file. Raises DamagedModel and OSError."""
    source = file.read_bytes()
    try:
        return _of_llama(cached(source, VERSION, _Llama, lambda: _llama(source)))
    except _OtherKind:
        return _of_library(file)
    except (msgspec.DecodeError, ValueError, KeyError) as error:
        raise DamagedModel(f"{file.name} is not a tokenizer: {error}") from error


def _is_llama(description: _File) -> bool:
    normalizer, model = description.normalizer, description.model
    return (
        model.type == "BPE"
        and model.byte_fallback
        and not model.ignore_merges
        and not (model.dropout or model.continuing_subword_prefix or model.end_of_word_suffix)
        and description.pre_tokenizer is None
        and isinstance(normalizer, dict)
        and normalizer.get("normalizers") == _LLAMA
    )


def _llama(source: bytes) -> _Llama:
    """Read the tables of a tokenizer file. Raises _OtherKind, or another error if it is damaged."""
    description = msgspec.json.decode(source, type=_File)
    if not _is_llama(description):
        raise _OtherKind
    vocabulary = msgspec.json.decode(description.model.vocab, type=dict[str, int])
    joined = msgspec.json.decode(description.model.merges, type=list[str | tuple[str, str]])
    pairs = array("q")
    for pair in joined:
        left, right = pair.split(" ") if isinstance(pair, str) else pair
        pairs.extend((vocabulary[left], vocabulary[right], vocabulary[left + right]))
    return _Llama(
        letters={piece: number for piece, number in vocabulary.items() if len(piece) == 1},
        of_bytes=[vocabulary[f"<0x{byte:02X}>"] for byte in range(256)],
        pairs=pairs.tobytes(),
        size=max(vocabulary.values()) + 1,
    )


def _of_llama(description: _Llama) -> Tokenizer:
    pairs = np.frombuffer(description.pairs, np.int64).reshape(-1, 3).T
    return Tokenizer(BytePairs(description.letters, description.of_bytes, *pairs), description.size)


class BytePairs:
    """Byte pair encoding: merge the adjacent pair of tokens that comes first in the table, the
    leftmost if there are several, until no pair can be merged."""

    def __init__(
        self,
        letters: dict[str, int],
        of_bytes: Sequence[int],
        left: npt.NDArray[np.int64],
        right: npt.NDArray[np.int64],
        merged: npt.NDArray[np.int64],
    ) -> None:
        """``left`` and ``right`` merge to ``merged``, in order of priority. A letter that is not in
        ``letters`` is encoded by its bytes."""
        keys = left << 32 | right
        order = np.argsort(keys)
        # The last entry is a sentinel, greater than all others.
        self._keys = np.append(keys[order], _NONE)
        self._ranks = np.append(order, _NONE)
        self._merged = np.append(merged[order], -1).astype(np.int32)
        self._letters = letters
        self._bytes = of_bytes

    def __call__(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each word, as if it followed a blank."""
        found: list[tuple[int, ...]] = [()] * len(words)
        spelled = [self._spelled(BLANK + word) for word in words]
        order = sorted(range(len(words)), key=lambda place: len(spelled[place]))
        for at in range(0, len(order), _TOGETHER):
            places = order[at : at + _TOGETHER]
            for place, row in zip(
                places, self._joined([spelled[place] for place in places]), strict=True
            ):
                found[place] = row
        return found

    def _spelled(self, word: str) -> list[int]:
        spelled: list[int] = []
        for letter in word:
            number = self._letters.get(letter)
            if number is None:
                spelled += (self._bytes[byte] for byte in letter.encode("utf-8", "replace"))
            else:
                spelled.append(number)
        return spelled

    def _joined(self, spelled: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        most = max(map(len, spelled))
        # Rows end with -1, and are longer by one than the longest word.
        rows = np.full((len(spelled), most + 1), -1, np.int64)
        for row, word in zip(rows, spelled, strict=True):
            row[: len(word)] = word
        columns = np.arange(most)
        live = np.arange(len(rows))
        while len(live) and most > 1:
            these = rows[live]
            known = these[:, 1:] >= 0
            keys = np.where(known, these[:, :-1] << 32 | these[:, 1:], _NONE - 1)
            at = np.searchsorted(self._keys, keys)
            ranks = np.where(self._keys[at] == keys, self._ranks[at], _NONE)
            best = ranks.argmin(axis=1)
            some = np.flatnonzero(ranks[np.arange(len(live)), best] < _NONE)
            live, these, best, at = live[some], these[some], best[some], at[some]
            within = np.arange(len(live))
            these[within, best] = self._merged[at[within, best]]
            shifted = columns + (columns > best[:, None])
            rows[live, :-1] = np.take_along_axis(these, shifted, axis=1)
            rows[live, -1] = -1
        return [tuple(row[row >= 0].tolist()) for row in rows]


def _of_library(file: Path) -> Tokenizer:
    if importlib.util.find_spec("tokenizers") is None:
        raise DamagedModel(NO_LIBRARY)
    # Otherwise it starts a thread for each processor.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # it raises plain Exception
        raise DamagedModel(f"{file.name} is not a tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    unknown = _unknown(tokenizer)

    def pieces(words: Sequence[str]) -> list[tuple[int, ...]]:
        encoded = tokenizer.encode_batch(list(words), add_special_tokens=False)
        return [tuple(token for token in word.ids if token != unknown) for word in encoded]

    return Tokenizer(pieces, max(tokenizer.get_vocab().values(), default=-1) + 1)


def _unknown(tokenizer: Any) -> int | None:
    """Return the number of the unknown token."""
    name = getattr(tokenizer.model, "unk_token", None)
    return tokenizer.token_to_id(name) if name else None
