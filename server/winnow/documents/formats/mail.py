"""Mail: single messages and mailboxes of them, with attachments that are read as documents.

By email of the standard library, with the header parsing of its compat32 policy, which lets any
header pass. Mailboxes are split by a loop of ours, since `mailbox` wants a path, and keeps a table
of all messages. Pages in HTML are read as those in files are.
"""

from __future__ import annotations

import email
import io
import mimetypes
import sys
from collections.abc import Iterator
from email import errors
from email.header import decode_header
from email.message import Message
from typing import IO

from winnow.documents.format import Format, Unreadable, format_of, formats
from winnow.documents.output import Output
from winnow.documents.places import Place
from winnow.documents.source import BudgetSpent, Source
from winnow.text.encodings import decoded

# A message is parsed in memory, in several times its size.
LONGEST_MESSAGE = 32 * 1024**2
_LONGEST_LINE = 1024**2
_SHOWN_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_LONGEST_TITLE = 200
_TOO_LONG = f"only the first {LONGEST_MESSAGE // 1024**2} MiB of a message are read"


def read_message(source: Source, output: Output) -> None:
    """A message: headers, body, and attachments as members."""
    raw = source.file.read(LONGEST_MESSAGE + 1)
    if len(raw) > LONGEST_MESSAGE:
        output.failed(_TOO_LONG)
    message = email.message_from_bytes(raw[:LONGEST_MESSAGE])
    if not message.keys():
        raise Unreadable("it is no message: it has no headers")
    del raw
    _write_message(message, source, output)


def read_mailbox(source: Source, output: Output) -> None:
    """The messages of a mailbox, one after the other."""
    for number, (raw, whole) in enumerate(_messages(source.file), 1):
        message = email.message_from_bytes(raw)
        subject = _header(message, "Subject")[:_LONGEST_TITLE]
        title = f"Message {number}: {subject}" if subject else f"Message {number}"
        output.part(title, Place(section=title[0].lower() + title[1:]))
        if not whole:
            output.failed(f"message {number}: {_TOO_LONG}")
        _write_message(message, source, output)


def _messages(file: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The messages of a mailbox, each with whether it is whole. A line with `From ` begins one,
    after an empty line."""
    message: bytearray | None = None
    whole = begins = True
    while line := file.readline(_LONGEST_LINE):
        if begins and line.startswith(b"From "):
            if message is not None:
                yield bytes(message), whole
            message, whole = bytearray(), True
        elif message is not None:
            if line.lstrip(b">").startswith(b"From "):
                line = line.removeprefix(b">")  # what it is written with lest it begins one
            whole = whole and len(message) + len(line) <= LONGEST_MESSAGE
            if whole:
                message += line
        elif line.strip():
            raise Unreadable("it is no mailbox: no message begins it")
        begins = line in (b"\n", b"\r\n")
    if message is not None:
        yield bytes(message), whole


# --- one message -------------------------------------------------------------------------------


def _write_message(message: Message, source: Source, output: Output) -> None:
    for name in _SHOWN_HEADERS:
        if value := _header(message, name):
            output.line(f"{name}: {value}")
    attachments: list[Message] = []
    _write_body(message, source, output, attachments)
    for number, part in enumerate(attachments, 1):
        _read_attachment(part, number, source, output)


def _write_body(part: Message, source: Source, output: Output, attachments: list[Message]) -> None:
    """What is shown of a part where it stands; attachments are left for later."""
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
    """The plainest of some parts that say the same, which are ordered so."""
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
    assert isinstance(raw, bytes)  # as it is of what has no parts
    charset = part.get_content_charset()
    if charset is not None:
        try:
            return raw.decode(charset, "replace")
        except (LookupError, ValueError):
            pass  # an encoding that nobody knows
    return decoded(raw) or ""


def _write_page(page: str, source: Source, output: Output) -> None:
    """The text of a page, without its own places: it is a part of the message."""
    lines = Output(lambda line: output.line(line.decode()), sys.maxsize)  # output has the limit
    file = io.BytesIO(page.encode("utf-8-sig", "replace"))
    size = len(file.getbuffer())
    inner = Source("message.html", file, size, budget=source.budget, depth=source.depth)
    try:
        formats()["html"].read(inner, lines)
    except BudgetSpent:
        raise
    except Unreadable as reason:
        if lines.lines:
            output.failed(str(reason))


def _read_attachment(part: Message, number: int, source: Source, output: Output) -> None:
    name = _attachment_name(part, number)
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        raw = b"".join(inner.as_bytes() for inner in _parts(part))
    else:
        payload = part.get_payload(decode=True)
        raw = payload if isinstance(payload, bytes) else b""
    if any(isinstance(defect, errors.InvalidBase64LengthDefect) for defect in part.defects):
        output.failed("it is damaged: its base64 is cut", name)
        return
    source.member(name, io.BytesIO(raw), output, size=len(raw))


def _attachment_name(part: Message, number: int) -> str:
    """The name of an attachment, with the end that its type says if it has none that is known."""
    name = _words(part.get_filename() or "")
    kind = part.get_content_type()
    if kind == "message/rfc822":
        inner = next(iter(_parts(part)), None) if part.is_multipart() else None
        name = name or (_header(inner, "Subject") if inner is not None else "")
        name = name.replace("/", " ")[:_LONGEST_TITLE] or f"attachment {number}"
        return name if name.lower().endswith(".eml") else f"{name}.eml"
    end = mimetypes.guess_extension(kind) or ""
    name = name or f"attachment {number}"
    if format_of(name) is None and format_of(f"_{end}") is not None:
        name += end
    return name


def _header(message: Message, name: str) -> str:
    """A header as one reads it, empty if there is none."""
    found = (value for key, value in message.raw_items() if key.lower() == name.lower())
    return _words(str(next(found, "")))


def _words(text: str) -> str:
    """A header's text with its encoded words decoded, and on one line."""
    raw = text.encode("utf-8", "surrogateescape")
    text = " ".join((decoded(raw) or "").split())
    try:
        return "".join(
            piece if isinstance(piece, str) else _decoded_word(piece, charset)
            for piece, charset in decode_header(text)
        )
    except errors.HeaderParseError:
        return text


def _decoded_word(word: bytes, charset: str | None) -> str:
    try:
        # Without a charset it is a piece between encoded words.
        return word.decode(charset or "raw_unicode_escape", "replace")
    except (LookupError, ValueError):
        return word.decode("latin-1")


FORMATS = (
    Format(name="eml", ends=(".eml",), read=read_message, is_text=True),
    Format(name="mbox", ends=(".mbox", ".mbx"), read=read_mailbox, is_text=True),
)
