"""Plain text and markup languages."""

from __future__ import annotations

import pytest

from documents.extracted import extracted
from winnow.documents.format import format_of, format_of_member
from winnow.documents.unreadable import Unreadable


@pytest.mark.parametrize("name", ["notes.txt", "README.md", "index.rst", "guide.ADOC"])
def test_the_text_of_a_plain_file_is_its_content(name: str) -> None:
    found = extracted(name, "# Größe\n\n  indented\nlast".encode())
    assert found.lines == ["# Größe", "", "  indented", "last"]


def test_other_encodings_are_read() -> None:
    assert extracted("a.txt", "Größe\n".encode("utf-16")).lines == ["Größe"]
    assert extracted("a.txt", "Größe\n".encode("latin-1")).lines == ["Größe"]


def test_an_empty_file_is_no_problem() -> None:
    assert extracted("a.txt", b"").lines == []


def test_a_binary_file_is_not_text() -> None:
    with pytest.raises(Unreadable, match="it is not text"):
        extracted("a.txt", b"\x00\x01\x02\xff" * 100)


def test_a_plain_file_in_another_document_is_a_text_file_like_others() -> None:
    known = format_of("a.md")
    assert known is not None
    assert (known.name, format_of_member("a.md"), format_of_member("a.py")) == ("text", None, None)
