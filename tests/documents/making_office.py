"""Build office documents from XML that a test contains."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from winnow.documents.extract.extraction import extract
from winnow.documents.library.locations import DocumentLocation, TextMap

Parts = Mapping[str, str | bytes]

_OOXML = "http://schemas.openxmlformats.org"
RELATION = f"{_OOXML}/officeDocument/2006/relationships"
W = (
    f'xmlns:w="{_OOXML}/wordprocessingml/2006/main" xmlns:r="{RELATION}"'
    f' xmlns:mc="{_OOXML}/markup-compatibility/2006"'
    f' xmlns:m="{_OOXML}/officeDocument/2006/math"'
)
P = (
    f'xmlns:p="{_OOXML}/presentationml/2006/main" xmlns:a="{_OOXML}/drawingml/2006/main"'
    f' xmlns:r="{RELATION}" xmlns:c="{_OOXML}/drawingml/2006/chart"'
)
X = f'xmlns="{_OOXML}/spreadsheetml/2006/main" xmlns:r="{RELATION}"'
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
O = " ".join(  # noqa: E741
    f'xmlns:{prefix}="{_ODF}:{name}:1.0"'
    for prefix, name in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("style", "style"),
    )
)
ODF_KINDS = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}


def zipped(parts: Parts, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return a relationships part: by id, the last word of the type and the target."""
    listed = "".join(
        f'<Relationship Id="{name}" Type="{RELATION}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_OOXML}/package/2006/relationships">{listed}</Relationships>'


def _types(main: str, content_type: str) -> str:
    return (
        f'<Types xmlns="{_OOXML}/package/2006/content-types">'
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.'
        f'{content_type}.main+xml"/></Types>'
    )


# --- Word ----------------------------------------------------------------------------------------

STYLES = (
    f"<w:styles {W}>"
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/>'
    '<w:basedOn w:val="berschrift1"/></w:style></w:styles>'
)


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph in WordprocessingML."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
    return f"<w:p>{styled}{run}</w:p>"


def docx(body: str, parts: Parts | None = None, kinds: Mapping[str, str] | None = None) -> bytes:
    """Return a document with this body. ``parts`` are further parts, by their names in the folder
    of the main part, and ``kinds`` are their relationship types."""
    targets = {f"r{name}": (kind, name) for name, kind in (kinds or {}).items()}
    return zipped(
        {
            "[Content_Types].xml": _types("word/document.xml", "wordprocessingml.document"),
            "_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}),
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(
                {"styles": ("styles", "styles.xml"), **targets}
            ),
            "word/styles.xml": STYLES,
            **{f"word/{name}": part for name, part in (parts or {}).items()},
        }
    )


def make_docx(paragraphs: Sequence[str], headings: Sequence[int] = ()) -> bytes:
    """Return a document of these paragraphs; ``headings`` has the indices of headings."""
    chosen = frozenset(headings)
    return docx(
        "".join(
            paragraph(text, "berschrift1" if index in chosen else "")
            for index, text in enumerate(paragraphs)
        )
    )


# --- PowerPoint ----------------------------------------------------------------------------------


def shape(*paragraphs: str, kind: str = "") -> str:
    """Return a shape on a slide; ``kind`` is the kind of a placeholder."""
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    texts = "".join(f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>" for text in paragraphs)
    return f"<p:sp>{holder}<p:txBody>{texts}</p:txBody></p:sp>"


def slide(content: str) -> str:
    """Return a slide or its notes."""
    return f"<p:sld {P}><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:sld>"


def pptx(order: Sequence[int], parts: Parts) -> bytes:
    """Return a presentation of the slide files with these numbers."""
    shown = "".join(
        f'<p:sldId id="{256 + index}" r:id="s{one}"/>' for index, one in enumerate(order)
    )
    return zipped(
        {
            "[Content_Types].xml": _types("ppt/presentation.xml", "presentationml.presentation"),
            "_rels/.rels": relations({"r1": ("officeDocument", "ppt/presentation.xml")}),
            "ppt/presentation.xml": (
                f"<p:presentation {P}><p:sldIdLst>{shown}</p:sldIdLst></p:presentation>"
            ),
            "ppt/_rels/presentation.xml.rels": relations(
                {f"s{one}": ("slide", f"slides/slide{one}.xml") for one in order}
            ),
            **{f"ppt/{name}": part for name, part in parts.items()},
        }
    )


# --- Excel ---------------------------------------------------------------------------------------


def sheet(rows: str) -> str:
    """Return a sheet with these rows."""
    return f"<worksheet {X}><sheetData>{rows}</sheetData></worksheet>"


def xlsx(sheets: Mapping[str, str], parts: Parts | None = None, properties: str = "") -> bytes:
    """Return a workbook of these sheets by name, with shared texts and styles if given."""
    parts = parts or {}
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{index}" r:id="s{index}"/>'
        for index, name in enumerate(sheets, 1)
    )
    known = {"sharedStrings.xml": "sharedStrings", "styles.xml": "styles"}
    return zipped(
        {
            "[Content_Types].xml": _types("xl/workbook.xml", "spreadsheetml.sheet"),
            "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
            "xl/workbook.xml": f"<workbook {X}>{properties}<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                {
                    **{
                        f"s{index}": ("worksheet", f"worksheets/sheet{index}.xml")
                        for index in range(1, len(sheets) + 1)
                    },
                    **{name: (kind, name) for name, kind in known.items() if name in parts},
                }
            ),
            **{
                f"xl/worksheets/sheet{index}.xml": rows
                for index, rows in enumerate(sheets.values(), 1)
            },
            **{f"xl/{name}": part for name, part in parts.items()},
        }
    )


# --- OpenDocument --------------------------------------------------------------------------------


def opendocument(end: str, body: str, parts: Parts | None = None) -> bytes:
    """Return an OpenDocument file for a file extension (`odt`)."""
    kind = ODF_KINDS[end]
    content = (
        f"<office:document-content {O}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    mimetype = f"application/vnd.oasis.opendocument.{kind}"
    return zipped({"mimetype": mimetype, "content.xml": content, **(parts or {})})


# --- EPUB ----------------------------------------------------------------------------------------

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)


def epub(chapters: Mapping[str, str], extra: str = "", parts: Parts | None = None) -> bytes:
    """Return a book of these chapters by file name; ``extra`` is added to its manifest."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OPS/book.opf": (
                f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}{extra}</manifest>'
                f"<spine>{spine}</spine></package>"
            ),
            **{f"OPS/{name}": page for name, page in chapters.items()},
            **(parts or {}),
        }
    )


# --- expected text -------------------------------------------------------------------------------


def read(name: str, document: bytes) -> tuple[list[str], TextMap]:
    """Return the lines of a document and their locations."""
    text = bytearray()
    found = extract(name, io.BytesIO(document), text.extend)
    return text.decode().splitlines(), found


def lines(name: str, document: bytes) -> list[str]:
    """Return the lines of a document."""
    return read(name, document)[0]


def shown(name: str, document: bytes) -> list[str]:
    """Return the preview lines of a document, with rulers."""
    text, found = read(name, document)
    return [line for line, _ in found.shown(text)]


def places(name: str, document: bytes) -> list[tuple[str, DocumentLocation]]:
    """Return the lines of a document with their locations."""
    text, found = read(name, document)
    return [(line, found.place_at(number)) for number, line in enumerate(text, 1)]
