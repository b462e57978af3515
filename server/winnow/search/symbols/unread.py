"""Find the files that have a name and whose symbols are not in the index."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice

from winnow.index.store.file_record import UNREADABLE_FILE
from winnow.symbols.language import generic_languages
from winnow.symbols.resolve.rules import world
from winnow.symbols.view import SymbolView
from winnow.text.definition_patterns import definition_patterns
from winnow.text.lines import SourceTexts

# Maximum size of the files to search for a name per request: about ten milliseconds. A small file
# counts with a minimum, because opening it takes time.
MOST_BYTES = 32 * 1024 * 1024
LEAST_BYTES = 64 * 1024
NAMED = 3
# A definition is looked for at so many places of a name, and in so many bytes around each.
MOST_PLACES = 1_000
AROUND = 200


def unread_files(
    view: SymbolView,
    sources: SourceTexts,
    symbol: str,
    language: str = "",
    *,
    defining: bool = False,
) -> dict[str, str]:
    """Return the files that contain a name but have no symbols in the index, with the reasons.

    Only programs count, and with a ``language`` those that can use its definitions. ``defining``
    leaves out files where nothing looks like a definition of the name.
    """
    around = world(language) if language else ""
    name, left = symbol.encode("utf-8", "surrogatepass"), MOST_BYTES
    definition = re.compile(definition_patterns(symbol, exact=True)[0].pattern.encode())
    found: dict[str, str] = {}
    for file, problem in view.problems().items():
        if not file.language or file.language in generic_languages():
            continue
        if around and world(file.language) != around:
            continue
        raw = sources.raw(file.path, left) if left > 0 else None
        if raw is None or len(raw) > left:
            # If there is too much to search, the file counts as one that contains the name.
            may_have = left <= 0 or raw is not None or problem.startswith(UNREADABLE_FILE)
        else:
            may_have = name in raw and (not defining or _is_defined(raw, name, definition))
        if may_have:
            found[file.path] = problem
        left -= max(len(raw or b""), LEAST_BYTES)
    return found


def _is_defined(raw: bytes, name: bytes, definition: re.Pattern[bytes]) -> bool:
    """Return True if a definition of a name seems to be at one of its first places in a text."""
    for found in islice(re.finditer(re.escape(name), raw), MOST_PLACES):
        around = raw[max(0, found.start() - AROUND) : found.end() + AROUND]
        if definition.search(around):
            return True
    return False


def unread_in_words(unread: Mapping[str, str], shown: Callable[[str], str]) -> str:
    """Return a sentence about the files that :func:`unread_files` returns; ``shown`` returns a path
    as answers have it."""
    named = [f"{shown(path)} ({why})" for path, why in unread.items()]
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return f"files that may have the name are not indexed: {', '.join(named[:NAMED])}{more}"
