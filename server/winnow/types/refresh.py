"""Params and results of refresh."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Answer, Params


class RefreshParams(Params, frozen=True, kw_only=True):
    """What has changed, and whether to wait for it."""

    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=4_000)]],
        Meta(
            description="Files or folders that have changed, absolute or relative to the root; of a"
            " deleted file, the folder that held it. None: everything is checked.",
            max_length=10_000,
        ),
    ] = []
    wait: Annotated[
        bool, Meta(description="Answer when the index knows them, after 30 seconds at most.")
    ] = True


class RefreshResult(Answer, frozen=True, kw_only=True):
    """What was done. `returned` counts the files that the index knows, `total_found` all files."""

    done: Annotated[
        bool, Meta(description="Whether the index is as the disk has it; else it goes on.")
    ]
