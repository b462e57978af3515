"""Find secrets in base64 and percent-encoded texts.

The other detectors search the decoded text. A secret in base64 masks the entire base64 text; in a
percent-encoded text, only the secret is masked.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from winnow.privacy.secrets.detector import Detector, SecretMatch
from winnow.privacy.secrets.formats import runs_of

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,65536}={0,2}")
# Only the head of a run is decoded at first, which is fast; that of an encoded text is seldom
# anything else.
_HEAD = 24
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e]*")
_PERCENT = re.compile(rb"%(?:22|3[aAdD]|7[bB])")
_PERCENT_TEXT = re.compile(rb"[^\s\"'<>`]{8,8192}")
_HEX_PAIR = re.compile(rb"%([0-9A-Fa-f]{2})")


def encoded_secrets(detectors: Sequence[Detector]) -> Detector:
    """Return a detector that applies ``detectors`` to decoded texts."""

    def is_secret(text: bytes) -> bool:
        return any(True for detect in detectors for _ in detect(text))

    @lru_cache(maxsize=64)
    def holds_secret(text: bytes) -> bool:
        decoded = _decoded(text)
        return decoded is not None and is_secret(decoded)

    def detect(text: bytes) -> Iterator[SecretMatch]:
        end = 0
        for place in _places(text):
            if place < end:
                continue
            match = _BASE64.match(text, place)
            if match:
                end = match.end()
                if holds_secret(match[0]):
                    yield SecretMatch(match.start(), end, "base64")
        if b"%" in text and _PERCENT.search(text):
            yield from _percent_encoded(text, detectors)

    return detect


def _places(text: bytes) -> Iterator[int]:
    """Yield the offsets where base64 text may begin."""
    for start, run in runs_of(text):
        head = run[:_HEAD]
        if len(head) == _HEAD and head.isalnum() and _decoded(head) is not None:
            yield start


def _decoded(text: bytes) -> bytes | None:
    """Return the text behind base64; None if it is not printable ASCII."""
    body = text.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        decoded = base64.b64decode(body + b"=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return None
    return decoded if _TEXT.fullmatch(decoded) else None


def _percent_encoded(text: bytes, detectors: Sequence[Detector]) -> Iterator[SecretMatch]:
    for match in _PERCENT_TEXT.finditer(text):
        if _PERCENT.search(match[0]):
            decoded, places = _unquoted(match[0])
            for detect in detectors:
                for secret in detect(decoded):
                    start, end = places[secret.start], places[secret.end]
                    yield SecretMatch(match.start() + start, match.start() + end, secret.rule)


def _unquoted(text: bytes) -> tuple[bytes, list[int]]:
    """Return the decoded text, and the offset in the encoded text of each byte and of the end."""
    decoded, places, end = bytearray(), list[int](), 0
    for pair in _HEX_PAIR.finditer(text):
        decoded += text[end : pair.start()]
        places += range(end, pair.start())
        decoded.append(int(pair[1], 16))
        places.append(pair.start())
        end = pair.end()
    decoded += text[end:]
    places += range(end, len(text) + 1)
    return bytes(decoded), places
