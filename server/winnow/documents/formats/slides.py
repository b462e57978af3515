"""Presentations of Microsoft PowerPoint since 2007.

By the standard library (zipfile and expat): python-pptx holds trees of all slides and knows no
diagrams. Slides come in the order of the presentation, hidden ones, too.
"""

from __future__ import annotations

from winnow.documents.extract.input_stream import Source
from winnow.documents.extract.lines import Flow, title_of
from winnow.documents.extract.output import Output
from winnow.documents.extract.xml import Attributes, XmlReader
from winnow.documents.extract.zipped import Package, relations
from winnow.documents.format import Format
from winnow.documents.library.locations import Place
from winnow.documents.unreadable import Unreadable

# Parts of a slide whose text it shows.
_SHOWN = frozenset({"chart", "chartEx", "diagramData"})


def read(source: Source, output: Output) -> None:
    """Slide by slide, each followed by its notes."""
    package = Package(source)
    for number, part in enumerate(_slides(package), 1):
        try:
            _read_slide(package, number, part, output)
        except Unreadable as reason:
            output.failed(f"slide {number}: {reason}")
            source.budget.take(0)
    if not output.lines:
        raise Unreadable("it has no text" if not output.failures else output.failures[0].reason)


def _slides(package: Package) -> list[str]:
    main = "ppt/presentation.xml"
    for relation in relations(package, "").values():
        if relation.kind == "officeDocument" and relation.target in package:
            main = relation.target
    order = _Order()
    package.read(main, order)
    related = relations(package, main)
    return [related[one].target for one in order.slides if one in related]


class _Order(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.slides: list[str] = []
        self.starts["p:sldId"] = self._slide

    def _slide(self, attributes: Attributes) -> None:
        self.slides.append(attributes.get("r:id", ""))


def _read_slide(package: Package, number: int, part: str, output: Output) -> None:
    slide = DrawingReader()
    damage = _read_into(slide, package, part)
    related = relations(package, part)
    for relation in related.values():
        if relation.kind in _SHOWN:
            damage = _read_into(slide, package, relation.target) or damage
    name = f"Slide {number}"
    title = f"{name}: {slide.title}" if slide.title else name
    output.part(title, Place(slide=number))
    for line in slide.lines:
        output.line(line)
    for relation in related.values():
        if relation.kind == "notesSlide":
            notes = DrawingReader(notes=True)
            damage = _read_into(notes, package, relation.target) or damage
            if notes.lines:
                output.part(f"{name}: notes", Place(slide=number))
            for line in notes.lines:
                output.line(line)
    if damage:
        raise Unreadable(damage)


def _read_into(reader: DrawingReader, package: Package, part: str) -> str:
    """Read a part as far as it goes; gives the reason why it does not go on."""
    try:
        package.read(part, reader)
    except Unreadable as reason:
        return str(reason)
    return ""


class DrawingReader(XmlReader):
    """The lines of a part in DrawingML: shapes, tables, charts, diagrams.

    Of ``notes`` only the text is taken, not the header and the number that stand on their page.
    """

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.title = ""
        self._left_out = {"sldNum", "sldImg"} | ({"hdr", "dt", "ftr"} if notes else set())
        self._flow = flow = Flow(self._line)
        self._kind = ""
        self._in_text = False
        self._cached: set[str] = set()
        self._in_cache = False
        self._chosen: list[bool] = []
        self.starts = {
            "p:sp": self._shape,
            "p:ph": self._placeholder,
            "a:p": flow.begin_paragraph,
            "a:t": self._begin_text,
            "m:t": self._begin_text,
            "a:br": lambda _: flow.add(" "),
            "a:tab": self.skip,
            "a:fld": self._field,
            "a:tr": flow.begin_row,
            "a:tc": flow.begin_cell,
            "c:strCache": self._begin_cache,
            "c:strLit": self._begin_cache,
            "c:v": self._begin_value,
            "mc:AlternateContent": lambda _: self._chosen.append(False),
            "mc:Choice": self._branch,
            "mc:Fallback": self._branch,
        }
        self.ends = {
            "p:sp": self._end_shape,
            "a:p": flow.end_paragraph,
            "a:t": self._end_text,
            "m:t": self._end_text,
            "a:tr": flow.end_row,
            "a:tc": flow.end_cell,
            "c:strCache": self._end_cache,
            "c:strLit": self._end_cache,
            "c:v": self._end_value,
            "mc:AlternateContent": self._chosen.pop,
        }

    def text(self, data: str) -> None:
        if self._in_text:
            self._flow.add(data)

    def _line(self, text: str, _level: int | None) -> None:
        if self._kind in self._left_out:
            return
        if self._kind in ("title", "ctrTitle") and not self.title:
            self.title = title_of(text)
        self.lines.append(text)

    def _shape(self, _attributes: Attributes) -> None:
        self._kind = ""

    def _end_shape(self) -> None:
        self._kind = ""

    def _placeholder(self, attributes: Attributes) -> None:
        self._kind = attributes.get("type", "body")

    def _begin_text(self, _attributes: Attributes) -> None:
        self._in_text = True

    def _end_text(self) -> None:
        self._in_text = False

    def _field(self, attributes: Attributes) -> None:
        if attributes.get("type") == "slidenum":
            self.skip()

    def _begin_cache(self, _attributes: Attributes) -> None:
        self._in_cache = True

    def _end_cache(self) -> None:
        self._in_cache = False

    def _begin_value(self, attributes: Attributes) -> None:
        """A name in a chart; its numbers are shown as no more than lengths."""
        if self._in_cache:
            self._flow.begin_paragraph(attributes)
            self._in_text = True

    def _end_value(self) -> None:
        if self._in_cache:
            self._in_text = False
            before = len(self.lines)
            self._flow.end_paragraph()
            # Each series of a chart names the same categories.
            for name in self.lines[before:]:
                if name in self._cached:
                    self.lines.pop()
                self._cached.add(name)

    def _branch(self, _attributes: Attributes) -> None:
        if self._chosen and self._chosen[-1]:
            self.skip()
        elif self._chosen:
            self._chosen[-1] = True


FORMATS = (
    Format(name="pptx", ends=(".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), read=read),
)
