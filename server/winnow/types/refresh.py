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
            description="Files or folders that have changed, absolute or relative to the root;"
            " none: everything is looked at.",
            max_length=10_000,
        ),
    ] = []
    wait: Annotated[
        bool, Meta(description="Answer when the index knows them, after 30 seconds at most.")
    ] = True


class RefreshResult(Answer, frozen=True, kw_only=True):
    """What was done. `total_found` and `returned` count the files that the index knows."""

    files_changed: Annotated[
        int | None,
        Meta(description="How many files were read anew, or are gone, where waited for."),
    ] = None
