"""Make lines of paragraphs, tables and headings.

All formats of word processors, presentations and web pages share this: a paragraph is a line, a
table row is a line, and headings start sections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from winnow.documents.extract.output import TextFull, TextOutput, cleaned
from winnow.documents.extract.xml import XmlReader
from winnow.documents.library.locations import DocumentLocation

# The maximum text of a paragraph or row, which is the maximum text of a document.
MOST_HELD = 16 * 1024**2
# Every hit shows the title, so a long paragraph with a heading style is cut.
LONGEST_TITLE = 200


def title_of(text: str) -> str:
    """Return the title of a part that starts with this text."""
    return cleaned(text).strip()[:LONGEST_TITLE]


class Sections:
    """Writes lines with the section that their headings form.

    ``above`` are the titles of parts that the caller has started. ``numbered`` is True if lines are
    paragraphs, which have numbers.
    """

    def __init__(
        self, output: TextOutput, *, above: Sequence[str] = (), numbered: bool = True
    ) -> None:
        self._output = output
        self._above = tuple(above)
        self._numbered = numbered
        self._path: list[tuple[int, str]] = []
        self._lines = 0

    def line(self, text: str) -> None:
        """Write a paragraph."""
        if not (self._lines or self._path or self._above) and self._numbered:
            self._output.at(self._place())
        self._lines += 1
        self._output.line(text)

    def heading(self, level: int, text: str) -> None:
        """Write a heading, which starts a section. Higher levels are nested in it."""
        title = title_of(text)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if self._above[-1:] != (title,) or self._path:
            self._path.append((level, title))
            self._output.part(title, self._place())
        self.line(text)

    def paragraph(self, text: str, level: int | None) -> None:
        """Write a paragraph, or a heading if it has a level."""
        if level is None:
            self.line(text)
        else:
            self.heading(level, text)

    def _place(self) -> DocumentLocation:
        path = (*self._above, *(title for _, title in self._path))
        return DocumentLocation(
            section=" > ".join(path) or None,
            paragraph=self._lines + 1 if self._numbered else None,
        )


def write_part(output: TextOutput, title: str, lines: Sequence[str]) -> None:
    """Write a part beside the main text, such as footnotes."""
    if lines:
        output.part(title, DocumentLocation(section=title, paragraph=1))
        for line in lines:
            output.line(line)


def write_slide(
    output: TextOutput, number: int, title: str, lines: Sequence[str], notes: Sequence[str]
) -> None:
    """Write a slide, followed by its notes."""
    name = f"Slide {number}"
    output.part(f"{name}: {title}" if title else name, DocumentLocation(slide=number))
    for line in lines:
        output.line(line)
    if notes:
        output.part(f"{name}: notes", DocumentLocation(slide=number))
    for line in notes:
        output.line(line)


class _Paragraph:
    __slots__ = ("boxes", "level", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.level: int | None = None
        self.boxes: list[str] = []


class Flow:
    """Makes lines from the start and end of elements.

    ``emit`` gets each line with its level if it is a heading. The paragraphs of a cell and the rows
    of a nested table are joined by spaces; tabs separate the cells of a row. The lines of a box,
    such as a frame beside a paragraph, follow the paragraph.
    """

    def __init__(self, emit: Callable[[str, int | None], object]) -> None:
        self._emit = emit
        self._paragraphs: list[_Paragraph] = []
        self._rows: list[list[str]] = []
        # The cells and boxes that collect lines, each with True for a cell.
        self._holders: list[tuple[bool, list[str]]] = []
        self._held = 0

    # --- paragraphs ------------------------------------------------------------------------

    def begin_paragraph(self, _attributes: object = None) -> None:
        self._paragraphs.append(_Paragraph())

    def level(self, level: int | None) -> None:
        """Set the heading level of the current paragraph."""
        if self._paragraphs:
            self._paragraphs[-1].level = level

    def add(self, text: str) -> None:
        """Add text to the paragraph. Raises TextFull if the paragraph is too long."""
        if self._paragraphs:
            self._held += len(text) + 8
            if self._held > MOST_HELD:
                raise TextFull
            self._paragraphs[-1].pieces.append(text)

    def end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        self._deliver("".join(paragraph.pieces), paragraph.level)
        for line in paragraph.boxes:
            self._deliver(line)

    def _deliver(self, text: str, level: int | None = None) -> None:
        text = text.strip()
        if self._holders:
            if text:
                self._holders[-1][1].append(text)
            return
        if not self._paragraphs:
            self._held = 0
        if text:
            self._emit(text, level)

    # --- tables ----------------------------------------------------------------------------

    def begin_row(self, _attributes: object = None) -> None:
        self._rows.append([])

    def begin_cell(self, _attributes: object = None) -> None:
        self._holders.append((True, []))

    def end_cell(self) -> None:
        text = " ".join(self._holders.pop()[1]).replace("\t", " ")
        if self._rows:
            self._rows[-1].append(text)
        else:
            self._deliver(text)

    def end_row(self) -> None:
        cells = self._rows.pop()
        inside = bool(self._holders) and self._holders[-1][0]
        text = (" " if inside else "\t").join(cells)
        # The first cells may be empty; the others stay in their columns.
        if inside or self._holders:
            self._deliver(text)
        elif any(cells):
            self._held = 0
            self._emit(text, None)

    # --- boxes -----------------------------------------------------------------------------

    def begin_box(self, _attributes: object = None) -> None:
        self._holders.append((False, []))

    def end_box(self) -> None:
        lines = self.end_aside()
        if self._paragraphs:
            self._paragraphs[-1].boxes.extend(lines)
        else:
            for line in lines:
                self._deliver(line)

    def end_aside(self) -> list[str]:
        """End a box that is written elsewhere, such as a footnote, and return its lines."""
        return self._holders.pop()[1]


class FlowReader(XmlReader):
    """A reader of XML that makes lines of paragraphs, tables and boxes.

    ``emit`` gets each line with the level of a heading.
    """

    def __init__(self, emit: Callable[[str, int | None], object]) -> None:
        super().__init__()
        self.flow = Flow(emit)

    def text(self, data: str) -> None:
        self.flow.add(data)

    def on_paragraphs(self, names: str) -> None:
        """Read these elements as paragraphs."""
        self.on(names, self.flow.begin_paragraph, self.flow.end_paragraph)

    def on_table(self, rows: str, cells: str) -> None:
        """Read these elements as the rows and the cells of tables."""
        self.on(rows, self.flow.begin_row, self.flow.end_row)
        self.on(cells, self.flow.begin_cell, self.flow.end_cell)
