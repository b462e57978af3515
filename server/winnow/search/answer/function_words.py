"""Leave function words of other languages than English out of questions.

The index knows those of English. Those of others are rare in code, and so they would count most:
`die` finds `okOrDie`, `es` finds `ES256`.
"""

from __future__ import annotations

import re

# A question is in a language if it has so many of its function words, and if these are most of the
# words of so many letters: English has "die", "des" and "en", too. Those that are function words of
# English as well are not listed: they say nothing anyway.
LEAST_WORDS = 3
SHORT = 4

_WORD = re.compile(r"(?<![\w.-])[^\W\d_]+(?![\w-]|\.\w)")
_OF_LANGUAGES = [
    frozenset(words.split())
    for words in (
        # German
        "aber als auch auf aus bei beim das dass dem den der des die durch ein eine einem einen"
        " einer es für hat im ich ihr ist kann man mit nach nicht noch nur ob oder sich sie sind"
        " um und vom von vor wann warum wenn werden wie wird wo wurde zu zum zur",
        # French
        "au aux avec ce ces cette comment dans de des du elle elles en est et il ils je la le les"
        " leur mais ne nous ont ou où par pas pour pourquoi quand que quel quelle qui sa se ses"
        " si son sont sur un une",
        # Spanish
        "al como cómo con cuando de del donde dónde el ella en es esta este la las lo los más"
        " para pero por qué que se si sin son su sus un una y",
        # Portuguese
        "ao com como da das de dos e é em está mais na não nas nos o onde os ou para pelo"
        " por quando que são se sem ser um uma",
        # Italian
        "al che come con da dal dei del della di dove e è gli i il la le lo ma nel nella non per"
        " perché più quando se si sono su un una viene",
        # Dutch
        "aan als bij dat de een en er het hoe met naar niet om op te uit van voor waar"
        " waarom wanneer wat worden wordt zijn",
    )
]


def without_function_words(query: str) -> str:
    """Return a query without the function words of its language, if that is not English."""
    words = [word.lower() for word in _WORD.findall(query)]
    language = max(_OF_LANGUAGES, key=lambda known: sum(map(known.__contains__, words)))
    found = [word for word in words if word in language]
    short = [word for word in words if len(word) <= SHORT]
    in_short = sum(len(word) <= SHORT for word in found)
    if len({*found}) < LEAST_WORDS or 2 * in_short <= len(short) or len(found) == len(words):
        return query
    return _WORD.sub(lambda word: "" if word[0].lower() in language else word[0], query)
