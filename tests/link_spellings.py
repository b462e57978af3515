"""Links in spellings that a language model can use to send data to a host."""

from __future__ import annotations

import itertools
import re
import string
import unicodedata
from collections.abc import Iterator

DATA = "QZDATAQZ"
HOSTS = [
    *("evil.example", "evil.com", "a.b.evil.io", "xn--vil-hoa.com", "evil.md", "1.2.3.4"),
    "[2001:db8::1]",
]
PATHS = [
    *(f"/?q={DATA}", f"/{DATA}", f"/x/y?d={DATA}#z", f":8080/{DATA}", f"?{DATA}=1"),
    f"/%41{DATA}",
]
SCHEMES = [
    *("https://", "http://", "HTTPS://", "hTTp://", "ftp://", "ws://", "hxxp://", "hxxps://"),
    *("https:\\\\", "https:/\\", "https:///", "https:/", "http:", "//", "\\\\", "///", "vscode://"),
    *("www.", "WWW.", "https://www.", "https://u:p@", "u@", "https[:]//", "file://", "x-y+z.1://"),
    "",
]
BEFORE = [
    *("", "31m", "_", "see ", "(", "[", "<", '"', "'", "`", "*", "a,", "=", "\x1b[31m", "é"),
    "\u200b",
]
AFTER = ["", ")", "]", ">", '"', " now", ".", "`", "…", "\n"]
SCRIPTS = [
    *("javascript:", "JavaScript:", "data:text/html,", "command:", "mailto:a@b.com?"),
    *("vbscript:", "tel:"),
]
# Characters that look like a dot, a slash and a colon.
SIGNS = {".": ".\u3002\uff0e\uff61\u2024", "/": "/\uff0f\u2044\u2215", ":": ":\uff1a\ufe55\u2236"}
# Matches text that programs turn into a link; independent of the tested code.
A_LINK = re.compile(
    r"[:\uff1a][/\\]{2}|(?<![\w/\\.:])[/\\]{2}[\w\[]|www\.\w|https?:\S"
    r"|(?:javascript|data|mailto|command):\S"
    r"|(?<![\w/.-])(?:[\w-]+\.)+(?:example|com|io|md)(?::\d+)?[/\\?#]\w"
    r"|\d+\.\d+\.\d+\.\d+(?::\d+)?/|\]\(|<[a-z/]",
    re.I,
)


def spellings() -> Iterator[str]:
    """Yield combinations of schemes, hosts and paths, with context and look-alike characters."""
    links = [a + b + c for a, b, c in itertools.product(SCHEMES, HOSTS, PATHS)]
    links += [script + DATA for script in SCRIPTS]
    around = itertools.cycle(itertools.product(BEFORE, AFTER))
    for link in links:
        for before, after in itertools.islice(around, 3):
            yield f"{before}{link}{after}"
        yield f"[text]({link})"
        yield f"![x]({link})"
        yield f"<{link}>"
        yield f"[a]: {link}"
        yield f"[[a]({link})](b)"
        yield _wide(link)
        for sign, variants in SIGNS.items():
            yield from (link.replace(sign, variant) for variant in variants[1:])
        yield link.replace("//", "//\u200b")
        yield link.replace(".", "[.]")
        yield link.replace(":", "&colon;").replace("/", "&#47;")
        yield link.replace(":", "%3A").replace("/", "%2F")


def _wide(link: str) -> str:
    """Return the link in full-width characters."""
    table = {ord(char): chr(ord(char) + 0xFEE0) for char in string.printable if "!" <= char <= "~"}
    return link.translate(table)


def contains_link(reason: str) -> bool:
    """Return True if a program would turn a part of the text into a link."""
    return A_LINK.search(unicodedata.normalize("NFKC", reason)) is not None
