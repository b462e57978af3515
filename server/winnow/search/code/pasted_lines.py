"""Choose the lines of pasted code to search for, and the place in a file that has most of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

# A place may have this many times the lines of the pasted code, which may have changed since.
LONGER = 2

_WORD = re.compile(r"[^\W\d_]\w+")
# Lines with only such words are all over a code base.
_ANYWHERE = frozenset(
    """
    begin break case catch continue default do elif else end endif esac except false fi finally for
    if loop next nil none null nullptr pass private protected public return self then this throw
    true try undefined void while
    """.split()
)


def telling_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines with a word that is not all over code; all lines if none has one."""
    telling = [line for line in lines if not _ANYWHERE.issuperset(_words(line))]
    return telling or list(lines)


def _words(line: str) -> Iterable[str]:
    return (word.lower() for word in _WORD.findall(line))


class Pasted(Struct, frozen=True):
    """The terms of some pasted lines: how much each tells, and its line in the text, from 0. The
    text has a ``size`` in lines."""

    weights: Mapping[str, float]
    offsets: Mapping[str, int]
    size: int


def densest(pasted: Pasted, found: Mapping[str, Sequence[int]]) -> tuple[float, list[int]]:
    """Return the lines of a file with the most of some pasted lines close together, and the weight
    of these. ``found`` are the lines of each term in the file."""
    places = sorted((number, term) for term, numbers in found.items() for number in numbers)
    inside: Counter[str] = Counter()
    best, chosen = 0.0, slice(0, 0)
    weight, start = 0.0, 0
    for end, (number, term) in enumerate(places, 1):
        weight += 0.0 if inside[term] else pasted.weights[term]
        inside[term] += 1
        while number - places[start][0] >= LONGER * pasted.size:
            before = places[start][1]
            inside[before] -= 1
            weight -= 0.0 if inside[before] else pasted.weights[before]
            start += 1
        # Sums of the same weights may differ a little.
        if weight > best + 1e-9:
            best, chosen = weight, slice(start, end)
    if not best:
        return 0.0, []
    # What is farther above the most telling line than in the text belongs to other code.
    anchor, term = max(places[chosen], key=lambda place: pasted.weights[place[1]])
    least = anchor - LONGER * pasted.offsets[term]
    return best, sorted({number for number, _ in places[chosen] if number >= least})
