"""Documents made by LibreOffice, LaTeX, Chromium, pandoc and other real programs: each word that
was planted in them is found where it was planted, by both engines."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
from pathlib import Path

import pytest

from documents.truth import FIXTURES, Planted, found_places, planted, unread
from winnow.documents.extraction import extract
from winnow.documents.format import UNREAD, Unreadable, format_of
from winnow.documents.found import Document
from winnow.documents.places import TextMap
from winnow.documents.rga import Rga
from winnow.text.process import Processes
from winnow.text.ripgrep import find_ripgrep

PLANTED = planted()
FILES = sorted({one.file for one in PLANTED})


@functools.cache
def extracted(name: str) -> tuple[list[str], TextMap]:
    lines: list[bytes] = []
    with open(FIXTURES / name, "rb") as file:
        known = extract(name, file, lines.append)
    return [line.decode().removesuffix("\n") for line in lines], known


@pytest.mark.parametrize("name", FILES)
def test_each_word_is_found_where_it_was_planted(name: str) -> None:
    lines, known = extracted(name)
    truth = {one.word: one.places for one in PLANTED if one.file == name}
    assert {word: found_places(word, lines, known) for word in truth} == truth
    assert known.failed == ()


@pytest.mark.parametrize("name", sorted(unread()))
def test_what_cannot_be_read_says_why(name: str) -> None:
    with open(FIXTURES / name, "rb") as file, pytest.raises(Unreadable) as caught:
        extract(name, file, lambda line: None)
    assert str(caught.value).startswith(unread()[name])


def test_every_document_has_its_truth() -> None:
    told = {*FILES, *unread()}
    documents = {path.name for path in FIXTURES.iterdir() if format_of(path.name)}
    assert documents == told
    others = {path.suffix for path in FIXTURES.iterdir() if path.is_file()}
    assert ".doc" in others & set(UNREAD)


# --- ripgrep-all -----------------------------------------------------------------------------


def read_by_rga() -> list[str]:
    engine = rga()
    return [name for name in FILES if engine.reads(str(FIXTURES / name)) is None]


def rga() -> Rga:
    return Rga(
        Processes(),
        dict(os.environ),
        ripgrep=find_ripgrep(None),
        inside=lambda path: False,
    )


@requires("rga", "pdftotext", "pandoc")
def test_ripgrep_all_finds_the_same_words_on_the_same_pages() -> None:
    async def texts() -> dict[str, tuple[list[str], TextMap]]:
        engine = rga()
        deadline = asyncio.get_running_loop().time() + 120
        documents = [
            Document(name, str(FIXTURES / name), known.name)
            for name in FILES
            if (known := format_of(name)) and engine.reads(str(FIXTURES / name)) is None
        ]
        return {one.path: await engine.text(one, deadline) for one in documents}

    read = asyncio.run(texts())
    differing = {}
    for one in PLANTED:
        if one.file in read:
            found = found_places(one.word, *read[one.file])
            expected = [_as_rga_knows(place) for place in one.places]
            if found != expected:
                differing[one.file, one.word] = found
    for key, value in differing.items():
        print(key, value)
    assert sorted(read) == []
    assert differing == {}


def _as_rga_knows(place: Where) -> Where:
    return {name: value for name, value in place.items() if name in ("page", "member")}
