"""Notebooks: what people wrote is searched, not what cells have printed."""

from __future__ import annotations

import json
import time

import pytest

from winnow.index.builder.extraction import extract_file
from winnow.index.postings.notebooks import without_outputs
from winnow.index.postings.terms import term_number, terms_of
from winnow.index.postings.trigrams import trigrams_of
from winnow.index.store.file_record import IndexJob

CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Cookies of a season\n"]},
    {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["import numpy"]},
    {
        "cell_type": "code",
        "metadata": {},
        "outputs": [
            {"data": {"image/png": "iVBOR" * 9_000, "text/plain": ["<Figure>"]}, "metadata": {}},
            {"output_type": "stream", "text": ["harvest\n", "]\n"]},
        ],
        "source": ["plot(jar)\n", "outputs = []"],
    },
]


def written(indent: int) -> str:
    return json.dumps({"cells": CELLS, "nbformat": 4}, indent=indent)


@pytest.mark.parametrize("indent", [1, 2, 4])
def test_outputs_become_empty_lines(indent: int) -> None:
    notebook = written(indent)
    found = without_outputs(notebook.encode()).decode()
    assert found.count("\n") == notebook.count("\n")
    assert all(
        line in ("", old) for line, old in zip(found.split("\n"), notebook.split("\n"), strict=True)
    )
    assert [word in found for word in ("Cookies", "numpy", "plot(jar)", "outputs = []")] == [
        True
    ] * 4
    assert not any(word in found for word in ("iVBOR", "Figure", "harvest"))


def test_a_notebook_with_pictures_is_indexed_by_its_words() -> None:
    raw = written(1).encode()
    record = extract_file(IndexJob(b"", b"a.ipynb", 10**7, raw))
    assert record is not None
    assert record.contents is not None
    [body, *_] = record.contents.fields
    has = {
        word: term_number(*terms_of(word)).to_bytes(8, "little") in body.terms
        for word in ("cookies", "jar", "harvest")
    }
    assert has == {"cookies": True, "jar": True, "harvest": False}
    assert record.contents.trigrams == trigrams_of(raw)


@pytest.mark.slow
def test_outputs_without_an_end_take_linear_time() -> None:
    started = time.process_time()
    without_outputs(b'   "outputs": [\n' * 200_000)
    without_outputs(b'   "outputs": [\n]\n' * 100_000)
    assert time.process_time() - started < 10
