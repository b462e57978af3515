"""HTML pages: their visible text.

This module scans tags itself, in one pass. In current Python versions, html.parser of the standard
library takes minutes for 64 KiB of `<a <a <a`, and three times as long for valid pages. lxml and
selectolax build a tree of ten times the size of the page. As in a browser, no markup is an error.
Of the nesting of elements, only that of tables is tracked.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from winnow.documents.extract.input_stream import CHUNK_BYTES, ByteStream, DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import Sections
from winnow.documents.format import DocumentFormat
from winnow.text.html_references import unescaped

LONGEST_PAGE = 32 * 1024**2
# A cell with more text is not data: the page uses the table for layout.
_LAYOUT = 1000
_BLOCKS = frozenset(
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li"
    " main menu nav ol optgroup option p pre section select summary table tbody tfoot thead title"
    " tr ul".split()
)
_RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes"))
_HIDDEN = frozenset(
    ("template", "noscript", "datalist", "audio", "video", "canvas", "annotation", "annotation-xml")
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACES = re.compile(r"[ \t\n\r\f]+")
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_QUOTE = re.compile(r"=\s*([\"'])")
_CHARSET = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The encodings that a page may declare. Other codecs of Python are rejected, because some of them
# decompress.
_ENCODINGS = re.compile(
    r"utf-8|utf-16(-[lb]e)?|cp(125\d|866|874|932|949|950)|windows-.*|iso8859-\d+|iso2022_jp|koi8-[rut]"
    r"|gb2312|gbk|gb18030|hz|big5(hkscs)?|shift_jis(x0213|_2004)?|euc_(jp|kr)|mac-\w+|tis-620"
)
_SAMPLE_BYTES = 4096


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the title and the visible text, section by section.

    A page without text is no error: templates and start pages of applications have none.
    """
    sections = Sections(output, numbered=False)
    page, is_complete = read_page(source.file)
    read_html(page, sections.paragraph)
    if not is_complete:
        output.failed(f"only its first {LONGEST_PAGE // 1024**2} MiB are read")


def read_page(stream: ByteStream) -> tuple[str, bool]:
    """Decode a page; return its text, and True if it is complete."""
    raw = bytearray()
    while len(raw) <= LONGEST_PAGE and (chunk := stream.read(CHUNK_BYTES)):
        raw += chunk
    is_complete = len(raw) <= LONGEST_PAGE
    del raw[LONGEST_PAGE:]
    return decoded_page(raw), is_complete


def decoded_page(raw: bytes | bytearray) -> str:
    """Decode a page by its byte order mark, its declared encoding, as UTF-8, or as cp1252."""
    for mark, marked in _MARKS:
        if raw.startswith(mark):
            return str(memoryview(raw)[len(mark) :], marked, "replace")
    label = _CHARSET.search(raw[:_SAMPLE_BYTES])
    encoding = _encoding((label[1] or label[2]).decode("ascii", "replace")) if label else None
    if encoding is not None and encoding != "utf-8":
        return raw.decode(encoding, "replace")
    try:
        # The last character may be truncated.
        return codecs.utf_8_decode(raw, "strict", len(raw) < LONGEST_PAGE)[0]
    except UnicodeDecodeError:
        return raw.decode(encoding or "cp1252", "replace")


def _encoding(label: str) -> str | None:
    """Return the encoding for a label, or None for an unknown label."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    if name in ("ascii", "iso8859-1"):
        return "cp1252"  # as browsers read it
    if name.startswith("utf-16"):
        return "utf-8"  # a label in ASCII is not in UTF-16
    return name if _ENCODINGS.fullmatch(name) else None


def read_html(page: str, emit: Callable[[str, int | None], object]) -> None:
    """Pass the visible lines of a page to ``emit``, each with its level if it is a heading."""
    visible = _Visible(emit)
    scan(page, visible.text, visible.start, visible.end)
    visible.finish()


def scan(
    page: str,
    text: Callable[[str], object],
    start: Callable[[str], object],
    end: Callable[[str], object],
) -> None:
    """Split a page into tags and text. The time is linear in the length of any page, because each
    missing end is searched for only once."""
    at, size = 0, len(page)
    lasts: dict[str, int] = {}

    def find(mark: str, begin: int) -> int:
        """Return the next position of a mark, or -1."""
        if mark not in lasts:
            lasts[mark] = page.rfind(mark)
        return page.find(mark, begin) if begin <= lasts[mark] else -1

    while at < size:
        opened = page.find("<", at)
        if opened < 0:
            opened = size
        if opened > at:
            text(page[at:opened])
        at = opened
        if at == size:
            break
        tag = _TAG.match(page, at)
        if tag is None:
            at = _markup(page, at, find, text)
            continue
        closed = _tag_end(page, tag.end(), find)
        if closed < 0:
            break  # a tag without an end: browsers also omit the rest
        at = closed + 1
        name = tag[2].lower()
        if tag[1]:
            end(name)
            continue
        start(name)
        if page[closed - 1] == "/" and name in _RAW:
            end(name)  # XHTML closes an empty script like this
        elif name in _RAW:
            over = re.compile(f"</{name}", re.IGNORECASE).search(page, at)
            at = over.start() if over else size


def _markup(
    page: str, at: int, find: Callable[[str, int], int], text: Callable[[str], object]
) -> int:
    """Return the end of a comment, declaration or text that starts with `<`."""
    if page.startswith("<!--", at):
        closed = find("-->", at + 2)  # `<!-->` is a comment, too
        return closed + 3 if closed >= 0 else len(page)
    if page.startswith("<![CDATA[", at):
        closed = find("]]>", at)
        text(page[at + 9 : closed if closed >= 0 else len(page)].replace("&", "&amp;"))
        return closed + 3 if closed >= 0 else len(page)
    if page.startswith(("<!", "<?", "</"), at):
        closed = find(">", at)
        return closed + 1 if closed >= 0 else len(page)
    text("<")
    return at + 1


def _tag_end(page: str, begin: int, find: Callable[[str, int], int]) -> int:
    """Return the position of a tag's `>`, ignoring those in quoted values, or -1."""
    closed = find(">", begin)
    while closed >= 0:
        quote = _QUOTE.search(page, begin, closed)
        if quote is None:
            return closed
        begin = find(quote[1], quote.end()) + 1
        if begin == 0:
            return closed  # ignore a quote that is never closed
        if begin > closed:
            closed = find(">", begin)
    return -1


class _Visible:
    """Makes lines from text and tags."""

    def __init__(self, emit: Callable[[str, int | None], object]) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._length = 0
        self._level: int | None = None
        self._hidden = ""
        self._hidden_depth = 0
        self._in_raw = ""
        self._in_pre = False
        self._cells = 0  # of the row so far; 0 outside of rows

    def text(self, data: str) -> None:
        if self._hidden or self._in_raw:
            return
        if "&" in data:
            data = unescaped(data)
        if self._in_pre:
            *lines, data = data.replace("\r\n", "\n").split("\n")
            for line in lines:
                self._add(line)
                self._break()
        else:
            data = _SPACES.sub(" ", data)
        self._add(data)

    def _add(self, data: str) -> None:
        if data:
            self._pieces.append(data)
            self._length += len(data)

    def start(self, name: str) -> None:
        if self._hidden:
            self._hidden_depth += name == self._hidden
        elif name in _RAW:
            self._in_raw = name
        elif name in _HIDDEN:
            self._hidden, self._hidden_depth = name, 1
        elif name in ("td", "th"):
            self._begin_cell()
        elif name in _BLOCKS:
            self._begin_block(name)

    def end(self, name: str) -> None:
        if self._hidden:
            self._hidden_depth -= name == self._hidden
            if not self._hidden_depth:
                self._hidden = ""
        elif name == self._in_raw:
            self._in_raw = ""
        elif name in ("tr", "table"):
            self._end_row()
        elif name in _BLOCKS:
            self._soft_break()
            self._level = None if name in _HEADINGS else self._level
            self._in_pre = self._in_pre and name != "pre"

    def _begin_block(self, name: str) -> None:
        if name in ("tr", "table"):
            # A nested table: the outer row was used for layout.
            self._end_row()
            return
        self._soft_break()
        if name in _HEADINGS and not self._cells:
            self._level = _HEADINGS[name]
        self._in_pre = self._in_pre or name == "pre"

    def _begin_cell(self) -> None:
        if self._cells:
            # Drop white space around the cell.
            self._trim()
            self._add("\t")
        else:
            self._break()
        self._cells += 1

    def _trim(self) -> None:
        while self._pieces and self._pieces[-1].isspace() and self._pieces[-1] != "\t":
            self._pieces.pop()

    def _end_row(self) -> None:
        self._break()
        self._cells = 0

    def _soft_break(self) -> None:
        """Break the line, except in table cells, because a row is a line."""
        if self._cells and self._length < _LAYOUT and not self._in_pre:
            self._add(" ")
        else:
            self._break()

    def _break(self) -> None:
        line = "".join(self._pieces)
        self._pieces.clear()
        self._length = 0
        if self._in_pre and not self._cells:
            line = line.rstrip()
        elif "\t" in line:
            line = "\t".join(" ".join(cell.split()) for cell in line.split("\t"))
        else:
            line = _SPACES.sub(" ", line).strip()
        if line.strip():
            level, self._level = self._level, None
            self._emit(line, level)

    def finish(self) -> None:
        """End the last line."""
        self._break()


FORMATS = (
    DocumentFormat(name="html", extensions=(".html", ".htm", ".xhtml"), read=read, is_text=True),
)
