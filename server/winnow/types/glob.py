"""Params and results of glob."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, FileParams, Result


class GlobParams(FileParams, frozen=True, kw_only=True):
    """Which files to find."""

    pattern: Annotated[
        str,
        Meta(
            description="Glob pattern, such as 'src/**/*.rs' or '**/test_*.py', relative to the"
            " root or to `path`. A pattern without a slash is for names at any depth.",
            max_length=4_000,
        ),
    ]
    sort_by: Annotated[
        Literal["path", "mtime", "size"],
        Meta(description="'mtime': the last changed first; 'size': the largest first."),
    ] = "path"
    max_results: Annotated[int, Meta(description="The most files to answer.", ge=1, le=100_000)] = (
        100
    )


class GlobFile(Result, frozen=True, kw_only=True):
    """A file; ``modified`` is in ISO 8601, UTC. ``unsaved``: of an open document whose text is
    not saved, and counts for the size."""

    path: str
    size: int | None = None
    modified: str | None = None
    unsaved: bool = False
    root: str | None = None
    uri: str | None = None


class GlobResult(Answer, frozen=True, kw_only=True):
    files: list[GlobFile]


class GlobPartial(Result, frozen=True, kw_only=True):
    """Files that add to those before."""

    files: list[GlobFile]
