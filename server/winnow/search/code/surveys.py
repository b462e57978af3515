"""Read questions for all of a kind: "find all TODOs", "which environment variables are read".

Code marks these kinds in ways that a regular expression finds. A new kind is a row of `SURVEYS`.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from winnow.search.code.relations import FIND


class Survey(Struct, frozen=True):
    """A question for all lines that match a regular expression of ripgrep.

    In ``lines``, `{}` stands for the first group of the question, in capitals.
    """

    question: re.Pattern[str]
    lines: str
    why: str


_MOST_CHARACTERS = 100
_FIND = rf"(?:where are (?:all )?(?:the )?|{FIND})"
SURVEYS = (
    # In an application for tasks, "todos" are its data.
    Survey(
        re.compile(
            # A marker alone is a text.
            rf"(?=\S* |\S*s\Z){_FIND}(?:(TODO|FIXME|XXX|HACK)(?:'?s)?"
            r"|(?i:(todo|fixme|xxx|hack)s?) (?:comment|item|marker|note)s?)"
        ),
        r"\b{}\b",
        "it asks for markers in comments",
    ),
    Survey(
        re.compile(
            r"(?:(?:what|which|find|list|show)(?: me)?|where are) (?:all )?(?:the )?"
            r"env(?:ironment)? ?var(?:iable)?s?"
            r"(?: (?:are|is|does|do) .*| used| read)?",
            re.I,
        ),
        r"\bos\.(?:environ|getenv|Getenv|LookupEnv)\b|\b(?:process|import\.meta|Deno)\.env\b"
        r"|\bSystem\.(?:getenv|get_env)\b|\bENV(?:\[|\.fetch\b)|\benv::var|\bgetenv\("
        r"|\bGetEnvironmentVariable\b|\$_ENV\b|\$\{?env:",
        "it asks for environment variables",
    ),
    Survey(
        re.compile(
            rf"{_FIND}(?:what is deprecated|deprecations|deprecated "
            r"(?:apis?|code|functions?|methods?|options?|things))",
            re.I,
        ),
        r"@[Dd]eprecated\b|\bDeprecationWarning\b|#\[deprecated|\[Obsolete\b|//+ Deprecated:"
        r"|\[\[deprecated|:deprecated:|\.\. deprecated::|@available\(\*, deprecated"
        r"|\bdeprecate(?:_\w+)?\(",
        "it asks for what is deprecated",
    ),
)


def survey_of(text: str) -> Survey | None:
    """Return what a question asks for, with the regular expression of the lines; None for other
    texts."""
    text = text.strip(" ?.!")
    if len(text) > _MOST_CHARACTERS:
        return None
    for survey in SURVEYS:
        if found := survey.question.fullmatch(text):
            group = next((group for group in found.groups() if group), "")
            return msgspec.structs.replace(survey, lines=survey.lines.replace("{}", group.upper()))
    return None
