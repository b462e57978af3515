"""Find password hashes, as in `.htpasswd`, `/etc/shadow` and tables of users.

A hash is not a password, but anyone who has it can try passwords against it unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import has_variety

RULE = "password-hash"
_CRYPT = rb"[A-Za-z0-9./]"
# The schemes of crypt(3), and the rest of each hash.
_SCHEME = re.compile(rb"\$(apr1|argon2(?:id|i|d)|2[abxy]?|g?y|[1567])\$")
_ROUNDS = rb"(?:rounds=[0-9]{1,9}\$)?"
_REST: dict[bytes, re.Pattern[bytes]] = {
    scheme: re.compile(pattern)
    for schemes, pattern in (
        ((b"apr1", b"1"), _CRYPT + rb"{1,8}\$" + _CRYPT + rb"{22}"),
        ((b"2", b"2a", b"2b", b"2x", b"2y"), rb"[0-9]{2}\$" + _CRYPT + rb"{53}"),
        ((b"5",), _ROUNDS + _CRYPT + rb"{1,16}\$" + _CRYPT + rb"{43}"),
        ((b"6",), _ROUNDS + _CRYPT + rb"{1,16}\$" + _CRYPT + rb"{86}"),
        ((b"y", b"gy"), _CRYPT + rb"{1,8}\$" + _CRYPT + rb"{1,86}\$" + _CRYPT + rb"{43}"),
        ((b"7",), _CRYPT + rb"{11,97}\$" + _CRYPT + rb"{43}"),
        (
            (b"argon2id", b"argon2i", b"argon2d"),
            rb"v=[0-9]{1,3}\$m=[0-9,tp=]{3,40}\$[A-Za-z0-9+/]{11,90}\$[A-Za-z0-9+/]{20,90}",
        ),
    )
    for scheme in schemes
}
# Hashes of LDAP and frameworks, each with a literal that every match contains.
_OTHERS: tuple[tuple[bytes, re.Pattern[bytes]], ...] = (
    (b"SHA}", re.compile(rb"\{S?SHA(?:256|384|512)?\}[A-Za-z0-9+/]{27,120}={0,2}")),
    (
        b"pbkdf2",
        re.compile(
            rb"pbkdf2[_:-]sha(?:1|256|512)[$:][0-9]{1,9}[$:][A-Za-z0-9+/]{1,64}={0,2}"
            rb"\$[A-Za-z0-9+/]{27,100}={0,2}"
        ),
    ),
    (
        b"scrypt$",
        re.compile(
            rb"scrypt\$[0-9]{1,9}\$[^$\s\"']{1,64}\$[0-9$]{3,12}\$[A-Za-z0-9+/]{40,100}={0,2}"
        ),
    ),
)


def password_hashes(text: bytes) -> Iterator[SecretMatch]:
    """Yield password hashes that name their scheme."""
    for scheme in _SCHEME.finditer(text):
        rest = _REST[scheme[1]].match(text, scheme.end())
        if rest and has_variety(rest[0]):
            yield SecretMatch(scheme.start(), rest.end(), RULE)
    for mark, pattern in _OTHERS:
        if mark in text:
            for match in pattern.finditer(text):
                if has_variety(match[0]):
                    yield SecretMatch(match.start(), match.end(), RULE)
