"""Plain text, and markup that people read as it is: Markdown, reStructuredText and others."""

from __future__ import annotations

from winnow.documents.extract.blocks import blocks_of_text
from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable

EXTENSIONS = (
    *(".txt", ".text", ".md", ".markdown", ".mdx", ".rst", ".rest", ".adoc", ".asciidoc"),
    *(".org", ".textile", ".mediawiki", ".pod"),
)


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the lines of the file as they are. An empty file has no lines, and that is no error."""
    is_text = source.size == 0
    for block in blocks_of_text(source.file):
        output.text(block)
        is_text = True
    if not is_text:
        raise Unreadable("it is not text")


FORMATS = (
    DocumentFormat(name="text", extensions=EXTENSIONS, read=read, is_text=True, is_plain=True),
)
