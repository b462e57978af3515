"""Books in EPUB."""

from __future__ import annotations

import pytest

from documents.making_office import epub, lines, places, shown
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

CHAPTERS = {
    "c1.xhtml": "<html><head><title>no</title></head><body><h1>Start</h1><p>One</p>"
    "<h2>Inner</h2><p>Two</p></body></html>",
    "c2.xhtml": "<html><body><p>Three&nbsp;&mdash; four</p></body></html>",
}


def test_chapters_are_in_reading_order_and_titled_by_their_first_line() -> None:
    assert places("a.epub", epub(CHAPTERS)) == [
        ("Start", DocumentLocation(section="Start", paragraph=1)),
        ("One", DocumentLocation(section="Start", paragraph=2)),
        ("Inner", DocumentLocation(section="Start > Inner", paragraph=3)),
        ("Two", DocumentLocation(section="Start > Inner", paragraph=4)),
        ("Three — four", DocumentLocation(section="Three — four", paragraph=1)),
    ]


@pytest.mark.parametrize(
    ("item", "part"),
    [
        (
            '<item id="n" href="toc/nav.xhtml" properties="nav" media-type="x"/>',
            '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol><li><a href="../c1.xhtml#x">'
            'The <b>first</b></a></li><li><a href="../c1.xhtml#y">no</a></li>'
            '<li><a href="../c2.xhtml">Last</a></li></ol></nav></body></html>',
        ),
        (
            '<item id="n" href="toc/nav.xhtml" media-type="application/x-dtbncx+xml"/>',
            '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>'
            'The first</text></navLabel><content src="../c1.xhtml"/></navPoint><navPoint><navLabel>'
            '<text>Last</text></navLabel><content src="../c2.xhtml"/></navPoint></navMap></ncx>',
        ),
    ],
    ids=["EPUB 3", "EPUB 2"],
)
def test_the_table_of_contents_names_chapters(item: str, part: str) -> None:
    document = epub(CHAPTERS, item, {"OPS/toc/nav.xhtml": part})
    assert [line for line in shown("a.epub", document) if "──" in line] == [
        "──── The first ────",
        "──── Inner ────",
        "──── Last ────",
    ]


def encrypted(method: str, uris: list[str]) -> str:
    return (
        '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        + "".join(
            f'<e:EncryptedData><e:EncryptionMethod Algorithm="{method}"/><e:CipherData>'
            f'<e:CipherReference URI="{uri}"/></e:CipherData></e:EncryptedData>'
            for uri in uris
        )
        + "</encryption>"
    )


def test_encrypted_chapters_are_reported_and_encrypted_fonts_ignored() -> None:
    uris = [f"OPS/{name}" for name in CHAPTERS]
    protected = encrypted("http://www.w3.org/2001/04/xmlenc#aes128-cbc", uris)
    with pytest.raises(Unreadable, match=r"^it is encrypted: "):
        lines("a.epub", epub(CHAPTERS, parts={"META-INF/encryption.xml": protected}))
    fonts = encrypted("http://www.idpf.org/2008/embedding", ["OPS/a.otf"])
    assert lines("a.epub", epub(CHAPTERS, parts={"META-INF/encryption.xml": fonts}))[0] == "Start"
