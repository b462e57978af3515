"""Texts out of archives: bytes of an encoding yet to be found, read piece by piece."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from winnow.documents.extract.input_stream import ByteStream
from winnow.text.encodings import LATIN_1, SAMPLE_BYTES, UTF_8, Encoding, detect, utf_8_or_latin_1

# A line that does not end is cut there: what has such lines is seldom read by anyone.
LONGEST_LINE = 1024 * 1024
# Most of what is no text shows it at once, and need not be unpacked any further.
_GLANCE_BYTES = 4096


def blocks_of_text(stream: ByteStream) -> Iterator[str]:
    """The text of a stream, in blocks of whole lines; nothing if it is no text.

    What there is before the stream raises is given first.
    """
    pieces = ChunkReader(stream)
    sample = pieces.take(_GLANCE_BYTES)
    if detect(sample, pieces.over) is not None:
        sample += pieces.take(SAMPLE_BYTES - len(sample))
        encoding = detect(sample, pieces.over)
    else:
        encoding = None
    if encoding is not None:
        yield from _whole_lines(_decoded(sample[len(encoding.mark) :], pieces, encoding))
    if pieces.error is not None:
        raise pieces.error


class ChunkReader:
    """A stream in pieces of a given size, the last of which may be smaller: it is ``over`` then,
    by the ``error`` that the stream raised, if any."""

    def __init__(self, stream: ByteStream) -> None:
        self.over = False
        self.error: Exception | None = None
        self._stream = stream

    def take(self, size: int) -> bytes:
        piece = bytearray()
        while len(piece) < size and not self.over:
            try:
                more = self._stream.read(size - len(piece))
            except Exception as error:
                self.error = error
                more = b""
            self.over = not more
            piece += more
        return bytes(piece)


def _decoded(piece: bytes, pieces: ChunkReader, encoding: Encoding) -> Iterator[str]:
    # What is ASCII so far may be of either encoding.
    decoder = None if encoding is UTF_8 else codecs.getincrementaldecoder(encoding.codec)("replace")
    while piece:
        if decoder is None and not piece.isascii():
            found = utf_8_or_latin_1(piece, pieces.over)
            decoder = codecs.getincrementaldecoder(found.codec)("replace")
        codec = decoder or codecs.getincrementaldecoder(LATIN_1.codec)()
        yield codec.decode(piece)
        piece = pieces.take(SAMPLE_BYTES)
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _whole_lines(texts: Iterator[str]) -> Iterator[str]:
    waiting = ""
    for text in texts:
        whole, end, begun = text.rpartition("\n")
        if end:
            yield waiting + whole + end
            waiting = begun
        elif len(waiting) < LONGEST_LINE:
            waiting += text
        else:
            yield waiting
            waiting = text
    if waiting:
        yield waiting
