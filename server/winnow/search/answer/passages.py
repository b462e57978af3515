"""Read the passages for the compact payload of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.prompt import COMPACT_PLACES
from winnow.search.answer.hits import CurrentTexts
from winnow.text.ripgrep import plain_line
from winnow.text.scope import Scope

# Lines before and after a passage that are searched for secrets: a private key has up to 50.
AROUND = 60
# Secrets are removed before a line is shortened to what is sent, so that none is cut; this is more.
LINE_CHARACTERS = 4_096


def passages_to_send(
    scope: Scope,
    buffers: Mapping[Path, str],
    ranked: Sequence[Ranked],
    documents: Collection[str],
) -> list[Candidate]:
    """Return the candidates; the best with the lines of their passages instead of all matches.

    Of ``documents``, such as PDFs, the matches stay: the lines of a passage are not those of the
    file.
    """
    texts = CurrentTexts(scope, buffers)
    best = [
        entry.candidate
        if entry.candidate.path in documents
        else _with_passage(entry.candidate, texts)
        for entry in ranked[:COMPACT_PLACES]
    ]
    return [*best, *(entry.candidate for entry in ranked[COMPACT_PLACES:])]


def _with_passage(file: Candidate, texts: CurrentTexts) -> Candidate:
    """Return a candidate with the current lines of its passage, and lines around them, which are
    not sent: a secret may span many. Unchanged without a passage."""
    best = file.best
    if best is None or best.first is None or best.last is None:
        return file
    lines = texts.lines(file.path, best.last + AROUND)
    if lines is None or best.first > len(lines):
        return file  # it is gone: the known lines
    numbers = range(max(1, best.first - AROUND), len(lines) + 1)
    return msgspec.structs.replace(
        file, lines={n: plain_line(lines[n - 1], LINE_CHARACTERS) for n in numbers}
    )
