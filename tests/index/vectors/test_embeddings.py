"""Embeddings: from the package of `winnow-ls[embeddings]`, and from folders in model2vec's
layout."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import CI
from winnow.index.builder.extraction import extract_file
from winnow.index.postings.contents import CHUNK_COLUMNS
from winnow.index.store.file_record import NO_VECTORS, FileRecord, IndexJob
from winnow.index.vectors import embeddings
from winnow.index.vectors.embeddings import (
    AUTO,
    MOST_DIMENSIONS,
    NOT_INSTALLED,
    EmbeddingModel,
    LoadedModel,
    load_model,
    quantized,
    scale_of,
)
from winnow.index.vectors.tokenizer import tokenizer_at
from winnow.storage.disk_cache import cached

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("wordllama") and importlib.util.find_spec("tokenizers"))
    and not CI,
    reason="needs winnow-ls[embeddings]",
)

WORDS = ["[UNK]", "par", "##se", "file", "name", "read", "##er"]
CODE = """
class UserStore:
    def remove_user(self, user):
        self.connection.execute("delete from accounts where id = ?", user.id)


def draw_circle(canvas, radius):
    canvas.arc(0, 0, radius)
"""


def packed(tables: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return tables in the safetensors format."""
    types = {"<f2": "F16", "<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "|i1": "I8"}
    header, numbers = {}, b""
    for name, table in tables.items():
        end = len(numbers) + table.nbytes
        header[name] = {
            "dtype": types[table.dtype.str],
            "shape": table.shape,
            "data_offsets": (len(numbers), end),
        }
        numbers += table.tobytes()
    encoded = json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + numbers


TABLE = np.arange(len(WORDS) * 3, dtype=np.float32).reshape(-1, 3) ** 2 - 20


def a_folder(
    folder: Path,
    tables: Mapping[str, npt.NDArray[Any]] | None = None,
    tokenizer: Mapping[str, object] | None = None,
) -> Path:
    """Create a model with the vectors of `WORDS`."""
    folder.mkdir(exist_ok=True)
    description: Mapping[str, object] = tokenizer or {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": True,
                       "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {word: number for number, word in enumerate(WORDS)}},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(description))
    (folder / "model.safetensors").write_bytes(packed(tables or {"embeddings": TABLE}))
    (folder / "config.json").write_text('{"normalize": true}')
    return folder


def loaded(setting: str | Path) -> EmbeddingModel:
    found = load_model(str(setting))
    assert found.model is not None, found.reason
    return found.model


def facts_of(text: str, setting: str | Path) -> FileRecord:
    found = extract_file(IndexJob(b"", b"a.py", 0, text.encode(), embeddings=str(setting)))
    assert found is not None
    assert found.contents is not None
    return found


@pytest.fixture(autouse=True)
def no_model_is_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model keeps its file open, and the tokenizers library must not start threads."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    yield
    embeddings.load_model.cache_clear()


# --- the package ---------------------------------------------------------------------------------


@functools.cache
def the_library() -> Any:
    import tokenizers

    files = embeddings._files(AUTO)
    assert files is not None
    library = tokenizers.Tokenizer.from_file(str(files[1]))
    library.no_padding()
    return library


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters=" ▁"), min_size=1)))
def test_tokens_match_the_library(texts: list[str]) -> None:
    asked = [*texts, *CODE.split(), "internationalisation", "naïve", "日本語", "😀", "x" * 80]
    expected = [
        tuple(one.ids) for one in the_library().encode_batch(asked, add_special_tokens=False)
    ]
    assert loaded(AUTO)._pieces(asked) == expected


def test_texts_of_similar_meaning_are_near() -> None:
    model = loaded(AUTO)
    assert model.dimensions == 256
    query, *passages = model.embed(
        ["delete an account", "def remove_user(self, account):", "def draw_circle(canvas, radius):"]
    )
    near, far = (float(passage @ query) for passage in passages)
    assert near > 0.5 > far


def test_an_identifier_has_the_vector_of_its_parts() -> None:
    model = loaded(AUTO)
    one, *others = model.embed(
        ["parseHTTPFile", "parse_http_file", "Parse http, file", "file: (http) PARSE"]
    )
    assert np.allclose(np.stack(others), one, atol=1e-6)
    assert math.isclose(float(one @ one), 1, abs_tol=1e-5)


def test_vectors_are_sums_of_token_vectors_weighted_by_frequency() -> None:
    model = loaded(AUTO)
    counts = Counter({"parse": 3, "file": 1, "names": 2})
    expected = np.zeros(256)
    for word, count in counts.items():
        [pieces] = model._pieces([word])
        for piece in pieces:
            expected += (1 + math.log(count)) * model._table[piece].astype(np.float64)
    [found] = model.embed_words([list(counts.elements())])
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


@pytest.mark.process
def test_the_package_is_not_imported_and_nothing_uses_the_network(tmp_path: Path) -> None:
    program = f"""
import socket, sys

def refused(*arguments, **named):
    raise AssertionError("the network is used")

socket.socket = socket.create_connection = socket.getaddrinfo = refused
from winnow.index.vectors.embeddings import load_model
assert load_model("auto").model.embed(["some text"]).shape == (1, 256)
assert not {{"wordllama", "tokenizers", "requests", "pydantic"}} & set(sys.modules)
assert load_model({str(a_folder(tmp_path / "model"))!r}).model.embed(["file"]).any()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


# --- vectors of texts ----------------------------------------------------------------------------


def test_a_worker_returns_a_vector_per_chunk_and_document() -> None:
    contents = facts_of(CODE * 20, AUTO).contents
    assert contents is not None
    rows = np.frombuffer(contents.vectors, np.int8).reshape(-1, 256) / scale_of(256)
    assert len(rows) == len(contents.chunks) // (4 * CHUNK_COLUMNS) + 1 > 2
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=0.03)
    card = loaded(AUTO).embed(["UserStore remove_user draw_circle"] * 1)[0]
    assert rows[-1] @ card > 0.95


def test_vectors_do_not_depend_on_the_place_of_a_text() -> None:
    one, other = (
        extract_file(IndexJob(b"", path, 0, CODE.encode(), embeddings=AUTO))
        for path in (b"a.py", b"folder/other.py")
    )
    assert one is not None
    assert other is not None
    assert one.contents == other.contents


@pytest.mark.parametrize("setting", [NO_VECTORS, "/no/such/folder"])
def test_without_a_model_a_text_only_lacks_vectors(setting: str) -> None:
    contents, with_vectors = facts_of(CODE, setting).contents, facts_of(CODE, AUTO).contents
    assert contents is not None
    assert with_vectors is not None
    assert contents.vectors == b""
    assert contents.fields == with_vectors.fields


def test_an_unknown_text_has_a_zero_vector() -> None:
    assert not loaded(AUTO).embed(["", " ,.;", "x" * 1000]).any()


@given(st.lists(st.floats(-1, 1, width=32), min_size=15, max_size=15))
def test_eight_bits_keep_the_direction_of_vectors(numbers: list[float]) -> None:
    row = np.array([[*numbers, 1.0]], np.float32)
    row /= np.linalg.norm(row)
    small = quantized(row)
    assert small.dtype == np.int8
    # Each number is as close as possible, or the greatest possible.
    most = np.minimum(np.abs(row), 127 / scale_of(16))
    assert np.abs(np.abs(small) / scale_of(16) - most).max() <= 0.51 / scale_of(16)


# --- other models --------------------------------------------------------------------------------


def test_a_folder_of_model2vec_can_be_named(tmp_path: Path) -> None:
    model = loaded(a_folder(tmp_path / "model"))
    expected = TABLE[1] + TABLE[2] + TABLE[3] + TABLE[4]  # and no unknown words
    [found] = model.embed(["parseFileName", "unknown"])[:1]
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_tokens_have_weights_and_shared_vectors(tmp_path: Path) -> None:
    weights = np.linspace(0.5, 2, len(WORDS), dtype=np.float64)
    mapping = np.array([0, 2, 1, 0, 1, 2, 0])
    tables: Mapping[str, npt.NDArray[Any]] = {
        "embeddings": TABLE[:3],
        "weights": weights,
        "mapping": mapping,
    }
    [found] = loaded(a_folder(tmp_path / "model", tables)).embed(["parse reader"])
    pieces = [1, 2, 5, 6]
    expected = (TABLE[mapping[pieces]] * weights[pieces, None]).sum(axis=0)
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_long_vectors_are_truncated(tmp_path: Path) -> None:
    table = np.random.default_rng(0).standard_normal((len(WORDS), 400), np.float32)
    model = loaded(a_folder(tmp_path / "model", {"embeddings": table}))
    expected = table[3, :MOST_DIMENSIONS]
    [found] = model.embed(["file"])
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_model_names_differ_by_vectors_and_tokenizer(tmp_path: Path) -> None:
    changed = TABLE.copy()
    changed[3, 1] += 1
    folders = [
        a_folder(tmp_path / "one"),
        a_folder(tmp_path / "same"),
        a_folder(tmp_path / "changed", {"embeddings": changed}),
    ]
    other = json.loads((folders[0] / "tokenizer.json").read_text())
    other["normalizer"]["lowercase"] = False
    folders.append(a_folder(tmp_path / "other", tokenizer=other))
    one, same, *others = (loaded(folder).name for folder in folders)
    assert one == same
    assert len({one, *others}) == 3


def test_vectors_with_nan_are_ignored(tmp_path: Path) -> None:
    table = TABLE.copy()
    table[3] = np.nan
    table[4] = np.inf
    model = loaded(a_folder(tmp_path / "model", {"embeddings": table}))
    both, name, read = model.embed(["file read", "name", "read"])
    assert np.array_equal(both, read)
    assert read.any()
    assert not name.any()


# --- no model ------------------------------------------------------------------------------------


def test_no_model_is_loaded_when_embeddings_are_off() -> None:
    assert load_model(NO_VECTORS) == LoadedModel(None, "")
    assert embeddings.model_or_reason(NO_VECTORS) is None


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert load_model.__wrapped__(AUTO) == LoadedModel(None, NOT_INSTALLED)


def test_a_missing_tokenizers_library_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path / "model")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert load_model(str(folder)) == LoadedModel(
        None,
        f"the embeddings of {folder} cannot be used: its tokenizer needs the package tokenizers:"
        " pip install 'winnow-ls[embeddings]'",
    )


def test_a_setting_that_is_not_a_folder_is_reported() -> None:
    reason = "index.embeddings is not an absolute path, 'auto' or 'off': models/mine"
    assert load_model("models/mine") == LoadedModel(None, reason)
    assert embeddings.model_or_reason("models/mine") == reason


def test_a_missing_model_folder_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "none" / "model.safetensors"
    assert load_model(str(tmp_path / "none")) == LoadedModel(
        None,
        f"the embeddings of {file.parent} cannot be read: No such file or directory: {file}",
    )


WHOLE = packed({"embeddings": TABLE})


@pytest.mark.parametrize(
    ("file", "data", "reason"),
    [
        ("model.safetensors", b"", "model.safetensors is not a complete safetensors file"),
        (
            "model.safetensors",
            b"\xff" * 40,
            "model.safetensors is not a complete safetensors file",
        ),
        ("model.safetensors", WHOLE[:-1], "model.safetensors is shorter than its header says"),
        (
            "model.safetensors",
            WHOLE.replace(b"[7, 3]", b"[7, 4]"),
            "model.safetensors has a table whose shape does not fit its data",
        ),
        (
            "model.safetensors",
            WHOLE.replace(b'"shape"', b'"shapes'),
            "model.safetensors has no valid header: ",
        ),
        ("model.safetensors", packed({"other": TABLE}), "it has no table of vectors"),
        ("model.safetensors", packed({"embeddings": TABLE[0]}), "it has no table of vectors"),
        (
            "model.safetensors",
            packed({"embeddings": TABLE[:5]}),
            "it has 5 vectors, and its tokenizer 7 pieces",
        ),
        (
            "model.safetensors",
            packed({"embeddings": TABLE, "mapping": np.arange(7) + 1}),
            "its mapping names missing vectors",
        ),
        (
            "model.safetensors",
            packed({"embeddings": TABLE, "mapping": np.arange(5)}),
            "its mapping does not name a vector for each token",
        ),
        (
            "model.safetensors",
            packed({"embeddings": TABLE, "weights": TABLE[0]}),
            "it does not have a weight for each token",
        ),
        ("tokenizer.json", b"{", "tokenizer.json is not a tokenizer: "),
        ("tokenizer.json", b'{"model": {"type": "BPE", "vocab": 1}}', "tokenizer.json is no"),
    ],
)
def test_a_damaged_model_folder_is_reported(
    file: str, data: bytes, reason: str, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path / "model")
    (folder / file).write_bytes(data)
    found = load_model(str(folder))
    assert found.model is None
    assert found.reason.startswith(f"the embeddings of {folder} cannot be used: {reason}")


class Made(msgspec.Struct):
    number: int


@pytest.fixture
def tokenizer_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the package's tokenizer; use an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files = embeddings._files(AUTO)
    assert files is not None
    return files[1]


def tables_kept(cache: Path) -> list[Path]:
    return list((cache / "winnow/tables").iterdir())


def cut_by(file: Path) -> tuple[int, list[tuple[int, ...]]]:
    """Return how a tokenizer file splits words."""
    tokenizer = tokenizer_at(file)
    return tokenizer.size, tokenizer.pieces(["parse", "größe", "x" * 40, "事", "\x00", ""])


def test_tokenizer_tables_are_cached_for_other_processes(
    tokenizer_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cut_by(tokenizer_file)
    [file] = tables_kept(tmp_path)
    stamp = file.stat()
    monkeypatch.setattr("winnow.index.vectors.tokenizer._llama", None)  # it is not computed again
    assert cut_by(tokenizer_file) == first
    now = file.stat()  # the atime may differ
    assert (now.st_ino, now.st_mtime_ns) == (stamp.st_ino, stamp.st_mtime_ns)
    if os.name == "posix":
        assert stamp.st_mode & 0o077 == file.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "a folder"])
def test_damaged_tokenizer_tables_are_computed_again(
    damage: str, tokenizer_file: Path, tmp_path: Path
) -> None:
    first = cut_by(tokenizer_file)
    [file] = tables_kept(tmp_path)
    written = file.read_bytes()
    if damage == "a folder":
        file.unlink()
        file.mkdir()
    else:
        middle = len(written) // 2
        changed = written[:middle] + bytes([written[middle] ^ 1]) + written[middle + 1 :]
        file.write_bytes({"cut": written[:middle], "changed": changed, "empty": b""}[damage])
    assert cut_by(tokenizer_file) == first
    assert [one for one in tables_kept(tmp_path) if one != file] == []
    if damage != "a folder":
        assert file.read_bytes() == written


def test_tokenizer_tables_are_computed_if_nothing_can_be_cached(
    tokenizer_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert tokenizer_at(tokenizer_file).pieces(["parse"]) != [()]


def test_the_cache_of_tokenizer_tables_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(20):
        made = Made(number)
        assert cached(b"%d" % number, "v", Made, lambda made=made: made) == made  # type: ignore[misc]
        for file in tables_kept(tmp_path):  # the file system's clock may stand still
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 10**9))
    assert len(tables_kept(tmp_path)) == 8
    assert cached(b"19", "v", Made, lambda: Made(-1)) == Made(19)
    assert cached(b"0", "v", Made, lambda: Made(-1)) == Made(-1)
    assert cached(b"19", "another", Made, lambda: Made(-2)) == Made(-2)
