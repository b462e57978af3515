"""Trigrams: which texts can hold a string, without reading them.

The idea, and how a regular expression becomes a condition on trigrams, are those of Russ Cox,
"Regular Expression Matching with a Trigram Index" (2012).
"""

from __future__ import annotations

from msgspec import Struct

from winnow.text.ripgrep import Query


class Required(Struct, frozen=True):
    """A condition on the trigrams of a text: all of ``trigrams``, and for each of ``either`` one of
    its conditions. One without both holds for any text."""

    trigrams: tuple[int, ...] = ()
    either: tuple[tuple[Required, ...], ...] = ()

    @property
    def is_any(self) -> bool:
        return not self.trigrams and not self.either


def trigrams_of(text: bytes) -> bytes:
    """The trigrams of a text in UTF-8, as 32-bit numbers, ascending, each once.

    Letters that ripgrep takes for the same where case does not matter have the same trigrams.
    """
    raise NotImplementedError


def required_by(query: Query) -> Required:
    """What any text has in which ripgrep finds a match of the query. Never too much."""
    raise NotImplementedError
