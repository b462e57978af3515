"""Mail: messages and mailboxes, with attachments that are read as documents.

Messages are parsed by email of the standard library with its compat32 policy, which accepts any
header. Mailboxes are split here, because `mailbox` requires a path and keeps a table of all
messages. HTML in messages is read like HTML files.
"""

from __future__ import annotations

import binascii
import io
import mimetypes
import re
import sys
from collections.abc import Iterator
from email import errors
from email.header import decode_header
from email.message import Message
from email.parser import BytesFeedParser
from typing import IO

from winnow.documents.extract.input_stream import (
    CHUNK_BYTES,
    BudgetSpent,
    ByteStream,
    DocumentInput,
)
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat, format_of_member, formats
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable
from winnow.text.encodings import decode_text

# Parsing a message takes three times its size in memory.
LONGEST_MESSAGE = 32 * 1024**2
# Takes ten seconds.
LONGEST_MAILBOX = 512 * 1024**2
_LONGEST_LINE = 1024**2
_SHOWN_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_LONGEST_TITLE = 200
# A message starts after an empty line.
_EMPTY_LINES = (b"\n\n", b"\n\r\n")
# Other lines that start with "From" are quoted.
_MARKED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_BASE64_LETTERS = 8192
_NO_BASE64 = re.compile("[^A-Za-z0-9+/=]+")
_TOO_LONG = f"only the first {LONGEST_MESSAGE // 1024**2} MiB of a message are read"


def read_message(source: DocumentInput, output: TextOutput) -> None:
    """Write a message: headers, body, and attachments as members."""
    parser, left = BytesFeedParser(), LONGEST_MESSAGE
    while left and (chunk := source.file.read(min(left, CHUNK_BYTES))):
        parser.feed(chunk)
        left -= len(chunk)
    message = parser.close()
    if not message.keys():
        raise Unreadable("it is not a message: it has no headers")
    _write_message(message, source, output)
    if source.size > LONGEST_MESSAGE:
        output.failed(_TOO_LONG)


def read_mailbox(source: DocumentInput, output: TextOutput) -> None:
    """Write the messages of a mailbox."""
    for number, (message, is_complete) in enumerate(_messages(source.file), 1):
        subject = _header(message, "Subject")[:_LONGEST_TITLE]
        title = f"Message {number}: {subject}" if subject else f"Message {number}"
        output.part(title, DocumentLocation(section=title[0].lower() + title[1:]))
        _write_message(message, source, output)
        if not is_complete:
            output.failed(f"message {number}: {_TOO_LONG}")
    if source.size > LONGEST_MAILBOX:
        output.failed(f"only the first {LONGEST_MAILBOX // 1024**2} MiB of the mailbox are read")


def _messages(file: IO[bytes]) -> Iterator[tuple[Message, bool]]:
    """Yield the messages of a mailbox, each with True if it is complete."""
    parser, size = None, 0
    for begins, piece in _pieces(file):
        if begins:
            if parser is not None:
                yield parser.close(), size <= LONGEST_MESSAGE
            parser, size = BytesFeedParser(), 0
        if parser is not None:
            if size <= LONGEST_MESSAGE:
                parser.feed(_MARKED.sub(b"", piece) if b">From " in piece else piece)
            size += len(piece)
        elif piece.strip():
            raise Unreadable("it is not a mailbox: it does not start with a message")
    if parser is not None:
        yield parser.close(), size <= LONGEST_MESSAGE


def _pieces(file: IO[bytes]) -> Iterator[tuple[bool, bytes]]:
    """Yield a mailbox in chunks of complete lines, each with True if a message starts there."""
    before, rest, left = b"\n\n", b"", LONGEST_MAILBOX
    while left and (chunk := file.read(min(left, CHUNK_BYTES))):
        left -= len(chunk)
        complete, end, begun = (rest + chunk).rpartition(b"\n")
        if not end and len(begun) < _LONGEST_LINE:
            rest = begun
            continue
        lines, rest = (complete + end, begun) if end else (begun, b"")
        yield from _split(before, lines)
        before = (before + lines)[-3:]
    if rest:
        yield from _split(before, rest)


def _split(before: bytes, lines: bytes) -> Iterator[tuple[bool, bytes]]:
    window, at, begins = before + lines, len(before), False
    found = window.find(b"From ", at)
    while found >= 0:
        if window[max(0, found - 3) : found].endswith(_EMPTY_LINES):
            if found > at:
                yield begins, window[at:found]
            at, begins = found, True
        found = window.find(b"From ", found + 1)
    yield begins, window[at:]


# --- one message -------------------------------------------------------------------------------


def _write_message(message: Message, source: DocumentInput, output: TextOutput) -> None:
    for name in _SHOWN_HEADERS:
        if value := _header(message, name):
            output.line(f"{name}: {value}")
    attachments: list[Message] = []
    _write_body(message, source, output, attachments)
    for number, part in enumerate(attachments, 1):
        _read_attachment(part, number, source, output)


def _write_body(
    part: Message, source: DocumentInput, output: TextOutput, attachments: list[Message]
) -> None:
    """Write the text of a part, and collect attachments."""
    kind = part.get_content_type()
    if _is_encrypted(part):
        output.failed("it is encrypted")
    elif kind == "multipart/alternative" and part.is_multipart():
        _write_body(_preferred(_parts(part)), source, output, attachments)
    elif part.is_multipart() and kind != "message/rfc822":
        for inner in _parts(part):
            _write_body(inner, source, output, attachments)
    elif kind not in ("text/plain", "text/html") or _is_attachment(part):
        attachments.append(part)
    elif kind == "text/plain":
        output.text(_text(part))
    else:
        _write_page(_text(part), source, output)


def _parts(part: Message) -> list[Message]:
    return [inner for inner in part.get_payload() if isinstance(inner, Message)]


def _preferred(alternatives: list[Message]) -> Message:
    """Return the plain text of alternative parts, or the last part."""
    plain = (part for part in alternatives if part.get_content_type() == "text/plain")
    return next(plain, alternatives[-1])


def _is_attachment(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _is_encrypted(part: Message) -> bool:
    kind = part.get_content_type()
    return kind == "multipart/encrypted" or (
        kind in ("application/pkcs7-mime", "application/x-pkcs7-mime")
        and part.get_param("smime-type") != "signed-data"
    )


def _text(part: Message) -> str:
    raw = part.get_payload(decode=True)
    assert isinstance(raw, bytes)  # because the part is not multipart
    charset = part.get_content_charset()
    if charset is not None:
        try:
            return raw.decode(charset, "replace")
        except (LookupError, ValueError):
            pass  # an unknown encoding
    text = decode_text(raw)
    return raw.decode("utf-8", "replace") if text is None else text


def _write_page(page: str, source: DocumentInput, output: TextOutput) -> None:
    """Write the text of a page without its locations, because it is part of the message."""
    lines = TextOutput(lambda line: output.line(line.decode()), sys.maxsize)  # output has the limit
    file = io.BytesIO(page.encode("utf-8-sig", "replace"))
    size = len(file.getbuffer())
    inner = DocumentInput("message.html", file, size, budget=source.budget, depth=source.depth)
    try:
        formats()["html"].read(inner, lines)
    except BudgetSpent:
        raise
    except Unreadable as reason:
        if lines.lines:
            output.failed(str(reason))


def _read_attachment(part: Message, number: int, source: DocumentInput, output: TextOutput) -> None:
    name = _attachment_name(part, number)
    stream: ByteStream
    if part.is_multipart():
        stream = io.BytesIO(b"".join(inner.as_bytes() for inner in _parts(part)))
    elif str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64":
        stream = _Base64(part.get_payload())
    else:
        payload = part.get_payload(decode=True)
        stream = io.BytesIO(payload if isinstance(payload, bytes) else b"")
    source.member(name, stream, output)


class _Base64:
    """Decodes base64 in chunks: email needs five times the size in memory."""

    def __init__(self, text: object) -> None:
        self._text = text if isinstance(text, str) else ""
        self._at = 0
        self._letters = ""
        self._data = b""

    def read(self, size: int, /) -> bytes:
        while not self._data and self._at < len(self._text):
            piece = self._text[self._at : self._at + _BASE64_LETTERS]
            self._at += len(piece)
            letters = self._letters + _NO_BASE64.sub("", piece)
            end = len(letters) // 4 * 4
            self._letters = letters[end:]
            self._data = binascii.a2b_base64(letters[:end])
        if not self._data and self._letters:
            letters, self._letters = self._letters, ""
            self._data = binascii.a2b_base64(letters + "==")  # the padding is often missing
        data, self._data = self._data[:size], self._data[size:]
        return data


def _attachment_name(part: Message, number: int) -> str:
    """Return the name of an attachment, with the extension of its type if it has no known one."""
    name = _words(part.get_filename() or "")
    kind = part.get_content_type()
    if kind == "message/rfc822":
        inner = next(iter(_parts(part)), None) if part.is_multipart() else None
        name = name or (_header(inner, "Subject") if inner is not None else "")
        name = name.replace("/", " ")[:_LONGEST_TITLE] or f"attachment {number}"
        return name if name.lower().endswith(".eml") else f"{name}.eml"
    end = mimetypes.guess_extension(kind) or ""
    name = name or f"attachment {number}"
    if format_of_member(name) is None and format_of_member(f"_{end}") is not None:
        name += end
    return name


def _header(message: Message, name: str) -> str:
    """Return the decoded text of a header, or an empty string if it is missing."""
    found = (value for key, value in message.raw_items() if key.lower() == name.lower())
    return _words(str(next(found, "")))


def _words(text: str) -> str:
    """Decode the encoded words of a header, and join its lines."""
    raw = text.encode("utf-8", "surrogateescape")
    text = " ".join((decode_text(raw) or "").split())
    try:
        return "".join(
            piece if isinstance(piece, str) else _decoded_word(piece, charset)
            for piece, charset in decode_header(text)
        )
    except errors.HeaderParseError:
        return text


def _decoded_word(word: bytes, charset: str | None) -> str:
    try:
        # Text between encoded words has no charset.
        return word.decode(charset or "raw_unicode_escape", "replace")
    except (LookupError, ValueError):
        return word.decode("latin-1")


FORMATS = (
    DocumentFormat(name="eml", extensions=(".eml",), read=read_message),
    DocumentFormat(name="mbox", extensions=(".mbox", ".mbx"), read=read_mailbox),
)
