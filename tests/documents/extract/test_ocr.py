from __future__ import annotations

import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import CI, child_environment
from documents.pictures import pdf_with_a_scan
from winnow.documents.extract import ocr
from winnow.documents.extract.extraction import extract
from winnow.documents.extract.ocr import joined
from winnow.documents.library.locations import DocumentLocation

installed = pytest.mark.skipif(not ocr.is_installed() and not CI, reason="needs winnow-ls[ocr]")


def test_boxes_side_by_side_form_a_line_from_left_to_right() -> None:
    # Left, top and bottom, in any order.
    boxes = [(300.0, 12.0, 32.0), (10.0, 40.0, 60.0), (10.0, 10.0, 30.0), (10.0, 58.0, 80.0)]
    assert joined(boxes, ["42", "Next", "Total", "Last"]) == ["Total\t42", "Next", "Last"]
    assert joined([], []) == []


@installed
@pytest.mark.usefixtures("recognition")
def test_a_page_without_text_has_no_lines() -> None:
    content = pdf_with_a_scan(["Typed words"], ["The quick brown fox", "jumps over 42 lazy dogs"])
    written: list[bytes] = []
    found = extract("a.pdf", io.BytesIO(content), written.append, ocr=True)
    lines = [line.decode().rstrip("\n") for line in written]
    assert lines == ["Typed words", "The quick brown fox", "jumps over 42 lazy dogs"]
    assert [found.place_at(line) for line in (1, 3)] == [
        DocumentLocation(page=1),
        DocumentLocation(page=2),
    ]
    assert found.failed == ()


@pytest.mark.slow
@installed
def test_ocr_prints_nothing_opens_no_connection_and_stores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_with_a_scan(["Typed words"], ["The quick brown fox"]))
    program = """
        import os, sys
        from winnow.documents.extract.extraction import extract

        def audit(event, arguments):
            if event in ("socket.connect", "socket.getaddrinfo"):
                os._exit(3)

        sys.addaudithook(audit)
        lines = []
        with open(sys.argv[1], "rb") as file:
            extract("a.pdf", file, lines.append, ocr=True)
        sys.exit(0 if lines[1] == b"The quick brown fox\\n" else 4)
    """
    home = tmp_path / "home"
    home.mkdir()
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(path)],
        capture_output=True,
        text=True,
        env=child_environment(home, TMPDIR=str(home), XDG_CACHE_HOME=str(home)),
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    # An audit hook sees files that Python opens, but not the telemetry database of onnxruntime.
    assert list(home.iterdir()) == []
