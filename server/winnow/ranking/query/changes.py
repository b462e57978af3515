"""Recognize queries that ask for a change, as the subjects of commits and tasks for agents do."""

from __future__ import annotations

import re

# Fewer words are rather a name, such as "update statement".
LEAST_WORDS = 3
# Words that begin such a query. Those that also begin questions about what code does ("parse the
# header", "sort by name") are left out.
_FIRST_WORDS = frozenset(
    """
    add adds added adjust allow allows allowed avoid avoids avoided bump change changed clarify
    clean cleanup correct corrected deduplicate deprecate deprecates deprecated disable disallow
    do don't drop drops dropped enable enforce ensure ensures expose exposes extend fix fixes fixed
    generalize honor implement implements implemented improve improves improved introduce let loosen
    make makes migrate move moves moved never optimize prefer preserve prevent prevents reduce
    reduces refactor refactored reject relax remove removes removed rename renames renamed replace
    replaces replaced respect rework rewrite simplify stop support supports suppress switch tweak
    unify update updates updated upgrade use uses
    """.split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’]t)?")


def asks_for_change(title: str) -> bool:
    """Return True if the title of a query asks for a change of the code, not where something is."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(title)]
    if len(words) < LEAST_WORDS or words[0] not in _FIRST_WORDS:
        return False
    return not (words[0].startswith("support") and words[1] == "for")
