"""Let a language model choose among the places that a code search found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.models import NamedModel
from winnow.ranking.prompt import COMPACT_PLACES
from winnow.ranking.providers import Usage
from winnow.search.answer.by_model import ModelRanking, RankedFiles, RankerOptions, rank_by_model
from winnow.search.answer.hits import CurrentHit
from winnow.search.answer.ranked_by import RankedBy
from winnow.search.code.query_kind import SearchType

# A model gets this many places.
MOST_PLACES = COMPACT_PLACES
IS_NAME = "a name or a path needs no language model"
IS_LATER_PAGE = "a language model ranks only the first page"


class RankedPlaces(Struct, frozen=True):
    """Places, best first, and the ranker that ordered them.

    ``others`` are those that a model saw and did not choose, and ``seen`` is the index behind the
    last that it saw; ``reasons`` are why the answer may be incomplete.
    """

    places: Sequence[CurrentHit]
    ranked_by: RankedBy
    others: Sequence[CurrentHit] = ()
    reasons: Sequence[str] = ()
    warnings: Sequence[str] = ()
    usage: Usage | None = None
    redactions: Mapping[str, int] | None = None
    seen: int | None = None

    def left_out(self, count: int) -> Iterator[str]:
        """Yield a warning if only ``count`` of the places that a model chose are shown."""
        if self.ranked_by.model and count < len(self.places):
            left = len(self.places) - count
            yield (
                f"{self.ranked_by.model} chose {left} more: increase `limit` or `max_tokens` to see"
                " them"
            )


def models_for(
    models: Sequence[NamedModel],
    options: RankerOptions,
    search: SearchType,
    *,
    is_first_page: bool,
) -> tuple[Sequence[NamedModel], str]:
    """Return the models that are worth their tokens for the results of a search; or none, and the
    reason."""
    if models and not is_first_page:
        return [], IS_LATER_PAGE
    if models and options.ranker == "auto" and search in ("file", "symbol"):
        return [], IS_NAME
    return models, ""


async def choose_places(
    asked: ModelRanking,
    options: RankerOptions,
    by_local: RankedPlaces,
    models: Sequence[NamedModel],
    on_places: Callable[[RankedBy, Sequence[CurrentHit]], None],
) -> RankedPlaces:
    """Return the best ``MOST_PLACES`` places in the order of the first model that answers; without
    one, all as they are. ``on_places`` gets those of each file as the model names it.

    A model ranks files by their first place; further places of a file follow it. Raises LlmFailed
    if a model is required.
    """
    by_path: dict[str, list[CurrentHit]] = {}
    seen = by_local.places[:MOST_PLACES]
    for place in seen:
        by_path.setdefault(place.hit.path, []).append(place)

    def chosen(ranked: Ranked) -> list[CurrentHit]:
        first, *further = by_path[ranked.candidate.path]
        return [_with_reason(first, ranked), *further]

    async def send(ranked_by: RankedBy, ranked: Ranked) -> None:
        on_places(ranked_by, chosen(ranked))

    files = [Ranked(_candidate(found[0]), found[0].why) for found in by_path.values()]
    ranking = await rank_by_model(
        asked,
        options,
        RankedFiles(files, by_local.ranked_by),
        models,
        send,
    )
    if ranking.ranked_by.kind == "local":
        return msgspec.structs.replace(by_local, ranked_by=ranking.ranked_by)
    return RankedPlaces(
        [place for ranked in ranking.ranked for place in chosen(ranked)],
        ranking.ranked_by,
        [by_path[other.candidate.path][0] for other in ranking.others],
        ranking.reasons,
        ranking.warnings,
        ranking.usage,
        (ranking.sent.redactions or None) if ranking.sent else None,
        seen[-1].at + 1,
    )


def _candidate(place: CurrentHit) -> Candidate:
    """Return the file of a place: a model gets the lines of the place, with the matches marked."""
    best = msgspec.structs.replace(place.hit, first=place.first, last=place.last)
    lines = place.hit.marks or ([place.best] if place.best else [])
    return Candidate(place.hit.path, {}, {"": tuple(lines)}, {}, best)


def _with_reason(place: CurrentHit, ranked: Ranked) -> CurrentHit:
    """Return a place with the model's reason, and the line that the model names."""
    line = ranked.first if ranked.first in range(place.first or 1, (place.last or 0) + 1) else None
    return msgspec.structs.replace(place, why=ranked.reason or place.why, best=line or place.best)
