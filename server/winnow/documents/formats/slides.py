"""Presentations of Microsoft PowerPoint since 2007.

Read with the standard library (zipfile and expat): python-pptx builds trees of all slides and does
not support diagrams. Slides, including hidden slides, are in the order of the presentation.
"""

from __future__ import annotations

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import FlowReader, title_of, write_slide
from winnow.documents.extract.xml import Attributes
from winnow.documents.extract.zipped import Package
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write slide by slide, each followed by its notes."""
    package = Package(source)
    main = package.main_part("ppt/presentation.xml")
    ids = [attributes.get("r:id", "") for _, attributes in package.elements(main, "p:sldId")]
    related = package.relations(main)
    slides = [related[slide].target for slide in ids if slide in related]
    for number, part in enumerate(slides, 1):
        try:
            _read_slide(package, number, part, output)
        except Unreadable as reason:
            output.failed(f"slide {number}: {reason}")
            source.budget.spend(0)
    output.require_text()


def _read_slide(package: Package, number: int, part: str, output: TextOutput) -> None:
    slide, notes = DrawingReader(), DrawingReader(notes=True)
    parts = [(slide, part)]
    parts += [(slide, shown) for shown in package.targets(part, "chart", "chartEx", "diagramData")]
    parts += [(notes, beside) for beside in package.targets(part, "notesSlide")]
    problems = [package.try_read(name, reader) for reader, name in parts]
    write_slide(output, number, slide.title, slide.lines, notes.lines)
    for problem in filter(None, problems):
        raise Unreadable(problem)


class DrawingReader(FlowReader):
    """The lines of a part in DrawingML: shapes, tables, charts, diagrams.

    Of ``notes``, only the text is read, without the header and the number on their page.
    """

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__(self._line)
        self.lines: list[str] = []
        self.title = ""
        self._ignored = {"sldNum", "sldImg"} | ({"hdr", "dt", "ftr"} if notes else set())
        self._kind = ""
        self._cached: set[str] = set()
        self._in_cache = False
        self.on("p:sp", self._reset_kind, self._reset_kind)
        self.on("p:ph", self._placeholder)
        self.on_paragraphs("a:p")
        self.on_text("a:t m:t")
        self.on("a:br", lambda _: self.flow.add(" "))
        self.on("a:tab", self.skip)
        self.on("a:fld", self._field)
        self.on_table("a:tr", "a:tc")
        self.on_flag("c:strCache c:strLit", "_in_cache")
        self.on("c:v", self._begin_value, self._end_value)
        self.on_alternatives()

    def _line(self, text: str, _level: int | None) -> None:
        if self._kind in self._ignored:
            return
        if self._kind in ("title", "ctrTitle") and not self.title:
            self.title = title_of(text)
        self.lines.append(text)

    def _reset_kind(self, _attributes: Attributes | None = None) -> None:
        self._kind = ""

    def _placeholder(self, attributes: Attributes) -> None:
        self._kind = attributes.get("type", "body")

    def _field(self, attributes: Attributes) -> None:
        if attributes.get("type") == "slidenum":
            self.skip()

    def _begin_value(self, attributes: Attributes) -> None:
        """Read a name in a chart; its numbers are only lengths of bars."""
        if self._in_cache:
            self.flow.begin_paragraph(attributes)
            self.in_text = True

    def _end_value(self) -> None:
        if self._in_cache:
            self.in_text = False
            before = len(self.lines)
            self.flow.end_paragraph()
            # Each series of a chart repeats the categories.
            for name in self.lines[before:]:
                if name in self._cached:
                    self.lines.pop()
                self._cached.add(name)


FORMATS = (
    DocumentFormat(
        name="pptx", extensions=(".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), read=read
    ),
)
