"""Pages in HTML, and what is visible of them.

By tags of our own, in one pass over the page: html.parser of the standard library needs minutes for
64 KiB of `<a <a <a` in Pythons that are in use, and for what is well written three times as long;
lxml and selectolax hold the tree of the page, in ten times its size. Nothing is a fault here, as in
a browser, and nothing is kept of how elements are nested but how deep a table is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from html import unescape

from winnow.documents.extract.input_stream import CHUNK_BYTES, ByteStream, DocumentInput
from winnow.documents.extract.lines import Sections
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable

LONGEST_PAGE = 32 * 1024**2
# A cell with so much text is no datum: the page is laid out by a table.
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
# What a page may say it is written in; codecs of Python that are no encodings of pages are not
# asked, since some of them unpack.
_ENCODINGS = re.compile(
    r"utf-8|utf-16(-[lb]e)?|cp(125\d|866|874|932|949|950)|windows-.*|iso8859-\d+|iso2022_jp|koi8-[rut]"
    r"|gb2312|gbk|gb18030|hz|big5(hkscs)?|shift_jis(x0213|_2004)?|euc_(jp|kr)|mac-\w+|tis-620"
)
_SAMPLE_BYTES = 4096


def read(source: DocumentInput, output: TextOutput) -> None:
    """The title, and what is visible, section by section."""
    sections = Sections(output, numbered=False)
    page, whole = read_page(source.file)
    read_html(page, sections.paragraph)
    if not whole:
        output.failed(f"only its first {LONGEST_PAGE // 1024**2} MiB are read")
    if not output.lines:
        raise Unreadable("it has no text")


def read_page(stream: ByteStream) -> tuple[str, bool]:
    """The characters of a page, and whether these are all."""
    raw = bytearray()
    while len(raw) <= LONGEST_PAGE and (chunk := stream.read(CHUNK_BYTES)):
        raw += chunk
    whole = len(raw) <= LONGEST_PAGE
    del raw[LONGEST_PAGE:]
    return decoded_page(raw), whole


def decoded_page(raw: bytes | bytearray) -> str:
    """The characters of a page by its mark, by what it says, as UTF-8, or as Windows's Latin."""
    for mark, marked in _MARKS:
        if raw.startswith(mark):
            return str(memoryview(raw)[len(mark) :], marked, "replace")
    said = _CHARSET.search(raw[:_SAMPLE_BYTES])
    encoding = _encoding((said[1] or said[2]).decode("ascii", "replace")) if said else None
    if encoding is not None and encoding != "utf-8":
        return raw.decode(encoding, "replace")
    try:
        # A character may be cut at the end of what is read.
        return codecs.utf_8_decode(raw, "strict", len(raw) < LONGEST_PAGE)[0]
    except UnicodeDecodeError:
        return raw.decode(encoding or "cp1252", "replace")


def _encoding(label: str) -> str | None:
    """The encoding that a page means by a label, None if there is none."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    if name in ("ascii", "iso8859-1"):
        return "cp1252"  # as browsers read it
    if name.startswith("utf-16"):
        return "utf-8"  # what says so in ASCII is not
    return name if _ENCODINGS.fullmatch(name) else None


def read_html(page: str, emit: Callable[[str, int | None], object]) -> None:
    """Hand out the visible lines of a page, each with its level if it is a heading."""
    visible = _Visible(emit)
    scan(page, visible.text, visible.start, visible.end)
    visible.finish()


def scan(
    page: str,
    text: Callable[[str], object],
    start: Callable[[str], object],
    end: Callable[[str], object],
) -> None:
    """Tell the tags of a page from its text. Linear in its length, whatever is in it: what is not
    closed is looked for once."""
    at, size = 0, len(page)
    lasts: dict[str, int] = {}

    def find(mark: str, begin: int) -> int:
        """Where a mark is next, -1 for nowhere."""
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
            break  # a tag that never ends: browsers leave out the rest, too
        at = closed + 1
        name = tag[2].lower()
        if tag[1]:
            end(name)
            continue
        start(name)
        if page[closed - 1] == "/" and name in _RAW:
            end(name)  # as XHTML closes a script at once
        elif name in _RAW:
            over = re.compile(f"</{name}", re.IGNORECASE).search(page, at)
            at = over.start() if over else size


def _markup(
    page: str, at: int, find: Callable[[str, int], int], text: Callable[[str], object]
) -> int:
    """Where it goes on behind a `<` that no tag begins with: a comment, a declaration, a text."""
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
    """Where the `>` of a tag is, which may stand in quoted values, too; -1 for nowhere."""
    closed = find(">", begin)
    while closed >= 0:
        quote = _QUOTE.search(page, begin, closed)
        if quote is None:
            return closed
        begin = find(quote[1], quote.end()) + 1
        if begin == 0:
            return closed  # a quote that is never closed is a slip
        if begin > closed:
            closed = find(">", begin)
    return -1


class _Visible:
    """Makes lines of text and tags."""

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
            data = unescape(data)
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
            # A table in a cell: what it stands in was no row of data.
            self._end_row()
            return
        self._soft_break()
        if name in _HEADINGS and not self._cells:
            self._level = _HEADINGS[name]
        self._in_pre = self._in_pre or name == "pre"

    def _begin_cell(self) -> None:
        if self._cells:
            # Its own white space is not the cell's.
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
        """What breaks lines, except in cells, which are one line with those beside them."""
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
        """The page ends, whatever was open."""
        self._break()


FORMATS = (
    DocumentFormat(name="html", extensions=(".html", ".htm", ".xhtml"), read=read, is_text=True),
)
