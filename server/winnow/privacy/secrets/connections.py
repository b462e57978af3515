"""Find secrets in URLs and request headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import (
    is_chosen_password,
    is_made_of_words,
    is_opaque,
    is_placeholder,
)

_ADDRESS = re.compile(
    rb"://(?P<user>[^\s:/?#@\"'`<>\[\]{}|\\]{0,100}):"
    rb"(?P<value>[^\s/\"'`<>{}|\\]{1,200})@(?=[\w\[.$%{<-])"
)
# No alternative may be a sequence of others, so that each value has one reading.
_SIMPLE = re.compile(
    rb"(?i:pass(?:word|wd|phrase)?|pwd|pw|p|secret|user(?:name)?|admin|root|guest|test(?:ing)?"
    rb"|my|the|your|db|dev|some|token|key|api|foo|bar|baz|login|postgres|mysql|redis|mongo|rabbit"
    rb"|host|port|example|x-oauth-basic|oauth|git|[-_.0-9])+"
)
_BEARER = re.compile(rb"earer {1,4}(?P<value>[A-Za-z0-9._~+/-]{8,4096}={0,2})")
_HEADER = re.compile(
    rb"(?:uthorization|UTHORIZATION)[\"'\]]{0,2}[ \t]{0,8}(?:[:=,]|=>)[ \t]{0,8}"
    rb"(?:[a-z]{0,2}[\"'`])?"
    rb"(?i:basic|token|digest|negotiate|apikey|key) {1,4}(?P<value>[A-Za-z0-9._~+/-]{8,4096}={0,2})"
)


def connection_secrets(text: bytes) -> Iterator[SecretMatch]:
    """Yield passwords in URLs (`scheme://user:password@host`) and in `Authorization` headers."""
    if b"://" in text:
        for match in _ADDRESS.finditer(text):
            if _is_password(match["value"]):
                yield SecretMatch(*match.span("value"), "url-password")
    if b"earer " in text:
        for match in _BEARER.finditer(text):
            if is_opaque(match["value"]):
                yield SecretMatch(*match.span("value"), "authorization")
    if b"uthorization" in text or b"UTHORIZATION" in text:
        for match in _HEADER.finditer(text):
            if is_opaque(match["value"]) or is_chosen_password(match["value"]):
                yield SecretMatch(*match.span("value"), "authorization")


def _is_password(value: bytes) -> bool:
    """Return True unless the password is a placeholder or another word of documentation."""
    if is_placeholder(value) or _SIMPLE.fullmatch(value) or value[:1] in (b"$", b"%", b"*", b":"):
        return False
    return len(value) >= 8 or not is_made_of_words(value)
