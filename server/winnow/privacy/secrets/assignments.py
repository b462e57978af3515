"""Find values that are assigned to the name of a secret, in the syntax of many languages.

A name contains one of a few stems (`token`, `pass`, …). A link follows it (`=`, `:`, `=>`, a type
annotation and `=`, `(`, `</key><string>`, …), then a value: a string, or a bare word in
configuration files and URLs. The entire name counts: `token_url` does not name a secret. A value
assigned to a password is a secret unless it is a placeholder, reference or label. With other names,
or where programs use identifiers, the value must also look like a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import (
    is_chosen_password,
    is_made_of_words,
    is_opaque,
    is_passphrase,
    is_password,
    is_uuid,
)

Kind = Literal["", "password", "secret", "token", "api-key"]
# How to judge a value: by its name (anything but a label or reference is a secret), as a password
# that a person chose, or as random characters.
Trust = Literal["named", "chosen", "random"]

_STEMS = (b"key", b"secret", b"token", b"pass", b"pw", b"auth", b"cred")
_LONGEST_VALUE = 4096
_SHORTEST_VALUE = 8
_SHORTEST_PASSWORD = 6
# A bare word inside a line is usually a name in a program, not a value.
_SHORTEST_BARE = 16

_GAP = rb"[ \t]{0,32}(?:\\?\r?\n[ \t]{0,120})?"
_LINK = (
    rb"""
    (?=(?P<rest>[a-z0-9_-]{0,40}))(?P=rest)(?![a-z0-9_-])
    (?:\[[0-9]{0,4}\])?
    (?:
      (?P<named>\\{0,7}["'`])? [\])]{0,2} [ \t]{0,32}
      (?: :[ \t]{0,4}[a-z&][a-z0-9_.:<>\[\]|?&*,' ]{0,40}?[ ]?=(?![=>])
        | (?:string|str|\[\]byte)[ \t]?= | => | := | [!=]?==? | : | \?\?=? | \|\| | (?P<comma>,)
      )
      """
    + _GAP
    + rb"""
      (?:[(\[]"""
    + _GAP
    + rb""")?
    | (?P<call>\()[ \t]{0,8}
    | (?P<apart>[ \t]{1,8})(?=["'])
    | (?P<attribute>["'][ \t]{1,4}(?:value|content)[ ]?=[ ]?)
    | (?P<element>\\{0,3}["']?>|</key>\s{0,80}<string>)
    )
    (?:[a-z]{1,2}(?=["']))? (?:some\(|new[ ]string\()?
    (?P<quote>\\{0,7}(?:\"\"\"|'''|["'`]))?
    (?=[^\s"'`]{6}|[a-z]{3,7}[ ][a-z]{3})
    """
)
_ASSIGNMENTS = tuple(re.compile(stem + _LINK, re.VERBOSE) for stem in _STEMS)

_NOT_NAME = re.compile(rb"[^a-z0-9_.-]")
_HEAD_BYTES = 40
_LINE_START = re.compile(
    rb"[ \t]{0,64}(?:[#;/*-]{0,3}[ \t]{1,4})?(?i:export|set|setx|env|arg|declare|-e|--env|- name:)?"
    rb"[ \t]{0,4}[$\"']?"
)

# Complete names of secrets, in lower case. Other names with `key` name something else.
_KEY = re.compile(
    rb"(?:^|.*[^a-z])?(?:.*(?:api|access|secret|private|priv|encryption|encrypt|encryptor|crypto"
    rb"|cipher|sign|signing|signature|client|consumer|account|auth|master|service|shared|app"
    rb"|application|license|session|cookie|jwt|hmac|webhook|deploy|admin|subscription|server|aes"
    rb"|ssh|rest|write|storage|maps|wep|psk|integration|functions?))[_.-]?key"
)
_PASS = re.compile(
    rb"(?:.*[^a-z]|.*(?:db|user|smtp|root|admin|my|sql|ftp|mail|email|proxy|ssh|redis|login))?pass"
)
_PW = re.compile(
    rb"(?:.*[^a-z]|.*(?:db|user|bind|smtp|root|admin|my|sql|ftp|mail|proxy|ssh|redis|login))?pw"
)
_AUTH = re.compile(rb"[_-]{0,2}auth|(?:.*[_.-])?auth[_-]?(?:key|pass|code|secret)")
_KINDS: dict[bytes, Kind] = {
    b"secret": "secret",
    b"cred": "secret",
    b"password": "password",
    b"token": "token",
}
# Beginnings of names that are not secret.
_PUBLIC_HEAD = re.compile(
    rb".*(?:public|csrf|xsrf|next|page|continuation|sync|pad|eos|bos|unk|mask|sep|cls|cancellation"
    rb"|max|(?<!ad)min|num|sort|cache|partition|primary|foreign)[_.-]?(?:middleware)?"
)
# Beginnings of names of labels, messages and results, whose values are words.
_LABEL_HEAD = re.compile(
    rb"|.*(?:forgot(?:ten)?|change|new|confirm|repeat|retype|old|current|reset|show|hide|enter|invalid"
    rb"|wrong|incorrect|missing|no|your|weak|strong|short|required|set|update|lost|choose|create"
    rb"|label|title|text|msg|message|error|i18n|tr|lang)[_. -]?"
)
# Endings of names that are not secret.
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
    rb"(?P<value>[^\s\"'`]{6,4096})(?:[ \t]{1,32}[#;/][^\n]{0,500})?[ \t]{0,32}\r?(?=\n|\Z)"
)
_BARE = re.compile(
    rb"[A-Za-z0-9+/_.~%!@#$^*?-]{6,4096}={0,2}(?=(?P<after>[\s\"'`;,&<>)}\]|\\]|\Z))"
)
_CLOSING, _SPACE = b";&\"'<", b" \t\r\n"  # an empty value (the end of the text) is in both
# In strings such as "Server=db;Pwd=value;Encrypt=yes", a value ends at the next semicolon.
_CONNECTION_VALUE = re.compile(rb"[^\s\"'`;<>{}()]{6,200}(?=[;\"'])")
_IN_CONNECTION = re.compile(rb"[^\s\"'`;<>{}()]{6,200};[A-Za-z ]{2,40}=")
# Names in a program: "ExpiresAfter", "httpx.Auth". Of 24 random letters and digits, one in sixty
# has no digit.
_IDENTIFIER = re.compile(rb"[A-Za-z]+|[A-Z][a-z0-9]*(?:[A-Z][a-z]{2,})+")
_CODE_NAME = re.compile(
    rb"[A-Z][a-z]+[A-Za-z]*(?:\.[A-Z][A-Za-z0-9]{1,40})?|[a-z][a-z0-9]{0,15}\.[A-Za-z]{1,20}"
)
# In settings, a single capitalized word is usually a password.
_TYPE_NAME = re.compile(rb"[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+|[a-z][a-z0-9]{0,15}\.[A-Za-z]{1,20}")
_CODE = re.compile(rb"[()\[\]{}<>,;|]|->|::")
# In these, a name with a bare value is not code.
_SECTION = re.compile(rb"\[[\w .:/@-]{1,80}\]")
_TAG = re.compile(rb"<(?P<tag>[\w:.-]{1,60})[^<>]{0,200}$")
_SETTING_TAGS = frozenset(
    b"property prop entry param parameter setting init-param add variable option-value".split()
)


def assignments(text: bytes) -> Iterator[SecretMatch]:
    """Yield the values of passwords, secrets, tokens and keys."""
    folded = text.lower()
    for pattern in _ASSIGNMENTS:
        for match in pattern.finditer(folded):
            start = match.start()
            before = _NOT_NAME.split(folded[max(0, start - _HEAD_BYTES) : start])[-1]
            stem = folded[start : match.start("rest")]
            kind, is_label = _kind(before, stem, match["rest"])
            if not kind or (match["comma"] and not match["named"]):
                continue
            value = _value(text, match, start - len(before), kind, is_label=is_label)
            if value:
                yield value


def secret_by_name(text: bytes, start: int, end: int, name: bytes) -> SecretMatch | None:
    """Return a match if the name is that of a secret and the value can be a secret."""
    folded = name.lower()
    for stem in _STEMS:
        place = folded.rfind(stem)
        if place >= 0:
            kind, is_label = _kind(folded[:place], stem, folded[place + len(stem) :])
            if kind:
                is_name = any(map(name.__contains__, b"._-")) or name.isupper()
                trust: Trust = "named" if is_name and not is_label else "chosen"
                return _judged(text, start, end, kind, trust)
    return None


@lru_cache(maxsize=1024)
def _kind(head: bytes, stem: bytes, rest: bytes) -> tuple[Kind, bool]:
    """Return the kind of secret that a name means, judged by the text before and after its stem (""
    for none), and True if labels have such names as well."""
    if stem == b"pass" and not rest.startswith((b"word", b"wd", b"phrase", b"code", b"wort")):
        is_label = not head.strip(b"_.-")
    elif stem == b"pw":
        is_label = False
    else:
        is_label = bool(head) and _LABEL_HEAD.fullmatch(head) is not None
    return _kind_of(head, stem, rest), is_label


def _kind_of(head: bytes, stem: bytes, rest: bytes) -> Kind:
    if stem == b"pass" and rest.startswith((b"word", b"wd", b"phrase", b"code", b"wort")):
        stem, rest = b"password", re.sub(rb"^(?:word|wd|phrase|code|wort)", b"", rest)
    if stem == b"pw":
        if rest.startswith(b"d"):
            stem, rest = b"password", rest[1:]
        elif rest or not _PW.fullmatch(head + stem):
            return ""
        else:
            return "password"
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


def _value(
    text: bytes, match: re.Match[bytes], name: int, kind: Kind, *, is_label: bool
) -> SecretMatch | None:
    """Return the value after a link if it can be a secret."""
    start, quote = match.end(), match["quote"]
    if quote:
        string = _ESCAPED_STRING if quote[:1] == b"\\" else _STRING[quote[-1:]]
        found = string.match(text, start)
        end = found.end() if found else start
        if text[end : end + len(quote)] != quote:
            return None
        if match["comma"] and _IDENTIFIER.fullmatch(text, start, end):
            return None  # a list of names
        return _judged(text, start, end, kind, _trust_of_string(text, match, name, is_label))
    if match["element"]:
        found = _ELEMENT.match(text, start)
        trust: Trust = "named" if _is_setting(text, name, match) and not is_label else "chosen"
        return _judged(text, start, found.end(), kind, trust) if found else None
    if match["call"] or match["comma"] or match["apart"] or match["attribute"]:
        return None
    return _bare(text, match, name, kind)


def _trust_of_string(text: bytes, match: re.Match[bytes], name: int, is_label: bool) -> Trust:
    before = text[max(0, name - 16) : match.end("rest")]
    if match["call"]:
        is_setter = re.search(rb"(?:^|[^A-Za-z])(?:set|with)[A-Za-z]{0,40}$", before)
        return "named" if is_setter else "random"
    if match["comma"]:
        return "named" if re.search(rb"define\([\"'][A-Z_]+$", before) else "chosen"
    if match["apart"]:
        return "named" if text[name : match.end("rest")].isupper() else "chosen"
    if match["attribute"] or match["element"]:
        return "named" if _is_setting(text, name, match) else "chosen"
    return "chosen" if is_label else "named"


def _is_setting(text: bytes, name: int, match: re.Match[bytes]) -> bool:
    """Return True if an XML element is a setting by its tag, not a label of a form."""
    opened = _TAG.search(text, max(0, name - 200), name)
    if opened:
        return opened["tag"].lower() in _SETTING_TAGS
    return text[name - 1 : name] in (b"<", b":") and match["element"] is not None


def _bare(text: bytes, match: re.Match[bytes], name: int, kind: Kind) -> SecretMatch | None:
    """Return a value without quotes: the rest of its line, or a word in it."""
    start = match.end()
    line = text.rfind(b"\n", max(0, name - 200), name) + 1
    link = text[match.end("rest") : start]
    if _LINE_START.fullmatch(text, line, name):
        found = _WHOLE_LINE.match(text, start)
        if found and not _CODE.search(found["value"]):
            if _is_configuration(
                text, line, text[name : match.end("rest")], link
            ) and not _TYPE_NAME.fullmatch(found["value"]):
                return _judged(text, start, found.end("value"), kind, "named")
            if not _CODE_NAME.fullmatch(found["value"]):
                return _judged(text, start, found.end("value"), kind, "chosen")
    if text[name - 1 : name] == b";" or _IN_CONNECTION.match(text, start):
        found = _CONNECTION_VALUE.match(text, start)
        if found:
            return _judged(text, start, found.end(), kind, "named")
    word = _BARE.match(text, start)
    if word is None:
        return None
    if link == b"=" and word["after"] in _SPACE and _is_argument(text, line, name, match):
        return _judged(text, start, word.end(), kind, "named")
    if _CODE_NAME.fullmatch(word[0]):
        return None
    # `name=value` occurs in commands and URLs; programs usually continue after it.
    tight = text[start - 1 : start] == b"=" and text[start - 2 : start - 1].isalnum()
    closed = word["after"] in _CLOSING or (tight and word["after"] in _SPACE)
    if len(word[0]) < (_SHORTEST_VALUE if closed else _SHORTEST_BARE):
        return None
    return _judged(text, start, word.end(), kind, "random")


def _is_configuration(text: bytes, line: int, name: bytes, link: bytes) -> bool:
    """Return True if a line with a name and a bare value belongs to a configuration file, where the
    value is a literal, not to a program."""
    if _continues(text, line):
        return False
    if link == b"=":
        return True
    if link.strip() == b":" and link.endswith((b" ", b"\t")):
        return True
    return name.count(b".") > 1 or _in_section(text, line)


def _is_argument(text: bytes, line: int, name: int, match: re.Match[bytes]) -> bool:
    """Return True if `name=value` stands between spaces, as in a command or inventory."""
    full_name = text[name : match.end("rest")]
    return (
        text[name - 1 : name] in b" \t"
        and (full_name.isupper() or b"_" in full_name)
        and text[line:name].strip() != b""
        and not re.search(rb"[(,{]", text[line:name])
        and not _continues(text, line)
    )


def _continues(text: bytes, line: int) -> bool:
    """Return True if a line continues a construct that a program began in the line above."""
    return text[max(0, line - 300) : line].rstrip()[-1:] in (b",", b"{", b"(", b"[")


def _in_section(text: bytes, line: int) -> bool:
    """Return True if the nearest line that begins with a bracket begins a section of settings."""
    opened = text.rfind(b"\n[", max(0, line - 600), line)
    place = opened + 1 if opened >= 0 else 0
    end = text.find(b"\n", place, line)
    return end >= 0 and _SECTION.fullmatch(text[place:end].rstrip()) is not None


def _judged(text: bytes, start: int, end: int, kind: Kind, trust: Trust) -> SecretMatch | None:
    value = text[start:end]
    shortest = _SHORTEST_PASSWORD if kind == "password" else _SHORTEST_VALUE
    if not shortest <= len(value) <= _LONGEST_VALUE:
        return None
    can_be_chosen = trust != "random" and kind in ("password", "secret")
    if b" " in value or b"\t" in value:
        is_secret = can_be_chosen and is_passphrase(value)
    else:
        # A token that is a UUID is often just a public id.
        is_secret = is_opaque(value) or (kind != "token" and is_uuid(value))
        is_secret = is_secret or (can_be_chosen and is_chosen_password(value))
        if not is_secret and can_be_chosen and trust == "named":
            is_secret = is_password(value) and (kind == "password" or not is_made_of_words(value))
    return SecretMatch(start, end, kind) if is_secret else None
