"""Recognize queries that describe work on the code: a change, as the subjects of commits and tasks
for agents do, or a problem, as bug reports do. Other queries ask where something is."""

from __future__ import annotations

import re

# A longer text is a report or a task.
ONE_SENTENCE = 300
# Fewer words are rather a name, such as "update statement".
LEAST_WORDS = 3
# Words that begin a request. Those that also begin questions about what code does ("parse the
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
# Words that begin a question, and those of a problem, such as "blank page when the query is empty".
_ASKING = frozenset(
    "are can could do does find how is list show what when where which who whose why".split()
)
_PROBLEM = frozenset(
    """
    break breaks broken bug can't cannot crash crashed crashes crashing didn't doesn't don't fail
    fails incorrect incorrectly instead isn't missing not regression when won't wrong wrongly
    """.split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’]t)?")


def is_task(text: str, title: str) -> bool:
    """Return True if a query describes work on the code, and does not ask where something is."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(title)]
    if len(text) > ONE_SENTENCE:
        return True
    if len(words) < LEAST_WORDS:
        return False
    if words[0] in _FIRST_WORDS:
        return not (words[0].startswith("support") and words[1] == "for")
    return words[0] not in _ASKING and "?" not in title and not _PROBLEM.isdisjoint(words)
