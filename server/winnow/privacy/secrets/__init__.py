"""What must never be kept or sent: secrets in texts, and files that hold them.

The rules are in one table, and each is a :data:`~winnow.privacy.secrets.detector.Detector`. They are
for bytes, since the index masks in worker processes what it reads, at a rate near that of reading
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from winnow.privacy.secrets.assignments import assignments, secret_by_name
from winnow.privacy.secrets.commands import command_arguments
from winnow.privacy.secrets.connections import connections
from winnow.privacy.secrets.custom_rules import custom_rules
from winnow.privacy.secrets.detector import Detector, SecretMatch
from winnow.privacy.secrets.encoded import encoded
from winnow.privacy.secrets.files import is_secret_file
from winnow.privacy.secrets.formats import known_formats
from winnow.privacy.secrets.hashes import password_hashes
from winnow.privacy.secrets.keys import base64_lines, private_keys
from winnow.privacy.secrets.structures import structures

__all__ = ["Redacted", "is_secret_file", "masked", "redacted", "redacted_path", "redactions"]

_PLAIN_DETECTORS: tuple[Detector, ...] = (
    private_keys,
    known_formats,
    connections,
    command_arguments,
    assignments,
    password_hashes,
    structures(secret_by_name),
)
INDEX_DETECTORS: tuple[Detector, ...] = (*_PLAIN_DETECTORS, encoded(_PLAIN_DETECTORS))
# A model sees parts of files, and a part may be the midst of a key.
MODEL_DETECTORS: tuple[Detector, ...] = (*INDEX_DETECTORS, base64_lines)

_NOT_LINE_END = re.compile(rb"[^\r\n]")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MARKER = re.compile(rb"\[REDACTED:([a-z0-9-]{1,40})\]")


class Redacted(Struct, frozen=True):
    """A text without its secrets, and how many were taken out, by rule."""

    text: str
    counts: Mapping[str, int]


def masked(text: bytes, rules: Iterable[str] = ()) -> tuple[bytes, int]:
    """The text with `*` for each byte of a secret, and how many secrets it has.

    The text keeps its length and its line ends, so that offsets and numbers of lines hold.
    ``rules`` are added ones.
    """
    findings = _found(text, (*INDEX_DETECTORS, custom_rules(rules)))
    if not findings:
        return text, 0
    parts, end = [], 0
    for one in findings:
        parts += [text[end : one.start], _NOT_LINE_END.sub(b"*", text[one.start : one.end])]
        end = one.end
    return b"".join([*parts, text[end:]]), len(findings)


def redacted(text: str, rules: Iterable[str] = (), allowed: Collection[str] = ()) -> Redacted:
    """The text with `[REDACTED:rule]` for each secret; it keeps its lines.

    ``rules`` are added ones; what is exactly one of the ``allowed`` values stays.
    """
    detectors = (*MODEL_DETECTORS, custom_rules(rules))
    stays = frozenset(value.encode("utf-8", "surrogatepass") for value in allowed)
    raw = text.encode("utf-8", "surrogatepass")
    counts = Counter[str]()
    # What stood apart is nearer to each other afterwards, and may be a finding then.
    while findings := _found(raw, detectors, stays):
        counts.update(one.rule for one in findings)
        parts, end = [], 0
        for one in findings:
            lines = b"".join(_LINE_END.findall(raw, one.start, one.end))
            parts += [raw[end : one.start], f"[REDACTED:{one.rule}]".encode(), lines]
            end = one.end
        raw = b"".join([*parts, raw[end:]])
    return Redacted(raw.decode("utf-8", "surrogatepass"), dict(counts))


def redacted_path(path: str, redact: Callable[[str], Redacted] = redacted) -> str:
    """Return a path with its secrets redacted, also those that a part of it has alone."""
    parts = redact(path).text.split("/")
    return "/".join(redact(one).text if "=" in one or ":" in one else one for one in parts)


def redactions(text: str) -> dict[str, int]:
    """How many secrets were replaced in a text or a part of one, by rule."""
    return dict(Counter(one.decode() for one in _MARKER.findall(text.encode("utf-8", "replace"))))


def _found(
    text: bytes, detectors: Sequence[Detector], stays: Collection[bytes] = ()
) -> list[SecretMatch]:
    """What the detectors find but what stays, in order; of findings that overlap, one that covers
    them all."""
    found = sorted(
        (
            one
            for detect in detectors
            for one in detect(text)
            if not stays or text[one.start : one.end] not in stays
        ),
        key=lambda one: (one.start, -one.end),
    )
    joined: list[SecretMatch] = []
    for one in found:
        if _MARKER.search(text, one.start, one.end):
            continue
        if joined and one.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, one.end))
        else:
            joined.append(one)
    return joined
