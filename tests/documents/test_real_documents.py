"""Documents made by LibreOffice, LaTeX, Chromium, pandoc and other programs: both engines find each
planted word at its location."""

from __future__ import annotations

import asyncio
import functools
import os

import pytest

from conftest import requires, requires_posix
from document_fixtures import (
    FIXTURES,
    found_places,
    known_to_rga,
    missed_by_rga,
    planted,
    unread,
)
from winnow.documents.extract.extraction import extract
from winnow.documents.format import UNSUPPORTED_EXTENSIONS, format_of
from winnow.documents.library.locations import TextMap
from winnow.documents.library.request import DocumentFile
from winnow.documents.rga.engine import RgaEngine
from winnow.documents.unreadable import Unreadable
from winnow.processes.children import Processes
from winnow.processes.programs import InstalledPrograms

PLANTED = planted()
FILES = sorted({one.file for one in PLANTED})
# Formats that rga does not support; mail, which it reads badly; and databases, because its SQLite
# would write files in their folders.
NOT_BY_RGA = {
    "figures-libreoffice.ods",
    "figures-libreoffice.xls",
    "figures-libreoffice.xlsx",
    "letter.eml",
    "letters.mbox",
    "report-libreoffice.rtf",
    "report-pandoc.rtf",
    "slides-libreoffice.odp",
    "slides-libreoffice.pptx",
    "stock.sqlite",
}


@functools.cache
def extracted(name: str) -> tuple[list[str], TextMap]:
    lines: list[bytes] = []
    with open(FIXTURES / name, "rb") as file:
        known = extract(name, file, lines.append)
    return [line.decode().removesuffix("\n") for line in lines], known


@pytest.mark.parametrize("name", FILES)
def test_each_planted_word_is_found_at_its_location(name: str) -> None:
    lines, known = extracted(name)
    truth = {one.word: one.places for one in PLANTED if one.file == name}
    assert {word: found_places(word, lines, known) for word in truth} == truth
    assert known.failed == ()


@pytest.mark.parametrize("name", sorted(unread()))
def test_unreadable_documents_have_a_reason(name: str) -> None:
    lines: list[bytes] = []
    with open(FIXTURES / name, "rb") as file:
        try:
            reasons = [one.reason for one in extract(name, file, lines.append).failed]
        except Unreadable as reason:
            reasons = [str(reason)]
    assert lines == []
    assert [reason[: len(unread()[name])] for reason in reasons] == [unread()[name]]


def test_every_fixture_has_expected_results() -> None:
    documents = {path.name for path in FIXTURES.iterdir() if format_of(path.name)}
    assert documents == {*FILES, *unread()}


def test_documents_of_old_word_versions_are_reported_as_unsupported() -> None:
    assert format_of("report-libreoffice.doc") is None
    assert ".doc" in UNSUPPORTED_EXTENSIONS


# --- ripgrep-all -----------------------------------------------------------------------------


async def texts_by_rga() -> dict[str, tuple[list[str], TextMap]]:
    """Return the texts of all readable documents."""
    installed = InstalledPrograms(os.environ, ())
    engine = RgaEngine(Processes(), installed, ripgrep=installed.ripgrep())
    deadline = asyncio.get_running_loop().time() + 300
    documents = [
        DocumentFile(name, str(FIXTURES / name), known.name)
        for name in FILES
        if (known := format_of(name)) and engine.unsupported(str(FIXTURES / name)) is None
    ]
    return {one.path: await engine.text(one, deadline) for one in documents}


@pytest.mark.slow
@requires("rga", "pdftotext", "pandoc")
@requires_posix
async def test_ripgrep_all_finds_the_same_words_on_the_same_pages() -> None:
    texts = await texts_by_rga()
    assert {*texts} == {*FILES} - NOT_BY_RGA
    missed = {
        (one.file, one.word)
        for one in PLANTED
        if one.file in texts and not found_places(one.word, *texts[one.file])
    }
    assert missed == missed_by_rga()
    found = {
        (one.file, one.word): found_places(one.word, *texts[one.file])
        for one in PLANTED
        if one.file in texts and (one.file, one.word) not in missed
    }
    assert found == {
        (one.file, one.word): [known_to_rga(place) for place in one.places]
        for one in PLANTED
        if (one.file, one.word) in found
    }
