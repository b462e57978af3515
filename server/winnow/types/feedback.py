"""Params and results of feedback."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Answer, FeedbackAction, Params


class FeedbackParams(Params, frozen=True, kw_only=True):
    """Which result of which search, and what became of it."""

    search_id: Annotated[
        str,
        Meta(description="The `search_id` of the answer.", min_length=1, max_length=100),
    ]
    path: Annotated[
        str,
        Meta(
            description="The file of the result, as it was answered or absolute.",
            min_length=1,
            max_length=4_000,
        ),
    ]
    action: Annotated[
        FeedbackAction,
        Meta(
            description="'opened': somebody looked at it; 'kept': it was what was looked for;"
            " 'dismissed': it was not; 'up' and 'down': somebody judges it, which counts more than"
            " all that is only seen."
        ),
    ]
    rank: Annotated[
        int,
        Meta(
            description="The place of the result in the answer, from 1; 0 if it is not known.",
            ge=0,
            le=1_000_000,
        ),
    ] = 0


class FeedbackResult(Answer, frozen=True, kw_only=True):
    """What was taken down; `total_found` and `returned` are 1, or 0 if it was not."""

    query: Annotated[str, Meta(description="What the search asked, as it is remembered.")]
    tool: Annotated[str, Meta(description="The tool that answered it.")]
    path: Annotated[str, Meta(description="The file, relative to `root`.")]
