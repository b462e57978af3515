"""Books in FictionBook, which is XML, often in a ZIP archive. Read with expat."""

from __future__ import annotations

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import FlowReader, Sections
from winnow.documents.extract.xml import Attributes, read_xml
from winnow.documents.extract.zipped import Package
from winnow.documents.format import DocumentFormat


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write section by section; notes are a separate body at the end."""
    reader = _Book(output)
    if source.file.read(2) == b"PK":
        package = Package(source)
        for name in package.names():
            if name.lower().endswith(".fb2"):
                package.read(name, reader)
    else:
        source.file.seek(0)
        read_xml(source.file, reader)
    output.require_text()


class _Book(FlowReader):
    def __init__(self, output: TextOutput) -> None:
        super().__init__(self._line)
        self._sections = Sections(output)
        self._depth = 0
        self._title: list[str] | None = None
        self.on("description binary", self.skip)
        self.on("section", self._begin_section, self._end_section)
        self.on("title", self._begin_title, self._end_title)
        self.on_paragraphs("p v subtitle text-author")
        self.on_table("tr", "")
        self.on("td th", self._begin_cell, self._end_cell)

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
        self.flow.begin_cell(attributes)
        self.flow.begin_paragraph()

    def _end_cell(self) -> None:
        self.flow.end_paragraph()
        self.flow.end_cell()


FORMATS = (DocumentFormat(name="fb2", extensions=(".fb2", ".fb2.zip", ".fbz"), read=read),)
