"""Results as text for people: colours on a terminal only."""

from __future__ import annotations

import os
from typing import TextIO

from msgspec import Struct

from winnow.display import printable
from winnow.types import KeywordSearchResult, Match, RankedFile, TermReport

# Of a long line, what is shown around its match.
LINE_CHARACTERS = 140


class Style(Struct, frozen=True):
    """How to emphasise; without ``colour`` every method gives the text as it is."""

    colour: bool

    @classmethod
    def for_stream(cls, stream: TextIO) -> Style:
        """Colours for a terminal that wants them (the NO_COLOR and TERM conventions)."""
        wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def path(self, text: str) -> str:
        return self._code("1;35", text)

    def dim(self, text: str) -> str:
        return self._code("2", text)

    def match(self, text: str) -> str:
        return self._code("1;31", text)

    def good(self, text: str) -> str:
        return self._code("32", text)

    def bad(self, text: str) -> str:
        return self._code("33", text)

    def _code(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def keyword_search_text(result: KeywordSearchResult, style: Style, folder: str) -> str:
    """Ranked files with the reason and the best line of each, then what was left out.

    Paths are shown as seen from ``folder``.
    """
    if result.payload:
        payload = result.payload
        head = f"{payload.model} at {payload.endpoint}: {payload.bytes} bytes, about"
        return f"{head} {payload.estimated_tokens} tokens\n\n{payload.system}\n{payload.prompt}"
    blocks = [_file(file, result.root, style, folder) for file in result.files] or [
        "No relevant files found"
    ]
    return "\n".join([*blocks, "", *(style.dim(line) for line in _notes(result))])


def _file(file: RankedFile, root: str, style: Style, folder: str) -> str:
    path = os.path.relpath(os.path.join(file.root or root, file.path), folder)
    rows = [style.path(printable(path)), f"    {file.reason}"]
    best = next((match for match in file.matches if match.line == file.line), None)
    if best:
        rows[0] += style.dim(f":{best.line}")
        rows.append(f"    {style.dim(f'{best.line}:')} {_highlighted(best, style)}")
    return "\n".join(rows)


def _highlighted(match: Match, style: Style) -> str:
    """The line, cut to a terminal's width around its match, which is emphasised."""
    shift = match.text_column or 1
    start, end = (max(0, column - shift) for column in match.match_range)
    text = match.text
    first = max(0, start - LINE_CHARACTERS // 3)
    before, after = text[first:start].lstrip(), text[end : first + LINE_CHARACTERS].rstrip()
    dots = "…" if first else "", "…" if first + LINE_CHARACTERS < len(text) else ""
    return f"{dots[0]}{before}{style.match(text[start:end])}{after}{dots[1]}"


def _notes(result: KeywordSearchResult) -> list[str]:
    by = result.ranked_by
    who = f"{by.model} ({by.provider})" if by.kind == "llm" else "the local ranker"
    notes = [f"{result.returned} of {result.total_found} matching files, ranked by {who}"]
    if by.fallback_reason:
        notes.append(f"  ({by.fallback_reason})")
    if result.usage:
        usage = result.usage
        cost = f", ${usage.cost_usd:.6f}" if usage.cost_usd is not None else ""
        notes.append(f"tokens: {usage.input_tokens} in, {usage.output_tokens} out{cost}")
    notes.append("terms: " + "; ".join(map(_term, result.terms)))
    notes += [f"incomplete: {reason}" for reason in result.completeness.reasons]
    notes += [f"note: {warning}" for warning in result.warnings]
    if result.truncated:
        notes.append(f"more: --cursor {result.cursor}" if result.cursor else "shortened")
    return notes


def _term(term: TermReport) -> str:
    status = term.status.replace("_", " ")
    if term.status in ("used", "shrunk", "peeled"):
        status += f", {term.matches} lines in {term.files} files"
    return f"{term.term} ({status})"
