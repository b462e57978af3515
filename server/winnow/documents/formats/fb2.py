"""Books in FictionBook, which is XML, often in a ZIP archive. By expat of the standard library."""

from __future__ import annotations

from winnow.documents.extract.input_stream import Source
from winnow.documents.extract.lines import Flow, Sections
from winnow.documents.extract.output import Output
from winnow.documents.extract.xml import Attributes, XmlReader, read_xml
from winnow.documents.extract.zipped import Package
from winnow.documents.format import Format
from winnow.documents.unreadable import Unreadable

_PARAGRAPHS = ("p", "v", "subtitle", "text-author")


def read(source: Source, output: Output) -> None:
    """Section by section; the notes are a body of their own at the end."""
    reader = _Book(output)
    if source.file.read(2) == b"PK":
        package = Package(source)
        for name in package.names():
            if name.lower().endswith(".fb2"):
                package.read(name, reader)
    else:
        source.file.seek(0)
        read_xml(source.file, reader)
    if not output.lines:
        raise Unreadable("it has no text")


class _Book(XmlReader):
    def __init__(self, output: Output) -> None:
        super().__init__()
        self._sections = Sections(output)
        flow = self._flow = Flow(self._line)
        self._depth = 0
        self._title: list[str] | None = None
        self.starts = {
            "description": self.skip,
            "binary": self.skip,
            "section": self._begin_section,
            "title": self._begin_title,
            **dict.fromkeys(_PARAGRAPHS, flow.begin_paragraph),
            "tr": flow.begin_row,
            "td": self._begin_cell,
            "th": self._begin_cell,
        }
        self.ends = {
            "section": self._end_section,
            "title": self._end_title,
            **dict.fromkeys(_PARAGRAPHS, flow.end_paragraph),
            "tr": flow.end_row,
            "td": self._end_cell,
            "th": self._end_cell,
        }

    def text(self, data: str) -> None:
        self._flow.add(data)

    def _line(self, text: str, _level: int | None) -> None:
        text = " ".join(text.split(" "))
        if self._title is None:
            self._sections.line(text)
        else:
            self._title.append(text)

    def _begin_section(self, _attributes: Attributes) -> None:
        self._depth += 1

    def _end_section(self) -> None:
        self._depth -= 1

    def _begin_title(self, _attributes: Attributes) -> None:
        self._title = []

    def _end_title(self) -> None:
        title, self._title = " ".join(self._title or ()), None
        if title:
            self._sections.heading(self._depth, title)

    def _begin_cell(self, attributes: Attributes) -> None:
        self._flow.begin_cell(attributes)
        self._flow.begin_paragraph()

    def _end_cell(self) -> None:
        self._flow.end_paragraph()
        self._flow.end_cell()


FORMATS = (Format(name="fb2", ends=(".fb2", ".fb2.zip", ".fbz"), read=read),)
