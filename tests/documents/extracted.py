"""Extract a document in the test process, to compare complete results."""

from __future__ import annotations

import io
from typing import IO

from msgspec import Struct

from winnow.documents.extract.extraction import extract
from winnow.documents.library.locations import TextMap


class Extracted(Struct, frozen=True):
    """The lines of a document and their locations."""

    lines: list[str]
    text_map: TextMap

    @property
    def shown(self) -> list[str]:
        return [line for line, _ in self.text_map.shown(self.lines)]

    @property
    def failed(self) -> list[tuple[str, str]]:
        return [(failure.member, failure.reason) for failure in self.text_map.failed]


def extracted(name: str, document: bytes | IO[bytes], *, ocr: bool = False) -> Extracted:
    written: list[bytes] = []
    file = io.BytesIO(document) if isinstance(document, bytes) else document
    text_map = extract(name, file, written.append, ocr=ocr)
    lines = b"".join(written).decode().splitlines()
    assert len(lines) == text_map.lines
    return Extracted(lines, text_map)
