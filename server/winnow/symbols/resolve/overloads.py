"""Choose among the overloads of a function by the number of arguments of a call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from winnow.symbols.resolve.places import NamePlace
from winnow.symbols.resolve.signatures import split

# Languages in which functions with the same name differ in their parameters.
OVERLOADING = frozenset(("cpp", "cuda", "csharp", "groovy", "java", "kotlin", "scala", "swift"))
# Longer arguments are not counted.
_MOST = 2_000
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
_BEFORE = re.compile(r"\s*(?:<[\w\s,.<>\[\]?]*>)?\s*\(")
_BLOCK = re.compile(r"[ \t]*\{")
_VARIABLE = re.compile(r"\bparams\b|\bvararg\b|\.\.\.")
_ANY = 1_000


def called_places(
    places: Sequence[NamePlace], language: str, source: bytes, end: int
) -> Sequence[NamePlace]:
    """Return the places that a call of a name, which ends at an offset, may mean: the first, and
    those overloads of it that accept the number of arguments."""
    first = places[0].definition if places else None
    if first is None or language not in OVERLOADING:
        return places[:1]
    overloads = [
        (place, place.definition.signature)
        for place in places
        if place.definition is not None
        and place.path == places[0].path
        and place.definition.qualified_name == first.qualified_name
        and place.definition.declared == first.declared
    ]
    text = source[end : end + _MOST].decode("utf-8", "replace")
    arguments = _in_parentheses(_STRING.sub("0", text))
    fitting = [
        place
        for place, signature in overloads
        if arguments is None or "<" in "".join(arguments) or _accepts(signature, place, arguments)
    ]
    return fitting or [place for place, _ in overloads]


def _in_parentheses(text: str) -> list[str] | None:
    """Return the parts in the parentheses that a text begins with; None if they don't end, or a
    block after them is a further argument."""
    text = text.replace("->", "  ")  # not a bracket
    opening = _BEFORE.match(text)
    if opening is None:
        return None
    depth = 1
    for place in range(opening.end(), len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth and _BLOCK.match(text, place + 1):
            return None
        if not depth:
            parts = split(text[opening.end() : place], ",")
            return [part for part in parts if part.strip()]
    return None


def _accepts(signature: str, place: NamePlace, arguments: Sequence[str]) -> bool:
    """Return True if a function may have this number of arguments."""
    _, _, behind = signature.partition(place.name)
    parameters = _in_parentheses(_STRING.sub("0", behind))
    if parameters is None:  # a long signature is cut
        return True
    counted = [part.strip() for part in parameters if not part.strip().startswith("this ")]
    counted = [part for part in counted if part != "void"]
    required = sum("=" not in part and not _VARIABLE.search(part) for part in counted)
    most = _ANY if any(map(_VARIABLE.search, counted)) else len(counted)
    return required <= len(arguments) <= most
