"""Read text files in archives: detect the encoding of a stream and decode it in blocks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from winnow.documents.extract.input_stream import ByteStream
from winnow.text.encodings import LATIN_1, SAMPLE_BYTES, UTF_8, Encoding, detect, utf_8_or_latin_1

# Longer lines are split.
LONGEST_LINE = 1024 * 1024
# Most binary files are recognized by their first bytes, so the rest need not be unpacked.
_GLANCE_BYTES = 4096


def blocks_of_text(stream: ByteStream) -> Iterator[str]:
    """Yield the text of a stream in blocks of complete lines, or nothing if the stream is binary.

    An error of the stream is raised after the text before it.
    """
    chunks = ChunkReader(stream)
    sample = chunks.read(_GLANCE_BYTES)
    if detect(sample, chunks.over) is not None:
        sample += chunks.read(SAMPLE_BYTES - len(sample))
        encoding = detect(sample, chunks.over)
    else:
        encoding = None
    if encoding is not None:
        yield from _complete_lines(_decoded(sample[len(encoding.mark) :], chunks, encoding))
    if chunks.error is not None:
        raise chunks.error


class ChunkReader:
    """Reads a stream in chunks of a given size. The last chunk may be smaller; ``over`` is True
    then, and ``error`` is the exception that ended the stream."""

    def __init__(self, stream: ByteStream) -> None:
        self.over = False
        self.error: Exception | None = None
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return the next chunk, shorter than ``size`` at the end of the stream."""
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


def _decoded(piece: bytes, chunks: ChunkReader, encoding: Encoding) -> Iterator[str]:
    # ASCII text may be in either encoding.
    decoder = None if encoding is UTF_8 else codecs.getincrementaldecoder(encoding.codec)("replace")
    while piece:
        if decoder is None and not piece.isascii():
            found = utf_8_or_latin_1(piece, chunks.over)
            decoder = codecs.getincrementaldecoder(found.codec)("replace")
        codec = decoder or codecs.getincrementaldecoder(LATIN_1.codec)()
        yield codec.decode(piece)
        piece = chunks.read(SAMPLE_BYTES)
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _complete_lines(texts: Iterator[str]) -> Iterator[str]:
    waiting = ""
    for text in texts:
        complete, end, rest = text.rpartition("\n")
        if end:
            yield waiting + complete + end
            waiting = rest
        elif len(waiting) < LONGEST_LINE:
            waiting += text
        else:
            yield waiting
            waiting = text
    if waiting:
        yield waiting
