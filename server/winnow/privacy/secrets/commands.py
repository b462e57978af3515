"""Find secrets in arguments of commands, and after a keyword and a space."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from winnow.privacy.secrets.detector import SecretMatch
from winnow.privacy.secrets.values import is_made_of_words, is_opaque, is_password, is_uuid

_NAME = (
    rb"(?:[A-Za-z0-9]{1,30}[_-]){0,4}"
    rb"(?i:(?P<password>password|passwd|pass|pwd|passphrase)|secret(?:[_-]?key)?|token"
    rb"|(?:api|access|account|storage|master|encryption|signing|license)[_-]?key"
    rb"|auth[_-]?(?:token|key))"
)
_VALUE = rb"[ \t]{1,4}[\"']?(?P<value>[^\s\"'`<>{}\\-][^\s\"'`<>\\]{5,400})(?=[\s\"'`;)\\]|\Z)"
# Patterns that begin with a literal are much faster.
_OPTION = re.compile(rb"--(?<=[\s\"'`(]--)" + _NAME + _VALUE)
_SETTING = re.compile(rb"(?:ENV|ARG|setx)[ \t]{1,4}" + _NAME + _VALUE)
_WORD = rb"[\"']?(?P<value>[^\s\"'$`<>{}|;&()\\-][^\s\"'`<>{}|;&()\\]{3,200})(?=[\s\"'`)\\,;]|\Z)"
# From the name of a program to its option, on the same line.
_MORE = rb"[^\n|;&]{0,300}?"
_STRING = rb"[\"'](?P<value>[^\s\"'<>{}]{4,200})[\"']"


class ArgumentPattern(NamedTuple):
    """A pattern of a secret argument; every match contains one of the ``marks``."""

    rule: str
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    is_secret: Callable[[bytes], bool] = is_password


def _pattern(
    marks: str,
    *parts: bytes,
    rule: str = "password",
    is_secret: Callable[[bytes], bool] = is_password,
) -> ArgumentPattern:
    return ArgumentPattern(
        rule, tuple(marks.encode().split(b"|")), re.compile(b"".join(parts)), is_secret
    )


def _is_password_of_option(value: bytes) -> bool:
    """Return True if a value can be a password and is not a word of a sentence."""
    return is_password(value) and not (value.islower() and is_made_of_words(value))


def _is_odd_password(value: bytes) -> bool:
    """Return True if a value can be a password and is more than words."""
    return is_password(value) and not is_made_of_words(value)


_OPTION_LETTER = re.compile(rb" -([A-Za-z-])")
# Commands by the first letter of their password option: a text is searched once for all letters,
# not once per command.
_COMMANDS: dict[bytes, tuple[ArgumentPattern, ...]] = {
    b"p": (
        _pattern(
            "mysql|mariadb",
            rb"(?:mysql|mariadb)(?:dump|admin|import|check|show|-dump|-admin)?",
            _MORE + rb"\s-p" + _WORD,
        ),
        _pattern("login", rb"(?:docker|podman) login", _MORE, rb"\s-p[ =]", _WORD),
        _pattern("sshpass", rb"sshpass[ \t]{1,4}-p[ \t]{0,4}", _WORD),
        _pattern("twine", rb"twine upload", _MORE, rb"\s-p[ =]", _WORD),
        _pattern("7z", rb"7z[arz]? ", _MORE, rb"\s-p", _WORD),
        _pattern("-pass", rb"-pass(?:in|out)? [\"']?pass:", _WORD),
    ),
    b"a": (_pattern("redis-cli", rb"redis-cli", _MORE, rb"\s-a ", _WORD),),
    b"b": (_pattern("htpasswd", rb"htpasswd -b (?:\S{1,200} )?\S{1,60} ", _WORD),),
    b"w": (
        _pattern("ldap", rb"ldap(?:search|add|modify|delete|whoami)\s", _MORE + rb"\s-w " + _WORD),
    ),
    b"P": (_pattern("zip", rb"zip ", _MORE, rb"\s-P ", _WORD),),
    b"U": (_pattern("smbclient", rb"smbclient ", _MORE, rb"-U ?[\"']?[\w./-]{1,60}%", _WORD),),
    b"u": (_pattern(" -u", rb" -u [\"']?[\w.@%+-]{1,100}:", _WORD, rule="curl-password"),),
    b"-": (
        _pattern(" --user", rb" --user[ =][\"']?[\w.@%+-]{1,100}:", _WORD, rule="curl-password"),
    ),
    b"s": (_pattern("storepass", rb"storepass ", _WORD),),
    b"k": (_pattern("keypass", rb"keypass ", _WORD),),
}
_PATTERNS = (
    _pattern(
        "chpasswd",
        rb"echo (?:-[en] )?[\"']?[\w.-]{1,60}:" + _WORD,
        rb"[\"']?\s{0,4}\|[^\n|]{0,40}chpasswd",
    ),
    _pattern("SecureString", rb"SecureString (?:-String )?", _WORD),
    _pattern(
        "login",
        rb"(?:machine \S{1,200}|default)\s{1,8}login \S{1,200}\s{1,8}",
        rb"(?:account \S{1,200}\s{1,8})?password " + _WORD,
    ),
    _pattern("psk=", rb"(?m)^\s{0,16}psk=" + _WORD),
    _pattern("bindpw", rb"bindpw[ \t]{1,16}", _WORD),
    _pattern(
        "IDENTIFIED|identified",
        rb"(?:IDENTIFIED|identified)(?i:\s{1,8}(?:with\s{1,4}[\"'`]?\w{1,60}[\"'`]?\s{1,4})?",
        rb"(?:by|as)\s{1,4}(?:password\s)?\s?)",
        _STRING,
    ),
    _pattern(
        "PASSWORD '|password '",
        rb"(?i:(?:create|alter)\s{1,8}(?:user|role)\s[^;\n]{1,200}?\spassword\s{1,4})",
        _STRING,
    ),
    _pattern(
        "uth",
        rb"uth(?:entication)?(?:\s{0,2}[=:]\s{0,2}[(\[]|\()",
        rb"\s{0,8}[\"'][^\"'\n]{1,100}[\"'],\s{0,8}",
        _STRING,
        is_secret=_is_odd_password,
    ),
    _pattern(
        "mysqli|new PDO",
        rb"(?:mysqli_connect|new mysqli|new PDO)\((?:[^,()\n]{1,200},){2}\s{0,4}",
        _STRING,
    ),
)
# Cookies in a header, and in an argument of curl.
_COOKIES = rb"\s{0,2}[\"']?(?P<cookies>[^\r\n\"'<>]{8,4000})"
_COOKIE_HEADER = re.compile(rb"ookie[\"']?\s{0,2}[:=,]" + _COOKIES)
_COOKIE_OPTION = re.compile(rb" -b(?=[ \"'])" + _COOKIES)
_COOKIE = re.compile(rb"[\w.-]{1,80}=(?P<value>[A-Za-z0-9%._~+/=-]{16,4000})")


def command_arguments(text: bytes) -> Iterator[SecretMatch]:
    """Yield the values of options such as `--password`, of `ENV` in a Dockerfile, of SQL
    statements, of cookies, and of unnamed password arguments of known commands."""
    if b"--" in text:
        yield from _named(text, _OPTION)
    if b"ENV" in text or b"ARG" in text or b"setx" in text:
        yield from _named(text, _SETTING)
    letters = set(_OPTION_LETTER.findall(text))
    patterns = [argument for letter in letters for argument in _COMMANDS.get(letter, ())]
    for argument in (*patterns, *_PATTERNS):
        if any(map(text.__contains__, argument.marks)):
            for match in argument.pattern.finditer(text):
                if argument.is_secret(match["value"]):
                    yield SecretMatch(*match.span("value"), argument.rule)
    if b"ookie" in text:
        yield from _cookies(text, _COOKIE_HEADER)
    if b"b" in letters:
        yield from _cookies(text, _COOKIE_OPTION)


def _named(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[SecretMatch]:
    for match in pattern.finditer(text):
        value, password = match["value"], match["password"] is not None
        if is_opaque(value) or is_uuid(value) or (password and _is_password_of_option(value)):
            yield SecretMatch(*match.span("value"), "password" if password else "token")


def _cookies(text: bytes, pattern: re.Pattern[bytes]) -> Iterator[SecretMatch]:
    """Yield the random values among the cookies of a match."""
    for cookies in pattern.finditer(text):
        for cookie in _COOKIE.finditer(text, *cookies.span("cookies")):
            if is_opaque(cookie["value"]):
                yield SecretMatch(*cookie.span("value"), "cookie")
