"""Select the words of a question that say what it is about."""

from __future__ import annotations

import re

from winnow.index.postings.terms import STOP_WORDS, UNSPACED, without_empty_verb

# A longer text does not fit on a command line once ripgrep's special characters are escaped.
MOST_TEXT = 20_000
# More words of a question cost time and hardly improve the order.
MOST_TERMS = 16
# A name as typed is more specific than a word.
NAME_WEIGHT = 2.0

_WORD = re.compile(r"\w+(?:(?:::|\.)\w+)*")
_PLAIN_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_IDENTIFIER = re.compile(r"[_.:\d]|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Without spaces between words, two characters are about a word.
_UNSPACED = re.compile(UNSPACED + "{2,}")


def search_terms(query: str) -> list[str]:
    """Return the words of a question that fit on a command line: its identifiers, then its names,
    then other words, the longer of each first."""

    def specific(word: str) -> tuple[bool, bool, int]:
        return (not _IDENTIFIER.search(word), word.islower(), -len(word))

    text = _UNSPACED.sub(_pairs, without_empty_verb(query))
    words = [word for word in _WORD.findall(text) if len(word) <= MOST_TEXT]
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    telling = [word for word in telling if len(word) > 1 or not word.isascii()] or telling
    return list(dict.fromkeys(sorted(telling or words, key=specific)))


def is_identifier(name: str) -> bool:
    """Return True if a name is a word that only code has: of several parts, or with a digit."""
    return bool(_IDENTIFIER.search(name)) and not re.search(r"[^\w$]", name)


def telling_words(query: str) -> dict[str, float]:
    """Return the words that show that a line is about a query, with their weights: word stems, and
    names as written."""
    names = filter(_IDENTIFIER.search, search_terms(query))
    return {
        **dict.fromkeys(stems(without_empty_verb(query)), 1.0),
        **dict.fromkeys(names, NAME_WEIGHT),
    }


def _pairs(found: re.Match[str]) -> str:
    run = found[0]
    return f" {' '.join(run[at : at + 2] for at in range(len(run) - 1))} "


def stems(text: str) -> dict[str, str]:
    """Return the words of a text by stem: split at humps and underscores, without stop words."""
    found = (hump.lower() for word in _PLAIN_WORD.findall(text) for hump in _HUMP.findall(word))
    stems: dict[str, str] = {}
    for word in found:
        if word not in STOP_WORDS:
            stems.setdefault(_stem(word), word)
    return stems


def _stem(word: str) -> str:
    """Return a word without common English endings: enough to match `ordered` with `order`."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _stem(word[: -len(ending)])
    if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]):
        return word[:-1]  # `typ` of `types`, `quer` of `queries`, `map` of `mapping`
    return word
