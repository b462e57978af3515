"""Find private keys as blocks of text: OpenSSL, OpenSSH, PGP, SSH2 and PuTTY."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from winnow.privacy.secrets.detector import SecretMatch

RULE = "private-key"
# A larger block is not a key: an RSA key of 16,384 bits has 13 KB.
_BLOCK_BYTES = 32 * 1024
_MARK = re.compile(rb"----(?:-? ?)(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-)?----")
_PUTTY = re.compile(rb"Private-Lines: ([0-9]{1,3})\r?\n")
# Every key contains this, alone on a line, in a string, or all on one line; texts about keys don't.
_MATERIAL = re.compile(rb"[A-Za-z0-9+/=]{40}")
_KEY_LINE = re.compile(
    rb"[ \t\"'`+,#*]{0,20}[A-Za-z0-9+/=\\]{0,32768}[\"'`+,; \t\\]{0,8}\r?"
    rb"|[A-Z][A-Za-z-]{2,20}: [^\r\n]{0,100}\r?"
)
_BASE64_LINE = re.compile(
    rb"[ \t\"'`+]{0,20}(?=[^\n]*[a-z])(?=[^\n]*[A-Z])(?=[^\n]*[0-9])"
    rb"[A-Za-z0-9+/]{60,76}(?:\\n)?[\"'`+,; \t\\]{0,8}\r?"
)
_BASE64_SHAPE = bytes(
    0x61 if byte < 0x80 and (chr(byte).isalnum() or byte in b"+/") else 0x20 for byte in range(256)
)
_BASE64_RUN = b"\x61" * 60
_LONGEST_LINE = 200
# Blocks without a private part. If the end mark is missing, the lines still count.
_PUBLIC_BLOCK = re.compile(
    rb"-----BEGIN (?P<kind>(?:[A-Z0-9]{1,12} ){0,3}"
    rb"(?:CERTIFICATE|PUBLIC KEY|CERTIFICATE REQUEST|CRL))"
    rb"-----[A-Za-z0-9+/=\s]{0,32768}-----END (?P=kind)-----"
)


def private_keys(text: bytes) -> Iterator[SecretMatch]:
    """Yield the text between the marks of private keys, or beside a mark that stands alone."""
    if b"PRIVATE KEY" in text:
        marks = list(_MARK.finditer(text))
        for place in range(len(marks)):
            start, end = _key_at(text, marks, place)
            if start < end and _MATERIAL.search(text, start, end):
                yield SecretMatch(start, end, RULE)
    if b"Private-Lines: " in text:
        end = 0
        for count in _PUTTY.finditer(text):
            if count.start() >= end:
                end = count.end()
                for _ in range(int(count[1])):
                    end = _line_end(text, end)
                if _MATERIAL.search(text, count.end(), end):
                    yield SecretMatch(count.end(), end, RULE)


def _key_at(text: bytes, marks: Sequence[re.Match[bytes]], place: int) -> tuple[int, int]:
    """Return the span between two marks, or of the key lines beside a single mark."""
    mark = marks[place]
    before = marks[place - 1] if place else None
    after = marks[place + 1] if place + 1 < len(marks) else None
    if mark[1] == b"BEGIN":
        limit = after.start() if after else len(text)
        is_complete = after is not None and after[1] == b"END"
        is_complete = is_complete and limit - mark.end() <= _BLOCK_BYTES
        return mark.end(), limit if is_complete else _key_lines_after(text, mark.end(), limit)
    if before is not None and before[1] == b"BEGIN":
        return mark.start(), mark.start()
    return _key_lines_before(text, mark.start(), before.end() if before else 0), mark.start()


def _key_lines_after(text: bytes, start: int, limit: int) -> int:
    limit = min(limit, start + _BLOCK_BYTES)
    end = start
    while end < limit and _KEY_LINE.fullmatch(text, end, min(limit, _line_break(text, end))):
        end = min(limit, _line_end(text, end))
    return end


def _key_lines_before(text: bytes, end: int, limit: int) -> int:
    limit = max(limit, end - _BLOCK_BYTES)
    start = end
    while start > limit:
        line = max(limit, text.rfind(b"\n", limit, start - 1) + 1)
        if not _KEY_LINE.fullmatch(text, line, _line_break(text, line, start)):
            break
        start = line
    return start


def _line_break(text: bytes, start: int, end: int | None = None) -> int:
    place = text.find(b"\n", start, end)
    return place if place >= 0 else len(text) if end is None else end


def _line_end(text: bytes, start: int) -> int:
    return min(len(text), _line_break(text, start) + 1)


def base64_lines(text: bytes) -> Iterator[SecretMatch]:
    """Yield two or more lines of nothing but base64, as of a key whose marks are elsewhere.

    Lines between the marks of a certificate or public key are not secret.
    """
    public = [match.span() for match in _PUBLIC_BLOCK.finditer(text)] if b"-----B" in text else []
    for found in _base64_lines(text):
        if not any(first <= found.start and found.end <= last for first, last in public):
            yield found


def _is_base64_line(text: bytes, start: int) -> bool:
    end = _line_break(text, start)
    return end - start <= _LONGEST_LINE and bool(_BASE64_LINE.fullmatch(text, start, end))


def _base64_lines(text: bytes) -> Iterator[SecretMatch]:
    # Each such line has a run of this length, which few other lines have.
    shape = text.translate(_BASE64_SHAPE)
    place = shape.find(_BASE64_RUN)
    while place >= 0:
        start = end = text.rfind(b"\n", 0, place) + 1
        lines = 0
        while _is_base64_line(text, end):
            lines, end = lines + 1, _line_end(text, end)
        if lines > 1:
            yield SecretMatch(start, end - (text[end - 1 : end] == b"\n"), "base64-lines")
        after_run = shape.find(b" ", place + len(_BASE64_RUN))
        place = shape.find(_BASE64_RUN, max(end, after_run)) if after_run >= 0 else -1
