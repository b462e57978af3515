"""PDF, read with PDFium: the library of Chrome, which is fast, hardened against hostile files, and
included in the wheels of pypdfium2 under a free license.

Text is extracted with PDFium's own functions, because the helper of pypdfium2 recurses once for
each character that is missing from the text.
"""

from __future__ import annotations

import ctypes
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct

from winnow.documents.extract import ocr
from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput, cleaned
from winnow.documents.extract.pdf_lines import is_scattered, text_by_places
from winnow.documents.format import DocumentFormat
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Entries of the outline and their depth; manuals have some thousands of entries.
MOST_TITLES = 20_000
DEEPEST_TITLE = 8
TITLE_CHARS = 200
TITLE_LINES = 4
MOST_NOTES = 10_000  # on one page
MOST_ATTACHMENTS = 1_000
ATTACHMENT_BYTES = 32 * 1024**2
# The number of pages for OCR; each takes seconds.
MOST_OCR_PAGES = 50
# A page without text is scanned if it shows an image, or has this number of outlines.
OUTLINES = 100
SHOWN_OBJECTS = 10_000  # the number of objects to examine
RANGES = 10  # the number of page ranges in a reason

# PDFium's character for a hyphen at the end of a line that continues in the next line. It does not
# distinguish a hyphen that breaks a word from one that belongs to it.
_HYPHEN = "\ufffe"
# Chromium's hyphen at the end of a line, which PDFium does not replace.
_OTHER_HYPHEN = re.compile("[\u00ad\u2010](?:\r\n|\r|\n)(?=\\w)")
_LINE_END = re.compile("\r\n|\r|\n")
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*|[a-z](?:\.\d+)+)[.)]?(?=[^\d.)])")  # of a heading
_WORD = re.compile(r"\S*")
# Presentation forms that some fonts use: Kangxi radicals for Han characters, ligatures, and Hebrew
# and Arabic letters as they appear within a word.
_SHAPES = re.compile("[\u2e80-\u2fdf\ufb00-\ufdff\ufe70-\ufefc]")


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write a part for each page with its lines, notes and form values, and then the attached
    files. Raises Unreadable if there is no text."""
    with _opened(source.file) as document:
        pages = _Pages(source, output)
        before = output.lines
        pages.read(document)
        attached = _read_attachments(document, source, output)
    if output.lines > before or attached:
        pages.report()
    else:
        raise Unreadable(pages.reason())


def _opened(file: IO[bytes]) -> Any:
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise Unreadable("it is encrypted: a password is needed") from error
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise Unreadable("it is encrypted by an unknown method") from error
        raise Unreadable("it is damaged: it contains no pages") from error
    document.init_forms()
    return document


# --- pages ---------------------------------------------------------------------------------


class _Pages:
    """Reads the pages of a document, and collects pages without text and damaged pages."""

    def __init__(self, source: DocumentInput, output: TextOutput) -> None:
        self.scanned: list[int] = []
        self.damaged: list[int] = []
        self._output = output
        self._ocr = source.ocr and ocr.is_installed()
        self._ocr_pages = 0
        # How to read scanned pages, or why OCR failed.
        self._hint = ocr.MISSING if source.ocr else "documents.ocr reads them"

    def read(self, document: Any) -> None:
        import pypdfium2

        titles = _titles(document)
        section = None
        for index in range(len(document)):
            on_page = titles.get(index, [])
            try:
                page = document[index]
            except pypdfium2.PdfiumError:
                self.damaged.append(index + 1)
            else:
                try:
                    self._read_page(page, index + 1, section, on_page)
                except pypdfium2.PdfiumError:
                    self.damaged.append(index + 1)
                finally:
                    page.close()
            if on_page:
                section = on_page[-1].text

    def _read_page(
        self, page: Any, number: int, section: str | None, titles: Sequence[Title]
    ) -> None:
        lines = self._page_lines(page, number)
        sections = sections_of(lines, section, titles)
        self._output.part(f"Page {number}", DocumentLocation(page=number, section=sections.pop(0)))
        for at, line in enumerate(lines):
            if at in sections:
                self._output.at(DocumentLocation(page=number, section=sections[at]))
            self._output.line(line)
        for note in _notes(page):
            self._output.text(_normal(note))

    def _page_lines(self, page: Any, number: int) -> list[str]:
        text = _text(page)
        if text.strip():
            return list(_lines(text))
        return self._ocr_lines(page, number) if _is_scanned(page) else []

    def _ocr_lines(self, page: Any, number: int) -> list[str]:
        if not self._ocr:
            self.scanned.append(number)
            return []
        try:
            lines = ocr.recognized_lines(_pixels(page))
        except Unreadable as reason:
            self.scanned.append(number)
            self._hint = str(reason)
            return []
        self._ocr_pages += 1
        if self._ocr_pages == MOST_OCR_PAGES:
            self._ocr = False
            self._hint = f"OCR reads only the first {MOST_OCR_PAGES}"
        return lines

    def report(self) -> None:
        """Report the pages that were not read."""
        if self.scanned:
            numbers = ranges(self.scanned)
            one = len(self.scanned) == 1
            images = f"page {numbers} is an image" if one else f"pages {numbers} are images"
            self._output.failed(f"{images} without text ({self._hint})")
        if self.damaged:
            self._output.failed(f"damaged pages: {ranges(self.damaged)}")

    def reason(self) -> str:
        """Return the reason why no page has text."""
        if self.scanned:
            return f"it has no text: its pages are images ({self._hint})"
        if self.damaged:
            return "it is damaged: none of its pages can be read"
        if self._ocr_pages:
            return "it has no text, and OCR found none in its pages"
        return "it has no text: its pages are empty"


def ranges(numbers: list[int]) -> str:
    """Format sorted numbers as ranges: ``1-3, 7``, with a count of further ranges."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number])
    text = ", ".join("-".join(map(str, bounds)) for bounds in found[:RANGES])
    more = len(found) - RANGES
    return f"{text} and {more} more ranges" if more > 0 else text


# --- sections ------------------------------------------------------------------------------


class Title(Struct, frozen=True):
    """A title in the outline. ``at_top`` is True if it refers to a page, or to the top of it."""

    text: str
    at_top: bool = False


def sections_of(
    lines: Sequence[str], section: str | None, titles: Sequence[Title]
) -> dict[int, str | None]:
    """Return the sections of a page by the index of their first line; ``section`` is the last
    section of the previous page.

    A section starts at its title. If the page does not contain the title, the section starts at the
    top if the outline refers there; otherwise it is omitted.
    """
    sections = {0: section}
    positions = _title_positions(lines) if titles else {}
    at = 0
    for title in titles:
        spans = positions.get(_plain(title.text), ())
        found = next((span for span in spans if span[0] >= at), None)
        if found is not None:
            first, at = found
            sections[first] = title.text
        elif title.at_top and at == 0:
            sections[0] = title.text
    return sections


def _title_positions(lines: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the possible titles on a page with their first line and the line after their last,
    because long titles are broken into lines."""
    positions: dict[str, list[tuple[int, int]]] = {}
    for first in range(len(lines)):
        for end in range(first + 1, min(first + TITLE_LINES, len(lines)) + 1):
            joined = " ".join(lines[first:end])
            if len(joined) > 2 * TITLE_CHARS:
                break
            if lines[first].strip() and lines[end - 1].strip():
                positions.setdefault(_plain(joined), []).append((first, end))
    return positions


def _plain(title: str) -> str:
    """Normalize a title: without its number, which is often missing from the outline or the page,
    and without spaces, because a page has a gap after a number."""
    squeezed = "".join(_normal(cleaned(title)).casefold().split())
    number = _NUMBER.match(squeezed)
    return squeezed[number.end() :] if number else squeezed


def _titles(document: Any) -> Mapping[int, list[Title]]:
    """Return the titles of the outline in order, by the index of their page."""
    titles: dict[int, list[Title]] = {}
    for entry in islice(document.get_toc(max_depth=DEEPEST_TITLE), MOST_TITLES):
        target = entry.get_dest()
        index = None if target is None else target.get_index()
        if index is None:
            continue
        try:
            title = " ".join(entry.get_title()[:TITLE_CHARS].split())
        except UnicodeDecodeError:
            continue
        if title:
            found = Title(title, _is_at_top(document, index, target))
            titles.setdefault(index, []).append(found)
    return titles


def _is_at_top(document: Any, index: int, target: Any) -> bool:
    import pypdfium2
    import pypdfium2.raw as pdfium

    mode, numbers = target.get_view()
    if mode in (pdfium.PDFDEST_VIEW_FIT, pdfium.PDFDEST_VIEW_FITB):
        return True
    if mode != pdfium.PDFDEST_VIEW_XYZ or len(numbers) < 2:
        return False
    try:
        return bool(numbers[1] >= document.get_page_size(index)[1] - 1)
    except pypdfium2.PdfiumError:
        return False


# --- text ----------------------------------------------------------------------------------


def _text(page: Any) -> str:
    """Return the text of a page as PDFium extracts it."""
    import pypdfium2.raw as pdfium

    textpage = page.get_textpage()
    try:
        chars = textpage.count_chars()
        if chars <= 0:
            return ""
        buffer = (ctypes.c_ushort * (chars + 1))()  # with a NUL at the end
        written = pdfium.FPDFText_GetText(textpage, 0, chars, buffer)
        raw = memoryview(buffer).cast("B")[: 2 * max(written - 1, 0)]
        text = str(raw, "utf-16-le", "replace")
        return text_by_places(textpage) if is_scattered(text) else text
    finally:
        textpage.close()


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a page. A word that is broken by a hyphen is joined in the first line."""
    for line in _LINE_END.split(_OTHER_HYPHEN.sub(_HYPHEN, _normal(text))):
        rest = line
        while _HYPHEN in rest:
            before, _, after = rest.partition(_HYPHEN)
            word = _WORD.match(after)
            assert word is not None
            # Without a continuation, the hyphen ends the page.
            yield before + (word[0].replace(_HYPHEN, "") or "-")
            rest = after[word.end() :].lstrip()
            if not rest:
                break
        else:
            yield rest


def _normal(text: str) -> str:
    if text.isascii():
        return text
    text = _SHAPES.sub(lambda shape: unicodedata.normalize("NFKC", shape[0]), text)
    return unicodedata.normalize("NFC", text)


def _notes(page: Any) -> Iterator[str]:
    """Yield the annotations of a page: the text of notes and marks, and form values."""
    import pypdfium2.raw as pdfium

    ignored = {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MOST_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, index)
        if not note:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                text = _value(page, note)
            else:
                text = "" if kind in ignored else _string(_contents, note)
        finally:
            pdfium.FPDFPage_CloseAnnot(note)
        if text.strip():
            yield text


def _value(page: Any, field: Any) -> str:
    import pypdfium2.raw as pdfium

    written = {
        pdfium.FPDF_FORMFIELD_TEXTFIELD,
        pdfium.FPDF_FORMFIELD_COMBOBOX,
        pdfium.FPDF_FORMFIELD_LISTBOX,
    }
    form = page.formenv
    if form is None or pdfium.FPDFAnnot_GetFormFieldType(form, field) not in written:
        return ""
    return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)


def _contents(note: Any, buffer: Any, size: int) -> int:
    import pypdfium2.raw as pdfium

    return int(pdfium.FPDFAnnot_GetStringValue(note, b"Contents", buffer, size))


def _string(get: Any, *of: Any) -> str:
    """Call a PDFium function that returns UTF-16, first without a buffer to get the size."""
    size = get(*of, None, 0)
    if size <= 2:  # the NUL at the end
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    get(*of, buffer, size)
    return str(memoryview(buffer).cast("B")[: size - 2], "utf-16-le", "replace")


# --- scanned pages ------------------------------------------------------------------------------


def _is_scanned(page: Any) -> bool:
    """Return True if a page without text may show text: an image, characters of a font without
    Unicode mapping, or enough drawings to be outlines of characters."""
    import pypdfium2.raw as pdfium

    drawn = 0
    for shown in islice(page.get_objects(max_depth=5), SHOWN_OBJECTS):
        if shown.type in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_TEXT):
            return True
        drawn += shown.type == pdfium.FPDF_PAGEOBJ_PATH
    return drawn >= OUTLINES


def _pixels(page: Any) -> NDArray[np.uint8]:
    """Render a page for OCR as blue, green and red, at a fixed size."""
    scale = ocr.LONGEST_SIDE / max(*page.get_size(), 1)
    bitmap = page.render(scale=scale)
    try:
        pixels: NDArray[np.uint8] = bitmap.to_numpy().copy()
        return pixels
    finally:
        bitmap.close()


# --- attachments ---------------------------------------------------------------------------


def _read_attachments(document: Any, source: DocumentInput, output: TextOutput) -> int:
    """Read the attached files; return their number."""
    import pypdfium2

    count = int(document.count_attachments())
    for index in range(min(count, MOST_ATTACHMENTS)):
        name = f"attachment {index + 1}"
        try:
            attachment = document.get_attachment(index)
            name = attachment.get_name() or name
            content = _content(attachment)
        except (pypdfium2.PdfiumError, UnicodeDecodeError):
            output.failed("it is damaged", name)
            continue
        if content is None:
            output.failed(f"it has more than {ATTACHMENT_BYTES // 1024**2} MiB", name)
        else:
            source.member(name, io.BytesIO(content), output)
    if count > MOST_ATTACHMENTS:
        output.failed(f"only the first {MOST_ATTACHMENTS} of {count} attached files are read")
    return count


def _content(attachment: Any) -> Any:
    """Return the content of an attached file, or None if it is too large."""
    import pypdfium2.raw as pdfium

    size = ctypes.c_ulong()
    pdfium.FPDFAttachment_GetFile(attachment, None, 0, size)
    if size.value == 0:
        return b""
    return attachment.get_data() if size.value <= ATTACHMENT_BYTES else None


FORMATS = (DocumentFormat(name="pdf", extensions=(".pdf",), read=read),)
