"""Jupyter notebooks."""

from __future__ import annotations

import json

import pytest

from documents.extracted import extracted
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

VERSION_4 = {
    "nbformat": 4,
    "metadata": {"kernelspec": {"name": "python3"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Größe\n", "text"], "metadata": {}},
        {
            "cell_type": "code",
            "source": "print(1)\n1/0",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n", "\x1b[1m2\x1b[0m\n"]},
                {
                    "output_type": "display_data",
                    "data": {
                        "image/png": "iVBORw0KGgo" * 1000,
                        "text/plain": ["<Figure>"],
                        "application/json": {"deep": [1, {}]},
                    },
                },
                {
                    "output_type": "error",
                    "ename": "ZeroDivisionError",
                    "traceback": ["\x1b[0;31mTrace\x1b[0m", "\x1b[31mZeroDivisionError\x1b[0m: x"],
                },
            ],
        },
        {"cell_type": "raw", "source": []},
        {"cell_type": "code", "source": "last", "outputs": []},
    ],
}
VERSION_3 = {
    "nbformat": 3,
    "worksheets": [
        {
            "cells": [
                {"cell_type": "heading", "level": 1, "source": ["Title"]},
                {
                    "cell_type": "code",
                    "input": ["x = 1\n", "x"],
                    "outputs": [
                        {"output_type": "pyout", "text": ["1"], "png": "iVBORw0KGgo"},
                        {"output_type": "pyerr", "traceback": ["oops"]},
                    ],
                },
            ]
        }
    ],
}


def test_cells_are_parts_with_source_and_output() -> None:
    found = extracted("a.ipynb", json.dumps(VERSION_4).encode())
    assert found.shown == [
        *("──── Cell 1 ────", "# Größe", "text"),
        *("──── Cell 2 ────", "print(1)", "1/0", "1", "2", "<Figure>"),
        *("Trace", "ZeroDivisionError: x"),
        "──── Cell 3 ────",
        *("──── Cell 4 ────", "last"),
    ]
    assert [found.text_map.place_at(line) for line in (1, 9, 10)] == [
        DocumentLocation(section="cell 1 (markdown)"),
        DocumentLocation(section="cell 2 (code)"),
        DocumentLocation(section="cell 4 (code)"),
    ]


def test_notebooks_of_version_3_are_read() -> None:
    found = extracted("a.ipynb", b"\xef\xbb\xbf" + json.dumps(VERSION_3).encode())
    assert found.shown == [
        *("──── Cell 1 ────", "Title", "──── Cell 2 ────", "x = 1", "x", "1", "oops")
    ]


@pytest.mark.parametrize(
    "document",
    [b"", b"{", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [{}]}', b"\xff", b"[" * 100_000],
)
def test_a_file_that_is_not_a_notebook_is_reported(document: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^it is (not a notebook|damaged): "):
        extracted("a.ipynb", document)
