"""Books in FictionBook."""

from __future__ import annotations

import pytest

from documents.making_office import places, zipped
from winnow.documents.library.locations import DocumentLocation

BOOK = (
    '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><p>no</p>'
    "</description><body><section><title><p>Chapter</p><p>one</p></title><p>Te<em>xt</em></p>"
    "<poem><stanza><v>Verse</v></stanza></poem><table><tr><td>a</td><td>b</td></tr></table>"
    "</section></body><binary>QUJD</binary></FictionBook>"
)


@pytest.mark.parametrize("name", ["a.fb2", "a.fb2.zip"])
def test_a_book_is_read_by_sections(name: str) -> None:
    document = BOOK.encode() if name == "a.fb2" else zipped({"book.fb2": BOOK})
    section = "Chapter one"
    assert places(name, document) == [
        ("Chapter one", DocumentLocation(section=section, paragraph=1)),
        ("Text", DocumentLocation(section=section, paragraph=2)),
        ("Verse", DocumentLocation(section=section, paragraph=3)),
        ("a\tb", DocumentLocation(section=section, paragraph=4)),
    ]
