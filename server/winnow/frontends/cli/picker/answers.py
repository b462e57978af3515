"""Turn the result of a search into rows.

Separate because it loads all tools, which takes longer than showing the prompt.
"""

from __future__ import annotations

import os

import msgspec

from winnow.frontends.cli.picker.state import Answer, Row
from winnow.text.paths import path_of_uri
from winnow.text.sanitize import printable
from winnow.tools.code_search import CodeHit, CodeSearchResult, advice, summary
from winnow.tools.index_status import IndexStatusResult
from winnow.tools.read_file import ReadFileResult
from winnow.tools.semantic_search import unknown_words_note
from winnow.tools.terminal import seen_path, word_pattern
from winnow.tools.wording import for_people, worded
from winnow.types import Completeness


class Failure(msgspec.Struct):
    """Why a search has failed."""

    message: str


class Failed(msgspec.Struct):
    """The output of a failed search."""

    error: Failure


def answer_of(result: CodeSearchResult, query: str, folder: str) -> Answer:
    """Return the answer to a query. Paths are relative to a folder."""
    result = worded(result, for_people)
    notes = [
        *unknown_words_note(result),
        *result.completeness.reasons,
        *result.warnings,
        *advice(result),
    ]
    return Answer(
        rows=[_row(hit, result.root, folder) for hit in result.results],
        summary=summary(result),
        notes=[printable(note) for note in notes],
        words=word_pattern(query),
        search_id=result.search_id,
        is_early=is_building(result.completeness),
    )


def is_building(completeness: Completeness) -> bool:
    """Return True if the index did not have all files yet, and is going to."""
    return completeness.index is not None and completeness.index.state in ("opening", "building")


def decoded(output: str) -> CodeSearchResult:
    """Return the result that a command has printed. Raise ValueError."""
    return msgspec.json.decode(output, type=CodeSearchResult)


def decoded_status(output: str) -> IndexStatusResult:
    """Return the status of the index that a command has printed. Raise ValueError."""
    return msgspec.json.decode(output, type=IndexStatusResult)


def decoded_file(output: str) -> ReadFileResult:
    """Return the lines that a command has printed. Raise ValueError."""
    return msgspec.json.decode(output, type=ReadFileResult)


def problem_of(output: str, errors: str) -> str:
    """Return why a command has failed, as one line."""
    try:
        return printable(msgspec.json.decode(output, type=Failed).error.message)
    except ValueError:
        return printable(errors.strip().partition("\n")[0]) or "the search has failed"


def _code(hit: CodeHit, line: int | None) -> str:
    """Return a line of a hit; the name of what it defines if the line is not in its snippet."""
    first = hit.snippet_line or hit.line
    if hit.snippet is None or first is None or line is None:
        return ""
    lines = hit.snippet.split("\n")
    is_shown = 0 <= line - first < len(lines)
    return lines[line - first] if is_shown else hit.symbol or ""


def _row(hit: CodeHit, root: str, folder: str) -> Row:
    file = (path_of_uri(hit.uri) if hit.uri else None) or os.path.join(hit.root or root, hit.path)
    if hit.repository:
        file = hit.path
    best = hit.best_line or hit.line
    return Row(
        path=seen_path(hit, root, folder),
        file=file,
        line=hit.line,
        last=hit.end_line,
        best=best,
        code=printable(_code(hit, best)),
        why=printable(hit.why or ""),
        root=hit.root or root,
        repository=hit.repository or "",
        commit=hit.commit or "",
    )
