"""The vectors of texts: sums of the vectors of their terms."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.index.builder.extraction import extract_file
from winnow.index.postings.contents import CHUNK_COLUMNS
from winnow.index.postings.terms import term_number, terms_of
from winnow.index.store.file_record import NO_VECTORS, FileRecord, IndexJob
from winnow.index.vectors import embeddings
from winnow.index.vectors.embeddings import EmbeddingModel, load_model, quantized, scale_of

CODE = """
class UserStore:
    def remove_user(self, user):
        self.connection.execute("delete from accounts where id = ?", user.id)


def draw_circle(canvas, radius):
    canvas.arc(0, 0, radius)
"""
WORDS = ["parse", "file", "name"]
NUMBERS = np.sort(np.array([term_number(*terms_of(word)) for word in WORDS], np.uint64))
TABLE = np.arange(3 * 8, dtype=np.int8).reshape(3, 8) ** 2 - 20


def vector_of(word: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    [place] = np.flatnonzero(term_number(*terms_of(word)) == NUMBERS)
    return np.asarray(TABLE[place], np.float64)


@pytest.fixture
def model() -> EmbeddingModel:
    """A model of three terms."""
    return EmbeddingModel(NUMBERS, TABLE, 10.0)


@pytest.fixture
def built_in() -> EmbeddingModel:
    """The model of the package."""
    found = load_model("auto")
    assert found is not None
    return found


def facts_of(text: str, setting: str = "auto", path: str = "a.py") -> FileRecord:
    found = extract_file(IndexJob(b"", path.encode(), 0, text.encode(), embeddings=setting))
    assert found is not None
    assert found.contents is not None
    return found


# --- sums ------------------------------------------------------------------------------------


def test_vectors_are_sums_of_term_vectors_weighted_by_frequency(model: EmbeddingModel) -> None:
    counts = Counter({"parse": 3, "file": 1, "name": 2})
    expected = sum((1 + math.log(n)) * vector_of(word) for word, n in counts.items())
    [found] = model.embed([" ".join(counts.elements())])
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-6)


def test_each_of_many_texts_has_its_own_vector(model: EmbeddingModel) -> None:
    texts = [" ".join(WORDS[: number % 4] * (number % 5)) for number in range(200)]
    together = model.embed(texts)
    assert np.allclose(together, np.stack([model.embed([text])[0] for text in texts]), atol=1e-6)
    assert not together[0].any()


def test_texts_of_many_terms_are_summed_in_steps(
    built_in: EmbeddingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [" ".join(f"w{n * k}" for n in range(k)) for k in range(40)]
    at_once = built_in.embed(texts)
    monkeypatch.setattr(embeddings, "_TOGETHER", 7)
    assert np.allclose(built_in.embed(texts), at_once, atol=1e-6)


def test_empty_texts_between_others_take_no_memory(built_in: EmbeddingModel) -> None:
    texts = ["", *[""] * 20_000, *(f"w{n}" for n in range(2_000)), *[""] * 20_000, "last"]
    texts[1] = "first"
    tracemalloc.start()
    found = built_in.embed(texts)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found[[1, -1]].any(axis=1).all()
    assert not found[2:20_000].any()
    # The result has 22 MB; a row for each empty text would take 700.
    assert most < 150_000_000


def test_unknown_terms_have_random_vectors_of_their_own(model: EmbeddingModel) -> None:
    one, same, other = model.embed(["frobnicate", "Frobnicated", "quux"])
    assert np.array_equal(one, same)
    assert abs(float(one @ other)) < 1
    both = model.embed(["frobnicate parse"])[0] * math.sqrt(8)
    known = vector_of("parse")
    # The length of the unknown term's vector is that of the model.
    rest = both * np.linalg.norm(known) / np.linalg.norm(both)
    assert not np.allclose(rest, known)


def test_random_vectors_are_nearly_orthogonal(built_in: EmbeddingModel) -> None:
    rows = built_in.embed([f"zzq{chr(97 + n // 26)}{chr(97 + n % 26)}xv" for n in range(600)])
    cosines = rows @ rows.T - np.eye(len(rows))
    assert np.abs(cosines.mean()) < 0.01
    assert np.abs(cosines).max() < 0.6


def test_names_of_models_differ_with_their_vectors() -> None:
    changed = TABLE.copy()
    changed[0, 0] += 1
    names = {
        EmbeddingModel(NUMBERS, TABLE, 10.0).name,
        EmbeddingModel(NUMBERS, changed, 10.0).name,
        EmbeddingModel(NUMBERS + np.uint64(1), TABLE, 10.0).name,
        EmbeddingModel(NUMBERS, TABLE, 11.0).name,
    }
    assert len(names) == 4


# --- the model of the package ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("delete an account", "def remove_user(self, account):", "def draw_circle(canvas, r):"),
        ("authentication of users", "def login(password):", "def parse_date(text):"),
        ("wait before trying again", "def retry(delay): sleep(backoff)", "def render(html):"),
        ("close the database connection", "conn.disconnect()", "color.blend(other)"),
    ],
)
def test_texts_of_similar_meaning_are_near(
    built_in: EmbeddingModel, query: str, near: str, far: str
) -> None:
    one, other, another = built_in.embed([query, near, far])
    assert one @ other > one @ another + 0.1


def test_the_vectors_fit_the_terms(built_in: EmbeddingModel) -> None:
    for word in ("connection", "delete", "render", "mutex"):
        [term] = terms_of(word)
        assert term_number(term) in built_in._terms


@pytest.mark.process
def test_nothing_is_downloaded() -> None:
    program = """
import socket

def refused(*arguments, **named):
    raise AssertionError("the network is used")

socket.socket = socket.create_connection = socket.getaddrinfo = refused
from winnow.index.vectors.embeddings import load_model
model = load_model("auto")
assert model.embed(["some text"]).shape == (1, model.dimensions)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


# --- vectors of texts in an index ------------------------------------------------------------


def test_a_worker_returns_a_vector_per_chunk_and_document(built_in: EmbeddingModel) -> None:
    contents = facts_of(CODE * 20).contents
    assert contents is not None
    size = built_in.dimensions
    rows = np.frombuffer(contents.vectors, np.int8).reshape(-1, size) / scale_of(size)
    assert len(rows) == len(contents.chunks) // (4 * CHUNK_COLUMNS) + 1 > 2
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=0.03)
    [names] = built_in.embed(["UserStore remove_user draw_circle"])
    assert rows[-1] @ names > 0.9


def test_vectors_do_not_depend_on_the_place_of_a_text() -> None:
    assert facts_of(CODE).contents == facts_of(CODE, path="folder/other.py").contents


def test_without_vectors_a_text_has_the_same_terms() -> None:
    contents, with_vectors = facts_of(CODE, NO_VECTORS).contents, facts_of(CODE).contents
    assert contents is not None
    assert with_vectors is not None
    assert contents.vectors == b""
    assert contents.fields == with_vectors.fields


def test_no_model_is_loaded_when_embeddings_are_off() -> None:
    assert load_model(NO_VECTORS) is None


def test_a_text_without_terms_has_a_zero_vector(built_in: EmbeddingModel) -> None:
    assert not built_in.embed(["", " ,.;", "x" * 1000]).any()
    assert built_in.embed([]).shape == (0, built_in.dimensions)


@given(st.lists(st.floats(-1, 1, width=32), min_size=15, max_size=15))
def test_eight_bits_keep_the_direction_of_vectors(numbers: list[float]) -> None:
    row = np.array([[*numbers, 1.0]], np.float32)
    row /= np.linalg.norm(row)
    small = quantized(row)
    assert small.dtype == np.int8
    # Each number is as close as possible, or the greatest possible.
    most = np.minimum(np.abs(row), 127 / scale_of(16))
    assert np.abs(np.abs(small) / scale_of(16) - most).max() <= 0.51 / scale_of(16)
