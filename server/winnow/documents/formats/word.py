"""Documents of Microsoft Word since 2007, and what else is written so.

By the standard library (zipfile and expat): python-docx holds the tree of the whole document, and
leaves out notes, text boxes and comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from winnow.documents.extract.input_stream import Source
from winnow.documents.extract.lines import Flow, Sections, write_part
from winnow.documents.extract.output import Output
from winnow.documents.extract.xml import Attributes, XmlReader
from winnow.documents.extract.zipped import Package, Relation, relations
from winnow.documents.format import Format
from winnow.documents.unreadable import Unreadable

# Parts beside the text, in the order in which they follow it.
_BESIDE = {
    "footnotes": "Footnotes",
    "endnotes": "Endnotes",
    "comments": "Comments",
    "header": "Headers",
    "footer": "Footers",
}
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
BODY_TEXT_LEVEL = 9  # what a paragraph that is no heading may say of its level


def read(source: Source, output: Output) -> None:
    """The text, and after it notes, comments, headers and footers."""
    package = Package(source)
    main = _main_part(package)
    related = list(relations(package, main).values())
    sections = Sections(output)
    package.read(main, WordReader(sections.paragraph, _heading_levels(package, related)))
    for kind, title in _BESIDE.items():
        _read_beside(package, related, kind, title, output)
    if not output.lines:
        raise Unreadable("it has no text")


def _main_part(package: Package) -> str:
    for relation in relations(package, "").values():
        if relation.kind == "officeDocument" and relation.target in package:
            return relation.target
    return "word/document.xml"


def _read_beside(
    package: Package, related: list[Relation], kind: str, title: str, output: Output
) -> None:
    # Each section of a document has headers of its own, which are mostly the same; numbers in them
    # are those of pages.
    lines: dict[str, None] = {}

    def take(text: str, _level: int | None) -> None:
        if not text.isdecimal():
            lines.setdefault(text)

    for relation in related:
        if relation.kind != kind:
            continue
        try:
            package.read(relation.target, WordReader(take, {}))
        except Unreadable as reason:
            output.failed(f"{title}: {reason}")
    write_part(output, title, list(lines))


def _heading_levels(package: Package, related: list[Relation]) -> dict[str, int]:
    """The levels of the styles that are headings."""
    reader = _Styles()
    for relation in related:
        if relation.kind == "styles" and relation.target in package:
            try:
                package.read(relation.target, reader)
            except Unreadable:
                break  # a document without its styles is still one to read
    return reader.levels()


class _Styles(XmlReader):
    """Which styles are headings: by their names, which are English in a Word of any language, by
    a level of their own, or by the style that they are based on."""

    def __init__(self) -> None:
        super().__init__()
        self._id = ""
        self._own: dict[str, int] = {}
        self._based: dict[str, str] = {}
        self.starts["w:style"] = self._style
        self.starts["w:name"] = self._name
        self.starts["w:basedOn"] = self._based_on
        self.starts["w:outlineLvl"] = self._level

    def _style(self, attributes: Attributes) -> None:
        self._id = attributes.get("w:styleId", "")

    def _name(self, attributes: Attributes) -> None:
        heading = _HEADING.fullmatch(attributes.get("w:val", ""))
        if heading:
            self._own.setdefault(self._id, int(heading[1]) - 1)

    def _based_on(self, attributes: Attributes) -> None:
        self._based[self._id] = attributes.get("w:val", "")

    def _level(self, attributes: Attributes) -> None:
        level = _outline_level(attributes)
        if level is not None:
            self._own[self._id] = level

    def levels(self) -> dict[str, int]:
        found = {}
        for style in {*self._own, *self._based}:
            level = self._level_of(style)
            if level is not None and level < BODY_TEXT_LEVEL:
                found[style] = level
        return found

    def _level_of(self, style: str) -> int | None:
        for _ in range(10):  # styles are based on each other in a few steps, never in a circle
            if style in self._own:
                return self._own[style]
            if style not in self._based:
                break
            style = self._based[style]
        return None


def _outline_level(attributes: Attributes) -> int | None:
    value = attributes.get("w:val", "")
    return int(value) if value in set("0123456789") else None


class WordReader(XmlReader):
    """The paragraphs of a part in WordprocessingML; ``emit`` gets each with its level."""

    def __init__(
        self, emit: Callable[[str, int | None], object], heading_levels: dict[str, int]
    ) -> None:
        super().__init__()
        flow = self._flow = Flow(emit)
        self._headings = heading_levels
        self._in_text = False
        self._chosen: list[bool] = []
        self.starts = {
            "w:p": flow.begin_paragraph,
            "w:pStyle": self._style,
            "w:outlineLvl": self._level,
            "w:t": self._begin_text,
            "m:t": self._begin_text,
            "w:tab": lambda _: flow.add("\t"),
            "w:ptab": lambda _: flow.add("\t"),
            "w:br": lambda _: flow.add(" "),
            "w:cr": lambda _: flow.add(" "),
            "w:noBreakHyphen": lambda _: flow.add("-"),
            "w:sym": self._symbol,
            "w:tr": flow.begin_row,
            "w:tc": flow.begin_cell,
            "w:txbxContent": flow.begin_box,
            "mc:AlternateContent": lambda _: self._chosen.append(False),
            "mc:Choice": self._branch,
            "mc:Fallback": self._branch,
            # Tab stops; what a paragraph was before it was changed; what was moved elsewhere;
            # readings of characters, which stand above them.
            **dict.fromkeys(("w:tabs", "w:pPrChange", "w:del", "w:moveFrom", "w:rt"), self.skip),
        }
        self.ends = {
            "w:p": flow.end_paragraph,
            "w:t": self._end_text,
            "m:t": self._end_text,
            "w:tr": flow.end_row,
            "w:tc": flow.end_cell,
            "w:txbxContent": flow.end_box,
            "mc:AlternateContent": self._chosen.pop,
        }

    def text(self, data: str) -> None:
        if self._in_text:
            self._flow.add(data)

    def _begin_text(self, _attributes: Attributes) -> None:
        self._in_text = True

    def _end_text(self) -> None:
        self._in_text = False

    def _style(self, attributes: Attributes) -> None:
        self._flow.level(self._headings.get(attributes.get("w:val", "")))

    def _level(self, attributes: Attributes) -> None:
        level = _outline_level(attributes)
        self._flow.level(None if level == BODY_TEXT_LEVEL else level)

    def _symbol(self, attributes: Attributes) -> None:
        try:
            code = int(attributes.get("w:char", ""), 16)
        except ValueError:
            code = 0xF000
        # Most are drawings in fonts of symbols, which are no characters of any script.
        private = 0xD800 <= code < 0xF900 or code > 0xFFFF
        self._flow.add(" " if private else chr(code))

    def _branch(self, _attributes: Attributes) -> None:
        """The same, written for several generations of programs: the first is taken."""
        if self._chosen and self._chosen[-1]:
            self.skip()
        elif self._chosen:
            self._chosen[-1] = True


FORMATS = (Format(name="docx", ends=(".docx", ".docm", ".dotx", ".dotm"), read=read),)
