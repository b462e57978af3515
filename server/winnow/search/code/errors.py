"""Find the code behind error messages and stack traces.

The frames of a trace are places in files, perhaps of another machine and another version. The
places that raise a message are found by its words. Semantic search answers with both first.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from winnow.ranking.query.parts import QueryParts
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.definitions import definitions_of
from winnow.search.code.frames import MOST_FRAMES, find_called, find_frames, frame_hit
from winnow.search.code.message_sites import BestFiles, find_sites, site_hit
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace


async def error_hits(
    workspace: EngineWorkspace,
    scope: Scope,
    parts: QueryParts,
    best_files: BestFiles,
    progress: Progress,
) -> list[Hit]:
    """Return the places that raise the errors of a query, and the frames of its stack traces. The
    ``best_files`` for the query may have a message within a sentence of it."""
    places = await find_frames(workspace, scope, parts.frames[:MOST_FRAMES]) if parts.frames else []
    called = await find_called(workspace, scope, parts) if parts.calls else []
    sites = await find_sites(workspace, scope, parts, best_files, progress)
    paths = {place.path for place in places} | {site.path for site in sites}
    if not paths:
        return _scored(called)
    known = defaultdict(tuple, await definitions_of(workspace, scope, [*paths]))
    texts = CurrentTexts(scope, workspace.buffers)
    lines = await asyncio.to_thread(
        lambda: {place.path: texts.lines(place.path) or () for place in places if place.frame.code}
    )

    def of_places(*, sure: bool) -> list[Hit]:
        return [
            frame_hit(place, known[place.path], lines.get(place.path, ()))
            for place in places
            if place.sure == sure
        ]

    frames = [*of_places(sure=True), *called]
    unsure = of_places(sure=False)
    raised = [site_hit(site, known[site.path]) for site in sites]
    # The frame that has the message is the place; otherwise the deepest frame is nearest to it. No
    # other code that raises the message is in the trace.
    in_frame = [hit for hit in raised if any(_contains(frame, hit) for frame in frames)]
    others = [hit for hit in raised if hit not in in_frame]
    ordered = [*in_frame, *frames, *others, *unsure]
    return _scored(ordered)


def _scored(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with scores in their order; places that make a message equally have the same
    score."""
    scored: list[Hit] = []
    before: Hit | None = None
    for place, hit in enumerate(_without_repeats(hits)):
        is_equal = before and hit.score and (hit.score, hit.why) == (before.score, before.why)
        score = scored[-1].score if is_equal else round(1 - place / 1000, 4)
        scored.append(msgspec.structs.replace(hit, score=score))
        before = hit
    return scored


def _contains(frame: Hit, hit: Hit) -> bool:
    return (
        frame.path == hit.path
        and frame.first is not None
        and frame.last is not None
        and hit.first is not None
        and frame.first <= hit.first <= frame.last
    )


def _without_repeats(hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits without frames that only repeat a place, as a recursion has them."""
    seen: set[tuple[str, int | None]] = set()
    for hit in hits:
        if (hit.path, hit.first) not in seen:
            seen.add((hit.path, hit.first))
            yield hit
