"""Find secrets in texts, and files that hold secrets: neither may be stored or sent.

All rules are in one table; each is a :data:`~winnow.privacy.secrets.detector.Detector`. They work
on bytes because index workers mask every file they read, at nearly the speed of reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from winnow.privacy.secrets.assignments import assignments, secret_by_name
from winnow.privacy.secrets.commands import command_arguments
from winnow.privacy.secrets.connections import connection_secrets
from winnow.privacy.secrets.custom_rules import custom_rules
from winnow.privacy.secrets.detector import Detector, SecretMatch
from winnow.privacy.secrets.encoded import encoded_secrets
from winnow.privacy.secrets.formats import known_formats
from winnow.privacy.secrets.hashes import password_hashes
from winnow.privacy.secrets.keys import base64_lines, private_keys
from winnow.privacy.secrets.secret_files import is_secret_file
from winnow.privacy.secrets.structures import structured_secrets

__all__ = [
    "Redacted",
    "count_redactions",
    "is_secret_file",
    "mask_secrets",
    "redact_path",
    "redact_secrets",
]

_PLAIN_DETECTORS: tuple[Detector, ...] = (
    private_keys,
    known_formats,
    connection_secrets,
    command_arguments,
    assignments,
    password_hashes,
    structured_secrets(secret_by_name),
)
INDEX_DETECTORS: tuple[Detector, ...] = (*_PLAIN_DETECTORS, encoded_secrets(_PLAIN_DETECTORS))
# A model sees parts of files, which may start inside a key.
MODEL_DETECTORS: tuple[Detector, ...] = (*INDEX_DETECTORS, base64_lines)

_NOT_LINE_END = re.compile(rb"[^\r\n]")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MARKER = re.compile(rb"\[REDACTED:([a-z0-9-]{1,40})\]")


class Redacted(Struct, frozen=True):
    """A text without its secrets, and the number of secrets by rule."""

    text: str
    counts: Mapping[str, int]


def mask_secrets(text: bytes, rules: Iterable[str] = ()) -> tuple[bytes, int]:
    """Return the text with `*` for each byte of a secret, and the number of secrets.

    Length and line ends stay the same, so that offsets and line numbers remain valid. ``rules`` are
    custom rules.
    """
    findings = _found(text, (*INDEX_DETECTORS, custom_rules(rules)))
    if not findings:
        return text, 0
    parts, end = [], 0
    for match in findings:
        parts += [text[end : match.start], _NOT_LINE_END.sub(b"*", text[match.start : match.end])]
        end = match.end
    return b"".join([*parts, text[end:]]), len(findings)


def redact_secrets(text: str, rules: Iterable[str] = (), allowed: Collection[str] = ()) -> Redacted:
    """Return the text with `[REDACTED:rule]` for each secret, line by line as before.

    ``rules`` are custom rules; the ``allowed`` values are not redacted.
    """
    detectors = (*MODEL_DETECTORS, custom_rules(rules))
    kept_values = frozenset(value.encode("utf-8", "surrogatepass") for value in allowed)
    raw = text.encode("utf-8", "surrogatepass")
    counts = Counter[str]()
    # Redaction brings texts closer together, which may reveal another secret.
    while findings := _found(raw, detectors, kept_values):
        counts.update(match.rule for match in findings)
        parts, end = [], 0
        for match in findings:
            lines = b"".join(_LINE_END.findall(raw, match.start, match.end))
            parts += [raw[end : match.start], f"[REDACTED:{match.rule}]".encode(), lines]
            end = match.end
        raw = b"".join([*parts, raw[end:]])
    return Redacted(raw.decode("utf-8", "surrogatepass"), dict(counts))


def redact_path(path: str, redact: Callable[[str], Redacted] = redact_secrets) -> str:
    """Return a path without its secrets, including secrets that only one part of it shows."""
    parts = redact(path).text.split("/")
    return "/".join(redact(part).text if "=" in part or ":" in part else part for part in parts)


def count_redactions(text: str) -> dict[str, int]:
    """Return the number of replaced secrets in a text, by rule."""
    return dict(Counter(rule.decode() for rule in _MARKER.findall(text.encode("utf-8", "replace"))))


def _found(
    text: bytes, detectors: Sequence[Detector], kept_values: Collection[bytes] = ()
) -> list[SecretMatch]:
    """Return the matches of all detectors in order and merged, without the kept values."""
    found = sorted(
        (
            match
            for detect in detectors
            for match in detect(text)
            if not kept_values or text[match.start : match.end] not in kept_values
        ),
        key=lambda match: (match.start, -match.end),
    )
    merged: list[SecretMatch] = []
    for match in found:
        if _MARKER.search(text, match.start, match.end):
            continue
        if merged and match.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, match.end))
        else:
            merged.append(match)
    return merged
