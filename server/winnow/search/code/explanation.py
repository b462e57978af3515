"""Explain how a query is understood: its parts, and the words that are searched for."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from winnow.errors import IndexUnavailable
from winnow.ranking.query.parts import parse_query
from winnow.search.answer.function_words import without_function_words
from winnow.text.sanitize import printable
from winnow.types import Result
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.ranking.semantic.question import Rarity

# A longer text is cut.
TEXT_CHARACTERS = 200
# More of a kind are left out.
MOST_ITEMS = 20


class NamedPlace(Result, frozen=True, kw_only=True):
    """A place that a query names, as written there."""

    path: Annotated[str, Meta(description="The file.")]
    line: Annotated[int, Meta(description="The line, from 1.")]
    function: Annotated[str | None, Meta(description="The function, if it is named.")] = None


class ExplainedTerm(Result, frozen=True, kw_only=True):
    """A word that is searched for."""

    word: Annotated[str, Meta(description="The word of the query.")]
    weight: Annotated[
        float, Meta(description="Its weight in the query: more in the title, and if repeated.")
    ]
    rarity: Annotated[
        float | None,
        Meta(
            description="Its inverse document frequency in the index; 0 if no indexed text has it."
            " Absent without an index."
        ),
    ] = None


class Explanation(Result, frozen=True, kw_only=True):
    """The parts of a query, and the words that are searched for. Empty parts are absent."""

    title: Annotated[str | None, Meta(description="The text that weighs most.")] = None
    prose: Annotated[int | None, Meta(description="Number of further paragraphs.")] = None
    code: Annotated[int | None, Meta(description="Number of code blocks.")] = None
    diffs: Annotated[int | None, Meta(description="Number of patches.")] = None
    logs: Annotated[int | None, Meta(description="Number of entries of logs.")] = None
    frames: Annotated[
        list[NamedPlace] | None,
        Meta(description="Places of stack traces, the deepest first, then others; at most twenty."),
    ] = None
    calls: Annotated[
        list[str] | None,
        Meta(description="Functions of stack traces without a place; at most twenty."),
    ] = None
    errors: Annotated[list[str] | None, Meta(description="Error messages; at most twenty.")] = None
    names: Annotated[list[str] | None, Meta(description="Names of code; at most twenty.")] = None
    paths: Annotated[list[str] | None, Meta(description="Files and folders; at most twenty.")] = (
        None
    )
    quotes: Annotated[list[str] | None, Meta(description="Quoted texts; at most twenty.")] = None
    options: Annotated[
        list[str] | None,
        Meta(description="Options, environment variables and settings; at most twenty."),
    ] = None
    terms: Annotated[
        list[ExplainedTerm],
        Meta(description="The words that are searched for, most informative first."),
    ]


async def explain(workspace: EngineWorkspace, query: str) -> Explanation:
    """Return how a query is understood. The rarity of words needs the index."""
    # Costs the import of numpy.
    from winnow.ranking.semantic.candidates import rarity_of
    from winnow.ranking.semantic.search import project_names

    def without_index(numbers: Sequence[int]) -> Sequence[float]:
        return [0.0] * len(numbers)

    try:
        async with workspace.index.corpus(workspace.buffers, 0) as (make, _, view):

            def with_index() -> Explanation:
                corpus = make()
                rarity = functools.partial(rarity_of, corpus)
                names = project_names(corpus)
                return _explanation(query, rarity, names, is_known=bool(corpus.parts))

            return await view.read(with_index)
    except IndexUnavailable:
        return await asyncio.to_thread(_explanation, query, without_index, (), is_known=False)


def _explanation(
    query: str, rarity: Rarity, projects: Collection[str], *, is_known: bool
) -> Explanation:
    from winnow.ranking.semantic.question import question_of

    parts = parse_query(query.strip())
    question = question_of(without_function_words(query), rarity, projects)
    rarities = rarity(question.numbers)
    best: dict[str, ExplainedTerm] = {}
    by_worth = sorted(
        zip(question.spelled, question.weights, rarities, strict=True),
        key=lambda term: -term[1] * (term[2] if is_known else 1.0),
    )
    for word, weight, rare in by_worth:
        # A name is searched for as a whole and in parts: the one that says most is shown.
        shown = round(rare, 2) if is_known else None
        best.setdefault(word, ExplainedTerm(word=word, weight=round(weight, 2), rarity=shown))
    frames = [
        NamedPlace(
            path=_short(frame.path), line=frame.line, function=_short(frame.function) or None
        )
        for frame in parts.frames[:MOST_ITEMS]
    ]
    return Explanation(
        title=_short(parts.title) or None,
        prose=len(parts.prose) or None,
        code=len(parts.code) or None,
        diffs=len(parts.diffs) or None,
        logs=len(parts.logs) or None,
        frames=frames or None,
        calls=_some(parts.calls),
        errors=_some(f"{error.kind}: {error.text}".lstrip(": ") for error in parts.errors),
        names=_some(parts.names),
        paths=_some(parts.paths),
        quotes=_some(parts.quotes),
        options=_some(parts.options),
        terms=list(best.values()),
    )


def _some(texts: Iterable[str]) -> list[str] | None:
    return [_short(text) for text in islice(texts, MOST_ITEMS)] or None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= TEXT_CHARACTERS else text[: TEXT_CHARACTERS - 1] + "…"


def explained(explanation: Explanation | None) -> Iterator[str]:
    """Yield the explanation in lines."""
    if explanation is None:
        return
    found = msgspec.to_builtins(explanation)
    words = [
        f"{term['word']} {term['weight']:g}" + f" × {term['rarity']:g}" * ("rarity" in term)
        for term in found.pop("terms")
    ]
    if explanation.frames:
        found["frames"] = [
            f"{at.path}:{at.line}" + f" in {at.function}" * bool(at.function)
            for at in explanation.frames
        ]
    for name, value in found.items():
        shown = "; ".join(value) if isinstance(value, list) else str(value)
        yield f"[{name}: {printable(shown)}]"
    yield f"[words, weight × rarity: {printable(', '.join(words))}]"
