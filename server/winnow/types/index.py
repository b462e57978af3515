"""Params and results of index."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, Params


class IndexParams(Params, frozen=True, kw_only=True):
    """What to do with the index."""

    action: Annotated[
        Literal["build", "pause", "resume", "clear"],
        Meta(
            description="'build' makes it or brings it up to date, also of a folder that is not"
            " indexed by itself (more than `index.max_files` files, or a home folder, where"
            " `workspace.allow_home_root` is set); 'pause' stops all work in the background until"
            " 'resume'; 'clear' deletes it."
        ),
    ]


class IndexResult(Answer, frozen=True, kw_only=True):
    """What was done. `returned` counts the files that the index knows, `total_found` all files."""

    action: Annotated[str, Meta(description="What was asked for.")]
    done: Annotated[
        bool, Meta(description="Whether it is done; else it goes on in the background.")
    ]
