"""Documents of Microsoft Word since 2007.

Read with the standard library (zipfile and expat): python-docx builds the tree of the complete
document, and omits notes, text boxes and comments.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import FlowReader, Sections, write_part
from winnow.documents.extract.xml import Attributes
from winnow.documents.extract.zipped import Package
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable

# The parts besides the text, in the order of the output.
_BESIDE = {
    "footnotes": "Footnotes",
    "endnotes": "Endnotes",
    "comments": "Comments",
    "header": "Headers",
    "footer": "Footers",
}
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_STYLE_ELEMENTS = ("w:style", "w:name", "w:basedOn", "w:outlineLvl")
BODY_TEXT_LEVEL = 9  # the level of a paragraph that is not a heading


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the text, and then notes, comments, headers and footers."""
    package = Package(source)
    main = package.main_part("word/document.xml")
    sections = Sections(output)
    package.read(main, WordReader(sections.paragraph, _heading_levels(package, main)))
    for kind, title in _BESIDE.items():
        _read_beside(package, package.targets(main, kind), title, output)
    output.require_text()


def _read_beside(package: Package, parts: list[str], title: str, output: TextOutput) -> None:
    # Each section of a document has its own headers, which are mostly the same. Numbers in them are
    # page numbers.
    lines: dict[str, None] = {}

    def add(text: str, _level: int | None) -> None:
        if not text.isdecimal():
            lines.setdefault(text)

    for part in parts:
        if reason := package.try_read(part, WordReader(add, {})):
            output.failed(f"{title}: {reason}")
    write_part(output, title, list(lines))


def _heading_levels(package: Package, main: str) -> dict[str, int]:
    """Return the levels of the styles that are headings.

    A style is a heading by its name, which is English in a Word of any language, by its own level,
    or by the style that it is based on.
    """
    levels: dict[str, int] = {}
    based_on: dict[str, str] = {}
    style = ""
    with contextlib.suppress(Unreadable):  # a document is readable without its styles
        for part in package.targets(main, "styles"):
            for name, attributes in package.elements(part, *_STYLE_ELEMENTS):
                value = attributes.get("w:val", "")
                if name == "w:style":
                    style = attributes.get("w:styleId", "")
                elif name == "w:basedOn":
                    based_on[style] = value
                elif name == "w:outlineLvl" and value in set("0123456789"):
                    levels[style] = int(value)
                elif name == "w:name" and (heading := _HEADING.fullmatch(value)):
                    levels.setdefault(style, int(heading[1]) - 1)
    for style in based_on:
        base = style
        for _ in range(10):  # no real chain is longer, and there may be cycles
            if base in levels or base not in based_on:
                break
            base = based_on[base]
        if base in levels:
            levels[style] = levels[base]
    return {style: level for style, level in levels.items() if level < BODY_TEXT_LEVEL}


class WordReader(FlowReader):
    """The paragraphs of a part in WordprocessingML; ``emit`` gets each with its level."""

    def __init__(
        self, emit: Callable[[str, int | None], object], heading_levels: dict[str, int]
    ) -> None:
        super().__init__(emit)
        self._headings = heading_levels
        self.on_paragraphs("w:p")
        self.on_text("w:t m:t")
        self.on_table("w:tr", "w:tc")
        self.on("w:pStyle", self._style)
        self.on("w:outlineLvl", self._level)
        self.on("w:tab w:ptab", lambda _: self.flow.add("\t"))
        self.on("w:br w:cr", lambda _: self.flow.add(" "))
        self.on("w:noBreakHyphen", lambda _: self.flow.add("-"))
        self.on("w:sym", self._symbol)
        self.on("w:txbxContent", self.flow.begin_box, self.flow.end_box)
        self.on_alternatives()
        # Tab stops; the old properties of a changed paragraph; moved text; phonetic readings, which
        # are printed above characters.
        self.on("w:tabs w:pPrChange w:del w:moveFrom w:rt", self.skip)

    def _style(self, attributes: Attributes) -> None:
        self.flow.level(self._headings.get(attributes.get("w:val", "")))

    def _level(self, attributes: Attributes) -> None:
        value = attributes.get("w:val", "")
        level = int(value) if value in set("0123456789") else None
        self.flow.level(None if level == BODY_TEXT_LEVEL else level)

    def _symbol(self, attributes: Attributes) -> None:
        try:
            code = int(attributes.get("w:char", ""), 16)
        except ValueError:
            code = 0xF000
        # Most symbols are drawings in symbol fonts, not characters of a script.
        private = 0xD800 <= code < 0xF900 or code > 0xFFFF
        self.flow.add(" " if private else chr(code))


FORMATS = (DocumentFormat(name="docx", extensions=(".docx", ".docm", ".dotx", ".dotm"), read=read),)
