"""Values that are given to something with the name of a secret, in the forms of languages.

A name holds one of a few stems (`token`, `pass`, …). Behind it comes a link (`=`, `:`, `=>`, a type
annotation and `=`, `(`, `</key><string>`, …) and then a value: a string, or a bare word where
configuration files and addresses have one. The name is judged as a whole (`token_url` is that of no
secret), and the value has to look like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from winnow.secrets.finding import Finding
from winnow.secrets.values import is_chosen_password, is_opaque, is_passphrase, is_uuid

Kind = Literal["", "password", "secret", "token", "api-key"]

_STEMS = (b"key", b"secret", b"token", b"pass", b"pwd", b"auth", b"cred")
_LONGEST_VALUE = 4096
_SHORTEST_VALUE = 8
# A bare word in the midst of a line is more often a name of the program than a value.
_SHORTEST_BARE = 16

_GAP = rb"[ \t]{0,32}(?:\\?\r?\n[ \t]{0,120})?"
_LINK = (
    rb"""
    (?=(?P<rest>[a-z0-9_-]{0,40}))(?P=rest)(?![a-z0-9_-])
    (?:\[[0-9]{0,4}\])?
    (?:
      (?P<named>\\{0,3}["'`])? [\])]{0,2} [ \t]{0,32}
      (?: :[ \t]{0,4}[a-z&][a-z0-9_.:<>\[\]|?&*,' ]{0,40}?[ ]?=(?![=>])
        | => | := | [!=]?==? | : | \?\?=? | \|\| | (?P<comma>,)
      )
      """
    + _GAP
    + rb"""
      (?:[(\[]"""
    + _GAP
    + rb""")?
    | (?P<call>\()[ \t]{0,8}
    | (?P<apart>[ \t]{1,8})(?=["'])
    | ["'][ \t]{1,4}(?:value|content)[ ]?=[ ]?
    | (?P<element>\\{0,3}["']?>|</key>\s{0,80}<string>)
    )
    (?:[a-z]{1,2}(?=["']))? (?:some\(|new[ ]string\()?
    (?P<quote>\\{0,3}(?:\"\"\"|'''|["'`]))?
    (?=[^\s"'`]{8}|[a-z]{3,7}[ ][a-z]{3})
    """
)
_ASSIGNMENTS = tuple(re.compile(stem + _LINK, re.VERBOSE) for stem in _STEMS)

_NOT_NAME = re.compile(rb"[^a-z0-9_.-]")
_HEAD_BYTES = 40
_LINE_START = re.compile(
    rb"[ \t]{0,64}(?:[#;/*-]{0,3}[ \t]{1,4})?(?i:export|set|setx|env|arg|declare|-e|--env|- name:)?"
    rb"[ \t]{0,4}[$\"']?"
)

# Names of secrets, as a whole, in lower case. What is left of `key` says what it opens.
_KEY = re.compile(
    rb"(?:^|.*[^a-z])?(?:.*(?:api|access|secret|private|priv|encryption|encrypt|encryptor|crypto"
    rb"|cipher|sign|signing|signature|client|consumer|account|auth|master|service|shared|app"
    rb"|application|license|session|cookie|jwt|hmac|webhook|deploy|admin|subscription|server|aes"
    rb"|ssh|rest|write|storage|maps|wep|psk|integration|functions?))[_.-]?key"
)
_PASS = re.compile(
    rb"(?:.*[^a-z]|.*(?:db|user|smtp|root|admin|my|sql|ftp|mail|email|proxy|ssh|redis|login))?pass"
)
_AUTH = re.compile(rb"[_-]{0,2}auth|(?:.*[_.-])?auth[_-]?(?:key|pass|code|secret)")
_KINDS: dict[bytes, Kind] = {
    b"secret": "secret",
    b"cred": "secret",
    b"password": "password",
    b"pwd": "password",
    b"token": "token",
}
# Names that begin so tell of a secret something that is none.
_PUBLIC_HEAD = re.compile(
    rb".*(?:public|csrf|xsrf|next|page|continuation|sync|pad|eos|bos|unk|mask|sep|cls|cancellation"
    rb"|max|min|num|sort|cache|partition|primary|foreign)[_.-]?(?:middleware)?"
)
# So does what follows the stem.
_PUBLIC_REST = re.compile(
    rb"""[_-]?(?:s[_-])?(?:
      name|id(?![a-z])|ids|type|ur[il]|path|file|dir|folder|field|label|hint|input|form|reset|change|len
    | size|count|limit|policy|regexp?|pattern|format|prefix|suffix|header|param|placeholder|title
    | text|message|msg|error|help|ref|arn|index|class|selector|template|view|valid|hasher|algo
    | expir|ttl|timeout|lifetime|issuer|audience|scope|status|state|endpoint|provider|manager|store
    | backend|handler|factory|generat|enabled|required|attr|prop|list|kind|usage|spec|alias|env|var
    | desc|doc|loc|region|iz|ing|ize|is|er|col|ring|board|word|frame|code(?!\w)|down|up|press|map
    | set|pair|space|chain|event|strength|confirm|repeat|match|mode|method|source|mount|button|btn
    | icon|by|for|from|in(?![a-z])|of|on|to|with|ed(?![a-z])|able|ent|or|um|through|ive|port
    )""",
    re.VERBOSE,
)

_STRING = {
    quote: re.compile(
        rb"[^\\\r\n" + quote + rb"]{0,4096}(?:\\.[^\\\r\n" + quote + rb"]{0,4096}){0,64}"
    )
    for quote in (b'"', b"'", b"`")
}
_ESCAPED_STRING = re.compile(rb"[^\\\r\n\"'`]{0,4096}")
_ELEMENT = re.compile(rb"[^\s<>]{0,4096}(?=[ \t]{0,8}\r?\n?[ \t]{0,80}<)")
_WHOLE_LINE = re.compile(
    rb"(?P<value>[^\s\"'`]{8,4096})(?:[ \t]{1,32}[#;/][^\n]{0,500})?[ \t]{0,32}\r?(?=\n|\Z)"
)
_BARE = re.compile(
    rb"[A-Za-z0-9+/_.~%!@#$^*?-]{8,4096}={0,2}(?=(?P<after>[\s\"'`;,&<>)}\]|\\]|\Z))"
)
_CLOSING, _SPACE = b";&\"'<", b" \t\r\n"  # nothing, the end of the text, is in both
# In strings such as "Server=db;Pwd=value;Encrypt=yes" a value goes on to the next semicolon.
_CONNECTION_VALUE = re.compile(rb"[^\s\"'`;<>{}]{8,200}(?=[;\"'])")
_IN_CONNECTION = re.compile(rb"[^\s\"'`;<>{}]{8,200};[A-Za-z ]{2,40}=")
# Names in a program: "ExpiresAfter", "httpx.Auth". Of 24 random letters and digits, one in sixty
# has no digit.
_IDENTIFIER = re.compile(rb"[A-Za-z]+")
_CODE_NAME = re.compile(rb"[A-Z][a-z]+[A-Za-z]*|[a-z][a-z0-9]{0,15}\.[A-Za-z]{1,20}")
_CODE = re.compile(rb"[()\[\]{}<>,;|]|->|::")


def assignments(text: bytes) -> Iterator[Finding]:
    """The values of passwords, secrets, tokens and keys."""
    folded = text.lower()
    for pattern in _ASSIGNMENTS:
        for match in pattern.finditer(folded):
            start = match.start()
            before = _NOT_NAME.split(folded[max(0, start - _HEAD_BYTES) : start])[-1]
            stem = folded[start : match.start("rest")]
            kind = _kind(before, stem, match["rest"])
            if not kind or (match["comma"] and not match["named"]):
                continue
            value = _value(text, match, start - len(before), kind)
            if value:
                yield value


@lru_cache(maxsize=1024)
def _kind(head: bytes, stem: bytes, rest: bytes) -> Kind:
    """What a name is the name of, by what stands before and behind its stem; "" for no secret."""
    if stem == b"pass" and rest.startswith((b"word", b"wd", b"phrase", b"code", b"wort")):
        stem, rest = b"password", re.sub(rb"^(?:word|wd|phrase|code|wort)", b"", rest)
    if stem == b"cred":
        if not rest.startswith((b"s", b"ential")):
            return ""
        rest = re.sub(rb"^(?:entials?|s)", b"", rest)
    if stem == b"auth" and rest.startswith((b"oriz", b"oris", b"en", b"or")):
        return ""
    if _PUBLIC_REST.match(rest) or _PUBLIC_HEAD.fullmatch(head):
        return ""
    if stem == b"key":
        return "api-key" if _KEY.fullmatch(head + stem) else ""
    if stem == b"pass":
        return "password" if _PASS.fullmatch(head + stem) and not rest[:1].isalpha() else ""
    if stem == b"auth":
        return "token" if _AUTH.fullmatch(head + stem + rest) else ""
    return _KINDS[stem]


def _value(text: bytes, match: re.Match[bytes], name: int, kind: Kind) -> Finding | None:
    """The value behind a link, if it is there, and looks like a secret."""
    start, quote = match.end(), match["quote"]
    if quote:
        string = _ESCAPED_STRING if quote[:1] == b"\\" else _STRING[quote[-1:]]
        found = string.match(text, start)
        end = found.end() if found else start
        if text[end : end + len(quote)] != quote:
            return None
        if match["comma"] and _IDENTIFIER.fullmatch(text, start, end):
            return None  # a list of names
        return _judged(text, start, end, kind, chosen=not match["call"])
    if match["element"]:
        found = _ELEMENT.match(text, start)
        return _judged(text, start, found.end(), kind, chosen=True) if found else None
    if match["call"] or match["comma"] or match["apart"]:
        return None
    return _bare(text, match, name, kind)


def _bare(text: bytes, match: re.Match[bytes], name: int, kind: Kind) -> Finding | None:
    """A value without quotes: the rest of its line, or a word in it."""
    start = match.end()
    line = text.rfind(b"\n", max(0, name - 200), name) + 1
    if _LINE_START.fullmatch(text, line, name):
        found = _WHOLE_LINE.match(text, start)
        if found and not _CODE.search(found["value"]) and not _CODE_NAME.fullmatch(found["value"]):
            return _judged(text, start, found.end("value"), kind, chosen=True)
    if text[name - 1 : name] == b";" or _IN_CONNECTION.match(text, start):
        found = _CONNECTION_VALUE.match(text, start)
        if found:
            return _judged(text, start, found.end(), kind, chosen=True)
    word = _BARE.match(text, start)
    if word is None or _CODE_NAME.fullmatch(word[0]):
        return None
    # `name=value` stands in commands, addresses and the like; programs mostly go on behind it.
    tight = text[start - 1 : start] == b"=" and text[start - 2 : start - 1].isalnum()
    closed = word["after"] in _CLOSING or (tight and word["after"] in _SPACE)
    if len(word[0]) < (_SHORTEST_VALUE if closed else _SHORTEST_BARE):
        return None
    return _judged(text, start, word.end(), kind, chosen=False)


def _judged(text: bytes, start: int, end: int, kind: Kind, *, chosen: bool) -> Finding | None:
    value = text[start:end]
    if not _SHORTEST_VALUE <= len(value) <= _LONGEST_VALUE:
        return None
    by_hand = chosen and kind in ("password", "secret")
    if b" " in value or b"\t" in value:
        is_secret = by_hand and is_passphrase(value)
    else:
        # A request's token is as often an id that anyone may see.
        is_secret = is_opaque(value) or (kind != "token" and is_uuid(value))
        is_secret = is_secret or (by_hand and is_chosen_password(value))
    return Finding(start, end, kind) if is_secret else None
