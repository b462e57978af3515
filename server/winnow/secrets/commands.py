"""Secrets that programs are given as arguments, and where a word and a space stand before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow.secrets.finding import Finding
from winnow.secrets.values import is_chosen_password, is_opaque, is_uuid

_NAME = (
    rb"(?:[A-Za-z0-9]{1,30}[_-]){0,4}"
    rb"(?i:(?P<password>password|passwd|pass|pwd|passphrase)|secret(?:[_-]?key)?|token|api[_-]?key"
    rb"|access[_-]?key|auth[_-]?token)"
)
_VALUE = rb"[ \t]{1,4}[\"']?(?P<value>[^\s\"'`<>{}\\-][^\s\"'`<>\\]{7,400})(?=[\s\"'`;)\\]|\Z)"
_OPTION = re.compile(rb"(?<=[\s\"'`(])--" + _NAME + _VALUE)
_SETTING = re.compile(rb"(?m)^[ \t]{0,16}(?:ENV|ARG|setx)[ \t]{1,4}" + _NAME + _VALUE)
_WORD = rb"[\"']?(?P<value>[^\s\"'$`<>{}]{6,200})(?=[\s\"'])"
# The rule, what a text with such an argument has, and where the argument stands.
_OTHERS: tuple[tuple[str, bytes, re.Pattern[bytes]], ...] = (
    ("curl-password", b" -u ", re.compile(rb" -u [\"']?[\w.@%+-]{1,100}:" + _WORD)),
    ("curl-password", b" --user", re.compile(rb" --user[ =][\"']?[\w.@%+-]{1,100}:" + _WORD)),
    ("password", b"sshpass ", re.compile(rb"sshpass[ \t]{1,4}-p[ \t]{0,4}" + _WORD)),
    ("password", b"SecureString ", re.compile(rb"SecureString (?:-String )?" + _WORD)),
    (
        "password",
        b"machine ",
        re.compile(rb"machine \S{1,200}\s{1,8}login \S{1,200}\s{1,8}password " + _WORD),
    ),
)


def arguments(text: bytes) -> Iterator[Finding]:
    """The values of options such as `--password`, of `ENV` in a Dockerfile, and what curl, sshpass,
    PowerShell and .netrc are told."""
    if b"--" in text:
        yield from _named(text, _OPTION)
    if b"ENV " in text or b"ARG " in text or b"setx " in text:
        yield from _named(text, _SETTING)
    for rule, mark, pattern in _OTHERS:
        if mark in text:
            for match in pattern.finditer(text):
                if is_opaque(match["value"]) or is_chosen_password(match["value"]):
                    yield Finding(*match.span("value"), rule)


def _named(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        value, password = match["value"], match["password"] is not None
        if is_opaque(value) or is_uuid(value) or (password and is_chosen_password(value)):
            yield Finding(*match.span("value"), "password" if password else "token")
