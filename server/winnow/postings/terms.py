"""Terms: what a text or a query is made of, for ranking."""

from __future__ import annotations


def term_number(term: str) -> int:
    """The number by which a term is known in postings, 64-bit."""
    raise NotImplementedError
